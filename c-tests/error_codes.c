/* Error classes, codes and strings: the predefined ones, and those that a program adds. */
#include "check.h"

/* Every predefined class is its own class and has a text of its own. */
static void predefined(void)
{
    char text[MPI_MAX_ERROR_STRING], success[MPI_MAX_ERROR_STRING];
    int length = -1;
    MUST(MPI_Error_string(MPI_SUCCESS, success, &length));
    CHECK((size_t)length == strlen(success));
    for (int class = MPI_SUCCESS + 1; class <= MPI_ERR_ABI; class++) {
        int same = -1;
        MUST(MPI_Error_class(class, &same));
        CHECK_EQUAL(same, class);
        memset(text, 1, sizeof text);
        MUST(MPI_Error_string(class, text, &length));
        CHECK(length > 0 && length < MPI_MAX_ERROR_STRING);
        CHECK((size_t)length == strlen(text));
        CHECK(strcmp(text, success) != 0);
    }
}

static int last_used(void)
{
    int *value = NULL, flag = 0;
    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    CHECK(flag);
    return flag ? *value : 0;
}

static void added(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int class = 0, other = 0, code[3], found = 0, length = 0;
    int before = last_used();
    CHECK(before >= MPI_ERR_LASTCODE);
    MUST(MPI_Add_error_class(&class));
    CHECK(class > MPI_ERR_LASTCODE);
    CHECK(last_used() >= class && last_used() > before);
    MUST(MPI_Add_error_class(&other));
    CHECK(other != class);
    for (int index = 0; index < 3; index++) {
        MUST(MPI_Add_error_code(index == 2 ? MPI_ERR_TAG : class, &code[index]));
        CHECK(code[index] > MPI_ERR_LASTCODE);
        MUST(MPI_Error_class(code[index], &found));
        CHECK_EQUAL(found, index == 2 ? MPI_ERR_TAG : class);
    }
    CHECK(code[0] != code[1]);
    MUST(MPI_Error_class(class, &found));
    CHECK_EQUAL(found, class);
    MUST(MPI_Error_string(class, text, &length));
    CHECK_EQUAL(length, 0);
    MUST(MPI_Add_error_string(class, "out of tea"));
    MUST(MPI_Add_error_string(code[0], "out of green tea"));
    MUST(MPI_Error_string(class, text, &length));
    CHECK(strcmp(text, "out of tea") == 0 && length == 10);
    MUST(MPI_Error_string(code[0], text, &length));
    CHECK(strcmp(text, "out of green tea") == 0 && length == 16);
    MUST(MPI_Error_string(code[1], text, &length));
    CHECK_EQUAL(length, 0);
    /* A text is bytes in any encoding: here Latin-1, which is not UTF-8. */
    MUST(MPI_Add_error_string(code[0], "no caf\xe9"));
    MUST(MPI_Error_string(code[0], text, &length));
    CHECK(strcmp(text, "no caf\xe9") == 0 && length == 7);
    if (check_strict()) /* MPICH 5 lets a program change a predefined text. */
        MUST_FAIL_2(MPI_Add_error_string(MPI_ERR_TAG, "mine"), MPI_ERR_ARG, MPI_ERR_OTHER);
}

static int handled;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled = *code;
}

/* A code of our own reaches the handler as it is. */
static void called_by_hand(void)
{
    MPI_Errhandler handler;
    MPI_Comm comm;
    int class, code;
    MUST(MPI_Add_error_class(&class));
    MUST(MPI_Add_error_code(class, &code));
    MUST(MPI_Comm_create_errhandler(on_error, &handler));
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST(MPI_Comm_set_errhandler(comm, handler));
    MUST(MPI_Comm_call_errhandler(comm, code));
    CHECK_EQUAL(handled, code);
    MUST(MPI_Comm_call_errhandler(comm, class));
    CHECK_EQUAL(handled, class);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Errhandler_free(&handler));
}

/* What was added can be taken away again, the last first (MPI 4.1). */
static void removed(void)
{
    int class, code;
    MUST(MPI_Add_error_class(&class));
    MUST(MPI_Add_error_code(class, &code));
    MUST(MPI_Add_error_string(code, "short-lived"));
    if (check_strict()) { /* MPICH 5 takes them in any order. */
        int found;
        MUST_FAIL_2(MPI_Remove_error_code(code), MPI_ERR_ARG, MPI_ERR_OTHER);
        MUST_FAIL_2(MPI_Remove_error_class(class), MPI_ERR_ARG, MPI_ERR_OTHER);
        MUST_FAIL_2(MPI_Remove_error_class(code), MPI_ERR_ARG, MPI_ERR_OTHER);
        MUST_FAIL_2(MPI_Remove_error_code(class), MPI_ERR_ARG, MPI_ERR_OTHER);
        MUST_FAIL_2(MPI_Remove_error_class(MPI_ERR_TAG), MPI_ERR_ARG, MPI_ERR_OTHER);
        MUST_FAIL_2(MPI_Remove_error_code(MPI_ERR_TAG), MPI_ERR_ARG, MPI_ERR_OTHER);
        MUST_FAIL_2(MPI_Remove_error_string(MPI_ERR_TAG), MPI_ERR_ARG, MPI_ERR_OTHER);
        MUST(MPI_Error_class(code, &found));
        CHECK_EQUAL(found, class);
    }
    int most = last_used();
    MUST(MPI_Remove_error_string(code));
    MUST(MPI_Remove_error_code(code));
    if (check_strict())
        MUST_FAIL_2(MPI_Remove_error_code(code), MPI_ERR_ARG, MPI_ERR_OTHER);
    MUST(MPI_Remove_error_class(class));
    CHECK(last_used() <= most);
    if (check_strict()) {
        int none;
        MUST_FAIL_2(MPI_Error_class(class, &none), MPI_ERR_ARG, MPI_ERR_OTHER);
        MUST_FAIL_2(MPI_Add_error_code(class, &none), MPI_ERR_ARG, MPI_ERR_OTHER);
        MUST_FAIL_2(MPI_Add_error_string(code, "gone"), MPI_ERR_ARG, MPI_ERR_OTHER);
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("predefined");
    predefined();
    section("added");
    added();
    section("called by hand");
    called_by_hand();
    section("removed");
    removed();
    return check_end();
}
