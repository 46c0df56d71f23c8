/* Sessions before, beside and after the world model, several at once, in all or some ranks. */
#include "check.h"

enum { BSEND_TAG = 5, BSEND_INTS = 3000 };

static void expect_world_model(int initialized, int finalized)
{
    int flag = -1;
    MUST(MPI_Initialized(&flag));
    CHECK_EQUAL(flag, initialized);
    MUST(MPI_Finalized(&flag));
    CHECK_EQUAL(flag, finalized);
}

static MPI_Session open_session(void)
{
    MPI_Session session = MPI_SESSION_NULL;
    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK(session != MPI_SESSION_NULL);
    return session;
}

static void close_session(MPI_Session *session)
{
    MUST(MPI_Session_finalize(session));
    CHECK(*session == MPI_SESSION_NULL);
}

static MPI_Group group_of(MPI_Session session, const char *set)
{
    MPI_Group group = MPI_GROUP_NULL;
    MUST(MPI_Group_from_session_pset(session, set, &group));
    return group;
}

static MPI_Comm comm_of(MPI_Group group, const char *tag)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    return comm;
}

/* Messages both ways and a sum: the communicator works. */
static void use(MPI_Comm comm)
{
    int size = -1, rank = -1, sum = -1, got = -1;
    MUST(MPI_Comm_size(comm, &size));
    MUST(MPI_Comm_rank(comm, &rank));
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MUST(MPI_Sendrecv(&rank, 1, MPI_INT, next, 3, &got, 1, MPI_INT, previous, 3, comm,
                      MPI_STATUS_IGNORE));
    CHECK_EQUAL(got, previous);
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQUAL(sum, size * (size - 1) / 2);
}

/* Communicators of sessions have the attributes of the environment, too (section 9.1.2). */
static void environment_of(MPI_Comm comm, int size)
{
    int *value = NULL, found = 0;
    MUST(MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &found));
    CHECK(found && *value >= 32767);
    const int others[] = {MPI_IO, MPI_HOST, MPI_WTIME_IS_GLOBAL, MPI_APPNUM, MPI_LASTUSEDCODE};
    for (size_t index = 0; index < sizeof others / sizeof others[0]; index++)
        MUST(MPI_Comm_get_attr(comm, others[index], &value, &found));
    MUST(MPI_Comm_get_attr(comm, MPI_UNIVERSE_SIZE, &value, &found));
    CHECK(!found || *value >= size);
}

/* From a session to a communicator that is used and whose relatives are used. */
static void whole_life(const char *tag)
{
    MPI_Session session = open_session();
    MPI_Group world = group_of(session, "mpi://WORLD"), self = group_of(session, "mpi://SELF");
    MPI_Comm comm = comm_of(world, tag), own = comm_of(self, tag), half, copy;
    MPI_Group again;
    int rank = -1, result = -1;

    use(comm);
    use(own);
    environment_of(comm, check_size);
    environment_of(own, 1);
    MUST(MPI_Comm_rank(comm, &rank));
    MUST(MPI_Comm_dup(comm, &copy));
    use(copy);
    MUST(MPI_Comm_split(copy, rank % 2, 0, &half));
    use(half);
    MUST(MPI_Comm_group(comm, &again));
    MUST(MPI_Group_compare(world, again, &result));
    CHECK_EQUAL(result, MPI_IDENT);
    MUST(MPI_Group_free(&again));
    MUST(MPI_Comm_free(&half));
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_free(&own));
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Group_free(&self));
    MUST(MPI_Group_free(&world));
    close_session(&session);
}

static void learn_rank(void)
{
    MPI_Session session = open_session();
    MPI_Group world = group_of(session, "mpi://WORLD");
    MUST(MPI_Group_rank(world, &check_rank));
    MUST(MPI_Group_size(world, &check_size));
    MUST(MPI_Group_free(&world));
    close_session(&session);
}

static void sets(void)
{
    MPI_Session session = open_session();
    int count = -1, own = 0, all = 0;
    MUST(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
    CHECK(count >= 2);
    for (int number = 0; number < count; number++) {
        char name[MPI_MAX_PSET_NAME_LEN], value[32];
        int length = 0, room = sizeof value, found = 0, size = -1;
        MPI_Info info;
        MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, number, &length, NULL));
        CHECK(length > 1 && length <= MPI_MAX_PSET_NAME_LEN);
        int wanted = length;
        memset(name, 'x', sizeof name);
        MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, number, &length, name));
        CHECK_EQUAL(length, wanted);
        CHECK_EQUAL(strlen(name), wanted - 1);
        MUST(MPI_Session_get_pset_info(session, name, &info));
        MUST(MPI_Info_get_string(info, "mpi_size", &room, value, &found));
        MUST(MPI_Info_free(&info));
        CHECK(found);
        MPI_Group group = group_of(session, name);
        MUST(MPI_Group_size(group, &size));
        CHECK_EQUAL(atoi(value), size);
        MUST(MPI_Group_free(&group));
        all += strcmp(name, "mpi://WORLD") == 0 && size == check_size;
        own += strcmp(name, "mpi://SELF") == 0 && size == 1;

        length = 5;
        memset(name, 'x', sizeof name);
        MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, number, &length, name));
        CHECK_EQUAL(strlen(name), 4);
        CHECK(name[5] == 'x');
        CHECK_STRICTLY(length == wanted); /* MPICH 5 leaves it. */
    }
    CHECK_EQUAL(all, 1);
    CHECK_EQUAL(own, 1);
    close_session(&session);
}

static void expect_hint(MPI_Session session, const char *key, const char *expected)
{
    char value[256] = "";
    int room = sizeof value, found = 0;
    MPI_Info info;
    MUST(MPI_Session_get_info(session, &info));
    MUST(MPI_Info_get_string(info, key, &room, value, &found));
    MUST(MPI_Info_free(&info));
    CHECK(found);
    if (expected != NULL)
        CHECK(strcmp(value, expected) == 0);
}

static void hints(void)
{
    MPI_Session session;
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "thread_level", "MPI_THREAD_FUNNELED"));
    MUST(MPI_Info_set(info, "mpi_memory_alloc_kinds", "system,mpi"));
    MUST(MPI_Info_set(info, "no such hint", "at all"));
    MUST(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    if (check_strict()) /* MPICH 5 tells the level of the first session of the process. */
        expect_hint(session, "thread_level", "MPI_THREAD_FUNNELED");
    expect_hint(session, "thread_level", NULL);
    expect_hint(session, "mpi_memory_alloc_kinds", NULL);
    close_session(&session);
    MUST(MPI_Info_free(&info));
    session = open_session();
    expect_hint(session, "thread_level", NULL);
    close_session(&session);
}

static void expect_kinds(MPI_Comm comm, const char *expected)
{
    char value[256] = "";
    int room = sizeof value, found = 0;
    MPI_Info info;
    MUST(MPI_Comm_get_info(comm, &info));
    MUST(MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &room, value, &found));
    MUST(MPI_Info_free(&info));
    CHECK(found && strcmp(value, expected) == 0);
}

/* Communicators have the memory kinds of their session (section 11.4.3). */
static void memory_kinds(void)
{
    MPI_Session session;
    MPI_Info info;
    MPI_Comm copy;
    if (!check_strict())
        return;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "mpi_memory_alloc_kinds", "mpi:alloc_mem,tea"));
    MUST(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    MUST(MPI_Info_free(&info));
    expect_hint(session, "mpi_memory_alloc_kinds", "mpi,system,mpi:alloc_mem");
    MPI_Group world = group_of(session, "mpi://WORLD");
    MPI_Comm comm = comm_of(world, "kinds");
    MUST(MPI_Group_free(&world));
    expect_kinds(comm, "mpi,system,mpi:alloc_mem");
    MUST(MPI_Comm_dup(comm, &copy));
    expect_kinds(copy, "mpi,system,mpi:alloc_mem");
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_free(&comm));
    close_session(&session);
}

/* Communicators of two sessions with one string, closed in the other order than opened. */
static void two_at_once(void)
{
    MPI_Session sessions[2];
    MPI_Comm comms[2];
    for (int place = 0; place < 2; place++) {
        sessions[place] = open_session();
        MPI_Group world = group_of(sessions[place], "mpi://WORLD");
        comms[place] = comm_of(world, "both");
        MUST(MPI_Group_free(&world));
    }
    CHECK(sessions[0] != sessions[1]);
    use(comms[1]);
    use(comms[0]);
    for (int place = 0; place < 2; place++) {
        MUST(MPI_Comm_free(&comms[place]));
        close_session(&sessions[place]);
        if (place == 0)
            use(comms[1]);
    }
}

/* Each rank has as many sessions as it likes, and a communicator joins only those that call. MPICH 5
 * waits for all ranks. */
static void some_ranks(void)
{
    if (check_rank % 2 == 0 || !check_strict())
        return;
    int range[1][3] = {{1, check_size - 1, 2}};
    MPI_Session session = open_session(), more = open_session();
    MPI_Group world = group_of(session, "mpi://WORLD"), odd;
    MUST(MPI_Group_range_incl(world, 1, range, &odd));
    close_session(&more);
    MPI_Comm comm = comm_of(odd, "odd");
    use(comm);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Group_free(&odd));
    MUST(MPI_Group_free(&world));
    close_session(&session);
}

/* Buffered sends on communicators of a session use its buffer; finalizing waits for them. */
static void buffered(void)
{
    static int values[BSEND_INTS], got[BSEND_INTS];
    MPI_Session session = open_session();
    MPI_Group world = group_of(session, "mpi://WORLD");
    MPI_Comm comm = comm_of(world, "buffered");
    int bytes = 2 * (int)(sizeof values + MPI_BSEND_OVERHEAD), size = -1;
    int next = (check_rank + 1) % check_size, previous = (check_rank + check_size - 1) % check_size;
    char *buffer = take((size_t)bytes), *back = NULL;
    MPI_Request request;

    MUST(MPI_Session_attach_buffer(session, buffer, bytes));
    if (check_strict()) /* MPICH 5 says MPI_ERR_OTHER. */
        MUST_FAIL(MPI_Session_attach_buffer(session, buffer, bytes), MPI_ERR_BUFFER);
    for (int turn = 0; turn < 2; turn++) {
        for (int place = 0; place < BSEND_INTS; place++)
            values[place] = check_rank + place * turn;
        MUST(MPI_Bsend(values, BSEND_INTS, MPI_INT, next, BSEND_TAG, comm));
        memset(values, 0, sizeof values);
        MUST(MPI_Recv(got, BSEND_INTS, MPI_INT, previous, BSEND_TAG, comm, MPI_STATUS_IGNORE));
        for (int place = 0; place < BSEND_INTS; place++)
            CHECK_EQUAL(got[place], previous + place * turn);
        MUST(MPI_Session_flush_buffer(session));
        MUST(MPI_Session_iflush_buffer(session, &request));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    MUST(MPI_Session_detach_buffer(session, &back, &size));
    CHECK(back == buffer && size == bytes);
    MUST_FAIL(MPI_Bsend(values, 1, MPI_INT, next, BSEND_TAG, comm), MPI_ERR_BUFFER);

    /* What is on its way when the session ends arrives. */
    MUST(MPI_Session_attach_buffer(session, buffer, bytes));
    for (int place = 0; place < BSEND_INTS; place++)
        values[place] = place;
    MUST(MPI_Bsend(values, BSEND_INTS, MPI_INT, next, BSEND_TAG, comm));
    MUST(MPI_Recv(got, BSEND_INTS, MPI_INT, previous, BSEND_TAG, comm, MPI_STATUS_IGNORE));
    CHECK(memcmp(values, got, sizeof got) == 0);
    MUST(MPI_Session_detach_buffer(session, &back, &size));
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Group_free(&world));
    close_session(&session);
    free(buffer);
}

int main(int argc, char **argv)
{
    int total = -1;
    alarm(CHECK_LIMIT_S);
    learn_rank();
    section("before the world model");
    expect_world_model(0, 0);
    sets();
    hints();
    memory_kinds();
    whole_life("first");
    whole_life("first");
    two_at_once();
    some_ranks();
    buffered();
    expect_world_model(0, 0);

    section("beside the world model");
    MPI_Session long_one = open_session();
    check_start(&argc, &argv);
    expect_world_model(1, 0);
    use(MPI_COMM_WORLD);
    whole_life("beside");
    sets();
    two_at_once();
    some_ranks();
    buffered();
    use(MPI_COMM_WORLD);
    MPI_Group world = group_of(long_one, "mpi://WORLD");
    MPI_Comm survivor = comm_of(world, "survivor");
    MUST(MPI_Comm_free(&check_comm));
    MUST(MPI_Finalize());

    section("after the world model");
    expect_world_model(1, 1);
    use(survivor);
    whole_life("after");
    use(survivor);
    int own = check_errors;
    MUST(MPI_Reduce(&own, &total, 1, MPI_INT, MPI_SUM, 0, survivor));
    if (check_rank != 0)
        total = own;
    MUST(MPI_Comm_free(&survivor));
    MUST(MPI_Group_free(&world));
    close_session(&long_one);
    whole_life("again");
    some_ranks();
    expect_world_model(1, 1);
    return check_verdict(total + check_errors - own);
}
