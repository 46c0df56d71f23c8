/* Handles as integers and back, of every kind: before initialization, while MPI runs, and after
 * finalization; integers of no handle; created handles, which keep their integer. */
#include "check.h"

static int wrong;

#define BACK_AND_FORTH(kind, type, value)                                                        \
    do {                                                                                         \
        type there = (value);                                                                    \
        int number = kind##_toint(there);                                                        \
        wrong += kind##_fromint(number) != there || number != (int)(intptr_t)there;              \
    } while (0)

static void predefined(void)
{
    BACK_AND_FORTH(MPI_Comm, MPI_Comm, MPI_COMM_WORLD);
    BACK_AND_FORTH(MPI_Comm, MPI_Comm, MPI_COMM_NULL);
    BACK_AND_FORTH(MPI_Type, MPI_Datatype, MPI_DOUBLE);
    BACK_AND_FORTH(MPI_Type, MPI_Datatype, MPI_DATATYPE_NULL);
    BACK_AND_FORTH(MPI_Op, MPI_Op, MPI_MAXLOC);
    BACK_AND_FORTH(MPI_Group, MPI_Group, MPI_GROUP_EMPTY);
    BACK_AND_FORTH(MPI_Request, MPI_Request, MPI_REQUEST_NULL);
    BACK_AND_FORTH(MPI_Message, MPI_Message, MPI_MESSAGE_NO_PROC);
    BACK_AND_FORTH(MPI_Info, MPI_Info, MPI_INFO_ENV);
    BACK_AND_FORTH(MPI_Errhandler, MPI_Errhandler, MPI_ERRORS_ABORT);
    BACK_AND_FORTH(MPI_Win, MPI_Win, MPI_WIN_NULL);
    BACK_AND_FORTH(MPI_File, MPI_File, MPI_FILE_NULL);
    BACK_AND_FORTH(MPI_Session, MPI_Session, MPI_SESSION_NULL);
}

/* No integer of a made handle is that of a predefined one. */
static void made(void)
{
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Group group;
    MPI_Info info;
    MPI_Win win;
    MPI_Request request;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Type_contiguous(3, MPI_INT, &type));
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &group));
    MUST(MPI_Info_create(&info));
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &win));
    MUST(MPI_Recv_init(NULL, 0, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(comm)) == comm);
    CHECK(MPI_Type_fromint(MPI_Type_toint(type)) == type);
    CHECK(MPI_Group_fromint(MPI_Group_toint(group)) == group);
    CHECK(MPI_Info_fromint(MPI_Info_toint(info)) == info);
    CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win);
    CHECK(MPI_Request_fromint(MPI_Request_toint(request)) == request);
    CHECK(MPI_Comm_toint(comm) < 0 || MPI_Comm_toint(comm) > 0xfff);
    MUST(MPI_Request_free(&request));
    MUST(MPI_Win_free(&win));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Type_free(&type));
    MUST(MPI_Comm_free(&comm));
}

/* What an integer that is none becomes is found out where it is used. */
static void garbage(void)
{
    static const int numbers[] = {0, 1, -1, 0xfff, 0x7fffffff, (int)0x80000101u};
    int size, flag = 0;
    if (!check_strict())
        return;
    for (size_t index = 0; index < sizeof numbers / sizeof numbers[0]; index++) {
        MPI_Info info = MPI_Info_fromint(numbers[index]);
        MPI_Request request = MPI_Request_fromint(numbers[index]);
        MPI_Win win = MPI_Win_fromint(numbers[index]);
        CHECK_EQUAL(MPI_Comm_toint(MPI_Comm_fromint(numbers[index])), numbers[index]);
        MUST_FAIL(MPI_Comm_size(MPI_Comm_fromint(numbers[index]), &size), MPI_ERR_COMM);
        MUST_FAIL(MPI_Type_size(MPI_Type_fromint(numbers[index]), &size), MPI_ERR_TYPE);
        MUST_FAIL(MPI_Group_size(MPI_Group_fromint(numbers[index]), &size), MPI_ERR_GROUP);
        MUST_FAIL(MPI_Op_commutative(MPI_Op_fromint(numbers[index]), &flag), MPI_ERR_OP);
        MUST_FAIL(MPI_Info_get_nkeys(info, &size), MPI_ERR_INFO);
        MUST_FAIL(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
        MUST_FAIL(MPI_Win_free(&win), MPI_ERR_WIN);
    }
}

int main(int argc, char **argv)
{
    predefined();
    check_start(&argc, &argv);
    section("conversions");
    predefined();
    made();
    garbage();
    int total = check_total();
    MUST(MPI_Comm_free(&check_comm));
    MUST(MPI_Finalize());
    predefined();
    return check_verdict(total + wrong);
}
