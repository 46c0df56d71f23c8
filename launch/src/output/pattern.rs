//! Text with placeholders for the rank, the host, the time: prefixes of lines and names of files.
//!
//! ```text
//!   OutputPattern --of a rank--> LinePrefix --at a time--> bytes
//! ```

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use platform::sys::clock;
use serde::{Deserialize, Serialize};

use super::OutputStream;

/// A part of an [`OutputPattern`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PatternPart {
    Text(Vec<u8>),
    Rank,
    /// With as many digits as the highest.
    PaddedRank,
    Host,
    /// The process id of the rank.
    Process,
    Job,
    /// `stdout` or `stderr`.
    Stream,
    /// The local time.
    Time(TimestampFormat),
}

/// Format of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TimestampFormat {
    /// `2026-08-30 09:05:00`, as in Intel MPI.
    Digits,
    /// `Sun Aug 30 09:05:00 2026`, as in Open MPI.
    Words,
}

/// The values of placeholders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputOrigin<'a> {
    pub rank: u32,
    /// Number of ranks.
    pub size: u32,
    pub host: &'a str,
    pub job: &'a str,
    /// Its process id.
    pub process: u32,
    pub stream: OutputStream,
}

/// Text with placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutputPattern(pub Vec<PatternPart>);

/// An [`OutputPattern`] with only the time left to fill in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinePrefix(Vec<PrefixPart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum PrefixPart {
    Text(Vec<u8>),
    Time(TimestampFormat),
}

impl OutputPattern {
    /// Parses the syntax of MPICH: `%r` is the rank, `%h` the host, `%g` the process group and `%p`
    /// the proxy (both always 0), `%t` the time (date and time as in Intel MPI; in MPICH, seconds
    /// since the start), `%%` a percent sign.
    ///
    /// # Errors
    /// The wrong part.
    pub(crate) fn parse(text: &OsStr) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut bytes = text.as_bytes().iter();
        let mut plain = Vec::new();
        while let Some(byte) = bytes.next() {
            if *byte != b'%' {
                plain.push(*byte);
                continue;
            }
            let piece = match bytes.next() {
                Some(b'r') => PatternPart::Rank,
                Some(b'h') => PatternPart::Host,
                Some(b't') => PatternPart::Time(TimestampFormat::Digits),
                Some(b'g' | b'p') => PatternPart::Text(b"0".to_vec()),
                Some(b'%') => PatternPart::Text(b"%".to_vec()),
                Some(other) => {
                    let other = char::from(*other);
                    return Err(format!("%{other}: unknown; expected %r %h %g %p %t %%"));
                }
                None => return Err("% at the end; write %% for a percent sign".to_owned()),
            };
            pieces.push(PatternPart::Text(std::mem::take(&mut plain)));
            pieces.push(piece);
        }
        pieces.push(PatternPart::Text(plain));
        Ok(Self(pieces))
    }

    /// Whether the pattern has the name of the stream.
    pub(crate) fn names_stream(&self) -> bool {
        self.0.contains(&PatternPart::Stream)
    }

    /// Whether each rank has a text of its own.
    pub(crate) fn names_rank(&self) -> bool {
        self.0.contains(&PatternPart::Rank) || self.0.contains(&PatternPart::PaddedRank)
    }

    /// This name of a file, in `folder` unless it is absolute.
    pub(crate) fn below(&self, folder: &Path) -> Self {
        let is_empty = |part: &&PatternPart| **part == PatternPart::Text(Vec::new());
        let is_absolute = match self.0.iter().find(|part| !is_empty(part)) {
            Some(PatternPart::Text(text)) => text.starts_with(b"/"),
            Some(_) | None => false,
        };
        let start = [folder.as_os_str().as_bytes(), b"/"].concat();
        let start = (!is_absolute).then_some(PatternPart::Text(start));
        Self(start.into_iter().chain(self.0.iter().cloned()).collect())
    }

    /// Fills in everything except the time.
    pub(crate) fn of(&self, origin: &OutputOrigin<'_>) -> LinePrefix {
        let mut parts = Vec::new();
        for piece in &self.0 {
            let text = match piece {
                PatternPart::Time(stamp) => {
                    parts.push(PrefixPart::Time(*stamp));
                    continue;
                }
                other => other.text(origin),
            };
            match parts.last_mut() {
                Some(PrefixPart::Text(before)) => before.extend_from_slice(&text),
                Some(PrefixPart::Time(_)) | None => parts.push(PrefixPart::Text(text.into_owned())),
            }
        }
        LinePrefix(parts)
    }
}

impl PatternPart {
    /// The text of this part; empty for a time.
    fn text(&self, origin: &OutputOrigin<'_>) -> Cow<'_, [u8]> {
        let text = match self {
            Self::Text(text) => return Cow::Borrowed(text),
            Self::Rank => origin.rank.to_string(),
            Self::PaddedRank => {
                let digits = origin.size.saturating_sub(1).to_string().len();
                format!("{:0digits$}", origin.rank)
            }
            Self::Host => origin.host.to_owned(),
            Self::Process => origin.process.to_string(),
            Self::Job => origin.job.to_owned(),
            Self::Stream => origin.stream.name().to_owned(),
            Self::Time(_) => String::new(),
        };
        Cow::Owned(text.into_bytes())
    }
}

impl LinePrefix {
    /// The bytes at `seconds` since the beginning of 1970.
    pub(crate) fn at(&self, seconds: i64) -> Cow<'_, [u8]> {
        if let [PrefixPart::Text(text)] = &self.0[..] {
            return Cow::Borrowed(text);
        }
        let text = self.0.iter().flat_map(|part| match part {
            PrefixPart::Text(text) => text.clone(),
            PrefixPart::Time(TimestampFormat::Digits) => {
                clock::local_time(seconds, c"%F %T").into_bytes()
            }
            PrefixPart::Time(TimestampFormat::Words) => {
                clock::local_time(seconds, c"%a %b %e %T %Y").into_bytes()
            }
        });
        Cow::Owned(text.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: OutputOrigin<'_> = OutputOrigin {
        rank: 3,
        size: 12,
        host: "here",
        job: "job",
        process: 77,
        stream: OutputStream::Error,
    };

    fn filled(pattern: &str) -> String {
        let pattern = OutputPattern::parse(OsStr::new(pattern)).unwrap();
        String::from_utf8(pattern.of(&ORIGIN).at(0).into_owned()).unwrap()
    }

    #[test]
    fn patterns_are_those_of_mpich() {
        for (pattern, text) in [
            ("", ""),
            ("[%r] ", "[3] "),
            ("%r:%h:%g:%p:%%:", "3:here:0:0:%:"),
            ("%%r", "%r"),
            ("ü%r", "ü3"),
        ] {
            assert_eq!(filled(pattern), text, "{pattern}");
        }
        assert_eq!(filled("%t|"), clock::local_time(0, c"%Y-%m-%d %H:%M:%S|"));
    }

    #[test]
    fn unknown_sequences_are_refused() {
        assert!(OutputPattern::parse(OsStr::new("%z")).unwrap_err().contains("%z: unknown"));
        assert!(OutputPattern::parse(OsStr::new("x%")).unwrap_err().contains("at the end"));
    }

    #[test]
    fn padded_ranks_sort_as_text() {
        let pattern = OutputPattern(vec![PatternPart::PaddedRank]);
        assert_eq!(pattern.of(&ORIGIN).at(0), &b"03"[..]);
        assert_eq!(pattern.of(&OutputOrigin { size: 10, ..ORIGIN }).at(0), &b"3"[..]);
    }
}
