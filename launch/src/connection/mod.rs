//! The connections of a process to agents that it has started on other hosts.
//!
//! A *starter* is a command such as ssh: its standard input and output are the connection, and what it
//! and the agent write to standard error is printed with the name of the host. [`command`] is the
//! process of the starter, [`link`] the connection: what arrives, silence, and how it ends. Neither knows
//! of the job: which ranks the host has, and what the loss of an agent means.

mod command;
mod link;

pub(crate) use link::{AgentLink, AgentLinkReady, AgentLinkState};
