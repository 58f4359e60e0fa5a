/* Writes a file, reads a slice of an lz4 array and a masked array, changes a value and saves it. */
#include <stdio.h>
#include <stdlib.h>
#include "trilith.h"
static trilith_error *error;
static void check(int32_t status) {
    if (status != TRILITH_OK) fprintf(stderr, "%s\n", trilith_error_message(error)), exit(1);
}
int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "tour.asdf";
    float image[6] = {0, 1, 2, 3, 4, 5}, part[2];
    uint8_t mask[6] = {0, 0, 0, 0, 0, 1}, seen[6];
    uint64_t shape[2] = {2, 3};
    int64_t start[2] = {1, 0}, stop[2] = {2, 2};
    double exposure;
    trilith_writer *writer; trilith_file *file; trilith_array *array, *cutout; trilith_item *item; trilith_change *change;
    check(trilith_writer_new(NULL, &writer, &error));
    check(trilith_writer_codec(writer, "lz4", &error));
    check(trilith_writer_array(writer, "/image", TRILITH_FLOAT32, 2, shape, image, NULL, &error));
    check(trilith_writer_array(writer, "/masked", TRILITH_FLOAT32, 2, shape, image, mask, &error));
    check(trilith_writer_double(writer, "/exposure", 139.8, &error));
    check(trilith_writer_write(writer, path, &error));
    check(trilith_open(path, NULL, &file, &error));
    check(trilith_array_at(file, "/image", &array, &error));
    check(trilith_array_slice(array, 2, start, stop, NULL, &cutout, &error));
    check(trilith_array_read(cutout, TRILITH_FLOAT32, part, sizeof part, NULL, NULL, NULL, &error));
    trilith_array_free(array);
    check(trilith_array_at(file, "/masked", &array, &error));
    check(trilith_array_read_mask(array, seen, sizeof seen, &error));
    check(trilith_change_new(file, &change, &error));
    check(trilith_change_double(change, "/exposure", 60.5, &error));
    check(trilith_change_save(change, NULL, TRILITH_IN_PLACE, &error));
    trilith_change_free(change); trilith_array_free(array); trilith_array_free(cutout); trilith_close(file);
    check(trilith_open(path, NULL, &file, &error));
    check(trilith_item_at(file, "/exposure", &item, &error));
    check(trilith_item_double(item, &exposure, &error));
    printf("%g %g, masked %d%d, %g\n", part[0], part[1], seen[4], seen[5], exposure);
    trilith_item_free(item); trilith_close(file); trilith_writer_free(writer);
    return 0;
}
