//! Handles: numbers that C keeps for objects of ours, and the tables behind them.
//!
//! ```text
//!  bit 31   30 .. 27   26 .. 20   19 .. 0
//!      0     kind        age       slot
//! ```
//!
//! The age of a slot changes whenever its object goes, so a stale handle, a handle of another kind
//! and garbage are all found out by one comparison. Slots are used again oldest first, and while
//! few are free new ones are made: it takes 4096 objects at least until a handle comes back, and
//! still the slots in turn stay in the first-level cache. Values below 4096 are the standard ABI's predefined
//! handles; they are never made here because every kind is at least 1.

use platform::base::{ErrorClass, Result};

/// A handle as a number, as `MPI_*_toint` gives it.
pub type Handle = u32;

/// What a handle is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum HandleKind {
    /// A communicator.
    Comm = 1,
    /// A datatype.
    Datatype,
    /// An error handler.
    Errhandler,
    /// A file.
    #[allow(
        dead_code,
        reason = "the numbers after it are those of handles; there are no files yet"
    )]
    File,
    /// A group.
    Group,
    /// An info object.
    Info,
    /// A message that a matched probe took.
    Message,
    /// An operation.
    Op,
    /// A request.
    Request,
    /// A session.
    Session,
    /// A window.
    Win,
    /// What the tool interface calls a handle to a control variable.
    ToolControl,
    /// What it calls a handle to a performance variable.
    ToolPerformance,
    /// What it calls a session.
    ToolSession,
}

const SLOT_BITS: u32 = 20;
const AGE_BITS: u32 = 7;
/// Free slots that a table keeps back before it uses one again.
const FREE_RESERVE: usize = 31;
/// Objects of one kind that can live at once.
pub(crate) const SLOTS_MAX: usize = 1 << SLOT_BITS;

/// The objects of one kind.
#[derive(Debug)]
pub(crate) struct HandleTable<T> {
    kind: HandleKind,
    slots: Vec<HandleSlot<T>>,
    /// The free slots, oldest first, are a list: its ends and its length.
    oldest: u32,
    newest: u32,
    free: usize,
}

#[derive(Debug)]
struct HandleSlot<T> {
    /// The handle that this slot's object has, or the next one will have.
    handle: Handle,
    /// The slot that became free after this one, if both are free.
    next: u32,
    value: Option<T>,
}

impl<T> HandleTable<T> {
    /// An empty table of this kind.
    pub(crate) fn new(kind: HandleKind) -> Self {
        Self { kind, slots: Vec::new(), oldest: 0, newest: 0, free: 0 }
    }

    /// Stores an object under a handle of its own.
    ///
    /// # Errors
    /// `NoMem` with [`SLOTS_MAX`] objects.
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> Result<Handle> {
        self.insert_mut(value).map(|(handle, _)| handle)
    }

    /// The same, and where the object is, to be changed.
    ///
    /// # Errors
    /// As [`HandleTable::insert`].
    #[inline(always)]
    pub(crate) fn insert_mut(&mut self, value: T) -> Result<(Handle, &mut T)> {
        let index = self.slots.len();
        if self.free > FREE_RESERVE || index == SLOTS_MAX && self.free > 0 {
            let slot = &mut self.slots[self.oldest as usize];
            (self.oldest, self.free) = (slot.next, self.free - 1);
            return Ok((slot.handle, slot.value.insert(value)));
        }
        self.insert_new(value)
    }

    #[cold]
    fn insert_new(&mut self, value: T) -> Result<(Handle, &mut T)> {
        let index = self.slots.len();
        if index == SLOTS_MAX {
            let why = format!("there are {SLOTS_MAX} objects of kind {:?} already", self.kind);
            return Err(ErrorClass::NoMem.error(why));
        }
        let handle = (self.kind as u32) << (SLOT_BITS + AGE_BITS) | index as u32;
        self.slots.push(HandleSlot { handle, next: 0, value: None });
        Ok((handle, self.slots[index].value.insert(value)))
    }

    /// The object of a handle; `None` if the handle is stale, of another kind or garbage.
    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> Option<&T> {
        let slot = self.slots.get(index(handle))?;
        if slot.handle == handle { slot.value.as_ref() } else { None }
    }

    /// The object of a handle, to change it.
    #[inline]
    pub(crate) fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        let slot = self.slots.get_mut(index(handle))?;
        if slot.handle == handle { slot.value.as_mut() } else { None }
    }

    /// Takes the object out; the handle is stale from now on.
    #[inline]
    pub(crate) fn remove(&mut self, handle: Handle) -> Option<T> {
        let slot = self.slots.get_mut(index(handle)).filter(|slot| slot.handle == handle)?;
        let value = slot.value.take()?;
        slot.handle = next_age(handle);
        self.release(index(handle) as u32);
        Some(value)
    }

    /// This slot is free from now on.
    #[inline]
    fn release(&mut self, index: u32) {
        match self.free {
            0 => self.oldest = index,
            _ => self.slots[self.newest as usize].next = index,
        }
        (self.newest, self.free) = (index, self.free + 1);
    }

    /// All objects with their handles.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        self.slots.iter().filter_map(|slot| Some((slot.handle, slot.value.as_ref()?)))
    }

    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[inline]
fn index(handle: Handle) -> usize {
    (handle & (SLOTS_MAX as u32 - 1)) as usize
}

/// The same slot, one age on.
fn next_age(handle: Handle) -> Handle {
    let mask = ((1 << AGE_BITS) - 1) << SLOT_BITS;
    handle & !mask | (handle + (1 << SLOT_BITS)) & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_positive_not_predefined_and_dies_with_its_object() {
        let mut table = HandleTable::new(HandleKind::Win);
        let handle = table.insert('a').unwrap();
        assert!(handle > 4096 && handle <= i32::MAX as u32);
        assert_eq!(table.get(handle), Some(&'a'));
        assert_eq!(table.remove(handle), Some('a'));
        assert_eq!(table.get(handle), None);
        assert_eq!(table.remove(handle), None);
        assert_ne!(table.insert('b').unwrap(), handle);
    }

    #[test]
    fn a_handle_of_another_kind_or_garbage_is_nothing() {
        let mut comms = HandleTable::new(HandleKind::Comm);
        let mut groups = HandleTable::new(HandleKind::Group);
        let (comm, _) = (comms.insert(1).unwrap(), groups.insert(2).unwrap());
        assert_eq!(groups.get(comm), None);
        assert!([0, 0x101, 1 << 20, u32::MAX].iter().all(|&junk| comms.get(junk).is_none()));
    }

    #[test]
    fn the_oldest_free_slot_is_used_first_and_ages_wrap_inside_their_bits() {
        let mut table = HandleTable::new(HandleKind::Request);
        let handles: Vec<_> = (0..=FREE_RESERVE).map(|i| table.insert(i).unwrap()).collect();
        for handle in &handles {
            table.remove(*handle);
        }
        assert_eq!(index(table.insert(9).unwrap()), index(handles[0]));
        let mut handle = handles[1];
        for _ in 0..1 << AGE_BITS {
            handle = next_age(handle);
        }
        assert_eq!(handle, handles[1]);
    }

    #[test]
    fn a_handle_does_not_come_back_soon() {
        let mut table = HandleTable::new(HandleKind::Datatype);
        let first = table.insert(0).unwrap();
        table.remove(first);
        for object in 1..(FREE_RESERVE + 1) << AGE_BITS {
            let handle = table.insert(object).unwrap();
            assert_ne!(handle, first);
            table.remove(handle);
        }
        assert_eq!(table.insert(0).unwrap(), first);
    }
}
