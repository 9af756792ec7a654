! SPDX-License-Identifier: GPL-3.0-or-later
! masses.f90 - sort bodies of all ranks by mass, the heaviest first; each rank keeps its number of bodies. Then sort only
! their numbers, and fetch the masses, as another column would be.
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
  integer(c_int64_t), allocatable :: order(:)
  real(c_double), allocatable :: masses_by_number(:)
  type(hetsort_opts) :: opts
  type(hetsort_err) :: err
  integer(c_int64_t) :: n, share
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
  call need(hetsort_sort_counts(bodies, n, sorted, n, opts, mpi_comm_world, err))
  print '(a,i0,a,i0,a,f0.2,a,f0.2)', "rank ", rank, ": ", n, " bodies, masses ", &
    sorted(1)%mass, " to ", sorted(n)%mass

  call need(hetsort_share(n, share, opts, mpi_comm_world, err))
  allocate (order(share), masses_by_number(share))
  call need(hetsort_argsort(bodies, n, order, size(order, kind=c_int64_t), share, opts, mpi_comm_world, err))
  call need(hetsort_apply(order, share, bodies%mass, n, masses_by_number, 8, comm=mpi_comm_world, err=err))
  print '(a,i0,a,i0,a,f0.2,a,f0.2)', "rank ", rank, ": ", share, " numbers, masses ", &
    masses_by_number(1), " to ", masses_by_number(share)

  ! Make a call that is refused; print the message of the library, and its version.
  opts%record_bytes = 0
  if (hetsort_sort_local(bodies, n, sorted, opts, err) == HETSORT_EINVAL .and. rank == 0) &
    print '(a,a,a,a)', "refused by ", hetsort_string(hetsort_version()), ": ", hetsort_reason(err)
  call mpi_finalize(failed)

contains

  subroutine need(status)
    integer(c_int), intent(in) :: status
    if (status == HETSORT_OK) return
    print '(a,a)', "masses: ", hetsort_reason(err)
    call mpi_abort(mpi_comm_world, 1, failed)
  end subroutine
end program
