//! From a kernel's source to the output of its run. Knows compilers and launchers as commands
//! only; what the output means is for [`crate::report`].

use std::{
    env, fs,
    io::Read,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// What every MPI library with the standard ABI is called when it is loaded.
const LIBRARY: &str = "libmpi_abi.so.1";

/// How often a running job is looked at.
const GLANCE: Duration = Duration::from_millis(10);

/// A benchmark that we have the source of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Gaussian deviates in an embarrassingly parallel way.
    Ep,
    /// Integer sort by buckets.
    Is,
    /// Conjugate gradient on a sparse matrix.
    Cg,
    /// Multigrid on a cube.
    Mg,
    /// Fourier transform of a box.
    Ft,
}

impl Kernel {
    /// Every kernel, in the order of the table.
    pub const ALL: [Self; 5] = [Self::Ep, Self::Is, Self::Cg, Self::Mg, Self::Ft];

    /// The name in lower case, as NPB's `make` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ep => "ep",
            Self::Is => "is",
            Self::Cg => "cg",
            Self::Mg => "mg",
            Self::Ft => "ft",
        }
    }

    /// What it does, in a few words.
    pub fn purpose(self) -> &'static str {
        match self {
            Self::Ep => "random numbers that hardly communicate",
            Self::Is => "an integer sort, all to all",
            Self::Cg => "conjugate gradient, sums over rows and a transpose",
            Self::Mg => "multigrid, exchanges with neighbours",
            Self::Ft => "a Fourier transform, all to all",
        }
    }

    fn source(self) -> &'static str {
        match self {
            Self::Ep => include_str!("../kernels/ep.c"),
            Self::Is => include_str!("../kernels/is.c"),
            Self::Cg => include_str!("../kernels/cg.c"),
            Self::Mg => include_str!("../kernels/mg.c"),
            Self::Ft => include_str!("../kernels/ft.c"),
        }
    }
}

/// The commands to use, and a folder of our own to build in, which goes when this does.
pub struct Tools {
    mpicc: PathBuf,
    mpirun: PathBuf,
    library_folder: Option<PathBuf>,
    scratch: PathBuf,
}

impl Tools {
    /// Take the commands given, or those beside this program, or those of `PATH`.
    ///
    /// # Errors
    /// If the folder to build in cannot be made.
    pub fn find(mpicc: Option<PathBuf>, mpirun: Option<PathBuf>) -> Result<Self, String> {
        let mpicc = mpicc.unwrap_or_else(|| beside_us("mpicc"));
        let mpirun = mpirun.unwrap_or_else(|| beside_us("mpirun"));
        let scratch = env::temp_dir().join(format!("npb-{}", std::process::id()));
        fs::create_dir_all(&scratch)
            .map_err(|error| format!("cannot make {}: {error}", scratch.display()))?;
        let library_folder = library_of(&mpicc, &scratch);
        Ok(Self { mpicc, mpirun, library_folder, scratch })
    }

    /// Compile the kernel; the program's path.
    ///
    /// # Errors
    /// What the compiler said.
    pub fn build(&self, kernel: Kernel) -> Result<PathBuf, String> {
        let source = self.scratch.join(format!("{}.c", kernel.name()));
        let program = self.scratch.join(kernel.name());
        let header = self.scratch.join("npb.h");
        for (path, text) in
            [(&header, include_str!("../kernels/npb.h")), (&source, kernel.source())]
        {
            fs::write(path, text)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        let output = Command::new(&self.mpicc)
            .args(["-std=c11", "-O3"])
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .arg("-lm")
            .output()
            .map_err(|error| format!("cannot start {}: {error}", self.mpicc.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{} cannot be built: {said}", kernel.name()));
        }
        Ok(program)
    }

    /// Run the program on so many ranks; what it printed.
    ///
    /// # Errors
    /// If it cannot be started, ends in failure, or is still running after `limit` (then it has
    /// been killed).
    pub fn run(
        &self, program: &Path, class: char, ranks: u32, limit: Duration,
    ) -> Result<String, String> {
        let mut command = Command::new(&self.mpirun);
        command.arg("-n").arg(ranks.to_string()).arg(program).arg(class.to_string());
        if let Some(folder) = &self.library_folder {
            let mut folders = vec![folder.clone()];
            folders.extend(env::split_paths(&env::var_os("LD_LIBRARY_PATH").unwrap_or_default()));
            let joined = env::join_paths(folders).map_err(|error| error.to_string())?;
            command.env("LD_LIBRARY_PATH", joined);
        }
        let (status, output) = finish(command, limit)?;
        if status.success() { Ok(output) } else { Err(format!("{status}\n{output}")) }
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.scratch) {
            eprintln!("npb: {} stays behind: {error}", self.scratch.display());
        }
    }
}

/// The command of that name in our own folder, or else whatever `PATH` has.
fn beside_us(name: &str) -> PathBuf {
    let ours = env::current_exe().ok().and_then(|us| Some(us.parent()?.join(name)));
    ours.filter(|path| path.exists()).unwrap_or_else(|| name.into())
}

/// The folder in which a program finds the library of this `mpicc`: of an installation it is
/// `../lib`; a build folder has the library without its version, so it gets a link in `scratch`.
/// `None` leaves it to the loader.
fn library_of(mpicc: &Path, scratch: &Path) -> Option<PathBuf> {
    let folder = mpicc.canonicalize().ok()?.parent()?.to_path_buf();
    for candidate in [folder.clone(), folder.join("../lib")] {
        if candidate.join(LIBRARY).exists() {
            return Some(candidate);
        }
    }
    let unversioned = folder.join("libmpi_abi.so");
    (unversioned.exists() && symlink(&unversioned, scratch.join(LIBRARY)).is_ok())
        .then(|| scratch.to_path_buf())
}

/// Run the command to its end or to the limit.
fn finish(mut command: Command, limit: Duration) -> Result<(ExitStatus, String), String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    let mut pipe = child.stdout.take().expect("stdout was just piped");
    let (output, printed) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.read_to_end(&mut bytes).map(|_| bytes);
        // Nobody listens any more if the limit was reached.
        let _ = output.send(read);
    });
    let end = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        if Instant::now() >= end {
            child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
            return Err(format!("still running after {} s", limit.as_secs()));
        }
        thread::sleep(GLANCE);
    };
    let bytes = printed
        .recv_timeout(GLANCE.max(end.saturating_duration_since(Instant::now())))
        .map_err(|_| "its output has no end")?
        .map_err(|error| error.to_string())?;
    Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_status_are_those_of_the_command() {
        let (status, output) = finish(shell("echo hello; exit 3"), GLANCE * 1000).unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(output, "hello\n");
    }

    #[test]
    fn a_command_without_end_is_killed() {
        let error = finish(shell("exec sleep 1000"), GLANCE).unwrap_err();
        assert!(error.starts_with("still running"), "{error}");
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
        assert_eq!(library_of(&mpicc, &scratch), None);
        fs::write(root.join("bin/libmpi_abi.so"), "").unwrap();
        assert_eq!(library_of(&mpicc, &scratch), Some(scratch.clone()));
        fs::write(root.join("lib").join(LIBRARY), "").unwrap();
        let found = library_of(&mpicc, &scratch).unwrap();
        assert_eq!(found.canonicalize().unwrap(), root.join("lib").canonicalize().unwrap());
        fs::remove_dir_all(&root).unwrap();
    }
}
