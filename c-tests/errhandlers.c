/* Error handlers: the predefined ones, our own, which call MPI themselves; inheritance, freeing,
 * queries, explicit calls; the object whose handler is called. */
#include "check.h"

#include <stdarg.h>

static int called, last_class;
static MPI_Comm last_comm;

/* Asks and sends from inside the handler: no lock of the library may be held here. */
static void on_error(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0, size = 0, out = 5, in = 0;
    MPI_Request request;
    called++;
    last_comm = *comm;
    MUST(MPI_Error_class(*code, &last_class));
    MUST(MPI_Error_string(*code, text, &length));
    CHECK(length > 0 && (size_t)length == strlen(text));
    MUST(MPI_Comm_size(*comm, &size));
    MUST(MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
    MUST(MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQUAL(in, 5);
}

static void other_handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    called += 100;
}

/* The call fails, the handler ran once, on this communicator, and the code comes back (MPICH 5
 * returns MPI_SUCCESS after a handler of the program, so that part is strict). */
#define EXPECT_CALLED(call, class, comm)                                                         \
    do {                                                                                         \
        called = 0;                                                                              \
        int class_ = check_class(call);                                                          \
        CHECK_STRICTLY(class_ == (class));                                                       \
        CHECK_EQUAL(called, 1);                                                                  \
        CHECK_EQUAL(last_class, class);                                                          \
        CHECK(last_comm == (comm));                                                              \
    } while (0)

static void our_own(void)
{
    MPI_Errhandler handler;
    MPI_Comm comm;
    MPI_Request request;
    int value = 0;
    MUST(MPI_Comm_create_errhandler(on_error, &handler));
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_set_errhandler(comm, handler));
    EXPECT_CALLED(MPI_Send(&value, -1, MPI_INT, 0, 1, comm), MPI_ERR_COUNT, comm);
    EXPECT_CALLED(MPI_Recv(&value, 1, MPI_INT, check_size, 1, comm, MPI_STATUS_IGNORE),
                  MPI_ERR_RANK, comm);
    EXPECT_CALLED(MPI_Bcast(&value, 1, MPI_INT, -1, comm), MPI_ERR_ROOT, comm);
    called = 0;
    MUST(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
    CHECK_EQUAL(called, 1);
    CHECK_EQUAL(last_class, MPI_ERR_OTHER);
    called = 0;
    MUST(MPI_Irecv(&value, 0, MPI_INT, check_rank, 2, comm, &request));
    MUST(MPI_Send(&value, 1, MPI_INT, check_rank, 2, comm));
    int class = check_class(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_STRICTLY(class == MPI_ERR_TRUNCATE);
    CHECK_EQUAL(called, 1);
    CHECK_EQUAL(last_class, MPI_ERR_TRUNCATE);
    MUST(MPI_Errhandler_free(&handler));
    CHECK(handler == MPI_ERRHANDLER_NULL);
    EXPECT_CALLED(MPI_Send(&value, 1, MPI_INT, 0, -9, comm), MPI_ERR_TAG, comm);
    MUST(MPI_Comm_free(&comm));
}

/* A duplicate and a split inherit; changing the parent afterwards does not reach them. */
static void inherited(void)
{
    MPI_Errhandler handler, got;
    MPI_Comm parent, dup, split;
    int value = 0;
    MUST(MPI_Comm_create_errhandler(on_error, &handler));
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
    MUST(MPI_Comm_set_errhandler(parent, handler));
    MUST(MPI_Comm_dup(parent, &dup));
    MUST(MPI_Comm_split(parent, 0, 0, &split));
    MUST(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
    EXPECT_CALLED(MPI_Send(&value, -1, MPI_INT, 0, 1, dup), MPI_ERR_COUNT, dup);
    EXPECT_CALLED(MPI_Send(&value, -1, MPI_INT, 0, 1, split), MPI_ERR_COUNT, split);
    called = 0;
    CHECK_EQUAL(check_class(MPI_Send(&value, -1, MPI_INT, 0, 1, parent)), MPI_ERR_COUNT);
    CHECK_EQUAL(called, 0);
    MUST(MPI_Comm_get_errhandler(dup, &got));
    CHECK(got == handler);
    MUST(MPI_Errhandler_free(&got));
    MUST(MPI_Comm_get_errhandler(parent, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    MUST(MPI_Comm_free(&split));
    MUST(MPI_Comm_free(&dup));
    MUST(MPI_Comm_free(&parent));
    MUST(MPI_Errhandler_free(&handler));
}

/* The last handler set is the one that counts, even with several errors in between. */
static void replaced(void)
{
    MPI_Errhandler first, second;
    MPI_Comm comm;
    int value = 0;
    MUST(MPI_Comm_create_errhandler(on_error, &first));
    MUST(MPI_Comm_create_errhandler(other_handler, &second));
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    for (int round = 0; round < 5; round++) {
        MUST(MPI_Comm_set_errhandler(comm, first));
        EXPECT_CALLED(MPI_Send(&value, -1, MPI_INT, 0, 1, comm), MPI_ERR_COUNT, comm);
        MUST(MPI_Comm_set_errhandler(comm, second));
        called = 0;
        int code = MPI_Send(&value, -1, MPI_INT, 0, 1, comm);
        CHECK_STRICTLY(code != MPI_SUCCESS);
        CHECK_EQUAL(called, 100);
    }
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Errhandler_free(&first));
    MUST(MPI_Errhandler_free(&second));
}

/* Errors without a communicator go to the handler of MPI_COMM_SELF (section 9.3). */
static void without_a_communicator(void)
{
    MPI_Errhandler handler;
    MPI_Request none = MPI_REQUEST_NULL;
    int size;
    MUST(MPI_Comm_create_errhandler(on_error, &handler));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    called = 0;
    int code = MPI_Type_size(MPI_DATATYPE_NULL, &size);
    CHECK_STRICTLY(code != MPI_SUCCESS);
    CHECK_STRICTLY(called == 1);
    called = 0;
    code = MPI_Start(&none);
    CHECK_STRICTLY(code != MPI_SUCCESS);
    CHECK_STRICTLY(called == 1);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MUST(MPI_Errhandler_free(&handler));
}

static int depth, deepest;

/* Makes an error of its own, on the same communicator, three deep. */
static void on_nested_error(MPI_Comm *comm, int *code, ...)
{
    int value = 0;
    (void)code;
    depth++;
    deepest = depth > deepest ? depth : deepest;
    if (depth < 3) {
        int class = check_class(MPI_Send(&value, 1, MPI_INT, 0, -4, *comm));
        CHECK_STRICTLY(class == MPI_ERR_TAG);
    }
    if (depth == 3) { /* Without a handler, and then with another: this one runs to its end. */
        MUST(MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN));
        MUST_FAIL(MPI_Send(&value, -1, MPI_INT, 0, 1, *comm), MPI_ERR_COUNT);
    }
    depth--;
}

static void errors_inside(void)
{
    MPI_Errhandler handler;
    MPI_Comm comm;
    int value = 0;
    MUST(MPI_Comm_create_errhandler(on_nested_error, &handler));
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST(MPI_Comm_set_errhandler(comm, handler));
    MUST(MPI_Errhandler_free(&handler));
    int class = check_class(MPI_Send(&value, -1, MPI_INT, 0, 1, comm));
    CHECK_STRICTLY(class == MPI_ERR_COUNT);
    CHECK_EQUAL(deepest, 3);
    CHECK_EQUAL(depth, 0);
    MUST_FAIL(MPI_Send(&value, -1, MPI_INT, 0, 1, comm), MPI_ERR_COUNT);
    MUST(MPI_Comm_free(&comm));
}

static int file_class;

static void on_file_error(MPI_File *file, int *code, ...)
{
    CHECK(*file == MPI_FILE_NULL);
    file_class = check_class(*code);
}

/* The handler of MPI_FILE_NULL is that of files to come, at first MPI_ERRORS_RETURN. */
static void of_files(void)
{
    MPI_Errhandler handler, got;
    MUST(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    MUST(MPI_File_create_errhandler(on_file_error, &handler));
    MUST(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    MUST(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == handler);
    MUST(MPI_Errhandler_free(&got));
    MUST(MPI_Errhandler_free(&handler));
    MUST(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_QUOTA));
    CHECK_EQUAL(file_class, MPI_ERR_QUOTA);
    MUST(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    MUST(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO));
    CHECK_EQUAL(file_class, MPI_ERR_QUOTA);
}

/* A handler serves one kind of object; MPICH 5 takes any. */
static void of_another_kind(void)
{
    MPI_Errhandler of_files, of_comms;
    MUST(MPI_File_create_errhandler(on_file_error, &of_files));
    MUST(MPI_Comm_create_errhandler(on_error, &of_comms));
    if (check_strict()) {
        MUST_FAIL(MPI_Comm_set_errhandler(MPI_COMM_SELF, of_files), MPI_ERR_ERRHANDLER);
        MUST_FAIL(MPI_File_set_errhandler(MPI_FILE_NULL, of_comms), MPI_ERR_ERRHANDLER);
    }
    MUST(MPI_Errhandler_free(&of_files));
    MUST(MPI_Errhandler_free(&of_comms));
}

/* The predefined ones are got and freed like others. */
static void predefined(void)
{
    MPI_Errhandler all[] = {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN};
    MPI_Errhandler got;
    MPI_Comm comm;
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    for (int index = 0; index < 3; index++) {
        MUST(MPI_Comm_set_errhandler(comm, all[index]));
        MUST(MPI_Comm_get_errhandler(comm, &got));
        CHECK(got == all[index]);
    }
    MUST(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
    MUST(MPI_Comm_free(&comm));
}

/* A failed call leaves nothing behind: the communicator works after any number of errors. */
static void many_errors(void)
{
    int value = check_rank, sum = -1;
    for (int round = 0; round < 1000; round++)
        CHECK(MPI_Send(&value, 1, MPI_INT, check_size, 1, MPI_COMM_WORLD) != MPI_SUCCESS);
    MUST(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(sum, check_size * (check_size - 1) / 2);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("our own");
    our_own();
    section("inherited");
    inherited();
    section("replaced");
    replaced();
    section("without a communicator");
    without_a_communicator();
    section("errors inside");
    errors_inside();
    section("of files");
    of_files();
    section("of another kind");
    of_another_kind();
    section("predefined");
    predefined();
    section("many errors");
    many_errors();
    return check_end();
}
