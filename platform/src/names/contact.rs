//! The file by which jobs find a name server: its port, its addresses and its key, in one line.
//!
//! ```text
//!   suiro-names/1 PORT ADDRESS,ADDRESS,... KEY          KEY: identity and secret in hexadecimal digits
//! ```

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use crate::network::SharedSecret;
use crate::sys::private_file;
use crate::sys::secret::JobCredentials;

/// The first word, with the version of the protocol.
const FORMAT: &str = "suiro-names/1";

/// More than a file with many addresses has.
const FILE_MAX_BYTES: u64 = 16 << 10;

/// Where a name server is, and what proves that a job may use it.
#[derive(Clone, PartialEq, Eq)]
pub struct NameServerContact {
    /// Its port.
    pub port: u16,
    /// The addresses of its host, the best first.
    pub addresses: Vec<IpAddr>,
    /// Its key.
    pub key: JobCredentials,
}

impl NameServerContact {
    /// The secret that both ends of a connection prove.
    pub fn secret(&self) -> SharedSecret {
        SharedSecret(self.key.key)
    }

    /// All places to try.
    pub(super) fn places(&self) -> Vec<SocketAddr> {
        self.addresses.iter().map(|address| SocketAddr::new(*address, self.port)).collect()
    }

    fn to_text(&self) -> String {
        let addresses: Vec<_> = self.addresses.iter().map(ToString::to_string).collect();
        format!("{FORMAT} {} {} {}\n", self.port, addresses.join(","), self.key.to_text())
    }

    fn parse(text: &str) -> Option<Self> {
        let words: Vec<_> = text.split_ascii_whitespace().collect();
        let [FORMAT, port, addresses, key] = words[..] else { return None };
        let addresses: Option<Vec<_>> = addresses.split(',').map(|one| one.parse().ok()).collect();
        Some(Self {
            port: port.parse().ok().filter(|port| *port != 0)?,
            addresses: addresses?,
            key: JobCredentials::from_text(key)?,
        })
    }

    /// Reads the file of a server.
    ///
    /// # Errors
    /// A phrase: the file cannot be read, is no such file, or others could have read or written it.
    pub fn read(file: &Path) -> Result<Self, String> {
        let text = private_file::read(file, FILE_MAX_BYTES)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        Self::parse(&text)
            .ok_or_else(|| format!("{}: no file that suiro-names has written", file.display()))
    }

    /// Writes the file of a server, which only this user can read. A reader sees the whole file or none;
    /// an older one is replaced.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        private_file::replace(file, self.to_text().as_bytes())
    }

    /// Removes the file, unless it is that of another server by now.
    pub fn remove(&self, file: &Path) {
        if Self::read(file).is_ok_and(|other| other == *self) {
            // What is left is replaced by the next server.
            let _ = fs::remove_file(file);
        }
    }
}

impl fmt::Debug for NameServerContact {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "NameServerContact({}, {:?})", self.port, self.addresses)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    /// A file in a folder of the test, which is removed with it.
    pub(in crate::names) struct TestFile(pub PathBuf);

    impl TestFile {
        pub(in crate::names) fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("suiro-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder.join("server"))
        }
    }

    impl Drop for TestFile {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(self.0.parent().unwrap());
        }
    }

    pub(in crate::names) fn contact(port: u16) -> NameServerContact {
        let addresses = vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
        NameServerContact { port, addresses, key: JobCredentials::draw().unwrap() }
    }

    #[test]
    fn a_file_is_of_its_user_alone_and_is_replaced_as_a_whole() {
        let file = TestFile::new("contact");
        let (one, two) = (contact(1234), contact(5));
        one.write(&file.0).unwrap();
        assert_eq!(fs::metadata(&file.0).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(NameServerContact::read(&file.0), Ok(one.clone()));
        two.write(&file.0).unwrap();
        one.remove(&file.0);
        assert_eq!(NameServerContact::read(&file.0), Ok(two.clone()));
        assert_eq!(fs::read_dir(file.0.parent().unwrap()).unwrap().count(), 1);
        fs::set_permissions(&file.0, fs::Permissions::from_mode(0o640)).unwrap();
        let why = NameServerContact::read(&file.0).unwrap_err();
        assert!(why.contains("another user"), "{why}");
        fs::set_permissions(&file.0, fs::Permissions::from_mode(0o600)).unwrap();
        two.remove(&file.0);
        let why = NameServerContact::read(&file.0).unwrap_err();
        assert!(why.contains("No such file"), "{why}");
    }

    #[test]
    fn other_texts_are_no_contacts_and_no_key_is_printed() {
        let one = contact(1234);
        let text = one.to_text();
        let key = one.key.to_text();
        assert_eq!(NameServerContact::parse(&text), Some(one.clone()));
        let cut = &text[..text.len() - 2];
        let other_port = text.replace("1234", "0");
        let other_version = text.replace("/1 ", "/2 ");
        for bad in
            ["", "suiro-names/1", cut, &other_port, &other_version, &text.replace("::1", "x")]
        {
            assert_eq!(NameServerContact::parse(bad), None, "{bad}");
        }
        assert!(!format!("{one:?}").contains(&key));
    }
}
