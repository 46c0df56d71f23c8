//! Conflicting accesses of the memory of one target (MPI 5.0 §12.3, §12.7): which accesses have started
//! and are not complete there, and whether one more conflicts with them.
//!
//! ```text
//!                  get   put   accumulate
//!   get             -     x     x            x  the outcome is undefined if bytes overlap
//!   put             x     x     x            o  of different origins: one operation and MPI_NO_OP
//!   accumulate      x     x     o
//! ```
//!
//! This is a value: messages and synchronization calls are not in this module. The caller removes accesses
//! no later than any process can know of their completion, so what is found is an error in every run. All
//! positions are in bytes: from the base of the window, or addresses in a dynamic window.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::engine::memory::layout::{Layout, StridedRun};
use crate::mpi::op::Operator;
use platform::base::{ErrorClass, MpiError, Result};

/// Accesses of more pieces are not checked: their list would need more memory than the data.
const PIECES_MAX: usize = 1 << 20;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessKind {
    Put,
    Get,
    Accumulate(Operator),
    /// `MPI_Get_accumulate`, `MPI_Fetch_and_op`
    GetAccumulate(Operator),
    CompareAndSwap,
}

/// The synchronization that completes an access. Accesses in epochs of different kinds are not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EpochKind {
    /// The epoch after so many fences, a number that is equal on all ranks.
    Fence(u64),
    /// From `MPI_Win_post` to `MPI_Win_wait`
    Exposure,
    /// `MPI_Win_lock`, `MPI_Win_lock_all`
    Lock,
}

/// An access, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) origin: u32,
    pub(super) kind: AccessKind,
    pub(super) epoch: EpochKind,
}

/// Accesses of the memory of one target that are not complete.
#[derive(Debug)]
pub(super) struct AccessTable {
    target: u32,
    /// The displacement unit of the target; `None` for a dynamic window.
    unit: Option<i64>,
    /// Each access once, with the bytes of all equal ones.
    accesses: Vec<(Access, ByteSet)>,
    /// The epochs in which the target does not expect updates (`MPI_MODE_NOPUT`).
    read_only: Vec<EpochKind>,
}

impl AccessKind {
    /// Whether the origin gets data. The access is complete as soon as it has them.
    pub(super) fn fetches(self) -> bool {
        matches!(self, Self::Get | Self::GetAccumulate(_) | Self::CompareAndSwap)
    }

    /// Whether the memory of the target stays as it is.
    fn only_reads(self) -> bool {
        matches!(self, Self::Get | Self::GetAccumulate(Operator::NoOp))
    }

    /// The operation of an accumulate; `None` for other accesses. A compare-and-swap is an accumulate
    /// without a named operation, which goes together with all.
    fn operation(self) -> Option<Option<Operator>> {
        match self {
            Self::Put | Self::Get => None,
            Self::Accumulate(operator) | Self::GetAccumulate(operator) => Some(Some(operator)),
            Self::CompareAndSwap => Some(None),
        }
    }

    /// Two words for messages.
    pub(super) fn words(self) -> [u64; 2] {
        match self {
            Self::Put => [1, 0],
            Self::Get => [2, 0],
            Self::Accumulate(operator) => [3, operator as u64],
            Self::GetAccumulate(operator) => [4, operator as u64],
            Self::CompareAndSwap => [5, 0],
        }
    }

    /// The access of [`AccessKind::words`].
    pub(super) fn of_words(words: [u64; 2]) -> Option<Self> {
        match words {
            [1, 0] => Some(Self::Put),
            [2, 0] => Some(Self::Get),
            [3, operator] => Operator::of_handle(operator).map(Self::Accumulate),
            [4, operator] => Operator::of_handle(operator).map(Self::GetAccumulate),
            [5, 0] => Some(Self::CompareAndSwap),
            _ => None,
        }
    }
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put => f.write_str("a put"),
            Self::Get => f.write_str("a get"),
            Self::Accumulate(operator) => write!(f, "an accumulate with {}", operator.name()),
            Self::GetAccumulate(operator) => {
                write!(f, "a get-accumulate with {}", operator.name())
            }
            Self::CompareAndSwap => f.write_str("a compare-and-swap"),
        }
    }
}

impl EpochKind {
    /// Two words for messages.
    pub(super) fn words(self) -> [u64; 2] {
        match self {
            Self::Fence(number) => [1, number],
            Self::Exposure => [2, 0],
            Self::Lock => [3, 0],
        }
    }

    /// The epoch of [`EpochKind::words`].
    pub(super) fn of_words(words: [u64; 2]) -> Option<Self> {
        match words {
            [1, number] => Some(Self::Fence(number)),
            [2, 0] => Some(Self::Exposure),
            [3, 0] => Some(Self::Lock),
            _ => None,
        }
    }
}

impl Access {
    /// Whether the outcome is undefined if both access the same byte.
    fn conflicts(&self, other: &Self) -> bool {
        if self.epoch != other.epoch || (self.kind.only_reads() && other.kind.only_reads()) {
            return false;
        }
        match (self.kind.operation(), other.kind.operation()) {
            // Accumulates of one origin are ordered (§12.7.2); others use one operation (§12.2.1).
            (Some(one), Some(another)) => {
                let differ = one.zip(another).is_some_and(|(one, another)| {
                    one != another && ![one, another].contains(&Operator::NoOp)
                });
                differ && self.origin != other.origin
            }
            _ => true,
        }
    }
}

impl AccessTable {
    /// No accesses of `target`, which has displacements in units of `unit` bytes, or is dynamic.
    pub(super) fn new(target: u32, unit: Option<i64>) -> Self {
        Self { target, unit, accesses: Vec::new(), read_only: Vec::new() }
    }

    /// The target asserts that it is not updated in this epoch.
    pub(super) fn set_read_only(&mut self, epoch: EpochKind) {
        if let EpochKind::Fence(number) = epoch {
            // Accesses of the epoch before may still arrive.
            self.end_fences_before(number.saturating_sub(1));
        }
        self.read_only.push(epoch);
    }

    /// Exposure epochs have ended.
    pub(super) fn end_exposure(&mut self) {
        self.end_epochs(|epoch| epoch == EpochKind::Exposure);
    }

    /// All ranks have completed the epochs of fences before this number.
    pub(super) fn end_fences_before(&mut self, number: u64) {
        self.end_epochs(|epoch| matches!(epoch, EpochKind::Fence(past) if past < number));
    }

    fn end_epochs(&mut self, has_ended: impl Fn(EpochKind) -> bool) {
        self.accesses.retain(|(access, _)| !has_ended(access.epoch));
        self.read_only.retain(|epoch| !has_ended(*epoch));
    }

    /// Checks an access of some ranges of bytes.
    ///
    /// # Errors
    /// `RmaConflict` for the first conflict with an access in the table; `Assert` for an update in an epoch
    /// of reading.
    pub(super) fn check(&self, access: Access, ranges: &[Range<i64>]) -> Result {
        let Some(first) = ranges.first() else { return Ok(()) };
        if self.read_only.contains(&access.epoch) && !access.kind.only_reads() {
            let Access { origin, kind, .. } = access;
            let place = self.place(first);
            let why =
                format!("{kind} of rank {origin} accesses {place}, which asserts MPI_MODE_NOPUT");
            return Err(ErrorClass::Assert.error(why));
        }
        for (other, bytes) in &self.accesses {
            if access.conflicts(other)
                && let Some(bytes) = ranges.iter().find_map(|range| bytes.overlap(range))
            {
                return Err(self.conflict([*other, access], &bytes));
            }
        }
        Ok(())
    }

    /// Adds an access; whether some of its bytes are new for it.
    pub(super) fn insert(&mut self, access: Access, ranges: &[Range<i64>]) -> bool {
        let place = match self.accesses.iter().position(|(known, _)| *known == access) {
            Some(place) => place,
            None => {
                self.accesses.push((access, ByteSet::default()));
                self.accesses.len() - 1
            }
        };
        let bytes = &mut self.accesses[place].1;
        ranges.iter().filter(|range| bytes.insert(range)).count() > 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }

    /// Removes accesses that are complete.
    pub(super) fn remove(&mut self, is_complete: impl Fn(&Access) -> bool) {
        self.accesses.retain(|(access, _)| !is_complete(access));
    }

    #[cold]
    fn conflict(&self, [first, second]: [Access; 2], bytes: &Range<i64>) -> Box<MpiError> {
        let accesses = match first.origin == second.origin {
            true => format!("{} and {} of rank {}", first.kind, second.kind, first.origin),
            false => format!(
                "{} of rank {} and {} of rank {}",
                first.kind, first.origin, second.kind, second.origin
            ),
        };
        let place = self.place(bytes);
        let rule = match (first.kind.operation(), second.kind.operation()) {
            (Some(_), Some(_)) => {
                "the hint accumulate_ops allows one operation and MPI_NO_OP at a time"
            }
            _ => "their outcome is undefined unless a synchronization orders them",
        };
        ErrorClass::RmaConflict.error(format!("{accesses} both access {place}: {rule}"))
    }

    /// Bytes of the target in a message.
    fn place(&self, Range { start, end }: &Range<i64>) -> String {
        let target = self.target;
        match self.unit {
            None => format!("addresses {start:#x}..{end:#x} of rank {target}"),
            Some(unit) => {
                let displacement = start / unit;
                format!(
                    "bytes {start}..{end} of the window of rank {target}, at displacement \
                     {displacement} in units of {unit}"
                )
            }
        }
    }
}

/// A set of bytes: the ends of ranges by their starts. The ranges neither overlap nor touch.
#[derive(Debug, Default, PartialEq, Eq)]
struct ByteSet(BTreeMap<i64, i64>);

impl ByteSet {
    /// The first bytes that are in the set and in `range`.
    fn overlap(&self, range: &Range<i64>) -> Option<Range<i64>> {
        let before = self.0.range(..=range.start).next_back();
        let found = before.filter(|(_, end)| **end > range.start);
        let (start, end) = found.or_else(|| self.0.range(range.clone()).next())?;
        Some(range.start.max(*start)..range.end.min(*end))
    }

    /// Adds bytes; whether some are new.
    fn insert(&mut self, range: &Range<i64>) -> bool {
        let (mut start, mut end) = (range.start, range.end);
        if start >= end {
            return false;
        }
        let before = self.0.range(..=start).next_back().map(|(start, end)| (*start, *end));
        if let Some((first, last)) = before.filter(|(_, last)| *last >= start) {
            if last >= end {
                return false;
            }
            start = first;
        }
        while let Some((first, last)) = self.0.range(start..=end).next() {
            let (first, last) = (*first, *last);
            self.0.remove(&first);
            end = end.max(last);
        }
        self.0.insert(start, end);
        true
    }
}

/// The ranges of bytes of `count` elements at `offset`, in the order of the datatype; `None` for too
/// many.
pub(super) fn ranges(offset: i64, count: usize, layout: &Arc<Layout>) -> Option<Vec<Range<i64>>> {
    let mut ranges = Vec::new();
    if count > 0 && layout.size() > 0 {
        add_run(&StridedRun::repeated(layout, count), offset, &mut ranges)?;
    }
    Some(ranges)
}

fn add_run(run: &StridedRun, base: i64, ranges: &mut Vec<Range<i64>>) -> Option<()> {
    for piece in 0..run.count as i64 {
        let start = base.checked_add(run.offset as i64)?;
        let start = start.checked_add(piece.checked_mul(run.stride as i64)?)?;
        if let Some(nested) = &run.nested {
            nested.runs().iter().try_for_each(|run| add_run(run, start, ranges))?;
            continue;
        }
        let end = start.checked_add(run.len as i64)?;
        let pieces = ranges.len();
        match ranges.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ if pieces == PIECES_MAX => return None,
            _ => ranges.push(start..end),
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::memory::layout::Block;

    const PUT: AccessKind = AccessKind::Put;
    const GET: AccessKind = AccessKind::Get;
    const SUM: AccessKind = AccessKind::Accumulate(Operator::Sum);
    const MAX: AccessKind = AccessKind::Accumulate(Operator::Max);
    const FETCH_SUM: AccessKind = AccessKind::GetAccumulate(Operator::Sum);
    const READ: AccessKind = AccessKind::GetAccumulate(Operator::NoOp);
    const SWAP: AccessKind = AccessKind::CompareAndSwap;
    const KINDS: [AccessKind; 7] = [PUT, GET, SUM, MAX, FETCH_SUM, READ, SWAP];

    fn access(origin: u32, kind: AccessKind) -> Access {
        Access { origin, kind, epoch: EpochKind::Lock }
    }

    fn one(range: Range<i64>) -> [Range<i64>; 1] {
        [range]
    }

    /// Whether the second access conflicts with the first one on the same bytes.
    fn is_conflict(first: Access, second: Access) -> bool {
        let mut table = AccessTable::new(0, Some(1));
        table.insert(first, &[10..12, 12..20]);
        table.check(second, &[0..10, 20..30]).unwrap();
        table.check(second, &[0..10, 19..30]).is_err()
    }

    #[test]
    fn what_conflicts_is_symmetric_and_as_the_standard_says() {
        let allowed_of_two = [
            (GET, GET),
            (GET, READ),
            (SUM, SUM),
            (SUM, FETCH_SUM),
            (SUM, READ),
            (SUM, SWAP),
            (MAX, MAX),
            (MAX, READ),
            (MAX, SWAP),
            (FETCH_SUM, FETCH_SUM),
            (FETCH_SUM, READ),
            (FETCH_SUM, SWAP),
            (READ, READ),
            (READ, SWAP),
            (SWAP, SWAP),
        ];
        for one in KINDS {
            for other in KINDS {
                let allowed = |pair| allowed_of_two.contains(&pair);
                let is_allowed = allowed((one, other)) || allowed((other, one));
                let said = is_conflict(access(1, one), access(2, other));
                assert_eq!(said, !is_allowed, "{one} and {other} of two ranks");
                // Accumulates of one rank are ordered, whatever their operations are.
                let is_ordered = one.operation().is_some() && other.operation().is_some();
                let said = is_conflict(access(1, one), access(1, other));
                assert_eq!(said, !(is_allowed || is_ordered), "{one} and {other} of one rank");
            }
        }
    }

    #[test]
    fn epochs_separate_accesses() {
        let in_epoch = |epoch| Access { epoch, ..access(1, PUT) };
        let epochs =
            [EpochKind::Fence(3), EpochKind::Fence(4), EpochKind::Exposure, EpochKind::Lock];
        for one in epochs {
            for other in epochs {
                assert_eq!(is_conflict(in_epoch(one), in_epoch(other)), one == other);
            }
        }
    }

    #[test]
    fn the_error_names_ranks_and_bytes() {
        let mut table = AccessTable::new(5, Some(4));
        table.insert(access(1, PUT), &[0..8, 40..48]);
        let error = table.check(access(2, GET), &[8..40, 44..100]).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::RmaConflict as i32);
        assert_eq!(
            error.why,
            "a put of rank 1 and a get of rank 2 both access bytes 44..48 of the window of rank 5, at \
             displacement 11 in units of 4: their outcome is undefined unless a synchronization orders \
             them"
        );
        let mut table = AccessTable::new(0, None);
        table.insert(access(1, SUM), &[0x1000..0x1010, 0x2000..0x2008]);
        let why = table.check(access(3, MAX), &[0..1, 0x100c..0x100d]).unwrap_err().why;
        assert!(
            why.contains("addresses 0x100c..0x100d of rank 0: the hint accumulate_ops"),
            "{why}"
        );
        assert!(
            why.contains("MPI_SUM of rank 1 and an accumulate with MPI_MAX of rank 3"),
            "{why}"
        );
    }

    #[test]
    fn complete_accesses_conflict_no_more() {
        let mut table = AccessTable::new(0, Some(1));
        assert!(table.insert(access(1, GET), &one(0..4)));
        assert!(!table.insert(access(1, GET), &one(1..3)));
        assert!(table.insert(access(1, PUT), &one(4..8)));
        table.remove(|known| known.kind.fetches());
        table.check(access(2, PUT), &one(0..4)).unwrap();
        assert!(table.check(access(2, PUT), &one(0..5)).is_err());
        table.remove(|known| known.origin == 1);
        table.check(access(2, PUT), &one(0..8)).unwrap();
    }

    #[test]
    fn an_epoch_of_reading_is_not_updated() {
        let mut table = AccessTable::new(3, Some(8));
        table.set_read_only(EpochKind::Exposure);
        for kind in KINDS {
            let exposed = Access { epoch: EpochKind::Exposure, ..access(1, kind) };
            table.check(access(1, kind), &one(8..16)).unwrap();
            table.check(exposed, &[]).unwrap();
            let checked = table.check(exposed, &one(8..16));
            assert_eq!(checked.is_ok(), kind.only_reads(), "{kind}");
            if let Err(error) = checked {
                assert_eq!(error.code.0, ErrorClass::Assert as i32);
                assert!(
                    error.why.contains("of rank 1 accesses bytes 8..16 of the window of rank 3")
                );
            }
        }
        let update = |epoch| Access { epoch, ..access(1, PUT) };
        table.end_exposure();
        table.check(update(EpochKind::Exposure), &one(8..16)).unwrap();
        // While this rank is in the epoch after a fence, others may be in the one before.
        let fences = [3, 4, 5, 6].map(EpochKind::Fence);
        fences[..3].iter().for_each(|epoch| table.set_read_only(*epoch));
        let denied = fences.map(|epoch| table.check(update(epoch), &one(8..16)).is_err());
        assert_eq!(denied, [false, true, true, false]);
    }

    #[test]
    fn sets_of_bytes_are_as_their_bytes() {
        // Every second set of three ranges in 10 bytes, byte by byte.
        let all: Vec<_> =
            (0..10_i64).flat_map(|start| (start..10).map(move |end| start..end)).collect();
        for one in &all {
            for other in &all {
                let (mut set, mut bytes) = (ByteSet::default(), [false; 10]);
                for range in [one, other, &(4..5)] {
                    let mut is_new = false;
                    for byte in range.clone() {
                        is_new |= !std::mem::replace(&mut bytes[byte as usize], true);
                    }
                    assert_eq!(set.insert(range), is_new);
                }
                let ends: Vec<_> = set.0.values().collect();
                let starts: Vec<_> = set.0.keys().skip(1).collect();
                assert!(ends.iter().zip(starts).all(|(end, start)| *end < start), "{set:?}");
                for range in all.iter().filter(|range| !range.is_empty()) {
                    let first = range.clone().find(|byte| bytes[*byte as usize]);
                    let overlap = set.overlap(range);
                    assert_eq!(overlap.as_ref().map(|found| found.start), first);
                    let is_in = |byte| bytes[byte as usize] && range.contains(&byte);
                    assert!(overlap.is_none_or(|mut found| found.all(is_in)));
                }
            }
        }
    }

    #[test]
    fn ranges_are_those_of_the_layout() {
        let joined = |displacement, count, stride, layout: &Arc<Layout>| {
            Arc::new(Layout::join([Block { displacement, count, stride, layout }]).unwrap())
        };
        let number = Arc::new(Layout::aligned(4, 4));
        let column = joined(0, 3, 8, &number);
        assert_eq!(ranges(100, 2, &number).unwrap(), one(100..108));
        // The second column begins where the last number of the first one ends.
        assert_eq!(ranges(0, 2, &column).unwrap(), [0..4, 8..12, 16..24, 28..32, 36..40]);
        let apart = joined(-8, 2, -100, &Arc::new(column.resized(0, 64).unwrap()));
        let expected = [192..196, 200..204, 208..212, 92..96, 100..104, 108..112];
        assert_eq!(ranges(200, 1, &apart).unwrap(), expected);
        assert_eq!(ranges(0, 0, &number).unwrap(), []);
        assert_eq!(ranges(i64::MAX - 2, 1, &number), None);
        let sparse = joined(0, PIECES_MAX + 1, 8, &number);
        assert_eq!(ranges(0, 1, &sparse), None);
    }

    #[test]
    fn accesses_and_epochs_read_back() {
        for kind in KINDS {
            assert_eq!(AccessKind::of_words(kind.words()), Some(kind));
        }
        for epoch in [EpochKind::Fence(1 << 40), EpochKind::Exposure, EpochKind::Lock] {
            assert_eq!(EpochKind::of_words(epoch.words()), Some(epoch));
        }
        for junk in [[0, 0], [3, 1], [4, 0], [9, 0]] {
            assert!(AccessKind::of_words(junk).is_none());
        }
        assert!([[0, 0], [2, 1], [4, 0]].iter().all(|junk| EpochKind::of_words(*junk).is_none()));
    }
}
