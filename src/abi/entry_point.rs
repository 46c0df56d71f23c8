//! The verbs: how an entry point enters the library, and how it ends.
//!
//! * [`local`] looks at or changes something here and now; [`early`] does so at any time, also
//!   before initialization; [`visit`] from any thread, too, at every level of thread support;
//!   [`unlocked`] does without the lock, or takes it itself.
//! * [`start`] begins something and gives a request.
//! * [`blocking`] begins something and waits for its end.
//!
//! All end in [`finish`], the only place where an error becomes an integer: it finds the error
//! handler, with the lock free, and calls it.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use super::constants::*;
use super::handles::handle;
use super::types::*;
use crate::abi::arguments::pointer::out;
use crate::mpi::communicator::COMM_SELF;
use crate::mpi::errhandler::{ErrhandlerFunction, ErrhandlerKind, Handler};
use crate::mpi::handle::Handle;
use crate::mpi::objects::Objects;
use crate::mpi::request::status::Status;
use crate::mpi::request::{Activity, Outcome};
use crate::process::{Process, ProcessMpi};
use platform::base::{ErrorClass, ErrorCode, MpiError, Result};

/// This process's MPI: the one global of the library.
pub(crate) static PROCESS: Process = Process::new();

/// Whose error handler hears of an error (MPI 5.0, §9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// No object: the handler of `MPI_COMM_SELF`, or the initial one.
    None,
    /// The handler of a communicator.
    Comm(MPI_Comm),
    /// The handler of a window.
    Win(MPI_Win),
    /// The handler of a file; `MPI_FILE_NULL`: that of files to be opened.
    File(MPI_File),
    /// The handler of a session.
    Session(MPI_Session),
    /// The handler of the session that a group was derived from, if it was.
    Group(MPI_Group),
    /// The handler of the object that the request belongs to.
    Request(MPI_Request),
    /// No handler: functions of the tool interface only return their code (§15.3).
    Tool,
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

/// The number in a handle; what is no handle at all becomes 0, which no handle is.
#[inline]
pub(crate) fn number<T>(handle: *mut T) -> Handle {
    u32::try_from(handle.addr()).unwrap_or(0)
}

/// Does something with a running MPI that takes no waiting.
#[inline]
pub(crate) fn local(
    name: &str, scope: impl Into<Scope>, body: impl FnOnce(&mut ProcessMpi) -> Result,
) -> c_int {
    finish(scope, name, PROCESS.with_mpi(body))
}

/// Does something that needs no lock, or takes it itself.
#[inline]
pub(crate) fn unlocked(name: &str, body: impl FnOnce() -> Result) -> c_int {
    finish(Scope::None, name, body())
}

/// Polls and looks whether something is there; `body` says if it was.
#[inline]
pub(crate) fn test(
    name: &str, scope: impl Into<Scope>, body: impl FnOnce(&mut ProcessMpi) -> Result<bool>,
) -> c_int {
    finish(scope, name, PROCESS.test(body, |found| *found).map(drop))
}

/// Does something that works at any time.
pub(crate) fn early(
    name: &str, scope: impl Into<Scope>, body: impl FnOnce(&mut Objects) -> Result,
) -> c_int {
    finish(scope, name, PROCESS.early(body))
}

/// Does something that any thread may do at any time (§11.4.1).
pub(crate) fn visit(
    name: &str, scope: impl Into<Scope>, body: impl FnOnce(&mut Objects) -> Result,
) -> c_int {
    finish(scope, name, PROCESS.visit(body))
}

/// Does something of the tool interface, which somebody must use (MPI 5.0, §15.3).
pub(crate) fn tool(name: &str, body: impl FnOnce(&mut Objects) -> Result) -> c_int {
    let result = PROCESS.visit(|objects| {
        if !objects.tools.is_used() {
            return Err(tool_error(MPI_T_ERR_NOT_INITIALIZED, "MPI_T_init_thread comes first"));
        }
        body(objects)
    });
    finish(Scope::Tool, name, result)
}

/// An error of the tool interface.
pub(crate) fn tool_error(code: c_int, why: impl Into<String>) -> Box<MpiError> {
    MpiError::new(ErrorCode(code), why.into())
}

/// Starts something on `comm` and stores its request.
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
        let activity = body(mpi)?;
        request.put_handle(mpi.request(number(comm), activity)?);
        Ok(())
    })
}

/// Starts something on `comm`, waits for its end and stores its status.
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

/// Starts something for the function `name` and waits for its end, with the lock free for others.
#[inline]
pub(crate) fn wait_for(
    name: &str, body: impl FnOnce(&mut ProcessMpi) -> Result<Activity>,
) -> Result<Outcome> {
    PROCESS.until(
        body,
        |mpi, activity| Ok(mpi.end_if_complete(activity)),
        |mpi, activity| mpi.blocked(name, [activity]),
    )
}

/// Stores the status of an outcome, and gives its error.
///
/// # Safety
/// `status` is null or may be written.
#[inline]
pub(crate) unsafe fn conclude(outcome: Outcome, status: *mut MPI_Status) -> Result {
    // SAFETY: the caller's promise.
    unsafe { put_status(status, &outcome.status) };
    outcome.error.map_or(Ok(()), Err)
}

/// Stores a status, all but its error: single completions leave that alone (§3.2.5).
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
    status.set_cancelled(from.cancelled);
}

/// The end of the function `name`: `MPI_SUCCESS`, or the error handler of `scope` is called and
/// decides whether there is an error code to return.
#[inline]
pub(crate) fn finish(scope: impl Into<Scope>, name: &str, result: Result) -> c_int {
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => handle_error(scope.into(), name, &error),
    }
}

/// [`finish`] where the handler is an argument of the function, because the object that it is for
/// does not exist yet: `object` is the null handle of its kind.
pub(crate) fn finish_by(handler: Handler, object: Handle, name: &str, result: Result) -> c_int {
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => ErrorTarget { handler, object, place: String::new() }.invoke(name, &error),
    }
}

/// The whole body of a function that the library does not have yet; a communicator or a window
/// must be one all the same.
pub(crate) fn unsupported(name: &str, scope: impl Into<Scope>) -> c_int {
    let scope = scope.into();
    let checked = match scope {
        Scope::Comm(comm) => PROCESS.with_mpi(|mpi| mpi.comms.get(number(comm)).map(drop)),
        Scope::Win(win) => PROCESS.with_mpi(|mpi| mpi.windows.get(number(win)).map(drop)),
        _ => Ok(()),
    };
    if checked.is_err() {
        return finish(scope, name, checked);
    }
    let code = match scope {
        Scope::Tool => ErrorCode(MPI_T_ERR_NOT_SUPPORTED),
        _ => ErrorCode(ErrorClass::UnsupportedOperation as c_int),
    };
    finish(scope, name, Err(MpiError::new(code, format!("{name} is not supported yet"))))
}

/// Who is to hear of an error: a handler, and what it is told the object is.
struct ErrorTarget {
    handler: Handler,
    object: Handle,
    /// The communicator's name and this process's rank in it.
    place: String,
}

#[cold]
fn handle_error(scope: Scope, name: &str, error: &MpiError) -> c_int {
    let code = error.code.0;
    if scope == Scope::Tool {
        // What has no code of its own there, such as a null pointer, is a wrong use of it.
        let has_own = (MPI_T_ERR_CANNOT_INIT..=MPI_T_ERR_PVAR_NO_ATOMIC).contains(&code);
        return if has_own { code } else { MPI_T_ERR_INVALID };
    }
    error_target(scope).invoke(name, error)
}

impl ErrorTarget {
    /// Nobody in particular: the initial handler (§9.3).
    fn initial() -> Self {
        let handler = PROCESS.visit(|objects| objects.initial_handler.clone());
        Self { handler, object: COMM_SELF, place: String::new() }
    }

    /// Calls the handler, which decides whether there is an error code to return.
    fn invoke(self, name: &str, error: &MpiError) -> c_int {
        let (code, place) = (error.code.0, self.place);
        match self.handler {
            Handler::Return => code,
            Handler::Fatal => PROCESS.abort(code, &format!("{name}{place}: {}", error_text(error))),
            // As `MPI_Abort` on the object's communicator, which ends the whole job too.
            Handler::Abort => PROCESS
                .abort(code, &format!("{name}{place}, by MPI_ERRORS_ABORT: {}", error_text(error))),
            Handler::Function(function) => call_handler(&function, self.object, code),
        }
    }
}

/// An error with its class; a code that the application added has its number instead.
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
        None => PROCESS.visit(|objects| objects.codes.text(code)).unwrap_or_default(),
    };
    handle_error(scope.into(), name, &MpiError::new(ErrorCode(code), why));
    MPI_SUCCESS
}

/// The handler of `scope`; that of `MPI_COMM_SELF` for no object or one that is not valid, and the
/// initial one where MPI does not run (§9.3).
fn error_target(scope: Scope) -> ErrorTarget {
    if let Scope::File(file) = scope {
        let handler = PROCESS.visit(|objects| objects.file_handler.clone());
        return ErrorTarget { handler, object: number(file), place: String::new() };
    }
    let found = PROCESS.visit_running(|mpi| {
        let me = mpi.engine.me();
        let at = |title: &str| format!(" on {title}, rank {me} of the world");
        if let Scope::Win(win) = scope
            && let Ok(window) = mpi.windows.get(number(win))
        {
            let (handler, place) = (window.handler.clone(), at(window.title()));
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
            Scope::Request(request) => mpi.comm_of_request(number(request)),
            _ => None,
        };
        let object = of.filter(|comm| mpi.comms.get(*comm).is_ok()).unwrap_or(COMM_SELF);
        let comm = mpi.comms.get(object)?;
        Ok(ErrorTarget { handler: comm.handler.clone(), object, place: at(comm.title()) })
    });
    found.unwrap_or_else(|_| ErrorTarget::initial())
}

/// Calls the application's error handler for `object`, and returns the code it leaves.
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
    use super::super::handles::MPI_FILE_NULL;
    use super::*;

    #[test]
    fn success_is_zero_whatever_the_scope() {
        assert_eq!(finish(Scope::None, "MPI_Barrier", Ok(())), MPI_SUCCESS);
    }

    #[test]
    fn files_and_tools_get_the_code_back() {
        let file = unsupported("MPI_File_open", MPI_FILE_NULL);
        assert_eq!(file, ErrorClass::UnsupportedOperation as c_int);
        assert_eq!(unsupported("MPI_T_enum_get_item", Scope::Tool), MPI_T_ERR_NOT_SUPPORTED);
    }
}
