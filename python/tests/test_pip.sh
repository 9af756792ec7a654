#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `pip install ./python` needs no compiler, network or other package, and the installed modules find libraries next to the program hetsort.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
# shellcheck source=partition/tests/install_help.sh
. "$ROOT/partition/tests/install_help.sh"
# shellcheck source=python/tests/python_help.sh
. "$ROOT/python/tests/python_help.sh"
skip_under_sanitizer
[ -e "$OBJ/libhetsort.so" ] || skip_all "no shared library here (SHARED=no)"
python=$(python_with pip numpy) || skip_all "no python3 with numpy and pip"
unset PYTHONPATH HETSORT_LIBRARY HETPART_LIBRARY LD_LIBRARY_PATH
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CACHE_DIR=$PWD/cache
cp -R "$ROOT/python" source
run env CC=false "$python" -m pip install --quiet --no-index --no-deps --target site ./source
is "pip install ./python, without a network" "$rc" 0
is "installs the modules and nothing else" "$(find site -name '*.py' | sort | tr '\n' ' ')" \
  "$(cd "$ROOT/python" && find hetsort hetpart.py _hetlibrary.py -name '*.py' | sed 's|^|site/|' | sort | tr '\n' ' ')"
is "with their versions and extras" "$("$python" - <<'END'
import importlib.metadata as m
d = next(iter(m.distributions(path=["site"])))
print(d.metadata["Name"], d.version, d.metadata["License"], *d.metadata.get_all("Provides-Extra"))
END
)" "hetsort $version GPL-3.0-or-later arrays ranks"
run env CC=false "$python" -m pip install --quiet --no-index --no-deps --prefix "$PWD/editable" -e ./source
is "pip install -e ./python" "$rc $(cat "$(find editable -name hetsort.pth)")" "0 $PWD/source"
mkdir -p prefix/bin prefix/lib
printf '#!/bin/sh\nexec "%s" "$@"\n' "$BIN/hetsort" >prefix/bin/hetsort
chmod +x prefix/bin/hetsort
cp -P "$OBJ"/libhet*.so* prefix/lib/
python_says() { run env PYTHONPATH="$PWD/site" PATH="$PWD/prefix/bin:$PATH" "$python" -W error -c "$1"; }
python_says 'import hetsort, numpy; print(hetsort.sort(numpy.array([3, 1, 2])), hetsort.__version__)'
is "hetsort finds libhetsort next to the program" "$rc $out$err" "0 [1 2 3] $version"
python_says 'import hetpart; print(hetpart.share(1000, [1, 2, 5], 1).shares)'
is "hetpart finds libhetpart there, too" "$rc $out$err" "0 [125, 250, 625]"
python_says 'import sys; sys.modules["numpy"] = None
import hetsort
open("records", "wb").write(b"b%099d" % 0 + b"a%099d" % 0)
hetsort.sort_file("records", "sorted")
print(open("sorted").read(1), dir(hetsort).count("sort"))
try: hetsort.sort
except ImportError as e: print(e.name)
try: hetsort.frobnicate
except AttributeError as e: print(e)'
is "files are sorted without numpy, arrays ask for it" "$rc $out" "0 a 1
numpy
module 'hetsort' has no attribute 'frobnicate'"
rm prefix/lib/libhetsort.so*
python_says 'import hetsort'
is "without a library it says what names one" "$rc $(tail -n 1 <<<"$err" | grep -c 'cannot load libhetsort: .*Debian package libhetsort0, .*make install.*pip wheel ./python.*set HETSORT_LIBRARY to the file$')" "1 1"
python_says 'import os; os.remove("prefix/lib/libhetpart.so.0")
import hetpart'
is "nor libhetpart" "$rc $(tail -n 1 <<<"$err" | grep -c 'cannot load libhetpart: .*Debian package libhetpart0, .*set HETPART_LIBRARY to the file$')" "1 1"

# In the tree make builds the libraries, here those that are being tested.
mkdir tree
find "$ROOT" -mindepth 1 -maxdepth 1 ! -name python ! -name build ! -name bin ! -name '.*' -exec ln -s {} tree/ \;
cp -R "$ROOT/python" tree/python
rm -rf prefix
wheel() { # wheel VARIABLE=VALUE... - sets wheel, the only one in the directory wheels
  rm -rf wheels
  run env "MAKEFLAGS=OBJ=$OBJ PROGDIR=$BIN MPI=${HAVE_MPI:-no}" CC="${CC:-cc}" "$@" "$python" -m pip wheel --quiet --no-index \
    --no-deps --wheel-dir wheels ./tree/python
  wheel=$(cd wheels && echo *)
}
wheel
is "pip wheel ./python" "$rc $err" "0 "
ok "is for this kind of machine: $wheel" grep -q -x "hetsort-$version-py3-none-linux_.*\.whl" <<<"$wheel"
mv wheels complete
wheel HETSORT_WHEEL=modules
is "pip wheel ./python, modules only" "$rc $wheel" "0 hetsort-$version-py3-none-any.whl"
is "also after a wheel with libraries" "$("$python" -m zipfile -l "wheels/$wheel" | grep -c -e libhet -e /__init__.py)" 1
rm -rf site tree
run "$python" -m pip install --quiet --no-index --no-deps --target site complete/*.whl
is "it is installed" "$rc" 0
python_says 'import hetsort, hetpart, numpy
print(hetsort.sort(numpy.array([3, 1, 2])), hetpart.share(1000, [1, 2, 5], 1).shares)
with open("/proc/self/maps") as maps:
  print(sorted({line.split("/site/")[-1].rstrip() for line in maps if "libhet" in line}))'
is "and needs no other library of hetsort" "$rc $out$err" "0 [1 2 3] [125, 250, 625]
['hetsort/libhetpart.so.0', 'hetsort/libhetsort.so.0']"
done_testing
