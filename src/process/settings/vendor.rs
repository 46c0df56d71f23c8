//! The settings of another MPI library as a transport: `SUIRO_VENDOR_*`.

use super::parse;
use crate::devices::carrier::settings::{
    CarrierScope, SHORT_LIMIT_MAX, SHORT_MIN, VendorMode, VendorSettings,
};
use platform::base::Result;

/// Reads the settings through `lookup`.
///
/// # Errors
/// `Other` for an invalid value.
pub(super) fn settings(
    lookup: impl Fn(&'static str) -> Option<String> + Copy,
) -> Result<VendorSettings> {
    let short_max = parse("SUIRO_VENDOR_SHORT", lookup, |text| {
        let bytes = text.parse().ok()?;
        (SHORT_MIN..=SHORT_LIMIT_MAX).contains(&bytes).then_some(Some(bytes))
    })?;
    let mode = parse("SUIRO_VENDOR_MODE", lookup, |text| match text {
        "auto" => Some(VendorMode::Auto),
        "polling" => Some(VendorMode::Polling),
        "thread" => Some(VendorMode::Thread),
        _ => None,
    })?;
    let between = parse("SUIRO_VENDOR_BETWEEN", lookup, parse_scope)?;
    let short_max = short_max.unwrap_or(VendorSettings::default().short_max);
    Ok(VendorSettings { library: lookup("SUIRO_VENDOR_LIBRARY"), short_max, mode, between })
}

/// The messages that a library carries.
pub(super) fn parse_scope(text: &str) -> Option<CarrierScope> {
    match text {
        "ranks" => Some(CarrierScope::Ranks),
        "hosts" => Some(CarrierScope::Hosts),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_table() {
        assert_eq!(settings(|_| None).unwrap(), VendorSettings::default());
        let lookup = |name: &str| match name {
            "SUIRO_VENDOR_LIBRARY" => Some("/opt/lib/libmpi_abi.so.1".to_owned()),
            "SUIRO_VENDOR_SHORT" => Some("4064".to_owned()),
            "SUIRO_VENDOR_MODE" => Some("thread".to_owned()),
            "SUIRO_VENDOR_BETWEEN" => Some("hosts".to_owned()),
            _ => None,
        };
        let library = Some("/opt/lib/libmpi_abi.so.1".to_owned());
        let (mode, between) = (VendorMode::Thread, CarrierScope::Hosts);
        let expected = VendorSettings { library, short_max: 4064, mode, between };
        assert_eq!(settings(lookup).unwrap(), expected);
    }

    #[test]
    fn a_bad_value_names_the_good_ones() {
        for (name, bad, good) in [
            ("SUIRO_VENDOR_SHORT", "63", "from 64 to 1048576"),
            ("SUIRO_VENDOR_SHORT", "1048577", "from 64 to 1048576"),
            ("SUIRO_VENDOR_SHORT", "4K", "a number of bytes"),
            ("SUIRO_VENDOR_MODE", "fast", "auto|polling|thread"),
            ("SUIRO_VENDOR_BETWEEN", "nodes", "ranks|hosts"),
        ] {
            let why = settings(|asked| (asked == name).then(|| bad.to_owned())).unwrap_err().why;
            assert!(why.starts_with(&format!("{name}={bad} is not one of")), "{why}");
            assert!(why.contains(good), "{why}");
        }
    }
}
