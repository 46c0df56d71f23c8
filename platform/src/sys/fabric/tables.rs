//! The part of libfabric's binary interface that endpoints for tagged messages and for deferred work use: numbers, the
//! beginnings of structures, and tables of functions.
//!
//! No member has moved and no number has changed from 1.9 to 2.5; structures only grew at their ends. So those that
//! the library allocates are used by their beginnings, and those that it only reads have room behind.
//!
//! Source: `rdma/fabric.h`, `fi_domain.h`, `fi_endpoint.h`, `fi_eq.h`, `fi_tagged.h`, `fi_rma.h`, `fi_atomic.h`,
//! `fi_cm.h`, `fi_trigger.h`, `fi_errno.h` of libfabric.

use std::ffi::{c_char, c_int, c_void};

/// `FI_TAGGED | FI_RECV | FI_SEND`.
pub(super) const CAPS: u64 = 1 << 3 | RECEIVES | SENDS;
/// `FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE`, beside them.
pub(super) const REMOTE_CAPS: u64 = 1 << 2 | 1 << 8 | 1 << 9 | PEERS_MAY_READ | PEERS_MAY_WRITE;
/// `FI_REMOTE_READ` and `FI_REMOTE_WRITE`, also the rights to memory.
pub(super) const PEERS_MAY_READ: u64 = 1 << 12;
pub(super) const PEERS_MAY_WRITE: u64 = 1 << 13;
/// `FI_COMPLETION | FI_DELIVERY_COMPLETE`: the end of a write is told when its data is at the peer.
pub(super) const TELL_DELIVERY: u64 = 1 << 24 | 1 << 28;
/// `FI_REMOTE_CQ_DATA`: the queue of the peer gets an entry.
pub(super) const TELL_PEER: u64 = 1 << 17;
/// `FI_TRIGGER | FI_RMA_EVENT | FI_ATOMIC`: work waits for counters, which count writes of peers to memory, and may add
/// to memory.
pub(super) const WORK_CAPS: u64 = 1 << 20 | COUNTS_WRITES | 1 << 4;
/// `FI_RMA_EVENT`, also of memory that is bound to a counter.
pub(super) const COUNTS_WRITES: u64 = 1 << 56;
/// `FI_RECV`, also what a queue is bound for.
pub(super) const RECEIVES: u64 = 1 << 10;
/// `FI_SEND`, also `FI_TRANSMIT`.
pub(super) const SENDS: u64 = 1 << 11;
/// `FI_CONTEXT | FI_CONTEXT2`: the library may use the memory of contexts, of [`FabricContext`].
pub(super) const CONTEXT_MODES: u64 = 1 << 59 | 1 << 52;
/// `FI_ORDER_SAS`: messages to one peer match in their order.
pub(super) const ORDER_SEND_AFTER_SEND: u64 = 1 << 8;
/// `FI_MR_VIRT_ADDR`: peers name memory by its addresses, and not by offsets.
pub(super) const BY_ADDRESS: c_int = 1 << 4;
/// `FI_MR_PROV_KEY`: the provider chooses keys.
pub(super) const CHOOSES_KEYS: c_int = 1 << 6;
/// `FI_MR_ENDPOINT`: memory is bound to an endpoint, and enabled.
pub(super) const BINDS_MEMORY: c_int = 1 << 9;
/// `FI_MR_LOCAL`: memory of messages and accesses is registered, too.
pub(super) const REGISTERS_OWN: c_int = 1 << 2;
/// These and `FI_MR_ALLOCATED`: what providers may demand of memory for peers.
pub(super) const MEMORY_MODES: c_int = BY_ADDRESS | 1 << 5 | CHOOSES_KEYS | BINDS_MEMORY;
/// `FI_MR_RMA_EVENT`: memory that is bound to a counter is enabled after that.
pub(super) const ENABLES_COUNTED: c_int = 1 << 8;
/// `FI_EP_RDM`.
pub(super) const RELIABLE_DATAGRAMS: c_int = 3;
/// `FI_THREAD_DOMAIN`: the application makes one call at a time.
pub(super) const ONE_CALL: c_int = 3;
/// `FI_PROGRESS_MANUAL`.
pub(super) const MANUAL: c_int = 2;
/// `FI_PROGRESS_AUTO`: by threads of the provider, or by its hardware.
pub(super) const AUTOMATIC: c_int = 1;
/// `FI_RM_ENABLED`.
pub(super) const GUARDED_QUEUES: c_int = 2;
/// `FI_AV_TABLE`.
pub(super) const ADDRESS_TABLE: c_int = 2;
/// `FI_CQ_FORMAT_TAGGED`.
pub(super) const TAGGED_ENTRIES: c_int = 4;
/// `FI_WAIT_NONE`, `FI_WAIT_UNSPEC` and `FI_WAIT_FD`.
pub(super) const NO_WAITS: c_int = 0;
pub(super) const WAITS_INSIDE: c_int = 1;
pub(super) const WAITS_BY_DESCRIPTOR: c_int = 3;
/// `FI_GETWAIT`.
pub(super) const GET_DESCRIPTOR: c_int = 5;
/// `FI_ENABLE`.
pub(super) const ENABLE: c_int = 6;
/// `FI_QUEUE_WORK`.
pub(super) const QUEUE_WORK: c_int = 11;
/// `FI_OP_WRITE`, `FI_OP_ATOMIC` and `FI_OP_CNTR_ADD`.
pub(super) const WORK_WRITES: c_int = 5;
pub(super) const WORK_COMBINES: c_int = 6;
pub(super) const WORK_ADDS: c_int = 10;
/// `FI_UINT8` and `FI_SUM`.
pub(super) const BYTES: c_int = 1;
pub(super) const SUMS: c_int = 2;
/// `FI_ADDR_UNSPEC`.
pub(super) const ANY_ADDRESS: u64 = u64::MAX;

/// `-FI_EAGAIN`.
pub(super) const TRY_AGAIN: isize = -11;
/// `-FI_EAVAIL`: the queue has the entry of an error.
pub(super) const ERROR_ENTRY: isize = -259;
/// `FI_ETIMEDOUT`.
pub(super) const TIMED_OUT: c_int = 110;
/// `-FI_ENODATA`.
pub(super) const NO_DATA: c_int = -61;
/// `FI_ENOTCONN`.
pub(super) const NOT_CONNECTED: c_int = 107;
/// `FI_ECANCELED`.
pub(super) const CANCELED: c_int = 125;

/// `struct fid`, the beginning of all objects.
#[repr(C)]
pub(super) struct Object {
    class: usize,
    context: *mut c_void,
    pub(super) calls: *const ObjectCalls,
}

/// `struct fi_ops`.
#[repr(C)]
pub(super) struct ObjectCalls {
    size: usize,
    pub(super) close: unsafe extern "C" fn(*mut Object) -> c_int,
    pub(super) bind: unsafe extern "C" fn(*mut Object, *mut Object, u64) -> c_int,
    pub(super) control: unsafe extern "C" fn(*mut Object, c_int, *mut c_void) -> c_int,
}

/// `struct fid_fabric`.
#[repr(C)]
pub(super) struct FabricObject {
    pub(super) object: Object,
    pub(super) calls: *const FabricCalls,
}

/// `struct fi_ops_fabric`.
#[repr(C)]
pub(super) struct FabricCalls {
    size: usize,
    pub(super) domain: unsafe extern "C" fn(
        *mut FabricObject,
        *mut FabricInfo,
        *mut *mut DomainObject,
        *mut c_void,
    ) -> c_int,
    others: [*const c_void; 3],
    pub(super) may_wait: unsafe extern "C" fn(*mut FabricObject, *mut *mut Object, c_int) -> c_int,
}

/// `struct fid_domain`.
#[repr(C)]
pub(super) struct DomainObject {
    pub(super) object: Object,
    pub(super) calls: *const DomainCalls,
    pub(super) memory: *const MemoryCalls,
}

/// `struct fi_ops_mr`.
#[repr(C)]
pub(super) struct MemoryCalls {
    size: usize,
    pub(super) register: unsafe extern "C" fn(
        *mut Object,
        *const c_void,
        usize,
        u64,
        u64,
        u64,
        u64,
        *mut *mut MemoryObject,
        *mut c_void,
    ) -> c_int,
}

/// `struct fid_mr`.
#[repr(C)]
pub(super) struct MemoryObject {
    pub(super) object: Object,
    pub(super) description: *mut c_void,
    pub(super) key: u64,
}

/// `struct fi_ops_domain`.
#[repr(C)]
pub(super) struct DomainCalls {
    size: usize,
    pub(super) addresses: unsafe extern "C" fn(
        *mut DomainObject,
        *mut AddressAttributes,
        *mut *mut AddressObject,
        *mut c_void,
    ) -> c_int,
    pub(super) queue: unsafe extern "C" fn(
        *mut DomainObject,
        *mut QueueAttributes,
        *mut *mut QueueObject,
        *mut c_void,
    ) -> c_int,
    pub(super) endpoint: unsafe extern "C" fn(
        *mut DomainObject,
        *mut FabricInfo,
        *mut *mut EndpointObject,
        *mut c_void,
    ) -> c_int,
    scalable_endpoint: *const c_void,
    pub(super) counter: unsafe extern "C" fn(
        *mut DomainObject,
        *mut CounterAttributes,
        *mut *mut CounterObject,
        *mut c_void,
    ) -> c_int,
}

/// `struct fid_cntr`.
#[repr(C)]
pub(super) struct CounterObject {
    pub(super) object: Object,
    pub(super) calls: *const CounterCalls,
}

/// `struct fi_ops_cntr`.
#[repr(C)]
pub(super) struct CounterCalls {
    size: usize,
    pub(super) read: unsafe extern "C" fn(*mut CounterObject) -> u64,
    pub(super) read_errors: unsafe extern "C" fn(*mut CounterObject) -> u64,
    pub(super) add: unsafe extern "C" fn(*mut CounterObject, u64) -> c_int,
    pub(super) set: unsafe extern "C" fn(*mut CounterObject, u64) -> c_int,
    /// Milliseconds.
    pub(super) wait: unsafe extern "C" fn(*mut CounterObject, u64, c_int) -> c_int,
}

/// `struct fi_deferred_work`, with one of these operations.
#[repr(C)]
pub(super) struct TriggeredWork {
    pub(super) context: [u64; 8],
    pub(super) level: u64,
    pub(super) waits: *mut CounterObject,
    pub(super) ends: *mut CounterObject,
    pub(super) kind: c_int,
    pub(super) operation: *mut c_void,
}

/// `struct fi_op_rma`.
#[repr(C)]
pub(super) struct TriggeredWrite {
    pub(super) endpoint: *mut EndpointObject,
    pub(super) message: RemoteWrite,
    pub(super) flags: u64,
}

/// `struct fi_op_atomic`.
#[repr(C)]
pub(super) struct TriggeredCombination {
    pub(super) endpoint: *mut EndpointObject,
    pub(super) message: RemoteCombination,
    pub(super) flags: u64,
}

/// `struct fi_msg_atomic`: `struct fi_ioc` and `struct fi_rma_ioc` are as parts of bytes, but count elements.
#[repr(C)]
pub(super) struct RemoteCombination {
    pub(super) parts: RemoteParts,
    pub(super) elements: c_int,
    pub(super) operation: c_int,
    pub(super) context: *mut c_void,
    pub(super) data: u64,
}

/// `struct fi_op_cntr`.
#[repr(C)]
pub(super) struct TriggeredAddition {
    pub(super) counter: *mut CounterObject,
    pub(super) value: u64,
}

/// `struct fid_ep`.
#[repr(C)]
pub(super) struct EndpointObject {
    pub(super) object: Object,
    pub(super) calls: *const EndpointCalls,
    pub(super) connections: *const ConnectionCalls,
    messages: *const c_void,
    pub(super) remote: *const RemoteCalls,
    pub(super) tagged: *const TaggedCalls,
}

/// `struct fi_ops_ep`.
#[repr(C)]
pub(super) struct EndpointCalls {
    size: usize,
    pub(super) cancel: unsafe extern "C" fn(*mut Object, *mut c_void) -> isize,
}

/// `struct fi_ops_cm`.
#[repr(C)]
pub(super) struct ConnectionCalls {
    size: usize,
    set_name: *const c_void,
    pub(super) name: unsafe extern "C" fn(*mut Object, *mut c_void, *mut usize) -> c_int,
}

/// `struct fi_ops_tagged`.
#[repr(C)]
pub(super) struct TaggedCalls {
    size: usize,
    pub(super) receive: unsafe extern "C" fn(
        *mut EndpointObject,
        *mut c_void,
        usize,
        *mut c_void,
        u64,
        u64,
        u64,
        *mut c_void,
    ) -> isize,
    receive_vector: *const c_void,
    receive_message: *const c_void,
    pub(super) send: unsafe extern "C" fn(
        *mut EndpointObject,
        *const c_void,
        usize,
        *mut c_void,
        u64,
        u64,
        *mut c_void,
    ) -> isize,
    pub(super) send_parts: unsafe extern "C" fn(
        *mut EndpointObject,
        *const libc::iovec,
        *mut *mut c_void,
        usize,
        u64,
        u64,
        *mut c_void,
    ) -> isize,
    send_message: *const c_void,
    pub(super) inject:
        unsafe extern "C" fn(*mut EndpointObject, *const c_void, usize, u64, u64) -> isize,
}

/// `struct fi_ops_rma`.
#[repr(C)]
pub(super) struct RemoteCalls {
    size: usize,
    pub(super) read: unsafe extern "C" fn(
        *mut EndpointObject,
        *mut c_void,
        usize,
        *mut c_void,
        u64,
        u64,
        u64,
        *mut c_void,
    ) -> isize,
    others: [*const c_void; 4],
    pub(super) write_message:
        unsafe extern "C" fn(*mut EndpointObject, *const RemoteWrite, u64) -> isize,
}

/// The beginning of messages to memory of a peer.
#[repr(C)]
pub(super) struct RemoteParts {
    from: *const libc::iovec,
    descriptions: *mut *mut c_void,
    from_count: usize,
    peer: u64,
    to: *const RemotePart,
    to_count: usize,
}

impl RemoteParts {
    /// One part on each side.
    pub(super) fn one(from: *const libc::iovec, peer: u64, to: *const RemotePart) -> Self {
        let descriptions = std::ptr::null_mut();
        Self { from, descriptions, from_count: 1, peer, to, to_count: 1 }
    }

    /// Names the registration of the part here, if there is one.
    pub(super) fn describe(&mut self, description: &mut *mut c_void) {
        if !description.is_null() {
            self.descriptions = description;
        }
    }

    /// The same with the parts at other addresses.
    pub(super) fn move_to(&mut self, from: *const libc::iovec, to: *const RemotePart) {
        (self.from, self.to) = (from, to);
    }
}

/// `struct fi_msg_rma`.
#[repr(C)]
pub(super) struct RemoteWrite {
    pub(super) parts: RemoteParts,
    pub(super) context: *mut c_void,
    pub(super) data: u64,
}

/// `struct fi_rma_iov`.
#[repr(C)]
pub(super) struct RemotePart {
    pub(super) address: u64,
    pub(super) len: usize,
    pub(super) key: u64,
}

/// `struct fid_av`.
#[repr(C)]
pub(super) struct AddressObject {
    pub(super) object: Object,
    pub(super) calls: *const AddressCalls,
}

/// `struct fi_ops_av`.
#[repr(C)]
pub(super) struct AddressCalls {
    size: usize,
    pub(super) insert: unsafe extern "C" fn(
        *mut AddressObject,
        *const c_void,
        usize,
        *mut u64,
        u64,
        *mut c_void,
    ) -> c_int,
}

/// `struct fid_cq`.
#[repr(C)]
pub(super) struct QueueObject {
    pub(super) object: Object,
    pub(super) calls: *const QueueCalls,
}

/// `struct fi_ops_cq`.
#[repr(C)]
pub(super) struct QueueCalls {
    size: usize,
    pub(super) read: unsafe extern "C" fn(*mut QueueObject, *mut FabricCompletion, usize) -> isize,
    read_from: *const c_void,
    pub(super) read_error: unsafe extern "C" fn(*mut QueueObject, *mut ErrorEntry, u64) -> isize,
}

/// `struct fi_info`.
#[repr(C)]
pub(super) struct FabricInfo {
    pub(super) next: *mut FabricInfo,
    pub(super) caps: u64,
    pub(super) mode: u64,
    address_format: u32,
    own_address_len: usize,
    peer_address_len: usize,
    own_address: *mut c_void,
    peer_address: *mut c_void,
    handle: *mut c_void,
    pub(super) sends: *mut SendAttributes,
    pub(super) receives: *mut ReceiveAttributes,
    pub(super) endpoint: *mut EndpointAttributes,
    pub(super) domain: *mut DomainAttributes,
    pub(super) fabric: *mut FabricAttributes,
}

/// `struct fi_tx_attr`.
#[repr(C)]
pub(super) struct SendAttributes {
    caps: u64,
    mode: u64,
    op_flags: u64,
    pub(super) message_order: u64,
    completion_order: u64,
    pub(super) inject_max: usize,
    size: usize,
    pub(super) parts_max: usize,
}

/// `struct fi_rx_attr`.
#[repr(C)]
pub(super) struct ReceiveAttributes {
    caps: u64,
    mode: u64,
    op_flags: u64,
    pub(super) message_order: u64,
    completion_order: u64,
    buffered: usize,
    pub(super) size: usize,
}

/// `struct fi_ep_attr`.
#[repr(C)]
pub(super) struct EndpointAttributes {
    pub(super) kind: c_int,
    protocol: u32,
    protocol_version: u32,
    pub(super) message_max: usize,
    prefix: usize,
    order_sizes: [usize; 3],
    pub(super) tag_format: u64,
}

/// `struct fi_domain_attr`.
#[repr(C)]
pub(super) struct DomainAttributes {
    domain: *mut c_void,
    pub(super) name: *mut c_char,
    pub(super) threading: c_int,
    pub(super) control_progress: c_int,
    pub(super) data_progress: c_int,
    pub(super) resource_management: c_int,
    pub(super) address_kind: c_int,
    pub(super) memory_mode: c_int,
    /// In bytes.
    pub(super) memory_key: usize,
}

/// `struct fi_fabric_attr`.
#[repr(C)]
pub(super) struct FabricAttributes {
    fabric: *mut c_void,
    name: *mut c_char,
    pub(super) provider: *mut c_char,
}

/// `struct fi_cq_attr`.
#[repr(C)]
#[derive(Default)]
pub(super) struct QueueAttributes {
    pub(super) size: usize,
    pub(super) flags: u64,
    pub(super) format: c_int,
    pub(super) wait: c_int,
    pub(super) rest: [u64; 10],
}

/// `struct fi_cntr_attr`.
#[repr(C)]
#[derive(Default)]
pub(super) struct CounterAttributes {
    pub(super) events: c_int,
    pub(super) wait: c_int,
    pub(super) rest: [u64; 10],
}

/// `struct fi_av_attr`.
#[repr(C)]
#[derive(Default)]
pub(super) struct AddressAttributes {
    pub(super) kind: c_int,
    pub(super) context_bits: c_int,
    pub(super) count: usize,
    pub(super) rest: [u64; 12],
}

/// `struct fi_cq_tagged_entry`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct FabricCompletion {
    pub(super) context: *mut FabricContext,
    pub(super) flags: u64,
    pub(super) len: usize,
    buffer: *mut c_void,
    pub(super) data: u64,
    pub(super) tag: u64,
}

impl FabricCompletion {
    pub(super) const NONE: Self = Self {
        context: std::ptr::null_mut(),
        flags: 0,
        len: 0,
        buffer: std::ptr::null_mut(),
        data: 0,
        tag: 0,
    };
}

/// `struct fi_cq_err_entry`, with room for more.
#[repr(C)]
pub(super) struct ErrorEntry {
    pub(super) completion: FabricCompletion,
    excess: usize,
    pub(super) error: c_int,
    pub(super) provider_error: c_int,
    rest: [u64; 9],
}

impl ErrorEntry {
    pub(super) const NONE: Self = Self {
        completion: FabricCompletion::NONE,
        excess: 0,
        error: 0,
        provider_error: 0,
        rest: [0; 9],
    };
}

/// `struct fi_context2`, the library's, and what is ours behind it.
#[repr(C)]
pub(super) struct FabricContext {
    pub(super) library: [u64; 8],
    /// The number of the operation.
    pub(super) number: u32,
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(offset_of!(FabricInfo, sends) == 72 && offset_of!(FabricInfo, fabric) == 104);
    assert!(offset_of!(EndpointAttributes, tag_format) == 56);
    assert!(offset_of!(EndpointAttributes, message_max) == 16);
    assert!(offset_of!(DomainAttributes, memory_key) == 40);
    assert!(offset_of!(DomainObject, memory) == 32 && offset_of!(MemoryCalls, register) == 8);
    assert!(offset_of!(MemoryObject, description) == 24);
    assert!(offset_of!(MemoryObject, key) == 32 && offset_of!(EndpointObject, remote) == 48);
    assert!(offset_of!(RemoteCalls, read) == 8 && offset_of!(RemoteCalls, write_message) == 48);
    assert!(size_of::<RemoteWrite>() == 64 && offset_of!(RemoteParts, to) == 32);
    assert!(offset_of!(DomainCalls, counter) == 40 && offset_of!(CounterCalls, wait) == 40);
    assert!(size_of::<TriggeredWork>() == 104 && offset_of!(TriggeredWork, level) == 64);
    assert!(offset_of!(TriggeredWork, kind) == 88 && offset_of!(TriggeredWork, operation) == 96);
    assert!(size_of::<TriggeredWrite>() == 80 && offset_of!(TriggeredWrite, flags) == 72);
    assert!(size_of::<TriggeredCombination>() == 88);
    assert!(size_of::<RemoteCombination>() == 72 && offset_of!(RemoteCombination, context) == 56);
    assert!(offset_of!(CounterObject, calls) == 24 && size_of::<TriggeredAddition>() == 16);
    assert!(size_of::<RemotePart>() == 24 && offset_of!(RemotePart, key) == 16);
    assert!(offset_of!(SendAttributes, inject_max) == 40);
    assert!(offset_of!(ReceiveAttributes, size) == 48);
    assert!(offset_of!(DomainAttributes, memory_mode) == 36);
    assert!(offset_of!(FabricAttributes, provider) == 16);
    assert!(offset_of!(FabricCalls, may_wait) == 40);
    assert!(offset_of!(TaggedCalls, inject) == 56 && offset_of!(EndpointObject, tagged) == 56);
    assert!(offset_of!(QueueCalls, read_error) == 24 && offset_of!(DomainCalls, endpoint) == 24);
    assert!(offset_of!(ErrorEntry, error) == 56 && size_of::<FabricCompletion>() == 48);
    assert!(offset_of!(AddressAttributes, count) == 8 && offset_of!(QueueAttributes, wait) == 20);
};
