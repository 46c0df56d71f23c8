//! The settings of the TCP device: `SUIRO_TCP_*`.

use super::parse;
use crate::devices::tcp::{CryptMode, TcpSettings};
use platform::base::Result;
use platform::base::settings::parse_duration;
use platform::network::{InterfaceChoice, parse_ports};

/// Reads the settings through `lookup`.
///
/// # Errors
/// `Other` for an invalid value.
pub(super) fn settings(
    lookup: impl Fn(&'static str) -> Option<String> + Copy,
) -> Result<TcpSettings> {
    // The explicit value; `None` for `auto`.
    let given = |name| lookup(name).filter(|text| text != "auto");
    let interfaces = parse("SUIRO_TCP_IF", given, InterfaceChoice::parse)?;
    let ports = parse("SUIRO_TCP_PORTS", given, |text| parse_ports(text).map(Some))?;
    let crypt = parse("SUIRO_TCP_CRYPT", lookup, |text| match text {
        "auth" => Some(CryptMode::Auth),
        "full" => Some(CryptMode::Full),
        _ => None,
    })?;
    // Without a limit, a rank would wait for a host that has lost its power.
    let timeout = parse("SUIRO_TCP_TIMEOUT", lookup, |text| parse_duration(text)?.map(Some))?;
    let timeout = timeout.unwrap_or(TcpSettings::default().timeout);
    Ok(TcpSettings { interfaces, ports, crypt, timeout, ..TcpSettings::default() })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_not_said_is_the_default_of_the_device() {
        assert_eq!(settings(|_| None).unwrap(), TcpSettings::default());
        let lookup = |name: &str| match name {
            "SUIRO_TCP_IF" => Some("ib*,^docker0".to_owned()),
            "SUIRO_TCP_PORTS" => Some("40000-40100".to_owned()),
            "SUIRO_TCP_CRYPT" => Some("full".to_owned()),
            "SUIRO_TCP_TIMEOUT" => Some("2m".to_owned()),
            _ => None,
        };
        let settings = settings(lookup).unwrap();
        assert_eq!(Some(settings.interfaces), InterfaceChoice::parse("ib*,^docker0"));
        assert_eq!(settings.ports, Some(40000..=40100));
        assert_eq!((settings.crypt, settings.timeout), (CryptMode::Full, Duration::from_secs(120)));
    }

    #[test]
    fn a_bad_value_names_the_good_ones() {
        for (name, bad, good) in [
            ("SUIRO_TCP_IF", "10.0.0.0/33", "eth0,10.0.0.0/8,^docker0"),
            ("SUIRO_TCP_PORTS", "0", "40000-40100"),
            ("SUIRO_TCP_PORTS", "9-8", "40000-40100"),
            ("SUIRO_TCP_PORTS", "1-70000", "40000-40100"),
            ("SUIRO_TCP_CRYPT", "none", "auth|full"),
            ("SUIRO_TCP_TIMEOUT", "off", "a duration"),
        ] {
            let why = settings(|asked| (asked == name).then(|| bad.to_owned())).unwrap_err().why;
            assert!(why.starts_with(&format!("{name}={bad} is not one of")), "{why}");
            assert!(why.contains(good), "{why}");
        }
        assert_eq!(parse_ports("7"), Some(7..=7));
    }
}
