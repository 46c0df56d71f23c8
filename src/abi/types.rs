//! The C types of the standard ABI (MPI 5.0, chapter 20): handles, integers, status, callbacks.
//!
//! A handle has a pointer type in C, but it is a number: below 4096 a predefined handle of the ABI
//! (`handles`), otherwise a number from a handle table. It is never dereferenced.
//!
//! `MPI_Status` is 32 bytes with alignment 4, with five internal integers:
//!
//! ```text
//!  byte 0          4       8         12       16       20          24 .. 32
//!       MPI_SOURCE MPI_TAG MPI_ERROR count_lo count_hi cancelled   unused
//! ```

use std::ffi::{c_int, c_void};

/// An address or a displacement in bytes.
pub type MPI_Aint = isize;
/// A number of items or bytes, or a displacement.
pub type MPI_Count = i64;
/// An offset in a file, in bytes or in etypes.
pub type MPI_Offset = i64;

/// Opaque target of [`MPI_Comm`]; handles are not addresses.
#[repr(C)]
pub struct MPI_ABI_Comm([u8; 0]);
/// A communicator.
pub type MPI_Comm = *mut MPI_ABI_Comm;

/// Opaque target of [`MPI_Datatype`]; handles are not addresses.
#[repr(C)]
pub struct MPI_ABI_Datatype([u8; 0]);
/// A datatype.
pub type MPI_Datatype = *mut MPI_ABI_Datatype;

/// Opaque target of [`MPI_Errhandler`]; handles are not addresses.
#[repr(C)]
pub struct MPI_ABI_Errhandler([u8; 0]);
/// An error handler.
pub type MPI_Errhandler = *mut MPI_ABI_Errhandler;

/// Opaque target of [`MPI_File`]; handles are not addresses.
#[repr(C)]
pub struct MPI_ABI_File([u8; 0]);
/// An open file.
pub type MPI_File = *mut MPI_ABI_File;

/// Opaque target of [`MPI_Group`]; handles are not addresses.
#[repr(C)]
pub struct MPI_ABI_Group([u8; 0]);
/// A group of processes.
pub type MPI_Group = *mut MPI_ABI_Group;

/// Opaque target of [`MPI_Info`]; handles are not addresses.
#[repr(C)]
pub struct MPI_ABI_Info([u8; 0]);
/// An info object.
pub type MPI_Info = *mut MPI_ABI_Info;

/// Opaque target of [`MPI_Message`]; handles are not addresses.
#[repr(C)]
pub struct MPI_ABI_Message([u8; 0]);
/// A message of a matched probe.
pub type MPI_Message = *mut MPI_ABI_Message;

/// Opaque target of [`MPI_Op`]; handles are not addresses.
#[repr(C)]
pub struct MPI_ABI_Op([u8; 0]);
/// A reduction operation.
pub type MPI_Op = *mut MPI_ABI_Op;

/// Opaque target of [`MPI_Request`]; handles are not addresses.
#[repr(C)]
pub struct MPI_ABI_Request([u8; 0]);
/// A request.
pub type MPI_Request = *mut MPI_ABI_Request;

/// Opaque target of [`MPI_Session`]; handles are not addresses.
#[repr(C)]
pub struct MPI_ABI_Session([u8; 0]);
/// A session.
pub type MPI_Session = *mut MPI_ABI_Session;

/// Opaque target of [`MPI_Win`]; handles are not addresses.
#[repr(C)]
pub struct MPI_ABI_Win([u8; 0]);
/// A window.
pub type MPI_Win = *mut MPI_ABI_Win;

/// Opaque target of [`MPI_T_enum`].
#[repr(C)]
pub struct MPI_T_enum_t([u8; 0]);
/// An enumeration of the tool interface.
pub type MPI_T_enum = *mut MPI_T_enum_t;

/// Opaque target of [`MPI_T_cvar_handle`].
#[repr(C)]
pub struct MPI_T_cvar_handle_t([u8; 0]);
/// A handle to a control variable.
pub type MPI_T_cvar_handle = *mut MPI_T_cvar_handle_t;

/// Opaque target of [`MPI_T_pvar_handle`].
#[repr(C)]
pub struct MPI_T_pvar_handle_t([u8; 0]);
/// A handle to a performance variable.
pub type MPI_T_pvar_handle = *mut MPI_T_pvar_handle_t;

/// Opaque target of [`MPI_T_pvar_session`].
#[repr(C)]
pub struct MPI_T_pvar_session_t([u8; 0]);
/// A session of performance variables.
pub type MPI_T_pvar_session = *mut MPI_T_pvar_session_t;

/// Opaque target of [`MPI_T_event_registration`].
#[repr(C)]
pub struct MPI_T_event_registration_t([u8; 0]);
/// A registration for an event type.
pub type MPI_T_event_registration = *mut MPI_T_event_registration_t;

/// Opaque target of [`MPI_T_event_instance`].
#[repr(C)]
pub struct MPI_T_event_instance_t([u8; 0]);
/// One event.
pub type MPI_T_event_instance = *mut MPI_T_event_instance_t;

/// Safety level of a callback of the tool interface; an enumeration in C.
pub type MPI_T_cb_safety = c_int;
/// Order of the events of a source; an enumeration in C.
pub type MPI_T_source_order = c_int;

/// Flags of [`MPI_Status`].
const CANCELLED: c_int = 1;
const EXTERNAL: c_int = 2;

/// Result of a completed operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct MPI_Status {
    /// The rank of the sender.
    pub MPI_SOURCE: c_int,
    /// The tag of the message.
    pub MPI_TAG: c_int,
    /// The error code, where a call completes several operations.
    pub MPI_ERROR: c_int,
    /// Internal to the library.
    pub MPI_internal: [c_int; 5],
}

impl MPI_Status {
    /// The length of the message in bytes, or what `MPI_Status_set_elements` stored.
    pub fn count_bytes(&self) -> MPI_Count {
        let [low, high, ..] = self.MPI_internal;
        MPI_Count::from(high) << 32 | MPI_Count::from(low as u32)
    }

    /// Sets the length of the message in bytes.
    pub fn set_count_bytes(&mut self, count_bytes: MPI_Count) {
        self.MPI_internal[0] = count_bytes as c_int;
        self.MPI_internal[1] = (count_bytes >> 32) as c_int;
    }

    /// Whether the operation was cancelled.
    pub fn cancelled(&self) -> bool {
        self.MPI_internal[2] & CANCELLED != 0
    }

    /// Sets whether the operation was cancelled.
    pub fn set_cancelled(&mut self, cancelled: bool) {
        self.set_flags(cancelled, self.is_external());
    }

    /// Whether the length is that of "external32", not that in memory.
    pub(crate) fn is_external(&self) -> bool {
        self.MPI_internal[2] & EXTERNAL != 0
    }

    /// Sets both flags.
    #[inline]
    pub(crate) fn set_flags(&mut self, cancelled: bool, is_external: bool) {
        self.MPI_internal[2] = c_int::from(cancelled) | c_int::from(is_external) << 1;
    }
}

/// A reduction operation.
pub type MPI_User_function = Option<
    unsafe extern "C" fn(
        invec: *mut c_void,
        inoutvec: *mut c_void,
        len: *mut c_int,
        datatype: *mut MPI_Datatype,
    ),
>;
/// A reduction operation with large counts.
pub type MPI_User_function_c = Option<
    unsafe extern "C" fn(
        invec: *mut c_void,
        inoutvec: *mut c_void,
        len: *mut MPI_Count,
        datatype: *mut MPI_Datatype,
    ),
>;
/// Fills the status of a generalized request.
pub type MPI_Grequest_query_function =
    Option<unsafe extern "C" fn(extra_state: *mut c_void, status: *mut MPI_Status) -> c_int>;
/// Frees the extra state of a generalized request.
pub type MPI_Grequest_free_function =
    Option<unsafe extern "C" fn(extra_state: *mut c_void) -> c_int>;
/// Cancels a generalized request.
pub type MPI_Grequest_cancel_function =
    Option<unsafe extern "C" fn(extra_state: *mut c_void, complete: c_int) -> c_int>;
/// Copies an attribute when a communicator is duplicated.
pub type MPI_Comm_copy_attr_function = Option<
    unsafe extern "C" fn(
        comm: MPI_Comm,
        keyval: c_int,
        extra_state: *mut c_void,
        attribute_val_in: *mut c_void,
        attribute_val_out: *mut c_void,
        flag: *mut c_int,
    ) -> c_int,
>;
/// Deletes an attribute of a communicator.
pub type MPI_Comm_delete_attr_function = Option<
    unsafe extern "C" fn(
        comm: MPI_Comm,
        keyval: c_int,
        attribute_val: *mut c_void,
        extra_state: *mut c_void,
    ) -> c_int,
>;
/// Copies an attribute when a datatype is duplicated.
pub type MPI_Type_copy_attr_function = Option<
    unsafe extern "C" fn(
        datatype: MPI_Datatype,
        keyval: c_int,
        extra_state: *mut c_void,
        attribute_val_in: *mut c_void,
        attribute_val_out: *mut c_void,
        flag: *mut c_int,
    ) -> c_int,
>;
/// Deletes an attribute of a datatype.
pub type MPI_Type_delete_attr_function = Option<
    unsafe extern "C" fn(
        datatype: MPI_Datatype,
        keyval: c_int,
        attribute_val: *mut c_void,
        extra_state: *mut c_void,
    ) -> c_int,
>;
/// Copies an attribute when a window is duplicated.
pub type MPI_Win_copy_attr_function = Option<
    unsafe extern "C" fn(
        win: MPI_Win,
        keyval: c_int,
        extra_state: *mut c_void,
        attribute_val_in: *mut c_void,
        attribute_val_out: *mut c_void,
        flag: *mut c_int,
    ) -> c_int,
>;
/// Deletes an attribute of a window.
pub type MPI_Win_delete_attr_function = Option<
    unsafe extern "C" fn(
        win: MPI_Win,
        keyval: c_int,
        attribute_val: *mut c_void,
        extra_state: *mut c_void,
    ) -> c_int,
>;
/// [`MPI_Comm_copy_attr_function`] under its deprecated name.
pub type MPI_Copy_function = MPI_Comm_copy_attr_function;
/// [`MPI_Comm_delete_attr_function`] under its deprecated name.
pub type MPI_Delete_function = MPI_Comm_delete_attr_function;
/// Handles an error of a communicator.
pub type MPI_Comm_errhandler_function =
    Option<unsafe extern "C" fn(comm: *mut MPI_Comm, error_code: *mut c_int, ...)>;
/// Handles an error of a file.
pub type MPI_File_errhandler_function =
    Option<unsafe extern "C" fn(file: *mut MPI_File, error_code: *mut c_int, ...)>;
/// Handles an error of a session.
pub type MPI_Session_errhandler_function =
    Option<unsafe extern "C" fn(session: *mut MPI_Session, error_code: *mut c_int, ...)>;
/// Handles an error of a window.
pub type MPI_Win_errhandler_function =
    Option<unsafe extern "C" fn(win: *mut MPI_Win, error_code: *mut c_int, ...)>;
/// The extent of a datatype in a file representation.
pub type MPI_Datarep_extent_function = Option<
    unsafe extern "C" fn(
        datatype: MPI_Datatype,
        extent: *mut MPI_Aint,
        extra_state: *mut c_void,
    ) -> c_int,
>;
/// Converts items from or to a file representation.
pub type MPI_Datarep_conversion_function = Option<
    unsafe extern "C" fn(
        userbuf: *mut c_void,
        datatype: MPI_Datatype,
        count: c_int,
        filebuf: *mut c_void,
        position: MPI_Offset,
        extra_state: *mut c_void,
    ) -> c_int,
>;
/// Converts items from or to a file representation, with large counts.
pub type MPI_Datarep_conversion_function_c = Option<
    unsafe extern "C" fn(
        userbuf: *mut c_void,
        datatype: MPI_Datatype,
        count: MPI_Count,
        filebuf: *mut c_void,
        position: MPI_Offset,
        extra_state: *mut c_void,
    ) -> c_int,
>;
/// Called for an event.
pub type MPI_T_event_cb_function = Option<
    unsafe extern "C" fn(
        event_instance: MPI_T_event_instance,
        event_registration: MPI_T_event_registration,
        cb_safety: MPI_T_cb_safety,
        user_data: *mut c_void,
    ),
>;
/// Called when a registration is freed.
pub type MPI_T_event_free_cb_function = Option<
    unsafe extern "C" fn(
        event_registration: MPI_T_event_registration,
        cb_safety: MPI_T_cb_safety,
        user_data: *mut c_void,
    ),
>;
/// Called when events were dropped.
pub type MPI_T_event_dropped_cb_function = Option<
    unsafe extern "C" fn(
        count: MPI_Count,
        event_registration: MPI_T_event_registration,
        source_index: c_int,
        cb_safety: MPI_T_cb_safety,
        user_data: *mut c_void,
    ),
>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_keeps_a_count_of_64_bits_beside_the_cancelled_flag() {
        for count in [0, 1, 0x7fff_ffff, 0x8000_0000, 0x1_0000_0000, MPI_Count::MAX] {
            let mut status = MPI_Status::default();
            status.set_cancelled(true);
            status.set_count_bytes(count);
            assert_eq!(status.count_bytes(), count);
            assert!(status.cancelled());
            status.set_cancelled(false);
            assert_eq!(status.count_bytes(), count);
            assert!(!status.cancelled());
        }
    }

    #[test]
    fn a_status_has_the_size_and_alignment_of_the_abi() {
        assert_eq!((size_of::<MPI_Status>(), align_of::<MPI_Status>()), (32, 4));
    }
}
