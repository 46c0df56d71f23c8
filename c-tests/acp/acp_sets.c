/* One set, multiset and map over all ranks, which all ranks change at once. */
#include "acp_check.h"

enum { KEYS = 24, SLOTS = 4 };

static struct memory scratch;

/* A key of a rank, or of all ranks if that is -1: of varied length. */
static acp_element_t key_of(int rank, int number)
{
    char *text = (char *)scratch.base;
    int length = sprintf(text, "%d of %d%.*s", number, rank, number % 17, "................");
    return (acp_element_t){scratch.at[check_rank], (size_t)length};
}

static acp_pair_t pair_of(int rank, int number, uint64_t value)
{
    memcpy(scratch.base + 64, &value, sizeof value);
    return (acp_pair_t){key_of(rank, number), {scratch.at[check_rank] + 64, sizeof value}};
}

/* A container that rank 0 has made, as the bytes that all ranks read. */
static void share(void *container, size_t bytes)
{
    if (check_rank == 0)
        memcpy(own(CHECK_OWN), container, bytes);
    acp_sync();
    DONE(acp_copy(starter(check_rank, CHECK_OWN + 64), starter(0, CHECK_OWN), bytes, NONE));
    memcpy(container, own(CHECK_OWN + 64), bytes);
    acp_sync();
}

static void sets(void)
{
    acp_set_t set = {0};
    if (check_rank == 0)
        set = acp_create(set, 0, NULL, SLOTS, check_size - 1);
    share(&set, sizeof set);
    CHECK(set.ga != ACP_GA_NULL && set.num_ranks == (uint64_t)check_size);
    for (int number = 0; number < KEYS; number++) {
        CHECK_EQUAL(acp_insert_set(set, key_of(check_rank, number)), 1);
        CHECK_EQUAL(acp_insert_set(set, key_of(-1, number)), 1);
    }
    acp_sync();
    size_t total = KEYS * ((size_t)check_size + 1), counted = 0;
    CHECK_EQUAL(acp_size_set(set), total);
    uint64_t *here = calloc((size_t)check_size, sizeof *here), sum = 0;
    gather(acp_size_local_set(set), here);
    for (int rank = 0; rank < check_size; rank++)
        sum += here[rank];
    CHECK_EQUAL(sum, total);
    if (check_rank == check_size / 2) {
        int end = acp_end_set(set).rank;
        for (acp_set_it_t it = acp_begin_set(set); it.rank != end; it = acp_increment_set_it(it))
            counted += acp_dereference_set_it(it).size > 0;
        CHECK_EQUAL(counted, total);
    }
    acp_sync();
    for (int number = 0; number < KEYS; number += 2)
        acp_remove_set(set, key_of(check_rank, number));
    acp_sync();
    int left = (check_rank + check_size - 1) % check_size;
    for (int number = 0; number < KEYS; number++) {
        acp_set_it_t found = acp_find_set(set, key_of(left, number));
        CHECK_EQUAL(found.elem != ACP_GA_NULL, number % 2);
        CHECK(acp_find_set(set, key_of(-1, number)).elem != ACP_GA_NULL);
    }
    acp_sync();
    if (check_rank == 0)
        acp_destroy_set(set);
    free(here);
    acp_sync();
}

static void multisets(void)
{
    acp_multiset_t set = {0};
    if (check_rank == 0)
        set = acp_create(multiset, 0, NULL, SLOTS, 0);
    share(&set, sizeof set);
    for (int number = 0; number < KEYS; number++)
        for (int time = 0; time <= number % 3; time++)
            CHECK_EQUAL(acp_insert_multiset(set, key_of(-1, number)), 1);
    acp_sync();
    CHECK_EQUAL(acp_size_multiset(set), KEYS);
    for (int number = 0; number < KEYS; number++)
        CHECK_EQUAL(acp_retrieve_multiset(set, key_of(-1, number)), check_size * (number % 3 + 1));
    acp_sync();
    for (int number = 0; number < KEYS; number++)
        acp_remove_multiset(set, key_of(-1, number));
    acp_sync();
    for (int number = 0; number < KEYS; number++)
        CHECK_EQUAL(acp_retrieve_multiset(set, key_of(-1, number)), check_size * (number % 3));
    acp_sync();
    for (int number = 0; number < KEYS; number++)
        acp_remove_all_multiset(set, key_of(-1, number));
    acp_sync();
    CHECK_EQUAL(acp_size_multiset(set), 0);
    acp_sync();
    if (check_rank == 0)
        acp_destroy_multiset(set);
    acp_sync();
}

static void maps(void)
{
    acp_map_t map = {0};
    if (check_rank == 0)
        map = acp_create(map, 0, NULL, SLOTS, check_size - 1);
    share(&map, sizeof map);
    /* Of a key that all ranks insert, one rank's value stays. */
    uint64_t inserted = 0;
    for (int number = 0; number < KEYS; number++) {
        CHECK_EQUAL(acp_insert_map(map, pair_of(check_rank, number, (uint64_t)number * 1000)), 1);
        int is_new = acp_insert_map(map, pair_of(-1, number, (uint64_t)check_rank));
        CHECK(is_new == 0 || is_new == 1);
        inserted += (uint64_t)is_new;
    }
    uint64_t *all = calloc((size_t)check_size, sizeof *all), sum = 0;
    gather(inserted, all);
    for (int rank = 0; rank < check_size; rank++)
        sum += all[rank];
    CHECK_EQUAL(sum, KEYS);
    CHECK_EQUAL(acp_size_map(map), KEYS * (check_size + 1));
    int right = (check_rank + 1) % check_size;
    uint64_t value;
    for (int number = 0; number < KEYS; number++) {
        CHECK_EQUAL(acp_retrieve_map(map, pair_of(right, number, 0)), sizeof value);
        memcpy(&value, scratch.base + 64, sizeof value);
        CHECK_EQUAL(value, number * 1000);
        CHECK_EQUAL(acp_retrieve_map(map, pair_of(-1, number, UINT64_MAX)), sizeof value);
        memcpy(&value, scratch.base + 64, sizeof value);
        CHECK(value < (uint64_t)check_size);
        CHECK_EQUAL(acp_retrieve_map(map, pair_of(right, KEYS + number, 0)), 0);
    }
    acp_sync();
    for (int number = 0; number < KEYS; number++)
        acp_remove_map(map, key_of(right, number));
    acp_sync();
    CHECK_EQUAL(acp_size_map(map), KEYS);
    acp_sync();
    if (check_rank == 0)
        acp_destroy_map(map);
    free(all);
    acp_sync();
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    scratch = memory_open(128);
    section("set");
    sets();
    section("multiset");
    multisets();
    section("map");
    maps();
    memory_close(&scratch);
    return check_end();
}
