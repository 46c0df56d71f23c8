//! Handles as integers and back (MPI 5.0, chapter 20): casts.
//!
//! A predefined handle becomes its value in the ABI, another handle the 31-bit integer that it
//! holds; so `fromint` accepts exactly what `toint` gave, also before initialization.

#![allow(unsafe_code)]

use std::ffi::c_int;

use super::handles::handle;
use super::types::*;

/// The `MPI_Comm` of an integer that [`PMPI_Comm_toint`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_fromint(comm: c_int) -> MPI_Comm {
    handle(comm)
}

/// An `MPI_Comm` as an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_toint(comm: MPI_Comm) -> c_int {
    comm.addr() as c_int
}

/// The `MPI_Errhandler` of an integer that [`PMPI_Errhandler_toint`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Errhandler_fromint(errhandler: c_int) -> MPI_Errhandler {
    handle(errhandler)
}

/// An `MPI_Errhandler` as an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Errhandler_toint(errhandler: MPI_Errhandler) -> c_int {
    errhandler.addr() as c_int
}

/// The `MPI_File` of an integer that [`PMPI_File_toint`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_fromint(file: c_int) -> MPI_File {
    handle(file)
}

/// An `MPI_File` as an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_toint(file: MPI_File) -> c_int {
    file.addr() as c_int
}

/// The `MPI_Group` of an integer that [`PMPI_Group_toint`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_fromint(group: c_int) -> MPI_Group {
    handle(group)
}

/// An `MPI_Group` as an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_toint(group: MPI_Group) -> c_int {
    group.addr() as c_int
}

/// The `MPI_Info` of an integer that [`PMPI_Info_toint`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_fromint(info: c_int) -> MPI_Info {
    handle(info)
}

/// An `MPI_Info` as an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_toint(info: MPI_Info) -> c_int {
    info.addr() as c_int
}

/// The `MPI_Message` of an integer that [`PMPI_Message_toint`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Message_fromint(message: c_int) -> MPI_Message {
    handle(message)
}

/// An `MPI_Message` as an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Message_toint(message: MPI_Message) -> c_int {
    message.addr() as c_int
}

/// The `MPI_Op` of an integer that [`PMPI_Op_toint`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Op_fromint(op: c_int) -> MPI_Op {
    handle(op)
}

/// An `MPI_Op` as an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Op_toint(op: MPI_Op) -> c_int {
    op.addr() as c_int
}

/// The `MPI_Request` of an integer that [`PMPI_Request_toint`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_fromint(request: c_int) -> MPI_Request {
    handle(request)
}

/// An `MPI_Request` as an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_toint(request: MPI_Request) -> c_int {
    request.addr() as c_int
}

/// The `MPI_Session` of an integer that [`PMPI_Session_toint`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_fromint(session: c_int) -> MPI_Session {
    handle(session)
}

/// An `MPI_Session` as an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_toint(session: MPI_Session) -> c_int {
    session.addr() as c_int
}

/// The `MPI_Datatype` of an integer that [`PMPI_Type_toint`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_fromint(datatype: c_int) -> MPI_Datatype {
    handle(datatype)
}

/// An `MPI_Datatype` as an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_toint(datatype: MPI_Datatype) -> c_int {
    datatype.addr() as c_int
}

/// The `MPI_Win` of an integer that [`PMPI_Win_toint`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_fromint(win: c_int) -> MPI_Win {
    handle(win)
}

/// An `MPI_Win` as an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_toint(win: MPI_Win) -> c_int {
    win.addr() as c_int
}
