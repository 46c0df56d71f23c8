//! Memory of this process that peers read and write by the provider, and accesses to theirs.
//!
//! ```text
//!   owner   register ──key, address──> peer   write, read ──> started, or put off as a message is ──> done
//! ```
//!
//! Keys are random where the provider does not choose them: a process of a stranger that reaches the port of a provider
//! over sockets writes to memory if it knows the key. A write is done when its data is at the peer. Providers over
//! connections end the connection if a key names nothing, or if an access leaves its memory: the caller checks accesses
//! before.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;

use super::library::{FabricFunctions, FoundInfo};
use super::local::DescribedMemory;
use super::objects::{EndpointObjects, RegistrationPlace, close_object};
use super::tables::*;
use super::{EndpointState, FabricEndpoint, FabricTransfer};
use crate::base::Span;
use crate::sys::carrier_request::CarrierRequest;
use crate::sys::iovec;
use crate::sys::secret::JobCredentials;

/// How often a key is drawn that is in use.
const KEY_TRIES: u32 = 4;
/// The longest access, in bytes, whatever the provider says.
const ACCESS_MAX: usize = 1 << 30;

/// Errors of an access that tell of the connection. The numbers of libfabric are those of the system.
const CONNECTION_ERRORS: [c_int; 9] = [
    libc::EPIPE,
    libc::ECONNABORTED,
    libc::ECONNRESET,
    libc::ENOTCONN,
    libc::ESHUTDOWN,
    libc::ETIMEDOUT,
    libc::ECONNREFUSED,
    libc::EHOSTDOWN,
    libc::EHOSTUNREACH,
];

/// Whether an error of an access tells of the connection.
pub(super) fn is_of_connection(error: c_int) -> bool {
    CONNECTION_ERRORS.contains(&error.abs())
}

/// Whether access to memory of peers by a provider has been tried: over connections. `shm` crashes if one process has
/// several endpoints, `ofi_rxd` may get stuck after an error, and providers of network cards have not been tried.
fn has_tried_access(provider: &str) -> bool {
    let is_tried = |layer| matches!(layer, "tcp" | "net" | "sockets" | "ofi_rxm");
    provider.split(';').all(is_tried)
}

/// Whether the provider makes accesses to memory of peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessChoice {
    /// If it has been tried.
    #[default]
    Tried,
    /// If it says that it can.
    Offered,
    /// Messages make them.
    Never,
}

impl AccessChoice {
    pub(super) fn admits(self, provider: &str) -> bool {
        match self {
            Self::Tried => has_tried_access(provider),
            Self::Offered => true,
            Self::Never => false,
        }
    }
}

/// Memory of a peer, by the names of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FabricPlace {
    /// The key of registered memory.
    pub key: u64,
    /// An address, as [`FabricEndpoint::register`] counts it.
    pub address: u64,
}

/// Which access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FabricAccess {
    Write,
    Read,
}

/// What a provider demands of memory for peers.
#[derive(Clone, Copy)]
pub(super) struct MemoryDemands {
    modes: c_int,
    key_bytes: usize,
    access_max: usize,
}

/// Memory of this process for peers.
#[derive(Default)]
pub(super) struct RegisteredMemory(BTreeMap<u64, *mut MemoryObject>);

impl MemoryDemands {
    /// Those of the first provider; none if it has no access to memory of peers.
    pub(super) fn of(found: &FoundInfo<'_>) -> Option<Self> {
        // SAFETY: the library has made all parts.
        let has_access = unsafe { (*found.info).caps & REMOTE_CAPS == REMOTE_CAPS };
        has_access.then(|| Self::of_all(found))
    }

    /// Those of the first provider.
    pub(super) fn of_all(found: &FoundInfo<'_>) -> Self {
        // SAFETY: the library has made all parts.
        unsafe {
            let (domain, endpoint) = ((*found.info).domain, (*found.info).endpoint);
            Self {
                modes: (*domain).memory_mode,
                key_bytes: (*domain).memory_key,
                access_max: ACCESS_MAX.min((*endpoint).message_max),
            }
        }
    }

    /// The longest access, in bytes.
    pub(super) fn access_max(&self) -> usize {
        self.access_max
    }

    /// A key that the process may ask for.
    fn draw_key(&self) -> Result<u64, c_int> {
        let secret = JobCredentials::draw();
        let secret = secret.map_err(|error| -error.raw_os_error().unwrap_or(libc::EIO))?;
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&secret.key[..8]);
        Ok(self.fitting(u64::from_ne_bytes(bytes)))
    }

    /// The bits of a key for which the provider has room.
    pub(super) fn fitting(&self, key: u64) -> u64 {
        let unused_bits = 64 - 8 * self.key_bytes.clamp(1, 8) as u32;
        key >> unused_bits
    }
}

impl RegisteredMemory {
    /// Registers memory at the provider with a key that is not in use, and tells how peers name its first byte. Writes
    /// of peers add 1 to `counter`, if there is one.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn register(
        &mut self, functions: &FabricFunctions, objects: &EndpointObjects, demands: &MemoryDemands,
        memory: Span, rights: u64, counter: Option<*mut CounterObject>,
    ) -> Result<FabricPlace, String> {
        let made = register_memory(objects.place(), demands, memory, rights, counter);
        let made = made.map_err(|status| {
            let why = functions.error(status as isize);
            format!("{} bytes of memory are not registered: {why}", memory.len())
        })?;
        let is_by_address = demands.modes & BY_ADDRESS != 0;
        let address = if is_by_address { memory.address() as u64 } else { 0 };
        Ok(FabricPlace { key: self.keep(made), address })
    }

    /// Registers memory for writes of peers under a key that is asked for, from its first byte on.
    ///
    /// # Errors
    /// What the provider returns.
    pub(super) fn add_as(
        &mut self, objects: &EndpointObjects, demands: &MemoryDemands, memory: Span, key: u64,
        counter: Option<*mut CounterObject>,
    ) -> Result<(), c_int> {
        let named = (PEERS_MAY_WRITE, demands.fitting(key));
        let made = try_register(objects.place(), demands, memory, named, counter)?;
        self.keep(made);
        Ok(())
    }

    fn keep(&mut self, made: *mut MemoryObject) -> u64 {
        // SAFETY: an open registration.
        let key = unsafe { (*made).key };
        self.0.insert(key, made);
        key
    }

    /// Ends a registration: the provider refuses the key from now on.
    pub(super) fn remove(&mut self, key: u64) {
        self.0.remove(&key).into_iter().for_each(close_memory);
    }
}

/// Registers memory that exists until [`close_memory`], with a key that is not in use.
///
/// # Errors
/// What the provider returns.
pub(super) fn register_memory(
    place: RegistrationPlace, demands: &MemoryDemands, memory: Span, rights: u64,
    counter: Option<*mut CounterObject>,
) -> Result<*mut MemoryObject, c_int> {
    let mut end = Err(0);
    for _ in 0..KEY_TRIES {
        let chooses = demands.modes & CHOOSES_KEYS != 0;
        let key = if chooses { 0 } else { demands.draw_key()? };
        end = try_register(place, demands, memory, (rights, key), counter);
        if chooses || end.is_ok() {
            break;
        }
    }
    end
}

fn try_register(
    place: RegistrationPlace, demands: &MemoryDemands, memory: Span,
    (rights, requested): (u64, u64), counter: Option<*mut CounterObject>,
) -> Result<*mut MemoryObject, c_int> {
    let (domain, mut made) = (place.domain, ptr::null_mut::<MemoryObject>());
    let address = ptr::with_exposed_provenance(memory.address());
    let flags = if counter.is_some() { COUNTS_WRITES } else { 0 };
    // SAFETY: an open domain, and a place for the answer. The memory exists until the registration is closed.
    let status = unsafe {
        let calls = &*(*domain).memory;
        let (domain, len, none) = (domain.cast(), memory.len(), ptr::null_mut());
        let made = &raw mut made;
        (calls.register)(domain, address, len, rights, 0, requested, flags, made, none)
    };
    if status != 0 || made.is_null() {
        return Err(status);
    }
    // SAFETY: open objects.
    let status = unsafe { prepare(made.cast(), place, demands, counter) };
    if status != 0 {
        close_memory(made);
        return Err(status);
    }
    Ok(made)
}

/// Binds memory to an endpoint, if the provider demands that, and to a counter, and enables it.
///
/// # Safety
/// All are open objects of one domain.
unsafe fn prepare(
    memory: *mut Object, place: RegistrationPlace, demands: &MemoryDemands,
    counter: Option<*mut CounterObject>,
) -> c_int {
    let binds = demands.modes & BINDS_MEMORY != 0;
    let enables = binds || counter.is_some() && demands.modes & ENABLES_COUNTED != 0;
    let endpoint = binds.then_some((place.endpoint.cast::<Object>(), 0));
    let counter = counter.map(|counter| (counter.cast::<Object>(), PEERS_MAY_WRITE));
    // SAFETY: the caller's promise.
    unsafe {
        let calls = &*(*memory).calls;
        for (object, flags) in endpoint.into_iter().chain(counter) {
            let status = (calls.bind)(memory, object, flags);
            if status != 0 {
                return status;
            }
        }
        if enables { (calls.control)(memory, ENABLE, ptr::null_mut()) } else { 0 }
    }
}

/// Ends a registration, which is not used any more.
pub(super) fn close_memory(memory: *mut MemoryObject) {
    // SAFETY: an open registration, closed once.
    unsafe { close_object(memory.cast(), "a registration of memory") };
}

impl Drop for RegisteredMemory {
    /// Before the objects that it was opened in.
    fn drop(&mut self) {
        std::mem::take(&mut self.0).into_values().for_each(close_memory);
    }
}

impl FabricEndpoint {
    /// The longest access to memory of peers, in bytes; none if the provider has no such access.
    pub fn access_max(&self) -> Option<usize> {
        self.access_max
    }

    /// Lets peers read memory that exists until [`FabricEndpoint::deregister`], and write it if that is asked for; the
    /// place of its first byte.
    ///
    /// # Errors
    /// A sentence.
    pub fn register(&self, memory: Span, is_writable: bool) -> Result<FabricPlace, String> {
        let mut state = self.state.lock();
        let EndpointState { demands: Some(demands), objects, registered, functions, .. } =
            &mut *state
        else {
            return Err(format!("{} has no access to memory of peers", self.description));
        };
        let rights = PEERS_MAY_READ | if is_writable { PEERS_MAY_WRITE } else { 0 };
        let place = registered.register(functions, objects, demands, memory, rights, None);
        place.map_err(|why| format!("{}: {why}", self.description))
    }

    /// Ends a registration: the provider refuses the key from now on.
    pub fn deregister(&self, key: u64) {
        self.state.lock().registered.remove(key);
    }

    /// Starts to write bytes that stay readable and unchanged until the operation is done to memory of `peer`.
    pub fn write(&self, from: Span, peer: u32, at: FabricPlace) -> CarrierRequest {
        let what = FabricTransfer::Access { peer, access: FabricAccess::Write, at };
        self.state.lock().start(what, [from, Span::EMPTY], 0)
    }

    /// Starts to read memory of `peer`.
    pub fn read(&self, into: Span, peer: u32, at: FabricPlace) -> CarrierRequest {
        let what = FabricTransfer::Access { peer, access: FabricAccess::Read, at };
        self.state.lock().start(what, [into, Span::EMPTY], 0)
    }

    /// Whether a write or a read is done, and the sentence of its error: then the request is
    /// [`CarrierRequest::NULL`].
    pub fn access_end(&self, request: &mut CarrierRequest) -> Option<Result<(), String>> {
        let mut state = self.state.lock();
        let number = request.number() - CarrierRequest::FIRST;
        state.take_done(request)?;
        let error = std::mem::take(&mut state.operations[number].error);
        Some(if error == 0 { Ok(()) } else { Err(state.functions.error(error as isize)) })
    }
}

impl EndpointState {
    /// What the library returns for an access.
    pub(super) fn hand_access(
        &mut self, number: u32, memory: DescribedMemory, peer: u32, access: FabricAccess,
        at: FabricPlace,
    ) -> isize {
        let (endpoint, name) = (self.objects.endpoint, self.peers[peer as usize]);
        let operation = &mut self.operations[number as usize];
        let DescribedMemory { address, mut description } = memory;
        let len = operation.span.len();
        let context = (&raw mut *operation.context).cast::<c_void>();
        // SAFETY: an open endpoint of a provider with these calls. The span is readable, or writable, until its
        // operation is done (`Span::new`), and the context is in its box until then. The library copies what describes
        // a write.
        unsafe {
            let calls = &*(*endpoint).remote;
            match access {
                FabricAccess::Read => {
                    let into = ptr::with_exposed_provenance_mut(address);
                    let FabricPlace { address, key } = at;
                    (calls.read)(endpoint, into, len, description, name, address, key, context)
                }
                FabricAccess::Write => {
                    let from = iovec(address, len);
                    let to = RemotePart { address: at.address, len, key: at.key };
                    let mut parts = RemoteParts::one(&raw const from, name, &raw const to);
                    parts.describe(&mut description);
                    let write = RemoteWrite { parts, context, data: 0 };
                    (calls.write_message)(endpoint, &raw const write, TELL_DELIVERY)
                }
            }
        }
    }

    /// An access has ended with an error: its peer has failed only if the connection has.
    pub(super) fn access_failed(&mut self, number: u32, peer: u32, error: c_int) {
        self.operations[number as usize].error = error;
        let why = self.functions.error(error as isize);
        tracing::warn!(peer, why, "an access to memory of a peer has failed");
        if is_of_connection(error) {
            self.fail(peer, error as isize);
        }
    }
}
