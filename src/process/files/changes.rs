//! What all ranks of a file do together besides accesses (MPI 5.0 §14.2, §14.3, §14.6).

use crate::mpi::file::pointer::{PointerChange, PointerFetch};
use crate::mpi::file::view::View;
use crate::mpi::handle::Handle;
use crate::process::Process;
use platform::base::{ErrorClass, Result, fnv1a};

/// A change of the size of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SizeChange {
    /// The file is cut, or gets a hole.
    Set,
    /// The file gets space.
    Allocate,
}

impl Process {
    /// Changes the size of a file. Rank 0 does.
    ///
    /// # Errors
    /// `Arg` for a negative size, `NotSame` if the sizes differ, `ReadOnly`; those of the system.
    pub(crate) fn resize_file(
        &'static self, name: &str, file: Handle, size: i64, change: SizeChange,
    ) -> Result {
        let comm = self.quiet_file(name, file)?;
        let checked = self.with_file(file, |on| {
            on.check_idle()?;
            on.mode.check_write()?;
            on.mode.check_random()?;
            u64::try_from(size).map_err(|_| {
                ErrorClass::Arg.error(format!("the size is {size}: expected 0 or more bytes"))
            })
        });
        let size = self.same_on_all(name, comm, checked)?;
        let rank = self.with_mpi(|mpi| Ok(mpi.comms.get(comm)?.rank))?;
        let changed = if rank == 0 { self.change_size(file, size, change) } else { Ok(()) };
        let agreed = self.agree_on(name, comm, changed);
        self.with_file(file, |on| {
            on.storage.forget_space();
            Ok(())
        })?;
        agreed
    }

    /// The communicator of a file, once the accesses of this rank have ended: their messages and those of a
    /// change are in one order on all ranks.
    ///
    /// # Errors
    /// `File` if there is no such file.
    pub(super) fn quiet_file(&'static self, name: &str, file: Handle) -> Result<Handle> {
        self.until(
            |_| Ok(()),
            |mpi, ()| {
                let on = mpi.files.get(file)?;
                Ok((!on.is_busy()).then_some(on.comm))
            },
            |mpi, ()| mpi.blocked_file(name, file),
        )
    }

    fn change_size(&'static self, file: Handle, size: u64, change: SizeChange) -> Result {
        match change {
            SizeChange::Set => {
                self.call_storage(file, "change the size of", |storage| storage.set_size(size))
            }
            SizeChange::Allocate => {
                self.call_storage(file, "allocate space for", |storage| storage.allocate(size))
            }
        }
    }

    /// The number that all ranks have.
    ///
    /// # Errors
    /// That of a rank, and `NotSame` if the numbers differ.
    fn same_on_all(&'static self, name: &str, comm: Handle, own: Result<u64>) -> Result<u64> {
        let (number, error) = match own {
            Ok(number) => (number, None),
            Err(error) => (0, Some(error)),
        };
        let records = self.tell_results(name, comm, error, [0, number])?;
        match records.iter().find(|words| words[1] != records[0][1]) {
            None => Ok(number),
            Some(other) => Err(ErrorClass::NotSame.error(format!(
                "an argument is {} on rank 0 and {} on another rank: expected one value",
                records[0][1] as i64, other[1] as i64
            ))),
        }
    }

    /// Brings what all ranks have written to the device.
    ///
    /// # Errors
    /// `Io` in a split collective access; those of the system.
    pub(crate) fn sync_file(&'static self, name: &str, file: Handle) -> Result {
        let comm = self.quiet_file(name, file)?;
        let idle = self.with_file(file, |on| on.check_idle());
        let synced =
            idle.and_then(|()| self.call_storage(file, "synchronize", |storage| storage.sync()));
        self.agree_on(name, comm, synced)
    }

    /// Gives a file another view, on all ranks, and sets its pointers to the begin.
    ///
    /// # Errors
    /// Those of `view`; `NotSame` if the etypes have different sizes or the representations different names.
    pub(crate) fn set_file_view(
        &'static self, name: &str, file: Handle, info: Handle, view: Result<View>,
    ) -> Result {
        let comm = self.quiet_file(name, file)?;
        let view = view.and_then(|view| {
            self.with_file(file, |on| on.check_idle())?;
            self.advise_file(file, info)?;
            Ok(view)
        });
        let (own, error) = match view {
            Ok(view) => (Some(view), None),
            Err(error) => (None, Some(error)),
        };
        let alike = own.as_ref().map_or([0; 2], alike);
        let rules = self.with_file(file, |on| Ok(on.hints.rules()))?;
        let words = [0, alike[0], alike[1], rules[0], rules[1], rules[2]];
        let records = self.tell_results(name, comm, error, words)?;
        let first = records[0];
        if records.iter().any(|words| words[1..3] != first[1..3]) {
            let why = "the etypes of two ranks have different sizes in the file, or the data \
                       representations different names: expected equal ones";
            return Err(ErrorClass::NotSame.error(why));
        }
        let view = own.ok_or_else(|| ErrorClass::Intern.error("a view was not made"))?;
        self.with_file(file, |on| {
            on.hints.set_rules([first[3], first[4], first[5]]);
            on.set_view(view);
            Ok(())
        })?;
        self.set_shared_pointer(name, file, comm, 0)
    }

    /// Takes over hints, on all ranks.
    ///
    /// # Errors
    /// `Info`; those of messages.
    pub(crate) fn set_file_info(&'static self, name: &str, file: Handle, info: Handle) -> Result {
        let comm = self.quiet_file(name, file)?;
        let advised = self.advise_file(file, info).err();
        let rules = self.with_file(file, |on| Ok(on.hints.rules()))?;
        let words = [0, rules[0], rules[1], rules[2]];
        let records = self.tell_results(name, comm, advised, words)?;
        let [_, first, second, third] = records[0];
        self.with_file(file, |on| {
            on.hints.set_rules([first, second, third]);
            Ok(())
        })
    }

    fn advise_file(&'static self, file: Handle, info: Handle) -> Result {
        self.with_mpi(|mpi| {
            let given = mpi.objects.infos.hints(info)?;
            mpi.files.get_mut(file)?.hints.advise(given)
        })
    }

    /// Makes all accesses of a file atomic, or not, on all ranks.
    ///
    /// # Errors
    /// `NotSame` if ranks say different things; that of the system if it has no locks.
    pub(crate) fn set_file_atomicity(
        &'static self, name: &str, file: Handle, is_atomic: bool,
    ) -> Result {
        let comm = self.quiet_file(name, file)?;
        // Whether there are locks is told now, and not by the first access.
        let can = self.call_storage(file, "lock", |storage| match is_atomic {
            false => Ok(()),
            true => storage.lock(0..1, true).and_then(|()| storage.unlock(0..1)),
        });
        let idle = self.with_file(file, |on| on.check_idle());
        self.same_on_all(name, comm, idle.and(can).map(|()| is_atomic.into()))?;
        self.with_file(file, |on| {
            on.is_atomic = is_atomic;
            Ok(())
        })
    }

    /// Moves the shared pointer, on all ranks to the same place: a position of the view.
    ///
    /// # Errors
    /// `NotSame` if the places differ; that of `position`.
    pub(crate) fn seek_file_shared(
        &'static self, name: &str, file: Handle, position: Result<u64>,
    ) -> Result {
        let comm = self.quiet_file(name, file)?;
        let position = self.same_on_all(name, comm, position)?;
        self.set_shared_pointer(name, file, comm, position)
    }

    /// Rank 0 sets the pointer; no rank goes on before.
    fn set_shared_pointer(
        &'static self, name: &str, file: Handle, comm: Handle, position: u64,
    ) -> Result {
        let rank = self.with_mpi(|mpi| Ok(mpi.comms.get(comm)?.rank))?;
        let set = match rank {
            0 => self.change_pointer(name, file, PointerChange::Set(position)).map(drop),
            _ => Ok(()),
        };
        self.agree_on(name, comm, set)
    }

    /// The position of the shared pointer.
    ///
    /// # Errors
    /// `File`; those of one-sided accesses.
    pub(crate) fn shared_position(&'static self, name: &str, file: Handle) -> Result<u64> {
        self.change_pointer(name, file, PointerChange::None)
    }

    /// Changes the shared pointer; its position before.
    fn change_pointer(
        &'static self, name: &str, file: Handle, change: PointerChange,
    ) -> Result<u64> {
        self.until(
            |_| Ok(PointerFetch::new(change)),
            |mpi, fetch| mpi.advance_pointer(file, fetch),
            |mpi, _| mpi.blocked_on(name, file),
        )
    }
}

/// What views of all ranks have in common: the size of an etype, and the representation.
fn alike(view: &View) -> [u64; 2] {
    [view.unit(), fnv1a(view.representation.name().iter().copied())]
}
