//! The decisions made for a job and their reasons, in sentences: `SUIRO_EXPLAIN=1`, set by `mpirun
//! --explain`. Rank 0 prints them during initialization.

use super::{Config, DeviceKind, ProgressMode, WaitMode};
use crate::devices::carrier::settings::{CarrierScope, VendorMode};
use crate::devices::rings::read_trial::CopyMethod;
use crate::devices::tcp::CryptMode;
use crate::mpi::collective::selection::machine_model::MachineModel;
use crate::offload::Scheme;
use crate::process::devices::interruptions::InjectedNoise;
use crate::process::waiting::wait_policy::WaitPolicy;
use crate::process::world::ThreadLevel;
use platform::base::Peer;
use platform::base::settings::{RULES, agreed_across_jobs};
use platform::bootstrap::JobHosts;
use platform::sys::topology::format_list;

/// Hosts that are named, at most.
const HOSTS_MAX: usize = 16;

/// Input of the sentences.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decisions<'a> {
    pub(crate) config: &'a Config,
    pub(crate) level: ThreadLevel,
    /// Number of ranks of the job.
    pub(crate) ranks: u32,
    /// Number of ranks on this host.
    pub(crate) local_ranks: usize,
    /// Name of the launcher.
    pub(crate) launcher: &'a str,
    /// Whether the launcher passes the secret of the job to its processes.
    pub(crate) passes_secret: bool,
    pub(crate) hosts: &'a JobHosts,
    /// The other library that carries messages; empty if there is none.
    pub(crate) vendor_name: &'a str,
    /// Libfabric, its provider and its domain; empty if it carries no messages.
    pub(crate) fabric: &'a str,
    /// What runs programs beside it, or why nothing does.
    pub(crate) work: Option<&'a Result<String, String>>,
    /// What `SUIRO_DEVICE=auto` has come to, and why; empty if nothing had to be chosen.
    pub(crate) choice: &'a str,
    /// Whether a thread calls the other library.
    pub(crate) vendor_thread: bool,
    /// Sentences about the sockets of this rank; none without sockets.
    pub(crate) sockets: &'a [String],
    /// Number of threads that can run at once here.
    pub(crate) processors: usize,
    pub(crate) policy: WaitPolicy,
    /// Cost model of collective operations.
    pub(crate) machine: MachineModel,
    /// Whether this process can read the memory of another process.
    pub(crate) reads_memory: bool,
}

/// Of devices that carry the messages inside a host, too.
const WINDOWS_BY_MESSAGES: &str = "windows: accessed by messages, except memory of \
                                   MPI_Win_allocate_shared, which the ranks of a host map";
/// Of those that make accesses to memory of peers, if libfabric's provider does.
const WINDOWS_BY_DEVICE: &str = "windows: accessed by messages, and adjacent memory by the device \
                                 where that is faster, except memory of MPI_Win_allocate_shared, \
                                 which the ranks of a host map";

/// Where programs run on threads.
const BY_SOCKETS: &str = "run on a thread of each rank, with TCP connections between the threads";
const BY_SOCKETS_BETWEEN_HOSTS: &str =
    "run on a thread of each rank, with TCP connections between threads of different hosts";

impl Decisions<'_> {
    /// One sentence each.
    pub(crate) fn lines(&self) -> Vec<String> {
        let Self { ranks, launcher, .. } = self;
        let mut lines = vec![format!("{ranks} ranks, started by {launcher}")];
        lines.extend(self.choice());
        lines.extend(self.devices());
        lines.extend(self.sockets.iter().cloned());
        lines.extend(self.secret());
        lines.extend(self.noise());
        lines.extend([
            self.copying(),
            self.windows(),
            self.waiting(),
            self.threads(),
            self.progress(),
            self.collectives(),
            self.offload(),
        ]);
        lines
    }

    fn choice(&self) -> Option<String> {
        match (self.config.is_device_auto, self.choice) {
            (false, _) => None,
            (true, "") => Some("device auto is shm: all ranks run on one host".to_owned()),
            (true, choice) => Some(choice.to_owned()),
        }
    }

    /// The value of `SUIRO_DEVICE` by which libfabric carries messages.
    fn by_fabric(&self) -> &'static str {
        if self.config.is_device_auto { "SUIRO_DEVICE=auto" } else { "SUIRO_DEVICE=ofi" }
    }

    fn noise(&self) -> Option<String> {
        let InjectedNoise { noise, delays_sends } = self.config.noise?;
        let when = if delays_sends { "polls or sends" } else { "polls" };
        Some(format!("noise: a rank that {when} sleeps, {noise} (SUIRO_NOISE)"))
    }

    fn devices(&self) -> Vec<String> {
        let Self { ranks, hosts, .. } = self;
        let names = hosts.names();
        let everywhere = match (ranks, self.config.device) {
            (1, DeviceKind::Shm | DeviceKind::Tcp | DeviceKind::Vendor) => {
                "device shm: one rank, which sends to itself only".to_owned()
            }
            (_, DeviceKind::Shm) if hosts.is_one() => {
                format!("device shm between all ranks: they all run on {}", names[0])
            }
            (_, DeviceKind::Tofu) => {
                "device tofu between all ranks, simulated (SUIRO_DEVICE=tofu)".into()
            }
            (_, DeviceKind::Tcp) => {
                format!("device tcp between all ranks, on {} (SUIRO_DEVICE=tcp)", names.join(", "))
            }
            (_, DeviceKind::Vendor) => return self.vendor(),
            (_, DeviceKind::Ofi) if self.fabric.is_empty() => {
                format!("device shm between all ranks: they all run on {}", names[0])
            }
            (_, DeviceKind::Ofi) if self.config.fabric.between == CarrierScope::Ranks => {
                format!("device ofi between all ranks, by {} ({})", self.fabric, self.by_fabric())
            }
            (_, DeviceKind::Shm | DeviceKind::Ofi) => return self.devices_of_hosts(),
        };
        vec![everywhere]
    }

    /// What the other library does.
    fn vendor(&self) -> Vec<String> {
        let between = match self.config.vendor.between {
            CarrierScope::Ranks => "all ranks",
            CarrierScope::Hosts => "hosts, and device shm inside each",
        };
        let mode = match (self.config.vendor.mode, self.vendor_thread) {
            (VendorMode::Auto, true) => "a thread asks it for messages (SUIRO_VENDOR_MODE=auto)",
            (VendorMode::Auto, false) => "calls ask it for messages (SUIRO_VENDOR_MODE=auto)",
            (VendorMode::Thread, _) => "a thread asks it for messages (SUIRO_VENDOR_MODE=thread)",
            (VendorMode::Polling, _) => "calls ask it for messages (SUIRO_VENDOR_MODE=polling)",
        };
        let (name, short) = (self.vendor_name, self.config.vendor.short_max);
        vec![
            format!("device vendor between {between}, by {name} (SUIRO_DEVICE=vendor)"),
            format!("device vendor: {mode}; at most {short} bytes travel with their header"),
        ]
    }

    /// The device of each host, and that between them.
    fn devices_of_hosts(&self) -> Vec<String> {
        let Self { ranks, hosts, .. } = self;
        let names = hosts.names();
        let inside = (0..).zip(names).map(|(number, name)| {
            let members = ranks_text(&hosts.ranks_on(number, *ranks));
            format!("device shm on {name}, between its ranks: {members}")
        });
        let count = names.len();
        let by = match self.config.device {
            DeviceKind::Ofi => format!(", by {} ({})", self.fabric, self.by_fabric()),
            _ => String::new(),
        };
        let device = if by.is_empty() { "tcp" } else { "ofi" };
        let between = match names {
            [one, other] => format!("device {device} between {one} and {other}{by}"),
            _ => format!("device {device} between any two of the {count} hosts{by}"),
        };
        inside.take(HOSTS_MAX).chain([between]).collect()
    }

    /// What the secret of the job is worth.
    fn secret(&self) -> Option<String> {
        if self.sockets.is_empty() {
            return None;
        }
        let worth = match self.passes_secret {
            true => {
                "passed by the launcher as a descriptor: processes of this user can read it, and \
                 nobody else"
            }
            false => {
                "drawn by rank 0 and agreed through the key-value space of the launcher: whoever can \
                 read that space, or what the launcher sends between hosts, knows it"
            }
        };
        let crypt = match self.config.tcp.crypt {
            CryptMode::Auth => "packets travel in the clear (SUIRO_TCP_CRYPT=auth)",
            CryptMode::Full => "every byte is encrypted (SUIRO_TCP_CRYPT=full)",
        };
        Some(format!("each connection proves the secret of the job, {worth}; {crypt}"))
    }

    fn collectives(&self) -> String {
        let machine = self.machine.name;
        let agreed = agreed_across_jobs(&self.config.agreed);
        let why: String = agreed.lines().map(|line| self.agreed_setting(line)).collect();
        let between = match (self.hosts.is_one(), self.config.device) {
            (false, DeviceKind::Shm | DeviceKind::Ofi) => ", and between hosts in a network",
            _ => "",
        };
        format!("collectives: algorithms by what they cost in {machine}{between}{why}")
    }

    /// A setting of collectives, which is equal on all ranks; the file of rules by its name here.
    fn agreed_setting(&self, line: &str) -> String {
        match (line.starts_with(RULES), self.config.selection.rules()) {
            (true, Some(rules)) => format!("; {RULES}={}", rules.file()),
            _ => format!("; {line}"),
        }
    }

    fn offload(&self) -> String {
        let Config { device, offload, copy, tcp, .. } = self.config;
        let is_shm = *device == DeviceKind::Shm;
        let is_clear = tcp.crypt != CryptMode::Full;
        let how = match (device, offload.scheme(*device)) {
            (DeviceKind::Shm | DeviceKind::Tcp | DeviceKind::Ofi, None) => {
                "run on the host; a thread of each rank with SUIRO_OFFLOAD=tank"
            }
            (DeviceKind::Tcp, Some(_)) if !is_clear => {
                "run on the host: SUIRO_TCP_CRYPT=full leaves nothing in the clear"
            }
            (DeviceKind::Tcp, Some(scheme)) => return offloaded(BY_SOCKETS, scheme),
            (DeviceKind::Ofi, Some(scheme)) if self.work.is_some() || self.fabric.is_empty() => {
                return self.offload_by_fabric(scheme);
            }
            (DeviceKind::Ofi, Some(_)) => "run on the host: SUIRO_DEVICE=ofi is not set",
            (DeviceKind::Vendor, _) => "run on the host: device vendor has no counters",
            (DeviceKind::Tofu, None) => "run on the host (SUIRO_OFFLOAD=off)",
            (_, Some(_)) if is_shm && *copy == CopyMethod::Pipe => {
                "run on the host: SUIRO_SHM_COPY=pipe forbids direct copies"
            }
            (_, Some(_)) if !self.reads_memory => {
                "run on the host: this system forbids process_vm_writev"
            }
            (_, Some(scheme)) if !is_shm => return offloaded("run on the interface", scheme),
            (_, Some(scheme)) if self.hosts.is_one() || !is_clear => {
                return offloaded("inside a host run on a thread of each rank", scheme);
            }
            (_, Some(scheme)) => return offloaded(BY_SOCKETS_BETWEEN_HOSTS, scheme),
        };
        format!("persistent collectives {how}")
    }

    /// What runs programs with `SUIRO_DEVICE=ofi`.
    fn offload_by_fabric(&self, scheme: Scheme) -> String {
        let is_everywhere = self.config.fabric.between == CarrierScope::Ranks;
        match self.work {
            None => offloaded("inside a host run on a thread of each rank", scheme),
            Some(Err(why)) => format!("persistent collectives run on the host: {why}"),
            Some(Ok(by)) => {
                let of = if is_everywhere { "the threads" } else { "threads of different hosts" };
                let how = "run on a thread of each rank, with writes of libfabric between";
                offloaded(&format!("{how} {of} ({by})"), scheme)
            }
        }
    }

    fn windows(&self) -> String {
        let created = match (self.config.device, self.reads_memory) {
            (DeviceKind::Tofu | DeviceKind::Vendor, _) => return WINDOWS_BY_MESSAGES.to_owned(),
            (DeviceKind::Tcp, _) => return WINDOWS_BY_DEVICE.to_owned(),
            (DeviceKind::Ofi, _) if self.config.fabric.between == CarrierScope::Ranks => {
                return WINDOWS_BY_DEVICE.to_owned();
            }
            (DeviceKind::Shm | DeviceKind::Ofi, true) => "read and written from outside",
            (DeviceKind::Shm | DeviceKind::Ofi, false) => {
                "accessed by messages (this system forbids process_vm_readv)"
            }
        };
        format!(
            "windows inside a host: memory of MPI_Win_allocate is mapped by all ranks, that of \
             MPI_Win_create is {created}"
        )
    }

    fn copying(&self) -> String {
        if self.config.device == DeviceKind::Tcp {
            return "long messages: by TCP like all others (SUIRO_DEVICE=tcp)".to_owned();
        }
        if self.config.device == DeviceKind::Ofi
            && self.config.fabric.between == CarrierScope::Ranks
        {
            return format!("long messages: by libfabric like all others ({})", self.by_fabric());
        }
        if self.config.device == DeviceKind::Vendor
            && self.config.vendor.between == CarrierScope::Ranks
        {
            return "long messages: by the other library like all others (SUIRO_DEVICE=vendor)"
                .to_owned();
        }
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
        let both = match (reads, self.local_ranks <= self.processors) {
            (false, _) => "",
            (true, true) => "; of what is read a sender that only waits writes a part",
            (true, false) => "; what is read is left to the receiver, as ranks share processors",
        };
        let inside = if self.hosts.is_one() { "" } else { " inside a host" };
        format!("long messages{inside}: {how} ({why}){both}")
    }

    fn waiting(&self) -> String {
        let Self { local_ranks: ranks, processors, .. } = self;
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
            _ => "calls of several threads never overlap; only the progress thread pays for a lock",
        };
        format!("{how} ({})", self.level.name())
    }

    fn progress(&self) -> String {
        let Self { local_ranks: ranks, processors, .. } = self;
        let how = match (self.config.progress, self.progress_mode()) {
            (ProgressMode::Polling, _) => "inside MPI calls (SUIRO_PROGRESS=polling)",
            (ProgressMode::Thread, _) => {
                "inside MPI calls, and by a thread while there are none (SUIRO_PROGRESS=thread)"
            }
            (ProgressMode::Windows, ProgressMode::Polling) => "inside MPI calls (one rank)",
            (ProgressMode::Windows, _) => {
                "inside MPI calls, and by a thread while there are windows, or memory of ACP, that need \
                 messages (SUIRO_PROGRESS=windows)"
            }
            (_, ProgressMode::Polling) => "inside MPI calls (SUIRO_PROGRESS=auto, one rank)",
            (_, ProgressMode::Windows) => {
                return format!(
                    "messages move inside MPI calls, and by a thread while there are windows, or memory of \
                     ACP, that need them (SUIRO_PROGRESS=auto, {ranks} ranks on {processors} processors)"
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
        self.config.progress.resolve(self.ranks as usize, self.local_ranks, self.processors)
    }
}

/// How programs run.
fn offloaded(place: &str, scheme: Scheme) -> String {
    let counters = match scheme {
        Scheme::Tank => "by two counters each",
        Scheme::Tank1 => "by one counter each where that is safe",
        Scheme::Prematched => "by three counters for each round of messages",
    };
    format!("persistent collectives {place}, {counters}")
}

/// A list like `0-2,5`.
fn ranks_text(ranks: &[Peer]) -> String {
    let ranks: Vec<usize> = ranks.iter().map(|rank| *rank as usize).collect();
    format_list(&ranks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::tcp::TcpSettings;
    use crate::mpi::collective::selection::machine_model;
    use crate::mpi::collective::selection::rules::SelectionRules;
    use crate::process::settings::Offload;
    use crate::process::waiting::wait_policy::PollCost;

    /// The sentences for a job on these hosts, one of each rank.
    fn lines(config: &Config, hosts: &[&str], reads_memory: bool, sockets: &[String]) -> String {
        let hosts = JobHosts::of_ranks(hosts.iter().map(|name| (*name, *name)));
        let ranks = hosts.numbers().len().max(4) as u32;
        let local_ranks = hosts.ranks_on(0, ranks).len();
        let all = Decisions {
            config,
            level: ThreadLevel::Multiple,
            ranks,
            local_ranks,
            launcher: "somebody",
            passes_secret: false,
            hosts: &hosts,
            sockets,
            processors: 2,
            policy: WaitPolicy::new(config.waiting, local_ranks, 2, PollCost::Memory),
            machine: machine_model::SHARED,
            vendor_name: "other 1.0",
            vendor_thread: false,
            fabric: "",
            work: None,
            choice: "",
            reads_memory,
        };
        all.lines().join("\n")
    }

    #[test]
    fn every_decision_has_its_reason() {
        let lines = |config: &Config, reads_memory| lines(config, &["here"], reads_memory, &[]);
        let text = lines(&Config::default(), true);
        for words in ["by somebody", "all run on here", "allows process_vm_readv", "4 ranks on 2"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(text.contains("sleep soon") && text.contains("(MPI_THREAD_MULTIPLE)"));
        assert!(text.contains("left to the receiver, as ranks share processors"));
        assert!(!text.contains("secret") && !text.contains("tcp"), "{text}");
        let text = lines(&Config::default(), false);
        assert!(text.contains("ring in shared memory (this system"));
        let chain = Config { agreed: "SUIRO_COLL_BCAST=chain\n".to_owned(), ..Config::default() };
        assert!(lines(&chain, true).contains("for each rank; SUIRO_COLL_BCAST=chain"));
        let mut ruled = Config { agreed: format!("{RULES}=a file\n"), ..Config::default() };
        ruled.selection.set_rules(Some(SelectionRules::parse("r.toml", "rule = []").unwrap()));
        assert!(lines(&ruled, true).contains("for each rank; SUIRO_COLL_RULES=r.toml"));
        let tofu = Config { device: DeviceKind::Tofu, ..Config::default() };
        assert!(lines(&tofu, true).contains("run on the interface, by two counters each"));
        assert!(lines(&tofu, false).contains("run on the host: this system forbids"));
        let vendor = Config { device: DeviceKind::Vendor, ..Config::default() };
        let text = lines(&vendor, true);
        for words in ["all ranks, by other 1.0", "calls ask it", "at most 16384 bytes"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let auto = Config { is_device_auto: true, ..Config::default() };
        assert!(lines(&auto, true).contains("device auto is shm: all ranks run on one host"));
        let spin = Config { waiting: WaitMode::Spin, ..Config::default() };
        assert!(lines(&spin, true).contains("without a pause (SUIRO_WAIT=spin)"));
    }

    #[test]
    fn what_runs_persistent_collectives_is_named() {
        let said = |device, offload, crypt, hosts: &[&str]| {
            let tcp = TcpSettings { crypt, ..TcpSettings::default() };
            let config = Config { device, offload, tcp, ..Config::default() };
            let text = lines(&config, hosts, true, &[]);
            text.lines().find(|line| line.starts_with("persistent ")).unwrap_or("").to_owned()
        };
        let (tank, auto) = (Offload::By(Scheme::Tank), Offload::Auto);
        let (shm, tcp) = (DeviceKind::Shm, DeviceKind::Tcp);
        let (clear, full) = (CryptMode::Auth, CryptMode::Full);
        let (one, two) = (&["one"][..], &["one", "two"][..]);
        for (device, offload, crypt, hosts, words) in [
            (shm, tank, clear, one, "inside a host run on a thread of each rank, by two"),
            (shm, tank, clear, two, "TCP connections between threads of different hosts, by two"),
            (shm, tank, full, two, "inside a host run on a thread of each rank, by two"),
            (tcp, tank, clear, one, "TCP connections between the threads, by two"),
            (tcp, tank, full, two, "run on the host: SUIRO_TCP_CRYPT=full"),
            (
                tcp,
                auto,
                clear,
                two,
                "run on the host; a thread of each rank with SUIRO_OFFLOAD=tank",
            ),
        ] {
            let text = said(device, offload, crypt, hosts);
            assert!(text.contains(words), "{words}: {text}");
        }
        for (offload, words) in [
            (tank, "run on a thread of each rank, by two"),
            (auto, "run on the host; a thread of each rank with SUIRO_OFFLOAD=tank"),
        ] {
            let text = said(DeviceKind::Ofi, offload, clear, one);
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn hosts_their_devices_and_the_worth_of_the_secret_are_named() {
        let sockets = ["tcp: listens somewhere".to_owned()];
        let hosts = ["one", "two", "one", "two"];
        let text = lines(&Config::default(), &hosts, true, &sockets);
        for words in [
            "device shm on one, between its ranks: 0,2\n",
            "device shm on two, between its ranks: 1,3\n",
            "device tcp between one and two\n",
            "tcp: listens somewhere\n",
            "drawn by rank 0 and agreed through the key-value space",
            "in the clear (SUIRO_TCP_CRYPT=auth)",
            "a sender that only waits writes a part",
            "2 ranks on 2 processors",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let tcp = Config { device: DeviceKind::Tcp, ..Config::default() };
        let text = lines(&tcp, &["here"], true, &sockets);
        assert!(text.contains("device tcp between all ranks, on here (SUIRO_DEVICE=tcp)"));
        assert!(!text.contains("device shm"), "{text}");
    }
}
