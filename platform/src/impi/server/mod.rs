//! The start-up server, as a value: bytes of connections in, bytes and ends of connections out.
//!
//! ```text
//!   Gathering ──all clients have joined──> Exchanging ──all labels──> Completing ──all DONE──> Running
//!        │                                     │                          │                      │ all FINI,
//!        └──── a client lies, leaves or is late┴──────────────────────────┴──> Ended <───────────┘ or gone
//! ```
//!
//! A connection that is no client, [`connection`], harms nobody: it is closed, and the start-up goes on. A
//! client that joined and then lies or leaves ends the start-up, because the world needs all of them; all
//! clients are told why. After the start-up the server is not needed: it only counts the clients that end.
//!
//! The caller reads, writes and closes connections, which it calls by numbers of its own, and tells the
//! time.

mod connection;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::CLIENTS_MAX;
use super::agreement::WorldAgreement;
use super::authentication::{Authentication, ImpiSecurity};
use super::channel::ImpiChannel;
use super::client::mask_of;
use super::commands::{CommandError, ImpiCommand, Label, push, push_coll_reply, split_word, take};
use super::world::Objection;
use connection::{ClientConnection, ConnectionState};

/// The time in which a connection must become a client.
const PROOF_TIMEOUT: Duration = Duration::from_secs(5);

/// The time that a connection has at least, however many there are.
const PROOF_TIME_MIN: Duration = Duration::from_secs(1);

/// Connections that are no clients, at most.
const STRANGERS_MAX: usize = 512;

/// Refusals that are reported: a flood of strangers must not fill a disk.
const REFUSALS_REPORTED: u32 = 20;

/// The start-up of one world.
pub struct ImpiServer {
    security: ImpiSecurity,
    /// In the sealed channel, the key of which has been proved.
    authentication: Authentication,
    world_id: [u8; 16],
    /// When clients that have not done their part are too late, and the time that they had.
    deadline: Option<(Instant, Duration)>,
    connections: BTreeMap<u32, ClientConnection>,
    /// The connection of each client.
    clients: Vec<Option<u32>>,
    phase: ServerPhase,
    refusals: u32,
    notes: Vec<String>,
}

enum ServerPhase {
    Gathering,
    Exchanging { agreement: WorldAgreement, values: Vec<Option<Vec<u8>>> },
    Completing { is_done: Vec<bool> },
    Running { ends: Vec<Option<ClientEnd>> },
    Ended(ImpiOutcome),
}

/// How a client ended after the start-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientEnd {
    Fini,
    Lost,
}

/// How it all ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImpiOutcome {
    /// All clients have ended; these without saying so.
    Finished {
        /// The numbers of the clients.
        lost: Vec<u32>,
    },
    /// The start-up has failed, with this sentence.
    Failed(String),
}

impl ImpiServer {
    /// A server of `count` clients, which have `timeout` for the start-up.
    ///
    /// # Errors
    /// A sentence: the count is impossible, or no client could prove itself.
    pub fn new(
        count: u32, security: ImpiSecurity, world_id: [u8; 16], timeout: Option<Duration>,
        now: Instant,
    ) -> Result<Self, String> {
        if !(1..=CLIENTS_MAX).contains(&count) {
            return Err(format!("{count} clients; expected 1 to {CLIENTS_MAX}"));
        }
        let authentication = match &security {
            ImpiSecurity::Sealed(_) => Authentication { accepts_none: true, key: None },
            ImpiSecurity::Cleartext(authentication) => *authentication,
        };
        if authentication.is_empty() {
            return Err("in cleartext, IMPI_AUTH_KEY=NUMBER must be set, for the server and all \
                        clients, or IMPI_AUTH_NONE=1 so that anybody is accepted"
                .to_owned());
        }
        Ok(Self {
            security,
            authentication,
            world_id,
            deadline: timeout.map(|timeout| (now + timeout, timeout)),
            connections: BTreeMap::new(),
            clients: vec![None; count as usize],
            phase: ServerPhase::Gathering,
            refusals: 0,
            notes: Vec::new(),
        })
    }

    /// Whether another connection may be accepted now. In a flood, each connection has a fair time to join.
    pub fn has_room(&self, now: Instant) -> bool {
        self.next_room().is_none_or(|at| now >= at)
    }

    /// When there is room for another connection, if there are too many.
    fn next_room(&self) -> Option<Instant> {
        let mut strangers = self.connections.values().filter(|connection| connection.is_stranger());
        let oldest = strangers.next()?;
        let is_full = strangers.count() + 1 >= STRANGERS_MAX;
        is_full.then(|| oldest.until - (PROOF_TIMEOUT - PROOF_TIME_MIN))
    }

    /// There is a new connection, of which `peer` is the address. If too many have not joined, the oldest
    /// is ended: it had the most time.
    ///
    /// # Panics
    /// If there is a connection with this number. Numbers ascend, and none is used twice.
    pub fn connected(&mut self, connection: u32, peer: &str, now: Instant) {
        let channel = match &self.security {
            ImpiSecurity::Sealed(secret) => ImpiChannel::sealed_server(secret, self.world_id),
            ImpiSecurity::Cleartext(_) => ImpiChannel::cleartext(),
        };
        let state = ConnectionState::Authenticating;
        let new =
            ClientConnection { channel, peer: peer.to_owned(), state, until: now + PROOF_TIMEOUT };
        let older = self.connections.insert(connection, new);
        assert!(older.is_none(), "two connections {connection}");
        let mut strangers = self.connections.iter().filter(|(_, it)| it.is_stranger());
        let oldest = strangers.next().map(|(oldest, _)| *oldest);
        if let Some(oldest) = oldest
            && strangers.count() >= STRANGERS_MAX
        {
            self.refuse(oldest, "too many connections have not joined");
        }
    }

    /// Whether bytes of a connection are to be read now.
    pub fn takes_input(&self, connection: u32) -> bool {
        self.connections.get(&connection).is_some_and(ClientConnection::takes_input)
    }

    /// A connection has sent bytes.
    pub fn received(&mut self, connection: u32, bytes: &[u8]) {
        let Some(from) = self.connections.get_mut(&connection) else { return };
        match from.channel.receive(bytes) {
            Ok(()) => self.advance(connection),
            Err(why) => self.dismiss(connection, &why),
        }
    }

    /// A connection has ended: the caller has closed it.
    pub fn closed(&mut self, connection: u32) {
        let Some(gone) = self.connections.remove(&connection) else { return };
        if let ConnectionState::Joined(client) = gone.state {
            self.lose(client, &gone.peer, "it has closed its connection");
        }
    }

    /// Whether something is to be sent to a connection.
    pub fn has_unsent(&self, connection: u32) -> bool {
        self.connections.get(&connection).is_some_and(|it| !it.channel.unsent.is_empty())
    }

    /// What is to be sent to a connection; the caller removes what it has sent.
    pub fn unsent(&mut self, connection: u32) -> &mut Vec<u8> {
        let connection = self.connections.get_mut(&connection);
        &mut connection.expect("the connection has not been closed").channel.unsent
    }

    /// Whether the caller is to close a connection once nothing is unsent.
    pub fn is_ending(&self, connection: u32) -> bool {
        let connection = self.connections.get(&connection);
        connection.is_none_or(|it| it.state == ConnectionState::Ending)
    }

    /// The time to call [`ImpiServer::tick`], or to ask for room again.
    pub fn next_deadline(&self, now: Instant) -> Option<Instant> {
        let strangers = self.connections.values().filter(|connection| connection.is_stranger());
        let start = self.deadline.map(|(at, _)| at).filter(|_| self.is_starting());
        let room = self.next_room().filter(|at| now < *at);
        strangers.map(|connection| connection.until).chain(start).chain(room).min()
    }

    /// Ends what is too late.
    pub fn tick(&mut self, now: Instant) {
        let is_late = |it: &ClientConnection| it.is_stranger() && now >= it.until;
        let late = self.connections.iter().filter(|(_, connection)| is_late(connection));
        let late: Vec<_> = late.map(|(number, _)| *number).collect();
        let why = format!("it has not joined within {PROOF_TIMEOUT:?}");
        late.into_iter().for_each(|connection| self.refuse(connection, &why));
        if let Some((at, timeout)) = self.deadline
            && self.is_starting()
            && now >= at
        {
            let missing = self.missing();
            self.fail(format!("after {timeout:?}, {missing}"));
        }
    }

    /// Ends the start-up, or the wait for the end of clients, with this reason.
    pub fn interrupt(&mut self, why: &str) {
        if !matches!(self.phase, ServerPhase::Ended(_)) {
            self.fail(why.to_owned());
        }
    }

    /// How it all ended, once it has; connections may still have to be closed.
    pub fn outcome(&self) -> Option<&ImpiOutcome> {
        match &self.phase {
            ServerPhase::Ended(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Whether the world is complete.
    pub fn has_started(&self) -> bool {
        !self.is_starting()
    }

    /// Sentences for the user since the last call.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Whether the world is not complete yet.
    fn is_starting(&self) -> bool {
        match self.phase {
            ServerPhase::Gathering
            | ServerPhase::Exchanging { .. }
            | ServerPhase::Completing { .. } => true,
            ServerPhase::Running { .. } | ServerPhase::Ended(_) => false,
        }
    }

    /// What the start-up waits for.
    fn missing(&self) -> String {
        let count = self.clients.len();
        let text = |is_missing: &dyn Fn(usize) -> bool, what: &str| {
            let numbers: Vec<_> = (0..count).filter(|client| is_missing(*client)).collect();
            missing_text(&numbers, count, what)
        };
        match &self.phase {
            ServerPhase::Gathering => text(&|it| self.clients[it].is_none(), "joined"),
            ServerPhase::Exchanging { agreement, values } => {
                let label = agreement.label().map_or("", Label::name);
                text(&|it| values[it].is_none(), &format!("sent {label}"))
            }
            ServerPhase::Completing { is_done } => text(&|it| !is_done[it], "sent DONE"),
            ServerPhase::Running { .. } | ServerPhase::Ended(_) => String::new(),
        }
    }

    /// Goes on with what a connection has said.
    fn advance(&mut self, connection: u32) {
        let authentication = self.authentication;
        let Some(from) = self.connections.get_mut(&connection) else { return };
        if from.is_stranger() {
            match from.greet(&authentication) {
                Ok(None) => return,
                Ok(Some(number)) => self.join(connection, number),
                Err(why) => return self.refuse(connection, &why),
            }
        }
        while self.step() {}
    }

    /// A connection that has proved itself wants to be client `number`.
    fn join(&mut self, connection: u32, number: u32) {
        let count = self.clients.len();
        let Some(place) = self.clients.get_mut(number as usize) else {
            let why = format!(
                "it is client {number}; expected 0 to {}, because the server was started for {count}",
                count - 1
            );
            return self.refuse(connection, &why);
        };
        if let Some(owner) = *place {
            let owner = self.connections.get(&owner).map_or("another", |it| &*it.peer);
            let why = format!("it is client {number}, which is already {owner}");
            return self.refuse(connection, &why);
        }
        if !matches!(self.phase, ServerPhase::Gathering) {
            return self.refuse(connection, "the start-up is over");
        }
        *place = Some(connection);
        if let Some(new) = self.connections.get_mut(&connection) {
            new.state = ConnectionState::Joined(number);
            let peer = &new.peer;
            self.notes.push(format!("client {number} has joined from {peer}"));
        }
    }

    /// One step of all clients; whether another may be possible.
    fn step(&mut self) -> bool {
        match &mut self.phase {
            ServerPhase::Gathering => self.gather(),
            ServerPhase::Exchanging { .. } => self.exchange(),
            ServerPhase::Completing { .. } => self.complete(),
            ServerPhase::Running { .. } => self.count_ends(),
            ServerPhase::Ended(_) => false,
        }
    }

    fn gather(&mut self) -> bool {
        if self.clients.iter().any(Option::is_none) {
            return false;
        }
        let count = self.clients.len();
        let mut size = Vec::new();
        push(&mut size, ImpiCommand::Impi, &(count as u32).to_be_bytes());
        self.tell_all(&size);
        self.phase = ServerPhase::Exchanging {
            agreement: WorldAgreement::new(count),
            values: vec![None; count],
        };
        true
    }

    /// Takes values of the current label, and answers when all are there.
    fn exchange(&mut self) -> bool {
        let ServerPhase::Exchanging { agreement, values } = &mut self.phase else { return false };
        let Some(label) = agreement.label() else { return false };
        for (client, value) in values.iter_mut().enumerate().filter(|(_, value)| value.is_none()) {
            let connection = self.clients[client].and_then(|it| self.connections.get_mut(&it));
            let Some(connection) = connection else { continue };
            match take_value(&mut connection.channel.input, agreement, client, label) {
                Ok(taken) => *value = taken,
                Err(why) => {
                    self.object(&Objection::of(client as u32, &why));
                    return false;
                }
            }
        }
        if values.iter().any(Option::is_none) {
            return false;
        }
        let values: Vec<_> = values.iter_mut().filter_map(Option::take).collect();
        if let Err(objection) = agreement.take(&values) {
            self.object(&objection);
            return false;
        }
        let is_last = agreement.label().is_none();
        let mut reply = Vec::new();
        push_coll_reply(&mut reply, label, mask_of(self.clients.len()), &values);
        if is_last {
            let agreement = std::mem::replace(agreement, WorldAgreement::new(0));
            if let Err(objection) = agreement.world(self.world_id) {
                self.object(&objection);
                return false;
            }
            self.phase = ServerPhase::Completing { is_done: vec![false; self.clients.len()] };
        }
        self.tell_all(&reply);
        true
    }

    fn complete(&mut self) -> bool {
        let ServerPhase::Completing { is_done } = &mut self.phase else { return false };
        for (client, is_done) in is_done.iter_mut().enumerate().filter(|(_, it)| !**it) {
            let connection = self.clients[client].and_then(|it| self.connections.get_mut(&it));
            let Some(connection) = connection else { continue };
            match connection.take_command(ImpiCommand::Done, 0) {
                Ok(taken) => *is_done = taken.is_some(),
                Err(why) => {
                    self.object(&Objection::of(client as u32, &why));
                    return false;
                }
            }
        }
        if is_done.contains(&false) {
            return false;
        }
        let mut done = Vec::new();
        push(&mut done, ImpiCommand::Done, &[]);
        self.tell_all(&done);
        self.notes.push(format!("all {} clients have started", self.clients.len()));
        self.phase = ServerPhase::Running { ends: vec![None; self.clients.len()] };
        true
    }

    fn count_ends(&mut self) -> bool {
        let ServerPhase::Running { ends } = &mut self.phase else { return false };
        let mut wrong = None;
        for (client, end) in ends.iter_mut().enumerate().filter(|(_, end)| end.is_none()) {
            let number = self.clients[client];
            let Some(connection) = number.and_then(|it| self.connections.get_mut(&it)) else {
                continue;
            };
            match connection.take_command(ImpiCommand::Fini, 0) {
                Ok(None) => {}
                Ok(Some(_)) => {
                    connection.end(None);
                    *end = Some(ClientEnd::Fini);
                }
                Err(why) => {
                    wrong = Some((client as u32, connection.peer.clone(), why));
                    connection.end(None);
                }
            }
        }
        if let Some((client, peer, why)) = wrong {
            self.lose(client, &peer, &why);
        }
        self.finish_if_all_ended();
        false
    }

    fn finish_if_all_ended(&mut self) {
        let ServerPhase::Running { ends } = &self.phase else { return };
        if ends.iter().all(Option::is_some) {
            let lost = (0..).zip(ends).filter(|(_, end)| **end == Some(ClientEnd::Lost));
            let lost = lost.map(|(client, _)| client).collect();
            self.phase = ServerPhase::Ended(ImpiOutcome::Finished { lost });
            self.end_all(None);
        }
    }

    /// A client is gone, or of no use.
    fn lose(&mut self, client: u32, peer: &str, why: &str) {
        match &mut self.phase {
            ServerPhase::Running { ends } => {
                let end = &mut ends[client as usize];
                if end.is_none() {
                    *end = Some(ClientEnd::Lost);
                    self.notes
                        .push(format!("client {client} ({peer}) has ended without FINI: {why}"));
                }
                self.finish_if_all_ended();
            }
            ServerPhase::Gathering
            | ServerPhase::Exchanging { .. }
            | ServerPhase::Completing { .. } => {
                self.fail(format!("client {client} ({peer}) is lost: {why}"));
            }
            ServerPhase::Ended(_) => {}
        }
    }

    /// A client lies.
    fn object(&mut self, objection: &Objection) {
        let Objection { client, why } = objection;
        let connection = self.clients.get(*client as usize).copied().flatten();
        let connection = connection.and_then(|it| self.connections.get(&it));
        match connection {
            Some(connection) => {
                self.fail(format!("{why} (client {client} is {})", connection.peer))
            }
            None => self.fail(why.clone()),
        }
    }

    /// Ends the start-up and tells all clients why.
    fn fail(&mut self, why: String) {
        self.end_all(Some(&why));
        self.phase = ServerPhase::Ended(ImpiOutcome::Failed(why));
    }

    /// A connection breaks the rules of its channel.
    fn dismiss(&mut self, connection: u32, why: &str) {
        let Some(from) = self.connections.get_mut(&connection) else { return };
        match from.state {
            ConnectionState::Joined(client) => {
                let peer = from.peer.clone();
                from.end(None);
                self.lose(client, &peer, why);
            }
            ConnectionState::Ending => {}
            _ => self.refuse(connection, why),
        }
    }

    /// Ends a connection that is no client.
    fn refuse(&mut self, connection: u32, why: &str) {
        let Some(from) = self.connections.get_mut(&connection) else { return };
        from.end(Some(&format!("the server has refused this connection: {why}")));
        self.refusals += 1;
        if self.refusals <= REFUSALS_REPORTED {
            let peer = &from.peer;
            self.notes.push(format!("a connection from {peer} was refused: {why}"));
        }
        if self.refusals == REFUSALS_REPORTED {
            self.notes.push("further refusals are not reported".to_owned());
        }
    }

    fn tell_all(&mut self, bytes: &[u8]) {
        for connection in self.clients.iter().flatten() {
            if let Some(connection) = self.connections.get_mut(connection) {
                connection.channel.send(bytes);
            }
        }
    }

    /// Ends all connections.
    fn end_all(&mut self, why: Option<&str>) {
        for connection in self.connections.values_mut() {
            if connection.state != ConnectionState::Ending {
                connection.end(why);
            }
        }
    }
}

/// Takes a client's value of `label`.
fn take_value(
    input: &mut Vec<u8>, agreement: &WorldAgreement, client: usize, label: Label,
) -> Result<Option<Vec<u8>>, String> {
    let name = label.name();
    let lengths = agreement.lengths(client);
    // The label comes first, so that a wrong one is named instead of its length.
    if let Some((ImpiCommand::Coll, code)) = labelled(input)
        && code != label.code()
    {
        return Err(format!("it sent the label {}; expected {name}", Label::describe(code)));
    }
    let taken = take(input, |command| {
        (command == ImpiCommand::Coll).then(|| 4 + lengths.start()..=4 + lengths.end())
    });
    match taken {
        Ok(None) => Ok(None),
        Ok(Some((_, payload))) => {
            let value = payload[4..].to_vec();
            agreement.check(client, &value)?;
            Ok(Some(value))
        }
        Err(CommandError::Length(ImpiCommand::Coll, len)) => {
            let (least, most) = lengths.into_inner();
            let len = i64::from(len) - 4;
            Err(format!("{name} has {len} bytes; expected {least} to {most}"))
        }
        Err(error) => Err(format!("{error}; expected COLL with {name}")),
    }
}

/// The command and the first word of its payload, once they are there.
fn labelled(input: &[u8]) -> Option<(ImpiCommand, u32)> {
    let command = super::commands::peek(input).ok()??;
    let (code, _) = split_word(&input[super::commands::COMMAND_HEADER_BYTES..])?;
    Some((command, code))
}

/// `client 1 of 2 has not joined`, or `clients 1, 4 and 5 of 6 have not joined`.
fn missing_text(numbers: &[usize], count: usize, what: &str) -> String {
    match numbers {
        [] => format!("no client has not {what}"),
        [one] => format!("client {one} of {count} has not {what}"),
        [first @ .., last] => {
            let first: Vec<_> = first.iter().map(ToString::to_string).collect();
            format!("clients {} and {last} of {count} have not {what}", first.join(", "))
        }
    }
}
