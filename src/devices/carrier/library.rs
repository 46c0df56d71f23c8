//! The libraries that carry messages.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::CarrierCalls;
use super::message::DATA_TAG;
use super::one_sided::MESSAGE_MAX;
use platform::base::{Peer, Span};
use platform::sys::carrier_request::CarrierRequest;
use platform::sys::fabric::{FabricEndpoint, FabricPlace};
use platform::sys::vendor::VendorLibrary;

/// The longest access that is faster than packets, in bytes: an owner that waits sees no access of the provider in
/// its polls, and sleeps before a longer one has ended. (Between two ranks of one host, `tcp;ofi_rxm`, a put and its end
/// took 15 instead of 26 to 36 µs with 16 KiB, 37 instead of 98 µs with 128 KiB, but 150 instead of 97 µs with 256 KiB.)
const FAST_ACCESS_MAX: usize = 128 << 10;
/// The provider whose threads make accesses: where both ranks wait they take 1 ms.
const BY_THREADS: &str = "sockets";

/// A loaded library.
#[derive(Debug)]
pub(crate) enum CarrierLibrary {
    /// Another MPI library.
    Vendor(Arc<VendorLibrary>),
    /// An endpoint of libfabric.
    Fabric(Box<FabricEndpoint>),
}

impl CarrierLibrary {
    /// # Panics
    /// For a library without access to memory of peers.
    fn endpoint(&self) -> &FabricEndpoint {
        match self {
            Self::Vendor(_) => panic!("another MPI library makes no access to memory of peers"),
            Self::Fabric(endpoint) => endpoint,
        }
    }

    /// The longest access to memory of peers that is faster than packets, in bytes; none without such access.
    pub(crate) fn fast_access_max(&self) -> Option<usize> {
        self.access_max()?;
        Some(match self.endpoint().provider() {
            BY_THREADS => MESSAGE_MAX,
            _ => FAST_ACCESS_MAX,
        })
    }

    /// What can be read when the library has work.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Vendor(_) => None,
            Self::Fabric(endpoint) => endpoint.descriptor(),
        }
    }
}

impl CarrierCalls for CarrierLibrary {
    #[inline]
    fn send(&self, data: Span, to: Peer, tag: i32) -> CarrierRequest {
        match self {
            Self::Vendor(library) => library.send(data, to, tag),
            Self::Fabric(endpoint) => endpoint.send(data, to, tag == DATA_TAG),
        }
    }

    fn gathers(&self) -> bool {
        match self {
            Self::Vendor(_) => false,
            Self::Fabric(endpoint) => endpoint.gathers(),
        }
    }

    fn send_header_with(&self, header: Span, data: Span, to: Peer) -> CarrierRequest {
        match self {
            Self::Vendor(_) => unreachable!("another MPI library gathers by datatypes"),
            Self::Fabric(endpoint) => endpoint.send_header_with(header, data, to),
        }
    }

    #[inline]
    fn receive(&self, into: Span, from: Option<Peer>, tag: i32) -> CarrierRequest {
        match self {
            Self::Vendor(library) => library.receive(into, from, tag),
            Self::Fabric(endpoint) => endpoint.receive(into, from, tag == DATA_TAG),
        }
    }

    #[inline]
    fn progress(&self) {
        if let Self::Fabric(endpoint) = self {
            endpoint.progress();
        }
    }

    #[inline]
    fn test(&self, request: &mut CarrierRequest) -> Option<Peer> {
        match self {
            Self::Vendor(library) => library.test(request),
            Self::Fabric(endpoint) => endpoint.test(request),
        }
    }

    fn test_some(&self, requests: &mut [CarrierRequest], indices: &mut Vec<i32>) {
        match self {
            Self::Vendor(library) => library.test_some(requests, indices),
            Self::Fabric(endpoint) => endpoint.test_some(requests),
        }
    }

    fn cancel(&self, request: &mut CarrierRequest) {
        match self {
            Self::Vendor(library) => library.cancel(request),
            Self::Fabric(endpoint) => endpoint.cancel(request),
        }
    }

    fn peer_ended(&self, peer: Peer) {
        if let Self::Fabric(endpoint) = self {
            endpoint.peer_ended(peer);
        }
    }

    fn take_failure(&self) -> Option<(Peer, String)> {
        match self {
            Self::Vendor(_) => None,
            Self::Fabric(endpoint) => endpoint.take_failure(),
        }
    }

    #[inline]
    fn access_max(&self) -> Option<usize> {
        match self {
            Self::Vendor(_) => None,
            Self::Fabric(endpoint) => endpoint.access_max(),
        }
    }

    fn register(&self, memory: Span, is_writable: bool) -> Result<FabricPlace, String> {
        self.endpoint().register(memory, is_writable)
    }

    fn deregister(&self, key: u64) {
        self.endpoint().deregister(key);
    }

    fn write(&self, from: Span, peer: Peer, at: FabricPlace) -> CarrierRequest {
        self.endpoint().write(from, peer, at)
    }

    fn read(&self, into: Span, peer: Peer, at: FabricPlace) -> CarrierRequest {
        self.endpoint().read(into, peer, at)
    }

    fn access_end(&self, request: &mut CarrierRequest) -> Option<Result<(), String>> {
        self.endpoint().access_end(request)
    }
}
