/* Windows as objects: made of the program's memory, of the library's and of none; group, name,
 * hints, attributes, error handlers; what is attached; wrong arguments. Nothing is communicated
 * through them here. */
#include "rma.h"

static MPI_Win made_of(void *base, MPI_Aint size, int unit)
{
    MPI_Win win = MPI_WIN_NULL;
    MUST(MPI_Win_create(base, size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    CHECK(win != MPI_WIN_NULL);
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    return win;
}

static void freed(MPI_Win *win)
{
    MUST(MPI_Win_free(win));
    CHECK(*win == MPI_WIN_NULL);
}

/* The five predefined attributes: the base is the value, the others have an address each. */
static void of_memory(MPI_Win win, void *base, MPI_Aint size, int unit, int flavor)
{
    void *value = NULL;
    MPI_Aint *bytes = NULL;
    int *number = NULL, flag = 0;
    MUST(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag));
    CHECK(flag && value == base);
    MUST(MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag));
    CHECK(flag && *bytes == size);
    MUST(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &number, &flag));
    CHECK(flag && *number == unit);
    MUST(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &number, &flag));
    CHECK(flag && *number == flavor);
    MUST(MPI_Win_get_attr(win, MPI_WIN_MODEL, &number, &flag));
    CHECK(flag && (*number == MPI_WIN_UNIFIED || *number == MPI_WIN_SEPARATE));
}

static void kinds(void)
{
    static double memory[8];
    double *allocated = NULL;
    MPI_Win win = made_of(memory, sizeof memory, sizeof(double));
    of_memory(win, memory, sizeof memory, sizeof(double), MPI_WIN_FLAVOR_CREATE);
    freed(&win);
    win = made_of(NULL, 0, 1);
    of_memory(win, NULL, 0, 1, MPI_WIN_FLAVOR_CREATE);
    freed(&win);
    MPI_Aint bytes = 4096 + 8 * check_rank;
    MUST(MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win));
    CHECK((uintptr_t)allocated % 8 == 0);
    fill(allocated, (size_t)bytes, 7);
    of_memory(win, allocated, bytes, 8, MPI_WIN_FLAVOR_ALLOCATE);
    CHECK_EQUAL(spoiled(allocated, (size_t)bytes, 7), 0);
    freed(&win);
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    of_memory(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    freed(&win);
    MUST(MPI_Win_create_c(memory, sizeof memory, 16, MPI_INFO_NULL, MPI_COMM_SELF, &win));
    of_memory(win, memory, sizeof memory, 16, MPI_WIN_FLAVOR_CREATE);
    freed(&win);
    MUST(MPI_Win_allocate_c(64, 4, MPI_INFO_NULL, MPI_COMM_SELF, &allocated, &win));
    of_memory(win, allocated, 64, 4, MPI_WIN_FLAVOR_ALLOCATE);
    freed(&win);
}

static void group_and_name(void)
{
    static int memory;
    char name[MPI_MAX_OBJECT_NAME] = "x";
    int length = -1, result = -1;
    MPI_Group group, world;
    MPI_Win win = made_of(&memory, sizeof memory, 1);
    MUST(MPI_Win_get_group(win, &group));
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Group_compare(group, world, &result));
    CHECK_EQUAL(result, MPI_IDENT);
    MUST(MPI_Group_free(&group));
    MUST(MPI_Group_free(&world));
    MUST(MPI_Win_get_name(win, name, &length));
    CHECK(length == 0 && name[0] == '\0');
    MUST(MPI_Win_set_name(win, "with a caf\xe9"));
    MUST(MPI_Win_get_name(win, name, &length));
    CHECK(length == 11 && strcmp(name, "with a caf\xe9") == 0);
    freed(&win);
}

/* Hints that are known come back; all others are ignored. */
static void hints(void)
{
    static int memory;
    char value[MPI_MAX_INFO_VAL] = "";
    int flag = 0, room = sizeof value;
    MPI_Info info, used;
    MPI_Win win;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "no_locks", "true"));
    MUST(MPI_Info_set(info, "tea", "green"));
    MUST(MPI_Win_create(&memory, sizeof memory, 1, info, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_get_info(win, &used));
    MUST(MPI_Info_get_string(used, "no_locks", &room, value, &flag));
    CHECK(flag && strcmp(value, "true") == 0);
    MUST(MPI_Info_free(&used));
    MUST(MPI_Info_set(info, "accumulate_ordering", "none"));
    MUST(MPI_Win_set_info(win, info));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Win_get_info(win, &used));
    room = sizeof value;
    MUST(MPI_Info_get_string(used, "accumulate_ordering", &room, value, &flag));
    CHECK(flag && strcmp(value, "none") == 0);
    room = sizeof value;
    MUST(MPI_Info_get_string(used, "tea", &room, value, &flag));
    CHECK_STRICTLY(!flag);
    if (check_strict()) { /* MPICH 5 does not tell it of windows. */
        room = sizeof value;
        MUST(MPI_Info_get_string(used, "mpi_memory_alloc_kinds", &room, value, &flag));
        CHECK(flag && strcmp(value, "mpi,system") == 0);
    }
    MUST(MPI_Info_free(&used));
    freed(&win);
}

/* The value of a hint that the window tells must be this one, or the window must not tell it (NULL). */
static void tells(MPI_Win win, const char *key, const char *due)
{
    char value[MPI_MAX_INFO_VAL] = "";
    int flag = 0, room = sizeof value;
    MPI_Info used;
    MUST(MPI_Win_get_info(win, &used));
    MUST(MPI_Info_get_string(used, key, &room, value, &flag));
    MUST(MPI_Info_free(&used));
    if (flag != (due != NULL) || (flag && strcmp(value, due) != 0))
        check_fail(__FILE__, __LINE__, "%s is %s, not %s", key, flag ? value : "not told",
                   due ? due : "left out");
}

/* The hints of all windows: defaults, legal values that differ from them, and values that are none. */
static const char *const known_hints[][4] = {
    {"no_locks", "false", "true", "maybe"},
    {"accumulate_ordering", "rar,raw,war,waw", "rar,waw", "rar,tea"},
    {"accumulate_ops", "same_op_no_op", "same_op", "any_op"},
    {"mpi_accumulate_granularity", "0", "4096", "-1"},
    {"same_size", "false", "true", "1"},
    {"same_disp_unit", "false", "true", "yes"},
};
enum { KNOWN_HINTS = sizeof known_hints / sizeof known_hints[0] };

/* Every hint at its value number `value` of the table. */
static MPI_Info every_hint(int value)
{
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    for (int hint = 0; hint < KNOWN_HINTS; hint++)
        MUST(MPI_Info_set(info, known_hints[hint][0], known_hints[hint][value]));
    return info;
}

/* The window tells every hint with its value number `value` of the table. */
static void tells_every(MPI_Win win, int value)
{
    for (int hint = 0; hint < KNOWN_HINTS; hint++)
        tells(win, known_hints[hint][0], known_hints[hint][value]);
}

/* What windows of each kind tell of hints, given at creation and later (section 12.2.1). */
static void values_of_hints(void)
{
    enum { DEFAULT = 1, OTHER = 2, NONE = 3 };
    for (enum kind kind = 0; kind < KINDS && check_strict(); kind++) {
        if (!kind_possible(kind))
            continue;
        for (int at_first = DEFAULT; at_first <= NONE; at_first++) {
            MPI_Info info = every_hint(at_first);
            struct area area = area_open(kind, 64, 8, info);
            MUST(MPI_Info_free(&info));
            int used = at_first == NONE ? DEFAULT : at_first;
            tells_every(area.win, used);
            for (int later = NONE; later >= DEFAULT; later--) {
                info = every_hint(later);
                MUST(MPI_Win_set_info(area.win, info));
                MUST(MPI_Info_free(&info));
                if (later != NONE)
                    used = later;
                tells_every(area.win, used);
            }
            area_close(&area, kind);
        }
        struct area area = area_open(kind, 64, 8, MPI_INFO_NULL);
        tells_every(area.win, DEFAULT);
        tells(area.win, "alloc_shared_noncontig", kind == SHARED ? "false" : NULL);
        area_close(&area, kind);
    }
}

/* Hints about memory that the library allocates; what is allocated does not change later. */
static void memory_hints(void)
{
    for (enum kind kind = ALLOCATED; kind <= SHARED && check_strict(); kind++) {
        MPI_Info info, later;
        if (!kind_possible(kind))
            continue;
        MUST(MPI_Info_create(&info));
        MUST(MPI_Info_set(info, "mpi_minimum_memory_alignment", "512"));
        MUST(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
        struct area area = area_open(kind, 100, 1, info);
        CHECK_EQUAL((uintptr_t)area.base % 512, 0);
        MUST(MPI_Info_create(&later));
        MUST(MPI_Info_set(later, "mpi_minimum_memory_alignment", "4096"));
        MUST(MPI_Info_set(later, "alloc_shared_noncontig", "false"));
        MUST(MPI_Win_set_info(area.win, later));
        tells(area.win, "mpi_minimum_memory_alignment", "512");
        tells(area.win, "alloc_shared_noncontig", kind == SHARED ? "true" : NULL);
        area_close(&area, kind);
        MUST(MPI_Info_free(&info));
        MUST(MPI_Info_free(&later));
    }
}

/* The kinds of memory that a program promises to use. */
static void memory_kinds(void)
{
    const char *const given[] = {"tea:green", "system", "mpi:gpu"};
    static int memory;
    MPI_Win win;
    if (!check_strict())
        return;
    MUST(MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    for (int round = 0; round < 3; round++) {
        char value[MPI_MAX_INFO_VAL] = "";
        int flag = 0, room = sizeof value;
        MPI_Info info;
        MUST(MPI_Info_create(&info));
        MUST(MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", given[round]));
        MUST(MPI_Win_set_info(win, info));
        MUST(MPI_Info_free(&info));
        MUST(MPI_Win_get_info(win, &info));
        MUST(MPI_Info_get_string(info, "mpi_assert_memory_alloc_kinds", &room, value, &flag));
        MUST(MPI_Info_free(&info));
        CHECK_EQUAL(flag, round > 0);
        CHECK(!flag || strcmp(value, "system") == 0);
    }
    freed(&win);
}

static int deletions, stubborn;
static MPI_Win last_win;

static int on_delete(MPI_Win win, int keyval, void *value, void *extra)
{
    MPI_Group group;
    (void)keyval;
    (void)value;
    CHECK(extra == &deletions);
    last_win = win;
    MUST(MPI_Win_get_group(win, &group));
    MUST(MPI_Group_free(&group));
    deletions++;
    return stubborn ? MPI_ERR_INTERN : MPI_SUCCESS;
}

static void attributes(void)
{
    static int memory;
    int keyval, of_comms, flag = -1, *value = NULL;
    MPI_Win win = made_of(&memory, sizeof memory, 1), old = win;
    MUST(MPI_Win_create_keyval(MPI_WIN_DUP_FN, on_delete, &keyval, &deletions));
    MUST(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &of_comms, NULL));
    MUST(MPI_Win_get_attr(win, keyval, &value, &flag));
    CHECK(!flag);
    MUST(MPI_Win_set_attr(win, keyval, &memory));
    MUST(MPI_Win_get_attr(win, keyval, &value, &flag));
    CHECK(flag && value == &memory);
    MUST(MPI_Win_set_attr(win, keyval, &keyval));
    CHECK_EQUAL(deletions, 1);
    MUST(MPI_Win_delete_attr(win, keyval));
    CHECK_EQUAL(deletions, 2);
    MUST(MPI_Win_set_attr(win, keyval, &memory));
    /* MPICH 5 calls the wrong kind of function, or asserts. */
    if (check_strict()) {
        MUST_FAIL(MPI_Win_set_attr(win, of_comms, &memory), MPI_ERR_KEYVAL);
        MUST_FAIL(MPI_Win_get_attr(win, of_comms, &value, &flag), MPI_ERR_KEYVAL);
        MUST_FAIL(MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &memory), MPI_ERR_KEYVAL);
        MUST_FAIL(MPI_Win_set_attr(win, MPI_WIN_BASE, &memory), MPI_ERR_KEYVAL);
        MUST_FAIL(MPI_Win_delete_attr(win, MPI_WIN_SIZE), MPI_ERR_KEYVAL);
        stubborn = 1;
        CHECK_EQUAL(MPI_Win_free(&win), MPI_ERR_INTERN);
        CHECK(win == old);
        stubborn = 0;
    }
    int before = deletions;
    MUST(MPI_Win_free_keyval(&keyval));
    freed(&win);
    CHECK_EQUAL(deletions, before + 1);
    CHECK(last_win == old);
    MUST(MPI_Comm_free_keyval(&of_comms));
}

static int called, last_code;

static void on_error(MPI_Win *win, int *code, ...)
{
    int length = -1;
    char name[MPI_MAX_OBJECT_NAME];
    called++;
    last_win = *win;
    last_code = check_class(*code);
    MUST(MPI_Win_get_name(*win, name, &length));
    CHECK(strcmp(name, "faulty") == 0);
}

static void error_handlers(void)
{
    static int memory;
    MPI_Errhandler handler, got, of_comms;
    MPI_Win win;
    MUST(MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_set_name(win, "faulty"));
    MUST(MPI_Win_get_errhandler(win, &got));
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    MUST(MPI_Win_create_errhandler(on_error, &handler));
    MUST(MPI_Win_set_errhandler(win, handler));
    MUST(MPI_Win_get_errhandler(win, &got));
    CHECK(got == handler);
    MUST(MPI_Errhandler_free(&got));
    MUST(MPI_Errhandler_free(&handler));
    MUST(MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC));
    CHECK(called == 1 && last_win == win && last_code == MPI_ERR_RMA_SYNC);
    int code = MPI_Win_attach(win, &memory, -1);
    CHECK_STRICTLY(code == MPI_ERR_SIZE && called == 2 && last_code == MPI_ERR_SIZE);
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)(void (*)(void))on_error, &of_comms));
    /* MPICH 5 takes the handler of a communicator for a window. */
    if (check_strict())
        MUST_FAIL(MPI_Win_set_errhandler(win, of_comms), MPI_ERR_ERRHANDLER);
    MUST(MPI_Errhandler_free(&of_comms));
    freed(&win);
}

static void attached(void)
{
    static int memory[30];
    MPI_Win win;
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MUST(MPI_Win_attach(win, memory, sizeof(int) * 10));
    MUST(MPI_Win_attach(win, memory + 20, sizeof(int) * 10));
    if (check_strict()) {
        MUST_FAIL(MPI_Win_attach(win, memory + 9, 4), MPI_ERR_RMA_ATTACH);
        MUST_FAIL(MPI_Win_attach(win, memory + 15, 40), MPI_ERR_RMA_ATTACH);
        MUST_FAIL(MPI_Win_detach(win, memory + 1), MPI_ERR_BASE);
    }
    MUST(MPI_Win_attach(win, memory + 10, sizeof(int) * 10));
    MUST(MPI_Win_detach(win, memory));
    MUST(MPI_Win_detach(win, memory + 20));
    freed(&win);
    win = made_of(memory, sizeof memory, 1);
    if (check_strict()) {
        MUST_FAIL(MPI_Win_attach(win, memory, 4), MPI_ERR_RMA_FLAVOR);
        MUST_FAIL(MPI_Win_detach(win, memory), MPI_ERR_RMA_FLAVOR);
    }
    freed(&win);
}

static void wrong_arguments(void)
{
    static int memory;
    void *base;
    MPI_Win win = MPI_WIN_NULL, old;
    MPI_Info none = MPI_INFO_NULL;
    MUST_FAIL(MPI_Win_create(&memory, -1, 1, none, MPI_COMM_WORLD, &win), MPI_ERR_SIZE);
    MUST_FAIL_2(MPI_Win_create(&memory, 4, 0, none, MPI_COMM_WORLD, &win), MPI_ERR_DISP,
                MPI_ERR_ARG);
    MUST_FAIL_2(MPI_Win_create(&memory, 4, -4, none, MPI_COMM_WORLD, &win), MPI_ERR_DISP,
                MPI_ERR_ARG);
    MUST_FAIL(MPI_Win_create(&memory, 4, 1, none, MPI_COMM_NULL, &win), MPI_ERR_COMM);
    MUST_FAIL(MPI_Win_create_dynamic(none, MPI_COMM_NULL, &win), MPI_ERR_COMM);
    if (check_strict()) {
        MUST_FAIL(MPI_Win_create(NULL, 4, 1, none, MPI_COMM_WORLD, &win), MPI_ERR_BUFFER);
        MUST_FAIL(MPI_Win_create(&memory, 4, 1, (MPI_Info)&memory, MPI_COMM_WORLD, &win),
                  MPI_ERR_INFO);
        MUST_FAIL(MPI_Win_allocate(-1, 1, none, MPI_COMM_WORLD, &base, &win), MPI_ERR_SIZE);
        MUST_FAIL(MPI_Win_allocate(4, 0, none, MPI_COMM_WORLD, &base, &win), MPI_ERR_DISP);
    }
    MUST_FAIL(MPI_Win_free(&win), MPI_ERR_WIN);
    win = old = made_of(&memory, sizeof memory, 1);
    freed(&win);
    if (check_strict()) {
        int flag;
        MUST_FAIL(MPI_Win_set_name(old, "gone"), MPI_ERR_WIN);
        MUST_FAIL(MPI_Win_get_attr(old, MPI_WIN_BASE, &base, &flag), MPI_ERR_WIN);
        MUST_FAIL(MPI_Win_fence(0, old), MPI_ERR_WIN);
        MUST_FAIL(MPI_Win_free(&old), MPI_ERR_WIN);
        MUST(MPI_Win_allocate(64, 1, none, MPI_COMM_WORLD, &base, &win));
        MUST_FAIL(MPI_Free_mem(base), MPI_ERR_BASE);
        freed(&win);
    }
}

/* Many at once, freed in another order. */
static void many(void)
{
    enum { MANY = 30 };
    MPI_Win win[MANY];
    char *base[MANY];
    for (int index = 0; index < MANY; index++) {
        MUST(MPI_Win_allocate(100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base[index], &win[index]));
        memset(base[index], index, 100);
    }
    for (int index = 0; index < MANY; index++) {
        int next = index * 7 % MANY;
        CHECK(base[next][0] == next && base[next][99] == next);
        freed(&win[next]);
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("kinds");
    kinds();
    section("group and name");
    group_and_name();
    section("hints");
    hints();
    values_of_hints();
    memory_hints();
    memory_kinds();
    section("attributes");
    attributes();
    section("error handlers");
    error_handlers();
    section("what is attached");
    attached();
    section("wrong arguments");
    wrong_arguments();
    section("many");
    many();
    return check_end();
}
