# SPDX-License-Identifier: GPL-3.0-or-later
"""hetpart - divide items among the processors of a heterogeneous machine so that all of them finish
together. It calls libhetpart through ctypes. hetpart(3) and related pages explain each call; names here have
no prefix hetpart_.

    >>> import hetpart
    >>> plan = hetpart.share(1000, [1, 2, 5], hetpart.nlogn())
    >>> plan.shares
    [149, 266, 585]

A cost may be a number, the time per item, or a pair (startup, time per item). A refused call raises
Error with the sentence of the library. Subclasses of Error are also ValueError, MemoryError, OSError
or TimeoutError. If a callback raises an exception, the call that used the callback raises it, too. The
library is HETPART_LIBRARY if that is set. Otherwise it is libhetpart.so.0 from this package, from the system,
or from the installation of the program hetsort.
"""
import collections
import collections.abc
import ctypes
import math
import numbers
import operator
import os
import signal
import threading

import _hetlibrary

# The calls: each name is followed by one letter for the result and one for each argument. All pointers are p.
_LETTERS = {"i": ctypes.c_int, "d": ctypes.c_double, "u": ctypes.c_uint64, "z": ctypes.c_size_t,
            "p": ctypes.c_void_p, "s": ctypes.c_char_p, "b": ctypes.c_bool, "-": None}
_CALLS = """
version:s status_text:si
cost_affine:ipdddp cost_linear:ipdp cost_nlogn:ipdp cost_nlog2n1:ipdp cost_power:ipddp
cost_piecewise:ippzdp cost_table:ippzdp cost_callback:ipppbdp cost_eval:dpu cost_increasing:bp
cost_is_affine:bppp cost_is_linear:bp cost_free:-p
plan_nprocs:zp plan_items:up plan_share:upz plan_shares:pp plan_first:upz plan_offsets:-pp
plan_owner:zpu
plan_real_shares:pp plan_times:pp plan_real_share:dpz plan_time:dpz
plan_makespan:dp plan_real_makespan:dp plan_lower_bound:dp plan_stopped:ip plan_method:sp
plan_hash:up plan_print:zppz plan_pack:zppz plan_unpack:ippzp plan_free:-p
share_create:ipupzppp share_unrelated_create:ipupzpp share_unrelated_mem_bytes:uuzp
share_round:ipuppzpp share_weights:ippupzp
model_create:ipp model_add:ippzp model_observe:ipppzp model_decay:ipdp model_merge:ippp model_weight:dp
model_points:zppz model_cost:ippp model_plan:ippupzpp model_free:-p
wisdom_create:ipsp wisdom_host:sp wisdom_time:up wisdom_set_time:ipup wisdom_model:ipspp
wisdom_set:ipsdp wisdom_get:bpsp wisdom_model_name:spz wisdom_number_name:spz wisdom_merge:ippp
wisdom_print:zppz wisdom_parse:ipszsup wisdom_load:ipssup wisdom_save:ipsp wisdom_free:-p
emulate_create:ippzup emulate_best:ippzup emulate_best_within:ippzupp emulate_efficiency:dpp farm_create:ipupziup
farm_trace:ipupziuppp farm_trace_within:ipupziupppp chunks_next:up
scatter_create:ipupzpp scatter_mem_bytes:uuzp scatter_slack:ippzp scatter_round:ipupzp
scatter_order:ipupzp scatter_root:ippppupppzpp
chain_create:ipppp chain_mem_bytes:upp chain_replay:ipppzp
schedule_makespan:dp schedule_lower_bound:dp schedule_stopped:ip
schedule_load_end:dpz schedule_flow:dp schedule_planned_flow:dp
schedule_planned_makespan:dp schedule_method:sp schedule_nprocs:zp
schedule_nloads:zp schedule_installments:zpz schedule_fraction:dpzzz schedule_fractions:ppp
schedule_comm:bpzzzpp schedule_comp:bpzzzpp schedule_free:-p
"""
_SONAME = "libhetpart.so.0"

def _bind(lib):
    calls = {}
    for call in _CALLS.split():
        name, letters = call.split(":")
        function = getattr(lib, "hetpart_" + name)
        function.restype = _LETTERS[letters[0]]
        function.argtypes = [_LETTERS[c] for c in letters[1:]]
        calls[name] = function
    return collections.namedtuple("Calls", calls)(**calls)


_c = _bind(_hetlibrary.load("HETPART_LIBRARY", _SONAME))
_COST_FN = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_uint64)
_STOP_FN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_OUT_OF_RANGE = 2**64
__version__ = _c.version().decode()
ITEMS_MAX = 2**63 - 1


# ---------------------------------------------------------------------------------------- errors


class Error(Exception):
    """A refused call: status is the number, status_text a few words, and str() the reason."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status
        self.status_text = _c.status_text(status).decode()


class InvalidError(Error, ValueError):
    """An argument is invalid."""


class RangeError(Error, ValueError):
    """A value is too large, or exceeds the capacities."""


class NoMemoryError(Error, MemoryError):
    """Out of memory, or above the memory limit."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written."""


class FormatError(Error, ValueError):
    """A file or text is damaged, or has another format."""


class StaleError(Error):
    """A file is valid, but from another machine or too old."""


class NoSolutionError(Error):
    """The method has no solution for these values."""


class TimeError(Error, TimeoutError):
    """The time limit was reached."""


class CanceledError(Error):
    """The caller's stop() returned true before there was a result."""


class MissingError(Error):
    """A library that the method needs is not installed."""


_ERRORS = {1: InvalidError, 2: RangeError, 3: NoMemoryError, 4: FileError, 5: FormatError,
           6: StaleError, 7: NoSolutionError, 10: TimeError, 11: CanceledError,
           12: MissingError}


class _Err(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 256)]


def _call(function, *args, costs=()):
    """Call a function with a buffer for the reason as its last argument. Raise the exception of a cost's
    callback, or of the status."""
    err = _Err()
    status = function(*args, ctypes.byref(err))
    for cost in costs:
        cost._raise()
    if status:
        raise _ERRORS.get(status, Error)(status, err.text.decode(errors="replace"))


def _make(function, *args, costs=()):
    out = ctypes.c_void_p()
    _call(function, ctypes.byref(out), *args, costs=costs)
    return out


# ------------------------------------------------------------------------------------- arguments


def _count(value, what):
    value = operator.index(value)
    if value < 0:
        raise InvalidError(1, "%s is negative: %d" % (what, value))
    if value >= _OUT_OF_RANGE:
        raise RangeError(2, "%s is too large: %d" % (what, value))
    return value


def _from_buffer(values, letters, kind):
    """Return a copy of the numbers in a contiguous buffer, such as an array of numpy, if their format is one
    of `letters`. Otherwise return None."""
    try:
        view = memoryview(values)
    except TypeError:
        return None
    if view.ndim != 1 or view.format not in letters or not view.c_contiguous:
        return None
    return (kind * len(view)).from_buffer_copy(view)


def _array(values, letter):
    """Convert an array of numpy to a contiguous array of type `letter`, if its numbers fit. Return anything
    else unchanged."""
    if hasattr(values, "__array__") and values.dtype.kind in "biuf":
        if letter == "d" or values.dtype.kind == "u" or values.dtype.kind == "i" and (values >= 0).all():
            return values.astype(letter)
    return values


def _doubles(values):
    array = _from_buffer(_array(_hetlibrary.plain(values), "d"), "d", ctypes.c_double)
    if array is None:
        values = [float(_hetlibrary.plain(v)) for v in values]
        array = (ctypes.c_double * len(values))(*values)
    return array


def _counts(values, what):
    array = _from_buffer(_array(_hetlibrary.plain(values), "L"), ("Q", "L"), ctypes.c_uint64)
    if array is None:
        values = [_count(v, what) for v in values]
        array = (ctypes.c_uint64 * len(values))(*values)
    return array


def _same_length(what, values, nprocs):
    if len(values) != nprocs:
        raise InvalidError(1, "%s: %d entries for %d processors" % (what, len(values), nprocs))


def _pointers(costs):
    return (ctypes.c_void_p * len(costs))(*[c._p if c else None for c in costs])


def _text_of(function, pointer):
    size = function(pointer, None, 0) + 1
    buf = ctypes.create_string_buffer(size)
    function(pointer, buf, size)
    return buf.value.decode(errors="replace")


def _string(text):
    text = os.fsencode(text)
    if b"\0" in text:
        raise InvalidError(1, "a text holds a zero byte")
    return text


def _maybe_string(text):
    return None if text is None else _string(text)


def _choice(names, value):
    if value in names:
        return names.index(value)
    raise InvalidError(1, "'%s' is not one of %s" % (value, ", ".join(names)))


class _Owner:
    """Owns an object of the library, and frees it."""

    _free = None

    def __init__(self, pointer):
        self._p = pointer

    def __del__(self):
        if self._free and getattr(self, "_p", None):
            self._free(self._p)
            self._p = None


# ----------------------------------------------------------------------------------------- costs


class Cost(_Owner):
    """A cost, as in hetpart_cost(3): cost(items) is the time of a number of items."""

    _free = _c.cost_free
    _failures = ()

    def _raise(self):
        if self._failures:
            first = self._failures[0]
            self._failures.clear()
            raise first

    def __call__(self, items):
        time = _c.cost_eval(self._p, _count(items, "items"))
        self._raise()
        return time

    @property
    def increasing(self):
        return _c.cost_increasing(self._p)

    @property
    def is_linear(self):
        return _c.cost_is_linear(self._p)

    @property
    def affine(self):
        """(startup, per_item), or None if the cost is not affine."""
        startup, per_item = ctypes.c_double(), ctypes.c_double()
        if _c.cost_is_affine(self._p, ctypes.byref(startup), ctypes.byref(per_item)):
            return startup.value, per_item.value
        return None


def affine(startup, per_item, scale=1):
    return Cost(_make(_c.cost_affine, startup, per_item, scale))


def linear(scale=1):
    return Cost(_make(_c.cost_linear, scale))


def nlogn(scale=1):
    return Cost(_make(_c.cost_nlogn, scale))


def nlog2n1(scale=1):
    return Cost(_make(_c.cost_nlog2n1, scale))


def power(exponent, scale=1):
    return Cost(_make(_c.cost_power, exponent, scale))


def piecewise(points, scale=1):
    """Return a cost of straight lines between points, pairs (items, time)."""
    array, count = _points(points)
    return Cost(_make(_c.cost_piecewise, array, count, scale))


def table(values, scale=1):
    array = _doubles(values)
    return Cost(_make(_c.cost_table, array, len(array), scale))


def callback(function, increasing=False, scale=1):
    """Return a cost for which function(items) is the time. increasing: more items never take less time."""
    failures = []

    def guarded(_, items):
        try:
            return float(function(items))
        except BaseException as failure:  # exceptions cannot pass through the library
            failures.append(failure)
            return math.nan

    guard = _COST_FN(guarded)
    cost = Cost(_make(_c.cost_callback, guard, None, increasing, scale))
    cost._guard, cost._failures = guard, failures
    return cost


class _Point(ctypes.Structure):
    _fields_ = [("items", ctypes.c_double), ("time_s", ctypes.c_double)]


def _points(points):
    points = [_Point(*_hetlibrary.plain(p)) for p in _hetlibrary.plain(points)]
    return (_Point * len(points))(*points), len(points)


def _cost(value):
    if isinstance(value, Cost):
        return value
    if isinstance(value, numbers.Real):
        return affine(0, value)
    startup, per_item = value
    return affine(startup, per_item)


def _maybe_cost(value):
    return None if value is None else _cost(value)


# ------------------------------------------------------------------------- limits and interruption


def _stopped(status):
    """Return in a few words what stopped a method early, or None."""
    return _c.status_text(status).decode() if status else None


class _Interruptible:
    """A context in which a planner stops when stop() returns true or Control-C is pressed. Control-C is only
    recorded; the caller's handler is called when the planner has returned."""

    def __init__(self, stop):
        self._stop, self._failures, self._signals, self._handler = stop, [], [], None
        self.callback = _STOP_FN(self._asked)

    def _asked(self, _):
        try:
            return bool(self._signals) or bool(self._stop and self._stop())
        except BaseException as failure:  # exceptions cannot pass through the library
            self._failures.append(failure)
            return True

    def __enter__(self):
        ours = threading.current_thread() is threading.main_thread()
        if ours and callable(signal.getsignal(signal.SIGINT)):
            self._handler = signal.signal(signal.SIGINT, lambda *a: self._signals.append(a))
        return self

    def __exit__(self, *_):
        if self._handler:
            signal.signal(signal.SIGINT, self._handler)
        if self._signals:
            self._handler(*self._signals[0])
        if self._failures:
            raise self._failures[0]


# ----------------------------------------------------------------------------------------- plans


def _view(owner, pointer, count, kind):
    """Return an array of the library as a read-only memoryview, which keeps its owner alive."""
    numbers_ = (kind * count).from_address(pointer)
    numbers_.owner = owner
    return memoryview(numbers_).cast("B").cast(kind._type_.replace("L", "Q")).toreadonly()


class Plan(_Owner, collections.abc.Sequence):
    """The result of a planner: a sequence of the shares, of which a slice is a list. view_shares,
    view_real_shares and view_times are buffers in the memory of the library. So numpy.asarray(plan), which
    has the shares, and numpy.asarray(plan.view_times) copy nothing, and keep the plan alive. Plans can be
    pickled."""

    _free = _c.plan_free

    def __len__(self):
        return _c.plan_nprocs(self._p)

    def __getitem__(self, proc):
        if isinstance(proc, slice):
            return self.view_shares[proc].tolist()
        nprocs, at = len(self), operator.index(proc)
        at += nprocs if at < 0 else 0
        if not 0 <= at < nprocs:
            raise IndexError("processor %d of %d" % (proc, nprocs))
        return _c.plan_share(self._p, at)

    def __iter__(self):
        return iter(self.shares)

    def __array__(self, dtype=None, copy=None):
        import numpy  # the caller has it
        array = numpy.asarray(self.view_shares, dtype)
        return array.copy() if copy else array

    def __repr__(self):
        more = ", ..." if len(self) > 8 else ""
        return "<hetpart.Plan of %d items, %s: [%s%s], makespan %.6g>" % (
            self.items, self.method, ", ".join(map(str, self[:8])), more, self.makespan)

    def __str__(self):
        return _text_of(_c.plan_print, self._p)

    def __reduce__(self):
        return Plan.unpack, (self.pack(),)

    def pack(self):
        """Return the plan as bytes that are the same on every machine."""
        buf = ctypes.create_string_buffer(_c.plan_pack(self._p, None, 0))
        _c.plan_pack(self._p, buf, len(buf))
        return buf.raw

    @staticmethod
    def unpack(packed):
        """Return the plan that pack() has converted to these bytes."""
        return Plan(_make(_c.plan_unpack, bytes(packed), len(packed)))

    def first(self, proc):
        """Return the number of the first item of processor proc; both count from 0."""
        return _c.plan_first(self._p, _count(proc, "proc"))

    def owner(self, item):
        """Return the processor that has this item; len(plan) if no processor has it."""
        return _c.plan_owner(self._p, _count(item, "item"))

    @property
    def offsets(self):
        """The number of the first item of each processor, and finally the number of all items."""
        first = (ctypes.c_uint64 * (len(self) + 1))()
        _c.plan_offsets(self._p, first)
        return first[:]

    @property
    def view_shares(self):
        return _view(self, _c.plan_shares(self._p), len(self), ctypes.c_uint64)

    @property
    def view_real_shares(self):
        """The shares before rounding; NaN if the method has none."""
        return _view(self, _c.plan_real_shares(self._p), len(self), ctypes.c_double)

    @property
    def view_times(self):
        return _view(self, _c.plan_times(self._p), len(self), ctypes.c_double)

    shares = property(lambda self: self.view_shares.tolist())
    real_shares = property(lambda self: self.view_real_shares.tolist())
    times = property(lambda self: self.view_times.tolist())
    items = property(lambda self: _c.plan_items(self._p))
    makespan = property(lambda self: _c.plan_makespan(self._p))
    real_makespan = property(lambda self: _c.plan_real_makespan(self._p))
    lower_bound = property(lambda self: _c.plan_lower_bound(self._p))
    stopped = property(lambda self: _stopped(_c.plan_stopped(self._p)))
    method = property(lambda self: _c.plan_method(self._p).decode())
    hash = property(lambda self: _c.plan_hash(self._p))


METHODS = ("exact", "taylor", "asymptotic", "proportional", "threshold", "bitset", "dp")


class _Opts(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("method", ctypes.c_int),
                ("capacities", ctypes.c_void_p), ("quantum", ctypes.c_uint64),
                ("max_mem_bytes", ctypes.c_uint64), ("time_limit_s", ctypes.c_double),
                ("stop", ctypes.c_void_p), ("stop_ctx", ctypes.c_void_p),
                ("minimums", ctypes.c_void_p)]


def _set_minimums(opts, minimums, nprocs):
    if minimums is not None:
        opts.least = _counts(minimums, "a minimum")
        _same_length("minimums", opts.least, nprocs)
        opts.minimums = ctypes.addressof(opts.least)


def _opts(nprocs, method="exact", capacities=None, quantum=0, max_mem_bytes=0, time_limit_s=0,
          minimums=None):
    opts = _Opts(ctypes.sizeof(_Opts), _choice(METHODS, method), None, _count(quantum, "quantum"),
                 _count(max_mem_bytes, "max_mem_bytes"), time_limit_s)
    if capacities is not None:
        opts.array = _counts(capacities, "a capacity")
        _same_length("capacities", opts.array, nprocs)
        opts.capacities = ctypes.addressof(opts.array)
    _set_minimums(opts, minimums, nprocs)
    return opts


def share(items, speeds, cost, stop=None, **options):
    """Plan shares: processor i takes cost(n)/speeds[i] for n items. Options, see hetpart_share(3): method (of
    METHODS), capacities, minimums, quantum, max_mem_bytes, time_limit_s, and stop() as in scatter()."""
    speeds, cost = _doubles(speeds), _cost(cost)
    opts = _opts(len(speeds), **options)
    with _Interruptible(stop) as block:
        opts.stop = ctypes.cast(block.callback, ctypes.c_void_p)
        plan = Plan(_make(_c.share_create, _count(items, "items"), speeds, len(speeds), cost._p,
                          ctypes.byref(opts), costs=[cost]))
    return plan


def share_unrelated(items, costs, stop=None, **options):
    """Plan shares with a different cost for each processor; options as in share()."""
    costs = [_cost(c) for c in costs]
    opts = _opts(len(costs), **options)
    with _Interruptible(stop) as block:
        opts.stop = ctypes.cast(block.callback, ctypes.c_void_p)
        plan = Plan(_make(_c.share_unrelated_create, _count(items, "items"), _pointers(costs),
                          len(costs), ctypes.byref(opts), costs=costs))
    return plan


def share_unrelated_mem_bytes(items, nprocs, **options):
    return _c.share_unrelated_mem_bytes(_count(items, "items"), _count(nprocs, "nprocs"),
                                        ctypes.byref(_opts(nprocs, **options)))


def share_weights(weights, speeds):
    """Divide a sequence of items of unequal weight into contiguous parts, in the order of the processors."""
    weights, speeds = _doubles(weights), _doubles(speeds)
    return Plan(_make(_c.share_weights, weights, len(weights), speeds, len(speeds)))


def share_round(items, real, speeds, cost):
    real, speeds, cost = _doubles(real), _doubles(speeds), _cost(cost)
    _same_length("real", real, len(speeds))
    return Plan(_make(_c.share_round, _count(items, "items"), real, speeds, len(speeds), cost._p,
                      costs=[cost]))


# ------------------------------------------------------------------------------ models and wisdom


class Model(_Owner):
    """A cost that is learned from measurements, as in hetpart_model(3)."""

    _free = _c.model_free

    def __init__(self):
        super().__init__(_make(_c.model_create))

    def add(self, observed):
        """Add costs: pairs of items, and their time multiplied by the speed of the processor. For measured
        seconds, call observe()."""
        array, count = _points(observed)
        _call(_c.model_add, self._p, array, count)

    def observe(self, items, times, speeds):
        """Add measurements: for each share its items, its seconds, and the speed of the processor that took
        them, as in observe(plan.shares, seconds, speeds)."""
        items, times, speeds = _doubles(items), _doubles(times), _doubles(speeds)
        if not len(items) == len(times) == len(speeds):
            raise InvalidError(1, "%d items, %d times and %d speeds: give one of each per measurement"
                               % (len(items), len(times), len(speeds)))
        array, count = _points(zip(items, times))
        _call(_c.model_observe, self._p, array, speeds, count)

    def decay(self, factor):
        _call(_c.model_decay, self._p, factor)

    def merge(self, other):
        _call(_c.model_merge, self._p, other._p)

    @property
    def weight(self):
        return _c.model_weight(self._p)

    @property
    def points(self):
        """The points (items, time) between which the fitted cost is linear."""
        room = _c.model_points(self._p, None, 0)
        array = (_Point * room)()
        _c.model_points(self._p, array, room)
        return [(p.items, p.time_s) for p in array]

    def cost(self):
        return Cost(_make(_c.model_cost, self._p))

    def plan(self, items, speeds, **options):
        """Plan shares like share(), with the fitted cost."""
        speeds = _doubles(speeds)
        opts = _opts(len(speeds), **options)
        return Plan(_make(_c.model_plan, self._p, _count(items, "items"), speeds, len(speeds),
                          ctypes.byref(opts)))


class _ModelOfWisdom(Model):
    """A model that belongs to wisdom, and keeps this wisdom alive."""

    _free = None

    def __init__(self, pointer, wisdom):
        _Owner.__init__(self, pointer)
        self._wisdom = wisdom


class Wisdom(_Owner):
    """Named models and numbers of one machine, which can be kept in a file: see hetpart-wisdom(5)."""

    _free = _c.wisdom_free

    def __init__(self, host, _pointer=None):
        super().__init__(_pointer or _make(_c.wisdom_create, _string(host)))

    @classmethod
    def load(cls, path, host=None, oldest_s=0):
        return cls(None, _make(_c.wisdom_load, _string(path), _maybe_string(host),
                               _count(oldest_s, "oldest_s")))

    @classmethod
    def parse(cls, text, host=None, oldest_s=0):
        text = text.encode() if isinstance(text, str) else bytes(text)
        return cls(None, _make(_c.wisdom_parse, text, len(text), _maybe_string(host),
                               _count(oldest_s, "oldest_s")))

    def save(self, path):
        _call(_c.wisdom_save, self._p, _string(path))

    def __str__(self):
        return _text_of(_c.wisdom_print, self._p)

    @property
    def host(self):
        return _c.wisdom_host(self._p).decode(errors="replace")

    @property
    def time_s(self):
        return _c.wisdom_time(self._p)

    @time_s.setter
    def time_s(self, value):
        _call(_c.wisdom_set_time, self._p, _count(value, "time_s"))

    def model(self, name):
        """Return the model of that name; create it if it does not exist."""
        out = ctypes.c_void_p()
        _call(_c.wisdom_model, self._p, _string(name), ctypes.byref(out))
        return _ModelOfWisdom(out, self)

    def set(self, name, value):
        _call(_c.wisdom_set, self._p, _string(name), value)

    def get(self, name, default=None):
        value = ctypes.c_double()
        found = _c.wisdom_get(self._p, _string(name), ctypes.byref(value))
        return value.value if found else default

    def _names(self, function):
        names, index = [], 0
        while True:
            name = function(self._p, index)
            if name is None:
                return names
            names.append(name.decode())
            index += 1

    @property
    def model_names(self):
        return self._names(_c.wisdom_model_name)

    @property
    def number_names(self):
        return self._names(_c.wisdom_number_name)

    def merge(self, other):
        _call(_c.wisdom_merge, self._p, other._p)


# ---------------------------------------------------------------------------- emulation and farms


def emulate(ratings, processes):
    ratings = _doubles(ratings)
    return Plan(_make(_c.emulate_create, ratings, len(ratings), _count(processes, "processes")))


class _Limits(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("time_limit_s", ctypes.c_double),
                ("stop", ctypes.c_void_p), ("stop_ctx", ctypes.c_void_p)]


def _limits(block, time_limit_s):
    return ctypes.byref(_Limits(ctypes.sizeof(_Limits), time_limit_s,
                                ctypes.cast(block.callback, ctypes.c_void_p)))


def emulate_best(ratings, most, stop=None, time_limit_s=math.inf):
    """Plan the best number of processes up to `most`. If stop() returns true or the time is over, it is the
    best number so far, and the plan's attribute stopped is the reason."""
    ratings = _doubles(ratings)
    with _Interruptible(stop) as block:
        plan = Plan(_make(_c.emulate_best_within, ratings, len(ratings), _count(most, "most"),
                          _limits(block, time_limit_s)))
    return plan


def emulate_efficiency(plan, ratings):
    ratings = _doubles(ratings)
    _same_length("ratings", ratings, len(plan))
    return _c.emulate_efficiency(plan._p, ratings)


CHUNK_RULES = ("fixed", "guided", "factoring")


class _Pair(ctypes.Structure):
    _fields_ = [("compute", ctypes.c_void_p), ("link", ctypes.c_void_p)]


def _pairs(procs):
    costs = [(_maybe_cost(compute), _maybe_cost(link)) for compute, link in _hetlibrary.plain(procs)]
    array = (_Pair * len(costs))(*[_Pair(*_pointers(pair)) for pair in costs])
    return array, [c for pair in costs for c in pair if c]


def farm(items, workers, rule="guided", chunk=1):
    """Simulate a farm. Workers are pairs (compute, link) of costs; link is None if nothing is sent."""
    array, costs = _pairs(workers)
    return Plan(_make(_c.farm_create, _count(items, "items"), array, len(array),
                      _choice(CHUNK_RULES, rule), _count(chunk, "chunk"), costs=costs))


class Chunk(ctypes.Structure):
    """One chunk of a farm: its processor, its number of items, and when its message begins, its message ends,
    and its computation ends."""
    _fields_ = [("proc", ctypes.c_size_t), ("items", ctypes.c_uint64), ("sent", ctypes.c_double),
                ("arrived", ctypes.c_double), ("done", ctypes.c_double)]


_FARM_WATCH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Chunk))


def farm_trace(items, workers, rule="guided", chunk=1, stop=None, time_limit_s=math.inf):
    """Simulate a farm like farm(). Return the plan, and all chunks in the order in which they are sent."""
    array, costs = _pairs(workers)
    chunks = []
    watch = _FARM_WATCH(lambda _, c: chunks.append(Chunk.from_buffer_copy(c.contents)))
    with _Interruptible(stop) as block:
        plan = Plan(_make(_c.farm_trace_within, _count(items, "items"), array, len(array),
                          _choice(CHUNK_RULES, rule), _count(chunk, "chunk"), watch, None,
                          _limits(block, time_limit_s), costs=costs))
    return plan, chunks


class _Chunks(ctypes.Structure):
    _fields_ = [("rule", ctypes.c_int), ("nprocs", ctypes.c_uint64), ("chunk", ctypes.c_uint64),
                ("left", ctypes.c_uint64), ("batch_chunk", ctypes.c_uint64),
                ("batch_left", ctypes.c_uint64)]


def chunk_sizes(items, nprocs, rule="guided", chunk=1):
    """Return an iterator over the sizes of the chunks that a farm sends."""
    chunks = _Chunks(_choice(CHUNK_RULES, rule), _count(nprocs, "nprocs"), _count(chunk, "chunk"),
                     _count(items, "items"))
    return iter(lambda: _c.chunks_next(ctypes.byref(chunks)), 0)


# --------------------------------------------------------------------------------------- scatter

SCATTER_METHODS = ("auto", "dp", "dp_increasing", "window", "multires", "lp", "closed",
                   "all_at_once", "two_pass", "greedy", "fill")
Root = collections.namedtuple("Root", "plan root order total")


class _ScatterOpts(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("method", ctypes.c_int),
                ("max_mem_bytes", ctypes.c_uint64), ("time_limit_s", ctypes.c_double),
                ("stop", ctypes.c_void_p), ("stop_ctx", ctypes.c_void_p),
                ("minimums", ctypes.c_void_p), ("quantum", ctypes.c_uint64)]


def _scatter_opts(nprocs, method="auto", max_mem_bytes=0, time_limit_s=0, minimums=None,
                  quantum=0):
    opts = _ScatterOpts(ctypes.sizeof(_ScatterOpts), _choice(SCATTER_METHODS, method),
                        _count(max_mem_bytes, "max_mem_bytes"), time_limit_s)
    _set_minimums(opts, minimums, nprocs)
    opts.quantum = _count(quantum, "quantum")
    return opts


def scatter(items, procs, stop=None, **options):
    """Plan a scatter. procs are pairs (compute, link) of costs in the order of service, the root last; the
    root's link may be None. Options: method (of SCATTER_METHODS), minimums (of items, per processor), quantum
    (shares are its multiples, the root also has the rest), max_mem_bytes, time_limit_s, and stop(). The
    planner calls stop() regularly. If it returns true, the plan is the best so far, and the plan's attribute
    stopped is the reason."""
    array, costs = _pairs(procs)
    opts = _scatter_opts(len(array), **options)
    with _Interruptible(stop) as block:
        opts.stop = ctypes.cast(block.callback, ctypes.c_void_p)
        plan = Plan(_make(_c.scatter_create, _count(items, "items"), array, len(array),
                          ctypes.byref(opts), costs=costs))
    return plan


def scatter_mem_bytes(items, nprocs, **options):
    return _c.scatter_mem_bytes(_count(items, "items"), _count(nprocs, "nprocs"),
                                ctypes.byref(_scatter_opts(nprocs, **options)))


def scatter_slack(procs):
    array, costs = _pairs(procs)
    slack = ctypes.c_double()
    _call(_c.scatter_slack, ctypes.byref(slack), array, len(array), costs=costs)
    return slack.value


def scatter_round(items, real):
    real = _doubles(real)
    shares = (ctypes.c_uint64 * len(real))()
    _call(_c.scatter_round, shares, _count(items, "items"), real, len(real))
    return list(shares)


def scatter_order(items, procs):
    array, costs = _pairs(procs)
    order = (ctypes.c_size_t * len(array))()
    _call(_c.scatter_order, order, _count(items, "items"), array, len(array), costs=costs)
    return list(order)


def scatter_root(items, compute, link, from_store=None, stop=None, **options):
    """Find the best root, see hetpart_scatter(3). link[r][i] is the cost of the message from r to i;
    link[r][r] is ignored. Return (plan, root, order, total)."""
    compute = [_cost(c) for c in compute]
    nprocs = len(compute)
    _same_length("link", link, nprocs)
    for row in link:
        _same_length("a row of link", row, nprocs)
    links = [None if r == i else _maybe_cost(c) for r, row in enumerate(link)
             for i, c in enumerate(row)]
    store = [None] * nprocs if from_store is None else [_maybe_cost(c) for c in from_store]
    _same_length("from_store", store, nprocs)
    root, order = ctypes.c_size_t(), (ctypes.c_size_t * nprocs)()
    total, opts = (ctypes.c_double * nprocs)(), _scatter_opts(nprocs, **options)
    with _Interruptible(stop) as block:
        opts.stop = ctypes.cast(block.callback, ctypes.c_void_p)
        plan = Plan(_make(_c.scatter_root, ctypes.byref(root), order, total,
                          _count(items, "items"), _pointers(compute), _pointers(links),
                          _pointers(store), nprocs, ctypes.byref(opts),
                          costs=[c for c in compute + links + store if c]))
    return Root(plan, root.value, list(order), list(total))


# ---------------------------------------------------------------------------------------- chains

CHAIN_METHODS = ("lp", "simple", "singleinst", "multiinst")
OBJECTIVES = ("makespan", "flow")


class _Chain(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("nprocs", ctypes.c_size_t),
                ("nloads", ctypes.c_size_t), ("w", ctypes.c_void_p), ("z", ctypes.c_void_p),
                ("tau", ctypes.c_void_p), ("latency", ctypes.c_void_p),
                ("vcomm", ctypes.c_void_p), ("vcomp", ctypes.c_void_p),
                ("installments", ctypes.c_void_p), ("w_load", ctypes.c_void_p),
                ("release", ctypes.c_void_p), ("weight", ctypes.c_void_p)]


class _ChainOpts(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("method", ctypes.c_int),
                ("max_installments", ctypes.c_size_t), ("limit_s", ctypes.c_double),
                ("max_mem_bytes", ctypes.c_uint64), ("stop", ctypes.c_void_p),
                ("stop_ctx", ctypes.c_void_p), ("objective", ctypes.c_int)]


class Chain:
    """A chain of processors and its loads, see hetpart_chain(3). w has the time of a unit of computation on
    each processor, z the time of a unit of data over each link. Loads are pairs (units of data, units of
    computation). w_load has a list like w for each load, which replaces w."""

    def __init__(self, w, z, loads, tau=None, latency=None, installments=None, w_load=None,
                 release=None, weight=None):
        loads, w = list(_hetlibrary.plain(loads)), list(_hetlibrary.plain(w))
        self._c = _Chain(ctypes.sizeof(_Chain), len(w), len(loads))
        self._set("w", w, len(w))
        self._set("z", z, len(w) - 1)
        self._set("tau", tau, len(w))
        self._set("latency", latency, len(w) - 1)
        self._set("vcomm", [load[0] for load in loads], len(loads))
        self._set("vcomp", [load[1] for load in loads], len(loads))
        self._set("release", release, len(loads))
        self._set("weight", weight, len(loads))
        if w_load is not None:
            w_load = [x for row in _hetlibrary.plain(w_load) for x in _hetlibrary.plain(row)]
            self._set("w_load", w_load, len(w) * len(loads))
        if installments is not None:
            _same_length("installments", installments, len(loads))
            counts = [_count(n, "installments") for n in _hetlibrary.plain(installments)]
            self._array("installments", (ctypes.c_size_t * len(counts))(*counts))

    def _set(self, name, values, length):
        if values is None:
            return
        values = _doubles(values)
        if len(values) != length:
            raise InvalidError(1, "%s: %d entries, not %d" % (name, len(values), length))
        self._array(name, values)

    def _array(self, name, array):
        setattr(self, "_" + name, array)  # keeps the array alive
        setattr(self._c, name, ctypes.addressof(array))

    def schedule(self, stop=None, **options):
        """Divide the loads. Options: method (of CHAIN_METHODS), objective (of OBJECTIVES),
        max_installments, limit_s, max_mem_bytes, and stop() as in scatter()."""
        opts = _chain_opts(**options)
        with _Interruptible(stop) as block:
            opts.stop = ctypes.cast(block.callback, ctypes.c_void_p)
            schedule = Schedule(_make(_c.chain_create, ctypes.byref(self._c), ctypes.byref(opts)))
        return schedule

    def mem_bytes(self, **options):
        return _c.chain_mem_bytes(ctypes.byref(self._c), ctypes.byref(_chain_opts(**options)))

    def replay(self, fractions):
        """Return the schedule of given fractions, [load][installment][processor] in one list."""
        fractions = _doubles(fractions)
        return Schedule(_make(_c.chain_replay, ctypes.byref(self._c), fractions, len(fractions)))


def _chain_opts(method="lp", max_installments=0, limit_s=0, max_mem_bytes=0, objective="makespan"):
    return _ChainOpts(ctypes.sizeof(_ChainOpts), _choice(CHAIN_METHODS, method),
                      _count(max_installments, "max_installments"), limit_s,
                      _count(max_mem_bytes, "max_mem_bytes"),
                      objective=_choice(OBJECTIVES, objective))


class Schedule(_Owner):
    """The fractions of all loads, and the times that follow from them."""

    _free = _c.schedule_free

    makespan = property(lambda self: _c.schedule_makespan(self._p))
    lower_bound = property(lambda self: _c.schedule_lower_bound(self._p))
    stopped = property(lambda self: _stopped(_c.schedule_stopped(self._p)))
    planned_makespan = property(lambda self: _c.schedule_planned_makespan(self._p))
    flow = property(lambda self: _c.schedule_flow(self._p))
    planned_flow = property(lambda self: _c.schedule_planned_flow(self._p))
    method = property(lambda self: _c.schedule_method(self._p).decode())
    nprocs = property(lambda self: _c.schedule_nprocs(self._p))
    nloads = property(lambda self: _c.schedule_nloads(self._p))

    def installments(self, load):
        return _c.schedule_installments(self._p, _count(load, "load"))

    def load_end(self, load):
        return _c.schedule_load_end(self._p, _count(load, "load"))

    def fraction(self, load, installment, proc):
        return _c.schedule_fraction(self._p, _count(load, "load"),
                                    _count(installment, "installment"), _count(proc, "proc"))

    @property
    def view_fractions(self):
        """All fractions [load][installment][processor], a buffer like the views of Plan."""
        count = ctypes.c_size_t()
        pointer = _c.schedule_fractions(self._p, ctypes.byref(count))
        return _view(self, pointer, count.value, ctypes.c_double)

    fractions = property(lambda self: self.view_fractions.tolist())

    def _dates(self, function, load, installment, where):
        start, end = ctypes.c_double(), ctypes.c_double()
        if function(self._p, _count(load, "load"), _count(installment, "installment"),
                    _count(where, "index"), ctypes.byref(start), ctypes.byref(end)):
            return start.value, end.value
        return None

    def comm(self, load, installment, link):
        """Return (start, end) of the message over link, or None if it does not exist."""
        return self._dates(_c.schedule_comm, load, installment, link)

    def comp(self, load, installment, proc):
        """Return (start, end) of the computation on proc, or None if it does not exist."""
        return self._dates(_c.schedule_comp, load, installment, proc)
