//! The file with the key that all clients of a world and its server share.
//!
//! ```text
//!   suiro-impi-key/1 KEY            KEY: 32 random bytes in hexadecimal digits
//! ```
//!
//! The server makes it if it is missing. Users copy it to the machines of the other clients.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use super::authentication::{Authentication, ImpiSecurity};
use crate::base::hex;
use crate::network::SharedSecret;
use crate::sys::private_file;
use crate::sys::secret::JobCredentials;

/// The first word, with the version of the format.
const FORMAT: &str = "suiro-impi-key/1";

/// The file of users that name no other, in the home directory.
const DEFAULT_FILE: &str = ".suiro/impi-key";

/// More than a file has.
const FILE_MAX_BYTES: u64 = 1024;

/// A file with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImpiKeyFile(pub PathBuf);

/// Where what protects the connections of a client comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImpiProtection {
    /// The key in this file; all bytes are encrypted.
    KeyFile(ImpiKeyFile),
    /// Plain bytes.
    Cleartext(Authentication),
}

impl ImpiProtection {
    /// What protects connections; reads the file of the key.
    ///
    /// # Errors
    /// A sentence: the file cannot be used.
    pub fn security(&self) -> Result<ImpiSecurity, String> {
        match self {
            Self::Cleartext(authentication) => Ok(ImpiSecurity::Cleartext(*authentication)),
            Self::KeyFile(file) => file.read().map(ImpiSecurity::Sealed).map_err(|why| {
                format!(
                    "the key of the IMPI server cannot be used: {why}; copy the file from the host of \
                     suiro-impi-server, and name it by mpirun --impi-key-file or {}",
                    ImpiKeyFile::VARIABLE
                )
            }),
        }
    }
}

impl ImpiKeyFile {
    /// The variable that names a file.
    pub const VARIABLE: &'static str = "SUIRO_IMPI_KEY_FILE";

    /// The file of users that name no other; `None` without HOME.
    pub fn default_file() -> Option<Self> {
        let home = env::var_os("HOME").filter(|home| !home.is_empty())?;
        Some(Self(Path::new(&home).join(DEFAULT_FILE)))
    }

    /// Reads the key.
    ///
    /// # Errors
    /// A sentence: the file cannot be read, has no key, or others could have read or written it.
    pub fn read(&self) -> Result<SharedSecret, String> {
        let text = private_file::read(&self.0, FILE_MAX_BYTES).map_err(|error| self.why(&error))?;
        let key = match text.split_ascii_whitespace().collect::<Vec<_>>()[..] {
            [FORMAT, key] => hex::parse(key),
            _ => None,
        };
        key.map(SharedSecret).ok_or_else(|| {
            format!("{}: no key that suiro-impi-server has written", self.0.display())
        })
    }

    /// Reads the key, and draws one before that if there is no such file; whether it has done so.
    ///
    /// # Errors
    /// As [`ImpiKeyFile::read`], and the file cannot be written.
    pub fn read_or_create(&self) -> Result<(SharedSecret, bool), String> {
        let mut is_new = false;
        if !self.0.exists() {
            let mut text = format!("{FORMAT} ");
            let drawn = JobCredentials::draw().map_err(|error| self.why(&error))?;
            hex::push(&mut text, &drawn.key);
            text.push('\n');
            // Another server may make it at the same time, and then that key holds.
            is_new = match private_file::create(&self.0, text.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
                created => created.map(|()| true).map_err(|error| self.why(&error))?,
            };
        }
        self.read().map(|key| (key, is_new))
    }

    fn why(&self, error: &io::Error) -> String {
        format!("{}: {error}", self.0.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    struct TestFolder(PathBuf);

    impl TestFolder {
        fn new(name: &str) -> Self {
            let folder = env::temp_dir().join(format!("suiro-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_key_is_drawn_once_and_is_of_its_user_alone() {
        let folder = TestFolder::new("impi-key");
        let file = ImpiKeyFile(folder.0.join("new/key"));
        assert!(file.read().unwrap_err().contains("No such file"));
        let (key, is_new) = file.read_or_create().unwrap();
        assert!(is_new && key.0 != [0; 32]);
        let (again, is_new) = file.read_or_create().unwrap();
        assert_eq!((again.0, is_new), (key.0, false));
        assert_eq!(file.read().unwrap().0, key.0);
        assert_eq!(fs::metadata(&file.0).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(file.0.parent().unwrap()).unwrap().count(), 1);
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&file.0, fs::Permissions::from_mode(mode)).unwrap();
            for why in [file.read().unwrap_err(), file.read_or_create().unwrap_err()] {
                assert!(why.contains("another user") && why.contains("mode 600"), "{why}");
            }
        }
    }

    #[test]
    fn a_key_that_is_missing_is_named_with_the_remedy() {
        let file = ImpiProtection::KeyFile(ImpiKeyFile("/nowhere/key".into()));
        let why = file.security().unwrap_err();
        assert!(why.contains("/nowhere/key: No such file"), "{why}");
        assert!(why.contains("--impi-key-file or SUIRO_IMPI_KEY_FILE"), "{why}");
    }

    #[test]
    fn other_texts_are_no_keys() {
        let folder = TestFolder::new("impi-no-key");
        let digits = "ab".repeat(32);
        for text in ["", &digits, "suiro-impi-key/1", "suiro-impi-key/1 xy", "suiro-impi-key/2 ab"]
        {
            let file = ImpiKeyFile(folder.0.join("key"));
            private_file::create(&file.0, text.as_bytes()).unwrap();
            let why = file.read().unwrap_err();
            assert!(why.contains("no key that suiro-impi-server has written"), "{why}");
            fs::remove_file(&file.0).unwrap();
        }
        let file = ImpiKeyFile(folder.0.join("key"));
        private_file::create(&file.0, format!("suiro-impi-key/1 {digits}").as_bytes()).unwrap();
        assert_eq!(file.read().unwrap().0, [0xab; 32]);
    }
}
