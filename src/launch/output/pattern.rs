//! Text with places that differ from rank to rank: prefixes of lines and names of files.
//!
//! ```text
//!   Pattern --of a rank--> Prefix --at a time--> bytes
//! ```

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::sys::clock;

use super::Stream;

/// A part of a [`Pattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These bytes.
    Text(Vec<u8>),
    /// The rank.
    Rank,
    /// The rank, with as many digits as the highest.
    PaddedRank,
    /// The host's name.
    Host,
    /// The number of the process that was started for the rank.
    Process,
    /// The job's name.
    Job,
    /// `stdout` or `stderr`.
    Stream,
    /// The local time.
    Time(Stamp),
}

/// How the time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// `2026-08-30 09:05:00`, as Intel MPI has it.
    Digits,
    /// `Sun Aug 30 09:05:00 2026`, as Open MPI has it.
    Words,
}

/// What a pattern is filled from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The rank.
    pub rank: u32,
    /// How many ranks there are.
    pub size: u32,
    /// The host's name.
    pub host: &'a str,
    /// The job's name.
    pub job: &'a str,
    /// The rank's process.
    pub process: u32,
    /// Which stream of the rank.
    pub stream: Stream,
}

/// Text with places for what is known of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern(pub Vec<Piece>);

/// A [`Pattern`] of which only the time is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    Time(Stamp),
}

impl Pattern {
    /// The pattern that MPICH writes as `text`: `%r` is the rank, `%h` the host, `%g` the process
    /// group and `%p` the proxy (there is one of each, with the number 0), `%t` the time (MPICH:
    /// seconds since the start; this is Intel MPI's date), `%%` a percent sign.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &OsStr) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut bytes = text.as_bytes().iter();
        let mut plain = Vec::new();
        while let Some(byte) = bytes.next() {
            if *byte != b'%' {
                plain.push(*byte);
                continue;
            }
            let piece = match bytes.next() {
                Some(b'r') => Piece::Rank,
                Some(b'h') => Piece::Host,
                Some(b't') => Piece::Time(Stamp::Digits),
                Some(b'g' | b'p') => Piece::Text(b"0".to_vec()),
                Some(b'%') => Piece::Text(b"%".to_vec()),
                Some(other) => {
                    let other = char::from(*other);
                    return Err(format!("%{other} means nothing; there are %r %h %g %p %t %%"));
                }
                None => return Err("a % at the end; write %% for a percent sign".to_owned()),
            };
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(piece);
        }
        pieces.push(Piece::Text(plain));
        Ok(Self(pieces))
    }

    /// Does it tell the streams of a rank apart?
    pub fn names_stream(&self) -> bool {
        self.0.contains(&Piece::Stream)
    }

    /// Fills in everything but the time.
    pub fn of(&self, origin: &Origin<'_>) -> Prefix {
        let mut parts = Vec::new();
        for piece in &self.0 {
            let text = match piece {
                Piece::Time(stamp) => {
                    parts.push(Part::Time(*stamp));
                    continue;
                }
                other => other.text(origin),
            };
            match parts.last_mut() {
                Some(Part::Text(before)) => before.extend_from_slice(&text),
                Some(Part::Time(_)) | None => parts.push(Part::Text(text.into_owned())),
            }
        }
        Prefix(parts)
    }
}

impl Piece {
    /// The bytes for it; none for a time.
    fn text(&self, origin: &Origin<'_>) -> Cow<'_, [u8]> {
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

impl Prefix {
    /// The bytes at `seconds` since the beginning of 1970.
    pub fn at(&self, seconds: i64) -> Cow<'_, [u8]> {
        if let [Part::Text(text)] = &self.0[..] {
            return Cow::Borrowed(text);
        }
        let text = self.0.iter().flat_map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Time(Stamp::Digits) => clock::local_time(seconds, c"%F %T").into_bytes(),
            Part::Time(Stamp::Words) => clock::local_time(seconds, c"%a %b %e %T %Y").into_bytes(),
        });
        Cow::Owned(text.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: Origin<'_> =
        Origin { rank: 3, size: 12, host: "here", job: "job", process: 77, stream: Stream::Error };

    fn filled(pattern: &str) -> String {
        let pattern = Pattern::parse(OsStr::new(pattern)).unwrap();
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
    fn a_pattern_that_means_nothing_is_refused() {
        assert!(Pattern::parse(OsStr::new("%z")).unwrap_err().contains("%z means nothing"));
        assert!(Pattern::parse(OsStr::new("x%")).unwrap_err().contains("at the end"));
    }

    #[test]
    fn padded_ranks_sort_as_text() {
        let pattern = Pattern(vec![Piece::PaddedRank]);
        assert_eq!(pattern.of(&ORIGIN).at(0), &b"03"[..]);
        assert_eq!(pattern.of(&Origin { size: 10, ..ORIGIN }).at(0), &b"3"[..]);
    }
}
