//! The limits and the file mode mask that a user sets in a shell (`ulimit`, `umask`), for processes
//! that no shell of the user has started.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::stat::{Mode, umask};

/// Resources whose limits users set for their programs. Open files have a rule of their own (see
/// [`process::raise_file_limit`](super::process::raise_file_limit)).
const RESOURCES: &[Resource] = &[
    Resource::RLIMIT_CORE,
    Resource::RLIMIT_STACK,
    Resource::RLIMIT_DATA,
    Resource::RLIMIT_AS,
    Resource::RLIMIT_FSIZE,
    Resource::RLIMIT_MEMLOCK,
    Resource::RLIMIT_CPU,
];

/// The soft limits of this process, in the order of this build.
pub fn own() -> Vec<u64> {
    let soft = |resource: &Resource| getrlimit(*resource).map_or(u64::MAX, |(soft, _)| soft);
    RESOURCES.iter().map(soft).collect()
}

/// The file mode mask of this process.
pub fn file_mask() -> u32 {
    // The only way to read it is to set it.
    let mask = umask(Mode::empty());
    umask(mask);
    mask.bits()
}

/// Gives this process the soft limits of another one, as far as its hard limits allow it.
pub fn adopt(limits: &[u64]) {
    for (resource, wanted) in RESOURCES.iter().zip(limits) {
        if let Ok((_, hard)) = getrlimit(*resource) {
            // Each is below its maximum, so it is allowed.
            let _ = setrlimit(*resource, hard.min(*wanted), hard);
        }
    }
}

/// Sets the file mode mask of this process.
pub fn set_file_mask(mask: u32) {
    umask(Mode::from_bits_truncate(mask));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_adopted_up_to_the_maximum() {
        let before = own();
        let (_, hard) = getrlimit(Resource::RLIMIT_CORE).unwrap();
        adopt(&[0]);
        assert_eq!((own()[0], &own()[1..]), (0, &before[1..]));
        adopt(&[u64::MAX]);
        assert_eq!(own()[0], hard);
        adopt(&before);
        assert_eq!(own(), before);
        let mask = file_mask();
        set_file_mask(0o27);
        assert_eq!(file_mask(), 0o27);
        set_file_mask(mask);
    }
}
