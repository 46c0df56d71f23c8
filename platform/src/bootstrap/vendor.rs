//! Wire-up through another MPI library, which has the connection to its launcher for itself.
//!
//! ```text
//!   put, put ── barrier: all values of all ranks, gathered ── get, get
//! ```
//!
//! The launcher knows the library, so rank and size are the library's. It is finalized when the process
//! exits, not here: a process that finalizes MPI may open a session afterwards.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::base::{ErrorClass, Result};
use crate::sys::process;
use crate::sys::vendor::VendorLibrary;

use super::client::{JobAttributes, KvsLimits, PmiProtocol, RequiredRanks};
use super::environment::Environment;
use super::server::{NameReply, NameRequest};

/// Nothing limits keys and values but reason.
const LIMITS: KvsLimits = KvsLimits { key_bytes: 256, value_bytes: 64 << 10 };
/// The key of the job's name.
const JOB_NAME: &str = "suiro-job";

/// The bootstrap of one rank.
#[derive(Debug)]
pub(super) struct VendorPmi {
    library: Arc<VendorLibrary>,
    /// Values of this rank since the last barrier.
    new: Vec<(String, String)>,
    /// All values before the last barrier, by rank and key.
    known: BTreeMap<(u32, String), String>,
}

impl VendorPmi {
    /// Joins the job of the launcher that has started the library.
    ///
    /// # Errors
    /// `Other` under the launcher of this library, without a library, or with a library that cannot be
    /// used.
    pub(super) fn join(
        environment: &Environment, path: Option<&str>, is_own: impl Fn(&str) -> bool,
    ) -> Result<(Self, JobAttributes)> {
        let fail = |why: String| ErrorClass::Other.error(why);
        if environment.job_fd.is_some() {
            return Err(fail(
                "SUIRO_DEVICE=vendor needs the launcher of the other library (its mpiexec), and this \
                 process was started by the mpirun of this library"
                    .to_owned(),
            ));
        }
        let Some(path) = path else {
            return Err(fail(
                "SUIRO_DEVICE=vendor needs SUIRO_VENDOR_LIBRARY: the path of the libmpi_abi.so.1 of \
                 another MPI library"
                    .to_owned(),
            ));
        };
        if process::has_more_rights() {
            return Err(fail(
                "a program with more rights than its user has loads no library that the user selects \
                 (SUIRO_VENDOR_LIBRARY)"
                    .to_owned(),
            ));
        }
        let library = VendorLibrary::start(Path::new(path), is_own)
            .map_err(|why| fail(format!("SUIRO_VENDOR_LIBRARY={path} cannot be used: {why}")))?;
        let library = Arc::new(library);
        let (app_number, universe_size) = library.numbers_of_job();
        let (rank, size) = (library.rank(), library.size());
        let mut pmi = Self { library, new: Vec::new(), known: BTreeMap::new() };
        if rank == 0 {
            let own = process::own_pid();
            pmi.put(JOB_NAME, &format!("vendor-{}-{own}", crate::sys::clock::monotonic_ns()))?;
        }
        pmi.barrier()?;
        let job_name = pmi.get(0, JOB_NAME)?.unwrap_or_default();
        let place = JobAttributes {
            rank,
            size,
            app_number,
            universe_size: universe_size.map(|slots| slots.max(size)),
            job_name,
            local_ranks: None,
            limits: LIMITS,
            files: None,
            is_own_launcher: false,
        };
        Ok((pmi, place))
    }

    /// The library.
    pub(super) fn library(&self) -> &Arc<VendorLibrary> {
        &self.library
    }
}

impl PmiProtocol for VendorPmi {
    fn put(&mut self, key: &str, value: &str) -> Result {
        self.new.push((key.to_owned(), value.to_owned()));
        Ok(())
    }

    fn get(&mut self, from: u32, key: &str) -> Result<Option<String>> {
        Ok(self.known.get(&(from, key.to_owned())).cloned())
    }

    fn barrier(&mut self) -> Result {
        let own = emit(&std::mem::take(&mut self.new));
        for (rank, bytes) in (0..).zip(self.library.gather(own.as_bytes())) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            self.known.extend(parse(&text).map(|(key, value)| ((rank, key), value)));
        }
        Ok(())
    }

    /// The library may end this process here.
    fn abort(&mut self, code: i32, _message: &str) -> Result {
        self.library.abort(code);
        Ok(())
    }

    fn name(&mut self, _request: NameRequest) -> Result<NameReply> {
        let why = "the library that carries the messages serves no names (SUIRO_DEVICE=vendor)";
        Ok(NameReply::Failed(why.to_owned()))
    }

    fn leave(&mut self) -> Result {
        Ok(())
    }

    fn enter(&mut self, _company: RequiredRanks) -> Result {
        Ok(())
    }
}

/// A line for each value; keys and values have no spaces ([`super::client::Client::put`]).
fn emit(values: &[(String, String)]) -> String {
    values.iter().map(|(key, value)| format!("{key} {value}\n")).collect()
}

fn parse(text: &str) -> impl Iterator<Item = (String, String)> {
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cross_a_text() {
        let values = [("a", "b=c\\"), ("d", "e")];
        let values = values.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(parse(&emit(&values)).collect::<Vec<_>>(), values);
        assert_eq!(emit(&[]), "");
    }

    #[test]
    fn what_is_missing_is_named() {
        let join = |job_fd, path| {
            let environment = Environment { job_fd, ..Environment::default() };
            VendorPmi::join(&environment, path, |_| false).unwrap_err().why
        };
        assert!(join(Some(3), None).contains("mpirun of this library"));
        assert!(join(None, None).contains("SUIRO_VENDOR_LIBRARY"));
        let missing = join(None, Some("/nonexistent/libmpi_abi.so.1"));
        assert!(missing.starts_with("SUIRO_VENDOR_LIBRARY=/nonexistent/"), "{missing}");
    }
}
