//! The name of this host.

use nix::unistd::gethostname;

/// What the host calls itself; never looked up anywhere.
pub fn name() -> String {
    match gethostname() {
        Ok(name) => name.to_string_lossy().into_owned(),
        Err(_) => "localhost".to_owned(),
    }
}
