#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# libhetpart_mpi: bad arguments and no memory on only one rank end the call on all ranks.
# shellcheck source=partition/tests/over_ranks.sh
. "$ROOT/partition/tests/over_ranks.sh"
over_ranks misuse_test 1 2 3 4 7
[ "${SANITIZER:-coverage}" = coverage ] || done_testing # the shim and the sanitizers want the same calls
over_ranks oom_test 1 2 3 4

# what MPI itself returns as an error: on all ranks in the same call, or found before they agree
mpi_fails() { # mpi_fails CALL:N[@rankR] LINES - of two ranks, as far as they are not ok
  run timeout 120 "$ROOT/scripts/mpirun" 2 env LD_PRELOAD="$OBJ/mpi-shim.so" HETSORT_SHIM="$1" \
    "$OBJ/partition/mpi/tests/fault_test"
  is "MPI_$1 fails" "$rc $(grep '^rank' <<<"$out" | grep -v ': ok: $' | sed 's/\(MPI_[A-Za-z_]* failed: \)..*/\1.../' | sort)" "0 $2"
}
mpi_fails Nothing ""
mpi_fails Comm_idup:1 "rank 0, gather: another rank failed: MPI_Comm_idup failed: ...
rank 1, gather: another rank failed: MPI_Comm_idup failed: ..."
mpi_fails Comm_set_errhandler:1 "rank 0, gather: another rank failed: the duplicated communicator does not work
rank 1, gather: another rank failed: the duplicated communicator does not work"
mpi_fails Comm_free:1 "rank 0, gather: another rank failed: MPI_Comm_free failed: ...
rank 1, gather: another rank failed: MPI_Comm_free failed: ..."
mpi_fails Type_size_x:1@rank1 "rank 0, scatter: another rank failed: rank 1: 'recvtype' has no size
rank 1, scatter: invalid argument: 'recvtype' has no size"
done_testing
