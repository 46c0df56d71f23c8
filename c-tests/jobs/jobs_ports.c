/* Ports inside one job and their errors (MPI 5.0 §11.9): accept and connect between ranks, several ports,
 * names, times, join. */
#include "../check.h"

#include <sys/socket.h>
#include <sys/un.h>

static void talk(MPI_Comm between, int mine)
{
    int other = -1, size;
    MUST(MPI_Comm_remote_size(between, &size));
    CHECK(size == 1);
    MUST(MPI_Sendrecv(&mine, 1, MPI_INT, 0, 1, &other, 1, MPI_INT, 0, 1, between, MPI_STATUS_IGNORE));
    CHECK(other == 1 - mine);
}

static void names(void)
{
    section("names");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
    if (check_rank == 0) {
        MUST(MPI_Open_port(MPI_INFO_NULL, port));
        CHECK(strlen(port) > 0 && strlen(port) < MPI_MAX_PORT_NAME);
        MUST(MPI_Publish_name("a service; with=signs", MPI_INFO_NULL, port));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Lookup_name("a service; with=signs", MPI_INFO_NULL, found));
    if (check_rank == 0)
        CHECK(strcmp(port, found) == 0);
    MUST_FAIL(MPI_Lookup_name("another service", MPI_INFO_NULL, found), MPI_ERR_NAME);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0) {
        MUST(MPI_Unpublish_name("a service; with=signs", MPI_INFO_NULL, port));
        MUST_FAIL(MPI_Unpublish_name("a service; with=signs", MPI_INFO_NULL, port), MPI_ERR_SERVICE);
        MUST(MPI_Close_port(port));
        MUST_FAIL(MPI_Close_port(port), MPI_ERR_PORT);
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST_FAIL(MPI_Lookup_name("a service; with=signs", MPI_INFO_NULL, found), MPI_ERR_NAME);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void errors(void)
{
    section("ports that are none, and times");
    MPI_Comm between;
    MPI_Info in_short;
    char port[MPI_MAX_PORT_NAME];
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MUST(MPI_Info_create(&in_short));
    MUST(MPI_Info_set(in_short, "timeout", "1"));
    MUST_FAIL(MPI_Comm_connect("tag#0$connentry#0200$", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between),
              MPI_ERR_PORT);
    MUST_FAIL(MPI_Comm_accept("", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between), MPI_ERR_PORT);
    MUST(MPI_Open_port(MPI_INFO_NULL, port));
    MUST_FAIL(MPI_Comm_accept(port, in_short, 0, MPI_COMM_WORLD, &between), MPI_ERR_PORT);
    MUST_FAIL(MPI_Comm_connect(port, in_short, 0, MPI_COMM_WORLD, &between), MPI_ERR_PORT);
    MUST(MPI_Close_port(port));
    MUST_FAIL(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between), MPI_ERR_PORT);
    MUST(MPI_Info_free(&in_short));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

static void pairs(void)
{
    section("ranks that connect with each other");
    char ports[2][MPI_MAX_PORT_NAME];
    MPI_Comm between[2];
    int partner = check_rank ^ 1;
    if (partner >= check_size)
        return;
    for (int at = 0; at < 2; at++) {
        if (check_rank % 2 == 0) {
            MUST(MPI_Open_port(MPI_INFO_NULL, ports[at]));
            MUST(MPI_Send(ports[at], MPI_MAX_PORT_NAME, MPI_CHAR, partner, 1, MPI_COMM_WORLD));
        } else {
            MUST(MPI_Recv(ports[at], MPI_MAX_PORT_NAME, MPI_CHAR, partner, 1, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
        }
    }
    for (int turn = 0; turn < 3; turn++) {
        for (int at = 0; at < 2; at++) {
            if (check_rank % 2 == 0)
                MUST(MPI_Comm_accept(ports[at], MPI_INFO_NULL, 0, MPI_COMM_SELF, &between[at]));
            else
                MUST(MPI_Comm_connect(ports[at], MPI_INFO_NULL, 0, MPI_COMM_SELF, &between[at]));
        }
        for (int at = 1; at >= 0; at--) {
            talk(between[at], check_rank % 2);
            MUST(MPI_Comm_disconnect(&between[at]));
        }
    }
    if (check_rank % 2 == 0)
        for (int at = 0; at < 2; at++)
            MUST(MPI_Close_port(ports[at]));
}

/* The two ends of a connection by a socket in a folder of the host. */
static void join(void)
{
    section("join");
    int partner = check_rank ^ 1;
    if (partner >= check_size)
        return;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int pid = (int)getpid(), end;
    if (check_rank % 2 == 0)
        MUST(MPI_Send(&pid, 1, MPI_INT, partner, 2, MPI_COMM_WORLD));
    else
        MUST(MPI_Recv(&pid, 1, MPI_INT, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    /* Abstract: no file is left. */
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "suiro-join-%d", pid);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(listener >= 0);
    if (check_rank % 2 == 0) {
        CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
        CHECK(listen(listener, 1) == 0);
        MUST(MPI_Send(&pid, 0, MPI_INT, partner, 3, MPI_COMM_WORLD));
        end = accept(listener, NULL, NULL);
        close(listener);
    } else {
        MUST(MPI_Recv(&pid, 0, MPI_INT, partner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(connect(listener, (struct sockaddr *)&address, sizeof address) == 0);
        end = listener;
    }
    MPI_Comm between;
    MUST(MPI_Comm_join(end, &between));
    CHECK(between != MPI_COMM_NULL);
    talk(between, check_rank % 2);
    MUST(MPI_Comm_disconnect(&between));
    close(end);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    names();
    errors();
    pairs();
    join();
    return check_end();
}
