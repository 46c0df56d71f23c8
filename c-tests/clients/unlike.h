/* Data for worlds of unlike clients: elements of any type with values that both representations hold, made
 * from bytes of "external32" that no other place has. A byte that was not converted, or converted where it
 * must not be, makes other values. */
#ifndef SUIRO_UNLIKE_H
#define SUIRO_UNLIKE_H

#include "../check.h"

#include <stddef.h>
#include <wchar.h>

enum { TYPES_MAX = 64, ELEMENT_MAX = 1024 };

/* All predefined types of C, and some derived ones, the last of them. */
static MPI_Datatype types[TYPES_MAX];
static int type_count, first_derived;

/* Every kind of number, with gaps. */
typedef struct {
    char letter;
    long number;
    short small[3];
    long double precise;
    wchar_t wide;
    float real;
} Mixed;

static MPI_Datatype mixed_type(void)
{
    int lengths[] = {1, 1, 3, 1, 1, 1};
    MPI_Aint places[] = {offsetof(Mixed, letter), offsetof(Mixed, number), offsetof(Mixed, small),
        offsetof(Mixed, precise), offsetof(Mixed, wide), offsetof(Mixed, real)};
    MPI_Datatype parts[] = {MPI_CHAR, MPI_LONG, MPI_SHORT, MPI_LONG_DOUBLE, MPI_WCHAR, MPI_FLOAT}, tight, type;
    MUST(MPI_Type_create_struct(6, lengths, places, parts, &tight));
    MUST(MPI_Type_create_resized(tight, 0, sizeof(Mixed), &type));
    MUST(MPI_Type_free(&tight));
    MUST(MPI_Type_commit(&type));
    return type;
}

static void make_types(void)
{
    const MPI_Datatype all[] = {MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE, MPI_WCHAR, MPI_SHORT,
        MPI_UNSIGNED_SHORT, MPI_INT, MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG, MPI_LONG_LONG,
        MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_C_BOOL, MPI_INT8_T, MPI_INT16_T,
        MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T, MPI_AINT, MPI_COUNT,
        MPI_OFFSET, MPI_C_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_FLOAT_INT,
        MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT};
    type_count = (int)(sizeof all / sizeof *all);
    memcpy(types, all, sizeof all);
    first_derived = type_count;
    MPI_Datatype mixed = mixed_type(), three, columns;
    types[type_count++] = mixed;
    MUST(MPI_Type_vector(3, 1, 2, mixed, &columns));
    MUST(MPI_Type_commit(&columns));
    types[type_count++] = columns;
    MUST(MPI_Type_contiguous(3, MPI_LONG_INT, &three));
    MUST(MPI_Type_commit(&three));
    types[type_count++] = three;
    MUST(MPI_Type_vector(5, 2, 3, MPI_LONG, &columns));
    MUST(MPI_Type_commit(&columns));
    types[type_count++] = columns;
}

static void free_types(void)
{
    while (type_count > first_derived)
        MUST(MPI_Type_free(&types[--type_count]));
}

/* Memory for elements of a type, all zero. */
static char *room(MPI_Datatype type, int count)
{
    MPI_Aint lower, extent;
    MUST(MPI_Type_get_extent(type, &lower, &extent));
    char *memory = take((size_t)extent * (size_t)count);
    memset(memory, 0, (size_t)extent * (size_t)count);
    return memory;
}

static MPI_Aint external_bytes(MPI_Datatype type, int count)
{
    MPI_Aint bytes;
    MUST(MPI_Pack_external_size("external32", count, type, &bytes));
    return bytes;
}

/* The elements as "external32". */
static char *external_of(const void *elements, MPI_Datatype type, int count)
{
    MPI_Aint bytes = external_bytes(type, count), place = 0;
    char *packed = take((size_t)bytes);
    MUST(MPI_Pack_external("external32", elements, count, type, packed, bytes, &place));
    return packed;
}

/* `count` elements that `seed` chooses. */
static char *elements_of(MPI_Datatype type, int count, int seed)
{
    MPI_Aint bytes = external_bytes(type, count), place = 0;
    char *packed = take((size_t)bytes), *elements = room(type, count);
    for (MPI_Aint at = 0; at < bytes; at++)
        packed[at] = (char)(seed * 59 + at * 7 + at / 251 + 1);
    MUST(MPI_Unpack_external("external32", packed, bytes, &place, elements, count, type));
    free(packed);
    return elements;
}

/* `elements` must be those of `seed`, number by number. */
static void check_elements(int line, const char *what, const void *elements, MPI_Datatype type, int count, int seed)
{
    char *wanted = elements_of(type, count, seed);
    char *expected = external_of(wanted, type, count), *found = external_of(elements, type, count);
    MPI_Aint bytes = external_bytes(type, count), at = 0;
    while (at < bytes && expected[at] == found[at])
        at++;
    if (at < bytes) {
        char name[MPI_MAX_OBJECT_NAME] = "";
        int length;
        MUST(MPI_Type_get_name(type, name, &length));
        check_fail(__FILE__, line, "%s of %d %s: byte %ld of %ld is %02x, not %02x", what, count, name, (long)at,
                   (long)bytes, found[at] & 0xff, expected[at] & 0xff);
    }
    free(wanted);
    free(expected);
    free(found);
}

/* Whether data is "external32" on its way in a communicator: a long has 4 bytes then. */
static int is_external(MPI_Comm comm)
{
    int bytes;
    MUST(MPI_Pack_size(1, MPI_LONG, comm, &bytes));
    return bytes == 4;
}

#endif
