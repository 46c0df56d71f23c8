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

use super::Mpi;
use super::coll::{Allreduce, Operands, RECEIVE, allreduce_doubling};
use super::comm::{Comm, Traffic};
use super::p2p::Recipe;
use super::prepared::{Call, Prepared};
use super::request::Activity;
use super::status::Status;
use super::table::Handle;
use crate::base::blocked::Blocked;
use crate::base::{ErrorClass, Result, Span};
use crate::core::linking::Linking;
use crate::core::memory::Memory;
use crate::core::offloaded::OffloadedId;
use crate::core::run::{Launch, Plan, Reduction, RunId};
use crate::device::Device;
use crate::offload::Buffer;

/// What a rank votes.
const NO: u8 = 0;
const YES: u8 = 1;

/// An operation that the ranks make.
#[derive(Debug)]
pub struct Offloading {
    comm: Handle,
    /// What others have to take part in now.
    waits: Activity,
    /// What is to be done then.
    next: Next,
}

/// What is to be done next.
#[derive(Debug)]
enum Next {
    /// Ask whether all can make a program.
    Ask(Launch),
    /// Say when this rank is ready to receive what, if all can.
    Grant(Offer),
    /// Say what arrivals do here.
    Place(Box<Linking>),
    /// Load the program, and ask whether all have.
    Load(Box<Linking>),
    /// Make the request.
    Make(Offer),
    /// Nothing.
    Over,
}

/// What this rank has for the operation.
#[derive(Debug)]
enum Offer {
    /// The beginning of a program.
    Draft(Box<Linking>),
    /// A program.
    Program(OffloadedId),
    /// Nothing but a run.
    Run(Launch),
}

/// Where a step in the making led.
enum Step {
    Waits(Activity, Next),
    Made(Handle),
}

impl<D: Device> Mpi<D> {
    /// Whether persistent operations on `comm` are for the device to run; the same on all ranks.
    pub(super) fn is_offloaded(&self, comm: &Comm) -> bool {
        self.offload.is_some() && comm.members_shape().ranks > 1
    }

    /// Starts to make a persistent operation, of which all ranks know that it may be for the
    /// device.
    ///
    /// # Errors
    /// What is wrong with the operation; `Comm` if there is no such communicator.
    pub(super) fn begin_offload(
        &mut self, call: Call, prepared: Result<Prepared>,
    ) -> Result<Offloading> {
        let comm = call.comm;
        let mut launch = None;
        let question = self.question_or_tell(call, prepared, |mpi, prepared| {
            launch = Some(mpi.persistent_launch(comm, prepared)?);
            Ok(())
        });
        match (question, launch) {
            (Ok(waits), Some(launch)) => Ok(Offloading { comm, waits, next: Next::Ask(launch) }),
            (Ok(_), None) => Err(ErrorClass::Intern.error("nothing was prepared")),
            (Err(error), _) => {
                // In checked mode the others have been told.
                if !self.checking.is_on() {
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
    pub(super) fn end_offload(&mut self, making: &mut Offloading) -> Result<Option<Handle>> {
        while self.is_over(&making.waits) {
            let waits = std::mem::replace(&mut making.waits, Activity::Over(Status::EMPTY));
            let next = std::mem::replace(&mut making.next, Next::Over);
            let received = match self.take_received(waits) {
                Ok(received) => received,
                Err(error) => {
                    self.abandon_making(next);
                    return Err(error);
                }
            };
            match self.make_further(making.comm, next, &received)? {
                Step::Waits(waits, next) => (making.waits, making.next) = (waits, next),
                Step::Made(request) => return Ok(Some(request)),
            }
        }
        Ok(None)
    }

    /// The call `function`, which waits for others to make an operation.
    pub(super) fn blocked_offload(&self, function: &str, making: &Offloading) -> Blocked {
        self.blocked(function, [&making.waits])
    }

    /// The buffers of what was waited for.
    fn take_received(&mut self, waits: Activity) -> Result<Vec<Memory>> {
        let Activity::Run(run) = waits else { return Ok(Vec::new()) };
        let Some(end) = self.engine.take_end(run) else { return Ok(Vec::new()) };
        end.error.map_or(Ok(end.buffers), Err)
    }

    fn make_further(&mut self, comm: Handle, next: Next, received: &[Memory]) -> Result<Step> {
        match next {
            Next::Ask(launch) => {
                let offer = self.draft_offer(launch);
                let vote = if matches!(offer, Offer::Draft(_)) { YES } else { NO };
                Ok(Step::Waits(Activity::Run(self.begin_vote(comm, vote)?), Next::Grant(offer)))
            }
            Next::Grant(Offer::Draft(linking)) if all_said_yes(received) => {
                let run = self.engine.launch(linking.grants());
                Ok(Step::Waits(Activity::Run(run), Next::Place(linking)))
            }
            Next::Place(mut linking) => {
                linking.take_grants(received);
                self.engine.provide(&mut linking);
                let run = self.engine.launch(linking.places());
                Ok(Step::Waits(Activity::Run(run), Next::Load(linking)))
            }
            Next::Load(linking) => {
                let (offer, vote) = match self.engine.load(*linking, received) {
                    Ok(program) => (Offer::Program(program), YES),
                    Err(refusal) => {
                        let (launch, why) = *refusal;
                        tracing::warn!(why = %why.why, "a persistent collective stays on the host");
                        (Offer::Run(launch), NO)
                    }
                };
                Ok(Step::Waits(Activity::Run(self.begin_vote(comm, vote)?), Next::Make(offer)))
            }
            Next::Make(Offer::Program(program)) if all_said_yes(received) => {
                let request = self.persistent(comm, Recipe::Program(program));
                if request.is_err() {
                    self.engine.release_offloaded(program);
                }
                request.map(Step::Made)
            }
            Next::Grant(offer) | Next::Make(offer) => {
                let launch = self.withdraw_offer(offer);
                self.persistent_run(comm, launch).map(Step::Made)
            }
            Next::Over => Err(ErrorClass::Intern.error("a making was asked after its end")),
        }
    }

    /// The beginning of a program, if this rank can make one.
    fn draft_offer(&mut self, launch: Launch) -> Offer {
        let scheme = self.offload.unwrap_or_default();
        match self.engine.draft(launch, scheme) {
            Ok(linking) => Offer::Draft(Box::new(linking)),
            Err(refusal) => {
                let (launch, why) = *refusal;
                tracing::debug!(why, "a persistent collective is not for the device");
                Offer::Run(launch)
            }
        }
    }

    /// Asks all members; this one votes first.
    fn begin_vote(&mut self, comm: Handle, vote: u8) -> Result<RunId> {
        let on = self.comms.get(comm)?;
        let operands = Operands { bytes: 1, element: 1, commutative: true };
        let args = Allreduce { operands, in_place: true };
        let schedule = allreduce_doubling::schedule(on.members_shape(), on.member(), args);
        let least = Arc::new(|from: Span, into: Span| {
            let mut votes = [[0], [0]];
            from.read(0, &mut votes[0]);
            into.read(0, &mut votes[1]);
            into.write(0, &votes[0].min(votes[1]));
        });
        let plan = Plan {
            schedule: Arc::new(schedule),
            buffers: vec![Memory::EMPTY, Memory::owned([vote])],
            staged: Vec::new(),
            reduction: Reduction::Kernel(least),
        };
        Ok(self.engine.launch(Launch {
            plan,
            members: on.members(),
            rank: on.member(),
            context: on.context.of(Traffic::Persistent),
            sequence: on.inits,
        }))
    }

    /// What is left of an offer without the device.
    fn withdraw_offer(&mut self, offer: Offer) -> Launch {
        match offer {
            Offer::Draft(linking) => self.engine.withdraw(*linking),
            Offer::Program(program) => self.engine.unload(program),
            Offer::Run(launch) => launch,
        }
    }

    fn abandon_making(&mut self, next: Next) {
        match next {
            Next::Grant(offer) | Next::Make(offer) => drop(self.withdraw_offer(offer)),
            Next::Place(linking) | Next::Load(linking) => drop(self.engine.withdraw(*linking)),
            Next::Ask(_) | Next::Over => {}
        }
    }
}

/// Whether the least of all votes, which came to this, is yes.
fn all_said_yes(received: &[Memory]) -> bool {
    let Buffer::User(entry) = RECEIVE else { return false };
    let mut least = [NO];
    received.get(entry as usize).is_some_and(|vote| {
        vote.pack(0, &mut least);
        least == [YES]
    })
}
