/* Access to memory of peers, of the stub: a part of fabric_stub.c. */

static ssize_t begin_access(struct ep *ep, enum kind kind, char *data, size_t len, uint64_t to, struct rma_iov at,
                            void *context, void *desc, int is_told) {
    struct trouble *how = &ep->trouble;
    if (troubled(ep) || (how->queue && ep->sending >= how->queue)) return -EAGAIN_OF_FABRIC;
    long to_peer = 0;
    for (struct access *other = ep->accesses; how->each && other; other = other->next) to_peer += other->to == to;
    if (how->each && to_peer >= how->each) return -EAGAIN_OF_FABRIC;
    uint64_t number = ++ep->accesses_so_far;
    if (number == (uint64_t)how->deny) return -EIO;
    if (!covered(ep, desc, data, len, kind == WRITE ? WRITES : READS)) return -EINVAL;
    struct send *send = calloc(1, sizeof *send);
    *send = (struct send){.kind = kind, .to = to, .desc = desc};
    /* Addresses and keys need not fit here: what they name is the peer's to find out. Answers have odd numbers. */
    send->place = (struct place){.id = 2 * number, .key = at.key, .address = at.addr};
    *(kind == WRITE ? &send->len : &send->place.asked) = len;
    if (kind == WRITE) send->data = data;
    int err = number == (uint64_t)how->break_ ? EIO : number == (uint64_t)how->reset ? ECONNRESET : 0;
    if (err) {
        send->len /= 2;
        send->place.asked /= 2;
        /* The application has its memory again. */
        if (kind == WRITE) send->data = send->joined = memcpy(malloc(send->len + 1), data, send->len);
        complete(ep, context, 0, 0, err);
    } else {
        struct access *access = calloc(1, sizeof *access);
        *access = (struct access){.id = 2 * number, .to = to, .into = data, .len = len, .context = context, .desc = desc};
        if (kind == WRITE) send->context = context;
        ep->sending++;
        APPEND(ep->accesses, access);
        if (!is_told) {
            send->data = send->joined = memcpy(malloc(len + 1), data, len);
            end_access(ep, access->id, 0);
        }
    }
    APPEND(ep->sends, send);
    return 0;
}

static ssize_t r_read(struct ep *ep, void *into, size_t len, void *desc, uint64_t from, uint64_t addr, uint64_t key,
                      void *context) {
    return begin_access(ep, READ, into, len, from, (struct rma_iov){addr, len, key}, context, desc, 1);
}

static ssize_t r_writemsg(struct ep *ep, const struct rma_msg *msg, uint64_t flags) {
    if (msg->iov_count != 1 || msg->at_count != 1 || msg->iov->iov_len != msg->at->len) return -EINVAL;
    return begin_access(ep, WRITE, msg->iov->iov_base, msg->iov->iov_len, msg->to, *msg->at, msg->context,
                        msg->desc ? msg->desc[0] : NULL, !!(flags & DELIVERY_COMPLETE));
}

/* Memory of this endpoint for a peer, or an error. */
static int find(struct ep *ep, uint64_t key, uint64_t address, uint64_t len, uint64_t right, char **found) {
    for (struct mr *mr = ep->domain->registered; mr; mr = mr->next) {
        if (mr->key != key || !mr->is_enabled) continue;
        uint64_t start = ep->trouble.modes & MR_VIRT_ADDR ? address - (uintptr_t)mr->base : address;
        if (!(mr->rights & right) || start > mr->len || len > mr->len - start) return EACCES;
        *found = mr->base + start;
        return 0;
    }
    return EACCES;
}

static void answer(struct ep *ep, const char *to, enum kind kind, uint64_t id, const char *data, size_t len, int err) {
    for (size_t peer = 0; peer < ep->av->count; peer++) {
        if (memcmp(ep->av->all[peer], to, ADDRESS)) continue;
        struct send *send = calloc(1, sizeof *send);
        *send = (struct send){.kind = kind, .to = peer, .len = len};
        /* A copy: the application may end the registration. */
        if (data) send->data = send->joined = memcpy(malloc(len + 1), data, len);
        send->place = (struct place){.id = id + 1, .err = err};
        APPEND(ep->sends, send);
        return;
    }
}

/* A fragment of a write is made: the last one answers. */
static void make_write(struct ep *ep, const struct fragment *in, size_t len) {
    struct inbound **at = &ep->inbound;
    while (*at && ((*at)->id != in->place.id || memcmp((*at)->from, in->from, ADDRESS))) at = &(*at)->next;
    if (!*at) {
        *at = calloc(1, sizeof **at);
        (*at)->id = in->place.id;
        memcpy((*at)->from, in->from, ADDRESS);
    }
    struct inbound *inbound = *at;
    char *place;
    int err = find(ep, in->place.key, in->place.address + in->offset, len, MAY_WRITE, &place);
    if (err) inbound->err = err;
    else memcpy(place, in->data, len);
    inbound->made += len;
    if (inbound->made < in->total) return;
    answer(ep, in->from, ENDED, in->place.id, NULL, 0, (int)inbound->err);
    *at = inbound->next;
    free(inbound);
}

static void make_read(struct ep *ep, const struct fragment *in) {
    char *place;
    int err = find(ep, in->place.key, in->place.address, in->place.asked, MAY_READ, &place);
    if (err) answer(ep, in->from, ENDED, in->place.id, NULL, 0, err);
    else answer(ep, in->from, DATA, in->place.id, place, in->place.asked, 0);
}

static void take_data(struct ep *ep, const struct fragment *in, size_t len) {
    for (struct access *access = ep->accesses; access; access = access->next) {
        if (access->id + 1 != in->place.id) continue;
        if (!covered(ep, access->desc, access->into, access->len, READS)) return end_access(ep, access->id, EFAULT);
        memcpy(access->into + in->offset, in->data, len);
        access->arrived += len;
        if (access->arrived == access->len) end_access(ep, access->id, 0);
        return;
    }
}

static void arrive_access(struct ep *ep, const struct fragment *in, size_t len) {
    if (in->kind == DATA) return take_data(ep, in, len);
    if (in->kind == ENDED) return end_access(ep, in->place.id - 1, (int)in->place.err);
    struct late *late = malloc(sizeof *late);
    late->len = len;
    memcpy(&late->in, in, offsetof(struct fragment, data) + len);
    APPEND(ep->late, late);
}

/* Any of the accesses to memory of this endpoint, all without a seed. */
static void make_late(struct ep *ep) {
    for (struct late **at = &ep->late; *at;) {
        struct late *late = *at;
        if (ep->trouble.seed && drawn(ep) % 2) {
            at = &late->next;
            continue;
        }
        *at = late->next;
        if (late->in.kind == WRITE) make_write(ep, &late->in, late->len);
        else make_read(ep, &late->in);
        free(late);
    }
}

/* Registered memory. */

static int bind_mr(struct fid *fid, struct fid *other, uint64_t flags) {
    (void)other, (void)flags;
    ((struct mr *)fid)->is_bound = 1;
    return 0;
}

static int control_mr(struct fid *fid, int what, void *answer) {
    (void)answer;
    struct mr *mr = (struct mr *)fid;
    if (what != ENABLE || !mr->is_bound) return -EINVAL;
    mr->is_enabled = 1;
    return 0;
}

static int close_mr(struct fid *fid) {
    struct mr **at = &((struct mr *)fid)->domain->registered;
    while (*at != (struct mr *)fid) at = &(*at)->next;
    *at = (*at)->next;
    return close_plain(fid);
}

static const struct ops MR = {sizeof MR, close_mr, bind_mr, control_mr, {0}};

static const struct rma_ops RMA_OPS = {sizeof RMA_OPS, r_read, {0}, r_writemsg, {0}};

static int m_reg(struct fid *fid, const void *base, size_t len, uint64_t rights, uint64_t offset, uint64_t key,
                 uint64_t flags, struct mr **made, void *context) {
    struct domain *domain = (struct domain *)fid;
    long modes = domain->trouble->modes;
    if (offset || flags || !len) return -EINVAL;
    if (modes & MR_PROV_KEY) key = ++domain->keys_so_far << 32 | 0x5eed;
    for (struct mr *mr = domain->registered; mr; mr = mr->next)
        if (mr->key == key) return -EEXIST;
    size_t pinned = len;
    for (struct mr *mr = domain->registered; mr; mr = mr->next) pinned += mr->len;
    if (domain->trouble->pinned && pinned > (size_t)domain->trouble->pinned << 10) return -ENOMEM;
    struct mr *mr = calloc(1, sizeof *mr);
    *mr = (struct mr){.fid = {6, context, &MR}, .mem_desc = mr, .key = key, .domain = domain, .base = (char *)base};
    mr->len = len;
    mr->rights = rights;
    mr->is_enabled = !(modes & MR_ENDPOINT);
    APPEND(domain->registered, mr);
    *made = mr;
    return 0;
}

static const struct mr_ops MR_OPS = {sizeof MR_OPS, m_reg, {0}};
