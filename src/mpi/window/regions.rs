//! The memory of a window at this process: one region, or those that are attached to a dynamic window.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::engine::memory::Memory;
use crate::engine::memory::layout::Layout;
use platform::base::{ErrorClass, Result, Span};

#[derive(Debug)]
pub(super) enum Regions {
    /// Offsets count from its first byte.
    One(Span),
    /// Offsets are addresses; the regions do not overlap.
    Attached(BTreeMap<usize, Span>),
}

impl Regions {
    /// The memory of `count` elements at an offset.
    ///
    /// # Errors
    /// `RmaRange` unless all of it is in one region, or in regions that touch.
    pub(super) fn memory(&self, offset: i64, count: usize, layout: &Arc<Layout>) -> Result<Memory> {
        let found = match self {
            Self::One(region) => Memory::within(*region, offset, count, layout),
            Self::Attached(regions) => attached(regions, offset, count, layout),
        };
        found.ok_or_else(|| {
            let bytes = count.saturating_mul(layout.size());
            let where_to = match self {
                Self::One(region) => format!("a window of {} bytes", region.len()),
                Self::Attached(_) => "memory that is attached to the window".into(),
            };
            let place = match self {
                Self::One(_) => format!("offset {offset}"),
                Self::Attached(_) => format!("address {offset:#x}"),
            };
            ErrorClass::RmaRange.error(format!("{bytes} bytes at {place} are not in {where_to}"))
        })
    }

    /// Attaches a region (§12.2.4).
    ///
    /// # Errors
    /// `RmaAttach` if some of the bytes are already attached or beyond the address space.
    pub(super) fn attach(&mut self, region: Span) -> Result {
        let Self::Attached(regions) = self else { return Ok(()) };
        let (address, len) = (region.address(), region.len());
        let Some(end) = address.checked_add(len) else {
            let why = format!("{len} bytes at {address:#x} exceed the address space");
            return Err(ErrorClass::RmaAttach.error(why));
        };
        let before = regions.range(..end.max(address.saturating_add(1))).next_back();
        let overlapped =
            before.filter(|(start, other)| **start + other.len() > address || **start == address);
        if let Some((start, other)) = overlapped {
            return Err(ErrorClass::RmaAttach.error(format!(
                "{len} bytes at {address:#x} overlap {} attached bytes at {start:#x}: detach these \
                 first",
                other.len()
            )));
        }
        regions.insert(address, region);
        Ok(())
    }

    /// Detaches the region at an address; whether there was one.
    pub(super) fn detach(&mut self, address: usize) -> bool {
        match self {
            Self::One(_) => false,
            Self::Attached(regions) => regions.remove(&address).is_some(),
        }
    }
}

fn attached(
    regions: &BTreeMap<usize, Span>, address: i64, count: usize, layout: &Arc<Layout>,
) -> Option<Memory> {
    let (first, end) = layout.covered(count)?;
    if first == end {
        return Some(Memory::EMPTY);
    }
    let lowest = usize::try_from(address.checked_add(first as i64)?).ok()?;
    let end = usize::try_from(address.checked_add(end as i64)?).ok()?;
    let (start, region) = regions.range(..=lowest).next_back()?;
    // Regions that touch are one.
    let mut region = *region;
    for (_, next) in regions.range((Bound::Excluded(*start), Bound::Excluded(end))) {
        region = region.joined(*next)?;
    }
    Memory::within(region, address.checked_sub(i64::try_from(*start).ok()?)?, count, layout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::memory::OwnedBytes;

    #[test]
    fn memory_is_inside_of_regions() {
        let bytes = OwnedBytes::zeroed(64);
        let region = bytes.span();
        let one = Regions::One(region);
        let number = Arc::new(Layout::dense(8));
        assert_eq!(one.memory(56, 1, &number).unwrap().len(), 8);
        for (offset, count) in [(57, 1), (0, 9), (-1, 1), (i64::MAX, 1), (0, usize::MAX)] {
            let error = one.memory(offset, count, &number).unwrap_err();
            assert_eq!(error.code.0, ErrorClass::RmaRange as i32);
        }
        assert!(one.memory(-100, 0, &number).unwrap().is_empty());
        // Backwards: the first element is the last in memory.
        let backwards = Arc::new(Layout::dense(8).resized(0, -8).unwrap());
        assert_eq!(one.memory(56, 8, &backwards).unwrap().len(), 64);
        assert!(one.memory(48, 8, &backwards).is_err());
        let mut dynamic = Regions::Attached(BTreeMap::new());
        let address = region.address() as i64;
        assert!(dynamic.memory(address, 1, &number).is_err());
        dynamic.attach(region.part(0, 16)).unwrap();
        dynamic.attach(region.part(16, 8)).unwrap();
        assert_eq!(dynamic.memory(address + 8, 1, &number).unwrap().len(), 8);
        assert_eq!(dynamic.memory(address + 16, 1, &number).unwrap().len(), 8);
        // The two touch, but nothing is attached behind them.
        assert_eq!(dynamic.memory(address + 12, 1, &number).unwrap().len(), 8);
        assert!(dynamic.memory(address + 12, 2, &number).is_err());
        dynamic.attach(region.part(40, 8)).unwrap();
        assert!(dynamic.memory(address + 16, 4, &number).is_err());
        assert!(dynamic.detach(region.address()));
        assert!(dynamic.memory(address + 8, 1, &number).is_err());
    }
}
