//! The choice of `SUIRO_DEVICE=auto`: libfabric if a fabric is there that all ranks can use, else our own TCP.
//!
//! ```text
//!   each rank    interfaces, limits, settings ── plan ──> providers to try, or sockets
//!   all ranks    what came of it, of every rank ── verdict ──> one device for the job
//! ```
//!
//! The verdict is a function of what every rank has told all others, so all ranks come to the same. Providers that
//! are themselves TCP are never planned: they are no faster than our own TCP, and prove no secret.

use std::path::Path;

use platform::sys::fabric::interfaces::{FabricInterface, FoundInterfaces, Obstacle};

/// Less memory than this cannot be locked for the queues and buffers of a provider: ofi_rxm alone takes 64 to 170 MB
/// for a process, and the usual limit of a login is 8 MiB.
const LOCKABLE_MIN: u64 = 64 << 20;

/// Networks in the order in which they are preferred: the driver, and the providers, the best first.
const NETWORKS: &[(&str, &[&str])] = &[
    ("cxi", &["cxi"]),
    ("efa", &["efa"]),
    ("hfi1", &["opx", "psm3", "psm2"]),
    ("irdma", &["verbs;ofi_rxm", "psm3"]),
];
/// Those of other drivers of InfiniBand verbs.
const VERBS: &[&str] = &["verbs;ofi_rxm"];

/// The provider that a user wants.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WantedProvider<'a> {
    /// `SUIRO_OFI_PROVIDER`.
    pub(super) named: Option<&'a str>,
    /// `FI_PROVIDER`: names between commas, or behind a `^` those that are excluded.
    pub(super) admitted: Option<&'a str>,
}

/// What one rank tries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FabricPlan {
    /// The first of these providers that can be opened, for this reason.
    Open { providers: Vec<String>, why: String },
    /// Nothing, for this reason.
    Sockets(String),
    /// Nothing, though there is a fabric: a sentence with the cure.
    Unusable(String),
}

/// What one rank tries, by what its host has.
pub(super) fn plan(found: &FoundInterfaces, wanted: WantedProvider<'_>) -> FabricPlan {
    if let Some(name) = wanted.named {
        let why = format!("SUIRO_OFI_PROVIDER={name}");
        return FabricPlan::Open { providers: vec![name.to_owned()], why };
    }
    let Some(first) = found.interfaces.first() else {
        let why = "there is no interface of a fabric (InfiniBand, RoCE, EFA, Omni-Path, Slingshot)";
        return FabricPlan::Sockets(why.to_owned());
    };
    let mut usable: Vec<_> = found.interfaces.iter().filter(|one| one.obstacle.is_none()).collect();
    usable.sort_by_key(|one| place(one));
    let Some(best) = usable.first() else {
        let obstacle = first.obstacle.as_ref().map_or_else(String::new, cure);
        return FabricPlan::Unusable(format!(
            "interface {} cannot be used: {obstacle}",
            first.name
        ));
    };
    if let Some(limit) = found.lockable_bytes.filter(|limit| *limit < LOCKABLE_MIN) {
        return FabricPlan::Unusable(format!(
            "interface {} cannot be used: this process may lock {} KiB of memory, expected {} KiB or more; \
             \"ulimit -l unlimited\", or LimitMEMLOCK=infinity of the service that starts ranks, raises the limit",
            best.name,
            limit >> 10,
            LOCKABLE_MIN >> 10
        ));
    }
    let mut providers: Vec<String> = Vec::new();
    for name in usable.iter().flat_map(|one| of_driver(&one.driver)) {
        if wanted.admits(name) && !providers.iter().any(|other| other == name) {
            providers.push((*name).to_owned());
        }
    }
    if providers.is_empty() {
        let admitted = wanted.admitted.unwrap_or_default();
        let why = format!("FI_PROVIDER={admitted} admits no provider of interface {}", best.name);
        return FabricPlan::Sockets(why);
    }
    let why = format!("interface {} of driver {}", best.name, best.driver);
    FabricPlan::Open { providers, why }
}

fn place(interface: &FabricInterface) -> usize {
    let known = NETWORKS.iter().position(|(driver, _)| *driver == interface.driver);
    known.unwrap_or(NETWORKS.len())
}

fn of_driver(driver: &str) -> &'static [&'static str] {
    let known = NETWORKS.iter().find(|(known, _)| *known == driver);
    known.map_or(VERBS, |(_, providers)| providers)
}

fn cure(obstacle: &Obstacle) -> String {
    let given = |file: &Path| format!("a container is given it by --device {}", file.display());
    match obstacle {
        Obstacle::NoFile(file) => format!(
            "{} is not there; {}, and a host has it once the driver is loaded",
            file.display(),
            given(file)
        ),
        Obstacle::Forbidden(file) => format!(
            "this user may not read and write {}; the administrator gives access by the group or mode of the file",
            file.display()
        ),
        Obstacle::NoLink => {
            "no port is active; ibstat shows the ports, and opensm or the switch brings them up"
                .to_owned()
        }
    }
}

impl WantedProvider<'_> {
    /// Whether libfabric may use a provider.
    fn admits(&self, provider: &str) -> bool {
        let Some(list) = self.admitted else { return true };
        let core = |name: &str| name.split(';').next().unwrap_or_default().trim().to_lowercase();
        let (excludes, names) = match list.strip_prefix('^') {
            Some(names) => (true, names),
            None => (false, list),
        };
        names.split(',').any(|name| core(name) == core(provider)) != excludes
    }
}

/// What one rank tells all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// An endpoint of this provider.
    Open(String),
    /// It looked for no endpoint.
    Sockets,
    /// It could not open one, and can say why.
    Unusable,
}

/// The device of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobVerdict {
    /// All have an endpoint of one provider.
    Fabric,
    /// No rank has a fabric.
    NoFabric,
    /// This rank, the first of its kind, has a fabric that it cannot use, and says so.
    Unusable(u32),
    /// This rank, the first of its kind, has no fabric or one with another provider, and `other` has one.
    Unlike { rank: u32, other: u32 },
}

/// The device of the job, by what its ranks tell.
pub(super) fn verdict(ranks: &[Standing]) -> JobVerdict {
    let position = |wanted: &dyn Fn(&Standing) -> bool| {
        ranks.iter().zip(0..).find(|(one, _)| wanted(one)).map(|(_, rank)| rank)
    };
    if let Some(rank) = position(&|one| *one == Standing::Unusable) {
        return JobVerdict::Unusable(rank);
    }
    let Some(other) = position(&|one| matches!(one, Standing::Open(_))) else {
        return JobVerdict::NoFabric;
    };
    let unlike = position(&|one| *one != ranks[other as usize]);
    unlike.map_or(JobVerdict::Fabric, |rank| JobVerdict::Unlike { rank, other })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn interface(name: &str, driver: &str, obstacle: Option<Obstacle>) -> FabricInterface {
        FabricInterface { name: name.to_owned(), driver: driver.to_owned(), obstacle }
    }

    fn host(interfaces: &[(&str, &str)], lockable_bytes: Option<u64>) -> FoundInterfaces {
        let interfaces =
            interfaces.iter().map(|(name, driver)| interface(name, driver, None)).collect();
        FoundInterfaces { interfaces, lockable_bytes }
    }

    /// The providers of a plan, or the reason of none.
    fn text(plan: FabricPlan) -> String {
        match plan {
            FabricPlan::Open { providers, .. } => providers.join(" "),
            FabricPlan::Sockets(why) => format!("sockets: {why}"),
            FabricPlan::Unusable(why) => format!("unusable: {why}"),
        }
    }

    #[test]
    fn the_provider_follows_from_the_interfaces_and_the_wish() {
        const MLX: (&str, &str) = ("mlx5_0", "mlx5_core");
        const CXI: (&str, &str) = ("cxi0", "cxi");
        const EFA: (&str, &str) = ("efa_0", "efa");
        const OPA: (&str, &str) = ("hfi1_0", "hfi1");
        const E810: (&str, &str) = ("irdma0", "irdma");
        type Row = (&'static [(&'static str, &'static str)], Option<&'static str>);
        let table: &[(Row, Option<&str>, &str)] = &[
            ((&[], None), None, "sockets: there is no interface"),
            ((&[], None), Some("verbs"), "sockets: there is no interface"),
            ((&[], Some("tcp")), None, "tcp"),
            ((&[MLX], None), None, "verbs;ofi_rxm"),
            ((&[MLX, MLX], None), None, "verbs;ofi_rxm"),
            ((&[CXI], None), None, "cxi"),
            ((&[EFA], None), None, "efa"),
            ((&[OPA], None), None, "opx psm3 psm2"),
            ((&[E810], None), None, "verbs;ofi_rxm psm3"),
            ((&[MLX, OPA, CXI], None), None, "cxi opx psm3 psm2 verbs;ofi_rxm"),
            ((&[MLX], Some("sockets")), Some("verbs"), "sockets"),
            ((&[MLX], None), Some("tcp"), "sockets: FI_PROVIDER=tcp admits"),
            ((&[MLX], None), Some("tcp,verbs"), "verbs;ofi_rxm"),
            ((&[MLX], None), Some("verbs;ofi_rxm"), "verbs;ofi_rxm"),
            ((&[OPA], None), Some("^opx,tcp"), "psm3 psm2"),
            ((&[EFA], None), Some("^efa"), "sockets: FI_PROVIDER=^efa admits"),
        ];
        for ((interfaces, named), admitted, expected) in table {
            let wanted = WantedProvider { named: *named, admitted: *admitted };
            let found = text(plan(&host(interfaces, None), wanted));
            let is_same = match expected.contains(':') {
                true => found.starts_with(expected),
                false => found == *expected,
            };
            assert!(is_same, "{interfaces:?} {wanted:?}: {found}");
        }
    }

    #[test]
    fn what_keeps_from_a_fabric_has_a_cure() {
        let with = |obstacle| FoundInterfaces {
            interfaces: vec![interface("mlx5_0", "mlx5_core", Some(obstacle))],
            lockable_bytes: None,
        };
        let file = PathBuf::from("/dev/infiniband/uverbs0");
        for (found, words) in [
            (with(Obstacle::NoFile(file.clone())), "--device /dev/infiniband/uverbs0"),
            (with(Obstacle::Forbidden(file)), "may not read and write /dev/infiniband/uverbs0"),
            (with(Obstacle::NoLink), "ibstat"),
            (host(&[("cxi0", "cxi")], Some(8 << 20)), "may lock 8192 KiB of memory"),
        ] {
            let said = text(plan(&found, WantedProvider::default()));
            assert!(said.starts_with("unusable: interface ") && said.contains(words), "{said}");
        }
        let enough = host(&[("cxi0", "cxi")], Some(LOCKABLE_MIN));
        assert_eq!(text(plan(&enough, WantedProvider::default())), "cxi");
        let mut both = with(Obstacle::NoLink);
        both.interfaces.push(interface("mlx5_1", "mlx5_core", None));
        assert_eq!(text(plan(&both, WantedProvider::default())), "verbs;ofi_rxm");
    }

    #[test]
    fn all_ranks_come_to_one_device() {
        let open = |name: &str| Standing::Open(name.to_owned());
        let (cxi, psm3) = (open("cxi"), open("psm3"));
        let (sockets, unusable) = (Standing::Sockets, Standing::Unusable);
        for (ranks, expected) in [
            (vec![cxi.clone(), cxi.clone()], JobVerdict::Fabric),
            (vec![sockets.clone(), sockets.clone()], JobVerdict::NoFabric),
            (vec![sockets.clone(), unusable.clone(), unusable.clone()], JobVerdict::Unusable(1)),
            (vec![cxi.clone(), unusable], JobVerdict::Unusable(1)),
            (
                vec![cxi.clone(), cxi.clone(), sockets.clone()],
                JobVerdict::Unlike { rank: 2, other: 0 },
            ),
            (vec![sockets, cxi.clone()], JobVerdict::Unlike { rank: 0, other: 1 }),
            (vec![cxi.clone(), psm3, cxi], JobVerdict::Unlike { rank: 1, other: 0 }),
        ] {
            assert_eq!(verdict(&ranks), expected, "{ranks:?}");
        }
    }
}
