/* A libfabric that makes trouble: the exports and tables that device ofi uses, over datagram sockets of Unix, which
 * keep their order and are full soon. It does what a provider may do, at random, and what it must not do never:
 *
 *   FI_EAGAIN from any call; short queues; completions in any order, and late; fragments of long messages
 *   interleaved with other messages; errors of one operation
 *
 * The name of the provider says how: "stub;seed=7;again=30;queue=4" has FI_EAGAIN in 30 of 100 calls and at most 4
 * sends and 8 receives in progress; each=4 is that limit for the sends to one peer. fail=N: send N completes with an
 * error, and its message is lost. refuse=N: send N is refused with an error. truncate=N: the message that matches a
 * receive as number N is lost. cancel=N: the same with FI_ECANCELED, as tcp says when a connection ends. strange=N: that match also makes an error with a context that is none of the
 * application. lost=N: the first N messages to each peer are lost without a word, for which the provider is to be
 * called "net" instead of "stub". The providers "cxi" and "psm3" are the stub without trouble, for the choice of a
 * device.
 *
 * access=1: there is access to memory of peers (FI_RMA), in fragments that come to memory late and in any order, after
 * messages that were sent later as well. An access is in progress until the peer has answered, if FI_DELIVERY_COMPLETE
 * is asked for; else a write is over before it has arrived. deny=N: access N is refused with an error. break=N: access N
 * is made in half and ends with EIO. reset=N: the same with ECONNRESET, as of a connection.
 *
 * Memory is named by offsets, with keys that the application chooses, and needs no endpoint; virtual=1, keys=1 and
 * bind=1 demand FI_MR_VIRT_ADDR, FI_MR_PROV_KEY and FI_MR_ENDPOINT. local=1 demands FI_MR_LOCAL: an operation whose
 * memory is not covered by the registration that it names fails, also if that ends before the operation. pinned=N: at most
 * N KiB can be registered at the same time.
 *
 * Messages of one sender with one tag match in their order (FI_ORDER_SAS). Nothing moves but inside fi_cq_read. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

enum { EAGAIN_OF_FABRIC = 11, NO_DATA = 61, EAVAIL = 259, ETRUNC = 265, GET_DESCRIPTOR = 5 };
enum { INJECT_MAX = 64, FRAGMENT = 16384, ADDRESS = 32, ANY = -1, PEERS = 64 };
enum { ENABLE = 6, MR_LOCAL = 1 << 2, MR_VIRT_ADDR = 1 << 4, MR_PROV_KEY = 1 << 6, MR_ENDPOINT = 1 << 9 };

#define SENDS (1ull << 11)
#define RECEIVES (1ull << 10)
#define READS (1ull << 8)
#define WRITES (1ull << 9)
#define MAY_READ (1ull << 12)
#define MAY_WRITE (1ull << 13)
#define DELIVERY_COMPLETE (1ull << 28)

#include "fabric_tables.h"

/* What a provider's name says. */
struct trouble {
    uint64_t seed;
    long again, queue, each, fail, refuse, truncate, cancel, lost, strange, access, deny, break_, reset, modes, pinned;
};

/* WRITE: bytes for memory of the peer. READ: a question for `asked` bytes of it, answered by DATA. ENDED: the answer to
 * a write, or to an access that is refused, with an error. */
enum kind { MESSAGE, WRITE, READ, DATA, ENDED };
struct place { uint64_t id, key, address, asked, err; };

struct send {
    struct send *next;
    enum kind kind;
    struct place place;
    uint64_t to, tag;
    const char *data;
    size_t len, sent;
    void *context, *joined, *desc;
};
struct access { /* one of this endpoint that has not ended */
    struct access *next;
    uint64_t id, to;
    char *into;
    size_t len, arrived;
    void *context, *desc;
};
struct receive { struct receive *next; char *into; size_t room; uint64_t tag, ignore; void *context, *desc; };
struct message { /* one that has arrived in part at least */
    struct message *next;
    char from[ADDRESS];
    uint64_t tag;
    size_t total, arrived;
    struct receive *matched;
    char *kept;
};
struct done { struct done *next; struct cq_entry entry; int err; };
struct fragment {
    char from[ADDRESS];
    struct place place;
    uint64_t kind, tag, total, offset;
    char data[FRAGMENT];
};
struct late { /* a fragment of an access to memory of this endpoint that waits to be made */
    struct late *next;
    size_t len;
    struct fragment in;
};
struct inbound { /* a write to memory of this endpoint, of which a part has been made */
    struct inbound *next;
    char from[ADDRESS];
    uint64_t id, made, err;
};

struct ep {
    struct fid fid;
    const struct ep_ops *ops;
    const struct cm_ops *cm;
    void *msg;
    const struct rma_ops *rma;
    const struct tagged_ops *tagged;
    void *atomic, *collective;
    /* The rest is ours. */
    int socket;
    char name[ADDRESS];
    struct domain *domain;
    struct av *av;
    struct cq *cq;
    struct trouble trouble;
    uint64_t random;
    long sends_so_far, matched_so_far, sending, receiving, sent_to[PEERS];
    char own[256]; /* a context that is none of the application */
    struct send *sends;
    struct receive *receives;
    struct message *messages;
    struct done *done;
    uint64_t accesses_so_far;
    struct access *accesses;
    struct late *late;
    struct inbound *inbound;
};

#define APPEND(list, item)                                \
    do {                                                  \
        __typeof__(list) *end_ = &(list);                 \
        while (*end_) end_ = &(*end_)->next;              \
        (item)->next = NULL;                              \
        *end_ = (item);                                   \
    } while (0)

static uint64_t drawn(struct ep *ep) {
    ep->random ^= ep->random << 13;
    ep->random ^= ep->random >> 7;
    ep->random ^= ep->random << 17;
    return ep->random;
}

static int troubled(struct ep *ep) {
    return (long)(drawn(ep) >> 20) % 100 < ep->trouble.again;
}

static void complete(struct ep *ep, void *context, uint64_t tag, size_t len, int err) {
    struct done *done = calloc(1, sizeof *done);
    done->entry = (struct cq_entry){.context = context, .tag = tag, .len = len};
    done->err = err;
    APPEND(ep->done, done);
}

static struct sockaddr_un place(const char *name, socklen_t *len) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    memcpy(at.sun_path + 1, name, ADDRESS);
    *len = offsetof(struct sockaddr_un, sun_path) + 1 + ADDRESS;
    return at;
}

/* Whether an operation may use memory of the application. */
static int covered(struct ep *ep, const void *desc, const char *data, size_t len, uint64_t right) {
    if (!(ep->trouble.modes & MR_LOCAL)) return 1;
    for (struct mr *mr = ep->domain->registered; mr; mr = mr->next)
        if (mr == desc && mr->is_enabled)
            return (mr->rights & right) && data >= mr->base && data + len <= mr->base + mr->len;
    return 0;
}

/* Sends. */

/* The next fragment of a send; 1 if there is room for more, 0 if not, or a negative error. */
static int push(struct ep *ep, struct send *send) {
    struct fragment out = {.kind = send->kind, .place = send->place, .tag = send->tag, .total = send->len,
                           .offset = send->sent};
    size_t len = send->len - send->sent;
    if (len > FRAGMENT) len = FRAGMENT;
    uint64_t right = send->kind == MESSAGE ? SENDS : WRITES;
    /* What is injected or copied here has no registration. */
    if (send->context && !send->joined && !covered(ep, send->desc, send->data, send->len, right)) return -EFAULT;
    memcpy(out.from, ep->name, ADDRESS);
    memcpy(out.data, send->data + send->sent, len);
    socklen_t at_len;
    struct sockaddr_un at = place(ep->av->all[send->to], &at_len);
    size_t whole = offsetof(struct fragment, data) + len;
    if (sendto(ep->socket, &out, whole, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&at, at_len) < 0)
        return errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? 0 : -errno;
    send->sent += len;
    return 1;
}

/* An access of this endpoint has ended, unless it is none: the answer may be to the half of a broken one, and what does
 * not reach a peer may be an answer to it. */
static void end_access(struct ep *ep, uint64_t id, int err) {
    for (struct access **at = &ep->accesses; *at; at = &(*at)->next) {
        struct access *access = *at;
        if (access->id != id) continue;
        *at = access->next;
        ep->sending--;
        complete(ep, access->context, 0, access->len, err);
        free(access);
        return;
    }
}

static void push_all(struct ep *ep) {
    uint64_t full[64];
    int fulls = 0;
    for (struct send **at = &ep->sends; *at;) {
        struct send *send = *at;
        int is_full = fulls == 64;
        for (int i = 0; i < fulls; i++) is_full |= full[i] == send->to;
        /* One fragment a turn: messages of several peers mix. */
        int status = is_full ? 0 : push(ep, send);
        if (status == 1 && send->sent < send->len) status = 0;
        if (status == 0) {
            if (!is_full) full[fulls++] = send->to;
            at = &send->next;
            continue;
        }
        *at = send->next;
        if (send->kind == MESSAGE) {
            ep->sending--;
            complete(ep, send->context, send->tag, send->len, status < 0 ? -status : 0);
        } else if (status < 0) {
            end_access(ep, send->place.id, -status);
        }
        free(send->joined);
        free(send);
    }
}

static ssize_t begin_send(struct ep *ep, const void *data, size_t len, uint64_t to, uint64_t tag, void *context,
                          void *desc, int joined) {
    struct trouble *how = &ep->trouble;
    if (troubled(ep) || (how->queue && ep->sending >= how->queue)) return -EAGAIN_OF_FABRIC;
    long to_peer = 0;
    for (struct send *other = ep->sends; how->each && other; other = other->next)
        to_peer += other->to == to && other->kind == MESSAGE;
    if (how->each && to_peer >= how->each) return -EAGAIN_OF_FABRIC;
    long number = ++ep->sends_so_far;
    if (number == how->refuse) return -EIO;
    if (context && !joined && !covered(ep, desc, data, len, SENDS)) return -EINVAL;
    if (to < PEERS && ep->sent_to[to]++ < how->lost) {
        if (context) complete(ep, context, tag, len, 0);
        return 0;
    }
    if (number >= how->fail && how->fail && context) {
        how->fail = 0;
        complete(ep, context, tag, len, EIO);
        return 0;
    }
    if (!context) {
        /* Without a completion, a message that needs further calls would be unknown to its sender. */
        struct send now = {.to = to, .tag = tag, .data = data, .len = len};
        int is_behind = 0;
        for (struct send *other = ep->sends; other; other = other->next) is_behind |= other->to == to;
        int status = is_behind ? 0 : push(ep, &now);
        return status < 0 ? status : status ? 0 : -EAGAIN_OF_FABRIC;
    }
    struct send *send = calloc(1, sizeof *send);
    *send = (struct send){.to = to, .tag = tag, .data = data, .len = len, .context = context, .desc = desc};
    ep->sending++;
    APPEND(ep->sends, send);
    return 0;
}

static ssize_t t_send(struct ep *ep, const void *data, size_t len, void *desc, uint64_t to, uint64_t tag, void *context) {
    return begin_send(ep, data, len, to, tag, context, desc, 0);
}

/* The parts are joined: in memory of their own for as long as the send is under way. */
static ssize_t t_sendv(struct ep *ep, const struct iovec *parts, void **desc, size_t count, uint64_t to, uint64_t tag,
                       void *context) {
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        len += parts[i].iov_len;
        if (!covered(ep, desc ? desc[i] : NULL, parts[i].iov_base, parts[i].iov_len, SENDS)) return -EINVAL;
    }
    char *joined = malloc(len), *end = joined;
    for (size_t i = 0; i < count; i++) {
        memcpy(end, parts[i].iov_base, parts[i].iov_len);
        end += parts[i].iov_len;
    }
    ssize_t status = begin_send(ep, joined, len, to, tag, context, NULL, 1);
    for (struct send *send = ep->sends; status == 0 && send; send = send->next)
        if (send->context == context) {
            send->joined = joined;
            return 0;
        }
    free(joined);
    return status;
}

static ssize_t t_inject(struct ep *ep, const void *data, size_t len, uint64_t to, uint64_t tag) {
    return len > INJECT_MAX ? -EINVAL : begin_send(ep, data, len, to, tag, NULL, NULL, 0);
}

/* Receives. */

static int fits(const struct receive *receive, uint64_t tag) {
    return ((receive->tag ^ tag) & ~receive->ignore) == 0;
}

/* All of a message is here, and it has a receive. */
static void finish(struct ep *ep, struct message *message) {
    struct receive *receive = message->matched;
    int err = message->total > receive->room ? ETRUNC : 0;
    if (ep->trouble.truncate && ep->matched_so_far >= ep->trouble.truncate) {
        ep->trouble.truncate = 0;
        err = ETRUNC;
    }
    if (ep->trouble.cancel && ep->matched_so_far >= ep->trouble.cancel) {
        ep->trouble.cancel = 0;
        err = ECANCELED;
    }
    if (!covered(ep, receive->desc, receive->into, receive->room, RECEIVES)) err = EFAULT;
    if (!err && message->kept) memcpy(receive->into, message->kept, message->total);
    complete(ep, receive->context, message->tag, message->total, err);
    struct message **at = &ep->messages;
    while (*at != message) at = &(*at)->next;
    *at = message->next;
    free(message->kept);
    free(message);
    free(receive);
}

static struct receive *matching(struct ep *ep, uint64_t tag) {
    for (struct receive **at = &ep->receives; *at; at = &(*at)->next) {
        struct receive *receive = *at;
        if (!fits(receive, tag)) continue;
        *at = receive->next;
        ep->receiving--;
        if (++ep->matched_so_far == ep->trouble.strange) complete(ep, ep->own, 0, 0, EIO);
        return receive;
    }
    return NULL;
}

static void arrive(struct ep *ep, const struct fragment *in, size_t len) {
    struct message *message = ep->messages;
    while (message && (message->arrived == message->total || memcmp(message->from, in->from, ADDRESS)))
        message = message->next;
    if (in->offset == 0) {
        message = calloc(1, sizeof *message);
        memcpy(message->from, in->from, ADDRESS);
        message->tag = in->tag;
        message->total = in->total;
        APPEND(ep->messages, message);
        message->matched = matching(ep, in->tag);
        int is_short = message->matched && message->matched->room < in->total;
        if (!message->matched || is_short || ep->trouble.truncate || ep->trouble.modes & MR_LOCAL) message->kept = malloc(in->total + 1);
    }
    if (!message) return; /* the rest of a message from before this endpoint */
    char *into = message->kept ? message->kept : message->matched->into;
    memcpy(into + in->offset, in->data, len);
    message->arrived = in->offset + len;
    if (message->arrived == message->total && message->matched) finish(ep, message);
}

static ssize_t t_recv(struct ep *ep, void *into, size_t room, void *desc, uint64_t from, uint64_t tag, uint64_t ignore,
                      void *context) {
    (void)from;
    if (!covered(ep, desc, into, room, RECEIVES)) return -EINVAL;
    if (troubled(ep) || (ep->trouble.queue && ep->receiving >= 2 * ep->trouble.queue)) return -EAGAIN_OF_FABRIC;
    struct receive *receive = calloc(1, sizeof *receive);
    *receive = (struct receive){.into = into, .room = room, .tag = tag, .ignore = ignore, .context = context, .desc = desc};
    for (struct message *message = ep->messages; message; message = message->next) {
        if (message->matched || !fits(receive, message->tag)) continue;
        message->matched = receive;
        ep->matched_so_far++;
        if (message->arrived == message->total) finish(ep, message);
        return 0;
    }
    ep->receiving++;
    APPEND(ep->receives, receive);
    return 0;
}

static ssize_t e_cancel(struct ep *ep, void *context) {
    for (struct receive **at = &ep->receives; *at; at = &(*at)->next) {
        struct receive *receive = *at;
        if (receive->context != context) continue;
        *at = receive->next;
        ep->receiving--;
        complete(ep, context, 0, 0, ECANCELED);
        free(receive);
        return 0;
    }
    return 0;
}

static int close_plain(struct fid *fid) { return free(fid), 0; }

#include "fabric_stub_access.h"

/* The queue of completions. */

static void progress(struct ep *ep) {
    push_all(ep);
    for (int count = 0; count < 16; count++) {
        struct fragment in;
        ssize_t len = recv(ep->socket, &in, sizeof in, MSG_DONTWAIT);
        if (len < (ssize_t)offsetof(struct fragment, data)) break;
        len -= offsetof(struct fragment, data);
        if (in.kind == MESSAGE) arrive(ep, &in, len);
        else arrive_access(ep, &in, len);
    }
    make_late(ep);
}

/* One of the completions with or without errors, any one. */
static struct done *taken(struct ep *ep, int is_error) {
    size_t count = 0;
    for (struct done *done = ep->done; done; done = done->next) count += !done->err == !is_error;
    if (!count) return NULL;
    size_t skip = ep->trouble.seed ? drawn(ep) % count : 0;
    for (struct done **at = &ep->done;; at = &(*at)->next) {
        struct done *done = *at;
        if (!done->err != !is_error || skip-- > 0) continue;
        *at = done->next;
        return done;
    }
}

static ssize_t c_read(struct cq *cq, struct cq_entry *entries, size_t room) {
    struct ep *ep = cq->ep;
    progress(ep);
    ssize_t count = 0;
    for (struct done *done = ep->done; done; done = done->next)
        if (done->err) return -EAVAIL;
    while ((size_t)count < room && !troubled(ep)) {
        struct done *done = taken(ep, 0);
        if (!done) break;
        entries[count++] = done->entry;
        free(done);
    }
    return count ? count : -EAGAIN_OF_FABRIC;
}

static ssize_t c_readerr(struct cq *cq, struct error_entry *entry, uint64_t flags) {
    (void)flags;
    struct done *done = taken(cq->ep, 1);
    if (!done) return -EAGAIN_OF_FABRIC;
    entry->entry = done->entry;
    entry->err = done->err;
    free(done);
    return 1;
}

static int f_trywait(struct fabric *fabric, struct fid **fids, int count) {
    (void)fabric, (void)count;
    struct ep *ep = ((struct cq *)fids[0])->ep;
    return ep->done || ep->sends || ep->late ? -EAGAIN_OF_FABRIC : 0;
}

/* Objects. */

static int close_av(struct fid *fid) {
    free(((struct av *)fid)->all);
    return close_plain(fid);
}

static int close_domain(struct fid *fid) {
    if (((struct domain *)fid)->registered) return -EBUSY;
    free(((struct domain *)fid)->trouble);
    return close_plain(fid);
}

/* What is in progress stays: its memory is the user's again, and nothing touches it. */
static int close_ep(struct fid *fid) {
    close(((struct ep *)fid)->socket);
    return close_plain(fid);
}

static int bind_none(struct fid *fid, struct fid *other, uint64_t flags) {
    (void)fid, (void)other, (void)flags;
    return 0;
}

static int control_none(struct fid *fid, int what, void *answer) {
    (void)fid, (void)what, (void)answer;
    return 0;
}

static int bind_ep(struct fid *fid, struct fid *other, uint64_t flags) {
    struct ep *ep = (struct ep *)fid;
    if (!flags) {
        ep->av = (struct av *)other;
    } else {
        ep->cq = (struct cq *)other;
        ep->cq->ep = ep;
    }
    return 0;
}

static int control_cq(struct fid *fid, int what, void *answer) {
    if (what != GET_DESCRIPTOR) return -ENOSYS;
    *(int *)answer = ((struct cq *)fid)->ep->socket;
    return 0;
}

static const struct ops PLAIN = {sizeof PLAIN, close_plain, bind_none, control_none, {0}};
static const struct ops AV = {sizeof AV, close_av, bind_none, control_none, {0}};
static const struct ops DOMAIN = {sizeof DOMAIN, close_domain, bind_none, control_none, {0}};
static const struct ops CQ = {sizeof CQ, close_plain, bind_none, control_cq, {0}};
static const struct ops EP = {sizeof EP, close_ep, bind_ep, control_none, {0}};

static int a_insert(struct av *av, const void *addresses, size_t count, uint64_t *names, uint64_t flags, void *context) {
    (void)flags, (void)context;
    av->all = realloc(av->all, (av->count + count) * ADDRESS);
    for (size_t i = 0; i < count; i++) {
        memcpy(av->all[av->count], (const char *)addresses + i * ADDRESS, ADDRESS);
        names[i] = av->count++;
    }
    return (int)count;
}

static int e_getname(struct ep *ep, void *address, size_t *len) {
    if (*len < ADDRESS) return -ENOSPC;
    memcpy(address, ep->name, ADDRESS);
    *len = ADDRESS;
    return 0;
}

static const struct av_ops AV_OPS = {sizeof AV_OPS, a_insert, {0}};
static const struct cq_ops CQ_OPS = {sizeof CQ_OPS, c_read, NULL, c_readerr, {0}};
static const struct ep_ops EP_OPS = {sizeof EP_OPS, e_cancel, {0}};
static const struct cm_ops CM_OPS = {sizeof CM_OPS, NULL, e_getname, {0}};
static const struct tagged_ops TAGGED_OPS = {sizeof TAGGED_OPS, t_recv, NULL, NULL, t_send, t_sendv, NULL, t_inject, {0}};

static int d_av(struct domain *domain, void *attr, struct av **av, void *context) {
    (void)domain, (void)attr;
    *av = calloc(1, sizeof **av);
    **av = (struct av){{1, context, &AV}, &AV_OPS, 0, NULL};
    return 0;
}

static int d_cq(struct domain *domain, void *attr, struct cq **cq, void *context) {
    (void)domain, (void)attr;
    *cq = calloc(1, sizeof **cq);
    **cq = (struct cq){{2, context, &CQ}, &CQ_OPS, NULL};
    return 0;
}

static int d_ep(struct domain *domain, struct info *info, struct ep **made, void *context) {
    static _Atomic int number;
    (void)info;
    struct ep *ep = calloc(1, sizeof *ep);
    ep->fid = (struct fid){3, context, &EP};
    ep->ops = &EP_OPS;
    ep->cm = &CM_OPS;
    ep->tagged = &TAGGED_OPS;
    ep->rma = &RMA_OPS;
    ep->domain = domain;
    ep->trouble = *domain->trouble;
    ep->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int own = atomic_fetch_add(&number, 1);
    /* A process may have several copies of this library. */
    unsigned copy = (uintptr_t)&number >> 12;
    snprintf(ep->name, sizeof ep->name, "stub-%d-%x-%d", (int)getpid(), copy, own);
    const char *rank = getenv("PMI_RANK");
    ep->random = (ep->trouble.seed + 1) * 0x9e3779b97f4a7c15u + 0x1234567u * (own + 1 + (rank ? atoi(rank) : 0));
    socklen_t len;
    struct sockaddr_un at = place(ep->name, &len);
    if (ep->socket < 0 || bind(ep->socket, (struct sockaddr *)&at, len) < 0) return -errno;
    *made = ep;
    return 0;
}

static const struct domain_ops DOMAIN_OPS = {sizeof DOMAIN_OPS, d_av, d_cq, d_ep, {0}};

static long number_of(const char *name, const char *what) {
    const char *at = strstr(name, what);
    return at ? strtol(at + strlen(what), NULL, 10) : 0;
}

/* What it demands of memory. */
static long modes_of(const char *name) {
    return (number_of(name, ";local=") ? MR_LOCAL : 0) | (number_of(name, ";virtual=") ? MR_VIRT_ADDR : 0) | (number_of(name, ";keys=") ? MR_PROV_KEY : 0) |
           (number_of(name, ";bind=") ? MR_ENDPOINT : 0);
}

static int f_domain(struct fabric *fabric, struct info *info, struct domain **domain, void *context) {
    (void)fabric;
    const char *name = info->fabric->prov_name;
    *domain = calloc(1, sizeof **domain);
    **domain = (struct domain){{4, context, &DOMAIN}, &DOMAIN_OPS, &MR_OPS, calloc(1, sizeof(struct trouble)), NULL, 0};
    *(*domain)->trouble = (struct trouble){
        .each = number_of(name, ";each="),
        .seed = number_of(name, ";seed="),     .again = number_of(name, ";again="),
        .queue = number_of(name, ";queue="),   .fail = number_of(name, ";fail="),
        .refuse = number_of(name, ";refuse="), .truncate = number_of(name, ";truncate="),
        .cancel = number_of(name, ";cancel="),
        .lost = number_of(name, ";lost="),     .strange = number_of(name, ";strange="),
        .access = number_of(name, ";access="), .deny = number_of(name, ";deny="),
        .break_ = number_of(name, ";break="),  .reset = number_of(name, ";reset="),
        .modes = modes_of(name),               .pinned = number_of(name, ";pinned="),
    };
    return 0;
}

static const struct fabric_ops FABRIC_OPS = {sizeof FABRIC_OPS, f_domain, {0}, f_trywait};

/* Exports. */

uint32_t fi_version(void) { return 1 << 16 | 18; }

const char *fi_strerror(int code) {
    switch (code) {
    case ETRUNC: return "Truncation error";
    case EAVAIL: return "Error available";
    default: return strerror(code);
    }
}

struct info *fi_dupinfo(const struct info *from) {
    (void)from; /* always null here */
    struct info *info = calloc(1, sizeof *info);
    info->tx = calloc(1, sizeof *info->tx);
    info->rx = calloc(1, sizeof *info->rx);
    info->ep = calloc(1, sizeof *info->ep);
    info->domain = calloc(1, sizeof *info->domain);
    info->fabric = calloc(1, sizeof *info->fabric);
    return info;
}

void fi_freeinfo(struct info *info) {
    while (info) {
        struct info *next = info->next;
        free(info->domain->name);
        free(info->fabric->prov_name);
        free(info->tx), free(info->rx), free(info->ep), free(info->domain), free(info->fabric), free(info);
        info = next;
    }
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct info *hints,
               struct info **found) {
    (void)version, (void)node, (void)service, (void)flags;
    const char *name = hints->fabric->prov_name ? hints->fabric->prov_name : "stub";
    if (strncmp(name, "stub", 4) && strncmp(name, "net;", 4) && strcmp(name, "cxi") && strcmp(name, "psm3")) return -ENODATA;
    /* FI_RMA */
    if (hints->caps & 1 << 2 && !number_of(name, ";access=")) return -NO_DATA;
    long modes = modes_of(name);
    if (modes & ~hints->domain->numbers[5]) return -NO_DATA;
    struct info *info = fi_dupinfo(NULL);
    info->caps = hints->caps;
    info->tx->inject_size = INJECT_MAX;
    info->tx->iov_limit = 2;
    long queue = number_of(name, ";queue=");
    info->tx->size = queue ? queue : 1024;
    info->rx->size = 2 * info->tx->size;
    info->ep->type = hints->ep->type;
    info->ep->max_msg_size = SIZE_MAX;
    info->ep->mem_tag_format = UINT64_MAX;
    info->domain->numbers[5] = (int)modes;
    info->domain->more[0] = sizeof(uint64_t); /* bytes of a key */
    info->domain->name = strdup("stub0");
    info->fabric->prov_name = strdup(name);
    *found = info;
    return 0;
}

int fi_fabric(struct fabric_attr *attr, struct fabric **fabric, void *context) {
    (void)attr;
    *fabric = calloc(1, sizeof **fabric);
    **fabric = (struct fabric){{5, context, &PLAIN}, &FABRIC_OPS};
    return 0;
}
