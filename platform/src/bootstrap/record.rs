//! What each rank tells all others before a job on several hosts begins: one line of text.
//!
//! ```text
//!   build,identity,host,processors,settings,leader,segment,records,card
//! ```
//!
//! A byte other than a letter, a digit or one of `.:;/+-_` is written as `%` and two hexadecimal digits.
//! Launchers limit the length of a value, so a long line is published in parts:
//!
//! ```text
//!   suiro-rank-7     3!build,identity,...      the number of parts, and the first of them
//!   suiro-rank-7.1   ...                       the others
//! ```

use std::fmt::Write;

use crate::base::Peer;

/// Parts of one line, at most; a lower limit of 256 bytes leaves 256 KiB for the settings.
const PARTS_MAX: usize = 1024;

/// What a rank tells all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerRecord {
    /// Which build of the library it runs, with the order of bytes ([`own_build`]).
    pub(super) build: String,
    /// The identity of its host.
    pub(super) identity: String,
    /// The name of its host.
    pub host: String,
    /// The number of processors that the ranks of its host have together.
    pub processors: u32,
    /// The settings that must be equal on all ranks.
    pub settings: String,
    /// The first rank of its host, according to the launcher.
    pub(super) leader: Peer,
    /// Where its memory file is; empty without one.
    pub(super) segment: String,
    /// Where the file with the records of all ranks is, if it is a leader.
    pub(super) records: String,
    /// What peers need to connect.
    pub card: String,
}

/// A record that this build cannot read. The first three fields are the same in all builds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OtherBuild {
    pub(super) build: String,
    pub(super) host: String,
}

/// The build of this library, with what processes must have in common to read each other's messages.
pub(super) fn own_build() -> String {
    let order = if cfg!(target_endian = "little") { "little" } else { "big" };
    let (version, machine) = (env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    format!("{version}/{machine}/{order}-endian/{}-bit", usize::BITS)
}

impl PeerRecord {
    pub(super) fn emit(&self) -> String {
        let numbers = [self.processors.to_string(), self.leader.to_string()];
        let fields = [
            &self.build,
            &self.identity,
            &self.host,
            &numbers[0],
            &self.settings,
            &numbers[1],
            &self.segment,
            &self.records,
            &self.card,
        ];
        fields.map(|field| escape(field)).join(",")
    }

    /// Reads a line of this build.
    ///
    /// # Errors
    /// The build of the rank, which is another one unless the line is no record.
    pub(super) fn parse(line: &str) -> Result<Self, OtherBuild> {
        Self::parse_fields(line).filter(|record| record.build == own_build()).ok_or_else(|| {
            let mut fields = line.split(',').map(|field| unescape(field).unwrap_or_default());
            let build = fields.next().unwrap_or_default();
            OtherBuild { build, host: fields.nth(1).unwrap_or_default() }
        })
    }

    fn parse_fields(line: &str) -> Option<Self> {
        let mut fields = line.split(',').map(unescape);
        let mut next = || fields.next().flatten();
        Some(Self {
            build: next()?,
            identity: next()?,
            host: next()?,
            processors: next()?.parse().ok()?,
            settings: next()?,
            leader: next()?.parse().ok()?,
            segment: next()?,
            records: next()?,
            card: next()?,
        })
    }
}

/// The key of the line of `rank`.
pub(super) fn key(rank: Peer) -> String {
    format!("suiro-rank-{rank}")
}

/// The key of part `part` of the text under `key`.
pub(super) fn part_key(key: &str, part: usize) -> String {
    match part {
        0 => key.to_owned(),
        _ => format!("{key}.{part}"),
    }
}

/// Divides a line into values of at most `value_bytes` bytes each, of which the first says how many
/// there are; `None` if there are too many.
pub(super) fn divide(line: &str, value_bytes: usize) -> Option<Vec<String>> {
    let room = value_bytes.checked_sub("1024!".len()).filter(|room| *room > 0)?;
    let mut parts: Vec<String> = line
        .as_bytes()
        .chunks(room)
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect();
    let count = parts.len();
    parts[0].insert_str(0, &format!("{count}!"));
    (count <= PARTS_MAX).then_some(parts)
}

/// The number of parts of a line, and the first of them.
pub(super) fn first_part(value: &str) -> Option<(usize, &str)> {
    let (count, part) = value.split_once('!')?;
    let count = count.parse().ok().filter(|count| (1..=PARTS_MAX).contains(count))?;
    Some((count, part))
}

fn escape(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut escaped, byte| {
        if byte.is_ascii_alphanumeric() || b".:;/+-_".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a string never fails.
            let _ = write!(escaped, "%{byte:02x}");
        }
        escaped
    })
}

fn unescape(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(settings: &str, card: &str) -> PeerRecord {
        PeerRecord {
            build: own_build(),
            identity: "boot.1.2".to_owned(),
            host: "node 1".to_owned(),
            processors: 4,
            settings: settings.to_owned(),
            leader: 7,
            segment: "12:3".to_owned(),
            records: String::new(),
            card: card.to_owned(),
        }
    }

    #[test]
    fn another_build_is_known_by_its_first_field() {
        let other = |build: &str, host: &str| {
            Err(OtherBuild { build: build.to_owned(), host: host.to_owned() })
        };
        assert_eq!(PeerRecord::parse("9.9/vax,what,ever"), other("9.9/vax", "ever"));
        assert_eq!(PeerRecord::parse(""), other("", ""));
        let cut = record("", "").emit();
        let cut = &cut[..cut.rfind(',').unwrap()];
        assert_eq!(PeerRecord::parse(cut), other(&own_build(), "node 1"));
    }

    #[test]
    fn what_says_no_number_of_parts_is_none() {
        for bad in ["", "x", "0!x", "1025!x", "-1!x", "!"] {
            assert_eq!(first_part(bad), None, "{bad}");
        }
        assert_eq!(divide("x", 5), None);
        assert_eq!(divide(&"x".repeat(PARTS_MAX + 1), 6), None);
    }

    proptest! {
        #[test]
        fn records_cross_values_of_any_length(
            settings in "(SUIRO_[A-Z]{1,9}=[ -~é]{0,40}\n){0,4}", card in "[!-~]{0,400}",
            limit in 6..1100_usize,
        ) {
            let record = record(&settings, &card);
            let line = record.emit();
            prop_assert!(line.bytes().all(|byte| byte.is_ascii_graphic()));
            let Some(parts) = divide(&line, limit) else { return Ok(()) };
            prop_assert!(parts.iter().all(|part| part.len() <= limit && !part.is_empty()));
            let (count, first) = first_part(&parts[0]).unwrap();
            prop_assert_eq!(count, parts.len());
            let whole = first.to_owned() + &parts[1..].concat();
            prop_assert_eq!(PeerRecord::parse(&whole), Ok(record));
        }

        #[test]
        fn any_text_is_read(text in "[ -~]{0,60}") {
            let _ = (PeerRecord::parse(&text), first_part(&text), unescape(&text));
        }
    }
}
