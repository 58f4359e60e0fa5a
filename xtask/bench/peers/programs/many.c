/* Opens a file and lists its arrays 20 times through the C interface; prints seconds as the harness reads them. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "trilith.h"

static void check(int32_t status, trilith_error *error) {
    if (status != TRILITH_OK) fprintf(stderr, "%s\n", trilith_error_message(error)), exit(1);
}

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What the program in Rust does: asks for path, datatype and shape of each array. Printing them is not the library's work. */
static size_t list(const char *path) {
    trilith_error *error = NULL;
    trilith_file *file;
    trilith_arrays *arrays;
    size_t length = 0;
    check(trilith_open(path, NULL, &file, &error), error);
    check(trilith_list_arrays(file, &arrays, &error), error);
    for (size_t i = 0; i < trilith_arrays_count(arrays); i++) {
        trilith_item *item;
        trilith_array *array;
        check(trilith_arrays_item(arrays, i, &item, &error), error);
        check(trilith_item_array(item, &array, &error), error);
        length += strlen(trilith_arrays_path(arrays, i)) + strlen(trilith_array_datatype_name(array));
        const uint64_t *shape = trilith_array_shape(array);
        for (size_t axis = 0; axis < trilith_array_ndim(array); axis++) length += shape[axis];
        trilith_array_free(array);
        trilith_item_free(item);
    }
    trilith_arrays_free(arrays);
    trilith_close(file);
    return length;
}

int main(int argc, char **argv) {
    const int runs = 20;
    volatile size_t length = 0;
    double wall = 1e9;
    if (argc != 2) return 2;
    double before = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (int run = 0; run < runs; run++) {
        double start = seconds(CLOCK_MONOTONIC);
        length += list(argv[1]);
        double took = seconds(CLOCK_MONOTONIC) - start;
        if (took < wall) wall = took;
    }
    printf("{\"cpu_s\": %.9f, \"wall_s\": %.9f}\n", (seconds(CLOCK_THREAD_CPUTIME_ID) - before) / runs, wall);
    return length == 0;
}
