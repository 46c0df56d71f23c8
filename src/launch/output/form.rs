//! What the options say about output, as a value.
//!
//! | words | a line of rank 0 |
//! |---|---|
//! | none | `text` |
//! | `-l`, `-prepend-rank` | `[0] text` |
//! | `-prepend-pattern P` | see [`Pattern::parse`] |
//! | `-prepend-timestamp` | `2026-08-30 09:05:00 : text` |
//! | `tag` | `[1,0]<stdout>: text`; the 1 is the number of the job |
//! | `tag-detailed` | `[1,0][host:process]<stdout>: text` |
//! | `tag-fullname` | `[job,0]<stdout>: text` |
//! | `rank` | `[0]<stdout>: text` |
//! | `timestamp` | `[Sun Aug 30 09:05:00 2026]<stdout>: text`, before the tag if there is one |
//!
//! Words without a dash are those of `--output`. Files: `file=F` makes `F.0.out` and `F.0.err`,
//! `dir=D` makes `D/1/rank.0/stdout` and `stderr`; with `merge` only the first of them. (Open MPI 5
//! has the name of the job in place of the `1`, and in the middle of `F..0.out`, which nobody can
//! foresee; version 4 had the `1`.) They also go to the terminal unless it says `nocopy`; what
//! `-outfile-pattern` and `-errfile-pattern` name goes there only with `copy`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::launch::{Refusal, USAGE};

use super::Stream;
use super::pattern::{Pattern, Piece, Stamp};

/// How output comes out; the default is as it is, on the terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Before each line, after everything else.
    mark: Option<Pattern>,
    tags: Vec<Word>,
    stamp: Option<Stamp>,
    /// Standard error goes where standard output goes.
    pub merged: bool,
    /// Nothing waits for the end of its line.
    pub raw: bool,
    /// The only rank of which there is output.
    pub only: Option<u32>,
    /// The files of the two streams.
    files: [Option<Pattern>; 2],
    without_job_number: bool,
    copied: Option<bool>,
    copied_unless_said: bool,
}

/// A word of `--output`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
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

/// They may be shortened; where that fits several, the first is meant.
const WORDS: &[(&str, Word)] = &[
    ("tag", Word::Tag),
    ("tag-detailed", Word::TagDetailed),
    ("tag-fullname", Word::TagFullname),
    ("rank", Word::Rank),
    ("timestamp", Word::Timestamp),
    ("xml", Word::Xml),
    ("merge-stderr-to-stdout", Word::Merge),
    ("directory", Word::Directory),
    ("filename", Word::File),
    ("nocopy", Word::NoCopy),
    ("copy", Word::Copy),
    ("raw", Word::Raw),
    ("nojobid", Word::NoJobNumber),
];

impl Form {
    /// `--output words`: a list with commas; `tag` and the like, and at the end of a word what
    /// Open MPI calls a qualifier: `dir=D:nocopy,raw`.
    ///
    /// # Errors
    /// A word that means nothing here.
    pub fn set(&mut self, words: &OsStr) -> Result<(), Refusal> {
        let words = words.as_bytes().split(|byte| *byte == b',');
        // Names come last: what other words say of them is known then.
        let (names, plain): (Vec<_>, Vec<_>) = words.partition(|word| word.contains(&b'='));
        for word in plain.into_iter().chain(names) {
            let word = self.qualify(word)?;
            let (name, value) = match word.iter().position(|byte| *byte == b'=') {
                Some(at) => (&word[..at], Some(&word[at + 1..])),
                None => (word, None),
            };
            let known = Word::find(name).ok_or_else(|| {
                let known: Vec<_> = WORDS.iter().map(|(name, _)| *name).collect();
                refused(word, &format!("means nothing; there are {}", known.join(", ")))
            })?;
            match (known, value.filter(|value| !value.is_empty())) {
                (Word::Directory, Some(name)) => self.name_folder(OsStr::from_bytes(name))?,
                (Word::File, Some(name)) => self.name_files(OsStr::from_bytes(name))?,
                (Word::Directory | Word::File, None) => {
                    return Err(refused(word, "needs a name: dir=FOLDER, file=NAME"));
                }
                (_, Some(_)) => return Err(refused(word, "takes no value")),
                (known, None) => self.set_plain(known)?,
            }
        }
        Ok(())
    }

    /// `-prepend-pattern pattern`; `-l` is `[%r] `.
    ///
    /// # Errors
    /// A `%` that means nothing.
    pub fn prepend(&mut self, pattern: &OsStr) -> Result<(), Refusal> {
        self.mark = Some(parsed(pattern)?);
        Ok(())
    }

    /// `-prepend-timestamp`.
    pub fn prepend_time(&mut self) {
        self.stamp = Some(Stamp::Digits);
    }

    /// `-outfile-pattern pattern` or `-errfile-pattern pattern`.
    ///
    /// # Errors
    /// A `%` that means nothing, or another file for the same stream.
    pub fn direct(&mut self, stream: Stream, pattern: &OsStr) -> Result<(), Refusal> {
        self.name(stream, parsed(pattern)?)
    }

    /// `--output-filename name`, where nothing but qualifiers is split off.
    ///
    /// # Errors
    /// Another file for the same stream.
    pub fn name_files(&mut self, name: &OsStr) -> Result<(), Refusal> {
        let name = self.qualify(name.as_bytes())?;
        self.copied_unless_said = true;
        for (stream, ending) in Stream::BOTH.into_iter().zip([".out", ".err"]) {
            let start = Piece::Text([name, b"."].concat());
            let end = Piece::Text(ending.into());
            self.name(stream, Pattern(vec![start, Piece::Rank, end]))?;
        }
        Ok(())
    }

    /// `--output-directory folder`, likewise.
    ///
    /// # Errors
    /// Another file for the same stream.
    pub fn name_folder(&mut self, folder: &OsStr) -> Result<(), Refusal> {
        let folder = self.qualify(folder.as_bytes())?;
        self.copied_unless_said = true;
        let job: &[u8] = if self.without_job_number { b"/rank." } else { b"/1/rank." };
        for stream in Stream::BOTH {
            let start = Piece::Text([folder, job].concat());
            let end = Piece::Text(format!("/{}", stream.name()).into());
            self.name(stream, Pattern(vec![start, Piece::PaddedRank, end]))?;
        }
        Ok(())
    }

    /// `-output-from rank`.
    ///
    /// # Errors
    /// When it is no rank.
    pub fn restrict(&mut self, rank: &OsStr) -> Result<(), Refusal> {
        let number = rank.to_str().and_then(|rank| rank.parse().ok());
        self.only = Some(number.ok_or_else(|| {
            let why = format!("-output-from {}: not a rank", rank.to_string_lossy());
            Refusal::new(USAGE, why)
        })?);
        Ok(())
    }

    /// What stands before each line, if anything does.
    pub fn prefix(&self) -> Option<Pattern> {
        let text = |text: &str| Piece::Text(text.into());
        let mut pieces = Vec::new();
        match self.stamp {
            Some(Stamp::Digits) => pieces.extend([Piece::Time(Stamp::Digits), text(" : ")]),
            Some(Stamp::Words) => pieces.extend([text("["), Piece::Time(Stamp::Words), text("]")]),
            None => {}
        }
        let has = |word| self.tags.contains(&word);
        if has(Word::Tag) || has(Word::TagDetailed) && !has(Word::TagFullname) {
            pieces.extend([text("[1,"), Piece::Rank, text("]")]);
        } else if has(Word::TagFullname) {
            pieces.extend([text("["), Piece::Job, text(","), Piece::Rank, text("]")]);
        } else if has(Word::Rank) {
            pieces.extend([text("["), Piece::Rank, text("]")]);
        }
        if has(Word::TagDetailed) && !has(Word::Tag) {
            let place = [text("["), Piece::Host, text(":"), Piece::Process, text("]")];
            pieces.extend(place);
        }
        if !self.tags.is_empty() || self.stamp == Some(Stamp::Words) {
            pieces.extend([text("<"), Piece::Stream, text(">: ")]);
        }
        pieces.extend(self.mark.iter().flat_map(|mark| mark.0.clone()));
        (!pieces.is_empty()).then_some(Pattern(pieces))
    }

    /// Do both streams of a rank come through one pipe, so that even their order is kept?
    ///
    /// Not when a prefix tells them apart.
    pub fn shares_pipe(&self) -> bool {
        self.merged && !self.prefix().is_some_and(|prefix| prefix.names_stream())
    }

    /// The stream whose way `stream` goes.
    pub fn way_of(&self, stream: Stream) -> Stream {
        if self.merged { Stream::Output } else { stream }
    }

    /// The file that `stream` goes to.
    pub fn file(&self, stream: Stream) -> Option<&Pattern> {
        self.files[self.way_of(stream) as usize].as_ref()
    }

    /// Does `stream` go to the terminal?
    pub fn reaches_terminal(&self, stream: Stream) -> bool {
        self.file(stream).is_none() || self.copied.unwrap_or(self.copied_unless_said)
    }

    fn set_plain(&mut self, word: Word) -> Result<(), Refusal> {
        match word {
            Word::Tag | Word::TagDetailed | Word::TagFullname | Word::Rank => self.tags.push(word),
            Word::Timestamp => self.stamp = Some(Stamp::Words),
            Word::Merge => self.merged = true,
            Word::NoCopy => self.copied = Some(false),
            Word::Copy => self.copied = Some(true),
            Word::Raw => self.raw = true,
            Word::NoJobNumber => self.without_job_number = true,
            Word::Xml => return Err(refused(b"xml", "is not supported; use tag, or dir=FOLDER")),
            Word::Directory | Word::File => {}
        }
        Ok(())
    }

    /// Takes `:word` off the end as long as it is one of the words that may stand there.
    fn qualify<'word>(&mut self, mut word: &'word [u8]) -> Result<&'word [u8], Refusal> {
        while let Some(at) = word.iter().rposition(|byte| *byte == b':') {
            let qualifier = Word::exactly(&word[at + 1..]);
            let Some(known @ (Word::NoCopy | Word::Copy | Word::Raw | Word::NoJobNumber)) =
                qualifier
            else {
                break;
            };
            self.set_plain(known)?;
            word = &word[..at];
        }
        Ok(word)
    }

    fn name(&mut self, stream: Stream, pattern: Pattern) -> Result<(), Refusal> {
        let file = &mut self.files[stream as usize];
        if file.as_ref().is_some_and(|other| *other != pattern) {
            let why = format!("{} is to go to two files; name one", stream.name());
            return Err(Refusal::new(USAGE, why));
        }
        *file = Some(pattern);
        Ok(())
    }
}

impl Word {
    fn exactly(word: &[u8]) -> Option<Self> {
        let same = |name: &str| name.as_bytes().eq_ignore_ascii_case(word);
        WORDS.iter().find(|(name, _)| same(name)).map(|(_, word)| *word)
    }

    fn find(word: &[u8]) -> Option<Self> {
        let starts = |name: &str| {
            let start = name.as_bytes().get(..word.len());
            !word.is_empty() && start.is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        let shortened = || WORDS.iter().find(|(name, _)| starts(name)).map(|(_, word)| *word);
        Self::exactly(word).or_else(shortened)
    }
}

fn parsed(pattern: &OsStr) -> Result<Pattern, Refusal> {
    Pattern::parse(pattern).map_err(|why| {
        Refusal::new(USAGE, format!("the pattern {}: {why}", pattern.to_string_lossy()))
    })
}

fn refused(word: &[u8], why: &str) -> Refusal {
    Refusal::new(USAGE, format!("--output {}: {why}", String::from_utf8_lossy(word)))
}

#[cfg(test)]
mod tests {
    use super::super::pattern::Origin;
    use super::*;

    fn form(words: &str) -> Form {
        let mut form = Form::default();
        form.set(OsStr::new(words)).unwrap();
        form
    }

    fn filled(pattern: &Pattern, stream: Stream) -> String {
        let origin = Origin { rank: 2, size: 11, host: "here", job: "job", process: 77, stream };
        String::from_utf8(pattern.of(&origin).at(0).into_owned()).unwrap()
    }

    #[test]
    fn each_word_has_its_prefix() {
        let date = crate::sys::clock::local_time(0, c"[%a %b %e %H:%M:%S %Y]");
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
            assert_eq!(filled(&prefix, Stream::Output), expected, "{words}");
        }
        let prefix = form("tag,merge").prefix().unwrap();
        assert_eq!(filled(&prefix, Stream::Error), "[1,2]<stderr>: ");
        assert_eq!(form("merge,raw").prefix(), None);
    }

    #[test]
    fn prefixes_of_both_dialects_add_up() {
        let mut form = form("tag");
        form.prepend(OsStr::new("[%r] ")).unwrap();
        assert_eq!(filled(&form.prefix().unwrap(), Stream::Error), "[1,2]<stderr>: [2] ");
        let mut form = Form::default();
        form.prepend(OsStr::new("%h ")).unwrap();
        form.prepend_time();
        let date = crate::sys::clock::local_time(0, c"%Y-%m-%d %H:%M:%S : here ");
        assert_eq!(filled(&form.prefix().unwrap(), Stream::Output), date);
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
            let names = Stream::BOTH.map(|stream| filled(form.file(stream).unwrap(), stream));
            assert_eq!(names, [output, error], "{words}");
            assert_eq!(form.reaches_terminal(Stream::Output), copied, "{words}");
        }
        let mut form = Form::default();
        form.name_files(OsStr::new("a,b:NoCopy")).unwrap();
        assert_eq!(filled(form.file(Stream::Error).unwrap(), Stream::Error), "a,b.2.err");
        assert!(!form.reaches_terminal(Stream::Error));
    }

    #[test]
    fn files_of_mpich_go_nowhere_else_and_alone() {
        let mut form = Form::default();
        form.direct(Stream::Output, OsStr::new("o.%r")).unwrap();
        assert_eq!(filled(form.file(Stream::Output).unwrap(), Stream::Output), "o.2");
        assert!(!form.reaches_terminal(Stream::Output) && form.reaches_terminal(Stream::Error));
        assert_eq!(form.file(Stream::Error), None);
        form.direct(Stream::Output, OsStr::new("o.%r")).unwrap();
        form.set(OsStr::new("copy")).unwrap();
        assert!(form.reaches_terminal(Stream::Output));
    }

    #[test]
    fn one_pipe_serves_both_streams_unless_they_are_told_apart() {
        assert!(!Form::default().shares_pipe());
        assert!(form("merge").shares_pipe());
        assert!(!form("merge,tag").shares_pipe());
        let mut ranks = form("merge");
        ranks.prepend(OsStr::new("[%r] ")).unwrap();
        assert!(ranks.shares_pipe());
    }

    #[test]
    fn what_means_nothing_is_refused_with_the_cure() {
        for (words, why) in [
            ("frob", "--output frob: means nothing; there are tag,"),
            ("", "means nothing"),
            ("xml", "--output xml: is not supported; use tag"),
            ("file", "needs a name"),
            ("tag,dir=", "--output dir=: needs a name"),
            ("tag=1", "takes no value"),
            ("dir=D,file=F", "two files"),
        ] {
            let refusal = Form::default().set(OsStr::new(words)).unwrap_err();
            assert_eq!(refusal.code, USAGE);
            assert!(refusal.why.contains(why), "{words}: {}", refusal.why);
        }
        let refusal = Form::default().prepend(OsStr::new("%q")).unwrap_err();
        assert!(refusal.why.contains("the pattern %q: %q means nothing"), "{}", refusal.why);
    }
}
