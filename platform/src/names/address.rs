//! Where a user says that the name server is: `--name-server`, or the variable [`NAME_SERVER`].
//!
//! ```text
//!   file:PATH        the file that the server has written
//!   HOST, HOST:PORT  another way to the server of the file $HOME/.suiro/name-server, which has the key
//! ```

use std::env;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use super::NameServerContact;
use crate::network::SharedSecret;

/// The variable with the address, for processes without mpirun too.
pub const NAME_SERVER: &str = "SUIRO_NAME_SERVER";

/// The file of a server that is told no other, in the home directory, which other hosts may share.
const DEFAULT_FILE: &str = ".suiro/name-server";

/// A port for the resolver, which asks for one.
const ANY_PORT: u16 = 1;

/// Where a name server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameServerAddress {
    /// What the user has said.
    text: String,
    file: PathBuf,
    /// Instead of the addresses and the port of the file.
    place: Option<(Vec<IpAddr>, Option<u16>)>,
}

impl NameServerAddress {
    /// Reads an address and resolves the name of a host in it.
    ///
    /// # Errors
    /// A phrase about the wrong address, or about a host without addresses.
    pub fn parse(text: &str) -> Result<Self, String> {
        // Open MPI takes both.
        let file = text.strip_prefix("file:").or_else(|| text.strip_prefix("FILE:"));
        let place = match file {
            Some("") => return Err(format!("{text}: no file is named")),
            Some(_) => None,
            None => Some(place(text)?),
        };
        let file = match file {
            Some(file) => PathBuf::from(file),
            None => Self::default_file().ok_or_else(|| {
                format!("{text}: without HOME, only file:PATH says where the key is")
            })?,
        };
        Ok(Self { text: text.to_owned(), file, place })
    }

    /// The file of a server that is told no other.
    pub fn default_file() -> Option<PathBuf> {
        let home = env::var_os("HOME").filter(|home| !home.is_empty())?;
        Some(Path::new(&home).join(DEFAULT_FILE))
    }

    /// What the user has said.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads the file: the places to try, and the secret.
    ///
    /// # Errors
    /// As [`NameServerContact::read`].
    pub fn find(&self) -> Result<(Vec<SocketAddr>, SharedSecret), String> {
        let mut contact = NameServerContact::read(&self.file)?;
        if let Some((addresses, port)) = &self.place {
            contact.addresses = addresses.clone();
            contact.port = port.unwrap_or(contact.port);
        }
        Ok((contact.places(), contact.secret()))
    }
}

/// `HOST`, `HOST:PORT`, `ADDRESS`, `[ADDRESS]:PORT`.
fn place(text: &str) -> Result<(Vec<IpAddr>, Option<u16>), String> {
    let wrong = || format!("{text}: expected file:PATH, HOST or HOST:PORT");
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok((vec![address], None));
    }
    if let Ok(place) = text.parse::<SocketAddr>() {
        return Ok((vec![place.ip()], Some(place.port())));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port.parse().map_err(|_| wrong())?)),
        None => (text, None),
    };
    let is_name = |name: &str| {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        !name.is_empty() && name.bytes().all(is_good)
    };
    if !is_name(host) {
        return Err(wrong());
    }
    let found = (host, ANY_PORT).to_socket_addrs().map_err(|error| format!("{text}: {error}"))?;
    Ok((found.map(|place| place.ip()).collect(), port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::contact::tests::{TestFile, contact};

    #[test]
    fn a_file_or_a_host_say_where_the_server_is() {
        let address = NameServerAddress::parse("file:/a b").unwrap();
        assert_eq!((address.file.to_str(), address.place), (Some("/a b"), None));
        let place = |text| NameServerAddress::parse(text).unwrap().place.unwrap();
        assert_eq!(place("10.0.0.1"), (vec!["10.0.0.1".parse().unwrap()], None));
        assert_eq!(place("[fd00::1]:70"), (vec!["fd00::1".parse().unwrap()], Some(70)));
        assert_eq!(place("localhost:80").1, Some(80));
        assert!(place("localhost").0.iter().all(IpAddr::is_loopback));
        for wrong in ["", "file:", "a:b", "a:70000", "a b", "pid:17", "http://a:1", "a;b"] {
            assert!(NameServerAddress::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_host_of_the_user_replaces_that_of_the_file() {
        let file = TestFile::new("address");
        let contact = contact(1234);
        contact.write(&file.0).unwrap();
        let text = format!("file:{}", file.0.display());
        let mut address = NameServerAddress::parse(&text).unwrap();
        let (places, secret) = address.find().unwrap();
        assert_eq!((places, secret.0), (contact.places(), contact.key.key));
        address.place = Some((vec!["10.0.0.1".parse().unwrap()], None));
        assert_eq!(address.find().unwrap().0, ["10.0.0.1:1234".parse().unwrap()]);
        address.place = Some((vec!["10.0.0.1".parse().unwrap()], Some(5)));
        assert_eq!(address.find().unwrap().0, ["10.0.0.1:5".parse().unwrap()]);
    }
}
