//! Hints of files (MPI 5.0 §14.2.8), by the names that the ROMIO library has given them.
//!
//! What this library uses is checked; a value that is none is ignored, as the standard wants. Names that
//! others use are kept and told again, so that a program that sets them finds them.

use std::str;

use crate::mpi::info::Info;
use platform::base::Result;

/// Bytes of the buffer of an aggregator: the part of its domain that moves in one round.
const CB_BUFFER_SIZE: &[u8] = b"cb_buffer_size";
/// The number of aggregators.
const CB_NODES: &[u8] = b"cb_nodes";
const CB_READ: &[u8] = b"romio_cb_read";
const CB_WRITE: &[u8] = b"romio_cb_write";
const SIEVING_READS: &[u8] = b"romio_ds_read";
const READ_BUFFER_SIZE: &[u8] = b"ind_rd_buffer_size";
const WRITE_BUFFER_SIZE: &[u8] = b"ind_wr_buffer_size";
const FILE_PERM: &[u8] = b"file_perm";
const STRIPING_UNIT: &[u8] = b"striping_unit";

/// A name, its value if the application says nothing (empty: it is not told then), and its check.
struct FileHint(&'static [u8], &'static [u8], fn(&[u8]) -> bool);

const HINTS: &[FileHint] = &[
    FileHint(CB_BUFFER_SIZE, b"16777216", is_positive),
    FileHint(CB_NODES, b"", is_positive),
    FileHint(CB_READ, b"automatic", is_choice),
    FileHint(CB_WRITE, b"automatic", is_choice),
    FileHint(SIEVING_READS, b"automatic", is_choice),
    FileHint(READ_BUFFER_SIZE, b"524288", is_positive),
    FileHint(WRITE_BUFFER_SIZE, b"524288", is_positive),
    FileHint(FILE_PERM, b"", is_octal),
    FileHint(STRIPING_UNIT, b"", is_positive),
    FileHint(b"striping_factor", b"", is_positive),
    FileHint(b"access_style", b"", is_text),
    FileHint(b"collective_buffering", b"", is_text),
    FileHint(b"cb_block_size", b"", is_positive),
    FileHint(b"cb_config_list", b"", is_text),
    FileHint(b"chunked", b"", is_text),
    FileHint(b"chunked_item", b"", is_text),
    FileHint(b"chunked_size", b"", is_text),
    FileHint(b"filename", b"", is_text),
    FileHint(b"io_node_list", b"", is_text),
    FileHint(b"nb_proc", b"", is_positive),
    FileHint(b"num_io_nodes", b"", is_positive),
    FileHint(b"romio_no_indep_rw", b"", is_text),
    FileHint(b"romio_ds_write", b"", is_choice),
    FileHint(b"start_iodevice", b"", is_text),
];

/// The smallest and the largest buffer.
const BUFFERS: std::ops::RangeInclusive<u64> = 4096..=1 << 30;

/// The permissions of a new file, unless a hint says others.
const PERMISSIONS: u32 = 0o666;

fn is_positive(value: &[u8]) -> bool {
    number(value).is_some_and(|number| number > 0)
}

fn is_octal(value: &[u8]) -> bool {
    permissions(value).is_some()
}

fn is_choice(value: &[u8]) -> bool {
    [&b"enable"[..], b"disable", b"automatic"].contains(&value)
}

fn is_text(_: &[u8]) -> bool {
    true
}

fn number(value: &[u8]) -> Option<u64> {
    str::from_utf8(value).ok()?.trim().parse().ok()
}

fn permissions(value: &[u8]) -> Option<u32> {
    let text = str::from_utf8(value).ok()?.trim();
    u32::from_str_radix(text, 8).ok().filter(|bits| *bits <= 0o7777)
}

/// Whether something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Enable = 0,
    Disable = 1,
    /// Where it pays.
    Automatic = 2,
}

/// The hints of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileHints {
    /// What is told.
    info: Info,
    /// [`CB_BUFFER_SIZE`] in bytes.
    pub(crate) round_bytes: u64,
    /// `None`: as many as pay.
    pub(crate) aggregators: Option<u32>,
    pub(crate) collective_reads: Choice,
    pub(crate) collective_writes: Choice,
    pub(crate) sieving_reads: Choice,
    pub(crate) read_buffer: usize,
    pub(crate) write_buffer: usize,
    /// Multiples of it are the bounds of domains.
    pub(crate) alignment: u64,
    pub(crate) permissions: u32,
}

impl FileHints {
    /// The hints of a file for which the application has given these.
    ///
    /// # Errors
    /// Only internal errors.
    pub(crate) fn new(given: Option<&Info>) -> Result<Self> {
        let mut hints = Self {
            info: Info::default(),
            round_bytes: 0,
            aggregators: None,
            collective_reads: Choice::Automatic,
            collective_writes: Choice::Automatic,
            sieving_reads: Choice::Automatic,
            read_buffer: 0,
            write_buffer: 0,
            alignment: 0,
            permissions: PERMISSIONS,
        };
        for FileHint(key, default, _) in HINTS.iter().filter(|hint| !hint.1.is_empty()) {
            hints.info.set(key, default)?;
        }
        hints.advise(given)?;
        Ok(hints)
    }

    /// Takes over known hints with legal values.
    ///
    /// # Errors
    /// Only internal errors.
    pub(crate) fn advise(&mut self, given: Option<&Info>) -> Result {
        for FileHint(key, _, is_legal) in HINTS {
            let value = given.map_or(Ok(None), |given| given.get(key))?;
            if let Some(value) = value.filter(|value| is_legal(value)) {
                self.info.set(key, value)?;
            }
        }
        self.read()
    }

    /// What the library uses, from what is told.
    fn read(&mut self) -> Result {
        let info = &self.info;
        let value = |key: &[u8]| info.get(key).map(Option::unwrap_or_default);
        let bytes = |key: &[u8]| -> Result<u64> {
            let bytes = number(value(key)?).unwrap_or_default();
            Ok(bytes.clamp(*BUFFERS.start(), *BUFFERS.end()))
        };
        let choice = |key: &[u8]| -> Result<Choice> {
            Ok(match value(key)? {
                b"enable" => Choice::Enable,
                b"disable" => Choice::Disable,
                _ => Choice::Automatic,
            })
        };
        self.round_bytes = bytes(CB_BUFFER_SIZE)?;
        self.aggregators = number(value(CB_NODES)?).map(|count| count.min(1 << 20) as u32);
        (self.collective_reads, self.collective_writes) = (choice(CB_READ)?, choice(CB_WRITE)?);
        self.sieving_reads = choice(SIEVING_READS)?;
        self.read_buffer = bytes(READ_BUFFER_SIZE)? as usize;
        self.write_buffer = bytes(WRITE_BUFFER_SIZE)? as usize;
        self.alignment = bytes(STRIPING_UNIT)?;
        self.permissions = permissions(value(FILE_PERM)?).unwrap_or(PERMISSIONS);
        Ok(())
    }

    /// What all ranks must have alike, as words.
    pub(crate) fn rules(&self) -> [u64; 3] {
        let aggregators = self.aggregators.unwrap_or(0).into();
        let choices = (self.collective_reads as u64) << 8 | self.collective_writes as u64;
        [self.round_bytes, aggregators, self.alignment << 16 | choices]
    }

    /// Takes over the rules of another rank.
    pub(crate) fn set_rules(&mut self, [round_bytes, aggregators, rest]: [u64; 3]) {
        let choice = |bits: u64| match bits & 0xff {
            0 => Choice::Enable,
            1 => Choice::Disable,
            _ => Choice::Automatic,
        };
        self.round_bytes = round_bytes;
        self.aggregators = Some(aggregators as u32).filter(|count| *count > 0);
        (self.collective_reads, self.collective_writes) = (choice(rest >> 8), choice(rest));
        self.alignment = rest >> 16;
    }

    /// What is told of a file with this number of aggregators.
    ///
    /// # Errors
    /// Only internal errors.
    pub(crate) fn told(&self, aggregators: usize) -> Result<Info> {
        let mut info = self.info.clone();
        info.set(CB_NODES, aggregators.to_string().as_bytes())?;
        info.set(CB_BUFFER_SIZE, self.round_bytes.to_string().as_bytes())?;
        Ok(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> FileHints {
        let mut info = Info::default();
        pairs.iter().for_each(|(key, value)| info.set(key.as_bytes(), value.as_bytes()).unwrap());
        FileHints::new(Some(&info)).unwrap()
    }

    fn told(hints: &FileHints, key: &str) -> Option<String> {
        let info = hints.told(3).unwrap();
        let value = info.get(key.as_bytes()).unwrap();
        value.map(|value| String::from_utf8_lossy(value).into_owned())
    }

    #[test]
    fn known_hints_are_used_and_told() {
        let hints = with(&[
            ("cb_buffer_size", "8192"),
            ("cb_nodes", "3"),
            ("romio_cb_write", "disable"),
            ("file_perm", "0600"),
            ("nb_proc", "7"),
            ("unknown", "x"),
        ]);
        assert_eq!((hints.round_bytes, hints.aggregators), (8192, Some(3)));
        assert_eq!(hints.collective_writes, Choice::Disable);
        assert_eq!((hints.permissions, hints.alignment), (0o600, 4096));
        assert_eq!(told(&hints, "cb_nodes").as_deref(), Some("3"));
        assert_eq!(told(&hints, "nb_proc").as_deref(), Some("7"));
        assert_eq!(told(&hints, "unknown"), None);
    }

    #[test]
    fn rules_are_those_of_another_rank() {
        let told =
            with(&[("cb_nodes", "3"), ("romio_cb_read", "enable"), ("striping_unit", "65536")]);
        let mut hints = with(&[("romio_cb_write", "disable")]);
        hints.set_rules(told.rules());
        assert_eq!(hints.rules(), told.rules());
        assert_eq!((hints.aggregators, hints.alignment), (Some(3), 65536));
        assert_eq!(hints.collective_reads, Choice::Enable);
        assert_eq!(hints.collective_writes, Choice::Automatic);
    }

    #[test]
    fn values_that_are_none_are_ignored() {
        let hints = with(&[
            ("cb_buffer_size", "many"),
            ("cb_nodes", "0"),
            ("romio_cb_read", "perhaps"),
            ("file_perm", "999"),
            ("ind_rd_buffer_size", "1"),
        ]);
        assert_eq!((hints.round_bytes, hints.aggregators), (16 << 20, None));
        assert_eq!((hints.collective_reads, hints.permissions), (Choice::Automatic, 0o666));
        assert_eq!(hints.read_buffer, 4096);
        assert_eq!(told(&hints, "cb_buffer_size").as_deref(), Some("16777216"));
    }
}
