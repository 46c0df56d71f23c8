//! Attributes of communicators, datatypes and windows (MPI 5.0, chapter 7).

#![allow(unsafe_code)]

pub mod callback;
pub mod fortran;

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use super::constants::*;
use super::entry_point::{PROCESS, Scope, early, finish, number};
use super::resilience::MPIX_FT;
use super::types::*;
use crate::abi::arguments::pointer::{in_out, out};
use crate::mpi::attribute::{
    Attribute, AttributeLanguage, AttributeValue, Attributes, KeyvalFunctions, KeyvalKind, Keyvals,
};
use crate::mpi::communicator::clients::ClusterAttributes;
use crate::mpi::errhandler::LAST_CODE;
use crate::mpi::handle::Handle;
use crate::mpi::objects::Objects;
use crate::mpi::point_to_point::TAG_MAX;
use crate::mpi::request::status::{ANY_SOURCE, PROC_NULL};
use crate::mpi::window::WindowMemory;
use platform::base::{ErrorClass, Result};

/// Attributes of IMPI in `mpi-ext.h`: the number of clients and of hosts of a communicator, and the colors
/// of this process.
const IMPI_CLIENT_SIZE: c_int = 1001;
const IMPI_CLIENT_COLOR: c_int = 1002;
const IMPI_HOST_SIZE: c_int = 1003;
const IMPI_HOST_COLOR: c_int = 1004;

/// Creates an attribute key for communicators.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_create_keyval(
    comm_copy_attr_fn: MPI_Comm_copy_attr_function,
    comm_delete_attr_fn: MPI_Comm_delete_attr_function, comm_keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    let copy = comm_copy_attr_fn.map_or(0, |function| function as usize);
    let delete = comm_delete_attr_fn.map_or(0, |function| function as usize);
    // SAFETY: the caller gives a valid result pointer.
    unsafe {
        create(
            "MPI_Comm_create_keyval",
            KeyvalKind::Comm,
            of_c(copy, delete, extra_state),
            (comm_keyval, "comm_keyval"),
        )
    }
}

/// Deletes an attribute of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_delete_attr(comm: MPI_Comm, comm_keyval: c_int) -> c_int {
    finish(comm, "MPI_Comm_delete_attr", Holder::Comm(number(comm)).delete(comm_keyval))
}

/// Frees an attribute key for communicators.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_free_keyval(comm_keyval: *mut c_int) -> c_int {
    // SAFETY: the caller gives a valid pointer.
    unsafe { free("MPI_Comm_free_keyval", KeyvalKind::Comm, (comm_keyval, "comm_keyval")) }
}

/// An attribute of a communicator, if set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_get_attr(
    comm: MPI_Comm, comm_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int,
) -> c_int {
    let holder = Holder::Comm(number(comm));
    let found =
        predefined(number(comm), comm_keyval).unwrap_or_else(|| holder.get_in_c(comm_keyval));
    // SAFETY: the caller gives valid result pointers.
    unsafe { put(comm, "MPI_Comm_get_attr", found, attribute_val.cast(), flag) }
}

/// Sets an attribute of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_set_attr(
    comm: MPI_Comm, comm_keyval: c_int, attribute_val: *mut c_void,
) -> c_int {
    let set =
        Holder::Comm(number(comm)).set(comm_keyval, AttributeValue::Pointer(attribute_val.addr()));
    finish(comm, "MPI_Comm_set_attr", set)
}

/// Creates an attribute key for datatypes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_keyval(
    type_copy_attr_fn: MPI_Type_copy_attr_function,
    type_delete_attr_fn: MPI_Type_delete_attr_function, type_keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    let copy = type_copy_attr_fn.map_or(0, |function| function as usize);
    let delete = type_delete_attr_fn.map_or(0, |function| function as usize);
    // SAFETY: the caller gives a valid result pointer.
    unsafe {
        create(
            "MPI_Type_create_keyval",
            KeyvalKind::Datatype,
            of_c(copy, delete, extra_state),
            (type_keyval, "type_keyval"),
        )
    }
}

/// Deletes an attribute of a datatype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_delete_attr(
    datatype: MPI_Datatype, type_keyval: c_int,
) -> c_int {
    let deleted = Holder::Type(number(datatype)).delete(type_keyval);
    finish(Scope::None, "MPI_Type_delete_attr", deleted)
}

/// Frees an attribute key for datatypes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_free_keyval(type_keyval: *mut c_int) -> c_int {
    // SAFETY: the caller gives a valid pointer.
    unsafe { free("MPI_Type_free_keyval", KeyvalKind::Datatype, (type_keyval, "type_keyval")) }
}

/// An attribute of a datatype, if set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_attr(
    datatype: MPI_Datatype, type_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int,
) -> c_int {
    let found = Holder::Type(number(datatype)).get_in_c(type_keyval);
    // SAFETY: the caller gives valid result pointers.
    unsafe { put(Scope::None, "MPI_Type_get_attr", found, attribute_val.cast(), flag) }
}

/// Sets an attribute of a datatype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_set_attr(
    datatype: MPI_Datatype, type_keyval: c_int, attribute_val: *mut c_void,
) -> c_int {
    let set = Holder::Type(number(datatype))
        .set(type_keyval, AttributeValue::Pointer(attribute_val.addr()));
    finish(Scope::None, "MPI_Type_set_attr", set)
}

/// Creates an attribute key for windows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_create_keyval(
    win_copy_attr_fn: MPI_Win_copy_attr_function, win_delete_attr_fn: MPI_Win_delete_attr_function,
    win_keyval: *mut c_int, extra_state: *mut c_void,
) -> c_int {
    let copy = win_copy_attr_fn.map_or(0, |function| function as usize);
    let delete = win_delete_attr_fn.map_or(0, |function| function as usize);
    // SAFETY: the caller gives a valid result pointer.
    unsafe {
        create(
            "MPI_Win_create_keyval",
            KeyvalKind::Win,
            of_c(copy, delete, extra_state),
            (win_keyval, "win_keyval"),
        )
    }
}

/// Deletes an attribute of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_delete_attr(win: MPI_Win, win_keyval: c_int) -> c_int {
    finish(win, "MPI_Win_delete_attr", Holder::Win(number(win)).delete(win_keyval))
}

/// Frees an attribute key for windows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_free_keyval(win_keyval: *mut c_int) -> c_int {
    // SAFETY: the caller gives a valid pointer.
    unsafe { free("MPI_Win_free_keyval", KeyvalKind::Win, (win_keyval, "win_keyval")) }
}

/// An attribute of a window, if set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_get_attr(
    win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int,
) -> c_int {
    let holder = Holder::Win(number(win));
    let found = of_window(number(win), win_keyval).unwrap_or_else(|| holder.get_in_c(win_keyval));
    // SAFETY: the caller gives valid result pointers.
    unsafe { put(win, "MPI_Win_get_attr", found, attribute_val.cast(), flag) }
}

/// Sets an attribute of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_set_attr(
    win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void,
) -> c_int {
    let set =
        Holder::Win(number(win)).set(win_keyval, AttributeValue::Pointer(attribute_val.addr()));
    finish(win, "MPI_Win_set_attr", set)
}

/// An object with attributes.
#[derive(Clone, Copy)]
pub(crate) enum Holder {
    Comm(Handle),
    /// A datatype.
    Type(Handle),
    Win(Handle),
}

impl Holder {
    /// Reads or changes the attributes, with the lock held.
    fn with<T>(self, body: impl FnOnce(&mut Attributes, &mut Keyvals) -> Result<T>) -> Result<T> {
        match self {
            Self::Comm(comm) => PROCESS.with_mpi(|mpi| {
                body(&mut mpi.comms.get_mut(comm)?.attributes, &mut mpi.objects.keyvals)
            }),
            Self::Type(datatype) => PROCESS.early(|objects| {
                let named = objects.datatypes.get_mut(datatype)?;
                body(&mut named.attributes, &mut objects.keyvals)
            }),
            Self::Win(win) => PROCESS.with_mpi(|mpi| {
                body(&mut mpi.windows.get_mut(win)?.attributes, &mut mpi.objects.keyvals)
            }),
        }
    }

    fn of(self) -> KeyvalKind {
        match self {
            Self::Comm(_) => KeyvalKind::Comm,
            Self::Type(_) => KeyvalKind::Datatype,
            Self::Win(_) => KeyvalKind::Win,
        }
    }

    fn handle(self) -> Handle {
        match self {
            Self::Comm(handle) | Self::Type(handle) | Self::Win(handle) => handle,
        }
    }

    /// Calls `look` with a value.
    pub(crate) fn get<T>(
        self, keyval: c_int, look: impl FnOnce(&AttributeValue) -> T,
    ) -> Result<Option<T>> {
        self.with(|attributes, keyvals| {
            keyvals.get(self.of(), keyval)?;
            Ok(attributes.get(keyval).map(look))
        })
    }

    fn get_in_c(self, keyval: c_int) -> Result<Option<usize>> {
        self.get(keyval, AttributeValue::in_c)
    }

    /// Sets a value; the old value is deleted first (§7.7.4).
    pub(crate) fn set(self, keyval: c_int, value: AttributeValue) -> Result {
        self.delete_value(keyval)?;
        self.with(|attributes, keyvals| {
            attributes.set(keyvals.get(self.of(), keyval)?, value);
            Ok(())
        })
    }

    /// # Errors
    /// `Keyval` if there is no such attribute, the code of the delete function.
    fn delete(self, keyval: c_int) -> Result {
        match self.delete_value(keyval)? {
            true => Ok(()),
            false => {
                Err(ErrorClass::Keyval
                    .error(format!("the object has no attribute with key {keyval}")))
            }
        }
    }

    /// Copies of the attributes for a duplicate, outside of the lock. If a copy function fails,
    /// the previous copies are deleted (§7.7.2) as attributes of the object that `stillborn`
    /// creates from them, in place of the duplicate.
    ///
    /// # Errors
    /// As [`Holder::with`]; the code of the copy function.
    pub(crate) fn copies(
        self, stillborn: impl FnOnce(Attributes) -> Result<Self>,
    ) -> Result<Attributes> {
        let attributes = self.with(|attributes, _| Ok(attributes.clone()))?;
        let mut copies = Attributes::default();
        let outcome = callback::copy_all(self.handle(), &attributes, &mut copies);
        if outcome.is_err() && copies.newest().is_some() {
            stillborn(copies)?.force_delete_all()?;
            return outcome.map(|()| Attributes::default());
        }
        outcome.map(|()| copies)
    }

    /// Deletes all attributes, newest first (§11.2.4), outside of the lock.
    ///
    /// # Errors
    /// As [`Holder::with`]; the code of a delete function, whose attribute stays.
    pub(crate) fn delete_all(self) -> Result {
        while let Some(attribute) = self.newest()? {
            callback::delete(self.handle(), &attribute)?;
            self.remove(attribute.keyval.number)?;
        }
        Ok(())
    }

    /// Deletes all attributes as [`Holder::delete_all`], regardless of the delete functions' codes.
    fn force_delete_all(self) -> Result {
        while let Some(attribute) = self.newest()? {
            let _nobody_hears = callback::delete(self.handle(), &attribute);
            self.remove(attribute.keyval.number)?;
        }
        Ok(())
    }

    fn newest(self) -> Result<Option<Attribute>> {
        self.with(|attributes, _| Ok(attributes.newest().cloned()))
    }

    fn remove(self, keyval: c_int) -> Result {
        self.with(|attributes, _| {
            attributes.remove(keyval);
            Ok(())
        })
    }

    /// Deletes a value, if there is one; the delete function runs outside of the lock.
    fn delete_value(self, keyval: c_int) -> Result<bool> {
        let found = self.with(|attributes, keyvals| {
            let keyval = keyvals.get(self.of(), keyval)?;
            let value = attributes.get(keyval.number).cloned();
            Ok(value.map(|value| Attribute { keyval, value }))
        })?;
        let Some(attribute) = found else { return Ok(false) };
        callback::delete(self.handle(), &attribute)?;
        self.remove(keyval)?;
        Ok(true)
    }
}

/// The integers to which predefined attributes point. They are the same for all communicators;
/// `MPI_LASTUSEDCODE` changes also for applications that stored its address.
static TAG_UB: AtomicI32 = AtomicI32::new(TAG_MAX);
static IO: AtomicI32 = AtomicI32::new(ANY_SOURCE);
static HOST: AtomicI32 = AtomicI32::new(PROC_NULL);
/// The ranks of one host read its monotonic clock; each host has its own.
static WTIME_IS_GLOBAL: AtomicI32 = AtomicI32::new(0);
static APP_NUMBER: AtomicI32 = AtomicI32::new(0);
static UNIVERSE_SIZE: AtomicI32 = AtomicI32::new(0);
static SURVIVES_FAILURES: AtomicI32 = AtomicI32::new(0);
static LAST_USED_CODE: AtomicI32 = AtomicI32::new(LAST_CODE);

/// Updates `MPI_LASTUSEDCODE`, the largest error code in use.
pub(crate) fn publish_last_code(objects: &Objects) {
    LAST_USED_CODE.store(objects.codes.last(), Ordering::Relaxed);
}

/// A predefined attribute of a communicator (§9.1.2, §11.10), as the address of an integer;
/// `None` if the key is not predefined.
pub(crate) fn predefined(comm: Handle, keyval: c_int) -> Option<Result<Option<usize>>> {
    if let Some(told) = of_cluster(comm, keyval) {
        return Some(told);
    }
    let cell = match keyval {
        MPI_TAG_UB => &TAG_UB,
        MPI_IO => &IO,
        MPI_HOST => &HOST,
        MPI_WTIME_IS_GLOBAL => &WTIME_IS_GLOBAL,
        MPI_APPNUM => &APP_NUMBER,
        MPI_LASTUSEDCODE => &LAST_USED_CODE,
        MPI_UNIVERSE_SIZE => &UNIVERSE_SIZE,
        MPIX_FT => &SURVIVES_FAILURES,
        _ => return None,
    };
    Some(PROCESS.with_mpi(|mpi| {
        mpi.comms.get(comm)?;
        let address = Some(cell.as_ptr().addr());
        let told = match keyval {
            MPI_WTIME_IS_GLOBAL => Some(c_int::from(!mpi.comms.has_several_nodes())),
            MPI_APPNUM => mpi.world_attributes.app_number,
            MPIX_FT => Some(mpi.engine.survives_failures().into()),
            MPI_UNIVERSE_SIZE => {
                // Communicators of sessions have it, too, also without `MPI_COMM_WORLD`.
                let size = mpi.comms.world_size() as c_int;
                Some(mpi.world_attributes.universe_size.unwrap_or(size))
            }
            _ => return Ok(address),
        };
        let Some(told) = told else { return Ok(None) };
        cell.store(told, Ordering::Relaxed);
        Ok(address)
    }))
}

/// An attribute of IMPI, as the address of an integer that is the communicator's own; `None` if the key is
/// none of them.
fn of_cluster(comm: Handle, keyval: c_int) -> Option<Result<Option<usize>>> {
    let field: fn(&ClusterAttributes) -> &i32 = match keyval {
        IMPI_CLIENT_SIZE => |all| &all.client_size,
        IMPI_CLIENT_COLOR => |all| &all.client_color,
        IMPI_HOST_SIZE => |all| &all.host_size,
        IMPI_HOST_COLOR => |all| &all.host_color,
        _ => return None,
    };
    Some(PROCESS.with_mpi(|mpi| {
        let all = mpi.comms.cluster_attributes(comm)?;
        Ok(Some(std::ptr::from_ref(field(all)).addr()))
    }))
}

/// A predefined attribute of a window (§12.2.7): the base itself, the address of other values;
/// `None` if the key is not predefined.
pub(crate) fn of_window(win: Handle, keyval: c_int) -> Option<Result<Option<usize>>> {
    let field: fn(&WindowMemory) -> usize = match keyval {
        MPI_WIN_BASE => |extent| extent.base,
        MPI_WIN_SIZE => |extent| (&raw const extent.size).expose_provenance(),
        MPI_WIN_DISP_UNIT => |extent| (&raw const extent.unit).expose_provenance(),
        MPI_WIN_CREATE_FLAVOR => |extent| (&raw const extent.flavor).expose_provenance(),
        MPI_WIN_MODEL => |extent| (&raw const extent.model).expose_provenance(),
        _ => return None,
    };
    Some(PROCESS.with_mpi(|mpi| Ok(Some(field(&mpi.windows.get(win)?.memory)))))
}

/// Stores a value: the pointer of C, or the integer of Fortran.
///
/// # Safety
/// `attribute_val` and `flag` are null or may be written.
pub(crate) unsafe fn put<T>(
    scope: impl Into<Scope>, name: &str, found: Result<Option<T>>, attribute_val: *mut T,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let places = unsafe { (out(attribute_val, "attribute_val"), out(flag, "flag")) };
    let result = found.and_then(|found| {
        let (value, flag) = (places.0?, places.1?);
        flag.put(found.is_some().into());
        if let Some(found) = found {
            value.put(found);
        }
        Ok(())
    });
    finish(scope, name, result)
}

/// Creates an attribute key, also before initialization.
///
/// # Safety
/// `keyval` is null or may be written.
pub(crate) unsafe fn create(
    name: &str, of: KeyvalKind, functions: KeyvalFunctions, (keyval, argument): (*mut c_int, &str),
) -> c_int {
    early(name, Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let keyval = unsafe { out(keyval, argument)? };
        keyval.put(objects.keyvals.create(of, functions));
        Ok(())
    })
}

/// Functions in C.
fn of_c(copy: usize, delete: usize, extra_state: *mut c_void) -> KeyvalFunctions {
    KeyvalFunctions {
        language: AttributeLanguage::C,
        copy,
        delete,
        extra_state: extra_state.addr(),
    }
}

/// Frees an attribute key; attributes keep theirs.
///
/// # Safety
/// `keyval` is null, or may be read and written.
unsafe fn free(name: &str, of: KeyvalKind, (keyval, argument): (*mut c_int, &str)) -> c_int {
    early(name, Scope::None, |objects| {
        // SAFETY: the caller's promise.
        let keyval = unsafe { in_out(keyval, argument)? };
        objects.keyvals.free(of, keyval.get())?;
        keyval.put(MPI_KEYVAL_INVALID);
        Ok(())
    })
}
