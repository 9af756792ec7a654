! SPDX-License-Identifier: GPL-3.0-or-later
! hetpart.f90 - libhetpart for Fortran 2018. Compile this file together with your program, and link
! with -lhetpart. Calls, arguments and results are as in hetpart.h and its manual pages, except that
!   objects (costs, plans, models, wisdom, schedules) are of type(c_ptr);
!   opts, err and all other arguments declared optional may be omitted;
!   texts passed to calls end in c_null_char; hetpart_string() and hetpart_reason() convert the texts
!   that calls return to Fortran's;
!   counts are integer(c_int64_t), sizes and positions integer(c_size_t); positions count from 0.
! hetpart_shares(), hetpart_wisdom_text(), hetpart_string(), hetpart_reason() and the five functions
! hetpart_..._init() are not in the header.
module hetpart
  use, intrinsic :: iso_c_binding
  implicit none
  private :: c_strlen

  ! statuses
  enum, bind(c)
    enumerator :: HETPART_OK = 0, HETPART_EINVAL = 1, HETPART_ERANGE = 2, HETPART_ENOMEM = 3
    enumerator :: HETPART_EIO = 4, HETPART_EFORMAT = 5, HETPART_ESTALE = 6, HETPART_ENOSOL = 7
    enumerator :: HETPART_EINTERNAL = 8, HETPART_EPEER = 9, HETPART_ETIME = 10
    enumerator :: HETPART_ECANCEL = 11
    enumerator :: HETPART_EMISSING = 12
  end enum
  ! methods of shares
  enum, bind(c)
    enumerator :: HETPART_METHOD_EXACT = 0, HETPART_METHOD_TAYLOR = 1
    enumerator :: HETPART_METHOD_ASYMPTOTIC = 2, HETPART_METHOD_PROPORTIONAL = 3
    enumerator :: HETPART_METHOD_THRESHOLD = 4, HETPART_METHOD_BITSET = 5, HETPART_METHOD_DP = 6
  end enum
  ! methods of scatters
  enum, bind(c)
    enumerator :: HETPART_SCATTER_AUTO = 0, HETPART_SCATTER_DP = 1
    enumerator :: HETPART_SCATTER_DP_INCREASING = 2, HETPART_SCATTER_WINDOW = 3
    enumerator :: HETPART_SCATTER_MULTIRES = 4, HETPART_SCATTER_LP = 5, HETPART_SCATTER_CLOSED = 6
    enumerator :: HETPART_SCATTER_ALL_AT_ONCE = 7, HETPART_SCATTER_TWO_PASS = 8
    enumerator :: HETPART_SCATTER_GREEDY = 9, HETPART_SCATTER_FILL = 10
  end enum
  ! rules of farms
  enum, bind(c)
    enumerator :: HETPART_CHUNK_FIXED = 0, HETPART_CHUNK_GUIDED = 1, HETPART_CHUNK_FACTORING = 2
  end enum
  ! methods of chains
  enum, bind(c)
    enumerator :: HETPART_CHAIN_LP = 0, HETPART_CHAIN_SIMPLE = 1, HETPART_CHAIN_SINGLEINST = 2
    enumerator :: HETPART_CHAIN_MULTIINST = 3
  end enum
  ! objectives of chains
  enum, bind(c)
    enumerator :: HETPART_OBJECTIVE_MAKESPAN = 0, HETPART_OBJECTIVE_FLOW = 1
  end enum

  integer, parameter :: HETPART_ERR_BYTES = 256

  type, bind(c) :: hetpart_err
    integer(c_int) :: status = HETPART_OK
    character(kind=c_char) :: text(HETPART_ERR_BYTES) = c_null_char
  end type
  type, bind(c) :: hetpart_point
    real(c_double) :: items, time_s
  end type
  type, bind(c) :: hetpart_opts ! begin with hetpart_opts_init()
    integer(c_size_t) :: struct_size
    integer(c_int) :: method
    type(c_ptr) :: capacities ! c_loc() of an array of integer(c_int64_t), or c_null_ptr
    integer(c_int64_t) :: quantum, max_mem_bytes
    real(c_double) :: time_limit_s
    type(c_funptr) :: stop ! c_funloc() of a procedure of hetpart_stop_fn, or c_null_funptr
    type(c_ptr) :: stop_ctx
    type(c_ptr) :: minimums ! as capacities
  end type
  type, bind(c) :: hetpart_limits ! begin with hetpart_limits_init()
    integer(c_size_t) :: struct_size
    real(c_double) :: time_limit_s
    type(c_funptr) :: stop ! c_funloc() of a procedure of hetpart_stop_fn, or c_null_funptr
    type(c_ptr) :: stop_ctx
  end type
  type, bind(c) :: hetpart_scatter_opts ! begin with hetpart_scatter_opts_init()
    integer(c_size_t) :: struct_size
    integer(c_int) :: method
    integer(c_int64_t) :: max_mem_bytes
    real(c_double) :: time_limit_s
    type(c_funptr) :: stop ! c_funloc() of a procedure of hetpart_stop_fn, or c_null_funptr
    type(c_ptr) :: stop_ctx
    type(c_ptr) :: minimums ! c_loc() of an array of integer(c_int64_t), or c_null_ptr
    integer(c_int64_t) :: quantum
  end type
  type, bind(c) :: hetpart_scatter_proc
    type(c_ptr) :: compute = c_null_ptr, link = c_null_ptr
  end type
  type, bind(c) :: hetpart_worker
    type(c_ptr) :: compute = c_null_ptr, link = c_null_ptr
  end type

  type, bind(c) :: hetpart_chunk
    integer(c_size_t) :: proc
    integer(c_int64_t) :: items
    real(c_double) :: sent, arrived, done
  end type
  type, bind(c) :: hetpart_chunks ! set the first four members
    integer(c_int) :: rule
    integer(c_int64_t) :: nprocs, chunk, left
    integer(c_int64_t) :: batch_chunk = 0, batch_left = 0
  end type
  type, bind(c) :: hetpart_chain ! begin with hetpart_chain_init()
    integer(c_size_t) :: struct_size, nprocs, nloads
    type(c_ptr) :: w, z, tau, latency, vcomm, vcomp ! c_loc() of arrays of real(c_double)
    type(c_ptr) :: installments ! c_loc() of an array of integer(c_size_t), or c_null_ptr
    type(c_ptr) :: w_load, release, weight ! as w, or c_null_ptr
  end type
  type, bind(c) :: hetpart_chain_opts ! begin with hetpart_chain_opts_init()
    integer(c_size_t) :: struct_size
    integer(c_int) :: method
    integer(c_size_t) :: max_installments
    real(c_double) :: limit_s
    integer(c_int64_t) :: max_mem_bytes
    type(c_funptr) :: stop ! c_funloc() of a procedure of hetpart_stop_fn, or c_null_funptr
    type(c_ptr) :: stop_ctx
    integer(c_int) :: objective
  end type

  abstract interface
    function hetpart_stop_fn(ctx) bind(c) result(stop)
      import :: c_ptr, c_int
      type(c_ptr), value :: ctx
      integer(c_int) :: stop
    end function
    function hetpart_cost_fn(ctx, items) bind(c) result(time)
      import :: c_ptr, c_int64_t, c_double
      type(c_ptr), value :: ctx
      integer(c_int64_t), value :: items
      real(c_double) :: time
    end function
    subroutine hetpart_farm_watch(ctx, chunk) bind(c)
      import :: c_ptr, hetpart_chunk
      type(c_ptr), value :: ctx
      type(hetpart_chunk), intent(in) :: chunk
    end subroutine
  end interface

  interface

    ! version and status
    function hetpart_version() bind(c) result(res)
      import
      type(c_ptr) :: res
    end function
    function hetpart_status_text(status) bind(c) result(res)
      import
      integer(c_int), value :: status
      type(c_ptr) :: res
    end function

    ! costs
    function hetpart_cost_affine(out, startup, per_item, scale, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      real(c_double), value :: startup, per_item, scale
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_cost_linear(out, scale, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      real(c_double), value :: scale
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_cost_nlogn(out, scale, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      real(c_double), value :: scale
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_cost_nlog2n1(out, scale, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      real(c_double), value :: scale
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_cost_power(out, exponent, scale, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      real(c_double), value :: exponent, scale
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_cost_piecewise(out, points, npoints, scale, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      type(hetpart_point), intent(in) :: points(*)
      integer(c_size_t), value :: npoints
      real(c_double), value :: scale
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_cost_table(out, values, nvalues, scale, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      real(c_double), intent(in) :: values(*)
      integer(c_size_t), value :: nvalues
      real(c_double), value :: scale
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_cost_callback(out, fn, ctx, increasing, scale, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      type(c_funptr), value :: fn
      type(c_ptr), value :: ctx
      logical(c_bool), value :: increasing
      real(c_double), value :: scale
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_cost_eval(cost, items) bind(c) result(res)
      import
      type(c_ptr), value :: cost
      integer(c_int64_t), value :: items
      real(c_double) :: res
    end function
    function hetpart_cost_increasing(cost) bind(c) result(res)
      import
      type(c_ptr), value :: cost
      logical(c_bool) :: res
    end function
    function hetpart_cost_is_affine(cost, startup, per_item) bind(c) result(res)
      import
      type(c_ptr), value :: cost
      real(c_double), intent(in out), optional :: startup, per_item
      logical(c_bool) :: res
    end function
    function hetpart_cost_is_linear(cost) bind(c) result(res)
      import
      type(c_ptr), value :: cost
      logical(c_bool) :: res
    end function
    subroutine hetpart_cost_free(cost) bind(c)
      import
      type(c_ptr), value :: cost
    end subroutine

    ! plans
    function hetpart_plan_nprocs(plan) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      integer(c_size_t) :: res
    end function
    function hetpart_plan_items(plan) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t) :: res
    end function
    function hetpart_plan_share(plan, proc) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      integer(c_size_t), value :: proc
      integer(c_int64_t) :: res
    end function
    function hetpart_plan_shares(plan) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      type(c_ptr) :: res
    end function
    function hetpart_plan_first(plan, proc) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      integer(c_size_t), value :: proc
      integer(c_int64_t) :: res
    end function
    function hetpart_plan_owner(plan, item) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), value :: item
      integer(c_size_t) :: res
    end function
    subroutine hetpart_plan_offsets(plan, first) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), intent(out) :: first(*)
    end subroutine
    function hetpart_plan_real_shares(plan) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      type(c_ptr) :: res
    end function
    function hetpart_plan_times(plan) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      type(c_ptr) :: res
    end function
    function hetpart_plan_real_share(plan, proc) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      integer(c_size_t), value :: proc
      real(c_double) :: res
    end function
    function hetpart_plan_time(plan, proc) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      integer(c_size_t), value :: proc
      real(c_double) :: res
    end function
    function hetpart_plan_makespan(plan) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      real(c_double) :: res
    end function
    function hetpart_plan_real_makespan(plan) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      real(c_double) :: res
    end function
    function hetpart_plan_lower_bound(plan) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      real(c_double) :: res
    end function
    function hetpart_plan_stopped(plan) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      integer(c_int) :: res
    end function
    function hetpart_plan_method(plan) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      type(c_ptr) :: res
    end function
    function hetpart_plan_hash(plan) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t) :: res
    end function
    function hetpart_plan_print(plan, buf, size) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      character(kind=c_char), intent(out) :: buf(*)
      integer(c_size_t), value :: size
      integer(c_size_t) :: res
    end function
    function hetpart_plan_pack(plan, buf, size) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      character(kind=c_char), intent(out) :: buf(*)
      integer(c_size_t), value :: size
      integer(c_size_t) :: res
    end function
    function hetpart_plan_unpack(out, bytes, size, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      character(kind=c_char), intent(in) :: bytes(*)
      integer(c_size_t), value :: size
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    subroutine hetpart_plan_free(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end subroutine

    ! shares
    function hetpart_share_create(out, items, speeds, nprocs, cost, opts, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      integer(c_int64_t), value :: items
      real(c_double), intent(in) :: speeds(*)
      integer(c_size_t), value :: nprocs
      type(c_ptr), value :: cost
      type(hetpart_opts), intent(in), optional :: opts
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_share_unrelated_create(out, items, costs, nprocs, opts, &
      err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      integer(c_int64_t), value :: items
      type(c_ptr), intent(in) :: costs(*)
      integer(c_size_t), value :: nprocs
      type(hetpart_opts), intent(in), optional :: opts
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_share_unrelated_mem_bytes(items, nprocs, opts) bind(c) result(res)
      import
      integer(c_int64_t), value :: items
      integer(c_size_t), value :: nprocs
      type(hetpart_opts), intent(in), optional :: opts
      integer(c_int64_t) :: res
    end function
    function hetpart_share_weights(out, weights, items, speeds, nprocs, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      real(c_double), intent(in) :: weights(*)
      integer(c_int64_t), value :: items
      real(c_double), intent(in) :: speeds(*)
      integer(c_size_t), value :: nprocs
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_share_round(out, items, real, speeds, nprocs, cost, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      integer(c_int64_t), value :: items
      real(c_double), intent(in) :: real(*), speeds(*)
      integer(c_size_t), value :: nprocs
      type(c_ptr), value :: cost
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function

    ! models
    function hetpart_model_create(out, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_model_add(model, observed, count, err) bind(c) result(res)
      import
      type(c_ptr), value :: model
      type(hetpart_point), intent(in) :: observed(*)
      integer(c_size_t), value :: count
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_model_observe(model, measured, speeds, count, err) bind(c) result(res)
      import
      type(c_ptr), value :: model
      type(hetpart_point), intent(in) :: measured(*)
      real(c_double), intent(in) :: speeds(*)
      integer(c_size_t), value :: count
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_model_decay(model, factor, err) bind(c) result(res)
      import
      type(c_ptr), value :: model
      real(c_double), value :: factor
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_model_merge(into, from, err) bind(c) result(res)
      import
      type(c_ptr), value :: into, from
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_model_weight(model) bind(c) result(res)
      import
      type(c_ptr), value :: model
      real(c_double) :: res
    end function
    function hetpart_model_points(model, points, room) bind(c) result(res)
      import
      type(c_ptr), value :: model
      type(hetpart_point), intent(in out) :: points(*)
      integer(c_size_t), value :: room
      integer(c_size_t) :: res
    end function
    function hetpart_model_cost(out, model, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      type(c_ptr), value :: model
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_model_plan(out, model, items, speeds, nprocs, opts, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      type(c_ptr), value :: model
      integer(c_int64_t), value :: items
      real(c_double), intent(in) :: speeds(*)
      integer(c_size_t), value :: nprocs
      type(hetpart_opts), intent(in), optional :: opts
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    subroutine hetpart_model_free(model) bind(c)
      import
      type(c_ptr), value :: model
    end subroutine

    ! wisdom
    function hetpart_wisdom_create(out, host, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      character(kind=c_char), intent(in) :: host(*)
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_wisdom_host(wisdom) bind(c) result(res)
      import
      type(c_ptr), value :: wisdom
      type(c_ptr) :: res
    end function
    function hetpart_wisdom_time(wisdom) bind(c) result(res)
      import
      type(c_ptr), value :: wisdom
      integer(c_int64_t) :: res
    end function
    function hetpart_wisdom_set_time(wisdom, time_s, err) bind(c) result(res)
      import
      type(c_ptr), value :: wisdom
      integer(c_int64_t), value :: time_s
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_wisdom_model(wisdom, name, out, err) bind(c) result(res)
      import
      type(c_ptr), value :: wisdom
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(out) :: out
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_wisdom_set(wisdom, name, value, err) bind(c) result(res)
      import
      type(c_ptr), value :: wisdom
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: value
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_wisdom_get(wisdom, name, value) bind(c) result(res)
      import
      type(c_ptr), value :: wisdom
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), intent(in out), optional :: value
      logical(c_bool) :: res
    end function
    function hetpart_wisdom_model_name(wisdom, index) bind(c) result(res)
      import
      type(c_ptr), value :: wisdom
      integer(c_size_t), value :: index
      type(c_ptr) :: res
    end function
    function hetpart_wisdom_number_name(wisdom, index) bind(c) result(res)
      import
      type(c_ptr), value :: wisdom
      integer(c_size_t), value :: index
      type(c_ptr) :: res
    end function
    function hetpart_wisdom_merge(into, from, err) bind(c) result(res)
      import
      type(c_ptr), value :: into, from
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_wisdom_print(wisdom, buf, size) bind(c) result(res)
      import
      type(c_ptr), value :: wisdom
      character(kind=c_char), intent(in out), optional :: buf(*)
      integer(c_size_t), value :: size
      integer(c_size_t) :: res
    end function
    function hetpart_wisdom_parse(out, text, bytes, host, oldest_s, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      character(kind=c_char), intent(in) :: text(*)
      integer(c_size_t), value :: bytes
      character(kind=c_char), intent(in), optional :: host(*)
      integer(c_int64_t), value :: oldest_s
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_wisdom_load(out, path, host, oldest_s, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      character(kind=c_char), intent(in) :: path(*)
      character(kind=c_char), intent(in), optional :: host(*)
      integer(c_int64_t), value :: oldest_s
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_wisdom_save(wisdom, path, err) bind(c) result(res)
      import
      type(c_ptr), value :: wisdom
      character(kind=c_char), intent(in) :: path(*)
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    subroutine hetpart_wisdom_free(wisdom) bind(c)
      import
      type(c_ptr), value :: wisdom
    end subroutine

    ! emulation and farms
    function hetpart_emulate_create(out, ratings, nprocs, processes, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      real(c_double), intent(in) :: ratings(*)
      integer(c_size_t), value :: nprocs
      integer(c_int64_t), value :: processes
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_emulate_best(out, ratings, nprocs, most, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      real(c_double), intent(in) :: ratings(*)
      integer(c_size_t), value :: nprocs
      integer(c_int64_t), value :: most
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_emulate_best_within(out, ratings, nprocs, most, limits, &
      err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      real(c_double), intent(in) :: ratings(*)
      integer(c_size_t), value :: nprocs
      integer(c_int64_t), value :: most
      type(hetpart_limits), intent(in), optional :: limits
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_emulate_efficiency(plan, ratings) bind(c) result(res)
      import
      type(c_ptr), value :: plan
      real(c_double), intent(in) :: ratings(*)
      real(c_double) :: res
    end function
    function hetpart_farm_create(out, items, workers, nprocs, rule, chunk, &
      err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      integer(c_int64_t), value :: items
      type(hetpart_worker), intent(in) :: workers(*)
      integer(c_size_t), value :: nprocs
      integer(c_int), value :: rule
      integer(c_int64_t), value :: chunk
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function

    function hetpart_farm_trace(out, items, workers, nprocs, rule, chunk, watch, ctx, &
      err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      integer(c_int64_t), value :: items
      type(hetpart_worker), intent(in) :: workers(*)
      integer(c_size_t), value :: nprocs
      integer(c_int), value :: rule
      integer(c_int64_t), value :: chunk
      type(c_funptr), value :: watch ! c_funloc() of a hetpart_farm_watch
      type(c_ptr), value :: ctx
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_farm_trace_within(out, items, workers, nprocs, rule, chunk, &
      watch, ctx, limits, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      integer(c_int64_t), value :: items
      type(hetpart_worker), intent(in) :: workers(*)
      integer(c_size_t), value :: nprocs
      integer(c_int), value :: rule
      integer(c_int64_t), value :: chunk
      type(c_funptr), value :: watch ! c_funloc() of a hetpart_farm_watch
      type(c_ptr), value :: ctx
      type(hetpart_limits), intent(in), optional :: limits
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function

    function hetpart_chunks_next(chunks) bind(c) result(res)
      import
      type(hetpart_chunks), intent(in out) :: chunks
      integer(c_int64_t) :: res
    end function

    ! scatters
    function hetpart_scatter_create(out, items, procs, nprocs, opts, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      integer(c_int64_t), value :: items
      type(hetpart_scatter_proc), intent(in) :: procs(*)
      integer(c_size_t), value :: nprocs
      type(hetpart_scatter_opts), intent(in), optional :: opts
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_scatter_mem_bytes(items, nprocs, opts) bind(c) result(res)
      import
      integer(c_int64_t), value :: items
      integer(c_size_t), value :: nprocs
      type(hetpart_scatter_opts), intent(in), optional :: opts
      integer(c_int64_t) :: res
    end function
    function hetpart_scatter_slack(slack, procs, nprocs, err) bind(c) result(res)
      import
      real(c_double), intent(in out) :: slack
      type(hetpart_scatter_proc), intent(in) :: procs(*)
      integer(c_size_t), value :: nprocs
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_scatter_round(shares, items, real, nprocs, err) bind(c) result(res)
      import
      integer(c_int64_t), intent(in out) :: shares(*)
      integer(c_int64_t), value :: items
      real(c_double), intent(in) :: real(*)
      integer(c_size_t), value :: nprocs
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_scatter_order(order, items, procs, nprocs, err) bind(c) result(res)
      import
      integer(c_size_t), intent(in out) :: order(*)
      integer(c_int64_t), value :: items
      type(hetpart_scatter_proc), intent(in) :: procs(*)
      integer(c_size_t), value :: nprocs
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_scatter_root(out, root, order, total, items, compute, link, &
      from_store, nprocs, opts, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      integer(c_size_t), intent(in out) :: root
      integer(c_size_t), intent(in out), optional :: order(*)
      real(c_double), intent(in out), optional :: total(*)
      integer(c_int64_t), value :: items
      type(c_ptr), intent(in) :: compute(*), link(*)
      type(c_ptr), intent(in), optional :: from_store(*)
      integer(c_size_t), value :: nprocs
      type(hetpart_scatter_opts), intent(in), optional :: opts
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function

    ! chains
    function hetpart_chain_create(out, chain, opts, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      type(hetpart_chain), intent(in) :: chain
      type(hetpart_chain_opts), intent(in), optional :: opts
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_chain_mem_bytes(chain, opts) bind(c) result(res)
      import
      type(hetpart_chain), intent(in) :: chain
      type(hetpart_chain_opts), intent(in), optional :: opts
      integer(c_int64_t) :: res
    end function
    function hetpart_chain_replay(out, chain, fractions, nfractions, err) bind(c) result(res)
      import
      type(c_ptr), intent(out) :: out
      type(hetpart_chain), intent(in) :: chain
      real(c_double), intent(in) :: fractions(*)
      integer(c_size_t), value :: nfractions
      type(hetpart_err), intent(in out), optional :: err
      integer(c_int) :: res
    end function
    function hetpart_schedule_makespan(schedule) bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      real(c_double) :: res
    end function
    function hetpart_schedule_planned_makespan(schedule) bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      real(c_double) :: res
    end function
    function hetpart_schedule_lower_bound(schedule) bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      real(c_double) :: res
    end function
    function hetpart_schedule_load_end(schedule, load) bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      integer(c_size_t), value :: load
      real(c_double) :: res
    end function
    function hetpart_schedule_flow(schedule) bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      real(c_double) :: res
    end function
    function hetpart_schedule_planned_flow(schedule) bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      real(c_double) :: res
    end function
    function hetpart_schedule_stopped(schedule) bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      integer(c_int) :: res
    end function
    function hetpart_schedule_method(schedule) bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      type(c_ptr) :: res
    end function
    function hetpart_schedule_nprocs(schedule) bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      integer(c_size_t) :: res
    end function
    function hetpart_schedule_nloads(schedule) bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      integer(c_size_t) :: res
    end function
    function hetpart_schedule_installments(schedule, load) bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      integer(c_size_t), value :: load
      integer(c_size_t) :: res
    end function
    function hetpart_schedule_fraction(schedule, load, installment, proc) bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      integer(c_size_t), value :: load, installment, proc
      real(c_double) :: res
    end function
    function hetpart_schedule_fractions(schedule, count) bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      integer(c_size_t), intent(in out), optional :: count
      type(c_ptr) :: res
    end function
    function hetpart_schedule_comm(schedule, load, installment, link, start, end) &
      bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      integer(c_size_t), value :: load, installment, link
      real(c_double), intent(in out), optional :: start, end
      logical(c_bool) :: res
    end function
    function hetpart_schedule_comp(schedule, load, installment, proc, start, end) &
      bind(c) result(res)
      import
      type(c_ptr), value :: schedule
      integer(c_size_t), value :: load, installment, proc
      real(c_double), intent(in out), optional :: start, end
      logical(c_bool) :: res
    end function
    subroutine hetpart_schedule_free(schedule) bind(c)
      import
      type(c_ptr), value :: schedule
    end subroutine

    function c_strlen(text) bind(c, name="strlen") result(res)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: res
    end function
  end interface

contains

  ! Return the defaults, like HETPART_OPTS_INIT.
  pure function hetpart_opts_init() result(opts)
    type(hetpart_opts) :: opts

    opts = hetpart_opts(0, HETPART_METHOD_EXACT, c_null_ptr, 0, 0, 0, c_null_funptr, c_null_ptr, &
                        c_null_ptr)
    opts%struct_size = storage_size(opts) / 8
  end function

  ! Return the defaults, like HETPART_LIMITS_INIT.
  pure function hetpart_limits_init() result(limits)
    type(hetpart_limits) :: limits

    limits = hetpart_limits(0, 0, c_null_funptr, c_null_ptr)
    limits%struct_size = storage_size(limits) / 8
  end function

  ! Return the defaults, like HETPART_SCATTER_OPTS_INIT.
  pure function hetpart_scatter_opts_init() result(opts)
    type(hetpart_scatter_opts) :: opts

    opts = hetpart_scatter_opts(0, HETPART_SCATTER_AUTO, 0, 0, c_null_funptr, c_null_ptr, c_null_ptr, 0)
    opts%struct_size = storage_size(opts) / 8
  end function

  ! Return an empty chain, like HETPART_CHAIN_INIT.
  pure function hetpart_chain_init() result(chain)
    type(hetpart_chain) :: chain

    chain = hetpart_chain(0, 0, 0, c_null_ptr, c_null_ptr, c_null_ptr, c_null_ptr, c_null_ptr, &
                          c_null_ptr, c_null_ptr, c_null_ptr, c_null_ptr, c_null_ptr)
    chain%struct_size = storage_size(chain) / 8
  end function

  ! Return the defaults, like HETPART_CHAIN_OPTS_INIT.
  pure function hetpart_chain_opts_init() result(opts)
    type(hetpart_chain_opts) :: opts

    opts = hetpart_chain_opts(0, HETPART_CHAIN_LP, 0, 0, 0, c_null_funptr, c_null_ptr, &
                              HETPART_OBJECTIVE_MAKESPAN)
    opts%struct_size = storage_size(opts) / 8
  end function

  ! Return the text of a wisdom file, line ends included, for hetpart_wisdom_parse().
  function hetpart_wisdom_text(wisdom) result(text)
    type(c_ptr), intent(in) :: wisdom
    character(len=:), allocatable :: text
    character(kind=c_char), allocatable :: buf(:)
    integer(c_size_t) :: length, i

    length = hetpart_wisdom_print(wisdom, size=0_c_size_t)
    allocate (buf(length + 1))
    length = hetpart_wisdom_print(wisdom, buf, length + 1)
    allocate (character(len=length) :: text)
    do i = 1, length
      text(i:i) = buf(i)
    end do
  end function

  ! Return all shares of a plan; the share of the first processor has index 1.
  function hetpart_shares(plan) result(shares)
    type(c_ptr), intent(in) :: plan
    integer(c_int64_t), allocatable :: shares(:)
    integer(c_int64_t), pointer :: kept(:)

    allocate (shares(hetpart_plan_nprocs(plan)))
    if (size(shares) == 0) return
    call c_f_pointer(hetpart_plan_shares(plan), kept, [size(shares)])
    shares = kept
  end function

  ! Return a text of C, such as the result of hetpart_version() or hetpart_plan_method().
  function hetpart_string(text) result(string)
    type(c_ptr), intent(in) :: text
    character(len=:), allocatable :: string
    character(kind=c_char), pointer :: kept(:)
    integer :: i

    if (.not. c_associated(text)) then
      string = ''
      return
    end if
    call c_f_pointer(text, kept, [c_strlen(text)])
    allocate (character(len=size(kept)) :: string)
    do i = 1, size(kept)
      string(i:i) = kept(i)
    end do
  end function

  ! Return why a call failed.
  pure function hetpart_reason(err) result(reason)
    type(hetpart_err), intent(in) :: err
    character(len=:), allocatable :: reason
    integer :: i

    reason = ''
    do i = 1, HETPART_ERR_BYTES
      if (err%text(i) == c_null_char) exit
      reason = reason // err%text(i)
    end do
  end function
end module hetpart
