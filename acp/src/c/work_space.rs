//! Work spaces.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Mutex;

use crate::library;
use crate::space::SpaceAddress;
use crate::work_space::{BLOCK_BYTES, SpaceBlock, WorkSpace};

/// `struct acp_wsditem`, which programs may read.
#[derive(Debug)]
#[repr(C)]
pub struct WorkSpaceItem {
    size_ws: usize,
    size_default: usize,
    size_remainder: usize,
    ngas: usize,
    key_data: u64,
    ga_data: u64,
    keys: *mut u64,
    gas: *mut u64,
    procs: *mut c_int,
    sizes: *mut c_int,
    data: *mut c_void,
}

/// A work space, with what its item points to.
struct ListedWorkSpace {
    item: Box<WorkSpaceItem>,
    space: WorkSpace,
    _words: [Box<[u64]>; 2],
    _numbers: [Box<[c_int]>; 2],
}

// SAFETY: the pointers of the item lead to the boxes beside it, and to the block of the work space.
unsafe impl Send for ListedWorkSpace {}

/// The work spaces of this process.
static WORK_SPACES: Mutex<Vec<ListedWorkSpace>> = Mutex::new(Vec::new());

/// The length of blocks of the next work spaces.
static BLOCK: Mutex<usize> = Mutex::new(BLOCK_BYTES);

/// `ACP_WSD_NULL`
const NONE: *mut WorkSpaceItem = ptr::without_provenance_mut(usize::MAX);

fn lock<T>(place: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    place.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl ListedWorkSpace {
    fn new(mut space: WorkSpace) -> Self {
        let of_blocks =
            |number: fn(&SpaceBlock) -> c_int| space.blocks.iter().map(number).collect();
        let numbers: [Box<[c_int]>; 2] = [
            of_blocks(|block| block.rank.cast_signed()),
            of_blocks(|block| c_int::try_from(block.bytes).unwrap_or(c_int::MAX)),
        ];
        let gas: Box<[u64]> = space.blocks.iter().map(|block| block.address.0).collect();
        let mut keys = vec![0; gas.len()].into_boxed_slice();
        let own = space.own.as_mut();
        let (key, data) = own.map_or((0, ptr::null_mut()), |own| {
            keys[own.index] = own.key;
            (own.key, own.memory.as_mut_ptr().cast())
        });
        let (mut words, mut numbers) = ([keys, gas], numbers);
        let item = Box::new(WorkSpaceItem {
            size_ws: space.bytes,
            size_default: space.block_bytes,
            size_remainder: space.bytes % space.block_bytes,
            ngas: space.blocks.len(),
            key_data: key,
            ga_data: key,
            keys: words[0].as_mut_ptr(),
            gas: words[1].as_mut_ptr(),
            procs: numbers[0].as_mut_ptr(),
            sizes: numbers[1].as_mut_ptr(),
            data,
        });
        Self { item, space, _words: words, _numbers: numbers }
    }

    fn is(&self, item: *mut WorkSpaceItem) -> bool {
        ptr::eq(&*self.item, item)
    }
}

/// Makes a work space, on all ranks together; `ACP_WSD_NULL` if that is not possible.
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_ws(size: usize) -> *mut WorkSpaceItem {
    let block = *lock(&BLOCK);
    let begin = library::with(|running| (running.comm, running.next_work_space_rank));
    let Some((comm, first)) = begin else { return NONE };
    let Some(space) = WorkSpace::create(comm, size, block, first) else { return NONE };
    let ranks = comm.place().1;
    let next = (first + space.blocks.len() as u32) % ranks;
    library::with(|running| running.next_work_space_rank = next);
    let mut listed = ListedWorkSpace::new(space);
    let item: *mut WorkSpaceItem = &mut *listed.item;
    lock(&WORK_SPACES).push(listed);
    item
}

/// Sets the first rank and the length of blocks of the next work spaces, on all ranks together.
#[unsafe(no_mangle)]
pub extern "C" fn acp_setparams_ws(proc_start: usize, size_default: usize) -> c_int {
    let ranks = library::ranks();
    let is_rank = c_int::try_from(proc_start).is_ok_and(|first| first < ranks);
    if !is_rank || size_default == 0 {
        return -1;
    }
    library::with(|running| running.next_work_space_rank = proc_start as u32);
    *lock(&BLOCK) = size_default;
    0
}

/// Frees a work space, on all ranks together.
#[unsafe(no_mangle)]
pub extern "C" fn acp_destroy_ws(wsd: *mut WorkSpaceItem) {
    let mut listed = lock(&WORK_SPACES);
    let found = listed.iter().position(|space| space.is(wsd));
    let taken = found.map(|at| listed.swap_remove(at));
    drop(listed);
    if let (Some(taken), Some(comm)) = (taken, library::with(|running| running.comm)) {
        taken.space.destroy(comm);
    }
}

/// Copies a range of a work space to memory of this rank; 0, or 1 if that is not possible.
#[unsafe(no_mangle)]
pub extern "C" fn acp_read_ws(
    wsd: *mut WorkSpaceItem, ga: u64, size: usize, offset: usize,
) -> c_int {
    with(wsd, |space| space.read(&super::space(), SpaceAddress(ga), offset, size).is_ok())
}

/// Copies memory of this rank to a range of a work space; 0, or 1 if that is not possible.
#[unsafe(no_mangle)]
pub extern "C" fn acp_write_ws(
    wsd: *mut WorkSpaceItem, ga: u64, size: usize, offset: usize,
) -> c_int {
    with(wsd, |space| space.write(&super::space(), SpaceAddress(ga), offset, size).is_ok())
}

fn with(wsd: *mut WorkSpaceItem, body: impl FnOnce(&WorkSpace) -> bool) -> c_int {
    let listed = lock(&WORK_SPACES);
    let found = listed.iter().find(|space| space.is(wsd));
    (!found.is_some_and(|found| body(&found.space))).into()
}
