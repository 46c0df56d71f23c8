//! Windows as objects (MPI 5.0 §12.2): memory, hints and attached regions. One-sided communication
//! is not in this module.
//!
//! A window has a private communicator, a duplicate of the one passed at its creation. The
//! application never gets its handle.

mod epoch;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::device::Device;
use crate::mpi::Mpi;
use crate::mpi::attribute::Attributes;
use crate::mpi::communicator::hints::{ASSERTED_KINDS, MEMORY_KINDS, asserted_kinds};
use crate::mpi::errhandler::Handler;
use crate::mpi::handle::{Handle, HandleKind, HandleTable};
use crate::mpi::info::Info;
use platform::base::{ErrorClass, MpiError, Result};

/// `MPI_WIN_NULL` of the standard ABI.
pub(crate) const WIN_NULL: Handle = 0x110;

/// Origin of the memory of a window: `MPI_WIN_CREATE_FLAVOR`, with the values of the standard ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Flavor {
    /// Memory of the application, fixed.
    Create = 311,
    /// Memory of the library.
    Allocate = 312,
    /// Memory of the application, attached and detached at any time.
    Dynamic = 313,
}

/// `MPI_WIN_UNIFIED` of the standard ABI: loads and stores observe puts of other processes.
const UNIFIED: i32 = 321;

/// The memory of a window, in the form of its predefined attributes (§12.2.7). The application gets
/// addresses of these fields, so they stay in place until the window is freed.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct WindowMemory {
    /// Address of the first byte.
    pub(crate) base: usize,
    /// Size in bytes.
    pub(crate) size: isize,
    /// Displacement unit in bytes. The application also reads it as an `int`, its low half.
    pub(crate) unit: isize,
    pub(crate) flavor: i32,
    pub(crate) model: i32,
}

impl WindowMemory {
    /// Memory of `size` bytes at `base`, with displacements in units of `unit` bytes.
    ///
    /// # Errors
    /// `Size` for a negative size, `Disp` for a unit that is not positive.
    pub(crate) fn new(flavor: Flavor, base: usize, size: isize, unit: isize) -> Result<Self> {
        check_size(size)?;
        if unit <= 0 {
            let why =
                format!("the displacement unit is {unit}: expected a positive number of bytes");
            return Err(ErrorClass::Disp.error(why));
        }
        Ok(Self { base, size, unit, flavor: flavor as i32, model: UNIFIED })
    }

    /// A dynamic window: the whole address space, without attached memory.
    pub(crate) fn dynamic() -> Self {
        Self { base: 0, size: 0, unit: 1, flavor: Flavor::Dynamic as i32, model: UNIFIED }
    }
}

#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) comm: Handle,
    pub(crate) memory: Box<WindowMemory>,
    /// Attached regions of a dynamic window: length in bytes by address.
    attached: BTreeMap<usize, usize>,
    hints: Info,
    pub(crate) handler: Handler,
    pub(crate) attributes: Attributes,
    pub(crate) name: Vec<u8>,
}

/// A hint of windows (§12.2.1): key, default value, and the check of values.
struct WindowHint(&'static [u8], &'static [u8], fn(&[u8]) -> bool);

/// The hints of all windows, in the order of the standard.
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
    /// A window with a private communicator; its errors are fatal (§12.6.1).
    ///
    /// # Errors
    /// Only internal errors: the defaults are keys and values of valid length.
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
            name: Vec::new(),
        })
    }

    /// The name for messages.
    pub(crate) fn title(&self) -> Cow<'_, str> {
        match &*self.name {
            b"" => "an unnamed window".into(),
            name => String::from_utf8_lossy(name),
        }
    }

    /// The hints with their current values, and the memory kinds `provided` by the library.
    ///
    /// # Errors
    /// Only internal errors.
    pub(crate) fn info(&self, provided: &[u8]) -> Result<Info> {
        let mut info = self.hints.clone();
        info.set(MEMORY_KINDS.as_bytes(), provided)?;
        Ok(info)
    }

    /// Applies known hints with valid values; others are ignored (§10).
    ///
    /// # Errors
    /// Only internal errors.
    pub(crate) fn advise(&mut self, hints: &Info) -> Result {
        for WindowHint(key, _, is_legal) in HINTS {
            if let Some(value) = hints.get(key)?.filter(|value| is_legal(value)) {
                self.hints.set(key, value)?;
            }
        }
        if let Some(kinds) = asserted_kinds(hints)? {
            self.hints.set(ASSERTED_KINDS.as_bytes(), kinds.as_bytes())?;
        }
        Ok(())
    }

    /// Attaches `len` bytes at `address` (§12.2.4).
    ///
    /// # Errors
    /// `Size` for a negative length, `RmaFlavor` if the window is not dynamic, `RmaAttach` if some
    /// of the bytes are already attached or beyond the address space.
    pub(crate) fn attach(&mut self, address: usize, len: isize) -> Result {
        let len = check_size(len)?;
        self.check_dynamic()?;
        let Some(end) = address.checked_add(len) else {
            let why = format!("{len} bytes at {address:#x} exceed the address space");
            return Err(ErrorClass::RmaAttach.error(why));
        };
        let before = self.attached.range(..end.max(address.saturating_add(1))).next_back();
        let overlapped =
            before.filter(|(start, len)| **start + **len > address || **start == address);
        if let Some((start, attached_len)) = overlapped {
            return Err(ErrorClass::RmaAttach.error(format!(
                "{len} bytes at {address:#x} overlap {attached_len} attached bytes at {start:#x}: \
                 detach these first"
            )));
        }
        self.attached.insert(address, len);
        Ok(())
    }

    /// Detaches the region at `address`.
    ///
    /// # Errors
    /// `RmaFlavor` if the window is not dynamic, `Base` if no region is attached at `address`.
    pub(crate) fn detach(&mut self, address: usize) -> Result {
        self.check_dynamic()?;
        self.attached.remove(&address).map(drop).ok_or_else(|| {
            let why = format!(
                "no memory is attached to {} at {address:#x}: expected the address of an attached \
                 region",
                self.title()
            );
            ErrorClass::Base.error(why)
        })
    }

    fn check_dynamic(&self) -> Result {
        if self.memory.flavor == Flavor::Dynamic as i32 {
            return Ok(());
        }
        let why = format!("{}: expected a window of MPI_Win_create_dynamic", self.title());
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
    /// `Win` for the null handle, a freed handle and other invalid values.
    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> Result<&Window> {
        self.0.get(handle).ok_or_else(|| not_a_window(handle))
    }

    /// The window of a handle, mutable.
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
    /// Frees a window and its communicator. The caller has deleted its attributes and synchronized
    /// its processes.
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
    usize::try_from(size).map_err(|_| {
        ErrorClass::Size.error(format!("the size is {size}: expected 0 or more bytes"))
    })
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
        hints.set(b"mpi_assert_memory_alloc_kinds", b"tea").unwrap();
        window.advise(&hints).unwrap();
        let info = window.info(b"system").unwrap();
        let value = |key: &[u8]| info.get(key).unwrap();
        assert_eq!(value(b"mpi_memory_alloc_kinds"), Some(&b"system"[..]));
        assert_eq!(value(b"no_locks"), Some(&b"true"[..]));
        assert_eq!(value(b"same_size"), Some(&b"false"[..]));
        assert_eq!(value(b"accumulate_ordering"), Some(&b"waw,rar"[..]));
        assert_eq!(value(b"tea"), None);
        assert_eq!(value(b"mpi_assert_memory_alloc_kinds"), None);
    }

    #[test]
    fn handles_that_are_none_are_not_windows() {
        let windows = Windows::default();
        assert!([WIN_NULL, 0, 1, u32::MAX].iter().all(|&junk| windows.get(junk).is_err()));
    }
}
