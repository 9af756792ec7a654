! SPDX-License-Identifier: GPL-3.0-or-later
! chain.f90 - loads on a chain of processors, the chunks of a farm, and wisdom as text, from Fortran.
!     gfortran $(pkg-config --variable=fortran_module hetpart) chain.f90 $(pkg-config --libs hetpart)
module chunks
  use hetpart
  implicit none
  integer :: handed_out = 0
contains
  subroutine count_them(ctx, chunk) bind(c)
    type(c_ptr), value :: ctx
    type(hetpart_chunk), intent(in) :: chunk

    if (.not. c_associated(ctx) .and. chunk%items > 0) handed_out = handed_out + 1
  end subroutine
end module chunks

program chain
  use hetpart
  use chunks
  implicit none
  type(hetpart_err) :: err

  call loads()
  call farm()
  call wisdom_as_text()

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == HETPART_OK) return
    print '(2a)', 'chain: ', hetpart_reason(err)
    stop 1
  end subroutine

  ! Plan two equal loads on two equal processors by the linear programme and by a heuristic. Compute
  ! the dates of the first plan once more, from its fractions.
  subroutine loads()
    real(c_double), target :: w(2) = 3d0 / 4, z(1) = 1, volume(2) = 1
    integer(c_size_t), target :: installments(2) = 2
    real(c_double), pointer :: fractions(:)
    type(hetpart_chain) :: ch
    type(hetpart_chain_opts) :: opts
    type(c_ptr) :: schedule, again
    integer(c_size_t) :: n = 0
    real(c_double) :: start = -1, finish = -1

    ch = hetpart_chain_init()
    ch%nprocs = 2
    ch%nloads = 2
    ch%w = c_loc(w)
    ch%z = c_loc(z)
    ch%vcomm = c_loc(volume)
    ch%vcomp = c_loc(volume)
    ch%installments = c_loc(installments)
    call check(hetpart_chain_create(schedule, ch, err=err))
    call c_f_pointer(hetpart_schedule_fractions(schedule, n), fractions, [n])
    call check(hetpart_chain_replay(again, ch, fractions, n, err))
    if (.not. hetpart_schedule_comp(again, 1_c_size_t, 1_c_size_t, 1_c_size_t, start, finish)) stop 1
    print '(2a,f10.6,i3,2l2)', hetpart_string(hetpart_schedule_method(schedule)), ':', &
      hetpart_schedule_makespan(schedule), n, start < finish, &
      abs(finish - hetpart_schedule_makespan(schedule)) < 1d-6
    call hetpart_schedule_free(again)
    call hetpart_schedule_free(schedule)
    opts = hetpart_chain_opts_init()
    opts%method = HETPART_CHAIN_SIMPLE
    call check(hetpart_chain_create(schedule, ch, opts, err))
    print '(2a,f10.6)', hetpart_string(hetpart_schedule_method(schedule)), ':', &
      hetpart_schedule_makespan(schedule)
    call hetpart_schedule_free(schedule)
  end subroutine

  subroutine farm()
    type(hetpart_worker) :: workers(2)
    type(c_ptr) :: cost, plan

    call check(hetpart_cost_linear(cost, 1d0, err))
    workers(:)%compute = cost
    workers(1)%link = cost
    call check(hetpart_farm_trace(plan, 100_c_int64_t, workers, 2_c_size_t, HETPART_CHUNK_FIXED, &
                                  10_c_int64_t, c_funloc(count_them), c_null_ptr, err))
    print '(a,i3,a,2i4)', 'farm:', handed_out, ' chunks,', hetpart_shares(plan)
    call hetpart_plan_free(plan)
    call hetpart_cost_free(cost)
  end subroutine

  ! Pass wisdom as text, as between two processes without a file.
  subroutine wisdom_as_text()
    type(c_ptr) :: mine, theirs
    character(len=:), allocatable :: text
    real(c_double) :: speed = 0

    call check(hetpart_wisdom_create(mine, 'a node' // c_null_char, err))
    call check(hetpart_wisdom_set(mine, 'speed' // c_null_char, 1.5d0, err))
    text = hetpart_wisdom_text(mine)
    call check(hetpart_wisdom_parse(theirs, text, len(text, c_size_t), 'a node' // c_null_char, &
                                    0_c_int64_t, err))
    if (.not. hetpart_wisdom_get(theirs, 'speed' // c_null_char, speed)) stop 1
    print '(5a,f4.1)', 'wisdom: ', hetpart_string(hetpart_wisdom_host(theirs)), ', ', &
      hetpart_string(hetpart_wisdom_number_name(theirs, 0_c_size_t)), ' is', speed
    call check(hetpart_wisdom_merge(mine, theirs, err))
    call hetpart_wisdom_free(theirs)
    if (hetpart_wisdom_parse(theirs, text, len(text, c_size_t), 'another' // c_null_char, &
                             0_c_int64_t, err) == HETPART_ESTALE) print '(2a)', 'refused: ', hetpart_reason(err)
    call hetpart_wisdom_free(mine)
  end subroutine
end program chain
