//! The memory of other ranks: how this rank reaches it.
//!
//! ```text
//!   address ──first two─> system memory   mapped here, or by the key that all ranks exchanged
//!           ──other────> its entry in the directory of its rank, read once ──> key
//! ```
//!
//! What a rank knows of a region stays here until its generation is another one: the device refuses a key
//! whose registration has ended. Memory that the device does not reach is the matter of its owner, which is
//! asked by messages (`delegation`).

use std::collections::BTreeMap;

use super::address::{AddressFields, SYSTEM_REGIONS};
use super::directory::{DirectoryEntry, DirectoryRegion, ENTRY_BYTES, entries};
use super::front::GlobalFront;
use super::refusal::{not_registered, outside};
use crate::device::rma::{
    MemoryKey, RemoteAddress, Rma, RmaCaps, RmaError, UpdateExecutor, UpdateSet,
};
use crate::engine::memory::OwnedBytes;
use platform::base::{ErrorClass, MpiError, Peer, Result, Span};

/// The keys of the memory that a rank has from the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SystemKeys {
    pub(crate) memory: MemoryKey,
    pub(crate) directory: MemoryKey,
}

/// Where the memory of an access is.
#[derive(Debug)]
pub(crate) enum Location {
    /// In this process.
    Here(Span),
    /// Reached by the device.
    There(RemoteMemory),
    /// Reached by its owner only.
    AtOwner,
    /// Not known yet.
    Unknown,
    Refused(Box<MpiError>),
}

/// Memory that the device reaches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemoteMemory {
    pub(crate) at: RemoteAddress,
    pub(crate) reach: DeviceReach,
}

/// What the device does with memory of a rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceReach {
    pub(crate) updates: UpdateSet,
    pub(crate) is_ordered: bool,
    /// Whether an access has completed when it has started: the processor of this rank makes it.
    pub(crate) is_immediate: bool,
}

/// The other ranks.
#[derive(Debug)]
pub(crate) struct PeerMemory {
    keys: Box<[SystemKeys]>,
    ranks: BTreeMap<u32, KnownRank>,
    regions: BTreeMap<(u32, u32), KnownRegion>,
    reads: Vec<DirectoryRead>,
}

/// How the memory of a rank is reached that exists from the beginning.
#[derive(Clone, Copy, Debug)]
struct KnownRank {
    /// `None` if only its owner reaches it.
    system: Option<DeviceReach>,
    directory: DirectoryReach,
}

#[derive(Clone, Copy, Debug)]
enum DirectoryReach {
    Mapped(&'static [DirectoryEntry]),
    Device,
    Owner,
}

#[derive(Clone, Copy, Debug)]
struct KnownRegion {
    /// Whether its directory is not asked again.
    is_current: bool,
    region: DirectoryRegion,
    reach: Option<DeviceReach>,
}

/// A directory entry that is being read.
#[derive(Debug)]
struct DirectoryRead {
    rank: u32,
    number: u32,
    peer: Peer,
    access: u64,
    entry: OwnedBytes,
}

/// Access to the device.
pub(crate) struct DeviceView<'a> {
    /// `None` if the device has no one-sided access.
    pub(crate) rma: Option<&'a mut dyn Rma>,
    pub(crate) peer: Peer,
}

impl From<RmaCaps> for DeviceReach {
    fn from(caps: RmaCaps) -> Self {
        let is_immediate = caps.executor == UpdateExecutor::Processor;
        Self { updates: caps.updates, is_ordered: caps.ordered, is_immediate }
    }
}

impl PeerMemory {
    /// Of ranks with these keys, by rank.
    pub(crate) fn new(keys: Box<[SystemKeys]>) -> Self {
        let (ranks, regions) = (BTreeMap::new(), BTreeMap::new());
        Self { keys, ranks, regions, reads: Vec::new() }
    }

    /// Asks for the region of this address again.
    pub(crate) fn forget(&mut self, fields: AddressFields) {
        if let Some(known) = self.regions.get_mut(&(fields.rank, fields.region)) {
            known.is_current = false;
        }
    }

    /// The memory of `len` bytes of another rank.
    pub(crate) fn locate(
        &mut self, mut device: DeviceView<'_>, front: &GlobalFront, fields: AddressFields,
        len: usize,
    ) -> Location {
        let rank = match self.rank(&mut device, front, fields.rank) {
            Ok(rank) => rank,
            Err(error) => return Location::Refused(error),
        };
        if fields.region >= SYSTEM_REGIONS {
            return self.locate_region(device, rank, fields, len);
        }
        let Some(offset) = front.in_system(fields, len) else {
            return Location::Refused(front.refusal(fields, len));
        };
        // The first access has mapped it.
        if let Some(memory) = front.find_fields(fields, len) {
            return Location::Here(memory);
        }
        let Some(reach) = rank.system else { return Location::AtOwner };
        let key = self.keys[fields.rank as usize].memory;
        let at = RemoteAddress { peer: device.peer, key, offset: offset as u64 };
        Location::There(RemoteMemory { at, reach })
    }

    /// A rank, whose memory is opened with the first access.
    fn rank(
        &mut self, device: &mut DeviceView<'_>, front: &GlobalFront, rank: u32,
    ) -> Result<KnownRank> {
        if let Some(known) = self.ranks.get(&rank) {
            return Ok(*known);
        }
        let SystemKeys { memory, directory } = self.keys[rank as usize];
        let system = device.open(memory)?;
        if let Some(mapped) = system.and_then(|caps| caps.mapped) {
            front.map(rank, mapped);
        }
        let directory = match device.open(directory)? {
            Some(RmaCaps { mapped: Some(mapped), .. }) => {
                // Until `close`, after the last access.
                DirectoryReach::Mapped(entries(mapped))
            }
            Some(_) => DirectoryReach::Device,
            None => DirectoryReach::Owner,
        };
        let known = KnownRank { system: system.map(DeviceReach::from), directory };
        self.ranks.insert(rank, known);
        Ok(known)
    }

    fn locate_region(
        &mut self, mut device: DeviceView<'_>, rank: KnownRank, fields: AddressFields, len: usize,
    ) -> Location {
        let place = (fields.rank, fields.region);
        let known = self.regions.get(&place).copied().filter(|known| known.is_current);
        let known = match known.filter(|known| known.region.generation == fields.generation) {
            Some(known) => known,
            None => {
                let region = match rank.directory {
                    DirectoryReach::Mapped(entries) => entries[fields.region as usize].region(),
                    DirectoryReach::Owner => return Location::AtOwner,
                    DirectoryReach::Device => match self.read(&mut device, fields) {
                        Ok(Some(region)) => region,
                        Ok(None) => return Location::Unknown,
                        Err(error) => return Location::Refused(error),
                    },
                };
                match self.remember(&mut device, fields, region) {
                    Ok(known) => known,
                    Err(error) => return Location::Refused(error),
                }
            }
        };
        if !known.region.has(fields, len) {
            return Location::Refused(outside(known.region, fields, len));
        }
        let Some(reach) = known.reach else { return Location::AtOwner };
        let offset = fields.offset - known.region.first;
        let at = RemoteAddress { peer: device.peer, key: known.region.key, offset };
        Location::There(RemoteMemory { at, reach })
    }

    /// Opens a region that its directory has.
    fn remember(
        &mut self, device: &mut DeviceView<'_>, fields: AddressFields,
        region: Option<DirectoryRegion>,
    ) -> Result<KnownRegion> {
        let region = region.filter(|region| region.generation == fields.generation);
        let region = region.ok_or_else(|| not_registered(fields))?;
        let reach = device.open(region.key)?.map(DeviceReach::from);
        let known = KnownRegion { is_current: true, region, reach };
        self.regions.insert((fields.rank, fields.region), known);
        Ok(known)
    }

    /// Reads an entry of a directory by the device: `None` until it is here.
    fn read(
        &mut self, device: &mut DeviceView<'_>, fields: AddressFields,
    ) -> Result<Option<Option<DirectoryRegion>>> {
        let Some(rma) = device.rma.as_deref_mut() else { return Ok(Some(None)) };
        let is_same =
            |read: &DirectoryRead| (read.rank, read.number) == (fields.rank, fields.region);
        let Some(at) = self.reads.iter().position(is_same) else {
            let key = self.keys[fields.rank as usize].directory;
            let offset = u64::from(fields.region) * ENTRY_BYTES as u64;
            let from = RemoteAddress { peer: device.peer, key, offset };
            let entry = OwnedBytes::zeroed(ENTRY_BYTES);
            match rma.get(from, entry.span()) {
                Err(RmaError::Busy) => {}
                Err(RmaError::Denied(error)) => return Err(error),
                Ok(()) => {
                    let access = rma.progress(device.peer).accepted;
                    let (rank, number, peer) = (fields.rank, fields.region, device.peer);
                    self.reads.push(DirectoryRead { rank, number, peer, access, entry });
                }
            }
            return Ok(None);
        };
        if rma.progress(self.reads[at].peer).completed < self.reads[at].access {
            return Ok(None);
        }
        let mut bytes = [0; ENTRY_BYTES];
        self.reads.swap_remove(at).entry.span().read(0, &mut bytes);
        Ok(Some(DirectoryRegion::parse(&bytes)))
    }

    /// Closes what was opened.
    pub(crate) fn close(&mut self, mut close: impl FnMut(u32, MemoryKey)) {
        for rank in std::mem::take(&mut self.ranks).into_keys() {
            let SystemKeys { memory, directory } = self.keys[rank as usize];
            close(rank, memory);
            close(rank, directory);
        }
        for ((rank, _), known) in std::mem::take(&mut self.regions) {
            close(rank, known.region.key);
        }
    }
}

impl DeviceView<'_> {
    /// Opens memory of the rank; `None` if the device does not reach it.
    ///
    /// # Errors
    /// `RmaRange` if there is no such memory.
    fn open(&mut self, key: MemoryKey) -> Result<Option<RmaCaps>> {
        let Some(rma) = self.rma.as_deref_mut() else { return Ok(None) };
        match rma.open(self.peer, key) {
            Ok(caps) => Ok(Some(caps)),
            Err(error) if error.is(ErrorClass::Other) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
