/* A rank ends while others receive from it, send to it and probe; the others shrink and go on. */
#include "failures.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int victim = size - 1, value = 0, flag = 0;
    static char large[1 << 20];
    if (rank == victim) {
        usleep(50000);
        die();
    }
    MPI_Request receive, send;
    MPI_Irecv(&value, 1, MPI_INT, victim, 5, MPI_COMM_WORLD, &receive);
    MPI_Isend(large, sizeof large, MPI_CHAR, victim, 6, MPI_COMM_WORLD, &send);
    EXPECT_IS(class_of(MPI_Recv(&value, 1, MPI_INT, victim, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)),
              MPIX_ERR_PROC_FAILED);
    EXPECT_IS(class_of(MPI_Wait(&receive, MPI_STATUS_IGNORE)), MPIX_ERR_PROC_FAILED);
    EXPECT(receive == MPI_REQUEST_NULL);
    EXPECT_IS(class_of(MPI_Wait(&send, MPI_STATUS_IGNORE)), MPIX_ERR_PROC_FAILED);
    EXPECT_IS(class_of(MPI_Send(&value, 1, MPI_INT, victim, 5, MPI_COMM_WORLD)),
              MPIX_ERR_PROC_FAILED);
    EXPECT_IS(class_of(MPI_Probe(victim, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)),
              MPIX_ERR_PROC_FAILED);
    EXPECT_IS(class_of(MPI_Iprobe(victim, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE)),
              MPIX_ERR_PROC_FAILED);
    MPI_Message message;
    EXPECT_IS(class_of(MPI_Mprobe(victim, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE)),
              MPIX_ERR_PROC_FAILED);
    EXPECT_IS(class_of(MPI_Sendrecv(&value, 1, MPI_INT, victim, 3, &flag, 1, MPI_INT, victim, 3,
                                    MPI_COMM_WORLD, MPI_STATUS_IGNORE)),
              MPIX_ERR_PROC_FAILED);
    MPI_Request persistent;
    MPI_Recv_init(&value, 1, MPI_INT, victim, 5, MPI_COMM_WORLD, &persistent);
    EXPECT_IS(MPI_Start(&persistent), MPI_SUCCESS);
    EXPECT_IS(class_of(MPI_Wait(&persistent, MPI_STATUS_IGNORE)), MPIX_ERR_PROC_FAILED);
    EXPECT(persistent != MPI_REQUEST_NULL);
    MPI_Request_free(&persistent);

    /* Messages between survivors go on. */
    if (size > 2) {
        int living = size - 1, to = (rank + 1) % living, from = (rank + living - 1) % living;
        EXPECT_IS(MPI_Sendrecv(&rank, 1, MPI_INT, to, 1, &value, 1, MPI_INT, from, 1,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
        EXPECT_IS(value, from);
    }

    MPI_Group failed, world;
    int members = -1, in_world = -1, zero = 0;
    EXPECT_IS(MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed), MPI_SUCCESS);
    MPI_Group_size(failed, &members);
    EXPECT_IS(members, 1);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(failed, 1, &zero, world, &in_world);
    EXPECT_IS(in_world, victim);
    MPI_Group_free(&failed);
    MPI_Group_free(&world);

    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    MPI_Error_string(MPIX_ERR_PROC_FAILED, text, &length);
    EXPECT(strstr(text, "PROC_FAILED"));
    MPI_Add_error_class(&class);
    EXPECT(class > MPI_ERR_LASTCODE);

    MPI_Comm survivors;
    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors), MPI_SUCCESS);
    check_works(survivors, size - 1);
    return end(survivors);
}
