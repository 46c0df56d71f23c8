//! Whether this process was started by a rank that is in MPI already.
//!
//! A program that a rank starts, with system(3) for instance, inherits the rank's environment, but
//! the place in the job is taken: such a program is alone, and not one of several. A program that
//! a mere shell or script of the launcher started is the rank itself.
//!
//! ```text
//!   mpirun ── sh ── a.out (MPI_Init: PMI_FD closes on exec) ── sh ── b.out       b.out is alone
//!   mpirun ── python (closes PMI_FD) ── a.out                  a.out cannot become a rank: error
//! ```

use crate::sys::ancestry::{Ancestor, ancestors};
use crate::sys::descriptor;

use super::environment::Environment;

/// What an ancestor is in the job that the environment names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It is above the job, and so are all further ones.
    Outside,
    /// It passes the environment on.
    Between,
    /// It could join, but has not.
    Candidate,
    /// It has joined.
    Rank,
}

/// The process above this one that has this one's place in the job.
pub(super) fn rank_above(environment: &Environment) -> Option<u32> {
    if let Some(number) = environment.pmi_fd {
        if descriptor::is_socket(number) {
            return None;
        }
        let rank = environment.pmi_rank?;
        return nearest_rank(ancestors().map(|one| (one.pid, role_by_pmi(one, number, rank))));
    }
    let (job, rank) = (environment.pmix_job.as_deref()?, environment.pmix_rank?);
    nearest_rank(ancestors().map(|one| (one.pid, role_by_pmix(one, job, rank))))
}

fn nearest_rank(ancestors: impl Iterator<Item = (u32, Role)>) -> Option<u32> {
    let mut concerned = ancestors.skip_while(|(_, role)| *role == Role::Between);
    concerned.next().and_then(|(pid, role)| (role == Role::Rank).then_some(pid))
}

fn role_by_pmi(ancestor: Ancestor, number: i32, rank: u32) -> Role {
    let says = |name: &str, value: String| ancestor.variable(name).is_some_and(|it| it == value);
    if !says("PMI_FD", number.to_string()) || !says("PMI_RANK", rank.to_string()) {
        return Role::Outside;
    }
    // Joining is what makes the descriptor close on exec.
    match ancestor.closes_socket_on_exec(number) {
        None => Role::Between,
        Some(false) => Role::Candidate,
        Some(true) => Role::Rank,
    }
}

fn role_by_pmix(ancestor: Ancestor, job: &str, rank: u32) -> Role {
    let says = |name: &str, value: &str| ancestor.variable(name).is_some_and(|it| it == value);
    if !says("PMIX_NAMESPACE", job) || !says("PMIX_RANK", &rank.to_string()) {
        return Role::Outside;
    }
    // Joining is what loads the library.
    match ancestor.mapped_file("libpmix.so") {
        None => Role::Between,
        Some(_) => Role::Rank,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_that_matters_decides() {
        let nearest = |roles: &[Role]| nearest_rank((1..).zip(roles.iter().copied()));
        assert_eq!(nearest(&[Role::Between, Role::Rank, Role::Outside]), Some(2));
        assert_eq!(nearest(&[Role::Candidate, Role::Rank]), None);
        assert_eq!(nearest(&[Role::Outside, Role::Rank]), None);
        assert_eq!(nearest(&[Role::Between]), None);
        assert_eq!(nearest(&[]), None);
    }

    #[test]
    fn without_a_job_nobody_is_asked() {
        assert_eq!(rank_above(&Environment::default()), None);
        let foreign =
            Environment { pmi_fd: Some(1_000_000), pmi_rank: Some(0), ..Environment::default() };
        assert_eq!(rank_above(&foreign), None);
    }
}
