//! Persistent collective operations: from what was prepared to a request (MPI 5.0 §6.13).
//!
//! What a room can carry has one of its own, so that operations can be started in any order; without
//! a room it goes by messages, on all ranks alike. To ask for a room takes a message, and making a
//! request may wait for it, as collective calls may.
//!
//! ```text
//! prepared ──for messages────────────────────────────────────> request
//!    ├──for the device to run it (`collective_offload`)───────>  │
//!    └──for a room──> asked for ──granted──> hall ─────────────>  │
//!                        └──none──> prepared for messages ──────> │
//!
//! request ──start──> under way ──> over ──start──> ...            │ freed
//!                        └── freed meanwhile ──> over ──> the room is left
//! ```

use std::sync::Arc;

use super::Mpi;
use super::coll::shared::Task;
use super::collective_offload::Offloading;
use super::collective_shared::Owner;
use super::comm::Traffic;
use super::comm_room::RoomRequest;
use super::p2p::Recipe;
use super::prepared::{Call, Prepared};
use super::request::Activity;
use super::table::Handle;
use crate::base::blocked::Blocked;
use crate::base::{ErrorClass, Result};
use crate::core::run::Launch;
use crate::device::Device;
use crate::device::room::Room;

/// A persistent request in the making.
#[derive(Debug)]
pub enum Making {
    /// A room was asked for, unless there is none, in which this is to be done.
    Asked(Option<RoomRequest>, Task),
    /// The ranks make an operation that the device runs.
    Offloaded(Box<Offloading>),
    /// The request is there; whether it is valid is known at the end of this.
    Made(Handle, Activity),
}

impl<D: Device> Mpi<D> {
    /// Starts to make a persistent request, inactive, for a collective operation that was prepared
    /// for this call. A collective call; [`Mpi::end_making`] ends it.
    ///
    /// # Errors
    /// What is wrong with the operation; `Comm` if there is no such communicator, `NoMem` without a
    /// free handle.
    pub fn make_persistent(&mut self, call: Call, prepared: Result<Prepared>) -> Result<Making> {
        if self.comms.get(call.comm).is_ok_and(|on| self.is_offloaded(on)) {
            let making = self.begin_offload(call, prepared)?;
            return Ok(Making::Offloaded(Box::new(making)));
        }
        if let Ok(Prepared::Shared(_, task)) = prepared {
            return Ok(Making::Asked(self.ask_for_room(call.comm)?, task));
        }
        let mut made = None;
        let question = self.question_or_tell(call, prepared, |mpi, prepared| {
            made = Some(mpi.persistent_by_messages(call.comm, prepared)?);
            Ok(())
        })?;
        let made = made.ok_or_else(|| ErrorClass::Intern.error("no request was made"))?;
        Ok(Making::Made(made, question))
    }

    /// The request, once it is made. `again` prepares the operation for messages, if there is no
    /// room for it. A making must be asked until this gives something, and not after that.
    ///
    /// # Errors
    /// What `again` and messages say; `NoMem` without a free handle. There is no request then.
    pub fn end_making(
        &mut self, making: &mut Making, comm: Handle,
        again: impl FnOnce(&mut Self) -> Result<Prepared>,
    ) -> Result<Option<Handle>> {
        match making {
            Making::Asked(request, task) => {
                let room = match request {
                    None => None,
                    Some(request) => match self.end_room_request(request)? {
                        None => return Ok(None),
                        Some(granted) => granted,
                    },
                };
                let task = std::mem::replace(task, Task::EMPTY);
                let made = match room {
                    Some(room) => self.persistent_in_room(comm, room, task),
                    None => {
                        again(self).and_then(|prepared| self.persistent_by_messages(comm, prepared))
                    }
                };
                made.map(Some)
            }
            Making::Offloaded(making) => self.end_offload(making),
            Making::Made(request, question) => {
                let Some(answer) = self.end_if_over(question) else { return Ok(None) };
                let Some(error) = answer.error else { return Ok(Some(*request)) };
                self.free_request(*request)?;
                Err(error)
            }
        }
    }

    /// The call `function`, which waits for others to make a request.
    pub fn blocked_making(&self, function: &str, making: &Making) -> Blocked {
        match making {
            Making::Asked(Some(request), _) => self.blocked_room(function, request),
            Making::Asked(None, _) => Blocked::new(function),
            Making::Offloaded(making) => self.blocked_offload(function, making),
            Making::Made(_, question) => self.blocked(function, [question]),
        }
    }

    /// A run that was prepared for messages, with the number of the operation.
    pub(super) fn persistent_launch(&mut self, comm: Handle, prepared: Prepared) -> Result<Launch> {
        let on = self.comms.get_mut(comm)?;
        let Prepared::Messages(plan) = prepared else {
            let why = "a persistent operation without a room was prepared for one";
            return Err(ErrorClass::Intern.error(why));
        };
        Ok(Launch {
            plan,
            members: on.members(),
            rank: on.member(),
            context: on.context.of(Traffic::Persistent),
            sequence: on.next_init(),
        })
    }

    fn persistent_by_messages(&mut self, comm: Handle, prepared: Prepared) -> Result<Handle> {
        let launch = self.persistent_launch(comm, prepared)?;
        self.persistent_run(comm, launch)
    }

    pub(super) fn persistent_run(&mut self, comm: Handle, launch: Launch) -> Result<Handle> {
        let run = self.engine.hold(launch);
        let request = self.persistent(comm, Recipe::Collective(run));
        if request.is_err() {
            self.engine.release_run(run);
        }
        request
    }

    fn persistent_in_room(&mut self, comm: Handle, room: Room, task: Task) -> Result<Handle> {
        let on = match self.comms.get_mut(comm) {
            Ok(on) => on,
            Err(error) => {
                self.leave_room(Some(room));
                return Err(error);
            }
        };
        let (context, sequence) = (on.context.of(Traffic::Persistent), on.next_init());
        let group = Arc::clone(&on.group);
        let owner = Owner::Operation { context, sequence };
        let looks = self.selection.machine().looks;
        let hall = self.halls.open(room, group.peers(), owner, looks);
        self.halls.prepare(hall, task);
        let request = self.persistent(comm, Recipe::Shared(hall));
        if request.is_err() {
            self.leave_hall(Some(hall));
        }
        request
    }
}
