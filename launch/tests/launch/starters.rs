//! Agents that are started by the commands of resource managers, simulated by scripts: each checks its
//! arguments and runs the command on this host.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::harness::{folder, mpirun, start};

/// Writes a script that appends its host to the file `started`.
pub fn script(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    let text = format!("#!/bin/sh\nfail() {{ echo \"$0: $*\" >&2; exit 9; }}\n{text}");
    fs::write(&file, text.replace("STARTED", folder.join("started").to_str().unwrap())).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs four ranks under these variables; the sorted hosts whose agents were started.
fn hosts_started(folder: &Path, variables: &[(&str, &str)], options: &[&str]) -> Vec<String> {
    let started = folder.join("started");
    fs::write(&started, "").unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = mpirun(&[options, &["-l", "echo", "a  b"]].concat());
    command.env("PATH", path).envs(variables.iter().copied());
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(0), "{variables:?}: {}", outcome.stderr);
    let mut lines = outcome.lines();
    lines.sort();
    assert_eq!(lines, ["[0] a  b", "[1] a  b", "[2] a  b", "[3] a  b"], "{variables:?}");
    let mut hosts: Vec<_> =
        fs::read_to_string(started).unwrap().lines().map(String::from).collect();
    hosts.sort();
    hosts
}

// The hosts have addresses for documentation (RFC 5737), which no name server is asked for.
const BOTH: [&str; 2] = ["198.51.100.1", "198.51.100.2"];

#[test]
fn slurm_starts_agents_by_steps_of_one_task() {
    let folder = folder("launch-srun");
    let text = "for word; do case $word in\n\
        --nodelist=*) host=${word#*=} ;;\n\
        --nodes=1 | --ntasks=1 | --unbuffered) found=x$found ;;\n\
        --*) ;;\n\
        *) break ;;\n\
        esac; shift; done\n\
        [ \"$found\" = xxx ] || fail \"not one task with unbuffered output\"\n\
        echo $host >>STARTED\n\
        exec \"$@\"\n";
    script(&folder, "srun", text);
    let variables = [
        ("SLURM_JOB_ID", "7"),
        ("SLURM_JOB_NUM_NODES", "2"),
        ("SLURM_JOB_NODELIST", "198.51.100.[1-2]"),
        ("SLURM_TASKS_PER_NODE", "2(x2)"),
    ];
    assert_eq!(hosts_started(&folder, &variables, &[]), BOTH);
}

#[test]
fn grid_engine_and_lsf_start_agents_by_their_commands() {
    let folder = folder("launch-qrsh");
    let text = "[ \"$1\" = -inherit ] || fail \"not inside the job\"\n\
        echo $2 >>STARTED\nshift 2\nexec sh -c \"$*\"\n";
    script(&folder, "qrsh", text);
    script(&folder, "blaunch", "echo $1 >>STARTED\nshift\nexec \"$@\"\n");
    let hosts = folder.join("hosts");
    fs::write(&hosts, "198.51.100.1 2 q@a UNDEFINED\n198.51.100.2 2 q@b UNDEFINED\n").unwrap();
    let grid = [("JOB_ID", "7"), ("PE_HOSTFILE", hosts.to_str().unwrap())];
    assert_eq!(hosts_started(&folder, &grid, &[]), BOTH);
    let lsf = [("LSB_JOBID", "7"), ("LSB_MCPU_HOSTS", "198.51.100.1 2 198.51.100.2 2")];
    assert_eq!(hosts_started(&folder, &lsf, &[]), BOTH);
}

#[test]
fn the_mpi_operator_names_the_agent_and_the_hosts_by_variables() {
    let folder = folder("launch-kubexec");
    script(&folder, "kubexec.sh", "echo $1 >>STARTED\nshift\nexec sh -c \"$*\"\n");
    let hosts = folder.join("hostfile");
    fs::write(&hosts, "198.51.100.1 slots=2\n198.51.100.2 slots=2\n").unwrap();
    let agent = folder.join("kubexec.sh");
    let variables = [
        ("OMPI_MCA_plm_rsh_agent", agent.to_str().unwrap()),
        ("OMPI_MCA_orte_default_hostfile", hosts.to_str().unwrap()),
        ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
    ];
    assert_eq!(hosts_started(&folder, &variables, &[]), BOTH);
    // A host without ranks needs no agent.
    let own = hosts_started(&folder, &variables[..1], &["--host", "198.51.100.2", "-n", "4"]);
    assert_eq!(own, BOTH[1..]);
}

#[test]
fn the_mpi_operator_has_a_dialect_for_each_library() {
    let folder = folder("launch-operator");
    // Agents are started by ssh. The options of the operator come first.
    let text = "case \"$*\" in *\"-o ConnectionAttempts=10 \"*) ;; *) fail \"$*\" ;; esac\n\
        while case $1 in -o) shift 2 ;; -*) shift ;; *) false ;; esac; do :; done\n\
        echo $1 >>STARTED\nshift\nexec sh -c \"$*\"\n";
    script(&folder, "ssh", text);
    let hosts = folder.join("hostfile");
    let attempts = "-o ConnectionAttempts=10";
    for (lines, file, arguments, slots) in [
        (
            "198.51.100.1 slots=2\n198.51.100.2 slots=2\n",
            "OMPI_MCA_orte_default_hostfile",
            "OMPI_MCA_plm_rsh_args",
            "OMPI_MCA_orte_set_default_slots",
        ),
        (
            "198.51.100.1:2\n198.51.100.2:2\n",
            "I_MPI_HYDRA_HOST_FILE",
            "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
            "I_MPI_PERHOST",
        ),
        ("198.51.100.1:2\n198.51.100.2:2\n", "HYDRA_HOST_FILE", "HYDRA_LAUNCH_EXTRA_ARGS", "NONE"),
    ] {
        fs::write(&hosts, lines).unwrap();
        let variables = [(file, hosts.to_str().unwrap()), (arguments, attempts), (slots, "2")];
        let role = [("K_MPI_JOB_ROLE", "launcher"), ("NVIDIA_VISIBLE_DEVICES", "")];
        assert_eq!(hosts_started(&folder, &[&variables[..], &role].concat(), &[]), BOTH);
        assert_eq!(hosts_started(&folder, &variables, &["-n", "4"]), BOTH);
    }
}

#[test]
fn names_of_one_machine_are_one_host() {
    let folder = folder("launch-aliases");
    // ssh, its options, the host, the command.
    let text = "for last; do :; done\necho \"$last\" >>STARTED\nexec sh -c \"$last\"\n";
    script(&folder, "ssh", text);
    fs::write(folder.join("started"), "").unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let hosts = "localhost:1,198.51.100.1:2,127.0.0.1:1,198.51.100.2:1";
    let show = ["sh", "-c", "echo $PMI_RANK $MPI_LOCALRANKID/$MPI_LOCALNRANKS"];
    let job = |words: &[&str]| {
        let mut command = mpirun(&[words, &show].concat());
        command.env("PATH", &path);
        let outcome = start(command).wait();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let mut lines: Vec<_> = outcome.lines().into_iter().map(String::from).collect();
        lines.sort();
        (lines, outcome.stderr)
    };
    let (lines, notes) = job(&["-host", hosts]);
    assert_eq!(lines, ["0 0/5", "1 1/5", "2 2/5", "3 3/5", "4 4/5"]);
    for name in ["198.51.100.1", "198.51.100.2"] {
        let note = format!("mpirun: note: {name} is the same machine as ");
        assert!(notes.contains(&note), "{notes}");
    }
    let (lines, notes) = job(&["-host", "198.51.100.1:2,198.51.100.2:2", "-map-by", "node"]);
    assert_eq!(lines, ["0 0/4", "1 1/4", "2 2/4", "3 3/4"]);
    assert!(notes.contains("198.51.100.2 is the same machine as 198.51.100.1; "), "{notes}");
}

#[test]
fn the_installation_of_other_hosts_may_have_another_folder() {
    let folder = folder("launch-prefix");
    let prefix = folder.join("suiro");
    fs::create_dir_all(prefix.join("bin")).unwrap();
    let own = mpirun(&["true"]).get_program().to_owned();
    std::os::unix::fs::symlink(own, prefix.join("bin/mpirun")).unwrap();
    script(&folder, "agent", "echo \"$2\" >>STARTED\nexec sh -c \"$2\"\n");
    let (agent, prefix) = (folder.join("agent"), prefix.to_str().unwrap());
    let options = ["-launcher-exec", agent.to_str().unwrap(), "--prefix", prefix];
    let started = hosts_started(
        &folder,
        &[],
        &[&options[..], &["-host", "198.51.100.1:2,198.51.100.2:2"]].concat(),
    );
    let path = format!("{prefix}/bin/mpirun");
    assert!(started.len() == 2 && started.iter().all(|word| word.contains(&path)), "{started:?}");
}
