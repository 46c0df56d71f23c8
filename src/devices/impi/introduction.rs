//! A new connection, until both ends know which hosts it connects.
//!
//! ```text
//!   end that connects                           end that accepts
//!   Connecting ──connected──> Proving           Proving
//!       <──────── handshake, with the world ────────>
//!   its number ────────────────────────────────> AwaitingNumber: the caller decides
//!   AwaitingAnswer <────────── number of that end
//!   Over                                         Over
//! ```
//!
//! In the clear there is no handshake, and between hosts no answer: the host that connects sends its
//! number as a 32-bit integer, as IMPI has it. Encrypted, the numbers are records. A process that connects
//! to its gateway sends its rank, and has an answer in any case, which comes when the mesh is whole; a
//! gateway without a mesh answers [`NO_MESH`] and a sentence.

use std::io;
use std::net::SocketAddr;

use super::mesh_stream::{MeshStream, StreamSealing};
use platform::base::Span;
use platform::network::{Handshake, HandshakeStep, Refusal, SealedChannel, SharedSecret};
use platform::sys::tcp::{Moved, SendPart, StreamConnection};

/// Bytes that are taken at once: more than both ends say before the first packet.
const INPUT_MAX: usize = 2 << 10;

/// The number of a gateway that has no mesh; the reason follows.
const NO_MESH: u32 = u32::MAX;

/// How the connections of a world are protected.
#[derive(Clone, Debug)]
pub(crate) enum MeshSecurity {
    /// Both ends prove the secret and name this world; every byte is encrypted.
    Sealed(SharedSecret, [u8; 16]),
    /// Bytes travel as they are, for foreign peers.
    Cleartext,
}

/// What the end that connects is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum MeshRole {
    /// A host, by its number.
    Host = b'H',
    /// A process at its gateway, by its rank.
    Process = b'P',
}

/// What one end says of itself, and to whom it speaks.
#[derive(Clone, Debug)]
pub(crate) struct MeshIdentity {
    /// The number of this end.
    pub(crate) number: u32,
    pub(crate) role: MeshRole,
    pub(crate) security: MeshSecurity,
}

impl MeshIdentity {
    /// What the handshake carries.
    fn hello(&self, world: &[u8; 16]) -> [u8; 17] {
        let mut bytes = [self.role as u8; 17];
        bytes[..16].copy_from_slice(world);
        bytes
    }

    fn has_answer(&self) -> bool {
        match (&self.security, self.role) {
            (MeshSecurity::Sealed(..), _) | (_, MeshRole::Process) => true,
            (MeshSecurity::Cleartext, MeshRole::Host) => false,
        }
    }
}

pub(crate) struct Introduction {
    connection: StreamConnection,
    identity: MeshIdentity,
    /// The number that the other end must have, if this end connects.
    wanted: Option<u32>,
    stage: IntroductionStage,
    channel: Option<SealedChannel>,
    input: Vec<u8>,
    /// What the other end says, in the clear.
    plain: Vec<u8>,
    output: Vec<u8>,
    /// When this ends without success, in nanoseconds of the host's clock.
    pub(crate) deadline_ns: u64,
}

enum IntroductionStage {
    Connecting,
    Proving(Handshake),
    AwaitingNumber,
    AwaitingAnswer,
    Over,
}

/// The result of [`Introduction::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntroductionStep {
    /// More bytes are needed.
    Pending,
    /// The end that connects has this number.
    Named(u32),
    /// The end that accepts is the wanted one.
    Accepted,
}

/// Why an introduction has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IntroductionError {
    /// Part of a sentence.
    pub(crate) why: String,
    pub(crate) cause: FailedIntroduction,
}

/// What a failed introduction means for the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailedIntroduction {
    /// No process listens there.
    Refused,
    /// The connection was lost.
    Lost,
    /// The other end is a wrong one.
    Wrong,
}

impl From<io::Error> for IntroductionError {
    fn from(error: io::Error) -> Self {
        let cause = match error.kind() {
            io::ErrorKind::ConnectionRefused => FailedIntroduction::Refused,
            _ => FailedIntroduction::Lost,
        };
        Self { why: error.to_string(), cause }
    }
}

impl From<Refusal> for IntroductionError {
    fn from(refusal: Refusal) -> Self {
        Self::wrong(refusal.to_string())
    }
}

impl IntroductionError {
    fn wrong(why: impl Into<String>) -> Self {
        Self { why: why.into(), cause: FailedIntroduction::Wrong }
    }
}

impl Introduction {
    /// Connects to `to`, where the end with the number `wanted` is.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn start(
        to: SocketAddr, wanted: u32, identity: MeshIdentity, deadline_ns: u64,
    ) -> io::Result<Self> {
        let connection = StreamConnection::start(to)?;
        let stage = IntroductionStage::Connecting;
        Ok(Self::new(connection, Some(wanted), stage, identity, deadline_ns))
    }

    /// Takes a connection of another process, which should have the role of `identity`.
    pub(crate) fn accept(
        connection: StreamConnection, identity: MeshIdentity, deadline_ns: u64,
    ) -> Self {
        let stage = match &identity.security {
            MeshSecurity::Sealed(secret, world) => {
                IntroductionStage::Proving(Handshake::respond(secret, &identity.hello(world)))
            }
            MeshSecurity::Cleartext => IntroductionStage::AwaitingNumber,
        };
        Self::new(connection, None, stage, identity, deadline_ns)
    }

    fn new(
        connection: StreamConnection, wanted: Option<u32>, stage: IntroductionStage,
        identity: MeshIdentity, deadline_ns: u64,
    ) -> Self {
        let channel = None;
        let [input, plain, output] = [const { Vec::new() }; 3];
        Self { connection, identity, wanted, stage, channel, input, plain, output, deadline_ns }
    }

    /// The connection, to watch: also for writing while [`Introduction::wants_to_write`].
    pub(crate) fn connection(&self) -> &StreamConnection {
        &self.connection
    }

    pub(crate) fn wants_to_write(&self) -> bool {
        matches!(self.stage, IntroductionStage::Connecting) || !self.output.is_empty()
    }

    /// Reads, decides, writes.
    ///
    /// # Errors
    /// Why there is no connection.
    pub(crate) fn advance(&mut self) -> Result<IntroductionStep, IntroductionError> {
        if matches!(self.stage, IntroductionStage::Connecting) && !self.has_connected()? {
            return Ok(IntroductionStep::Pending);
        }
        let is_over = self.read()?;
        let step = self.decide(is_over)?;
        self.write()?;
        if is_over && step == IntroductionStep::Pending {
            let why = "the other end closed the connection".to_owned();
            return Err(IntroductionError { why, cause: FailedIntroduction::Lost });
        }
        Ok(step)
    }

    /// Whether there is a connection, on which this end then begins to speak.
    fn has_connected(&mut self) -> Result<bool, IntroductionError> {
        if let Some(error) = self.connection.error() {
            return Err(error.into());
        }
        if self.connection.peer_address().is_none() {
            return Ok(false);
        }
        match &self.identity.security {
            MeshSecurity::Sealed(secret, world) => {
                let hello = self.identity.hello(world);
                let handshake = Handshake::initiate(secret, &hello, &mut self.output);
                self.stage = IntroductionStage::Proving(handshake);
            }
            MeshSecurity::Cleartext => self.say_number(),
        }
        Ok(true)
    }

    fn decide(&mut self, is_over: bool) -> Result<IntroductionStep, IntroductionError> {
        if let IntroductionStage::Proving(handshake) = &mut self.stage {
            let step = handshake.advance(&mut self.input, &mut self.output)?;
            let HandshakeStep::Proven { hello } = step else {
                return Ok(IntroductionStep::Pending);
            };
            self.end_handshake(&hello)?;
        }
        self.open_input()?;
        match self.stage {
            IntroductionStage::AwaitingNumber => {
                let Some(number) = self.take_number() else { return Ok(IntroductionStep::Pending) };
                self.stage = IntroductionStage::Over;
                Ok(IntroductionStep::Named(number))
            }
            IntroductionStage::AwaitingAnswer => self.take_answer(is_over),
            IntroductionStage::Over => Ok(IntroductionStep::Accepted),
            IntroductionStage::Connecting | IntroductionStage::Proving(_) => {
                Ok(IntroductionStep::Pending)
            }
        }
    }

    fn end_handshake(&mut self, hello: &[u8]) -> Result<(), IntroductionError> {
        let proven = std::mem::replace(&mut self.stage, IntroductionStage::AwaitingNumber);
        if let IntroductionStage::Proving(handshake) = proven {
            self.channel = Some(handshake.into_channel());
        }
        if let MeshSecurity::Sealed(_, world) = &self.identity.security
            && hello != self.identity.hello(world)
        {
            return Err(IntroductionError::wrong("the other end belongs to another world"));
        }
        if self.wanted.is_some() {
            self.say_number();
        }
        Ok(())
    }

    /// The end that connects says its number.
    fn say_number(&mut self) {
        self.say(&self.identity.number.to_be_bytes());
        self.stage = match self.identity.has_answer() {
            true => IntroductionStage::AwaitingAnswer,
            false => IntroductionStage::Over,
        };
    }

    fn say(&mut self, bytes: &[u8]) {
        match &mut self.channel {
            Some(channel) => channel.seal(bytes, &mut self.output),
            None => self.output.extend_from_slice(bytes),
        }
    }

    fn open_input(&mut self) -> Result<(), Refusal> {
        match &mut self.channel {
            Some(channel) => channel.open(&mut self.input, &mut self.plain),
            None => {
                self.plain.append(&mut self.input);
                Ok(())
            }
        }
    }

    fn take_number(&mut self) -> Option<u32> {
        let number = u32::from_be_bytes(*self.plain.first_chunk()?);
        self.plain.drain(..4);
        Some(number)
    }

    fn take_answer(&mut self, is_over: bool) -> Result<IntroductionStep, IntroductionError> {
        let Some(answer) = self.plain.first_chunk() else { return Ok(IntroductionStep::Pending) };
        let number = u32::from_be_bytes(*answer);
        if number == NO_MESH && !is_over {
            return Ok(IntroductionStep::Pending);
        }
        self.plain.drain(..4);
        if number == NO_MESH {
            return Err(IntroductionError::wrong(String::from_utf8_lossy(&self.plain)));
        }
        if Some(number) != self.wanted {
            return Err(IntroductionError::wrong(format!("host {number} answers there")));
        }
        self.stage = IntroductionStage::Over;
        Ok(IntroductionStep::Accepted)
    }

    /// The end that accepts takes the connection, after [`IntroductionStep::Named`].
    pub(crate) fn answer(&mut self, number: u32) {
        if self.identity.has_answer() {
            self.say(&number.to_be_bytes());
        }
        // What is not written here is written before the first packet.
        let _ = self.write();
    }

    /// The end that accepts does not, and says why.
    pub(crate) fn refuse(&mut self, why: &str) {
        self.say(&NO_MESH.to_be_bytes());
        self.say(why.as_bytes());
        let _ = self.write();
    }

    /// The connection, which begins with packets.
    pub(crate) fn into_stream(self) -> MeshStream {
        let Self { connection, channel, input, plain, output, .. } = self;
        match channel {
            Some(channel) => {
                let sealing = StreamSealing::new(channel, input, output);
                MeshStream::new(connection, Some(sealing), plain)
            }
            None => {
                let mut stream = MeshStream::new(connection, None, plain);
                stream.queue.push(&output, 0, |_| {});
                stream
            }
        }
    }

    /// Whether the other end has closed the connection.
    fn read(&mut self) -> io::Result<bool> {
        let mut bytes = [0; INPUT_MAX];
        while self.input.len() + self.plain.len() < INPUT_MAX {
            let room = INPUT_MAX - self.input.len() - self.plain.len();
            match self.connection.receive(Span::EMPTY, &mut bytes[..room])? {
                Moved::Bytes(count) => self.input.extend_from_slice(&bytes[..count]),
                Moved::Nothing => return Ok(false),
                Moved::End => return Ok(true),
            }
        }
        Ok(false)
    }

    fn write(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.connection.send(&[SendPart::Bytes(&self.output)])? {
                Moved::Bytes(count) => drop(self.output.drain(..count)),
                Moved::Nothing | Moved::End => break,
            }
        }
        Ok(())
    }
}
