//! Channels.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::{number, opaque};
use crate::channel::ChannelRequest;
use crate::hooks;
use crate::library;

/// The type behind `acp_ch_t`, which nothing points to.
pub enum OpaqueChannel {}
/// The type behind `acp_request_t`.
pub enum OpaqueRequest {}

/// The size of a request that is none.
const NO_REQUEST: usize = usize::MAX;

/// A variable of ACP's middle layer that programs may set for progress by threads; it has no effect here.
#[unsafe(no_mangle)]
pub static mut iacp_enable_hybrid: c_int = 0;

/// A channel of this rank; null for wrong ranks.
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_ch(sender: c_int, receiver: c_int) -> *mut OpaqueChannel {
    opaque(
        library::with(|running| {
            let ends = [u32::try_from(sender).ok()?, u32::try_from(receiver).ok()?];
            let (me, ranks) = running.comm.place();
            running.channels.create(me, ranks, ends)
        })
        .flatten(),
    )
}

/// Starts to free a channel.
#[unsafe(no_mangle)]
pub extern "C" fn acp_nbfree_ch(ch: *mut OpaqueChannel) -> *mut OpaqueRequest {
    opaque(library::with(|running| running.channels.free(running.comm, number(ch))).flatten())
}

/// Frees a channel, when the other side does so too.
#[unsafe(no_mangle)]
pub extern "C" fn acp_free_ch(ch: *mut OpaqueChannel) -> c_int {
    let request = acp_nbfree_ch(ch);
    if request.is_null() || acp_wait_ch(request) == NO_REQUEST { -1 } else { 0 }
}

/// Starts to send.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_nbsend_ch(
    ch: *mut OpaqueChannel, buf: *mut c_void, size: usize,
) -> *mut OpaqueRequest {
    opaque(
        library::with(|running| {
            // SAFETY: the caller's promise.
            unsafe { running.channels.send(running.comm, number(ch), buf, size) }
        })
        .flatten(),
    )
}

/// Starts to receive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_nbrecv_ch(
    ch: *mut OpaqueChannel, buf: *mut c_void, size: usize,
) -> *mut OpaqueRequest {
    opaque(
        library::with(|running| {
            // SAFETY: the caller's promise.
            unsafe { running.channels.receive(running.comm, number(ch), buf, size) }
        })
        .flatten(),
    )
}

/// Waits for a request; the bytes that were received.
#[unsafe(no_mangle)]
pub extern "C" fn acp_wait_ch(request: *mut OpaqueRequest) -> usize {
    let taken = library::with(|running| running.channels.take(number(request))).flatten();
    taken.map_or(NO_REQUEST, ChannelRequest::wait)
}

/// Waits for requests; 0, or -1 if one is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_waitall_ch(
    requests: *mut *mut OpaqueRequest, count: c_int, sizes: *mut usize,
) -> c_int {
    let mut code = 0;
    for at in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the caller's promise of so many requests, and sizes if there are any.
        let size = acp_wait_ch(unsafe { *requests.add(at) });
        if !sizes.is_null() {
            // SAFETY: as above.
            unsafe { *sizes.add(at) = size };
        }
        if size == NO_REQUEST {
            code = -1;
        }
    }
    code
}

/// Sends and waits; not declared in `acp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_send_ch(
    ch: *mut OpaqueChannel, buf: *mut c_void, size: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let request = unsafe { acp_nbsend_ch(ch, buf, size) };
    if request.is_null() || acp_wait_ch(request) == NO_REQUEST { -1 } else { 0 }
}

/// Receives and waits; not declared in `acp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_recv_ch(
    ch: *mut OpaqueChannel, buf: *mut c_void, size: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let request = unsafe { acp_nbrecv_ch(ch, buf, size) };
    if request.is_null() || acp_wait_ch(request) == NO_REQUEST { -1 } else { 0 }
}

/// Ends the job; a function of ACP's middle layer that programs may call.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_abort_cl() {
    hooks::abort(b"iacp_abort_cl");
}
