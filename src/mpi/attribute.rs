//! Attributes: values that libraries cache on objects under keys (MPI 5.0 §7.7).
//!
//! The copy and delete functions of the application are only addresses here; the C boundary calls
//! them, outside of the lock, and then stores the result.
//!
//! A value is a pointer in C and an integer in Fortran. Each language reads values of the other
//! (MPI 5.0 §19.3.7): Fortran gets the pointer as an integer, C gets a pointer to the integer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};
use std::sync::{Arc, Weak};

use platform::base::{ErrorClass, Result};

/// `MPI_KEYVAL_INVALID` of the standard ABI.
pub(crate) const KEYVAL_INVALID: i32 = 0;
/// The first key of the application, above the predefined ones of the standard ABI (501 .. 605).
const FIRST_KEYVAL: i32 = 1024;
/// Number of freed keys that starts the first sweep for unreferenced ones.
const FIRST_SWEEP: usize = 64;

/// The kinds of object that have attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyvalKind {
    Comm,
    Datatype,
    Win,
}

/// Representation of values in a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributeLanguage {
    /// C: pointers.
    C,
    /// Fortran: INTEGER, as in MPI-1.
    FortranInteger,
    /// Fortran: INTEGER(KIND=MPI_ADDRESS_KIND).
    FortranAddress,
}

/// A value, in the representation of the language that set it.
#[derive(Clone, Debug)]
pub(crate) enum AttributeValue {
    /// A pointer from C.
    Pointer(usize),
    /// An INTEGER, at an address that C may read and write.
    FortranInteger(Arc<AtomicI32>),
    /// An INTEGER(KIND=MPI_ADDRESS_KIND), likewise.
    FortranAddress(Arc<AtomicI64>),
}

impl AttributeValue {
    /// A value set in Fortran.
    ///
    /// # Panics
    /// If the language is C.
    pub(crate) fn from_fortran(language: AttributeLanguage, value: isize) -> Self {
        match language {
            AttributeLanguage::C => unreachable!("a value of Fortran is an integer"),
            AttributeLanguage::FortranInteger => {
                Self::FortranInteger(Arc::new(AtomicI32::new(value as i32)))
            }
            AttributeLanguage::FortranAddress => {
                Self::FortranAddress(Arc::new(AtomicI64::new(value as i64)))
            }
        }
    }

    /// The value for C: the pointer, or a pointer to the integer, valid as long as the attribute.
    pub(crate) fn in_c(&self) -> usize {
        match self {
            Self::Pointer(address) => *address,
            Self::FortranInteger(cell) => cell.as_ptr().expose_provenance(),
            Self::FortranAddress(cell) => cell.as_ptr().expose_provenance(),
        }
    }

    /// The value for Fortran.
    pub(crate) fn in_fortran(&self) -> isize {
        match self {
            Self::Pointer(address) => *address as isize,
            Self::FortranInteger(cell) => cell.load(Ordering::Relaxed) as isize,
            Self::FortranAddress(cell) => cell.load(Ordering::Relaxed) as isize,
        }
    }

    /// An equal value of another attribute.
    pub(crate) fn duplicate(&self) -> Self {
        match self {
            Self::Pointer(address) => Self::Pointer(*address),
            Self::FortranInteger(_) => {
                Self::from_fortran(AttributeLanguage::FortranInteger, self.in_fortran())
            }
            Self::FortranAddress(_) => {
                Self::from_fortran(AttributeLanguage::FortranAddress, self.in_fortran())
            }
        }
    }

    /// The copy of this value for the result of a copy function in C. The same pointer means an
    /// equal value: a pointer to the integer of this attribute would not outlive it.
    pub(crate) fn copied_in_c(&self, copied: usize) -> Self {
        if copied == self.in_c() { self.duplicate() } else { Self::Pointer(copied) }
    }

    /// The copy of this value for the result of a copy function in Fortran. The same number means an
    /// equal value: a pointer from C stays a pointer.
    pub(crate) fn copied_in_fortran(&self, language: AttributeLanguage, copied: isize) -> Self {
        let was = match language {
            AttributeLanguage::FortranInteger => self.in_fortran() as i32 as isize,
            AttributeLanguage::C | AttributeLanguage::FortranAddress => self.in_fortran(),
        };
        if copied == was { self.duplicate() } else { Self::from_fortran(language, copied) }
    }
}

/// A key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Keyval {
    /// The key's integer in the application.
    pub(crate) number: i32,
    /// Kind of object that the key is valid for.
    pub(crate) kind: KeyvalKind,
    pub(crate) functions: KeyvalFunctions,
}

/// The functions of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyvalFunctions {
    /// The language of both functions.
    pub(crate) language: AttributeLanguage,
    /// The address of the copy function.
    pub(crate) copy: usize,
    /// The address of the delete function.
    pub(crate) delete: usize,
    /// The address, or the integer, that both functions receive.
    pub(crate) extra_state: usize,
}

/// The keys in use. A freed key exists until its last attribute is deleted: "the actual free does
/// not transpire until after all references to the key have been freed" (§7.7.2).
#[derive(Debug)]
pub(crate) struct Keyvals {
    keyvals: BTreeMap<i32, Arc<Keyval>>,
    freed: BTreeMap<i32, Weak<Keyval>>,
    /// Number of freed keys that starts the next sweep for unreferenced ones.
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
    pub(crate) fn create(&mut self, of: KeyvalKind, functions: KeyvalFunctions) -> i32 {
        let number = self.next;
        self.next += 1;
        self.keyvals.insert(number, Arc::new(Keyval { number, kind: of, functions }));
        number
    }

    /// The key with this number, for an object of this kind.
    ///
    /// # Errors
    /// `Keyval` if there is none.
    pub(crate) fn get(&self, of: KeyvalKind, number: i32) -> Result<Arc<Keyval>> {
        let in_attributes = || self.freed.get(&number).and_then(Weak::upgrade);
        let keyval = self.keyvals.get(&number).cloned().or_else(in_attributes);
        keyval.filter(|keyval| keyval.kind == of).ok_or_else(|| {
            let why = match number {
                KEYVAL_INVALID => "the attribute key is MPI_KEYVAL_INVALID".to_owned(),
                1..FIRST_KEYVAL => {
                    format!("{number} is not an attribute key created by the application")
                }
                _ => {
                    format!("{number} is not an attribute key for a {of:?}; it may have been freed")
                }
            };
            ErrorClass::Keyval.error(why)
        })
    }

    /// Frees a key, at once or with its last attribute. A key that waits for its last attribute may
    /// be freed again.
    ///
    /// # Errors
    /// `Keyval` if there is no such key.
    pub(crate) fn free(&mut self, of: KeyvalKind, number: i32) -> Result {
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
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub(crate) keyval: Arc<Keyval>,
    pub(crate) value: AttributeValue,
}

/// The values cached on one object, in the order in which they were set.
#[derive(Clone, Debug, Default)]
pub struct Attributes(Vec<Attribute>);

impl Attributes {
    /// The value under a key.
    pub(crate) fn get(&self, keyval: i32) -> Option<&AttributeValue> {
        self.0.iter().find(|attribute| attribute.keyval.number == keyval).map(|found| &found.value)
    }

    /// Sets a value. The caller has deleted the old one.
    pub(crate) fn set(&mut self, keyval: Arc<Keyval>, value: AttributeValue) {
        self.remove(keyval.number);
        self.0.push(Attribute { keyval, value });
    }

    /// Removes a value.
    pub(crate) fn remove(&mut self, keyval: i32) -> Option<Attribute> {
        let at = self.0.iter().position(|attribute| attribute.keyval.number == keyval)?;
        Some(self.0.remove(at))
    }

    /// The attributes, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Attribute> {
        self.0.iter()
    }

    /// The newest attribute, which is deleted first when the object is freed (§11.2.4: reverse order).
    pub(crate) fn newest(&self) -> Option<&Attribute> {
        self.0.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: KeyvalFunctions =
        KeyvalFunctions { language: AttributeLanguage::C, copy: 0, delete: 0, extra_state: 7 };

    #[test]
    fn a_freed_key_lives_on_in_its_attributes() {
        let mut keyvals = Keyvals::default();
        let number = keyvals.create(KeyvalKind::Comm, PLAIN);
        let mut attributes = Attributes::default();
        attributes.set(keyvals.get(KeyvalKind::Comm, number).unwrap(), AttributeValue::Pointer(42));
        keyvals.free(KeyvalKind::Comm, number).unwrap();
        keyvals.free(KeyvalKind::Comm, number).unwrap();
        assert!(
            keyvals.get(KeyvalKind::Comm, number).is_ok()
                && keyvals.get(KeyvalKind::Win, number).is_err()
        );
        assert_eq!(attributes.get(number).unwrap().in_c(), 42);
        assert_eq!(attributes.remove(number).unwrap().keyval.functions.extra_state, 7);
        assert!(attributes.get(number).is_none());
        assert!(keyvals.get(KeyvalKind::Comm, number).is_err());
        assert!(keyvals.free(KeyvalKind::Comm, number).is_err());
    }

    #[test]
    fn freed_keys_are_forgotten_unless_attributes_have_them() {
        let mut keyvals = Keyvals::default();
        let mut attributes = Attributes::default();
        let kept = keyvals.create(KeyvalKind::Comm, PLAIN);
        attributes.set(keyvals.get(KeyvalKind::Comm, kept).unwrap(), AttributeValue::Pointer(1));
        keyvals.free(KeyvalKind::Comm, kept).unwrap();
        for _ in 0..10 * FIRST_SWEEP {
            let number = keyvals.create(KeyvalKind::Comm, PLAIN);
            keyvals.free(KeyvalKind::Comm, number).unwrap();
        }
        assert!(keyvals.get(KeyvalKind::Comm, kept).is_ok());
        assert!(keyvals.freed.len() <= FIRST_SWEEP && keyvals.keyvals.is_empty());
    }

    #[test]
    fn a_key_serves_one_kind_of_object() {
        let mut keyvals = Keyvals::default();
        let number = keyvals.create(KeyvalKind::Win, PLAIN);
        assert!(
            keyvals.get(KeyvalKind::Comm, number).is_err()
                && keyvals.get(KeyvalKind::Win, number).is_ok()
        );
        assert!(keyvals.free(KeyvalKind::Datatype, number).is_err() && number > 605);
    }

    #[test]
    fn each_language_sees_what_the_other_has_set() {
        let pointer = AttributeValue::Pointer(usize::MAX - 7);
        assert_eq!((pointer.in_c(), pointer.in_fortran()), (usize::MAX - 7, -8));
        for language in [AttributeLanguage::FortranInteger, AttributeLanguage::FortranAddress] {
            let integer = AttributeValue::from_fortran(language, -5);
            assert_eq!(integer.in_fortran(), -5);
            let copy = integer.copied_in_c(integer.in_c());
            assert_eq!(copy.in_fortran(), -5);
            assert_ne!(copy.in_c(), integer.in_c());
            assert_eq!(integer.copied_in_c(64).in_fortran(), 64);
        }
        assert_eq!(
            AttributeValue::from_fortran(AttributeLanguage::FortranAddress, 1 << 40).in_fortran(),
            1 << 40
        );
        assert_eq!(
            AttributeValue::from_fortran(AttributeLanguage::FortranInteger, 1 << 40).in_fortran(),
            0
        );
    }

    #[test]
    fn a_pointer_that_fortran_copies_stays_one() {
        let pointer = AttributeValue::Pointer(1 << 40 | 64);
        let same =
            pointer.copied_in_fortran(AttributeLanguage::FortranAddress, pointer.in_fortran());
        assert_eq!(same.in_c(), pointer.in_c());
        assert_eq!(
            pointer.copied_in_fortran(AttributeLanguage::FortranInteger, 64).in_c(),
            pointer.in_c()
        );
        let other = pointer.copied_in_fortran(AttributeLanguage::FortranAddress, 65);
        assert_eq!(other.in_fortran(), 65);
        assert_ne!(other.in_c(), 65);
    }
}
