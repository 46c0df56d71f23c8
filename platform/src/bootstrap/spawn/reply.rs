//! The answer of mpirun to a [`SpawnCall`](super::SpawnCall), as a line of PMI.

use super::SpawnState;
use crate::base::Result;
use crate::bootstrap::channel::{PmiReply, protocol_error};
use crate::bootstrap::wire::{PmiLine, decoded, encoded};

/// The name of the line.
pub(in crate::bootstrap) const SPAWN_REPLY: &str = "spawn_reply";

/// The answer to a [`SpawnCall`](super::SpawnCall).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpawnReply {
    /// The number of the job whose mpirun has been started.
    Started(u32),
    /// The state of the job.
    State(SpawnState),
    /// The job is disconnected, or it is ending.
    Disconnected,
    /// The reason why the call has failed, in a sentence without a final stop.
    Refused(String),
}

impl SpawnReply {
    /// The line to send.
    pub fn into_bytes(self) -> Vec<u8> {
        let line = PmiLine::new(SPAWN_REPLY);
        let good = |line: PmiLine| line.number("rc", 0);
        let line = match self {
            Self::Started(number) => good(line).number("number", number),
            Self::State(SpawnState::Starting) => good(line).text("state", "starting"),
            Self::State(SpawnState::Running) => good(line).text("state", "running"),
            Self::State(SpawnState::Ended { code, why }) => {
                good(line).text("state", "ended").number("code", code).text("why", &encoded(&why))
            }
            Self::Disconnected => good(line).text("state", "disconnected"),
            Self::Refused(why) => line.number("rc", 1).text("why", &encoded(&why)),
        };
        line.into_bytes()
    }

    /// Reads a line.
    ///
    /// # Errors
    /// `Other` when it is none of these answers.
    pub(in crate::bootstrap) fn parse(line: &PmiReply) -> Result<Self> {
        let why = || line.wanted_value("why").map(|why| decoded(&why));
        if !line.is_good() {
            return why().map(Self::Refused);
        }
        if let Some(number) = line.number("number") {
            return Ok(Self::Started(number));
        }
        match line.wanted_value("state")?.as_str() {
            "starting" => Ok(Self::State(SpawnState::Starting)),
            "running" => Ok(Self::State(SpawnState::Running)),
            "ended" => {
                let code = line.wanted_number("code")? as i32;
                Ok(Self::State(SpawnState::Ended { code, why: why()? }))
            }
            "disconnected" => Ok(Self::Disconnected),
            other => Err(protocol_error(&format!("with the unknown state {other:?}"))),
        }
    }
}
