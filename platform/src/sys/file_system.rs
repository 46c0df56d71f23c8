//! Total and free space of a file system.

use std::io;
use std::path::Path;

use nix::sys::statvfs::statvfs;

/// Space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Used space included.
    pub total_bytes: u64,
    /// Space available to an ordinary user.
    pub free_bytes: u64,
}

/// The space of the file system that contains `path`.
///
/// # Errors
/// The error of statvfs(3), e.g. if `path` does not exist.
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
