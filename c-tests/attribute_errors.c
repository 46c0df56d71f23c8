/* Attributes where something goes wrong, or in an order: predefined keys that are not the
 * program's, keys for other objects, keys freed in use, copies that fail half-way, callbacks that
 * call MPI, the end of MPI_COMM_SELF's, and the names of MPI-1. */
#include "check.h"

static void not_ours(void)
{
    static const int keyvals[] = {MPI_TAG_UB,       MPI_IO,           MPI_HOST,
                                  MPI_APPNUM,       MPI_LASTUSEDCODE, MPI_UNIVERSE_SIZE,
                                  MPI_WTIME_IS_GLOBAL};
    static int value = 5;
    void *found;
    int flag;
    for (size_t index = 0; index < sizeof keyvals / sizeof keyvals[0]; index++) {
        int keyval = keyvals[index], *before = NULL, *after = NULL;
        MUST(MPI_Comm_get_attr(MPI_COMM_SELF, keyval, &before, &flag));
        CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &value) != MPI_SUCCESS);
        CHECK(MPI_Comm_delete_attr(MPI_COMM_SELF, keyval) != MPI_SUCCESS);
        if (check_strict()) {
            /* MPICH 5 has another class in some of these, and crashes in others. */
            MUST_FAIL(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &value), MPI_ERR_KEYVAL);
            MUST_FAIL(MPI_Comm_delete_attr(MPI_COMM_SELF, keyval), MPI_ERR_KEYVAL);
            MUST_FAIL(MPI_Type_get_attr(MPI_INT, keyval, &found, &flag), MPI_ERR_KEYVAL);
            MUST_FAIL(MPI_Comm_free_keyval(&keyval), MPI_ERR_KEYVAL);
            CHECK_EQUAL(keyval, keyvals[index]);
        }
        MUST(MPI_Comm_get_attr(MPI_COMM_SELF, keyval, &after, &flag));
        CHECK(before == after);
    }
    if (check_strict())
        MUST_FAIL(MPI_Comm_get_attr(MPI_COMM_SELF, MPI_WIN_BASE, &found, &flag), MPI_ERR_KEYVAL);
}

/* A key serves one kind of object. */
static void of_another_kind(void)
{
    static int value;
    void *found;
    int of_types, of_comms, flag;
    MUST(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &of_types, NULL));
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &of_comms, NULL));
    if (check_strict()) {
        int keyval = of_types;
        MUST_FAIL(MPI_Comm_set_attr(MPI_COMM_SELF, of_types, &value), MPI_ERR_KEYVAL);
        MUST_FAIL(MPI_Comm_get_attr(MPI_COMM_SELF, of_types, &found, &flag), MPI_ERR_KEYVAL);
        MUST_FAIL(MPI_Comm_delete_attr(MPI_COMM_SELF, of_types), MPI_ERR_KEYVAL);
        MUST_FAIL(MPI_Comm_free_keyval(&keyval), MPI_ERR_KEYVAL);
        MUST_FAIL(MPI_Type_set_attr(MPI_INT, of_comms, &value), MPI_ERR_KEYVAL);
        MUST_FAIL(MPI_Type_get_attr(MPI_INT, of_comms, &found, &flag), MPI_ERR_KEYVAL);
        MUST_FAIL(MPI_Type_delete_attr(MPI_INT, of_comms), MPI_ERR_KEYVAL);
        MUST_FAIL(MPI_Comm_delete_attr(MPI_COMM_SELF, of_comms), MPI_ERR_KEYVAL);
    }
    /* Predefined objects have attributes as well. */
    MUST(MPI_Type_set_attr(MPI_INT, of_types, &value));
    MUST(MPI_Type_get_attr(MPI_INT, of_types, &found, &flag));
    CHECK(flag && found == &value);
    MUST(MPI_Type_delete_attr(MPI_INT, of_types));
    MUST(MPI_Comm_set_attr(MPI_COMM_WORLD, of_comms, &value));
    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, of_comms, &found, &flag));
    CHECK(flag && found == &value);
    MUST(MPI_Comm_delete_attr(MPI_COMM_WORLD, of_comms));
    MUST(MPI_Type_free_keyval(&of_types));
    MUST(MPI_Comm_free_keyval(&of_comms));
}

/* What happened in which order: a letter each. */
static char story[64];

static void tell(char what)
{
    size_t length = strlen(story);
    if (length + 1 < sizeof story) {
        story[length] = what;
        story[length + 1] = '\0';
    }
}

static int copied(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    int size = 0;
    (void)keyval;
    MUST(MPI_Comm_size(comm, &size));
    tell(*(char *)extra);
    *(void **)out = in;
    *flag = 1;
    return *(char *)extra == '!' ? MPI_ERR_NO_SPACE : MPI_SUCCESS;
}

static MPI_Comm deleted_of = MPI_COMM_NULL;

static int deleted(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int size = 0;
    (void)keyval;
    (void)value;
    MUST(MPI_Comm_size(comm, &size));
    deleted_of = comm;
    tell((char)(*(char *)extra + 'A' - 'a'));
    return MPI_SUCCESS;
}

/* The third of four copies fails: the first two are deleted again, newest first, on a communicator
 * that is not the old one; its attributes stay. */
static void half_copied(void)
{
    static char names[] = "ab!d";
    MPI_Comm comm, dup = MPI_COMM_SELF;
    int keyval[4], flag = 0;
    void *value;
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int index = 0; index < 4; index++) {
        MUST(MPI_Comm_create_keyval(copied, deleted, &keyval[index], &names[index]));
        MUST(MPI_Comm_set_attr(comm, keyval[index], &names[index]));
    }
    story[0] = '\0';
    int code = MPI_Comm_dup(comm, &dup);
    CHECK_EQUAL(check_class(code), MPI_ERR_NO_SPACE);
    if (check_strict()) { /* MPICH 5 deletes nothing. */
        CHECK(strcmp(story, "ab!BA") == 0);
        CHECK(dup == MPI_COMM_NULL);
        CHECK(deleted_of != comm);
    }
    for (int index = 0; index < 4; index++) {
        MUST(MPI_Comm_get_attr(comm, keyval[index], &value, &flag));
        CHECK(flag && value == &names[index]);
    }
    names[2] = 'c';
    story[0] = '\0';
    for (int index = 0; index < 4; index++)
        MUST(MPI_Comm_free_keyval(&keyval[index]));
    MUST(MPI_Comm_dup(comm, &dup));
    /* The standard leaves the order to the library. */
    CHECK_STRICTLY(strcmp(story, "abcd") == 0);
    MUST(MPI_Comm_free(&comm));
    CHECK_STRICTLY(strcmp(story, "abcdDCBA") == 0);
    MUST(MPI_Comm_free(&dup));
    CHECK_EQUAL(strlen(story), 12);
}

static int type_copied(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    int size = 0;
    (void)keyval;
    MUST(MPI_Type_size(type, &size));
    tell(*(char *)extra);
    *(void **)out = in;
    *flag = 1;
    return *(char *)extra == '!' ? MPI_ERR_NO_SPACE : MPI_SUCCESS;
}

static int type_deleted(MPI_Datatype type, int keyval, void *value, void *extra)
{
    int size = 0;
    (void)keyval;
    (void)value;
    MUST(MPI_Type_size(type, &size));
    tell((char)(*(char *)extra + 'A' - 'a'));
    return MPI_SUCCESS;
}

static void half_copied_type(void)
{
    static char names[] = "ab!";
    MPI_Datatype type, dup;
    int keyval[3];
    MUST(MPI_Type_contiguous(3, MPI_INT, &type));
    for (int index = 0; index < 3; index++) {
        MUST(MPI_Type_create_keyval(type_copied, type_deleted, &keyval[index], &names[index]));
        MUST(MPI_Type_set_attr(type, keyval[index], &names[index]));
    }
    story[0] = '\0';
    int code = MPI_Type_dup(type, &dup);
    CHECK_EQUAL(check_class(code), MPI_ERR_NO_SPACE);
    CHECK_STRICTLY(strcmp(story, "ab!BA") == 0);
    names[2] = 'c';
    story[0] = '\0';
    for (int index = 0; index < 3; index++)
        MUST(MPI_Type_free_keyval(&keyval[index]));
    MUST(MPI_Type_free(&type));
    CHECK_STRICTLY(strcmp(story, "CBA") == 0);
}

/* A code of the program's own comes back as it is. */
static int own_code;

static int refused(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    return *(int *)extra ? own_code : MPI_SUCCESS;
}

static void own_codes(void)
{
    static int value, stubborn = 1;
    MPI_Comm comm;
    int keyval, class;
    MUST(MPI_Add_error_class(&class));
    MUST(MPI_Add_error_code(class, &own_code));
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refused, &keyval, &stubborn));
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_attr(comm, keyval, &value));
    if (check_strict()) {
        CHECK_EQUAL(MPI_Comm_delete_attr(comm, keyval), own_code);
        CHECK_EQUAL(MPI_Comm_set_attr(comm, keyval, &class), own_code);
        CHECK_EQUAL(MPI_Comm_free(&comm), own_code);
    }
    stubborn = 0;
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_free_keyval(&keyval));
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* The names of MPI-1: MPI_NULL_COPY_FN and MPI_DUP_FN have the values of the later ones. */
static void of_mpi_1(void)
{
    static int value;
    MPI_Comm comm, dup;
    int always, never, flag = 0, *found = NULL;
    MUST(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &always, NULL));
    MUST(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &never, NULL));
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST(MPI_Attr_put(comm, always, &value));
    MUST(MPI_Attr_put(comm, never, &value));
    MUST(MPI_Comm_dup(comm, &dup));
    MUST(MPI_Attr_get(dup, always, &found, &flag));
    CHECK(flag && found == &value);
    MUST(MPI_Attr_get(dup, never, &found, &flag));
    CHECK(!flag);
    MUST(MPI_Attr_delete(dup, always));
    MUST(MPI_Attr_get(dup, always, &found, &flag));
    CHECK(!flag);
    MUST(MPI_Comm_free(&dup));
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Keyval_free(&always));
    CHECK_EQUAL(always, MPI_KEYVAL_INVALID);
    MUST(MPI_Keyval_free(&never));
    MUST(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &found, &flag));
    CHECK(flag && *found >= 32767);
}

static int last_words(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int finalized = 1;
    (void)keyval;
    (void)value;
    CHECK(comm == MPI_COMM_SELF);
    MUST(MPI_Finalized(&finalized));
    CHECK(!finalized);
    tell(*(char *)extra);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static char names[] = "abc";
    check_start(&argc, &argv);
    section("not ours");
    not_ours();
    section("of another kind");
    of_another_kind();
    section("copied by half");
    half_copied();
    half_copied_type();
    section("codes of our own");
    own_codes();
    section("of MPI-1");
    of_mpi_1();
    section("the end");
    story[0] = '\0';
    for (int index = 0; index < 3; index++) {
        int keyval;
        MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_words, &keyval, &names[index]));
        MUST(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, names));
        MUST(MPI_Comm_free_keyval(&keyval));
    }
    int total = check_total();
    MUST(MPI_Comm_free(&check_comm));
    MUST(MPI_Finalize());
    return check_verdict(total + (strcmp(story, "cba") != 0));
}
