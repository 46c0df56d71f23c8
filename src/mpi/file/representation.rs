//! Data representations: how data is in a file (MPI 5.0 §14.5).
//!
//! `native` and `internal` are bytes as in memory; internal is also what other runs of this library read.
//! `external32` is converted by the library, byte by byte of the stream, and needs no copy of a whole
//! buffer. What the application registers is converted by its functions, which `abi` calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::memory::Memory;
use crate::engine::memory::layout::Layout;
use crate::mpi::datatype::external::element_size;
use crate::mpi::datatype::{Datatype, Predefined, external_memory};
use crate::mpi::handle::Handle;
use platform::base::{ErrorClass, Result};

/// `MPI_MAX_DATAREP_STRING` of the standard ABI, with the final zero.
pub(crate) const NAME_MAX: usize = 128;

/// The representation of a view.
#[derive(Clone, Debug)]
pub(crate) enum DataRepresentation {
    /// As in memory.
    Native,
    /// As in memory of this implementation.
    Internal,
    /// Big-endian numbers of fixed sizes.
    External,
    /// By functions of the application.
    User(Arc<UserRepresentation>, Arc<ElementExtents>),
}

/// A representation of the application: its functions by their addresses, with their argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserRepresentation {
    pub(crate) name: Vec<u8>,
    /// `None`: `MPI_CONVERSION_FN_NULL`, as in memory.
    pub(crate) read: Option<ConversionFunction>,
    /// Likewise.
    pub(crate) write: Option<ConversionFunction>,
    /// Tells the extent of a datatype in a file.
    pub(crate) extent: usize,
    pub(crate) extra_state: usize,
}

/// A function that converts elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConversionFunction {
    pub(crate) address: usize,
    /// Whether its count is `MPI_Count`.
    pub(crate) is_large: bool,
}

/// The extents in a file of predefined datatypes, by their handles.
pub(crate) type ElementExtents = BTreeMap<Handle, usize>;

impl DataRepresentation {
    /// A representation of the standard.
    pub(crate) fn of_standard(name: &[u8]) -> Option<Self> {
        match name {
            b"native" => Some(Self::Native),
            b"internal" => Some(Self::Internal),
            b"external32" => Some(Self::External),
            _ => None,
        }
    }

    pub(crate) fn name(&self) -> &[u8] {
        match self {
            Self::Native => b"native",
            Self::Internal => b"internal",
            Self::External => b"external32",
            Self::User(user, _) => &user.name,
        }
    }

    /// The bytes of a datatype in the file.
    ///
    /// # Errors
    /// `Arg` if they exceed the largest file.
    pub(crate) fn layout(&self, datatype: &Datatype) -> Result<Arc<Layout>> {
        let rebuilt = match self {
            Self::Native | Self::Internal => return Ok(Arc::clone(datatype.layout())),
            Self::External => {
                // Elements of equal sizes keep their places, with the gaps between them.
                datatype.rebuilt(&|entry: &Predefined| {
                    let size = element_size(entry);
                    Ok((size != entry.unit.size()).then(|| Layout::dense(size)))
                })
            }
            Self::User(_, extents) => datatype.rebuilt(&|entry: &Predefined| {
                Ok(extents.get(&entry.handle).map(|extent| Layout::dense(*extent)))
            }),
        };
        Ok(Arc::clone(rebuilt?.layout()))
    }

    /// Memory of elements as the bytes of the file.
    pub(crate) fn memory(&self, datatype: &Datatype, count: usize, memory: Memory) -> Memory {
        match self {
            Self::External => external_memory(datatype, count, memory),
            Self::Native | Self::Internal | Self::User(..) => memory,
        }
    }

    /// The functions of the application, if they convert.
    pub(crate) fn user(&self) -> Option<&Arc<UserRepresentation>> {
        match self {
            Self::User(user, _) => Some(user),
            Self::Native | Self::Internal | Self::External => None,
        }
    }
}

/// The representations that the application has registered.
#[derive(Debug, Default)]
pub(crate) struct UserRepresentations(Vec<Arc<UserRepresentation>>);

impl UserRepresentations {
    /// # Errors
    /// `Arg` for a name that is empty or too long; `DupDatarep` for one that is known.
    pub(crate) fn register(&mut self, new: UserRepresentation) -> Result {
        let name = String::from_utf8_lossy(&new.name);
        if new.name.is_empty() || new.name.len() >= NAME_MAX {
            return Err(ErrorClass::Arg.error(format!(
                "the name \"{name}\" of a data representation has {} bytes: expected 1 to {}",
                new.name.len(),
                NAME_MAX - 1
            )));
        }
        if DataRepresentation::of_standard(&new.name).is_some() || self.find(&new.name).is_some() {
            let why = format!("there is a data representation \"{name}\" already");
            return Err(ErrorClass::DupDatarep.error(why));
        }
        self.0.push(Arc::new(new));
        Ok(())
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<&Arc<UserRepresentation>> {
        self.0.iter().find(|known| known.name == name)
    }
}

/// The error of a name that nothing has.
pub(crate) fn unknown(name: &[u8]) -> Box<platform::base::MpiError> {
    ErrorClass::UnsupportedDatarep.error(format!(
        "the data representation \"{}\" is not known: expected native, internal, external32 or one \
         from MPI_Register_datarep",
        String::from_utf8_lossy(name)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::datatype::{ConstructorForm, predefined};

    fn named(name: &str) -> Datatype {
        let entry = Predefined::named(name);
        predefined(entry.unwrap().handle).unwrap()
    }

    fn user(name: &str) -> UserRepresentation {
        let (read, write, extent, extra_state) = (None, None, 0, 0);
        UserRepresentation { name: name.into(), read, write, extent, extra_state }
    }

    #[test]
    fn names_are_registered_once() {
        let mut all = UserRepresentations::default();
        all.register(user("mine")).unwrap();
        for taken in ["mine", "native", "external32"] {
            let error = all.register(user(taken)).unwrap_err();
            assert_eq!(error.code.0, ErrorClass::DupDatarep as i32, "{taken}");
        }
        let long = "x".repeat(NAME_MAX);
        assert_eq!(all.register(user(&long)).unwrap_err().code.0, ErrorClass::Arg as i32);
        assert!(all.register(user("")).is_err());
        assert!(all.find(b"mine").is_some() && all.find(b"other").is_none());
    }

    #[test]
    fn long_integers_have_four_bytes_in_external_files() {
        let long = named("MPI_LONG");
        let vector = Datatype::vector(ConstructorForm::Int, 2, 1, 3, &long).unwrap();
        let layout = DataRepresentation::External.layout(&vector).unwrap();
        assert_eq!((layout.size(), layout.extent()), (8, 16));
        let same = DataRepresentation::External.layout(&named("MPI_DOUBLE")).unwrap();
        assert_eq!((same.size(), same.extent()), (8, 8));
        let internal = DataRepresentation::Internal.layout(&vector).unwrap();
        assert_eq!((internal.size(), internal.extent()), (16, 32));
    }
}
