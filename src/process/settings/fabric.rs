//! The settings of libfabric as a transport: `SUIRO_OFI_*`, and `FI_PROVIDER`, which is libfabric's own.

use super::parse;
use super::vendor::parse_scope;
use crate::devices::carrier::settings::FabricSettings;
use platform::base::Result;
use platform::sys::fabric::AccessChoice;

/// Reads the settings through `lookup`.
///
/// # Errors
/// `Other` for an invalid value.
pub(super) fn settings(
    lookup: impl Fn(&'static str) -> Option<String> + Copy,
) -> Result<FabricSettings> {
    let between = parse("SUIRO_OFI_BETWEEN", lookup, |text| parse_scope(text).map(Some))?;
    let access = parse("SUIRO_OFI_ACCESS", lookup, parse_access)?;
    let FabricSettings { between: usual, root, .. } = FabricSettings::default();
    Ok(FabricSettings {
        library: lookup("SUIRO_OFI_LIBRARY"),
        provider: lookup("SUIRO_OFI_PROVIDER"),
        admitted: lookup("FI_PROVIDER"),
        between: between.unwrap_or(usual),
        access,
        root: lookup("SUIRO_OFI_ROOT").unwrap_or(root),
    })
}

fn parse_access(text: &str) -> Option<AccessChoice> {
    Some(match text {
        "auto" => AccessChoice::Tried,
        "provider" => AccessChoice::Offered,
        "messages" => AccessChoice::Never,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::carrier::settings::CarrierScope;

    #[test]
    fn values_are_those_of_the_table() {
        assert_eq!(settings(|_| None).unwrap(), FabricSettings::default());
        let lookup = |name: &str| match name {
            "SUIRO_OFI_LIBRARY" => Some("/opt/lib/libfabric.so.1".to_owned()),
            "SUIRO_OFI_PROVIDER" => Some("verbs;ofi_rxm".to_owned()),
            "SUIRO_OFI_BETWEEN" => Some("ranks".to_owned()),
            "SUIRO_OFI_ACCESS" => Some("provider".to_owned()),
            "SUIRO_OFI_ROOT" => Some("/host".to_owned()),
            "FI_PROVIDER" => Some("^tcp".to_owned()),
            _ => None,
        };
        let expected = FabricSettings {
            library: Some("/opt/lib/libfabric.so.1".to_owned()),
            provider: Some("verbs;ofi_rxm".to_owned()),
            admitted: Some("^tcp".to_owned()),
            between: CarrierScope::Ranks,
            access: AccessChoice::Offered,
            root: "/host".to_owned(),
        };
        assert_eq!(settings(lookup).unwrap(), expected);
        let bad = |name: &str| (name == "SUIRO_OFI_BETWEEN").then(|| "nodes".to_owned());
        let why = settings(bad).unwrap_err().why;
        assert!(why.starts_with("SUIRO_OFI_BETWEEN=nodes is not one of hosts|ranks"), "{why}");
    }
}
