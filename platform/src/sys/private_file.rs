//! Files that only their user can read, for keys.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::process;

/// Rights of anybody but the owner.
const OTHERS: u32 = 0o077;

/// Reads a file of this user, at most `max_bytes` of it.
///
/// # Errors
/// The system's; `PermissionDenied` if another user could have read or written the file.
pub fn read(file: &Path, max_bytes: u64) -> io::Result<String> {
    let opened = File::open(file)?;
    let data = opened.metadata()?;
    if data.uid() != process::effective_user() || data.mode() & OTHERS != 0 {
        let why = "not used, because another user may have read or written it; expected a file of this \
                   user with the mode 600";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let mut text = String::new();
    opened.take(max_bytes).read_to_string(&mut text)?;
    Ok(text)
}

/// Writes a file, in place of an older one if there is one. A reader sees the whole file or none.
///
/// # Errors
/// The system's.
pub fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = Unfinished::write(file, bytes)?;
    fs::rename(&unfinished.0, file)
}

/// Writes a file that does not exist, and makes its folder if that is missing. A reader sees the whole
/// file or none.
///
/// # Errors
/// The system's; `AlreadyExists` if the file exists.
pub fn create(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let unfinished = Unfinished::write(file, bytes)?;
    fs::hard_link(&unfinished.0, file)
}

/// The file beside another that becomes it; of this process alone. It is removed, unless it was renamed.
struct Unfinished(PathBuf);

impl Unfinished {
    fn write(file: &Path, bytes: &[u8]) -> io::Result<Self> {
        let mut name = file.as_os_str().to_owned();
        name.push(format!(".{}", process::own_pid()));
        let mut new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&name)?;
        let unfinished = Self(name.into());
        new.write_all(bytes)?;
        new.sync_data()?;
        Ok(unfinished)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
