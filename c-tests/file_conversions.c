/* Data representations of the application in calls of every kind (MPI 5.0, section 14.5.3): each writes and reads what
 * the blocking calls do, and functions are called on threads of the application only. */
#include "files.h"

#include <pthread.h>

enum { COUNT = 5, PLACES = COUNT + 1 };

static pthread_t main_thread;
static int reads, writes, fails_from = -1;

/* A representation with every int in two bytes, the more significant one first. */
static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *extra_state)
{
    int size = 0;
    (void)extra_state;
    PMPI_Type_size(type, &size);
    *extent = type == MPI_INT ? 2 : size;
    return MPI_SUCCESS;
}

static int fails(MPI_Datatype type, int *calls, void *extra_state)
{
    CHECK(extra_state == &reads);
    CHECK(pthread_equal(pthread_self(), main_thread));
    int size = 0;
    MUST(PMPI_Type_size(type, &size));
    CHECK(size == (int)sizeof(int));
    (*calls)++;
    return fails_from >= 0 && check_rank >= fails_from;
}

static int shorten(void *userbuf, MPI_Datatype type, int count, void *filebuf, MPI_Offset position,
                   void *extra_state)
{
    unsigned char *bytes = filebuf;
    (void)position;
    if (fails(type, &writes, extra_state))
        return MPI_ERR_CONVERSION;
    for (int index = 0; index < count; index++) {
        int value = ((int *)userbuf)[index];
        bytes[2 * index] = (unsigned char)(value >> 8);
        bytes[2 * index + 1] = (unsigned char)value;
    }
    return MPI_SUCCESS;
}

static int lengthen(void *userbuf, MPI_Datatype type, int count, void *filebuf,
                    MPI_Offset position, void *extra_state)
{
    const unsigned char *bytes = filebuf;
    (void)position;
    if (fails(type, &reads, extra_state))
        return MPI_ERR_CONVERSION;
    for (int index = 0; index < count; index++)
        ((int *)userbuf)[index] = bytes[2 * index] << 8 | bytes[2 * index + 1];
    return MPI_SUCCESS;
}

/* How a call is made. */
enum form { BLOCKING, NONBLOCKING, SPLIT };
enum place { AT, INDIVIDUAL, SHARED, AT_ALL, ALL, ORDERED, END };

static const char *const PLACE_NAMES[] = {"at", "individual", "shared", "at_all", "all", "ordered"};

static int exists(enum form form, enum place place)
{
    return form == BLOCKING || (form == SPLIT ? place >= AT_ALL : place != ORDERED);
}

/* A request that is completed by a test, by a wait for all or for some, after a look at it. */
static void complete(MPI_Request *request, MPI_Status *status)
{
    static int turn;
    int is_done = 0, index = -1;
    switch (turn++ % 4) {
    case 0:
        MUST(MPI_Wait(request, status));
        break;
    case 1:
        while (!is_done)
            MUST(MPI_Test(request, &is_done, status));
        break;
    case 2:
        MUST(MPI_Waitsome(1, request, &is_done, &index, status));
        CHECK(is_done == 1 && index == 0);
        break;
    default:
        while (!is_done)
            MUST(MPI_Request_get_status(*request, &is_done, MPI_STATUS_IGNORE));
        MUST(MPI_Waitall(1, request, status));
    }
    CHECK(*request == MPI_REQUEST_NULL);
}

static void write_by(MPI_File file, enum form form, enum place place, const int *from,
                     MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Offset at = 1;
    if (form == BLOCKING)
        switch (place) {
        case AT: MUST(MPI_File_write_at(file, at, from, COUNT, MPI_INT, status)); return;
        case AT_ALL: MUST(MPI_File_write_at_all(file, at, from, COUNT, MPI_INT, status)); return;
        case INDIVIDUAL: MUST(MPI_File_write(file, from, COUNT, MPI_INT, status)); return;
        case ALL: MUST(MPI_File_write_all(file, from, COUNT, MPI_INT, status)); return;
        case SHARED: MUST(MPI_File_write_shared(file, from, COUNT, MPI_INT, status)); return;
        default: MUST(MPI_File_write_ordered(file, from, COUNT, MPI_INT, status)); return;
        }
    if (form == SPLIT)
        switch (place) {
        case AT_ALL:
            MUST(MPI_File_write_at_all_begin(file, at, from, COUNT, MPI_INT));
            MUST(MPI_File_write_at_all_end(file, from, status));
            return;
        case ALL:
            MUST(MPI_File_write_all_begin(file, from, COUNT, MPI_INT));
            MUST(MPI_File_write_all_end(file, from, status));
            return;
        default:
            MUST(MPI_File_write_ordered_begin(file, from, COUNT, MPI_INT));
            MUST(MPI_File_write_ordered_end(file, from, status));
            return;
        }
    switch (place) {
    case AT: MUST(MPI_File_iwrite_at(file, at, from, COUNT, MPI_INT, &request)); break;
    case AT_ALL: MUST(MPI_File_iwrite_at_all(file, at, from, COUNT, MPI_INT, &request)); break;
    case INDIVIDUAL: MUST(MPI_File_iwrite(file, from, COUNT, MPI_INT, &request)); break;
    case ALL: MUST(MPI_File_iwrite_all(file, from, COUNT, MPI_INT, &request)); break;
    default: MUST(MPI_File_iwrite_shared(file, from, COUNT, MPI_INT, &request)); break;
    }
    complete(&request, status);
}

static void read_by(MPI_File file, enum form form, enum place place, int *into, MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Offset at = 1;
    if (form == BLOCKING)
        switch (place) {
        case AT: MUST(MPI_File_read_at(file, at, into, COUNT, MPI_INT, status)); return;
        case AT_ALL: MUST(MPI_File_read_at_all(file, at, into, COUNT, MPI_INT, status)); return;
        case INDIVIDUAL: MUST(MPI_File_read(file, into, COUNT, MPI_INT, status)); return;
        case ALL: MUST(MPI_File_read_all(file, into, COUNT, MPI_INT, status)); return;
        case SHARED: MUST(MPI_File_read_shared(file, into, COUNT, MPI_INT, status)); return;
        default: MUST(MPI_File_read_ordered(file, into, COUNT, MPI_INT, status)); return;
        }
    if (form == SPLIT)
        switch (place) {
        case AT_ALL:
            MUST(MPI_File_read_at_all_begin(file, at, into, COUNT, MPI_INT));
            MUST(MPI_File_read_at_all_end(file, into, status));
            return;
        case ALL:
            MUST(MPI_File_read_all_begin(file, into, COUNT, MPI_INT));
            MUST(MPI_File_read_all_end(file, into, status));
            return;
        default:
            MUST(MPI_File_read_ordered_begin(file, into, COUNT, MPI_INT));
            MUST(MPI_File_read_ordered_end(file, into, status));
            return;
        }
    switch (place) {
    case AT: MUST(MPI_File_iread_at(file, at, into, COUNT, MPI_INT, &request)); break;
    case AT_ALL: MUST(MPI_File_iread_at_all(file, at, into, COUNT, MPI_INT, &request)); break;
    case INDIVIDUAL: MUST(MPI_File_iread(file, into, COUNT, MPI_INT, &request)); break;
    case ALL: MUST(MPI_File_iread_all(file, into, COUNT, MPI_INT, &request)); break;
    default: MUST(MPI_File_iread_shared(file, into, COUNT, MPI_INT, &request)); break;
    }
    complete(&request, status);
}

static int ints_of(MPI_Status *status)
{
    int count = -1;
    MUST(MPI_Get_count(status, MPI_INT, &count));
    return count;
}

/* All ranks have written, and the pointers are at the begin again. */
static void rewind_all(MPI_File file)
{
    MUST(MPI_File_sync(file));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_seek(file, 0, MPI_SEEK_SET));
    MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
}

/* What a call has written is what the blocking one writes, byte for byte, and each form reads it. */
static void forms(MPI_File file, enum place place, MPI_Datatype filetype)
{
    unsigned char bytes[2][1024];
    int numbers[COUNT], found[COUNT + 1];
    MPI_Status status;
    int shares = place == SHARED || place == ORDERED;
    MPI_Offset from = shares ? 0 : (MPI_Offset)check_rank * (filetype == MPI_INT ? 64 : 2);
    for (int index = 0; index < COUNT; index++)
        /* Which rank is first at the shared pointer is not known. */
        numbers[index] = place == SHARED ? index : 1000 * check_rank + 256 * index + 3;
    for (enum form form = BLOCKING; form <= SPLIT; form++) {
        if (!exists(form, place))
            continue;
        section("%s, form %d", PLACE_NAMES[place], form);
        MUST(MPI_File_set_size(file, 0));
        MUST(MPI_File_set_view(file, from, MPI_INT, shares ? MPI_INT : filetype, "halves",
                               MPI_INFO_NULL));
        rewind_all(file);
        reads = writes = 0;
        write_by(file, form, place, numbers, &status);
        CHECK(ints_of(&status) == COUNT && writes == 1 && reads == 0);
        rewind_all(file);
        for (enum form reading = BLOCKING; reading <= SPLIT; reading++) {
            if (!exists(reading, place))
                continue;
            rewind_all(file);
            memset(found, 0x55, sizeof found);
            reads = 0;
            read_by(file, reading, place, found, &status);
            CHECK(ints_of(&status) == COUNT && reads == 1);
            for (int index = 0; index < COUNT; index++)
                CHECK(found[index] == numbers[index]);
            CHECK(found[COUNT] == 0x55555555);
        }
        MUST(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
        memset(bytes[form > BLOCKING], 0x55, sizeof *bytes);
        MUST(MPI_File_read_at_all(file, 0, bytes[form > BLOCKING], sizeof *bytes, MPI_BYTE,
                                  MPI_STATUS_IGNORE));
        CHECK(form == BLOCKING || memcmp(bytes[0], bytes[1], sizeof *bytes) == 0);
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
}

/* Several at a time; a read at the end of the file; a datatype that is freed before the read is complete; a request
 * that is freed. */
static void in_progress(MPI_File file)
{
    int numbers[PLACES][COUNT], found[PLACES][COUNT], few[COUNT] = {7, 7, 7, 7, 7};
    MPI_Request requests[PLACES];
    MPI_Status statuses[PLACES];
    MPI_Datatype own;
    section("several at a time");
    MUST(MPI_File_set_size(file, 0));
    MUST(MPI_File_set_view(file, (MPI_Offset)check_rank * 256, MPI_INT, MPI_INT, "halves",
                           MPI_INFO_NULL));
    for (int place = 0; place < PLACES; place++) {
        for (int index = 0; index < COUNT; index++)
            numbers[place][index] = 100 * check_rank + 10 * place + index;
        MUST(MPI_File_iwrite_at(file, place * COUNT, numbers[place], COUNT, MPI_INT,
                                &requests[place]));
        /* Converted already. */
        memset(numbers[place], 0, sizeof numbers[place]);
    }
    MUST(MPI_Waitall(PLACES, requests, statuses));
    MUST(MPI_Type_contiguous(1, MPI_INT, &own));
    MUST(MPI_Type_commit(&own));
    reads = 0;
    for (int place = 0; place < PLACES; place++)
        MUST(MPI_File_iread_at_all(file, place * COUNT, found[place], COUNT,
                                   place % 2 ? own : MPI_INT, &requests[place]));
    MUST(MPI_Type_free(&own));
    MUST(MPI_Waitall(PLACES, requests, statuses));
    CHECK(reads == PLACES);
    for (int place = 0; place < PLACES; place++)
        for (int index = 0; index < COUNT; index++)
            CHECK(found[place][index] == 100 * check_rank + 10 * place + index);

    section("the end of the file");
    MUST(MPI_File_sync(file));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_set_size(file, 5));
    MUST(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "halves", MPI_INFO_NULL));
    reads = 0;
    MUST(MPI_File_iread_at(file, 0, few, COUNT, MPI_INT, &requests[0]));
    MUST(MPI_Wait(&requests[0], &statuses[0]));
    CHECK(ints_of(&statuses[0]) == 2 && reads == 1);
    CHECK(few[0] == 0 && few[1] == 1 && few[2] == 7);
    MUST(MPI_File_iread_at(file, COUNT, few, COUNT, MPI_INT, &requests[0]));
    MUST(MPI_Wait(&requests[0], &statuses[0]));
    CHECK(ints_of(&statuses[0]) == 0 && reads == 1);

    section("a request that is freed");
    MUST(MPI_File_iread_at(file, 0, few, 1, MPI_INT, &requests[0]));
    MUST(MPI_Request_free(&requests[0]));
}

/* An error of a function is one of its call, and others of a collective write hear of it. */
static void errors(void)
{
    int numbers[COUNT] = {1, 2, 3, 4, 5};
    MPI_Request request;
    MPI_File file = open_new(MPI_INFO_NULL);
    MUST(MPI_File_set_view(file, (MPI_Offset)check_rank * 64, MPI_INT, MPI_INT, "halves",
                           MPI_INFO_NULL));
    MUST(MPI_File_write_at_all(file, 0, numbers, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    section("a function of the last rank fails in collective writes");
    fails_from = check_size - 1;
    int is_last = check_rank == fails_from;
    MUST_FAIL(MPI_File_write_at_all(file, 0, numbers, COUNT, MPI_INT, MPI_STATUS_IGNORE),
              MPI_ERR_CONVERSION);
    MUST_FAIL(MPI_File_write_ordered(file, numbers, COUNT, MPI_INT, MPI_STATUS_IGNORE),
              MPI_ERR_CONVERSION);
    if (is_last) {
        MUST_FAIL(MPI_File_iwrite_at_all(file, 0, numbers, COUNT, MPI_INT, &request),
                  MPI_ERR_CONVERSION);
    } else {
        MUST(MPI_File_iwrite_at_all(file, 0, numbers, COUNT, MPI_INT, &request));
        MUST_FAIL(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
    }
    section("it fails in reads");
    if (is_last) {
        MUST_FAIL(MPI_File_read_at_all(file, 0, numbers, COUNT, MPI_INT, MPI_STATUS_IGNORE),
                  MPI_ERR_CONVERSION);
        MUST(MPI_File_iread_at_all(file, 0, numbers, COUNT, MPI_INT, &request));
        MUST_FAIL(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
        MUST(MPI_File_read_at_all_begin(file, 0, numbers, COUNT, MPI_INT));
        MUST_FAIL(MPI_File_read_at_all_end(file, numbers, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
    } else {
        MUST(MPI_File_read_at_all(file, 0, numbers, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        MUST(MPI_File_iread_at_all(file, 0, numbers, COUNT, MPI_INT, &request));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        MUST(MPI_File_read_at_all_begin(file, 0, numbers, COUNT, MPI_INT));
        MUST(MPI_File_read_at_all_end(file, numbers, MPI_STATUS_IGNORE));
    }
    fails_from = -1;
    MUST(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    MPI_Datatype turns;
    MPI_Info info;
    check_start(&argc, &argv);
    main_thread = pthread_self();
    name_file("conversions");
    MUST(MPI_Register_datarep("halves", lengthen, shorten, extent_of, &reads));
    MUST(MPI_Type_vector(COUNT + 1, 1, check_size, MPI_INT, &turns));
    MUST(MPI_Type_commit(&turns));
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "romio_cb_write", "enable"));
    MUST(MPI_Info_set(info, "romio_cb_read", "enable"));
    for (int by_aggregators = 0; by_aggregators < 2; by_aggregators++) {
        MPI_File file = open_new(by_aggregators ? info : MPI_INFO_NULL);
        for (enum place place = AT; place < END; place++)
            forms(file, place, place == AT_ALL || place == ALL ? turns : MPI_INT);
        in_progress(file);
        MUST(MPI_File_close(&file));
    }
    MUST(MPI_Info_free(&info));
    MUST(MPI_Type_free(&turns));
    errors();
    return check_end();
}
