#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""numpy_cases.py [TEST...] - run the tests that the installed numpy has for its sorts, with hetsort instead of numpy.
Calls of sort() and argsort(), as functions and as methods of arrays, are replaced while a test file is compiled.
Prints a line per case: equal; refused, if hetsort raised hetsort.Error or TypeError; or different. Then prints the
counts. Needs numpy with its tests, pytest, and hetsort where Python finds it. TEST selects cases by a part of their
names."""
import ast
import importlib
import os
import sys
import tempfile

import hetsort
import numpy
import pytest

SORTS = ("sort", "argsort")
ARE_SORTS = "(sort or argsort) and not (partition or searchsorted or lexsort or duplicate or sorted)"
FILES = ("test_multiarray.py", "test_regression.py", "test_umath.py", "test_datetime.py", "test_longdouble.py")


def method(name, owner, *args, **options):
    """Call a sort as numpy's function, as its method, or, if the owner is neither, as it is."""
    if owner is numpy:
        return getattr(hetsort, name)(args[0], **_numpy(*args[1:], **options))
    if not isinstance(owner, numpy.ndarray):
        return getattr(owner, name)(*args, **options)
    if name == "argsort":
        return hetsort.argsort(owner, **_numpy(*args, **options))
    owner[...] = hetsort.sort(owner, **_numpy(*args, **options))
    return None


def _numpy(axis=-1, kind=None, order=None, **options):
    """Return numpy's arguments as keywords, without defaults, which an earlier hetsort does not know."""
    if axis != -1:
        options["axis"] = axis
    if kind is not None:
        options["kind"] = kind
    if order is not None:
        options["order"] = order
    return options


class Replace(ast.NodeTransformer):
    def visit_Call(self, node):
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in SORTS:
            node.args[:0] = [ast.Constant(function.attr), function.value]
            node.func = ast.Name("hetsort_method", ast.Load())
        return node

    def visit_Attribute(self, node):
        """Replace a bound method that is passed on, as in assert_raises(TypeError, a.sort)."""
        self.generic_visit(node)
        if node.attr in SORTS and isinstance(node.ctx, ast.Load):
            name = ast.Name("hetsort_method", ast.Load())
            bound = ast.Attribute(ast.Name("functools", ast.Load()), "partial", ast.Load())
            return ast.Call(bound, [name, ast.Constant(node.attr), node.value], [])
        return node


class Outcomes:
    """The plugin of pytest that notes how each case ended."""

    def __init__(self):
        self.found = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        if report.when != "call" or report.skipped:
            return
        how, why = "equal", ""
        if call.excinfo:
            refused = isinstance(call.excinfo.value, (hetsort.Error, TypeError))
            how = "refused" if refused else "different"
            why = str(call.excinfo.value).strip().split("\n")[0][:100]
        self.found[item.nodeid] = (how, why)


def main():
    new = os.path.isdir(os.path.join(numpy.__path__[0], "_core", "tests"))
    package = "numpy._core.tests" if new else "numpy.core.tests"
    where = os.path.dirname(importlib.import_module(package).__file__)
    selection = ARE_SORTS + "".join(" and %s" % word for word in sys.argv[1:])
    outcomes = Outcomes()
    with tempfile.TemporaryDirectory() as directory:
        files = []
        for name in FILES:
            with open(os.path.join(where, name)) as source:
                text = source.read().replace("from . import", "from %s import" % package)
            tree = ast.fix_missing_locations(Replace().visit(ast.parse(text)))
            head = ast.parse("import functools\nfrom numpy_cases import method as hetsort_method")
            tree.body[:0] = head.body
            files.append(os.path.join(directory, name))
            with open(files[-1], "w") as target:
                target.write(ast.unparse(ast.fix_missing_locations(tree)))
        sys.modules["numpy_cases"] = sys.modules["__main__"]
        pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-W", "ignore", "--rootdir", directory,
                     "-k", selection, *files], plugins=[outcomes])
    counts = dict.fromkeys(("equal", "different", "refused"), 0)
    for case, (how, why) in outcomes.found.items():
        counts[how] += 1
        print(how, case.split("::", 1)[1], why)
    print(", ".join("%d %s" % (n, how) for how, n in counts.items()))


if __name__ == "__main__":
    main()
