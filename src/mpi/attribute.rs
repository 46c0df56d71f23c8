//! Attributes: values that libraries cache on objects under their keys (MPI 5.0 §7.7).
//!
//! The copy and delete functions belong to the application. They are only addresses here; the C
//! boundary calls them, outside every lock, and then stores the outcome.
//!
//! A value is a pointer in C and an integer in Fortran, and one language sees what the other has set
//! (MPI 5.0 §19.3.7): Fortran the pointer as an integer, C a pointer to the integer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};
use std::sync::{Arc, Weak};

use platform::base::{ErrorClass, Result};

/// `MPI_KEYVAL_INVALID` of the standard ABI.
pub(crate) const KEYVAL_INVALID: i32 = 0;
/// The first key that is handed out, above the predefined ones of the standard ABI (501 .. 605).
const FIRST_KEYVAL: i32 = 1024;
/// The first number of freed keys among which those that are gone are looked for.
const FIRST_SWEEP: usize = 64;

/// The kinds of object that have attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyvalKind {
    /// Communicators.
    Comm,
    /// Datatypes.
    Datatype,
    /// Windows.
    Win,
}

/// How values are passed in a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributeLanguage {
    /// Pointers of C.
    C,
    /// Fortran's integers of type INTEGER, those of MPI-1.
    FortranInteger,
    /// Fortran's integers of kind `MPI_ADDRESS_KIND`.
    FortranAddress,
}

/// A value as it was set.
#[derive(Clone, Debug)]
pub(crate) enum AttributeValue {
    /// A pointer of C.
    Pointer(usize),
    /// An INTEGER, at an address that C may know and write to.
    FortranInteger(Arc<AtomicI32>),
    /// An INTEGER(KIND=MPI_ADDRESS_KIND), as above.
    FortranAddress(Arc<AtomicI64>),
}

impl AttributeValue {
    /// A value set in Fortran.
    ///
    /// # Panics
    /// If the language is C.
    pub(crate) fn from_fortran(language: AttributeLanguage, value: isize) -> Self {
        match language {
            AttributeLanguage::C => unreachable!("a pointer is no integer"),
            AttributeLanguage::FortranInteger => {
                Self::FortranInteger(Arc::new(AtomicI32::new(value as i32)))
            }
            AttributeLanguage::FortranAddress => {
                Self::FortranAddress(Arc::new(AtomicI64::new(value as i64)))
            }
        }
    }

    /// What C gets: the pointer, or one to the integer, which is there as long as the attribute.
    pub(crate) fn in_c(&self) -> usize {
        match self {
            Self::Pointer(address) => *address,
            Self::FortranInteger(cell) => cell.as_ptr().expose_provenance(),
            Self::FortranAddress(cell) => cell.as_ptr().expose_provenance(),
        }
    }

    /// What Fortran gets.
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

    /// What a copy function in C has made of this value. The same pointer means an equal value: a
    /// pointer to this one's integer would not be there as long as the copy.
    pub(crate) fn copied_in_c(&self, copied: usize) -> Self {
        if copied == self.in_c() { self.duplicate() } else { Self::Pointer(copied) }
    }

    /// What a copy function in Fortran has made of this value. The same number means an equal value:
    /// a pointer of C stays one.
    pub(crate) fn copied_in_fortran(&self, language: AttributeLanguage, copied: isize) -> Self {
        let was = match language {
            AttributeLanguage::FortranInteger => self.in_fortran() as i32 as isize,
            AttributeLanguage::C | AttributeLanguage::FortranAddress => self.in_fortran(),
        };
        if copied == was { self.duplicate() } else { Self::from_fortran(language, copied) }
    }
}

/// What a key was created with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Keyval {
    /// The number that the application knows.
    pub(crate) number: i32,
    /// What kind of object it is for.
    pub(crate) kind: KeyvalKind,
    /// Its functions.
    pub(crate) functions: KeyvalFunctions,
}

/// The functions of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyvalFunctions {
    /// What both are written in.
    pub(crate) language: AttributeLanguage,
    /// The address of the copy function.
    pub(crate) copy: usize,
    /// The address of the delete function.
    pub(crate) delete: usize,
    /// The address, or the integer, that both get.
    pub(crate) extra_state: usize,
}

/// The keys in use. A freed key stays one until the last attribute that has it is gone: "the actual
/// free does not transpire until after all references to the key have been freed" (§7.7.2).
#[derive(Debug)]
pub(crate) struct Keyvals {
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
    /// Its key.
    pub(crate) keyval: Arc<Keyval>,
    /// Its value.
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

    /// Sets a value. The old one has been deleted before.
    pub(crate) fn set(&mut self, keyval: Arc<Keyval>, value: AttributeValue) {
        self.remove(keyval.number);
        self.0.push(Attribute { keyval, value });
    }

    /// Removes a value.
    pub(crate) fn remove(&mut self, keyval: i32) -> Option<Attribute> {
        let at = self.0.iter().position(|attribute| attribute.keyval.number == keyval)?;
        Some(self.0.remove(at))
    }

    /// All of them, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Attribute> {
        self.0.iter()
    }

    /// The newest one, which is deleted first when the object goes (§11.2.4: reverse order).
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
