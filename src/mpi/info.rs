//! Info objects: ordered keys with values (MPI 5.0 §10).
//!
//! Keys and values are bytes, as strings in C; this module does not interpret keys. The limits of
//! the ABI count the terminating zero of C, so the longest key has one byte less. A key keeps the
//! position where it was first set.

use platform::base::{ErrorClass, Result};

/// `MPI_MAX_INFO_KEY` of the ABI.
pub(crate) const KEY_MAX: usize = 256;

/// `MPI_MAX_INFO_VAL` of the ABI.
pub(crate) const VALUE_MAX: usize = 1024;

/// An info object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Info {
    entries: Vec<InfoEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct InfoEntry {
    key: Box<[u8]>,
    value: Box<[u8]>,
}

impl Info {
    /// Sets `key` to `value`, which may be empty.
    ///
    /// # Errors
    /// `InfoKey` if the key is empty or too long, `InfoValue` if the value is too long.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result {
        check_key(key)?;
        if value.len() >= VALUE_MAX {
            return Err(ErrorClass::InfoValue.error(format!(
                "the value of info key \"{}\" has {} bytes: expected at most {}",
                display_key(key),
                value.len(),
                VALUE_MAX - 1
            )));
        }
        match self.position(key) {
            Some(place) => self.entries[place].value = value.into(),
            None => self.entries.push(InfoEntry { key: key.into(), value: value.into() }),
        }
        Ok(())
    }

    /// The value of `key`, if it is set.
    ///
    /// # Errors
    /// `InfoKey` if the key is empty or too long.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        check_key(key)?;
        Ok(self.position(key).map(|place| &*self.entries[place].value))
    }

    /// Removes `key`.
    ///
    /// # Errors
    /// `InfoKey` if the key is empty or too long, `InfoNokey` if it is not set.
    pub fn delete(&mut self, key: &[u8]) -> Result {
        check_key(key)?;
        let place = self.position(key).ok_or_else(|| {
            ErrorClass::InfoNokey.error(format!("the info key \"{}\" is not set", display_key(key)))
        })?;
        self.entries.remove(place);
        Ok(())
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The key with index `number`, from 0.
    ///
    /// # Errors
    /// `Arg` if there are fewer keys.
    pub(crate) fn key(&self, number: i32) -> Result<&[u8]> {
        let entry = usize::try_from(number).ok().and_then(|number| self.entries.get(number));
        entry.map(|entry| &*entry.key).ok_or_else(|| {
            let count = self.len();
            ErrorClass::Arg
                .error(format!("key number {number} of an info object: expected 0..{count}"))
        })
    }

    /// The keys with their values in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter().map(|entry| (&*entry.key, &*entry.value))
    }

    fn position(&self, key: &[u8]) -> Option<usize> {
        self.entries.iter().position(|entry| *entry.key == *key)
    }
}

fn check_key(key: &[u8]) -> Result {
    if key.is_empty() {
        return Err(ErrorClass::InfoKey.error("the info key is empty: expected at least one byte"));
    }
    if key.len() >= KEY_MAX {
        return Err(ErrorClass::InfoKey.error(format!(
            "the info key \"{}\" has {} bytes: expected at most {}",
            display_key(key),
            key.len(),
            KEY_MAX - 1
        )));
    }
    Ok(())
}

/// The key as text for messages.
fn display_key(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class<T: std::fmt::Debug>(result: Result<T>) -> i32 {
        result.unwrap_err().code.0
    }

    #[test]
    fn keys_keep_their_order_and_take_new_values() {
        let mut info = Info::default();
        info.set(b"wdir", b"/tmp").unwrap();
        info.set(b"host", b"a,b").unwrap();
        info.set(b"wdir", b"").unwrap();
        let entries: Vec<_> = info.iter().collect();
        assert_eq!(entries, [(&b"wdir"[..], &b""[..]), (&b"host"[..], &b"a,b"[..])]);
        assert_eq!(info.get(b"wdir").unwrap(), Some(&b""[..]));
        assert_eq!(info.get(b"Wdir").unwrap(), None);
        let copy = info.clone();
        info.delete(b"wdir").unwrap();
        assert_eq!((info.len(), info.key(0).unwrap()), (1, &b"host"[..]));
        assert_eq!((copy.len(), copy.key(0).unwrap()), (2, &b"wdir"[..]));
    }

    #[test]
    fn the_limits_leave_room_for_the_zero_of_c() {
        let mut info = Info::default();
        assert!(info.set(&[b'k'; KEY_MAX - 1], &[b'v'; VALUE_MAX - 1]).is_ok());
        let key = ErrorClass::InfoKey as i32;
        assert_eq!(class(info.set(&[b'k'; KEY_MAX], b"")), key);
        assert_eq!(class(info.get(&[b'k'; KEY_MAX])), key);
        assert_eq!(class(info.delete(&[b'k'; KEY_MAX])), key);
        assert_eq!(class(info.set(b"", b"")), key);
        assert_eq!(class(info.set(b"k", &[b'v'; VALUE_MAX])), ErrorClass::InfoValue as i32);
        assert_eq!(info.len(), 1);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let mut info = Info::default();
        let missing = info.delete(b"soft").unwrap_err();
        assert_eq!(missing.code.0, ErrorClass::InfoNokey as i32);
        assert!(missing.why.contains("soft"));
        for number in [-1, 0, i32::MAX] {
            assert_eq!(class(info.key(number)), ErrorClass::Arg as i32);
        }
    }
}
