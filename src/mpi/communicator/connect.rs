//! Intercommunicators between jobs (MPI 5.0 §11.9.3): accept and connect.
//!
//! Both groups do the same, except that the root that connects speaks first, to a root that it knows
//! from the name of a port:
//!
//! ```text
//!   members            root (connects)              root (accepts)             members
//!   record ──gather──>                                          <──gather── record
//!                      call: identity, context ──port──>
//!                      heads: size, settings, key, and
//!                      records of all processes    <──>
//!        <──bcast── outcome, records                outcome, records ──bcast──>
//!        <──scatter── key                                       key ──scatter──>
//!   admit              admit                        admit                     admit
//! ```
//!
//! The *key* is drawn by the root that accepts, for connections between these two groups; it crosses
//! sealed with a secret that its receiver has: that of the port, of the job, or of another group. The root
//! that connects chooses the context of the new communicator, in which the roots already talk. An error
//! of a root reaches its group with the outcome; the other root finds it out by itself.

use std::sync::Arc;

use crate::device::Device;
use crate::device::reach::{
    ConnectionKey, ForeignAddress, ForeignProcess, Reach, SEALED_BYTES, SealedFor,
};
use crate::engine::Engine;
use crate::engine::memory::Memory;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::schedules::plan::{Launch, Members, RunEnd, RunId, RunPlan};
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms::{Bcast, Collective, Rooted};
use crate::mpi::communicator::create::pairwise_exchange;
use crate::mpi::communicator::port::{PortName, ProcessRecord, port_context};
use crate::mpi::communicator::{Comm, Context, Traffic};
use crate::mpi::group::Group;
use crate::mpi::handle::Handle;
use crate::mpi::processes::{JobId, ProcessIdentity};
use platform::base::{ErrorClass, ErrorCode, MpiError, Peer, Result};
use platform::diagnosis::wait_report::WaitReport;

/// Bytes of the first message: an identity and a context.
const CALL_BYTES: usize = ProcessIdentity::BYTES + 8;

/// Bytes of [`GroupHead`].
const HEAD_BYTES: usize = 4 + 8 + 16 + SEALED_BYTES;

/// Bytes of [`MeetingResult`].
const OUTCOME_BYTES: usize = 4 + 4 + 8 + 16;

/// What the root passes to [`Mpi::start_meeting`].
pub(crate) enum MeetingRole {
    /// Accepts at a port of this process.
    Accept {
        port: String,
        /// A new key for the connections between both groups.
        key: ConnectionKey,
    },
    /// Connects to a port of another job.
    Connect { port: String },
    /// Not the root, or the root has this error.
    Member(Option<Box<MpiError>>),
}

/// An accept or a connect in progress, at one process.
pub(crate) struct JobMeeting {
    comm: Handle,
    group: Arc<Group>,
    root: u32,
    /// The end of the root toward the other job.
    end: Option<RootEnd>,
    /// The error of this root.
    failure: Option<Box<MpiError>>,
    /// The number of processes that the other job has, or was to have: of the root, then of all.
    pub(crate) announced: u32,
    stage: MeetingStage,
}

enum MeetingStage {
    /// The root gathers the records of the group.
    Gather(RunId),
    /// The root talks to the other root.
    Roots(RootStage),
    /// The root tells the group the result.
    Outcome(RunId),
    /// The root tells the records of the other group.
    Records(RunId, MeetingResult),
    /// The root distributes the key.
    Keys(RunId, MeetingResult, Vec<ProcessRecord>),
    /// After an error.
    Over,
}

/// What a root needs of the other job.
struct RootEnd {
    port: PortName,
    /// The new key, at the root that accepts; then at both.
    key: Option<ConnectionKey>,
    /// The records of the own group.
    own: Vec<u8>,
    /// Those of the other one.
    other: Vec<u8>,
}

/// The conversation of the roots.
enum RootStage {
    /// Accepts: no process has called.
    Listening,
    /// Accepts: the message of a caller is on its way.
    Called(RunId),
    /// The heads are on their way.
    Heads(RunId, JobLink),
    /// The records are on their way.
    Records(RunId, JobLink, GroupHead),
}

/// The way between the roots.
#[derive(Clone)]
struct JobLink {
    peer: Peer,
    context: Context,
    connects: bool,
}

/// What each root tells the other one of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroupHead {
    size: u32,
    /// A hash of the settings on which both must agree.
    settings: u64,
    /// The name of the new key.
    key: [u8; 16],
    /// The new key, sealed with that of the port.
    sealed: [u8; SEALED_BYTES],
}

/// What a root tells its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MeetingResult {
    /// The code of an error, or 0.
    code: i32,
    /// The size of the other group.
    size: u32,
    context: Context,
    /// The name of the key.
    key: [u8; 16],
}

impl<D: Device> Mpi<D> {
    /// The name of a new port of this process; `key` is new, too.
    ///
    /// # Errors
    /// `Port` if the device reaches no other jobs.
    pub(crate) fn open_port(&mut self, key: ConnectionKey) -> Result<String> {
        let process = self.comms.processes.identity_or_local(self.engine.me());
        let reach = reach(&mut self.engine)?;
        reach.open_port(&key);
        let (host, card) = (self.presence.host.replace('/', "_"), reach.card());
        Ok(PortName { process, key, host, card }.emit())
    }

    /// Closes a port: processes that connect later or wait there are refused.
    ///
    /// # Errors
    /// `Port` if it is no open port of this process.
    pub(crate) fn close_port(&mut self, name: &str) -> Result {
        let id = self.own_port(name)?.key.id;
        let reach = reach(&mut self.engine)?;
        reach.close_port(id);
        self.forget_unused(false);
        Ok(())
    }

    /// # Errors
    /// `Port` if it is no open port of this process.
    fn own_port(&mut self, name: &str) -> Result<PortName> {
        let port = PortName::parse(name)?;
        let me = self.comms.processes.identity_or_local(self.engine.me());
        let is_known = reach(&mut self.engine)?.knows_key(&port.key);
        if port.process != me || !is_known {
            let why = "the port is not open at this process: expected a name from MPI_Open_port that \
                       MPI_Close_port has not had";
            return Err(ErrorClass::Port.error(why));
        }
        Ok(port)
    }

    /// Starts to accept or connect with the group of `comm`, whose rank `root` has the role of a root.
    ///
    /// # Errors
    /// `Comm` if `comm` is not an intracommunicator, `Root` if there is no such rank, `Other` if the
    /// device reaches no other jobs.
    pub(crate) fn start_meeting(
        &mut self, comm: Handle, root: i32, role: MeetingRole,
    ) -> Result<JobMeeting> {
        let on = self.comms.get(comm)?;
        on.check_intra("a connection between jobs")?;
        let (root, group) = (on.check_root(root)?, Arc::clone(&on.group));
        let is_root = on.rank == root;
        let (end, failure) = match self.root_end(role) {
            Ok(end) => (end, None),
            Err(error) => (None, Some(error)),
        };
        let me = self.engine.me();
        let identity = self.comms.processes.identity_or_local(me);
        let card = reach(&mut self.engine)?.card();
        let record = ProcessRecord {
            identity,
            node: self.comms.node_of(me),
            representation: self.comms.processes.representation(me),
            card,
            host: self.presence.host.clone(),
        };
        let all = if is_root { group.size() as usize * ProcessRecord::BYTES } else { 0 };
        let buffers = vec![Memory::owned(record.emit()), Memory::owned(vec![0; all])];
        let gather = Rooted { block: ProcessRecord::BYTES, root, in_place: false };
        let run = self.launch_on(comm, Collective::Gather(gather), buffers)?;
        self.comms.meetings += 1;
        let stage = MeetingStage::Gather(run);
        Ok(JobMeeting { comm, group, root, end, failure, announced: 0, stage })
    }

    /// # Errors
    /// That of the root; `Port` for a port that does not exist.
    fn root_end(&mut self, role: MeetingRole) -> Result<Option<RootEnd>> {
        let (port, key) = match role {
            MeetingRole::Member(None) => return Ok(None),
            MeetingRole::Member(Some(error)) => return Err(error),
            MeetingRole::Connect { port } => (PortName::parse(&port)?, None),
            MeetingRole::Accept { port, key } => (self.own_port(&port)?, Some(key)),
        };
        Ok(Some(RootEnd { port, key, own: Vec::new(), other: Vec::new() }))
    }

    /// The intercommunicator, once there is one. `is_late`: the time of the application is over.
    ///
    /// # Errors
    /// `Port` if the other job cannot be reached, or is late; the error of the own root; `NoMem`
    /// without a free handle.
    pub(crate) fn advance_meeting(
        &mut self, meeting: &mut JobMeeting, is_late: bool,
    ) -> Result<Option<Handle>> {
        loop {
            let stage = std::mem::replace(&mut meeting.stage, MeetingStage::Over);
            match self.next_stage(meeting, stage, is_late) {
                Ok(Advance::To(stage)) => meeting.stage = stage,
                Ok(Advance::Stays(stage)) => {
                    meeting.stage = stage;
                    return Ok(None);
                }
                Ok(Advance::Made(comm)) => {
                    self.end_meeting(meeting);
                    return Ok(Some(comm));
                }
                Err(error) => {
                    self.end_meeting(meeting);
                    self.forget_unused(false);
                    return Err(meeting.failure.take().unwrap_or(error));
                }
            }
        }
    }

    /// Forgets what only connections that begin need.
    fn end_meeting(&mut self, meeting: &JobMeeting) {
        self.comms.meetings -= 1;
        if self.comms.meetings == 0 {
            self.comms.job_links.clear();
        }
        if let (Some(root), Some(reach)) = (&meeting.end, self.engine.reach()) {
            reach.drop_unused_key(root.port.key.id);
            root.key.iter().for_each(|key| reach.drop_unused_key(key.id));
        }
    }

    fn next_stage(
        &mut self, meeting: &mut JobMeeting, stage: MeetingStage, is_late: bool,
    ) -> Result<Advance> {
        match stage {
            MeetingStage::Gather(run) => {
                let Some(end) = self.run_end(run)? else {
                    return Ok(Advance::Stays(MeetingStage::Gather(run)));
                };
                self.gathered(meeting, &end).map(Advance::To)
            }
            MeetingStage::Roots(stage) => self.between_roots(meeting, stage, is_late),
            MeetingStage::Outcome(run) => match self.run_end(run)? {
                None => Ok(Advance::Stays(MeetingStage::Outcome(run))),
                Some(end) => self.decided(meeting, &end).map(Advance::To),
            },
            MeetingStage::Records(run, outcome) => match self.run_end(run)? {
                None => Ok(Advance::Stays(MeetingStage::Records(run, outcome))),
                Some(end) => self.distribute_key(meeting, outcome, &end).map(Advance::To),
            },
            MeetingStage::Keys(run, outcome, records) => match self.run_end(run)? {
                None => Ok(Advance::Stays(MeetingStage::Keys(run, outcome, records))),
                Some(end) => self.admit_all(meeting, outcome, &records, &end).map(Advance::Made),
            },
            MeetingStage::Over => Err(ErrorClass::Intern.error("a connection of jobs has ended")),
        }
    }

    /// The root gives up to wait for the other job.
    ///
    /// # Errors
    /// `Comm` if the communicator has been freed.
    pub(crate) fn refuse_meeting(
        &mut self, meeting: &mut JobMeeting, error: Box<MpiError>,
    ) -> Result {
        if matches!(meeting.stage, MeetingStage::Roots(_)) {
            meeting.stage = self.fail_meeting(meeting, error)?;
        }
        Ok(())
    }

    /// The records of the own group have arrived at the root, or have left.
    fn gathered(&mut self, meeting: &mut JobMeeting, end: &RunEnd) -> Result<MeetingStage> {
        if self.comms.get(meeting.comm)?.rank != meeting.root {
            return self.await_outcome(meeting);
        }
        let Some(root) = meeting.end.as_mut() else { return self.share_failure(meeting) };
        root.own = end.buffers[1].packed();
        if root.key.is_some() {
            return Ok(MeetingStage::Roots(RootStage::Listening));
        }
        match self.call(meeting) {
            Ok(stage) => Ok(MeetingStage::Roots(stage)),
            Err(error) => self.fail_meeting(meeting, error),
        }
    }

    fn await_outcome(&mut self, meeting: &JobMeeting) -> Result<MeetingStage> {
        self.bcast(meeting, vec![0; OUTCOME_BYTES]).map(MeetingStage::Outcome)
    }

    fn bcast(&mut self, meeting: &JobMeeting, bytes: Vec<u8>) -> Result<RunId> {
        let bcast = Collective::Bcast(Bcast { bytes: bytes.len(), root: meeting.root });
        self.launch_on(meeting.comm, bcast, vec![Memory::owned(bytes)])
    }

    fn fail_meeting(
        &mut self, meeting: &mut JobMeeting, error: Box<MpiError>,
    ) -> Result<MeetingStage> {
        meeting.failure = Some(error);
        self.share_failure(meeting)
    }

    /// The root tells its group of its error.
    fn share_failure(&mut self, meeting: &mut JobMeeting) -> Result<MeetingStage> {
        let code = meeting.failure.as_ref().map_or(ErrorClass::Intern as i32, |it| it.code.0);
        let outcome =
            MeetingResult { code, size: meeting.announced, context: Context::NONE, key: [0; 16] };
        self.bcast(meeting, outcome.emit()).map(MeetingStage::Outcome)
    }
}

/// The conversation of the roots.
impl<D: Device> Mpi<D> {
    /// The root calls the one that accepts at the port.
    fn call(&mut self, meeting: &JobMeeting) -> Result<RootStage> {
        let Some(root) = &meeting.end else { return Err(no_root()) };
        let PortName { process, key, host, card } = root.port.clone();
        if process == self.comms.processes.identity_or_local(self.engine.me()) {
            let why = "the port belongs to this process: expected one of another process";
            return Err(ErrorClass::Port.error(why));
        }
        let peer = self.comms.processes.admit_unless_known(process);
        let reach = reach(&mut self.engine)?;
        reach.add_key(&key);
        if self.comms.processes.is_appended(peer) {
            let process = foreign(process);
            let (card, host) = (&*card, &*host);
            reach.admit(peer, ForeignAddress { process, card, host, key: key.id })?;
        }
        let link = JobLink { peer, context: self.comms.choose_context(), connects: true };
        self.comms.job_links.push((link.context, peer));
        let identity = self.comms.processes.identity_or_local(self.engine.me());
        let call = [&identity.emit()[..], &link.context.bits().to_le_bytes()].concat();
        let to = JobLink { context: root.port.context(), ..link.clone() };
        let call = self.exchange_with(&to, 0, Some(call), None);
        // It is not waited for: the answer follows it.
        self.engine.release_run(call);
        self.exchange_heads(meeting, link)
    }

    fn exchange_heads(&mut self, meeting: &JobMeeting, link: JobLink) -> Result<RootStage> {
        let key =
            meeting.end.as_ref().and_then(|root| Some((root.port.key.id, root.key.as_ref()?)));
        let (key, sealed) = match key {
            None => ([0; 16], [0; SEALED_BYTES]),
            Some((port, key)) => {
                (key.id, reach(&mut self.engine)?.seal_key(key, SealedFor::Port(port)))
            }
        };
        let (size, settings) = (meeting.group.size(), self.presence.settings);
        let head = GroupHead { size, settings, key, sealed };
        let run = self.exchange_with(&link, 1, Some(head.emit()), Some(HEAD_BYTES));
        let own = meeting.end.as_ref().map(|root| root.own.clone());
        let records = self.exchange_with(&link, 2, own, None);
        // They are not waited for: those of the other root are.
        self.engine.release_run(records);
        Ok(RootStage::Heads(run, link))
    }

    fn between_roots(
        &mut self, meeting: &mut JobMeeting, stage: RootStage, is_late: bool,
    ) -> Result<Advance> {
        let run = match &stage {
            RootStage::Listening => None,
            RootStage::Called(run) | RootStage::Heads(run, _) | RootStage::Records(run, ..) => {
                Some(*run)
            }
        };
        let end = match run.map(|run| self.engine.take_run_end(run)) {
            Some(None) if is_late => Err(self.late(&stage)),
            Some(None) => return Ok(Advance::Stays(MeetingStage::Roots(stage))),
            Some(Some(RunEnd { error: Some(error), .. })) => Err(unreachable(&error)),
            Some(Some(end)) => Ok(Some(end)),
            None => Ok(None),
        };
        let next = end.and_then(|end| {
            match (stage, end) {
                (RootStage::Called(_), Some(end)) => self.called(meeting, &end),
                (RootStage::Heads(_, link), Some(end)) => self.heads_met(meeting, link, &end),
                (RootStage::Records(_, link, head), Some(end)) => {
                    return self.records_met(meeting, &link, head, &end).map(Advance::To);
                }
                (_, _) => match self.listen(meeting)? {
                    RootStage::Listening if is_late => Err(self.late(&RootStage::Listening)),
                    stage @ RootStage::Listening => {
                        return Ok(Advance::Stays(MeetingStage::Roots(stage)));
                    }
                    stage => Ok(stage),
                },
            }
            .map(|stage| Advance::To(MeetingStage::Roots(stage)))
        });
        match next {
            Err(error) => self.fail_meeting(meeting, error).map(Advance::To),
            next => next,
        }
    }

    /// The time of the application is over: the process that was to answer counts as failed.
    fn late(&mut self, stage: &RootStage) -> Box<MpiError> {
        let why = match stage {
            RootStage::Listening => "no process has connected to the port in the time of `timeout`",
            RootStage::Called(_) | RootStage::Heads(..) | RootStage::Records(..) => {
                "the process of the port has not accepted in the time of `timeout`"
            }
        };
        if let RootStage::Heads(_, link) | RootStage::Records(_, link, _) = stage {
            self.engine.end_connection(link.peer, why);
        }
        ErrorClass::Port.error(why)
    }

    /// Looks for a process that calls at the port.
    fn listen(&mut self, meeting: &JobMeeting) -> Result<RootStage> {
        let Some(root) = &meeting.end else { return Err(no_root()) };
        let key = root.port.key.id;
        while let Some(caller) = reach(&mut self.engine)?.take_caller(key) {
            let identity = ProcessIdentity {
                job: JobId(u128::from_le_bytes(caller.job)),
                rank: caller.rank,
                epoch: 0,
            };
            let peer = self.comms.processes.admit_unless_known(identity);
            let address = ForeignAddress { process: caller, card: "", host: "another host", key };
            reach(&mut self.engine)?.admit(peer, address)?;
        }
        let context = port_context(key).for_traffic(Traffic::Leaders);
        let pattern = MatchPattern { context, source: None, tag: None };
        if self.engine.probe(pattern).is_none() {
            return Ok(RootStage::Listening);
        }
        // All callers are rank 0 there; the first of them is the one that was found.
        let me = self.engine.me();
        let from = JobLink { peer: me, context: root.port.context(), connects: false };
        Ok(RootStage::Called(self.exchange_with(&from, 0, None, Some(CALL_BYTES))))
    }

    /// A process has called.
    fn called(&mut self, meeting: &JobMeeting, end: &RunEnd) -> Result<RootStage> {
        let call = end.buffers[1].packed();
        let parts = call.split_first_chunk::<{ ProcessIdentity::BYTES }>();
        let (identity, context) = parts.expect("a call has an identity");
        let identity = ProcessIdentity::parse(identity);
        let context = context.try_into().expect("a call ends with a context");
        let context = Context::from_bits(u64::from_le_bytes(context));
        let peer = self.comms.processes.peer_or_local(identity).ok_or_else(|| {
            ErrorClass::Port.error("a process has called under the name of another one")
        })?;
        let link = JobLink { peer, context, connects: false };
        self.comms.job_links.push((context, peer));
        self.exchange_heads(meeting, link)
    }

    /// # Errors
    /// `Port` if the jobs have different settings, or for a key that does not open.
    fn heads_met(
        &mut self, meeting: &mut JobMeeting, link: JobLink, end: &RunEnd,
    ) -> Result<RootStage> {
        let head = GroupHead::parse(&end.buffers[1].packed()).ok_or_else(no_root)?;
        let Some(root) = meeting.end.as_mut() else { return Err(no_root()) };
        if head.settings != self.presence.settings {
            let why = "the other job has other settings of collective operations or checks (SUIRO_COLL_*, \
                       SUIRO_CHECK, ...): they must be the same in both jobs";
            return Err(ErrorClass::Port.error(why));
        }
        if root.key.is_none() {
            let port = SealedFor::Port(root.port.key.id);
            let secret = reach(&mut self.engine)?.open_key(&head.sealed, port);
            let secret = secret.ok_or_else(|| {
                ErrorClass::Port.error("the other job has sent a key that does not open")
            })?;
            root.key = Some(ConnectionKey { id: head.key, secret });
        }
        let other = head.size as usize * ProcessRecord::BYTES;
        let run = self.exchange_with(&link, 2, None, Some(other));
        Ok(RootStage::Records(run, link, head))
    }

    /// The root has all that its group needs.
    fn records_met(
        &mut self, meeting: &mut JobMeeting, link: &JobLink, head: GroupHead, end: &RunEnd,
    ) -> Result<MeetingStage> {
        let Some(root) = meeting.end.as_mut() else { return Err(no_root()) };
        root.other = end.buffers[1].packed();
        let key = root.key.as_ref().map_or([0; 16], |key| key.id);
        let outcome = MeetingResult { code: 0, size: head.size, context: link.context, key };
        self.bcast(meeting, outcome.emit()).map(MeetingStage::Outcome)
    }

    /// Sends to the other root and receives from it, either at a time or both.
    fn exchange_with(
        &mut self, link: &JobLink, label: u16, send: Option<Vec<u8>>, receive: Option<usize>,
    ) -> RunId {
        let (rank, peer) = if link.connects { (0, 1) } else { (1, 0) };
        let schedule = pairwise_exchange(peer, label, send.as_ref().map(Vec::len), receive);
        let buffers = vec![
            Memory::owned(send.unwrap_or_default()),
            Memory::owned(vec![0; receive.unwrap_or_default()]),
        ];
        let me = self.engine.me();
        let peers = if link.connects { [me, link.peer] } else { [link.peer, me] };
        self.engine.launch(Launch {
            plan: RunPlan::moving(schedule, buffers),
            members: Arc::new(Group::new(&peers, me)) as Arc<dyn Members>,
            rank,
            context: link.context.for_traffic(Traffic::Leaders),
            sequence: 0,
        })
    }
}

/// The end within a group.
impl<D: Device> Mpi<D> {
    /// The outcome has arrived.
    ///
    /// # Errors
    /// That of the root.
    fn decided(&mut self, meeting: &mut JobMeeting, end: &RunEnd) -> Result<MeetingStage> {
        let outcome = MeetingResult::parse(&end.buffers[0].packed()).ok_or_else(no_root)?;
        meeting.announced = outcome.size;
        if outcome.code != 0 {
            let why = format!(
                "rank {} of the communicator, the root, could not connect; its error has the cause",
                meeting.root
            );
            return Err(MpiError::new(ErrorCode(outcome.code), why));
        }
        let records = match &meeting.end {
            Some(root) => root.other.clone(),
            None => vec![0; outcome.size as usize * ProcessRecord::BYTES],
        };
        let run = self.bcast(meeting, records)?;
        Ok(MeetingStage::Records(run, outcome))
    }

    fn distribute_key(
        &mut self, meeting: &JobMeeting, outcome: MeetingResult, end: &RunEnd,
    ) -> Result<MeetingStage> {
        let bytes = end.buffers[0].packed();
        let (records, _) = bytes.as_chunks();
        let records = records.iter().map(ProcessRecord::parse).collect();
        let mut all = Vec::new();
        if let Some(RootEnd { key: Some(key), .. }) = &meeting.end {
            for peer in meeting.group.peers() {
                let to = self.sealed_for(peer);
                all.extend(reach(&mut self.engine)?.seal_key(key, to));
            }
        }
        let scatter = Rooted { block: SEALED_BYTES, root: meeting.root, in_place: false };
        let buffers = vec![Memory::owned(all), Memory::owned([0; SEALED_BYTES])];
        let run = self.launch_on(meeting.comm, Collective::Scatter(scatter), buffers)?;
        Ok(MeetingStage::Keys(run, outcome, records))
    }

    /// What a member of the own group and this process both know.
    fn sealed_for(&self, peer: Peer) -> SealedFor {
        match self.comms.processes.is_appended(peer) {
            true => SealedFor::Peer(peer),
            false => SealedFor::Rank,
        }
    }

    /// Every process of the other group gets a number, and the communicator exists.
    fn admit_all(
        &mut self, meeting: &JobMeeting, outcome: MeetingResult, records: &[ProcessRecord],
        end: &RunEnd,
    ) -> Result<Handle> {
        let key = self.received_key(meeting, outcome.key, &end.buffers[1].packed())?;
        reach(&mut self.engine)?.add_key(&key);
        let mut peers = Vec::with_capacity(records.len());
        for ProcessRecord { identity, node, representation, card, host } in records {
            let peer = self.comms.processes.admit(*identity, *node, *representation);
            peers.push(peer);
            if self.comms.processes.is_appended(peer) {
                let address =
                    ForeignAddress { process: foreign(*identity), card, host, key: key.id };
                reach(&mut self.engine)?.admit(peer, address)?;
            }
        }
        reach(&mut self.engine)?.drop_unused_key(key.id);
        let comm = self.comms.get(meeting.comm)?;
        let (handler, session) = (comm.handler.clone(), comm.group.session());
        let remote = Group::new(&peers, self.engine.me()).in_session(session);
        let local = self.comms.sided(Arc::clone(&meeting.group), &remote);
        let made = Comm::new_inter(outcome.context, local, Arc::new(remote), handler)?;
        self.comms.insert(made)
    }

    fn received_key(
        &mut self, meeting: &JobMeeting, id: [u8; 16], bytes: &[u8],
    ) -> Result<ConnectionKey> {
        let root = self.sealed_for(meeting.group.peer(meeting.root));
        let reach = reach(&mut self.engine)?;
        let secret = bytes.try_into().ok().and_then(|sealed| reach.open_key(sealed, root));
        let secret = secret
            .ok_or_else(|| ErrorClass::Intern.error("the key of the other job does not open"))?;
        Ok(ConnectionKey { id, secret })
    }

    /// Report on the call `function`, which waits for another job.
    pub(crate) fn blocked_meeting(&self, function: &str, meeting: &JobMeeting) -> WaitReport {
        let stage = match &meeting.stage {
            MeetingStage::Roots(RootStage::Listening) => "no process has connected",
            MeetingStage::Roots(_) => "the other job has not answered",
            _ => "other processes of the communicator have not called it",
        };
        let details = format!("(root {} of the communicator; {stage})", meeting.root);
        WaitReport { details, ..WaitReport::new(function) }
    }
}

enum Advance {
    To(MeetingStage),
    Stays(MeetingStage),
    Made(Handle),
}

impl GroupHead {
    fn emit(&self) -> Vec<u8> {
        let (size, settings) = (self.size.to_le_bytes(), self.settings.to_le_bytes());
        [&size[..], &settings, &self.key, &self.sealed].concat()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (size, rest) = bytes.split_first_chunk()?;
        let (settings, rest) = rest.split_first_chunk()?;
        let (key, sealed) = rest.split_first_chunk()?;
        Some(Self {
            size: u32::from_le_bytes(*size),
            settings: u64::from_le_bytes(*settings),
            key: *key,
            sealed: sealed.try_into().ok()?,
        })
    }
}

impl MeetingResult {
    fn emit(&self) -> Vec<u8> {
        let (code, size) = (self.code.to_le_bytes(), self.size.to_le_bytes());
        [&code[..], &size, &self.context.bits().to_le_bytes(), &self.key].concat()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (code, rest) = bytes.split_first_chunk()?;
        let (size, rest) = rest.split_first_chunk()?;
        let (context, key) = rest.split_first_chunk()?;
        Some(Self {
            code: i32::from_le_bytes(*code),
            size: u32::from_le_bytes(*size),
            context: Context::from_bits(u64::from_le_bytes(*context)),
            key: key.try_into().ok()?,
        })
    }
}

/// # Errors
/// `Other` if the device reaches no other jobs.
pub(super) fn reach<D: Device>(engine: &mut Engine<D>) -> Result<&mut dyn Reach> {
    engine.reach().ok_or_else(|| {
        let why =
            "the device of this job reaches no other jobs: expected SUIRO_DEVICE=shm, tcp or ofi";
        ErrorClass::Other.error(why)
    })
}

fn foreign(identity: ProcessIdentity) -> ForeignProcess {
    ForeignProcess { job: identity.job.0.to_le_bytes(), rank: identity.rank }
}

#[cold]
fn no_root() -> Box<MpiError> {
    ErrorClass::Intern.error("a connection of jobs has lost its state")
}

/// The other root has failed, or was never there.
#[cold]
fn unreachable(error: &MpiError) -> Box<MpiError> {
    ErrorClass::Port.error(format!("the process of the port cannot be reached: {}", error.why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_and_outcomes_read_back() {
        let head =
            GroupHead { size: 7, settings: u64::MAX / 3, key: [4; 16], sealed: [9; SEALED_BYTES] };
        assert_eq!(head.emit().len(), HEAD_BYTES);
        assert_eq!(GroupHead::parse(&head.emit()), Some(head));
        let context = Context::new(3, 99);
        let outcome = MeetingResult { code: -1, size: 1 << 20, context, key: [1; 16] };
        assert_eq!(outcome.emit().len(), OUTCOME_BYTES);
        assert_eq!(MeetingResult::parse(&outcome.emit()), Some(outcome));
        assert_eq!((GroupHead::parse(&[0; 20]), MeetingResult::parse(&[0; 20])), (None, None));
    }
}
