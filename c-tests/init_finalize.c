/* The life of the library: the calls allowed before, during and after; the callbacks of
 * MPI_COMM_SELF's attributes come first in MPI_Finalize, the last set first, and may still use
 * MPI (MPI 5.0, section 11.2.4). */
#include "check.h"

static int deleted;

static void expect_state(int initialized, int finalized)
{
    int flag = -1;
    MUST(MPI_Initialized(&flag));
    CHECK_EQUAL(flag != 0, initialized);
    flag = -1;
    MUST(MPI_Finalized(&flag));
    CHECK_EQUAL(flag != 0, finalized);
}

/* What may be called at any time (section 11.4.1). */
static void versions(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int version = 0, subversion = -1, length = 0;
    MUST(MPI_Get_version(&version, &subversion));
    CHECK(version >= 5 || (version == 4 && subversion >= 1));
    MUST(MPI_Get_library_version(text, &length));
    CHECK(length > 0 && (size_t)length == strlen(text));
    MUST(MPI_Abi_get_version(&version, &subversion));
    CHECK_EQUAL(version, MPI_ABI_VERSION);
    CHECK_EQUAL(subversion, MPI_ABI_SUBVERSION);
}

/* Called in MPI_Finalize; the three attributes were set in the order 1, 2, 3. */
static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int size = 0, got = -1, mine = check_rank;
    MPI_Request request;
    (void)keyval;
    CHECK_EQUAL((intptr_t)value, 3 - deleted);
    CHECK_EQUAL((intptr_t)extra, 40);
    deleted++;
    expect_state(1, 0);
    MUST(MPI_Comm_size(comm, &size));
    CHECK_EQUAL(size, 1);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MUST(MPI_Irecv(&got, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(&mine, 1, MPI_INT, right, 5, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQUAL(got, left);
    section("  attribute %d", (int)(intptr_t)value);
    return MPI_SUCCESS;
}

static void set_attributes(void)
{
    for (intptr_t index = 1; index <= 3; index++) {
        int keyval = MPI_KEYVAL_INVALID;
        MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, (void *)40));
        MUST(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, (void *)index));
        MUST(MPI_Comm_free_keyval(&keyval));
    }
}

/* A message and a buffered one are still on their way to the neighbour. */
static void leave_messages_behind(char *buffer, int room)
{
    MPI_Request request;
    static int big[100000];
    int right = (check_rank + 1) % check_size;
    MUST(MPI_Buffer_attach(buffer, room));
    MUST(MPI_Bsend(&check_rank, 1, MPI_INT, right, 6, MPI_COMM_WORLD));
    MUST(MPI_Irecv(big, 100000, MPI_INT, (check_rank + check_size - 1) % check_size, 7,
                   MPI_COMM_WORLD, &request));
    MPI_Request send;
    MUST(MPI_Isend(big + 50000, 50000, MPI_INT, right, 7, MPI_COMM_WORLD, &send));
    MUST(MPI_Request_free(&send));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    int got = -1, left = (check_rank + check_size - 1) % check_size;
    MUST(MPI_Recv(&got, 1, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQUAL(got, left);
}

int main(int argc, char **argv)
{
    static char buffer[1000 + MPI_BSEND_OVERHEAD];
    int flag = 0, provided = -1, size = 0;
    expect_state(0, 0);
    versions();
    check_start(&argc, &argv);
    section("initialized");
    expect_state(1, 0);
    versions();
    MUST(MPI_Query_thread(&provided));
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    MUST(MPI_Is_thread_main(&flag));
    CHECK(flag);
    MUST(MPI_Comm_size(MPI_COMM_SELF, &size));
    CHECK_EQUAL(size, 1);
    leave_messages_behind(buffer, sizeof buffer);
    int total = check_total();
    set_attributes();
    MUST(MPI_Comm_free(&check_comm));
    section("finalize");
    int before = check_errors;
    if (MPI_Finalize() != MPI_SUCCESS || deleted != 3)
        check_fail(__FILE__, __LINE__, "finalize, with %d attributes deleted", deleted);
    section("finalized");
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || !finalized)
        check_fail(__FILE__, __LINE__, "after finalize: %d %d", initialized, finalized);
    versions();
    return check_verdict(total + check_errors - before) + (check_errors != 0);
}
