//! The calls of a loaded library.

use super::VendorCalls;
use platform::base::{Peer, Span};
use platform::sys::vendor::{VendorLibrary, VendorRequest};

impl VendorCalls for VendorLibrary {
    #[inline]
    fn send(&self, data: Span, to: Peer, tag: i32) -> VendorRequest {
        Self::send(self, data, to, tag)
    }

    #[inline]
    fn receive(&self, into: Span, from: Option<Peer>, tag: i32) -> VendorRequest {
        Self::receive(self, into, from, tag)
    }

    #[inline]
    fn test(&self, request: &mut VendorRequest) -> Option<Peer> {
        Self::test(self, request)
    }

    fn test_some(&self, requests: &mut [VendorRequest], indices: &mut Vec<i32>) {
        Self::test_some(self, requests, indices);
    }

    fn cancel(&self, request: &mut VendorRequest) {
        Self::cancel(self, request);
    }
}
