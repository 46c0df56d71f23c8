//! The identity of a host: equal for two processes if they can share memory.
//!
//! Ranks share memory by opening each other's descriptors in /proc and reading each other's memory.
//! Both need one kernel (the boot id), one pid namespace, so that process ids mean the same, and one
//! user namespace, because the kernel lets no process look into another one. The namespaces of the
//! network, of mounts and of System V objects do not matter: shared memory has no name, and ranks of
//! one host send nothing to each other by sockets. Nor does the name of the host, which two
//! containers on one kernel may or may not have in common.

use std::fs;

use crate::sys::{host, process};

/// The identity of the host of this process: printable ASCII without spaces.
pub fn of_this_host() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    identity(boot.trim(), &host::name(), process::namespace(), process::user_namespace())
}

/// Without a boot id, hosts are told apart by their names.
fn identity(boot: &str, name: &str, pids: u64, users: u64) -> String {
    let kernel = if boot.is_empty() { format!("name:{name}") } else { boot.to_owned() };
    let plain = kernel.replace(|character: char| !character.is_ascii_graphic(), "_");
    format!("{plain}.{pids:x}.{users:x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_fits_the_wire() {
        let identity = of_this_host();
        assert_eq!(identity, of_this_host());
        assert!(identity.len() < 256 && identity.bytes().all(|byte| byte.is_ascii_graphic()));
    }

    #[test]
    fn processes_that_cannot_share_memory_have_different_identities() {
        let one = identity("boot", "here", 1, 2);
        assert_eq!(one, identity("boot", "there", 1, 2));
        for other in [("other", 1, 2), ("boot", 3, 2), ("boot", 1, 3)] {
            assert_ne!(one, identity(other.0, "here", other.1, other.2));
        }
        assert_ne!(identity("", "here", 0, 0), identity("", "there", 0, 0));
    }
}
