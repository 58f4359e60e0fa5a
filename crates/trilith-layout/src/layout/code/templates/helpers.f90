! Reads and writes files of one Dudley layout. Made by `trilith layout code`; needs Fortran 2018 and nothing else.
! use NAME_layout, only: NAME_data, NAME_write, NAME_read
module NAME_layout
  use, intrinsic :: iso_fortran_env, only: KINDS
  implicit none

  ! The content of a file. The first dimension of an array is the last one of the layout.
  type :: NAME_data
FIELDS  end type NAME_data

  type :: stream
    integer :: unit = -1
    integer(int64) :: base = 0, start = 0, size = 0, text_at = 0
    character :: order = 'LETTER'
    character(len=80) :: error = ''
  end type stream

  character(len=8), parameter :: signature = &
    SIGNATURE
  integer(int64), parameter :: none(0) = [integer(int64) ::]

contains

  pure function length(value, more) result(r)
    integer(int64), intent(in) :: value, more
    integer(int64) :: r
    r = value
    if (value > 0) r = max(add(value, more), 0_int64)
  end function length

  pure function factor(n) result(r)
    integer(int64), intent(in) :: n
    integer(int64) :: r
    r = merge(1_int64, n, n < 0)
  end function factor

  pure function add(a, b) result(r)
    integer(int64), intent(in) :: a, b
    integer(int64) :: r
    r = huge(a)
    if (b < 0) then
      r = a + b
    else if (a <= huge(a) - b) then
      r = a + b
    end if
  end function add

  pure function mul(a, b) result(r)
    integer(int64), intent(in) :: a, b
    integer(int64) :: r
    r = 0
    if (a == 0 .or. b == 0) return
    r = huge(a)
    if (a <= huge(a) / b) r = a * b
  end function mul

  pure function up(at, align) result(r)
    integer(int64), intent(in) :: at, align
    integer(int64) :: r
    r = add(at, align - 1) / align * align
  end function up

  subroutine fail(f, why)
    type(stream), intent(inout) :: f
    character(len=*), intent(in) :: why
    if (f%error == '') f%error = why
  end subroutine fail

  subroutine check(f, number)
    type(stream), intent(inout) :: f
    integer(int64), intent(in) :: number
    if (number < -1) call fail(f, 'a parameter is below -1')
  end subroutine check

  ! Address of run number k of an array: loops are pairs of a count and a distance.
  pure function place(at, loops, k) result(r)
    integer(int64), intent(in) :: at, loops(:), k
    integer(int64) :: r, left
    integer :: i
    r = at
    left = k
    do i = size(loops) - 1, 1, -2
      r = add(r, mul(mod(left, loops(i)), loops(i + 1)))
      left = left / loops(i)
    end do
  end function place

  pure function runs(loops) result(r)
    integer(int64), intent(in) :: loops(:)
    integer(int64) :: r
    integer :: i
    r = 1
    do i = 1, size(loops), 2
      r = mul(r, loops(i))
    end do
  end function runs

  ! Turns the bytes of numbers round, if the order of the file is not that of the machine.
  subroutine swap(f, b, width, order)
    type(stream), intent(in) :: f
    integer(int8), intent(inout) :: b(:)
    integer, intent(in) :: width
    character, intent(in) :: order
    integer(int8) :: first(2)
    integer(int64) :: at
    character :: machine
    first = transfer(int(1, selected_int_kind(4)), first)
    machine = merge('<', '>', first(1) == 1)
    if (merge(f%order, order, order == '=') == machine) return
    do at = 1, size(b, kind=int64) - width + 1, width
      b(at:at + width - 1) = b(at + width - 1:at:-1)
    end do
  end subroutine swap

  subroutine put(f, name, at, values, run, width, loops, order)
    type(stream), intent(inout) :: f
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: at, run, loops(:)
    integer(int8), intent(in) :: values(:)
    integer, intent(in) :: width
    character, intent(in) :: order
    integer(int8), allocatable :: b(:)
    integer(int64) :: k, there
    integer :: status
    if (f%error /= '') return
    if (size(values, kind=int64) /= mul(run, runs(loops))) then
      call fail(f, name // ' has not the number of elements that its parameters say')
      return
    end if
    allocate (b(size(values, kind=int64)), source=values)
    call swap(f, b, width, order)
    if (run == 0) return
    do k = 0, runs(loops) - 1
      there = add(f%base, place(at, loops, k))
      if (there < HEADERSIZE) call fail(f, name // ' would be written over the header')
      if (f%error /= '') return
      write (f%unit, pos=there + 1, iostat=status) b(k * run + 1:(k + 1) * run)
      if (status /= 0) call fail(f, 'the file cannot be written')
      f%size = max(f%size, there + run)
    end do
  end subroutine put

  subroutine get(f, at, b, run, width, loops, order)
    type(stream), intent(inout) :: f
    integer(int64), intent(in) :: at, run, loops(:)
    integer(int8), allocatable, intent(out) :: b(:)
    integer, intent(in) :: width
    character, intent(in) :: order
    integer(int64) :: k, there, total
    integer :: status
    total = mul(run, runs(loops))
    if (total > f%size) call fail(f, 'the file ends too early')
    if (f%error /= '') total = 0
    allocate (b(total))
    if (total == 0) return
    do k = 0, runs(loops) - 1
      there = add(f%base, place(at, loops, k))
      if (add(there, run) > f%size) call fail(f, 'the file ends too early')
      if (f%error /= '') return
      read (f%unit, pos=there + 1, iostat=status) b(k * run + 1:(k + 1) * run)
      if (status /= 0) call fail(f, 'the file cannot be read')
    end do
    call swap(f, b, width, order)
  end subroutine get

  subroutine create(f, path)
    type(stream), intent(out) :: f
    character(len=*), intent(in) :: path
    integer :: status
    f%base = ORIGIN
    f%start = HEADERSIZE - ORIGIN
    f%size = HEADERSIZE
    open (newunit=f%unit, file=path, access='stream', form='unformatted', status='replace', action='write', iostat=status)
    if (status /= 0) then
      call fail(f, 'the file cannot be created')
      return
    end if
    if (f%size > 0) write (f%unit, iostat=status) signature, 0_int64
    if (status /= 0) call fail(f, 'the file cannot be written')
  end subroutine create

  subroutine open_file(f, path)
    type(stream), intent(out) :: f
    character(len=*), intent(in) :: path
    character(len=8) :: first
    integer :: status
    open (newunit=f%unit, file=path, access='stream', form='unformatted', status='old', action='read', iostat=status)
    if (status /= 0) then
      f%unit = -1
      call fail(f, 'the file cannot be opened')
      return
    end if
    inquire (unit=f%unit, size=f%size)
    if (f%size < 8) return
    read (f%unit, pos=1, iostat=status) first
    if (status /= 0) call fail(f, 'the file cannot be read')
    if (first(1:1) == signature(1:1) .and. first(3:8) == signature(3:8)) then
      f%base = BASE
      f%start = 16 - BASE
      f%order = first(2:2)
    end if
  end subroutine open_file

  ! Makes the file as long as its layout says.
  subroutine fill(f, total)
    type(stream), intent(inout) :: f
    integer(int64), intent(in) :: total
    integer :: status
    if (f%error /= '' .or. add(f%base, total) <= f%size) return
    write (f%unit, pos=f%base + total, iostat=status) 0_int8
    if (status /= 0) call fail(f, 'the file cannot be written')
  end subroutine fill

  subroutine begin_layout(f, total)
    type(stream), intent(inout) :: f
    integer(int64), intent(in) :: total
    f%text_at = max(16_int64, add(f%base, total))
    f%size = f%text_at
  end subroutine begin_layout

  subroutine text(f, piece)
    type(stream), intent(inout) :: f
    character(len=*), intent(in) :: piece
    integer :: status
    if (f%error /= '') return
    write (f%unit, pos=f%size + 1, iostat=status) piece
    if (status /= 0) call fail(f, 'the file cannot be written')
    f%size = f%size + len(piece)
  end subroutine text

  subroutine end_layout(f)
    type(stream), intent(inout) :: f
    integer(int8) :: b(8)
    integer :: status
    if (f%error /= '') return
    b = transfer(f%text_at, b)
    call swap(f, b, 8, '=')
    write (f%unit, pos=9, iostat=status) b
    if (status /= 0) call fail(f, 'the file cannot be written')
  end subroutine end_layout

  subroutine close_file(f, error)
    type(stream), intent(inout) :: f
    character(len=*), intent(out) :: error
    integer :: status
    if (f%unit /= -1) then
      close (f%unit, iostat=status)
      if (status /= 0) call fail(f, 'the file cannot be closed')
    end if
    error = f%error
  end subroutine close_file
