//! `MPI_INFO_ENV` of this process (MPI 5.0 §11.2.1), with its hardware binding.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::hardware::host_name;
use super::settings::Config;
use crate::mpi::communicator::hints::MEMORY_KINDS;
use crate::mpi::errhandler::{Handler, INITIAL_ERRHANDLER};
use crate::mpi::info::{Info, VALUE_MAX};
use crate::mpi::memory_kinds;
use platform::base::Result;
use platform::bootstrap::Environment;

/// `MPI_INFO_ENV` of this process with `arguments` or its own: the same before, during and after
/// MPI, as far as the launcher sets variables.
pub fn of_process(arguments: Option<Vec<Vec<u8>>>) -> Info {
    let launcher = Environment::read();
    let alone = launcher.several.is_none().then_some(1);
    // The initialization reports an invalid setting.
    let Config { memory_kinds, initial_errhandler, .. } = Config::read().unwrap_or_default();
    let size = launcher.pmi_size.or(alone);
    described(arguments, size, &memory_kinds, &initial_errhandler)
}

/// `MPI_INFO_ENV` of a rank of a job.
pub(super) fn of_rank(size: u32, memory_kinds: &str, initial_handler: &Handler) -> Info {
    described(None, Some(size), memory_kinds, initial_handler)
}

fn described(
    arguments: Option<Vec<Vec<u8>>>, size: Option<u32>, memory_kinds: &str,
    initial_handler: &Handler,
) -> Info {
    let arguments = arguments.unwrap_or_else(|| env::args_os().map(OsString::into_vec).collect());
    let mut info = Info::default();
    if let Some((command, rest)) = arguments.split_first() {
        note(&mut info, "command", command);
        note(&mut info, "argv", &rest.join(&b' '));
    }
    note(&mut info, "host", host_name().as_bytes());
    note(&mut info, "arch", env::consts::ARCH.as_bytes());
    if let Ok(folder) = env::current_dir() {
        note(&mut info, "wdir", folder.as_os_str().as_bytes());
    }
    if let Some(size) = size.map(|size| size.to_string()) {
        note(&mut info, "maxprocs", size.as_bytes());
        note(&mut info, "soft", size.as_bytes());
    }
    note(&mut info, MEMORY_KINDS, memory_kinds::provided(memory_kinds).as_bytes());
    if let Some(handler) = initial_handler.name() {
        note(&mut info, INITIAL_ERRHANDLER, handler.as_bytes());
    }
    info
}

/// `environment` overridden by `own`: `MPI_INFO_ENV` for other arguments.
///
/// # Errors
/// None for keys and values from an info object.
pub(crate) fn overlay(environment: &Info, own: &Info) -> Result<Info> {
    let mut all = environment.clone();
    own.iter().try_for_each(|(key, value)| all.set(key, value))?;
    Ok(all)
}

/// Sets a key; a value too long for an info object is omitted.
fn note(info: &mut Info, key: &str, value: &[u8]) {
    if value.len() < VALUE_MAX {
        drop(info.set(key.as_bytes(), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_a_command_and_the_rest() {
        let info = of_process(Some(vec![b"./a.out".into(), b"-n".into(), b"\xff".into()]));
        assert_eq!(info.get(b"command"), Ok(Some(&b"./a.out"[..])));
        assert_eq!(info.get(b"argv"), Ok(Some(&b"-n \xff"[..])));
        assert_eq!(of_process(Some(vec![])).get(b"command"), Ok(None));
        let own = of_rank(4, "mpi:alloc_mem", &Handler::Fatal);
        assert_eq!(own.get(b"maxprocs"), Ok(Some(&b"4"[..])));
        let handler = own.get(b"mpi_initial_errhandler");
        assert_eq!(handler, Ok(Some(&b"mpi_errors_are_fatal"[..])));
        assert!(own.get(b"command").unwrap().is_some());
        assert_eq!(own.get(b"mpi_memory_alloc_kinds"), Ok(Some(&b"mpi,system,mpi:alloc_mem"[..])));
        let elsewhere =
            described(Some(vec![b"./a.out".into()]), None, "mpi:alloc_mem", &Handler::Fatal);
        let other = overlay(&own, &elsewhere).unwrap();
        assert_eq!(other.get(b"command"), Ok(Some(&b"./a.out"[..])));
        assert_eq!((other.len(), other.get(b"soft")), (own.len(), own.get(b"soft")));
    }
}
