//! Memory allocation kinds: the allocators of the memory of messages (MPI 5.0 §11.4.3).
//!
//! A kind has a name and optional restrictors: `mpi:alloc_mem` is memory of MPI from
//! `MPI_Alloc_mem`. The library can send all memory that a processor can read: the kinds `system`
//! and `mpi`.

/// The kinds supported without a request.
pub(crate) const DEFAULT: &str = "mpi,system";

/// The kinds of this library with their restrictors.
const KINDS: [(&str, &[&str]); 2] =
    [("mpi", &["alloc_mem", "win_allocate", "win_allocate_shared"]), ("system", &[])];

/// The supported kinds for this request: the default ones, and each requested one that the library
/// knows.
pub(crate) fn provided(requested: &str) -> String {
    let mut provided: Vec<&str> = kinds(DEFAULT).collect();
    for kind in kinds(requested).filter(|kind| is_known(kind)) {
        if !provided.contains(&kind) {
            provided.push(kind);
        }
    }
    provided.join(",")
}

/// Whether this library knows all kinds of a list, which may be empty.
pub(crate) fn are_known(list: &str) -> bool {
    kinds(list).all(is_known)
}

fn kinds(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|kind| !kind.is_empty())
}

fn is_known(kind: &str) -> bool {
    let mut parts = kind.split(':');
    let name = parts.next();
    let known = KINDS.iter().find(|(known, _)| Some(*known) == name);
    known.is_some_and(|(_, restrictors)| parts.all(|part| restrictors.contains(&part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_requests_are_added_to_what_is_there_anyway() {
        for (requested, expected) in [
            ("", "mpi,system"),
            ("system", "mpi,system"),
            ("cuda:device, mpi:alloc_mem ,mpi:alloc_mem", "mpi,system,mpi:alloc_mem"),
            ("mpi:win_allocate:alloc_mem", "mpi,system,mpi:win_allocate:alloc_mem"),
            ("mpi:gpu,system:hbm,:,mpi:", "mpi,system"),
        ] {
            assert_eq!(provided(requested), expected, "{requested}");
        }
        assert!(are_known("") && are_known("system,mpi:win_allocate_shared"));
        assert!(!are_known("system,rocm") && !are_known("System"));
    }
}
