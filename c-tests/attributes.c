/* Attributes: the predefined ones, keyvals with callbacks at duplication, replacement, deletion
 * and freeing, of communicators and datatypes; callbacks that refuse. */
#include "check.h"

static int copies, deletions;

static void *predefined(int keyval, int needed)
{
    void *value = NULL;
    int flag = 0;
    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &flag));
    CHECK(flag || !needed);
    return flag ? value : NULL;
}

static void of_the_world(void)
{
    int *upper = predefined(MPI_TAG_UB, 1), *global = predefined(MPI_WTIME_IS_GLOBAL, 1);
    int *universe = predefined(MPI_UNIVERSE_SIZE, 0), *last = predefined(MPI_LASTUSEDCODE, 1);
    int *program = predefined(MPI_APPNUM, 0), *io = predefined(MPI_IO, 0);
    CHECK(upper != NULL && *upper >= 32767);
    CHECK(global != NULL && (*global == 0 || *global == 1));
    CHECK(universe == NULL || *universe >= check_size);
    CHECK(last != NULL && *last >= MPI_ERR_LASTCODE);
    CHECK(program == NULL || *program == 0);
    CHECK(io == NULL || *io >= MPI_ANY_SOURCE || *io == MPI_PROC_NULL);
}

static int on_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    int size = 0;
    (void)keyval;
    MUST(MPI_Comm_size(comm, &size));
    copies++;
    CHECK(extra == &copies);
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int size = 0;
    (void)keyval;
    (void)value;
    MUST(MPI_Comm_size(comm, &size));
    CHECK(extra == &copies);
    deletions++;
    return MPI_SUCCESS;
}

static int refuse_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_ERR_INTERN;
}

static int refuse_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    return *(int *)extra ? MPI_ERR_INTERN : MPI_SUCCESS;
}

static char *value_of(MPI_Comm comm, int keyval)
{
    char *value = NULL;
    int flag = 0;
    MUST(MPI_Comm_get_attr(comm, keyval, &value, &flag));
    return flag ? value : NULL;
}

/* Set, look, replace, copy by duplication twice, delete, free. */
static void life(void)
{
    static char anchor[4];
    MPI_Comm comm, dup;
    int keyval = MPI_KEYVAL_INVALID;
    copies = deletions = 0;
    MUST(MPI_Comm_create_keyval(on_copy, on_delete, &keyval, &copies));
    CHECK(keyval != MPI_KEYVAL_INVALID);
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK(value_of(comm, keyval) == NULL);
    MUST(MPI_Comm_set_attr(comm, keyval, anchor + 1));
    CHECK(value_of(comm, keyval) == anchor + 1);
    CHECK(value_of(MPI_COMM_WORLD, keyval) == NULL);
    MUST(MPI_Comm_set_attr(comm, keyval, anchor));
    CHECK_EQUAL(deletions, 1);
    CHECK(value_of(comm, keyval) == anchor);
    MUST(MPI_Comm_dup(comm, &dup));
    CHECK_EQUAL(copies, 1);
    CHECK(value_of(dup, keyval) == anchor + 1);
    MUST(MPI_Comm_delete_attr(comm, keyval));
    CHECK_EQUAL(deletions, 2);
    CHECK(value_of(comm, keyval) == NULL);
    MUST(MPI_Comm_free(&comm));
    CHECK_EQUAL(deletions, 2);
    int freed = keyval;
    MUST(MPI_Comm_free_keyval(&freed));
    CHECK_EQUAL(freed, MPI_KEYVAL_INVALID);
    MUST(MPI_Comm_dup(dup, &comm));
    CHECK_EQUAL(copies, 2);
    MUST(MPI_Comm_free(&dup));
    CHECK_EQUAL(deletions, 3);
    MUST(MPI_Comm_free(&comm));
    CHECK_EQUAL(deletions, 4);
}

/* A key that was freed stays one by its number until the last attribute has gone. */
static void freed_in_use(void)
{
    static char anchor;
    MPI_Comm comm, dup;
    int keyval, first, second;
    copies = deletions = 0;
    MUST(MPI_Comm_create_keyval(on_copy, on_delete, &keyval, &copies));
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_set_attr(comm, keyval, &anchor));
    MUST(MPI_Comm_dup(comm, &dup));
    first = second = keyval;
    MUST(MPI_Comm_free_keyval(&first));
    MUST(MPI_Comm_free(&dup));
    CHECK_EQUAL(deletions, 1);
    MUST(MPI_Comm_free_keyval(&second));
    CHECK_EQUAL(second, MPI_KEYVAL_INVALID);
    CHECK(value_of(comm, keyval) == &anchor);
    MUST(MPI_Comm_delete_attr(comm, keyval));
    CHECK_EQUAL(deletions, 2);
    MUST(MPI_Comm_free(&comm));
    CHECK_EQUAL(deletions, 2);
}

/* Only MPI_Comm_dup copies attributes; the ready-made callbacks copy always or never. */
static void ready_made(void)
{
    static int anchor;
    MPI_Comm comm, other;
    int always, never;
    MUST(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &always, NULL));
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &never, NULL));
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_set_attr(comm, always, &anchor));
    MUST(MPI_Comm_set_attr(comm, never, &anchor));
    MUST(MPI_Comm_dup(comm, &other));
    CHECK(value_of(other, always) == (char *)&anchor);
    CHECK(value_of(other, never) == NULL);
    MUST(MPI_Comm_free(&other));
    MUST(MPI_Comm_split(comm, 0, check_rank, &other));
    CHECK(value_of(other, always) == NULL);
    MUST(MPI_Comm_free(&other));
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_free_keyval(&always));
    MUST(MPI_Comm_free_keyval(&never));
}

/* A callback that fails makes the call fail, and the attribute stays. */
static void refused(void)
{
    static int anchor, stubborn = 1;
    MPI_Comm comm, dup = MPI_COMM_NULL;
    int no_copy, no_delete;
    MUST(MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &no_copy, NULL));
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse_delete, &no_delete, &stubborn));
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_attr(comm, no_copy, &anchor));
    CHECK(MPI_Comm_dup(comm, &dup) != MPI_SUCCESS);
    CHECK(dup == MPI_COMM_NULL);
    MUST(MPI_Comm_delete_attr(comm, no_copy));
    MUST(MPI_Comm_set_attr(comm, no_delete, &anchor));
    CHECK(MPI_Comm_delete_attr(comm, no_delete) != MPI_SUCCESS);
    CHECK(value_of(comm, no_delete) == (char *)&anchor);
    CHECK(MPI_Comm_free(&comm) != MPI_SUCCESS);
    CHECK(comm != MPI_COMM_NULL);
    stubborn = 0;
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_free_keyval(&no_copy));
    MUST(MPI_Comm_free_keyval(&no_delete));
}

/* Twenty attributes at once, deleted with their communicator. */
static void many(void)
{
    enum { MANY = 20 };
    static char anchor[MANY];
    MPI_Comm comm;
    int keyval[MANY];
    deletions = 0;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int index = 0; index < MANY; index++) {
        MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval[index], &copies));
        MUST(MPI_Comm_set_attr(comm, keyval[index], &anchor[index]));
    }
    for (int index = 0; index < MANY; index++)
        CHECK(value_of(comm, keyval[index]) == &anchor[index]);
    MUST(MPI_Comm_free(&comm));
    CHECK_EQUAL(deletions, MANY);
    for (int index = 0; index < MANY; index++)
        MUST(MPI_Comm_free_keyval(&keyval[index]));
}

static int type_deletions;

static int on_type_delete(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type;
    (void)keyval;
    (void)value;
    (void)extra;
    type_deletions++;
    return MPI_SUCCESS;
}

static void of_types(void)
{
    static int anchor;
    MPI_Datatype type, dup;
    void *value = NULL;
    int keyval, flag = 0;
    MUST(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, on_type_delete, &keyval, NULL));
    MUST(MPI_Type_contiguous(3, MPI_INT, &type));
    MUST(MPI_Type_set_attr(type, keyval, &anchor));
    MUST(MPI_Type_dup(type, &dup));
    MUST(MPI_Type_get_attr(dup, keyval, &value, &flag));
    CHECK(flag && value == &anchor);
    MUST(MPI_Type_free(&type));
    /* MPICH 5 keeps the freed type, and its attributes, until the duplicate goes. */
    CHECK_STRICTLY(type_deletions == 1);
    int before = type_deletions;
    MUST(MPI_Type_delete_attr(dup, keyval));
    CHECK_EQUAL(type_deletions, before + 1);
    MUST(MPI_Type_free(&dup));
    CHECK_EQUAL(type_deletions, 2);
    MUST(MPI_Type_free_keyval(&keyval));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("of the world");
    of_the_world();
    section("life of an attribute");
    life();
    freed_in_use();
    ready_made();
    section("refused");
    refused();
    section("many");
    many();
    section("of types");
    of_types();
    return check_end();
}
