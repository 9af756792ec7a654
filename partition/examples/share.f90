! SPDX-License-Identifier: GPL-3.0-or-later
! share.f90 - shares, a scatter, a learnt cost and an emulation, from Fortran.
!     gfortran $(pkg-config --variable=fortran_module hetpart) share.f90 $(pkg-config --libs hetpart)
program share
  use, intrinsic :: iso_c_binding
  use hetpart
  implicit none
  type(hetpart_err) :: err

  print '(2a)', 'hetpart ', hetpart_string(hetpart_version())
  call speeds_known()
  call one_after_the_other()
  call learnt()
  call emulated()

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == HETPART_OK) return
    print '(2a)', 'share: ', hetpart_reason(err)
    stop 1
  end subroutine

  ! Divide records to be sorted; the fast node takes at most 400000.
  subroutine speeds_known()
    integer(c_int64_t), target :: room(3) = [1000000_c_int64_t, 1000000_c_int64_t, 400000_c_int64_t]
    type(hetpart_opts) :: opts
    type(c_ptr) :: cost, plan

    opts = hetpart_opts_init()
    opts%capacities = c_loc(room)
    call check(hetpart_cost_nlogn(cost, 1d0, err))
    call check(hetpart_share_create(plan, 1000000_c_int64_t, [1d0, 2d0, 5d0], 3_c_size_t, cost, opts, err))
    print '(a,3i8)', 'shares', hetpart_shares(plan)
    call hetpart_plan_free(plan)
    if (hetpart_share_create(plan, -1_c_int64_t, [1d0], 1_c_size_t, cost, err=err) == HETPART_ERANGE) &
      print '(2a)', 'refused: ', hetpart_reason(err)
    call hetpart_cost_free(cost)
  end subroutine

  ! Scatter from a root, on the platform of Table 1 of Genaud, Giersch and Vivien.
  subroutine one_after_the_other()
    integer, parameter :: n = 16
    real(c_double), parameter :: compute(n) = [.004629d0, .009365d0, .004885d0, .016156d0, .016156d0, &
      .009677d0, .009677d0, .009677d0, .009677d0, .009677d0, .009677d0, .009677d0, .009677d0, &
      .003976d0, .003976d0, .009288d0]
    real(c_double), parameter :: link(n) = [1.00d-5, 1.12d-5, 1.70d-5, 2.10d-5, 2.10d-5, 3.53d-5, &
      3.53d-5, 3.53d-5, 3.53d-5, 3.53d-5, 3.53d-5, 3.53d-5, 3.53d-5, 8.15d-5, 8.15d-5, 0d0]
    type(hetpart_scatter_proc) :: procs(n)
    type(c_ptr) :: plan
    integer :: i

    do i = 1, n
      call check(hetpart_cost_affine(procs(i)%compute, 0d0, compute(i), 1d0, err))
      call check(hetpart_cost_affine(procs(i)%link, 0d0, link(i), 1d0, err))
    end do
    call check(hetpart_scatter_create(plan, 817101_c_int64_t, procs, int(n, c_size_t), err=err))
    print '(a,f12.7)', hetpart_string(hetpart_plan_method(plan)), hetpart_plan_makespan(plan)
    call hetpart_plan_free(plan)
    do i = 1, n
      call hetpart_cost_free(procs(i)%compute)
      call hetpart_cost_free(procs(i)%link)
    end do
  end subroutine

  ! Learn a linear cost from two observations.
  subroutine learnt()
    type(c_ptr) :: model, plan

    call check(hetpart_model_create(model, err))
    call check(hetpart_model_observe(model, [hetpart_point(100, 3), hetpart_point(200, 3)], [1d0, 2d0], 2_c_size_t, err))
    call check(hetpart_model_plan(plan, model, 300_c_int64_t, [1d0, 2d0], 2_c_size_t, err=err))
    print '(a,2i5)', 'learnt', hetpart_shares(plan)
    call hetpart_plan_free(plan)
    call hetpart_model_free(model)
  end subroutine

  ! Divide ten equal processes among nodes with the ratings 1, 2 and 5.
  subroutine emulated()
    real(c_double), parameter :: ratings(3) = [1d0, 2d0, 5d0]
    type(c_ptr) :: plan

    call check(hetpart_emulate_create(plan, ratings, 3_c_size_t, 10_c_int64_t, err))
    print '(a,3i3,f6.3)', 'emulated', hetpart_shares(plan), hetpart_emulate_efficiency(plan, ratings)
    call hetpart_plan_free(plan)
  end subroutine
end program share
