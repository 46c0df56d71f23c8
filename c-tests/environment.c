/* The surroundings: clocks, names, versions, integers for handles. */
#include "check.h"

#include <time.h>

static void clocks(void)
{
    double last = MPI_Wtime(), tick = MPI_Wtick();
    int backwards = 0, moved = 0;
    CHECK(tick > 0 && tick <= 1e-3);
    for (int look = 0; look < 20000; look++) {
        double now = MPI_Wtime();
        backwards += now < last;
        moved += now > last;
        last = now;
    }
    CHECK_EQUAL(backwards, 0);
    CHECK(moved > 0);
    double start = MPI_Wtime();
    sleep_ms(20);
    CHECK(MPI_Wtime() - start >= 0.0199);
}

/* If the clock is said to be global, a message does not arrive before it was sent. */
static void global_clock(void)
{
    int *global = NULL, flag = 0;
    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &global, &flag));
    CHECK(flag);
    for (int round = 0; round < 50; round++) {
        double sent = MPI_Wtime(), got = 0;
        int right = (check_rank + 1) % check_size;
        int left = (check_rank + check_size - 1) % check_size;
        MUST(MPI_Sendrecv(&sent, 1, MPI_DOUBLE, right, 1, &got, 1, MPI_DOUBLE, left, 1,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (flag && *global)
            CHECK(MPI_Wtime() - got >= -1e-3);
    }
}

static void names(void)
{
    char name[MPI_MAX_PROCESSOR_NAME], version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = -1;
    MUST(MPI_Get_processor_name(name, &length));
    CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME);
    CHECK((size_t)length == strlen(name));
    MUST(MPI_Get_library_version(version, &length));
    CHECK((size_t)length == strlen(version));
}

/* Predefined handles have the values of the standard as integers; ours come back unchanged. */
static void integers(void)
{
    MPI_Comm comm;
    MPI_Datatype type;
    CHECK_EQUAL(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
    CHECK_EQUAL(MPI_Comm_toint(MPI_COMM_NULL), 0x100);
    CHECK_EQUAL(MPI_Type_toint(MPI_BYTE), 0x247);
    CHECK_EQUAL(MPI_Op_toint(MPI_SUM), 0x21);
    CHECK_EQUAL(MPI_Request_toint(MPI_REQUEST_NULL), 0x180);
    CHECK_EQUAL(MPI_Group_toint(MPI_GROUP_EMPTY), 0x109);
    CHECK_EQUAL(MPI_Errhandler_toint(MPI_ERRORS_RETURN), 0x143);
    CHECK(MPI_Comm_fromint(0x102) == MPI_COMM_SELF);
    CHECK(MPI_Type_fromint(0x209) == MPI_INT);
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(comm)) == comm);
    CHECK(MPI_Comm_toint(comm) < 0 || MPI_Comm_toint(comm) > 4095);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Type_contiguous(2, MPI_INT, &type));
    CHECK(MPI_Type_fromint(MPI_Type_toint(type)) == type);
    MUST(MPI_Type_free(&type));
}

/* Handles and statuses survive the way to Fortran and back. */
static void fortran(void)
{
    MPI_Comm comm;
    MPI_Status status = { .MPI_SOURCE = 5, .MPI_TAG = 6, .MPI_ERROR = 7 }, back;
    MPI_Fint integers[MPI_F_STATUS_SIZE];
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MPI_Fint integer = MPI_Comm_c2f(comm);
    CHECK_EQUAL(integer, MPI_Comm_toint(comm));
    CHECK(PMPI_Comm_f2c(integer) == comm);
    MUST(MPI_Comm_free(&comm));
    CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE);
    CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_MAX)) == MPI_MAX);
    CHECK(MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY);
    CHECK(MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_NULL)) == MPI_INFO_NULL);
    CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
    CHECK(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
    CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    CHECK(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
    CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL);
    MUST(MPI_Status_set_elements(&status, MPI_INT, 3));
    MUST(MPI_Status_c2f(&status, integers));
    CHECK_EQUAL(integers[MPI_F_SOURCE], 5);
    CHECK_EQUAL(integers[MPI_F_TAG], 6);
    CHECK_EQUAL(integers[MPI_F_ERROR], 7);
    MUST(MPI_Status_f2c(integers, &back));
    CHECK(memcmp(&status, &back, sizeof status) == 0);
}

/* The ABI says what it is. */
static void abi(void)
{
    int major = -1, minor = -1, level = 5;
    MUST(MPI_Abi_get_version(&major, &minor));
    CHECK_EQUAL(major, 1);
    CHECK_EQUAL(minor, 0);
    CHECK_EQUAL(sizeof(MPI_Status), 32);
    CHECK_EQUAL(sizeof(MPI_Aint), sizeof(void *));
    CHECK_EQUAL(sizeof(MPI_Count), 8);
    CHECK_EQUAL(MPI_Pcontrol(level), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("clocks");
    clocks();
    global_clock();
    section("names");
    names();
    section("integers for handles");
    integers();
    section("handles and statuses in Fortran");
    fortran();
    section("the ABI");
    abi();
    return check_end();
}
