//! The decisions made for a job and their reasons, in sentences: `SUIRO_EXPLAIN=1`, set by `mpirun
//! --explain`. Rank 0 prints them during initialization.

use super::{Config, DeviceKind, ProgressMode, WaitMode};
use crate::devices::shm::CopyMethod;
use crate::mpi::collective::selection::machine_model::MachineModel;
use crate::offload::Scheme;
use crate::process::waiting::wait_policy::WaitPolicy;
use crate::process::world::ThreadLevel;

/// Input of the sentences.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decisions<'a> {
    pub(crate) config: &'a Config,
    pub(crate) level: ThreadLevel,
    /// Number of ranks of the job.
    pub(crate) ranks: u32,
    /// Name of the launcher.
    pub(crate) launcher: &'a str,
    /// The name of this host, which runs all ranks.
    pub(crate) host: &'a str,
    /// Number of threads that can run at once here.
    pub(crate) processors: usize,
    pub(crate) policy: WaitPolicy,
    /// Cost model of collective operations.
    pub(crate) machine: MachineModel,
    /// Whether this process can read the memory of another process.
    pub(crate) reads_memory: bool,
}

impl Decisions<'_> {
    /// One sentence each.
    pub(crate) fn lines(&self) -> Vec<String> {
        let Self { ranks, launcher, host, .. } = self;
        let device = match (ranks, self.config.device) {
            (1, DeviceKind::Shm) => "device shm: one rank, which sends to itself only".to_owned(),
            (_, DeviceKind::Shm) => format!("device shm between all ranks: they all run on {host}"),
            (_, DeviceKind::Tofu) => {
                "device tofu between all ranks, simulated (SUIRO_DEVICE=tofu)".into()
            }
        };
        vec![
            format!("{ranks} ranks, started by {launcher}"),
            device,
            self.copying(),
            self.waiting(),
            self.threads(),
            self.progress(),
            self.collectives(),
            self.offload(),
        ]
    }

    fn collectives(&self) -> String {
        let machine = self.machine.name;
        let why: String = self.config.agreed.lines().map(|line| format!("; {line}")).collect();
        format!("collectives: algorithms by what they cost in {machine}{why}")
    }

    fn offload(&self) -> String {
        let how = match (self.config.device, self.config.offload.0, self.reads_memory) {
            (DeviceKind::Shm, ..) => "run on the host: device shm has no counters",
            (DeviceKind::Tofu, None, _) => "run on the host (SUIRO_OFFLOAD=off)",
            (DeviceKind::Tofu, Some(_), false) => {
                "run on the host: this system forbids process_vm_writev"
            }
            (DeviceKind::Tofu, Some(Scheme::Tank), _) => {
                "run on the interface, by two counters each"
            }
            (DeviceKind::Tofu, Some(Scheme::Tank1), _) => {
                "run on the interface, by one counter each where that is safe"
            }
            (DeviceKind::Tofu, Some(Scheme::Prematched), _) => {
                "run on the interface, by three counters for each round of messages"
            }
        };
        format!("persistent collectives {how}")
    }

    fn copying(&self) -> String {
        let (allowed, forbidden) =
            ("this system allows process_vm_readv", "this system forbids process_vm_readv");
        let (how, why) = match (self.config.copy, self.reads_memory) {
            (CopyMethod::Pipe, _) => ("through a ring in shared memory", "SUIRO_SHM_COPY=pipe"),
            (CopyMethod::Cma, true) => ("read from the sender's memory", "SUIRO_SHM_COPY=cma"),
            (CopyMethod::Auto, true) => (
                "of more than 16 KiB read from the sender's memory or through a ring, whichever \
                 the first ones prove faster",
                allowed,
            ),
            (CopyMethod::Auto | CopyMethod::Cma, false) => {
                ("through a ring in shared memory", forbidden)
            }
        };
        let reads = self.reads_memory && self.config.copy != CopyMethod::Pipe;
        let both = match (reads, self.ranks as usize <= self.processors) {
            (false, _) => "",
            (true, true) => "; of what is read a sender that only waits writes a part",
            (true, false) => "; what is read is left to the receiver, as ranks share processors",
        };
        format!("long messages: {how} ({why}){both}")
    }

    fn waiting(&self) -> String {
        let Self { ranks, processors, .. } = self;
        if self.progress_mode() == ProgressMode::Delegate {
            return "waiting calls sleep at once (SUIRO_PROGRESS=delegate)".to_owned();
        }
        let why = match self.config.waiting {
            WaitMode::Auto => format!("{ranks} ranks on {processors} processors"),
            WaitMode::Spin => "SUIRO_WAIT=spin".to_owned(),
            WaitMode::Yield => "SUIRO_WAIT=yield".to_owned(),
            WaitMode::Sleep => "SUIRO_WAIT=sleep".to_owned(),
        };
        let how = match (self.config.waiting, self.policy.is_shared()) {
            (WaitMode::Spin, _) => "poll without a pause",
            (WaitMode::Yield, _) => "poll and let others run in between",
            (WaitMode::Sleep, _) => "sleep as soon as nothing arrives",
            (WaitMode::Auto, true) => {
                "let others run, spin only if that proves faster, and sleep soon"
            }
            (WaitMode::Auto, false) => "spin shortly, then let others run, then sleep",
        };
        format!("waiting calls {how} ({why})")
    }

    fn threads(&self) -> String {
        let how = match (self.level, self.progress_mode()) {
            (ThreadLevel::Multiple, _) => {
                "calls of several threads: one at a time under a lock; of those that wait, one \
                 polls and the others sleep"
            }
            (_, ProgressMode::Polling) => {
                "calls of several threads never overlap, so there is no lock"
            }
            (_, ProgressMode::Thread | ProgressMode::Auto | ProgressMode::Delegate) => {
                "calls of several threads never overlap; only the progress thread pays for a lock"
            }
        };
        format!("{how} ({})", self.level.name())
    }

    fn progress(&self) -> String {
        let Self { ranks, processors, .. } = self;
        let how = match (self.config.progress, self.progress_mode()) {
            (ProgressMode::Polling, _) => "inside MPI calls (SUIRO_PROGRESS=polling)",
            (ProgressMode::Thread, _) => {
                "inside MPI calls, and by a thread while there are none (SUIRO_PROGRESS=thread)"
            }
            (ProgressMode::Auto, ProgressMode::Polling) => {
                return format!(
                    "messages move inside MPI calls (SUIRO_PROGRESS=auto, {ranks} ranks on \
                     {processors} processors)"
                );
            }
            (ProgressMode::Auto, _) => {
                "inside MPI calls, and by a thread while there are none, once something begins that \
                 goes on without calls (SUIRO_PROGRESS=auto)"
            }
            (ProgressMode::Delegate, _) => {
                "by a thread alone, and calls sleep until it wakes them (SUIRO_PROGRESS=delegate)"
            }
        };
        format!("messages move {how}")
    }

    /// The resolved progress mode.
    fn progress_mode(&self) -> ProgressMode {
        self.config.progress.resolve(self.ranks as usize, self.processors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::collective::selection::machine_model;

    #[test]
    fn every_decision_has_its_reason() {
        let lines = |config: &Config, ranks: u32, reads_memory: bool| {
            let policy = WaitPolicy::new(config.waiting, ranks as usize, 2);
            let (launcher, host, level) = ("somebody", "here", ThreadLevel::Multiple);
            let all = Decisions {
                config,
                level,
                ranks,
                launcher,
                host,
                processors: 2,
                policy,
                machine: machine_model::SHARED,
                reads_memory,
            };
            all.lines().join("\n")
        };
        let text = lines(&Config::default(), 4, true);
        for words in ["by somebody", "all run on here", "allows process_vm_readv", "4 ranks on 2"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(text.contains("sleep soon") && text.contains("(MPI_THREAD_MULTIPLE)"));
        assert!(text.contains("left to the receiver, as ranks share processors"));
        assert!(
            lines(&Config::default(), 2, true).contains("a sender that only waits writes a part")
        );
        assert!(lines(&Config::default(), 2, false).contains("ring in shared memory (this system"));
        let chain = Config { agreed: "SUIRO_COLL_BCAST=chain\n".to_owned(), ..Config::default() };
        assert!(lines(&chain, 2, true).contains("for each rank; SUIRO_COLL_BCAST=chain"));
        let tofu = Config { device: DeviceKind::Tofu, ..Config::default() };
        assert!(lines(&tofu, 2, true).contains("run on the interface, by two counters each"));
        assert!(lines(&tofu, 2, false).contains("run on the host: this system forbids"));
        let spin = Config { waiting: WaitMode::Spin, ..Config::default() };
        assert!(lines(&spin, 1, true).contains("without a pause (SUIRO_WAIT=spin)"));
    }
}
