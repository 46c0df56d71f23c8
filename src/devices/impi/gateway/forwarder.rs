//! The connections of a gateway, and the packets between them.
//!
//! ```text
//!   end of a process:  Here ──FINI──> Left           all Left: FINI to every host
//!                        └──lost, or wrong──> the client ends: every end is closed
//!   end of a host:     Here ──FINI──> Left           FINI to every process
//!                        └──lost, wrong, or a process asks for it──> Failed: a farewell to every process
//!   an end is closed when FINI has been sent and received; that of a process when all hosts have gone
//! ```
//!
//! IMPI has no message for the failure of one process, and a host whose connections stay open counts as
//! alive: so the failure of a process ends its client. Hosts of this library hear why, by a farewell.
//!
//! **Memory.** A gateway reads whatever comes, so it never stops one process for the sake of another. Flow
//! control is end to end: of each pair of processes, no more packets are in the queues than the receiver
//! has published, and as many PROTOACKs as the other direction has marks. A process that sends more breaks
//! its limits, and is cut off.

use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::time::Duration;

use super::super::intake::{HostPresence, farewell, judge_fini, judge_lengths, readable};
use super::super::mesh_link::MeshLink;
use super::super::mesh_stream::{MeshStream, StreamEnd};
use super::super::packet_reader::{Intake, PacketHandler};
use super::super::roster::Roster;
use super::super::{QUESTIONS, SCRATCH_BYTES};
use platform::impi::{ImpiKind, PacketHeader};
use platform::sys::clock::monotonic_ns;
use platform::sys::poll::is_readable;
use platform::sys::ready_set::Ready;
use platform::sys::tcp::Watched;

/// The time for the last bytes to all ends after a process has failed.
const ENDING_NS: u64 = 1_000_000_000;

/// The longest sleep.
const SLEEP_MAX: Duration = Duration::from_secs(60);

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndOf {
    /// A host of another client.
    Host(u32),
    /// A process of this host.
    Process(u32),
}

pub(super) struct Forwarder {
    own: u32,
    is_sealed: bool,
    silence: Duration,
    state: ForwarderState,
    watched: Watched,
    blocked: usize,
    ready: Vec<Ready>,
    scratch: Box<[u8]>,
    due_ns: u64,
    /// When the last bytes must have been written, after a process has failed.
    ending_ns: Option<u64>,
}

/// What packets change.
struct ForwarderState {
    roster: Roster,
    ends: Vec<ForwarderEnd>,
    /// The end that leads to each process.
    routes: HashMap<u32, usize>,
    /// Packets in the queues, by source and destination.
    queued: HashMap<(u32, u32), u32>,
}

struct ForwarderEnd {
    of: EndOf,
    link: MeshLink,
    presence: HostPresence,
    /// The packets in the queue: the number of bytes ever added at its end, source, destination.
    packets: VecDeque<(u64, (u32, u32))>,
}

/// What the packets of an end ask for, after the call.
enum ForwarderEvent {
    Left,
    /// The other end says why it fails.
    Farewell(String),
    /// The process asks to cut off this host.
    Cut(u32, String),
}

impl Forwarder {
    /// The gateway of host `own`, without connections.
    ///
    /// # Errors
    /// The system's error, as a sentence.
    pub(super) fn new(
        roster: Roster, own: u32, is_sealed: bool, silence: Duration,
    ) -> Result<Self, String> {
        let watched = Watched::new();
        let watched = watched.map_err(|error| format!("the gateway has no epoll: {error}"))?;
        let (ends, routes, queued) = (Vec::new(), HashMap::new(), HashMap::new());
        Ok(Self {
            own,
            is_sealed,
            silence,
            state: ForwarderState { roster, ends, routes, queued },
            watched,
            blocked: 0,
            ready: Vec::new(),
            scratch: vec![0; SCRATCH_BYTES].into(),
            due_ns: u64::MAX,
            ending_ns: None,
        })
    }

    /// Adds a connection.
    ///
    /// # Errors
    /// As [`Forwarder::new`].
    pub(super) fn add(&mut self, of: EndOf, stream: MeshStream) -> Result<(), String> {
        let index = self.state.ends.len();
        let kept = stream.connection().keep_alive(self.silence);
        let added = kept.and_then(|()| self.watched.add(&stream, index as u64, false));
        added.map_err(|error| format!("the gateway cannot watch a socket: {error}"))?;
        let processes = match of {
            EndOf::Host(host) => self.state.roster.hosts[host as usize].processes.clone(),
            EndOf::Process(process) => process..process + 1,
        };
        self.state.routes.extend(processes.map(|process| (process, index)));
        self.state.ends.push(ForwarderEnd {
            of,
            link: MeshLink::new(None, stream),
            presence: HostPresence::Here,
            packets: VecDeque::new(),
        });
        Ok(())
    }

    /// Forwards packets until all connections have been closed, or `is_stopping`, of which the other end of
    /// `doorbell` tells.
    pub(super) fn run(mut self, doorbell: &OwnedFd, is_stopping: impl Fn() -> bool) {
        if let Err(error) = self.watched.add_beside(doorbell) {
            return tracing::warn!(%error, "the gateway cannot watch a pipe");
        }
        // What came with the introductions is in no socket.
        for index in 0..self.state.ends.len() {
            self.read(index);
            self.write(index);
        }
        self.write_all();
        self.due_ns = self.next_ns(monotonic_ns());
        while !is_stopping() && self.state.ends.iter().any(|end| end.link.stream.is_some()) {
            let now_ns = monotonic_ns();
            let wait = Duration::from_nanos(self.due_ns.saturating_sub(now_ns)).min(SLEEP_MAX);
            is_readable(self.watched.descriptor(), wait);
            self.look();
        }
    }

    /// Handles what is ready, and what is due.
    fn look(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        self.watched.look(&mut ready);
        for event in &ready {
            let index = event.token as usize;
            if event.writable {
                self.write(index);
            }
            if event.readable {
                self.read(index);
            }
        }
        self.ready = ready;
        self.write_all();
        let now_ns = monotonic_ns();
        if now_ns >= self.due_ns {
            self.ask_for_silence(now_ns);
        }
        if self.ending_ns.is_some_and(|ending_ns| now_ns >= ending_ns) {
            (0..self.state.ends.len()).for_each(|index| self.close(index, false));
        }
        self.due_ns = self.next_ns(now_ns);
    }

    /// When something has to be done without an event.
    fn next_ns(&self, now_ns: u64) -> u64 {
        let is_under_way = self.state.ends.iter().any(|end| end.link.is_under_way);
        let question_ns = now_ns + (self.silence / QUESTIONS).as_nanos() as u64;
        let due_ns = match is_under_way {
            true => self.due_ns.min(question_ns),
            false => u64::MAX,
        };
        self.ending_ns.map_or(due_ns, |ending_ns| due_ns.min(ending_ns))
    }

    fn read(&mut self, index: usize) {
        // The packets of an end go to others.
        let end = &mut self.state.ends[index];
        let of = end.of;
        let Some(mut stream) = end.link.stream.take() else { return };
        let mut events = Vec::new();
        let mut intake = ForwarderIntake {
            state: &mut self.state,
            of,
            index,
            is_sealed: self.is_sealed,
            events: &mut events,
        };
        let read = stream.read(&mut self.scratch, &mut intake);
        let is_within = stream.is_within_packet();
        self.state.ends[index].link.stream = Some(stream);
        for event in events {
            match event {
                ForwarderEvent::Left => self.left(index),
                ForwarderEvent::Farewell(why) => self.failed(index, &why),
                ForwarderEvent::Cut(host, why) => self.cut_host(host, &why),
            }
        }
        if let Err(end) = read {
            let is_cut = matches!(end, StreamEnd::Violation(_));
            let why = self.state.ends[index].link.end_reason(end, is_within);
            self.failed(index, &why);
            self.close(index, is_cut);
        }
    }

    /// Writes what the socket of an end takes.
    fn write(&mut self, index: usize) {
        let ForwarderState { ends, queued, .. } = &mut self.state;
        let end = &mut ends[index];
        end.link.write(index as u64, &self.watched, &mut self.blocked);
        let taken = end.link.stream.as_ref().map_or(u64::MAX, |stream| stream.queue.taken());
        while let Some((_, pair)) = end.packets.pop_front_if(|(last, _)| *last <= taken) {
            if let Some(count) = queued.get_mut(&pair) {
                *count -= 1;
                if *count == 0 {
                    queued.remove(&pair);
                }
            }
        }
    }

    /// Writes to all ends that have something in their queues, and closes those that are over.
    fn write_all(&mut self) {
        for index in 0..self.state.ends.len() {
            let end = &self.state.ends[index];
            let Some(stream) = &end.link.stream else { continue };
            if !stream.queue.is_empty() && !stream.is_blocked {
                self.write(index);
            }
            if self.is_over(index) {
                self.close(index, false);
            }
        }
    }

    /// Whether a connection has nothing more to carry.
    fn is_over(&self, index: usize) -> bool {
        let end = &self.state.ends[index];
        let is_written = end.link.stream.as_ref().is_some_and(|stream| stream.is_written());
        let has_gone = end.presence != HostPresence::Here;
        let is_over = match end.of {
            EndOf::Host(_) => end.link.said_fini && has_gone,
            EndOf::Process(_) => {
                let is_host = |it: &ForwarderEnd| matches!(it.of, EndOf::Host(_));
                let has_gone_too = |it: &ForwarderEnd| it.presence != HostPresence::Here;
                has_gone && self.state.ends.iter().all(|it| !is_host(it) || has_gone_too(it))
            }
        };
        is_written && (is_over || self.ending_ns.is_some())
    }

    fn close(&mut self, index: usize, is_cut: bool) {
        self.state.ends[index].link.close(is_cut, &self.watched, &mut self.blocked);
        self.write(index);
    }

    fn ask_for_silence(&mut self, now_ns: u64) {
        self.due_ns = u64::MAX;
        for index in 0..self.state.ends.len() {
            let link = &mut self.state.ends[index].link;
            if let Some(why) = link.ask_for_silence(now_ns, self.silence) {
                self.failed(index, &why);
                self.close(index, false);
            }
        }
        self.write_all();
    }
}

/// Ends.
impl Forwarder {
    /// The other end sends nothing more.
    fn left(&mut self, index: usize) {
        let end = &mut self.state.ends[index];
        if end.presence != HostPresence::Here {
            return;
        }
        end.presence = HostPresence::Left;
        match end.of {
            EndOf::Host(host) => self.tell_processes(host, ""),
            EndOf::Process(_) => self.say_fini_if_all_have_left(),
        }
    }

    fn say_fini_if_all_have_left(&mut self) {
        let is_here = |end: &ForwarderEnd| {
            matches!(end.of, EndOf::Process(_)) && end.presence == HostPresence::Here
        };
        if self.state.ends.iter().any(is_here) {
            return;
        }
        let source = self.state.roster.hosts[self.own as usize].processes.start;
        for end in &mut self.state.ends {
            if let EndOf::Host(host) = end.of {
                let destination = self.state.roster.hosts[host as usize].processes.start;
                end.say_fini(&self.state.roster, source, destination, "");
                end.link.said_fini = true;
            }
        }
    }

    /// An end has failed, for the reason `why`, part of a sentence.
    fn failed(&mut self, index: usize, why: &str) {
        let end = &mut self.state.ends[index];
        if end.presence != HostPresence::Here {
            return;
        }
        end.presence = HostPresence::Failed;
        match end.of {
            EndOf::Host(host) => self.tell_processes(host, why),
            EndOf::Process(process) => self.end_client(process, why),
        }
    }

    /// Tells the processes that a host has left, or why it has failed.
    fn tell_processes(&mut self, host: u32, why: &str) {
        let source = self.state.roster.hosts[host as usize].processes.start;
        for end in &mut self.state.ends {
            if let EndOf::Process(process) = end.of {
                end.say_fini(&self.state.roster, source, process, why);
            }
        }
    }

    /// A process of this host has found that a host sends what it must not.
    fn cut_host(&mut self, host: u32, why: &str) {
        let is_of = |end: &ForwarderEnd| end.of == EndOf::Host(host);
        if let Some(index) = self.state.ends.iter().position(is_of) {
            self.failed(index, why);
            self.close(index, true);
        }
    }

    /// A process of this host has failed: so has the client.
    fn end_client(&mut self, process: u32, why: &str) {
        tracing::warn!(process, why, "a process has failed, which ends its client");
        let sentence = self.state.roster.sentence(process, why);
        self.ending_ns = Some(monotonic_ns() + ENDING_NS);
        let hosts: Vec<_> = self.state.ends.iter().map(|end| end.of).collect();
        for (index, of) in hosts.into_iter().enumerate() {
            let EndOf::Host(host) = of else { continue };
            let end = &mut self.state.ends[index];
            if end.presence != HostPresence::Here {
                continue;
            }
            end.presence = HostPresence::Failed;
            // A foreign host would take it for a FINI.
            if self.is_sealed {
                let destination = self.state.roster.hosts[host as usize].processes.start;
                let why = format!("has failed with its client: {sentence}");
                end.say_fini(&self.state.roster, process, destination, &why);
            }
            self.tell_processes(host, &format!("cannot be reached any more: {sentence}"));
        }
    }
}

impl ForwarderEnd {
    /// Adds FINI to the queue; a farewell if there is a reason.
    fn say_fini(&mut self, roster: &Roster, source: u32, destination: u32, why: &str) {
        if let Some(stream) = &mut self.link.stream {
            let (header, why) = farewell(roster.id(source), roster.id(destination), why);
            stream.queue.push(&header.emit(), why.len(), |data| data.copy_from_slice(why));
        }
    }
}

/// The handler of one end, for the time of a read.
struct ForwarderIntake<'a> {
    state: &'a mut ForwarderState,
    of: EndOf,
    index: usize,
    is_sealed: bool,
    events: &'a mut Vec<ForwarderEvent>,
}

impl ForwarderIntake<'_> {
    /// The source and the destination, which are at the two sides.
    fn pair(&self, header: &PacketHeader) -> Result<(u32, u32), String> {
        let roster = &self.state.roster;
        let source = roster.rank(&header.source);
        let source = source.filter(|it| self.state.routes.get(it) == Some(&self.index));
        let source = source.ok_or_else(|| {
            format!("a packet of {}, which is not behind the connection", header.source)
        })?;
        let is_wanted = |process: &u32| {
            let route = self.state.routes.get(process).map(|end| self.state.ends[*end].of);
            match self.of {
                EndOf::Host(_) => matches!(route, Some(EndOf::Process(_))),
                EndOf::Process(_) => matches!(route, Some(EndOf::Host(_))),
            }
        };
        let destination = roster.rank(&header.destination).filter(is_wanted);
        let destination = destination.ok_or_else(|| match self.of {
            EndOf::Host(_) => format!("a packet for {}, which is not here", header.destination),
            EndOf::Process(_) => {
                format!("a packet for {}, which is in no other client", header.destination)
            }
        })?;
        Ok((source, destination))
    }

    fn fini(&mut self, header: &PacketHeader, data: &[u8]) -> Result<(), String> {
        self.events.push(match (self.of, data) {
            (_, []) => ForwarderEvent::Left,
            (EndOf::Host(_), why) => ForwarderEvent::Farewell(readable(why)),
            (EndOf::Process(_), why) => {
                let host = self.state.roster.rank(&header.destination);
                let host = host.map(|process| self.state.roster.host_of(process));
                let host = host.ok_or_else(|| format!("a farewell for {}", header.destination))?;
                ForwarderEvent::Cut(host, readable(why))
            }
        });
        Ok(())
    }
}

impl PacketHandler for ForwarderIntake<'_> {
    fn begin(&mut self, header: &PacketHeader) -> Result<Intake, String> {
        if header.kind == ImpiKind::Fini {
            let is_own = matches!(self.of, EndOf::Process(_));
            judge_fini(header, self.is_sealed || is_own)?;
            return Ok(Intake::Deliver);
        }
        let roster = &self.state.roster;
        judge_lengths(header, roster.data_len)?;
        let (source, destination) = self.pair(header)?;
        match (self.state.ends[self.index].presence, self.of) {
            (HostPresence::Here, _) => {}
            (HostPresence::Failed, _) => return Ok(Intake::Discard),
            (HostPresence::Left, EndOf::Host(_)) => {
                return Err(format!("a packet {} behind FINI", header.kind));
            }
            (HostPresence::Left, EndOf::Process(_)) => return Ok(Intake::Discard),
        }
        let (of, from) = (roster.limits_of(destination), roster.limits_of(source));
        let max = u64::from(of.high_water) + u64::from(from.high_water / from.ack_mark) + 1;
        let queued = self.state.queued.get(&(source, destination)).copied().unwrap_or(0);
        if u64::from(queued) >= max {
            let high_water = of.high_water;
            return Err(format!("more than {high_water} packets without acknowledgement"));
        }
        Ok(Intake::Deliver)
    }

    fn packet(&mut self, header: &PacketHeader, data: &[u8]) -> Result<(), String> {
        if header.kind == ImpiKind::Fini {
            return self.fini(header, data);
        }
        let pair = self.pair(header)?;
        let ForwarderState { ends, routes, queued, .. } = &mut *self.state;
        let Some(end) = routes.get(&pair.1).map(|end| &mut ends[*end]) else { return Ok(()) };
        // A process that has left still receives.
        let drops = match end.of {
            EndOf::Host(_) => end.presence != HostPresence::Here,
            EndOf::Process(_) => end.presence == HostPresence::Failed,
        };
        if drops {
            return Ok(());
        }
        if let Some(stream) = &mut end.link.stream {
            stream.queue.push(&header.emit(), data.len(), |out| out.copy_from_slice(data));
            end.packets.push_back((stream.queue.added(), pair));
            *queued.entry(pair).or_default() += 1;
        }
        Ok(())
    }

    fn placed(&mut self, _header: &PacketHeader) -> Result<(), String> {
        Ok(())
    }
}
