/* Handles and statuses between C and Fortran (MPI 5.0, section 19.3); included by mpi.h.
 *
 * The standard ABI has no symbols for these, since MPI_Fint is the compiler's. An INTEGER that
 * stands for a handle is the one of MPI_X_toint, so macros are enough, and a program that uses
 * them needs nothing from the library that another one with this ABI has not. A Fortran status
 * has the numbers of a C status in their order.
 */

#ifndef MPI_FORTRAN_H_INCLUDED
#define MPI_FORTRAN_H_INCLUDED

/* The default INTEGER of Fortran. */
typedef int MPI_Fint;

#define MPI_Comm_c2f                        MPI_Comm_toint
#define MPI_Errhandler_c2f                  MPI_Errhandler_toint
#define MPI_File_c2f                        MPI_File_toint
#define MPI_Group_c2f                       MPI_Group_toint
#define MPI_Info_c2f                        MPI_Info_toint
#define MPI_Message_c2f                     MPI_Message_toint
#define MPI_Op_c2f                          MPI_Op_toint
#define MPI_Request_c2f                     MPI_Request_toint
#define MPI_Session_c2f                     MPI_Session_toint
#define MPI_Type_c2f                        MPI_Type_toint
#define MPI_Win_c2f                         MPI_Win_toint

#define PMPI_Comm_c2f                       PMPI_Comm_toint
#define PMPI_Errhandler_c2f                 PMPI_Errhandler_toint
#define PMPI_File_c2f                       PMPI_File_toint
#define PMPI_Group_c2f                      PMPI_Group_toint
#define PMPI_Info_c2f                       PMPI_Info_toint
#define PMPI_Message_c2f                    PMPI_Message_toint
#define PMPI_Op_c2f                         PMPI_Op_toint
#define PMPI_Request_c2f                    PMPI_Request_toint
#define PMPI_Session_c2f                    PMPI_Session_toint
#define PMPI_Type_c2f                       PMPI_Type_toint
#define PMPI_Win_c2f                        PMPI_Win_toint

#define MPI_Comm_f2c                        MPI_Comm_fromint
#define MPI_Errhandler_f2c                  MPI_Errhandler_fromint
#define MPI_File_f2c                        MPI_File_fromint
#define MPI_Group_f2c                       MPI_Group_fromint
#define MPI_Info_f2c                        MPI_Info_fromint
#define MPI_Message_f2c                     MPI_Message_fromint
#define MPI_Op_f2c                          MPI_Op_fromint
#define MPI_Request_f2c                     MPI_Request_fromint
#define MPI_Session_f2c                     MPI_Session_fromint
#define MPI_Type_f2c                        MPI_Type_fromint
#define MPI_Win_f2c                         MPI_Win_fromint

#define PMPI_Comm_f2c                       PMPI_Comm_fromint
#define PMPI_Errhandler_f2c                 PMPI_Errhandler_fromint
#define PMPI_File_f2c                       PMPI_File_fromint
#define PMPI_Group_f2c                      PMPI_Group_fromint
#define PMPI_Info_f2c                       PMPI_Info_fromint
#define PMPI_Message_f2c                    PMPI_Message_fromint
#define PMPI_Op_f2c                         PMPI_Op_fromint
#define PMPI_Request_f2c                    PMPI_Request_fromint
#define PMPI_Session_f2c                    PMPI_Session_fromint
#define PMPI_Type_f2c                       PMPI_Type_fromint
#define PMPI_Win_f2c                        PMPI_Win_fromint

static __inline__ int MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    int index;
    f_status[MPI_F_SOURCE] = c_status->MPI_SOURCE;
    f_status[MPI_F_TAG] = c_status->MPI_TAG;
    f_status[MPI_F_ERROR] = c_status->MPI_ERROR;
    for (index = 0; index < MPI_F_STATUS_SIZE - 3; index++)
        f_status[3 + index] = c_status->MPI_internal[index];
    return MPI_SUCCESS;
}

static __inline__ int MPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    int index;
    c_status->MPI_SOURCE = f_status[MPI_F_SOURCE];
    c_status->MPI_TAG = f_status[MPI_F_TAG];
    c_status->MPI_ERROR = f_status[MPI_F_ERROR];
    for (index = 0; index < MPI_F_STATUS_SIZE - 3; index++)
        c_status->MPI_internal[index] = f_status[3 + index];
    return MPI_SUCCESS;
}

/* TYPE(MPI_Status) of module mpi_f08. */
typedef struct MPI_F08_status {
    MPI_Fint MPI_SOURCE;
    MPI_Fint MPI_TAG;
    MPI_Fint MPI_ERROR;
    MPI_Fint MPI_internal[MPI_F_STATUS_SIZE - 3];
} MPI_F08_status;

static __inline__ int MPI_Status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status)
{
    int index;
    f_status[MPI_F_SOURCE] = f08_status->MPI_SOURCE;
    f_status[MPI_F_TAG] = f08_status->MPI_TAG;
    f_status[MPI_F_ERROR] = f08_status->MPI_ERROR;
    for (index = 0; index < MPI_F_STATUS_SIZE - 3; index++)
        f_status[3 + index] = f08_status->MPI_internal[index];
    return MPI_SUCCESS;
}

static __inline__ int MPI_Status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status)
{
    int index;
    f08_status->MPI_SOURCE = f_status[MPI_F_SOURCE];
    f08_status->MPI_TAG = f_status[MPI_F_TAG];
    f08_status->MPI_ERROR = f_status[MPI_F_ERROR];
    for (index = 0; index < MPI_F_STATUS_SIZE - 3; index++)
        f08_status->MPI_internal[index] = f_status[3 + index];
    return MPI_SUCCESS;
}

static __inline__ int MPI_Status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status)
{
    MPI_Fint f_status[MPI_F_STATUS_SIZE];
    MPI_Status_c2f(c_status, f_status);
    return MPI_Status_f2f08(f_status, f08_status);
}

static __inline__ int MPI_Status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status)
{
    MPI_Fint f_status[MPI_F_STATUS_SIZE];
    MPI_Status_f082f(f08_status, f_status);
    return MPI_Status_f2c(f_status, c_status);
}

#define PMPI_Status_c2f                     MPI_Status_c2f
#define PMPI_Status_c2f08                   MPI_Status_c2f08
#define PMPI_Status_f082c                   MPI_Status_f082c
#define PMPI_Status_f082f                   MPI_Status_f082f
#define PMPI_Status_f2c                     MPI_Status_f2c
#define PMPI_Status_f2f08                   MPI_Status_f2f08

/* Fortran's variables of these names, which are known by their addresses; a program that names
 * them is linked by mpifort. */
extern MPI_Fint suirostatusignore_[], suirostatusesignore_[];
#define MPI_F_STATUS_IGNORE                 ((MPI_Fint *)suirostatusignore_)
#define MPI_F_STATUSES_IGNORE               ((MPI_Fint *)suirostatusesignore_)
#define MPI_F08_STATUS_IGNORE               ((MPI_F08_status *)suirostatusignore_)
#define MPI_F08_STATUSES_IGNORE             ((MPI_F08_status *)suirostatusesignore_)

#endif
