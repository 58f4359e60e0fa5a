#ifndef TRILITH_H
#define TRILITH_H

#include <stddef.h>
#include <stdint.h>

/*
 * Trilith: self-describing scientific array files from C, C++ and Fortran. ASDF of every generation, FITS with ASDF,
 * and files under Dudley layouts.
 *
 * Every call that can fail returns a status: TRILITH_OK, which is 0, or the kind of the error. Its last argument may be
 * null; otherwise it gets an error object with message, place and advice, which the caller frees, or null.
 *
 * Free what a call returns with the function that its comment names. A file may be closed while items and arrays of it
 * are in use. All text is UTF-8 and ends in NUL. Paths into a tree are JSON Pointers: /roman/meta/exposure.
 *
 * Any thread may make a call, and several threads may use one handle at the same time, unless the comment of the call forbids it.
 * An error belongs to the caller. There is no global state.
 */

/* An error of a call. It belongs to the caller, who frees it with trilith_error_free. */
typedef struct trilith_error trilith_error;

/* Options for opening files. One thread at a time. */
typedef struct trilith_options trilith_options;

/* Ends calls that are under way. Any number of files may be opened with one, from any thread. */
typedef struct trilith_cancel trilith_cancel;

/* An open file. Any number of threads may use one at the same time; it is freed once, by trilith_close, when no
 * call uses it any more. Items, arrays and changes that came from it stay valid after that. */
typedef struct trilith_file trilith_file;

/* One item of a file. Any number of threads may use one at the same time. */
typedef struct trilith_item trilith_item;

/* The children of an item, to be taken one after the other. One thread at a time. */
typedef struct trilith_children trilith_children;

/* The arrays of a file. Any number of threads may use one at the same time. */
typedef struct trilith_arrays trilith_arrays;

/* An array of a file, or a part of one: a description, whose elements are read when they are asked for. Any number
 * of threads may use one at the same time. */
typedef struct trilith_array trilith_array;

/* World coordinates of an array. Any number of threads may use one at the same time. */
typedef struct trilith_wcs trilith_wcs;

/* A file that is being put together. One thread at a time. */
typedef struct trilith_writer trilith_writer;

/* Changes that were not saved yet. One thread at a time. */
typedef struct trilith_change trilith_change;


/*
 The stored elements: records and strings packed, numbers in the byte order of this machine.
 */
#define TRILITH_STORED 0

/*
 One byte, 0 or 1.
 */
#define TRILITH_BOOL8 1

/*
 int8_t
 */
#define TRILITH_INT8 2

/*
 int16_t
 */
#define TRILITH_INT16 3

/*
 int32_t
 */
#define TRILITH_INT32 4

/*
 int64_t
 */
#define TRILITH_INT64 5

/*
 uint8_t
 */
#define TRILITH_UINT8 6

/*
 uint16_t
 */
#define TRILITH_UINT16 7

/*
 uint32_t
 */
#define TRILITH_UINT32 8

/*
 uint64_t
 */
#define TRILITH_UINT64 9

/*
 Two bytes, IEEE 754 binary16.
 */
#define TRILITH_FLOAT16 10

/*
 float
 */
#define TRILITH_FLOAT32 11

/*
 double
 */
#define TRILITH_FLOAT64 12

/*
 float complex: real and imaginary part
 */
#define TRILITH_COMPLEX64 13

/*
 double complex: real and imaginary part
 */
#define TRILITH_COMPLEX128 14

/*
 A record; see trilith_array_field.
 */
#define TRILITH_RECORD 20

/*
 Strings of a fixed length; see trilith_array_text.
 */
#define TRILITH_TEXT_ELEMENTS 21

/*
 A number that C has no type for, such as float128; read it as TRILITH_FLOAT64 or TRILITH_COMPLEX128.
 */
#define TRILITH_OTHER 22

/*
 The end of an axis, or its beginning if the step is negative.
 */
#define TRILITH_END INT64_MAX

/*
 Write only the changes, if they fit into the file.
 */
#define TRILITH_IN_PLACE 1

/*
 Replace a file at `path` that holds data of any format that is read.
 */
#define TRILITH_OVERWRITE 2

/*
 The call succeeded.
 */
#define TRILITH_OK 0

/*
 The operating system or the network could not read or write.
 */
#define TRILITH_IO 1

/*
 The file breaks the rules of its format.
 */
#define TRILITH_MALFORMED 2

/*
 The file may be valid, but this library does not support it.
 */
#define TRILITH_UNSUPPORTED 3

/*
 The file exceeds a limit: see trilith_options_limit.
 */
#define TRILITH_LIMIT 4

/*
 The caller gave an invalid argument.
 */
#define TRILITH_USAGE 5

/*
 The call was cancelled, by trilith_cancel_now or by a progress callback.
 */
#define TRILITH_CANCELLED 6

/*
 A fault of this library. Free the handles that the call worked on.
 */
#define TRILITH_INTERNAL 7

/*
 A path, a key or a field does not exist.
 */
#define TRILITH_NOT_FOUND 8

/*
 Named items.
 */
#define TRILITH_MAPPING 1

/*
 Numbered items.
 */
#define TRILITH_LIST 2

/*
 An array.
 */
#define TRILITH_ARRAY 3

/*
 A number, a boolean, a date.
 */
#define TRILITH_SCALAR 4

/*
 Text.
 */
#define TRILITH_TEXT 5

/*
 A null: no value.
 */
#define TRILITH_NULL 6

/*
 A reference to an item of this file or another: see trilith_item_follow.
 */
#define TRILITH_REFERENCE 7

/*
 Compute coordinates of points outside of the bounding box, too.
 */
#define TRILITH_WCS_NO_BOX 1

/*
 Evaluate the inverse in the file in place of the exact one.
 */
#define TRILITH_WCS_FILE_INVERSE 2

/*
 Progress callback: receives the number of bytes read since the last call. Any result but 0 cancels. Any thread may call it, one at
 a time.
 */
typedef int32_t (*trilith_progress)(void *user, uint64_t bytes);

/*
 Reads `size` bytes from `offset` on into `buffer`. Returns 0, or another number if it fails. It is called from several
 threads at once and must not use the file that it reads for.
 */
typedef int32_t (*trilith_read)(void *user, uint64_t offset, void *buffer, size_t size);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The version of this library, such as `0.1.0`.

 Any thread, at any time.
 */
const char *trilith_version(void);

/*
 Number of axes; 0 for a single value, and for a handle that is not an array.
 */
size_t trilith_array_ndim(const trilith_array *array);

/*
 The length of each axis, in C order: the last varies fastest. It lives as long as the array.
 */
const uint64_t *trilith_array_shape(const trilith_array *array);

/*
 Number of elements.
 */
uint64_t trilith_array_len(const trilith_array *array);

/*
 The datatype of its elements: TRILITH_FLOAT32 and so on; -1 for a handle that is not an array.
 */
int32_t trilith_array_datatype(const trilith_array *array);

/*
 The name of the datatype in the ASDF standard: `float32`, `ucs4`, `struct`. It lives as long as the array.
 */
const char *trilith_array_datatype_name(const trilith_array *array);

/*
 Number of bytes of one element in the form TRILITH_STORED.
 */
uint64_t trilith_array_item_size(const trilith_array *array);

/*
 Returns 1 if some elements may be masked, else 0: see trilith_array_read_mask.
 */
int32_t trilith_array_is_masked(const trilith_array *array);

/*
 Number of fields of a record; 0 for everything else.
 */
size_t trilith_array_field_count(const trilith_array *array);

/*
 The name of a field, counted from 0, or null if there are fewer. It lives as long as the array.
 */
const char *trilith_array_field_name(const trilith_array *array, size_t index);

/*
 Returns one field of an array of records, as an array. `outer.inner` is a field of a field.
 */
int32_t trilith_array_field(const trilith_array *array, const char *name, trilith_array **out, trilith_error **error);

/*
 Returns a part of an array, with the same number of axes: on each of the first `count` axes from `start` up to but without `stop`, every `step`th. Negative
 numbers count from the end, TRILITH_END means the end of the axis; `start`, `stop` and `step` may each be null, which
 means from the beginning, to the end, and each. Nothing is read.
 */
int32_t trilith_array_slice(const trilith_array *array,
                            size_t count,
                            const int64_t *start,
                            const int64_t *stop,
                            const int64_t *step,
                            trilith_array **out,
                            trilith_error **error);

/*
 Reads all elements into `buffer`, which has `size` bytes, in the byte order of this machine. `datatype` is that
 of the memory: whole numbers must fit exactly, floats are rounded; TRILITH_STORED takes the elements as they are
 stored. `strides` are the bytes from one index to the next on each axis, none negative; null means C order
 without gaps. Memory between the elements is not changed. Masked elements get the value under the mask.

 `hear`, which may be null, receives the progress and can cancel. If the call fails, the memory may hold some of
 the elements.
 */
int32_t trilith_array_read(const trilith_array *array,
                           int32_t datatype,
                           void *buffer,
                           size_t size,
                           const int64_t *strides,
                           trilith_progress hear,
                           void *user,
                           trilith_error **error);

/*
 Reads the mask into `size` bytes, one for each element in C order: 1 if the element is masked, else 0. An array
 without a mask gives zeros.
 */
int32_t trilith_array_read_mask(const trilith_array *array, uint8_t *buffer, size_t size, trilith_error **error);

/*
 Returns one element as a string, by its number in C order: strings decoded, numbers in decimal, records as JSON. Free it with
 trilith_string_free.
 */
int32_t trilith_array_text(const trilith_array *array,
                           uint64_t index,
                           char **out,
                           trilith_error **error);

/*
 Frees an array. Null is allowed.
 */
void trilith_array_free(trilith_array *array);

/*
 Lists every array of a file with its path, in the order of the file.
 */
int32_t trilith_list_arrays(const trilith_file *file, trilith_arrays **out, trilith_error **error);

/*
 Number of arrays.
 */
size_t trilith_arrays_count(const trilith_arrays *arrays);

/*
 Returns the path of one, counted from 0, or null if there are fewer. It lives as long as the list.
 */
const char *trilith_arrays_path(const trilith_arrays *arrays, size_t index);

/*
 Returns the item of one, counted from 0.
 */
int32_t trilith_arrays_item(const trilith_arrays *arrays, size_t index, trilith_item **out, trilith_error **error);

/*
 Frees a list. Null is allowed.
 */
void trilith_arrays_free(trilith_arrays *arrays);

/*
 Returns the array at a path, as trilith_item_at and trilith_item_array do.
 */
int32_t trilith_array_at(const trilith_file *file, const char *path, trilith_array **out, trilith_error **error);

/*
 Makes a handle that cancels calls, for trilith_options_cancel.
 */
int32_t trilith_cancel_new(trilith_cancel **out, trilith_error **error);

/*
 Ends all calls that read a file which was opened with this: they return TRILITH_CANCELLED at their next read. From then on
 those files cannot be read. Any thread, at any time, a signal handler included.
 */
int32_t trilith_cancel_now(const trilith_cancel *cancel);

/*
 Frees it. Null is allowed. Files that were opened with it stay open and cannot be cancelled any more.
 */
void trilith_cancel_free(trilith_cancel *cancel);

/*
 Begins changes of a file.
 */
int32_t trilith_change_new(const trilith_file *file, trilith_change **out, trilith_error **error);

/*
 Sets an integer at a path. A missing key is added. The path is checked when the
 changes are saved, and so for all later calls.
 */
int32_t trilith_change_int(trilith_change *change, const char *path, int64_t value, trilith_error **error);

/*
 Sets a number at a path.
 */
int32_t trilith_change_double(trilith_change *change, const char *path, double value, trilith_error **error);

/*
 Sets a boolean at a path. Every number but 0 is true.
 */
int32_t trilith_change_bool(trilith_change *change, const char *path, int32_t value, trilith_error **error);

/*
 Sets a string at a path.
 */
int32_t trilith_change_text(trilith_change *change, const char *path, const char *value, trilith_error **error);

/*
 Sets the value of a YAML text at a path.
 */
int32_t trilith_change_yaml(trilith_change *change, const char *path, const char *yaml, trilith_error **error);

/*
 Sets an array at a path. It is copied. `codec` is that of its block, or null. The other arguments are those of
 trilith_writer_array.
 */
int32_t trilith_change_array(trilith_change *change,
                             const char *path,
                             int32_t datatype,
                             size_t ndim,
                             const uint64_t *shape,
                             const void *data,
                             const uint8_t *mask,
                             const char *codec,
                             trilith_error **error);

/*
 Removes the item at a path, and its block if nothing else refers to it.
 */
int32_t trilith_change_delete(trilith_change *change, const char *path, trilith_error **error);

/*
 Saves the changes: at `path`, or where the file was read from if `path` is null. `flags` is 0, TRILITH_IN_PLACE or
 TRILITH_OVERWRITE. Without the latter another file that holds data is not replaced. A failure at any moment leaves the old
 content; another process that changed the file meanwhile is an error. The file handle still has the old content: open the file
 again to see the new one. The changes stay, and can be saved elsewhere.
 */
int32_t trilith_change_save(const trilith_change *change,
                            const char *path,
                            uint32_t flags,
                            trilith_error **error);

/*
 Frees changes. Null is allowed. Unsaved changes are lost.
 */
void trilith_change_free(trilith_change *change);

/*
 Returns the status of an error, as the call returned it; TRILITH_USAGE for a null pointer.
 */
int32_t trilith_error_status(const trilith_error *error);

/*
 Returns the error with its place and advice, in one line of UTF-8. Never null; it lives as long as the error.
 */
const char *trilith_error_message(const trilith_error *error);

/*
 Returns advice, or null if there is none. It lives as long as the error.
 */
const char *trilith_error_advice(const trilith_error *error);

/*
 Returns the path in the tree at which it happened, or null. It lives as long as the error.
 */
const char *trilith_error_path(const trilith_error *error);

/*
 Returns the byte of the file at which it happened, or -1.
 */
int64_t trilith_error_byte(const trilith_error *error);

/*
 Returns the line of the text at which it happened, counted from 1, or 0.
 */
uint32_t trilith_error_line(const trilith_error *error);

/*
 Returns the column of the text at which it happened, counted from 1, or 0.
 */
uint32_t trilith_error_column(const trilith_error *error);

/*
 Frees an error. Null is allowed.
 */
void trilith_error_free(trilith_error *error);

/*
 Returns the root of a file's tree.
 */
int32_t trilith_root(const trilith_file *file, trilith_item **out, trilith_error **error);

/*
 Returns the item at a path such as `/roman/meta/exposure`; references on the way are followed.
 */
int32_t trilith_item_at(const trilith_file *file, const char *path, trilith_item **out, trilith_error **error);

/*
 Returns the kind of an item: TRILITH_MAPPING and so on; 0 for a handle that is not an item.
 */
int32_t trilith_item_kind(const trilith_item *item);

/*
 Returns the target of a reference, which may be in another file. If the item is not a reference, returns a new handle of it.
 */
int32_t trilith_item_follow(const trilith_item *item,
                            trilith_item **out,
                            trilith_error **error);

/*
 Returns the children of a mapping or a list, in the order of the file; none for any other item.
 */
int32_t trilith_item_children(const trilith_item *item, trilith_children **out, trilith_error **error);

/*
 Number of children left.
 */
size_t trilith_children_left(const trilith_children *children);

/*
 Returns the next child, or null after the last. `name`, which may be null itself, gets its name, or null in a list; the name lives until
 the next call with these children.
 */
int32_t trilith_children_next(trilith_children *children,
                              const char **name,
                              trilith_item **out,
                              trilith_error **error);

/*
 Frees children. Null is allowed. Items that came from them stay valid.
 */
void trilith_children_free(trilith_children *children);

/*
 Reads an integer.
 */
int32_t trilith_item_int(const trilith_item *item, int64_t *out, trilith_error **error);

/*
 Reads a number. An integer must fit exactly into a double.
 */
int32_t trilith_item_double(const trilith_item *item, double *out, trilith_error **error);

/*
 Reads a boolean: 1 or 0.
 */
int32_t trilith_item_bool(const trilith_item *item, int32_t *out, trilith_error **error);

/*
 Reads a string, or a scalar as the file spells it. Free it with trilith_string_free.
 */
int32_t trilith_item_text(const trilith_item *item, char **out, trilith_error **error);

/*
 Returns the tag of an item, or null if it has none. Free it with trilith_string_free.
 */
int32_t trilith_item_tag(const trilith_item *item, char **out, trilith_error **error);

/*
 Returns the unit of an item, or null if it has none. Free it with trilith_string_free.
 */
int32_t trilith_item_unit(const trilith_item *item, char **out, trilith_error **error);

/*
 Returns the value of an attribute of an item: a text as it is, anything else as JSON; null if the item has no such attribute.
 `name` is that of a FITS card, an HDF5, netCDF or Dudley attribute, or a TIFF tag, as it follows the `@` of an address:
 `EXPTIME`, `HISTORY[1]`, `EXPTIME.comment`. `datatype` gets the name of its datatype, such as `int16`, `text` or `reference`; it may
 be null. Free both with trilith_string_free.
 */
int32_t trilith_item_attribute(const trilith_item *item,
                               const char *name,
                               char **out,
                               char **datatype,
                               trilith_error **error);

/*
 Returns an item as an array. A list of equal arrays or numbers is an array with one more axis.
 */
int32_t trilith_item_array(const trilith_item *item, trilith_array **out, trilith_error **error);

/*
 Frees an item. Null is allowed.
 */
void trilith_item_free(trilith_item *item);

/*
 Makes options with their defaults: the default limits, and no references outside of the file's folder.
 */
int32_t trilith_options_new(trilith_options **out, trilith_error **error);

/*
 Sets a limit: `"memory=2G"`, `"depth=100"`. The names are those of `trilith --limit`.
 */
int32_t trilith_options_limit(trilith_options *options, const char *assignment, trilith_error **error);

/*
 Allows references to lead to this folder (a path that ends in `/`) or to URLs with this prefix.
 */
int32_t trilith_options_allow(trilith_options *options, const char *folder_or_address, trilith_error **error);

/*
 Reads files under this layout (the text of a Dudley layout), whatever their first bytes are; null takes it back.
 */
int32_t trilith_options_layout(trilith_options *options, const char *layout, trilith_error **error);

/*
 Makes files that are opened from now on cancellable: see trilith_cancel_now. Null takes it back.
 */
int32_t trilith_options_cancel(trilith_options *options, const trilith_cancel *cancel, trilith_error **error);

/*
 Frees options. Null is allowed.
 */
void trilith_options_free(trilith_options *options);

/*
 Opens a file by its path or its URL (`https://`, `s3://`, `gs://`, `az://`). Nothing is decoded. `options` may be null.
 */
int32_t trilith_open(const char *path, const trilith_options *options, trilith_file **out, trilith_error **error);

/*
 Opens a file in memory; the bytes are copied. `options` may be null.
 */
int32_t trilith_open_memory(const void *bytes,
                            size_t size,
                            const trilith_options *options,
                            trilith_file **out,
                            trilith_error **error);

/*
 Opens a file of `size` bytes that `read` reads; `user` is handed to it. Both must be valid until the file is closed and
 everything that came from it is freed. `options` may be null.
 */
int32_t trilith_open_callback(trilith_read read,
                              void *user,
                              uint64_t size,
                              const trilith_options *options,
                              trilith_file **out,
                              trilith_error **error);

/*
 Returns the format of a file: `asdf`, `finf`, `fits`, `dudley`, … It lives as long as the file. Null for a handle that is not a file.
 */
const char *trilith_file_family(const trilith_file *file);

/*
 Lists problems of a file that can be read nevertheless: one line each, or an empty string. Free it with
 trilith_string_free.
 */
int32_t trilith_file_warnings(const trilith_file *file, char **out, trilith_error **error);

/*
 Closes a file. Null is allowed.
 */
void trilith_close(trilith_file *file);

/*
 Frees a string that a call returned. Null is allowed.
 */
void trilith_string_free(char *text);

/*
 Checks a file: structure, blocks, checksums, and that every array can be read; if `deep` is not 0, that every
 block decodes. `problems` gets one line for each, or an empty string if there are none. Free it with
 trilith_string_free. `hear`, which may be null, receives the number of checked bytes. Its result is used only at
 the end; to end the work early, open the file with trilith_options_cancel.
 */
int32_t trilith_verify(const trilith_file *file,
                       int32_t deep,
                       trilith_progress hear,
                       void *user,
                       char **problems,
                       trilith_error **error);

/*
 Returns the coordinates of the array at a path, or those that the item at the path describes. An empty or null path means the first
 array of the file that has some. TRILITH_NOT_FOUND if there are none, TRILITH_UNSUPPORTED if a transform is not supported. Freed
 with trilith_wcs_free.
 */
int32_t trilith_wcs_open(const trilith_file *file,
                         const char *path,
                         trilith_wcs **out,
                         trilith_error **error);

/*
 Does the same as trilith_wcs_open, for an alternate description of FITS headers: `key` is a letter, or 0 for the primary one.
 */
int32_t trilith_wcs_open_key(const trilith_file *file,
                             const char *path,
                             char key,
                             trilith_wcs **out,
                             trilith_error **error);

/*
 Number of pixel axes: numbers that a pixel has.
 */
size_t trilith_wcs_pixel_ndim(const trilith_wcs *wcs);

/*
 Number of world axes: numbers that a position has.
 */
size_t trilith_wcs_world_ndim(const trilith_wcs *wcs);

/*
 Returns name, unit and physical type of a world axis, as lon, deg, pos.eq.ra; empty if it has none. Any of the pointers may be null. The
 strings live as long as the coordinates.
 */
int32_t trilith_wcs_axis(const trilith_wcs *wcs,
                         size_t axis,
                         const char **name,
                         const char **unit,
                         const char **physical_type,
                         trilith_error **error);

/*
 Computes world coordinates of `count` pixels, point after point, in the units of the axes. A pixel is trilith_wcs_pixel_ndim numbers: x, the
 last axis of the array, comes first and counts from 0 at the middle of the first element. A point without coordinates is NaN. `out`
 may be `pixels` if both have the same number of axes.
 */
int32_t trilith_wcs_pixel_to_world(const trilith_wcs *wcs,
                                   size_t count,
                                   const double *pixels,
                                   double *out,
                                   uint32_t flags,
                                   trilith_error **error);

/*
 Computes the pixels of `count` positions, the reverse of trilith_wcs_pixel_to_world. The result is exact unless TRILITH_WCS_FILE_INVERSE is set.
 */
int32_t trilith_wcs_world_to_pixel(const trilith_wcs *wcs,
                                   size_t count,
                                   const double *world,
                                   double *out,
                                   uint32_t flags,
                                   trilith_error **error);

/*
 Returns longitude and latitude of the four corners in degrees, eight numbers: lower left, upper left, upper right, lower right of the
 bounding box, else of the array. TRILITH_UNSUPPORTED without a sky, or if the number of pixels is not known.
 */
int32_t trilith_wcs_footprint(const trilith_wcs *wcs,
                              double *out,
                              trilith_error **error);

/*
 Converts `count` positions, longitude and latitude in degrees one after the other, between a reference frame (icrs, fk5, fk4 or galactic)
 and the frame of the coordinates: to that of the coordinates if `to_native` is not 0. TRILITH_UNSUPPORTED if the frame of the coordinates cannot be
 converted. `out` may be `positions`.
 */
int32_t trilith_wcs_convert_frame(const trilith_wcs *wcs,
                                  const char *frame,
                                  int32_t to_native,
                                  size_t count,
                                  const double *positions,
                                  double *out,
                                  trilith_error **error);

/*
 Sets `out` to 1 if a pixel has a position, in degrees, else to 0.
 */
int32_t trilith_wcs_contains(const trilith_wcs *wcs,
                             double longitude,
                             double latitude,
                             int32_t *out,
                             trilith_error **error);

/*
 Returns the cards of a FITS header that describes the coordinates: 80 characters each, without line ends and without END, as wcslib (wcspih) and
 AST (astPutCards) take them. `order` is the degree of the SIP polynomials: 1 for a tangent plane alone, 0 for the lowest that keeps
 `max_error`, in pixels; 0.0 means 0.001, or any error if an order is given. TRILITH_UNSUPPORTED if the coordinates are not
 those of an image of the sky, or if no degree is good enough. Freed with trilith_string_free.
 */
int32_t trilith_wcs_fits_header(const trilith_wcs *wcs,
                                uint32_t order,
                                double max_error,
                                char **out,
                                trilith_error **error);

/*
 Frees coordinates. Null is allowed.
 */
void trilith_wcs_free(trilith_wcs *wcs);

/*
 Begins a file of a generation such as `asdf-1.5` or `finf-0.1`; null means the newest standard.
 */
int32_t trilith_writer_new(const char *generation, trilith_writer **out, trilith_error **error);

/*
 Compresses the arrays that are added from now on: `lz4`, `zlib`, `bzp2`, `zstd`, `blsc`, or `none`.
 */
int32_t trilith_writer_codec(trilith_writer *writer, const char *codec, trilith_error **error);

/*
 Sets an integer at a path such as `/meta/count`. Missing mappings are added.
 */
int32_t trilith_writer_int(trilith_writer *held, const char *path, int64_t value, trilith_error **error);

/*
 Sets a number at a path.
 */
int32_t trilith_writer_double(trilith_writer *held, const char *path, double value, trilith_error **error);

/*
 Sets a boolean at a path. Every number but 0 is true.
 */
int32_t trilith_writer_bool(trilith_writer *held, const char *path, int32_t value, trilith_error **error);

/*
 Sets a string at a path.
 */
int32_t trilith_writer_text(trilith_writer *held, const char *path, const char *value, trilith_error **error);

/*
 Sets the value of a YAML text at a path: a mapping, a list, or any value without explicit tags.
 */
int32_t trilith_writer_yaml(trilith_writer *held, const char *path, const char *yaml, trilith_error **error);

/*
 Adds an array in C order at a path. `datatype` is that of its elements, TRILITH_FLOAT32 and so on; `shape` has `ndim` lengths.

 Without a mask the elements are not copied: they must stay unchanged until trilith_writer_write or trilith_writer_free. `mask`
 may be null. Otherwise it has one byte for each element, a byte other than 0 masks its element, and everything is copied.
 */
int32_t trilith_writer_array(trilith_writer *held,
                             const char *path,
                             int32_t datatype,
                             size_t ndim,
                             const uint64_t *shape,
                             const void *data,
                             const uint8_t *mask,
                             trilith_error **error);

/*
 Writes a file next to `path`, syncs it, and renames it: a failure leaves the old file unchanged. After that the writer can only be
 freed.
 */
int32_t trilith_writer_write(trilith_writer *held,
                             const char *path,
                             trilith_error **error);

/*
 Frees a writer. Null is allowed. Unwritten data are lost.
 */
void trilith_writer_free(trilith_writer *writer);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TRILITH_H */
