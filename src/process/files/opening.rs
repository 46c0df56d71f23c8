//! Opening and closing (MPI 5.0 §14.2): collective, and either all ranks have the file or none.
//!
//! ```text
//!   all       arguments of all ranks ──> equal?
//!   rank 0    creates the file ──> result to all          with MPI_MODE_CREATE
//!   all       open it ──> results of all ──> the window of the shared pointer
//! ```

use std::io;
use std::sync::Arc;

use super::{CountedFile, path_of};
use crate::mpi::Memory;
use crate::mpi::collective::algorithms::{Bcast, Collective};
use crate::mpi::datatype::{Datatype, Predefined};
use crate::mpi::errhandler::Handler;
use crate::mpi::file::File;
use crate::mpi::file::agreement::{error_word, first_error};
use crate::mpi::file::counters::FileCounts;
use crate::mpi::file::hints::FileHints;
use crate::mpi::file::mode::FileMode;
use crate::mpi::file::name::without_prefix;
use crate::mpi::file::pointer::{SharedPointer, SharedWord};
use crate::mpi::file::storage::file_error;
use crate::mpi::file::view::View;
use crate::mpi::handle::Handle;
use crate::mpi::info::Info;
use crate::mpi::window::mapped::SegmentPlacement;
use crate::mpi::window::synchronization::Assertions;
use crate::mpi::window::{Flavor, Window, WindowMemory};
use crate::process::settings::Config;
use crate::process::window_end::WindowEnd;
use crate::process::{Process, ProcessMpi};
use platform::base::{ErrorClass, Result, Span};
use platform::sys::data_file::{DataFile, OpenForm};

const OPEN: &str = "MPI_File_open";
const CLOSE: &str = "MPI_File_close";

/// What is opened.
pub(crate) struct OpenArguments {
    pub(crate) comm: Handle,
    /// In any encoding.
    pub(crate) name: Vec<u8>,
    pub(crate) amode: i32,
    pub(crate) info: Handle,
}

/// The file of one rank, before all ranks have it.
struct FileOpening {
    comm: Handle,
    rank: u32,
    size: u32,
    name: String,
    /// The name for the system.
    path: Vec<u8>,
    mode: FileMode,
    hints: FileHints,
    handler: Handler,
}

impl Process {
    /// Opens a file on all ranks of a communicator.
    ///
    /// # Errors
    /// `Comm`, `Info`, `Amode`, `NotSame`, those of the system; the same class on all ranks.
    pub(crate) fn open_file(&'static self, arguments: OpenArguments) -> Result<Handle> {
        self.with_mpi(|mpi| mpi.comms.get(arguments.comm)?.check_intra("a file"))?;
        let private = self.private_comm(OPEN, arguments.comm)?;
        let opened = self.open_on(private, &arguments);
        if opened.is_err() {
            self.with_mpi(|mpi| match mpi.comms.get(private) {
                Ok(_) => mpi.free_comm(private),
                // It was that of a window, which is freed.
                Err(_) => Ok(()),
            })?;
        }
        opened
    }

    fn open_on(&'static self, comm: Handle, arguments: &OpenArguments) -> Result<Handle> {
        let prepared = self.with_mpi(|mpi| prepare(mpi, comm, arguments));
        let opening = self.compare_arguments(comm, arguments, prepared)?;
        let created = self.create_file(&opening)?;
        let storage = match created {
            Some(file) => Ok(file),
            None => open_path(&opening, false),
        };
        let storage = storage.and_then(|file| {
            let size = if opening.mode.appends() { file.size()? } else { 0 };
            Ok((file, size))
        });
        let storage = storage.map_err(|error| file_error("open", &opening.name, &error));
        let (own, end) = match &storage {
            Ok((_, size)) => (None, *size),
            Err(error) => (Some(error.clone()), 0),
        };
        let rules = opening.hints.rules();
        let words = [0, end, rules[0], rules[1], rules[2]];
        let records = self.tell_results(OPEN, comm, own, words)?;
        let (storage, _) = storage?;
        let [_, end, first, second, third] = records[0];
        self.finish_opening(opening, storage, end, [first, second, third])
    }

    /// All ranks compare what they were called with.
    ///
    /// # Errors
    /// Those of a rank, and `NotSame` if the access modes differ.
    fn compare_arguments(
        &'static self, comm: Handle, arguments: &OpenArguments, prepared: Result<FileOpening>,
    ) -> Result<FileOpening> {
        let (opening, own) = match prepared {
            Ok(opening) => (Some(opening), None),
            Err(error) => (None, Some(error)),
        };
        let amode = arguments.amode.cast_unsigned();
        let records = self.tell_all(OPEN, comm, [error_word(own.as_deref()), amode.into()])?;
        if let Some(other) = records.iter().find(|words| words[1] != records[0][1]) {
            let why = format!(
                "amode is {} on rank 0 and {} on another rank: expected one value on all ranks",
                records[0][1] as u32, other[1] as u32
            );
            return Err(ErrorClass::NotSame.error(why));
        }
        match first_error(own, records.iter().map(|words| words[0])) {
            Some(error) => Err(error),
            None => opening.ok_or_else(|| ErrorClass::Intern.error("a file was not prepared")),
        }
    }

    /// Rank 0 creates the file, if the mode says so, and tells the others.
    ///
    /// # Errors
    /// That of rank 0.
    fn create_file(&'static self, opening: &FileOpening) -> Result<Option<DataFile>> {
        if !opening.mode.creates() {
            return Ok(None);
        }
        let (created, own) = match opening.rank {
            0 => match open_path(opening, true) {
                Ok(file) => (Some(file), None),
                Err(error) => (None, Some(file_error("create", &opening.name, &error))),
            },
            _ => (None, None),
        };
        if opening.size == 1 {
            return own.map_or(Ok(created), Err);
        }
        let mut word = error_word(own.as_deref()).to_le_bytes();
        let bcast = Collective::Bcast(Bcast { bytes: word.len(), root: 0 });
        let buffers = self
            .await_run(OPEN, |mpi| mpi.launch_on(opening.comm, bcast, vec![Memory::owned(word)]))?;
        buffers[0].pack(0, &mut word);
        first_error(own, std::iter::once(u64::from_le_bytes(word))).map_or(Ok(created), Err)
    }

    /// All ranks have opened the file: they get its handle.
    fn finish_opening(
        &'static self, opening: FileOpening, storage: DataFile, end: u64, rules: [u64; 3],
    ) -> Result<Handle> {
        let shared = self.shared_pointer(&opening, end)?;
        if let SharedPointer::Window(window, _) = shared
            && end > 0
        {
            // No rank moves the pointer before rank 0 has set it.
            let set = self.agree_on(OPEN, opening.comm, Ok(()));
            set.or_else(|error| self.abandon_pointer(window).and(Err(error)))?;
        }
        let FileOpening { comm, name, path, mode, mut hints, handler, .. } = opening;
        hints.set_rules(rules);
        let view = View::bytes(byte()?);
        self.with_mpi(|mpi| {
            let counters = Arc::clone(&mpi.files.counters);
            let storage = Arc::new(CountedFile { file: storage, counters });
            let peers = mpi.comms.get(comm)?.group.peers();
            let nodes: Vec<_> = peers.map(|peer| mpi.comms.node_of(peer)).collect();
            let mut file = File::new(comm, name, mode, storage, view, hints, &nodes);
            (file.handler, file.pointer, file.shared, file.path) = (handler, end, shared, path);
            mpi.files.insert(file)
        })
    }

    /// The shared pointer of a file, in a window whose communicator is that of the file.
    fn shared_pointer(&'static self, opening: &FileOpening, at: u64) -> Result<SharedPointer> {
        if opening.size == 1 {
            return Ok(SharedPointer::Own(at));
        }
        let bytes = if opening.rank == 0 { SharedWord::BYTES } else { 0 };
        let window = self.until(
            |mpi| {
                let memory = WindowMemory::new(Flavor::Allocate, 0, bytes as isize, 1)?;
                let window = Box::new(Window::new(memory, Span::EMPTY)?);
                let placement = SegmentPlacement::Aligned(SharedWord::BYTES);
                mpi.start_window_creation(window, opening.comm, Some(placement))
            },
            ProcessMpi::end_window_creation,
            |mpi, creation| mpi.blocked_window_creation(OPEN, creation),
        )?;
        self.with_mpi(|mpi| {
            let mut window = window;
            let word = SharedWord::new(at)?;
            match window.own_mapped() {
                // A segment begins with zeros, and other ranks may have moved the pointer meanwhile.
                Some(_) if at == 0 => {}
                Some(mapped) => word.copy_to(mapped),
                None => window.set_memory(word.part(bytes)),
            }
            let window = mpi.insert_window(*window)?;
            let all = Assertions { no_check: true, ..Assertions::default() };
            mpi.lock_all_window(window, all)?;
            Ok(SharedPointer::Window(window, word))
        })
    }

    /// Ends the window of a shared pointer, at all ranks of a file that not all of them have opened.
    fn abandon_pointer(&'static self, window: Handle) -> Result {
        self.with_mpi(|mpi| mpi.revoke(mpi.windows.get(window)?.comm))?;
        self.drain_window(OPEN, window)?;
        self.with_mpi(|mpi| mpi.free_window(window)).map(drop)
    }

    /// Closes a file on all its ranks.
    ///
    /// # Errors
    /// `File`; `Io` in a split collective access; those of the system and of messages; `ProcFailed` where a
    /// rank has failed. The file is closed also after an error of the system, or the failure of a rank.
    pub(crate) fn close_file(&'static self, file: Handle) -> Result {
        let comm = self.quiet_file(CLOSE, file)?;
        let (deletes, path) = self.with_file(file, |on| {
            on.check_idle()?;
            Ok((on.mode.deletes_on_close(), on.path.clone()))
        })?;
        // Nobody uses the file or its shared pointer after this.
        let rank = self.with_mpi(|mpi| Ok(mpi.comms.get(comm)?.rank))?;
        let closed = self.with_mpi(|mpi| mpi.files.remove(file))?;
        self.explain_file(&closed, rank)?;
        let File { name, shared, storage, .. } = closed;
        let remove = |is_own: bool| match deletes && is_own {
            true => remove_path(&path).map_err(|error| file_error("delete", &name, &error)),
            false => Ok(()),
        };
        let window = match &shared {
            SharedPointer::Own(_) => {
                self.with_mpi(|mpi| mpi.free_comm(comm))?;
                return remove(true);
            }
            SharedPointer::Window(window, _) => *window,
        };
        let closed = match self.leave_window(CLOSE, window)? {
            WindowEnd::Met(met) => {
                let removed = remove(rank == 0);
                let removed = if deletes { self.agree_on(CLOSE, comm, removed) } else { removed };
                self.with_mpi(|mpi| mpi.unlock_window(window, None).map(drop))?;
                met.and(removed)
            }
            // Each rank deletes it: rank 0 may have failed. Another rank may have deleted it before.
            WindowEnd::Abandoned => storage
                .is_at(&path)
                .map_err(|error| file_error("delete", &name, &error))
                .and_then(remove)
                .or_else(|error| error.is(ErrorClass::NoSuchFile).then_some(()).ok_or(error)),
        };
        let freed = self.with_mpi(|mpi| mpi.free_window(window))?;
        match freed.lost_member() {
            Some(error) => Err(error),
            None => closed,
        }
    }

    /// Rank 0 tells how a file was accessed, if decisions are explained.
    fn explain_file(&'static self, file: &File, rank: u32) -> Result {
        if rank != 0 || !Config::read().is_ok_and(|config| config.explain) {
            return Ok(());
        }
        let [alone, together] = file.planned;
        let FileCounts { calls, read, written, gaps } =
            self.with_mpi(|mpi| Ok(mpi.files.counters.counts()))?;
        let name = &file.name;
        eprintln!(
            "Suiro: file \"{name}\": {alone} collective accesses by each rank alone, {together} in two phases \
             by {} aggregators; files of rank 0: {calls} calls, {read} bytes read ({gaps} of gaps), \
             {written} written",
            file.aggregators.len()
        );
        Ok(())
    }

    /// Deletes a file (§14.2.3); not collective.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn delete_file(name: &[u8]) -> Result {
        let text = String::from_utf8_lossy(name);
        remove_path(without_prefix(name)).map_err(|error| file_error("delete", &text, &error))
    }
}

fn prepare(mpi: &mut ProcessMpi, comm: Handle, arguments: &OpenArguments) -> Result<FileOpening> {
    let mode = FileMode::new(arguments.amode)?;
    let given: Option<&Info> = mpi.objects.infos.hints(arguments.info)?;
    let hints = FileHints::new(given)?;
    let handler = mpi.objects.file_handler.clone();
    let on = mpi.comms.get(comm)?;
    Ok(FileOpening {
        comm,
        rank: on.rank,
        size: on.size(),
        name: String::from_utf8_lossy(&arguments.name).into_owned(),
        path: without_prefix(&arguments.name).to_owned(),
        mode,
        hints,
        handler,
    })
}

/// Opens the file, and creates it if the mode says so and `creates`.
fn open_path(opening: &FileOpening, creates: bool) -> io::Result<DataFile> {
    let mode = opening.mode;
    let form = OpenForm {
        // A write of an aggregator may read first.
        reads: true,
        writes: mode.writes(),
        creates: creates && mode.creates(),
        is_new: mode.is_new(),
        permissions: opening.hints.permissions,
    };
    let path = path_of(&opening.path);
    match DataFile::open(path, form) {
        // A file that this user may only write.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !mode.reads() => {
            DataFile::open(path, OpenForm { reads: false, ..form })
        }
        other => other,
    }
}

fn remove_path(path: &[u8]) -> io::Result<()> {
    std::fs::remove_file(path_of(path))
}

fn byte() -> Result<Datatype> {
    let entry = Predefined::named("MPI_BYTE");
    entry.map(Datatype::predefined).ok_or_else(|| ErrorClass::Intern.error("there is no MPI_BYTE"))
}
