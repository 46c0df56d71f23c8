//! A new connection, until both ends know that the other is the process that they mean.
//!
//! ```text
//!   end that connects                      end that accepts
//!   Connecting ──connected──> Proving      AwaitingKey
//!        the name of a key ────────────────────>  Proving
//!        message 1 ────────────────────────────>
//!        <──────────────────── message 2, hello
//!        message 3, hello ─────────────────────>  proven: the caller decides
//!   AwaitingVerdict <──────────────── verdict     over
//!   over
//! ```
//!
//! Nothing is kept for a peer before its proof. The messages are those of
//! [`Handshake`](platform::network::Handshake), or of [`LocalProof`](platform::network::LocalProof) inside a
//! host. A connection that was [kept](super::kept) begins with `AwaitingVerdict`, or proven.

use std::io;

use super::card::{Hello, KeyId, Keyring, ListeningPlace, Verdict};
use super::connection::OpenConnection;
use super::kept::LocalEnd;
use super::near::{NearRings, OFFER_AFTER};
use super::proof::{ConnectionProof, ProvenConnection};
use platform::base::Span;
use platform::network::{HandshakeStep, MAGIC, Refusal};
use platform::sys::local_socket;
use platform::sys::tcp::{Moved, SendPart, StreamConnection};

/// Bytes that a greeting takes at once: more than both ends say before the first frame.
const INPUT_MAX: usize = 2 << 10;

pub(crate) struct Greeting {
    connection: StreamConnection,
    stage: Stage,
    /// The key that the end that connects has named.
    key: KeyId,
    /// Whether this end connects.
    connects: bool,
    /// Whether it does so with a key that is not that of its job.
    is_foreign: bool,
    /// Whether the other end wants every byte to be encrypted.
    other_encrypts: bool,
    /// The shared memory that a kept connection has.
    near: Option<Box<NearRings>>,
    /// Packets before one is offered.
    offer_after: u32,
    input: Vec<u8>,
    output: Vec<u8>,
    /// When this ends without success, in nanoseconds of the host's clock.
    pub(crate) deadline_ns: u64,
}

enum Stage {
    Connecting {
        hello: Hello,
    },
    AwaitingKey {
        hello: Hello,
    },
    Proving(ConnectionProof),
    AwaitingVerdict(ProvenConnection),
    Over(ProvenConnection),
    /// After an error.
    Void,
}

fn error(why: &str) -> GreetingError {
    GreetingError { why: why.to_owned(), is_refusal: false }
}

const NO_KEY: &str = "this process has forgotten the key of the other one";
const UNKNOWN: &str = "the other end says what this process does not understand";

/// Why a greeting has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GreetingError {
    /// Part of a sentence.
    pub(crate) why: String,
    /// Whether no process listens at the address.
    pub(crate) is_refusal: bool,
}

impl From<io::Error> for GreetingError {
    fn from(error: io::Error) -> Self {
        let is_refusal = error.kind() == io::ErrorKind::ConnectionRefused;
        Self { why: error.to_string(), is_refusal }
    }
}

impl From<Refusal> for GreetingError {
    fn from(why: Refusal) -> Self {
        Self { why: why.to_string(), is_refusal: false }
    }
}

/// The result of [`Greeting::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GreetingStep {
    /// More bytes are needed.
    Pending,
    /// The end that connects has reached this process. It may be another one than the wanted.
    Reached(Hello),
    /// The end that accepts is to say its verdict.
    Asked(Hello),
    /// The end that connects has the verdict.
    Answered(Verdict),
}

impl Greeting {
    /// Connects to `to` with a key that the other end knows.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn start(
        to: ListeningPlace, key: KeyId, hello: Hello, deadline_ns: u64,
    ) -> io::Result<Self> {
        let connection = match to {
            ListeningPlace::Local(name) => local_socket::connect_to(name)?,
            ListeningPlace::Network(to) => StreamConnection::start(to)?,
        };
        Ok(Self::new(connection, Stage::Connecting { hello }, key, deadline_ns))
    }

    /// Takes a connection of another process.
    pub(crate) fn accept(connection: StreamConnection, hello: Hello, deadline_ns: u64) -> Self {
        Self::new(connection, Stage::AwaitingKey { hello }, KeyId::default(), deadline_ns)
    }

    /// A connection that was kept, on which this end has said `call`.
    pub(crate) fn called(
        connection: StreamConnection, key: KeyId, end: LocalEnd, call: Vec<u8>, deadline_ns: u64,
    ) -> Self {
        let stage = Stage::AwaitingVerdict(ProvenConnection::Local(end.session));
        let mut greeting = Self::new(connection, stage, key, deadline_ns);
        (greeting.connects, greeting.output) = (end.connects, call);
        (greeting.near, greeting.offer_after) = (end.near, end.offer_after);
        // What is not written here is written by `advance`, which finds the error, too.
        let _ = greeting.write();
        greeting
    }

    /// A connection that was kept, on which the other end has called.
    pub(crate) fn asked(connection: StreamConnection, key: KeyId, end: LocalEnd) -> Self {
        let stage = Stage::Over(ProvenConnection::Local(end.session));
        let LocalEnd { near, offer_after, .. } = end;
        Self { near, offer_after, ..Self::new(connection, stage, key, u64::MAX) }
    }

    fn new(connection: StreamConnection, stage: Stage, key: KeyId, deadline_ns: u64) -> Self {
        let (connects, is_foreign) = match &stage {
            Stage::Connecting { hello } => (true, hello.job != key),
            _ => (false, false),
        };
        Self {
            connection,
            stage,
            key,
            connects,
            is_foreign,
            other_encrypts: false,
            near: None,
            offer_after: OFFER_AFTER,
            input: Vec::new(),
            output: Vec::new(),
            deadline_ns,
        }
    }

    /// The key by which the other end proves itself.
    pub(crate) fn key(&self) -> KeyId {
        self.key
    }

    /// Whether a connection without a proof may be that of a process that knows the secret, and has given it
    /// up: it has named a key of this process and sent nothing wrong.
    pub(crate) fn may_be_of_a_peer(&self) -> bool {
        matches!(self.stage, Stage::Proving(_))
    }

    /// The connection, to watch: also for writing while [`Greeting::wants_to_write`].
    pub(crate) fn connection(&self) -> &StreamConnection {
        &self.connection
    }

    /// Whether the system of the other end has accepted the connection: its process exists.
    pub(crate) fn is_connected(&self) -> bool {
        !matches!(self.stage, Stage::Connecting { .. })
    }

    /// Whether the connection has to be written.
    pub(crate) fn wants_to_write(&self) -> bool {
        matches!(self.stage, Stage::Connecting { .. }) || !self.output.is_empty()
    }

    /// Reads, decides, writes.
    ///
    /// # Errors
    /// Why there is no connection.
    pub(crate) fn advance(&mut self, keys: &Keyring) -> Result<GreetingStep, GreetingError> {
        if let Stage::Connecting { hello } = &self.stage {
            let hello = *hello;
            let secret = keys.get(self.key).ok_or_else(|| error(NO_KEY))?;
            let is_local = self.connection.is_local();
            if !is_local {
                if let Some(error) = self.connection.error() {
                    return Err(error.into());
                }
                if self.connection.peer_address().is_none() {
                    return Ok(GreetingStep::Pending);
                }
            }
            self.output.extend_from_slice(&MAGIC);
            self.output.extend_from_slice(&self.key);
            let proof =
                ConnectionProof::initiate(is_local, secret, &hello.emit(), &mut self.output);
            self.stage = Stage::Proving(proof);
        }
        let is_over = self.read()?;
        self.choose_key(keys)?;
        let step = self.decide()?;
        self.write()?;
        if is_over && step == GreetingStep::Pending {
            // A port that was closed has no key; a process of the own job may be late.
            let is_refusal = matches!(&self.stage, Stage::Proving(_)) && self.is_foreign;
            let why = "the other end closed the connection".to_owned();
            return Err(GreetingError { why, is_refusal });
        }
        Ok(step)
    }

    /// Takes the name of the key, with the first bytes of the end that connects. The connection
    /// waits for a key that is not known, until its deadline.
    fn choose_key(&mut self, keys: &Keyring) -> Result<(), GreetingError> {
        let Stage::AwaitingKey { hello } = &self.stage else { return Ok(()) };
        let begun = self.input.len().min(MAGIC.len());
        if self.input[..begun] != MAGIC[..begun] {
            return Err(Refusal::Magic.into());
        }
        let Some(key) = self.input[begun..].first_chunk().copied() else { return Ok(()) };
        // Another process may know the key of a new communicator before this one does.
        let Some(secret) = keys.get(key) else { return Ok(()) };
        let is_local = self.connection.is_local();
        self.stage = Stage::Proving(ConnectionProof::respond(is_local, secret, &hello.emit()));
        self.key = key;
        self.input.drain(..begun + key.len());
        Ok(())
    }

    fn decide(&mut self) -> Result<GreetingStep, GreetingError> {
        let (stage, step) = match std::mem::replace(&mut self.stage, Stage::Void) {
            Stage::Proving(proof) => self.prove(proof)?,
            Stage::AwaitingVerdict(mut proven) => match proven.take_verdict(&mut self.input)? {
                Some(verdict) => {
                    let verdict = verdict.ok_or_else(|| error(UNKNOWN))?;
                    (Stage::Over(proven), GreetingStep::Answered(verdict))
                }
                None => (Stage::AwaitingVerdict(proven), GreetingStep::Pending),
            },
            stage => (stage, GreetingStep::Pending),
        };
        self.stage = stage;
        Ok(step)
    }

    fn prove(
        &mut self, mut proof: ConnectionProof,
    ) -> Result<(Stage, GreetingStep), GreetingError> {
        let step = proof.advance(&mut self.input, &mut self.output);
        let HandshakeStep::Proven { hello } = step? else {
            return Ok((Stage::Proving(proof), GreetingStep::Pending));
        };
        let hello = Hello::parse(&hello).ok_or_else(|| error(UNKNOWN))?;
        self.other_encrypts = hello.encrypts;
        let proven = proof.into_proven();
        Ok(match self.connects {
            true => (Stage::AwaitingVerdict(proven), GreetingStep::Reached(hello)),
            false => (Stage::Over(proven), GreetingStep::Asked(hello)),
        })
    }

    /// Says the verdict, after [`GreetingStep::Asked`].
    pub(crate) fn answer(&mut self, verdict: Verdict) {
        if let Stage::Over(proven) = &mut self.stage {
            proven.say(verdict, &mut self.output);
        }
        // What is not written here is written before the first frame. After a refusal it is lost.
        let _ = self.write();
    }

    /// The connection, after a verdict that accepts it; `encrypts`: every byte from now on, as also if
    /// the other end wants it.
    pub(crate) fn open(self, encrypts: bool) -> Option<OpenConnection> {
        let Stage::Over(proven) = self.stage else { return None };
        let Self { connection, connects, near, offer_after, input, output, .. } = self;
        Some(match proven {
            ProvenConnection::Local(session) => {
                let end = LocalEnd { session, connects, near, offer_after };
                OpenConnection::new_local(connection, end, input, output)
            }
            ProvenConnection::Network(channel) => {
                let channel = (encrypts || self.other_encrypts).then_some(channel);
                OpenConnection::new(connection, channel, input, output)
            }
        })
    }

    /// Whether the other end has closed the connection.
    fn read(&mut self) -> io::Result<bool> {
        let mut bytes = [0; INPUT_MAX];
        while self.input.len() < INPUT_MAX {
            let room = INPUT_MAX - self.input.len();
            match self.connection.receive(Span::EMPTY, &mut bytes[..room]) {
                Ok(Moved::Bytes(count)) => {
                    self.input.extend_from_slice(&bytes[..count]);
                    if count < room {
                        // The socket was empty.
                        return Ok(false);
                    }
                }
                Ok(Moved::Nothing) => return Ok(false),
                Ok(Moved::End) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn write(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.connection.send(&[SendPart::Bytes(&self.output)]) {
                Ok(Moved::Bytes(count)) => drop(self.output.drain(..count)),
                Ok(Moved::Nothing | Moved::End) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
