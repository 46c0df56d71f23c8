//! The options for output, as a value.
//!
//! | option or keyword | a line of rank 0 |
//! |---|---|
//! | none | `text` |
//! | `-l`, `-prepend-rank` | `[0] text` |
//! | `-prepend-pattern P` | see [`OutputPattern::parse`] |
//! | `-prepend-timestamp` | `2026-08-30 09:05:00 : text` |
//! | `tag` | `[1,0]<stdout>: text`; the 1 is the number of the job |
//! | `tag-detailed` | `[1,0][host:process]<stdout>: text` |
//! | `tag-fullname` | `[job,0]<stdout>: text` |
//! | `rank` | `[0]<stdout>: text` |
//! | `timestamp` | `[Sun Aug 30 09:05:00 2026]<stdout>: text`, before the tag if there is one |
//!
//! Keywords without a dash belong to `--output`. Files: `file=F` makes `F.0.out` and `F.0.err`,
//! `dir=D` makes `D/1/rank.0/stdout` and `stderr`; with `merge` only the first of them. (Open MPI 5
//! has the unpredictable name of the job in place of the `1`, and in the middle of `F..0.out`;
//! version 4 had the `1`.) This output also goes to the terminal unless `nocopy` is given; output to
//! files of `-outfile-pattern` and `-errfile-pattern` goes there only with `copy`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{LaunchError, USAGE};

use super::OutputStream;
use super::pattern::{OutputPattern, PatternPart, TimestampFormat};

/// Format and files of the output; by default unchanged to the terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutputOptions {
    /// The part of the prefix next to the line.
    mark: Option<OutputPattern>,
    tags: Vec<OutputKeyword>,
    timestamp: Option<TimestampFormat>,
    /// Standard error is written to standard output.
    pub merged: bool,
    /// Unbuffered: partial lines are written at once.
    pub raw: bool,
    /// The only rank whose output is written.
    pub only: Option<u32>,
    files: [Option<OutputPattern>; 2],
    without_job_number: bool,
    copies_to_terminal: Option<bool>,
    copies_by_default: bool,
}

/// A keyword of `--output`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum OutputKeyword {
    Tag,
    TagDetailed,
    TagFullname,
    Rank,
    Timestamp,
    Xml,
    Merge,
    Directory,
    File,
    NoCopy,
    Copy,
    Raw,
    NoJobNumber,
}

/// Keywords may be abbreviated; of several candidates, the first is chosen.
const KEYWORDS: &[(&str, OutputKeyword)] = &[
    ("tag", OutputKeyword::Tag),
    ("tag-detailed", OutputKeyword::TagDetailed),
    ("tag-fullname", OutputKeyword::TagFullname),
    ("rank", OutputKeyword::Rank),
    ("timestamp", OutputKeyword::Timestamp),
    ("xml", OutputKeyword::Xml),
    ("merge-stderr-to-stdout", OutputKeyword::Merge),
    ("directory", OutputKeyword::Directory),
    ("filename", OutputKeyword::File),
    ("nocopy", OutputKeyword::NoCopy),
    ("copy", OutputKeyword::Copy),
    ("raw", OutputKeyword::Raw),
    ("nojobid", OutputKeyword::NoJobNumber),
];

impl OutputOptions {
    /// `--output LIST`: comma-separated keywords, each with the qualifiers of Open MPI at its end:
    /// `dir=D:nocopy,raw`.
    ///
    /// # Errors
    /// An unknown keyword.
    pub(crate) fn set(&mut self, words: &OsStr) -> Result<(), LaunchError> {
        let words = words.as_bytes().split(|byte| *byte == b',');
        // Keywords such as `merge` change the meaning of names, so names come last.
        let (names, plain): (Vec<_>, Vec<_>) = words.partition(|word| word.contains(&b'='));
        for word in plain.into_iter().chain(names) {
            let word = self.qualify(word)?;
            let (name, value) = match word.iter().position(|byte| *byte == b'=') {
                Some(at) => (&word[..at], Some(&word[at + 1..])),
                None => (word, None),
            };
            let known = OutputKeyword::find(name).ok_or_else(|| {
                let known: Vec<_> = KEYWORDS.iter().map(|(name, _)| *name).collect();
                refused(word, &format!("unknown; expected one of {}", known.join(", ")))
            })?;
            match (known, value.filter(|value| !value.is_empty())) {
                (OutputKeyword::Directory, Some(name)) => {
                    self.name_folder(OsStr::from_bytes(name))?
                }
                (OutputKeyword::File, Some(name)) => self.name_files(OsStr::from_bytes(name))?,
                (OutputKeyword::Directory | OutputKeyword::File, None) => {
                    return Err(refused(word, "expected a name: dir=DIRECTORY, file=NAME"));
                }
                (_, Some(_)) => return Err(refused(word, "expected no value")),
                (known, None) => self.set_plain(known)?,
            }
        }
        Ok(())
    }

    /// `-prepend-pattern PATTERN`; `-l` is `[%r] `.
    ///
    /// # Errors
    /// An unknown `%` sequence.
    pub(crate) fn prepend(&mut self, pattern: &OsStr) -> Result<(), LaunchError> {
        self.mark = Some(parsed(pattern)?);
        Ok(())
    }

    /// `-prepend-timestamp`.
    pub(crate) fn prepend_time(&mut self) {
        self.timestamp = Some(TimestampFormat::Digits);
    }

    /// `-outfile-pattern PATTERN` or `-errfile-pattern PATTERN`.
    ///
    /// # Errors
    /// An unknown `%` sequence, or another file for the same stream.
    pub(crate) fn name_file(
        &mut self, stream: OutputStream, pattern: &OsStr,
    ) -> Result<(), LaunchError> {
        self.name(stream, parsed(pattern)?)
    }

    /// `--output-filename NAME`, with optional qualifiers.
    ///
    /// # Errors
    /// Another file for the same stream.
    pub(crate) fn name_files(&mut self, name: &OsStr) -> Result<(), LaunchError> {
        let name = self.qualify(name.as_bytes())?;
        self.copies_by_default = true;
        for (stream, ending) in OutputStream::BOTH.into_iter().zip([".out", ".err"]) {
            let start = PatternPart::Text([name, b"."].concat());
            let end = PatternPart::Text(ending.into());
            self.name(stream, OutputPattern(vec![start, PatternPart::Rank, end]))?;
        }
        Ok(())
    }

    /// `--output-directory DIRECTORY`, with optional qualifiers.
    ///
    /// # Errors
    /// Another file for the same stream.
    pub(crate) fn name_folder(&mut self, folder: &OsStr) -> Result<(), LaunchError> {
        let folder = self.qualify(folder.as_bytes())?;
        self.copies_by_default = true;
        let job: &[u8] = if self.without_job_number { b"/rank." } else { b"/1/rank." };
        for stream in OutputStream::BOTH {
            let start = PatternPart::Text([folder, job].concat());
            let end = PatternPart::Text(format!("/{}", stream.name()).into());
            self.name(stream, OutputPattern(vec![start, PatternPart::PaddedRank, end]))?;
        }
        Ok(())
    }

    /// `-output-from RANK`.
    ///
    /// # Errors
    /// The value is not a rank.
    pub(crate) fn restrict(&mut self, rank: &OsStr) -> Result<(), LaunchError> {
        let number = rank.to_str().and_then(|rank| rank.parse().ok());
        self.only = Some(number.ok_or_else(|| {
            let why = format!("-output-from {}: expected a rank", rank.to_string_lossy());
            LaunchError::new(USAGE, why)
        })?);
        Ok(())
    }

    /// The prefix of each line, if there is one.
    pub(crate) fn prefix(&self) -> Option<OutputPattern> {
        let text = |text: &str| PatternPart::Text(text.into());
        let mut pieces = Vec::new();
        match self.timestamp {
            Some(TimestampFormat::Digits) => {
                pieces.extend([PatternPart::Time(TimestampFormat::Digits), text(" : ")])
            }
            Some(TimestampFormat::Words) => {
                pieces.extend([text("["), PatternPart::Time(TimestampFormat::Words), text("]")])
            }
            None => {}
        }
        let has = |word| self.tags.contains(&word);
        if has(OutputKeyword::Tag)
            || has(OutputKeyword::TagDetailed) && !has(OutputKeyword::TagFullname)
        {
            pieces.extend([text("[1,"), PatternPart::Rank, text("]")]);
        } else if has(OutputKeyword::TagFullname) {
            pieces.extend([text("["), PatternPart::Job, text(","), PatternPart::Rank, text("]")]);
        } else if has(OutputKeyword::Rank) {
            pieces.extend([text("["), PatternPart::Rank, text("]")]);
        }
        if has(OutputKeyword::TagDetailed) && !has(OutputKeyword::Tag) {
            let place = [text("["), PatternPart::Host, text(":"), PatternPart::Process, text("]")];
            pieces.extend(place);
        }
        if !self.tags.is_empty() || self.timestamp == Some(TimestampFormat::Words) {
            pieces.extend([text("<"), PatternPart::Stream, text(">: ")]);
        }
        pieces.extend(self.mark.iter().flat_map(|mark| mark.0.clone()));
        (!pieces.is_empty()).then_some(OutputPattern(pieces))
    }

    /// Whether both streams of a rank share a pipe, which keeps their order.
    ///
    /// They do not if a prefix has the name of the stream.
    pub(crate) fn shares_pipe(&self) -> bool {
        self.merged && !self.prefix().is_some_and(|prefix| prefix.names_stream())
    }

    /// The stream that `stream` is written to.
    pub(crate) fn destination_of(&self, stream: OutputStream) -> OutputStream {
        if self.merged { OutputStream::Output } else { stream }
    }

    /// The file that `stream` is written to.
    pub(crate) fn file(&self, stream: OutputStream) -> Option<&OutputPattern> {
        self.files[self.destination_of(stream) as usize].as_ref()
    }

    /// Whether files of ranks on other hosts are written there: nothing of them is wanted here, and each
    /// rank has files of its own.
    pub(crate) fn writes_on_hosts(&self) -> bool {
        let has_own = |stream| self.file(stream).is_some_and(OutputPattern::names_rank);
        self.copies_to_terminal == Some(false) && OutputStream::BOTH.into_iter().all(has_own)
    }

    /// The same with files in `folder`, unless their names are absolute.
    pub(crate) fn below(&self, folder: &Path) -> Self {
        let files = self.files.each_ref();
        let files = files.map(|name| name.as_ref().map(|name| name.below(folder)));
        Self { files, ..self.clone() }
    }

    /// Whether `stream` is written to the terminal.
    pub(crate) fn reaches_terminal(&self, stream: OutputStream) -> bool {
        self.file(stream).is_none() || self.copies_to_terminal.unwrap_or(self.copies_by_default)
    }

    fn set_plain(&mut self, word: OutputKeyword) -> Result<(), LaunchError> {
        match word {
            OutputKeyword::Tag
            | OutputKeyword::TagDetailed
            | OutputKeyword::TagFullname
            | OutputKeyword::Rank => self.tags.push(word),
            OutputKeyword::Timestamp => self.timestamp = Some(TimestampFormat::Words),
            OutputKeyword::Merge => self.merged = true,
            OutputKeyword::NoCopy => self.copies_to_terminal = Some(false),
            OutputKeyword::Copy => self.copies_to_terminal = Some(true),
            OutputKeyword::Raw => self.raw = true,
            OutputKeyword::NoJobNumber => self.without_job_number = true,
            OutputKeyword::Xml => {
                return Err(refused(b"xml", "is not supported; use tag, or dir=DIRECTORY"));
            }
            OutputKeyword::Directory | OutputKeyword::File => {}
        }
        Ok(())
    }

    /// Applies and removes the qualifiers at the end of `word`.
    fn qualify<'word>(&mut self, mut word: &'word [u8]) -> Result<&'word [u8], LaunchError> {
        while let Some(at) = word.iter().rposition(|byte| *byte == b':') {
            let qualifier = OutputKeyword::exactly(&word[at + 1..]);
            let Some(
                known @ (OutputKeyword::NoCopy
                | OutputKeyword::Copy
                | OutputKeyword::Raw
                | OutputKeyword::NoJobNumber),
            ) = qualifier
            else {
                break;
            };
            self.set_plain(known)?;
            word = &word[..at];
        }
        Ok(word)
    }

    fn name(&mut self, stream: OutputStream, pattern: OutputPattern) -> Result<(), LaunchError> {
        let file = &mut self.files[stream as usize];
        if file.as_ref().is_some_and(|other| *other != pattern) {
            let why = format!("{} has two different files; give one", stream.name());
            return Err(LaunchError::new(USAGE, why));
        }
        *file = Some(pattern);
        Ok(())
    }
}

impl OutputKeyword {
    fn exactly(word: &[u8]) -> Option<Self> {
        let same = |name: &str| name.as_bytes().eq_ignore_ascii_case(word);
        KEYWORDS.iter().find(|(name, _)| same(name)).map(|(_, word)| *word)
    }

    fn find(word: &[u8]) -> Option<Self> {
        let starts = |name: &str| {
            let start = name.as_bytes().get(..word.len());
            !word.is_empty() && start.is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        let shortened = || KEYWORDS.iter().find(|(name, _)| starts(name)).map(|(_, word)| *word);
        Self::exactly(word).or_else(shortened)
    }
}

fn parsed(pattern: &OsStr) -> Result<OutputPattern, LaunchError> {
    OutputPattern::parse(pattern).map_err(|why| {
        LaunchError::new(USAGE, format!("pattern {}: {why}", pattern.to_string_lossy()))
    })
}

fn refused(word: &[u8], why: &str) -> LaunchError {
    LaunchError::new(USAGE, format!("--output {}: {why}", String::from_utf8_lossy(word)))
}

#[cfg(test)]
mod tests {
    use super::super::pattern::OutputOrigin;
    use super::*;

    fn form(words: &str) -> OutputOptions {
        let mut form = OutputOptions::default();
        form.set(OsStr::new(words)).unwrap();
        form
    }

    fn filled(pattern: &OutputPattern, stream: OutputStream) -> String {
        let origin =
            OutputOrigin { rank: 2, size: 11, host: "here", job: "job", process: 77, stream };
        String::from_utf8(pattern.of(&origin).at(0).into_owned()).unwrap()
    }

    #[test]
    fn each_keyword_has_its_prefix() {
        let date = platform::sys::clock::local_time(0, c"[%a %b %e %H:%M:%S %Y]");
        for (words, expected) in [
            ("tag", "[1,2]<stdout>: "),
            ("TAG", "[1,2]<stdout>: "),
            ("ta", "[1,2]<stdout>: "),
            ("tag-detailed", "[1,2][here:77]<stdout>: "),
            ("tag-d", "[1,2][here:77]<stdout>: "),
            ("tag-fullname", "[job,2]<stdout>: "),
            ("rank", "[2]<stdout>: "),
            ("timestamp", &format!("{date}<stdout>: ")),
            ("timestamp,rank", &format!("{date}[2]<stdout>: ")),
            ("rank,tag-detailed,tag", "[1,2]<stdout>: "),
            ("tag-fullname,tag-detailed", "[job,2][here:77]<stdout>: "),
            ("tag:nocopy,raw", "[1,2]<stdout>: "),
        ] {
            let prefix = form(words).prefix().unwrap();
            assert_eq!(filled(&prefix, OutputStream::Output), expected, "{words}");
        }
        let prefix = form("tag,merge").prefix().unwrap();
        assert_eq!(filled(&prefix, OutputStream::Error), "[1,2]<stderr>: ");
        assert_eq!(form("merge,raw").prefix(), None);
    }

    #[test]
    fn prefixes_of_both_dialects_are_combined() {
        let mut form = form("tag");
        form.prepend(OsStr::new("[%r] ")).unwrap();
        assert_eq!(filled(&form.prefix().unwrap(), OutputStream::Error), "[1,2]<stderr>: [2] ");
        let mut form = OutputOptions::default();
        form.prepend(OsStr::new("%h ")).unwrap();
        form.prepend_time();
        let date = platform::sys::clock::local_time(0, c"%Y-%m-%d %H:%M:%S : here ");
        assert_eq!(filled(&form.prefix().unwrap(), OutputStream::Output), date);
    }

    #[test]
    fn files_have_the_names_of_open_mpi() {
        for (words, output, error, copied) in [
            ("file=F", "F.2.out", "F.2.err", true),
            ("file=a:b:nocopy", "a:b.2.out", "a:b.2.err", false),
            ("filename=F,merge", "F.2.out", "F.2.out", true),
            ("dir=D,nocopy", "D/1/rank.02/stdout", "D/1/rank.02/stderr", false),
            ("directory=D,nojobid", "D/rank.02/stdout", "D/rank.02/stderr", true),
        ] {
            let form = form(words);
            let names = OutputStream::BOTH.map(|stream| filled(form.file(stream).unwrap(), stream));
            assert_eq!(names, [output, error], "{words}");
            assert_eq!(form.reaches_terminal(OutputStream::Output), copied, "{words}");
        }
        let mut form = OutputOptions::default();
        form.name_files(OsStr::new("a,b:NoCopy")).unwrap();
        assert_eq!(
            filled(form.file(OutputStream::Error).unwrap(), OutputStream::Error),
            "a,b.2.err"
        );
        assert!(!form.reaches_terminal(OutputStream::Error));
    }

    #[test]
    fn files_of_mpich_are_not_copied_to_the_terminal() {
        let mut form = OutputOptions::default();
        form.name_file(OutputStream::Output, OsStr::new("o.%r")).unwrap();
        assert_eq!(filled(form.file(OutputStream::Output).unwrap(), OutputStream::Output), "o.2");
        assert!(
            !form.reaches_terminal(OutputStream::Output)
                && form.reaches_terminal(OutputStream::Error)
        );
        assert_eq!(form.file(OutputStream::Error), None);
        form.name_file(OutputStream::Output, OsStr::new("o.%r")).unwrap();
        form.set(OsStr::new("copy")).unwrap();
        assert!(form.reaches_terminal(OutputStream::Output));
    }

    #[test]
    fn both_streams_share_a_pipe_unless_a_prefix_names_them() {
        assert!(!OutputOptions::default().shares_pipe());
        assert!(form("merge").shares_pipe());
        assert!(!form("merge,tag").shares_pipe());
        let mut ranks = form("merge");
        ranks.prepend(OsStr::new("[%r] ")).unwrap();
        assert!(ranks.shares_pipe());
    }

    #[test]
    fn unknown_keywords_are_refused_with_the_known_ones() {
        for (words, why) in [
            ("frob", "--output frob: unknown; expected one of tag,"),
            ("", "unknown"),
            ("xml", "--output xml: is not supported; use tag"),
            ("file", "expected a name"),
            ("tag,dir=", "--output dir=: expected a name"),
            ("tag=1", "expected no value"),
            ("dir=D,file=F", "two different files"),
        ] {
            let error = OutputOptions::default().set(OsStr::new(words)).unwrap_err();
            assert_eq!(error.code, USAGE);
            assert!(error.why.contains(why), "{words}: {}", error.why);
        }
        let error = OutputOptions::default().prepend(OsStr::new("%q")).unwrap_err();
        assert!(error.why.contains("pattern %q: %q: unknown"), "{}", error.why);
    }
}
