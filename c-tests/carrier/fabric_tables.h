/* The structures of rdma/fabric.h and others, as far as they are used. */
struct tx_attr { uint64_t caps, mode, op_flags, msg_order, comp_order; size_t inject_size, size, iov_limit, more[8]; };
struct rx_attr { uint64_t caps, mode, op_flags, msg_order, comp_order; size_t buffered, size, iov_limit, more[8]; };
struct ep_attr {
    int type;
    uint32_t protocol, version;
    size_t max_msg_size, prefix, order[3];
    uint64_t mem_tag_format;
    size_t more[16];
};
struct domain_attr { void *domain; char *name; int numbers[6]; size_t more[48]; };
struct fabric_attr { void *fabric; char *name, *prov_name; size_t more[8]; };
struct info {
    struct info *next;
    uint64_t caps, mode;
    uint32_t addr_format;
    size_t src_len, dest_len;
    void *src, *dest, *handle;
    struct tx_attr *tx;
    struct rx_attr *rx;
    struct ep_attr *ep;
    struct domain_attr *domain;
    struct fabric_attr *fabric;
    void *more[8];
};

struct fid { size_t class; void *context; const struct ops *ops; };
struct ops {
    size_t size;
    int (*close)(struct fid *);
    int (*bind)(struct fid *, struct fid *, uint64_t);
    int (*control)(struct fid *, int, void *);
    void *more[4];
};
struct fabric { struct fid fid; const struct fabric_ops *ops; };
struct domain {
    struct fid fid;
    const struct domain_ops *ops;
    const struct mr_ops *mr;
    /* The rest is ours. */
    struct trouble *trouble;
    struct mr *registered;
    uint64_t keys_so_far;
};
struct mr { /* registered memory */
    struct fid fid;
    void *mem_desc;
    uint64_t key;
    /* The rest is ours. */
    struct mr *next;
    struct domain *domain;
    char *base;
    size_t len;
    uint64_t rights;
    int is_bound, is_enabled;
};
struct cq { struct fid fid; const struct cq_ops *ops; struct ep *ep; };
struct av { struct fid fid; const struct av_ops *ops; size_t count; char (*all)[ADDRESS]; };
struct cq_entry { void *context; uint64_t flags; size_t len; void *buf; uint64_t data, tag; };
struct error_entry { struct cq_entry entry; size_t olen; int err, prov_errno; void *data; size_t size; };

struct fabric_ops {
    size_t size;
    int (*domain)(struct fabric *, struct info *, struct domain **, void *);
    void *more[3];
    int (*trywait)(struct fabric *, struct fid **, int);
};
struct domain_ops {
    size_t size;
    int (*av_open)(struct domain *, void *, struct av **, void *);
    int (*cq_open)(struct domain *, void *, struct cq **, void *);
    int (*endpoint)(struct domain *, struct info *, struct ep **, void *);
    void *more[8];
};
struct mr_ops {
    size_t size;
    int (*reg)(struct fid *, const void *, size_t, uint64_t, uint64_t, uint64_t, uint64_t, struct mr **, void *);
    void *more[2];
};
struct cq_ops {
    size_t size;
    ssize_t (*read)(struct cq *, struct cq_entry *, size_t);
    void *readfrom;
    ssize_t (*readerr)(struct cq *, struct error_entry *, uint64_t);
    void *more[4];
};
struct av_ops {
    size_t size;
    int (*insert)(struct av *, const void *, size_t, uint64_t *, uint64_t, void *);
    void *more[6];
};
struct ep_ops { size_t size; ssize_t (*cancel)(struct ep *, void *); void *more[6]; };
struct cm_ops { size_t size; void *setname; int (*getname)(struct ep *, void *, size_t *); void *more[8]; };
struct tagged_ops {
    size_t size;
    ssize_t (*recv)(struct ep *, void *, size_t, void *, uint64_t, uint64_t, uint64_t, void *);
    void *recvv, *recvmsg;
    ssize_t (*send)(struct ep *, const void *, size_t, void *, uint64_t, uint64_t, void *);
    ssize_t (*sendv)(struct ep *, const struct iovec *, void **, size_t, uint64_t, uint64_t, void *);
    void *sendmsg;
    ssize_t (*inject)(struct ep *, const void *, size_t, uint64_t, uint64_t);
    void *more[4];
};

struct rma_iov { uint64_t addr; size_t len; uint64_t key; };
struct rma_msg {
    const struct iovec *iov;
    void **desc;
    size_t iov_count;
    uint64_t to;
    const struct rma_iov *at;
    size_t at_count;
    void *context;
    uint64_t data;
};
struct rma_ops {
    size_t size;
    ssize_t (*read)(struct ep *, void *, size_t, void *, uint64_t, uint64_t, uint64_t, void *);
    void *others[4];
    ssize_t (*writemsg)(struct ep *, const struct rma_msg *, uint64_t);
    void *more[4];
};
