//! What a poll of the mesh does: reads, answers, notices ends, and looks at times.

use super::intake::{HostPresence, MeshEvent, MeshIntake, MeshSink, farewell};
use super::mesh_link::cut_off;
use super::mesh_stream::StreamEnd;
use super::{Mesh, Outgoing, QUESTIONS};
use platform::impi::{ImpiKind, PacketHeader};
use platform::sys::clock::monotonic_ns;

/// The number of open connections up to which each is read in every poll.
const DIRECT_MAX: usize = 4;

/// Direct polls between two looks at all descriptors.
const LOOK_INTERVAL: u32 = 64;

impl Mesh {
    /// Delivers a bounded part of what has arrived, then what else has happened; the number of packets.
    pub(crate) fn poll(&mut self, sink: &mut impl MeshSink) -> usize {
        let before = self.received;
        let is_direct = self.links.len() <= DIRECT_MAX
            && !self.is_armed
            && self.blocked == 0
            && !self.polls.is_multiple_of(LOOK_INTERVAL);
        let is_first = self.polls == 0;
        self.polls = self.polls.wrapping_add(1);
        if !is_direct {
            self.look(sink);
        }
        if is_direct || is_first {
            for index in 0..self.links.len() {
                self.read(index, sink);
            }
        }
        if self.may_have_room {
            self.announce_room(sink);
        }
        if !self.failures.is_empty() {
            self.report_failures(sink);
        }
        if self.is_armed {
            self.order_timer();
        }
        (self.received - before) as usize
    }

    /// Looks at all descriptors and times.
    fn look(&mut self, sink: &mut impl MeshSink) {
        let mut ready = std::mem::take(&mut self.ready);
        self.watched.look(&mut ready);
        for event in &ready {
            let index = event.token as usize;
            if event.writable {
                self.write(index);
            }
            if event.readable {
                self.read(index, sink);
            }
            self.close_if_over(index);
        }
        self.ready = ready;
        if self.due_ns < u64::MAX {
            let now_ns = monotonic_ns();
            if now_ns >= self.due_ns {
                self.ask_for_silence(now_ns);
            }
        }
    }

    /// Delivers what has arrived on a connection.
    #[inline]
    fn read(&mut self, index: usize, sink: &mut impl MeshSink) {
        let link = &mut self.links[index];
        let Some(stream) = &mut link.stream else { return };
        let mut intake = MeshIntake {
            roster: &self.roster,
            me: self.me,
            host: link.host,
            is_sealed: self.is_sealed,
            client: self.client,
            presence: &mut self.presence,
            pairs: &mut self.pairs,
            last: &mut link.last_source,
            received: &mut self.received,
            events: &mut self.events,
            sink,
        };
        let read = stream.read(&mut self.scratch, &mut intake);
        if !self.events.is_empty() {
            self.handle_events(index);
        }
        if let Err(end) = read {
            self.end_link(index, end);
        }
    }

    #[cold]
    fn handle_events(&mut self, index: usize) {
        for event in std::mem::take(&mut self.events) {
            match event {
                MeshEvent::Acknowledge(process) => self.links[index].unacknowledged.push(process),
                MeshEvent::Room => self.may_have_room = true,
                MeshEvent::Left(_) => self.may_have_room = true,
                MeshEvent::Failed(host, why) => self.failures.push((host, why)),
                MeshEvent::Cut(process, why) => self.cut_behind_gateway(index, process, &why),
            }
        }
        self.write(index);
        self.close_if_over(index);
    }

    /// Writes what the socket of a connection takes.
    #[inline]
    pub(super) fn write(&mut self, index: usize) {
        if !self.links[index].unacknowledged.is_empty() {
            self.push_acknowledgements(index);
        }
        let link = &mut self.links[index];
        link.write(index as u64, &self.watched, &mut self.blocked);
        if !link.refused.is_empty() && link.has_much_room() {
            self.may_have_room = true;
        }
        if self.due_ns == u64::MAX {
            self.due_ns = monotonic_ns() + self.question_ns();
        }
    }

    /// Sends the PROTOACKs that are due, as far as the queue has room.
    fn push_acknowledgements(&mut self, index: usize) {
        while let Some(process) = self.links[index].unacknowledged.pop() {
            let is_here = self.presence_of(process) == HostPresence::Here && !self.is_leaving;
            while is_here && self.pairs[process as usize].flow.owes_acknowledgement() {
                if !self.links[index].has_room_for_acknowledgement() {
                    return self.links[index].unacknowledged.push(process);
                }
                self.pairs[process as usize].flow.acknowledge();
                let kind = ImpiKind::ProtoAck;
                self.push(process, &Outgoing { kind, ..Outgoing::default() }, 0, |_| {});
            }
        }
    }

    /// Tells processes that were refused of room.
    fn announce_room(&mut self, sink: &mut impl MeshSink) {
        self.may_have_room = false;
        for index in 0..self.links.len() {
            let mut refused = std::mem::take(&mut self.links[index].refused);
            let has_room = self.links[index].has_room();
            refused.retain(|process| {
                let is_here = self.presence_of(*process) == HostPresence::Here;
                let pair = &mut self.pairs[*process as usize];
                let hears = !is_here || has_room && pair.flow.has_room();
                if hears {
                    pair.is_refused = false;
                    sink.room(*process);
                }
                !hears
            });
            self.links[index].refused = refused;
        }
    }

    fn report_failures(&mut self, sink: &mut impl MeshSink) {
        for (host, why) in std::mem::take(&mut self.failures) {
            for process in self.roster.hosts[host as usize].processes.clone() {
                let why = self.roster.sentence(process, &why);
                tracing::warn!(process, why, "a process of another client has failed");
                self.pairs[process as usize].is_refused = false;
                sink.failed(process, &why);
            }
            let of_others = |process: &u32| self.roster.host_of(*process) != host;
            self.links.iter_mut().for_each(|link| link.refused.retain(of_others));
        }
    }
}

/// Ends.
impl Mesh {
    /// Process `process` has sent what it must not, for the reason `why`, part of a sentence: all
    /// processes of its host fail, with the next poll.
    #[cfg(test)]
    pub(crate) fn cut(&mut self, process: u32, why: &str) {
        let Some(link) = self.links.get(self.routes[process as usize] as usize) else { return };
        let index = self.routes[process as usize] as usize;
        if self.presence_of(process) != HostPresence::Here {
            return;
        }
        if link.host.is_some() {
            return self.end_link(index, StreamEnd::Violation(why.to_owned()));
        }
        self.presence[self.roster.host_of(process) as usize] = HostPresence::Failed;
        self.cut_behind_gateway(index, process, why);
        self.write(index);
    }

    /// The gateway is to end the connection to the host of `process`, which has been marked as failed.
    fn cut_behind_gateway(&mut self, index: usize, process: u32, why: &str) {
        let host = self.roster.host_of(process);
        let of_host = |header: &PacketHeader| {
            self.roster.rank(&header.source).is_some_and(|it| self.roster.host_of(it) == host)
        };
        let why = cut_off(why);
        if let Some(stream) = &mut self.links[index].stream {
            stream.discard_if(of_host);
            let (header, why) = farewell(self.roster.id(self.me), self.roster.id(process), &why);
            stream.queue.push(&header.emit(), why.len(), |data| data.copy_from_slice(why));
        }
        self.fail(host, why);
    }

    /// Reports a host that has been marked as failed with the next poll.
    fn fail(&mut self, host: u32, why: String) {
        self.failures.push((host, why));
        self.watched.ring();
    }

    /// Nothing more comes from a connection.
    #[cold]
    fn end_link(&mut self, index: usize, end: StreamEnd) {
        let link = &mut self.links[index];
        let is_within = link.stream.as_ref().is_some_and(|stream| stream.is_within_packet());
        let is_cut = matches!(end, StreamEnd::Violation(_));
        let why = link.end_reason(end, is_within);
        self.fail_link(index, &why, is_cut);
    }

    /// All processes behind a connection have failed that have not left.
    fn fail_link(&mut self, index: usize, why: &str, is_cut: bool) {
        let link = &mut self.links[index];
        let why = match link.host {
            Some(_) => why.to_owned(),
            None => format!("cannot be reached: the gateway of this client {why}"),
        };
        link.close(is_cut, &self.watched, &mut self.blocked);
        let behind = link.host;
        for host in 0..self.roster.hosts.len() {
            let is_behind = match behind {
                Some(own) => own as usize == host,
                None => self.roster.hosts[host].client != self.client,
            };
            if is_behind && self.presence[host] == HostPresence::Here {
                self.presence[host] = HostPresence::Failed;
                self.fail(host as u32, why.clone());
            }
        }
        self.may_have_room = true;
    }

    /// Adds FINI to the queue of a connection.
    pub(super) fn say_fini(&mut self, index: usize) {
        let link = &mut self.links[index];
        let hosts = &self.roster.hosts;
        let mut others = hosts.iter().filter(|host| host.client != self.client);
        let first = match link.host {
            Some(host) => Some(&hosts[host as usize]),
            None => others.next(),
        };
        let (Some(stream), Some(first)) = (&mut link.stream, first) else { return };
        let destination = self.roster.id(first.processes.start);
        let (header, _) = farewell(self.roster.id(self.me), destination, "");
        stream.queue.push(&header.emit(), 0, |_| {});
        link.said_fini = true;
    }

    /// Closes a connection when FINI has been sent, and all hosts behind it have left.
    pub(super) fn close_if_over(&mut self, index: usize) {
        let link = &mut self.links[index];
        let is_written = link.stream.as_ref().is_some_and(|stream| stream.is_written());
        if !(link.said_fini && is_written) {
            return;
        }
        let mut hosts = self.roster.hosts.iter().zip(&self.presence);
        let is_over = match link.host {
            Some(host) => self.presence[host as usize] != HostPresence::Here,
            None => hosts.all(|(host, presence)| {
                host.client == self.client || *presence != HostPresence::Here
            }),
        };
        if is_over {
            link.close(false, &self.watched, &mut self.blocked);
        }
    }
}

/// Times.
impl Mesh {
    fn question_ns(&self) -> u64 {
        (self.silence / QUESTIONS).as_nanos() as u64
    }

    /// Ends connections whose other kernel does not answer.
    #[cold]
    fn ask_for_silence(&mut self, now_ns: u64) {
        self.due_ns = u64::MAX;
        for index in 0..self.links.len() {
            if let Some(why) = self.links[index].ask_for_silence(now_ns, self.silence) {
                self.fail_link(index, &why, false);
            }
            if self.links[index].is_under_way {
                self.due_ns = now_ns + self.question_ns();
            }
        }
    }

    /// Makes the descriptor readable when something is due.
    pub(super) fn order_timer(&mut self) {
        if std::mem::replace(&mut self.ordered_ns, self.due_ns) != self.due_ns {
            self.watched.set_timer((self.due_ns != u64::MAX).then_some(self.due_ns));
        }
    }
}
