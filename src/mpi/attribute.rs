//! Attributes: values that libraries cache on objects under their keys (MPI 5.0 §7.7).
//!
//! The copy and delete functions belong to the application. They are only addresses here; the C
//! boundary calls them, outside every lock, and then stores the outcome.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use crate::base::{ErrorClass, Result};

/// `MPI_KEYVAL_INVALID` of the standard ABI.
pub const KEYVAL_INVALID: i32 = 0;
/// The first key that is handed out, above the predefined ones of the standard ABI (501 .. 605).
const FIRST_KEYVAL: i32 = 1024;
/// The first number of freed keys among which those that are gone are looked for.
const FIRST_SWEEP: usize = 64;

/// The kinds of object that have attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Communicators.
    Comm,
    /// Datatypes.
    Datatype,
    /// Windows.
    Win,
}

/// What a key was created with.
#[derive(Debug, PartialEq, Eq)]
pub struct Keyval {
    /// The number that the application knows.
    pub number: i32,
    /// What kind of object it is for.
    pub of: Of,
    /// The address of the copy function.
    pub copy: usize,
    /// The address of the delete function.
    pub delete: usize,
    /// The address that both get.
    pub extra_state: usize,
}

/// The keys in use. A freed key stays one until the last attribute that has it is gone: "the actual
/// free does not transpire until after all references to the key have been freed" (§7.7.2).
#[derive(Debug)]
pub struct Keyvals {
    keyvals: BTreeMap<i32, Arc<Keyval>>,
    freed: BTreeMap<i32, Weak<Keyval>>,
    /// How many freed keys make it worth while to look which of them are gone.
    sweep_at: usize,
    next: i32,
}

impl Default for Keyvals {
    fn default() -> Self {
        let (keyvals, freed) = (BTreeMap::new(), BTreeMap::new());
        Self { keyvals, freed, sweep_at: FIRST_SWEEP, next: FIRST_KEYVAL }
    }
}

impl Keyvals {
    /// A new key.
    pub fn create(&mut self, of: Of, copy: usize, delete: usize, extra_state: usize) -> i32 {
        let number = self.next;
        self.next += 1;
        self.keyvals.insert(number, Arc::new(Keyval { number, of, copy, delete, extra_state }));
        number
    }

    /// The key with this number, for an object of this kind.
    ///
    /// # Errors
    /// `Keyval` if there is none.
    pub fn get(&self, of: Of, number: i32) -> Result<Arc<Keyval>> {
        let in_attributes = || self.freed.get(&number).and_then(Weak::upgrade);
        let keyval = self.keyvals.get(&number).cloned().or_else(in_attributes);
        keyval.filter(|keyval| keyval.of == of).ok_or_else(|| {
            let why = match number {
                KEYVAL_INVALID => "the attribute key is MPI_KEYVAL_INVALID".to_owned(),
                1..FIRST_KEYVAL => {
                    format!("{number} is not an attribute key that an application made")
                }
                _ => format!("{number} is not an attribute key for a {of:?}; it may be freed"),
            };
            ErrorClass::Keyval.error(why)
        })
    }

    /// Frees the number, at once or with the last attribute that has it. A key that waits for that
    /// may be freed again.
    ///
    /// # Errors
    /// `Keyval` if there is no such key.
    pub fn free(&mut self, of: Of, number: i32) -> Result {
        self.get(of, number)?;
        if let Some(keyval) = self.keyvals.remove(&number) {
            self.freed.insert(number, Arc::downgrade(&keyval));
        }
        if self.freed.len() >= self.sweep_at {
            self.freed.retain(|_, keyval| keyval.strong_count() > 0);
            self.sweep_at = FIRST_SWEEP.max(2 * self.freed.len());
        }
        Ok(())
    }
}

/// One cached value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its key.
    pub keyval: Arc<Keyval>,
    /// The value: an address or an integer, as the application likes.
    pub value: usize,
}

/// The values cached on one object, in the order in which they were set.
#[derive(Clone, Debug, Default)]
pub struct Attributes(Vec<Attribute>);

impl Attributes {
    /// The value under a key.
    pub fn get(&self, keyval: i32) -> Option<usize> {
        self.0.iter().find(|attribute| attribute.keyval.number == keyval).map(|found| found.value)
    }

    /// Sets a value. The old one has been deleted before.
    pub fn set(&mut self, keyval: Arc<Keyval>, value: usize) {
        self.remove(keyval.number);
        self.0.push(Attribute { keyval, value });
    }

    /// Removes a value.
    pub fn remove(&mut self, keyval: i32) -> Option<Attribute> {
        let at = self.0.iter().position(|attribute| attribute.keyval.number == keyval)?;
        Some(self.0.remove(at))
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Attribute> {
        self.0.iter()
    }

    /// The newest one, which is deleted first when the object goes (§11.2.4: reverse order).
    pub fn newest(&self) -> Option<&Attribute> {
        self.0.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_key_lives_on_in_its_attributes() {
        let mut keyvals = Keyvals::default();
        let number = keyvals.create(Of::Comm, 0, 0, 7);
        let mut attributes = Attributes::default();
        attributes.set(keyvals.get(Of::Comm, number).unwrap(), 42);
        keyvals.free(Of::Comm, number).unwrap();
        keyvals.free(Of::Comm, number).unwrap();
        assert!(keyvals.get(Of::Comm, number).is_ok() && keyvals.get(Of::Win, number).is_err());
        assert_eq!(attributes.get(number), Some(42));
        assert_eq!(attributes.remove(number).unwrap().keyval.extra_state, 7);
        assert_eq!(attributes.get(number), None);
        assert!(keyvals.get(Of::Comm, number).is_err());
        assert!(keyvals.free(Of::Comm, number).is_err());
    }

    #[test]
    fn freed_keys_are_forgotten_unless_attributes_have_them() {
        let mut keyvals = Keyvals::default();
        let mut attributes = Attributes::default();
        let kept = keyvals.create(Of::Comm, 0, 0, 0);
        attributes.set(keyvals.get(Of::Comm, kept).unwrap(), 1);
        keyvals.free(Of::Comm, kept).unwrap();
        for _ in 0..10 * FIRST_SWEEP {
            let number = keyvals.create(Of::Comm, 0, 0, 0);
            keyvals.free(Of::Comm, number).unwrap();
        }
        assert!(keyvals.get(Of::Comm, kept).is_ok());
        assert!(keyvals.freed.len() <= FIRST_SWEEP && keyvals.keyvals.is_empty());
    }

    #[test]
    fn a_key_serves_one_kind_of_object() {
        let mut keyvals = Keyvals::default();
        let number = keyvals.create(Of::Win, 0, 0, 0);
        assert!(keyvals.get(Of::Comm, number).is_err() && keyvals.get(Of::Win, number).is_ok());
        assert!(keyvals.free(Of::Datatype, number).is_err() && number > 605);
    }
}
