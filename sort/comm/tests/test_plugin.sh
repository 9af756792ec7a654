#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The plug-in for MPI: the launcher's variables choose it, and a plug-in that is missing, broken or of another version
# is refused. Without a launcher no plug-in is loaded.
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
 plug-in libhetsort-openmpi.so is not installed: install the package hetsort-openmpi"
launched PMI_RANK=0 PMI_SIZE=1
is "MPICH, no plug-in" "$rc/$first" "2/hetsort: PMI_RANK says that MPICH has started this process, but the plug-in\
 libhetsort-mpich.so is not installed: install the package hetsort-mpich"
echo text >at/lib/hetsort/libhetsort-mpich.so
launched OMPI_COMM_WORLD_SIZE=1
is "Open MPI, but the plug-in for MPICH" "$rc/${first##*-openmpi}" "2/, or use the mpirun of MPICH"
launched MPI_LOCALRANKID=0
ok "MPICH: the file is not a library" \
  grep -q "^hetsort: cannot load the plug-in for MPICH, '.*libhetsort-mpich.so': " <<<"$first"
launched PMIX_RANK=0
ok "PMIx: the installed plug-in is used" grep -q '^hetsort: cannot load the plug-in for MPICH' <<<"$first"
launched PMI_RANK=0 SLURM_STEP_ID=0
ok "srun: the installed plug-in is used" grep -q '^hetsort: cannot load the plug-in for MPICH' <<<"$first"
echo 'int nothing;' | "${CC:-cc}" -shared -fPIC -x c -o at/bin/libhetsort-openmpi.so - || exit 1
launched OMPI_COMM_WORLD_SIZE=1
ok "a library that is not a plug-in" \
  grep -q 'does not belong to this hetsort: install the package hetsort-openmpi of' <<<"$first"
is "no temporary files are left" "$(find . -name '.hetsort-*')" ""
done_testing
