/* Random views and random accesses of all ranks against an array of bytes (MPI 5.0, sections 14.3 and
 * 14.4): what a rank writes is where its view says, whether alone or with the others, and no other byte
 * changes. */
#include "files.h"

enum { FILE_BYTES = 30000, TRIES = 10, PIECES = 6, DATA = 4000 };

static unsigned char expected[FILE_BYTES], actual[FILE_BYTES];
static unsigned state;

static unsigned pick(unsigned below)
{
    state = state * 1103515245u + 12345u;
    return (state >> 8) % below;
}

/* A view: pieces of bytes in a tile. */
struct view {
    int displacement, pieces, lengths[PIECES], places[PIECES], extent, size;
    MPI_Datatype type;
};

/* Tiles of one piece for each rank that do not overlap, or pieces of this rank alone. */
static void make_view(struct view *view, int apart, unsigned seed)
{
    state = seed;
    int unit = 1 + (int)pick(300);
    view->displacement = (int)pick(50);
    if (!apart) {
        /* Blocks in turn: the ranks interleave. */
        view->pieces = 1;
        view->lengths[0] = unit;
        view->places[0] = unit * check_rank;
        view->extent = unit * check_size;
    } else {
        int share = 600, at = 0;
        state = seed + 77 * (unsigned)check_rank;
        view->pieces = 1 + (int)pick(PIECES);
        for (int piece = 0; piece < view->pieces; piece++) {
            at += (int)pick(40);
            view->places[piece] = share * check_rank + at;
            view->lengths[piece] = 1 + (int)pick(50);
            at += view->lengths[piece];
        }
        view->extent = share * check_size;
    }
    view->size = 0;
    for (int piece = 0; piece < view->pieces; piece++)
        view->size += view->lengths[piece];
    MPI_Datatype pieces;
    MUST(MPI_Type_indexed(view->pieces, view->lengths, view->places, MPI_BYTE, &pieces));
    MUST(MPI_Type_create_resized(pieces, 0, view->extent, &view->type));
    MUST(MPI_Type_commit(&view->type));
    MUST(MPI_Type_free(&pieces));
}

static int offset_of(const struct view *view, int position)
{
    int tile = position / view->size, rest = position % view->size;
    for (int piece = 0;; piece++) {
        if (rest < view->lengths[piece])
            return view->displacement + tile * view->extent + view->places[piece] + rest;
        rest -= view->lengths[piece];
    }
}

/* The ways to move data. */
enum { ALONE, TOGETHER, REQUEST, REQUEST_TOGETHER, SPLIT, WAYS };

static void transfer(int way, MPI_File file, int writes, int at, void *data, int count,
                     MPI_Datatype type, MPI_Status *status)
{
    MPI_Request request;
    switch (way) {
    case ALONE:
        MUST(writes ? MPI_File_write_at(file, at, data, count, type, status)
                    : MPI_File_read_at(file, at, data, count, type, status));
        return;
    case TOGETHER:
        MUST(writes ? MPI_File_write_at_all(file, at, data, count, type, status)
                    : MPI_File_read_at_all(file, at, data, count, type, status));
        return;
    case REQUEST:
        MUST(writes ? MPI_File_iwrite_at(file, at, data, count, type, &request)
                    : MPI_File_iread_at(file, at, data, count, type, &request));
        break;
    case REQUEST_TOGETHER:
        MUST(writes ? MPI_File_iwrite_at_all(file, at, data, count, type, &request)
                    : MPI_File_iread_at_all(file, at, data, count, type, &request));
        break;
    default:
        MUST(writes ? MPI_File_write_at_all_begin(file, at, data, count, type)
                    : MPI_File_read_at_all_begin(file, at, data, count, type));
        MUST(writes ? MPI_File_write_at_all_end(file, data, status)
                    : MPI_File_read_at_all_end(file, data, status));
        return;
    }
    MUST(MPI_Wait(&request, status));
}

/* What all ranks have written, on all of them. */
static void merge(unsigned char *mine, unsigned char *whose)
{
    static unsigned char bytes[FILE_BYTES], owners[FILE_BYTES];
    MUST(MPI_Allreduce(mine, bytes, FILE_BYTES, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
    MUST(MPI_Allreduce(whose, owners, FILE_BYTES, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
    for (int index = 0; index < FILE_BYTES; index++)
        if (owners[index])
            expected[index] = bytes[index];
}

static void try_views(const char *hint)
{
    static unsigned char mine[FILE_BYTES], whose[FILE_BYTES], data[2 * DATA], found[2 * DATA];
    MPI_Info info;
    MPI_Status status;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "romio_cb_write", hint));
    MUST(MPI_Info_set(info, "romio_cb_read", hint));
    MUST(MPI_Info_set(info, "cb_buffer_size", "4096"));
    MUST(MPI_Info_set(info, "cb_nodes", "2"));
    MPI_File file = open_new(info);
    MUST(MPI_File_set_size(file, FILE_BYTES));
    memset(expected, 0, sizeof expected);
    for (int round = 0; round < TRIES; round++) {
        struct view view;
        int way = round % WAYS, scattered = round % 3 == 1;
        make_view(&view, round % 2, 1000u + (unsigned)round);
        MUST(MPI_File_set_view(file, view.displacement, MPI_BYTE, view.type, "native", info));
        state = (unsigned)(round * 100 + check_rank);
        int at = (int)pick(300), len = (int)pick(1500);
        if (scattered)
            len = DATA / 2;
        memset(mine, 0, sizeof mine);
        memset(whose, 0, sizeof whose);
        while (len > 0 && offset_of(&view, at + len - 1) >= FILE_BYTES)
            len /= 2;
        for (int index = 0; index < 2 * DATA; index++)
            data[index] = (unsigned char)(1 + pick(255));
        MPI_Datatype memory = MPI_BYTE;
        int stride = 1;
        if (scattered) {
            MUST(MPI_Type_vector(len, 1, 2, MPI_BYTE, &memory));
            MUST(MPI_Type_commit(&memory));
            stride = 2;
        }
        for (int index = 0; index < len; index++) {
            mine[offset_of(&view, at + index)] = data[stride * index];
            whose[offset_of(&view, at + index)] = 1;
        }
        transfer(way, file, 1, at, data, scattered ? 1 : len, memory, &status);
        CHECK(bytes_of(&status) == len);
        merge(mine, whose);
        MUST(MPI_File_sync(file));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        memset(found, 0, sizeof found);
        transfer((way + 1) % WAYS, file, 0, at, found, scattered ? 1 : len, memory, &status);
        CHECK(bytes_of(&status) == len);
        for (int index = 0; index < len; index++)
            CHECK(found[stride * index] == data[stride * index]);
        if (scattered)
            MUST(MPI_Type_free(&memory));
        MUST(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
        MUST(MPI_File_read_at(file, 0, actual, FILE_BYTES, MPI_BYTE, &status));
        CHECK(bytes_of(&status) == FILE_BYTES);
        CHECK(memcmp(actual, expected, FILE_BYTES) == 0);
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        MUST(MPI_Type_free(&view.type));
    }
    MUST(MPI_Info_free(&info));
    MUST(MPI_File_close(&file));
}

/* Positions, and views that are told again. */
static void told(void)
{
    struct view view;
    MPI_File file = open_new(MPI_INFO_NULL);
    MPI_Datatype etype, filetype, pair;
    MPI_Offset at = -1;
    char name[MPI_MAX_DATAREP_STRING] = "";
    int integers, addresses, types, combiner;
    MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
    MUST(MPI_Type_commit(&pair));
    MUST(MPI_File_get_view(file, &at, &etype, &filetype, name));
    CHECK(at == 0 && etype == MPI_BYTE && filetype == MPI_BYTE && strcmp(name, "native") == 0);
    MUST(MPI_File_set_view(file, 40, MPI_INT, pair, "native", MPI_INFO_NULL));
    MUST(MPI_File_get_view(file, &at, &etype, &filetype, name));
    CHECK(at == 40 && etype == MPI_INT);
    MUST(MPI_Type_get_envelope(filetype, &integers, &addresses, &types, &combiner));
    CHECK(combiner == MPI_COMBINER_DUP || combiner == MPI_COMBINER_CONTIGUOUS);
    MUST(MPI_Type_free(&filetype));
    MUST(MPI_File_get_byte_offset(file, 3, &at));
    CHECK(at == 52);
    MPI_Aint extent = -1;
    MUST(MPI_File_get_type_extent(file, pair, &extent));
    CHECK(extent == 8);
    MUST(MPI_File_seek(file, 5, MPI_SEEK_SET));
    make_view(&view, 1, 5);
    MUST(MPI_File_set_view(file, view.displacement, MPI_BYTE, view.type, "internal",
                           MPI_INFO_NULL));
    MUST(MPI_File_get_position(file, &at));
    CHECK(at == 0);
    for (int position = 0; position < 200; position++) {
        MUST(MPI_File_get_byte_offset(file, position, &at));
        CHECK(at == offset_of(&view, position));
    }
    MUST_FAIL(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "nobody's", MPI_INFO_NULL),
              MPI_ERR_UNSUPPORTED_DATAREP);
    MUST_FAIL(MPI_File_set_view(file, -2, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL),
              MPI_ERR_ARG);
    MUST_FAIL(MPI_File_set_view(file, 0, MPI_INT, MPI_BYTE, "native", MPI_INFO_NULL),
              MPI_ERR_IO);
    if (check_size > 1)
        MUST_FAIL(MPI_File_set_view(file, 0, check_rank ? MPI_INT : MPI_BYTE,
                                    check_rank ? MPI_INT : MPI_BYTE, "native", MPI_INFO_NULL),
                  MPI_ERR_NOT_SAME);
    MUST(MPI_Type_free(&view.type));
    MUST(MPI_Type_free(&pair));
    MUST(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    name_file("views");
    section("views that are told");
    told();
    section("random views, each rank alone");
    try_views("disable");
    section("random views, in two phases");
    try_views("enable");
    section("random views, as it pays");
    try_views("automatic");
    return check_end();
}
