//! Detects programs that were linked with another MPI library.
//!
//! A program of Open MPI needs a PMIx server, which this launcher does not have. Without one each
//! process is rank 0 of a job of its own, without a message. The launcher prints a note instead.

use std::env;
use std::fs::File;
use std::path::PathBuf;

use object::elf::{DT_NEEDED, FileHeader64};
use object::read::ReadCache;
use object::read::elf::{Dyn, FileHeader};
use object::{Endianness, ReadRef};

use crate::command_line::plan::App;

/// The library of Open MPI since version 2.
const OPEN_MPI: [&[u8]; 2] = [b"libmpi.so.40", b"libmpi.so.20"];

/// The note for a program that this launcher cannot run as one job.
pub(crate) fn note(app: &App) -> Option<String> {
    let file = File::open(program(app)?).ok()?;
    let library = needs(&ReadCache::new(file), &OPEN_MPI)?;
    Some(format!(
        "{} is linked with {library} of Open MPI; this launcher cannot connect its processes, and \
        each will be rank 0 of 1. Start it with Open MPI's mpirun, or compile it with mpicc of this \
        library",
        app.program.to_string_lossy()
    ))
}

/// The file that will be started, if it is found.
fn program(app: &App) -> Option<PathBuf> {
    let here = app.directory.clone().unwrap_or_default();
    if app.names_file() {
        return Some(here.join(&app.program));
    }
    let own = env::var_os("PATH");
    let mut files = app.candidates(app.path.iter().chain(&own)).map(|file| here.join(file));
    files.find(|file| file.is_file())
}

/// The first of `wanted` among the libraries (`DT_NEEDED`) of a 64-bit ELF file.
fn needs<'data>(file: impl ReadRef<'data>, wanted: &[&[u8]]) -> Option<String> {
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, file).ok()?;
    let (entries, names) = sections.dynamic(endian, file).ok()??;
    let names = sections.strings(endian, file, names).ok()?;
    let needed = entries.iter().filter(|entry| entry.tag(endian) == DT_NEEDED);
    let mut needed = needed.filter_map(|entry| entry.string(endian, names).ok());
    let found = needed.find(|name| wanted.contains(name))?;
    Some(String::from_utf8_lossy(found).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needed_libraries_of_a_program_are_read() {
        let own = std::fs::read(env::current_exe().unwrap()).unwrap();
        assert_eq!(needs(&*own, &[b"nothing", b"libc.so.6"]).as_deref(), Some("libc.so.6"));
        assert_eq!(needs(&*own, &OPEN_MPI), None);
        assert_eq!(needs(&own[..1000], &[b"libc.so.6"]), None);
        assert_eq!(needs(&b"#!/bin/sh\n"[..], &[b"libc.so.6"]), None);
    }
}
