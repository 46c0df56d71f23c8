//! Persistent collective calls that the device runs: all ranks create a program, or none does.
//!
//! ```text
//!   compare calls ──► connect ──► vote: can all? ──► grants ──► targets ──► load ──► vote: have all? ──► program
//!   (checked mode)                     │                                                 │
//!                                      └───────────────── no ────────────────────────────┴──► run by messages
//! ```
//!
//! A vote is the minimum over all ranks. Between the votes, a rank may find that it cannot register its
//! memory. After the second vote no rank starts a program before all ranks have loaded theirs. A rank
//! without enough counters or memory for work in its interface is no reason for a no: software of the
//! interface runs its program (`device::trigger`).
//!
//! The messages of the agreement have the number of the operation, as those of a run by messages would
//! have. A rank with wrong arguments votes no, so that the others need not wait for it.
//!
//! The program itself is compiled in [`offload::compile`](crate::offload::compile) and loaded in
//! [`program_setup`](crate::engine::programs::program_setup).

use std::sync::Arc;

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::programs::offloaded::OffloadedId;
use crate::engine::programs::program_setup::ProgramSetup;
use crate::engine::schedules::plan::{Launch, RunId, RunPlan};
use crate::engine::schedules::reduction::ReductionMethod;
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms::allreduce;
use crate::mpi::collective::algorithms::{Allreduce, Operands, RECEIVE};
use crate::mpi::collective::calls::Call;
use crate::mpi::communicator::{Comm, Traffic};
use crate::mpi::handle::Handle;
use crate::mpi::point_to_point::StartArguments;
use crate::mpi::request::Activity;
use crate::mpi::request::status::Status;
use crate::offload::Buffer;
use platform::base::{ErrorClass, Result, Span};
use platform::diagnosis::wait_report::WaitReport;

/// Votes.
const NO: u8 = 0;
const YES: u8 = 1;

/// The agreement of the ranks on one program, a part of
/// [`PersistentInit`](super::persistent::PersistentInit).
#[derive(Debug)]
pub struct OffloadNegotiation {
    comm: Handle,
    /// The exchange with the other ranks in the current step.
    waiting_for: Activity,
    /// The step after that.
    next: NegotiationStep,
}

/// A step of an agreement.
#[derive(Debug)]
enum NegotiationStep {
    /// Connect with the ranks that the program names, if this rank can create one.
    Propose(Launch),
    /// When that has ended, vote on whether all ranks can create a program.
    Connect(LocalOffer),
    /// If all can, send a grant to each rank that puts data here.
    SendGrants(LocalOffer),
    /// Send the effects of arrivals here: addresses and counters.
    SendPlacements(Box<ProgramSetup>),
    /// Load the program, and vote on whether all ranks have.
    Load(Box<ProgramSetup>),
    CreateRequest(LocalOffer),
    Finished,
}

/// The operation on this rank, as far as it is ready.
#[derive(Debug)]
enum LocalOffer {
    Draft(Box<ProgramSetup>),
    Program(OffloadedId),
    /// The operation runs by messages.
    Run(Launch),
}

/// The result of a step.
enum NegotiationProgress {
    Waiting(Activity, NegotiationStep),
    Created(Handle),
}

impl<D: Device> Mpi<D> {
    /// Whether the device runs persistent operations on `comm`; the same on all ranks.
    pub(in crate::mpi) fn is_offloaded(&self, comm: &Comm) -> bool {
        self.offload.is_some() && comm.members_shape().ranks > 1
    }

    /// Starts the agreement on a call of the function `name`.
    ///
    /// # Errors
    /// That of `call` or its binding.
    pub(in crate::mpi) fn begin_offload(
        &mut self, name: &str, comm: Handle, call: Result<Call>,
    ) -> Result<OffloadNegotiation> {
        let record = self.call_record(name, &call);
        match self.persistent_launch(comm, call) {
            Ok(launch) => {
                let waiting_for = self.agree_on_call(comm, record)?;
                let next = NegotiationStep::Propose(launch);
                Ok(OffloadNegotiation { comm, waiting_for, next })
            }
            Err(error) => {
                let error = self.report_error(comm, record, error);
                // In checked mode the record has told the others.
                if !self.checked_mode.is_on() {
                    let run = self.begin_vote(comm, NO)?;
                    self.engine.release_run(run);
                }
                Err(error)
            }
        }
    }

    /// The request, once it exists. Poll until the result is not `None`, and not after that.
    ///
    /// # Errors
    /// That of a message; `NoMem` without a free handle. Then there is no request.
    pub(in crate::mpi) fn end_offload(
        &mut self, negotiation: &mut OffloadNegotiation,
    ) -> Result<Option<Handle>> {
        while self.is_complete(&negotiation.waiting_for) && self.has_connected(&negotiation.next) {
            let completed = Activity::Complete(Status::EMPTY);
            let activity = std::mem::replace(&mut negotiation.waiting_for, completed);
            let next = std::mem::replace(&mut negotiation.next, NegotiationStep::Finished);
            let received = match self.take_received(activity) {
                Ok(received) => received,
                Err(error) => {
                    self.abandon_negotiation(next);
                    return Err(error);
                }
            };
            match self.advance_negotiation(negotiation.comm, next, &received)? {
                NegotiationProgress::Waiting(activity, next) => {
                    (negotiation.waiting_for, negotiation.next) = (activity, next)
                }
                NegotiationProgress::Created(request) => return Ok(Some(request)),
            }
        }
        Ok(None)
    }

    /// The ranks that the function `function` waits for, to agree on a program.
    pub(in crate::mpi) fn offload_wait_report(
        &self, function: &str, negotiation: &OffloadNegotiation,
    ) -> WaitReport {
        self.blocked(function, [&negotiation.waiting_for])
    }

    /// The buffers of a completed exchange.
    fn take_received(&mut self, activity: Activity) -> Result<Vec<Memory>> {
        let Activity::Run(run) = activity else { return Ok(Vec::new()) };
        let Some(end) = self.engine.take_run_end(run) else { return Ok(Vec::new()) };
        end.error.map_or(Ok(end.buffers), Err)
    }

    fn advance_negotiation(
        &mut self, comm: Handle, next: NegotiationStep, received: &[Memory],
    ) -> Result<NegotiationProgress> {
        match next {
            NegotiationStep::Propose(launch) => {
                let offer = self.draft_offer(launch);
                let nothing = Activity::Complete(Status::EMPTY);
                Ok(NegotiationProgress::Waiting(nothing, NegotiationStep::Connect(offer)))
            }
            NegotiationStep::Connect(offer) => {
                let offer = self.connected_offer(offer);
                let vote = if matches!(offer, LocalOffer::Draft(_)) { YES } else { NO };
                Ok(NegotiationProgress::Waiting(
                    Activity::Run(self.begin_vote(comm, vote)?),
                    NegotiationStep::SendGrants(offer),
                ))
            }
            NegotiationStep::SendGrants(LocalOffer::Draft(setup)) if all_voted_yes(received) => {
                let run = self.engine.launch(setup.grant_exchange());
                Ok(NegotiationProgress::Waiting(
                    Activity::Run(run),
                    NegotiationStep::SendPlacements(setup),
                ))
            }
            NegotiationStep::SendPlacements(mut setup) => {
                setup.take_grants(received);
                self.engine.reserve_resources(&mut setup);
                let run = self.engine.launch(setup.target_exchange());
                Ok(NegotiationProgress::Waiting(Activity::Run(run), NegotiationStep::Load(setup)))
            }
            NegotiationStep::Load(setup) => {
                let (offer, vote) = match self.engine.load(*setup, received) {
                    Ok(program) => (LocalOffer::Program(program), YES),
                    Err(refusal) => {
                        let (launch, why) = *refusal;
                        tracing::warn!(why = %why.why, "a persistent collective stays on the host");
                        (LocalOffer::Run(launch), NO)
                    }
                };
                Ok(NegotiationProgress::Waiting(
                    Activity::Run(self.begin_vote(comm, vote)?),
                    NegotiationStep::CreateRequest(offer),
                ))
            }
            NegotiationStep::CreateRequest(LocalOffer::Program(program))
                if all_voted_yes(received) =>
            {
                let request = self.persistent(comm, StartArguments::Program(program));
                if request.is_err() {
                    self.engine.release_offloaded(program);
                }
                request.map(NegotiationProgress::Created)
            }
            NegotiationStep::SendGrants(offer) | NegotiationStep::CreateRequest(offer) => {
                let launch = self.withdraw_offer(offer);
                self.persistent_run(comm, launch).map(NegotiationProgress::Created)
            }
            NegotiationStep::Finished => {
                Err(ErrorClass::Intern.error("the agreement on a program was polled after its end"))
            }
        }
    }

    /// Whether a step need not wait for connections.
    fn has_connected(&mut self, next: &NegotiationStep) -> bool {
        match next {
            NegotiationStep::Connect(LocalOffer::Draft(setup)) => {
                self.engine.connect_peers(setup).is_some()
            }
            _ => true,
        }
    }

    /// An offer after the attempts to connect have ended.
    fn connected_offer(&mut self, offer: LocalOffer) -> LocalOffer {
        let LocalOffer::Draft(setup) = offer else { return offer };
        match self.engine.connect_peers(&setup) {
            None | Some(Ok(())) => LocalOffer::Draft(setup),
            Some(Err(why)) => {
                tracing::debug!(why, "a persistent collective is not for the device");
                LocalOffer::Run(self.engine.cancel_setup(*setup))
            }
        }
    }

    /// The draft of a program, if this rank can create one.
    fn draft_offer(&mut self, launch: Launch) -> LocalOffer {
        let scheme = self.offload.unwrap_or_default();
        match self.engine.draft(launch, scheme) {
            Ok(setup) => LocalOffer::Draft(Box::new(setup)),
            Err(refusal) => {
                let (launch, why) = *refusal;
                tracing::debug!(why, "a persistent collective is not for the device");
                LocalOffer::Run(launch)
            }
        }
    }

    /// Starts a vote of all members.
    fn begin_vote(&mut self, comm: Handle, vote: u8) -> Result<RunId> {
        let on = self.comms.get(comm)?;
        let operands = Operands { bytes: 1, element: 1, commutative: true };
        let args = Allreduce { operands, in_place: true };
        let schedule = allreduce::doubling::schedule(on.members_shape(), on.member(), args);
        let minimum = Arc::new(|from: Span, into: Span| {
            let mut votes = [[0], [0]];
            from.read(0, &mut votes[0]);
            into.read(0, &mut votes[1]);
            into.write(0, &votes[0].min(votes[1]));
        });
        let plan = RunPlan {
            schedule: Arc::new(schedule),
            buffers: vec![Memory::EMPTY, Memory::owned([vote])],
            staged: Vec::new(),
            reduction: ReductionMethod::Kernel(minimum),
        };
        Ok(self.engine.launch(Launch {
            plan,
            members: on.members(),
            rank: on.member(),
            context: on.context.for_traffic(Traffic::Persistent),
            sequence: on.inits,
        }))
    }

    /// The run by messages of an operation that the device does not run.
    fn withdraw_offer(&mut self, offer: LocalOffer) -> Launch {
        match offer {
            LocalOffer::Draft(setup) => self.engine.cancel_setup(*setup),
            LocalOffer::Program(program) => self.engine.unload(program),
            LocalOffer::Run(launch) => launch,
        }
    }

    fn abandon_negotiation(&mut self, next: NegotiationStep) {
        match next {
            NegotiationStep::Connect(offer)
            | NegotiationStep::SendGrants(offer)
            | NegotiationStep::CreateRequest(offer) => drop(self.withdraw_offer(offer)),
            NegotiationStep::SendPlacements(setup) | NegotiationStep::Load(setup) => {
                drop(self.engine.cancel_setup(*setup))
            }
            NegotiationStep::Propose(_) | NegotiationStep::Finished => {}
        }
    }
}

/// Whether the result of a vote is yes.
fn all_voted_yes(received: &[Memory]) -> bool {
    let Buffer::User(entry) = RECEIVE else { return false };
    let mut result = [NO];
    received.get(entry as usize).is_some_and(|vote| {
        vote.pack(0, &mut result);
        result == [YES]
    })
}
