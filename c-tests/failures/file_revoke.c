/* A rank revokes a file: calls of all ranks on it end, those on another file go on. Arguments: a path, what the
 * others wait in, and "die" if the rank that revokes ends at once. */
#include "failures.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int dies = argc > 3 && strcmp(argv[3], "die") == 0, flag = -1, mode = MPI_MODE_RDWR | MPI_MODE_CREATE;
    const char *kind = argv[2];
    char other_name[4096], text[64] = "", got[64];
    snprintf(other_name, sizeof other_name, "%s.other", argv[1]);
    MPI_File file, other;
    MPI_Request request;
    EXPECT_IS(MPI_File_open(MPI_COMM_WORLD, argv[1], mode | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file),
              MPI_SUCCESS);
    EXPECT_IS(MPI_File_open(MPI_COMM_WORLD, other_name, mode | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &other),
              MPI_SUCCESS);
    EXPECT_IS(MPIX_File_is_revoked(file, &flag), MPI_SUCCESS);
    EXPECT_IS(flag, 0);
    EXPECT_IS(MPI_File_write_at(file, 64 * rank, text, 64, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        usleep(50000);
        EXPECT_IS(MPIX_File_revoke(file), MPI_SUCCESS);
        if (dies)
            die();
        EXPECT_IS(MPIX_File_revoke(file), MPI_SUCCESS);
    } else if (strcmp(kind, "write") == 0) {
        int code = MPI_File_write_at_all(file, 64 * rank, text, 64, MPI_BYTE, MPI_STATUS_IGNORE);
        EXPECT_IS(class_of(code), MPIX_ERR_REVOKED);
    } else if (strcmp(kind, "sync") == 0) {
        EXPECT_IS(class_of(MPI_File_sync(file)), MPIX_ERR_REVOKED);
    } else if (strcmp(kind, "read") == 0) {
        EXPECT_IS(MPI_File_iread_at_all(file, 0, got, 64, MPI_BYTE, &request), MPI_SUCCESS);
        EXPECT_IS(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPIX_ERR_REVOKED);
    } else {
        int code = MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
        EXPECT_IS(class_of(code), MPIX_ERR_REVOKED);
    }
    /* And all calls that follow, but those that only ask. */
    MPI_Offset offset;
    EXPECT_IS(class_of(MPI_File_write_at(file, 0, text, 64, MPI_BYTE, MPI_STATUS_IGNORE)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_File_read(file, got, 64, MPI_BYTE, MPI_STATUS_IGNORE)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_File_iwrite_at(file, 0, text, 64, MPI_BYTE, &request)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_File_write_shared(file, text, 64, MPI_BYTE, MPI_STATUS_IGNORE)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_File_get_position_shared(file, &offset)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_File_read_ordered(file, got, 64, MPI_BYTE, MPI_STATUS_IGNORE)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_File_write_all_begin(file, text, 64, MPI_BYTE)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_File_set_size(file, 0)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_File_set_atomicity(file, 1)), MPIX_ERR_REVOKED);
    EXPECT_IS(MPI_File_get_size(file, &offset), MPI_SUCCESS);
    EXPECT_IS(offset, 64 * size);
    EXPECT_IS(MPI_File_get_position(file, &offset), MPI_SUCCESS);
    EXPECT_IS(MPIX_File_is_revoked(file, &flag), MPI_SUCCESS);
    EXPECT_IS(flag, 1);
    MPI_Comm survivors;
    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors), MPI_SUCCESS);
    MPI_Group failed;
    int lost = -1;
    EXPECT_IS(MPIX_File_get_failed(file, &failed), MPI_SUCCESS);
    MPI_Group_size(failed, &lost);
    EXPECT_IS(lost, dies);
    EXPECT_IS(MPI_Group_free(&failed), MPI_SUCCESS);
    /* Closing needs no other rank: here, each waits for the one before it. */
    int me, left, before;
    MPI_Comm_rank(survivors, &me);
    MPI_Comm_size(survivors, &left);
    if (me > 0)
        MPI_Recv(&before, 1, MPI_INT, me - 1, 5, survivors, MPI_STATUS_IGNORE);
    EXPECT_IS(class_of(MPI_File_close(&file)), dies ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS);
    EXPECT(file == MPI_FILE_NULL);
    if (me < left - 1)
        MPI_Send(&me, 1, MPI_INT, me + 1, 5, survivors);
    /* The file of the survivors is deleted though rank 0 has failed. */
    MPI_Barrier(survivors);
    EXPECT(access(argv[1], F_OK) != 0);
    EXPECT_IS(MPIX_File_is_revoked(other, &flag), MPI_SUCCESS);
    EXPECT_IS(flag, 0);
    EXPECT_IS(MPI_File_write_at(other, 64 * rank, text, 64, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_IS(MPI_File_read_at(other, 64 * rank, got, 64, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    int code = MPI_File_write_at_all(other, 64 * rank, text, 64, MPI_BYTE, MPI_STATUS_IGNORE);
    EXPECT_IS(class_of(code), dies ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS);
    /* Rank 0 has the shared pointer. */
    EXPECT_IS(class_of(MPI_File_write_shared(other, text, 64, MPI_BYTE, MPI_STATUS_IGNORE)),
              dies ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS);
    EXPECT_IS(class_of(MPI_File_close(&other)), dies ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS);
    MPI_Barrier(survivors);
    EXPECT(access(other_name, F_OK) != 0);
    check_works(survivors, dies ? size - 1 : size);
    return end(survivors);
}
