//! A client's end of a start-up, as a value: what the server says in, what the client says out.
//!
//! ```text
//!   Authenticating ──mechanism──> Joining ──number of clients──> Exchanging ──all labels──> Finishing
//!                                                                                              │ DONE
//!   each state ── FAIL, or what the server may not say ──> Failed                           Joined <┘
//! ```

use std::mem;
use std::ops::RangeInclusive;

use super::CLIENTS_MAX;
use super::agreement::{WorldAgreement, value};
use super::authentication::{Authentication, Mechanism};
use super::commands::{
    FAIL_MAX_BYTES, ImpiCommand, Label, fail_text, peek, push, push_coll, split_word, take,
};
use super::world::{ClientOffer, World};

/// Bytes of the label and the mask in the answer to a COLL command.
const REPLY_START: usize = 8;

/// One client.
#[derive(Debug)]
pub struct ImpiClient {
    number: u32,
    offer: ClientOffer,
    authentication: Authentication,
    world_id: [u8; 16],
    state: ClientState,
}

enum ClientStep {
    /// Nothing is possible before the server has said more.
    Wait(ClientState),
    Next(ClientState),
    Agreed(World),
}

#[derive(Debug)]
enum ClientState {
    Authenticating,
    /// Waits for all other clients.
    Joining,
    Exchanging(WorldAgreement),
    Finishing(World),
    Joined,
    Failed(String),
}

impl ImpiClient {
    /// Client `number`; its first command is in `out`.
    ///
    /// # Errors
    /// A sentence: the number or the offer is impossible.
    pub fn new(
        number: u32, offer: ClientOffer, authentication: Authentication, world_id: [u8; 16],
        out: &mut Vec<u8>,
    ) -> Result<Self, String> {
        if number >= CLIENTS_MAX {
            return Err(format!("there is no client {number}; expected 0 to {}", CLIENTS_MAX - 1));
        }
        check_offer(number, &offer, world_id)?;
        push(out, ImpiCommand::Auth, &authentication.mask().to_be_bytes());
        let state = ClientState::Authenticating;
        Ok(Self { number, offer, authentication, world_id, state })
    }

    /// Whether the server has not said anything yet.
    pub(super) fn is_unanswered(&self) -> bool {
        matches!(self.state, ClientState::Authenticating)
    }

    /// What the client waits for, for a message about a server that is silent.
    pub fn awaited(&self) -> String {
        match &self.state {
            ClientState::Authenticating => "the answer of the server".to_owned(),
            ClientState::Joining => "the other clients to join".to_owned(),
            ClientState::Exchanging(agreement) => {
                let name = agreement.label().map_or("DONE", Label::name);
                format!("the values {name} of all clients")
            }
            ClientState::Finishing(_) => "the other clients to be done".to_owned(),
            ClientState::Joined | ClientState::Failed(_) => "nothing".to_owned(),
        }
    }

    /// Takes what the server says from the front of `input` and appends what the client says to `out`; the
    /// world, once all clients agree on it.
    ///
    /// # Errors
    /// A sentence: the server has ended the start-up, or says what it may not. It is the same later.
    pub fn advance(
        &mut self, input: &mut Vec<u8>, out: &mut Vec<u8>,
    ) -> Result<Option<World>, String> {
        loop {
            let state = mem::replace(&mut self.state, ClientState::Joined);
            match self.step(state, input, out) {
                Ok(ClientStep::Next(state)) => self.state = state,
                Ok(ClientStep::Wait(state)) => {
                    self.state = state;
                    return Ok(None);
                }
                Ok(ClientStep::Agreed(world)) => return Ok(Some(world)),
                Err(why) => {
                    self.state = ClientState::Failed(why.clone());
                    return Err(why);
                }
            }
        }
    }

    fn step(
        &self, state: ClientState, input: &mut Vec<u8>, out: &mut Vec<u8>,
    ) -> Result<ClientStep, String> {
        if let Ok(Some(ImpiCommand::Fail)) = peek(input) {
            let text = take_reply(input, ImpiCommand::Fail, 0..=FAIL_MAX_BYTES)?;
            return text.map_or(Ok(ClientStep::Wait(state)), |text| Err(fail_text(&text)));
        }
        match state {
            ClientState::Authenticating => self.prove(input, out),
            ClientState::Joining => self.learn_size(input, out),
            ClientState::Exchanging(agreement) => self.exchange(agreement, input, out),
            ClientState::Finishing(world) => match take_reply(input, ImpiCommand::Done, 0..=0)? {
                Some(_) => Ok(ClientStep::Agreed(world)),
                None => Ok(ClientStep::Wait(ClientState::Finishing(world))),
            },
            ClientState::Joined => Ok(ClientStep::Wait(ClientState::Joined)),
            ClientState::Failed(why) => Err(why),
        }
    }

    /// The answer to AUTH has no header.
    fn prove(&self, input: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<ClientStep, String> {
        let Some((which, rest)) = split_word(input) else {
            return Ok(ClientStep::Wait(ClientState::Authenticating));
        };
        let mask = 1_u32.checked_shl(which).unwrap_or(0);
        let mechanism =
            Mechanism::from_number(which).filter(|_| self.authentication.mask() & mask != 0);
        let mechanism = mechanism.ok_or_else(|| {
            format!("the server wants the authentication {which}, which this client did not offer")
        })?;
        let Some((len, _)) = split_word(rest) else {
            return Ok(ClientStep::Wait(ClientState::Authenticating));
        };
        // A server has no reason to say a length where nothing is sent.
        if len as usize != mechanism.proof_bytes() && mechanism != Mechanism::None {
            return Err(format!("the server wants a key of {len} bytes; expected 8"));
        }
        input.drain(..2 * size_of::<u32>());
        if let (Mechanism::Key, Some(key)) = (mechanism, self.authentication.key) {
            out.extend_from_slice(&key.to_be_bytes());
        }
        push(out, ImpiCommand::Impi, &self.number.to_be_bytes());
        Ok(ClientStep::Next(ClientState::Joining))
    }

    fn learn_size(&self, input: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<ClientStep, String> {
        let Some(size) = take_reply(input, ImpiCommand::Impi, 4..=4)? else {
            return Ok(ClientStep::Wait(ClientState::Joining));
        };
        let size = split_word(&size).map_or(0, |(size, _)| size);
        if !(self.number + 1..=CLIENTS_MAX).contains(&size) {
            let number = self.number;
            return Err(format!("the server has {size} clients, of which this one is {number}"));
        }
        Ok(ClientStep::Next(self.say(WorldAgreement::new(size as usize), out)?))
    }

    fn exchange(
        &self, mut agreement: WorldAgreement, input: &mut Vec<u8>, out: &mut Vec<u8>,
    ) -> Result<ClientStep, String> {
        let lengths = agreement.joined_lengths();
        let lengths = REPLY_START + lengths.start()..=REPLY_START + lengths.end();
        let Some(reply) = take_reply(input, ImpiCommand::Coll, lengths)? else {
            return Ok(ClientStep::Wait(ClientState::Exchanging(agreement)));
        };
        let values = values(&agreement, &reply)?;
        agreement.take(&values).map_err(|objection| objection.why)?;
        Ok(ClientStep::Next(self.say(agreement, out)?))
    }

    /// Says the next value, or that all have been said.
    fn say(&self, agreement: WorldAgreement, out: &mut Vec<u8>) -> Result<ClientState, String> {
        match agreement.label() {
            Some(label) => {
                push_coll(out, label, &value(&self.offer, label));
                Ok(ClientState::Exchanging(agreement))
            }
            None => {
                let world = agreement.world(self.world_id).map_err(|objection| objection.why)?;
                push(out, ImpiCommand::Done, &[]);
                Ok(ClientState::Finishing(world))
            }
        }
    }
}

/// The values of all clients in the answer to a COLL command.
fn values(agreement: &WorldAgreement, reply: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let (code, rest) = split_word(reply).unwrap_or((0, &[]));
    let (mask, joined) = split_word(rest).unwrap_or((0, &[]));
    let expected = agreement.label().map_or(0, Label::code);
    if code != expected {
        let (label, expected) = (Label::describe(code), Label::describe(expected));
        return Err(format!("the server answers {expected} with {label}"));
    }
    let all = mask_of(agreement.client_count());
    if mask != all {
        let name = Label::describe(code);
        return Err(format!("the server sends {name} of the clients {mask:#x}; expected {all:#x}"));
    }
    agreement.split(joined)
}

/// The mask of all clients.
pub(super) fn mask_of(clients: usize) -> u32 {
    u32::MAX >> (CLIENTS_MAX as usize - clients)
}

/// Takes an answer of the server.
fn take_reply(
    input: &mut Vec<u8>, expected: ImpiCommand, lengths: RangeInclusive<usize>,
) -> Result<Option<Vec<u8>>, String> {
    let taken = take(input, |command| (command == expected).then(|| lengths.clone()));
    let taken = taken.map_err(|error| {
        format!(
            "the server does not follow the protocol of IMPI: {error}; expected {}",
            expected.name()
        )
    })?;
    Ok(taken.map(|(_, payload)| payload))
}

/// What other clients would object to.
fn check_offer(number: u32, offer: &ClientOffer, world_id: [u8; 16]) -> Result<(), String> {
    let mut alone = WorldAgreement::new(1);
    let wrong = |why: &str| format!("client {number}: {why}");
    while let Some(label) = alone.label() {
        let value = value(offer, label);
        alone.check(0, &value).map_err(|why| wrong(&why))?;
        alone.take(&[value]).map_err(|objection| wrong(&objection.why))?;
    }
    alone.world(world_id).map(drop).map_err(|objection| wrong(&objection.why))
}
