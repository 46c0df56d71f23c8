/* The layout of libfabric's structures and tables, and its numbers, as platform/src/sys/fabric/tables.rs has them.
 * Compiled where libfabric's headers are installed; nothing runs. */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stddef.h>

#define AT(type, member, offset) _Static_assert(offsetof(struct type, member) == (offset), #type "." #member)
#define IS(name, value) _Static_assert((name) == (value), #name)

AT(fid, ops, 16);
AT(fi_ops, close, 8);
AT(fi_ops, bind, 16);
AT(fi_ops, control, 24);
AT(fid_fabric, ops, 24);
AT(fi_ops_fabric, domain, 8);
AT(fi_ops_fabric, trywait, 40);
AT(fid_domain, ops, 24);
AT(fi_ops_domain, av_open, 8);
AT(fi_ops_domain, cq_open, 16);
AT(fi_ops_domain, endpoint, 24);
AT(fid_domain, mr, 32);
AT(fi_ops_mr, reg, 8);
AT(fid_mr, key, 32);
AT(fid_ep, ops, 24);
AT(fid_ep, cm, 32);
AT(fid_ep, rma, 48);
AT(fid_ep, tagged, 56);
AT(fi_ops_rma, read, 8);
AT(fi_ops_rma, writemsg, 48);
AT(fi_msg_rma, msg_iov, 0);
AT(fi_msg_rma, desc, 8);
AT(fi_msg_rma, iov_count, 16);
AT(fi_msg_rma, addr, 24);
AT(fi_msg_rma, rma_iov, 32);
AT(fi_msg_rma, rma_iov_count, 40);
AT(fi_msg_rma, context, 48);
AT(fi_msg_rma, data, 56);
AT(fi_rma_iov, addr, 0);
AT(fi_rma_iov, len, 8);
AT(fi_rma_iov, key, 16);
AT(fi_ops_ep, cancel, 8);
AT(fi_ops_cm, getname, 16);
AT(fi_ops_tagged, recv, 8);
AT(fi_ops_tagged, send, 32);
AT(fi_ops_tagged, sendv, 40);
AT(fi_ops_tagged, inject, 56);
AT(fid_av, ops, 24);
AT(fi_ops_av, insert, 8);
AT(fid_cq, ops, 24);
AT(fi_ops_cq, read, 8);
AT(fi_ops_cq, readerr, 24);
AT(fi_info, next, 0);
AT(fi_info, caps, 8);
AT(fi_info, mode, 16);
AT(fi_info, tx_attr, 72);
AT(fi_info, rx_attr, 80);
AT(fi_info, ep_attr, 88);
AT(fi_info, domain_attr, 96);
AT(fi_info, fabric_attr, 104);
AT(fi_tx_attr, msg_order, 24);
AT(fi_tx_attr, inject_size, 40);
AT(fi_tx_attr, iov_limit, 56);
AT(fi_rx_attr, msg_order, 24);
AT(fi_rx_attr, size, 48);
AT(fi_ep_attr, type, 0);
AT(fi_ep_attr, max_msg_size, 16);
AT(fi_ep_attr, mem_tag_format, 56);
AT(fi_domain_attr, name, 8);
AT(fi_domain_attr, threading, 16);
AT(fi_domain_attr, control_progress, 20);
AT(fi_domain_attr, data_progress, 24);
AT(fi_domain_attr, resource_mgmt, 28);
AT(fi_domain_attr, av_type, 32);
AT(fi_domain_attr, mr_mode, 36);
AT(fi_domain_attr, mr_key_size, 40);
AT(fi_fabric_attr, prov_name, 16);
AT(fi_cq_attr, size, 0);
AT(fi_cq_attr, flags, 8);
AT(fi_cq_attr, format, 16);
AT(fi_cq_attr, wait_obj, 20);
AT(fi_av_attr, type, 0);
AT(fi_av_attr, count, 8);
AT(fi_cq_tagged_entry, op_context, 0);
AT(fi_cq_tagged_entry, tag, 40);
AT(fi_cq_err_entry, op_context, 0);
AT(fi_cq_err_entry, err, 56);
AT(fi_cq_err_entry, prov_errno, 60);
_Static_assert(sizeof(struct fi_cq_tagged_entry) == 48, "the size of an entry");
_Static_assert(sizeof(struct fi_cq_err_entry) <= 136, "the size of the entry of an error");
_Static_assert(sizeof(struct fi_msg_rma) == 64, "the size of a write");
_Static_assert(sizeof(struct fi_rma_iov) == 24, "the size of a part of memory of a peer");
_Static_assert(sizeof(struct fi_context2) == 64, "the size of a context");
_Static_assert(sizeof(struct fi_cq_attr) <= 104 && sizeof(struct fi_av_attr) <= 112, "room behind attributes");
IS(FI_TAGGED, 1 << 3);
IS(FI_RMA, 1 << 2);
IS(FI_READ, 1 << 8);
IS(FI_WRITE, 1 << 9);
IS(FI_REMOTE_READ, 1 << 12);
IS(FI_REMOTE_WRITE, 1 << 13);
IS(FI_COMPLETION, 1 << 24);
IS(FI_DELIVERY_COMPLETE, 1 << 28);
IS(FI_MR_VIRT_ADDR, 1 << 4);
IS(FI_MR_PROV_KEY, 1 << 6);
IS(FI_MR_ENDPOINT, 1 << 9);
IS(FI_RECV, 1 << 10);
IS(FI_SEND, 1 << 11);
IS(FI_TRANSMIT, FI_SEND);
IS(FI_CONTEXT, 1ULL << 59);
IS(FI_CONTEXT2, 1ULL << 52);
IS(FI_ORDER_SAS, 1 << 8);
IS(FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT, 1 << 4 | 1 << 5 | 1 << 6 | 1 << 9);
IS(FI_EP_RDM, 3);
IS(FI_THREAD_DOMAIN, 3);
IS(FI_PROGRESS_MANUAL, 2);
IS(FI_RM_ENABLED, 2);
IS(FI_AV_TABLE, 2);
IS(FI_CQ_FORMAT_TAGGED, 4);
IS(FI_WAIT_NONE, 0);
IS(FI_WAIT_FD, 3);
IS(FI_GETWAIT, 5);
IS(FI_ENABLE, 6);
IS(FI_ADDR_UNSPEC, UINT64_MAX);
IS(FI_EAGAIN, 11);
IS(FI_EAVAIL, 259);
IS(FI_ENODATA, 61);
IS(FI_ENOTCONN, 107);
IS(FI_ECANCELED, 125);
