//! What the head of a job and the agents of its hosts say to each other.
//!
//! ```text
//!   head ──AgentCommand──> agent       start these ranks, signal them, end them
//!        <──AgentEvent────             started, exited, output
//!
//!   frame: length of the rest in 4 bytes, little-endian │ a message in the format of postcard
//! ```
//!
//! The agent of the head's own host takes the same values without frames. The first event of every
//! agent is [`AgentEvent::Hello`]; both ends are one program of one build, and a head refuses any
//! other. Before it, the agent sends a [`greeting`]: login scripts may have printed something.
//!
//! No message makes the receiver reserve memory for more than has arrived, and each direction has a
//! longest message. Frames and messages are values; [`link`] alone does I/O. This module does not know
//! how an agent is started.

mod branch;
mod call;
mod command;
mod credit;
mod event;
mod frame;
#[cfg(test)]
#[path = "../../../platform/src/network/fuzz.rs"]
mod fuzz;
mod greeting;
mod limits;
mod link;
mod report;
mod silence;
mod wire;

pub(crate) use branch::{BranchHost, BranchPlan, Recipients};
pub(crate) use call::{
    AwaitedCall, CALL_MAX_BYTES, CALL_SILENCE_TIMEOUT, CallAddress, CallToken, PBS_COOKIE,
    ProvenCall, TOKEN, UnprovenCall,
};
pub(crate) use command::{AgentCommand, HostShare, RankShare, ShareApp, ShareSecret};
pub(crate) use credit::{CreditWindow, StreamCredit, window_bytes};
pub(crate) use event::{AgentEvent, Circumstances, HostFacts, InnerExit};
pub(crate) use frame::{message_bytes, parse};
pub(crate) use limits::{HostLimits, beat_interval};
pub(crate) use link::{ControlLink, LinkReady};
pub(crate) use report::RankFacts;
pub(crate) use silence::Silence;
