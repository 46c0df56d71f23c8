//! Network interfaces that libfabric drives, found without it: loading it takes long, and most hosts have none.
//!
//! ```text
//!   sys/class/infiniband/NAME/device/driver      InfiniBand, RoCE, EFA, Omni-Path; of software: no device
//!   sys/class/infiniband/NAME/ports/N/state      "4: ACTIVE"
//!   sys/class/infiniband_verbs/uverbsN/ibdev     NAME, whose file is dev/infiniband/uverbsN
//!   sys/class/cxi/NAME                           Slingshot, whose file is dev/NAME
//! ```
//!
//! All below a root folder. Which provider is the best one is not known here.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{AccessFlags, access};

/// `CAP_IPC_LOCK` in a set of capabilities: memory may be locked without limit.
const MAY_LOCK: u64 = 1 << 14;

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FabricInterface {
    /// As the system names it: `mlx5_0`.
    pub name: String,
    /// The driver: `mlx5_core`, `efa`, `hfi1`, `cxi`.
    pub driver: String,
    /// Why this process cannot use it.
    pub obstacle: Option<Obstacle>,
}

/// Why a process cannot use an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The file by which processes use it is not there.
    NoFile(PathBuf),
    /// The file may not be opened.
    Forbidden(PathBuf),
    /// No port has a link.
    NoLink,
}

/// What a host has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundInterfaces {
    /// In the order of their names.
    pub interfaces: Vec<FabricInterface>,
    /// How much memory this process may lock, in bytes; none without a limit.
    pub lockable_bytes: Option<u64>,
}

impl FoundInterfaces {
    /// Those of this process, with the host's folders `sys` and `dev` below `root`.
    pub fn below(root: &Path) -> Self {
        let interfaces = interfaces(root);
        // Nothing else is read where there are none.
        let lockable_bytes = if interfaces.is_empty() { None } else { lockable_bytes() };
        Self { interfaces, lockable_bytes }
    }
}

fn interfaces(root: &Path) -> Vec<FabricInterface> {
    let (verbs, cxi) = (root.join("sys/class/infiniband"), root.join("sys/class/cxi"));
    let of_verbs = names(&verbs).into_iter().filter_map(|name| {
        let folder = verbs.join(&name);
        let driver = fs::read_link(folder.join("device/driver")).ok()?;
        let driver = driver.file_name()?.to_str()?.to_owned();
        let file = match driver.as_str() {
            "hfi1" => format!("dev/{name}"),
            _ => verbs_file(root, &name),
        };
        let obstacle = obstacle(root, &file).or_else(|| no_link(&folder.join("ports")));
        Some(FabricInterface { name, driver, obstacle })
    });
    let of_cxi = names(&cxi).into_iter().map(|name| {
        let obstacle = obstacle(root, &format!("dev/{name}"));
        FabricInterface { name, driver: "cxi".to_owned(), obstacle }
    });
    of_verbs.chain(of_cxi).collect()
}

/// The names in a folder, in their order; none without the folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The file of an interface of InfiniBand verbs.
fn verbs_file(root: &Path, name: &str) -> String {
    let class = root.join("sys/class/infiniband_verbs");
    let is_own = |file: &String| {
        fs::read_to_string(class.join(file).join("ibdev")).is_ok_and(|of| of.trim() == name)
    };
    let file = names(&class).into_iter().find(is_own);
    format!("dev/infiniband/{}", file.as_deref().unwrap_or("uverbs0"))
}

fn obstacle(root: &Path, file: &str) -> Option<Obstacle> {
    let (place, named) = (root.join(file), Path::new("/").join(file));
    if !place.exists() {
        return Some(Obstacle::NoFile(named));
    }
    let may_use = access(&place, AccessFlags::R_OK | AccessFlags::W_OK).is_ok();
    (!may_use).then_some(Obstacle::Forbidden(named))
}

/// If there are ports, and none of them has a link.
fn no_link(ports: &Path) -> Option<Obstacle> {
    let names = names(ports);
    let is_active = |port: &String| {
        let state = fs::read_to_string(ports.join(port).join("state"));
        state.is_ok_and(|state| state.contains("ACTIVE"))
    };
    (!names.is_empty() && !names.iter().any(is_active)).then_some(Obstacle::NoLink)
}

fn lockable_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let own = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let own = own.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    if own & MAY_LOCK != 0 {
        return None;
    }
    let (limit, _) = getrlimit(Resource::RLIMIT_MEMLOCK).ok()?;
    (limit != libc::RLIM_INFINITY).then_some(limit)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A host with nothing.
    struct Host(PathBuf);

    impl Host {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            fs::create_dir_all(&root).unwrap();
            Self(root)
        }

        fn write(&self, path: &str, text: &str) -> PathBuf {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        }

        /// An interface of verbs, with the state of its port.
        fn verbs(&self, name: &str, driver: &str, state: &str) {
            let class = format!("sys/class/infiniband/{name}");
            self.write(&format!("{class}/ports/1/state"), state);
            fs::create_dir_all(self.0.join(&class).join("device")).unwrap();
            let link = self.0.join(class).join("device/driver");
            symlink(format!("../../../bus/pci/drivers/{driver}"), link).unwrap();
        }

        fn found(&self) -> Vec<(String, String, Option<Obstacle>)> {
            let all = FoundInterfaces::below(&self.0).interfaces.into_iter();
            all.map(|one| (one.name, one.driver, one.obstacle)).collect()
        }
    }

    impl Drop for Host {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn of(
        name: &str, driver: &str, obstacle: Option<Obstacle>,
    ) -> (String, String, Option<Obstacle>) {
        (name.to_owned(), driver.to_owned(), obstacle)
    }

    #[test]
    fn a_host_without_interfaces_has_none_and_no_limit_is_read() {
        let host = Host::new("suiro-no-fabric");
        assert_eq!(FoundInterfaces::below(&host.0), FoundInterfaces::default());
        // An interface of software has no device.
        host.write("sys/class/infiniband/siw0/ports/1/state", "4: ACTIVE\n");
        assert_eq!(host.found(), []);
    }

    #[test]
    fn interfaces_have_drivers_and_files() {
        let host = Host::new("suiro-fabrics");
        host.verbs("mlx5_1", "mlx5_core", "4: ACTIVE\n");
        host.verbs("efa_0", "efa", "4: ACTIVE\n");
        host.verbs("hfi1_0", "hfi1", "4: ACTIVE\n");
        host.write("sys/class/infiniband_verbs/uverbs0/ibdev", "efa_0\n");
        host.write("sys/class/infiniband_verbs/uverbs3/ibdev", "mlx5_1\n");
        host.write("sys/class/infiniband_verbs/abi_version", "6\n");
        host.write("sys/class/cxi/cxi0/device/uevent", "");
        for file in ["infiniband/uverbs0", "infiniband/uverbs3", "hfi1_0", "cxi0"] {
            host.write(&format!("dev/{file}"), "");
        }
        let all = [("efa_0", "efa"), ("hfi1_0", "hfi1"), ("mlx5_1", "mlx5_core"), ("cxi0", "cxi")];
        assert_eq!(host.found(), all.map(|(name, driver)| of(name, driver, None)));
    }

    #[test]
    fn what_keeps_a_process_from_an_interface_is_found() {
        let host = Host::new("suiro-fabric-obstacles");
        host.verbs("mlx5_0", "mlx5_core", "1: DOWN\n");
        host.write("sys/class/infiniband_verbs/uverbs2/ibdev", "mlx5_0\n");
        host.write("sys/class/cxi/cxi0/device/uevent", "");
        let absent = |file: &str| Some(Obstacle::NoFile(PathBuf::from(file)));
        assert_eq!(
            host.found(),
            [
                of("mlx5_0", "mlx5_core", absent("/dev/infiniband/uverbs2")),
                of("cxi0", "cxi", absent("/dev/cxi0"))
            ]
        );
        let verbs = host.write("dev/infiniband/uverbs2", "");
        host.write("dev/cxi0", "");
        let down = Some(Obstacle::NoLink);
        assert_eq!(host.found(), [of("mlx5_0", "mlx5_core", down), of("cxi0", "cxi", None)]);
        fs::set_permissions(&verbs, fs::Permissions::from_mode(0o000)).unwrap();
        // For root there is no forbidden file.
        if !nix::unistd::geteuid().is_root() {
            let forbidden = Obstacle::Forbidden(PathBuf::from("/dev/infiniband/uverbs2"));
            assert_eq!(host.found()[0].2, Some(forbidden));
        }
    }
}
