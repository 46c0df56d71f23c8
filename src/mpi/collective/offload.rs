//! Persistent collective operations that the device runs by itself: how all ranks make one, or
//! none does.
//!
//! ```text
//!   compare calls ──> vote: can all? ──> grants ──> places ──> load ──> vote: have all? ──> program
//!   (checked mode)         │                                               │
//!                          └──────────────── no ───────────────────────────┴──────> run by messages
//! ```
//!
//! Votes are the least of what all ranks say. What a rank cannot do, such as to register its memory,
//! it finds out between the two. The second vote is also why nobody starts a program before all have
//! loaded theirs. That a rank lacks counters or room for work concerns it alone: then its host runs
//! its program (`device::trigger`).
//!
//! The messages of all this have the number of the operation, as those of the run would have. A rank
//! whose arguments are wrong votes no, so that the others need not wait for it.

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
use crate::mpi::collective::{Bound, Call};
use crate::mpi::communicator::{Comm, Traffic};
use crate::mpi::handle::Handle;
use crate::mpi::point_to_point::StartArguments;
use crate::mpi::request::Activity;
use crate::mpi::request::status::Status;
use crate::offload::Buffer;
use platform::base::{ErrorClass, Result, Span};
use platform::diagnosis::wait_report::WaitReport;

/// What a rank votes.
const NO: u8 = 0;
const YES: u8 = 1;

/// An operation that the ranks make.
#[derive(Debug)]
pub struct OffloadNegotiation {
    comm: Handle,
    /// What others have to take part in now.
    waiting_for: Activity,
    /// What is to be done then.
    next: NegotiationStep,
}

/// What is to be done next.
#[derive(Debug)]
enum NegotiationStep {
    /// Ask whether all can make a program.
    Propose(Launch),
    /// Say when this rank is ready to receive what, if all can.
    SendGrants(LocalOffer),
    /// Say what arrivals do here.
    SendPlacements(Box<ProgramSetup>),
    /// Load the program, and ask whether all have.
    Load(Box<ProgramSetup>),
    /// Make the request.
    CreateRequest(LocalOffer),
    /// Nothing.
    Finished,
}

/// What this rank has for the operation.
#[derive(Debug)]
enum LocalOffer {
    /// The beginning of a program.
    Draft(Box<ProgramSetup>),
    /// A program.
    Program(OffloadedId),
    /// Nothing but a run.
    Run(Launch),
}

/// Where a step in the making led.
enum NegotiationProgress {
    Waiting(Activity, NegotiationStep),
    Created(Handle),
}

impl<D: Device> Mpi<D> {
    /// Whether persistent operations on `comm` are for the device to run; the same on all ranks.
    pub(in crate::mpi) fn is_offloaded(&self, comm: &Comm) -> bool {
        self.offload.is_some() && comm.members_shape().ranks > 1
    }

    /// Starts to make a persistent operation, of which all ranks know that it may be for the
    /// device.
    ///
    /// # Errors
    /// What is wrong with the operation; `Comm` if there is no such communicator.
    pub(in crate::mpi) fn begin_offload(
        &mut self, call: Call, prepared: Result<Bound>,
    ) -> Result<OffloadNegotiation> {
        let comm = call.comm;
        let mut launch = None;
        let question = self.check_or_report(call, prepared, |mpi, prepared| {
            launch = Some(mpi.persistent_launch(comm, prepared)?);
            Ok(())
        });
        match (question, launch) {
            (Ok(waits), Some(launch)) => Ok(OffloadNegotiation {
                comm,
                waiting_for: waits,
                next: NegotiationStep::Propose(launch),
            }),
            (Ok(_), None) => Err(ErrorClass::Intern.error("nothing was prepared")),
            (Err(error), _) => {
                // In checked mode the others have been told.
                if !self.checked_mode.is_on() {
                    let run = self.begin_vote(comm, NO)?;
                    self.engine.release_run(run);
                }
                Err(error)
            }
        }
    }

    /// The request, once it is made; the making must not be asked again then.
    ///
    /// # Errors
    /// What went wrong with a message, `NoMem` without a free handle. There is no request then.
    pub(in crate::mpi) fn end_offload(
        &mut self, making: &mut OffloadNegotiation,
    ) -> Result<Option<Handle>> {
        while self.is_complete(&making.waiting_for) {
            let waits =
                std::mem::replace(&mut making.waiting_for, Activity::Complete(Status::EMPTY));
            let next = std::mem::replace(&mut making.next, NegotiationStep::Finished);
            let received = match self.take_received(waits) {
                Ok(received) => received,
                Err(error) => {
                    self.abandon_negotiation(next);
                    return Err(error);
                }
            };
            match self.advance_negotiation(making.comm, next, &received)? {
                NegotiationProgress::Waiting(waits, next) => {
                    (making.waiting_for, making.next) = (waits, next)
                }
                NegotiationProgress::Created(request) => return Ok(Some(request)),
            }
        }
        Ok(None)
    }

    /// The call `function`, which waits for others to make an operation.
    pub(in crate::mpi) fn offload_wait_report(
        &self, function: &str, making: &OffloadNegotiation,
    ) -> WaitReport {
        self.blocked(function, [&making.waiting_for])
    }

    /// The buffers of what was waited for.
    fn take_received(&mut self, waits: Activity) -> Result<Vec<Memory>> {
        let Activity::Run(run) = waits else { return Ok(Vec::new()) };
        let Some(end) = self.engine.take_run_end(run) else { return Ok(Vec::new()) };
        end.error.map_or(Ok(end.buffers), Err)
    }

    fn advance_negotiation(
        &mut self, comm: Handle, next: NegotiationStep, received: &[Memory],
    ) -> Result<NegotiationProgress> {
        match next {
            NegotiationStep::Propose(launch) => {
                let offer = self.draft_offer(launch);
                let vote = if matches!(offer, LocalOffer::Draft(_)) { YES } else { NO };
                Ok(NegotiationProgress::Waiting(
                    Activity::Run(self.begin_vote(comm, vote)?),
                    NegotiationStep::SendGrants(offer),
                ))
            }
            NegotiationStep::SendGrants(LocalOffer::Draft(linking)) if all_voted_yes(received) => {
                let run = self.engine.launch(linking.grant_exchange());
                Ok(NegotiationProgress::Waiting(
                    Activity::Run(run),
                    NegotiationStep::SendPlacements(linking),
                ))
            }
            NegotiationStep::SendPlacements(mut linking) => {
                linking.take_grants(received);
                self.engine.reserve_resources(&mut linking);
                let run = self.engine.launch(linking.target_exchange());
                Ok(NegotiationProgress::Waiting(Activity::Run(run), NegotiationStep::Load(linking)))
            }
            NegotiationStep::Load(linking) => {
                let (offer, vote) = match self.engine.load(*linking, received) {
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
                Err(ErrorClass::Intern.error("a making was asked after its end"))
            }
        }
    }

    /// The beginning of a program, if this rank can make one.
    fn draft_offer(&mut self, launch: Launch) -> LocalOffer {
        let scheme = self.offload.unwrap_or_default();
        match self.engine.draft(launch, scheme) {
            Ok(linking) => LocalOffer::Draft(Box::new(linking)),
            Err(refusal) => {
                let (launch, why) = *refusal;
                tracing::debug!(why, "a persistent collective is not for the device");
                LocalOffer::Run(launch)
            }
        }
    }

    /// Asks all members; this one votes first.
    fn begin_vote(&mut self, comm: Handle, vote: u8) -> Result<RunId> {
        let on = self.comms.get(comm)?;
        let operands = Operands { bytes: 1, element: 1, commutative: true };
        let args = Allreduce { operands, in_place: true };
        let schedule = allreduce::doubling::schedule(on.members_shape(), on.member(), args);
        let least = Arc::new(|from: Span, into: Span| {
            let mut votes = [[0], [0]];
            from.read(0, &mut votes[0]);
            into.read(0, &mut votes[1]);
            into.write(0, &votes[0].min(votes[1]));
        });
        let plan = RunPlan {
            schedule: Arc::new(schedule),
            buffers: vec![Memory::EMPTY, Memory::owned([vote])],
            staged: Vec::new(),
            reduction: ReductionMethod::Kernel(least),
        };
        Ok(self.engine.launch(Launch {
            plan,
            members: on.members(),
            rank: on.member(),
            context: on.context.for_traffic(Traffic::Persistent),
            sequence: on.inits,
        }))
    }

    /// What is left of an offer without the device.
    fn withdraw_offer(&mut self, offer: LocalOffer) -> Launch {
        match offer {
            LocalOffer::Draft(linking) => self.engine.cancel_setup(*linking),
            LocalOffer::Program(program) => self.engine.unload(program),
            LocalOffer::Run(launch) => launch,
        }
    }

    fn abandon_negotiation(&mut self, next: NegotiationStep) {
        match next {
            NegotiationStep::SendGrants(offer) | NegotiationStep::CreateRequest(offer) => {
                drop(self.withdraw_offer(offer))
            }
            NegotiationStep::SendPlacements(linking) | NegotiationStep::Load(linking) => {
                drop(self.engine.cancel_setup(*linking))
            }
            NegotiationStep::Propose(_) | NegotiationStep::Finished => {}
        }
    }
}

/// Whether the least of all votes, which came to this, is yes.
fn all_voted_yes(received: &[Memory]) -> bool {
    let Buffer::User(entry) = RECEIVE else { return false };
    let mut least = [NO];
    received.get(entry as usize).is_some_and(|vote| {
        vote.pack(0, &mut least);
        least == [YES]
    })
}
