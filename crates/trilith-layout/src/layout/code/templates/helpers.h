/* Reads and writes files of one Dudley layout. Made by `trilith layout code`; needs C99 or C++11 and nothing else. */
#ifndef GUARD_H
#define GUARD_H

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
COMPLEX
/* The content of a file. Arrays are in C order; a parameter is the length of the arrays that name it. */
struct NAME {
FIELDS};

struct NAME_file {
  FILE *file;
  const char *error;
  int64_t base, size, text_at;
  int is_native;
  char order;
};

/* Returns a struct without content. */
static inline struct NAME NAME_empty(void)
{
#ifdef __cplusplus
  return NAME();
#else
  const struct NAME empty = {0};
  return empty;
#endif
}

static inline int64_t NAME_length(int64_t value, int64_t more)
{
  return value <= 0 ? value : value > INT64_MAX - 32 || value + more > 0 ? value + more : 0;
}

static inline int64_t NAME_factor(int64_t length)
{
  return length < 0 ? 1 : length;
}

static inline int64_t NAME_add(int64_t a, int64_t b)
{
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static inline int64_t NAME_mul(int64_t a, int64_t b)
{
  return b > 0 && a > INT64_MAX / b ? INT64_MAX : a * b;
}

static inline int64_t NAME_up(int64_t at, int64_t align)
{
  return at > INT64_MAX - align ? INT64_MAX : (at + align - 1) / align * align;
}

static inline int64_t NAME_max(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

static inline void NAME_fail(struct NAME_file *f, const char *why)
{
  if (!f->error)
    f->error = why;
}

static inline int64_t NAME_check(struct NAME_file *f, int64_t value)
{
  if (value >= -1)
    return value;
  NAME_fail(f, "a parameter is below -1 or too large");
  return 0;
}

static inline int NAME_seek(struct NAME_file *f, int64_t at)
{
  if (!f->error && (at < 0 || at > LONG_MAX || fseek(f->file, (long) at, SEEK_SET)))
    NAME_fail(f, "the file is too large");
  return !f->error;
}

/* Turns the bytes of numbers round, if the order of the file is not that of the machine. */
static inline void NAME_swap(const struct NAME_file *f, unsigned char *bytes, size_t size, size_t width, char order)
{
  const uint16_t one = 1;
  const char machine = *(const unsigned char *) &one ? '<' : '>';
  size_t at, i;
  if ((order == '=' ? f->order : order) == machine)
    return;
  for (at = 0; at + width <= size; at += width)
    for (i = 0; i < width / 2; i++) {
      const unsigned char byte = bytes[at + i];
      bytes[at + i] = bytes[at + width - 1 - i];
      bytes[at + width - 1 - i] = byte;
    }
}

/* Returns the address of run number k of an array: loops are pairs of a count and a distance. */
static inline int64_t NAME_place(int64_t at, int depth, const int64_t *loops, int64_t k)
{
  while (depth-- > 0) {
    at = NAME_add(at, k % loops[2 * depth] * loops[2 * depth + 1]);
    k /= loops[2 * depth];
  }
  return at;
}

static inline int64_t NAME_runs(int depth, const int64_t *loops)
{
  int64_t runs = 1;
  while (depth-- > 0)
    runs = NAME_mul(runs, loops[2 * depth]);
  return runs;
}

static inline void NAME_put(struct NAME_file *f, int64_t at, const void *data, int depth, const int64_t *loops, int64_t run,
                            int64_t width, int64_t numbers, char order)
{
  const int64_t runs = run > 0 ? NAME_runs(depth, loops) : 0, bytes = NAME_mul(run, width * numbers);
  const unsigned char *from = (const unsigned char *) data;
  unsigned char part[4096];
  int64_t k, done, size, place;
  if (runs > 0 && !data)
    NAME_fail(f, "an array that has elements is NULL");
  for (k = 0; k < runs && !f->error; k++) {
    place = NAME_add(f->base, NAME_place(at, depth, loops, k));
    if (place < HEADERSIZE)
      NAME_fail(f, "an item would be written over the header");
    if (!NAME_seek(f, place))
      return;
    for (done = 0; done < bytes; done += size, from += size) {
      size = bytes - done < 4096 ? bytes - done : 4096;
      memcpy(part, from, (size_t) size);
      NAME_swap(f, part, (size_t) size, (size_t) width, order);
      if (fwrite(part, 1, (size_t) size, f->file) != (size_t) size) {
        NAME_fail(f, "the file cannot be written");
        return;
      }
    }
    f->size = NAME_max(f->size, NAME_add(place, bytes));
  }
}

static inline void NAME_get(struct NAME_file *f, int64_t at, void *data, int depth, const int64_t *loops, int64_t run,
                            int64_t width, int64_t numbers, char order)
{
  const int64_t runs = run > 0 ? NAME_runs(depth, loops) : 0, bytes = NAME_mul(run, width * numbers);
  unsigned char *into = (unsigned char *) data;
  int64_t k, place;
  for (k = 0; k < runs && !f->error; k++, into += bytes) {
    place = NAME_add(f->base, NAME_place(at, depth, loops, k));
    if (NAME_add(place, bytes) > f->size)
      NAME_fail(f, "the file ends too early");
    if (!NAME_seek(f, place))
      return;
    if (fread(into, 1, (size_t) bytes, f->file) != (size_t) bytes)
      NAME_fail(f, "the file cannot be read");
    NAME_swap(f, into, (size_t) bytes, (size_t) width, order);
  }
}

static inline void *NAME_allocate(struct NAME_file *f, int64_t count, int64_t size)
{
  void *memory = NULL;
  if (f->error)
    return NULL;
  if (NAME_mul(count, size) > f->size)
    NAME_fail(f, "the file ends too early");
  else if (!(memory = calloc((size_t) (count > 0 ? count : 1), (size_t) size)))
    NAME_fail(f, "there is not enough memory");
  return memory;
}

static inline void NAME_create(struct NAME_file *f, const char *path)
{
  const struct NAME_file file = {NULL, NULL, ORIGIN, HEADERSIZE, 0, HEADERSIZE > 0, 'LETTER'};
  *f = file;
  f->file = fopen(path, "wb");
  if (!f->file)
    NAME_fail(f, "the file cannot be created");
  else if (HEADERSIZE && fwrite("SIGNATURE\0\0\0\0\0\0\0\0", 1, 16, f->file) != 16)
    NAME_fail(f, "the file cannot be written");
}

static inline void NAME_open(struct NAME_file *f, const char *path)
{
  const struct NAME_file file = {NULL, NULL, 0, 0, 0, 0, 'LETTER'};
  char first[8];
  *f = file;
  f->file = fopen(path, "rb");
  if (!f->file) {
    NAME_fail(f, "the file cannot be opened");
    return;
  }
  if (fread(first, 1, 8, f->file) == 8 && first[0] == '\215' && !memcmp(first + 2, "BD\r\n\032\n", 6)) {
    f->is_native = 1;
    f->base = BASE;
    f->order = first[1];
  }
  if (fseek(f->file, 0, SEEK_END))
    NAME_fail(f, "the file cannot be read");
  f->size = ftell(f->file);
}

/* Makes the file as long as its layout says. */
static inline void NAME_fill(struct NAME_file *f, int64_t total)
{
  const int64_t end = NAME_add(f->base, total);
  if (end > f->size && NAME_seek(f, end - 1) && fwrite("", 1, 1, f->file) != 1)
    NAME_fail(f, "the file cannot be written");
}

static inline void NAME_begin_layout(struct NAME_file *f, int64_t total)
{
  f->text_at = NAME_max(16, NAME_add(f->base, total));
  NAME_seek(f, f->text_at);
}

static inline void NAME_text(struct NAME_file *f, const char *text, size_t size)
{
  if (!f->error && fwrite(text, 1, size, f->file) != size)
    NAME_fail(f, "the file cannot be written");
}

static inline void NAME_end_layout(struct NAME_file *f)
{
  int64_t at = f->text_at;
  NAME_swap(f, (unsigned char *) &at, 8, 8, '=');
  if (NAME_seek(f, 8) && fwrite(&at, 1, 8, f->file) != 8)
    NAME_fail(f, "the file cannot be written");
}

static inline const char *NAME_close(struct NAME_file *f)
{
  if (f->file && fclose(f->file))
    NAME_fail(f, "the file cannot be written");
  return f->error;
}
