//! The client's side of PMIx, the protocol of `prterun`, Open MPI's `mpirun` and `srun --mpi=pmix`.
//!
//! libpmix implements the protocol ([`crate::sys::pmix`]). The launcher's own copy is the best one:
//! it has the same version, and is found in any directory, because the launcher has it mapped.

use std::path::{Path, PathBuf};

use crate::base::{ErrorClass, MpiError, Result};
use crate::sys::ancestry::ancestors;
use crate::sys::pmix::{
    JOB, KEY_MAX, NOT_FOUND, PmixIdentity, PmixLibrary, PmixStatus, PmixValue, TAKEN, UNREACHABLE,
};
use crate::sys::process;

use super::channel::refused;
use super::client::{JobAttributes, KvsLimits, PmiProtocol, RequiredRanks};
use super::environment::Environment;
use super::mapping::listed_ranks;
use super::server::{NameReply, NameRequest};

/// File name for the loader's default search.
const NAME: &str = "libpmix.so.2";

/// The longest key is that of PMIx, with its terminator; PMIx does not limit values.
const LIMITS: KvsLimits = KvsLimits { key_bytes: KEY_MAX, value_bytes: 64 << 10 };

/// Before the names of services: no name is empty then, or begins with `pmix`, as keys of PMIx do.
const NAME_PREFIX: &str = "suiro-name-";

/// A PMIx connection.
#[derive(Debug)]
pub(super) struct Pmix {
    library: PmixLibrary,
    me: PmixIdentity,
    /// Values were put after the last barrier.
    changed: bool,
}

impl Pmix {
    /// Finds the library and enters the job that `environment` names.
    ///
    /// # Errors
    /// `Other` without a library, without a server, or when the server does not report the rank.
    pub(super) fn join(environment: &Environment) -> Result<(Self, JobAttributes)> {
        let library = load(environment.pmix_library.as_deref())?;
        let me = library.init().map_err(|status| match status {
            UNREACHABLE => ErrorClass::Other.error("the server that the environment names is gone"),
            other => failed(&library, "PMIx_Init", other),
        })?;
        let pmix = Self { library, me, changed: false };
        let place = pmix.place()?;
        Ok((pmix, place))
    }

    fn place(&self) -> Result<JobAttributes> {
        let rank = self.me.rank();
        let size = self.library.get(&self.me, JOB, "pmix.job.size");
        let size =
            size.map_err(|status| failed(&self.library, "asking for the job's size", status));
        let Some(size) = number(size?) else {
            return Err(ErrorClass::Other.error("the size of the job is not a number"));
        };
        let peers = self.known(JOB, "pmix.lpeers").or_else(|| self.known(rank, "pmix.lpeers"));
        Ok(JobAttributes {
            rank,
            size,
            app_number: self.known(rank, "pmix.appnum").and_then(number),
            // Servers report slots, which may be fewer than the ranks.
            universe_size: self
                .known(JOB, "pmix.univ.size")
                .and_then(number)
                .map(|slots| slots.max(size)),
            job_name: self.me.job_name(),
            local_ranks: peers.and_then(|peers| match peers {
                PmixValue::Text(list) => listed_ranks(&list, rank),
                PmixValue::Number(_) | PmixValue::Other(_) => None,
            }),
            limits: LIMITS,
            files: None,
            is_own_launcher: false,
        })
    }

    fn known(&self, rank: u32, key: &str) -> Option<PmixValue> {
        self.library.get(&self.me, rank, key).ok()
    }

    fn done(&self, what: &str, result: Result<(), PmixStatus>) -> Result {
        result.map_err(|status| failed(&self.library, what, status))
    }
}

impl PmiProtocol for Pmix {
    fn put(&mut self, key: &str, value: &str) -> Result {
        self.changed = true;
        self.done("PMIx_Put", self.library.put(key, value))
    }

    fn get(&mut self, from: u32, key: &str) -> Result<Option<String>> {
        // Servers have several statuses for an absent key.
        match self.library.get_published(&self.me, from, key) {
            Ok(PmixValue::Text(value)) => Ok(Some(value)),
            Ok(PmixValue::Number(_) | PmixValue::Other(_)) | Err(_) => Ok(None),
        }
    }

    fn barrier(&mut self) -> Result {
        if std::mem::take(&mut self.changed) {
            self.done("PMIx_Commit", self.library.commit())?;
        }
        self.done("PMIx_Fence", self.library.fence())
    }

    fn abort(&mut self, code: i32, message: &str) -> Result {
        self.done("PMIx_Abort", self.library.abort(code, message))
    }

    fn name(&mut self, request: NameRequest) -> Result<NameReply> {
        let name = format!("{NAME_PREFIX}{}", request.service());
        if name.len() > KEY_MAX {
            let why = format!("a name of {} bytes is longer than {KEY_MAX}", name.len());
            return Ok(NameReply::Refused(why));
        }
        let done = match request {
            NameRequest::Publish { port, .. } => self.library.publish(&name, &port),
            NameRequest::Lookup { .. } => match self.library.lookup(&name) {
                Ok(PmixValue::Text(port)) => return Ok(NameReply::Port(port)),
                Ok(PmixValue::Number(_) | PmixValue::Other(_)) => Err(NOT_FOUND),
                Err(status) => Err(status),
            },
            NameRequest::Unpublish { .. } => self.library.unpublish(&name),
        };
        Ok(match done {
            Ok(()) => NameReply::Done,
            Err(NOT_FOUND) => NameReply::unknown(),
            Err(TAKEN) => NameReply::taken(),
            Err(status) => NameReply::Failed(format!(
                "the launcher's server of names failed: {}",
                self.library.explain(status)
            )),
        })
    }

    fn leave(&mut self) -> Result {
        self.done("PMIx_Finalize", self.library.finalize())
    }

    /// libpmix 5.0.11 damages its heap when a process initializes it again after finalizing it,
    /// with no call in between except a fence.
    fn enter(&mut self, _company: RequiredRanks) -> Result {
        Err(refused("by PMIx a process joins its job once"))
    }
}

/// The first library that can be loaded.
fn load(wanted: Option<&str>) -> Result<PmixLibrary> {
    let mut tried = Vec::new();
    let has_more_rights = process::has_more_rights();
    for path in candidates(wanted, has_more_rights) {
        match PmixLibrary::open(&path) {
            Ok(library) => return Ok(library),
            Err(why) => tried.push(why),
        }
    }
    let remedy = match has_more_rights {
        true => "a program with more rights than its user has takes only that of the system",
        false => "SUIRO_PMIX_LIBRARY may say where it is",
    };
    Err(ErrorClass::Other.error(format!("no usable {NAME} ({}); {remedy}", tried.join("; "))))
}

/// Possible places of the library: the user's setting, else the launcher's copy, else the loader's
/// search. A program with more rights than its user has must not run code that the user selects.
fn candidates(wanted: Option<&str>, has_more_rights: bool) -> Vec<PathBuf> {
    match wanted {
        _ if has_more_rights => vec![PathBuf::from(NAME)],
        Some(path) => vec![PathBuf::from(path)],
        None => {
            let launchers = ancestors().find_map(|process| process.mapped_file(NAME));
            launchers.into_iter().chain([Path::new(NAME).to_owned()]).collect()
        }
    }
}

fn number(value: PmixValue) -> Option<u32> {
    match value {
        PmixValue::Number(number) => u32::try_from(number).ok(),
        PmixValue::Text(_) | PmixValue::Other(_) => None,
    }
}

fn failed(library: &PmixLibrary, what: &str, status: PmixStatus) -> Box<MpiError> {
    ErrorClass::Other.error(format!("{what} failed: {}", library.explain(status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let wanted = Some("/nonexistent/libpmix.so.2".to_owned());
        let environment = Environment { pmix_library: wanted, ..Environment::default() };
        let why = Pmix::join(&environment).unwrap_err().why;
        assert!(why.contains("/nonexistent/libpmix.so.2"), "{why}");
        assert!(why.contains("SUIRO_PMIX_LIBRARY"), "{why}");
        assert_eq!(*candidates(None, false).last().unwrap(), Path::new(NAME));
    }

    #[test]
    fn a_program_with_more_rights_than_its_user_has_loads_the_library_of_the_system() {
        assert!(!process::has_more_rights());
        assert_eq!(candidates(Some("/tmp/mine.so"), true), [Path::new(NAME)]);
        assert_eq!(candidates(None, true), [Path::new(NAME)]);
    }
}
