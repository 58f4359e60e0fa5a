/* What is wrong is an error, never a crash: null pointers, handles of another kind, memory that is too small, hostile files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "trilith.h"

#define EXPECT(call, status) do { int32_t got = (call); if (got != (status)) { \
    fprintf(stderr, "%s:%d: %d, expected %d\n", __FILE__, __LINE__, (int)got, (int)(status)); return 1; } } while (0)

static int32_t hears(void *user, uint64_t bytes) { *(uint64_t *)user += bytes; return 0; }
static int32_t stops(void *user, uint64_t bytes) { (void)user; (void)bytes; return 1; }
static int32_t reads(void *user, uint64_t offset, void *buffer, size_t size) {
    memcpy(buffer, (const char *)user + offset, size);
    return 0;
}
static int32_t fails(void *user, uint64_t offset, void *buffer, size_t size) {
    (void)user; (void)offset; (void)buffer; (void)size;
    return 5;
}

int main(int argc, char **argv) {
    static const char text[] = "#ASDF 1.0.0\n%YAML 1.1\n--- {n: 7, t: \"text\", a: !<tag:stsci.edu:asdf/core/ndarray-1.0.0> [[1, 2, 3], [4, 5, 6]]}\n...\n";
    trilith_file *file = NULL; trilith_item *item = NULL; trilith_array *array = NULL; trilith_error *error = NULL;
    trilith_writer *writer = NULL; trilith_cancel *cancel = NULL; trilith_options *options = NULL; trilith_children *children = NULL;
    int64_t number, spread[2] = {40, 8}; double values[6]; char *string = NULL; uint64_t heard = 0; const char *name;
    struct { double first[3]; double gap[2]; double second[3]; } apart;

    EXPECT(trilith_open(NULL, NULL, &file, &error), TRILITH_USAGE);
    if (trilith_error_status(error) != TRILITH_USAGE || !strlen(trilith_error_message(error))) return 1;
    trilith_error_free(error);
    EXPECT(trilith_open("nowhere.asdf", NULL, &file, NULL), TRILITH_IO);
    EXPECT(trilith_open("nowhere.asdf", NULL, NULL, NULL), TRILITH_USAGE);
    EXPECT(trilith_open_memory("#ASDF 1.0.0\n%YAML 1.1\n--- [\n", 27, NULL, &file, &error), TRILITH_MALFORMED);
    if (trilith_error_line(error) == 0) return 1;
    trilith_error_free(error);
    EXPECT(trilith_open_callback(fails, NULL, 100, NULL, &file, NULL), TRILITH_IO);
    EXPECT(trilith_open_callback(NULL, NULL, 100, NULL, &file, NULL), TRILITH_USAGE);
    EXPECT(trilith_open_callback(reads, (void *)(size_t)text, sizeof text - 1, NULL, &file, NULL), TRILITH_OK);
    EXPECT(trilith_item_at(file, "/nothing", &item, &error), TRILITH_NOT_FOUND);
    trilith_error_free(error);
    EXPECT(trilith_item_at(file, "/t", &item, NULL), TRILITH_OK);
    EXPECT(trilith_item_int(item, &number, NULL), TRILITH_USAGE);
    EXPECT(trilith_item_text(item, &string, NULL), TRILITH_OK);
    if (strcmp(string, "text") != 0) return 1;
    trilith_string_free(string);
    EXPECT(trilith_item_array((trilith_item *)(void *)file, &array, NULL), TRILITH_USAGE);
    if (trilith_item_kind((trilith_item *)(void *)file) != 0 || trilith_array_ndim((trilith_array *)(void *)item) != 0) return 1;
    trilith_item_free((trilith_item *)(void *)file);
    trilith_item_free(item);
    EXPECT(trilith_array_at(file, "/a", &array, NULL), TRILITH_OK);
    EXPECT(trilith_root(file, &item, NULL), TRILITH_OK);
    trilith_close(file);
    EXPECT(trilith_item_children(item, &children, NULL), TRILITH_OK);
    trilith_item_free(item);
    for (number = 0; ; number++) {
        EXPECT(trilith_children_next(children, &name, &item, NULL), TRILITH_OK);
        if (!item) break;
        if (!name) return 1;
        trilith_item_free(item);
    }
    trilith_children_free(children);
    if (number != 3) return 1;
    EXPECT(trilith_array_read(array, TRILITH_FLOAT64, values, sizeof values - 1, NULL, NULL, NULL, NULL), TRILITH_USAGE);
    EXPECT(trilith_array_read(array, TRILITH_FLOAT64, NULL, sizeof values, NULL, NULL, NULL, NULL), TRILITH_USAGE);
    EXPECT(trilith_array_read(array, 99, values, sizeof values, NULL, NULL, NULL, NULL), TRILITH_USAGE);
    EXPECT(trilith_array_read(array, TRILITH_FLOAT64, values, sizeof values, NULL, stops, NULL, NULL), TRILITH_CANCELLED);
    EXPECT(trilith_array_read(array, TRILITH_FLOAT64, values, sizeof values, NULL, hears, &heard, NULL), TRILITH_OK);
    if (values[5] != 6 || heard == 0) return 1;
    apart.gap[0] = apart.gap[1] = -1;
    EXPECT(trilith_array_read(array, TRILITH_FLOAT64, &apart, sizeof apart, spread, NULL, NULL, NULL), TRILITH_OK);
    if (apart.first[2] != 3 || apart.second[0] != 4 || apart.gap[0] != -1 || apart.gap[1] != -1) return 1;
    EXPECT(trilith_array_read(array, TRILITH_FLOAT64, &apart, sizeof apart - 1, spread, NULL, NULL, NULL), TRILITH_USAGE);
    spread[0] = -40;
    EXPECT(trilith_array_read(array, TRILITH_FLOAT64, &apart, sizeof apart, spread, NULL, NULL, NULL), TRILITH_USAGE);
    trilith_array_free(array);

    EXPECT(trilith_writer_new("asdf-9", &writer, NULL), TRILITH_USAGE);
    EXPECT(trilith_writer_new(NULL, &writer, NULL), TRILITH_OK);
    EXPECT(trilith_writer_codec(writer, "none such", NULL), TRILITH_USAGE);
    EXPECT(trilith_writer_int(writer, "/n", 1, NULL), TRILITH_OK);
    EXPECT(trilith_writer_int(writer, "/n", 1, NULL), TRILITH_USAGE);
    EXPECT(trilith_writer_text(writer, "/t", "\xff", NULL), TRILITH_USAGE);
    EXPECT(trilith_writer_write(writer, "no/such/folder/x.asdf", NULL), TRILITH_IO);
    EXPECT(trilith_writer_write(writer, "x.asdf", NULL), TRILITH_USAGE);
    trilith_writer_free(writer);

    EXPECT(trilith_cancel_new(&cancel, NULL), TRILITH_OK);
    EXPECT(trilith_options_new(&options, NULL), TRILITH_OK);
    EXPECT(trilith_options_limit(options, "depth", NULL), TRILITH_USAGE);
    EXPECT(trilith_options_cancel(options, cancel, NULL), TRILITH_OK);
    EXPECT(trilith_cancel_now(cancel), TRILITH_OK);
    EXPECT(trilith_open_memory(text, sizeof text - 1, options, &file, NULL), TRILITH_CANCELLED);
    trilith_cancel_free(cancel);
    trilith_options_free(options);

    /* The same hostile files as the command's: each opens or is refused, and every array of it is read or refused. */
    for (int at = 1; at < argc; at++) {
        trilith_arrays *arrays;
        if (trilith_open(argv[at], NULL, &file, NULL) != TRILITH_OK) continue;
        if (trilith_list_arrays(file, &arrays, NULL) == TRILITH_OK) {
            for (size_t n = 0; n < trilith_arrays_count(arrays) && n < 100; n++) {
                uint64_t size;
                void *memory;
                if (trilith_array_at(file, trilith_arrays_path(arrays, n), &array, NULL) != TRILITH_OK) continue;
                size = trilith_array_len(array) * trilith_array_item_size(array);
                if (size < 1u << 20 && (memory = malloc(size + 1))) {
                    (void)trilith_array_read(array, TRILITH_STORED, memory, size, NULL, NULL, NULL, NULL);
                    free(memory);
                }
                trilith_array_free(array);
            }
            trilith_arrays_free(arrays);
        }
        if (trilith_verify(file, 0, NULL, NULL, &string, NULL) == TRILITH_OK) trilith_string_free(string);
        trilith_close(file);
    }
    puts("nothing crashed");
    return 0;
}
