//! A job of a mpirun that this process starts itself, because no launcher does it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use super::{
    PARENT_LINK, PARENT_PORT, ParentKind, ParentMessage, SpawnLink, SpawnProgress, SpawnRequest,
    SpawnState,
};
use crate::base::{ErrorClass, Result};
use crate::bootstrap::environment::{SINGLETON, is_private_variable};
use crate::sys::socket::SocketStream;

/// The program that starts the processes.
const MPIRUN: &str = "mpirun";

/// A job that this process has started. It ends with this value, unless it is disconnected.
#[derive(Debug)]
pub struct Spawned {
    child: Child,
    link: SpawnLink,
    progress: SpawnProgress,
}

/// Starts a job of its own for `request`, by the mpirun of this installation.
///
/// The application may collect the process itself, by waitpid(2) for any child.
///
/// # Errors
/// As of [`SpawnRequest::to_arguments`]; `Spawn` when mpirun cannot be started.
pub fn start_detached(request: &SpawnRequest) -> Result<Spawned> {
    let words = request.to_arguments()?;
    let program = launcher_path();
    let failed = |error: std::io::Error| {
        ErrorClass::Spawn.error(format!("cannot start {}: {error}", program.display()))
    };
    let (own, theirs) = SocketStream::pair().map_err(failed)?;
    let input: OwnedFd = theirs.as_fd().try_clone_to_owned().map_err(failed)?;
    let mut command = Command::new(&program);
    for (name, _) in env::vars_os().filter(|(name, _)| is_private_variable(name)) {
        command.env_remove(name);
    }
    // This process may be one by choice; its children are not.
    command.env_remove(SINGLETON);
    command.env(PARENT_PORT, &request.parent_port);
    command.env(PARENT_LINK, ParentKind::Process.as_str());
    // Signals of the terminal reach it through this process, whose end it notices.
    let command = command.args(words).stdin(Stdio::from(input)).process_group(0);
    let child = command.spawn().map_err(failed)?;
    Ok(Spawned { child, link: SpawnLink::new(own), progress: SpawnProgress::default() })
}

impl Spawned {
    /// What has become of the job.
    pub fn state(&mut self) -> SpawnState {
        let exit = self.child.try_wait();
        // What mpirun has told before its end has arrived now.
        self.link.from_child().into_iter().for_each(|message| self.progress.note(message));
        match exit {
            Ok(None) => self.progress.running(),
            Ok(Some(status)) => self.progress.ended(Some(code(status))),
            // The application has collected it.
            Err(_) => self.progress.ended(None),
        }
    }

    /// From now on, the end of this process does not end the job.
    pub fn disconnected(&mut self) {
        self.link.tell_child(ParentMessage::Disconnected);
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// The mpirun of this installation, or that of `PATH`.
fn launcher_path() -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let own = file_at(&maps, launcher_path as *const () as usize);
    let beside = own.as_deref().and_then(Path::parent).into_iter().flat_map(|folder| {
        let above = folder.parent().unwrap_or(folder);
        // PREFIX/lib has PREFIX/bin beside it; cargo's `deps` has the programs above it.
        [above.join("bin"), folder.to_owned(), above.to_owned()]
    });
    let in_path = env::var_os("PATH").unwrap_or_default();
    let all = beside.chain(env::split_paths(&in_path).collect::<Vec<_>>());
    let found = all.map(|folder| folder.join(MPIRUN)).find(|file| file.is_file());
    found.unwrap_or_else(|| OsString::from(MPIRUN).into())
}

/// The file whose mapping contains `address`, by the text of /proc/self/maps.
fn file_at(maps: &str, address: usize) -> Option<PathBuf> {
    let contains = |line: &&str| {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).unwrap_or(0);
        range.is_some_and(|(start, end)| (number(start)..number(end)).contains(&address))
    };
    let line = maps.lines().find(contains)?;
    line.find('/').map(|at| PathBuf::from(&line[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_this_code_is_found() {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let own = file_at(&maps, file_at as *const () as usize);
        assert_eq!(own, env::current_exe().ok());
        let maps = "10-20 r-xp 0 00:00 1   /a b/c.so\n30-40 rw-p 0 00:00 0 \n";
        assert_eq!(file_at(maps, 0x1f), Some("/a b/c.so".into()));
        assert_eq!((file_at(maps, 0x20), file_at(maps, 0x30)), (None, None));
    }
}
