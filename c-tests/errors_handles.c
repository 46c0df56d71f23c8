/* Freed, foreign and senseless handles. The standard requires no detection; this library
 * detects them, with the class of the object and without undefined behaviour, so all checks are
 * strict. */
#include "check.h"

static MPI_Request request;
static MPI_Status status;

static void freed(void)
{
    int value = 0, size = 0;
    MPI_Comm comm, old_comm;
    MPI_Datatype type, old_type;
    MPI_Group group, old_group;
    MPI_Request old_request;
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    old_comm = comm;
    MUST(MPI_Comm_free(&comm));
    CHECK(comm == MPI_COMM_NULL);
    MUST_FAIL(MPI_Comm_size(old_comm, &size), MPI_ERR_COMM);
    MUST_FAIL(MPI_Send(&value, 1, MPI_INT, 0, 1, old_comm), MPI_ERR_COMM);
    MUST_FAIL(MPI_Comm_free(&old_comm), MPI_ERR_COMM);
    MUST(MPI_Type_contiguous(2, MPI_INT, &type));
    MUST(MPI_Type_commit(&type));
    old_type = type;
    MUST(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL);
    MUST_FAIL(MPI_Type_size(old_type, &size), MPI_ERR_TYPE);
    MUST_FAIL(MPI_Irecv(&value, 1, old_type, 0, 1, MPI_COMM_SELF, &request), MPI_ERR_TYPE);
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &group));
    old_group = group;
    MUST(MPI_Group_free(&group));
    CHECK(group == MPI_GROUP_NULL);
    MUST_FAIL(MPI_Group_size(old_group, &size), MPI_ERR_GROUP);
    MUST(MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
    old_request = request;
    MUST(MPI_Cancel(&request));
    MUST(MPI_Wait(&request, &status));
    MUST_FAIL(MPI_Wait(&old_request, &status), MPI_ERR_REQUEST);
    MUST_FAIL(MPI_Cancel(&old_request), MPI_ERR_REQUEST);
}

static void senseless(void)
{
    static const intptr_t garbage[] = {0, 1, 17, 0x7ffffffff000, -1, 0x12345678, 0xfff};
    int size = 0, value = 0;
    for (size_t index = 0; index < sizeof garbage / sizeof garbage[0]; index++) {
        MPI_Comm comm = (MPI_Comm)garbage[index];
        MPI_Datatype type = (MPI_Datatype)garbage[index];
        MPI_Group group = (MPI_Group)garbage[index];
        MPI_Op op = (MPI_Op)garbage[index];
        MPI_Request senseless_request = (MPI_Request)garbage[index];
        MPI_Errhandler handler = (MPI_Errhandler)garbage[index];
        MUST_FAIL(MPI_Comm_size(comm, &size), MPI_ERR_COMM);
        MUST_FAIL(MPI_Send(&value, 1, MPI_INT, 0, 1, comm), MPI_ERR_COMM);
        MUST_FAIL(MPI_Type_size(type, &size), MPI_ERR_TYPE);
        MUST_FAIL(MPI_Send(&value, 1, type, 0, 1, MPI_COMM_SELF), MPI_ERR_TYPE);
        MUST_FAIL(MPI_Group_size(group, &size), MPI_ERR_GROUP);
        MUST_FAIL(MPI_Allreduce(&value, &size, 1, MPI_INT, op, MPI_COMM_SELF), MPI_ERR_OP);
        MUST_FAIL(MPI_Wait(&senseless_request, &status), MPI_ERR_REQUEST);
        MUST_FAIL_2(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler), MPI_ERR_ERRHANDLER,
                    MPI_ERR_ARG);
    }
}

/* A handle of another kind is not taken for one of this kind. */
static void of_another_kind(void)
{
    int size = 0;
    MPI_Datatype type;
    MPI_Comm comm;
    MUST(MPI_Type_contiguous(2, MPI_INT, &type));
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST_FAIL(MPI_Comm_size((MPI_Comm)type, &size), MPI_ERR_COMM);
    MUST_FAIL(MPI_Type_size((MPI_Datatype)comm, &size), MPI_ERR_TYPE);
    MUST_FAIL(MPI_Comm_size((MPI_Comm)MPI_INT, &size), MPI_ERR_COMM);
    MUST_FAIL(MPI_Type_size((MPI_Datatype)MPI_COMM_WORLD, &size), MPI_ERR_TYPE);
    MUST(MPI_Type_free(&type));
    MUST(MPI_Comm_free(&comm));
}

/* A persistent request is not started twice, an active one not freed for good. */
static void misused_requests(void)
{
    MPI_Request persistent;
    int value = 0;
    MUST(MPI_Recv_init(&value, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &persistent));
    MUST(MPI_Start(&persistent));
    MUST_FAIL(MPI_Start(&persistent), MPI_ERR_REQUEST);
    MUST(MPI_Cancel(&persistent));
    MUST(MPI_Wait(&persistent, &status));
    MUST(MPI_Request_free(&persistent));
    MUST(MPI_Irecv(&value, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request));
    MUST_FAIL(MPI_Start(&request), MPI_ERR_REQUEST);
    MUST(MPI_Cancel(&request));
    MUST(MPI_Wait(&request, &status));
}

/* Slots are used again, but an old handle never becomes a new object. */
static void many_generations(void)
{
    MPI_Datatype first, next;
    int size = 0;
    MUST(MPI_Type_contiguous(2, MPI_INT, &first));
    MPI_Datatype old = first;
    MUST(MPI_Type_free(&first));
    for (int round = 0; round < 2000; round++) {
        MUST(MPI_Type_contiguous(3, MPI_INT, &next));
        CHECK(next != old);
        MUST_FAIL(MPI_Type_size(old, &size), MPI_ERR_TYPE);
        MUST(MPI_Type_free(&next));
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("handles that are none");
    if (check_strict()) {
        freed();
        senseless();
        of_another_kind();
        misused_requests();
        many_generations();
    }
    return check_end();
}
