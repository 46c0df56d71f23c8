//! What a process does with the packets of one connection: judges them, counts them, and gives them to
//! its sink.
//!
//! A host without a gateway answers for its connection: a wrong packet ends it. Behind a gateway, packets
//! of many hosts come on one connection; a wrong one ends the connection of its host at the gateway, by a
//! farewell, and what still comes from there is dropped.

use std::fmt;

use super::flow::{PairFlow, is_counted};
use super::packet_reader::{Intake, PacketHandler};
use super::roster::Roster;
use platform::base::Span;
use platform::impi::{ImpiKind, PacketHeader, ProcessId};

/// The longest sentence of a farewell, in bytes.
pub(crate) const FAREWELL_MAX: usize = 1 << 10;

/// What takes the packets of other clients. It must not call the mesh.
pub(crate) trait MeshSink {
    /// A packet from process `from`, other than PROTOACK and FINI. `data` is valid during this call.
    ///
    /// # Errors
    /// Why the packet must not be, as part of a sentence: the host of `from` is cut off.
    fn packet(&mut self, from: u32, header: &PacketHeader, data: &[u8]) -> Result<(), String>;

    /// Where the data of a DATA packet with a request of this process goes: `header.len` bytes, which
    /// belong to the mesh until `placed` or `failed`. `None`: it comes by `packet`.
    fn place(&mut self, from: u32, header: &PacketHeader) -> Option<Span>;

    /// The data of the packet is at its place.
    ///
    /// # Errors
    /// As [`MeshSink::packet`].
    fn placed(&mut self, from: u32, header: &PacketHeader) -> Result<(), String>;

    /// Process `to` has received further `packets`.
    fn acknowledged(&mut self, to: u32, packets: u32);

    /// A packet to process `to` may be sent again, after a refusal.
    fn room(&mut self, to: u32);

    /// Process `process` has failed, once: why, as a sentence that names it.
    fn failed(&mut self, process: u32, why: &str);
}

/// Whether a host of another client can be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HostPresence {
    #[default]
    Here,
    /// It has sent FINI.
    Left,
    Failed,
}

/// What is between this process and another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeshPair {
    pub(crate) flow: PairFlow,
    /// The packets that have been sent, and that have arrived.
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// A packet was refused, and `room` is owed.
    pub(crate) is_refused: bool,
}

/// What the packets of a connection ask for, after the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MeshEvent {
    /// A PROTOACK to this process is due.
    Acknowledge(u32),
    /// Packets may be sent to some process again.
    Room,
    /// This host has sent FINI.
    Left(u32),
    /// This host has failed: why, as part of a sentence.
    Failed(u32, String),
    /// This process, behind the gateway, has sent what it must not.
    Cut(u32, String),
}

/// The handler of one connection, for the time of a read.
pub(crate) struct MeshIntake<'a, S> {
    pub(crate) roster: &'a Roster,
    pub(crate) me: u32,
    /// The host behind the connection; `None` at a gateway.
    pub(crate) host: Option<u32>,
    /// Whether all processes are of this library: sequence numbers count, and hosts say why they fail.
    pub(crate) is_sealed: bool,
    pub(crate) client: u32,
    pub(crate) presence: &'a mut [HostPresence],
    pub(crate) pairs: &'a mut [MeshPair],
    /// The last source and its rank.
    pub(crate) last: &'a mut Option<(ProcessId, u32)>,
    /// The number of packets that the sink has taken.
    pub(crate) received: &'a mut u64,
    pub(crate) events: &'a mut Vec<MeshEvent>,
    pub(crate) sink: &'a mut S,
}

impl<S: MeshSink> MeshIntake<'_, S> {
    /// The rank of the source, which is behind the connection.
    #[inline]
    fn source(&mut self, header: &PacketHeader) -> Result<u32, String> {
        if let Some((id, rank)) = *self.last
            && id == header.source
        {
            return Ok(rank);
        }
        let rank = self.roster.rank(&header.source).filter(|rank| self.is_behind(*rank));
        let rank = rank.ok_or_else(|| {
            format!("a packet of {}, which is not behind the connection", header.source)
        })?;
        *self.last = Some((header.source, rank));
        Ok(rank)
    }

    fn is_behind(&self, rank: u32) -> bool {
        let host = self.roster.host_of(rank);
        match self.host {
            Some(own) => host == own,
            None => self.roster.hosts[host as usize].client != self.client,
        }
    }

    #[inline]
    fn presence_of(&self, process: u32) -> HostPresence {
        self.presence[self.roster.host_of(process) as usize]
    }

    /// Counts a packet that is right.
    #[inline]
    fn judge(&mut self, from: u32, header: &PacketHeader) -> Result<(), String> {
        judge_lengths(header, self.roster.data_len)?;
        if header.destination != self.roster.id(self.me) {
            return Err(format!("a packet for {}, which is not here", header.destination));
        }
        let pair = &mut self.pairs[from as usize];
        if self.is_sealed && header.sequence != pair.received {
            let (sequence, due) = (header.sequence, pair.received);
            return Err(format!("packet number {sequence} where number {due} is due"));
        }
        if is_counted(header.kind) {
            pair.flow.arrived().map_err(|violation| violation.to_string())?;
        }
        pair.received += 1;
        Ok(())
    }

    /// A wrong packet of process `from` ends the connection, or that of its host at the gateway.
    #[cold]
    fn violation(&mut self, from: u32, why: String) -> Result<(), String> {
        if self.host.is_some() {
            return Err(why);
        }
        if self.ends(self.roster.host_of(from), HostPresence::Failed) {
            self.events.push(MeshEvent::Cut(from, why));
        }
        Ok(())
    }

    fn fini(&mut self, header: &PacketHeader, data: &[u8]) -> Result<(), String> {
        let host = match self.host {
            Some(host) => host,
            None => self.roster.host_of(self.source(header)?),
        };
        let (presence, event) = match data {
            [] => (HostPresence::Left, MeshEvent::Left(host)),
            _ => (HostPresence::Failed, MeshEvent::Failed(host, readable(data))),
        };
        if self.ends(host, presence) {
            self.events.push(event);
        }
        Ok(())
    }

    /// Whether a host was here, and is no longer.
    fn ends(&mut self, host: u32, presence: HostPresence) -> bool {
        let known = &mut self.presence[host as usize];
        let was_here = *known == HostPresence::Here;
        if was_here {
            *known = presence;
        }
        was_here
    }

    #[inline]
    fn acknowledged(&mut self, from: u32) -> Result<(), String> {
        let pair = &mut self.pairs[from as usize];
        match pair.flow.acknowledged() {
            Ok(packets) => {
                if pair.is_refused {
                    self.events.push(MeshEvent::Room);
                }
                self.sink.acknowledged(from, packets);
                Ok(())
            }
            Err(violation) => Err(violation.to_string()),
        }
    }

    /// Ends a packet that the sink has taken, or not.
    #[inline]
    fn end(
        &mut self, from: u32, header: &PacketHeader, taken: Result<(), String>,
    ) -> Result<(), String> {
        match taken {
            Ok(()) if is_counted(header.kind) => {
                *self.received += 1;
                if self.pairs[from as usize].flow.owes_acknowledgement() {
                    self.events.push(MeshEvent::Acknowledge(from));
                }
                Ok(())
            }
            Ok(()) => Ok(()),
            Err(why) => self.violation(from, why),
        }
    }
}

impl<S: MeshSink> PacketHandler for MeshIntake<'_, S> {
    #[inline]
    fn begin(&mut self, header: &PacketHeader) -> Result<Intake, String> {
        if header.kind == ImpiKind::Fini {
            judge_fini(header, self.is_sealed || self.host.is_none())?;
            return Ok(Intake::Deliver);
        }
        let from = self.source(header)?;
        match (self.presence_of(from), self.host) {
            (HostPresence::Here, _) => {}
            (_, None) => return Ok(Intake::Discard),
            (_, Some(_)) => return Err(format!("a packet {} behind FINI", header.kind)),
        }
        if let Err(why) = self.judge(from, header) {
            self.violation(from, why)?;
            return Ok(Intake::Discard);
        }
        if header.kind == ImpiKind::Data
            && header.destination_request != 0
            && let Some(span) = self.sink.place(from, header)
        {
            return Ok(Intake::Place(span));
        }
        Ok(Intake::Deliver)
    }

    #[inline]
    fn packet(&mut self, header: &PacketHeader, data: &[u8]) -> Result<(), String> {
        if header.kind == ImpiKind::Fini {
            return self.fini(header, data);
        }
        let from = self.source(header)?;
        let taken = match header.kind {
            ImpiKind::ProtoAck => self.acknowledged(from),
            _ => self.sink.packet(from, header, data),
        };
        self.end(from, header, taken)
    }

    fn placed(&mut self, header: &PacketHeader) -> Result<(), String> {
        let from = self.source(header)?;
        let taken = self.sink.placed(from, header);
        self.end(from, header, taken)
    }
}

/// Judges the lengths in a header other than that of a FINI.
///
/// # Errors
/// Why no process sends it.
#[inline]
pub(crate) fn judge_lengths(header: &PacketHeader, data_len: u32) -> Result<(), String> {
    let PacketHeader { kind, len, message_len, .. } = *header;
    let wrong = |what: fmt::Arguments<'_>| Err(format!("a packet {kind} of {len} bytes, {what}"));
    match kind {
        _ if len > data_len => {
            wrong(format_args!("longer than the {data_len} that were agreed on"))
        }
        ImpiKind::Data | ImpiKind::DataSync if u64::from(len) > message_len => {
            wrong(format_args!("part of a message of {message_len}"))
        }
        ImpiKind::Data | ImpiKind::DataSync => Ok(()),
        _ if len > 0 => wrong(format_args!("where none have a meaning")),
        _ => Ok(()),
    }
}

/// The same for a FINI, which is a farewell if it has data.
///
/// # Errors
/// As [`judge_lengths`].
pub(crate) fn judge_fini(header: &PacketHeader, may_say_why: bool) -> Result<(), String> {
    let max = if may_say_why { FAREWELL_MAX } else { 0 };
    match header.len as usize {
        len if len <= max => Ok(()),
        len => Err(format!("a packet FINI of {len} bytes, where at most {max} have a meaning")),
    }
}

/// A FINI, or a farewell if there is a reason: its header and its data.
pub(crate) fn farewell(
    source: ProcessId, destination: ProcessId, why: &str,
) -> (PacketHeader, &[u8]) {
    let data = &why.as_bytes()[..why.floor_char_boundary(FAREWELL_MAX)];
    let (kind, len) = (ImpiKind::Fini, data.len() as u32);
    (PacketHeader { kind, len, source, destination, ..PacketHeader::default() }, data)
}

/// The sentence of a peer, without characters that would change a terminal.
pub(crate) fn readable(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(data);
    text.chars().map(|it| if it.is_control() { '?' } else { it }).collect()
}
