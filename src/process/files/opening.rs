//! Opening and closing (MPI 5.0 §14.2): collective, and either all ranks have the file or none.
//!
//! ```text
//!   all       arguments of all ranks ──> equal?           without MPI_MODE_CREATE: the file is open before
//!   rank 0    creates the file ──> result to all          with MPI_MODE_CREATE
//!   all       open it ──> results of all                  with MPI_MODE_CREATE
//!   all       the window of the shared pointer            unless an earlier file has left one (`idle_pointer`)
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
use crate::mpi::file::idle_pointer::IdlePointer;
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

/// A file that all ranks have opened.
struct OpenedFile {
    storage: DataFile,
    /// Where rank 0 has found its end, if accesses begin there.
    end: u64,
    /// The hints of rank 0 that count for all.
    rules: [u64; 3],
}

/// What the ranks have told each other first.
struct OpenMeeting {
    opening: FileOpening,
    /// Unless rank 0 has to create it.
    opened: Option<OpenedFile>,
    /// The number of the idle pointer that all ranks have; 0: there is none.
    idle_number: u64,
}

impl Process {
    /// Opens a file on all ranks of a communicator.
    ///
    /// # Errors
    /// `Comm`, `Info`, `Amode`, `NotSame`, those of the system; the same class on all ranks.
    pub(crate) fn open_file(&'static self, arguments: OpenArguments) -> Result<Handle> {
        let parent = arguments.comm;
        let keeps = self.with_mpi(|mpi| {
            mpi.comms.get(parent)?.check_intra("a file")?;
            mpi.keeps_pointers(parent)
        })?;
        if keeps {
            return self.open_after_others(&arguments);
        }
        let private = self.private_comm(OPEN, parent)?;
        let met = self.tell_arguments(private, &arguments, false);
        let opened = met.and_then(|met| self.open_on(private, None, met));
        if opened.is_err() {
            self.free_private(private)?;
        }
        opened
    }

    /// [`Process::open_file`] on a communicator that keeps the window of a file for the next one.
    fn open_after_others(&'static self, arguments: &OpenArguments) -> Result<Handle> {
        let parent = arguments.comm;
        let met = self.tell_arguments(parent, arguments, true)?;
        let idle = self.with_mpi(|mpi| match mpi.take_idle_pointer(parent)? {
            Some(idle) if met.idle_number == 0 => mpi.free_idle_pointer(*idle).map(|()| None),
            idle => Ok(idle),
        })?;
        let opened = match idle {
            Some(idle) => self.open_on(idle.comm(), Some((parent, idle)), met),
            None => {
                let private = self.private_comm(OPEN, parent)?;
                let opened = self.open_on(private, None, met);
                if opened.is_err() {
                    self.free_private(private)?;
                }
                opened
            }
        }?;
        self.with_mpi(|mpi| {
            let context = mpi.comms.get(parent)?.context;
            mpi.files.get_mut(opened)?.parent = Some((parent, context));
            Ok(opened)
        })
    }

    /// Frees the communicator of a file that was not opened, unless it was that of a window, which is freed.
    fn free_private(&'static self, private: Handle) -> Result {
        self.with_mpi(|mpi| match mpi.comms.get(private) {
            Ok(_) => mpi.free_comm(private),
            Err(_) => Ok(()),
        })
    }

    /// All ranks compare what they were called with, and open a file that none of them creates.
    ///
    /// # Errors
    /// Those of a rank, and `NotSame` if the access modes differ.
    fn tell_arguments(
        &'static self, comm: Handle, arguments: &OpenArguments, keeps: bool,
    ) -> Result<OpenMeeting> {
        let prepared = self.with_mpi(|mpi| prepare(mpi, arguments)).and_then(|opening| {
            let is_early = !opening.mode.creates();
            let file = is_early.then(|| open_path(&opening, false));
            let file = file.map(|file| with_end(&opening, file)).transpose()?;
            Ok((opening, file))
        });
        let (prepared, own) = match prepared {
            Ok(prepared) => (Some(prepared), None),
            Err(error) => (None, Some(error)),
        };
        let (end, [first, second, third]) = match &prepared {
            Some((opening, file)) => {
                (file.as_ref().map_or(0, |(_, end)| *end), opening.hints.rules())
            }
            None => (0, [0; 3]),
        };
        let number = match keeps {
            true => self.with_mpi(|mpi| mpi.idle_pointer_number(comm, end))?,
            false => 0,
        };
        let amode = arguments.amode.cast_unsigned();
        let error = error_word(own.as_deref());
        let words = [error, amode.into(), number, end, first, second, third];
        let records = self.tell_all(OPEN, comm, words)?;
        if let Some(other) = records.iter().find(|words| words[1] != records[0][1]) {
            let why = format!(
                "amode is {} on rank 0 and {} on another rank: expected one value on all ranks",
                records[0][1] as u32, other[1] as u32
            );
            return Err(ErrorClass::NotSame.error(why));
        }
        if let Some(error) = first_error(own, records.iter().map(|words| words[0])) {
            return Err(error);
        }
        let [_, _, number, end, first, second, third] = records[0];
        let is_kept = records.iter().all(|words| words[2] == number);
        let lost = || ErrorClass::Intern.error("a file was not prepared");
        let (opening, file) = prepared.ok_or_else(lost)?;
        let rules = [first, second, third];
        let opened = file.map(|(storage, _)| OpenedFile { storage, end, rules });
        Ok(OpenMeeting { opening, opened, idle_number: if is_kept { number } else { 0 } })
    }

    /// Opens the file if some rank creates it, and makes its handle. What the communicator in `idle` has kept is
    /// its shared pointer, or is kept after an error.
    fn open_on(
        &'static self, comm: Handle, idle: Option<(Handle, Box<IdlePointer>)>, met: OpenMeeting,
    ) -> Result<Handle> {
        let OpenMeeting { opening, opened, .. } = met;
        let opening = FileOpening { comm, ..opening };
        let opened = match opened {
            Some(opened) => Ok(opened),
            None => self.create_and_open(&opening, idle.as_ref().map(|(_, idle)| &**idle)),
        };
        match (opened, idle) {
            (Ok(opened), idle) => self.finish_opening(opening, opened, idle.map(|(_, idle)| idle)),
            (Err(error), None) => Err(error),
            (Err(error), Some((parent, idle))) => {
                self.with_mpi(|mpi| mpi.put_back_idle_pointer(parent, idle))?;
                Err(error)
            }
        }
    }

    /// Rank 0 creates the file, and all ranks open it.
    ///
    /// # Errors
    /// The first one of a rank.
    fn create_and_open(
        &'static self, opening: &FileOpening, idle: Option<&IdlePointer>,
    ) -> Result<OpenedFile> {
        let created = self.create_file(opening)?;
        let opened = created.map_or_else(|| open_path(opening, false), Ok);
        let opened = with_end(opening, opened);
        let (own, end) = match &opened {
            Ok((_, end)) => (None, *end),
            Err(error) => (Some(error.clone()), 0),
        };
        if let (0, Some(idle)) = (opening.rank, idle) {
            idle.set(end);
        }
        let rules = opening.hints.rules();
        let words = [0, end, rules[0], rules[1], rules[2]];
        let records = self.tell_results(OPEN, opening.comm, own, words)?;
        let [_, end, first, second, third] = records[0];
        Ok(OpenedFile { storage: opened?.0, end, rules: [first, second, third] })
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
        &'static self, opening: FileOpening, opened: OpenedFile, idle: Option<Box<IdlePointer>>,
    ) -> Result<Handle> {
        let OpenedFile { storage, end, rules } = opened;
        let shared = match idle {
            // Rank 0 has moved it before the ranks have met.
            Some(idle) => self.with_mpi(|mpi| mpi.use_pointer(*idle))?,
            None => self.new_pointer(&opening, end)?,
        };
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

    /// [`Process::shared_pointer`], at this position before any rank uses it.
    fn new_pointer(&'static self, opening: &FileOpening, end: u64) -> Result<SharedPointer> {
        let shared = self.shared_pointer(opening, end)?;
        if let SharedPointer::Window(window, _) = shared
            && end > 0
        {
            // No rank moves the pointer before rank 0 has set it.
            let set = self.agree_on(OPEN, opening.comm, Ok(()));
            set.or_else(|error| self.abandon_pointer(window).and(Err(error)))?;
        }
        Ok(shared)
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
        let File { name, shared, storage, parent, .. } = closed;
        let remove = |is_own: bool| match deletes && is_own {
            true => remove_path(&path).map_err(|error| file_error("delete", &name, &error)),
            false => Ok(()),
        };
        let (window, word) = match shared {
            SharedPointer::Own(_) => {
                self.with_mpi(|mpi| mpi.free_comm(comm))?;
                return remove(true);
            }
            SharedPointer::Window(window, word) => (window, word),
        };
        let closed = match self.leave_window(CLOSE, window)? {
            WindowEnd::Met(met) => {
                let removed = remove(rank == 0);
                let removed = if deletes { self.agree_on(CLOSE, comm, removed) } else { removed };
                self.with_mpi(|mpi| mpi.unlock_window(window, None).map(drop))?;
                if let (Ok(()), Some((parent, context))) = (&met, parent) {
                    self.with_mpi(|mpi| mpi.keep_pointer(parent, context, window, word))?;
                    return removed;
                }
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

fn prepare(mpi: &mut ProcessMpi, arguments: &OpenArguments) -> Result<FileOpening> {
    let comm = arguments.comm;
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

/// An open file, with its end if accesses begin there.
///
/// # Errors
/// That of the system.
fn with_end(opening: &FileOpening, opened: io::Result<DataFile>) -> Result<(DataFile, u64)> {
    let opened = opened.and_then(|file| {
        let end = if opening.mode.appends() { file.size()? } else { 0 };
        Ok((file, end))
    });
    opened.map_err(|error| file_error("open", &opening.name, &error))
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
