/* Suiro: Advanced Communication Primitives (ACP), the interface of version 3 of the ACE project.
 * See docs/acp.md. */
#ifndef ACP_H_INCLUDED
#define ACP_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Basic layer
 *
 * A global address names a byte of the memory of any rank. Addition to it stays in the same
 * registered region. An access has a handle, and accesses complete in the order of their handles.
 */

typedef uint64_t acp_ga_t;
typedef uint64_t acp_atkey_t;
typedef int64_t acp_handle_t;

#define ACP_GA_NULL                         0LLU
#define ACP_ATKEY_NULL                      0LLU
#define ACP_HANDLE_NULL                     0x0LLU
#define ACP_HANDLE_ALL                      0xffffffffffffffffLLU
#define ACP_HANDLE_CONT                     0xfffffffffffffffeLLU

/* Not set: failures are told on standard error. */
extern int ACP_ERRNO;

/* Functions of all ranks together. They return 0, or -1 for a failure. */

/* Takes options (--acp-size-smem BYTES, --acp-size-smem-dl BYTES) out of the arguments. */
int acp_init(int *argc, char ***argv);
int acp_finalize(void);
/* This process gets another rank; the ranks of all are a permutation. All memory is new. */
int acp_reset(int rank);
/* Completes the own accesses, then waits for all ranks. */
int acp_sync(void);

/* Ends the job. */
void acp_abort(const char *str);
/* -1 before acp_init. */
int acp_rank(void);
int acp_procs(void);
int acp_colors(void);

/* Memory */

/* Memory of every rank from the beginning, zero at first, of the same size on all ranks. */
acp_ga_t acp_query_starter_ga(int rank);
acp_atkey_t acp_register_memory(void *addr, size_t size, int color);
int acp_unregister_memory(acp_atkey_t atkey);
acp_ga_t acp_query_ga(acp_atkey_t atkey, void *addr);
/* NULL for memory of another rank. */
void *acp_query_address(acp_ga_t ga);
/* -1 for an address of no memory. */
int acp_query_rank(acp_ga_t ga);
int acp_query_color(acp_ga_t ga);

/* Accesses. Each starts when the access order and all before it have completed: ACP_HANDLE_NULL for
 * at once, ACP_HANDLE_ALL for after all accesses so far, ACP_HANDLE_CONT for as soon as the access
 * before it and behind that. ACP_HANDLE_NULL is returned if an access is not possible. */

acp_handle_t acp_copy(acp_ga_t dst, acp_ga_t src, size_t size, acp_handle_t order);

/* Changes the number at src, and stores the old number at dst, in memory of this rank. */
acp_handle_t acp_cas4(acp_ga_t dst, acp_ga_t src, uint32_t oldval, uint32_t newval, acp_handle_t order);
acp_handle_t acp_cas8(acp_ga_t dst, acp_ga_t src, uint64_t oldval, uint64_t newval, acp_handle_t order);
acp_handle_t acp_swap4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_swap8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
acp_handle_t acp_add4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_add8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
acp_handle_t acp_xor4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_xor8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
acp_handle_t acp_or4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_or8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
acp_handle_t acp_and4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_and8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);

/* Waits until the access and all before it have completed. */
void acp_complete(acp_handle_t handle);
/* 0 if they have, else 1. */
int acp_inquire(acp_handle_t handle);

/* Not in ACP: how many accesses were made by the processor, by the device, by deferred work of the
 * device, by other ranks for this one, and by this one for others. */
void acpx_query_ways(uint64_t ways[5]);

/* Channels: messages from one rank to another, in order. The k-th channel of a sender and a
 * receiver there is the k-th of both here. */

typedef struct chitem *acp_ch_t;
typedef struct chreqitem *acp_request_t;

#define ACP_CH_NULL                         ((acp_ch_t)0)
#define ACP_REQUEST_NULL                    ((acp_request_t)0)

acp_ch_t acp_create_ch(int sender, int receiver);
/* Returns when the other rank frees the channel too. */
int acp_free_ch(acp_ch_t ch);
acp_request_t acp_nbfree_ch(acp_ch_t ch);
acp_request_t acp_nbsend_ch(acp_ch_t ch, void *buf, size_t size);
/* The rest of a longer message is dropped. */
acp_request_t acp_nbrecv_ch(acp_ch_t ch, void *buf, size_t size);
/* The bytes that were received; 0 for other requests, (size_t)-1 for a request that is none. */
size_t acp_wait_ch(acp_request_t request);
/* sizes may be NULL. */
int acp_waitall_ch(acp_request_t *requests, int num, size_t *sizes);

/* Segment buffers: a ring of segments that the source mirrors at the destination. The k-th of a
 * source and a destination there is the k-th of both here. Functions return -1 for a failure. */

typedef struct segbufitem *acp_segbuf_t;

#define ACP_SEGBUF_NULL                     ((acp_segbuf_t)0)

acp_segbuf_t acp_create_src_segbuf(int peer, void *buf, size_t segsize, size_t segnum);
acp_segbuf_t acp_create_dst_segbuf(int peer, void *buf, size_t segsize, size_t segnum);
int acp_connect_segbuf(acp_segbuf_t segbuf);
/* 0 for yes, 1 for no; as the next two. */
int acp_isconnected_segbuf(acp_segbuf_t segbuf);
/* Whether the source may send. */
int acp_isready_segbuf(acp_segbuf_t segbuf);
/* Whether the destination may read. */
int acp_isacked_segbuf(acp_segbuf_t segbuf);
/* The source sends the segment at its tail. */
int acp_ack_segbuf(acp_segbuf_t segbuf);
/* The destination has read the segment at its head. */
int acp_ready_segbuf(acp_segbuf_t segbuf);
int64_t acp_query_segbuf_head(acp_segbuf_t segbuf);
int64_t acp_query_segbuf_tail(acp_segbuf_t segbuf);
/* The source may overwrite segments before this one. */
int64_t acp_query_segbuf_sent(acp_segbuf_t segbuf);
int acp_disconnect_segbuf(acp_segbuf_t segbuf);
/* Returns when the other rank has disconnected. */
int acp_free_segbuf(acp_segbuf_t segbuf);

/* Work spaces: memory in blocks on several ranks. The first three functions are of all ranks
 * together. */

struct acp_wsditem {
    size_t size_ws;
    size_t size_default;
    size_t size_remainder;
    size_t ngas;
    acp_atkey_t key_data;
    acp_ga_t ga_data;
    acp_atkey_t *keys;
    acp_ga_t *gas;
    int *procs;
    int *sizes;
    void *data;
};
typedef struct acp_wsditem *acp_wsd_t;

#define ACP_WSD_NULL                        ((acp_wsd_t)(-1))

acp_wsd_t acp_create_ws(size_t size);
void acp_destroy_ws(acp_wsd_t wsd);
/* The first rank and the size of blocks of the next work spaces; -1 for a failure. */
int acp_setparams_ws(size_t proc_start, size_t size_default);
/* Copies between memory of this rank and the bytes from offset on; 1 for a failure. */
int acp_read_ws(acp_wsd_t wsd, acp_ga_t ga, size_t size, size_t offset);
int acp_write_ws(acp_wsd_t wsd, acp_ga_t ga, size_t size, size_t offset);

/* The data library of ACP: a heap per rank, and containers in the heaps of all ranks.
 *
 * Any rank may call any function here for memory of any rank. No function is collective; all are
 * blocking. A container is a value that may be copied and sent to other ranks. Sizes are bytes.
 *
 * A failure has no effect. Functions then return ACP_GA_NULL, a container or iterator with an
 * address of ACP_GA_NULL, or 0.
 *
 * A vector, deque or list may be changed by one rank at a time. Functions with a key of a set,
 * multiset or map are atomic.
 */

/* Heap */

/* size bytes of the heap of a rank, at a multiple of 16. They are not zeroed. */
acp_ga_t acp_malloc(size_t size, int rank);
/* Ignores an address that acp_malloc has not returned. */
void acp_free(acp_ga_t ga);

/* Names of functions with the type as an argument: acp_push_back(list, ...) is
 * acp_push_back_list(...) */

#define acp_assign(type, ...)               acp_assign_##type(__VA_ARGS__)
#define acp_assign_range(type, ...)         acp_assign_range_##type(__VA_ARGS__)
#define acp_at(type, ...)                   acp_at_##type(__VA_ARGS__)
#define acp_back(type, ...)                 acp_back_##type(__VA_ARGS__)
#define acp_begin(type, ...)                acp_begin_##type(__VA_ARGS__)
#define acp_bucket(type, ...)               acp_bucket_##type(__VA_ARGS__)
#define acp_bucket_count(type, ...)         acp_bucket_count_##type(__VA_ARGS__)
#define acp_bucket_size(type, ...)          acp_bucket_size_##type(__VA_ARGS__)
#define acp_capacity(type, ...)             acp_capacity_##type(__VA_ARGS__)
#define acp_clear(type, ...)                acp_clear_##type(__VA_ARGS__)
#define acp_count(type, ...)                acp_count_##type(__VA_ARGS__)
#define acp_create(type, ...)               acp_create_##type(__VA_ARGS__)
#define acp_destroy(type, ...)              acp_destroy_##type(__VA_ARGS__)
#define acp_empty(type, ...)                acp_empty_##type(__VA_ARGS__)
#define acp_end(type, ...)                  acp_end_##type(__VA_ARGS__)
#define acp_erase(type, ...)                acp_erase_##type(__VA_ARGS__)
#define acp_erase_range(type, ...)          acp_erase_range_##type(__VA_ARGS__)
#define acp_find(type, ...)                 acp_find_##type(__VA_ARGS__)
#define acp_front(type, ...)                acp_front_##type(__VA_ARGS__)
#define acp_insert(type, ...)               acp_insert_##type(__VA_ARGS__)
#define acp_insert_range(type, ...)         acp_insert_range_##type(__VA_ARGS__)
#define acp_merge(type, ...)                acp_merge_##type(__VA_ARGS__)
#define acp_pop_back(type, ...)             acp_pop_back_##type(__VA_ARGS__)
#define acp_pop_front(type, ...)            acp_pop_front_##type(__VA_ARGS__)
#define acp_push_back(type, ...)            acp_push_back_##type(__VA_ARGS__)
#define acp_push_front(type, ...)           acp_push_front_##type(__VA_ARGS__)
#define acp_remove(type, ...)               acp_remove_##type(__VA_ARGS__)
#define acp_reserve(type, ...)              acp_reserve_##type(__VA_ARGS__)
#define acp_reverse(type, ...)              acp_reverse_##type(__VA_ARGS__)
#define acp_size(type, ...)                 acp_size_##type(__VA_ARGS__)
#define acp_sort(type, ...)                 acp_sort_##type(__VA_ARGS__)
#define acp_splice(type, ...)               acp_splice_##type(__VA_ARGS__)
#define acp_swap(type, ...)                 acp_swap_##type(__VA_ARGS__)
#define acp_unique(type, ...)               acp_unique_##type(__VA_ARGS__)

/* The same for iterators: acp_increment(list_it, it) is acp_increment_list_it(it) */

#define acp_advance(type, ...)              acp_advance_##type(__VA_ARGS__)
#define acp_decrement(type, ...)            acp_decrement_##type(__VA_ARGS__)
#define acp_dereference(type, ...)          acp_dereference_##type(__VA_ARGS__)
#define acp_dereference_value(type, ...)    acp_dereference_value_##type(__VA_ARGS__)
#define acp_distance(type, ...)             acp_distance_##type(__VA_ARGS__)
#define acp_increment(type, ...)            acp_increment_##type(__VA_ARGS__)
#define acp_size_value(type, ...)           acp_size_value_##type(__VA_ARGS__)

/* Elements */

/* Bytes in the memory of a rank. */
typedef struct {
    acp_ga_t ga;
    size_t size;
} acp_element_t;

/* A key and its value, or two pieces of a range of bytes. */
typedef struct {
    acp_element_t first;
    acp_element_t second;
} acp_pair_t;

/* Vector: bytes in one piece, at words {address of the bytes, size, capacity} */

typedef struct {
    acp_ga_t ga;
} acp_vector_t;

typedef struct {
    acp_vector_t vector;
    int index;
} acp_vector_it_t;

void acp_assign_vector(acp_vector_t vector1, acp_vector_t vector2);
void acp_assign_range_vector(acp_vector_t vector, acp_vector_it_t start, acp_vector_it_t end);
acp_ga_t acp_at_vector(acp_vector_t vector, int index);
acp_vector_it_t acp_begin_vector(acp_vector_t vector);
size_t acp_capacity_vector(acp_vector_t vector);
void acp_clear_vector(acp_vector_t vector);
/* A vector of size bytes with any content. */
acp_vector_t acp_create_vector(size_t size, int rank);
void acp_destroy_vector(acp_vector_t vector);
int acp_empty_vector(acp_vector_t vector);
acp_vector_it_t acp_end_vector(acp_vector_t vector);
acp_vector_it_t acp_erase_vector(acp_vector_it_t it, size_t size);
acp_vector_it_t acp_erase_range_vector(acp_vector_it_t start, acp_vector_it_t end);
acp_vector_it_t acp_insert_vector(acp_vector_it_t it, const acp_ga_t ga, size_t size);
acp_vector_it_t acp_insert_range_vector(acp_vector_it_t it, acp_vector_it_t start,
    acp_vector_it_t end);
void acp_pop_back_vector(acp_vector_t vector, size_t size);
void acp_push_back_vector(acp_vector_t vector, const acp_ga_t ga, size_t size);
void acp_reserve_vector(acp_vector_t vector, size_t size);
size_t acp_size_vector(acp_vector_t vector);
void acp_swap_vector(acp_vector_t vector1, acp_vector_t vector2);
acp_vector_it_t acp_advance_vector_it(acp_vector_it_t it, int n);
acp_ga_t acp_dereference_vector_it(acp_vector_it_t it);
int acp_distance_vector_it(acp_vector_it_t first, acp_vector_it_t last);

/* Deque: bytes in a ring, at words {address of the ring, offset of the first, size, capacity} */

typedef struct {
    acp_ga_t ga;
} acp_deque_t;

typedef struct {
    acp_deque_t deque;
    int index;
} acp_deque_it_t;

void acp_assign_deque(acp_deque_t deque1, acp_deque_t deque2);
void acp_assign_range_deque(acp_deque_t deque, acp_deque_it_t start, acp_deque_it_t end);
acp_ga_t acp_at_deque(acp_deque_t deque, int index);
acp_deque_it_t acp_begin_deque(acp_deque_t deque);
size_t acp_capacity_deque(acp_deque_t deque);
void acp_clear_deque(acp_deque_t deque);
/* An empty deque with room for size bytes. */
acp_deque_t acp_create_deque(size_t size, int rank);
void acp_destroy_deque(acp_deque_t deque);
int acp_empty_deque(acp_deque_t deque);
acp_deque_it_t acp_end_deque(acp_deque_t deque);
acp_deque_it_t acp_erase_deque(acp_deque_it_t it, size_t size);
acp_deque_it_t acp_erase_range_deque(acp_deque_it_t start, acp_deque_it_t end);
acp_deque_it_t acp_insert_deque(acp_deque_it_t it, const acp_ga_t ga, size_t size);
acp_deque_it_t acp_insert_range_deque(acp_deque_it_t it, acp_deque_it_t start, acp_deque_it_t end);
void acp_pop_back_deque(acp_deque_t deque, size_t size);
void acp_pop_front_deque(acp_deque_t deque, size_t size);
void acp_push_back_deque(acp_deque_t deque, const acp_ga_t ga, size_t size);
void acp_push_front_deque(acp_deque_t deque, const acp_ga_t ga, size_t size);
void acp_reserve_deque(acp_deque_t deque, size_t size);
size_t acp_size_deque(acp_deque_t deque);
void acp_swap_deque(acp_deque_t deque1, acp_deque_t deque2);
acp_deque_it_t acp_advance_deque_it(acp_deque_it_t it, int n);
/* At most size bytes: the second piece, if there is one, starts at the begin of the ring. */
acp_pair_t acp_dereference_deque_it(acp_deque_it_t it, size_t size);
int acp_distance_deque_it(acp_deque_it_t first, acp_deque_it_t last);

/* List: elements on any ranks. A list is words {head, tail, number of elements}, an element {next,
 * previous, size} and its value. The links at both ends hold the address of the list, which is also
 * the element of the end iterator. */

typedef struct {
    acp_ga_t ga;
} acp_list_t;

typedef struct {
    acp_list_t list;
    acp_ga_t elem;
} acp_list_it_t;

void acp_assign_list(acp_list_t list1, acp_list_t list2);
void acp_assign_range_list(acp_list_t list, acp_list_it_t start, acp_list_it_t end);
acp_list_it_t acp_begin_list(acp_list_t list);
void acp_clear_list(acp_list_t list);
acp_list_t acp_create_list(int rank);
void acp_destroy_list(acp_list_t list);
int acp_empty_list(acp_list_t list);
acp_list_it_t acp_end_list(acp_list_t list);
acp_list_it_t acp_erase_list(acp_list_it_t it);
acp_list_it_t acp_erase_range_list(acp_list_it_t start, acp_list_it_t end);
acp_list_it_t acp_insert_list(acp_list_it_t it, const acp_element_t elem, int rank);
acp_list_it_t acp_insert_range_list(acp_list_it_t it, acp_list_it_t start, acp_list_it_t end);
/* comp returns a negative number if the value elem1 is before the value elem2, a positive one if it
 * is behind it. */
void acp_merge_list(acp_list_t list1, acp_list_t list2,
    int (*comp)(const acp_element_t elem1, const acp_element_t elem2));
void acp_pop_back_list(acp_list_t list);
void acp_pop_front_list(acp_list_t list);
void acp_push_back_list(acp_list_t list, const acp_element_t elem, int rank);
void acp_push_front_list(acp_list_t list, const acp_element_t elem, int rank);
void acp_remove_list(acp_list_t list, const acp_element_t elem);
void acp_reverse_list(acp_list_t list);
size_t acp_size_list(acp_list_t list);
void acp_sort_list(acp_list_t list,
    int (*comp)(const acp_element_t elem1, const acp_element_t elem2));
void acp_splice_list(acp_list_it_t it1, acp_list_it_t it2);
void acp_splice_range_list(acp_list_it_t it, acp_list_it_t start, acp_list_it_t end);
void acp_swap_list(acp_list_t list1, acp_list_t list2);
void acp_unique_list(acp_list_t list);
acp_list_it_t acp_advance_list_it(acp_list_it_t it, int n);
acp_list_it_t acp_decrement_list_it(acp_list_it_t it);
acp_element_t acp_dereference_list_it(acp_list_it_t it);
int acp_distance_list_it(acp_list_it_t first, acp_list_it_t last);
acp_list_it_t acp_increment_list_it(acp_list_it_t it);

/* Set: keys. At ga is a directory: for each of num_ranks ranks the address of num_slots slots of
 * words {lock, head, tail, number of elements}. An element is words {next, previous, size of the
 * key} and the key. The rank of the end iterator is num_ranks.
 *
 * Functions with "local" are about the elements on the rank of the caller. */

typedef struct {
    acp_ga_t ga;
    uint64_t num_ranks;
    uint64_t num_slots;
} acp_set_t;

typedef struct {
    acp_set_t set;
    int rank;
    int slot;
    acp_ga_t elem;
} acp_set_it_t;

void acp_assign_local_set(acp_set_t set1, acp_set_t set2);
void acp_assign_set(acp_set_t set1, acp_set_t set2);
acp_set_it_t acp_begin_local_set(acp_set_t set);
acp_set_it_t acp_begin_set(acp_set_t set);
void acp_clear_set(acp_set_t set);
/* num_slots slots on each of num_ranks ranks, or on all ranks if num_ranks is 0. */
acp_set_t acp_create_set(int num_ranks, const int *ranks, int num_slots, int rank);
void acp_destroy_set(acp_set_t set);
int acp_empty_local_set(acp_set_t set);
int acp_empty_set(acp_set_t set);
acp_set_it_t acp_end_local_set(acp_set_t set);
acp_set_it_t acp_end_set(acp_set_t set);
acp_set_it_t acp_find_set(acp_set_t set, acp_element_t key);
/* 1 if the key is in the set now, otherwise 0. */
int acp_insert_set(acp_set_t set, acp_element_t key);
void acp_merge_local_set(acp_set_t set1, acp_set_t set2);
void acp_merge_set(acp_set_t set1, acp_set_t set2);
void acp_move_local_set(acp_set_t set1, acp_set_t set2);
void acp_move_set(acp_set_t set1, acp_set_t set2);
void acp_remove_set(acp_set_t set, acp_element_t key);
size_t acp_size_local_set(acp_set_t set);
size_t acp_size_set(acp_set_t set);
void acp_swap_set(acp_set_t set1, acp_set_t set2);
acp_element_t acp_dereference_set_it(acp_set_it_t it);
acp_set_it_t acp_increment_set_it(acp_set_it_t it);

/* Multiset: keys and how often each was inserted. As a set, with elements of words {next, previous,
 * count, size of the key} and the key. */

typedef struct {
    acp_ga_t ga;
    uint64_t num_ranks;
    uint64_t num_slots;
} acp_multiset_t;

typedef struct {
    acp_multiset_t set;
    int rank;
    int slot;
    acp_ga_t elem;
} acp_multiset_it_t;

void acp_assign_local_multiset(acp_multiset_t set1, acp_multiset_t set2);
void acp_assign_multiset(acp_multiset_t set1, acp_multiset_t set2);
acp_multiset_it_t acp_begin_local_multiset(acp_multiset_t set);
acp_multiset_it_t acp_begin_multiset(acp_multiset_t set);
void acp_clear_multiset(acp_multiset_t set);
/* As acp_create_set. */
acp_multiset_t acp_create_multiset(int num_ranks, const int *ranks, int num_slots, int rank);
void acp_destroy_multiset(acp_multiset_t set);
int acp_empty_local_multiset(acp_multiset_t set);
int acp_empty_multiset(acp_multiset_t set);
acp_multiset_it_t acp_end_local_multiset(acp_multiset_t set);
acp_multiset_it_t acp_end_multiset(acp_multiset_t set);
acp_multiset_it_t acp_find_multiset(acp_multiset_t set, acp_element_t key);
/* 1 if the key was counted, otherwise 0. */
int acp_insert_multiset(acp_multiset_t set, acp_element_t key);
void acp_merge_local_multiset(acp_multiset_t set1, acp_multiset_t set2);
void acp_merge_multiset(acp_multiset_t set1, acp_multiset_t set2);
void acp_move_local_multiset(acp_multiset_t set1, acp_multiset_t set2);
void acp_move_multiset(acp_multiset_t set1, acp_multiset_t set2);
/* Counts the key down. */
void acp_remove_multiset(acp_multiset_t set, acp_element_t key);
/* Removes the key, whatever its count. */
void acp_remove_all_multiset(acp_multiset_t set, acp_element_t key);
/* The count of the key, 0 if it is absent. */
uint64_t acp_retrieve_multiset(acp_multiset_t set, acp_element_t key);
/* The number of different keys. */
size_t acp_size_local_multiset(acp_multiset_t set);
size_t acp_size_multiset(acp_multiset_t set);
void acp_swap_multiset(acp_multiset_t set1, acp_multiset_t set2);
acp_element_t acp_dereference_multiset_it(acp_multiset_it_t it);
acp_multiset_it_t acp_increment_multiset_it(acp_multiset_it_t it);

/* Map: keys and values. As a set, with elements of words {next, previous, 8 + size of the key +
 * size of the value, size of the key}, the key and the value. */

typedef struct {
    acp_ga_t ga;
    uint64_t num_ranks;
    uint64_t num_slots;
} acp_map_t;

typedef struct {
    acp_map_t map;
    int rank;
    int slot;
    acp_ga_t elem;
} acp_map_it_t;

/* Not used by any function. */
typedef struct {
    acp_map_it_t it;
    int success;
} acp_map_ib_t;

void acp_assign_local_map(acp_map_t map1, acp_map_t map2);
void acp_assign_map(acp_map_t map1, acp_map_t map2);
acp_map_it_t acp_begin_local_map(acp_map_t map);
acp_map_it_t acp_begin_map(acp_map_t map);
void acp_clear_local_map(acp_map_t map);
void acp_clear_map(acp_map_t map);
/* As acp_create_set. */
acp_map_t acp_create_map(int num_ranks, const int *ranks, int num_slots, int rank);
void acp_destroy_map(acp_map_t map);
int acp_empty_local_map(acp_map_t map);
int acp_empty_map(acp_map_t map);
acp_map_it_t acp_end_local_map(acp_map_t map);
acp_map_it_t acp_end_map(acp_map_t map);
acp_map_it_t acp_find_map(acp_map_t map, acp_element_t key);
/* 1 if the key is new. A key that is there keeps its value. */
int acp_insert_map(acp_map_t map, acp_pair_t pair);
void acp_merge_local_map(acp_map_t map1, acp_map_t map2);
void acp_merge_map(acp_map_t map1, acp_map_t map2);
void acp_move_local_map(acp_map_t map1, acp_map_t map2);
void acp_move_map(acp_map_t map1, acp_map_t map2);
void acp_remove_map(acp_map_t map, acp_element_t key);
/* Copies the value of the key pair.first to pair.second, as far as its size has room; the size of
 * the value, 0 if the key is absent. */
size_t acp_retrieve_map(acp_map_t map, acp_pair_t pair);
size_t acp_size_local_map(acp_map_t map);
size_t acp_size_map(acp_map_t map);
void acp_swap_map(acp_map_t map1, acp_map_t map2);
acp_pair_t acp_dereference_map_it(acp_map_it_t it);
acp_map_it_t acp_increment_map_it(acp_map_it_t it);

#ifdef __cplusplus
}
#endif

#endif
