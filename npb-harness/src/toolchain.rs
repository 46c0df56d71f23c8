//! The commands of an installed MPI library: its compiler wrappers and its launcher, their arguments,
//! and the directory of the library. A library is identified by the version text of its launcher.

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nix::unistd::geteuid;

/// The loader's names of libraries with the standard ABI, for C and for Fortran.
const LIBRARIES: [&str; 2] = ["libmpi_abi.so.1", "libmpifort_abi.so.1"];

/// Kinds of launchers with different arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Suiro, with a choice of devices and progress modes.
    Suiro,
    /// Refuses to run as root or with more ranks than processors without an option.
    OpenMpi,
    /// Its commands need the path of the installation.
    Intel,
    /// Needs no arguments.
    Other,
}

impl Flavour {
    /// The kind by the launcher's output for `--version`.
    fn of(version: &str) -> Self {
        let contains = |name| version.contains(name);
        match () {
            () if contains("Suiro") => Self::Suiro,
            () if contains("Open MPI") => Self::OpenMpi,
            () if contains("Intel(R) MPI") => Self::Intel,
            () => Self::Other,
        }
    }
}

/// A temporary directory for programs and output, removed on drop.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes the directory below that of temporary files.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub(crate) fn new() -> Result<Self, String> {
        let path = env::temp_dir().join(format!("npb-{}", std::process::id()));
        fs::create_dir_all(&path)
            .map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("npb: cannot remove {}: {error}", self.0.display());
        }
    }
}

/// The languages with compiler wrappers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// `mpicc`.
    C,
    /// `mpifort`, or its name in other libraries.
    Fortran,
}

/// The commands of one MPI library.
#[derive(Clone, Debug)]
pub(crate) struct Toolchain {
    /// The name of the library in tables and records.
    pub label: String,
    /// The kind of its launcher.
    pub flavour: Flavour,
    /// Whether it is a peer for comparison.
    pub is_peer: bool,
    mpicc: PathBuf,
    mpifort: PathBuf,
    mpirun: PathBuf,
    /// Variables for its commands and programs.
    environment: Vec<(OsString, OsString)>,
}

impl Toolchain {
    /// Suiro: the given commands, or those beside this program, or those of `PATH`. The library of a
    /// build directory gets its loader name by a link in `scratch`.
    ///
    /// # Errors
    /// A directory contains a character that separates directories for the loader.
    pub(crate) fn ours(
        mpicc: Option<PathBuf>, mpifort: Option<PathBuf>, mpirun: Option<PathBuf>,
        scratch: &Scratch,
    ) -> Result<Self, String> {
        let mpicc = mpicc.map_or_else(|| Ok(beside_us("mpicc")), from_anywhere)?;
        // `PATH` may have the wrapper of another library, which is not used. Whether Suiro has one is
        // checked when a kernel in Fortran is requested.
        let mpifort = mpifort.map_or_else(|| Ok(mpicc.with_file_name("mpifort")), from_anywhere)?;
        let mpirun = mpirun.map_or_else(|| Ok(beside(&mpicc, "mpirun")), from_anywhere)?;
        let folder = library_folder(&mpicc, scratch.path());
        let environment = folder.map(|folder| library_path(&[folder])).transpose()?;
        let label = "suiro".to_owned();
        let (flavour, is_peer) = (Flavour::Other, false);
        Self { label, flavour, is_peer, mpicc, mpifort, mpirun, environment: Vec::new() }
            .with(environment)
    }

    /// The library installed in `prefix`.
    ///
    /// # Errors
    /// It has no launcher or no compiler wrapper, or its path cannot be used.
    pub(crate) fn peer(prefix: &Path, label: &str) -> Result<Self, String> {
        let prefix = prefix
            .canonicalize()
            .map_err(|error| format!("peer {label}: {}: {error}", prefix.display()))?;
        let bin = prefix.join("bin");
        let command = |names: &[&str]| {
            let mut paths = names.iter().map(|name| bin.join(name));
            paths.find(|path| path.exists()).ok_or_else(|| {
                format!("peer {label}: no {} in {}", names.join(" or "), bin.display())
            })
        };
        let mpicc = command(&["mpicc"])?;
        let mpirun = command(&["mpirun", "mpiexec"])?;
        // Whether it can compile is checked when a kernel in Fortran is requested.
        let mpifort = command(&["mpifort", "mpif90"]).unwrap_or_else(|_| bin.join("mpifort"));
        let mut path = vec![bin.clone()];
        path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        let path = env::join_paths(path).map_err(|error| error.to_string())?;
        let environment = [
            ("PATH".into(), path),
            library_path(&[prefix.join("lib")])?,
            // Only the commands of Intel MPI read it.
            ("I_MPI_ROOT".into(), prefix.into_os_string()),
        ];
        let (label, flavour, is_peer) = (label.to_owned(), Flavour::Other, true);
        Self { label, flavour, is_peer, mpicc, mpifort, mpirun, environment: Vec::new() }
            .with(environment)
    }

    /// With that environment, and the kind that the launcher reports in it.
    fn with(
        mut self, environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, String> {
        self.environment.extend(environment);
        let output = self
            .command(&self.mpirun)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot start {}: {error}", self.mpirun.display()))?;
        self.flavour = Flavour::of(&String::from_utf8_lossy(&output.stdout));
        Ok(self)
    }

    /// The label as a part of a directory name.
    pub(crate) fn folder_name(&self) -> String {
        self.label.replace(|c: char| !c.is_ascii_alphanumeric() && !"._".contains(c), "-")
    }

    /// The wrapper of a compiler.
    pub(crate) fn compiler(&self, language: Language) -> &Path {
        match language {
            Language::C => &self.mpicc,
            Language::Fortran => &self.mpifort,
        }
    }

    /// Whether the wrapper of that language has a compiler.
    pub(crate) fn has(&self, language: Language) -> bool {
        let mut command = self.command(self.compiler(language));
        let outcome = command.arg("--version").stdin(Stdio::null()).output();
        outcome.is_ok_and(|output| output.status.success())
    }

    /// What to report if [`has`](Self::has) is false for Fortran.
    pub(crate) fn without_fortran(&self) -> String {
        format!("no Fortran compiler behind {}", self.mpifort.display())
    }

    /// A command with the environment of this library.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Compiles and links with these arguments of the compiler.
    ///
    /// # Errors
    /// The output of the compiler.
    pub(crate) fn compile(&self, language: Language, arguments: &[OsString]) -> Result<(), String> {
        let compiler = self.compiler(language);
        let output = self
            .command(compiler)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot start {}: {error}", compiler.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(format!("{} failed with {}:\n{errors}", compiler.display(), output.status))
    }

    /// The library with the standard ABI of an installed peer.
    pub(crate) fn standard_library(&self) -> Option<PathBuf> {
        let prefix = self.mpirun.parent().and_then(Path::parent).filter(|_| self.is_peer)?;
        Some(prefix.join("lib").join(LIBRARIES[0])).filter(|path| path.exists())
    }

    /// The command that starts another program of this library, such as its servers.
    pub(crate) fn program(&self, name: &str) -> Command {
        self.command(&beside(&self.mpirun, name))
    }

    /// The launcher, to which options, the number of ranks, and a program are to be added.
    pub(crate) fn launcher(&self) -> Command {
        self.command(&self.mpirun)
    }

    /// The launcher of `other` for programs of this library.
    pub(crate) fn launcher_of(&self, other: &Self) -> Command {
        self.command(&other.mpirun)
    }

    /// The command that runs a program on `ranks` ranks; arguments and variables may be added.
    pub(crate) fn job(&self, ranks: u32, program: &Path) -> Command {
        let mut command = self.command(&self.mpirun);
        if self.flavour == Flavour::OpenMpi {
            command.arg("--oversubscribe");
            if geteuid().is_root() {
                command.arg("--allow-run-as-root");
            }
        }
        command.arg("-n").arg(ranks.to_string()).arg(program);
        command
    }
}

/// An absolute path of the command; a plain name is searched in `PATH`.
fn from_anywhere(command: PathBuf) -> Result<PathBuf, String> {
    if command.components().count() == 1 {
        return Ok(command);
    }
    std::path::absolute(&command).map_err(|error| format!("{}: {error}", command.display()))
}

/// The command of that name in the directory of this program, or that of `PATH`.
fn beside_us(name: &str) -> PathBuf {
    env::current_exe().map_or_else(|_| name.into(), |us| beside(&us, name))
}

/// The command of that name in the directory of `other`, or that of `PATH`.
fn beside(other: &Path, name: &str) -> PathBuf {
    Some(other.with_file_name(name)).filter(|path| path.exists()).unwrap_or_else(|| name.into())
}

/// The variable for the loader with these directories before its present value.
fn library_path(folders: &[PathBuf]) -> Result<(OsString, OsString), String> {
    const VARIABLE: &str = "LD_LIBRARY_PATH";
    let present = env::var_os(VARIABLE).unwrap_or_default();
    let all = folders.iter().cloned().chain(env::split_paths(&present));
    let joined = env::join_paths(all.filter(|folder| !folder.as_os_str().is_empty()));
    Ok((VARIABLE.into(), joined.map_err(|error| error.to_string())?))
}

/// The directory of the library of this `mpicc`: `../lib` in an installation. Libraries of a build
/// directory have no version, so they get links in `scratch`. `None`: the default of the loader.
fn library_folder(mpicc: &Path, scratch: &Path) -> Option<PathBuf> {
    let folder = mpicc.canonicalize().ok()?.parent()?.to_path_buf();
    let installed = folder.join("../lib");
    if installed.join(LIBRARIES[0]).exists() {
        return Some(installed);
    }
    let mut linked = None;
    for library in LIBRARIES {
        let names = [library.trim_end_matches(".1"), library].map(|name| folder.join(name));
        let found = names.iter().find(|path| path.exists());
        if found.is_some_and(|path| symlink(path, scratch.join(library)).is_ok()) {
            linked = Some(scratch.to_path_buf());
        }
    }
    linked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_identified_by_their_version() {
        assert_eq!(Flavour::of("mpirun (Suiro) 0.1.0\n"), Flavour::Suiro);
        assert_eq!(Flavour::of("mpirun (Open MPI) 5.0.11\n\nReport bugs"), Flavour::OpenMpi);
        assert_eq!(Flavour::of("Intel(R) MPI Library for Linux* OS"), Flavour::Intel);
        assert_eq!(Flavour::of("HYDRA build details:\n    Version: 5.0.2"), Flavour::Other);
    }

    #[test]
    fn the_library_of_an_installation_is_found() {
        let root = env::temp_dir().join(format!("npb-test-{}", std::process::id()));
        for folder in ["bin", "lib", "scratch"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let mpicc = root.join("bin/mpicc");
        fs::write(&mpicc, "").unwrap();
        let scratch = root.join("scratch");
        assert_eq!(library_folder(&mpicc, &scratch), None);
        fs::write(root.join("bin/libmpi_abi.so"), "").unwrap();
        assert_eq!(library_folder(&mpicc, &scratch), Some(scratch.clone()));
        fs::write(root.join("lib").join(LIBRARIES[0]), "").unwrap();
        let found = library_folder(&mpicc, &scratch).unwrap();
        assert_eq!(found.canonicalize().unwrap(), root.join("lib").canonicalize().unwrap());
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_peer_without_its_commands_is_refused_by_name() {
        let error = Toolchain::peer(Path::new("/nowhere"), "none").unwrap_err();
        assert!(error.starts_with("peer none: /nowhere: "), "{error}");
        let error = Toolchain::peer(&env::temp_dir(), "none").unwrap_err();
        assert!(error.starts_with("peer none: no mpicc in "), "{error}");
    }
}
