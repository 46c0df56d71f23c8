//! Error handlers (MPI 5.0 §9.3), and error classes, codes and strings of the application (§9.5).
//!
//! A handler of the application is only an address here; the C boundary calls it, outside of the
//! lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::mpi::handle::{Handle, HandleKind, HandleTable};
use platform::base::{ErrorClass, Result};

/// The largest error code the standard ABI leaves to the library (`MPI_ERR_LASTCODE`).
pub(crate) const LAST_CODE: i32 = 16383;

/// Predefined handles of the standard ABI.
const NULL: Handle = 0x140;
const ARE_FATAL: Handle = 0x141;
const ABORT: Handle = 0x142;
const RETURN: Handle = 0x143;

/// The key of info objects for the initial error handler (§11.5, §11.8.4).
pub(crate) const INITIAL_ERRHANDLER: &str = "mpi_initial_errhandler";

/// Error handler of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Handler {
    /// `MPI_ERRORS_ARE_FATAL`: the job ends.
    #[default]
    Fatal,
    /// `MPI_ERRORS_ABORT`: the processes of the object end.
    Abort,
    /// `MPI_ERRORS_RETURN`: the call returns the code.
    Return,
    /// A function of the application. Its handle may be freed while objects use it.
    Function(Arc<ErrhandlerFunction>),
}

impl Handler {
    /// The handler of a value of `mpi_initial_errhandler` (§11.5, §11.8.4).
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "mpi_errors_are_fatal" => Some(Self::Fatal),
            "mpi_errors_abort" => Some(Self::Abort),
            "mpi_errors_return" => Some(Self::Return),
            _ => None,
        }
    }

    /// The value of `mpi_initial_errhandler`; `None` for a function.
    pub(crate) fn name(&self) -> Option<&'static str> {
        match self {
            Self::Fatal => Some("mpi_errors_are_fatal"),
            Self::Abort => Some("mpi_errors_abort"),
            Self::Return => Some("mpi_errors_return"),
            Self::Function(_) => None,
        }
    }
}

/// A function of the application as an error handler.
#[derive(Debug, PartialEq, Eq)]
pub struct ErrhandlerFunction {
    /// The kind of object that the handler is for.
    pub(crate) kind: ErrhandlerKind,
    /// Address of the function; only the C boundary calls it.
    pub(crate) address: usize,
    /// Unique number of the handler.
    pub(crate) serial: u64,
}

/// The kinds of object that have error handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrhandlerKind {
    Comm,
    Win,
    File,
    Session,
}

/// All error handlers that have a handle.
#[derive(Debug)]
pub(crate) struct Errhandlers {
    table: HandleTable<ErrhandlerEntry>,
    created: u64,
}

/// A handler with a handle, and the number of references to the handle in the application.
#[derive(Debug)]
struct ErrhandlerEntry {
    handler: Handler,
    handles_given: u32,
}

impl Default for Errhandlers {
    fn default() -> Self {
        Self { table: HandleTable::new(HandleKind::Errhandler), created: 0 }
    }
}

impl Errhandlers {
    /// A handle for a function of the application.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn create(&mut self, of: ErrhandlerKind, address: usize) -> Result<Handle> {
        self.created += 1;
        let function = ErrhandlerFunction { kind: of, address, serial: self.created };
        let handler = Handler::Function(Arc::new(function));
        self.table.insert(ErrhandlerEntry { handler, handles_given: 1 })
    }

    /// The handler behind a handle.
    ///
    /// # Errors
    /// `Errhandler` for the null handle and invalid values.
    pub(crate) fn get(&self, handle: Handle) -> Result<Handler> {
        match handle {
            ARE_FATAL => Ok(Handler::Fatal),
            ABORT => Ok(Handler::Abort),
            RETURN => Ok(Handler::Return),
            NULL => Err(ErrorClass::Errhandler.error("the error handler is MPI_ERRHANDLER_NULL")),
            _ => self.table.get(handle).map(|held| held.handler.clone()).ok_or_else(|| {
                ErrorClass::Errhandler
                    .error(format!("{handle:#x} is not an error handler; it may have been freed"))
            }),
        }
    }

    /// The handler behind a handle, for an object of this kind.
    ///
    /// # Errors
    /// As [`Errhandlers::get`], and `Errhandler` for a function made for another kind.
    pub(crate) fn get_for(&self, of: ErrhandlerKind, handle: Handle) -> Result<Handler> {
        let handler = self.get(handle)?;
        match &handler {
            Handler::Function(function) if function.kind != of => Err(ErrorClass::Errhandler
                .error(format!(
                    "the error handler was created for a {:?}, not a {of:?}",
                    function.kind
                ))),
            _ => Ok(handler),
        }
    }

    /// The handle of the handler of an object. The application frees each reference; a new handle is
    /// created if it has freed the old one (§9.3.1).
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn handle_of(&mut self, handler: &Handler) -> Result<Handle> {
        match handler {
            Handler::Fatal => Ok(ARE_FATAL),
            Handler::Abort => Ok(ABORT),
            Handler::Return => Ok(RETURN),
            Handler::Function(_) => {
                let found = self.table.iter().find(|(_, held)| held.handler == *handler);
                let Some(handle) = found.map(|(handle, _)| handle) else {
                    return self
                        .table
                        .insert(ErrhandlerEntry { handler: handler.clone(), handles_given: 1 });
                };
                if let Some(held) = self.table.get_mut(handle) {
                    held.handles_given += 1;
                }
                Ok(handle)
            }
        }
    }

    /// Frees a handle; objects keep the handler.
    ///
    /// # Errors
    /// `Errhandler` for `MPI_ERRHANDLER_NULL` and invalid values.
    pub(crate) fn free(&mut self, handle: Handle) -> Result {
        self.get(handle)?;
        match self.table.get_mut(handle) {
            Some(held) if held.handles_given > 1 => held.handles_given -= 1,
            Some(_) => drop(self.table.remove(handle)),
            None => {}
        }
        Ok(())
    }
}

/// The error classes, codes and strings of the application.
///
/// Classes and codes share one range above [`LAST_CODE`]; a class is a code of itself.
#[derive(Debug, Default)]
pub(crate) struct ErrorCodes {
    /// Class of each added code, and its text in any encoding.
    added: BTreeMap<i32, (i32, Vec<u8>)>,
}

impl ErrorCodes {
    pub(crate) fn add_class(&mut self) -> i32 {
        let class = self.last() + 1;
        self.added.insert(class, (class, Vec::new()));
        class
    }

    /// A new error code of a class.
    ///
    /// # Errors
    /// `Arg` if there is no such class.
    pub fn add_code(&mut self, class: i32) -> Result<i32> {
        if ErrorClass::from_value(class).is_none() && !self.is_added_class(class) {
            return Err(ErrorClass::Arg.error(format!("{class} is not an error class")));
        }
        let code = self.last() + 1;
        self.added.insert(code, (class, Vec::new()));
        Ok(code)
    }

    /// Sets the text of an added class or code.
    ///
    /// # Errors
    /// `Arg` if the application has not added the code.
    pub(crate) fn set_text(&mut self, code: i32, text: &[u8]) -> Result {
        let entry = self.added.get_mut(&code).ok_or_else(|| not_added(code))?;
        text.clone_into(&mut entry.1);
        Ok(())
    }

    /// Removes an added class without codes, or an added code; neither may have a text (§9.5).
    ///
    /// # Errors
    /// `Arg` if the application has not added it, if it is the class of a code, or if it has a text.
    pub(crate) fn remove(&mut self, code: i32, is_class: bool) -> Result {
        if !self.added.contains_key(&code) || self.is_added_class(code) != is_class {
            return Err(not_added(code));
        }
        if self.added.iter().any(|(other, (class, _))| *other != code && *class == code) {
            let why = format!("error class {code} still has error codes: remove them first");
            return Err(ErrorClass::Arg.error(why));
        }
        if self.added.get(&code).is_some_and(|(_, text)| !text.is_empty()) {
            let why = format!("error code {code} still has a string: remove it first");
            return Err(ErrorClass::Arg.error(why));
        }
        self.added.remove(&code);
        Ok(())
    }

    /// The class of a code.
    ///
    /// # Errors
    /// `Arg` if there is no such code.
    pub fn class(&self, code: i32) -> Result<i32> {
        if ErrorClass::from_value(code).is_some() {
            return Ok(code);
        }
        let entry = self.added.get(&code);
        entry.map(|(class, _)| *class).ok_or_else(|| unknown(code))
    }

    /// The text of a code.
    ///
    /// # Errors
    /// `Arg` if there is no such code.
    pub fn text(&self, code: i32) -> Result<Vec<u8>> {
        if let Some(class) = ErrorClass::from_value(code) {
            return Ok(format!("{}: {}", class.name(), class.text()).into());
        }
        self.added.get(&code).map(|(_, text)| text.clone()).ok_or_else(|| unknown(code))
    }

    /// The largest code in use: `MPI_LASTUSEDCODE`.
    pub(crate) fn last(&self) -> i32 {
        self.added.last_key_value().map_or(LAST_CODE, |(code, _)| *code)
    }

    fn is_added_class(&self, code: i32) -> bool {
        self.added.get(&code).is_some_and(|(class, _)| *class == code)
    }
}

fn not_added(code: i32) -> Box<platform::base::MpiError> {
    ErrorClass::Arg.error(format!("{code} is not an error class or code added by the application"))
}

fn unknown(code: i32) -> Box<platform::base::MpiError> {
    ErrorClass::Arg.error(format!("{code} is not an error code"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_outlives_its_handle_and_serves_one_kind_of_object() {
        let mut handlers = Errhandlers::default();
        let handle = handlers.create(ErrhandlerKind::Comm, 0x1234).unwrap();
        let handler = handlers.get_for(ErrhandlerKind::Comm, handle).unwrap();
        assert!(handlers.get_for(ErrhandlerKind::Win, handle).is_err());
        handlers.free(handle).unwrap();
        assert!(handlers.get(handle).is_err());
        let again = handlers.handle_of(&handler).unwrap();
        assert_eq!(handlers.get(again).unwrap(), handler);
        assert!(handlers.get(NULL).is_err());
    }

    #[test]
    fn a_handle_is_freed_as_often_as_it_was_got() {
        let mut handlers = Errhandlers::default();
        let handle = handlers.create(ErrhandlerKind::Comm, 0x1234).unwrap();
        let other = handlers.create(ErrhandlerKind::Comm, 0x1234).unwrap();
        let handler = handlers.get(handle).unwrap();
        assert_eq!(handlers.handle_of(&handler), Ok(handle));
        assert_ne!(handle, other);
        handlers.free(handle).unwrap();
        assert_eq!(handlers.get(handle).as_ref(), Ok(&handler));
        handlers.free(handle).unwrap();
        assert!(handlers.free(handle).is_err() && handlers.get(other).is_ok());
    }

    #[test]
    fn added_codes_know_their_class_and_text() {
        let mut codes = ErrorCodes::default();
        let class = codes.add_class();
        let code = codes.add_code(class).unwrap();
        assert_eq!((class, code, codes.last()), (LAST_CODE + 1, LAST_CODE + 2, code));
        codes.set_text(code, b"gone").unwrap();
        assert_eq!((codes.class(code), codes.text(code)), (Ok(class), Ok("gone".into())));
        assert!(codes.remove(class, true).is_err(), "it has a code");
        assert!(codes.remove(code, false).is_err(), "it has a text");
        codes.set_text(code, b"").unwrap();
        codes.remove(code, false).unwrap();
        codes.remove(class, true).unwrap();
        assert!(codes.class(code).is_err() && codes.set_text(1, b"no").is_err());
    }
}
