//! `npb model` with Suiro, and `npb report` of its results. The commands of the library are beside
//! `npb`: the package `suiro` must have been built. `npb` enforces time limits.

use std::{
    env, fs,
    path::Path,
    process::{Command, Output, Stdio},
};

fn npb(arguments: &[&str]) -> Output {
    let npb = Path::new(env!("CARGO_BIN_EXE_npb"));
    Command::new(npb).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Runs `npb model` with these arguments; its output, and its messages.
fn model(arguments: &[&str]) -> (String, String) {
    let mpicc = Path::new(env!("CARGO_BIN_EXE_npb")).with_file_name("mpicc");
    assert!(mpicc.exists(), "{} is missing: build the package suiro first", mpicc.display());
    let compiler = ["model", "--mpicc", mpicc.to_str().unwrap()];
    let measured = npb(&[&compiler[..], arguments].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = (text(&measured.stdout), text(&measured.stderr));
    assert!(measured.status.success(), "{}", said.1);
    said
}

#[test]
fn figures_about_messages_become_charts_beside_the_paper() {
    let folder = env::temp_dir().join(format!("npb-model-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    let (figures, page) = (path("figures.jsonl"), path("page.html"));
    let (table, text) = model(&[
        "--short",
        "--experiments",
        "messages",
        "--progress",
        "polling",
        "--results",
        &figures,
    ]);
    assert!(text.contains("no --peer PREFIX"), "{text}");
    assert!(table.contains("1 KiB there and back"), "{table}");
    let reported = npb(&["report", &figures, "--output", &page]);
    assert!(reported.status.success(), "{}", String::from_utf8_lossy(&reported.stderr));
    let text = fs::read_to_string(&page).unwrap();
    for chart in
        ["Bandwidth between", "Round trip between", "Round trip by threshold", "Alltoall on 16"]
    {
        assert!(text.contains(chart), "{chart}");
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Kernels of a published tree, which is not changed, in a world.
#[test]
fn kernels_of_a_tree_run_in_worlds() {
    let folder = env::temp_dir().join(format!("npb-worlds-tree-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    let (csv, build) = (path("runs.csv"), path("build"));
    let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tree-3.4");
    model(&[
        "--source",
        tree,
        "--build",
        &build,
        "--experiments",
        "clusters",
        "--kernels",
        "ep,is,bt",
        "--ranks",
        "2",
        "--csv",
        &csv,
    ]);
    let runs = fs::read_to_string(&csv).unwrap();
    for kernel in ["ep", "is"] {
        for device in ["shm", "shm + shm"] {
            let wanted = format!("clusters,{kernel},S,2,suiro,{device},polling,0,verified,");
            assert!(runs.contains(&wanted), "{wanted}: {runs}");
        }
    }
    // BT runs on a square of ranks.
    assert!(!runs.contains(",bt,"), "{runs}");
    fs::remove_dir_all(folder).unwrap();
}

/// Without another MPI library and a slow link, the other set-ups run, and what is missing is named.
#[test]
fn kernels_run_in_worlds_of_several_jobs() {
    let folder = env::temp_dir().join(format!("npb-worlds-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    let (csv, page) = (path("runs.csv"), path("page.html"));
    let (_, text) = model(&[
        "--experiments",
        "clusters,wan",
        "--kernels",
        "is",
        "--ranks",
        "3",
        "--hosts",
        "/nowhere/hosts",
        "--csv",
        &csv,
        "--page",
        &page,
    ]);
    for missing in ["no --peer PREFIX with lib/libmpi_abi.so.1", "no slow link", "/nowhere/hosts"] {
        assert!(text.contains(missing), "{missing}: {text}");
    }
    let runs = fs::read_to_string(&csv).unwrap();
    let run =
        |source: &str, device: &str| format!("{source},is,S,3,suiro,{device},polling,0,verified,");
    let wanted = [
        run("clusters", "shm"),
        run("clusters", "shm + shm"),
        run("clusters", "shm + tcp + shm"),
        run("wan", "shm"),
        run("wan", "shm + shm"),
    ];
    let lines: Vec<_> = runs.lines().skip(1).collect();
    assert_eq!(lines.len(), wanted.len(), "{runs}");
    assert!(lines.iter().zip(&wanted).all(|(line, wanted)| line.starts_with(wanted)), "{runs}");
    let page = fs::read_to_string(&page).unwrap();
    assert!(page.contains("Two clusters with a slow link between them") && page.contains("<svg"));
    fs::remove_dir_all(folder).unwrap();
}
