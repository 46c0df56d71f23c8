//! Collects the facts from the modules that decide them.

use std::fmt::Display;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use super::{Fact, FactSection, coverage};
use launch::folders::{Folders, SONAME};
use launch::wrapper;
use launch::wrapper::modules::Modules;
use mpi_abi::abi::constants::{MPI_ABI_SUBVERSION, MPI_ABI_VERSION, MPI_SUBVERSION, MPI_VERSION};
use mpi_abi::engine::point_to_point::EAGER_MAX;
use mpi_abi::mpi::point_to_point::TAG_MAX;
use mpi_abi::process::ThreadLevel;
use platform::base::settings::{SETTINGS, Setting};
use platform::bootstrap::PROTOCOLS;
use platform::sys::fabric::{self, FabricOffer};
use platform::sys::network_interfaces::InterfaceAddress;
use platform::sys::{cma, cpu, file_system, host, membarrier, network_interfaces, process, shm};

/// Facts about the build.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// The compiler and its version.
    pub compiler: &'static str,
    /// The target triple.
    pub target: &'static str,
    /// `release` or `debug`.
    pub profile: &'static str,
    /// The commit of the source; empty if unknown.
    pub commit: &'static str,
}

/// All facts, with the settings of `lookup`.
pub fn gather(
    build: Build, folders: &Folders, lookup: impl Fn(&str) -> Option<String>,
) -> Vec<FactSection> {
    vec![
        FactSection { title: "Library", facts: library(build, folders) },
        FactSection { title: "Fortran", facts: fortran(wrapper::fortran_modules(folders)) },
        FactSection { title: "This machine", facts: machine() },
        FactSection { title: "Devices", facts: devices() },
        FactSection { title: "Launchers", facts: launchers() },
        FactSection { title: "Settings", facts: settings(lookup) },
        FactSection { title: "Limits", facts: limits() },
        FactSection { title: "Coverage of MPI 5.0", facts: coverage::facts() },
    ]
}

fn library(build: Build, folders: &Folders) -> Vec<Fact> {
    let Build { compiler, target, profile, commit } = build;
    let folder = |name: &str, label: &str, path: &Path| {
        Fact::new(format!("path.{name}"), label, path.display())
    };
    vec![
        Fact::new("version", "Suiro", env!("CARGO_PKG_VERSION")),
        Fact::new("mpi.version", "MPI standard", format!("{MPI_VERSION}.{MPI_SUBVERSION}")),
        Fact::new("mpi.abi", "standard ABI", format!("{MPI_ABI_VERSION}.{MPI_ABI_SUBVERSION}")),
        Fact::new("library.soname", "file", SONAME),
        Fact::new("build.compiler", "built by", compiler),
        Fact::new("build.target", "built for", target),
        Fact::new("build.profile", "profile", profile),
        Fact::new("build.commit", "commit", commit).with_text(if commit.is_empty() {
            "unknown"
        } else {
            commit
        }),
        folder("bindir", "programs", &folders.programs),
        folder("libdir", "libraries", &folders.library),
        folder("incdir", "headers", &folders.include),
    ]
}

fn fortran(modules: Result<Modules, String>) -> Vec<Fact> {
    const MODULES: (&str, &str) = ("fortran.modules", "mpi.mod, mpi_f08.mod");
    let modules = match modules {
        Ok(modules) => modules,
        Err(why) => {
            let none = "no compiler to build them";
            return vec![no("fortran.compiler", "compiler", why), no(MODULES.0, MODULES.1, none)];
        }
    };
    let place = match (modules.found(), modules.cached()) {
        (Some(place), _) => place.display().to_string(),
        (None, Some(place)) => format!("at first use in {}", place.display()),
        (None, None) => "no: neither XDG_CACHE_HOME nor HOME is set".to_owned(),
    };
    vec![
        Fact::new("fortran.compiler", "compiler", modules.compiler().title()),
        Fact::new(MODULES.0, MODULES.1, place),
    ]
}

fn machine() -> Vec<Fact> {
    let mask = cpu::affinity().map_or(0, |processors| processors.len());
    let usable = cpu::allowed();
    let quota = cpu::quota();
    let shown = match quota {
        Some(quota) => {
            format!("{usable} ({mask} in the mask, limited to {quota} by control groups)")
        }
        None => format!("{usable} ({mask} in the mask, no quota)"),
    };
    let quota = quota.map_or("none".to_owned(), |quota| quota.to_string());
    vec![
        Fact::new("host.name", "name", host::name()),
        Fact::new("host.processors", "processors", usable).with_text(shown),
        Fact::new("host.processors.quota", "quota of processors", quota).detail(),
        open_files(process::file_limit()),
        shared_memory_files(file_system::space(Path::new("/dev/shm"))),
    ]
}

fn open_files(limit: io::Result<(u64, u64)>) -> Fact {
    let (key, label) = ("host.files", "open files");
    match limit {
        Ok((soft, hard)) => {
            Fact::new(key, label, soft).with_text(format!("{soft}, at most {hard} (ulimit -n)"))
        }
        Err(error) => Fact::new(key, label, format!("unknown: {error}")),
    }
}

fn shared_memory_files(space: io::Result<file_system::Space>) -> Fact {
    let (key, label) = ("host.dev_shm", "/dev/shm");
    match space {
        Ok(space) => {
            let (all, free) = (space.total_bytes >> 20, space.free_bytes >> 20);
            let shown = format!("{all} MiB, {free} MiB free (not used by this library)");
            Fact::new(key, label, space.total_bytes).with_text(shown)
        }
        Err(error) => no(key, label, error),
    }
}

fn devices() -> Vec<Fact> {
    let segment = shm::create().map_err(|error| error.to_string());
    let segment = segment.and_then(|file| shm::map(file, 1 << 16).map_err(|error| error.why));
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    let scope = scope.as_deref().unwrap_or("0").trim();
    vec![
        match segment {
            Ok(_) => yes("device.shm", "shm: memory files"),
            Err(why) => no("device.shm", "shm: memory files", why),
        },
        direct_reads(cma::is_allowed(), scope),
        if membarrier::register() {
            yes("device.shm.membarrier", "shm: one-sided fences")
        } else {
            let why = "no membarrier(2); senders execute a fence too";
            no("device.shm.membarrier", "shm: one-sided fences", why)
        },
        tcp_addresses(network_interfaces::interface_addresses()),
    ]
}

/// What libfabric offers.
///
/// # Errors
/// A sentence, without the library or a provider.
pub fn fabrics(lookup: impl Fn(&str) -> Option<String>) -> Result<FactSection, String> {
    let path = lookup("SUIRO_OFI_LIBRARY");
    let (version, offers) = fabric::offers(path.as_deref().map(Path::new)).map_err(|why| {
        format!("{why}; SUIRO_OFI_LIBRARY is the path of libfabric.so.1, of the package libfabric1 or another")
    })?;
    let mut facts = vec![Fact::new("fabric.version", "libfabric", version)];
    facts.extend((1..).zip(offers).map(|(number, offer)| {
        let FabricOffer { provider, domain } = offer;
        Fact::new(
            format!("fabric.offer.{number}"),
            format!("offer {number}"),
            format!("{provider}, {domain}"),
        )
    }));
    Ok(FactSection { title: "Fabrics", facts })
}

/// The addresses at which ranks of other hosts may reach those of this host.
fn tcp_addresses(all: io::Result<Vec<InterfaceAddress>>) -> Fact {
    let (key, label) = ("device.tcp", "tcp: addresses");
    let addresses = match all {
        Ok(addresses) => addresses,
        Err(error) => return no(key, label, error),
    };
    let is_far = |address: &IpAddr| match address {
        IpAddr::V4(address) => !address.is_loopback() && !address.is_link_local(),
        IpAddr::V6(address) => !address.is_loopback() && !address.is_unicast_link_local(),
    };
    let far = addresses.iter().filter(|it| it.is_up && is_far(&it.address));
    let (values, texts): (Vec<_>, Vec<_>) = far
        .map(|InterfaceAddress { interface, address, .. }| {
            (address.to_string(), format!("{address} ({interface})"))
        })
        .unzip();
    if values.is_empty() {
        return no(key, label, "this host has only addresses of its own");
    }
    Fact::new(key, label, values.join(" ")).with_text(texts.join(", "))
}

/// Whether ranks can read each other's memory. `own`: whether a process may read its own memory;
/// `scope`: the scope of the Yama module. At 1 a process can permit others: a rank permits the
/// descendants of its parent, which has no other ranks below it if it is a shell.
fn direct_reads(own: bool, scope: &str) -> Fact {
    let (key, label) = ("device.shm.cma", "shm: direct reads");
    let instead = "long messages are copied through a ring";
    match scope {
        _ if !own => no(key, label, format!("process_vm_readv(2) is forbidden; {instead}")),
        "1" => yes(key, label).with_text(format!(
            "yes, if mpirun starts the ranks itself; behind a wrapper script (sh -c '...; program') \
             {instead}, because kernel.yama.ptrace_scope is 1: use exec in the script"
        )),
        "2" | "3" => {
            no(key, label, format!("kernel.yama.ptrace_scope is {scope}, above 1; {instead}"))
        }
        _ => yes(key, label),
    }
}

fn launchers() -> Vec<Fact> {
    let facts = PROTOCOLS.iter().map(|(name, launchers)| {
        Fact::new(format!("launcher.{}", name.to_lowercase()), *name, launchers)
    });
    facts.collect()
}

fn settings(lookup: impl Fn(&str) -> Option<String>) -> Vec<Fact> {
    let facts = SETTINGS.iter().flat_map(|Setting { name, values, default, meaning }| {
        let value = lookup(name).filter(|value| !value.is_empty());
        let origin = if value.is_some() { "environment" } else { "default" };
        let now = value.unwrap_or_else(|| (*default).to_owned());
        let key = |part: &str| format!("setting.{name}.{part}");
        [
            Fact::new(key("value"), *name, &now)
                .with_text(format!("{} ({origin})", or_not_set(&now))),
            Fact::new(key("default"), "  default", default).with_text(or_not_set(default)).detail(),
            Fact::new(key("values"), "  values", values).detail(),
            Fact::new(key("meaning"), "  meaning", meaning).detail(),
        ]
    });
    facts.collect()
}

fn or_not_set(value: &str) -> &str {
    if value.is_empty() { "not set" } else { value }
}

fn limits() -> Vec<Fact> {
    vec![
        Fact::new("limit.threads", "thread level", ThreadLevel::Multiple.name()),
        Fact::new("limit.hosts", "hosts of a job", "any")
            .with_text("any number under other launchers; mpirun starts ranks on one host"),
        Fact::new("limit.tag", "largest tag", TAG_MAX),
        Fact::new("limit.eager", "eager messages up to", EAGER_MAX)
            .with_text(format!("{EAGER_MAX} bytes")),
    ]
}

fn yes(key: &str, label: &str) -> Fact {
    Fact::new(key, label, "yes")
}

fn no(key: &str, label: &str, why: impl Display) -> Fact {
    Fact::new(key, label, format!("no: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_compiler_is_reported_with_the_reason() {
        let facts = fortran(Err("cannot run gfortran: not there".to_owned()));
        assert_eq!(facts[0].value, "no: cannot run gfortran: not there");
    }

    #[test]
    fn reading_memory_needs_the_call_and_a_permissive_scope() {
        assert_eq!(direct_reads(true, "0"), yes("device.shm.cma", "shm: direct reads"));
        let script = direct_reads(true, "1");
        assert_eq!(script.value, "yes");
        assert!(script.text.unwrap().contains("behind a wrapper script"));
        assert!(direct_reads(true, "2").value.starts_with("no: kernel.yama.ptrace_scope is 2"));
        assert!(direct_reads(false, "1").value.starts_with("no: process_vm_readv"));
    }

    #[test]
    fn addresses_that_other_hosts_cannot_reach_are_left_out() {
        let address = |text: &str, is_up| InterfaceAddress {
            interface: "eth0".to_owned(),
            address: text.parse().unwrap(),
            prefix: 8,
            is_up,
        };
        let own = ["127.0.0.1", "::1", "fe80::1", "169.254.0.1"].map(|text| address(text, true));
        let down = address("10.0.0.2", false);
        let all = [&own[..], std::slice::from_ref(&down)].concat();
        assert!(tcp_addresses(Ok(all.clone())).value.starts_with("no: "));
        let far = [all, vec![address("10.0.0.1", true), address("fd00::2", true)]].concat();
        let fact = tcp_addresses(Ok(far));
        assert_eq!(fact.value, "10.0.0.1 fd00::2");
        assert_eq!(fact.text.unwrap(), "10.0.0.1 (eth0), fd00::2 (eth0)");
    }

    #[test]
    fn a_setting_has_the_origin_of_its_value() {
        let facts = settings(|name| (name == "SUIRO_WAIT").then(|| "spin".to_owned()));
        let fact = |key: &str| facts.iter().find(|fact| fact.key == key).unwrap();
        let wait = fact("setting.SUIRO_WAIT.value");
        assert_eq!(
            (wait.value.as_str(), wait.text.as_deref()),
            ("spin", Some("spin (environment)"))
        );
        assert_eq!(fact("setting.SUIRO_WAIT.default").value, "auto");
        let log = fact("setting.SUIRO_LOG.value");
        assert_eq!((log.value.as_str(), log.text.as_deref()), ("", Some("not set (default)")));
    }
}
