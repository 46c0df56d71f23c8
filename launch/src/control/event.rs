//! Messages of an agent to the head.

use platform::bootstrap::{Fence, JoinState, NameRequest, SpawnCall};
use platform::sys::process::Exit;
#[cfg(doc)]
use platform::sys::topology::CpuTopology;
use serde::{Deserialize, Serialize};

use super::RankFacts;
use super::call::CallToken;
use super::wire::{FenceForm, JoinForm, NameForm, SpawnForm, exit};
use crate::output::OutputStream;

/// What has happened on the host of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AgentEvent {
    /// The first event of an agent, after the first bytes of its head.
    Hello(HostFacts),
    /// The agent has no standard input; it has ended.
    Inputless,
    /// The token that the agent proves when it calls.
    Token(CallToken),
    /// A rank has started as this process.
    Started { rank: u32, pid: u32 },
    /// A rank could not be started: the exit code and the reason.
    Refused { code: i32, why: String },
    /// Bytes of a rank; no bytes are the end of this stream.
    Output {
        rank: u32,
        stream: OutputStream,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// A file on this host takes no more output; no reason if that is a pipe that its reader has closed.
    OutputLost { why: Option<String> },
    /// A rank has read its standard input: more bytes may be sent.
    InputTaken { rank: u32, bytes: u32 },
    /// A rank reads no more standard input.
    InputClosed { rank: u32 },
    /// The process of a rank ended.
    Exited {
        rank: u32,
        #[serde(with = "exit")]
        exit: Exit,
        /// The MPI process, if that was another one.
        inner: Option<InnerExit>,
        #[serde(with = "JoinForm")]
        join_state: JoinState,
        circumstances: Circumstances,
    },
    /// The MPI process of a rank ended before MPI_Finalize, but the program that started it runs.
    ProcessGone {
        rank: u32,
        pid: u32,
        #[serde(with = "exit::option")]
        exit: Option<Exit>,
        circumstances: Circumstances,
    },
    /// A rank runs, but has closed its connection.
    Disconnected { rank: u32, pid: u32 },
    /// A rank called `MPI_Abort`.
    Aborted { rank: u32, code: i32, message: Option<String> },
    /// All ranks of this host have reached this fence; the answer is
    /// [`AgentCommand::FenceDone`](super::AgentCommand::FenceDone).
    Fence(#[serde(with = "FenceForm")] Fence),
    /// A rank waits for the answer to this request: [`AgentCommand::Answer`](super::AgentCommand::Answer).
    Name {
        rank: u32,
        #[serde(with = "NameForm")]
        request: NameRequest,
    },
    /// A rank waits for the answer to this call about spawned jobs.
    Spawn {
        rank: u32,
        #[serde(with = "SpawnForm")]
        call: SpawnCall,
    },
    /// A rank of a job on several hosts ended, after it had joined by this number of programs.
    Ended { rank: u32, programs: u32 },
    /// A rank waits for one that ended without MPI_Init.
    Stuck { ended: u32, waiting: u32 },
    /// A rank sent a request that is not supported.
    Unsupported { rank: u32, why: String },
    /// A rank violated the PMI protocol.
    Broken { rank: u32, why: String },
    /// The report that [`AgentCommand::Dump`](super::AgentCommand::Dump) requested.
    Report(Vec<RankFacts>),
    /// The processes that the ranks left, which are ended: `71 sleep, 72 cat`.
    Leftovers(String),
    /// The agent ends all processes of this host and itself, for this reason.
    Ending(String),
    /// No process of the job is left on this host.
    Childless,
    /// The agent is there.
    Beat,
    /// An event of the agent of another host, which this agent, or one below it, has started.
    From {
        host: u32,
        #[serde(with = "serde_bytes")]
        message: Vec<u8>,
    },
    /// The agent of that host is lost to the one that has started it.
    BranchLost { host: u32, why: String },
    /// What the command that starts the agent of that host wrote to standard error.
    BranchLine { host: u32, line: String },
}

impl AgentEvent {
    /// The rank that it concerns, which is one of the agent's.
    pub(crate) fn rank(&self) -> Option<u32> {
        match self {
            Self::Started { rank, .. }
            | Self::Output { rank, .. }
            | Self::InputTaken { rank, .. }
            | Self::InputClosed { rank }
            | Self::Exited { rank, .. }
            | Self::ProcessGone { rank, .. }
            | Self::Disconnected { rank, .. }
            | Self::Aborted { rank, .. }
            | Self::Name { rank, .. }
            | Self::Spawn { rank, .. }
            | Self::Ended { rank, .. }
            | Self::Unsupported { rank, .. }
            | Self::Broken { rank, .. } => Some(*rank),
            Self::Hello(_)
            | Self::Inputless
            | Self::OutputLost { .. }
            | Self::Token(_)
            | Self::Refused { .. }
            | Self::Fence(_)
            | Self::Stuck { .. }
            | Self::Report(_)
            | Self::Leftovers(_)
            | Self::Ending(_)
            | Self::Childless
            | Self::Beat
            | Self::From { .. }
            | Self::BranchLost { .. }
            | Self::BranchLine { .. } => None,
        }
    }
}

/// The host of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostFacts {
    /// The build of the program; it must be that of the head.
    pub build: String,
    /// The name of the host.
    pub name: String,
    /// What tells the machine from all others.
    pub identity: String,
    /// The processors that the job may use, as [`CpuTopology::to_text`] has them.
    pub topology: String,
}

/// The end of an MPI process below the process of its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InnerExit {
    pub pid: u32,
    #[serde(with = "exit")]
    pub exit: Exit,
}

/// Facts for the message about a rank that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Circumstances {
    /// The MPI call that it waited in.
    pub call: Option<String>,
    /// Processes of this host that the kernel has ended for lack of memory since the job started.
    pub memory_kills: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::frame::{ControlReader, emit};
    use crate::control::{AgentCommand, HostShare, RankShare, ShareApp, ShareSecret};
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn round_trip<Message>(message: &Message) -> Message
    where
        Message: Serialize + serde::de::DeserializeOwned,
    {
        let mut bytes = Vec::new();
        emit(message, &mut bytes);
        let mut reader = ControlReader::new(bytes.len());
        reader.push(&bytes);
        reader.next_message().unwrap().unwrap()
    }

    fn exits() -> impl Strategy<Value = Exit> {
        prop_oneof![(0..256).prop_map(Exit::Code), (1..65).prop_map(Exit::Signal)]
    }

    proptest! {
        #[test]
        fn ends_of_ranks_cross_the_wire(
            rank in any::<u32>(), exit in exits(), inner in proptest::option::of(exits()),
            call in proptest::option::of("[a-z]{0,9}"), memory_kills in any::<u64>(),
        ) {
            let circumstances = Circumstances { call, memory_kills };
            let pid = 7;
            let join_state = JoinState::Left;
            let gone = AgentEvent::ProcessGone {
                rank, pid, exit: inner, circumstances: circumstances.clone(),
            };
            let inner = inner.map(|exit| InnerExit { pid, exit });
            let exited = AgentEvent::Exited { rank, exit, inner, join_state, circumstances };
            prop_assert_eq!(round_trip(&gone), gone);
            prop_assert_eq!(round_trip(&exited), exited);
        }

        #[test]
        fn a_share_crosses_the_wire_with_any_bytes(
            text in vec(1_u8..255, 0..20), ranks in vec((any::<u32>(), 0_usize..1000), 0..5),
        ) {
            use std::os::unix::ffi::OsStringExt;
            let word = std::ffi::OsString::from_vec(text);
            let app = ShareApp {
                program: word.clone(),
                arguments: vec![word.clone(); 2],
                environment: vec![(word.clone(), word.clone())],
                directory: Some(word),
                ..ShareApp::default()
            };
            let share = |(rank, processor)| RankShare {
                rank, processors: Some(vec![processor]), reads_input: false,
            };
            let message = AgentCommand::Start(Box::new(HostShare {
                output: None,
                job: "job".to_owned(),
                secret: ShareSecret { id: [1; 16], key: [2; 32] },
                size: 9,
                apps: vec![app],
                app_of_rank: vec![0; 9],
                host_of_rank: Vec::new(),
                ranks: ranks.into_iter().map(share).collect(),
                shares_pipe: true,
                survives: true,
                holds: false,
                limits: vec![8 << 20, u64::MAX],
                file_limit: 1024,
                file_mask: 0o22,
            }));
            prop_assert_eq!(round_trip(&message), message);
        }
    }

    #[test]
    fn a_fence_crosses_the_wire_both_ways() {
        let fence = Fence { program: 2, group: "WORLD:0".to_owned(), pairs: vec![7; 300] };
        let event = AgentEvent::Fence(fence.clone());
        assert_eq!(round_trip(&event), event);
        let command = AgentCommand::FenceDone(fence);
        assert_eq!(round_trip(&command), command);
    }

    #[test]
    fn calls_about_spawned_jobs_cross_the_wire() {
        use platform::bootstrap::SpawnWords;
        let words = vec!["-n".to_owned(), "a b".to_owned()];
        let start = SpawnWords { words, names_hosts: true, parent_port: "p".to_owned() };
        let number = 3;
        for call in [
            SpawnCall::Start(start),
            SpawnCall::State { number },
            SpawnCall::Disconnected { number },
            SpawnCall::End { number },
        ] {
            let event = AgentEvent::Spawn { rank: 1, call };
            assert_eq!(round_trip(&event), event);
        }
    }

    #[test]
    fn messages_of_branches_cross_the_wire() {
        use crate::control::{BranchHost, BranchPlan, HostLimits, Recipients, message_bytes};
        let limits = HostLimits { silence: None, start: Some(std::time::Duration::from_secs(1)) };
        let below = vec![BranchHost { number: 8, words: vec!["ssh".into(), "b c".into()] }];
        let plan = BranchPlan { host: 7, below, fan_out: 32, limits };
        let start = AgentCommand::StartBranch(Box::new(plan));
        assert_eq!(round_trip(&start), start);
        for to in [Recipients::Host(8), Recipients::All, Recipients::AllBut(7)] {
            let pass = AgentCommand::Pass { to, message: message_bytes(&AgentCommand::Kill) };
            assert_eq!(round_trip(&pass), pass);
        }
        for event in [
            AgentEvent::From { host: 8, message: message_bytes(&AgentEvent::Childless) },
            AgentEvent::BranchLost { host: 8, why: "no route".to_owned() },
            AgentEvent::BranchLine { host: 8, line: "Welcome".to_owned() },
        ] {
            assert_eq!(round_trip(&event), event);
        }
    }

    #[test]
    fn the_secret_is_not_in_the_text_of_a_message() {
        let secret = ShareSecret { id: [171; 16], key: [205; 32] };
        assert_eq!(format!("{secret:?}"), "ShareSecret");
    }
}
