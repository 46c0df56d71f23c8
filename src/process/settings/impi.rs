//! TEMP
use std::path::PathBuf;
use std::time::Duration;
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImpiSettings { pub(crate) server: String, pub(crate) client: u32, pub(crate) cleartext: bool, pub(crate) gateway: bool, pub(crate) key_file: Option<PathBuf>, pub(crate) data_bytes: u32, pub(crate) ack_mark: u32, pub(crate) high_water: u32, pub(crate) timeout: Duration }
impl ImpiSettings { pub(crate) fn read() -> Option<Self> { let v=|n:&str| std::env::var(n).ok(); Some(Self { server: v("SUIRO_IMPI_SERVER")?, client: v("SUIRO_IMPI_CLIENT")?.parse().ok()?, cleartext: v("SUIRO_IMPI_CLEARTEXT").is_some(), gateway: false, key_file: v("SUIRO_IMPI_KEY_FILE").map(PathBuf::from), data_bytes: 65536, ack_mark: 10, high_water: 20, timeout: Duration::from_secs(60) }) } }
