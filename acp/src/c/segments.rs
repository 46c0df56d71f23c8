//! Segment buffers.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::{number, opaque};
use crate::library;
use crate::segment_buffer::{SegmentBuffer, SegmentedMemory};

/// The type behind `acp_segbuf_t`, which nothing points to.
pub enum OpaqueSegments {}

/// # Safety
/// As of [`acp_create_src_segbuf`].
unsafe fn create(
    is_source: bool, peer: c_int, buffer: *mut c_void, bytes_each: usize, count: usize,
) -> *mut OpaqueSegments {
    opaque(
        library::with(|running| {
            let segments = SegmentedMemory { buffer, bytes_each, count };
            // SAFETY: the caller's promise.
            unsafe { running.segment_buffers.create(running.comm, is_source, peer, segments) }
        })
        .flatten(),
    )
}

/// The source of a segment buffer; null if that is not possible.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_create_src_segbuf(
    peer: c_int, buf: *mut c_void, segsize: usize, segnum: usize,
) -> *mut OpaqueSegments {
    // SAFETY: the caller's promise of the memory, until the segment buffer has been freed.
    unsafe { create(true, peer, buf, segsize, segnum) }
}

/// The destination of a segment buffer; null if that is not possible.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_create_dst_segbuf(
    peer: c_int, buf: *mut c_void, segsize: usize, segnum: usize,
) -> *mut OpaqueSegments {
    // SAFETY: as above.
    unsafe { create(false, peer, buf, segsize, segnum) }
}

/// Uses a segment buffer; -1 if it is none.
fn with(
    segbuf: *mut OpaqueSegments, body: impl FnOnce(&mut SegmentBuffer) -> Option<c_int>,
) -> c_int {
    let used = library::with(|running| body(running.segment_buffers.get(number(segbuf))?));
    used.flatten().unwrap_or(-1)
}

/// 0 for true and 1 for false, as ACP has it.
fn flag(value: bool) -> c_int {
    (!value).into()
}

/// Waits until the other end is there.
#[unsafe(no_mangle)]
pub extern "C" fn acp_connect_segbuf(segbuf: *mut OpaqueSegments) -> c_int {
    let is_known = with(segbuf, |_| Some(0));
    let mut attempts = 0_u32;
    while is_known == 0 && with(segbuf, |buffer| Some(flag(buffer.is_connected()))) == 1 {
        attempts = attempts.saturating_add(1);
        crate::space::GlobalSpace::pause(&super::space(), attempts);
    }
    is_known
}

/// 0 if the other end is there, else 1.
#[unsafe(no_mangle)]
pub extern "C" fn acp_isconnected_segbuf(segbuf: *mut OpaqueSegments) -> c_int {
    with(segbuf, |buffer| Some(flag(buffer.is_connected())))
}

/// The destination has read a segment; -1 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn acp_ready_segbuf(segbuf: *mut OpaqueSegments) -> c_int {
    with(segbuf, |buffer| buffer.release().then_some(0))
}

/// The source sends a segment; -1 if there is no room.
#[unsafe(no_mangle)]
pub extern "C" fn acp_ack_segbuf(segbuf: *mut OpaqueSegments) -> c_int {
    with(segbuf, |buffer| buffer.send().then_some(0))
}

/// 0 if the source has room, else 1.
#[unsafe(no_mangle)]
pub extern "C" fn acp_isready_segbuf(segbuf: *mut OpaqueSegments) -> c_int {
    with(segbuf, |buffer| buffer.has_room().map(flag))
}

/// 0 if the destination has a segment, else 1.
#[unsafe(no_mangle)]
pub extern "C" fn acp_isacked_segbuf(segbuf: *mut OpaqueSegments) -> c_int {
    with(segbuf, |buffer| buffer.has_data().map(flag))
}

/// An index of a segment buffer; -1 if it is none.
fn index(segbuf: *mut OpaqueSegments, body: impl FnOnce(&mut SegmentBuffer) -> Option<u64>) -> i64 {
    let used = library::with(|running| body(running.segment_buffers.get(number(segbuf))?));
    used.flatten().and_then(|index| i64::try_from(index).ok()).unwrap_or(-1)
}

/// The index of the next segment to read.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_segbuf_head(segbuf: *mut OpaqueSegments) -> i64 {
    index(segbuf, |buffer| Some(buffer.head()))
}

/// The index of the next segment to send.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_segbuf_tail(segbuf: *mut OpaqueSegments) -> i64 {
    index(segbuf, |buffer| Some(buffer.tail()))
}

/// The index of the first segment of the source that may not be overwritten yet.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_segbuf_sent(segbuf: *mut OpaqueSegments) -> i64 {
    index(segbuf, SegmentBuffer::sent)
}

/// Tells the other end that this one is not used any more.
#[unsafe(no_mangle)]
pub extern "C" fn acp_disconnect_segbuf(segbuf: *mut OpaqueSegments) -> c_int {
    let comm = library::with(|running| running.comm);
    with(segbuf, |buffer| buffer.disconnect(comm?).then_some(0))
}

/// Frees a segment buffer, when the other end has disconnected.
#[unsafe(no_mangle)]
pub extern "C" fn acp_free_segbuf(segbuf: *mut OpaqueSegments) -> c_int {
    let taken = library::with(|running| {
        Some((running.segment_buffers.take(number(segbuf))?, running.comm))
    });
    match taken.flatten() {
        Some((buffer, comm)) => {
            buffer.free(comm);
            0
        }
        None => -1,
    }
}
