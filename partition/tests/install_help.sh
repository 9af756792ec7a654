# shellcheck shell=bash disable=SC2034  # variables for the tests
# install_help.sh - what the tests of the installed library share: an installation of the very build
# that is being tested, and the calls that hetpart.h declares.
header=$ROOT/partition/include/hetpart.h
version=$(cat "$ROOT/VERSION")
soname=libhetpart.so.${version%%.*}

header_calls() { # the declared calls, sorted
  awk '/^HETPART_API/, /;/' "$header" | grep -oE '\bhetpart_[a-z0-9_]+\(' | tr -d '(' | sort -u
}

# installation TARGET PREFIX [VARIABLE=VALUE...] - `make TARGET` for that PREFIX, with every folder
# said, so that it does not matter what the caller's own make was told. Of that make we keep the
# variables, which shape the build, and not the -j, whose jobs are not ours to give away.
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

# Programs made with sanitizers only load libraries made with them, and the other way round.
skip_under_sanitizer() {
  [ -z "${SANITIZER:-}" ] || skip_all "the library is built with sanitizers (${SANITIZER})"
}

# Of a test that has come this far, the rest is left out then.
done_under_sanitizer() {
  [ -z "${SANITIZER:-}" ] || { left_out "programs against the shared library: sanitizers"; done_testing; }
}

left_out() { echo "# left out: $*"; } # a note where a tool is missing: nothing counts as passed
