/*
 * Extensions: failures that a job survives (User-Level Failure Mitigation), with the names and values of
 * Open MPI, and clusters that are one world (Interoperable MPI). Include <mpi.h> first. A job survives
 * failures below mpirun --with-ft ulfm.
 */
#ifndef SUIRO_MPI_EXT_H
#define SUIRO_MPI_EXT_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OMPI_HAVE_MPI_EXT 1
#define OMPI_HAVE_MPI_EXT_FTMPI 1
#define OMPI_HAVE_MPIX_COMM_GET_FAILED 1
#define OMPI_HAVE_MPIX_COMM_ACK_FAILED 1
#define OMPI_HAVE_MPIX_COMM_ISHRINK 1

/* Error classes. */
#define MPIX_ERR_PROC_FAILED 75
#define MPIX_ERR_PROC_FAILED_PENDING 76
#define MPIX_ERR_REVOKED 77
#define MPI_ERR_PROC_FAILED MPIX_ERR_PROC_FAILED
#define MPI_ERR_PROC_FAILED_PENDING MPIX_ERR_PROC_FAILED_PENDING
#define MPI_ERR_REVOKED MPIX_ERR_REVOKED

/* An attribute of communicators: 1 if the job survives failures, else 0. */
#define MPIX_FT 1000
#define MPI_FT MPIX_FT

/*
 * Attributes of communicators in a world of several clients (IMPI): the number of clients and of hosts of
 * its processes, and the color of this process, from 0, for MPI_Comm_split.
 */
#define IMPI_CLIENT_SIZE 1001
#define IMPI_CLIENT_COLOR 1002
#define IMPI_HOST_SIZE 1003
#define IMPI_HOST_COLOR 1004

int MPIX_Comm_revoke(MPI_Comm comm);
int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);
int MPIX_Comm_failure_ack(MPI_Comm comm);
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failedgrp);
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
int MPIX_Comm_agree(MPI_Comm comm, int *flag);
int MPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int MPIX_File_revoke(MPI_File fh);
int MPIX_File_is_revoked(MPI_File fh, int *flag);
int MPIX_File_get_failed(MPI_File fh, MPI_Group *failedgrp);
int MPIX_Win_revoke(MPI_Win win);
int MPIX_Win_is_revoked(MPI_Win win, int *flag);
int MPIX_Win_get_failed(MPI_Win win, MPI_Group *failedgrp);
int PMPIX_Comm_revoke(MPI_Comm comm);
int PMPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int PMPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);
int PMPIX_Comm_failure_ack(MPI_Comm comm);
int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failedgrp);
int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
int PMPIX_Comm_agree(MPI_Comm comm, int *flag);
int PMPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int PMPIX_File_revoke(MPI_File fh);
int PMPIX_File_is_revoked(MPI_File fh, int *flag);
int PMPIX_File_get_failed(MPI_File fh, MPI_Group *failedgrp);
int PMPIX_Win_revoke(MPI_Win win);
int PMPIX_Win_is_revoked(MPI_Win win, int *flag);
int PMPIX_Win_get_failed(MPI_Win win, MPI_Group *failedgrp);

#ifdef __cplusplus
}
#endif

#endif
