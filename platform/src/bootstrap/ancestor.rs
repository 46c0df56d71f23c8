//! Which ancestors of this process belong to its job: the environment alone does not show it.
//!
//! A program that a rank starts, with system(3) for instance, inherits the rank's environment, but
//! the rank is taken: such a program is a singleton, not one of several ranks. A program started by
//! a mere shell or script of the launcher is the rank itself.
//!
//! ```text
//!   mpirun ── sh ── a.out (in MPI) ── sh ── b.out      b.out is alone
//!   mpirun ── python (closes PMI_FD) ── a.out          a.out cannot become a rank: error
//!   mpirun ── a.out ── prterun ── b.out                b.out is a rank of the nearer launcher
//! ```

use crate::sys::ancestry::{Ancestor, ancestors};
use crate::sys::descriptor;

use super::environment::Environment;

/// A way to reach a launcher named in the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProtocolFamily {
    /// PMI-1 or PMI-2.
    Pmi,
    /// PMIx.
    Pmix,
}

/// Role of an ancestor in the job named by the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AncestorRole {
    /// Above the job, as are all further ancestors.
    Outside,
    /// Passes the environment on.
    Between,
    /// Could join, but has not.
    Candidate,
    /// Has joined.
    Rank,
}

/// File that this library has mapped while MPI is initialized; libpmix is mapped after a join by
/// PMIx.
const SEGMENT: &str = "memfd:suiro-segment";
const LIBRARY: &str = "libpmix.so";

/// The protocol families named in the environment, that of the nearest launcher first.
pub(super) fn protocol_families(environment: &Environment) -> Vec<ProtocolFamily> {
    let pmi = environment.pmi_fd.is_some() || environment.pmi_port.is_some();
    match (pmi, environment.pmix_job.is_some()) {
        (false, false) => Vec::new(),
        (true, false) => vec![ProtocolFamily::Pmi],
        (false, true) => vec![ProtocolFamily::Pmix],
        (true, true) => {
            // All processes between this one and its launcher have the launcher's variables.
            let depth =
                |way| roles(environment, way).take_while(|one| one.1 != AncestorRole::Outside);
            match depth(ProtocolFamily::Pmix).count() < depth(ProtocolFamily::Pmi).count() {
                true => vec![ProtocolFamily::Pmix, ProtocolFamily::Pmi],
                false => vec![ProtocolFamily::Pmi, ProtocolFamily::Pmix],
            }
        }
    }
}

/// The ancestor that already has this process's rank in the job that `way` would join.
pub(super) fn rank_above(environment: &Environment, way: ProtocolFamily) -> Option<u32> {
    if way == ProtocolFamily::Pmi && environment.pmi_fd.is_some_and(descriptor::is_socket) {
        return None;
    }
    nearest_rank(roles(environment, way))
}

fn nearest_rank(roles: impl Iterator<Item = (u32, AncestorRole)>) -> Option<u32> {
    let mut concerned = roles.skip_while(|(_, role)| *role == AncestorRole::Between);
    concerned.next().and_then(|(pid, role)| (role == AncestorRole::Rank).then_some(pid))
}

/// The role of each ancestor, the parent first.
fn roles(
    environment: &Environment, way: ProtocolFamily,
) -> impl Iterator<Item = (u32, AncestorRole)> {
    ancestors().map(move |one| (one.pid, role(&one, environment, way)))
}

fn role(ancestor: &Ancestor, environment: &Environment, way: ProtocolFamily) -> AncestorRole {
    let says = |name: &str, value: Option<String>| ancestor.variable(name) == value;
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let mapped = |start: &str| match ancestor.mapped_file(start) {
        None => AncestorRole::Between,
        Some(_) => AncestorRole::Rank,
    };
    match (way, environment.pmi_fd) {
        (ProtocolFamily::Pmi, Some(fd)) => {
            let rank = number(environment.pmi_rank);
            if !says("PMI_FD", Some(fd.to_string())) || !says("PMI_RANK", rank) {
                return AncestorRole::Outside;
            }
            // A join makes the descriptor close on exec.
            match ancestor.closes_socket_on_exec(fd) {
                None => AncestorRole::Between,
                Some(false) => AncestorRole::Candidate,
                Some(true) => AncestorRole::Rank,
            }
        }
        (ProtocolFamily::Pmi, None) => {
            let (port, id) = (environment.pmi_port.clone(), number(environment.pmi_id));
            let same = says("PMI_PORT", port) && says("PMI_ID", id);
            if same { mapped(SEGMENT) } else { AncestorRole::Outside }
        }
        (ProtocolFamily::Pmix, _) => {
            let (job, rank) = (environment.pmix_job.clone(), number(environment.pmix_rank));
            let same = says("PMIX_NAMESPACE", job) && says("PMIX_RANK", rank);
            if same { mapped(LIBRARY) } else { AncestorRole::Outside }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_that_matters_decides() {
        let nearest = |roles: &[AncestorRole]| nearest_rank((1..).zip(roles.iter().copied()));
        assert_eq!(
            nearest(&[AncestorRole::Between, AncestorRole::Rank, AncestorRole::Outside]),
            Some(2)
        );
        assert_eq!(nearest(&[AncestorRole::Candidate, AncestorRole::Rank]), None);
        assert_eq!(nearest(&[AncestorRole::Outside, AncestorRole::Rank]), None);
        assert_eq!(nearest(&[AncestorRole::Between]), None);
        assert_eq!(nearest(&[]), None);
    }

    #[test]
    fn a_job_of_which_no_ancestor_is_has_no_rank_above() {
        let environment = Environment {
            pmi_fd: Some(1_000_000),
            pmi_rank: Some(0),
            pmix_job: Some("nobody's".to_owned()),
            pmix_rank: Some(0),
            ..Environment::default()
        };
        assert_eq!(protocol_families(&environment), [ProtocolFamily::Pmi, ProtocolFamily::Pmix]);
        assert_eq!(rank_above(&environment, ProtocolFamily::Pmi), None);
        assert_eq!(rank_above(&environment, ProtocolFamily::Pmix), None);
        assert_eq!(protocol_families(&Environment::default()), []);
    }
}
