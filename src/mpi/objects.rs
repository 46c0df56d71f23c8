//! Objects that exist without communication, also before initialization and after finalization:
//! datatypes, operations, groups, info, error handlers and codes, attribute keys.

use std::sync::Arc;

use super::attribute::{Attributes, Keyvals};
use super::datatype::{ByHandle, Datatype};
use super::errhandler::{Codes, Errhandlers, Handler};
use super::group::Group;
use super::table::{Handle, Kind, Table};
use crate::base::{ErrorClass, MpiError, Result};

/// `MPI_DATATYPE_NULL` of the standard ABI.
pub const DATATYPE_NULL: Handle = 0x200;
/// `MPI_GROUP_NULL` of the standard ABI.
pub const GROUP_NULL: Handle = 0x108;
/// `MPI_GROUP_EMPTY` of the standard ABI.
pub const GROUP_EMPTY: Handle = 0x109;

/// Everything that needs no engine.
pub struct Objects {
    /// Datatypes.
    pub datatypes: Datatypes,
    /// Groups.
    pub groups: Groups,
    /// Error handlers.
    pub errhandlers: Errhandlers,
    /// The error handler of files to be opened.
    pub file_handler: Handler,
    /// Error classes, codes and strings of the application.
    pub codes: Codes,
    /// Attribute keys.
    pub keyvals: Keyvals,
}

impl Default for Objects {
    fn default() -> Self {
        Self {
            datatypes: Datatypes::default(),
            groups: Groups::default(),
            errhandlers: Errhandlers::default(),
            file_handler: Handler::Return,
            codes: Codes::default(),
            keyvals: Keyvals::default(),
        }
    }
}

/// A datatype with what belongs to its handle.
pub struct NamedType {
    /// The type itself.
    pub datatype: Datatype,
    /// Whether it may be used to communicate (§5.1.9).
    pub committed: bool,
    /// Its attributes.
    pub attributes: Attributes,
    /// Its name.
    pub name: String,
}

/// All datatypes.
pub struct Datatypes {
    predefined: ByHandle<NamedType>,
    table: Table<NamedType>,
}

impl Default for Datatypes {
    fn default() -> Self {
        let predefined = ByHandle::new(|entry| NamedType {
            datatype: Datatype::predefined(entry),
            committed: true,
            attributes: Attributes::default(),
            name: entry.name.to_owned(),
        });
        Self { predefined, table: Table::new(Kind::Datatype) }
    }
}

impl Datatypes {
    /// A handle for a new datatype.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub fn insert(&mut self, datatype: Datatype, committed: bool) -> Result<Handle> {
        let (attributes, name) = (Attributes::default(), String::new());
        self.table.insert(NamedType { datatype, committed, attributes, name })
    }

    /// The datatype of a handle.
    ///
    /// # Errors
    /// `Type` for the null handle, a stale one and what is no handle.
    #[inline]
    pub fn get(&self, handle: Handle) -> Result<&NamedType> {
        let found = match self.predefined.find(handle) {
            Some(predefined) => Some(predefined),
            None => self.table.get(handle),
        };
        found.ok_or_else(|| not_a_datatype(handle))
    }

    /// The datatype of a handle, to change what belongs to the handle.
    ///
    /// # Errors
    /// As [`Datatypes::get`].
    pub fn get_mut(&mut self, handle: Handle) -> Result<&mut NamedType> {
        match self.predefined.find_mut(handle) {
            Some(predefined) => Ok(predefined),
            None => self.table.get_mut(handle).ok_or_else(|| not_a_datatype(handle)),
        }
    }

    /// The datatype of a handle that is to be used for communication.
    ///
    /// # Errors
    /// As [`Datatypes::get`], and `Type` if it is not committed.
    #[inline]
    pub fn committed(&self, handle: Handle) -> Result<&Datatype> {
        let named = self.get(handle)?;
        if named.committed {
            return Ok(&named.datatype);
        }
        Err(ErrorClass::Type.error(format!("datatype {handle:#x} is not committed")))
    }

    /// Frees a handle; what uses the datatype keeps it.
    ///
    /// # Errors
    /// As [`Datatypes::get`], and `Type` for a predefined one.
    pub fn remove(&mut self, handle: Handle) -> Result<NamedType> {
        self.derived(handle)?;
        self.table.remove(handle).ok_or_else(|| not_a_datatype(handle))
    }

    /// The datatype of a handle that is to be freed.
    ///
    /// # Errors
    /// As [`Datatypes::remove`].
    pub fn derived(&self, handle: Handle) -> Result<&NamedType> {
        let named = self.get(handle)?;
        match named.datatype.as_predefined() {
            None => Ok(named),
            Some(entry) => {
                let why = format!("{} is predefined and must not be freed", entry.name);
                Err(ErrorClass::Type.error(why))
            }
        }
    }
}

/// All groups that have a handle.
pub struct Groups {
    empty: Arc<Group>,
    table: Table<Arc<Group>>,
}

impl Default for Groups {
    fn default() -> Self {
        Self { empty: Arc::new(Group::new(&[], 0)), table: Table::new(Kind::Group) }
    }
}

impl Groups {
    /// A handle for a group: `MPI_GROUP_EMPTY` for one without processes.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub fn insert(&mut self, group: Arc<Group>) -> Result<Handle> {
        if group.size() == 0 {
            return Ok(GROUP_EMPTY);
        }
        self.table.insert(group)
    }

    /// The group of a handle.
    ///
    /// # Errors
    /// `Group` for the null handle, a stale one and what is no handle.
    pub fn get(&self, handle: Handle) -> Result<&Arc<Group>> {
        match handle {
            GROUP_EMPTY => Ok(&self.empty),
            _ => self.table.get(handle).ok_or_else(|| not_a_group(handle)),
        }
    }

    /// Frees a handle; the empty group's stays.
    ///
    /// # Errors
    /// As [`Groups::get`].
    pub fn free(&mut self, handle: Handle) -> Result {
        match handle {
            GROUP_EMPTY => Ok(()),
            _ => self.table.remove(handle).map(drop).ok_or_else(|| not_a_group(handle)),
        }
    }
}

#[cold]
fn not_a_datatype(handle: Handle) -> Box<MpiError> {
    ErrorClass::Type.error(match handle {
        DATATYPE_NULL => "the datatype is MPI_DATATYPE_NULL".into(),
        _ => format!("{handle:#x} is not a datatype; it may have been freed"),
    })
}

#[cold]
fn not_a_group(handle: Handle) -> Box<MpiError> {
    ErrorClass::Group.error(match handle {
        GROUP_NULL => "the group is MPI_GROUP_NULL".into(),
        _ => format!("{handle:#x} is not a group; it may have been freed"),
    })
}
