//! Common parts of all entry points: how a call enters the library and how it returns.
//!
//! * [`local`] reads or changes the state of this process without waiting; [`early`] does so also
//!   outside of initialization; [`visit`] also from any thread at every level of thread support;
//!   [`unlocked`] runs without the lock, or takes the lock itself.
//! * [`start`] starts an operation and stores its request.
//! * [`blocking`] starts an operation and waits for its completion.
//!
//! All end in [`finish`], the only place where an error becomes an integer: it finds the error
//! handler and calls it outside of the lock.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use super::constants::*;
use super::handles::handle;
use super::types::*;
use crate::abi::arguments::pointer::out;
use crate::mpi::communicator::COMM_SELF;
use crate::mpi::errhandler::{ErrhandlerFunction, ErrhandlerKind, Handler};
use crate::mpi::handle::{Handle, is_file};
use crate::mpi::objects::Objects;
use crate::mpi::request::status::Status;
use crate::mpi::request::{Activity, Outcome};
use crate::process::{Process, ProcessMpi};
use platform::base::{ErrorClass, ErrorCode, MpiError, Result};

/// MPI state of this process: the only global of the library.
pub(crate) static PROCESS: Process = Process::new();

/// The object whose error handler is called (MPI 5.0 §9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// No object: the handler of `MPI_COMM_SELF`, or the initial one.
    None,
    /// The handler of a communicator.
    Comm(MPI_Comm),
    /// The handler of a window.
    Win(MPI_Win),
    /// The handler of a file; `MPI_FILE_NULL`: the handler of files that will be opened.
    File(MPI_File),
    /// The handler of a session.
    Session(MPI_Session),
    /// The handler of the session from which a group was derived, if any.
    Group(MPI_Group),
    /// The handler of the object of the request.
    Request(MPI_Request),
    /// No handler: functions of the tool interface return their code (§15.3).
    Tool,
}

impl Scope {
    /// That of the owner of a request: a communicator or a file.
    pub(crate) fn of_owner(owner: Handle) -> Self {
        match is_file(owner) {
            true => Self::File(handle(owner as c_int)),
            false => Self::Comm(handle(owner as c_int)),
        }
    }
}

impl From<MPI_Comm> for Scope {
    fn from(comm: MPI_Comm) -> Self {
        Self::Comm(comm)
    }
}

impl From<MPI_Win> for Scope {
    fn from(win: MPI_Win) -> Self {
        Self::Win(win)
    }
}

impl From<MPI_File> for Scope {
    fn from(file: MPI_File) -> Self {
        Self::File(file)
    }
}

impl From<MPI_Session> for Scope {
    fn from(session: MPI_Session) -> Self {
        Self::Session(session)
    }
}

impl From<MPI_Group> for Scope {
    fn from(group: MPI_Group) -> Self {
        Self::Group(group)
    }
}

impl From<MPI_Request> for Scope {
    fn from(request: MPI_Request) -> Self {
        Self::Request(request)
    }
}

/// The number of a handle; 0, which is never a handle, for values that exceed 32 bits.
#[inline]
pub(crate) fn number<T>(handle: *mut T) -> Handle {
    u32::try_from(handle.addr()).unwrap_or(0)
}

/// Runs `body` with the lock of an initialized MPI; `body` does not wait.
#[inline]
pub(crate) fn local(
    name: &str, scope: impl Into<Scope>, body: impl FnOnce(&mut ProcessMpi) -> Result,
) -> c_int {
    finish(scope, name, PROCESS.with_mpi(body))
}

/// Runs `body` without the lock; `body` may take the lock.
#[inline]
pub(crate) fn unlocked(name: &str, body: impl FnOnce() -> Result) -> c_int {
    finish(Scope::None, name, body())
}

/// Polls, then runs `body`, which returns whether it found what it tests.
#[inline]
pub(crate) fn test(
    name: &str, scope: impl Into<Scope>, body: impl FnOnce(&mut ProcessMpi) -> Result<bool>,
) -> c_int {
    finish(scope, name, PROCESS.test(body, |found| *found).map(drop))
}

/// Runs `body` at any time, also outside of initialization.
pub(crate) fn early(
    name: &str, scope: impl Into<Scope>, body: impl FnOnce(&mut Objects) -> Result,
) -> c_int {
    finish(scope, name, PROCESS.early(body))
}

/// Runs `body` at any time and from any thread (§11.4.1).
pub(crate) fn visit(
    name: &str, scope: impl Into<Scope>, body: impl FnOnce(&mut Objects) -> Result,
) -> c_int {
    finish(scope, name, PROCESS.visit(body))
}

/// Runs `body` for the tool interface, which must be initialized (MPI 5.0 §15.3).
pub(crate) fn tool(name: &str, body: impl FnOnce(&mut Objects) -> Result) -> c_int {
    let result = PROCESS.visit(|objects| {
        if !objects.tools.is_used() {
            let why = "the tool interface is not initialized: call MPI_T_init_thread first";
            return Err(tool_error(MPI_T_ERR_NOT_INITIALIZED, why));
        }
        body(objects)
    });
    finish(Scope::Tool, name, result)
}

/// An error of the tool interface.
pub(crate) fn tool_error(code: c_int, why: impl Into<String>) -> Box<MpiError> {
    MpiError::new(ErrorCode(code), why.into())
}

/// Starts an operation on `comm` and stores its request.
///
/// # Safety
/// `request` is null or may be written.
#[inline]
pub(crate) unsafe fn start(
    name: &str, comm: MPI_Comm, request: *mut MPI_Request,
    body: impl FnOnce(&mut ProcessMpi) -> Result<Activity>,
) -> c_int {
    local(name, comm, |mpi| {
        // SAFETY: the caller's promise.
        let request = unsafe { out(request, "request")? };
        mpi.check_request_space()?;
        let activity = body(mpi)?;
        request.put_handle(mpi.request(number(comm), activity)?);
        Ok(())
    })
}

/// Starts an operation on `comm`, waits for its completion and stores its status.
///
/// # Safety
/// `status` is null or may be written.
#[inline]
pub(crate) unsafe fn blocking(
    name: &str, comm: MPI_Comm, status: *mut MPI_Status,
    body: impl FnOnce(&mut ProcessMpi) -> Result<Activity>,
) -> c_int {
    // SAFETY: the caller's promise.
    let result = wait_for(name, body).and_then(|outcome| unsafe { conclude(outcome, status) });
    finish(comm, name, result)
}

/// Starts an operation for the function `name` and waits for its completion, without the lock.
#[inline]
pub(crate) fn wait_for(
    name: &str, body: impl FnOnce(&mut ProcessMpi) -> Result<Activity>,
) -> Result<Outcome> {
    PROCESS.wait_for(name, body)
}

/// Stores the status of an outcome and returns its error.
///
/// # Safety
/// `status` is null or may be written.
#[inline]
pub(crate) unsafe fn conclude(outcome: Outcome, status: *mut MPI_Status) -> Result {
    // SAFETY: the caller's promise.
    unsafe { put_status(status, &outcome.status) };
    outcome.error.map_or(Ok(()), Err)
}

/// Stores a status except its error, which single completions do not set (§3.2.5).
///
/// # Safety
/// `status` is null or may be written.
#[inline]
pub(crate) unsafe fn put_status(status: *mut MPI_Status, from: &Status) {
    // SAFETY: the caller's promise.
    let Some(status) = (unsafe { status.as_mut() }) else { return };
    status.MPI_SOURCE = from.source;
    status.MPI_TAG = from.tag;
    status.set_count_bytes(from.bytes as MPI_Count);
    status.set_flags(from.cancelled, from.is_external);
}

/// Return value of the function `name`: `MPI_SUCCESS`, or the error code if the error handler of
/// `scope` returns.
#[inline]
pub(crate) fn finish(scope: impl Into<Scope>, name: &str, result: Result) -> c_int {
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => handle_error(scope.into(), name, &error),
    }
}

/// [`finish`] with a handler from the arguments of the function, because the object does not exist
/// yet: `object` is the null handle of its kind.
pub(crate) fn finish_by(handler: Handler, object: Handle, name: &str, result: Result) -> c_int {
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => ErrorTarget { handler, object, place: String::new() }.invoke(name, &error),
    }
}

/// The error handler to call, and the object it gets as its argument.
struct ErrorTarget {
    handler: Handler,
    object: Handle,
    /// Name of the communicator and rank of this process, for the message.
    place: String,
}

#[cold]
fn handle_error(scope: Scope, name: &str, error: &MpiError) -> c_int {
    let code = error.code.0;
    if scope == Scope::Tool {
        // Errors without a code of the tool interface, such as a null pointer, are invalid uses.
        let has_own = (MPI_T_ERR_CANNOT_INIT..=MPI_T_ERR_PVAR_NO_ATOMIC).contains(&code);
        return if has_own { code } else { MPI_T_ERR_INVALID };
    }
    error_target(scope).invoke(name, error)
}

impl ErrorTarget {
    /// The initial handler (§9.3).
    fn initial() -> Self {
        let handler = PROCESS.visit(|objects| objects.initial_handler.clone());
        Self { handler, object: COMM_SELF, place: String::new() }
    }

    /// Calls the handler; returns the error code if the handler returns.
    fn invoke(self, name: &str, error: &MpiError) -> c_int {
        let (code, place) = (error.code.0, self.place);
        let by = match self.handler {
            Handler::Return => return code,
            Handler::Function(function) => return call_handler(&function, self.object, code),
            Handler::Fatal => "",
            // As `MPI_Abort` on the communicator of the object, which also ends the whole job.
            Handler::Abort => ", by MPI_ERRORS_ABORT",
        };
        let why = format!("{name}{place}{by}: {}", error_text(error));
        match error.is(ErrorClass::ProcFailed) {
            true => PROCESS.abort_by_failure(code, &why),
            false => PROCESS.abort(code, &why),
        }
    }
}

/// An error with its class; a code added by the application with its number.
fn error_text(error: &MpiError) -> String {
    match ErrorClass::from_value(error.code.0) {
        Some(class) => format!("{}: {error}", class.name()),
        None => format!("error code {}: {error}", error.code.0),
    }
}

/// Calls the error handler of `scope` with a code of the application (§9.5).
pub(crate) fn raise(name: &str, scope: impl Into<Scope>, code: c_int) -> c_int {
    let why = match ErrorClass::from_value(code) {
        Some(class) => class.text().to_owned(),
        None => {
            let text = PROCESS.visit(|objects| objects.codes.text(code)).unwrap_or_default();
            String::from_utf8_lossy(&text).into_owned()
        }
    };
    handle_error(scope.into(), name, &MpiError::new(ErrorCode(code), why));
    MPI_SUCCESS
}

/// The handler of `scope`; the handler of `MPI_COMM_SELF` without a valid object, and the initial
/// one while MPI is not initialized (§9.3).
fn error_target(scope: Scope) -> ErrorTarget {
    if let Scope::File(file) = scope {
        return file_target(number(file));
    }
    if let Scope::Request(request) = scope
        && let Ok(Some(file)) = PROCESS.visit_running(|mpi| {
            Ok(mpi.owner_of_request(number(request)).filter(|owner| is_file(*owner)))
        })
    {
        return file_target(file);
    }
    let host = PROCESS.own_host().map_or(String::new(), |host| format!(" on {host}"));
    let found = PROCESS.visit_running(|mpi| {
        let me = mpi.engine.me();
        let at = |title: &str| format!(" on {title}, rank {me} of the world{host}");
        if let Scope::Win(win) = scope
            && let Ok(window) = mpi.windows.get(number(win))
        {
            let (handler, place) = (window.handler.clone(), at(&window.title()));
            return Ok(ErrorTarget { handler, object: number(win), place });
        }
        let session = match scope {
            Scope::Session(session) => Some(number(session)),
            Scope::Group(group) => {
                mpi.objects.groups.get(number(group)).ok().and_then(|group| group.session())
            }
            _ => None,
        };
        if let Some(object) = session
            && let Ok(session) = mpi.sessions.get(object)
        {
            let (handler, place) = (session.handler.clone(), at("a session"));
            return Ok(ErrorTarget { handler, object, place });
        }
        let of = match scope {
            Scope::Comm(comm) => Some(number(comm)),
            Scope::Request(request) => mpi.owner_of_request(number(request)),
            _ => None,
        };
        let object = of.filter(|comm| mpi.comms.get(*comm).is_ok()).unwrap_or(COMM_SELF);
        let comm = mpi.comms.get(object)?;
        Ok(ErrorTarget { handler: comm.handler.clone(), object, place: at(&comm.title()) })
    });
    found.unwrap_or_else(|_| ErrorTarget::initial())
}

/// The handler of an open file; that of files that will be opened for any other value.
fn file_target(file: Handle) -> ErrorTarget {
    let open = PROCESS.visit_running(|mpi| {
        let me = mpi.engine.me();
        let file = mpi.files.get(file)?;
        Ok((file.handler.clone(), format!(" on \"{}\", rank {me} of the world", file.name)))
    });
    let (handler, place) = open
        .unwrap_or_else(|_| (PROCESS.visit(|objects| objects.file_handler.clone()), String::new()));
    ErrorTarget { handler, object: file, place }
}

/// Calls the error handler of the application for `object`; returns the code after the call.
pub(crate) fn call_handler(function: &ErrhandlerFunction, object: Handle, code: c_int) -> c_int {
    let mut code = code;
    let address = function.address as *const c_void;
    match function.kind {
        ErrhandlerKind::Comm => {
            let mut comm: MPI_Comm = handle(object as c_int);
            // SAFETY: the address came with this type to `MPI_Comm_create_errhandler`.
            let call = unsafe { transmute::<*const c_void, MPI_Comm_errhandler_function>(address) };
            if let Some(call) = call {
                // SAFETY: both pointers are to local variables (§9.3.1).
                unsafe { call(&mut comm, &mut code) };
            }
        }
        ErrhandlerKind::Session => {
            let mut session: MPI_Session = handle(object as c_int);
            // SAFETY: the address came with this type to `MPI_Session_create_errhandler`.
            let call =
                unsafe { transmute::<*const c_void, MPI_Session_errhandler_function>(address) };
            if let Some(call) = call {
                // SAFETY: both pointers are to local variables (§9.3.4).
                unsafe { call(&mut session, &mut code) };
            }
        }
        ErrhandlerKind::File => {
            let mut file: MPI_File = handle(object as c_int);
            // SAFETY: the address came with this type to `MPI_File_create_errhandler`.
            let call = unsafe { transmute::<*const c_void, MPI_File_errhandler_function>(address) };
            if let Some(call) = call {
                // SAFETY: both pointers are to local variables (§9.3.3).
                unsafe { call(&mut file, &mut code) };
            }
        }
        ErrhandlerKind::Win => {
            let mut win: MPI_Win = handle(object as c_int);
            // SAFETY: the address came with this type to `MPI_Win_create_errhandler`.
            let call = unsafe { transmute::<*const c_void, MPI_Win_errhandler_function>(address) };
            if let Some(call) = call {
                // SAFETY: both pointers are to local variables (§9.3.2).
                unsafe { call(&mut win, &mut code) };
            }
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_zero_whatever_the_scope() {
        assert_eq!(finish(Scope::None, "MPI_Barrier", Ok(())), MPI_SUCCESS);
    }
}
