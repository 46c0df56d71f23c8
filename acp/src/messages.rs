//! Messages between the ranks of ACP: the functions of MPI that the middle layer uses, behind safe functions.
//!
//! All are of the C interface of MPI 5.0, by their `PMPI` names: a tool that looks at the messages of a program
//! does not see these. An error of MPI here has no other cause than the failure of a rank, and ends the job.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::hooks;

/// A communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct CommHandle(usize);

/// A session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct SessionHandle(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
struct RequestHandle(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
struct DatatypeHandle(usize);

/// `MPI_Status`
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct MessageStatus {
    source: c_int,
    tag: c_int,
    error: c_int,
    internal: [c_int; 5],
}

unsafe extern "C" {
    fn PMPI_Allgather_c(
        from: *const c_void, from_count: i64, from_type: DatatypeHandle, into: *mut c_void,
        into_count: i64, into_type: DatatypeHandle, comm: CommHandle,
    ) -> c_int;
    fn PMPI_Barrier(comm: CommHandle) -> c_int;
    fn PMPI_Cancel(request: *mut RequestHandle) -> c_int;
    fn PMPI_Comm_dup(comm: CommHandle, new: *mut CommHandle) -> c_int;
    fn PMPI_Comm_free(comm: *mut CommHandle) -> c_int;
    fn PMPI_Comm_rank(comm: CommHandle, rank: *mut c_int) -> c_int;
    fn PMPI_Comm_size(comm: CommHandle, size: *mut c_int) -> c_int;
    fn PMPI_Comm_split(comm: CommHandle, colour: c_int, key: c_int, new: *mut CommHandle) -> c_int;
    fn PMPI_Get_count_c(
        status: *const MessageStatus, datatype: DatatypeHandle, count: *mut i64,
    ) -> c_int;
    fn PMPI_Irecv_c(
        into: *mut c_void, count: i64, datatype: DatatypeHandle, source: c_int, tag: c_int,
        comm: CommHandle, request: *mut RequestHandle,
    ) -> c_int;
    fn PMPI_Isend_c(
        from: *const c_void, count: i64, datatype: DatatypeHandle, dest: c_int, tag: c_int,
        comm: CommHandle, request: *mut RequestHandle,
    ) -> c_int;
    fn PMPI_Session_finalize(session: *mut SessionHandle) -> c_int;
    fn PMPI_Test(
        request: *mut RequestHandle, flag: *mut c_int, status: *mut MessageStatus,
    ) -> c_int;
    fn PMPI_Wait(request: *mut RequestHandle, status: *mut MessageStatus) -> c_int;
}

/// `MPI_BYTE`
const BYTE: DatatypeHandle = DatatypeHandle(0x247);
/// `MPI_UINT64_T`
const WORD: DatatypeHandle = DatatypeHandle(0x259);
/// `MPI_ERR_TRUNCATE`: a longer message than its receive; the first bytes are there.
const TRUNCATE: c_int = 15;

impl SessionHandle {
    /// `MPI_SESSION_NULL`
    pub(crate) const NULL: Self = Self(0x120);

    /// Ends the session.
    pub(crate) fn end(mut self) {
        // SAFETY: a session.
        succeed(unsafe { PMPI_Session_finalize(&mut self) });
    }
}

/// Ends the job if a function of MPI has failed.
fn succeed(code: c_int) {
    if code != 0 {
        hooks::abort(format!("a message between ranks failed with code {code} of MPI").as_bytes());
    }
}

impl CommHandle {
    /// `MPI_COMM_NULL`
    pub(crate) const NULL: Self = Self(0x100);

    /// This rank, and the number of ranks.
    pub(crate) fn place(self) -> (u32, u32) {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: a communicator, and results.
        succeed(unsafe { PMPI_Comm_rank(self, &mut rank) });
        // SAFETY: as above.
        succeed(unsafe { PMPI_Comm_size(self, &mut size) });
        (rank.cast_unsigned(), size.cast_unsigned())
    }

    /// Another one with the same ranks; collective.
    pub(crate) fn duplicate(self) -> Self {
        let mut new = Self::NULL;
        // SAFETY: a communicator, and a result.
        succeed(unsafe { PMPI_Comm_dup(self, &mut new) });
        new
    }

    /// Another one, in which this process has the rank `rank`: a permutation; collective.
    pub(crate) fn reordered(self, rank: u32) -> Self {
        let mut new = Self::NULL;
        // SAFETY: as above.
        succeed(unsafe { PMPI_Comm_split(self, 0, rank.cast_signed(), &mut new) });
        new
    }

    /// Frees it; collective.
    pub(crate) fn free(mut self) {
        // SAFETY: a communicator that nothing uses afterwards.
        succeed(unsafe { PMPI_Comm_free(&mut self) });
    }

    /// Waits until all ranks are here.
    pub(crate) fn barrier(self) {
        // SAFETY: a communicator.
        succeed(unsafe { PMPI_Barrier(self) });
    }

    /// The words of all ranks, one behind the other; collective.
    pub(crate) fn gather(self, own: &[u64]) -> Vec<u64> {
        let (_, size) = self.place();
        let mut all = vec![0_u64; own.len() * size as usize];
        let (from, count) = (own.as_ptr().cast(), own.len() as i64);
        let into = all.as_mut_ptr().cast();
        // SAFETY: so many words are read, and from each rank as many are written.
        succeed(unsafe { PMPI_Allgather_c(from, count, WORD, into, count, WORD, self) });
        all
    }

    /// Starts to send.
    ///
    /// # Safety
    /// `from` has `len` bytes that do not change until the message has ended.
    pub(crate) unsafe fn send(
        self, from: *const c_void, len: usize, to: u32, tag: c_int,
    ) -> PostedMessage {
        let mut request = RequestHandle(0);
        let (count, dest) = (len as i64, to.cast_signed());
        // SAFETY: the caller's promise.
        succeed(unsafe { PMPI_Isend_c(from, count, BYTE, dest, tag, self, &mut request) });
        PostedMessage { request, end: None }
    }

    /// Starts to receive at most `len` bytes.
    ///
    /// # Safety
    /// `into` has `len` bytes that nothing uses until the message has ended.
    pub(crate) unsafe fn receive(
        self, into: *mut c_void, len: usize, from: u32, tag: c_int,
    ) -> PostedMessage {
        let mut request = RequestHandle(0);
        let (count, source) = (len as i64, from.cast_signed());
        // SAFETY: the caller's promise.
        succeed(unsafe { PMPI_Irecv_c(into, count, BYTE, source, tag, self, &mut request) });
        PostedMessage { request, end: None }
    }
}

/// A message in progress, or that has ended.
#[derive(Debug)]
pub(crate) struct PostedMessage {
    request: RequestHandle,
    /// The bytes that have arrived, once it has ended.
    end: Option<usize>,
}

impl PostedMessage {
    /// Waits until it has ended; the bytes that have arrived.
    pub(crate) fn wait(&mut self) -> usize {
        if let Some(bytes) = self.end {
            return bytes;
        }
        let mut status = MessageStatus::default();
        // SAFETY: a request, and a result.
        let code = unsafe { PMPI_Wait(&mut self.request, &mut status) };
        self.ended(code, &status)
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        if self.end.is_none() {
            let (mut flag, mut status) = (0, MessageStatus::default());
            // SAFETY: as above.
            let code = unsafe { PMPI_Test(&mut self.request, &mut flag, &mut status) };
            if flag != 0 || code != 0 {
                self.ended(code, &status);
            }
        }
        self.end.is_some()
    }

    /// Ends a receive that nothing arrives for.
    pub(crate) fn cancel(mut self) {
        if self.end.is_none() {
            // SAFETY: a request.
            succeed(unsafe { PMPI_Cancel(&mut self.request) });
            self.wait();
        }
    }

    fn ended(&mut self, code: c_int, status: &MessageStatus) -> usize {
        if code != TRUNCATE {
            succeed(code);
        }
        let mut bytes = 0;
        // SAFETY: a status, and a result.
        succeed(unsafe { PMPI_Get_count_c(status, BYTE, &mut bytes) });
        *self.end.insert(usize::try_from(bytes).unwrap_or(0))
    }
}
