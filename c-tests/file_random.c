/* Random programs of access to a file against an array of bytes.
 *
 *   file_random [FIRST_SEED [PROGRAMS]]
 *
 * A seed makes a program: a file with hints, and phases in which each rank sets a view and makes accesses
 * of one kind. Every rank computes the program of all ranks on a model of the file, and executes its own
 * part. Bytes that an access of the phase has written are written by no other one, so the result does not
 * depend on the order of ranks. After each phase the file, as the system reads it, equals the model. A
 * failure tells the seed. */
#include "files.h"

#include <fcntl.h>

enum kind { WRITE_ALONE, WRITE_ALL, READ_ALONE, READ_ALL, WRITE_ORDERED, READ_ORDERED, WRITE_SHARED, RESIZE, KINDS };
enum call { AT, POINTER, START_AT, START_POINTER, SPLIT_AT, SPLIT_POINTER, CALLS };
enum { BLOCKS = 4, PHASES = 6, ACCESSES = 3, TILES = 24 };

struct view {
    long disp, extent, bytes; /* of a tile: in the file, of data */
    int unit, count;
    long start[BLOCKS], length[BLOCKS];
};

struct access {
    enum call call;
    int scattered;
    long at, count; /* in elements of the view */
    unsigned char *memory;
    MPI_Request request;
    MPI_Status status;
};

/* The program in progress. */
static uint64_t state, seed;
static MPI_File file;
static long capacity, size;
static unsigned char *model, *written; /* by this phase */

/* The phase in progress. */
static int phase;
static enum kind kind;
static struct view *views; /* of all ranks */

static long draws(long limit)
{
    return (long)draw(&state, (unsigned)limit);
}

static void wrong(const char *what)
{
    check_fail(__FILE__, __LINE__, "seed %llu, phase %d, kind %d: %s", (unsigned long long)seed,
               phase, kind, what);
}

static int writes(void)
{
    return kind == WRITE_ALONE || kind == WRITE_ALL || kind == WRITE_ORDERED || kind == WRITE_SHARED;
}

static int shares(void)
{
    return kind == WRITE_ORDERED || kind == READ_ORDERED || kind == WRITE_SHARED;
}

static int is_collective(void)
{
    return kind == WRITE_ALL || kind == READ_ALL;
}

/* What a rank writes in its access of this number. */
static unsigned char letter(int rank, int number, long index)
{
    return (unsigned char)(seed * 31 + (uint64_t)phase * 57 + (uint64_t)rank * 101 + (uint64_t)number * 23
                           + (uint64_t)index * 7 + (uint64_t)index / 251 + 1);
}

/* ---- views ---- */

/* Elements of all ranks have one size. */
static struct view draw_view(long scale, int unit)
{
    struct view view = {.disp = draws(50), .unit = unit, .count = 1 + (int)draws(BLOCKS)};
    long end = 0;
    for (int block = 0; block < view.count; block++) {
        view.start[block] = end + draws(4) * view.unit * (draws(3) ? 1 : scale);
        view.length[block] = (1 + draws(6)) * view.unit * scale;
        end = view.start[block] + view.length[block];
        view.bytes += view.length[block];
    }
    view.extent = end + draws(4) * view.unit;
    return view;
}

/* Blocks of all ranks in turn. */
static void draw_turns(long scale)
{
    long length = (1 + draws(6)) * 4 * scale, disp = draws(50);
    for (int rank = 0; rank < check_size; rank++) {
        struct view view = {.disp = disp + rank * length, .extent = length * check_size, .bytes = length};
        view.unit = 4;
        view.count = 1;
        view.length[0] = length;
        views[rank] = view;
    }
}

/* Where a byte of the view is in the file. */
static long place(const struct view *view, long byte)
{
    long left = byte % view->bytes;
    int block = 0;
    while (left >= view->length[block])
        left -= view->length[block++];
    return view->disp + byte / view->bytes * view->extent + view->start[block] + left;
}

static MPI_Datatype element_of(const struct view *view)
{
    return view->unit == 1 ? MPI_BYTE : view->unit == 2 ? MPI_INT16_T : MPI_INT32_T;
}

static void set_view(const struct view *view)
{
    MPI_Datatype element = element_of(view);
    MPI_Datatype blocks, tile;
    int lengths[BLOCKS];
    MPI_Aint starts[BLOCKS];
    for (int block = 0; block < view->count; block++) {
        lengths[block] = (int)(view->length[block] / view->unit);
        starts[block] = view->start[block];
    }
    MUST(MPI_Type_create_hindexed(view->count, lengths, starts, element, &blocks));
    MUST(MPI_Type_create_resized(blocks, 0, view->extent, &tile));
    MUST(MPI_Type_commit(&tile));
    MUST(MPI_File_set_view(file, view->disp, element, tile, "native", MPI_INFO_NULL));
    MUST(MPI_Type_free(&blocks));
    MUST(MPI_Type_free(&tile));
}

/* ---- accesses ---- */

static struct access draw_access(const struct view *view)
{
    long tiles = (capacity - view->disp) / view->extent - 1;
    long all = tiles > 0 ? tiles * view->bytes / view->unit : 0;
    struct access access = {.call = (enum call)draws(CALLS), .scattered = draws(3) == 0};
    access.at = draws(all / 2 + 1);
    access.count = draws(draws(2) ? all - access.at + 1 : all / 8 + 1);
    access.request = MPI_REQUEST_NULL;
    return access;
}

/* The bytes of an access of a rank in the model; a write that meets another one becomes empty. */
static void model_write(int rank, int number, const struct view *view, struct access *access)
{
    long bytes = access->count * view->unit, from = access->at * view->unit;
    for (long byte = 0; byte < bytes; byte++)
        if (written[place(view, from + byte)])
            bytes = access->count = 0;
    for (long byte = 0; byte < bytes; byte++) {
        long at = place(view, from + byte);
        written[at] = 1;
        model[at] = letter(rank, number, byte);
        size = at >= size ? at + 1 : size;
    }
}

/* Where a byte of data is in memory. */
static long in_memory(const struct view *view, const struct access *access, long byte)
{
    return access->scattered ? byte / view->unit * 2 * view->unit + byte % view->unit : byte;
}

static void prepare(int number, const struct view *view, struct access *access)
{
    long bytes = access->count * view->unit;
    access->memory = take((size_t)(2 * bytes + 1));
    memset(access->memory, 0xa5, (size_t)(2 * bytes + 1));
    for (long byte = 0; writes() && byte < bytes; byte++)
        access->memory[in_memory(view, access, byte)] = letter(check_rank, number, byte);
}

/* A read has the bytes of the model up to the end of the file; memory between elements is as it was. */
static void finish(const struct view *view, struct access *access)
{
    long bytes = access->count * view->unit, due = bytes, from = access->at * view->unit;
    if (access->request != MPI_REQUEST_NULL)
        MUST(MPI_Wait(&access->request, &access->status));
    if (!writes())
        for (due = 0; due < bytes && place(view, from + due) < size;)
            due++;
    if (bytes_of(&access->status) != due)
        wrong("a count");
    for (long byte = 0; !writes() && byte < due; byte++) {
        if (access->memory[in_memory(view, access, byte)] != model[place(view, from + byte)]) {
            wrong("data");
            break;
        }
    }
    for (long gap = 0; access->scattered && gap < bytes; gap++) {
        if (access->memory[in_memory(view, access, gap) + view->unit] != 0xa5) {
            wrong("memory between elements");
            break;
        }
    }
    free(access->memory);
}

static void start(const struct view *view, struct access *a)
{
    MPI_Datatype element = element_of(view);
    MPI_Datatype type = element;
    int count = (int)a->count, by_pointer = a->call == POINTER || a->call == START_POINTER
                                             || a->call == SPLIT_POINTER;
    void *memory = a->memory;
    if (a->scattered) {
        MUST(MPI_Type_vector(count, 1, 2, element, &type));
        MUST(MPI_Type_commit(&type));
        count = 1;
    }
    if (by_pointer && !shares())
        MUST(MPI_File_seek(file, a->at, MPI_SEEK_SET));
    if (kind == WRITE_ORDERED) {
        MUST(MPI_File_write_ordered(file, memory, count, type, &a->status));
    } else if (kind == READ_ORDERED) {
        MUST(MPI_File_read_ordered(file, memory, count, type, &a->status));
    } else if (kind == WRITE_SHARED) {
        MUST(MPI_File_write_shared(file, memory, count, type, &a->status));
    } else if (kind == WRITE_ALL) {
        switch (a->call) {
        case AT: MUST(MPI_File_write_at_all(file, a->at, memory, count, type, &a->status)); break;
        case POINTER: MUST(MPI_File_write_all(file, memory, count, type, &a->status)); break;
        case START_AT: MUST(MPI_File_iwrite_at_all(file, a->at, memory, count, type, &a->request)); break;
        case START_POINTER: MUST(MPI_File_iwrite_all(file, memory, count, type, &a->request)); break;
        case SPLIT_AT:
            MUST(MPI_File_write_at_all_begin(file, a->at, memory, count, type));
            MUST(MPI_File_write_at_all_end(file, memory, &a->status));
            break;
        default:
            MUST(MPI_File_write_all_begin(file, memory, count, type));
            MUST(MPI_File_write_all_end(file, memory, &a->status));
        }
    } else if (kind == READ_ALL) {
        switch (a->call) {
        case AT: MUST(MPI_File_read_at_all(file, a->at, memory, count, type, &a->status)); break;
        case POINTER: MUST(MPI_File_read_all(file, memory, count, type, &a->status)); break;
        case START_AT: MUST(MPI_File_iread_at_all(file, a->at, memory, count, type, &a->request)); break;
        case START_POINTER: MUST(MPI_File_iread_all(file, memory, count, type, &a->request)); break;
        case SPLIT_AT:
            MUST(MPI_File_read_at_all_begin(file, a->at, memory, count, type));
            MUST(MPI_File_read_at_all_end(file, memory, &a->status));
            break;
        default:
            MUST(MPI_File_read_all_begin(file, memory, count, type));
            MUST(MPI_File_read_all_end(file, memory, &a->status));
        }
    } else if (kind == WRITE_ALONE) {
        switch (a->call) {
        case AT:
        case SPLIT_AT: MUST(MPI_File_write_at(file, a->at, memory, count, type, &a->status)); break;
        case START_AT: MUST(MPI_File_iwrite_at(file, a->at, memory, count, type, &a->request)); break;
        case START_POINTER: MUST(MPI_File_iwrite(file, memory, count, type, &a->request)); break;
        default: MUST(MPI_File_write(file, memory, count, type, &a->status));
        }
    } else {
        switch (a->call) {
        case AT:
        case SPLIT_AT: MUST(MPI_File_read_at(file, a->at, memory, count, type, &a->status)); break;
        case START_AT: MUST(MPI_File_iread_at(file, a->at, memory, count, type, &a->request)); break;
        case START_POINTER: MUST(MPI_File_iread(file, memory, count, type, &a->request)); break;
        default: MUST(MPI_File_read(file, memory, count, type, &a->status));
        }
    }
    if (type != element)
        MUST(MPI_Type_free(&type));
}

/* ---- phases ---- */

/* Each rank makes accesses of its own, or one with all others. */
static void access_by_offset(void)
{
    struct access own[ACCESSES];
    int count = is_collective() ? 1 + (int)draws(2) : ACCESSES;
    for (int number = 0; number < count; number++) {
        enum call call = (enum call)draws(CALLS);
        for (int rank = 0; rank < check_size; rank++) {
            struct access access = draw_access(&views[rank]);
            if (is_collective())
                access.call = call;
            if (writes())
                model_write(rank, number, &views[rank], &access);
            if (rank == check_rank)
                own[number] = access;
        }
    }
    for (int number = 0; number < count; number++) {
        prepare(number, &views[check_rank], &own[number]);
        start(&views[check_rank], &own[number]);
    }
    for (int number = 0; number < count; number++)
        finish(&views[check_rank], &own[number]);
}

/* All ranks at the shared pointer, in their order. */
static void access_in_order(void)
{
    const struct view *view = &views[0];
    struct access all = draw_access(view), own = all;
    long at = all.at;
    MUST(MPI_File_seek_shared(file, at, MPI_SEEK_SET));
    for (int rank = 0; rank < check_size; rank++) {
        struct access access = all;
        access.at = at;
        access.count = draws(all.count / check_size + 1);
        access.scattered = draws(3) == 0;
        at += access.count;
        if (writes())
            model_write(rank, 0, view, &access);
        if (rank == check_rank)
            own = access;
    }
    prepare(0, view, &own);
    start(view, &own);
    finish(view, &own);
}

/* What the system reads of the file; at rank 0. */
static unsigned char *contents(long *length)
{
    unsigned char *bytes = take((size_t)capacity + 1);
    int from = open(file_name, O_RDONLY);
    ssize_t part;
    *length = 0;
    while (from >= 0 && (part = read(from, bytes + *length, (size_t)(capacity + 1 - *length))) > 0)
        *length += part;
    close(from);
    return bytes;
}

/* Moves records of the ranks in the model to where they are in the file, once each; at rank 0. */
static void find_records(const struct view *view, long at, long count)
{
    long length, bytes = count * view->unit;
    unsigned char *found = contents(&length), *taken = take((size_t)(check_size * ACCESSES));
    memset(taken, 0, (size_t)(check_size * ACCESSES));
    for (int slot = 0; slot < check_size * ACCESSES; slot++) {
        long from = at * view->unit + slot * bytes, byte = 0;
        int record = -1;
        while (byte < bytes && ++record < check_size * ACCESSES) {
            for (byte = 0; byte < bytes && !taken[record]; byte++)
                if (found[place(view, from + byte)] != letter(record / ACCESSES, record % ACCESSES, byte))
                    break;
        }
        if (byte < bytes) {
            wrong("no record of a rank where one must be");
            break;
        }
        if (bytes > 0)
            taken[record] = 1;
        for (byte = 0; byte < bytes; byte++)
            model[place(view, from + byte)] = found[place(view, from + byte)];
    }
    free(taken);
    free(found);
}

/* Records of one length at the shared pointer, in any order. */
static void append(void)
{
    const struct view *view = &views[0];
    struct access all = draw_access(view);
    long at = all.at;
    MPI_Offset position = -1;
    all.count /= (long)check_size * ACCESSES;
    MUST(MPI_File_seek_shared(file, at, MPI_SEEK_SET));
    for (int number = 0; number < ACCESSES; number++) {
        struct access one = all;
        prepare(number, view, &one);
        start(view, &one);
        finish(view, &one);
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_get_position_shared(file, &position));
    if (position != at + all.count * check_size * ACCESSES)
        wrong("the shared pointer");
    all.count *= (long)check_size * ACCESSES;
    model_write(0, 0, view, &all);
    MUST(MPI_File_sync(file));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0)
        find_records(view, at, all.count / check_size / ACCESSES);
    MUST(MPI_Bcast(model, (int)capacity, MPI_BYTE, 0, MPI_COMM_WORLD));
}

static void resize(void)
{
    long wanted = draws(capacity);
    MUST(MPI_File_set_size(file, wanted));
    if (wanted < size)
        memset(model + wanted, 0, (size_t)(size - wanted));
    size = wanted;
}

static void compare(void)
{
    MPI_Offset told = -1;
    MUST(MPI_File_sync(file));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_get_size(file, &told));
    if (told != size)
        wrong("the size");
    if (check_rank == 0) {
        long length;
        unsigned char *found = contents(&length);
        if (length != size || memcmp(found, model, (size_t)size) != 0)
            wrong("the file");
        free(found);
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

static void one_phase(long scale)
{
    kind = (enum kind)draws(KINDS);
    memset(written, 0, (size_t)capacity);
    if (kind == RESIZE) {
        resize();
    } else {
        int in_turns = draws(2) && !shares();
        int unit = 1 << draws(3);
        struct view common = draw_view(scale, unit);
        for (int rank = 0; rank < check_size; rank++)
            views[rank] = shares() ? common : draw_view(scale, unit);
        if (in_turns)
            draw_turns(scale);
        set_view(&views[check_rank]);
        if (kind == WRITE_SHARED)
            append();
        else if (shares())
            access_in_order();
        else
            access_by_offset();
    }
    compare();
}

static MPI_Info draw_hints(void)
{
    static const char *const names[] = {"romio_cb_write", "romio_cb_read", "romio_ds_read"};
    static const char *const values[] = {"enable", "disable", "automatic"};
    static const char *const sizes[] = {"cb_buffer_size", "ind_rd_buffer_size", "ind_wr_buffer_size"};
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    for (int hint = 0; hint < 3; hint++) {
        char text[32];
        const char *value = values[draws(3)];
        if (draws(2))
            MUST(MPI_Info_set(info, names[hint], value));
        snprintf(text, sizeof text, "%ld", 512L << draws(8));
        if (draws(2))
            MUST(MPI_Info_set(info, sizes[hint], text));
    }
    if (draws(2)) {
        char text[32];
        snprintf(text, sizeof text, "%ld", 1 + draws(4));
        MUST(MPI_Info_set(info, "cb_nodes", text));
    }
    return info;
}

static void one_program(void)
{
    static const long scales[] = {1, 1, 1, 16, 16, 300};
    state = seed * 2654435761u + 12345;
    draws(2);
    long scale = scales[draws(6)];
    MPI_Info info = draw_hints();
    /* Some tiles of the longest view. */
    capacity = 100 + TILES * 4 * scale * check_size * 6;
    size = 0;
    model = take((size_t)capacity);
    written = take((size_t)capacity);
    memset(model, 0, (size_t)capacity);
    file = open_new(info);
    MUST(MPI_Info_free(&info));
    MUST(MPI_File_set_atomicity(file, draws(4) == 0));
    for (phase = 0; phase < PHASES; phase++)
        one_phase(scale);
    MUST(MPI_File_close(&file));
    free(model);
    free(written);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t programs = argc > 2 ? strtoull(argv[2], NULL, 0) : 10;
    views = take(sizeof *views * (size_t)check_size);
    name_file("random");
    for (seed = first; seed < first + programs; seed++)
        one_program();
    free(views);
    return check_end();
}
