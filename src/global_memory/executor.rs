//! How an access is carried out: by the processor, by the device, or by the owner of the memory.
//!
//! ```text
//!   to        from       way
//!   here      here       the processor copies
//!   device    here       put                       here: memory of this process, or mapped
//!   here      device     get                       device: memory of another rank that the device reaches
//!   owner     here       store, a request          owner: memory that only its owner reaches
//!   here      owner      load, a request
//!   other     other      copy, a request to the owner of the source; but what the processor can both read and
//!                        write, it copies through a buffer
//!   update               the processor, the device if it makes that update, else a request to the owner
//! ```
//!
//! A request is a *delegation*, and what the processor of the caller does in its call is a *bypass*, in the
//! words of Nose et al., "Performance optimization of the ACP library", 2015.

use super::access::{GlobalAccess, GlobalPlace};
use super::address::GlobalAddress;
use super::counts::WayCounts;
use super::delegation::Delegation;
use super::front::GlobalFront;
use super::peers::{DeviceView, Location, PeerMemory, RemoteMemory};
use super::queue::{AccessExecutor, AccessStart, AccessTicket, AccessWay, ChosenWay};
use super::request::{MemoryRequest, RequestTicket};
use crate::device::Device;
use crate::device::rma::{NumberKind, Rma, RmaAccess, RmaError, Update, write_number};
use crate::engine::Engine;
use crate::engine::channel::MessageChannel;
use crate::engine::memory::OwnedBytes;
use platform::base::{ErrorClass, MpiError, Result, Span};

/// A copy between two other ranks goes through a buffer of so many bytes.
const BOUNCE_BYTES: usize = 256 << 10;

/// Which ways are taken where there are several: settings for experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessPolicy {
    /// Whether a call carries out its access, if nothing is in the way.
    pub(crate) bypasses: bool,
    /// Whether updates of other ranks' memory are made by their owners always.
    pub(crate) delegates_updates: bool,
    /// Whether the memory of other ranks stays known after an access.
    pub(crate) caches: bool,
}

impl Default for AccessPolicy {
    fn default() -> Self {
        Self { bypasses: true, delegates_updates: false, caches: true }
    }
}

/// What carries out the accesses of a rank.
pub(crate) struct GlobalExecutor<'a, D> {
    pub(crate) engine: &'a mut Engine<D>,
    pub(crate) channel: &'a MessageChannel,
    pub(crate) front: &'a GlobalFront,
    pub(crate) peers: &'a mut PeerMemory,
    pub(crate) delegation: &'a mut Delegation,
    /// What copies between others go through, if there were any.
    pub(crate) bounce: &'a mut Option<OwnedBytes>,
    pub(crate) policy: AccessPolicy,
    pub(crate) counts: &'a mut WayCounts,
}

/// An update, with its number located.
struct LocatedUpdate {
    number: Location,
    old: Span,
}

impl<D: Device> GlobalExecutor<'_, D> {
    /// The memory of `len` bytes.
    pub(crate) fn locate(&mut self, place: GlobalPlace, len: usize) -> Location {
        let address = match place {
            GlobalPlace::Private(memory) => return Location::Here(memory),
            GlobalPlace::Global(address) => address,
        };
        let Some(fields) = self.front.layout().split(address) else {
            return Location::Refused(no_rank(self.front, address));
        };
        if fields.rank == self.front.rank() {
            return match self.front.find_fields(fields, len) {
                Some(memory) => Location::Here(memory),
                None => Location::Refused(self.front.refusal(fields, len)),
            };
        }
        let peer = self.channel.peer(fields.rank);
        let device = DeviceView { rma: self.engine.rma(), peer };
        self.peers.locate(device, self.front, fields, len)
    }

    /// The way of a copy, and both places.
    fn locate_copy(
        &mut self, to: GlobalPlace, from: GlobalPlace, len: usize,
    ) -> (ChosenWay, [Location; 2]) {
        let places = [self.locate(to, len), self.locate(from, len)];
        let way = match &places {
            [Location::Here(_), Location::Here(_)] => AccessWay::Processor,
            [Location::There(memory), Location::Here(_)] => self.device_way(to, memory),
            [Location::Here(_), Location::There(memory)] => self.device_way(from, memory),
            [Location::There(one), Location::There(other)]
                if one.reach.is_immediate && other.reach.is_immediate =>
            {
                AccessWay::Processor
            }
            [Location::There(_) | Location::AtOwner, Location::There(_) | Location::AtOwner]
            | [Location::Here(_), Location::AtOwner] => AccessWay::Delegate(self.rank_of(from)),
            [Location::AtOwner, Location::Here(_)] => AccessWay::Delegate(self.rank_of(to)),
            [Location::Refused(_) | Location::Unknown, _]
            | [_, Location::Refused(_) | Location::Unknown] => {
                return (unknown(places), [Location::Unknown, Location::Unknown]);
            }
        };
        (ChosenWay::Known(way), places)
    }

    fn device_way(&self, place: GlobalPlace, memory: &RemoteMemory) -> AccessWay {
        let fields = match place {
            GlobalPlace::Global(address) => self.front.layout().split(address),
            GlobalPlace::Private(_) => None,
        };
        let engine = fields.map_or(0, |fields| fields.colour as u8);
        AccessWay::Device { engine, is_ordered: memory.reach.is_ordered }
    }

    /// The rank of a place of another rank.
    fn rank_of(&self, place: GlobalPlace) -> u32 {
        match place {
            GlobalPlace::Global(address) => {
                self.front.layout().split(address).map(|fields| fields.rank)
            }
            GlobalPlace::Private(_) => None,
        }
        .unwrap_or(self.front.rank())
    }

    fn locate_update(
        &mut self, at: GlobalAddress, kind: NumberKind, update: Update, old: GlobalPlace,
    ) -> (ChosenWay, LocatedUpdate) {
        let nowhere = LocatedUpdate { number: Location::Unknown, old: Span::EMPTY };
        let old = match self.locate_old(old, kind) {
            Ok(old) => old,
            Err(error) => return (ChosenWay::Refused(error), nowhere),
        };
        let bytes = kind.bytes();
        let number = self.locate(GlobalPlace::Global(at), bytes);
        let owner = AccessWay::Delegate(self.rank_of(GlobalPlace::Global(at)));
        let is_aligned = at.0.is_multiple_of(bytes as u64);
        let way = match &number {
            Location::Refused(_) | Location::Unknown => {
                return (unknown([number, Location::Unknown]), nowhere);
            }
            _ if !is_aligned => return (ChosenWay::Refused(askew("number", at, bytes)), nowhere),
            Location::Here(_) | Location::There(_)
                if self.policy.delegates_updates
                    && owner != AccessWay::Delegate(self.front.rank()) =>
            {
                owner
            }
            Location::Here(_) => AccessWay::Processor,
            Location::There(memory) if memory.reach.updates.contains(update, kind) => {
                self.device_way(GlobalPlace::Global(at), memory)
            }
            Location::There(_) | Location::AtOwner => owner,
        };
        (ChosenWay::Known(way), LocatedUpdate { number, old })
    }

    /// The place of an old number, in memory of this rank.
    fn locate_old(&mut self, old: GlobalPlace, kind: NumberKind) -> Result<Span> {
        if let GlobalPlace::Global(address) = old {
            if self.rank_of(old) != self.front.rank() {
                return Err(old_elsewhere(self.rank_of(old)));
            }
            if !address.0.is_multiple_of(kind.bytes() as u64) {
                return Err(askew("place for the old number", address, kind.bytes()));
            }
        }
        match self.locate(old, kind.bytes()) {
            Location::Here(memory) => Ok(memory),
            Location::Refused(error) => Err(error),
            Location::There(_) | Location::AtOwner | Location::Unknown => {
                Err(ErrorClass::Intern.error("memory of this rank is not here"))
            }
        }
    }

    fn start_copy(
        &mut self, [to, from]: [GlobalPlace; 2], len: usize, way: AccessWay, is_deferred: bool,
    ) -> AccessStart {
        let (_, located) = self.locate_copy(to, from, len);
        match (way, located) {
            (_, [Location::Here(to), Location::Here(from)]) => {
                from.copy_untorn(to);
                AccessStart::Finished
            }
            (AccessWay::Processor, [Location::There(to), Location::There(from)]) => {
                self.bounce(to, from, len)
            }
            (_, [Location::There(to), Location::Here(from)]) => {
                self.start_on_device(RmaAccess::Put { from, to: to.at }, way, is_deferred)
            }
            (_, [Location::Here(into), Location::There(from)]) => {
                self.start_on_device(RmaAccess::Get { from: from.at, into }, way, is_deferred)
            }
            (AccessWay::Delegate(rank), [to_memory, from_memory]) => {
                self.delegate_copy(rank, [to, from], [to_memory, from_memory], len)
            }
            // The memory is not known any more: later.
            _ => AccessStart::Busy,
        }
    }

    /// Copies between two other ranks, where the device has completed each access when it returns.
    fn bounce(&mut self, to: RemoteMemory, from: RemoteMemory, len: usize) -> AccessStart {
        let buffer = self.bounce.get_or_insert_with(|| OwnedBytes::zeroed(BOUNCE_BYTES));
        let copy = |rma: &mut dyn Rma, done: usize| {
            let part = buffer.span().part(0, (len - done).min(BOUNCE_BYTES));
            let mut at = [from.at, to.at];
            at.iter_mut().for_each(|at| at.offset += done as u64);
            rma.get(at[0], part)?;
            rma.put(part, at[1])
        };
        for done in (0..len).step_by(BOUNCE_BYTES) {
            let Some(rma) = self.engine.rma() else { return AccessStart::Busy };
            if let Err(error) = copy(rma, done) {
                return error.into();
            }
        }
        AccessStart::Finished
    }

    fn start_on_device(
        &mut self, access: RmaAccess, way: AccessWay, is_deferred: bool,
    ) -> AccessStart {
        let AccessWay::Device { engine, .. } = way else { return AccessStart::Busy };
        let peer = match access {
            RmaAccess::Put { to, .. } => to.peer,
            RmaAccess::Get { from, .. } => from.peer,
            RmaAccess::Update { at, .. } => at.peer,
        };
        let Some(rma) = self.engine.rma() else { return AccessStart::Busy };
        let started = match (rma.engines(), access) {
            (Some(engines), _) => engines.start(access, engine, is_deferred),
            (None, _) if is_deferred => return AccessStart::Busy,
            (None, RmaAccess::Put { from, to }) => rma.put(from, to),
            (None, RmaAccess::Get { from, into }) => rma.get(from, into),
            (None, RmaAccess::Update { at, kind, update, old }) => {
                rma.update(at, kind, update, old)
            }
        };
        if let Err(error) = started {
            return error.into();
        }
        self.counts.count_device(is_deferred);
        let number = rma.progress(peer).accepted;
        AccessStart::InProgress(AccessTicket::Device { peer, number })
    }

    fn delegate_copy(
        &mut self, rank: u32, [to, from]: [GlobalPlace; 2], located: [Location; 2], len: usize,
    ) -> AccessStart {
        let (engine, channel) = (&mut *self.engine, self.channel);
        let ticket = match (located, to, from) {
            ([Location::Here(into), _], _, GlobalPlace::Global(from)) => {
                let request = MemoryRequest::Load { from, len: len as u64 };
                self.delegation.ask(engine, channel, rank, request, into)
            }
            ([_, Location::Here(data)], GlobalPlace::Global(to), _) => {
                self.delegation.store(engine, channel, rank, to, data)
            }
            (_, GlobalPlace::Global(to), GlobalPlace::Global(from)) => {
                let request = MemoryRequest::Copy { to, from, len: len as u64 };
                self.delegation.ask(engine, channel, rank, request, Span::EMPTY)
            }
            _ => return AccessStart::Busy,
        };
        self.counts.count_delegated();
        AccessStart::InProgress(AccessTicket::Request(ticket.number()))
    }

    fn start_update(
        &mut self, access: &GlobalAccess, way: AccessWay, is_deferred: bool,
    ) -> AccessStart {
        let GlobalAccess::Update { at, kind, update, old } = *access else {
            return AccessStart::Busy;
        };
        let (_, LocatedUpdate { number, old }) = self.locate_update(at, kind, update, old);
        match (way, number) {
            (AccessWay::Processor, Location::Here(number)) => {
                write_number(update.perform(number, kind), old);
                AccessStart::Finished
            }
            (AccessWay::Device { .. }, Location::There(memory)) => {
                let access = RmaAccess::Update { at: memory.at, kind, update, old };
                self.start_on_device(access, way, is_deferred)
            }
            (AccessWay::Delegate(rank), _) => {
                let request = MemoryRequest::Update { at, kind, update };
                let ticket = self.delegation.ask(self.engine, self.channel, rank, request, old);
                self.counts.count_delegated();
                AccessStart::InProgress(AccessTicket::Request(ticket.number()))
            }
            _ => AccessStart::Busy,
        }
    }
}

impl<D: Device> AccessExecutor for GlobalExecutor<'_, D> {
    fn choose(&mut self, access: &GlobalAccess) -> ChosenWay {
        match *access {
            GlobalAccess::Copy { len: 0, .. } => ChosenWay::Known(AccessWay::Processor),
            GlobalAccess::Copy { to, from, len } => self.locate_copy(to, from, len).0,
            GlobalAccess::Update { at, kind, update, old } => {
                self.locate_update(at, kind, update, old).0
            }
        }
    }

    fn start(&mut self, access: &GlobalAccess, way: AccessWay, is_deferred: bool) -> AccessStart {
        let start = match *access {
            GlobalAccess::Copy { len: 0, .. } => AccessStart::Finished,
            GlobalAccess::Copy { to, from, len } => {
                self.start_copy([to, from], len, way, is_deferred)
            }
            GlobalAccess::Update { .. } => self.start_update(access, way, is_deferred),
        };
        if !self.policy.caches && !matches!(start, AccessStart::Busy) {
            let fields =
                access.addresses().filter_map(|address| self.front.layout().split(address));
            fields.for_each(|fields| self.peers.forget(fields));
        }
        start
    }

    fn defers(&mut self) -> bool {
        self.engine.rma().is_some_and(|rma| rma.engines().is_some())
    }

    fn has_finished(&mut self, ticket: AccessTicket) -> Result<bool> {
        let (peer, number) = match ticket {
            AccessTicket::Request(number) => {
                let ticket = RequestTicket::from(number);
                return self.delegation.has_ended(self.engine, self.channel, ticket);
            }
            AccessTicket::Device { peer, number } => (peer, number),
        };
        let Some(rma) = self.engine.rma() else { return Ok(false) };
        let progress = rma.progress(peer);
        if progress.completed < number {
            return Ok(false);
        }
        // The error is told when all accesses to the peer have ended.
        if progress.has_error {
            rma.flush(peer).map_or(Ok(false), |end| end.map(|()| true))
        } else {
            Ok(true)
        }
    }
}

impl From<RmaError> for AccessStart {
    fn from(error: RmaError) -> Self {
        match error {
            RmaError::Busy => Self::Busy,
            RmaError::Denied(error) => Self::Refused(error),
        }
    }
}

/// Why there is no way yet: the refusal of one of these, else that one is not known.
fn unknown(places: [Location; 2]) -> ChosenWay {
    let refusal = places.into_iter().find_map(|place| match place {
        Location::Refused(error) => Some(error),
        _ => None,
    });
    refusal.map_or(ChosenWay::Unknown, ChosenWay::Refused)
}

#[cold]
fn no_rank(front: &GlobalFront, address: GlobalAddress) -> Box<MpiError> {
    let (ranks, address) = (front.layout().ranks(), address.0);
    ErrorClass::Rank.error(format!("the address {address:#x} names no memory of the {ranks} ranks"))
}

#[cold]
fn askew(what: &str, at: GlobalAddress, bytes: usize) -> Box<MpiError> {
    let at = at.0;
    ErrorClass::Arg.error(format!("the {what} at {at:#x} is at no multiple of its {bytes} bytes"))
}

#[cold]
fn old_elsewhere(rank: u32) -> Box<MpiError> {
    let why =
        format!("the old number of an update would go to rank {rank}: it can go to this rank only");
    ErrorClass::Arg.error(why)
}
