//! Windows as objects (MPI 5.0 §12.2): what one is of, its hints and what is attached to it. No
//! byte moves here.
//!
//! A window has a communicator of its own, a duplicate of the one that it was made of. Its
//! communicator has a handle that the application never sees.

use std::collections::BTreeMap;

use super::Mpi;
use super::attribute::Attributes;
use super::errhandler::Handler;
use super::info::Info;
use crate::device::Device;
use crate::mpi::handle::{Handle, HandleKind, HandleTable};
use platform::base::{ErrorClass, MpiError, Result};

/// `MPI_WIN_NULL` of the standard ABI.
pub(crate) const WIN_NULL: Handle = 0x110;

/// Where a window's memory comes from: `MPI_WIN_CREATE_FLAVOR`, with its values in the standard
/// ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Flavor {
    /// The application's, fixed.
    Create = 311,
    /// The library's.
    Allocate = 312,
    /// The application's, attached and detached at any time.
    Dynamic = 313,
}

/// `MPI_WIN_UNIFIED` of the standard ABI: loads and stores see what other processes put.
const UNIFIED: i32 = 321;

/// The memory of a window, as its predefined attributes tell it (§12.2.7). The application keeps
/// addresses of these fields, so the values stay where they are as long as the window lives.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct WindowMemory {
    /// The address of its first byte.
    pub(crate) base: usize,
    /// Bytes.
    pub(crate) size: isize,
    /// Bytes of a unit of displacements. It is read as an `int` too: the low half comes first.
    pub(crate) unit: isize,
    /// A [`Flavor`].
    pub(crate) flavor: i32,
    /// The memory model.
    pub(crate) model: i32,
}

impl WindowMemory {
    /// Memory of `size` bytes at `base`, counted in units of `unit` bytes.
    ///
    /// # Errors
    /// `Size` for a negative size, `Disp` for a unit that is not positive.
    pub(crate) fn new(flavor: Flavor, base: usize, size: isize, unit: isize) -> Result<Self> {
        check_size(size)?;
        if unit <= 0 {
            let why = format!("the displacement unit {unit} is not positive");
            return Err(ErrorClass::Disp.error(why));
        }
        Ok(Self { base, size, unit, flavor: flavor as i32, model: UNIFIED })
    }

    /// The whole address space, of which nothing is attached yet.
    pub(crate) fn dynamic() -> Self {
        Self { base: 0, size: 0, unit: 1, flavor: Flavor::Dynamic as i32, model: UNIFIED }
    }
}

/// A window.
#[derive(Debug)]
pub(crate) struct Window {
    /// Its own communicator.
    pub(crate) comm: Handle,
    /// Its memory.
    pub(crate) memory: Box<WindowMemory>,
    /// What is attached to a dynamic window: the length in bytes by the address.
    attached: BTreeMap<usize, usize>,
    /// Its hints, all of those that are known.
    hints: Info,
    /// Its error handler.
    pub(crate) handler: Handler,
    /// Its attributes.
    pub(crate) attributes: Attributes,
    /// Its name.
    pub(crate) name: String,
}

/// A hint for windows that is known (§12.2.1): its key, what it is if nobody gives it, and what
/// it may be if that is not everything.
struct WindowHint(&'static [u8], &'static [u8], fn(&[u8]) -> bool);

/// The hints that every window has, in the order of the standard.
const HINTS: &[WindowHint] = &[
    WindowHint(b"no_locks", b"false", is_boolean),
    WindowHint(b"accumulate_ordering", b"rar,raw,war,waw", is_ordering),
    WindowHint(b"accumulate_ops", b"same_op_no_op", is_operations),
    WindowHint(b"mpi_accumulate_granularity", b"0", is_number),
    WindowHint(b"same_size", b"false", is_boolean),
    WindowHint(b"same_disp_unit", b"false", is_boolean),
];

fn is_boolean(value: &[u8]) -> bool {
    [&b"true"[..], b"false"].contains(&value)
}

fn is_ordering(value: &[u8]) -> bool {
    let known = [&b"rar"[..], b"raw", b"war", b"waw"];
    value == b"none" || value.split(|byte| *byte == b',').all(|order| known.contains(&order))
}

fn is_operations(value: &[u8]) -> bool {
    [&b"same_op"[..], b"same_op_no_op"].contains(&value)
}

fn is_number(value: &[u8]) -> bool {
    str::from_utf8(value).is_ok_and(|text| text.parse::<u64>().is_ok())
}

impl Window {
    /// A window on a communicator of its own; its errors are fatal (§12.6.1).
    ///
    /// # Errors
    /// None but a bug's: the defaults are keys and values of legal length.
    pub(crate) fn new(comm: Handle, extent: WindowMemory) -> Result<Self> {
        let mut hints = Info::default();
        for WindowHint(key, default, _) in HINTS {
            hints.set(key, default)?;
        }
        Ok(Self {
            comm,
            memory: Box::new(extent),
            attached: BTreeMap::new(),
            hints,
            handler: Handler::Fatal,
            attributes: Attributes::default(),
            name: String::new(),
        })
    }

    /// What to call it in a sentence.
    pub(crate) fn title(&self) -> &str {
        match &*self.name {
            "" => "a window without a name",
            name => name,
        }
    }

    /// Its hints, those in force with their values.
    pub(crate) fn hints(&self) -> &Info {
        &self.hints
    }

    /// Takes the hints that are known and have a value that they may have; others are ignored, as
    /// the standard wants it (§10).
    ///
    /// # Errors
    /// None but a bug's.
    pub(crate) fn advise(&mut self, hints: &Info) -> Result {
        for WindowHint(key, _, is_legal) in HINTS {
            if let Some(value) = hints.get(key)?.filter(|value| is_legal(value)) {
                self.hints.set(key, value)?;
            }
        }
        Ok(())
    }

    /// Attaches `len` bytes at `address` (§12.2.4).
    ///
    /// # Errors
    /// `Size` for a negative length, `RmaFlavor` if the window is not dynamic, `RmaAttach` if some
    /// of the bytes are attached already or there are not so many addresses.
    pub(crate) fn attach(&mut self, address: usize, len: isize) -> Result {
        let len = check_size(len)?;
        self.check_dynamic()?;
        let Some(end) = address.checked_add(len) else {
            let why = format!("{len} bytes from {address:#x} on are beyond all addresses");
            return Err(ErrorClass::RmaAttach.error(why));
        };
        let before = self.attached.range(..end.max(address.saturating_add(1))).next_back();
        let taken = before.filter(|(start, len)| **start + **len > address || **start == address);
        if let Some((start, taken)) = taken {
            return Err(ErrorClass::RmaAttach.error(format!(
                "{len} bytes at {address:#x} overlap {taken} bytes at {start:#x}, which are attached"
            )));
        }
        self.attached.insert(address, len);
        Ok(())
    }

    /// Detaches what was attached at `address`.
    ///
    /// # Errors
    /// `RmaFlavor` if the window is not dynamic, `Base` if nothing was attached there.
    pub(crate) fn detach(&mut self, address: usize) -> Result {
        self.check_dynamic()?;
        self.attached.remove(&address).map(drop).ok_or_else(|| {
            let why = format!("nothing is attached to {} at {address:#x}", self.title());
            ErrorClass::Base.error(why)
        })
    }

    fn check_dynamic(&self) -> Result {
        if self.memory.flavor == Flavor::Dynamic as i32 {
            return Ok(());
        }
        let why = format!("{} is not of MPI_Win_create_dynamic", self.title());
        Err(ErrorClass::RmaFlavor.error(why))
    }
}

/// All windows of this process.
#[derive(Debug)]
pub(crate) struct Windows(HandleTable<Window>);

impl Default for Windows {
    fn default() -> Self {
        Self(HandleTable::new(HandleKind::Win))
    }
}

impl Windows {
    /// The window of a handle.
    ///
    /// # Errors
    /// `Win` for the null handle, a stale one and what is no handle.
    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> Result<&Window> {
        self.0.get(handle).ok_or_else(|| not_a_window(handle))
    }

    /// The window of a handle, to change it.
    ///
    /// # Errors
    /// As [`Windows::get`].
    pub(crate) fn get_mut(&mut self, handle: Handle) -> Result<&mut Window> {
        self.0.get_mut(handle).ok_or_else(|| not_a_window(handle))
    }

    /// A handle for a new window.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn insert(&mut self, window: Window) -> Result<Handle> {
        self.0.insert(window)
    }
}

impl<D: Device> Mpi<D> {
    /// Takes a window away from its handle, and its communicator with it. Its attributes have been
    /// deleted, and all its processes have come.
    ///
    /// # Errors
    /// `Win` if there is no such window.
    pub(crate) fn free_window(&mut self, window: Handle) -> Result<Window> {
        let freed = self.windows.0.remove(window).ok_or_else(|| not_a_window(window))?;
        self.free_comm(freed.comm)?;
        Ok(freed)
    }
}

/// # Errors
/// `Size` for a negative size.
fn check_size(size: isize) -> Result<usize> {
    usize::try_from(size)
        .map_err(|_| ErrorClass::Size.error(format!("the size {size} is negative")))
}

#[cold]
fn not_a_window(handle: Handle) -> Box<MpiError> {
    ErrorClass::Win.error(match handle {
        WIN_NULL => "the window is MPI_WIN_NULL".into(),
        _ => format!("{handle:#x} is not a window; it may have been freed"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class<T: std::fmt::Debug>(result: Result<T>) -> ErrorClass {
        ErrorClass::from_value(result.unwrap_err().code.0).unwrap()
    }

    #[test]
    fn memory_has_a_size_and_a_unit() {
        let extent = WindowMemory::new(Flavor::Create, 64, 10, 4).unwrap();
        assert_eq!((extent.size, extent.unit, extent.model), (10, 4, 321));
        assert_eq!(class(WindowMemory::new(Flavor::Create, 64, -1, 4)), ErrorClass::Size);
        assert_eq!(class(WindowMemory::new(Flavor::Create, 64, 1, 0)), ErrorClass::Disp);
        assert_eq!(class(WindowMemory::new(Flavor::Create, 64, 1, -4)), ErrorClass::Disp);
    }

    #[test]
    fn what_is_attached_does_not_overlap() {
        let mut window = Window::new(7, WindowMemory::dynamic()).unwrap();
        window.attach(100, 10).unwrap();
        window.attach(110, 5).unwrap();
        window.attach(90, 10).unwrap();
        for (address, len) in [(99, 1), (99, 2), (105, 1), (114, 9), (80, 100), (100, 0)] {
            assert_eq!(class(window.attach(address, len)), ErrorClass::RmaAttach, "{address}");
        }
        assert_eq!(class(window.attach(usize::MAX, 2)), ErrorClass::RmaAttach);
        assert_eq!(class(window.attach(500, -1)), ErrorClass::Size);
        assert_eq!(class(window.detach(105)), ErrorClass::Base);
        window.detach(100).unwrap();
        assert_eq!(class(window.detach(100)), ErrorClass::Base);
        window.attach(100, 10).unwrap();
    }

    #[test]
    fn a_window_of_fixed_memory_takes_no_more() {
        let extent = WindowMemory::new(Flavor::Allocate, 64, 10, 4).unwrap();
        let mut window = Window::new(7, extent).unwrap();
        assert_eq!(class(window.attach(100, 10)), ErrorClass::RmaFlavor);
        assert_eq!(class(window.detach(100)), ErrorClass::RmaFlavor);
    }

    #[test]
    fn hints_that_make_no_sense_are_ignored() {
        let mut window = Window::new(7, WindowMemory::dynamic()).unwrap();
        let mut hints = Info::default();
        hints.set(b"no_locks", b"true").unwrap();
        hints.set(b"same_size", b"perhaps").unwrap();
        hints.set(b"accumulate_ordering", b"waw,rar").unwrap();
        hints.set(b"tea", b"green").unwrap();
        window.advise(&hints).unwrap();
        let value = |key: &[u8]| window.hints().get(key).unwrap();
        assert_eq!(value(b"no_locks"), Some(&b"true"[..]));
        assert_eq!(value(b"same_size"), Some(&b"false"[..]));
        assert_eq!(value(b"accumulate_ordering"), Some(&b"waw,rar"[..]));
        assert_eq!(value(b"tea"), None);
    }

    #[test]
    fn handles_that_are_none_are_not_windows() {
        let windows = Windows::default();
        assert!([WIN_NULL, 0, 1, u32::MAX].iter().all(|&junk| windows.get(junk).is_err()));
    }
}
