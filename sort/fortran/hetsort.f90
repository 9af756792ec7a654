! SPDX-License-Identifier: GPL-3.0-or-later
! hetsort.f90 - libhetsort for Fortran 2018. Compile this file together with your program, and link
! with -lhetsort. Calls, arguments and results are as in hetsort.h and its manual pages, except that
!   records are arrays of any type, without gaps between their elements;
!   a communicator is an integer of module mpi, or comm%mpi_val of module mpi_f08;
!   opts and err are optional;
!   texts passed to calls end in c_null_char; hetsort_reason() and hetsort_string() convert the texts
!   that calls return to Fortran's;
!   counts and numbers of records are integer(c_int64_t); the first record has number 0, as in C.
! hetsort_opts_init(), hetsort_reason() and hetsort_string() are not in the header.
module hetsort
  use, intrinsic :: iso_c_binding
  implicit none
  private :: c_strlen

  enum, bind(c)
    enumerator :: HETSORT_OK = 0, HETSORT_EINVAL = 1, HETSORT_ERANGE = 2, HETSORT_ENOMEM = 3
    enumerator :: HETSORT_EPEER = 4, HETSORT_EINTERNAL = 5
  end enum

  integer, parameter :: HETSORT_ERR_BYTES = 512

  type, bind(c) :: hetsort_err
    integer(c_int) :: status = HETSORT_OK
    character(kind=c_char) :: text(HETSORT_ERR_BYTES) = c_null_char
  end type
  type, bind(c) :: hetsort_opts ! begin with hetsort_opts_init()
    integer(c_size_t) :: struct_size
    integer(c_int32_t) :: record_bytes, key_off, key_bytes, threads, exchange_threads
    type(c_ptr) :: speeds ! c_loc() of an array of real(c_double), one for each rank, or c_null_ptr
    type(c_ptr) :: key ! c_loc() of a text such as "0,f64,desc 8,i32"//c_null_char, or c_null_ptr
  end type

  interface
    function hetsort_version() bind(c) result(res)
      import
      type(c_ptr) :: res
    end function
    function hetsort_strerror(status) bind(c) result(res)
      import
      integer(c_int), value :: status
      type(c_ptr) :: res
    end function
    function hetsort_mem_bytes(records_in, records_out, ranks, opts) bind(c) result(res)
      import
      integer(c_int64_t), value :: records_in, records_out
      integer(c_int), value :: ranks
      type(hetsort_opts), intent(in), optional :: opts
      integer(c_int64_t) :: res
    end function
    function hetsort_sort_local(in, n, out, opts, err) bind(c) result(res)
      import
      type(*), intent(in) :: in(*)
      integer(c_int64_t), value :: n
      type(*), intent(in out) :: out(*)
      type(hetsort_opts), intent(in), optional :: opts
      type(hetsort_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetsort_share(n_in, n_out, opts, comm, err) bind(c, name="hetsort_share_f") result(res)
      import
      integer(c_int64_t), value :: n_in
      integer(c_int64_t), intent(out) :: n_out
      type(hetsort_opts), intent(in), optional :: opts
      integer(c_int), value :: comm
      type(hetsort_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetsort_sort(in, n_in, out, room, n_out, opts, comm, err) bind(c, name="hetsort_sort_f") result(res)
      import
      type(*), intent(in) :: in(*)
      integer(c_int64_t), value :: n_in, room
      type(*), intent(in out) :: out(*)
      integer(c_int64_t), intent(out) :: n_out
      type(hetsort_opts), intent(in), optional :: opts
      integer(c_int), value :: comm
      type(hetsort_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetsort_sort_counts(in, n_in, out, n_out, opts, comm, err) &
        bind(c, name="hetsort_sort_counts_f") result(res)
      import
      type(*), intent(in) :: in(*)
      integer(c_int64_t), value :: n_in, n_out
      type(*), intent(in out) :: out(*)
      type(hetsort_opts), intent(in), optional :: opts
      integer(c_int), value :: comm
      type(hetsort_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetsort_argsort(in, n_in, order, room, n_out, opts, comm, err) &
        bind(c, name="hetsort_argsort_f") result(res)
      import
      type(*), intent(in) :: in(*)
      integer(c_int64_t), value :: n_in, room
      integer(c_int64_t), intent(in out) :: order(*)
      integer(c_int64_t), intent(out) :: n_out
      type(hetsort_opts), intent(in), optional :: opts
      integer(c_int), value :: comm
      type(hetsort_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetsort_apply(order, n_order, in, n_in, out, record_bytes, opts, comm, err) &
        bind(c, name="hetsort_apply_f") result(res)
      import
      integer(c_int64_t), intent(in) :: order(*)
      integer(c_int64_t), value :: n_order, n_in
      type(*), intent(in) :: in(*)
      type(*), intent(in out) :: out(*)
      integer(c_int32_t), value :: record_bytes
      type(hetsort_opts), intent(in), optional :: opts
      integer(c_int), value :: comm
      type(hetsort_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function c_strlen(text) bind(c, name="strlen") result(res)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: res
    end function
  end interface

contains

  ! Return the defaults, like HETSORT_OPTS_INIT.
  function hetsort_opts_init() result(opts)
    type(hetsort_opts) :: opts
    opts = hetsort_opts(c_sizeof(opts), 100, 0, 10, 1, 0, c_null_ptr, c_null_ptr)
  end function

  ! Return a text of C, such as the result of hetsort_version().
  function hetsort_string(text) result(res)
    type(c_ptr), intent(in) :: text
    character(len=:), allocatable :: res
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(text, letters, [c_strlen(text)])
    allocate (character(len=size(letters)) :: res)
    do i = 1, size(letters)
      res(i:i) = letters(i)
    end do
  end function

  ! Return why a call failed.
  function hetsort_reason(err) result(res)
    type(hetsort_err), intent(in), target :: err
    character(len=:), allocatable :: res
    res = hetsort_string(c_loc(err%text))
  end function

end module
