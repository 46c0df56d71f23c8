//! How an entry point ends: the only place where an error becomes an integer.

use std::ffi::c_int;

use super::constants::{MPI_SUCCESS, MPI_T_ERR_NOT_SUPPORTED};
use super::types::*;
use crate::base::{ErrorClass, ErrorCode, MpiError, Result};

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

impl From<MPI_Request> for Scope {
    fn from(request: MPI_Request) -> Self {
        Self::Request(request)
    }
}

/// The end of the function `name`: `MPI_SUCCESS`, or the error handler of `scope` is called and
/// decides whether there is an error code to return.
pub fn finish(scope: impl Into<Scope>, name: &str, result: Result) -> c_int {
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => handle(scope.into(), name, &error),
    }
}

/// The whole body of a function that the library does not have yet.
pub fn unsupported(name: &str, scope: impl Into<Scope>) -> c_int {
    let scope = scope.into();
    let code = match scope {
        Scope::Tool => ErrorCode(MPI_T_ERR_NOT_SUPPORTED),
        _ => ErrorCode(ErrorClass::UnsupportedOperation as c_int),
    };
    finish(scope, name, Err(MpiError::new(code, format!("{name} is not supported yet"))))
}

/// What the initial error handlers do: files and tools return the code, the rest is fatal.
fn handle(scope: Scope, name: &str, error: &MpiError) -> c_int {
    let code = error.code.0;
    if !matches!(scope, Scope::File(_) | Scope::Tool) {
        eprintln!("Suiro: {name}: {error}");
        std::process::exit(code);
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
        assert_eq!(unsupported("MPI_T_finalize", Scope::Tool), MPI_T_ERR_NOT_SUPPORTED);
    }
}
