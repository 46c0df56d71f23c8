//! The objects of an endpoint of libfabric: opened together, and closed together.

use std::os::fd::RawFd;
use std::ptr;
use std::time::Duration;

use super::library::{FabricFunctions, FoundInfo};
use super::local::LocalMemory;
use super::tables::*;
use crate::sys::thread::runs_within;

/// Entries of the queue of completions.
const QUEUE_ENTRIES: usize = 4096;
/// How long closing an endpoint may take.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);
/// The longest address of an endpoint, in bytes.
const ADDRESS_MAX: usize = 512;

/// The objects of the library, in the order in which they were opened.
pub(super) struct EndpointObjects {
    pub(super) fabric: *mut FabricObject,
    pub(super) domain: *mut DomainObject,
    pub(super) addresses: *mut AddressObject,
    pub(super) queue: *mut QueueObject,
    pub(super) endpoint: *mut EndpointObject,
    /// Memory of messages and accesses, if the provider demands that it is registered. It has them until the endpoint is
    /// closed.
    pub(super) own_memory: Option<LocalMemory>,
}

/// The objects by which memory is registered.
#[derive(Clone, Copy)]
pub(super) struct RegistrationPlace {
    pub(super) domain: *mut DomainObject,
    pub(super) endpoint: *mut EndpointObject,
}

/// What [`EndpointObjects::open`] opens.
pub(super) struct OpenedEndpoint {
    pub(super) objects: EndpointObjects,
    pub(super) address: Vec<u8>,
    pub(super) descriptor: Option<RawFd>,
}

/// A call that failed, and what it returned.
pub(super) type FailedCall = (&'static str, i32);

impl EndpointObjects {
    /// Opens all objects, and finds the address of the endpoint.
    pub(super) fn open(
        functions: &FabricFunctions, found: &FoundInfo<'_>,
    ) -> Result<OpenedEndpoint, FailedCall> {
        let mut all = Self {
            fabric: ptr::null_mut(),
            domain: ptr::null_mut(),
            addresses: ptr::null_mut(),
            queue: ptr::null_mut(),
            endpoint: ptr::null_mut(),
            own_memory: None,
        };
        let (info, none) = (found.info, ptr::null_mut());
        let mut queue = QueueAttributes {
            size: QUEUE_ENTRIES,
            format: TAGGED_ENTRIES,
            wait: WAITS_BY_DESCRIPTOR,
            ..QueueAttributes::default()
        };
        let mut addresses =
            AddressAttributes { kind: ADDRESS_TABLE, ..AddressAttributes::default() };
        // SAFETY: the offer has all its parts; each object is opened in the one before, with attributes that have
        // room behind and a place for the answer.
        unsafe {
            let status = (functions.fabric)((*info).fabric, &raw mut all.fabric, none);
            check("fi_fabric", status)?;
            let calls = &*(*all.fabric).calls;
            check("fi_domain", (calls.domain)(all.fabric, info, &raw mut all.domain, none))?;
            let calls = &*(*all.domain).calls;
            let domain = all.domain;
            let status =
                (calls.addresses)(domain, &raw mut addresses, &raw mut all.addresses, none);
            check("fi_av_open", status)?;
            let mut status = (calls.queue)(domain, &raw mut queue, &raw mut all.queue, none);
            let waits = status == 0;
            if !waits {
                queue.wait = NO_WAITS;
                status = (calls.queue)(domain, &raw mut queue, &raw mut all.queue, none);
            }
            check("fi_cq_open", status)?;
            let status = (calls.endpoint)(domain, info, &raw mut all.endpoint, none);
            check("fi_endpoint", status)?;
            let endpoint = all.endpoint.cast::<Object>();
            let calls = &*(*endpoint).calls;
            check("fi_ep_bind", (calls.bind)(endpoint, all.addresses.cast(), 0))?;
            let status = (calls.bind)(endpoint, all.queue.cast(), SENDS | RECEIVES);
            check("fi_ep_bind", status)?;
            check("fi_enable", (calls.control)(endpoint, ENABLE, none))?;
            let mut address = vec![0; ADDRESS_MAX];
            let mut len = address.len();
            let calls = &*(*all.endpoint).connections;
            let status = (calls.name)(endpoint, address.as_mut_ptr().cast(), &raw mut len);
            check("fi_getname", status)?;
            address.truncate(len);
            let descriptor = if waits { descriptor_of(all.queue.cast()) } else { None };
            let memory = LocalMemory::open(found, all.place());
            all.own_memory = memory.map_err(|status| ("fi_mr_reg", status))?;
            Ok(OpenedEndpoint { objects: all, address, descriptor })
        }
    }

    /// Where memory is registered.
    pub(super) fn place(&self) -> RegistrationPlace {
        RegistrationPlace { domain: self.domain, endpoint: self.endpoint }
    }

    /// The next error of the queue.
    pub(super) fn take_error(&self) -> Option<ErrorEntry> {
        let mut entry = ErrorEntry::NONE;
        // SAFETY: an open queue, and a place for an error with room behind.
        let count = unsafe { ((*(*self.queue).calls).read_error)(self.queue, &raw mut entry, 0) };
        (count > 0).then_some(entry)
    }

    /// Whether the descriptor of the queue will tell of all entries from now on.
    pub(super) fn may_sleep(&self) -> bool {
        let mut objects = [self.queue.cast::<Object>()];
        // SAFETY: an open fabric and a queue that was opened in it.
        unsafe { ((*(*self.fabric).calls).may_wait)(self.fabric, objects.as_mut_ptr(), 1) == 0 }
    }

    /// The library's name of an address.
    pub(super) fn insert(&self, address: &[u8]) -> Option<u64> {
        let mut name = 0;
        // SAFETY: an open table; the bytes are an address that an endpoint of this provider has given; a place for
        // the name.
        let count = unsafe {
            let calls = &*(*self.addresses).calls;
            let from = address.as_ptr().cast();
            (calls.insert)(self.addresses, from, 1, &raw mut name, 0, ptr::null_mut())
        };
        (count == 1).then_some(name)
    }
}

/// # Safety
/// `queue` is an open queue that has a descriptor.
unsafe fn descriptor_of(queue: *mut Object) -> Option<RawFd> {
    let mut number: RawFd = -1;
    // SAFETY: the caller's promise; a place for a number.
    let status =
        unsafe { ((*(*queue).calls).control)(queue, GET_DESCRIPTOR, (&raw mut number).cast()) };
    (status == 0 && number >= 0).then_some(number)
}

fn check(call: &'static str, status: i32) -> Result<(), FailedCall> {
    if status == 0 { Ok(()) } else { Err((call, status)) }
}

/// Closes what was opened in an endpoint or its domain.
///
/// # Safety
/// An open object, closed once.
pub(super) unsafe fn close_object(object: *mut Object, what: &str) {
    // SAFETY: the caller's promise.
    let status = unsafe { ((*(*object).calls).close)(object) };
    if status != 0 {
        tracing::warn!(status, "libfabric has not closed {what}");
    }
}

impl Drop for EndpointObjects {
    /// A provider may wait for threads of its own, or for other processes. What it then keeps ends with the
    /// process.
    fn drop(&mut self) {
        let mut memory = self.own_memory.take();
        let registered = memory.as_mut().map(LocalMemory::take_registrations).unwrap_or_default();
        let mut all: Vec<*mut Object> = vec![self.endpoint.cast()];
        all.extend(registered.into_iter().map(<*mut MemoryObject>::cast::<Object>));
        let rest: [*mut Object; 4] =
            [self.queue.cast(), self.addresses.cast(), self.domain.cast(), self.fabric.cast()];
        all.extend(rest);
        let all: Vec<_> = all.into_iter().map(|object| object as usize).collect();
        // The provider may use it until then.
        let slabs = memory.map(LocalMemory::into_slabs);
        let close = move || {
            let _slabs = slabs;
            for object in all.into_iter().map(|object| object as *mut Object) {
                if !object.is_null() {
                    // SAFETY: an open object, closed before those that it was opened in. This thread has it
                    // alone: the endpoint is gone.
                    unsafe { ((*(*object).calls).close)(object) };
                }
            }
        };
        if !runs_within(CLOSE_LIMIT, close) {
            tracing::warn!("libfabric has not closed its endpoint in {CLOSE_LIMIT:?}");
        }
    }
}
