//! Handles: numbers for objects, which C code stores, and the tables of the objects.
//!
//! ```text
//!  bit 31   30 .. 27   26 .. 20   19 .. 0
//!      0     kind        age       slot
//! ```
//!
//! The age of a slot changes when its object is freed, so one comparison detects a freed handle, a
//! handle of another kind and any other value. The oldest free slot is reused first, and only if
//! several are free: a handle value recurs after 4096 objects or more, while the slots in use stay
//! in the first-level cache. Values below 4096 are the predefined handles of the standard ABI; no
//! table creates them, because every kind is at least 1.

use platform::base::{ErrorClass, MpiError, Result};

/// A handle as a number, the result of `MPI_*_toint`.
pub type Handle = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum HandleKind {
    Comm = 1,
    Datatype,
    /// An error handler.
    Errhandler,
    /// A file.
    File,
    Group,
    /// An info object.
    Info,
    /// A message from a matched probe.
    Message,
    Op,
    Request,
    Session,
    Win,
    /// A control variable handle of the tool interface.
    ToolControl,
    /// A performance variable handle of the tool interface.
    ToolPerformance,
    /// A performance session of the tool interface.
    ToolSession,
}

const SLOT_BITS: u32 = 20;
const AGE_BITS: u32 = 7;
/// Number of free slots that a table keeps before it reuses one.
const FREE_RESERVE: usize = 31;
/// Maximum number of objects of one kind.
pub(crate) const SLOTS_MAX: usize = 1 << SLOT_BITS;

/// The objects of one kind, by handle.
#[derive(Debug)]
pub(crate) struct HandleTable<T> {
    kind: HandleKind,
    slots: Vec<HandleSlot<T>>,
    /// The list of free slots, oldest first: its ends and its length.
    oldest: u32,
    newest: u32,
    free: usize,
}

#[derive(Debug)]
struct HandleSlot<T> {
    /// The handle of the object, or of the next object of this slot.
    handle: Handle,
    /// The slot that was freed after this one, if both are free.
    next: u32,
    value: Option<T>,
}

impl<T> HandleTable<T> {
    /// An empty table of this kind.
    pub(crate) fn new(kind: HandleKind) -> Self {
        Self { kind, slots: Vec::new(), oldest: 0, newest: 0, free: 0 }
    }

    /// Stores an object under a new handle.
    ///
    /// # Errors
    /// `NoMem` with [`SLOTS_MAX`] objects.
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> Result<Handle> {
        self.insert_mut(value).map(|(handle, _)| handle)
    }

    /// [`HandleTable::insert`] that also returns the object.
    ///
    /// # Errors
    /// As [`HandleTable::insert`].
    #[inline(always)]
    pub(crate) fn insert_mut(&mut self, value: T) -> Result<(Handle, &mut T)> {
        let index = self.slots.len();
        if self.free > FREE_RESERVE || index == SLOTS_MAX && self.free > 0 {
            let slot = &mut self.slots[self.oldest as usize];
            (self.oldest, self.free) = (slot.next, self.free - 1);
            return Ok((slot.handle, fill(&mut slot.value, value)));
        }
        self.insert_new(value)
    }

    /// Whether another object can be stored. For operations that cannot be undone once they have
    /// started.
    ///
    /// # Errors
    /// As [`HandleTable::insert`].
    #[inline(always)]
    pub(crate) fn check_space(&self) -> Result {
        if self.free > 0 || self.slots.len() < SLOTS_MAX {
            return Ok(());
        }
        Err(self.full())
    }

    #[cold]
    fn full(&self) -> Box<MpiError> {
        let kind = self.kind;
        let why = format!("all {SLOTS_MAX} handles of kind {kind:?} are in use: free some of them");
        ErrorClass::NoMem.error(why)
    }

    #[cold]
    fn insert_new(&mut self, value: T) -> Result<(Handle, &mut T)> {
        self.check_space()?;
        let index = self.slots.len();
        let handle = (self.kind as u32) << (SLOT_BITS + AGE_BITS) | index as u32;
        self.slots.push(HandleSlot { handle, next: 0, value: None });
        Ok((handle, fill(&mut self.slots[index].value, value)))
    }

    /// The object of a handle; `None` if the handle is freed, of another kind or invalid.
    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> Option<&T> {
        let slot = self.slots.get(index(handle))?;
        if slot.handle == handle { slot.value.as_ref() } else { None }
    }

    /// The object of a handle, mutable.
    #[inline]
    pub(crate) fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        let slot = self.slots.get_mut(index(handle))?;
        if slot.handle == handle { slot.value.as_mut() } else { None }
    }

    /// Removes the object and invalidates its handle.
    #[inline]
    pub(crate) fn remove(&mut self, handle: Handle) -> Option<T> {
        let slot = self.slots.get_mut(index(handle)).filter(|slot| slot.handle == handle)?;
        let value = slot.value.take()?;
        slot.handle = next_age(handle);
        self.release(index(handle) as u32);
        Some(value)
    }

    /// Adds a slot to the free list.
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

    /// Number of objects.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Whether a handle is that of a file, open or not.
pub(crate) fn is_file(handle: Handle) -> bool {
    handle >> (SLOT_BITS + AGE_BITS) == HandleKind::File as u32
}

/// The slot of a handle in its table.
#[inline]
pub(crate) fn index(handle: Handle) -> usize {
    (handle & (SLOTS_MAX as u32 - 1)) as usize
}

/// The handle of the same slot, with the next age.
fn next_age(handle: Handle) -> Handle {
    let mask = ((1 << AGE_BITS) - 1) << SLOT_BITS;
    handle & !mask | (handle + (1 << SLOT_BITS)) & mask
}

/// Stores a value in a free slot. Known to be empty, the slot gets the fields one by one, instead of a
/// copy of a value whose fields were just written: such a copy waits for all earlier stores.
#[inline(always)]
fn fill<T>(slot: &mut Option<T>, value: T) -> &mut T {
    match slot {
        Some(_) => unreachable!("a free slot has an object"),
        empty @ None => empty.insert(value),
    }
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
