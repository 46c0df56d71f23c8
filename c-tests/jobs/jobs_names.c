/* Names at a name server, in one of two independent jobs (MPI 5.0 §11.9.4):
 *
 *   jobs_names server NAME   publishes a port under NAME, accepts, and removes the name
 *   jobs_names client NAME   looks NAME up, connects
 *   jobs_names scopes NAME   the scopes of a name and the errors
 *   jobs_names alone NAME    the same without a name server
 */
#include "../check.h"

static char port[MPI_MAX_PORT_NAME];

static MPI_Info info_of(const char *key, const char *value)
{
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, key, value));
    return info;
}

static void talk(MPI_Comm between)
{
    int mine = check_rank + 1, sum = 0, remote;
    MPI_Comm all;
    MUST(MPI_Comm_remote_size(between, &remote));
    MUST(MPI_Intercomm_merge(between, 0, &all));
    MUST(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK(sum == check_size * (check_size + 1) / 2 + remote * (remote + 1) / 2);
    MUST(MPI_Comm_disconnect(&all));
    MUST(MPI_Comm_disconnect(&between));
}

static void server(const char *name)
{
    MPI_Comm between;
    if (check_rank == 0) {
        MUST(MPI_Open_port(MPI_INFO_NULL, port));
        MUST(MPI_Publish_name(name, MPI_INFO_NULL, port));
        printf("\npublished\n");
        fflush(stdout);
    }
    MUST(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between));
    talk(between);
    if (check_rank == 0) {
        MUST(MPI_Unpublish_name(name, MPI_INFO_NULL, port));
        MUST(MPI_Close_port(port));
    }
}

static void client(const char *name)
{
    MPI_Comm between;
    if (check_rank == 0) {
        char other[MPI_MAX_PORT_NAME];
        MUST(MPI_Lookup_name(name, MPI_INFO_NULL, port));
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        /* It belongs to the other job. */
        MUST_FAIL(MPI_Publish_name(name, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
        MUST_FAIL(MPI_Unpublish_name(name, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
        MUST_FAIL(MPI_Lookup_name("none of these", MPI_INFO_NULL, other), MPI_ERR_NAME);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    }
    MUST(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between));
    talk(between);
}

static void alone(const char *name, int has_server)
{
    if (check_rank != 0)
        return;
    char found[MPI_MAX_PORT_NAME] = "";
    MPI_Info global = info_of("ompi_global_scope", "true"), local = info_of("ompi_global_scope", "0");
    MPI_Info replacing = info_of("ompi_unique", "false"), wrong = info_of("ompi_unique", "perhaps");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    section("a name has one port");
    MUST(MPI_Publish_name(name, MPI_INFO_NULL, "first"));
    MUST_FAIL(MPI_Publish_name(name, MPI_INFO_NULL, "second"), MPI_ERR_SERVICE);
    MUST(MPI_Publish_name(name, replacing, "third"));
    MUST(MPI_Lookup_name(name, MPI_INFO_NULL, found));
    CHECK(strcmp(found, "third") == 0);
    MUST_FAIL(MPI_Publish_name(name, wrong, "fourth"), MPI_ERR_INFO_VALUE);
    section("scopes");
    if (has_server) {
        MUST_FAIL(MPI_Lookup_name(name, local, found), MPI_ERR_NAME);
        MUST(MPI_Lookup_name(name, global, found));
        MUST(MPI_Publish_name(name, local, "of the job"));
        MUST(MPI_Lookup_name(name, MPI_INFO_NULL, found));
        CHECK(strcmp(found, "of the job") == 0);
        MUST(MPI_Unpublish_name(name, local, "of the job"));
        MUST(MPI_Unpublish_name(name, global, "third"));
    } else {
        MUST(MPI_Lookup_name(name, local, found));
        MUST_FAIL(MPI_Lookup_name(name, global, found), MPI_ERR_SERVICE);
        MUST_FAIL(MPI_Publish_name("another", global, "x"), MPI_ERR_SERVICE);
        MUST(MPI_Unpublish_name(name, MPI_INFO_NULL, "third"));
    }
    MUST_FAIL(MPI_Lookup_name(name, MPI_INFO_NULL, found), MPI_ERR_NAME);
    MUST_FAIL(MPI_Unpublish_name(name, MPI_INFO_NULL, "third"), MPI_ERR_SERVICE);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MUST(MPI_Info_free(&global));
    MUST(MPI_Info_free(&local));
    MUST(MPI_Info_free(&replacing));
    MUST(MPI_Info_free(&wrong));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    const char *part = argc > 1 ? argv[1] : "alone", *name = argc > 2 ? argv[2] : "a name";
    if (strcmp(part, "server") == 0)
        server(name);
    else if (strcmp(part, "client") == 0)
        client(name);
    else
        alone(name, strcmp(part, "scopes") == 0);
    return check_end();
}
