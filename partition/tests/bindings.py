# SPDX-License-Identifier: GPL-3.0-or-later
"""bindings.py ROOT - test_python.sh runs this: TAP, one point for each function test_X below."""
import array
import copy
import ctypes
import gc
import math
import os
import pickle
import re
import signal
import sys
import traceback
import tracemalloc

import hetpart

ROOT = sys.argv[1]
INF = math.inf

# Seconds an item, to compute and to send, of Genaud, Giersch and Vivien's Table 1; the root last.
TABLE1 = ([(.004629, 1.00e-5), (.009365, 1.12e-5), (.004885, 1.70e-5)] + 2 * [(.016156, 2.10e-5)]
          + 8 * [(.009677, 3.53e-5)] + 2 * [(.003976, 8.15e-5)] + [(.009288, 0)])
TABLE1_UP = TABLE1[-2::-1] + TABLE1[-1:]
ITEMS1 = 817101


def near(got, wanted, tolerance=1e-9):
    assert abs(got - wanted) <= tolerance * abs(wanted), (got, wanted)


def same(got, wanted):
    assert got == wanted, (got, wanted)


def refused(kind, sentence, function, *args, **options):
    try:
        function(*args, **options)
    except kind as reason:
        assert re.search(sentence, str(reason)), str(reason)
        return reason
    raise AssertionError("not refused: %s%r" % (function, args))


# ------------------------------------------------------------------------------ declarations


def read(*path):
    with open(os.path.join(ROOT, *path)) as file:
        return file.read()


def header_calls():
    text = re.sub(r"/\*.*?\*/", "", read("partition", "include", "hetpart.h"), flags=re.S)
    calls = {}
    for match in re.finditer(r"(?m)^HETPART_API\s+([^;#]*?)(\w+)\(([^;]*?)\)\s*(?:HETPART_MUST_CHECK)?;",
                             text):
        result, name, args = match.groups()
        args = [] if args.strip() == "void" else args.split(",")
        calls[name] = [kind(result + " x" if "*" not in result else result)] + [kind(a) for a in args]
    return calls, text


def kind(c):
    """The letter of a C declaration: as in hetpart.py, but p for every pointer."""
    if "*" in c or "_cost_fn" in c:
        return "p"
    for word, letter in (("uint64_t", "u"), ("size_t", "z"), ("double", "d"), ("bool", "b"),
                         ("void", "-"), ("hetpart_", "i")):
        if word in c:
            return letter
    raise AssertionError("unknown type: " + c)


def enums(text):
    return {name: int(value) for name, value in re.findall(r"\b(HETPART_[A-Z_]+) =\s*(\d+)", text)}


def test_python_declares_every_call_of_the_header():
    calls, text = header_calls()
    same(len(calls), len(re.findall("(?m)^HETPART_API", text)))
    ours = {}
    for call in hetpart._CALLS.split():
        name, letters = call.split(":")
        ours["hetpart_" + name] = list(letters.replace("s", "p"))
    same(ours, calls)


def test_fortran_declares_calls_as_the_header_does():
    calls, text = header_calls()
    module = re.sub(r"&\s*\n\s*", "", read("partition", "fortran", "hetpart.f90"))
    pattern = r"(?:function|subroutine) (hetpart_\w+)\(([^)]*)\) bind\(c\).*?\n(.*?)\n\s*end "
    found = {}
    for name, args, body in re.findall(pattern, module, flags=re.S):
        declared = {}
        for line in body.splitlines():
            attributes, _, names = line.partition("::")
            for one in re.findall(r"(\w+)(?:\(\*\))?", names):
                declared[one] = letter_of_fortran(attributes, one)
        found[name] = [declared.get("res", "-")] + [declared[a.strip()] for a in args.split(",") if a.strip()]
    for callback in ("hetpart_cost_fn", "hetpart_farm_watch", "hetpart_stop_fn"):
        found.pop(callback)
    same(found, calls)
    same({n: v for n, v in enums(module).items() if n != "HETPART_ERR_BYTES"}, enums(text))


def letter_of_fortran(attributes, name):
    by_value = "value" in attributes or name == "res"
    if "c_funptr" in attributes or "c_ptr" in attributes:
        return "p"
    for word, letter in (("c_double", "d"), ("c_int64_t", "u"), ("c_size_t", "z"),
                         ("c_bool", "b"), ("c_int)", "i")):
        if word in attributes and by_value:
            return letter
    return "p"


def test_names_of_methods_are_those_of_the_header():
    values = enums(header_calls()[1])
    for prefix, names in (("METHOD", hetpart.METHODS), ("SCATTER", hetpart.SCATTER_METHODS),
                          ("CHAIN", hetpart.CHAIN_METHODS), ("OBJECTIVE", hetpart.OBJECTIVES),
                          ("CHUNK", hetpart.CHUNK_RULES)):
        wanted = {n: v for n, v in values.items() if n.startswith("HETPART_%s_" % prefix)}
        same({"HETPART_%s_%s" % (prefix, n.upper()): i for i, n in enumerate(names)}, wanted)


def test_versions():
    version = read("VERSION").strip()
    same(hetpart.__version__, version)
    same(hetpart._SONAME, "libhetpart.so." + version.split(".")[0])


# ----------------------------------------------------------------------------------- answers


def test_scatter_reference_vectors():
    plan = hetpart.scatter(ITEMS1, TABLE1)
    same(plan.method, "fill")
    near(plan.makespan, 403.9752296)
    near(plan.lower_bound, plan.makespan)
    near(hetpart.scatter(ITEMS1, TABLE1, method="closed").real_makespan, 403.9730150)
    plan = hetpart.scatter(ITEMS1, TABLE1, method="lp")
    near(plan.real_makespan, 403.9730150)
    near(plan.makespan, 403.9752296)
    for method in ("auto", "window"):
        near(hetpart.scatter(ITEMS1, TABLE1_UP, method=method).makespan, 414.3858595)
    same(sum(plan), ITEMS1)
    same(len(plan), 16)


def test_scatter_helpers():
    slack = sum(link for _, link in TABLE1) + max(compute for compute, _ in TABLE1)
    near(hetpart.scatter_slack(TABLE1), slack, 1e-12)
    order = hetpart.scatter_order(ITEMS1, TABLE1_UP)
    same([TABLE1_UP[i] for i in order], TABLE1)
    bounded = hetpart.scatter(102, [(1, 1), (1, 2), (1, None)], minimums=[0, 20, 0], quantum=5)
    same([s % 5 for s in bounded.shares], [0, 0, 2])
    same(bounded.shares[1], 20)
    refused(ValueError, "minimums", hetpart.scatter, 10, [(1, None)], minimums=[1, 2])
    same(hetpart.scatter_root(9, [1, 2], [[1, 1], [1, 1]], minimums=[0, 8]).plan.shares.count(8), 1)
    same(hetpart.scatter_round(10, [3.5, 3.25, 3.25]), [4, 3, 3])
    assert hetpart.scatter_mem_bytes(1000, 4, method="dp") >= 4 * 4 * 1000
    link = [[9, .1, .2], [.1, 9, .3], [.1, .1, 9]]  # from oneself to oneself is not looked at
    root = hetpart.scatter_root(100, [1, 2, 3], link, from_store=[50, None, None])
    near(root.total[root.root], min(root.total), 0)
    near(root.plan.makespan, root.total[root.root])
    same((sorted(root.order), root.order[-1]), ([0, 1, 2], root.root))
    procs = [([1, 2, 3][i], link[root.root][i]) for i in root.order[:-1]] + [([1, 2, 3][root.root], None)]
    same(hetpart.scatter(100, procs).makespan, root.plan.makespan)
    near(root.total[0], 5000 + hetpart.scatter(100, [(2, .1), (3, .2), (1, None)]).makespan)


def test_shares_of_the_reference():
    plan = hetpart.share(4, [1, 2], hetpart.nlogn())
    same(plan.shares, [2, 2])
    near(plan.makespan, 1.3862943611198906, 1e-14)
    same(hetpart.share(2**63 - 1, [1, 2], 1).shares, [3074457345618258602, 6148914691236517205])
    same(hetpart.share(1000, [1, 2, 5], hetpart.nlogn()).shares, [149, 266, 585])
    same(hetpart.share(10**6, [1, 2, 5], hetpart.nlogn(), capacities=[10**6, 10**6, 400000]).shares,
         [206873, 393127, 400000])


def test_a_plan_tells_all():
    plan = hetpart.share(1000, [1, 2, 5], hetpart.linear())
    same((plan.items, len(plan), plan[2], list(plan)), (1000, 3, 625, [125, 250, 625]))
    same(plan.times, [125, 125, 125])
    same(plan.real_shares, [125, 250, 625])
    same((plan.makespan, plan.method[:5]), (125, "exact"))
    same(plan.hash, hetpart.share(1000, [2, 4, 10], 1).hash)
    assert plan.hash != hetpart.share(1000, [1, 2, 4], 1).hash
    assert str(plan).startswith("1000 items over 3 processors"), str(plan)


def test_a_plan_is_a_sequence():
    plan = hetpart.share(1000, [1, 2, 5], hetpart.linear())
    same((plan[-1], plan[1:], plan[::-1], 250 in plan, plan.index(250)),
         (625, [250, 625], [625, 250, 125], True, 1))
    refused(IndexError, "", lambda: plan[3])
    refused(IndexError, "", lambda: plan[-4])
    same(repr(plan), "<hetpart.Plan of 1000 items, exact, D'Hondt: [125, 250, 625], makespan 125>")
    same(repr(hetpart.share(9, [1] * 9, 1))[-26:], "1, 1, 1, ...], makespan 1>")
    same((plan.offsets, plan.first(2), plan.first(3)), ([0, 125, 375, 1000], 375, 1000))
    same((plan.owner(124), plan.owner(125), plan.owner(999), plan.owner(1000)), (0, 1, 2, 3))


def test_views_are_the_library_s_own_memory():
    plan = hetpart.share(1000, [1, 2, 5], hetpart.linear())
    view = plan.view_shares
    same((view.format, view.readonly, list(view)), ("Q", True, [125, 250, 625]))
    same((plan.view_times.format, plan.view_times.tolist()), ("d", [125, 125, 125]))
    same(plan.view_real_shares.tolist(), [125, 250, 625])
    del plan
    gc.collect()
    hetpart.share(1000, [5, 2, 1], hetpart.linear())  # would take the memory that was given back
    same(view.tolist(), [125, 250, 625])
    same(hetpart.share(1000, array.array("d", [1, 2, 5]), 1).shares, [125, 250, 625])
    same(hetpart.share(1000, array.array("d", [1, 2, 5]), 1, capacities=view).shares, [125, 250, 625])
    same(hetpart.share(1000, memoryview(array.array("d", [5, 9, 2, 9, 1]))[::-2], 1).shares, [125, 250, 625])
    same(hetpart.share(1000, array.array("i", [1, 2, 5]), 1).shares, [125, 250, 625])


def test_numpy_looks_at_a_plan_without_a_copy():
    try:
        import numpy
    except ImportError:
        return
    plan = hetpart.share(1000, numpy.array([1, 2, 5]), 1)
    shares = numpy.asarray(plan.view_shares)
    same((shares.dtype, shares.tolist(), shares.flags.owndata), (numpy.uint64, [125, 250, 625], False))
    same((numpy.asarray(plan).ctypes.data, numpy.asarray(plan, "d").tolist()), (shares.ctypes.data, [125, 250, 625]))


def test_arrays_of_numpy_of_all_kinds_go_in():
    try:
        import numpy
    except ImportError:
        return
    for kind in "bHiLfd":
        same(hetpart.share(1000, numpy.array([5, 9, 2, 9, 1], kind)[::-2], 1).shares, [125, 250, 625])
    for kind in "bHiL":
        same(hetpart.share(300, [1, 2, 5], 1, minimums=numpy.array([100, 100, 100], kind)).shares, [100, 100, 100])
    refused(hetpart.InvalidError, "a minimum is negative: -1", hetpart.share, 1000, [1, 2], 1,
            minimums=numpy.array([1, -1]))
    refused(TypeError, "float", hetpart.share, 1000, [1, 2], 1, minimums=numpy.array([1.5, 1]))
    masked = numpy.ma.array([5.0, 9, 2], mask=[0, 1, 0])
    metres = type("Metres", (numpy.ndarray,), {"unit": "m"})
    for sentence, speeds in [("mask.*compressed", masked), ("mask", [1, numpy.ma.masked]),
                             ("mask", numpy.ma.array([1.0, 2])), ("unit.*value", numpy.array([1.0, 2]).view(metres))]:
        refused(TypeError, sentence, hetpart.share, 1000, speeds, 1)
    refused(TypeError, "mask", hetpart.share, 1000, [1, 2, 3], 1, minimums=masked.astype(int))
    refused(TypeError, "mask", hetpart.table, masked)
    refused(TypeError, "mask", hetpart.Chain, masked, [1.0, 1.0], [(1, 1)])
    refused(TypeError, "mask", hetpart.share_weights, [1, 2, 3], masked)


def test_looking_at_one_share_does_not_copy_all():
    """Count the objects that an access creates: a plan of a million must not create more than one of three."""
    few, many = hetpart.share(10, [1, 2, 5], 1), hetpart.share(2**40, array.array("d", [1]) * 10**6, 1)
    made = []
    for plan in few, many:
        tracemalloc.start()
        plan[1]
        made.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert made[1] < made[0] + 1000, made


def test_a_plan_can_be_pickled():
    for plan in (hetpart.share(1000, [1, 2, 5], hetpart.nlogn()),
                 hetpart.scatter(100, [(1, .1), (2, None)]), hetpart.emulate([1, 2], 4)):
        again = pickle.loads(pickle.dumps(plan))
        same((str(again), again.hash, again.pack()), (str(plan), plan.hash, plan.pack()))
        same((repr(copy.deepcopy(plan)), again.method), (repr(plan), plan.method))
    refused(hetpart.FormatError, "damaged", hetpart.Plan.unpack, plan.pack()[:-1] + b"x")
    refused(hetpart.FormatError, "not a packed plan", hetpart.Plan.unpack, b"")


def test_costs():
    near(hetpart.affine(3, 2)(10), 23)
    same(hetpart.affine(3, 2)(0), 0)
    same(hetpart.affine(3, 2, scale=2).affine, (6, 4))
    same(hetpart.nlogn().affine, None)
    same((hetpart.linear().is_linear, hetpart.nlogn().is_linear), (True, False))
    near(hetpart.nlog2n1()(3), 6)
    near(hetpart.power(1.5)(16), 64)
    near(hetpart.piecewise([(10, 5), (20, 15)])(30), 25)
    table = hetpart.table([0, 2, 1, INF])
    same((table(2), table(3), table(4), table.increasing), (1, INF, INF, False))
    near(hetpart.callback(lambda n: n * 2, scale=3)(7), 42)


def test_shares_with_a_cost_each_and_rounding():
    costs = [1, (5, .5), hetpart.table([0] + [7] * 50)]
    by = {m: hetpart.share_unrelated(60, costs, method=m).makespan for m in ("exact", "threshold", "dp")}
    same(len(set(by.values())), 1)
    same(sum(hetpart.share_unrelated(60, costs)), 60)
    assert hetpart.share_unrelated_mem_bytes(60, 3, method="dp") > 0
    plan = hetpart.share_weights([5, 1, 1, 1, 4], [1, 1, 2])
    same((plan.shares, plan.makespan, plan.offsets), ([1, 3, 1], 5, [0, 1, 4, 5]))
    same(hetpart.share_round(10, [3.4, 6.6], [1, 2], 1).shares, [3, 7])
    same(hetpart.share(103, [1, 2, 7], 1, minimums=[20, 0, 0], quantum=5).shares, [20, 18, 65])
    plan = hetpart.share_unrelated(100, costs[:2], method="dp", quantum=10)
    assert sum(share % 10 != 0 for share in plan) <= 1


def test_emulation_and_farm():
    plan = hetpart.emulate([1, 2, 5], 10)
    same(plan.shares, [1, 2, 7])
    near(hetpart.emulate_efficiency(plan, [1, 2, 5]), 10 / (8 * 1.4))
    same(hetpart.emulate_best([1, 2, 5], 100).shares, [1, 2, 5])
    same(sum(hetpart.farm(100, [(1, .1), (2, .1), (3, None)], rule="factoring", chunk=2)), 100)
    refused(ValueError, "ratings: 2 entries for 3", hetpart.emulate_efficiency, plan, [1, 2])
    same(list(hetpart.chunk_sizes(16, 2, rule="factoring")), [4, 4, 2, 2, 1, 1, 1, 1])
    plan, chunks = hetpart.farm_trace(5, [(1, 1), (1, 1)], rule="fixed", chunk=2)
    same([(c.proc, c.items, c.sent, c.arrived, c.done) for c in chunks],
         [(0, 2, 0, 2, 4), (1, 2, 2, 4, 6), (0, 1, 4, 5, 6)])
    same(plan.shares, [3, 2])


def test_model_and_wisdom():
    wisdom = hetpart.Wisdom("node 1")
    model = wisdom.model("work")
    model.add([(100, 3), (200, 6), (400, 12)])
    same(model.weight, 3)
    assert sorted(set(model.points)) == model.points and len(model.points) >= 3, model.points
    near(model.cost()(1000), 30, 1e-6)
    same(model.plan(300, [1, 2]).shares, [100, 200])
    wisdom.set("speed", 1.5)
    wisdom.time_s = 1790000000
    wisdom.save("wisdom")
    again = hetpart.Wisdom.load("wisdom", host="node 1", oldest_s=1700000000)
    same(str(again), str(wisdom))
    same((again.host, again.time_s, again.get("speed"), again.get("other", 7)),
         ("node 1", 1790000000, 1.5, 7))
    same((again.model_names, again.number_names), (["work"], ["speed"]))
    again.merge(wisdom)
    same(again.model("work").weight, 6)
    other = hetpart.Model()
    other.merge(again.model("work"))
    other.decay(.5)
    same(other.weight, 3)
    refused(hetpart.StaleError, "node 1", hetpart.Wisdom.load, "wisdom", host="node 2")
    refused(hetpart.FormatError, "line 3", hetpart.Wisdom.parse, str(wisdom).replace("time ", "time x"))
    refused(OSError, "none", hetpart.Wisdom.load, "none")
    refused(ValueError, "zero byte", wisdom.model, "a\0b")


def test_measured_seconds_have_a_speed():
    seconds, product = hetpart.Model(), hetpart.Model()
    speeds = [1, 2, 4]
    plan = product.plan(7000, speeds)
    seconds.observe(plan.shares, [3e-6 * n / speed for n, speed in zip(plan.shares, speeds)], speeds)
    product.add((n, 3e-6 * n) for n in plan.shares)
    near(seconds.cost()(1000), .003, 1e-9)
    near(product.cost()(1000), .003, 1e-9)
    same(seconds.plan(700, speeds).shares, [100, 200, 400])
    seconds.observe([], [], [])
    same(seconds.weight, 3)
    refused(ValueError, "2 items, 1 times and 2 speeds", seconds.observe, [1, 2], [1], [1, 2])
    refused(ValueError, "observation 1 has speed '0'", seconds.observe, [1, 2], [1, 1], [1, 0])
    refused(ValueError, "observation 0 has cost '-1'", seconds.observe, [1], [-1], [1])


def test_a_model_keeps_its_wisdom():
    model = hetpart.Wisdom("node").model("work")
    gc.collect()
    model.add([(10, 1)])
    same(model.weight, 1)


def test_chain():
    chain = hetpart.Chain([1, 1, 1], [.5, .5], [(1, 1), (1, 1)], installments=[2, 2])
    schedule = chain.schedule()
    near(schedule.makespan, 0.852054, 1e-6)
    same((schedule.nprocs, schedule.nloads, schedule.installments(1)), (3, 2, 2))
    same(len(schedule.fractions), 12)
    near(sum(schedule.fractions), 2)
    near(schedule.fraction(1, 1, 2), schedule.fractions[11], 0)
    near(chain.replay(schedule.fractions).makespan, schedule.makespan)
    near(max(schedule.comp(1, i, p)[1] for i in range(2) for p in range(3)), schedule.makespan)
    same((schedule.comm(0, 0, 0)[0], schedule.comm(0, 0, 2)), (0, None))
    assert chain.mem_bytes() > 0
    assert schedule.lower_bound <= schedule.makespan and schedule.stopped is None
    loads = [(.5, 1)] * 30
    same(hetpart.Chain([1] * 5, [.1] * 4, loads).schedule(stop=lambda: True, limit_s=math.inf).stopped, "canceled")
    simple = hetpart.Chain([1, 3], [0], [(1, 1)], tau=[0, 1], latency=[.1]).schedule(method="simple")
    same(simple.fractions, [.75, .25])
    refused(ValueError, "z: 1 entries, not 2", hetpart.Chain, [1, 1, 1], [1], [(1, 1)])
    own = hetpart.Chain([1], [], [(1, 1), (1, 1)], w_load=[[2], [3]], release=[1, 9], weight=[1, 4])
    own = own.schedule(objective="flow")
    near(own.load_end(0), 3, 1e-6)
    near(own.makespan, 12, 1e-6)
    near(own.flow, 2 + 4 * 3, 1e-6)
    near(own.planned_flow, 14, 1e-6)
    refused(ValueError, "w_load: 1 entries, not 2", hetpart.Chain, [1, 1], [1], [(1, 1)], w_load=[[1]])


# ---------------------------------------------------------------------------------- refusals


def test_refusals_carry_the_library_s_sentence():
    reason = refused(ValueError, "speed of processor 1 is '-1'", hetpart.share, 10, [1, -1], 1)
    same((reason.status, reason.status_text, type(reason)), (1, "invalid argument", hetpart.InvalidError))
    refused(hetpart.RangeError, "", hetpart.share, 2**63, [1], 1)
    refused(hetpart.RangeError, "too large", hetpart.share, 2**64, [1], 1)
    refused(hetpart.InvalidError, "negative", hetpart.share, -1, [1], 1)
    refused(TypeError, "", hetpart.share, 1.5, [1], 1)
    refused(hetpart.InvalidError, "'magic' is not one of", hetpart.share, 1, [1], 1, method="magic")
    refused(hetpart.InvalidError, "capacities: 1 entries for 2", hetpart.share, 1, [1, 1], 1, capacities=[3])
    refused(MemoryError, "", hetpart.share_unrelated, 10**6, [hetpart.table([0, 2, 1])] * 2, method="dp", max_mem_bytes=1000)
    refused(hetpart.NoSolutionError, "", hetpart.share, 2, [1], hetpart.nlogn(), method="taylor")
    refused(hetpart.InvalidError, "", hetpart.scatter, 10, [])
    refused(hetpart.InvalidError, "", hetpart.share, 10, [math.nan], 1)


def endless(**options):
    """A table of 10^12 steps."""
    pairs = [(hetpart.nlogn(1e-6), 3e-6), (hetpart.nlogn(2e-6), 1e-6), (hetpart.nlogn(3e-6), None)]
    return hetpart.scatter(10**6, pairs, method="dp", time_limit_s=math.inf, **options)


def test_a_planner_can_be_stopped():
    plan = endless(stop=lambda: True)
    same((plan.stopped, sum(plan)), ("canceled", 10**6))
    same(hetpart.scatter(10, [(1, None)]).stopped, None)
    plan = hetpart.share_unrelated(10**5, [1, 2], method="dp", stop=lambda: True)
    same((plan.stopped, plan.method, plan.shares), ("canceled", "threshold", [66667, 33333]))
    plan = hetpart.emulate_best([1, math.sqrt(2)], 10**9, stop=lambda: True)
    same(plan.stopped, "canceled")
    refused(hetpart.TimeError, "out of time", hetpart.farm_trace, 10**9, [(1, None)], "fixed", time_limit_s=1e-9)
    same(hetpart.share(10**5, [1, 2], 1, method="dp", time_limit_s=1e-9).stopped, "out of time")
    plan = hetpart.scatter(10**6, [(hetpart.nlogn(), 3), (hetpart.nlogn(2), 1), (1, None)], max_mem_bytes=5000)
    same(plan.stopped, "out of memory")
    assert 0 < plan.lower_bound < plan.makespan
    refused(hetpart.InvalidError, "time limit", hetpart.scatter, 10, [(1, None)], time_limit_s=-1)


def test_control_c_interrupts_a_planner():
    refused(KeyboardInterrupt, "", endless, stop=lambda: os.kill(os.getpid(), signal.SIGINT))
    same(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def broken():
        raise KeyError("no patience")

    refused(KeyError, "no patience", endless, stop=broken)


def test_an_exception_in_a_callback_comes_out():
    def broken(items):
        raise KeyError("no time for %d" % items)

    cost = hetpart.callback(broken, increasing=True)
    refused(KeyError, "no time for", hetpart.share, 10, [1, 2], cost)
    refused(KeyError, "no time for 7", cost, 7)
    refused(KeyError, "no time for", hetpart.scatter, 10, [(1, cost), (1, None)])
    same(sum(hetpart.share(10, [1, 2], hetpart.callback(lambda n: n * n, increasing=True))), 10)


def test_what_is_handed_in_may_go_away():
    plan = hetpart.share_unrelated(1000, [hetpart.callback(lambda n: n, True) for _ in range(50)])
    gc.collect()
    same(set(plan), {20})
    model_cost = hetpart.Model().cost()
    gc.collect()
    same(model_cost(5), 5)


def test_structures_are_as_long_as_in_c():
    """The library refuses a struct_size it does not know; a pair and a point have none."""
    same(ctypes.sizeof(hetpart._Point), 16)
    same(ctypes.sizeof(hetpart._Pair), 2 * ctypes.sizeof(ctypes.c_void_p))
    same(ctypes.sizeof(hetpart._Err), 260)


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    for number, (name, function) in enumerate(tests, 1):
        try:
            function()
            print("ok %d - %s" % (number, name[5:].replace("_", " ")))
        except Exception:
            print("not ok %d - %s" % (number, name[5:].replace("_", " ")))
            print(re.sub("(?m)^", "# ", traceback.format_exc()))
    print("1..%d" % len(tests))


main()
