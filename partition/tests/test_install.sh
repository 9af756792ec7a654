#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make install puts everything in the given directories, make uninstall removes all of it.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
# shellcheck source=partition/tests/install_help.sh
. "$ROOT/partition/tests/install_help.sh"

contents() { (cd "$1" && find . ! -type d | sort); }

dest="$PWD/a directory"
ok "make install with DESTDIR" installation install /opt/het DESTDIR="$dest"
for f in lib/libhetpart.a include/hetpart.h include/hetpart.f90 lib/pkgconfig/hetpart.pc \
  lib/cmake/hetpart/hetpart-config.cmake lib/cmake/hetpart/hetpart-config-version.cmake \
  share/hetpart/python/hetpart.py share/hetpart/examples/shares.c share/man/man3/hetpart.3 \
  share/man/man5/hetpart-wisdom.5 bin/hetsort share/bash-completion/completions/gensort \
  share/doc/hetsort/docs/faults.md share/doc/hetsort/docs/plots/slow.svg share/man/man7/hetsort.7 \
  share/zsh/site-functions/_hetsort; do
  ok "installed: $f" test -s "$dest/opt/het/$f"
done
if [ "${HAVE_MPI:-no}" = yes ]; then
  for f in lib/libhetpart_mpi.a include/hetpart_mpi.h lib/pkgconfig/hetpart_mpi.pc \
    share/man/man3/hetpart_mpi.3 share/man/man3/hetpart_mpi_scatterv.3; do
    ok "installed, with MPI: $f" test -s "$dest/opt/het/$f"
  done
else left_out "libhetpart_mpi: built without MPI"; fi
if [ -e "$OBJ/$soname" ]; then
  is "the shared library and its names" \
    "$(readlink "$dest/opt/het/lib/libhetpart.so") $(readlink "$dest/opt/het/lib/$soname")" \
    "libhetpart.so.$version libhetpart.so.$version"
  ok "its names lead to a file" test -s "$dest/opt/het/lib/$soname"
  if [ "${HAVE_MPI:-no}" = yes ]; then
    ok "the names of libhetpart_mpi do, too" test -s "$dest/opt/het/lib/libhetpart_mpi.so"
  fi
fi
is "they contain no placeholder and no DESTDIR" \
  "$(grep -rlE '@[A-Z]+@|a directory' "$dest/opt/het/lib/pkgconfig" "$dest/opt/het/lib/cmake" "$dest/opt/het/share/hetpart/python")" ""
is "all files can be read by every user" "$(find "$dest" -type f ! -perm -444)" ""
contents "$dest" >first
mkdir "$dest/opt/het/share/hetpart/python/__pycache__" # as Python does if it may write
touch "$dest/opt/het/share/hetpart/python/__pycache__/hetpart.cpython-311.pyc"
ok "installing over it" installation install /opt/het DESTDIR="$dest"
is "changes nothing" "$(contents "$dest" | grep -v __pycache__ | diff first -)" ""
ok "make uninstall, though now without MPI" installation uninstall /opt/het DESTDIR="$dest" MPI=no SHARED=no
is "leaves nothing" "$(find "$dest" -mindepth 1)" ""

mkdir -p "$dest/opt/het/lib/pkgconfig"
touch "$dest/opt/het/lib/pkgconfig/other.pc"
ok "make install-lib next to files of others" installation install-lib /opt/het DESTDIR="$dest"
ok "installs no program" test ! -e "$dest/opt/het/bin"
ok "it installs the library" test -s "$dest/opt/het/lib/libhetpart.a"
ok "make uninstall" installation uninstall /opt/het DESTDIR="$dest"
is "leaves the files of others" "$(contents "$dest")" ./opt/het/lib/pkgconfig/other.pc

own=$PWD/own
dirs=(BINDIR="$own/games" LIBDIR="$own/lib/arch" INCLUDEDIR="$own/include/hetpart-0" DATADIR="$own/data" MANDIR="$own/man"
  DOCDIR="$own/doc" PYTHONDIR="$own/py" BASHDIR="$own/bash" ZSHDIR="$own/zsh")
ok "directories of the user's choice" installation install "$own" "${dirs[@]}"
ok "it says that PATH lacks the programs" grep -q -x "install: '$own/[^']*' is not in PATH: .*" make.log
for f in include/hetpart-0/hetpart.h lib/arch/libhetpart.a man/man3/hetpart.3 man/man1/hetsort.1 py/hetpart.py \
  games/hetsort doc/README.md data/hetpart/examples/shares.c; do
  ok "are used: $f" test -s "$own/$f"
done
is "and nothing is put elsewhere" "$(cd "$own" && find . -maxdepth 1 -name bin -o -name share; cd "$own" && find lib include -maxdepth 1 ! -type d)" ""
if command -v pkg-config >/dev/null; then
  pc() { PKG_CONFIG_PATH="$own/lib/arch/pkgconfig" pkg-config "$@"; }
  is "pkg-config prints the version" "$(pc --modversion hetpart)" "$version"
  is "and the directories" "$(pc --variable=libdir hetpart) $(pc --variable=includedir hetpart) $(pc --variable=pythondir hetpart)" \
    "$own/lib/arch $own/include/hetpart-0 $own/py"
  ok "and the Fortran module" test -s "$(pc --variable=fortran_module hetpart)"
else
  left_out "pkg-config is not installed"
fi
is "the default for Python is one directory, for the installation and its removal" \
  "$(for goal in install uninstall; do env -u MAKEFLAGS -u MAKELEVEL -u PYTHONDIR make -s -C "$ROOT" PREFIX=/opt/none -pn $goal |
    sed -n 's/^PYTHON_OWN := //p'; done)" "/opt/none/share/hetpart/python
/opt/none/share/hetpart/python"
mkdir -p py3
printf '%s\n' '#!/bin/sh' 'printf "%s\n" /usr/lib/python3/dist-packages /opt/there/lib/python3.9/site-packages' >py3/python3
chmod +x py3/python3
is "and Python's own directory if it has one below PREFIX" \
  "$(env -u MAKEFLAGS -u MAKELEVEL -u PYTHONDIR PATH="$PWD/py3:$PATH" make -s -C "$ROOT" PREFIX=/opt/there -pn uninstall |
    sed -n 's/^PYTHON_OWN := //p')" /opt/there/lib/python3.9/site-packages
ok "make uninstall without DESTDIR" installation uninstall "$own" "${dirs[@]}"
is "leaves no file" "$(contents "$own")" ""
is "and no directory of the library" "$(find "$own" -name 'hetpart' -o -name examples -o -name doc)" ""

# Messages at the end, and the actions of root: a stub replaces ldconfig.
if [ ! -e "$OBJ/$soname" ]; then left_out "no shared library here (SHARED=no)"; done_testing; fi
: >make.log
ok "two prefixes" installation install-lib "$PWD/one"
ok "two prefixes, the other" installation install-lib "$PWD/two"
is "files made for one are not overwritten for the other, which may be installed at the same time" \
  "$(grep -l -x -e "prefix=$PWD/one" -e "prefix=$PWD/two" "$OBJ"/install/*/hetpart.pc | wc -l)" 2
ok "make install-lib" installation install-lib "$own"
is "it says how programs find the libraries" "$(tail -n 1 make.log)" \
  "install:   export PKG_CONFIG_PATH=$own/lib/pkgconfig LD_LIBRARY_PATH=$own/lib"
ok "below a DESTDIR" installation install-lib /usr/local DESTDIR="$dest"
is "it says what to do later" "$(tail -n 1 make.log)" \
  "install: where these files go in the end, run ldconfig if '/usr/local/lib' is a directory of the system"
mkdir -p stubs searched "with blanks"
ln -sfn searched link
cat >stubs/ldconfig <<SH
#!/bin/sh
case \$1 in
  -v) printf '%s\n' '/lib: (from <builtin>:0)' '	libc.so -> libc.so' '$PWD/searched: (from x:2)' '$PWD/with blanks:' ;;
  *) echo run >>ldconfig.log; exit \${LDCONFIG_RC:-0} ;;
esac
SH
printf '%s\n' '#!/bin/sh' "echo \"\${FAKE_UID:-0}\"" >stubs/id
chmod +x stubs/*
after() { run env PATH="$PWD/stubs:$PATH" "$@"; }
runs() { if [ -e ldconfig.log ]; then wc -l <ldconfig.log; else echo 0; fi; }
after "$ROOT/scripts/after-install" "$PWD/link"
is "root rebuilds the linker's cache, and nothing is printed" "$rc/$out$err/$(runs)" "0//1"
after "$ROOT/scripts/after-install" "$PWD/with blanks"
is "also for a directory with blanks" "$rc/$out$err/$(runs)" "0//2"
after "$ROOT/scripts/after-install" "$PWD/stubs"
is "a directory that is not searched" "$rc/$(runs)/$(tail -n 1 <<<"$out")" \
  "0/2/install:   export PKG_CONFIG_PATH=$PWD/stubs/pkgconfig LD_LIBRARY_PATH=$PWD/stubs"
after env FAKE_UID=1000 "$ROOT/scripts/after-install" "$PWD/searched"
is "a user is asked to do it" "$rc/$(runs)/$out" "0/2/install: programs find the libraries in '$PWD/searched' after: sudo ldconfig"
after env LDCONFIG_RC=1 "$ROOT/scripts/after-install" "$PWD/searched"
is "a failing ldconfig does not fail the installation" "$rc/$(grep -c 'sudo ldconfig' <<<"$out")" "0/1"
mkdir -p programs
ln -sfn programs called
in_path() { run env PATH="$1" "$ROOT/scripts/after-install" "${@:2}"; }
in_path "$PATH" '' '' "$PWD/programs"
is "the directory of the programs is not in PATH" "$rc/$out" "0/install: '$PWD/programs' is not in PATH: to start the programs by their names,
install:   export PATH=\"$PWD/programs:\$PATH\""
for path in "$PATH:$PWD/programs" "$PWD/programs:$PATH" "$PATH:$PWD/called:/nowhere"; do
  in_path "$path" '' '' "$PWD/programs"
  is "nor is anything printed if it is, also by another name" "$rc/$out$err" 0/
done
in_path "$PATH" '' "$dest" "$PWD/programs"
is "or below a DESTDIR" "$rc/$out$err" 0/
done_testing
