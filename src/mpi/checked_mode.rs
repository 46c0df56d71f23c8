//! Checked mode (`SUIRO_CHECK=1`): before a collective operation starts, its ranks exchange records
//! of their calls, and start it only if the records are equal.
//!
//! ```text
//!   call ──> CallRecord ──allgather──> all equal ──> the operation
//!                                          │
//!                                          └─ functions, roots, operations or amounts
//!                                             of data differ ──> an error
//! ```
//!
//! The allgather is the same for all functions, so that different calls match each other. All ranks
//! compare the same records: all get the error, none starts the operation, and the next call is in
//! sequence on all ranks. Only the operation waits for the allgather; a nonblocking call returns.
//!
//! The records do not have amounts for pairs of ranks (gatherv, scatterv, alltoallv, neighborhoods):
//! the engine compares the length of each message with the length that its receiver expects.
//!
//! ```text
//!   0        32      36     40          44      48      56       64
//!   ┌────────┬───────┬──────┬───────────┬───────┬───────┬────────┐
//!   │ name   │ flags │ root │ operation │ class │ bytes │ blocks │
//!   └────────┴───────┴──────┴───────────┴───────┴───────┴────────┘
//! ```

use std::hash::{DefaultHasher, Hasher};

use super::Mpi;
use super::op::Op;
use super::request::Activity;
use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::continuation::Continuation;
use crate::engine::schedules::plan::{Launch, RunId, RunPlan};
use crate::mpi::collective::algorithms::UniformBlocks;
use crate::mpi::collective::algorithms::allgather;
use crate::mpi::collective::binding::CallForm;
use crate::mpi::collective::calls::Call;
use crate::mpi::collective::calls::function::CollectiveFunction;
use crate::mpi::communicator::{Comm, Traffic};
use crate::mpi::handle::Handle;
use crate::mpi::request::status::Status;
use platform::base::{ErrorClass, MpiError, Result};

/// Bytes of an encoded record, and of the name in it.
const RECORD_BYTES: usize = 64;
const NAME_BYTES: usize = 32;

/// The code of an operation created by the application.
const USER_OP: u32 = 0;

/// A collective call of one rank, for comparison; `None` is not compared. A noun beside `Call`, because it
/// is a message and has only what must be equal on all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallRecord {
    /// The function; empty for an operation within another call.
    name: String,
    /// The root, in the numbering of members.
    root: Option<u32>,
    /// The handle of a predefined operation, or [`USER_OP`].
    op: Option<u32>,
    /// Bytes of data, equal on all ranks.
    bytes: Option<u64>,
    /// Hash of the lengths of all blocks.
    blocks: Option<u64>,
    /// Error class of the arguments of this rank, or 0.
    class: i32,
}

/// Whether this process checks its calls.
#[derive(Debug, Default)]
pub(crate) struct CheckedMode {
    on: bool,
}

impl CheckedMode {
    /// Switches the mode on or off, equally on all ranks.
    pub(crate) fn set(&mut self, on: bool) {
        self.on = on;
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }
}

impl CallRecord {
    /// Adds the arguments that must be equal on all ranks. On an intercommunicator, most amounts differ
    /// between the groups.
    fn add_arguments(&mut self, call: &Call, is_inter: bool) {
        if let Some(operator) = &call.operator {
            self.op = Some(operator.operator().map_or(USER_OP, |operator| operator as u32));
        }
        match call.function {
            CollectiveFunction::Bcast
            | CollectiveFunction::Gather
            | CollectiveFunction::Scatter
            | CollectiveFunction::Reduce => {
                (self.root, self.bytes) = (Some(call.root), Some(call.bytes as u64));
            }
            CollectiveFunction::Gatherv | CollectiveFunction::Scatterv => {
                self.root = Some(call.root);
            }
            CollectiveFunction::Allgather
            | CollectiveFunction::Alltoall
            | CollectiveFunction::Allreduce
            | CollectiveFunction::ReduceScatterBlock
            | CollectiveFunction::Scan
            | CollectiveFunction::Exscan
                if !is_inter =>
            {
                self.bytes = Some(call.bytes as u64);
            }
            CollectiveFunction::Allgatherv if !is_inter => {
                self.add_blocks(call.blocks.iter().map(Memory::len));
            }
            CollectiveFunction::ReduceScatter if !is_inter => {
                self.add_blocks(call.result_lengths().into_iter());
            }
            _ => {}
        }
    }

    /// Adds the lengths of all blocks, in bytes.
    fn add_blocks(&mut self, lengths: impl Iterator<Item = usize>) {
        let (mut hasher, mut total) = (DefaultHasher::new(), 0);
        for length in lengths {
            hasher.write_usize(length);
            total += length;
        }
        (self.bytes, self.blocks) = (Some(total as u64), Some(hasher.finish()));
    }

    fn emit(&self) -> [u8; RECORD_BYTES] {
        let mut record = [0; RECORD_BYTES];
        let len = self.name.len().min(NAME_BYTES);
        record[..len].copy_from_slice(&self.name.as_bytes()[..len]);
        let present =
            [self.root.is_some(), self.op.is_some(), self.bytes.is_some(), self.blocks.is_some()];
        let flags = present.into_iter().rev().fold(0, |bits, flag| bits << 1 | u32::from(flag));
        let words = [flags, self.root.unwrap_or(0), self.op.unwrap_or(0), self.class as u32];
        for (bytes, word) in record[NAME_BYTES..48].chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        record[48..56].copy_from_slice(&self.bytes.unwrap_or(0).to_le_bytes());
        record[56..].copy_from_slice(&self.blocks.unwrap_or(0).to_le_bytes());
        record
    }

    fn parse(record: &[u8; RECORD_BYTES]) -> Self {
        let word = |at: usize| {
            let bytes: &[u8; 4] = record[at..].first_chunk().expect("64 bytes are 16 words");
            u32::from_le_bytes(*bytes)
        };
        let long = |at: usize| u64::from(word(at + 4)) << 32 | u64::from(word(at));
        let is_present = |bit: u32| word(NAME_BYTES) >> bit & 1 != 0;
        let name = record[..NAME_BYTES].split(|byte| *byte == 0).next().unwrap_or(&[]);
        Self {
            name: String::from_utf8_lossy(name).into_owned(),
            root: is_present(0).then(|| word(36)),
            op: is_present(1).then(|| word(40)),
            class: word(44) as i32,
            bytes: is_present(2).then(|| long(48)),
            blocks: is_present(3).then(|| long(56)),
        }
    }

    /// Text of the call for a message; `member` names members.
    fn call(&self, member: &impl Fn(u32) -> String) -> String {
        if self.name.is_empty() {
            return "a function that creates or frees an object, or MPI_Finalize".to_owned();
        }
        let op = self.op.map(|op| match Op::predefined(op) {
            Some(Op::Predefined(operator)) => operator.name().to_owned(),
            Some(Op::User(_)) | None => "a user-defined operation".to_owned(),
        });
        let root = self.root.map(|root| format!("{} as root", member(root)));
        let bytes = self.bytes.map(|bytes| match self.blocks {
            None => format!("{bytes} bytes"),
            Some(_) => format!("blocks of {bytes} bytes in total"),
        });
        let arguments: Vec<_> = [root, op, bytes].into_iter().flatten().collect();
        match &arguments[..] {
            [] => self.name.clone(),
            arguments => format!("{} with {}", self.name, arguments.join(", ")),
        }
    }
}

/// Checks that the calls of all members are one operation.
///
/// # Errors
/// `Arg` for different functions, `Root`, `Op`, `Count` for different arguments; the class of a
/// member with invalid arguments.
fn compare_records(all: &[CallRecord], comm: &str, member: impl Fn(u32) -> String) -> Result {
    let of = |rank: usize| format!("{} called {}", member(rank as u32), all[rank].call(&member));
    let differ = |[one, other]: [usize; 2], class: ErrorClass, what: &str| {
        let (one, other) = (of(one), of(other));
        let remedy = "all ranks must pass the same";
        let why =
            format!("{what} differ in a collective operation on {comm}: {one}, {other}; {remedy}");
        Err(class.error(why))
    };
    if let Some(other) = all.iter().position(|record| record.name != all[0].name) {
        return differ([0, other], ErrorClass::Arg, "functions");
    }
    if let Some(wrong) = all.iter().position(|record| record.class != 0) {
        let class = ErrorClass::from_value(all[wrong].class).unwrap_or(ErrorClass::Other);
        let (rank, name) = (member(wrong as u32), &all[wrong].name);
        let why =
            format!("{rank} called {name} on {comm} with invalid arguments: {}", class.name());
        return Err(class.error(why));
    }
    if let Some(pair) = first_difference(all, |record| record.root.map(u64::from)) {
        return differ(pair, ErrorClass::Root, "roots");
    }
    if let Some(pair) = first_difference(all, |record| record.op.map(u64::from)) {
        return differ(pair, ErrorClass::Op, "operations");
    }
    if let Some(pair) = first_difference(all, |record| record.bytes) {
        return differ(pair, ErrorClass::Count, "amounts of data");
    }
    match first_difference(all, |record| record.blocks) {
        Some(pair) => differ(pair, ErrorClass::Count, "lengths of blocks"),
        None => Ok(()),
    }
}

/// The first two members with different values.
fn first_difference(
    all: &[CallRecord], what: impl Fn(&CallRecord) -> Option<u64>,
) -> Option<[usize; 2]> {
    let mut values =
        all.iter().enumerate().filter_map(|(rank, record)| Some((rank, what(record)?)));
    let (first, expected) = values.next()?;
    values.find(|(_, value)| *value != expected).map(|(other, _)| [first, other])
}

/// The names of members of a communicator for messages.
fn member_names(comm: &Comm) -> impl Fn(u32) -> String + Send + 'static {
    let [own, other] = comm.sides();
    let is_inter = comm.is_inter();
    move |member| match (own.contains(&member), is_inter) {
        (_, false) => format!("rank {member}"),
        (true, true) => format!("rank {} of the local group", member - own.start),
        (false, true) => format!("rank {} of the remote group", member - other.start),
    }
}

impl<D: Device> Mpi<D> {
    /// The record of a call of the function `name`; empty outside checked mode.
    pub(in crate::mpi) fn call_record(&self, name: &str, call: &Result<Call>) -> CallRecord {
        let mut record = CallRecord::default();
        if self.checked_mode.on {
            name.clone_into(&mut record.name);
            if let Ok(call) = call {
                let is_inter = self.comms.get(call.comm).is_ok_and(Comm::is_inter);
                record.add_arguments(call, is_inter);
            }
        }
        record
    }

    /// Starts a call of the function `name` on `comm`. In checked mode, a rank whose arguments are wrong
    /// sends its record too: a blocking function returns when all ranks have it, another immediately.
    ///
    /// # Errors
    /// That of `call` or its binding; `Comm` if there is no such communicator.
    #[inline(always)]
    pub(crate) fn launch_or_report(
        &mut self, name: &str, comm: Handle, form: CallForm, call: Result<Call>,
    ) -> Result<Activity> {
        if self.checked_mode.on {
            return self.launch_checked(name, comm, form, call);
        }
        self.launch(call?, form)
    }

    #[cold]
    fn launch_checked(
        &mut self, name: &str, comm: Handle, form: CallForm, call: Result<Call>,
    ) -> Result<Activity> {
        let mut record = self.call_record(name, &call);
        let run = match call.and_then(|call| self.bind_messages(call, form)) {
            Ok(plan) => self.exchange_records(comm, record, Some(plan), None)?,
            Err(error) if form == CallForm::Blocking && self.comms.get(comm).is_ok() => {
                record.class = error.code.0;
                self.exchange_records(comm, record, None, Some(error))?
            }
            Err(error) => return Err(self.report_error(comm, record, error)),
        };
        Ok(Activity::Run(run))
    }

    /// [`Mpi::launch_run`] in checked mode, for an operation that is part of another function.
    pub(in crate::mpi) fn launch_unnamed(&mut self, comm: Handle, plan: RunPlan) -> Result<RunId> {
        self.exchange_records(comm, CallRecord::default(), Some(plan), None)
    }

    /// An activity that ends when all ranks agree on a call which does not start yet; outside checked
    /// mode, it has completed.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(in crate::mpi) fn agree_on_call(
        &mut self, comm: Handle, record: CallRecord,
    ) -> Result<Activity> {
        match self.checked_mode.on {
            true => Ok(Activity::Run(self.exchange_records(comm, record, None, None)?)),
            false => Ok(Activity::Complete(Status::EMPTY)),
        }
    }

    /// Sends the record of a call with wrong arguments, in checked mode; the error for the caller.
    #[cold]
    pub(in crate::mpi) fn report_error(
        &mut self, comm: Handle, record: CallRecord, error: Box<MpiError>,
    ) -> Box<MpiError> {
        if !self.checked_mode.on || self.comms.get(comm).is_err() {
            return error;
        }
        let record = CallRecord { class: error.code.0, ..record };
        match self.exchange_records(comm, record, None, None) {
            Ok(run) => {
                self.engine.release_run(run);
                error
            }
            Err(other) => other,
        }
    }

    /// Starts the exchange of records, and after it `plan` if all records are equal.
    fn exchange_records(
        &mut self, comm: Handle, record: CallRecord, plan: Option<RunPlan>,
        own: Option<Box<MpiError>>,
    ) -> Result<RunId> {
        let comm = self.comms.get_mut(comm)?;
        let (shape, rank) = (comm.members_shape(), comm.member());
        let args = UniformBlocks { block: RECORD_BYTES, in_place: false };
        let all = vec![0; RECORD_BYTES * shape.ranks as usize];
        let buffers = vec![Memory::owned(record.emit()), Memory::owned(all)];
        let exchange = RunPlan::moving(allgather::bruck::schedule(shape, rank, args), buffers);
        let (title, member) = (comm.title().into_owned(), member_names(comm));
        let check = move |buffers: &[Memory]| {
            let bytes = buffers[1].packed();
            let (records, _) = bytes.as_chunks();
            let all: Vec<CallRecord> = records.iter().map(CallRecord::parse).collect();
            own.map_or(Ok(()), Err).and_then(|()| compare_records(&all, &title, member))
        };
        let launch = Launch {
            plan: exchange,
            members: comm.members(),
            rank,
            context: comm.context.for_traffic(Traffic::Collective),
            sequence: comm.next_call(),
        };
        // Every rank counts the operation, including ranks with invalid arguments.
        let sequence = comm.next_call();
        let next = plan.map(|plan| (plan, sequence));
        Ok(self.engine.launch_with(launch, Continuation { check: Box::new(check), next }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::op::Operator;
    use super::*;

    fn record(name: &str) -> CallRecord {
        CallRecord { name: name.to_owned(), ..CallRecord::default() }
    }

    fn error(all: &[CallRecord]) -> (i32, String) {
        let error =
            compare_records(all, "MPI_COMM_WORLD", |rank| format!("rank {rank}")).unwrap_err();
        (error.code.0, error.why.to_string())
    }

    #[test]
    fn records_read_back() {
        let mut full = record("MPI_Reduce_scatter_block_init");
        (full.root, full.op) = (Some(7), Some(Operator::Max as u32));
        full.add_blocks([1, 0, 1 << 40].into_iter());
        let failed = CallRecord { class: -3, ..record("MPI_Ibcast") };
        for one in [full, failed, CallRecord::default()] {
            assert_eq!(CallRecord::parse(&one.emit()), one);
        }
    }

    #[test]
    fn absent_arguments_are_not_compared() {
        let mut one = record("MPI_Bcast");
        (one.root, one.bytes) = (Some(1), Some(8));
        let all = [record("MPI_Bcast"), one.clone(), one, record("MPI_Bcast")];
        assert!(compare_records(&all, "", |rank| rank.to_string()).is_ok());
    }

    #[test]
    fn the_error_names_two_different_calls_with_their_ranks() {
        let bcast = |root, bytes| CallRecord {
            root: Some(root),
            bytes: Some(bytes),
            ..record("MPI_Bcast")
        };
        let (class, why) = error(&[bcast(0, 8), bcast(0, 8), bcast(1, 8)]);
        assert_eq!(class, ErrorClass::Root as i32);
        assert_eq!(
            why,
            "roots differ in a collective operation on MPI_COMM_WORLD: rank 0 called MPI_Bcast with \
             rank 0 as root, 8 bytes, rank 2 called MPI_Bcast with rank 1 as root, 8 bytes; all ranks \
             must pass the same"
        );
        let (class, why) = error(&[bcast(0, 8), bcast(0, 12)]);
        assert_eq!(class, ErrorClass::Count as i32);
        assert!(why.contains("8 bytes") && why.contains("12 bytes"), "{why}");
        let (class, why) = error(&[bcast(0, 8), record("MPI_Barrier"), CallRecord::default()]);
        assert_eq!(class, ErrorClass::Arg as i32);
        assert!(why.contains("8 bytes, rank 1 called MPI_Barrier;"), "{why}");
        let op = |op| CallRecord { op: Some(op), ..record("MPI_Iallreduce") };
        let (class, why) = error(&[op(Operator::Sum as u32), op(USER_OP)]);
        assert_eq!(class, ErrorClass::Op as i32);
        assert!(why.contains("MPI_SUM") && why.contains("a user-defined operation"), "{why}");
        let mut blocks = [record("MPI_Allgatherv"), record("MPI_Allgatherv")];
        blocks[0].add_blocks([1, 2].into_iter());
        blocks[1].add_blocks([2, 1].into_iter());
        assert!(error(&blocks).1.starts_with("lengths of blocks differ"));
        let wrong = CallRecord { class: ErrorClass::Type as i32, ..record("MPI_Bcast") };
        let (class, why) = error(&[bcast(0, 8), wrong]);
        assert_eq!(class, ErrorClass::Type as i32);
        assert!(why.contains("rank 1") && why.contains("MPI_ERR_TYPE"), "{why}");
    }
}
