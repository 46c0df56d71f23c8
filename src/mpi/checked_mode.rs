//! Checked mode (`SUIRO_CHECK=1`): before a collective operation begins, its ranks tell each other
//! what they called, and begin it only if they agree.
//!
//! ```text
//!   call ──> Said ──allgather──> all agree ──> the operation
//!                                    │
//!                                    └─ unlike calls, roots, operations, amounts ──> an error
//! ```
//!
//! The allgather is the same whatever is called, so that calls meet which have nothing in common.
//! All ranks judge the same records in the same way: all get the error, none begins, and the next
//! call finds them in step. Nobody waits for it but the operation; a nonblocking call returns.
//!
//! Amounts that belong to pairs of ranks (gatherv, scatterv, alltoallv, neighborhoods) are not told
//! here: each message is compared with what its receiver expects.
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
use crate::engine::schedules::run::{Launch, RunId, RunPlan};
use crate::mpi::collective::algorithms::UniformBlocks;
use crate::mpi::collective::algorithms::allgather;
use crate::mpi::collective::{Bound, Call, CallForm};
use crate::mpi::communicator::{Comm, Traffic};
use crate::mpi::handle::Handle;
use crate::mpi::request::status::Status;
use platform::base::{ErrorClass, MpiError, Result};

/// Bytes of a record on its way, and of the name in it.
const RECORD_BYTES: usize = 64;
const NAME_BYTES: usize = 32;

/// What stands for an operation of the application's own.
const USER_OP: u32 = 0;

/// What a rank says of its collective call; `None` is not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallRecord {
    /// The function; empty for an operation within another call.
    name: String,
    /// The root, as a member.
    root: Option<u32>,
    /// The handle of a predefined operation, or [`USER_OP`].
    op: Option<u32>,
    /// The bytes that all ranks must name alike.
    bytes: Option<u64>,
    /// Stands for the lengths of all blocks.
    blocks: Option<u64>,
    /// The class of what is wrong with the arguments of this rank, 0 for nothing.
    class: i32,
}

/// Whether this process checks, and what the call in hand has said so far.
#[derive(Debug, Default)]
pub(crate) struct CheckedMode {
    on: bool,
    record: CallRecord,
}

impl CheckedMode {
    /// Switches it on or off; the same on all ranks.
    pub(crate) fn set(&mut self, on: bool) {
        self.on = on;
    }

    /// Whether it is on.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }
}

impl CallRecord {
    /// Names the root, a member.
    pub(crate) fn root(&mut self, root: u32) -> &mut Self {
        self.root = Some(root);
        self
    }

    /// Names the amount of data, in bytes.
    pub(crate) fn bytes(&mut self, bytes: usize) -> &mut Self {
        self.bytes = Some(bytes as u64);
        self
    }

    /// Names the lengths of all blocks, in bytes.
    pub(crate) fn blocks(&mut self, lens: impl Iterator<Item = usize>) -> &mut Self {
        let (mut hasher, mut total) = (DefaultHasher::new(), 0);
        for len in lens {
            hasher.write_usize(len);
            total += len;
        }
        self.blocks = Some(hasher.finish());
        self.bytes(total)
    }

    /// Names the operation.
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
        let given =
            [self.root.is_some(), self.op.is_some(), self.bytes.is_some(), self.blocks.is_some()];
        let flags = given.into_iter().rev().fold(0, |bits, flag| bits << 1 | u32::from(flag));
        let words = [flags, self.root.unwrap_or(0), self.op.unwrap_or(0), self.class as u32];
        for (place, word) in record[NAME_BYTES..48].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
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
        let given = |bit: u32| word(NAME_BYTES) >> bit & 1 != 0;
        let name = record[..NAME_BYTES].split(|byte| *byte == 0).next().unwrap_or(&[]);
        Self {
            name: String::from_utf8_lossy(name).into_owned(),
            root: given(0).then(|| word(36)),
            op: given(1).then(|| word(40)),
            class: word(44) as i32,
            bytes: given(2).then(|| long(48)),
            blocks: given(3).then(|| long(56)),
        }
    }

    /// The call in words, with the names of members.
    fn call(&self, member: &impl Fn(u32) -> String) -> String {
        if self.name.is_empty() {
            return "a function that makes or frees an object, or MPI_Finalize".to_owned();
        }
        let op = self.op.map(|op| match Op::predefined(op) {
            Some(Op::Predefined(operator)) => operator.name().to_owned(),
            Some(Op::User(_)) | None => "an operation of the application".to_owned(),
        });
        let root = self.root.map(|root| format!("{} as root", member(root)));
        let bytes = self.bytes.map(|bytes| match self.blocks {
            None => format!("{bytes} bytes"),
            Some(_) => format!("blocks of {bytes} bytes in all"),
        });
        let arguments: Vec<_> = [root, op, bytes].into_iter().flatten().collect();
        match &arguments[..] {
            [] => self.name.clone(),
            arguments => format!("{} with {}", self.name, arguments.join(", ")),
        }
    }
}

/// Why the calls of all members are not one operation.
///
/// # Errors
/// `Arg` for unlike functions, `Root`, `Op`, `Count` for what they disagree about; the class of a
/// member whose arguments are wrong.
fn compare_records(all: &[CallRecord], comm: &str, member: impl Fn(u32) -> String) -> Result {
    let of = |rank: usize| format!("{} called {}", member(rank as u32), all[rank].call(&member));
    let unlike = |[one, other]: [usize; 2], class: ErrorClass, what: &str| {
        let (one, other) = (of(one), of(other));
        let why = format!("unlike {what} in a collective operation on {comm}: {one}, {other}");
        Err(class.error(why))
    };
    if let Some(other) = all.iter().position(|said| said.name != all[0].name) {
        return unlike([0, other], ErrorClass::Arg, "functions");
    }
    if let Some(wrong) = all.iter().position(|said| said.class != 0) {
        let class = ErrorClass::from_value(all[wrong].class).unwrap_or(ErrorClass::Other);
        let (rank, name) = (member(wrong as u32), &all[wrong].name);
        let why = format!("{rank} called {name} on {comm} with wrong arguments: {}", class.name());
        return Err(class.error(why));
    }
    if let Some(pair) = first_difference(all, |said| said.root.map(u64::from)) {
        return unlike(pair, ErrorClass::Root, "roots");
    }
    if let Some(pair) = first_difference(all, |said| said.op.map(u64::from)) {
        return unlike(pair, ErrorClass::Op, "operations");
    }
    if let Some(pair) = first_difference(all, |said| said.bytes) {
        return unlike(pair, ErrorClass::Count, "amounts of data");
    }
    match first_difference(all, |said| said.blocks) {
        Some(pair) => unlike(pair, ErrorClass::Count, "lengths of blocks"),
        None => Ok(()),
    }
}

/// The first two members that say two things.
fn first_difference(
    all: &[CallRecord], what: impl Fn(&CallRecord) -> Option<u64>,
) -> Option<[usize; 2]> {
    let mut saying = all.iter().enumerate().filter_map(|(rank, said)| Some((rank, what(said)?)));
    let (first, due) = saying.next()?;
    saying.find(|(_, value)| *value != due).map(|(other, _)| [first, other])
}

/// What to call members of a communicator in a sentence.
fn member_names(comm: &Comm) -> impl Fn(u32) -> String + Send + 'static {
    let [own, other] = comm.sides();
    let is_inter = comm.is_inter();
    move |member| match (own.contains(&member), is_inter) {
        (_, false) => format!("rank {member}"),
        (true, true) => format!("rank {} of this group", member - own.start),
        (false, true) => format!("rank {} of the other group", member - other.start),
    }
}

impl<D: Device> Mpi<D> {
    /// The collective function `name` begins.
    #[inline]
    pub(crate) fn begin_record(&mut self, name: &str) {
        if self.checked_mode.on {
            self.checked_mode.record =
                CallRecord { name: name.to_owned(), ..CallRecord::default() };
        }
    }

    /// Notes what the call in hand is about.
    #[inline]
    pub(crate) fn add_to_record(&mut self, say: impl FnOnce(&mut CallRecord) -> &mut CallRecord) {
        if self.checked_mode.on {
            say(&mut self.checked_mode.record);
        }
    }

    /// What [`Mpi::launch`] does in checked mode.
    pub(crate) fn launch_checked(&mut self, comm: Handle, plan: RunPlan) -> Result<RunId> {
        self.exchange_records(comm, Some(plan), None)
    }

    /// Keeps what was prepared for a call that does not start it yet. In checked mode the activity
    /// is over when all agree; a rank whose arguments are wrong tells the others.
    ///
    /// # Errors
    /// What is wrong; `Comm` if there is no such communicator.
    pub(crate) fn check_or_report(
        &mut self, call: Call, prepared: Result<Bound>,
        keep: impl FnOnce(&mut Self, Bound) -> Result,
    ) -> Result<Activity> {
        let kept = match prepared {
            Ok(prepared) => keep(self, prepared),
            Err(error) => {
                // The others take a number for what they made.
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

    /// Starts what was prepared for a call. In checked mode a rank whose arguments are wrong tells
    /// the others, which would wait for it: a blocking call ends when all know, another at once.
    ///
    /// # Errors
    /// What is wrong; `Comm` if there is no such communicator.
    #[inline]
    pub(crate) fn launch_or_report(
        &mut self, call: Call, prepared: Result<Bound>,
    ) -> Result<Activity> {
        match prepared {
            Ok(prepared) => self.launch(call.comm, prepared),
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

    /// Starts the exchange of records, and what is to come after it if all agree.
    fn exchange_records(
        &mut self, comm: Handle, plan: Option<RunPlan>, own: Option<Box<MpiError>>,
    ) -> Result<RunId> {
        let said = std::mem::take(&mut self.checked_mode.record);
        let comm = self.comms.get_mut(comm)?;
        let (shape, rank) = (comm.members_shape(), comm.member());
        let args = UniformBlocks { block: RECORD_BYTES, in_place: false };
        let all = vec![0; RECORD_BYTES * shape.ranks as usize];
        let buffers = vec![Memory::owned(said.emit()), Memory::owned(all)];
        let question = RunPlan::moving(allgather::bruck::schedule(shape, rank, args), buffers);
        let (title, member) = (comm.title().to_owned(), member_names(comm));
        let judge = move |buffers: &[Memory]| {
            let mut bytes = vec![0; buffers[1].len()];
            buffers[1].pack(0, &mut bytes);
            let (records, _) = bytes.as_chunks();
            let all: Vec<CallRecord> = records.iter().map(CallRecord::parse).collect();
            own.map_or(Ok(()), Err).and_then(|()| compare_records(&all, &title, member))
        };
        let launch = Launch {
            plan: question,
            members: comm.members(),
            rank,
            context: comm.context.for_traffic(Traffic::Collective),
            sequence: comm.next_call(),
        };
        // Every rank takes the number of the operation, whether or not it has one.
        let sequence = comm.next_call();
        let next = plan.map(|plan| (plan, sequence));
        Ok(self.engine.launch_with(launch, Continuation { check: Box::new(judge), next }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::op::{Operator, UserFunction};
    use super::*;

    fn said(name: &str) -> CallRecord {
        CallRecord { name: name.to_owned(), ..CallRecord::default() }
    }

    fn error(all: &[CallRecord]) -> (i32, String) {
        let error =
            compare_records(all, "MPI_COMM_WORLD", |rank| format!("rank {rank}")).unwrap_err();
        (error.code.0, error.why.to_string())
    }

    #[test]
    fn records_read_back() {
        let mut full = said("MPI_Reduce_scatter_block_init");
        full.root(7).op(Op::Predefined(Operator::Max)).blocks([1, 0, 1 << 40].into_iter());
        let failed = CallRecord { class: -3, ..said("MPI_Ibcast") };
        for one in [full, failed, CallRecord::default()] {
            assert_eq!(CallRecord::parse(&one.emit()), one);
        }
    }

    #[test]
    fn what_is_not_said_agrees_with_everything() {
        let mut one = said("MPI_Bcast");
        one.root(1).bytes(8);
        let all = [said("MPI_Bcast"), one.clone(), one, said("MPI_Bcast")];
        assert!(compare_records(&all, "", |rank| rank.to_string()).is_ok());
    }

    #[test]
    fn disagreement_names_both_ranks_with_their_calls() {
        let bcast = |root, bytes| {
            let mut said = said("MPI_Bcast");
            said.root(root).bytes(bytes);
            said
        };
        let (class, why) = error(&[bcast(0, 8), bcast(0, 8), bcast(1, 8)]);
        assert_eq!(class, ErrorClass::Root as i32);
        assert_eq!(
            why,
            "unlike roots in a collective operation on MPI_COMM_WORLD: rank 0 called MPI_Bcast with \
             rank 0 as root, 8 bytes, rank 2 called MPI_Bcast with rank 1 as root, 8 bytes"
        );
        let (class, why) = error(&[bcast(0, 8), bcast(0, 12)]);
        assert_eq!(class, ErrorClass::Count as i32);
        assert!(why.contains("8 bytes") && why.contains("12 bytes"), "{why}");
        let (class, why) = error(&[bcast(0, 8), said("MPI_Barrier"), CallRecord::default()]);
        assert_eq!(class, ErrorClass::Arg as i32);
        assert!(why.ends_with("8 bytes, rank 1 called MPI_Barrier"), "{why}");
        let op = |op| {
            let mut said = said("MPI_Iallreduce");
            said.op(op);
            said
        };
        let user = Op::User(UserFunction { address: 1, large: false, commutative: true });
        let (class, why) = error(&[op(Op::Predefined(Operator::Sum)), op(user)]);
        assert_eq!(class, ErrorClass::Op as i32);
        assert!(why.contains("MPI_SUM") && why.contains("an operation of the"), "{why}");
        let mut blocks = [said("MPI_Allgatherv"), said("MPI_Allgatherv")];
        blocks[0].blocks([1, 2].into_iter());
        blocks[1].blocks([2, 1].into_iter());
        assert!(error(&blocks).1.starts_with("unlike lengths of blocks"));
        let wrong = CallRecord { class: ErrorClass::Type as i32, ..said("MPI_Bcast") };
        let (class, why) = error(&[bcast(0, 8), wrong]);
        assert_eq!(class, ErrorClass::Type as i32);
        assert!(why.contains("rank 1") && why.contains("MPI_ERR_TYPE"), "{why}");
    }
}
