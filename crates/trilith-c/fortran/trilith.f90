! Trilith for Fortran 2003 and later: the calls of trilith.h, and a few procedures for text and errors.
!
! Fortran counts the axes of an array the other way round: an array that C sees as (rows, columns) has the shape
! (columns, rows) here, with the same consecutive elements. Text is made ready by c_text("...").
module trilith
    use, intrinsic :: iso_c_binding
    implicit none
    public

    integer(c_int32_t), parameter :: trilith_ok = 0, trilith_io = 1, trilith_malformed = 2, trilith_unsupported = 3, &
        trilith_limit = 4, trilith_usage = 5, trilith_cancelled = 6, trilith_internal = 7, &
        trilith_not_found = 8
    integer(c_int32_t), parameter :: trilith_stored = 0, trilith_bool8 = 1, trilith_int8 = 2, trilith_int16 = 3, &
        trilith_int32 = 4, trilith_int64 = 5, trilith_uint8 = 6, trilith_uint16 = 7, trilith_uint32 = 8, &
        trilith_uint64 = 9, trilith_float16 = 10, trilith_float32 = 11, trilith_float64 = 12, &
        trilith_complex64 = 13, trilith_complex128 = 14
    integer(c_int64_t), parameter :: trilith_end = huge(0_c_int64_t)
    integer(c_int32_t), parameter :: trilith_in_place = 1
    integer(c_int32_t), parameter :: trilith_overwrite = 2

    interface
        function trilith_open(path, options, file, error) bind(c) result(status)
            import
            character(kind=c_char), intent(in) :: path(*)
            type(c_ptr), value :: options
            type(c_ptr), intent(out) :: file, error
            integer(c_int32_t) :: status
        end function
        subroutine trilith_close(file) bind(c)
            import
            type(c_ptr), value :: file
        end subroutine
        function trilith_item_at(file, path, item, error) bind(c) result(status)
            import
            type(c_ptr), value :: file
            character(kind=c_char), intent(in) :: path(*)
            type(c_ptr), intent(out) :: item, error
            integer(c_int32_t) :: status
        end function
        function trilith_item_int(item, number, error) bind(c) result(status)
            import
            type(c_ptr), value :: item
            integer(c_int64_t), intent(out) :: number
            type(c_ptr), intent(out) :: error
            integer(c_int32_t) :: status
        end function
        function trilith_item_double(item, number, error) bind(c) result(status)
            import
            type(c_ptr), value :: item
            real(c_double), intent(out) :: number
            type(c_ptr), intent(out) :: error
            integer(c_int32_t) :: status
        end function
        function trilith_item_text(item, text, error) bind(c) result(status)
            import
            type(c_ptr), value :: item
            type(c_ptr), intent(out) :: text, error
            integer(c_int32_t) :: status
        end function
        subroutine trilith_item_free(item) bind(c)
            import
            type(c_ptr), value :: item
        end subroutine
        function trilith_array_at(file, path, array, error) bind(c) result(status)
            import
            type(c_ptr), value :: file
            character(kind=c_char), intent(in) :: path(*)
            type(c_ptr), intent(out) :: array, error
            integer(c_int32_t) :: status
        end function
        function trilith_array_ndim(array) bind(c) result(ndim)
            import
            type(c_ptr), value :: array
            integer(c_size_t) :: ndim
        end function
        function trilith_array_shape(array) bind(c) result(shape)
            import
            type(c_ptr), value :: array
            type(c_ptr) :: shape
        end function
        function trilith_array_len(array) bind(c) result(count)
            import
            type(c_ptr), value :: array
            integer(c_int64_t) :: count
        end function
        function trilith_array_is_masked(array) bind(c) result(masked)
            import
            type(c_ptr), value :: array
            integer(c_int32_t) :: masked
        end function
        function trilith_array_field(array, name, field, error) bind(c) result(status)
            import
            type(c_ptr), value :: array
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr), intent(out) :: field, error
            integer(c_int32_t) :: status
        end function
        function trilith_array_slice(array, count, start, stop, step, part, error) bind(c) result(status)
            import
            type(c_ptr), value :: array
            integer(c_size_t), value :: count
            integer(c_int64_t), intent(in) :: start(*), stop(*), step(*)
            type(c_ptr), intent(out) :: part, error
            integer(c_int32_t) :: status
        end function
        function trilith_array_read(array, datatype, buffer, size, strides, hear, user, error) bind(c) result(status)
            import
            type(c_ptr), value :: array, buffer, strides, user
            integer(c_int32_t), value :: datatype
            integer(c_size_t), value :: size
            type(c_funptr), value :: hear
            type(c_ptr), intent(out) :: error
            integer(c_int32_t) :: status
        end function
        function trilith_array_read_mask(array, buffer, size, error) bind(c) result(status)
            import
            type(c_ptr), value :: array, buffer
            integer(c_size_t), value :: size
            type(c_ptr), intent(out) :: error
            integer(c_int32_t) :: status
        end function
        subroutine trilith_array_free(array) bind(c)
            import
            type(c_ptr), value :: array
        end subroutine
        function trilith_writer_new(generation, writer, error) bind(c) result(status)
            import
            type(c_ptr), value :: generation
            type(c_ptr), intent(out) :: writer, error
            integer(c_int32_t) :: status
        end function
        function trilith_writer_codec(writer, codec, error) bind(c) result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: codec(*)
            type(c_ptr), intent(out) :: error
            integer(c_int32_t) :: status
        end function
        function trilith_writer_int(writer, path, number, error) bind(c) result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int64_t), value :: number
            type(c_ptr), intent(out) :: error
            integer(c_int32_t) :: status
        end function
        function trilith_writer_double(writer, path, number, error) bind(c) result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: path(*)
            real(c_double), value :: number
            type(c_ptr), intent(out) :: error
            integer(c_int32_t) :: status
        end function
        function trilith_writer_text(writer, path, text, error) bind(c) result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: path(*), text(*)
            type(c_ptr), intent(out) :: error
            integer(c_int32_t) :: status
        end function
        function trilith_writer_array(writer, path, datatype, ndim, shape, data, mask, error) bind(c) result(status)
            import
            type(c_ptr), value :: writer, data, mask
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int32_t), value :: datatype
            integer(c_size_t), value :: ndim
            integer(c_int64_t), intent(in) :: shape(*)
            type(c_ptr), intent(out) :: error
            integer(c_int32_t) :: status
        end function
        function trilith_writer_write(writer, path, error) bind(c) result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: path(*)
            type(c_ptr), intent(out) :: error
            integer(c_int32_t) :: status
        end function
        subroutine trilith_writer_free(writer) bind(c)
            import
            type(c_ptr), value :: writer
        end subroutine
        function trilith_change_new(file, change, error) bind(c) result(status)
            import
            type(c_ptr), value :: file
            type(c_ptr), intent(out) :: change, error
            integer(c_int32_t) :: status
        end function
        function trilith_change_double(change, path, number, error) bind(c) result(status)
            import
            type(c_ptr), value :: change
            character(kind=c_char), intent(in) :: path(*)
            real(c_double), value :: number
            type(c_ptr), intent(out) :: error
            integer(c_int32_t) :: status
        end function
        function trilith_change_text(change, path, text, error) bind(c) result(status)
            import
            type(c_ptr), value :: change
            character(kind=c_char), intent(in) :: path(*), text(*)
            type(c_ptr), intent(out) :: error
            integer(c_int32_t) :: status
        end function
        function trilith_change_save(change, path, flags, error) bind(c) result(status)
            import
            type(c_ptr), value :: change, path
            integer(c_int32_t), value :: flags
            type(c_ptr), intent(out) :: error
            integer(c_int32_t) :: status
        end function
        subroutine trilith_change_free(change) bind(c)
            import
            type(c_ptr), value :: change
        end subroutine
        function trilith_error_message(error) bind(c) result(message)
            import
            type(c_ptr), value :: error
            type(c_ptr) :: message
        end function
        subroutine trilith_error_free(error) bind(c)
            import
            type(c_ptr), value :: error
        end subroutine
        subroutine trilith_string_free(text) bind(c)
            import
            type(c_ptr), value :: text
        end subroutine
        function trilith_version() bind(c) result(version)
            import
            type(c_ptr) :: version
        end function
        function c_strlen(text) bind(c, name="strlen") result(length)
            import
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function
    end interface

contains

    ! Text for a call: without blanks at its end, with a NUL.
    pure function c_text(text) result(ready)
        character(len=*), intent(in) :: text
        character(kind=c_char, len=:), allocatable :: ready
        ready = trim(text)//c_null_char
    end function

    ! Text that a call gave; it is not freed.
    function fortran_text(pointer) result(text)
        type(c_ptr), intent(in) :: pointer
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: bytes(:)
        integer :: at
        text = ""
        if (.not. c_associated(pointer)) return
        call c_f_pointer(pointer, bytes, [c_strlen(pointer)])
        allocate (character(len=size(bytes)) :: text)
        do at = 1, size(bytes)
            text(at:at) = bytes(at)
        end do
    end function

    ! Ends the program with the message where a call failed.
    subroutine check(status, error)
        integer(c_int32_t), intent(in) :: status
        type(c_ptr), intent(in) :: error
        if (status == trilith_ok) return
        print '(a)', fortran_text(trilith_error_message(error))
        call trilith_error_free(error)
        error stop 1
    end subroutine

    ! The shape of an array as Fortran counts its axes: the first varies fastest.
    function array_shape(array) result(lengths)
        type(c_ptr), intent(in) :: array
        integer(c_int64_t), allocatable :: lengths(:)
        integer(c_int64_t), pointer :: there(:)
        integer(c_size_t) :: ndim
        ndim = trilith_array_ndim(array)
        if (ndim == 0) then
            allocate (lengths(0))
            return
        end if
        call c_f_pointer(trilith_array_shape(array), there, [ndim])
        lengths = there(ndim:1:-1)
    end function
end module
