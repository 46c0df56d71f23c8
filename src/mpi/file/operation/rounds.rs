//! The rounds of an access in two phases: views to the aggregators, then data and work in turn
//! ([`two_phase`](crate::mpi::file::two_phase)).
//!
//! ```text
//!   write    exchange 0 ──> exchange 1 ──> exchange 2 ──> ...       the calls of all ranks
//!                 └─> write 0 ───┴─> write 1 ───┴─> write 2         an executor, at aggregators
//!
//!   read           ┌─> exchange 0 ─┬─> exchange 1 ─┬─> ...          the calls of all ranks
//!            read 0 ──> read 1 ────┴─> read 2 ─────┴─> ...          an executor, at aggregators
//! ```
//!
//! One access of an operation by the executor is in progress at a time. An access of one round is work of the caller.

use std::sync::Arc;

use super::{AccessStage, AfterWork, FileOperation, FileWork, RankRecord};
use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::plan::{RunId, RunPlan};
use crate::mpi::Mpi;
use crate::mpi::file::access::{AccessDirection, Transfer};
use crate::mpi::file::plan::{RankAccess, TwoPhasePlan};
use crate::mpi::file::two_phase::{PeerViews, TwoPhase};
use crate::mpi::file::view::Tiles;
use crate::mpi::handle::Handle;
use crate::offload::{Buffer, ScheduleBuilder, StepAction, Wait};
use platform::base::{ErrorClass, Result};

impl<D: Device> Mpi<D> {
    /// Each rank sends its view to the aggregators.
    pub(super) fn tell_views(&mut self, file: Handle, records: &[RankRecord]) -> Result<RunId> {
        let on = self.files.get(file)?;
        let (comm, own) = (on.comm, on.view.tiles.description());
        let rank = self.comms.get(comm)?.rank;
        let is_aggregator = on.aggregators.contains(&rank);
        let sizes = records.iter().map(|record| record.view_bytes as usize);
        let room = |(peer, len): (u32, usize)| match peer == rank {
            true => Memory::owned(own),
            false => Memory::owned(vec![0; if is_aggregator { len } else { 0 }]),
        };
        let buffers: Vec<_> = (0..).zip(sizes.clone()).map(room).collect();
        let mut plan = ScheduleBuilder::new();
        let label = 0;
        for (peer, len) in (0..).zip(sizes).filter(|(peer, _)| is_aggregator && *peer != rank) {
            let region = Buffer::User(peer).region(0, len);
            plan.push(StepAction::Receive { peer, region, label }, 1, Wait::All, &[]);
        }
        for peer in on.aggregators.iter().copied().filter(|peer| *peer != rank) {
            let region = Buffer::User(rank).region(0, own.len());
            plan.push(StepAction::Send { peer, region, label }, 1, Wait::All, &[]);
        }
        self.launch_run(comm, RunPlan::moving(plan.finish(), buffers))
    }

    pub(super) fn note_views(&mut self, operation: &FileOperation, buffers: &[Memory]) -> Result {
        let file = self.files.get_mut(operation.file)?;
        let rank = self.comms.get(file.comm)?.rank;
        if file.aggregators.contains(&rank) {
            let parsed = buffers.iter().map(|view| Tiles::parse(&view.packed()).map(Arc::new));
            let views: Option<PeerViews> = parsed.collect();
            let wrong = || ErrorClass::Intern.error("a rank has told a view that makes no sense");
            file.peer_views = Some(views.ok_or_else(wrong)?);
        }
        file.are_views_told = true;
        Ok(())
    }

    pub(super) fn first_round(
        &mut self, operation: &mut FileOperation, plan: TwoPhasePlan, accesses: Vec<RankAccess>,
    ) -> Result<AccessStage> {
        let file = self.files.get(operation.file)?;
        let rank = self.comms.get(file.comm)?.rank;
        let (own, views) = (Arc::clone(&file.view.tiles), file.peer_views.clone());
        let mut two_phase = TwoPhase::new(plan, accesses, rank, own, views, operation.direction);
        let is_read = operation.direction == AccessDirection::Read;
        if is_read && self.files.reads_ahead && two_phase.has_rounds() {
            let work = two_phase.read_first(&file.storage, file.is_atomic);
            self.access_behind(operation, work.map(FileWork::Window));
        }
        self.begin_round(operation, Box::new(two_phase))
    }

    fn begin_round(
        &mut self, operation: &mut FileOperation, mut two_phase: Box<TwoPhase>,
    ) -> Result<AccessStage> {
        if two_phase.is_over() {
            if operation.is_accessed_behind {
                return Ok(AccessStage::Behind(None, two_phase));
            }
            operation.bytes = operation.memory.len() as u64;
            return self.agree(operation);
        }
        match operation.direction {
            AccessDirection::Write => {
                two_phase.open_window();
                self.exchange(operation, two_phase)
            }
            AccessDirection::Read if two_phase.reads_ahead() => {
                self.read_round(operation, two_phase)
            }
            AccessDirection::Read => {
                two_phase.open_window();
                self.window_work(operation, two_phase)
            }
        }
    }

    fn exchange(
        &mut self, operation: &FileOperation, two_phase: Box<TwoPhase>,
    ) -> Result<AccessStage> {
        let comm = self.files.get(operation.file)?.comm;
        let run = self.launch_run(comm, two_phase.exchange(&operation.memory))?;
        Ok(AccessStage::Exchange(run, two_phase))
    }

    /// The work of an aggregator, if there is some.
    fn window_work(
        &mut self, operation: &mut FileOperation, two_phase: Box<TwoPhase>,
    ) -> Result<AccessStage> {
        let file = self.files.get(operation.file)?;
        let is_write = operation.direction == AccessDirection::Write;
        match two_phase.work(&file.storage, file.is_atomic) {
            Some(work) if is_write && two_phase.has_rounds() => {
                self.write_behind(operation, Some(FileWork::Window(work)), two_phase)
            }
            Some(work) => {
                Ok(AccessStage::Ready(FileWork::Window(work), AfterWork::Round(two_phase)))
            }
            None => self.worked_round(operation, two_phase),
        }
    }

    /// What was held back while the executor had an access of this operation.
    pub(super) fn after_access(
        &mut self, operation: &mut FileOperation, work: Option<FileWork>, two_phase: Box<TwoPhase>,
    ) -> Result<AccessStage> {
        match operation.direction {
            AccessDirection::Write => self.write_behind(operation, work, two_phase),
            AccessDirection::Read => self.begin_round(operation, two_phase),
        }
    }

    /// Has the data of a round written, if there is some, and goes on with the next round meanwhile.
    fn write_behind(
        &mut self, operation: &mut FileOperation, work: Option<FileWork>,
        mut two_phase: Box<TwoPhase>,
    ) -> Result<AccessStage> {
        if operation.is_accessed_behind {
            return Ok(AccessStage::Behind(work, two_phase));
        }
        if work.is_some() {
            self.access_behind(operation, work);
            two_phase.next_round();
        }
        self.begin_round(operation, two_phase)
    }

    /// The exchange of a window that has been read; the next one is read meanwhile.
    fn read_round(
        &mut self, operation: &mut FileOperation, mut two_phase: Box<TwoPhase>,
    ) -> Result<AccessStage> {
        if operation.is_accessed_behind {
            return Ok(AccessStage::Behind(None, two_phase));
        }
        let file = self.files.get(operation.file)?;
        let work = two_phase.read_ahead(&file.storage, file.is_atomic);
        self.access_behind(operation, work.map(FileWork::Window));
        self.exchange(operation, two_phase)
    }

    /// Gives the executor an access, if there is one.
    fn access_behind(&mut self, operation: &mut FileOperation, work: Option<FileWork>) {
        let Some(work) = work else { return };
        operation.is_accessed_behind = true;
        if let Some(transfer) = self.files.submit(operation.id, work) {
            self.accessed_behind(operation, transfer);
        }
    }

    pub(super) fn accessed_behind(&mut self, operation: &mut FileOperation, transfer: Transfer) {
        operation.is_accessed_behind = false;
        if let Err(error) = self.note_transfer(operation, transfer.error) {
            operation.error.get_or_insert(error);
        }
    }

    pub(super) fn exchanged_round(
        &mut self, operation: &mut FileOperation, mut two_phase: Box<TwoPhase>,
    ) -> Result<AccessStage> {
        match operation.direction {
            AccessDirection::Write => self.window_work(operation, two_phase),
            AccessDirection::Read => {
                two_phase.next_round();
                self.begin_round(operation, two_phase)
            }
        }
    }

    pub(super) fn worked_round(
        &mut self, operation: &mut FileOperation, mut two_phase: Box<TwoPhase>,
    ) -> Result<AccessStage> {
        match operation.direction {
            AccessDirection::Read => self.exchange(operation, two_phase),
            AccessDirection::Write => {
                two_phase.next_round();
                self.begin_round(operation, two_phase)
            }
        }
    }
}
