//! Settings of the device: `SUIRO_VENDOR_*` and `SUIRO_OFI_*`.

use platform::sys::fabric::AccessChoice;

/// The shortest limit, in bytes: control packets of the engine are short.
pub(crate) const SHORT_MIN: usize = 64;
/// The longest limit: each rank has [`RECEIVES`](super::port::RECEIVES) buffers of this size.
pub(crate) const SHORT_LIMIT_MAX: usize = 1 << 20;

/// Settings of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VendorSettings {
    /// The path of the library (`SUIRO_VENDOR_LIBRARY`).
    pub(crate) library: Option<String>,
    /// The longest data beside a header, in bytes (`SUIRO_VENDOR_SHORT`).
    pub(crate) short_max: usize,
    /// What polls (`SUIRO_VENDOR_MODE`).
    pub(crate) mode: VendorMode,
    /// The messages that it carries (`SUIRO_VENDOR_BETWEEN`).
    pub(crate) between: CarrierScope,
}

/// The longest data beside a header over libfabric, in bytes. A stream takes a message of any length in one call, and
/// one message costs less there than a copy of so many bytes and three further messages; elsewhere, with the header, less
/// than the 16 KiB that ofi_rxm sends unasked.
pub(crate) fn fabric_short_max(provider: &str) -> usize {
    match provider {
        "tcp" | "net" => 64 << 10,
        _ => 15 << 10,
    }
}

/// Settings of an endpoint of libfabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FabricSettings {
    /// The path of the library (`SUIRO_OFI_LIBRARY`).
    pub(crate) library: Option<String>,
    /// The provider (`SUIRO_OFI_PROVIDER`).
    pub(crate) provider: Option<String>,
    /// The providers that libfabric may use (`FI_PROVIDER`).
    pub(crate) admitted: Option<String>,
    /// The messages that it carries (`SUIRO_OFI_BETWEEN`).
    pub(crate) between: CarrierScope,
    /// What makes accesses to memory of peers (`SUIRO_OFI_ACCESS`).
    pub(crate) access: AccessChoice,
    /// The folder with what the system says about interfaces (`SUIRO_OFI_ROOT`).
    pub(crate) root: String,
}

impl Default for FabricSettings {
    fn default() -> Self {
        Self {
            library: None,
            provider: None,
            admitted: None,
            between: CarrierScope::Hosts,
            access: AccessChoice::default(),
            root: "/".to_owned(),
        }
    }
}

/// What calls the library to find out what has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum VendorMode {
    /// Calls of MPI that wait, in turn with other transports.
    Polling,
    /// A thread of its own.
    Thread,
    /// Chosen from the number of local ranks and processors.
    #[default]
    Auto,
}

/// The messages that the library carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CarrierScope {
    /// All, also those inside a host.
    #[default]
    Ranks,
    /// Those between hosts.
    Hosts,
}

impl Default for VendorSettings {
    fn default() -> Self {
        let (mode, between) = (VendorMode::default(), CarrierScope::default());
        Self { library: None, short_max: 16 << 10, mode, between }
    }
}
