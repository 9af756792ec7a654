# SPDX-License-Identifier: GPL-3.0-or-later
"""hetsort_tests.py - test_hetsort.sh runs this: TAP, one point for each function test_X below.
HETSORT_LONG=1: 2000 kinds of records."""
import errno
import glob
import itertools
import os
import re
import subprocess
import sys
import threading
import traceback
import warnings

import hetsort
import numpy
import oracle

SEED = int(os.environ.get("SEED", "0")) or int.from_bytes(os.urandom(4), "little")
CASES = 100000 if os.environ.get("HETSORT_LONG") else 2000
KINDS = 2000 if os.environ.get("HETSORT_LONG") else 150
BIN = os.environ["BIN"]
PLAIN = ["?", "u1", "<u2", ">u4", "<u8", "i1", ">i2", "<i4", ">i8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<c16", "S4",
         "V4", "<U3", ">U3", "<M8[D]"]


def same(got, wanted):
    assert got == wanted, (got, wanted)


def refused(kind, sentence, function, *args, **options):
    try:
        function(*args, **options)
    except kind as reason:
        assert re.search(sentence, str(reason)), str(reason)
        return reason
    raise AssertionError("not refused: %s%r" % (function, args))


def test_random_records_by_random_keys_are_in_the_order_of_numpy():
    refusals = 0
    for kind in range(KINDS):
        rng = numpy.random.default_rng([SEED, kind])
        array, key = oracle.records(rng, int(rng.choice([0, 1, 2, 17, 300])))
        way, threads = ["numpy", "total"][kind % 2], int(rng.integers(3))
        wanted = oracle.order(array, key, way)
        try:
            got = hetsort.argsort(array, oracle.as_key(key), threads=threads, order=way)
            records = hetsort.sort(array, oracle.as_key(key), threads=threads, order=way)
        except hetsort.InvalidError as reason:  # text and arrays add up
            assert "16 fields" in str(reason) or "256" in str(reason), str(reason)
            refusals += 1
            continue
        where = "SEED=%d, kind %d: %s by %s" % (SEED, kind, array.dtype, key)
        assert got.dtype == numpy.intp and (got == wanted).all(), where
        assert oracle.raw(records).tobytes() == oracle.raw(array)[wanted].tobytes(), where
        back = hetsort.argsort(array, oracle.as_key(key), reverse=True, order=way)
        assert (back == oracle.order(array, [(n, not d) for n, d in key], way)).all(), where
    assert refusals < KINDS / 4, refusals


def test_plain_arrays_of_all_types():
    rng = numpy.random.default_rng(SEED)
    for type_ in PLAIN:
        array = numpy.zeros(500, type_)
        oracle.fill(rng, array)
        for reverse, way in itertools.product([False, True], ["numpy", "total"]):
            wanted = oracle.order(array, [(None, reverse)], way)
            assert (hetsort.argsort(array, reverse=reverse, order=way) == wanted).all(), (SEED, type_, reverse, way)
            got = hetsort.sort(array, reverse=reverse, order=way)
            same((got.dtype, got.tobytes()), (array.dtype, array[wanted].tobytes()))


def test_what_numpy_sorts_by_itself():
    """With fields in any order, of which numpy adds the rest."""
    rng = numpy.random.default_rng(SEED)
    for type_ in "?", "u1", "i2", "u4", "i8", "f4", "f8", "S3", "U2":
        numbers = rng.integers(-50, 50, 1000)
        if type_ in ("?", "u1", "u4"):
            numbers = abs(numbers)
        array = numbers.astype(type_)
        if type_[0] == "f":
            array = numpy.concatenate([array / 7 * rng.choice([-1, 1], array.shape), numpy.full(30, numpy.nan, type_), [numpy.inf, -numpy.inf]])
        same(hetsort.sort(array).tobytes(), numpy.sort(array, kind="stable").tobytes())
        assert (hetsort.argsort(array) == numpy.argsort(array, kind="stable")).all(), type_
    table = numpy.zeros(1000, [("a", "u2"), ("b", "f8"), ("c", "S2")])
    for name, values in zip("abc", (rng.integers(9, size=1000), rng.integers(9, size=1000) / 3, b"xy")):
        table[name] = values
    for names in [["b", "a"], ["a"], ["c", "b", "a"]]:
        wanted = numpy.argsort(table, order=names + [n for n in "abc" if n not in names], kind="stable")
        for options in {"key": names + [n for n in "abc" if n not in names]}, {"order": names}:
            assert (hetsort.argsort(table, **options) == wanted).all(), names
    same(hetsort.sort(table).tobytes(), numpy.sort(table, kind="stable").tobytes())


def test_floats_are_in_total_order():
    nan = numpy.nan
    array = numpy.array([0.0, nan, -0.0, -1, numpy.inf, -nan, 1, -numpy.inf])
    same(str(hetsort.sort(array, order="total").tolist()), "[nan, -inf, -1.0, -0.0, 0.0, 1.0, inf, nan]")
    same(numpy.signbit(hetsort.sort(array, order="total")[[0, 7]]).tolist(), [True, False])
    same(hetsort.argsort(numpy.array(["NaT", "1970", "1960"], "M8[Y]"), order="total").tolist(), [0, 2, 1])


def test_the_order_of_numpy_is_the_default():
    nan = numpy.nan
    array = numpy.array([nan, 0.0, -0.0, -1, numpy.inf, -nan, 1, -numpy.inf])
    for options in {}, {"order": None}, {"order": "numpy"}:
        same(hetsort.argsort(array, **options).tolist(), [7, 3, 1, 2, 6, 4, 0, 5])
        same(hetsort.argsort(array, reverse=True, **options).tolist(), [4, 6, 1, 2, 3, 7, 0, 5])
    same(hetsort.argsort(numpy.array(["NaT", "1970", "1960"], "M8[Y]")).tolist(), [2, 1, 0])
    fields = numpy.array([(1, 2), (0, 3)], [("numpy", "i4"), ("x", "i4")])
    refused(hetsort.InvalidError, "order='numpy' is a word.*key='numpy'", hetsort.sort, fields, order="numpy")
    for options in {}, {"order": "total"}, {"key": "numpy"}:
        same(hetsort.argsort(fields, **options).tolist(), [1, 0])
    same(hetsort.argsort(fields, order=["numpy"]).tolist(), [1, 0])
    same(hetsort.argsort(fields, "x", order="total").tolist(), [0, 1])


def test_axes():
    rng = numpy.random.default_rng(SEED)
    array = rng.integers(9, size=(4, 5, 6)).astype("f4")
    array[array == 3] = numpy.nan
    long = rng.normal(size=(2, 5000))
    table = numpy.zeros((3, 4), [("a", "i2"), ("b", "f8")])
    table["a"] = rng.integers(2, size=(3, 4))
    table["b"] = rng.normal(size=(3, 4))
    for shaped, axes in [(array, [0, 1, 2, -1, -3, None]), (array[:, ::2].T, [0, -1]), (long, [-1, 0]), (long.T, [0]),
                         (table, [0, 1, None]), (numpy.zeros((3, 0, 2)), [0, 1, 2, None])]:
        for axis in axes:
            places = hetsort.argsort(shaped, axis=axis)
            same(places.tolist(), numpy.argsort(shaped, axis, kind="stable").tolist())
            same(hetsort.sort(shaped, axis=axis).tobytes(), numpy.sort(shaped, axis, kind="stable").tobytes())
    same(hetsort.sort(table, [("b", "desc")], axis=0)["b"].tolist(), (-numpy.sort(-table["b"], 0)).tolist())
    out = numpy.zeros_like(array)
    assert hetsort.sort(array, axis=0, out=out) is out
    same(out.tobytes(), numpy.sort(array, 0).tobytes())
    same(hetsort.sort(numpy.array(3), axis=None).tolist(), [3])
    for axis, shaped in (2, long), (-3, long), (-1, numpy.array(3)):
        refused(ValueError, "axis|source", hetsort.sort, shaped, axis=axis)
    refused(ValueError, "use axis=0", hetsort.sort, array, 0)
    refused(ValueError, "out has shape .4, 5, 3., not .4, 5, 6.", hetsort.sort, array, out=out[:, :, :3].copy())


def test_words_of_numpy():
    array = numpy.array([2, 0, 1])
    for kind in None, "quicksort", "heapsort", "mergesort", "stable":
        same(hetsort.sort(array, kind=kind).tolist(), [0, 1, 2])
        same(hetsort.argsort(array, kind=kind).tolist(), [1, 2, 0])
    refused(ValueError, "sort kind|bogo", lambda: hetsort.sort(array, kind="bogo"))
    assert hetsort.sort(array, out=array) is array
    same(array.tolist(), [0, 1, 2])
    pair = numpy.array([3, 2, 1, 0])
    hetsort.sort(pair[:3], out=pair[1:])
    same(pair.tolist(), [3, 1, 2, 3])
    same(hetsort.sort(array, speeds=[1]).tolist(), [0, 1, 2])
    refused(ValueError, "speeds and weights", hetsort.argsort, array, speeds=[1], weights=[1])
    records = numpy.array([(2, 1), (1, 2)], [("a", "i4"), ("b", "i4")]).view(numpy.recarray)
    same(hetsort.sort(records).a.tolist(), [1, 2])
    for order, sentence in [(["a", "a"], "duplicate"), ("c", "no field 'c'"), (["a", "z"], "no field 'z'")]:
        refused(ValueError, sentence, hetsort.sort, records, order=order)
    refused(ValueError, "use only key", hetsort.sort, records, "a", order="b")
    refused(ValueError, "no fields", hetsort.sort, array, order="b")


def one_array(rng):
    """Draw an array of any type of numpy that hetsort sorts, of up to 3 dimensions, contiguous or not. Records have
    neither f2, of which numpy sorts NaN first there, nor arrays, which numpy compares by their bytes."""
    type_ = str(rng.choice(["?", *"bBhHiIlLefdgFDG", "S1", "S5", "U1", "U20", "V7", "M8[s]", "m8[ns]", "records"]))
    if type_ == "records":
        types = ["u1", "i4", "f4", "f8", "c8", "S2", "U2", "M8[D]"]
        fields = [str(rng.choice(types)) for _ in range(rng.integers(1, 4))]
        dtype = numpy.dtype([("f%d" % i, rng.choice(["<", ">"]) + f) for i, f in enumerate(fields)],
                            align=bool(rng.integers(2)))
    else:
        dtype = numpy.dtype(type_).newbyteorder(str(rng.choice(["<", ">"])))
    shape = tuple(rng.integers(0, 8, rng.integers(1, 4))) if rng.integers(2) else (int(rng.integers(0, 600)),)
    array = numpy.zeros(shape, dtype)
    oracle.fill(rng, array)
    return [array, array.T, array[::-1], array[..., 1::2]][rng.integers(4)]


def bits(array):
    """Return type, shape and bytes of an array, without padding, which numpy does not keep."""
    dtype = array.dtype
    if dtype.names:
        return [dtype] + [bits(array[name])[1:] for name in dtype.names]
    if dtype.kind == "c":
        return [dtype, bits(array.real), bits(array.imag)]
    known = 10 if dtype.kind == "f" and numpy.finfo(dtype).nmant == 63 else dtype.itemsize
    native = numpy.ascontiguousarray(array.astype(dtype.newbyteorder("="))).tobytes()
    return [dtype, array.shape] + [native[i:i + known] for i in range(0, len(native), max(1, dtype.itemsize))]


def test_random_arrays_are_sorted_as_by_numpy():
    for case in range(CASES):
        rng = numpy.random.default_rng([SEED, case, 1])
        array = one_array(rng)
        axis = rng.choice([None, *range(-array.ndim, array.ndim)])
        options = {"axis": axis, "kind": rng.choice([None, "quicksort", "heapsort", "mergesort", "stable"])}
        where = "SEED=%d, case %d: %s %s, axis %s" % (SEED, case, array.dtype, array.shape, axis)
        if array.dtype.names and rng.integers(2):
            options["order"] = [str(n) for n in rng.permutation(array.dtype.names)[:rng.integers(1, 3)]]
        stable = {**options, "kind": "stable"}
        wanted = numpy.sort(array, **stable)
        assert (hetsort.argsort(array, **options) == numpy.argsort(array, **stable)).all(), where
        assert bits(hetsort.sort(array, **options)) == bits(wanted), where
        out = array if axis is not None else numpy.zeros_like(wanted)
        assert hetsort.sort(array, out=out, **options) is out, where
        assert bits(out) == bits(wanted), where


def test_types_that_are_not_numbers_of_the_library():
    rng = numpy.random.default_rng(SEED)
    for type_ in "g", "G", "U40", ">U17", "S0", "V0":
        array = numpy.zeros(300, type_)
        if type_ in "gG":
            oracle.fill(rng, array)
        elif array.dtype.kind == "U":
            array[:] = rng.choice(["", "a", "ab" * 9, "b", "\U00010101"], 300)
        same(hetsort.argsort(array).tolist(), numpy.argsort(array, kind="stable").tolist())
        same(hetsort.sort(array).tobytes(), numpy.sort(array, kind="stable").tobytes())
    array = numpy.array([2, numpy.nan, 3, -1], "g")
    same(hetsort.argsort(array, reverse=True).tolist(), [2, 0, 3, 1])


def test_complex_numbers_in_total_order_are_sorted_by_their_parts():
    """numpy has the same order unless only the imaginary part is NaN."""
    order = [-numpy.inf, 1.0, numpy.inf, numpy.nan]
    numbers = [complex(re, im) for re in order for im in order]
    for type_ in "c8", "c16":
        whole = numpy.array(numbers, type_)
        same(hetsort.sort(whole[::-1], order="total").tobytes(), whole.tobytes())
        same(hetsort.sort(whole[::-1]).tobytes(), numpy.sort(whole[::-1]).tobytes())
        odd = numpy.isnan(whole.imag) & ~numpy.isnan(whole.real)
        same(hetsort.sort(whole[~odd][::-1]).tobytes(), numpy.sort(whole[~odd][::-1]).tobytes())
        for i in range(len(numbers)):
            for k in range(i + 1, len(numbers)):
                pair = whole[[k, i]]
                same(hetsort.sort(pair, order="total").tobytes(), whole[[i, k]].tobytes())
                same(hetsort.sort(pair).tobytes(), numpy.sort(pair).tobytes())


def test_the_input_is_read_in_place_and_stays():
    array = numpy.arange(100, 0, -1)
    array.flags.writeable = False
    seen, call = [], hetsort._library.call
    hetsort._library.call = lambda *args: seen.append(args[1]) or call(*args)
    try:
        same(hetsort.sort(array)[0], 1)
        out = numpy.zeros(50, array.dtype)
        same(hetsort.sort(array[50:], out=out) is out, True)
        same(hetsort.sort(array[::2]).tolist(), list(range(2, 101, 2)))
    finally:
        hetsort._library.call = call
    same(seen[:2], [array.ctypes.data, array.ctypes.data + 400])
    same((out.tolist(), array[0]), (list(range(1, 51)), 100))


def test_keys():
    stars = numpy.array([(3.5, (7, 1)), (9.1, (4, 2)), (3.5, (2, 3))], [("mass", "f8"), ("at", [("x", "i2"), ("y", "i2")])])
    for key, wanted in [("mass", [0, 2, 1]), (("mass", "desc"), [1, 0, 2]), ([("mass", "asc"), "at"], [2, 0, 1]),
                        ("at.y", [0, 1, 2]), (("mass", "at.x"), [2, 0, 1]), (None, [2, 0, 1]),
                        ([("at.y", "desc")], [2, 1, 0])]:
        same(hetsort.argsort(stars, key).tolist(), wanted)
        same(hetsort.sort(stars, key).tolist(), [stars.tolist()[i] for i in wanted])


def test_refusals():
    array = numpy.zeros(3, [("a", "i4"), ("h", "O")])
    other = numpy.zeros(3, [("a", "i4"), ("h", "f2")])
    refused(TypeError, "objects", hetsort.sort, array, "h")
    array = other
    for sentence, args, options in [
            ("no field 'b'", (array, "b"), {}), ("no field 'x'", (array, "a.x"), {}),
            ("'up' is neither", (array, [("a", "up")]), {}),
            ("key is empty", (array, []), {}), ("names fields, and is not 1", (array, 1), {}),
            ("objects", (numpy.array([None, 1]),), {}), ("no field 'a'", (numpy.zeros(3), "a"), {}),
            ("16 fields", (numpy.zeros(2, "17i4"),), {}),
            ("threads is '5000'", (array, "a"), {"threads": 5000}), ("threads is not a valid number: -1", (array, "a"), {"threads": -1})]:
        if sentence == "16 fields":
            args = (numpy.zeros(2, [("a", "17i4")]),)
        for call in hetsort.sort, hetsort.argsort:
            same(refused(hetsort.InvalidError, sentence, call, *args, **options).status, 1)
    other, frozen = numpy.zeros(3, array.dtype), numpy.zeros(3, array.dtype)
    frozen.flags.writeable = False
    for sentence, out in [("type", numpy.zeros(3)), ("shape .2,., not .3,.", other[:2]),
                          ("shape .2,.", array[1:]), ("type", "x"), ("cannot be written", frozen)]:
        refused(ValueError, sentence, hetsort.sort, array, "a", out=out)
    reason = refused(hetsort.Error, "record_bytes is '65537'", hetsort.sort, numpy.zeros(1, "V65537"))
    same((reason.status, reason.rank), (1, None))


def test_what_would_be_lost_is_refused():
    plain, masked = numpy.arange(3.0), numpy.ma.array([3.0, 1, 2], mask=[0, 1, 0])
    records = numpy.ma.zeros(3, [("a", "f8"), ("mask", "i4")])
    scaled = type("Scaled", (numpy.ndarray,), {"unit": None})
    metres = type("Metres", (numpy.ndarray,), {"unit": "m"})
    table = type("Table", (), {"has_masked_values": True, "__array__": lambda *_: plain, "__len__": lambda _: 3})
    for sentence, array in [("mask.*compressed.*filled", masked), ("mask", records), ("mask", numpy.ma.arange(3)),
                            ("mask", [1.0, numpy.ma.masked]), ("mask", [masked[0:1], masked[1:2]]),
                            ("unit.*value", plain.view(metres)), ("Scaled.*asarray", plain.view(scaled)),
                            ("mask.*filled", table())]:
        for call in hetsort.sort, hetsort.argsort:
            refused(TypeError, sentence, call, array)
    refused(TypeError, "mask", hetsort.sort, plain, out=numpy.ma.zeros(3))
    fields = numpy.zeros(3, [("mask", "f8"), ("unit", "i4")])
    for array in fields, fields.view(numpy.recarray), [1.0, 2.0]:
        same(len(hetsort.sort(array)), len(array))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = numpy.matrix([1.0, 2.0])
    same(len(hetsort.sort(matrix.A1)), 2)
    assert isinstance(hetsort.sort(matrix[:, ::-1]), numpy.matrix)


# ------------------------------------------------------------------------------------------ files


def test_files_by_a_type_and_by_options():
    pairs = numpy.zeros(1000, [("x", "f8"), ("n", ">u4"), ("s", "S4")])
    oracle.fill(numpy.random.default_rng(SEED), pairs)
    pairs.tofile("pairs.bin")
    for order in "numpy", "total":
        report = hetsort.sort_file("pairs.bin", "sorted.bin", dtype=pairs.dtype, key=[("n", "desc"), "x"], order=order,
                                   ranks=2, stable=True, force=True)
        same((report["records"], report["status"], len(report["ranks"])), (1000, "ok", 2))
        wanted = oracle.raw(pairs)[oracle.order(pairs, [("n", True), ("x", False)], order)].tobytes()
        same(numpy.fromfile("sorted.bin", "u1").tobytes(), wanted)
    hetsort.sort_file(["pairs.bin"], "again.bin", record_size=16, key=["8,u32be,desc", "0,f64"], stable=True,
                      force=None, tmpdir=["/tmp", "."])
    same(numpy.fromfile("again.bin", "u1").tobytes(), wanted)
    hetsort.sort_file("pairs.bin", "part.%r", record_size=16, key=["8,u32be,desc", "0,f64"], stable=True, ranks=12)
    hetsort.sort_file(sorted(glob.glob("part.*")), "merged.bin", record_size=16, key=["8,u32be,desc", "0,f64"],
                      merge=True)
    same(numpy.fromfile("merged.bin", "u1").tobytes(), wanted)


def test_a_job_that_fails():
    reason = refused(hetsort.JobError, "output 'sorted.bin' exists", hetsort.sort_file, "pairs.bin", "sorted.bin",
                     record_size=16, key="0,f64")
    same((reason.status, reason.rank, reason.report["exit_code"]), (2, 0, 2))
    assert isinstance(reason, FileExistsError)
    same((reason.errno, reason.filename), (errno.EEXIST, "sorted.bin"))
    numpy.zeros(0).tofile("none.0")
    reason = refused(hetsort.JobError, "cannot open input 'none.1'", hetsort.sort_file, "none.%r", "none", ranks=2)
    same((reason.status, reason.rank), (2, 1))
    assert isinstance(reason, FileNotFoundError)
    same((reason.errno, reason.filename), (errno.ENOENT, "none.1"))
    refused(hetsort.InvalidError, "only in an array", hetsort.sort_file, "pairs.bin", "x", dtype="g")
    reason = refused(hetsort.JobError, "unknown option '--nosuch", hetsort.sort_file, "pairs.bin", "x", nosuch=True)
    same((reason.status, reason.rank, reason.report), (2, None, None))
    refused(hetsort.InvalidError, "must be a file", hetsort.sort_file, "pairs.bin", "-")
    refused(hetsort.InvalidError, "there is no input", hetsort.sort_file, [], "x")
    refused(hetsort.InvalidError, "must be a list", hetsort.sort_file, "pairs.bin", "x", launcher="mpirun")
    reason = refused(FileNotFoundError, "HETSORT_PROGRAM", hetsort.sort_file, "pairs.bin", "x", program="./none")
    same((reason.errno, reason.filename), (errno.ENOENT, "./none"))
    reason = refused(FileNotFoundError, "nompirun", hetsort.sort_file, "pairs.bin", "x", launcher=["nompirun"])
    assert "HETSORT" not in str(reason), reason


def test_the_rank_that_failed_first_is_reported():
    ranks = [{"rank": 0, "error": {"code": 5, "message": "rank 2 failed"}}, {"rank": 1, "error": None},
             {"rank": 2, "error": {"code": 3, "message": "cannot read 'a'"}}]
    for report, lines, wanted in [({"ranks": ranks}, [], (2, "cannot read 'a'")), (None, ["hetsort: rank 3: no"], (3, "rank 3: no")),
                                  (None, ["mpirun: none"], (None, "mpirun: none")), (None, [], (None, "hetsort ended with status 3"))]:
        reason = hetsort._files._failure(3, lines, report)
        same((reason.status, (reason.rank, str(reason))), (3, wanted))


def slowly(watch):
    """Sort records from a pipe, which ends after the first call of watch()."""
    seen, called = [], threading.Event()

    def progress(now):
        seen.append(now)
        called.set()
        watch(now)

    def feed():
        pipe = os.open("pipe", os.O_RDWR)  # does not wait for a reader, which may never open it
        os.write(pipe, bytes(1000))
        called.wait(60)
        os.close(pipe)

    if not os.path.exists("pipe"):
        os.mkfifo("pipe")
    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        hetsort.sort_file("pipe", "piped", progress=progress)
    finally:
        called.set()
        feeder.join()
    return seen


def test_progress_is_reported():
    first = slowly(lambda now: None)[0]
    same((first.phase, first.text[:4], first.elapsed_s >= 1), ("read", "read", True))
    same(os.path.getsize("piped"), 1000)
    os.remove("piped")


def test_what_the_callback_raises_ends_the_job():
    def enough(now):
        raise KeyboardInterrupt("enough")

    refused(KeyboardInterrupt, "enough", slowly, enough)
    same([f for f in os.listdir(".") if f.startswith(("piped", ".piped"))], [])


def test_lines_of_progress():
    line = "hetsort: merge 3.2 of 10.0 GB 32%, job 21%, 1.2 GB/s, 0:03, 1:00:12 left, 2 of 4 ranks heard, slowest 2 vm"
    same(tuple(hetsort._files._progress(line)), ("merge", 0.21, 3, 3612, line[9:]))
    same(tuple(hetsort._files._progress("hetsort: plan, 1:03"))[:4], ("plan", None, 63, None))
    for other in "hetsort: cannot open 'a, 0:03'", "hetsort: rank 3, read: no room", "mpirun: read 3, 0:03":
        same(hetsort._files._progress(other), None)


def test_versions():
    version = subprocess.run([BIN + "/hetsort", "--version"], stdout=subprocess.PIPE, text=True).stdout
    assert hetsort.__version__ in version.split(), version
    with open(os.path.join(os.environ["ROOT"], "python", "pyproject.toml")) as file:
        assert 'version = "%s"' % hetsort.__version__ in file.read()


def test_the_example_that_plots():
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return
    example = os.path.join(os.environ["ROOT"], "python", "examples", "times.py")
    said = subprocess.run([sys.executable, example, "4000", "times.png"], stdout=subprocess.PIPE, text=True, check=True)
    same(re.findall(r"shares (.*)", said.stdout), ["[557, 557, 1017, 1869]"])
    with open("times.png", "rb") as picture:
        same(picture.read(4), b"\x89PNG")


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    print("# SEED=%d" % SEED)
    for number, (name, function) in enumerate(tests, 1):
        try:
            function()
            print("ok %d - %s" % (number, name[5:].replace("_", " ")))
        except Exception:
            print("not ok %d - %s" % (number, name[5:].replace("_", " ")))
            print(re.sub("(?m)^", "# ", traceback.format_exc()))
    print("1..%d" % len(tests))


main()
