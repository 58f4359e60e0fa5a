! The same tour in Fortran.
program tour
    use trilith
    implicit none
    real(c_float), target :: image(3, 2) = reshape([0., 1., 2., 3., 4., 5.], [3, 2]), part(2, 1)
    integer(c_int8_t), target :: mask(3, 2) = 0_c_int8_t, seen(3, 2)
    type(c_ptr) :: writer, file, array, cutout, item, change, error
    real(c_double) :: exposure
    character(len=256) :: path = "tour.asdf"
    if (command_argument_count() > 0) call get_command_argument(1, path)
    mask(3, 2) = 1
    call check(trilith_writer_new(c_null_ptr, writer, error), error)
    call check(trilith_writer_codec(writer, c_text("lz4"), error), error)
    call check(trilith_writer_array(writer, c_text("/image"), trilith_float32, 2_c_size_t, [2_c_int64_t, 3_c_int64_t], &
        c_loc(image), c_null_ptr, error), error)
    call check(trilith_writer_array(writer, c_text("/masked"), trilith_float32, 2_c_size_t, [2_c_int64_t, 3_c_int64_t], &
        c_loc(image), c_loc(mask), error), error)
    call check(trilith_writer_double(writer, c_text("/exposure"), 139.8_c_double, error), error)
    call check(trilith_writer_write(writer, c_text(path), error), error)
    call check(trilith_open(c_text(path), c_null_ptr, file, error), error)
    call check(trilith_array_at(file, c_text("/image"), array, error), error)
    call check(trilith_array_slice(array, 2_c_size_t, [1_c_int64_t, 0_c_int64_t], [2_c_int64_t, 2_c_int64_t], &
        [1_c_int64_t, 1_c_int64_t], cutout, error), error)
    call check(trilith_array_read(cutout, trilith_float32, c_loc(part), 8_c_size_t, &
        c_null_ptr, c_null_funptr, c_null_ptr, error), error)
    call trilith_array_free(array)
    call check(trilith_array_at(file, c_text("/masked"), array, error), error)
    call check(trilith_array_read_mask(array, c_loc(seen), 6_c_size_t, error), error)
    call check(trilith_change_new(file, change, error), error)
    call check(trilith_change_double(change, c_text("/exposure"), 60.5_c_double, error), error)
    call check(trilith_change_save(change, c_null_ptr, trilith_in_place, error), error)
    call trilith_close(file)
    call check(trilith_open(c_text(path), c_null_ptr, file, error), error)
    call check(trilith_item_at(file, c_text("/exposure"), item, error), error)
    call check(trilith_item_double(item, exposure, error), error)
    print '(f0.0,1x,f0.0,a,i0,i0,a,f0.1)', part(1, 1), part(2, 1), " masked ", seen(2, 2), seen(3, 2), " ", exposure
    call trilith_item_free(item); call trilith_change_free(change); call trilith_array_free(array)
    call trilith_array_free(cutout); call trilith_close(file); call trilith_writer_free(writer)
end program
