#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The plug-in for MPI: the launcher's variables choose it, and a plug-in that is missing, broken or of another version
# is refused, and so is one that another account may change. None of its code runs before this is known. Without a
# launcher no plug-in is loaded.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
plugin=$(find "$BIN" -maxdepth 1 -name 'libhetsort-*.so')
[ -n "$plugin" ] || skip_all "hetsort is built without a plug-in for MPI"
mkdir -p at/bin at/lib/hetsort && cp "$BIN/hetsort" at/bin && "$BIN/gensort" --no-fsync 100 in || exit 1
launched() { # launched VARIABLE... - start hetsort with variables of a launcher
  run env -u OMPI_COMM_WORLD_SIZE "$@" at/bin/hetsort --force -o out in
  first=$(head -n 1 <<<"$err")
}
is "the program is not linked with MPI" "$(LD_TRACE_LOADED_OBJECTS=1 "$BIN/hetsort" | grep -c libmp)" 0
run at/bin/hetsort -o out in
is "neither a launcher nor a plug-in: sorted" "$rc/$err" 0/
launched OMPI_COMM_WORLD_SIZE=1
is "Open MPI, no plug-in" "$rc/$first" "2/hetsort: OMPI_COMM_WORLD_SIZE says that Open MPI has started this process, but the\
 plug-in libhetsort-openmpi.so is not installed: install the package hetsort-openmpi, or use --launcher=none\
 to sort without MPI"
launched PMI_RANK=0 PMI_SIZE=1
is "MPICH, no plug-in" "$rc/$first" "2/hetsort: PMI_RANK says that MPICH has started this process, but the plug-in\
 libhetsort-mpich.so is not installed: install the package hetsort-mpich, or use --launcher=none\
 to sort without MPI"
launched PMI_RANK=1 PMI_SIZE=2
is "MPICH, no plug-in, rank 1" "$rc/$(grep -c "^hetsort: rank 1 ($(hostname)), starting: PMI_RANK says" <<<"$err")" 2/1
echo text >at/lib/hetsort/libhetsort-mpich.so
launched OMPI_COMM_WORLD_SIZE=1
is "Open MPI, but the plug-in for MPICH" "$rc/${first##*-openmpi}" "2/, or use the mpirun of MPICH, or use --launcher=none to sort without MPI"
launched MPI_LOCALRANKID=0
refused="is not the plug-in for MPICH of this hetsort, but another file: remove it, and install the package hetsort-mpich of"
ok "MPICH: the file is not a library" grep -q "^hetsort: '.*/libhetsort-mpich.so' $refused" <<<"$first"
launched PMIX_RANK=0
ok "PMIx: the installed plug-in is used" grep -q "$refused" <<<"$first"
launched PMI_RANK=0 SLURM_STEP_ID=0
ok "srun: the installed plug-in is used" grep -q "$refused" <<<"$first"

# A plug-in that leaves a file when its code runs. It is of this build if it contains the right bytes.
cat >plugin.c <<'END'
#include "comm/mpi_plugin.h"
#include <fcntl.h>
static const mpi_plugin_host *host;
__attribute__((constructor)) static void begin(void) { (void)open("ran", O_CREAT | O_WRONLY | O_CLOEXEC, 0600); }
static status run(size_t max_msg, rank_main *fn, void *arg, err *e)
{
	(void)max_msg, (void)fn, (void)arg;
	strcpy(e->text, "the plug-in was loaded");
	return e->code = ST_REFUSED;
}
static void end(int code) { (void)code; }
extern const mpi_plugin SYMBOL;
const mpi_plugin SYMBOL = { { "hetsort plug-in for MPI", HETSORT_VERSION, BYTES }, &host, run, end };
END
version=$(cat "$ROOT/VERSION")
plugin() { # plugin [VERSION [BYTES [SYMBOL]]] - put it in its place, where nobody else may change it
  rm -rf at/lib ran other && mkdir -p at/lib/hetsort other && chmod 755 at/lib/hetsort other &&
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -DHETSORT_VERSION="\"${1:-$version}\"" -DBYTES="${2:-sizeof(comm)}" \
      -DSYMBOL="${3:-hetsort_mpi_plugin}" -iquote "$ROOT/sort" -iquote "$ROOT/partition/number/include" -fPIC -shared \
      -o $so plugin.c && chmod 755 $so || exit 1
}
so=at/lib/hetsort/libhetsort-openmpi.so file="'[^']*/libhetsort-openmpi\.so'"
# refused WHAT ERE [yes] - the plug-in is refused with this message; yes: after its code has run
refused() {
  launched OMPI_COMM_WORLD_SIZE=1
  ok "$1: refused with the reason and a way out" grep -qE "^hetsort: $2" <<<"$first"
  is "$1: whether its code has run" "$rc/$([ ! -e ran ] || echo yes)" "2/${3-}"
}
loaded() { # loaded WHAT
  launched OMPI_COMM_WORLD_SIZE=1
  is "$1: loaded" "$first" "hetsort: the plug-in was loaded"
}
chmod 755 at/bin/hetsort
plugin
loaded "a plug-in of this build"
other="is not the plug-in for Open MPI of this hetsort, but" again="remove it, and install the package hetsort-openmpi of version $version"
plugin 9.9.9
refused "another version" "$file $other of another build, of version '9\.9\.9': $again"
plugin "$version" 'sizeof(comm) + 8'
refused "another build" "$file $other of another build, of version '$version': $again"
for what in : "head -c 100 plugin.c" "mkfifo $so" "mkdir $so" "truncate -s 1T $so"; do
  plugin && rm $so && if [ "$what" = "${what% "$so"}" ]; then $what >$so; else $what; fi
  refused "${what% "$so"}" "$file $other another file: $again"
done
library="cannot load the plug-in for Open MPI, $file: [a-z].*; install the package hetsort-openmpi again, or name the directory of"
plugin "" "" another_symbol
refused "a missing symbol" "$library" yes
plugin && truncate -s 12000 $so
refused "a file that is cut off" "$file $other a part of a file: $again"
plugin && printf '\1' | dd of=$so bs=1 seek=4 conv=notrunc status=none
refused "another ELF class" "$library"
plugin && rm $so && ln -s libhetsort-openmpi.so $so
refused "a link to itself" "cannot open the plug-in for Open MPI, $file: Too many"

# Only who may change hetsort may change its plug-in.
for what in "$so" at/lib/hetsort other; do
  for mode in g+w o+w o+w,+t; do
    plugin && mv $so other/it.so && ln -s ../../../other/it.so $so && chmod $mode $what
    shown=$(basename "$what") && [ ! -d "$what" ] || shown="$shown/"
    refused "chmod $mode $what" "the plug-in for Open MPI is not loaded, because other accounts may write to '[^']*/$shown': use chmod go-w"
  done
done
plugin && mv $so other/it.so && ln -s ../../../other/it.so $so
loaded "a link to a directory that nobody else may write"
plugin && chmod g+w $so at/lib/hetsort at/bin/hetsort
loaded "a group that may also write the program"
plugin && chmod o+w $so at/bin/hetsort
refused "all may also write the program" "the plug-in for Open MPI is not loaded, because other accounts may write to $file"
chmod 755 at/bin/hetsort
if [ "$(id -u)" = 0 ]; then
  for what in "$so" at/lib/hetsort; do
    plugin && chown 65534 $what
    refused "another account owns $what" "the plug-in for Open MPI is not loaded, because account 65534 owns '[^']*/${what##*/}/?': use chown"
  done
  chown 65534 at/bin/hetsort
  loaded "the account that owns the program"
  away=$(mktemp -d) && trap 'rm -rf "$away"' EXIT && chmod 755 "$away" && mv at "$away" || exit 1 # others may look here
  chown 65533 "$away/at/bin/hetsort" && chown 65534 "$away/at/lib/hetsort"
  run setpriv --reuid=65534 --clear-groups env OMPI_COMM_WORLD_SIZE=1 "$away/at/bin/hetsort" -o out in
  is "the account that runs the program: loaded" "$(head -n 1 <<<"$err")" "hetsort: the plug-in was loaded"
fi
is "no temporary files are left" "$(find . -name '.hetsort-*')" ""
done_testing
