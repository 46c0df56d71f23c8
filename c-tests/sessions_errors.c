/* Error handlers of sessions, and which handler gets which error; wrong arguments and handles. */
#include "check.h"

static int heard, heard_class;
static MPI_Session heard_of = MPI_SESSION_NULL;

static void listen(MPI_Session *session, int *code, ...)
{
    heard++;
    heard_class = check_class(*code);
    heard_of = *session;
}

static int comm_heard;

static void comm_listen(MPI_Comm *comm, int *code, ...)
{
    comm_heard++;
    (void)comm;
    (void)code;
}

/* The call must fail with this class, and the listening handler must have heard of it. */
#define HEARD(call, class, session)                                                              \
    do {                                                                                         \
        int before = heard, returned = check_class(call);                                        \
        CHECK_STRICTLY(returned == (class)); /* MPICH 5 returns MPI_SUCCESS. */                  \
        CHECK_EQUAL(heard, before + 1);                                                          \
        CHECK_EQUAL(heard_class, class);                                                         \
        CHECK(heard_of == (session));                                                            \
    } while (0)

static void handlers(void)
{
    MPI_Errhandler listening, found;
    MPI_Session session;
    MPI_Group group, world, other;
    int count = -1, length = 0, none[1] = {1 << 20};

    MUST(MPI_Session_create_errhandler(listen, &listening));
    MUST(MPI_Session_init(MPI_INFO_NULL, listening, &session));
    MUST(MPI_Session_get_errhandler(session, &found));
    CHECK(found == listening);
    MUST(MPI_Errhandler_free(&found));
    MUST(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
    MUST_FAIL(MPI_Group_from_session_pset(session, "mpi://NOBODY", &group), MPI_ERR_ARG);
    CHECK_EQUAL(heard, 0);
    MUST(MPI_Session_set_errhandler(session, listening));
    MUST(MPI_Errhandler_free(&listening));

    MUST(MPI_Session_call_errhandler(session, MPI_ERR_TOPOLOGY));
    CHECK(heard == 1 && heard_class == MPI_ERR_TOPOLOGY && heard_of == session);
    HEARD(MPI_Group_from_session_pset(session, "mpi://NOBODY", &group), MPI_ERR_ARG, session);
    HEARD(MPI_Session_get_pset_info(session, "nothing", &(MPI_Info){MPI_INFO_NULL}), MPI_ERR_ARG,
          session);
    MUST(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
    HEARD(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, count, &length, NULL), MPI_ERR_ARG,
          session);
    HEARD(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, NULL), MPI_ERR_ARG,
          session);
    if (check_strict()) { /* MPICH 5 does not look at the length. */
        char name[8];
        length = -1;
        HEARD(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name), MPI_ERR_ARG,
              session);
    }
    /* Of a group derived from the session, that session's handler hears (section 9.3). */
    MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    HEARD(MPI_Group_incl(world, 1, none, &other), MPI_ERR_RANK, session);
    MUST(MPI_Group_incl(world, 1, &check_rank, &group));
    HEARD(MPI_Group_excl(group, 1, none, &other), MPI_ERR_RANK, session);
    MUST(MPI_Group_free(&group));
    MUST(MPI_Group_free(&world));
    MUST(MPI_Session_finalize(&session));
}

/* Before there is a communicator, the handler in the argument hears of errors. */
static void creation(void)
{
    MPI_Errhandler handler;
    MPI_Session session;
    MPI_Group self;
    MPI_Comm comm;
    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MUST(MPI_Group_from_session_pset(session, "mpi://SELF", &self));
    MUST(MPI_Comm_create_errhandler(comm_listen, &handler));
    MUST_FAIL(MPI_Comm_create_from_group(MPI_GROUP_NULL, "null", MPI_INFO_NULL, handler, &comm),
              MPI_ERR_GROUP);
    CHECK_STRICTLY(comm_heard == 1); /* MPICH 5 calls nobody. */
    comm_heard = 0;
    MUST(MPI_Comm_create_from_group(self, "self", MPI_INFO_NULL, handler, &comm));
    MUST(MPI_Errhandler_free(&handler));
    int class = check_class(MPI_Send(NULL, 0, MPI_BYTE, 5, 0, comm));
    CHECK_STRICTLY(class == MPI_ERR_RANK); /* MPICH 5 returns MPI_SUCCESS. */
    CHECK_EQUAL(comm_heard, 1);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Group_free(&self));
    MUST(MPI_Session_finalize(&session));
}

static void openings(void)
{
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "thread_level", "as many as you like"));
    int class = check_class(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    CHECK_STRICTLY(class == MPI_ERR_INFO_VALUE); /* MPICH 5 says MPI_ERR_OTHER. */
    CHECK(class != MPI_SUCCESS);
    CHECK_STRICTLY(session == MPI_SESSION_NULL);
    MUST(MPI_Info_free(&info));
}

/* Handles that are none; without an object the handler of MPI_COMM_SELF hears. */
static void handles(void)
{
    MPI_Session null = MPI_SESSION_NULL, session, stale;
    MPI_Group group;
    MPI_Info info;
    MPI_Comm comm;
    int count = -1;
    MUST_FAIL(MPI_Session_get_num_psets(null, MPI_INFO_NULL, &count), MPI_ERR_SESSION);
    MUST_FAIL(MPI_Session_get_info(null, &info), MPI_ERR_SESSION);
    MUST_FAIL(MPI_Session_finalize(&null), MPI_ERR_SESSION);
    MUST_FAIL(MPI_Group_from_session_pset(null, "mpi://SELF", &group), MPI_ERR_SESSION);
    MUST_FAIL(MPI_Session_call_errhandler(null, 1), MPI_ERR_SESSION);
    if (!check_strict())
        return; /* MPICH 5 does not know a handle that is stale. */
    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MUST(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
    MUST(MPI_Comm_create_from_group(group, "stale", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    stale = session;
    /* What the application did not free is gone with its session. */
    MUST(MPI_Session_finalize(&session));
    MUST_FAIL(MPI_Session_get_num_psets(stale, MPI_INFO_NULL, &count), MPI_ERR_SESSION);
    MUST_FAIL(MPI_Session_flush_buffer(stale), MPI_ERR_SESSION);
    MUST_FAIL(MPI_Session_finalize(&stale), MPI_ERR_SESSION);
    MUST_FAIL(MPI_Comm_size(comm, &count), MPI_ERR_COMM);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("error handlers");
    handlers();
    section("creation");
    creation();
    section("bad hints");
    openings();
    section("handles");
    handles();
    return check_end();
}
