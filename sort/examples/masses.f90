! SPDX-License-Identifier: GPL-3.0-or-later
! masses.f90 - sort bodies of all ranks by mass, the heaviest first; each rank keeps its number of bodies.
!   mpifort $(pkg-config --variable=fortran_module hetsort) masses.f90 $(pkg-config --libs hetsort)
program masses
  use mpi
  use hetsort
  implicit none
  type, bind(c) :: body
    real(c_double) :: mass
    integer(c_int32_t) :: number, rank
  end type
  character(kind=c_char, len=*), parameter :: heaviest_first = "0,f64,desc 8,i32"//c_null_char
  character(kind=c_char, len=len(heaviest_first)), target :: key = heaviest_first
  type(body), allocatable :: bodies(:), sorted(:)
  type(hetsort_opts) :: opts
  type(hetsort_err) :: err
  integer(c_int64_t) :: n
  integer :: i, rank, failed

  call mpi_init(failed)
  call mpi_comm_rank(mpi_comm_world, rank, failed)
  n = 100 + rank
  allocate (bodies(n), sorted(n))
  do i = 1, int(n)
    bodies(i) = body(mod(i*37 + rank*11, 50)/4d0, i, rank)
  end do
  opts = hetsort_opts_init()
  opts%record_bytes = int(c_sizeof(bodies(1)), c_int32_t)
  opts%key = c_loc(key)
  if (hetsort_sort_counts(bodies, n, sorted, n, opts, mpi_comm_world, err) /= HETSORT_OK) then
    print '(a,a)', "masses: ", hetsort_reason(err)
    call mpi_abort(mpi_comm_world, 1, failed)
  end if
  print '(a,i0,a,i0,a,f0.2,a,f0.2)', "rank ", rank, ": ", n, " bodies, masses ", &
    sorted(1)%mass, " to ", sorted(n)%mass

  ! Make a call that is refused; print the message of the library, and its version.
  opts%record_bytes = 0
  if (hetsort_sort_local(bodies, n, sorted, opts, err) == HETSORT_EINVAL .and. rank == 0) &
    print '(a,a,a,a)', "refused by ", hetsort_string(hetsort_version()), ": ", hetsort_reason(err)
  call mpi_finalize(failed)
end program
