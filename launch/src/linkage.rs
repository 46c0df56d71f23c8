//! Which MPI a program was linked with, where that can be seen before it starts.
//!
//! A program of Open MPI looks for a server of PMIx, which this launcher has not, and without one
//! each process is a job of its own: all of them are rank 0 of 1, and nothing says why. So we do.

use std::env;
use std::fs::File;
use std::path::PathBuf;

use object::elf::{DT_NEEDED, FileHeader64};
use object::read::ReadCache;
use object::read::elf::{Dyn, FileHeader};
use object::{Endianness, ReadRef};

use crate::command_line::plan::App;

/// The library of Open MPI since its version 2: `libmpi.so.20` and `libmpi.so.40`.
const OPEN_MPI: [&[u8]; 2] = [b"libmpi.so.40", b"libmpi.so.20"];

/// What to say about a program that cannot become one job here.
pub(crate) fn note(app: &App) -> Option<String> {
    let file = File::open(program(app)?).ok()?;
    let library = needs(&ReadCache::new(file), &OPEN_MPI)?;
    Some(format!(
        "{} is linked with {library} of Open MPI, whose processes this launcher cannot bring \
         together: each will be alone. Start it with Open MPI's own mpirun, or compile it with mpicc \
         of this library",
        app.program.to_string_lossy()
    ))
}

/// The file that will be started, as far as that is plain.
fn program(app: &App) -> Option<PathBuf> {
    let here = app.directory.clone().unwrap_or_default();
    if app.names_file() {
        return Some(here.join(&app.program));
    }
    let own = env::var_os("PATH");
    let mut files = app.places(app.path.iter().chain(&own)).map(|file| here.join(file));
    files.find(|file| file.is_file())
}

/// The first of `wanted` that a 64-bit ELF file asks the loader for.
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
    fn what_a_program_is_linked_with_is_read() {
        let own = std::fs::read(env::current_exe().unwrap()).unwrap();
        assert_eq!(needs(&*own, &[b"nothing", b"libc.so.6"]).as_deref(), Some("libc.so.6"));
        assert_eq!(needs(&*own, &OPEN_MPI), None);
        assert_eq!(needs(&own[..1000], &[b"libc.so.6"]), None);
        assert_eq!(needs(&b"#!/bin/sh\n"[..], &[b"libc.so.6"]), None);
    }
}
