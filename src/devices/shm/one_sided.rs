//! One-sided access between the ranks of a node.
//!
//! ```text
//!   allocated memory    an unnamed file of the owner, mapped by peers    copies, the processor's atomics
//!   other memory        process_vm_readv(2), process_vm_writev(2)        copies
//! ```
//!
//! Every access is complete when its call returns. Peers find memory in the table of its owner
//! ([`registrations`](crate::devices::rings::registrations)). A mapping stays until it is closed, also
//! after the end of its owner.
//!
//! It knows peers of this node only. Values of the table are checked before use.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{Ordering, fence};

use memmap2::MmapRaw;

use super::Shm;
use super::segment::RankArea;
use crate::device::access_ledger::AccessLedger;
use crate::device::rma::{
    AccessProgress, MemoryKey, NumberKind, PutSignal, RemoteAccess, RemoteAddress, Rma, RmaCaps,
    RmaError, Update, UpdateExecutor, UpdateSet, write_number,
};
use crate::devices::rings::NodeRanks;
use crate::devices::rings::memory::Mapped;
use crate::devices::rings::read_trial::CopyMethod;
use crate::devices::rings::registrations::{
    MemoryFileNumber, Registration, RegistrationPool, RegistrationTable,
};
use platform::base::{ErrorClass, MpiError, Peer, Result, Span};
use platform::sys::{cma, shm};

/// The memory of a rank for its peers, and what it uses of theirs.
pub(super) struct OneSidedAccess {
    /// By slot.
    tables: Vec<Mapped<RegistrationTable>>,
    pool: RegistrationPool,
    allocated: BTreeMap<MemoryKey, AllocatedMemory>,
    /// Mapped memory of peers, by slot.
    mapped: BTreeMap<(usize, MemoryKey), MmapRaw>,
    /// Whether other memory of a peer can be read and written, once known; by slot.
    reachable: Vec<Option<Result<(), String>>>,
    ledger: AccessLedger,
}

/// Memory of this rank that peers may map.
struct AllocatedMemory {
    _memory: MmapRaw,
    /// Peers open it by its number.
    _file: OwnedFd,
}

/// Where the bytes of an access are.
enum AccessPlace {
    /// In this process.
    Here(Span),
    /// At an address of another process.
    Process { pid: u32, address: u64 },
}

/// What an access needs of the device.
struct NodeView<'a> {
    node_ranks: &'a NodeRanks,
    me: usize,
    areas: &'a [Mapped<RankArea>],
    copy: CopyMethod,
}

impl OneSidedAccess {
    /// Of a rank that uses nothing yet; `tables` are those of all ranks, by slot.
    pub(super) fn new(tables: Vec<Mapped<RegistrationTable>>) -> Self {
        Self {
            reachable: vec![None; tables.len()],
            tables,
            pool: RegistrationPool::default(),
            allocated: BTreeMap::new(),
            mapped: BTreeMap::new(),
            ledger: AccessLedger::default(),
        }
    }

    /// Finds the memory of an access, and maps it if that is possible.
    fn locate(
        &mut self, view: &NodeView<'_>, at: RemoteAddress, len: usize, access: RemoteAccess,
    ) -> Result<(AccessPlace, UpdateSet)> {
        let slot = view.slot(at.peer)?;
        let found = self.tables[slot].find(at.key)?;
        let address = found.locate(at.offset, len, access)?;
        let updates = if found.file.is_some() { UpdateSet::ALL } else { UpdateSet::NONE };
        let place = match found.file {
            _ if slot == view.me => AccessPlace::Here(view.own_memory(address, len)),
            Some(file) => {
                let memory = self.map(view, slot, at.key, found, file)?;
                AccessPlace::Here(memory.part(at.offset as usize, len))
            }
            None => {
                self.check_reachable(view, slot)?;
                AccessPlace::Process { pid: view.areas[slot].address.pid(), address }
            }
        };
        Ok((place, updates))
    }

    /// The memory under a key of the rank in `slot`, mapped here.
    fn map(
        &mut self, view: &NodeView<'_>, slot: usize, key: MemoryKey, found: Registration,
        file: MemoryFileNumber,
    ) -> Result<Span> {
        let len = found.len_bytes as usize;
        if let Some(memory) = self.mapped.get(&(slot, key)) {
            return Ok(span(memory, len));
        }
        let pid = view.areas[slot].address.pid();
        let is_writable = found.access == RemoteAccess::ReadWrite;
        let memory = shm::map_of(pid, file.descriptor, file.inode, len.max(1), is_writable);
        // The descriptor may have got another meaning meanwhile.
        self.tables[slot].find(key)?;
        let memory = memory.map_err(|error| {
            let peer = view.node_ranks.ranks()[slot];
            let why = format!("cannot map {len} bytes of rank {peer} (process {pid}): {error}");
            ErrorClass::Other.error(why)
        })?;
        let mapped = span(&memory, len);
        self.mapped.insert((slot, key), memory);
        Ok(mapped)
    }

    /// # Errors
    /// `Other` if this process cannot read and write the memory of the rank in `slot`.
    fn check_reachable(&mut self, view: &NodeView<'_>, slot: usize) -> Result {
        let test = || match view.copy {
            CopyMethod::Pipe => Err("SUIRO_SHM_COPY=pipe forbids direct copies".to_owned()),
            CopyMethod::Auto | CopyMethod::Cma => view.areas[slot].address.check_writable(),
        };
        let peer = view.node_ranks.ranks()[slot];
        let refusal = |why| ErrorClass::Other.error(format!("no access to rank {peer}: {why}"));
        self.reachable[slot].get_or_insert_with(test).clone().map_err(refusal)
    }

    #[cfg(test)]
    pub(super) fn allocated_count(&self) -> usize {
        self.allocated.len()
    }
}

impl NodeView<'_> {
    /// # Errors
    /// `Rank` for a peer of another node.
    fn slot(&self, peer: Peer) -> Result<usize> {
        self.node_ranks
            .find_slot(peer)
            .ok_or_else(|| ErrorClass::Rank.error(format!("rank {peer} is not on this node")))
    }

    fn own_memory(&self, address: u64, len: usize) -> Span {
        // SAFETY: this rank has registered these bytes (`RegistrationTable::find`) as a span, and not
        // ended the registration.
        unsafe { Span::new(address as *const u8, len) }
    }
}

impl AccessPlace {
    /// Copies `from` to this place.
    fn write(&self, from: Span, peer: Peer) -> Result {
        match *self {
            Self::Here(to) => from.copy_untorn(to),
            Self::Process { .. } if from.is_empty() => (),
            Self::Process { pid, address } => {
                // SAFETY: the peer has registered these bytes for writes (`locate`) and not ended the
                // registration: after that, no rank may use the key (`Rma::deregister`).
                unsafe { cma::write(pid, from, address) }
                    .map_err(|error| refusal("write", from.len(), peer, pid, &error))?;
            }
        }
        Ok(())
    }

    /// Copies this place to `into`.
    fn read(&self, into: Span, peer: Peer) -> Result {
        match *self {
            Self::Here(from) => from.copy_untorn(into),
            Self::Process { .. } if into.is_empty() => (),
            Self::Process { pid, address } => cma::read(pid, address, into)
                .map_err(|error| refusal("read", into.len(), peer, pid, &error))?,
        }
        Ok(())
    }
}

/// The system refuses an access.
fn refusal(verb: &str, len: usize, peer: Peer, pid: u32, error: &std::io::Error) -> Box<MpiError> {
    let why = format!("cannot {verb} {len} bytes of rank {peer} (process {pid}): {error}");
    ErrorClass::Other.error(why)
}

/// The first `len` bytes of a mapping, which has so many.
fn span(memory: &MmapRaw, len: usize) -> Span {
    assert!(len <= memory.len());
    // SAFETY: mapped as long as `memory` exists, which is until `Rma::close` or `Rma::deregister`: the
    // span is not used after that. Its file cannot shrink (`shm::map_of`).
    unsafe { Span::new(memory.as_ptr(), len) }
}

impl Shm {
    /// The one-sided access, and what it needs.
    fn one_sided(&mut self) -> (&mut OneSidedAccess, NodeView<'_>) {
        let Self { packets, areas, direct_read, one_sided, .. } = self;
        let (node_ranks, me, copy) = (packets.node_ranks(), packets.own_slot(), direct_read.copy());
        (one_sided, NodeView { node_ranks, me, areas, copy })
    }
}

impl Rma for Shm {
    fn register(&mut self, memory: Span, access: RemoteAccess) -> Result<MemoryKey> {
        let (one_sided, view) = self.one_sided();
        one_sided.tables[view.me].register(&mut one_sided.pool, memory, access, None)
    }

    fn allocate(
        &mut self, len_bytes: usize, access: RemoteAccess,
    ) -> Result<Option<(MemoryKey, Span)>> {
        let (one_sided, view) = self.one_sided();
        let (file, memory) = shm::allocate(len_bytes.max(1))?;
        let inode = shm::inode(&file).map_err(|error| {
            ErrorClass::Other.error(format!("no inode of shared memory: {error}"))
        })?;
        let number =
            MemoryFileNumber { descriptor: file.as_raw_fd().cast_unsigned(), inode: inode as u32 };
        let span = span(&memory, len_bytes);
        let table = &one_sided.tables[view.me];
        let key = table.register(&mut one_sided.pool, span, access, Some(number))?;
        one_sided.allocated.insert(key, AllocatedMemory { _memory: memory, _file: file });
        Ok(Some((key, span)))
    }

    fn deregister(&mut self, key: MemoryKey) {
        let (one_sided, view) = self.one_sided();
        one_sided.tables[view.me].deregister(&mut one_sided.pool, key);
        one_sided.allocated.remove(&key);
        // The caller may free the memory.
        self.programs.iter().for_each(|programs| programs.fence());
    }

    fn open(&mut self, peer: Peer, key: MemoryKey) -> Result<RmaCaps> {
        let (one_sided, view) = self.one_sided();
        let slot = view.slot(peer)?;
        let found = one_sided.tables[slot].find(key)?;
        let at = RemoteAddress { peer, key, offset: 0 };
        let (place, updates) =
            one_sided.locate(&view, at, found.len_bytes as usize, RemoteAccess::Read)?;
        let mapped = match place {
            AccessPlace::Here(memory) if found.file.is_some() => Some(memory),
            AccessPlace::Here(_) | AccessPlace::Process { .. } => None,
        };
        Ok(RmaCaps { updates, executor: UpdateExecutor::Processor, ordered: true, mapped })
    }

    fn close(&mut self, peer: Peer, key: MemoryKey) {
        let (one_sided, view) = self.one_sided();
        if let Ok(slot) = view.slot(peer) {
            one_sided.mapped.remove(&(slot, key));
        }
    }

    fn put(&mut self, from: Span, to: RemoteAddress) -> Result<(), RmaError> {
        let (one_sided, view) = self.one_sided();
        let (place, _) = one_sided.locate(&view, to, from.len(), RemoteAccess::ReadWrite)?;
        // After all accesses before.
        fence(Ordering::AcqRel);
        let end = place.write(from, to.peer);
        one_sided.ledger.pass(to.peer, end);
        Ok(())
    }

    fn put_signalled(
        &mut self, from: Span, to: RemoteAddress, signal: PutSignal,
    ) -> Result<(), RmaError> {
        let (kind, add) = (NumberKind::Unsigned8, Update::Add(signal.addend));
        let (one_sided, view) = self.one_sided();
        let (place, _) = one_sided.locate(&view, to, from.len(), RemoteAccess::ReadWrite)?;
        let at = signal.address(to.peer);
        let (number, updates) =
            one_sided.locate(&view, at, kind.bytes(), RemoteAccess::ReadWrite)?;
        updates.check(signal.offset, kind, add, Span::EMPTY)?;
        fence(Ordering::AcqRel);
        let end = place.write(from, to.peer);
        if let (Ok(()), AccessPlace::Here(number)) = (&end, number) {
            add.perform(number, kind);
        }
        one_sided.ledger.pass(to.peer, end);
        Ok(())
    }

    fn get(&mut self, from: RemoteAddress, into: Span) -> Result<(), RmaError> {
        let (one_sided, view) = self.one_sided();
        let (place, _) = one_sided.locate(&view, from, into.len(), RemoteAccess::Read)?;
        // Also after writes to other memory of the peer.
        fence(Ordering::SeqCst);
        let end = place.read(into, from.peer);
        one_sided.ledger.pass(from.peer, end);
        Ok(())
    }

    fn update(
        &mut self, at: RemoteAddress, kind: NumberKind, update: Update, old: Span,
    ) -> Result<(), RmaError> {
        let (one_sided, view) = self.one_sided();
        let (place, updates) =
            one_sided.locate(&view, at, kind.bytes(), RemoteAccess::ReadWrite)?;
        updates.check(at.offset, kind, update, old)?;
        if let AccessPlace::Here(number) = place {
            write_number(update.perform(number, kind), old);
        }
        one_sided.ledger.pass(at.peer, Ok(()));
        Ok(())
    }

    fn progress(&mut self, peer: Peer) -> AccessProgress {
        self.one_sided.ledger.progress(peer)
    }

    fn flush(&mut self, peer: Peer) -> Option<Result> {
        fence(Ordering::SeqCst);
        self.one_sided.ledger.flush(peer)
    }
}
