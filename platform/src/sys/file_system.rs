//! How much room a file system has.

use std::io;
use std::path::Path;

use nix::sys::statvfs::statvfs;

/// The room of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// With what is taken.
    pub total_bytes: u64,
    /// What an ordinary user can still take.
    pub free_bytes: u64,
}

/// The room of the file system that `path` is in.
///
/// # Errors
/// What statvfs(3) says, e.g. if nothing is there.
pub fn space(path: &Path) -> io::Result<Space> {
    let found = statvfs(path)?;
    let block_bytes = found.fragment_size();
    Ok(Space {
        total_bytes: found.blocks() * block_bytes,
        free_bytes: found.blocks_available() * block_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_less_free_than_there_is() {
        let space = space(Path::new("/")).unwrap();
        assert!(space.free_bytes <= space.total_bytes && space.total_bytes > 0);
        assert!(super::space(Path::new("/no/such/place")).is_err());
    }
}
