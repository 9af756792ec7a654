# SPDX-License-Identifier: GPL-3.0-or-later
"""hetsort_tests.py - test_hetsort.sh runs this: TAP, one point for each function test_X below.
HETSORT_LONG=1: 2000 kinds of records."""
import glob
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
KINDS = 2000 if os.environ.get("HETSORT_LONG") else 150
BIN = os.environ["BIN"]
PLAIN = ["?", "u1", "<u2", ">u4", "<u8", "i1", ">i2", "<i4", ">i8", "<f4", ">f4", "<f8", ">f8", "<c16", "S4",
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
        wanted, threads = oracle.order(array, key), int(rng.integers(3))
        try:
            got = hetsort.argsort(array, oracle.as_key(key), threads=threads)
            records = hetsort.sort(array, oracle.as_key(key), threads=threads)
        except hetsort.InvalidError as reason:  # text and arrays add up
            assert "16 fields" in str(reason) or "256" in str(reason), str(reason)
            refusals += 1
            continue
        where = "SEED=%d, kind %d: %s by %s" % (SEED, kind, array.dtype, key)
        assert got.dtype == numpy.intp and (got == wanted).all(), where
        assert oracle.raw(records).tobytes() == oracle.raw(array)[wanted].tobytes(), where
        back = hetsort.argsort(array, oracle.as_key(key), reverse=True)
        assert (back == oracle.order(array, [(n, not d) for n, d in key])).all(), where
    assert refusals < KINDS / 4, refusals


def test_plain_arrays_of_all_types():
    rng = numpy.random.default_rng(SEED)
    for type_ in PLAIN:
        array = numpy.zeros(500, type_)
        oracle.fill(rng, array)
        for reverse in False, True:
            wanted = oracle.order(array, [(None, reverse)])
            assert (hetsort.argsort(array, reverse=reverse) == wanted).all(), (SEED, type_, reverse)
            got = hetsort.sort(array, reverse=reverse)
            same((got.dtype, got.tobytes()), (array.dtype, array[wanted].tobytes()))


def test_what_numpy_sorts_by_itself():
    """Without -0, -NaN and NaT, where numpy has another order."""
    rng = numpy.random.default_rng(SEED)
    for type_ in "?", "u1", "i2", "u4", "i8", "f4", "f8", "S3", "U2":
        numbers = rng.integers(-50, 50, 1000)
        if type_ in ("?", "u1", "u4"):
            numbers = abs(numbers)
        array = numbers.astype(type_)
        if type_[0] == "f":
            array = numpy.concatenate([array / 7 + 0.0, numpy.full(30, numpy.nan, type_), [numpy.inf, -numpy.inf]])
        same(hetsort.sort(array).tobytes(), numpy.sort(array, kind="stable").tobytes())
        assert (hetsort.argsort(array) == numpy.argsort(array, kind="stable")).all(), type_
    table = numpy.zeros(1000, [("a", "u2"), ("b", "f8"), ("c", "S2")])
    for name, values in zip("abc", (rng.integers(9, size=1000), rng.integers(9, size=1000) / 3, b"xy")):
        table[name] = values
    for names in [["b", "a"], ["a"], ["c", "b", "a"]]:
        wanted = numpy.argsort(table, order=names + [n for n in "abc" if n not in names], kind="stable")
        got = hetsort.argsort(table, names + [n for n in "abc" if n not in names])
        assert (got == wanted).all(), names
    same(hetsort.sort(table).tobytes(), numpy.sort(table, kind="stable").tobytes())


def test_floats_are_in_total_order():
    nan = numpy.nan
    array = numpy.array([0.0, nan, -0.0, -1, numpy.inf, -nan, 1, -numpy.inf])
    same(str(hetsort.sort(array).tolist()), "[nan, -inf, -1.0, -0.0, 0.0, 1.0, inf, nan]")
    same(numpy.signbit(hetsort.sort(array)[[0, 7]]).tolist(), [True, False])
    same(hetsort.argsort(numpy.array(["NaT", "1970", "1960"], "M8[Y]")).tolist(), [0, 2, 1])


def test_complex_numbers_are_sorted_by_their_parts():
    """numpy has the same order unless only the imaginary part is NaN."""
    order = [-numpy.inf, 1.0, numpy.inf, numpy.nan]
    numbers = [complex(re, im) for re in order for im in order]
    for type_ in "c8", "c16":
        whole = numpy.array(numbers, type_)
        same(hetsort.sort(whole[::-1]).tobytes(), whole.tobytes())
        odd = numpy.isnan(whole.imag) & ~numpy.isnan(whole.real)
        same(hetsort.sort(whole[~odd][::-1]).tobytes(), numpy.sort(whole[~odd][::-1]).tobytes())
        for i in range(len(numbers)):
            for k in range(i + 1, len(numbers)):
                pair = whole[[k, i]]
                same(hetsort.sort(pair).tobytes(), whole[[i, k]].tobytes())


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
    array = numpy.zeros(3, [("a", "i4"), ("h", "f2")])
    for sentence, args, options in [
            ("no field 'b'", (array, "b"), {}), ("no field 'x'", (array, "a.x"), {}),
            ("'h' is of type float16", (array, "h"), {}), ("'up' is neither", (array, [("a", "up")]), {}),
            ("key is empty", (array, []), {}), ("2 dimensions", (numpy.zeros((2, 2)),), {}),
            ("objects", (numpy.array([None, 1]),), {}), ("no field 'a'", (numpy.zeros(3), "a"), {}),
            ("float128|longdouble", (numpy.zeros(3, "g"),), {}), ("16 fields", (numpy.zeros(2, "17i4"),), {}),
            ("threads is '5000'", (array, "a"), {"threads": 5000}), ("threads is not a valid number: -1", (array, "a"), {"threads": -1})]:
        if sentence == "16 fields":
            args = (numpy.zeros(2, [("a", "17i4")]),)
        for call in hetsort.sort, hetsort.argsort:
            same(refused(hetsort.InvalidError, sentence, call, *args, **options).status, 1)
    other = numpy.zeros(3, array.dtype)
    for sentence, out in [("type", numpy.zeros(3)), ("2 records", other[:2]), ("not contiguous", numpy.zeros(6, array.dtype)[::2]),
                          ("overlap", array), ("type", "x")]:
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
    refused(hetsort.InvalidError, "2 dimensions", hetsort.sort, matrix)


# ------------------------------------------------------------------------------------------ files


def test_files_by_a_type_and_by_options():
    pairs = numpy.zeros(1000, [("x", "f8"), ("n", ">u4"), ("s", "S4")])
    oracle.fill(numpy.random.default_rng(SEED), pairs)
    pairs.tofile("pairs.bin")
    report = hetsort.sort_file("pairs.bin", "sorted.bin", dtype=pairs.dtype, key=[("n", "desc"), "x"],
                               ranks=2, stable=True, force=True)
    same((report["records"], report["status"], len(report["ranks"])), (1000, "ok", 2))
    wanted = oracle.raw(pairs)[oracle.order(pairs, [("n", True), ("x", False)])].tobytes()
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
    numpy.zeros(0).tofile("none.0")
    reason = refused(hetsort.JobError, "cannot open input 'none.1'", hetsort.sort_file, "none.%r", "none", ranks=2)
    same((reason.status, reason.rank), (2, 1))
    reason = refused(hetsort.JobError, "unknown option '--nosuch", hetsort.sort_file, "pairs.bin", "x", nosuch=True)
    same((reason.status, reason.rank, reason.report), (2, None, None))
    refused(hetsort.InvalidError, "must be a file", hetsort.sort_file, "pairs.bin", "-")
    refused(hetsort.InvalidError, "there is no input", hetsort.sort_file, [], "x")
    refused(hetsort.InvalidError, "must be a list", hetsort.sort_file, "pairs.bin", "x", launcher="mpirun")
    refused(FileNotFoundError, "none", hetsort.sort_file, "pairs.bin", "x", program="./none")


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
