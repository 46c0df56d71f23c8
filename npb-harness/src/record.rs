//! A result as a line of JSON, and files of such lines.
//!
//! A file is written line by line while jobs run, so after a crash it may end with a partial line,
//! which the next line overwrites. A failed run can be repeated: of several lines with the same setting
//! and repeat, the last one counts.

use std::{
    collections::{HashMap, hash_map::Entry},
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

/// The version of the format of a line.
const VERSION: u32 = 1;

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// The result is correct.
    Verified,
    /// The result is wrong or cannot be checked.
    Unverified,
    /// No result, or no program.
    Failed,
}

/// The identity of a run: results of equal settings form a median.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Setting {
    /// `kernels` for bundled kernels, otherwise the name of a tree of NPB.
    pub source: String,
    /// The kernel in lower case, with a variant after a dot, such as `ep`, `bt.full`, `dt.bh`.
    pub kernel: String,
    /// The size: S, W, A, ...
    pub class: char,
    pub ranks: u32,
    /// `suiro`, or the label of a peer.
    pub library: String,
    /// `None` if the library has no choice or chose the device itself.
    pub device: Option<String>,
    /// The progress mode; `None` if the library has no choice.
    pub progress: Option<String>,
}

impl Setting {
    /// The library with its settings, such as `suiro shm polling`.
    pub(crate) fn variant(&self) -> String {
        let parts = [Some(&self.library), self.device.as_ref(), self.progress.as_ref()];
        parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// The result of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The version of this format.
    pub v: u32,
    /// What was run.
    #[serde(flatten)]
    pub setting: Setting,
    /// Index among the runs of the same setting, from 0.
    pub repeat: u32,
    pub outcome: Outcome,
    /// Duration of the timed part of the kernel.
    pub seconds: Option<f64>,
    /// Millions of operations per second, of all ranks.
    pub mops: Option<f64>,
    /// The reason of a failed or unverified run.
    pub why: Option<String>,
    /// The file with its output.
    pub log: Option<PathBuf>,
    /// Time of its end, in seconds since 1970.
    pub when: u64,
    /// The number of usable processors.
    pub processors: usize,
}

impl Record {
    /// A failed run that ends now; callers fill in other outcomes.
    pub(crate) fn new(setting: Setting, repeat: u32) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            v: VERSION,
            setting,
            repeat,
            outcome: Outcome::Failed,
            seconds: None,
            mops: None,
            why: None,
            log: None,
            when: now.map_or(0, |since| since.as_secs()),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// The records of a file.
///
/// # Errors
/// The file cannot be read, or a complete line is not a record.
pub(crate) fn read(path: &Path) -> Result<Vec<Record>, String> {
    let mut text = String::new();
    let opened = File::open(path).and_then(|mut file| file.read_to_string(&mut text));
    opened.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    parse(&text).map_err(|why| format!("{}:{why}", path.display()))
}

/// The records of a text, the last one of each run; the error begins with the line number.
pub(crate) fn parse(text: &str) -> Result<Vec<Record>, String> {
    let mut all: Vec<Record> = Vec::new();
    let mut places: HashMap<(Setting, u32), usize> = HashMap::new();
    for record in lines(text)? {
        match places.entry((record.setting.clone(), record.repeat)) {
            Entry::Occupied(place) => all[*place.get()] = record,
            Entry::Vacant(place) => {
                place.insert(all.len());
                all.push(record);
            }
        }
    }
    Ok(all)
}

fn lines(text: &str) -> Result<Vec<Record>, String> {
    let lines = whole(text).lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            let number = index + 1;
            let record: Record = serde_json::from_str(line)
                .map_err(|error| format!("{number}: not a result: {error}"))?;
            if record.v == VERSION {
                Ok(record)
            } else {
                Err(format!("{number}: unknown version {} of results", record.v))
            }
        })
        .collect()
}

/// The part of a text up to its last complete line. A last line that is valid JSON is complete
/// without a line end.
fn whole(text: &str) -> &str {
    let end = text.rfind('\n').map_or(0, |at| at + 1);
    let is_whole = serde_json::from_str::<serde_json::Value>(&text[end..]).is_ok();
    if is_whole { text } else { &text[..end] }
}

/// A file that results are added to.
pub(crate) struct Writer {
    file: File,
    path: PathBuf,
}

impl Writer {
    /// Opens a file for more results and returns those that it has; makes the file if it is missing.
    ///
    /// # Errors
    /// As for [`read`]; or the file cannot be written.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<Record>), String> {
        let unusable = |error: io::Error| format!("cannot write {}: {error}", path.display());
        let options = OpenOptions::new().read(true).write(true).create(true).clone();
        let mut file = options.open(path).map_err(unusable)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(unusable)?;
        let records = parse(&text).map_err(|why| format!("{}:{why}", path.display()))?;
        let kept = whole(&text);
        file.set_len(kept.len() as u64).map_err(unusable)?;
        file.seek(SeekFrom::End(0)).map_err(unusable)?;
        if !kept.is_empty() && !kept.ends_with('\n') {
            file.write_all(b"\n").map_err(unusable)?;
        }
        Ok((Self { file, path: path.to_owned() }, records))
    }

    /// Adds a result; it is in the file even if this process ends abruptly afterwards.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn add(&mut self, record: &Record) -> Result<(), String> {
        let unwritable =
            |error: io::Error| format!("cannot write {}: {error}", self.path.display());
        let line = serde_json::to_string(record).map_err(|error| unwritable(error.into()))?;
        self.file.write_all(format!("{line}\n").as_bytes()).map_err(unwritable)
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use super::*;

    const LINE: &str = r#"{"v":1,"source":"kernels","kernel":"cg","class":"A","ranks":4,"library":"suiro","device":"shm","progress":"polling","repeat":0,"outcome":"verified","seconds":1.2,"mops":345.6,"why":null,"log":null,"when":1700000000,"processors":2}"#;

    fn path(name: &str) -> PathBuf {
        env::temp_dir().join(format!("npb-record-{name}-{}", std::process::id()))
    }

    #[test]
    fn a_line_is_a_record_and_back() {
        let records = parse(LINE).unwrap();
        assert_eq!(records[0].setting.kernel, "cg");
        assert_eq!(records[0].setting.class, 'A');
        assert_eq!(records[0].outcome, Outcome::Verified);
        assert_eq!(serde_json::to_string(&records[0]).unwrap(), LINE);
    }

    #[test]
    fn of_several_lines_of_a_run_the_last_one_counts() {
        let failed = LINE.replace("verified", "failed");
        let other = LINE.replace("\"repeat\":0", "\"repeat\":1");
        let records = parse(&[&failed, &other, LINE].map(|line| format!("{line}\n")).concat());
        let records = records.unwrap();
        assert_eq!(records.len(), 2);
        assert_eq!((records[0].repeat, records[0].outcome), (0, Outcome::Verified));
    }

    #[test]
    fn a_partial_last_line_is_overwritten() {
        let path = path("half");
        fs::write(&path, format!("{LINE}\n{}", &LINE[..LINE.len() - 9])).unwrap();
        assert_eq!(read(&path).unwrap().len(), 1);
        let (mut writer, records) = Writer::open(&path).unwrap();
        assert_eq!(records.len(), 1);
        writer.add(&records[0]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{LINE}\n{LINE}\n"));
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_last_line_without_its_end_counts() {
        let path = path("end");
        fs::write(&path, LINE).unwrap();
        let (mut writer, records) = Writer::open(&path).unwrap();
        writer.add(&records[0]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{LINE}\n{LINE}\n"));
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_line_that_is_not_a_result_is_named() {
        let error = parse(&format!("{LINE}\nhello\n{LINE}\n")).unwrap_err();
        assert!(error.starts_with("2: not a result"), "{error}");
        let newer = LINE.replace("\"v\":1", "\"v\":7");
        assert_eq!(parse(&newer).unwrap_err(), "1: unknown version 7 of results");
        let error = read(Path::new("/nowhere/results")).unwrap_err();
        assert!(error.starts_with("cannot read /nowhere/results"), "{error}");
    }
}
