//! `mpifort` of an installation with a mock compiler: when and where modules are built, and the messages
//! if they cannot be built.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::harness::{folder, quoted};

/// The modules that one compiler builds.
const SOURCES: [&str; 5] = ["mpi_types", "mpi", "mpi_f08", "mpi_ext", "mpi_f08_ext"];

/// A separate installation with empty sources of modules.
struct Installed {
    prefix: PathBuf,
}

impl Installed {
    fn new(name: &str) -> Self {
        let prefix = folder(&format!("launch-fortran-{name}"));
        let place = |name: &str| {
            fs::create_dir(prefix.join(name)).unwrap();
            prefix.join(name)
        };
        fs::copy(env!("CARGO_BIN_EXE_mpifort"), place("bin").join("mpifort")).unwrap();
        let include = place("include");
        for name in SOURCES {
            fs::write(include.join(name).with_extension("f90"), "").unwrap();
        }
        let installed = Self { prefix };
        installed.compiler("12.1.0", "");
        installed
    }

    /// Replaces the compiler: it prints this version, runs `act`, records the sources that it compiles, and
    /// makes modules in its working directory.
    fn compiler(&self, version: &str, act: &str) {
        let notes = self.prefix.join("compiled");
        let text = format!(
            "#!/bin/sh
            if [ \"$1\" = --version ]; then echo 'GNU Fortran (a test) {version}'; exit; fi
            case $3 in
            {}/*.f90)
                {act}
                echo \"$3\" >>{}
                name=$(basename \"$3\" .f90)
                : >$name.o
                : >$name.mod ;;
            *) echo \"$@\" ;;
            esac",
            quoted(self.prefix.join("include").to_str().unwrap()),
            quoted(notes.to_str().unwrap()),
        );
        let path = self.prefix.join("compiler");
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, cache: &str) -> Command {
        let mut command = Command::new(self.prefix.join("bin/mpifort"));
        for name in ["MPICH_FC", "MPICH_F90", "MPICH_F77", "OMPI_FC", "I_MPI_FC"] {
            command.env_remove(name);
        }
        command.env("SUIRO_FC", self.prefix.join("compiler"));
        command.env("XDG_CACHE_HOME", cache).env_remove("HOME");
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(self.cache().to_str().unwrap()).args(words).output().unwrap()
    }

    fn cache(&self) -> PathBuf {
        self.prefix.join("cache")
    }

    /// The number of compiled sources of modules so far.
    fn compiled(&self) -> usize {
        fs::read_to_string(self.prefix.join("compiled")).unwrap_or_default().lines().count()
    }
}

/// The names in a directory that are not hidden.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort_unstable();
    names
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn many_wrappers_at_once_build_modules_once() {
    let installed = Installed::new("many");
    installed.compiler("12.1.0", "sleep 0.1");
    let cache = installed.cache();
    let mut running = Vec::new();
    for _ in 0..16 {
        let mut command = installed.command(cache.to_str().unwrap());
        command.args(["-c", "a.f90"]).stdout(std::process::Stdio::piped());
        running.push(command.spawn().unwrap());
    }
    for child in running {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        let modules = text.split_whitespace().find_map(|word| word.strip_prefix("-I")?.into());
        assert!(modules.is_some() && text.contains("/cache/suiro/gnu-fortran-12.1.0-"), "{text}");
    }
    assert_eq!(installed.compiled(), SOURCES.len());
    let [folder] = &names(&cache.join("suiro"))[..] else { panic!("not one folder") };
    assert_eq!(
        names(&cache.join("suiro").join(folder)),
        [
            "libsuiro_modules.a",
            "mpi.mod",
            "mpi_ext.mod",
            "mpi_f08.mod",
            "mpi_f08_ext.mod",
            "mpi_types.mod"
        ]
    );
}

#[test]
fn each_compiler_and_each_source_has_modules_of_its_own() {
    let installed = Installed::new("each");
    assert!(installed.run(&["-c", "a.f90"]).status.success());
    assert!(installed.run(&["-c", "a.f90"]).status.success());
    assert_eq!(installed.compiled(), SOURCES.len());
    installed.compiler("13.2.0", "");
    assert!(installed.run(&["-c", "a.f90"]).status.success());
    assert_eq!(installed.compiled(), 2 * SOURCES.len());
    fs::write(installed.prefix.join("include/mpi.f90"), "!").unwrap();
    assert!(installed.run(&["-c", "a.f90"]).status.success());
    assert_eq!(installed.compiled(), 3 * SOURCES.len());
    assert_eq!(names(&installed.cache().join("suiro")).len(), 3);
}

#[test]
fn modules_of_the_installation_come_first() {
    let installed = Installed::new("installed");
    let output = installed.run(&["-build-modules"]);
    assert!(output.status.success(), "{}", errors(&output));
    let place = String::from_utf8(output.stdout).unwrap();
    assert!(Path::new(place.trim_end()).starts_with(installed.prefix.join("include/suiro")));
    let text = installed.run(&["-showme:incdirs"]).stdout;
    // A name with a space is quoted.
    let text = String::from_utf8(text).unwrap().replace('"', "");
    assert_eq!(text, format!("{} {place}", installed.prefix.join("include").display()));
    assert_eq!(installed.compiled(), SOURCES.len());
    assert!(!installed.cache().exists());
}

#[test]
fn calls_that_need_no_modules_build_none() {
    let installed = Installed::new("none");
    for words in [&["-E", "a.F90"][..], &["a.o"], &["-showme:link"], &["-v"], &["-help"]] {
        let output = installed.run(words);
        assert!(output.status.success() && output.stderr.is_empty(), "{words:?}");
    }
    assert_eq!(installed.compiled(), 0);
    // A program that queries the flags may run the compiler itself.
    assert!(installed.run(&["-show"]).status.success());
    assert_eq!(installed.compiled(), SOURCES.len());
}

#[test]
fn an_unwritable_cache_is_reported_and_the_compiler_decides() {
    let installed = Installed::new("read-only");
    for (cache, why) in [("/dev/null/cache", "/dev/null/cache"), ("", "neither XDG_CACHE_HOME")] {
        let output = installed.command(cache).args(["-c", "a.f90"]).output().unwrap();
        let text = errors(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains(why) && text.contains("-build-modules"), "{text}");
        assert!(!String::from_utf8(output.stdout).unwrap().contains("suiro/gnu-fortran"));
    }
}

#[test]
fn errors_of_the_compiler_are_reported() {
    let installed = Installed::new("log");
    installed.compiler("4.8.5", "echo 'a.f90:1: Error: TYPE(*) is unknown' >&2; exit 1");
    let output = installed.run(&["-c", "a.f90"]);
    let text = errors(&output);
    assert!(text.contains("GNU Fortran (a test) 4.8.5: "), "{text}");
    assert!(text.contains("mpi_types.f90: exit status: 1\na.f90:1: Error: TYPE(*) is unknown"));
    assert_eq!(installed.run(&["-build-modules"]).status.code(), Some(1));
    // A compiler that makes its modules elsewhere fails too.
    installed.compiler("4.8.6", "exit 0");
    assert!(errors(&installed.run(&["-c", "a.f90"])).contains("made no mpi.mod"));
    assert!(names(&installed.cache().join("suiro")).is_empty());
}

#[test]
fn files_of_a_killed_builder_are_removed() {
    let installed = Installed::new("left");
    installed.compiler("12.1.0", "kill -9 $PPID; exit 1");
    assert!(!installed.run(&["-c", "a.f90"]).status.success());
    let cache = installed.cache().join("suiro");
    let folders = || {
        let entries = fs::read_dir(&cache).unwrap().map(Result::unwrap);
        entries.filter(|entry| entry.path().is_dir()).count()
    };
    assert_eq!(folders(), 1);
    installed.compiler("12.1.0", "");
    assert!(installed.run(&["-c", "a.f90"]).status.success());
    assert_eq!(folders(), 1);
    assert_eq!(names(&cache).len(), 1);
}

#[test]
fn a_missing_compiler_is_named_with_a_remedy() {
    let installed = Installed::new("missing");
    for words in [&["-c", "a.f90"][..], &["a.o"], &["-show"], &["-build-modules"]] {
        let words = [&["-fc=no-such-compiler"], words].concat();
        let output = installed.run(&words);
        assert_eq!(output.status.code(), Some(127), "{words:?}");
        let text = errors(&output);
        assert!(text.starts_with("mpifort: cannot run the compiler no-such-compiler: "), "{text}");
        assert!(text.contains("install gfortran, or name another with SUIRO_FC"), "{text}");
    }
    assert!(installed.run(&["-fc=no-such-compiler", "-showme:libs"]).status.success());
}
