//! `SUIRO_DEVICE=auto`: what is chosen, what is said about it, on hosts with interfaces that are files of the test. The
//! library is the one that makes trouble, which has the providers of some fabrics.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::{fabric_stub, harness};

/// A host with Slingshot, and the file by which processes use it.
fn slingshot(name: &str) -> PathBuf {
    let root = harness::folder(name);
    fs::create_dir_all(root.join("sys/class/cxi/cxi0")).unwrap();
    fs::create_dir_all(root.join("dev")).unwrap();
    fs::write(root.join("dev/cxi0"), "").unwrap();
    root
}

/// Two ranks of `status`, which libfabric would connect, below `root`.
fn on_host(root: &Path, library: &str, shell: &str) -> Command {
    let program = crate::program("status");
    let program = program.to_str().unwrap();
    let words = ["--explain", "--device", "auto", "-n", "2"];
    let mut command = match shell {
        "" => harness::mpirun(&[&words[..], &[program]].concat()),
        script => harness::mpirun(&[&words[..], &["sh", "-c", script, program]].concat()),
    };
    command.env("SUIRO_OFI_BETWEEN", "ranks").env("SUIRO_OFI_ROOT", root);
    command.env("SUIRO_OFI_LIBRARY", library).env_remove("FI_PROVIDER");
    command
}

/// Runs it, which must succeed whatever was chosen; what was said.
fn said(command: Command) -> String {
    let outcome = harness::start(command).wait();
    let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
    assert!(good, "{:?} {} {}", outcome.code, outcome.text(), outcome.stderr);
    outcome.stderr
}

/// How often a sentence tells the user that there is a fabric which is not used.
fn notices(said: &str) -> usize {
    said.matches("uses TCP between hosts, not libfabric").count()
}

/// Whether processes of the test may lock memory for an interface.
fn may_lock() -> bool {
    let limit = Command::new("sh").args(["-c", "ulimit -l"]).output().unwrap().stdout;
    let limit = String::from_utf8(limit).unwrap();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let own = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    let has_right = u64::from_str_radix(own.trim(), 16).unwrap() & 1 << 14 != 0;
    has_right || limit.trim().parse::<u64>().map_or(true, |kibibytes| kibibytes >= 64 << 10)
}

#[test]
fn without_an_interface_libfabric_is_not_loaded() {
    let root = harness::folder("choice-nothing");
    let said = said(on_host(&root, "/nonexistent.so", ""));
    assert!(said.contains("device auto is shm: there is no interface of a fabric"), "{said}");
    assert_eq!(notices(&said), 0, "{said}");
}

#[test]
fn an_interface_that_all_ranks_can_use_is_used() {
    if !may_lock() {
        return eprintln!("skipped: the limit of locked memory (ulimit -l) is too low");
    }
    let (root, library) = (slingshot("choice-cxi"), fabric_stub::library("choice-cxi-library"));
    let chosen = said(on_host(&root, &library, ""));
    for words in [
        "device auto is ofi: interface cxi0 of driver cxi, and all ranks have its provider",
        "device ofi between all ranks, by libfabric 1.18, provider cxi, stub0 (SUIRO_DEVICE=auto)",
    ] {
        assert!(chosen.contains(words), "{words}: {chosen}");
    }
    let mut command = on_host(&root, &library, "");
    command.env("FI_PROVIDER", "tcp");
    let restricted = said(command);
    let words = "device auto is shm: FI_PROVIDER=tcp admits no provider of interface cxi0";
    assert!(restricted.contains(words) && notices(&restricted) == 0, "{restricted}");
    let mut command = on_host(&harness::folder("choice-named"), &library, "");
    command.env("SUIRO_OFI_PROVIDER", "stub;seed=1");
    let named = said(command);
    let words = "device auto is ofi: SUIRO_OFI_PROVIDER=stub;seed=1, and all ranks";
    assert!(named.contains(words), "{named}");
}

#[test]
fn a_fabric_that_cannot_be_used_is_told_once() {
    let library = fabric_stub::library("choice-unusable-library");
    let root = slingshot("choice-unusable");
    let without_library = said(on_host(&root, "/nonexistent.so", ""));
    let is_told = without_library.contains("SUIRO_OFI_LIBRARY") || !may_lock();
    assert!(is_told && notices(&without_library) == 1, "{without_library}");
    fs::remove_file(root.join("dev/cxi0")).unwrap();
    let without_file = said(on_host(&root, &library, ""));
    let words = "interface cxi0 cannot be used: /dev/cxi0 is not there; a container is given it by";
    assert!(without_file.contains(words) && notices(&without_file) == 1, "{without_file}");
}

#[test]
fn a_low_limit_of_locked_memory_is_told() {
    let root = slingshot("choice-limit");
    let drops = "--bounding-set=-ipc_lock --inh-caps=-ipc_lock";
    let is_root = Command::new("setpriv").args(drops.split(' ')).arg("true").output();
    let prefix = match is_root {
        Ok(output) if output.status.success() => format!("setpriv {drops} "),
        _ if may_lock() => return eprintln!("skipped: this user may lock memory without limit"),
        _ => String::new(),
    };
    let script = format!("ulimit -l 64; exec {prefix}$0");
    let limited = said(on_host(&root, "/nonexistent.so", &script));
    let words = "this process may lock 64 KiB of memory, expected 65536 KiB or more; \"ulimit -l";
    assert!(limited.contains(words) && notices(&limited) == 1, "{limited}");
}

#[test]
fn ranks_with_unlike_hosts_come_to_one_device() {
    if !may_lock() {
        return eprintln!("skipped: the limit of locked memory (ulimit -l) is too low");
    }
    let (root, library) =
        (slingshot("choice-unlike"), fabric_stub::library("choice-unlike-library"));
    let script = "[ $PMI_RANK = 0 ] || export SUIRO_OFI_ROOT=/nonexistent; exec $0";
    let unlike = said(on_host(&root, &library, script));
    for words in ["device auto is shm: rank 0 on host", "has none: there is no interface"] {
        assert!(unlike.contains(words), "{words}: {unlike}");
    }
    assert_eq!(notices(&unlike), 1, "{unlike}");
}
