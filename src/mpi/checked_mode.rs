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
use crate::mpi::collective::{Bound, Call, CallForm};
use crate::mpi::communicator::{Comm, Traffic};
use crate::mpi::handle::Handle;
use crate::mpi::request::status::Status;
use platform::base::{ErrorClass, MpiError, Result};

/// Bytes of an encoded record, and of the name in it.
const RECORD_BYTES: usize = 64;
const NAME_BYTES: usize = 32;

/// The code of an operation created by the application.
const USER_OP: u32 = 0;

/// Record of the collective call of one rank; `None` is not compared.
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

/// Whether the mode is on, and the record of the current call.
#[derive(Debug, Default)]
pub(crate) struct CheckedMode {
    on: bool,
    record: CallRecord,
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
    /// Records the root, in the numbering of members.
    pub(crate) fn root(&mut self, root: u32) -> &mut Self {
        self.root = Some(root);
        self
    }

    /// Records the amount of data, in bytes.
    pub(crate) fn bytes(&mut self, bytes: usize) -> &mut Self {
        self.bytes = Some(bytes as u64);
        self
    }

    /// Records the lengths of all blocks, in bytes.
    pub(crate) fn blocks(&mut self, lens: impl Iterator<Item = usize>) -> &mut Self {
        let (mut hasher, mut total) = (DefaultHasher::new(), 0);
        for len in lens {
            hasher.write_usize(len);
            total += len;
        }
        self.blocks = Some(hasher.finish());
        self.bytes(total)
    }

    /// Records the reduction operation.
    pub(crate) fn op(&mut self, op: Op) -> &mut Self {
        self.op = Some(match op {
            Op::Predefined(operator) => operator as u32,
            Op::User(_) => USER_OP,
        });
        self
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
    /// Starts the record of the collective function `name`.
    #[inline]
    pub(crate) fn begin_record(&mut self, name: &str) {
        if self.checked_mode.on {
            self.checked_mode.record =
                CallRecord { name: name.to_owned(), ..CallRecord::default() };
        }
    }

    /// Adds arguments to the record of the current call.
    #[inline]
    pub(crate) fn add_to_record(&mut self, add: impl FnOnce(&mut CallRecord) -> &mut CallRecord) {
        if self.checked_mode.on {
            add(&mut self.checked_mode.record);
        }
    }

    /// [`Mpi::launch`] in checked mode.
    pub(crate) fn launch_checked(&mut self, comm: Handle, plan: RunPlan) -> Result<RunId> {
        self.exchange_records(comm, Some(plan), None)
    }

    /// Stores the bound operation of a call that does not start it. In checked mode the activity
    /// completes when all records are equal; a rank with invalid arguments sends its error class.
    ///
    /// # Errors
    /// Errors of the arguments; `Comm` if there is no such communicator.
    pub(crate) fn check_or_report(
        &mut self, call: Call, bound: Result<Bound>, keep: impl FnOnce(&mut Self, Bound) -> Result,
    ) -> Result<Activity> {
        let kept = match bound {
            Ok(bound) => keep(self, bound),
            Err(error) => {
                // The other ranks count this operation.
                if let Ok(comm) = self.comms.get_mut(call.comm) {
                    comm.next_init();
                }
                Err(error)
            }
        };
        match kept {
            Ok(()) if self.checked_mode.on => {
                Ok(Activity::Run(self.exchange_records(call.comm, None, None)?))
            }
            Ok(()) => Ok(Activity::Complete(Status::EMPTY)),
            Err(error) => self.report_error(call, error),
        }
    }

    /// Starts the bound operation of a call. In checked mode a rank with invalid arguments sends its
    /// error class to the other ranks, which would wait for it: a blocking call returns when the
    /// exchange has completed, a nonblocking call at once.
    ///
    /// # Errors
    /// Errors of the arguments; `Comm` if there is no such communicator.
    #[inline]
    pub(crate) fn launch_or_report(
        &mut self, call: Call, bound: Result<Bound>,
    ) -> Result<Activity> {
        match bound {
            Ok(bound) => self.launch(call.comm, bound),
            Err(error) => self.report_error(call, error),
        }
    }

    #[cold]
    fn report_error(&mut self, call: Call, error: Box<MpiError>) -> Result<Activity> {
        if !self.checked_mode.on || self.comms.get(call.comm).is_err() {
            return Err(error);
        }
        self.checked_mode.record.class = error.code.0;
        if call.form == CallForm::Blocking {
            return Ok(Activity::Run(self.exchange_records(call.comm, None, Some(error))?));
        }
        let run = self.exchange_records(call.comm, None, None)?;
        self.engine.release_run(run);
        Err(error)
    }

    /// Starts the exchange of records, and after it `plan` if all records are equal.
    fn exchange_records(
        &mut self, comm: Handle, plan: Option<RunPlan>, own: Option<Box<MpiError>>,
    ) -> Result<RunId> {
        let record = std::mem::take(&mut self.checked_mode.record);
        let comm = self.comms.get_mut(comm)?;
        let (shape, rank) = (comm.members_shape(), comm.member());
        let args = UniformBlocks { block: RECORD_BYTES, in_place: false };
        let all = vec![0; RECORD_BYTES * shape.ranks as usize];
        let buffers = vec![Memory::owned(record.emit()), Memory::owned(all)];
        let exchange = RunPlan::moving(allgather::bruck::schedule(shape, rank, args), buffers);
        let (title, member) = (comm.title().to_owned(), member_names(comm));
        let check = move |buffers: &[Memory]| {
            let mut bytes = vec![0; buffers[1].len()];
            buffers[1].pack(0, &mut bytes);
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
    use super::super::op::{Operator, UserFunction};
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
        full.root(7).op(Op::Predefined(Operator::Max)).blocks([1, 0, 1 << 40].into_iter());
        let failed = CallRecord { class: -3, ..record("MPI_Ibcast") };
        for one in [full, failed, CallRecord::default()] {
            assert_eq!(CallRecord::parse(&one.emit()), one);
        }
    }

    #[test]
    fn absent_arguments_are_not_compared() {
        let mut one = record("MPI_Bcast");
        one.root(1).bytes(8);
        let all = [record("MPI_Bcast"), one.clone(), one, record("MPI_Bcast")];
        assert!(compare_records(&all, "", |rank| rank.to_string()).is_ok());
    }

    #[test]
    fn the_error_names_two_different_calls_with_their_ranks() {
        let bcast = |root, bytes| {
            let mut record = record("MPI_Bcast");
            record.root(root).bytes(bytes);
            record
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
        let op = |op| {
            let mut record = record("MPI_Iallreduce");
            record.op(op);
            record
        };
        let user = Op::User(UserFunction { address: 1, large: false, commutative: true });
        let (class, why) = error(&[op(Op::Predefined(Operator::Sum)), op(user)]);
        assert_eq!(class, ErrorClass::Op as i32);
        assert!(why.contains("MPI_SUM") && why.contains("a user-defined operation"), "{why}");
        let mut blocks = [record("MPI_Allgatherv"), record("MPI_Allgatherv")];
        blocks[0].blocks([1, 2].into_iter());
        blocks[1].blocks([2, 1].into_iter());
        assert!(error(&blocks).1.starts_with("lengths of blocks differ"));
        let wrong = CallRecord { class: ErrorClass::Type as i32, ..record("MPI_Bcast") };
        let (class, why) = error(&[bcast(0, 8), wrong]);
        assert_eq!(class, ErrorClass::Type as i32);
        assert!(why.contains("rank 1") && why.contains("MPI_ERR_TYPE"), "{why}");
    }
}
