//! How this job joins the world of other jobs: `SUIRO_IMPI_*`, and the variables of IMPI for
//! authentication.

use std::path::PathBuf;
use std::time::Duration;

use super::{parse, parse_flag};
use platform::base::settings::parse_duration;
use platform::base::{ErrorClass, Representation, Result};
use platform::impi::{Authentication, CLIENTS_MAX, ImpiKeyFile, ImpiProtection, is_server_address};

/// Names of the settings that need each other.
const SERVER: &str = "SUIRO_IMPI_SERVER";
const CLIENT: &str = "SUIRO_IMPI_CLIENT";

/// The value of `SUIRO_IMPI_REPRESENTATION` that names none.
const ALIKE: &str = "alike";

/// The most data of a packet: a receiver keeps packets of all processes.
const DATA_BYTES_MAX: u32 = 16 << 20;

/// A job that is a client of an IMPI server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImpiSettings {
    /// `HOST:PORT`.
    pub(crate) server: String,
    /// The number of this client.
    pub(crate) client: u32,
    pub(crate) protection: ImpiProtection,
    /// Whether one process of this client forwards the packets of all to other clients.
    pub(crate) has_gateway: bool,
    /// Bytes of data in a packet, at most.
    pub(crate) data_bytes: u32,
    /// Packets from a process to a process after which the receiver acknowledges.
    pub(crate) ack_mark: u32,
    /// Packets from a process to a process without acknowledgement, at most.
    pub(crate) high_water: u32,
    /// The time in which all clients must have joined.
    pub(crate) timeout: Duration,
    /// How this client says that it represents data.
    pub(crate) representation: Representation,
    /// Whether clients in cleartext, which say nothing, represent data as this one does.
    pub(crate) are_alike: bool,
}

/// Reads the settings through `lookup`; `None` if this job is no client.
///
/// # Errors
/// `Other` for an invalid value, or one that lacks its partner.
pub(super) fn settings(
    lookup: impl Fn(&'static str) -> Option<String> + Copy,
) -> Result<Option<ImpiSettings>> {
    let server =
        parse(SERVER, lookup, |text| is_server_address(text).then(|| Some(text.to_owned())))?;
    let client = parse(CLIENT, lookup, |text| number(text, 0..=CLIENTS_MAX - 1))?;
    let lacks = |one: &str, other: &str| {
        Err(ErrorClass::Other.error(format!("{one} is set without {other}: a client needs both")))
    };
    let (server, client) = match (server, client) {
        (None, None) => return Ok(None),
        (Some(server), Some(client)) => (server, client),
        (Some(_), None) => return lacks(SERVER, CLIENT),
        (None, Some(_)) => return lacks(CLIENT, SERVER),
    };
    let data_bytes =
        parse("SUIRO_IMPI_DATA_BYTES", lookup, |text| number(text, 1..=DATA_BYTES_MAX))?;
    let packets = 1..=i32::MAX as u32;
    let ack_mark = parse("SUIRO_IMPI_ACK_MARK", lookup, |text| number(text, packets.clone()))?;
    let high_water = parse("SUIRO_IMPI_HIGH_WATER", lookup, |text| number(text, packets.clone()))?;
    let (ack_mark, high_water) = marks(ack_mark, high_water)?;
    let timeout = parse("SUIRO_IMPI_TIMEOUT", lookup, |text| parse_duration(text)?.map(Some))?;
    let (representation, are_alike) =
        parse("SUIRO_IMPI_REPRESENTATION", lookup, |text| match text {
            ALIKE => Some((None, true)),
            text => Some((Some(Representation::parse(text)?), false)),
        })?;
    Ok(Some(ImpiSettings {
        server,
        client,
        protection: protection(lookup)?,
        has_gateway: parse("SUIRO_IMPI_GATEWAY", lookup, parse_flag)?,
        data_bytes: data_bytes.unwrap_or(64 << 10),
        ack_mark,
        high_water,
        timeout: timeout.unwrap_or(Duration::from_secs(60)),
        representation: representation.unwrap_or(Representation::NATIVE),
        are_alike,
    }))
}

fn number(text: &str, range: std::ops::RangeInclusive<u32>) -> Option<Option<u32>> {
    Some(Some(text.parse().ok().filter(|number| range.contains(number))?))
}

/// Without acknowledgements before the high-water mark, a sender would wait for ever.
fn marks(ack_mark: Option<u32>, high_water: Option<u32>) -> Result<(u32, u32)> {
    let (ack_mark, high_water) = (ack_mark.unwrap_or(10), high_water.unwrap_or(20));
    match ack_mark <= high_water {
        true => Ok((ack_mark, high_water)),
        false => Err(ErrorClass::Other.error(format!(
            "SUIRO_IMPI_HIGH_WATER={high_water} is less than SUIRO_IMPI_ACK_MARK={ack_mark}"
        ))),
    }
}

fn protection(lookup: impl Fn(&'static str) -> Option<String> + Copy) -> Result<ImpiProtection> {
    let wrong = |why: String| ErrorClass::Other.error(why);
    if !parse("SUIRO_IMPI_CLEARTEXT", lookup, parse_flag)? {
        let file = lookup(ImpiKeyFile::VARIABLE).map(|file| ImpiKeyFile(PathBuf::from(file)));
        let file = file.or_else(ImpiKeyFile::default_file).ok_or_else(|| {
            wrong(format!("without HOME, {} must name the key", ImpiKeyFile::VARIABLE))
        })?;
        return Ok(ImpiProtection::KeyFile(file));
    }
    let authentication = Authentication::from_lookup(lookup).map_err(wrong)?;
    match authentication.is_empty() {
        false => Ok(ImpiProtection::Cleartext(authentication)),
        true => Err(wrong(
            "SUIRO_IMPI_CLEARTEXT=1 needs IMPI_AUTH_KEY=NUMBER, or IMPI_AUTH_NONE=1 if the server \
             accepts anybody"
                .to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::settings::Config;

    const BOTH: [(&str, &str); 2] = [(SERVER, "head:4000"), (CLIENT, "1")];

    fn of(variables: &[(&str, &str)]) -> Result<Option<ImpiSettings>, String> {
        let config = Config::from_lookup(|asked| {
            let found = variables.iter().rev().find(|(name, _)| *name == asked);
            found.map(|(_, value)| (*value).to_owned())
        });
        config.map(|config| config.impi).map_err(|error| error.why)
    }

    fn with(variables: &[(&str, &str)]) -> Result<Option<ImpiSettings>, String> {
        of(&[&BOTH[..], variables].concat())
    }

    #[test]
    fn a_client_has_a_server_and_defaults() {
        assert_eq!(of(&[]), Ok(None));
        let settings = with(&[(ImpiKeyFile::VARIABLE, "/k")]).unwrap().unwrap();
        let expected = ImpiSettings {
            server: "head:4000".to_owned(),
            client: 1,
            protection: ImpiProtection::KeyFile(ImpiKeyFile("/k".into())),
            has_gateway: false,
            data_bytes: 65536,
            ack_mark: 10,
            high_water: 20,
            timeout: Duration::from_secs(60),
            representation: Representation::NATIVE,
            are_alike: false,
        };
        assert_eq!(settings, expected);
        let settings = with(&[
            ("SUIRO_IMPI_CLEARTEXT", "1"),
            ("IMPI_AUTH_KEY", "77"),
            ("SUIRO_IMPI_GATEWAY", "1"),
            ("SUIRO_IMPI_DATA_BYTES", "100"),
            ("SUIRO_IMPI_ACK_MARK", "3"),
            ("SUIRO_IMPI_HIGH_WATER", "3"),
            ("SUIRO_IMPI_TIMEOUT", "5m"),
            ("SUIRO_IMPI_REPRESENTATION", "big-endian,long4"),
        ]);
        let authentication = Authentication { accepts_none: false, key: Some(77) };
        let expected = ImpiSettings {
            protection: ImpiProtection::Cleartext(authentication),
            has_gateway: true,
            data_bytes: 100,
            ack_mark: 3,
            high_water: 3,
            timeout: Duration::from_secs(300),
            representation: Representation::parse("big-endian,long4").unwrap(),
            ..expected
        };
        assert_eq!(settings, Ok(Some(expected)));
    }

    #[test]
    fn clients_in_cleartext_may_be_alike() {
        let settings = with(&[(ImpiKeyFile::VARIABLE, "/k"), ("SUIRO_IMPI_REPRESENTATION", ALIKE)]);
        let settings = settings.unwrap().unwrap();
        assert!(settings.are_alike && settings.representation == Representation::NATIVE);
    }

    #[test]
    fn wrong_values_and_missing_partners_are_named() {
        for (variables, part) in [
            (&[BOTH[0]][..], "SUIRO_IMPI_SERVER is set without SUIRO_IMPI_CLIENT"),
            (&[BOTH[1]], "SUIRO_IMPI_CLIENT is set without SUIRO_IMPI_SERVER"),
        ] {
            let why = of(variables).unwrap_err();
            assert!(why.starts_with(part), "{why}");
        }
        for (name, value, part) in [
            (SERVER, "head", "SUIRO_IMPI_SERVER=head is not one of HOST:PORT"),
            (CLIENT, "32", "SUIRO_IMPI_CLIENT=32 is not one of a number from 0 to 31"),
            ("SUIRO_IMPI_DATA_BYTES", "0", "SUIRO_IMPI_DATA_BYTES=0 is not one of"),
            ("SUIRO_IMPI_ACK_MARK", "0", "SUIRO_IMPI_ACK_MARK=0 is not one of"),
            ("SUIRO_IMPI_ACK_MARK", "21", "SUIRO_IMPI_HIGH_WATER=20 is less than"),
            ("SUIRO_IMPI_HIGH_WATER", "9", "SUIRO_IMPI_HIGH_WATER=9 is less than"),
            ("SUIRO_IMPI_TIMEOUT", "off", "SUIRO_IMPI_TIMEOUT=off is not one of a duration"),
            (
                "SUIRO_IMPI_REPRESENTATION",
                "long5",
                "SUIRO_IMPI_REPRESENTATION=long5 is not one of alike|words like",
            ),
            ("SUIRO_IMPI_GATEWAY", "yes", "SUIRO_IMPI_GATEWAY=yes is not one of 0|1"),
            ("SUIRO_IMPI_CLEARTEXT", "1", "SUIRO_IMPI_CLEARTEXT=1 needs IMPI_AUTH_KEY"),
        ] {
            let why = with(&[(name, value)]).unwrap_err();
            assert!(why.starts_with(part), "{why}");
        }
        let why = with(&[("SUIRO_IMPI_CLEARTEXT", "1"), ("IMPI_AUTH_KEY", "x")]).unwrap_err();
        assert!(why.starts_with("IMPI_AUTH_KEY is not a number"), "{why}");
    }
}
