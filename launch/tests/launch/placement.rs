//! The processors of ranks, and the messages about them.

use platform::sys::topology::parse_list;

use super::harness::{Outcome, folder, mpirun, run, start};

/// A program that prints its usable processors.
const MASK: [&str; 3] = ["grep", "Cpus_allowed_list", "/proc/self/status"];

/// The usable processors of this process.
fn usable() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    parse_list(list.trim()).unwrap()
}

/// The masks that the ranks of `mpirun words` see, in order of ranks.
fn masks(words: &[&str]) -> Vec<String> {
    let outcome = run(&[&["-l"], words, &MASK].concat());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let mask = |line: &&str| line.rsplit_once('\t').unwrap().1.to_owned();
    outcome.lines().iter().map(mask).collect()
}

fn refused(words: &[&str]) -> Outcome {
    let outcome = run(&[words, &["true"]].concat());
    assert_eq!(outcome.code, Some(2), "{words:?}: {}", outcome.text());
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    outcome
}

#[test]
fn a_bound_rank_sees_its_processors() {
    let usable = usable();
    let (first, last) = (usable[0].to_string(), usable[usable.len() - 1].to_string());
    let user = format!("user:{last},{first}");
    assert_eq!(masks(&["-n", "2", "-bind-to", &user]), [last.clone(), first.clone()]);
    assert_eq!(masks(&["-n", "1", "--bind-to", "hwthread"]), [first.as_str()]);
    // More ranks than slots wrap around.
    let count = (usable.len() + 1).to_string();
    let masks = masks(&["-n", &count, "--bind-to", "hwthread:overload-allowed"]);
    assert_eq!((masks.first(), masks.last()), (Some(&first), Some(&first)));
    let mut others = masks[1..].to_vec();
    others.sort();
    others.dedup();
    assert_eq!(others.len(), usable.len());
}

#[test]
fn without_options_only_ranks_that_fill_the_processors_are_bound() {
    let own = masks(&["-n", "1", "--bind-to", "none"]).remove(0);
    let more = (usable().len() + 1).to_string();
    assert!(masks(&["-n", &more]).iter().all(|mask| *mask == own));
    let all = usable().len();
    let mut bound = masks(&["-n", &all.to_string()]);
    bound.sort();
    bound.dedup();
    assert_eq!(bound.len(), all, "each has its own");
    let threads = format!("OMP_NUM_THREADS={}", all + 1);
    assert_eq!(masks(&["-n", "1", "-x", &threads]), [own.as_str()]);
    let mut command = mpirun(&[&["-n", &all.to_string()], &MASK[..]].concat());
    command.env("OMPI_MCA_hwloc_base_binding_policy", "none");
    let outcome = start(command).wait();
    assert!(outcome.lines().iter().all(|line| line.ends_with(&format!("\t{own}"))));
}

#[test]
fn a_rankfile_places_ranks_and_counts_them() {
    let file = folder("launch-rankfile").join("ranks");
    std::fs::write(&file, "rank 1=localhost slot=0\nrank 0=+n0\n").unwrap();
    let outcome = run(&["-rf", file.to_str().unwrap(), "--report-bindings", "true"]);
    let by_map = format!("rankfile:file={}", file.display());
    let missing = refused(&["-n", "3", "--map-by", &by_map]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let lines: Vec<_> = outcome.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{}", outcome.stderr);
    assert!(lines[0].starts_with("mpirun: rank 0 on ") && lines[0].ends_with(" not bound"));
    assert!(lines[1].contains(" bound to core 0 of package 0 (processors "), "{}", lines[1]);
    assert!(missing.stderr.contains("no line for rank 2"), "{}", missing.stderr);
}

#[test]
fn the_map_is_shown_and_a_dry_run_starts_nothing() {
    let words = ["--do-not-launch", "-n", "1", "no-such-a", ":", "-n", "2", "no-such-b"];
    let outcome = run(&words);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let lines: Vec<_> = outcome.text().lines().collect();
    let columns = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(columns(lines[0]), ["rank", "program", "host", "processors"]);
    assert_eq!(columns(lines[1])[..2], ["0", "no-such-a"]);
    assert_eq!(columns(lines[3])[..2], ["2", "no-such-b"]);
    let shown = run(&["--display", "alloc,topo,bindings", "--map-by", "ppr:1:machine", "true"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    for part in [" core", "package 0 (processors ", "rank 0 on "] {
        assert!(shown.text().contains(part), "{part}: {}", shown.text());
    }
}

#[test]
fn a_dry_run_shows_the_hosts_of_ranks() {
    let folder = folder("launch-hosts");
    let hosts = folder.join("hosts");
    std::fs::write(&hosts, "a1 slots=2\na2 slots=2\n").unwrap();
    let file = hosts.to_str().unwrap();
    let placed = |words: &[&str]| {
        let words = [&["--do-not-launch", "--bind-to", "none"], words, &["x"]].concat();
        let outcome = run(&words);
        assert_eq!(outcome.code, Some(0), "{words:?}: {}", outcome.stderr);
        let host = |line: &str| line.split_whitespace().nth(2).unwrap().to_owned();
        outcome.text().lines().skip(1).map(host).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(placed(&["-f", file]), "a1 a1 a2 a2");
    assert_eq!(placed(&["-f", file, "--map-by", "node"]), "a1 a2 a1 a2");
    assert_eq!(placed(&["-f", file, "-host", "a2", "-n", "1"]), "a2");
    assert_eq!(placed(&["-host", "b[1-3]"]), "b1 b2 b3");
    assert_eq!(placed(&["-f", file, "-n", "5", "-ppn", "1"]), "a1 a2 a1 a2 a1");
    let seq = format!("seq:file={file}");
    assert_eq!(placed(&["--map-by", &seq]), "a1 a2");
    let programs = ["-host", "b1", "-n", "2", "y", ":", "-n", "1", "-host", "b2"];
    assert_eq!(placed(&programs), "b1 b1 b2");
    let explained = run(&["--do-not-launch", "--explain", "-f", file, "-launcher", "rsh", "x"]);
    let line = format!("a2 (2 slots; --hostfile {file}, line 2); other hosts are reached by rsh");
    assert!(explained.stderr.contains(&line), "{}", explained.stderr);
}

#[test]
fn counts_come_from_objects_and_must_not_contradict_them() {
    let count = |words: &[&str]| run(&[words, &["echo", "x"]].concat()).lines().len();
    assert_eq!(count(&["--map-by", "ppr:2:machine"]), 2);
    assert_eq!(count(&["--map-by", "ppr:1:hwthread"]), usable().len());
    assert_eq!(count(&["-N", "3"]), 3);
    assert_eq!(count(&["-ppn", "1", "-n", "2"]), 2);
    assert!(refused(&["-N", "1", "-n", "2"]).stderr.contains("at most 1"));
}

#[test]
fn impossible_placements_are_reported_in_one_line() {
    for (words, message) in [
        (&["--map-by", "moon"][..], "\"moon\" is unknown; expected one of slot"),
        (&["--bind-to", "moon"], "expected one of none"),
        (&["--rank-by", "moon"], "expected one of slot"),
        (&["--display", "moon"], "expected one of map"),
        (&["--bind-to", "core:9999"], "9999 cores"),
        (&["--bind-to", "user:9999"], "processor 9999 is not usable"),
        (&["--rankfile", "/no/such/file"], "/no/such/file"),
    ] {
        let outcome = refused(words);
        assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
    }
}
