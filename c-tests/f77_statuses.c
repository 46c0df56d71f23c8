/* The part in C of f77_statuses.f. */
#include <mpi.h>

/* The same numbers in each form, changed at the end. */
int read_in_c_(MPI_Fint *status, MPI_Fint *source, MPI_Fint *tag, MPI_Fint *count)
{
    MPI_Status c_status, again;
    MPI_F08_status f08_status;
    int found, wrong = 0;
    wrong += MPI_Status_f2c(status, &c_status) != MPI_SUCCESS;
    wrong += c_status.MPI_SOURCE != *source || c_status.MPI_TAG != *tag;
    wrong += MPI_Get_count(&c_status, MPI_INTEGER, &found) != MPI_SUCCESS || found != *count;
    wrong += MPI_Status_c2f08(&c_status, &f08_status) != MPI_SUCCESS;
    wrong += f08_status.MPI_TAG != *tag;
    wrong += MPI_Status_f082c(&f08_status, &again) != MPI_SUCCESS;
    wrong += MPI_Status_set_elements(&again, MPI_INTEGER, 2) != MPI_SUCCESS;
    wrong += MPI_Status_set_cancelled(&again, 1) != MPI_SUCCESS;
    wrong += MPI_Status_c2f(&again, status) != MPI_SUCCESS;
    wrong += MPI_Status_f2f08(status, &f08_status) != MPI_SUCCESS;
    wrong += MPI_Status_f082f(&f08_status, status) != MPI_SUCCESS;
    return wrong;
}

int known_in_c_(MPI_Fint *one, MPI_Fint *many, MPI_Fint *neither)
{
    int wrong = one != MPI_F_STATUS_IGNORE || many != MPI_F_STATUSES_IGNORE;
    wrong += (MPI_F08_status *)one != MPI_F08_STATUS_IGNORE;
    wrong += (MPI_F08_status *)many != MPI_F08_STATUSES_IGNORE;
    return wrong + (neither == MPI_F_STATUS_IGNORE || neither == MPI_F_STATUSES_IGNORE);
}
