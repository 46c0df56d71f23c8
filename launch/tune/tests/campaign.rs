//! A measurement whose jobs are a script with known times, in place of `mpirun`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
use suiro_tune::campaign::{Campaign, TuningRequest, TuningResult};
use suiro_tune::choice::TunedRule;
use suiro_tune::job::{JobFailure, JobStarter};

/// By a chain, a broadcast of 64 bytes takes half of the time. Linear does so for 8 bytes, but not by the rules. The job
/// with a barrier by a tree fails. Arguments: `-n 4 PROGRAM measure SECONDS CALL...`.
const SCRIPT: &str = r#"#!/bin/sh
echo "suiro-tune layout $2 $2"
shift 5
[ "$SUIRO_COLL_BARRIER" != tree ] || { echo "no tree here" >&2; exit 3; }
for call; do
    time=2e-6
    case $call,$SUIRO_COLL_BCAST,$SUIRO_COLL_RULES in
    bcast:64,chain,) time=1e-6 ;;
    bcast:64,,?*) grep -q '"chain"' "$SUIRO_COLL_RULES" && time=1.2e-6 ;;
    bcast:8,linear,) time=1e-6 ;;
    esac
    echo "suiro-tune time $call $time"
done
"#;

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn run(name: &str, script: &str) -> Result<TuningResult, JobFailure> {
    let folder = folder(name);
    let program = folder.join("mpirun");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let request = TuningRequest {
        ranks: vec![4],
        operations: vec![CollectiveOperation::Barrier, CollectiveOperation::Bcast],
        bytes: vec![8, 64, 512],
        rounds: 3,
        margin: 0.05,
        budget: Duration::from_secs(1),
        reproducible: false,
    };
    let starter = JobStarter::new(program, Vec::new()).unwrap();
    let result = Campaign::new(&request, &starter, &folder.join("r.toml"), &|_| ()).run();
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["mpirun"]);
    result
}

#[test]
fn what_wins_twice_is_a_rule_and_a_failed_job_is_a_note() {
    let result = run("campaign", SCRIPT).unwrap();
    assert_eq!((result.calls, result.near_default(0.1), result.near_default(1.0)), (4, 3, 4));
    let TuningResult { rules, notes, .. } = result;
    let [TunedRule { bytes, winners }] = &rules[..] else { panic!("{rules:?}") };
    assert_eq!(*bytes, Some((23, 181)));
    assert_eq!((winners.len(), winners[0].algorithm), (1, "chain"));
    assert_eq!((winners[0].time_s, winners[0].default_s), (1.2e-6, 2e-6));
    let [note] = &notes[..] else { panic!("{notes:?}") };
    assert!(note.starts_with("4 ranks, SUIRO_COLL_BARRIER=tree SUIRO_COLL_BCAST="), "{note}");
    assert!(note.ends_with("the job ended with code 3: no tree here"), "{note}");
}

#[test]
fn a_default_that_fails_ends_the_measurement() {
    let failure = run("campaign-fails", "#!/bin/sh\necho broken >&2\nexit 1\n").unwrap_err();
    let why = "the job ended with code 1: broken".to_owned();
    assert_eq!(failure, JobFailure::Failed(why));
}
