/* The tool interface: its life before, during and after MPI, control and performance variables,
 * sessions, and every invalid handle and index. */
#include "check.h"

#define SAYS(call, code) CHECK_EQUAL(call, code)
#define GOOD(call) SAYS(call, MPI_SUCCESS)

static int level;

/* Before the library runs, so failures are counted by hand. */
static int early(void)
{
    int count = -1, wrong = 0;
    wrong += MPI_T_pvar_get_num(&count) != MPI_T_ERR_NOT_INITIALIZED;
    if (check_strict()) { /* MPICH 5 does not look in all of them. */
        MPI_Count ticks;
        wrong += MPI_T_category_get_pvars(0, 0, NULL) != MPI_T_ERR_NOT_INITIALIZED;
        wrong += MPI_T_enum_get_info(MPI_T_ENUM_NULL, &count, NULL, NULL)
            != MPI_T_ERR_NOT_INITIALIZED;
        wrong += MPI_T_source_get_timestamp(0, &ticks) != MPI_T_ERR_NOT_INITIALIZED;
        wrong += MPI_T_event_get_index("none", &count) != MPI_T_ERR_NOT_INITIALIZED;
    }
    wrong += MPI_T_init_thread(MPI_THREAD_SINGLE, &level) != MPI_SUCCESS;
    wrong += MPI_T_init_thread(MPI_THREAD_SINGLE, &level) != MPI_SUCCESS;
    wrong += MPI_T_finalize() != MPI_SUCCESS;
    wrong += MPI_T_pvar_get_num(&count) != MPI_SUCCESS || count < 0;
    return wrong;
}

static void controls(void)
{
    int count = 0, index, room, bytes, scope, bind, verbosity;
    char name[128], text[1024];
    MPI_Datatype type;
    MPI_T_enum none;
    GOOD(MPI_T_cvar_get_num(&count));
    for (int i = 0; i < count && check_strict(); i++) {
        int again = -1, described = sizeof text;
        room = sizeof name;
        GOOD(MPI_T_cvar_get_info(i, name, &room, &verbosity, &type, &none, text, &described, &bind,
            &scope));
        CHECK_EQUAL(room, (long long)strlen(name) + 1);
        CHECK_EQUAL(described, (long long)strlen(text) + 1);
        GOOD(MPI_T_cvar_get_index(name, &again));
        CHECK_EQUAL(again, i);
    }
    SAYS(MPI_T_cvar_get_info(count, name, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        MPI_T_ERR_INVALID_INDEX);
    SAYS(MPI_T_cvar_get_index("no such variable", &index), MPI_T_ERR_INVALID_NAME);
    if (!check_strict()) return;

    MPI_T_cvar_handle handle;
    GOOD(MPI_T_cvar_get_index("SUIRO_WAIT", &index));
    GOOD(MPI_T_cvar_get_info(index, NULL, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK_EQUAL(room, 11);
    room = 6;
    GOOD(MPI_T_cvar_get_info(index, name, &room, NULL, NULL, NULL, NULL, NULL, NULL, &scope));
    CHECK(strcmp(name, "SUIRO") == 0 && room == 11 && scope == MPI_T_SCOPE_CONSTANT);
    GOOD(MPI_T_cvar_handle_alloc(index, NULL, &handle, &bytes));
    const char *set = getenv("SUIRO_WAIT");
    memset(text, 'x', sizeof text);
    GOOD(MPI_T_cvar_read(handle, text));
    CHECK(strcmp(text, set && *set ? set : "auto") == 0);
    CHECK_EQUAL(bytes, (long long)strlen(text) + 1);
    /* A value that changes in the environment must still fit. */
    char *kept = set ? strdup(set) : NULL;
    setenv("SUIRO_WAIT", "longer than before", 1);
    memset(text, 'x', sizeof text);
    GOOD(MPI_T_cvar_read(handle, text));
    CHECK_EQUAL(bytes, (long long)strlen(text) + 1);
    CHECK(text[bytes] == 'x');
    if (kept)
        setenv("SUIRO_WAIT", kept, 1);
    else
        unsetenv("SUIRO_WAIT");
    free(kept);
    SAYS(MPI_T_cvar_write(handle, "spin"), MPI_T_ERR_CVAR_SET_NEVER);
    MPI_T_cvar_handle stale = handle;
    GOOD(MPI_T_cvar_handle_free(&handle));
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
    SAYS(MPI_T_cvar_read(stale, text), MPI_T_ERR_INVALID_HANDLE);
    SAYS(MPI_T_cvar_handle_free(&stale), MPI_T_ERR_INVALID_HANDLE);
}

/* Categories, enumerations, event types and sources: each index and handle must be checked. A
 * library may have some. */
static void objects(void)
{
    int categories = -1, events = -1, sources = -1, number, room = 0;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Count ticks;
    GOOD(MPI_T_category_changed(&number));
    GOOD(MPI_T_category_get_num(&categories));
    GOOD(MPI_T_event_get_num(&events));
    GOOD(MPI_T_source_get_num(&sources));
    CHECK(categories >= 0 && events >= 0 && sources >= 0);
    SAYS(MPI_T_category_get_index("no such category", &number), MPI_T_ERR_INVALID_NAME);
    if (!check_strict())
        return; /* MPICH 5 checks few of these, and crashes in some. */
    for (int index = -1; index <= categories; index += categories + 1) {
        const int code = MPI_T_ERR_INVALID_INDEX;
        SAYS(MPI_T_category_get_info(index, NULL, &room, NULL, &room, &number, &number, &number),
            code);
        SAYS(MPI_T_category_get_categories(index, 0, NULL), code);
        SAYS(MPI_T_category_get_cvars(index, 0, NULL), code);
        SAYS(MPI_T_category_get_events(index, 0, NULL), code);
        SAYS(MPI_T_category_get_pvars(index, 0, NULL), code);
        SAYS(MPI_T_category_get_num_events(index, &number), code);
    }
    SAYS(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &number, NULL, &room), MPI_T_ERR_INVALID_HANDLE);
    SAYS(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &number, NULL, &room), MPI_T_ERR_INVALID_HANDLE);

    MPI_T_event_registration registration = NULL;
    SAYS(MPI_T_event_get_index("no such event", &number), MPI_T_ERR_INVALID_NAME);
    SAYS(MPI_T_event_get_info(events, NULL, &room, NULL, NULL, NULL, &number, NULL, NULL, NULL,
             &room, NULL), MPI_T_ERR_INVALID_INDEX);
    SAYS(MPI_T_event_handle_alloc(events, NULL, MPI_INFO_NULL, &registration),
        MPI_T_ERR_INVALID_INDEX);
    SAYS(MPI_T_source_get_info(sources, NULL, &room, NULL, &room, NULL, &ticks, &ticks, &info),
        MPI_T_ERR_INVALID_INDEX);
    SAYS(MPI_T_source_get_timestamp(sources, &ticks), MPI_T_ERR_INVALID_INDEX);

    const int code = MPI_T_ERR_INVALID_HANDLE;
    const MPI_T_cb_safety safety = MPI_T_CB_REQUIRE_NONE;
    SAYS(MPI_T_event_handle_get_info(registration, &info), code);
    SAYS(MPI_T_event_handle_set_info(registration, MPI_INFO_NULL), code);
    SAYS(MPI_T_event_handle_free(registration, NULL, NULL), code);
    SAYS(MPI_T_event_set_dropped_handler(registration, NULL), code);
    SAYS(MPI_T_event_callback_get_info(registration, safety, &info), code);
    SAYS(MPI_T_event_callback_set_info(registration, safety, MPI_INFO_NULL), code);
    SAYS(MPI_T_event_register_callback(registration, safety, MPI_INFO_NULL, NULL, NULL), code);
    SAYS(MPI_T_event_copy(NULL, &ticks), code);
    SAYS(MPI_T_event_read(NULL, 0, &ticks), code);
    SAYS(MPI_T_event_get_source(NULL, &number), code);
    SAYS(MPI_T_event_get_timestamp(NULL, &ticks), code);
}

static unsigned long long value(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long value = ~0ULL;
    GOOD(MPI_T_pvar_read(session, handle, &value));
    return value;
}

static void performance(void)
{
    int count = 0, index, number, class, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_pvar_session session, other;
    MPI_T_pvar_handle posted, unexpected;
    GOOD(MPI_T_pvar_session_create(&session));
    GOOD(MPI_T_pvar_session_create(&other));
    GOOD(MPI_T_pvar_get_num(&count));
    for (int i = 0; i < count && check_strict(); i++) {
        char name[128];
        int room = sizeof name, again = -1;
        GOOD(MPI_T_pvar_get_info(i, name, &room, NULL, &class, &type, NULL, NULL, NULL, NULL,
            &readonly, &continuous, &atomic));
        GOOD(MPI_T_pvar_get_index(name, class, &again));
        CHECK_EQUAL(again, i);
    }
    SAYS(MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_LEVEL, &index),
        MPI_T_ERR_INVALID_NAME);
    GOOD(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    if (check_strict()) {
        GOOD(MPI_T_pvar_get_index("suiro_posted_receives", MPI_T_PVAR_CLASS_LEVEL, &index));
        GOOD(MPI_T_pvar_handle_alloc(session, index, NULL, &posted, &number));
        CHECK_EQUAL(number, 1);
        GOOD(MPI_T_pvar_get_index("suiro_unexpected_messages", MPI_T_PVAR_CLASS_LEVEL, &index));
        GOOD(MPI_T_pvar_handle_alloc(session, index, NULL, &unexpected, &number));

        int sent = check_rank, received = -1;
        MPI_Request request;
        unsigned long long before = value(session, posted);
        MUST(MPI_Irecv(&received, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
        CHECK_EQUAL(value(session, posted), (long long)before + 1);
        MUST(MPI_Send(&sent, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_EQUAL(value(session, posted), (long long)before);
        before = value(session, unexpected);
        MUST(MPI_Send(&sent, 1, MPI_INT, 0, 2, MPI_COMM_SELF));
        CHECK_EQUAL(value(session, unexpected), (long long)before + 1);
        MUST(MPI_Recv(&received, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE));
        CHECK_EQUAL(value(session, unexpected), (long long)before);

        unsigned long long nothing;
        SAYS(MPI_T_pvar_read(other, posted, &nothing), MPI_T_ERR_INVALID_HANDLE);
        SAYS(MPI_T_pvar_read(session, posted, NULL), MPI_T_ERR_INVALID);
        SAYS(MPI_T_pvar_start(session, posted), MPI_T_ERR_PVAR_NO_STARTSTOP);
        SAYS(MPI_T_pvar_stop(session, posted), MPI_T_ERR_PVAR_NO_STARTSTOP);
        SAYS(MPI_T_pvar_reset(session, posted), MPI_T_ERR_PVAR_NO_WRITE);
        SAYS(MPI_T_pvar_write(session, posted, &nothing), MPI_T_ERR_PVAR_NO_WRITE);
        SAYS(MPI_T_pvar_readreset(session, posted, &nothing), MPI_T_ERR_PVAR_NO_ATOMIC);
        SAYS(MPI_T_pvar_readreset(session, MPI_T_PVAR_ALL_HANDLES, &nothing),
            MPI_T_ERR_INVALID_HANDLE);
        SAYS(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &nothing), MPI_T_ERR_INVALID_HANDLE);
        GOOD(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
        SAYS(MPI_T_pvar_handle_free(other, &posted), MPI_T_ERR_INVALID_HANDLE);
        GOOD(MPI_T_pvar_handle_free(session, &posted));
        CHECK(posted == MPI_T_PVAR_HANDLE_NULL);
    }
    MPI_T_pvar_session stale = session;
    GOOD(MPI_T_pvar_session_free(&session));
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
    if (check_strict()) {
        SAYS(MPI_T_pvar_start(stale, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION);
        SAYS(MPI_T_pvar_session_free(&stale), MPI_T_ERR_INVALID_SESSION);
    }
    GOOD(MPI_T_pvar_session_free(&other));
}

int main(int argc, char **argv)
{
    int wrong = early();
    check_start(&argc, &argv);
    section("before MPI_Init");
    CHECK_EQUAL(wrong, 0);
    section("control variables");
    controls();
    section("other objects");
    objects();
    section("performance variables");
    performance();
    section("the end");
    int code = check_end();
    int count = -1;
    if (MPI_T_cvar_get_num(&count) != MPI_SUCCESS || MPI_T_finalize() != MPI_SUCCESS) code = 1;
    if (MPI_T_cvar_get_num(&count) != MPI_T_ERR_NOT_INITIALIZED) code = 1;
    if (MPI_T_finalize() != MPI_T_ERR_NOT_INITIALIZED) code = 1;
    return code;
}
