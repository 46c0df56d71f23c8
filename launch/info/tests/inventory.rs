//! `suiro-info` with its options.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

/// The keys that scripts rely on, except those of settings and chapters.
const KEYS: &[&str] = &[
    "build.commit",
    "build.compiler",
    "build.profile",
    "build.target",
    "coverage.all",
    "device.shm",
    "device.shm.cma",
    "device.shm.membarrier",
    "device.tcp",
    "fortran.compiler",
    "fortran.modules",
    "host.dev_shm",
    "host.files",
    "host.name",
    "host.processors",
    "host.processors.quota",
    "launcher.pmi-1",
    "launcher.pmi-2",
    "launcher.pmix",
    "library.soname",
    "limit.eager",
    "limit.hosts",
    "limit.tag",
    "limit.threads",
    "mpi.abi",
    "mpi.version",
    "path.bindir",
    "path.incdir",
    "path.libdir",
    "version",
];

fn info(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_suiro-info"));
    command.args(words).env("SUIRO_WAIT", "sleep").env_remove("SUIRO_PROGRESS").output().unwrap()
}

fn text(words: &[&str]) -> String {
    let output = info(words);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn facts(words: &[&str]) -> BTreeMap<String, String> {
    let text = text(words);
    let facts = text.lines().map(|line| line.split_once(':').unwrap());
    let facts: BTreeMap<_, _> = facts.map(|(key, value)| (key.into(), value.into())).collect();
    assert_eq!(facts.len(), text.lines().count(), "a key occurs twice");
    facts
}

#[test]
fn all_keys_are_present() {
    let facts = facts(&["--all", "--parsable"]);
    for key in KEYS {
        assert!(facts.contains_key(*key), "{key}");
    }
    let known = |key: &&String| {
        KEYS.contains(&key.as_str()) || key.starts_with("setting.") || key.starts_with("coverage.")
    };
    let new: Vec<_> = facts.keys().filter(|key| !known(key)).collect();
    assert!(new.is_empty(), "{new:?} is missing in the list of this test");
    assert_eq!(facts["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(facts["mpi.abi"], "1.0");
    assert!(facts["host.processors"].parse::<usize>().unwrap() >= 1);
    assert!(facts["build.compiler"].starts_with("rustc 1."));
    assert!(facts["coverage.all"].ends_with(" 662"));
    assert!(Path::new(&facts["path.incdir"]).join("mpi.h").exists());
}

#[test]
fn settings_have_their_values_and_origins() {
    let facts = facts(&["-a", "--parseable"]);
    assert_eq!(facts["setting.SUIRO_WAIT.value"], "sleep");
    assert_eq!(facts["setting.SUIRO_WAIT.default"], "auto");
    assert_eq!(facts["setting.SUIRO_PROGRESS.value"], "windows");
    let text = text(&[]);
    let line = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("SUIRO_WAIT "), "sleep (environment)");
    assert_eq!(line("SUIRO_PROGRESS "), "windows (default)");
    assert!(!text.contains("6 Collective communication"));
}

#[test]
fn collectives_have_algorithms_with_costs_and_tables() {
    let all = facts(&["--coll", "--parsable"]);
    for key in ["coll.BCAST.algorithm.binomial", "coll.SCAN.cost.doubling", "coll.SCAN.ranks.1024"]
    {
        assert!(all.contains_key(key), "{key}");
    }
    assert!(all["coll.ALLREDUCE.hosts.2.8"].contains("two_level"));
    assert!(!all["coll.ALLREDUCE.hosts.4.1"].contains("two_level"));
    assert_eq!(all["coll.BCAST.setting"], "auto");
    let one = facts(&["--coll", "bcast", "--ranks", "5", "--parsable"]);
    assert!(one.keys().all(|key| key.starts_with("coll.BCAST.")), "{one:?}");
    assert!(one.contains_key("coll.BCAST.ranks.5") && !one.contains_key("coll.BCAST.ranks.4"));
    assert!(text(&["--coll", "REDUCE_SCATTER"]).starts_with("REDUCE_SCATTER\n"));
    let wrong = info(&["--coll", "foo"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        String::from_utf8(wrong.stderr)
            .unwrap()
            .contains("--coll foo: expected one of BARRIER|BCAST")
    );
}

#[test]
fn directories_are_printed_alone() {
    let library = text(&["--path", "libdir"]);
    assert!(Path::new(library.trim_end()).join("libmpi_abi.so").exists(), "{library}");
    let programs = text(&["--path", "bindir"]);
    assert!(Path::new(programs.trim_end()).join("suiro-info").exists(), "{programs}");
    let wrong = info(&["--path", "elsewhere"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("bindir, libdir, incdir"));
}
