//! The exchange of a collective access in two phases, at one rank ([`plan`](super::plan)).
//!
//! ```text
//!   write    ┌─> data of a round ──> aggregators write ──┐      read    ┌─> aggregators read ──> data of a round ──┐
//!            └───────────── next round ─────────────────┘              └────────────── next round ───────────────┘
//! ```
//!
//! The next round of a write begins when the data has come, and not when it has been written; aggregators with
//! a processor to spare read the window of the next round while data of this one moves.
//!
//! Aggregators know the views of all ranks, so the data of a round needs no description: both sides
//! compute which positions are in the window of an aggregator. Data moves from the memory of the
//! application to its place in the window, and back, without a copy between.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::access::{AccessDirection, Transfer, atomically, read_all, write_all};
use super::plan::{RankAccess, TwoPhasePlan};
use super::storage::Storage;
use super::view::{FilePiece, Tiles};
use crate::engine::memory::{ConvertedMemory, Memory, OwnedBytes};
use crate::engine::schedules::plan::RunPlan;
use crate::offload::{Buffer, ScheduleBuilder, StepAction, Wait};
use platform::base::Span;

/// The label of all data: no rank sends two messages of one call to another.
const LABEL: u16 = 0;

/// A collective access in progress.
#[derive(Debug)]
pub(super) struct TwoPhase {
    plan: TwoPhasePlan,
    accesses: Vec<RankAccess>,
    rank: u32,
    own: Arc<Tiles>,
    /// The views of all ranks, at an aggregator.
    views: Option<PeerViews>,
    direction: AccessDirection,
    round: u64,
    reads_ahead: bool,
    /// What this aggregator has in this round.
    window: Option<Arc<FileWindow>>,
    /// What it reads for the next one.
    ahead: Option<Arc<FileWindow>>,
    /// Those of earlier rounds: their memory serves again once nothing refers to them. (To have 16 MiB from the
    /// system takes longer than to read them.)
    used: Vec<Arc<FileWindow>>,
}

/// The views of all ranks, by rank.
pub(super) type PeerViews = Arc<[Arc<Tiles>]>;

/// A part of the file in memory.
#[derive(Debug)]
struct FileWindow {
    range: Range<u64>,
    bytes: OwnedBytes,
}

/// The data of a rank in a window.
#[derive(Debug)]
struct PlacedData {
    view: Arc<Tiles>,
    /// Of the first byte.
    position: u64,
    len: usize,
    window: Arc<FileWindow>,
}

/// What an aggregator does with the file.
#[derive(Debug)]
pub(crate) struct WindowAccess {
    storage: Arc<dyn Storage>,
    direction: AccessDirection,
    window: Arc<FileWindow>,
    /// What ranks have of it.
    parts: Vec<PlacedData>,
    is_atomic: bool,
}

impl TwoPhase {
    pub(super) fn new(
        plan: TwoPhasePlan, accesses: Vec<RankAccess>, rank: u32, own: Arc<Tiles>,
        views: Option<PeerViews>, direction: AccessDirection,
    ) -> Self {
        let (round, reads_ahead, window, ahead, used) = (0, false, None, None, Vec::new());
        Self {
            plan,
            accesses,
            rank,
            own,
            views,
            direction,
            round,
            reads_ahead,
            window,
            ahead,
            used,
        }
    }

    /// Whether there is more than one round.
    pub(super) fn has_rounds(&self) -> bool {
        self.plan.rounds() > 1
    }

    pub(super) fn is_over(&self) -> bool {
        self.round >= self.plan.rounds()
    }

    pub(super) fn next_round(&mut self) {
        self.round += 1;
        self.used.extend(self.window.take());
    }

    /// Makes room for the window of this round, if this rank is an aggregator with data.
    pub(super) fn open_window(&mut self) {
        self.window = self.new_window(self.round);
    }

    /// The work of this rank with the file in this round, if it is an aggregator with data.
    pub(super) fn work(&self, storage: &Arc<dyn Storage>, is_atomic: bool) -> Option<WindowAccess> {
        Some(self.access(self.window.as_ref()?, storage, is_atomic))
    }

    /// Whether windows are read one round ahead.
    pub(super) fn reads_ahead(&self) -> bool {
        self.reads_ahead
    }

    /// From now on, windows are read one round ahead: the read of the first one, if this rank is an aggregator with
    /// data.
    pub(super) fn read_first(
        &mut self, storage: &Arc<dyn Storage>, is_atomic: bool,
    ) -> Option<WindowAccess> {
        self.reads_ahead = true;
        self.read_next(self.round, storage, is_atomic)
    }

    /// The window of this round has been read: the read of the next one.
    pub(super) fn read_ahead(
        &mut self, storage: &Arc<dyn Storage>, is_atomic: bool,
    ) -> Option<WindowAccess> {
        self.window = self.ahead.take();
        self.read_next(self.round + 1, storage, is_atomic)
    }

    fn read_next(
        &mut self, round: u64, storage: &Arc<dyn Storage>, is_atomic: bool,
    ) -> Option<WindowAccess> {
        self.ahead = self.new_window(round);
        Some(self.access(self.ahead.as_ref()?, storage, is_atomic))
    }

    fn new_window(&mut self, round: u64) -> Option<Arc<FileWindow>> {
        let range = self.plan.window_of(self.rank, round);
        if self.views.is_none() || range.is_empty() {
            return None;
        }
        let len = (range.end - range.start) as usize;
        let is_free =
            |used: &Arc<FileWindow>| Arc::strong_count(used) == 1 && used.bytes.len() >= len;
        let free = self.used.iter().position(is_free);
        let free = free.and_then(|index| Arc::into_inner(self.used.swap_remove(index)));
        let bytes = free.map_or_else(|| OwnedBytes::zeroed(len), |window| window.bytes);
        Some(Arc::new(FileWindow { range, bytes }))
    }

    fn access(
        &self, window: &Arc<FileWindow>, storage: &Arc<dyn Storage>, is_atomic: bool,
    ) -> WindowAccess {
        WindowAccess {
            storage: Arc::clone(storage),
            direction: self.direction,
            window: Arc::clone(window),
            parts: self.placed(window).map(|(_, data)| data).collect(),
            is_atomic,
        }
    }

    /// The messages of this round; `memory` has the data of this rank from its first position on.
    pub(super) fn exchange(&self, memory: &Memory) -> RunPlan {
        let mut steps = Exchange { plan: ScheduleBuilder::new(), buffers: vec![memory.alias()] };
        let to_file = self.direction == AccessDirection::Write;
        // Receives come first.
        for receives in [true, false] {
            if receives == to_file {
                self.at_aggregator(&mut steps, receives);
            } else {
                self.at_owner(&mut steps, receives);
            }
        }
        self.keep_own(&mut steps);
        RunPlan::moving(steps.plan.finish(), steps.buffers)
    }

    /// Messages between the window of this rank and other ranks.
    fn at_aggregator(&self, steps: &mut Exchange, receives: bool) {
        for (peer, data) in self.window.iter().flat_map(|window| self.placed(window)) {
            if peer != self.rank {
                let len = data.len;
                let buffer = steps.add(Memory::Converted(Arc::new(data)));
                steps.message(peer, buffer, 0, len, receives);
            }
        }
    }

    /// Messages between the memory of this rank and other aggregators.
    fn at_owner(&self, steps: &mut Exchange, receives: bool) {
        let access = &self.accesses[self.rank as usize];
        for (peer, window) in self.plan.windows(self.round) {
            let part = positions(&self.own, access, &window);
            if peer != self.rank && !part.is_empty() {
                let start = (part.start - access.position) as usize;
                steps.message(peer, 0, start, (part.end - part.start) as usize, receives);
            }
        }
    }

    /// The data of an aggregator in its own window.
    fn keep_own(&self, steps: &mut Exchange) {
        let access = &self.accesses[self.rank as usize];
        let mut placed = self.window.iter().flat_map(|window| self.placed(window));
        let Some((_, data)) = placed.find(|(peer, _)| *peer == self.rank) else { return };
        let (start, len) = ((data.position - access.position) as usize, data.len);
        let placed = steps.add(Memory::Converted(Arc::new(data)));
        let ends = [Buffer::User(0).region(start, len), Buffer::User(placed).region(0, len)];
        let [from, to] = match self.direction {
            AccessDirection::Write => ends,
            AccessDirection::Read => [ends[1], ends[0]],
        };
        steps.plan.push(StepAction::Copy { from, to }, 0, Wait::All, &[]);
    }

    /// The data of each rank in a window of this one.
    fn placed(&self, window: &Arc<FileWindow>) -> impl Iterator<Item = (u32, PlacedData)> {
        let views = self.views.as_deref().unwrap_or_default();
        (0..).zip(views.iter().zip(&self.accesses)).filter_map(move |(rank, (view, access))| {
            let part = positions(view, access, &window.range);
            let (window, view) = (Arc::clone(window), Arc::clone(view));
            let (position, len) = (part.start, (part.end - part.start) as usize);
            (len > 0).then_some((rank, PlacedData { view, position, len, window }))
        })
    }
}

/// The positions of an access in a part of the file.
fn positions(view: &Tiles, access: &RankAccess, window: &Range<u64>) -> Range<u64> {
    let end = access.position + access.len;
    if access.len == 0 || window.is_empty() {
        return end..end;
    }
    let at = |offset| view.bytes_below(offset).clamp(access.position, end);
    at(window.start)..at(window.end)
}

/// The steps of a round.
struct Exchange {
    plan: ScheduleBuilder,
    buffers: Vec<Memory>,
}

impl Exchange {
    fn add(&mut self, memory: Memory) -> u32 {
        self.buffers.push(memory);
        self.buffers.len() as u32 - 1
    }

    fn message(&mut self, peer: u32, buffer: u32, start: usize, len: usize, receives: bool) {
        let (region, label) = (Buffer::User(buffer).region(start, len), LABEL);
        let action = match receives {
            true => StepAction::Receive { peer, region, label },
            false => StepAction::Send { peer, region, label },
        };
        self.plan.push(action, 1, Wait::All, &[]);
    }
}

impl PlacedData {
    /// The places of bytes from `from` on, in the order of the data.
    fn places(&self, from: usize, len: usize) -> impl Iterator<Item = Span> {
        let window = &self.window;
        self.view.pieces(self.position + from as u64, len as u64).map(|piece| {
            window
                .bytes
                .span()
                .part((piece.offset - window.range.start) as usize, piece.len as usize)
        })
    }
}

impl ConvertedMemory for PlacedData {
    fn len(&self) -> usize {
        self.len
    }

    fn first_piece(&self) -> Span {
        self.places(0, self.len).next().unwrap_or(Span::EMPTY)
    }

    fn pack(&self, from: usize, out: &mut [u8]) {
        let mut done = 0;
        for place in self.places(from, out.len()) {
            place.read(0, &mut out[done..done + place.len()]);
            done += place.len();
        }
    }

    fn unpack(&self, from: usize, data: &[u8]) {
        let mut done = 0;
        for place in self.places(from, data.len()) {
            place.write(0, &data[done..done + place.len()]);
            done += place.len();
        }
    }
}

impl WindowAccess {
    /// Reads or writes what ranks have of the window.
    pub(crate) fn run(&self) -> Transfer {
        let extents = self.extents();
        let (Some(first), Some(last)) = (extents.first(), extents.last()) else {
            return Transfer::default();
        };
        let range = first.offset..last.end();
        match self.is_atomic {
            false => self.moved(&extents),
            true => atomically(&*self.storage, range, self.direction, || self.moved(&extents)),
        }
    }

    fn moved(&self, extents: &[FilePiece]) -> Transfer {
        let mut transfer = Transfer::default();
        transfer.error = self.move_extents(extents, &mut transfer.bytes).err();
        transfer
    }

    fn move_extents(&self, extents: &[FilePiece], done: &mut u64) -> io::Result<()> {
        let place = |piece: &FilePiece| {
            let start = (piece.offset - self.window.range.start) as usize;
            self.window.bytes.span().part(start, piece.len as usize)
        };
        match self.direction {
            AccessDirection::Write => extents
                .iter()
                .try_for_each(|piece| write_all(&*self.storage, piece.offset, place(piece), done)),
            AccessDirection::Read => {
                // Gaps are read as well: all of it is this rank's own memory.
                let (first, last) = (extents[0], extents[extents.len() - 1]);
                let whole = FilePiece { offset: first.offset, len: last.end() - first.offset };
                read_all(&*self.storage, whole.offset, place(&whole), done).map(drop)
            }
        }
    }

    /// The bytes that ranks have, as adjacent ones, ascending.
    fn extents(&self) -> Vec<FilePiece> {
        let parts = self.parts.iter();
        let mut pieces: Vec<_> =
            parts.flat_map(|part| part.view.pieces(part.position, part.len as u64)).collect();
        pieces.sort_unstable_by_key(|piece| piece.offset);
        let mut extents: Vec<FilePiece> = Vec::new();
        for piece in pieces {
            match extents.last_mut() {
                Some(last) if piece.offset <= last.end() => {
                    last.len = last.len.max(piece.end() - last.offset);
                }
                _ => extents.push(piece),
            }
        }
        extents
    }
}
