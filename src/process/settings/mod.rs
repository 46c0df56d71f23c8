//! Settings: the `SUIRO_*` variables of the environment, read only here. The `mpirun` of Open MPI
//! sets some of them through its own variables.
//!
//! The table of settings and their values is [`platform::base::settings`].

pub(crate) mod explain;
mod fabric;
pub(crate) mod impi;
mod interface;
pub(crate) mod log;
mod network;
mod noise;
mod rules;
mod vendor;

use std::str::FromStr;
use std::time::Duration;

use crate::devices::carrier::settings::{FabricSettings, VendorSettings};
use crate::devices::rings::read_trial::CopyMethod;
use crate::devices::tcp::TcpSettings;
use crate::devices::tofu;
use crate::global_memory::executor::AccessPolicy;
use crate::mpi::collective::selection::registry::CollectiveOperation;
use crate::mpi::collective::selection::rules::SelectionRules;
use crate::mpi::collective::selection::{AlgorithmChoice, Selection};
use crate::mpi::errhandler::Handler;
use crate::offload::Scheme;
use crate::offload::packing::PackingPolicy;
use crate::process::devices::interruptions::InjectedNoise;
use platform::base::settings;
use platform::base::settings::{COLLECTIVE_PREFIX, RULES, SETTINGS, Setting, parse_duration};
use platform::base::{ErrorClass, Result};
use platform::diagnosis::deadlock::DeadlockAction;

/// Which threads make progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ProgressMode {
    /// Threads that call MPI.
    Polling,
    /// A progress thread as well while there are windows that other processes access by messages, which
    /// they may do at any time. It is also what [`ProgressMode::Auto`] is where ranks share processors.
    #[default]
    Windows,
    /// A progress thread as well.
    Thread,
    /// A progress thread as well, started by the first call whose operation continues without
    /// calls, if each rank has a processor.
    Auto,
    /// A progress thread alone.
    Delegate,
}

impl ProgressMode {
    /// The resolved mode in a job of `size` ranks, of which `ranks` run on this host with `processors`
    /// processors. A rank alone has no operations that continue without calls. Where ranks share
    /// processors, a progress thread takes time from a computing rank: only windows are worth it, as
    /// their memory is accessed at any time.
    pub(crate) fn resolve(self, size: usize, ranks: usize, processors: usize) -> Self {
        match self {
            Self::Auto | Self::Windows if size == 1 => Self::Polling,
            Self::Auto if ranks > processors => Self::Windows,
            chosen => chosen,
        }
    }
}

/// How calls wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WaitMode {
    /// Chosen from the number of local ranks and processors.
    #[default]
    Auto,
    /// Polls without a pause.
    Spin,
    /// Polls and yields the processor between polls.
    Yield,
    /// Sleeps as soon as nothing arrives.
    Sleep,
}

/// Transport of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DeviceKind {
    /// Shared memory inside a host, TCP between hosts.
    #[default]
    Shm,
    /// A simulated network interface.
    Tofu,
    /// TCP between all ranks, also on one host.
    Tcp,
    /// Shared memory inside a host, libfabric between hosts.
    Ofi,
    /// Another MPI library.
    Vendor,
}

/// What runs persistent collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Offload {
    /// The interface of a device that simulates one, by the default scheme; the host elsewhere.
    #[default]
    Auto,
    /// The host.
    Off,
    /// The interface of a device that has one, of hardware or software.
    By(Scheme),
}

impl Offload {
    /// The scheme of the programs on this device; `None` if there are none.
    pub(crate) fn scheme(self, device: DeviceKind) -> Option<Scheme> {
        match (self, device) {
            (Self::Auto, DeviceKind::Tofu) => Some(Scheme::default()),
            (Self::By(_), DeviceKind::Vendor) => None,
            (Self::By(scheme), _) => Some(scheme),
            _ => None,
        }
    }
}

/// What accesses to global memory do without, to measure it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AcpSettings {
    pub(crate) policy: AccessPolicy,
    /// Whether calls of several threads may not overlap.
    pub(crate) without_threads: bool,
}

/// The settings of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `SUIRO_LOG`.
    pub(crate) log: Option<String>,
    /// `SUIRO_PROGRESS`.
    pub(crate) progress: ProgressMode,
    /// `SUIRO_WAIT`.
    pub(crate) waiting: WaitMode,
    /// `SUIRO_DEVICE`.
    pub(crate) device: DeviceKind,
    /// Whether `SUIRO_DEVICE` is `auto`: a fabric is preferred to `device`, until one of them is chosen.
    pub(crate) is_device_auto: bool,
    /// `SUIRO_OFFLOAD`.
    pub(crate) offload: Offload,
    /// `SUIRO_RDMA_SCHEDULE`.
    pub(crate) rdma_schedule: Option<PackingPolicy>,
    /// `SUIRO_TOFU_*`.
    pub(crate) tofu: tofu::TofuSettings,
    /// `SUIRO_TCP_*`.
    pub(crate) tcp: TcpSettings,
    /// `SUIRO_IMPI_*`, if this job is a client of an IMPI server.
    pub(crate) impi: Option<impi::ImpiSettings>,
    /// `SUIRO_OFI_*`.
    pub(crate) fabric: FabricSettings,
    /// `SUIRO_VENDOR_*`.
    pub(crate) vendor: VendorSettings,
    /// `SUIRO_ACP_WITHOUT`.
    pub(crate) acp: AcpSettings,
    /// `SUIRO_NOISE`.
    pub(crate) noise: Option<InjectedNoise>,
    /// `SUIRO_SHM_COPY`.
    pub(crate) copy: CopyMethod,
    /// `SUIRO_EAGER_MAX`, if it is set.
    pub(crate) eager_max: Option<usize>,
    /// `SUIRO_CHECK`.
    pub(crate) check: bool,
    /// `SUIRO_HANG_REPORT`.
    pub(crate) hang_report: Option<Duration>,
    /// `SUIRO_DEADLOCK`.
    pub(crate) deadlock: DeadlockAction,
    /// `SUIRO_EXPLAIN`.
    pub(crate) explain: bool,
    /// `SUIRO_INITIAL_ERRHANDLER`.
    pub(crate) initial_errhandler: Handler,
    /// `SUIRO_MEMORY_KINDS`.
    pub(crate) memory_kinds: String,
    /// `SUIRO_COLL_*`.
    pub selection: Selection,
    /// The settings that must be equal on all ranks ([`settings::agreed`]).
    pub(crate) agreed: String,
}

/// The variable that Open MPI's `mpirun` sets for its option `--initial-errhandler`.
const INITIAL_ERRHANDLER_OF_OPEN_MPI: &str = "OMPI_MCA_mpi_initial_errhandler";
/// The variable that Open MPI's `mpirun` sets for its option `--memory-alloc-kinds`.
const MEMORY_KINDS_OF_OPEN_MPI: &str = "OMPI_MCA_mpi_memory_alloc_kinds";

impl AcpSettings {
    /// Without what a list names.
    fn without(list: &str) -> Option<Self> {
        let mut settings = Self::default();
        for word in list.split(',').filter(|_| list != "none") {
            match word {
                "bypass" => settings.policy.bypasses = false,
                "atomics" => settings.policy.delegates_updates = true,
                "descriptors" => settings.policy.caches = false,
                "threads" => settings.without_threads = true,
                _ => return None,
            }
        }
        Some(settings)
    }
}

impl FromStr for ProgressMode {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "polling" => Ok(Self::Polling),
            "windows" => Ok(Self::Windows),
            "thread" => Ok(Self::Thread),
            "auto" => Ok(Self::Auto),
            "delegate" => Ok(Self::Delegate),
            _ => Err(()),
        }
    }
}

impl FromStr for WaitMode {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "auto" => Ok(Self::Auto),
            "spin" => Ok(Self::Spin),
            "yield" => Ok(Self::Yield),
            "sleep" => Ok(Self::Sleep),
            _ => Err(()),
        }
    }
}

fn parse_deadlock(text: &str) -> Option<DeadlockAction> {
    match text {
        "report" => Some(DeadlockAction::Report),
        "abort" => Some(DeadlockAction::Abort),
        "off" => Some(DeadlockAction::Off),
        _ => None,
    }
}

/// The device that is chosen when ranks meet.
const AUTO: &str = "auto";

fn parse_device(text: &str) -> Option<DeviceKind> {
    match text {
        "shm" | AUTO => Some(DeviceKind::Shm),
        "tofu" => Some(DeviceKind::Tofu),
        "tcp" => Some(DeviceKind::Tcp),
        "ofi" => Some(DeviceKind::Ofi),
        "vendor" => Some(DeviceKind::Vendor),
        _ => None,
    }
}

fn parse_offload(text: &str) -> Option<Offload> {
    match text {
        "auto" => Some(Offload::Auto),
        "off" => Some(Offload::Off),
        _ => Scheme::from_name(text).map(Offload::By),
    }
}

fn parse_rdma_schedule(text: &str) -> Option<Option<PackingPolicy>> {
    if text == "none" { Some(None) } else { PackingPolicy::from_name(text).map(Some) }
}

fn parse_copy(text: &str) -> Option<CopyMethod> {
    match text {
        "auto" => Some(CopyMethod::Auto),
        "pipe" => Some(CopyMethod::Pipe),
        "cma" => Some(CopyMethod::Cma),
        _ => None,
    }
}

/// Whether results must be reproducible.
fn parse_reduce(text: &str) -> Option<bool> {
    match text {
        "fast" => Some(false),
        "reproducible" => Some(true),
        _ => None,
    }
}

fn parse_flag(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

impl Config {
    /// Reads the settings from the environment.
    ///
    /// # Errors
    /// `Other` for an invalid value, or an operation that has no algorithms.
    pub(crate) fn read() -> Result<Self> {
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        names
            .filter_map(|name| name.strip_prefix(COLLECTIVE_PREFIX).map(str::to_owned))
            .try_for_each(|name| check_operation(&name))?;
        Self::from_lookup(|name| std::env::var(name).ok())
    }

    /// Reads the settings through `lookup`.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let one = |name: &'static str| lookup(name).filter(|value| !value.is_empty());
        let selection = selection(one)?;
        let rules = selection.rules().map(SelectionRules::identity);
        Ok(Self {
            log: one("SUIRO_LOG"),
            progress: parse("SUIRO_PROGRESS", one, |text| text.parse().ok())?,
            waiting: parse("SUIRO_WAIT", one, |text| text.parse().ok())?,
            device: parse("SUIRO_DEVICE", one, parse_device)?,
            is_device_auto: one("SUIRO_DEVICE").is_some_and(|text| text == AUTO),
            offload: parse("SUIRO_OFFLOAD", one, parse_offload)?,
            rdma_schedule: parse("SUIRO_RDMA_SCHEDULE", one, parse_rdma_schedule)?,
            tofu: interface::settings(one)?,
            tcp: network::settings(one)?,
            impi: impi::settings(one)?,
            fabric: fabric::settings(one)?,
            vendor: vendor::settings(one)?,
            acp: parse("SUIRO_ACP_WITHOUT", one, AcpSettings::without)?,
            noise: noise::setting(one)?,
            copy: parse("SUIRO_SHM_COPY", one, parse_copy)?,
            eager_max: parse("SUIRO_EAGER_MAX", one, parse_eager_max)?,
            check: parse("SUIRO_CHECK", one, parse_flag)?,
            hang_report: parse("SUIRO_HANG_REPORT", one, parse_duration)?,
            deadlock: parse("SUIRO_DEADLOCK", one, parse_deadlock)?,
            explain: parse("SUIRO_EXPLAIN", one, parse_flag)?,
            initial_errhandler: parse(
                "SUIRO_INITIAL_ERRHANDLER",
                |name| one(name).or_else(|| lookup(INITIAL_ERRHANDLER_OF_OPEN_MPI)),
                Handler::from_name,
            )?,
            memory_kinds: one("SUIRO_MEMORY_KINDS")
                .or_else(|| lookup(MEMORY_KINDS_OF_OPEN_MPI))
                .unwrap_or_default(),
            selection,
            // Ranks compare the text of their files, which may have unlike names.
            agreed: settings::agreed(|name| match name {
                RULES => rules.clone(),
                _ => lookup(name),
            }),
        })
    }
}

/// The current value of a setting, or its default.
pub(crate) fn current_value(setting: &Setting) -> String {
    let value = std::env::var(setting.name).ok().filter(|value| !value.is_empty());
    value.unwrap_or_else(|| setting.default.to_owned())
}

fn parse_eager_max(text: &str) -> Option<Option<usize>> {
    if text == "auto" { Some(None) } else { Some(Some(text.parse().ok()?)) }
}

/// Algorithm choice for collective operations, and which algorithms are admitted.
///
/// # Errors
/// `Other` for an invalid value; as [`rules::read`].
fn selection(lookup: impl Fn(&'static str) -> Option<String> + Copy) -> Result<Selection> {
    let mut selection = Selection::default();
    for setting in SETTINGS {
        let operation =
            setting.name.strip_prefix(COLLECTIVE_PREFIX).and_then(CollectiveOperation::from_name);
        let Some((operation, text)) = operation.zip(lookup(setting.name)) else { continue };
        let choice = AlgorithmChoice::from_text(operation, &text).ok_or_else(|| {
            let good = AlgorithmChoice::texts(operation);
            ErrorClass::Other.error(format!("{}={text} is not one of {good}", setting.name))
        })?;
        selection.choose_for(operation, choice);
    }
    selection.set_rules(lookup(RULES).map(|file| rules::read(&file)).transpose()?);
    selection.set_reproducible(parse("SUIRO_REDUCE", lookup, parse_reduce)?);
    Ok(selection)
}

/// Checks that there is a setting for the collective operation `name`, or for all.
fn check_operation(name: &str) -> Result {
    let operations = CollectiveOperation::ALL.iter().map(|operation| operation.name());
    let good: Vec<&str> = operations.chain(RULES.strip_prefix(COLLECTIVE_PREFIX)).collect();
    if good.contains(&name) {
        return Ok(());
    }
    Err(ErrorClass::Other.error(format!(
        "{COLLECTIVE_PREFIX}{name} is no setting: after {COLLECTIVE_PREFIX} comes one of {}",
        good.join("|")
    )))
}

/// Parses a setting by `read`; its default if unset.
///
/// # Errors
/// `Other` for an invalid value.
pub(super) fn parse<T: Default>(
    name: &'static str, lookup: impl Fn(&'static str) -> Option<String>,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T> {
    let Some(text) = lookup(name) else { return Ok(T::default()) };
    read(&text).ok_or_else(|| {
        let setting = SETTINGS.iter().find(|setting| setting.name == name);
        let values = setting.map_or("", |setting| setting.values);
        ErrorClass::Other.error(format!("{name}={text} is not one of {values}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_by_itself_needs_a_processor_or_a_window() {
        let auto = |size, ranks| ProgressMode::Auto.resolve(size, ranks, 2);
        assert_eq!(auto(1, 1), ProgressMode::Polling);
        assert_eq!(auto(4, 2), ProgressMode::Auto);
        assert_eq!(auto(4, 3), ProgressMode::Windows);
        assert_eq!(ProgressMode::Windows.resolve(1, 1, 2), ProgressMode::Polling);
        assert_eq!(ProgressMode::Thread.resolve(4, 4, 2), ProgressMode::Thread);
    }

    #[test]
    fn defaults_are_those_of_the_table_and_a_bad_value_names_the_good_ones() {
        let of_table = Config::from_lookup(|name| {
            let setting = SETTINGS.iter().find(|setting| setting.name == name);
            setting.map(|setting| setting.default.to_owned())
        });
        assert_eq!(of_table, Ok(Config::default()));
        let bad = |name: &str| (name == "SUIRO_WAIT").then(|| "loudly".to_owned());
        let why = Config::from_lookup(bad).unwrap_err().why;
        assert_eq!(why, "SUIRO_WAIT=loudly is not one of auto|spin|yield|sleep");
    }

    #[test]
    fn a_duration_has_a_unit_and_is_positive() {
        let of = |value: &'static str| {
            Config::from_lookup(move |name| (name == "SUIRO_HANG_REPORT").then(|| value.to_owned()))
        };
        for (text, ms) in [("500ms", 500), ("30s", 30_000), ("2m", 120_000), ("0.5h", 1_800_000)] {
            assert_eq!(of(text).unwrap().hang_report, Some(Duration::from_millis(ms)), "{text}");
        }
        assert_eq!(of("off").unwrap().hang_report, None);
        for text in ["30", "0s", "-1s", "s", "soon", "1d", "1e99h", "nans", "1 s"] {
            let why = of(text).unwrap_err().why;
            let good = " is not one of off|a duration like 500ms, 30s or 2m";
            assert_eq!(why, format!("SUIRO_HANG_REPORT={text}{good}"));
        }
    }

    #[test]
    fn the_longest_eager_message_is_a_number_of_bytes() {
        let of = |value: &'static str| {
            Config::from_lookup(move |name| (name == "SUIRO_EAGER_MAX").then(|| value.to_owned()))
        };
        assert_eq!(of("auto").unwrap().eager_max, None);
        assert_eq!(of("0").unwrap().eager_max, Some(0));
        assert_eq!(of("8388608").unwrap().eager_max, Some(8 << 20));
        for text in ["-1", "4K", "much", "1e3"] {
            let why = of(text).unwrap_err().why;
            let good = "auto|a number of bytes";
            assert_eq!(why, format!("SUIRO_EAGER_MAX={text} is not one of {good}"));
        }
    }

    #[test]
    fn each_collective_has_a_setting_and_a_bad_one_names_the_good_ones() {
        for operation in CollectiveOperation::ALL {
            check_operation(operation.name()).unwrap();
            let name = format!("{COLLECTIVE_PREFIX}{}", operation.name());
            assert!(SETTINGS.iter().any(|setting| setting.name == name), "{name}");
        }
        let why = check_operation("FOO").unwrap_err().why;
        assert!(why.contains("SUIRO_COLL_FOO is no") && why.contains("BARRIER|BCAST|"), "{why}");
        let of = |value: &'static str| {
            Config::from_lookup(move |name| (name == "SUIRO_COLL_BCAST").then(|| value.to_owned()))
        };
        let config = of("chain").unwrap();
        assert_eq!(
            config.selection.choice(CollectiveOperation::Bcast),
            AlgorithmChoice::from_text(CollectiveOperation::Bcast, "chain").unwrap()
        );
        assert_eq!(config.agreed, "SUIRO_COLL_BCAST=chain\n");
        let why = of("loudly").unwrap_err().why;
        assert!(why.starts_with("SUIRO_COLL_BCAST=loudly is not one of auto|shared|bin"), "{why}");
    }

    #[test]
    fn the_initial_error_handler_is_ours_or_that_of_open_mpi() {
        let of = |ours: Option<&str>, theirs: Option<&str>| {
            Config::from_lookup(|name| {
                let value = match name {
                    "SUIRO_INITIAL_ERRHANDLER" => ours,
                    INITIAL_ERRHANDLER_OF_OPEN_MPI => theirs,
                    _ => None,
                };
                value.map(str::to_owned)
            })
            .map(|config| config.initial_errhandler)
        };
        assert_eq!(of(None, None), Ok(Handler::Fatal));
        assert_eq!(of(Some("mpi_errors_return"), None), Ok(Handler::Return));
        assert_eq!(of(None, Some("mpi_errors_abort")), Ok(Handler::Abort));
        assert_eq!(of(Some("mpi_errors_return"), Some("mpi_errors_abort")), Ok(Handler::Return));
        assert!(of(Some("loud"), None).is_err());
    }
}
