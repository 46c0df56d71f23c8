//! Objects without communication, which exist also before initialization and after finalization:
//! datatypes, operations, groups, info, error handlers and codes, attribute keys.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::attribute::{Attributes, Keyvals};
use super::datatype::{ByHandle, Datatype, Predefined, Unnamed, ValueIndex};
use super::errhandler::{Errhandlers, ErrorCodes, Handler};
use super::fortran::Fortran;
use super::group::Group;
use super::info::Info;
use super::op::{Op, UserFunction};
use super::tool::ToolInterface;
use crate::mpi::handle::{Handle, HandleKind, HandleTable};
use platform::base::{ErrorClass, MpiError, Result};

/// `MPI_DATATYPE_NULL` of the standard ABI.
pub(crate) const DATATYPE_NULL: Handle = 0x200;
/// `MPI_OP_NULL` of the standard ABI.
pub(crate) const OP_NULL: Handle = 0x20;
/// `MPI_GROUP_NULL` of the standard ABI.
pub(crate) const GROUP_NULL: Handle = 0x108;
/// `MPI_GROUP_EMPTY` of the standard ABI.
pub(crate) const GROUP_EMPTY: Handle = 0x109;
/// `MPI_INFO_NULL` of the standard ABI.
pub(crate) const INFO_NULL: Handle = 0x130;
/// `MPI_INFO_ENV` of the standard ABI.
pub(crate) const INFO_ENV: Handle = 0x131;

/// Objects that need no engine.
pub struct Objects {
    /// Datatypes.
    pub datatypes: Datatypes,
    /// Groups.
    pub groups: Groups,
    /// Reduction operations.
    pub(crate) ops: Ops,
    pub(crate) infos: Infos,
    pub(crate) errhandlers: Errhandlers,
    /// The error handler of files that will be opened.
    pub(crate) file_handler: Handler,
    /// The initial error handler of `MPI_COMM_WORLD` and `MPI_COMM_SELF`, and the handler of all
    /// errors outside of the world model (§9.3).
    pub(crate) initial_handler: Handler,
    pub(crate) codes: ErrorCodes,
    pub(crate) keyvals: Keyvals,
    pub(crate) fortran: Fortran,
    pub(crate) tools: ToolInterface,
}

impl Default for Objects {
    fn default() -> Self {
        Self {
            datatypes: Datatypes::default(),
            groups: Groups::default(),
            ops: Ops::default(),
            infos: Infos::default(),
            errhandlers: Errhandlers::default(),
            file_handler: Handler::Return,
            initial_handler: Handler::default(),
            codes: ErrorCodes::default(),
            keyvals: Keyvals::default(),
            fortran: Fortran::default(),
            tools: ToolInterface::default(),
        }
    }
}

/// A datatype with the state of its handle.
pub(crate) struct DatatypeObject {
    pub(crate) datatype: Datatype,
    /// Whether it is valid in communication (§5.1.9).
    pub(crate) committed: bool,
    pub(crate) attributes: Attributes,
    /// In any encoding.
    pub(crate) name: Vec<u8>,
    /// The uses of the handle by reductions in progress; empty before the first.
    uses: OnceLock<HandleUse>,
    /// Whether the application has freed the handle.
    freed: bool,
}

/// A use of the handle of a datatype, which is valid as long as a clone exists: a user-defined
/// operation gets the handle also after `MPI_Type_free` (§5.1.9).
#[derive(Clone, Debug, Default)]
pub(crate) struct HandleUse(Arc<()>);

impl DatatypeObject {
    fn new(datatype: Datatype, committed: bool, name: Vec<u8>) -> Self {
        let (attributes, uses) = (Attributes::default(), OnceLock::new());
        Self { datatype, committed, attributes, name, uses, freed: false }
    }

    /// Whether a reduction in progress uses the handle.
    fn is_in_use(&self) -> bool {
        self.uses.get().is_some_and(|HandleUse(count)| Arc::strong_count(count) > 1)
    }
}

/// All datatypes.
pub struct Datatypes {
    predefined: ByHandle<DatatypeObject>,
    /// The unnamed predefined datatypes that were requested.
    unnamed: HashMap<Unnamed, Handle>,
    table: HandleTable<DatatypeObject>,
    /// Handles that were freed during their use by reductions.
    freed_in_use: Vec<Handle>,
}

impl Default for Datatypes {
    fn default() -> Self {
        let predefined = ByHandle::new(|entry| {
            DatatypeObject::new(Datatype::predefined(entry), true, entry.name.into())
        });
        let table = HandleTable::new(HandleKind::Datatype);
        Self { predefined, unnamed: HashMap::new(), table, freed_in_use: Vec::new() }
    }
}

impl Datatypes {
    /// A handle for a new datatype.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn insert(&mut self, datatype: Datatype, committed: bool) -> Result<Handle> {
        self.table.insert(DatatypeObject::new(datatype, committed, Vec::new()))
    }

    /// The handle of an unnamed predefined datatype; the same handle for each request (§19.1.5,
    /// advice to implementors).
    ///
    /// # Errors
    /// `Arg` if there is no such datatype, `NoMem` without a free handle.
    pub(crate) fn unnamed(&mut self, requested: Unnamed) -> Result<Handle> {
        if let Some(handle) = self.unnamed.get(&requested) {
            return Ok(*handle);
        }
        let made = self.insert(Datatype::unnamed(requested)?, true)?;
        self.unnamed.insert(requested, made);
        Ok(made)
    }

    /// The handle of the pair of a value and an index for `MPI_MINLOC` and `MPI_MAXLOC` (§6.9.4);
    /// `MPI_DATATYPE_NULL` if there is none, as for datatypes that are not named numbers.
    ///
    /// # Errors
    /// As [`Datatypes::get`] for either, and `NoMem` without a free handle.
    pub(crate) fn value_index(&mut self, value: Handle, index: Handle) -> Result<Handle> {
        self.get(value)?;
        self.get(index)?;
        let named = Predefined::all().iter().find(|entry| entry.pair == Some([value, index]));
        match (named, ValueIndex::new(value, index)) {
            (Some(entry), _) => Ok(entry.handle),
            (None, Some(requested)) => self.unnamed(Unnamed::Pair(requested)),
            (None, None) => Ok(DATATYPE_NULL),
        }
    }

    /// The handle of a predefined datatype, named or unnamed; `None` for a derived one.
    pub(crate) fn predefined_handle(&self, datatype: &Datatype) -> Option<Handle> {
        match datatype.as_unnamed() {
            Some(requested) => self.unnamed.get(&requested).copied(),
            None => datatype.as_predefined().map(|entry| entry.handle),
        }
    }

    /// The datatype of a handle.
    ///
    /// # Errors
    /// `Type` for the null handle, a freed handle and other invalid values.
    pub(crate) fn get(&self, handle: Handle) -> Result<&DatatypeObject> {
        let found = match self.predefined.find(handle) {
            Some(predefined) => Some(predefined),
            None => self.table.get(handle),
        };
        found.ok_or_else(|| not_a_datatype(handle))
    }

    /// The datatype of a handle, mutable.
    ///
    /// # Errors
    /// As [`Datatypes::get`].
    pub(crate) fn get_mut(&mut self, handle: Handle) -> Result<&mut DatatypeObject> {
        match self.predefined.find_mut(handle) {
            Some(predefined) => Ok(predefined),
            None => self.table.get_mut(handle).ok_or_else(|| not_a_datatype(handle)),
        }
    }

    /// The datatype of a handle, for communication.
    ///
    /// # Errors
    /// As [`Datatypes::get`], and `Type` if it is not committed.
    #[inline]
    pub fn committed(&self, handle: Handle) -> Result<&Datatype> {
        let named = self.get(handle)?;
        if named.committed {
            return Ok(&named.datatype);
        }
        Err(not_committed(handle))
    }

    /// A use of a handle by a reduction; `None` if the datatype is predefined.
    pub(crate) fn handle_use(&self, handle: Handle) -> Option<HandleUse> {
        self.table.get(handle).map(|object| object.uses.get_or_init(HandleUse::default).clone())
    }

    /// Frees a handle; operations and other datatypes keep the datatype, and a handle in use stays
    /// valid. Returns the objects of handles that are no longer valid.
    ///
    /// # Errors
    /// As [`Datatypes::get`], and `Type` for a predefined one.
    pub(crate) fn remove(&mut self, handle: Handle) -> Result<Vec<DatatypeObject>> {
        self.derived(handle)?;
        self.get_mut(handle)?.freed = true;
        self.freed_in_use.push(handle);
        let table = &mut self.table;
        let unused = self
            .freed_in_use
            .extract_if(.., |freed| table.get(*freed).is_none_or(|object| !object.is_in_use()));
        let unused: Vec<Handle> = unused.collect();
        Ok(unused.into_iter().filter_map(|unused| self.table.remove(unused)).collect())
    }

    /// The datatype of a handle, if it may be freed.
    ///
    /// # Errors
    /// As [`Datatypes::remove`].
    pub(crate) fn derived(&self, handle: Handle) -> Result<&DatatypeObject> {
        let named = self.get(handle)?;
        if named.freed {
            return Err(not_a_datatype(handle));
        }
        // A datatype with sections was created for one call, even with predefined elements.
        match named.datatype.as_predefined().filter(|_| !named.datatype.has_sections()) {
            None => Ok(named),
            Some(_) => {
                let what = named.datatype.describe();
                let why = format!("{what} is predefined and cannot be freed");
                Err(ErrorClass::Type.error(why))
            }
        }
    }
}

/// All groups that have a handle.
pub struct Groups {
    empty: Arc<Group>,
    table: HandleTable<Arc<Group>>,
}

impl Default for Groups {
    fn default() -> Self {
        Self { empty: Arc::new(Group::new(&[], 0)), table: HandleTable::new(HandleKind::Group) }
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
    /// `Group` for the null handle, a freed handle and other invalid values.
    pub(crate) fn get(&self, handle: Handle) -> Result<&Arc<Group>> {
        match handle {
            GROUP_EMPTY => Ok(&self.empty),
            _ => self.table.get(handle).ok_or_else(|| not_a_group(handle)),
        }
    }

    /// All groups.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.table.iter().map(|(_, group)| &**group)
    }

    /// Frees a handle, except `MPI_GROUP_EMPTY`.
    ///
    /// # Errors
    /// As [`Groups::get`].
    pub(crate) fn free(&mut self, handle: Handle) -> Result {
        match handle {
            GROUP_EMPTY => Ok(()),
            _ => self.table.remove(handle).map(drop).ok_or_else(|| not_a_group(handle)),
        }
    }
}

/// The reduction operations of the application; predefined ones are identified by their handles.
pub(crate) struct Ops(HandleTable<UserFunction>);

impl Default for Ops {
    fn default() -> Self {
        Self(HandleTable::new(HandleKind::Op))
    }
}

impl Ops {
    /// A handle for an operation of the application.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn insert(&mut self, function: UserFunction) -> Result<Handle> {
        self.0.insert(function)
    }

    /// The operation of a handle.
    ///
    /// # Errors
    /// `Op` for the null handle, a freed handle and other invalid values.
    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> Result<Op> {
        let own = || self.0.get(handle).map(|function| Op::User(*function));
        Op::predefined(handle).or_else(own).ok_or_else(|| not_an_op(handle))
    }

    /// Frees a handle; operations in progress keep the reduction operation.
    ///
    /// # Errors
    /// As [`Ops::get`], and `Op` for a predefined one.
    pub fn free(&mut self, handle: Handle) -> Result {
        if let Some(Op::Predefined(operator)) = Op::predefined(handle) {
            let why = format!("{} is predefined and cannot be freed", operator.name());
            return Err(ErrorClass::Op.error(why));
        }
        self.0.remove(handle).map(drop).ok_or_else(|| not_an_op(handle))
    }
}

/// All info objects that have a handle.
#[derive(Debug)]
pub(crate) struct Infos {
    table: HandleTable<Info>,
    /// The content of `MPI_INFO_ENV`; empty before initialization.
    pub(crate) environment: Info,
}

impl Default for Infos {
    fn default() -> Self {
        Self { table: HandleTable::new(HandleKind::Info), environment: Info::default() }
    }
}

impl Infos {
    /// A handle for an info object.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn insert(&mut self, info: Info) -> Result<Handle> {
        self.table.insert(info)
    }

    /// The info object of a handle.
    ///
    /// # Errors
    /// `Info` for the null handle, a freed handle and other invalid values.
    pub(crate) fn get(&self, handle: Handle) -> Result<&Info> {
        match handle {
            INFO_ENV => Ok(&self.environment),
            _ => self.table.get(handle).ok_or_else(|| not_an_info(handle)),
        }
    }

    /// The info object of a handle, `None` for the null handle.
    ///
    /// # Errors
    /// `Info` for a freed handle and other invalid values.
    pub(crate) fn hints(&self, handle: Handle) -> Result<Option<&Info>> {
        match handle {
            INFO_NULL => Ok(None),
            _ => self.get(handle).map(Some),
        }
    }

    /// The info object of a handle, mutable.
    ///
    /// # Errors
    /// As [`Infos::get`], and `Info` for `MPI_INFO_ENV`.
    pub(crate) fn get_mut(&mut self, handle: Handle) -> Result<&mut Info> {
        self.table.get_mut(handle).ok_or_else(|| not_an_info(handle))
    }

    /// Frees a handle.
    ///
    /// # Errors
    /// As [`Infos::get_mut`].
    pub(crate) fn remove(&mut self, handle: Handle) -> Result<Info> {
        self.table.remove(handle).ok_or_else(|| not_an_info(handle))
    }
}

#[cold]
fn not_committed(handle: Handle) -> Box<MpiError> {
    ErrorClass::Type
        .error(format!("datatype {handle:#x} is not committed: call MPI_Type_commit first"))
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

#[cold]
fn not_an_op(handle: Handle) -> Box<MpiError> {
    ErrorClass::Op.error(match handle {
        OP_NULL => "the operation is MPI_OP_NULL".into(),
        _ => format!("{handle:#x} is not an operation; it may have been freed"),
    })
}

#[cold]
fn not_an_info(handle: Handle) -> Box<MpiError> {
    ErrorClass::Info.error(match handle {
        INFO_NULL => "the info object is MPI_INFO_NULL".into(),
        INFO_ENV => "MPI_INFO_ENV is read-only and cannot be freed".into(),
        _ => format!("{handle:#x} is not an info object; it may have been freed"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::op::Operator;

    #[test]
    fn operations_are_found_and_only_those_of_the_application_freed() {
        let mut ops = Ops::default();
        let function = UserFunction { address: 8, large: false, commutative: true };
        let own = ops.insert(function).unwrap();
        let sum = Operator::Sum as Handle;
        assert_eq!(ops.get(own).unwrap(), Op::User(function));
        assert_eq!(ops.get(sum).unwrap(), Op::Predefined(Operator::Sum));
        assert!(ops.free(own).is_ok() && ops.get(own).is_err() && ops.free(own).is_err());
        assert!(ops.get(OP_NULL).is_err() && ops.free(sum).is_err() && ops.free(OP_NULL).is_err());
    }
}
