# shellcheck shell=bash disable=SC2034  # variables for the tests
# SPDX-License-Identifier: GPL-3.0-or-later
# install_help.sh - shared by the tests of the installed library: an installation of the build under
# test, and the calls that hetpart.h declares.
header=$ROOT/partition/include/hetpart.h
version=$(cat "$ROOT/VERSION")
soname=libhetpart.so.${version%%.*}

header_calls() { # the declared calls, sorted
  awk '/^HETPART_API/, /;/' "$header" | grep -oE '\bhetpart_[a-z0-9_]+\(' | tr -d '(' | sort -u
}

# installation TARGET PREFIX [VARIABLE=VALUE...] - run `make TARGET` for that PREFIX and name every
# directory, so that the settings of the caller's own make do not matter. Keep that make's variables,
# which determine the build, but not its -j, whose jobs belong to the caller.
installation() {
  local target=$1 prefix=$2 said=''; shift 2
  case ${MAKEFLAGS:-} in *"-- "*) said=${MAKEFLAGS#*-- } ;; esac
  env -u MFLAGS -u MAKELEVEL MAKEFLAGS="$said" make -s -C "$ROOT" "$target" OBJ="$OBJ" PROGDIR="$BIN" \
    CC="${CC:-cc}" MPI="${HAVE_MPI:-no}" PREFIX="$prefix" BINDIR="$prefix/bin" \
    LIBDIR="$prefix/lib" INCLUDEDIR="$prefix/include" DATADIR="$prefix/share" MANDIR="$prefix/share/man" \
    DOCDIR="$prefix/share/doc/hetsort" PYTHONDIR="$prefix/share/hetpart/python" \
    BASHDIR="$prefix/share/bash-completion/completions" ZSHDIR="$prefix/share/zsh/site-functions" DESTDIR= "$@" \
    >>"$TEST_TMP/make.log" 2>&1 || { sed 's/^/# /' "$TEST_TMP/make.log"; return 1; }
}

# Programs built with sanitizers only load libraries built with them, and vice versa.
skip_under_sanitizer() {
  [ -z "${SANITIZER:-}" ] || skip_all "the library is built with sanitizers (${SANITIZER})"
}

# End a test here under sanitizers: its remaining checks are skipped.
done_under_sanitizer() {
  [ -z "${SANITIZER:-}" ] || { left_out "programs against the shared library: sanitizers"; done_testing; }
}

left_out() { echo "# skipped: $*"; } # a note that a tool is missing: nothing counts as passed
