/* The C side of f90_attributes.f90: sets attributes that Fortran reads, and the other way. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

static int errors;
static int number = 1234;

static void expect(int ok, const char *what)
{
    if (ok) return;
    errors++;
    printf("wrong in C: %s\n", what);
}

/* Sets an attribute to the address of an int: an address is what Fortran reads. */
void c_set_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Aint *address)
{
    MPI_Comm_set_attr(MPI_Comm_fromint(*comm), *keyval, &number);
    *address = (MPI_Aint)(intptr_t)&number;
}

/* The same as a number that only looks like a pointer. */
void c_set_value_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Aint *value)
{
    MPI_Comm_set_attr(MPI_Comm_fromint(*comm), *keyval, (void *)(intptr_t)*value);
}

/* Reads what Fortran set with MPI_Comm_set_attr: a pointer to an address-sized integer. */
void c_read_aint_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Aint *expected)
{
    MPI_Aint *value = NULL;
    int flag = 0;
    MPI_Comm_get_attr(MPI_Comm_fromint(*comm), *keyval, &value, &flag);
    expect(flag, "the attribute of Fortran is there");
    expect(flag && *value == *expected, "the value of Fortran");
}

/* Reads what Fortran set with MPI_Attr_put: a pointer to an int. */
void c_read_int_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *expected)
{
    int *value = NULL;
    int flag = 0;
    MPI_Comm_get_attr(MPI_Comm_fromint(*comm), *keyval, &value, &flag);
    expect(flag, "the attribute of MPI_ATTR_PUT is there");
    expect(flag && *value == *expected, "the value of MPI_ATTR_PUT");
}

/* Reads what C set. */
void c_read_own_(MPI_Fint *comm, MPI_Fint *keyval)
{
    void *value = NULL;
    int flag = 0;
    MPI_Comm_get_attr(MPI_Comm_fromint(*comm), *keyval, &value, &flag);
    expect(flag && value == &number, "the value of C");
}

static int c_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    expect(*(int *)extra == 77, "the extra state of C");
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int deleted;

static int c_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    expect(*(int *)extra == 77, "the extra state of C, in the end");
    deleted++;
    return MPI_SUCCESS;
}

/* A keyval with functions in C for attributes that Fortran sets. */
void c_keyval_(MPI_Fint *keyval)
{
    static int extra = 77;
    MPI_Comm_create_keyval(c_copy, c_delete, keyval, &extra);
}

void c_deleted_(MPI_Fint *count)
{
    *count = deleted;
}

/* Errors so far. */
void c_errors_(MPI_Fint *count)
{
    *count = errors;
}
