/* Vectors, deques and lists on all ranks, against a model in this process. */
#include "acp_check.h"

enum { LONGEST = 400, PIECE = 40, STEPS = 80 };

static struct memory scratch;

/* Bytes of the model. */
struct bytes {
    unsigned char at[LONGEST + PIECE];
    size_t count;
};

static void insert_bytes(struct bytes *bytes, size_t place, const unsigned char *from, size_t count)
{
    memmove(bytes->at + place + count, bytes->at + place, bytes->count - place);
    memcpy(bytes->at + place, from, count);
    bytes->count += count;
}

static void erase_bytes(struct bytes *bytes, size_t place, size_t count)
{
    if (count > bytes->count - place)
        count = bytes->count - place;
    memmove(bytes->at + place, bytes->at + place + count, bytes->count - place - count);
    bytes->count -= count;
}

/* New bytes in the scratch memory. */
static acp_ga_t new_bytes(size_t count, unsigned seed)
{
    fill(scratch.base, count, seed);
    return scratch.at[check_rank];
}

static void same_vector(acp_vector_t vector, const struct bytes *model)
{
    CHECK_EQUAL(acp_size(vector, vector), model->count);
    CHECK_EQUAL(acp_empty(vector, vector), model->count == 0);
    CHECK(acp_capacity(vector, vector) >= model->count);
    if (model->count == 0)
        return;
    acp_ga_t first = acp_dereference(vector_it, acp_begin(vector, vector));
    DONE(acp_copy(scratch.at[check_rank], first, model->count, NONE));
    CHECK(memcmp(scratch.base, model->at, model->count) == 0);
    CHECK_EQUAL(acp_at(vector, vector, 0), first);
    CHECK_EQUAL(acp_distance(vector_it, acp_begin(vector, vector), acp_end(vector, vector)), model->count);
}

static void vectors(int rank)
{
    acp_vector_t vector = acp_create(vector, 0, rank), other = acp_create(vector, 16, check_rank);
    CHECK(vector.ga != ACP_GA_NULL && acp_query_rank(vector.ga) == rank);
    struct bytes *model = calloc(1, sizeof *model);
    uint64_t state = (uint64_t)(rank + 1) * 77;
    for (int step = 0; step < STEPS; step++) {
        size_t count = draw(&state, PIECE) + 1, place = draw(&state, (unsigned)model->count + 1);
        acp_vector_it_t it = acp_advance(vector_it, acp_begin(vector, vector), (int)place);
        switch (model->count + count > LONGEST ? 4 + draw(&state, 2) : draw(&state, 7)) {
        case 0:
        case 1:
            acp_push_back(vector, vector, new_bytes(count, (unsigned)step), count);
            insert_bytes(model, model->count, scratch.base, count);
            break;
        case 2:
        case 3:
            CHECK_EQUAL(acp_insert(vector, it, new_bytes(count, (unsigned)step), count).index, place);
            insert_bytes(model, place, scratch.base, count);
            break;
        case 4:
            acp_erase(vector, it, count);
            erase_bytes(model, place, count);
            break;
        case 5:
            acp_pop_back(vector, vector, count);
            model->count -= count < model->count ? count : model->count;
            break;
        default:
            acp_assign(vector, other, vector);
            acp_swap(vector, other, vector);
            acp_clear(vector, other);
        }
        same_vector(vector, model);
    }
    CHECK_EQUAL(acp_at(vector, vector, (int)model->count), ACP_GA_NULL);
    acp_destroy(vector, vector);
    acp_destroy(vector, other);
    free(model);
}

static void same_deque(acp_deque_t deque, const struct bytes *model)
{
    CHECK_EQUAL(acp_size(deque, deque), model->count);
    CHECK_EQUAL(acp_empty(deque, deque), model->count == 0);
    acp_pair_t pieces = acp_dereference(deque_it, acp_begin(deque, deque), model->count);
    CHECK_EQUAL(pieces.first.size + pieces.second.size, model->count);
    acp_ga_t here = scratch.at[check_rank];
    acp_copy(here, pieces.first.ga, pieces.first.size, NONE);
    DONE(acp_copy(here + pieces.first.size, pieces.second.ga, pieces.second.size, NONE));
    CHECK(memcmp(scratch.base, model->at, model->count) == 0);
}

static void deques(int rank)
{
    acp_deque_t deque = acp_create(deque, 24, rank);
    CHECK(deque.ga != ACP_GA_NULL);
    struct bytes *model = calloc(1, sizeof *model);
    uint64_t state = (uint64_t)(rank + 1) * 99;
    for (int step = 0; step < STEPS; step++) {
        size_t count = draw(&state, PIECE) + 1, place = draw(&state, (unsigned)model->count + 1);
        acp_deque_it_t it = acp_advance(deque_it, acp_begin(deque, deque), (int)place);
        switch (model->count + count > LONGEST ? 3 + draw(&state, 3) : draw(&state, 6)) {
        case 0:
            acp_push_back(deque, deque, new_bytes(count, (unsigned)step), count);
            insert_bytes(model, model->count, scratch.base, count);
            break;
        case 1:
            acp_push_front(deque, deque, new_bytes(count, (unsigned)step), count);
            insert_bytes(model, 0, scratch.base, count);
            break;
        case 2:
            CHECK_EQUAL(acp_insert(deque, it, new_bytes(count, (unsigned)step), count).index, place);
            insert_bytes(model, place, scratch.base, count);
            break;
        case 3:
            acp_erase(deque, it, count);
            erase_bytes(model, place, count);
            break;
        case 4:
            acp_pop_back(deque, deque, count);
            model->count -= count < model->count ? count : model->count;
            break;
        default:
            acp_pop_front(deque, deque, count);
            erase_bytes(model, 0, count);
        }
        same_deque(deque, model);
    }
    acp_destroy(deque, deque);
    free(model);
}

static int number_of(acp_element_t element)
{
    int *number = (int *)(void *)scratch.base;
    DONE(acp_copy(scratch.at[check_rank], element.ga, sizeof *number, NONE));
    return *number;
}

static int by_number(const acp_element_t one, const acp_element_t two)
{
    int first = number_of(one);
    return first - number_of(two);
}

/* A list whose elements are on all ranks. */
static void lists(int rank)
{
    enum { COUNT = 30 };
    acp_list_t list = acp_create(list, rank), other = acp_create(list, check_rank);
    CHECK(list.ga != ACP_GA_NULL);
    acp_element_t element = {scratch.at[check_rank] + 100, sizeof(int)};
    int *value = (int *)(void *)(scratch.base + 100);
    for (int number = 0; number < COUNT; number++) {
        *value = number * 7 % COUNT;
        if (number % 3 == 0)
            acp_push_front(list, list, element, number % check_size);
        else
            acp_push_back(list, list, element, number % check_size);
    }
    CHECK_EQUAL(acp_size(list, list), COUNT);
    acp_sort(list, list, by_number);
    int expected = 0;
    for (acp_list_it_t it = acp_begin(list, list); it.elem != acp_end(list, list).elem;
         it = acp_increment(list_it, it))
        CHECK_EQUAL(number_of(acp_dereference(list_it, it)), expected++);
    CHECK_EQUAL(expected, COUNT);
    acp_reverse(list, list);
    CHECK_EQUAL(number_of(acp_dereference(list_it, acp_begin(list, list))), COUNT - 1);
    acp_assign(list, other, list);
    acp_sort(list, other, by_number);
    acp_sort(list, list, by_number);
    acp_merge(list, list, other, by_number);
    CHECK(acp_size(list, list) == 2 * COUNT && acp_empty(list, other));
    acp_unique(list, list);
    CHECK_EQUAL(acp_size(list, list), COUNT);
    *value = 3;
    acp_remove(list, list, element);
    acp_erase(list, acp_begin(list, list));
    acp_pop_back(list, list);
    CHECK_EQUAL(acp_size(list, list), COUNT - 3);
    acp_list_it_t third = acp_advance(list_it, acp_begin(list, list), 2);
    CHECK_EQUAL(number_of(acp_dereference(list_it, third)), 4);
    acp_destroy(list, list);
    acp_destroy(list, other);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    scratch = memory_open(2 * LONGEST);
    for (int by = 0; by < check_size; by += by < 2 ? 1 : 3) {
        section("containers %d ranks on", by);
        vectors((check_rank + by) % check_size);
        deques((check_rank + by) % check_size);
        lists((check_rank + by) % check_size);
    }
    memory_close(&scratch);
    return check_end();
}
