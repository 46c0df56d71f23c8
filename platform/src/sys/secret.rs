//! The secret of a job: random bytes that its processes know, and nobody else.

#![allow(unsafe_code)]

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use nix::fcntl::{FcntlArg, SealFlag, fcntl};

use super::descriptor::{check_file_size, memory_file};
use crate::base::hex;

/// Bytes of the identity of a job, which need not be secret.
const ID_BYTES: usize = 16;

/// Bytes of the secret.
const KEY_BYTES: usize = 32;

const BYTES: usize = ID_BYTES + KEY_BYTES;

/// The identity of a job and its secret. No text of an error or of the log contains the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct JobCredentials {
    /// Tells the job from all others; it may be sent in the clear.
    pub id: [u8; ID_BYTES],
    /// What only processes of the job know.
    pub key: [u8; KEY_BYTES],
}

impl JobCredentials {
    /// Draws a secret.
    ///
    /// # Errors
    /// The error of getrandom(2).
    pub fn draw() -> io::Result<Self> {
        let mut bytes = [0_u8; BYTES];
        // SAFETY: the buffer is writable and as long as the passed length.
        let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), BYTES, 0) };
        if count != BYTES as isize {
            return Err(io::Error::last_os_error());
        }
        Ok(Self::of_bytes(&bytes))
    }

    /// The secret in an unnamed, sealed file, closed on exec.
    ///
    /// # Errors
    /// The error of a system call for the file.
    pub fn in_file(&self) -> io::Result<OwnedFd> {
        let Self { id, key } = self;
        let file = File::from(memory_file("suiro-job")?);
        check_file_size(BYTES as u64)?;
        file.write_all_at(&[&id[..], key].concat(), 0)?;
        let seals = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals | SealFlag::F_SEAL_SEAL))?;
        Ok(file.into())
    }

    /// Reads the file that [`JobCredentials::in_file`] wrote.
    pub(crate) fn read(file: OwnedFd) -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        File::from(file).read_exact_at(&mut bytes, 0)?;
        Ok(Self::of_bytes(&bytes))
    }

    /// The secret as text, for the key-value space of a launcher.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        hex::push(&mut text, &self.id);
        hex::push(&mut text, &self.key);
        text
    }

    /// Reads the text of [`JobCredentials::to_text`].
    pub fn from_text(text: &str) -> Option<Self> {
        hex::parse(text).map(|bytes| Self::of_bytes(&bytes))
    }

    fn of_bytes(bytes: &[u8; BYTES]) -> Self {
        let (mut id, mut key) = ([0; ID_BYTES], [0; KEY_BYTES]);
        id.copy_from_slice(&bytes[..ID_BYTES]);
        key.copy_from_slice(&bytes[ID_BYTES..]);
        Self { id, key }
    }
}

impl fmt::Debug for JobCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobCredentials")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_cannot_be_changed() {
        let file = File::from(JobCredentials::draw().unwrap().in_file().unwrap());
        assert!(file.write_all_at(b"x", 0).is_err());
    }

    #[test]
    fn a_secret_crosses_files_and_texts_and_is_never_printed() {
        let one = JobCredentials::read(JobCredentials::draw().unwrap().in_file().unwrap()).unwrap();
        assert_eq!(JobCredentials::from_text(&one.to_text()), Some(one.clone()));
        assert_ne!(one, JobCredentials::draw().unwrap());
        assert_eq!(format!("{one:?}"), "JobCredentials");
        let text = one.to_text();
        for bad in ["", &text[1..], &text[2..], &text.replace(&text[..1], "g"), "é"] {
            assert_eq!(JobCredentials::from_text(bad), None, "{bad}");
        }
    }
}
