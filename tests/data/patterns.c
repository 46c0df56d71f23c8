/* Every rank sends to every other rank, and receives from it, messages of many lengths whose bytes
 * depend on sender, receiver, round and place; each byte that arrives is compared.
 *
 *   patterns [FILE]
 *
 * Rounds go on until rank 0 finds that file; without one there is one round. Rank 0 prints "under way"
 * after the first round, and at the end the number of wrong messages. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Around the limits of eager messages, of pieces and of socket buffers. */
static const int lengths[] = {0,     1,     7,      64,      1000,    4097, 16384,
                              65535, 65537, 300000, 1 << 20, (4 << 20) + 3};
enum { LENGTHS = sizeof lengths / sizeof *lengths, LONGEST = (4 << 20) + 3 };

/* A generator by Marsaglia, xorshift64, with 8 bytes a step. */
static void fill(unsigned char *bytes, int length, int from, int to, int round)
{
    uint64_t state = 0x9E3779B97F4A7C15u * (uint64_t)(1 + from + 1000 * to + 1000000 * (long)round + length);
    for (int at = 0; at < length; at += 8) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        memcpy(bytes + at, &state, length - at < 8 ? length - at : 8);
    }
}

static int rank, size;

/* One message to each rank and from each; how many are wrong. */
static int exchange(unsigned char *out, unsigned char *in, unsigned char *wanted, int length, int round)
{
    MPI_Request requests[2 * size];
    MPI_Status statuses[2 * size];
    int wrong = 0, count = 0;
    for (int other = 0; other < size; other++) {
        size_t place = (size_t)other * LONGEST;
        memset(in + place, 0xEE, length);
        MPI_Irecv(in + place, LONGEST, MPI_BYTE, other, round, MPI_COMM_WORLD, &requests[count++]);
    }
    for (int other = 0; other < size; other++) {
        size_t place = (size_t)other * LONGEST;
        fill(out + place, length, rank, other, round);
        MPI_Isend(out + place, length, MPI_BYTE, other, round, MPI_COMM_WORLD, &requests[count++]);
    }
    MPI_Waitall(count, requests, statuses);
    for (int other = 0; other < size; other++) {
        int received;
        MPI_Get_count(&statuses[other], MPI_BYTE, &received);
        fill(wanted, length, other, rank, round);
        wrong += received != length || memcmp(in + (size_t)other * LONGEST, wanted, length) != 0;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned char *out = malloc((size_t)size * LONGEST), *in = malloc((size_t)size * LONGEST);
    unsigned char *wanted = malloc(LONGEST);
    long wrong = 0, all = 0;
    for (int more = 1, round = 0; more; round++) {
        for (int index = 0; index < LENGTHS; index++)
            wrong += exchange(out, in, wanted, lengths[index], round % 30000);
        if (rank == 0 && round == 0) {
            printf("under way\n");
            fflush(stdout);
        }
        more = argc > 1 && access(argv[1], F_OK) != 0;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("wrong = %ld\n", all);
    free(out);
    free(in);
    free(wanted);
    MPI_Finalize();
    return 0;
}
