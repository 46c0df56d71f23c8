//! Another MPI library with the standard ABI, loaded at run time, as a carrier of bytes.
//!
//! Its exported names are those of this library, so it gets a scope of its own: `RTLD_LOCAL` hides its
//! names from everything else, and `RTLD_DEEPBIND` makes its own calls find its own functions first, also
//! if the program is linked with this library or has it preloaded. (dlmopen(3) would also load a second C
//! library, with a second allocator and a second set of threads' data.) It is never unloaded: it may have
//! threads.
//!
//! Its error handler stays that of `MPI_COMM_WORLD`: a failure of the carrier ends the job with its own
//! message.
//!
//! Source: MPI 5.0, chapter 20 (values of the ABI), §3.7 (nonblocking communication).
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;
use std::time::Duration;

use libloading::os::unix::Library;

use crate::base::Span;
use crate::sys::carrier_request::CarrierRequest;
use crate::sys::thread::naming_helpers;

/// `MPI_ANY_SOURCE`.
const ANY_SOURCE: c_int = -1;
/// `MPI_THREAD_SERIALIZED`: one call at a time.
const SERIALIZED: c_int = 2048;
/// `MPI_MAX_LIBRARY_VERSION_STRING`.
const VERSION_BYTES: usize = 8192;
/// `MPI_APPNUM` and `MPI_UNIVERSE_SIZE`.
const APP_NUMBER: c_int = 505;
const UNIVERSE_SIZE: c_int = 507;

/// A predefined handle of the ABI: a number in the place of an address.
const fn predefined(number: usize) -> RawHandle {
    ptr::without_provenance_mut(number)
}
const COMM_WORLD: RawHandle = predefined(0x101);
const REQUEST_NULL: RawHandle = CarrierRequest::NULL.0;
const BYTE: RawHandle = predefined(0x247);

/// A handle of the ABI.
type RawHandle = *mut c_void;

/// `MPI_Status`.
#[repr(C)]
struct RawStatus {
    source: c_int,
    tag: c_int,
    error: c_int,
    internal: [c_int; 5],
}

impl RawStatus {
    const NONE: Self = Self { source: ANY_SOURCE, tag: 0, error: 0, internal: [0; 5] };
}

type TextCall = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
type TwoNumbersCall = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
type NumberOfCommCall = unsafe extern "C" fn(RawHandle, *mut c_int) -> c_int;
type SendCall = unsafe extern "C" fn(
    *const c_void,
    c_int,
    RawHandle,
    c_int,
    c_int,
    RawHandle,
    *mut RawHandle,
) -> c_int;
type ReceiveCall = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    RawHandle,
    c_int,
    c_int,
    RawHandle,
    *mut RawHandle,
) -> c_int;
type GatherCall = unsafe extern "C" fn(
    *const c_void,
    c_int,
    RawHandle,
    *mut c_void,
    *const c_int,
    *const c_int,
    RawHandle,
    RawHandle,
) -> c_int;

/// The functions in use.
struct VendorFunctions {
    abi_version: TwoNumbersCall,
    library_version: TextCall,
    init: unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int,
    is_initialized: unsafe extern "C" fn(*mut c_int) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
    abort: unsafe extern "C" fn(RawHandle, c_int) -> c_int,
    duplicate: unsafe extern "C" fn(RawHandle, *mut RawHandle) -> c_int,
    rank: NumberOfCommCall,
    size: NumberOfCommCall,
    attribute: unsafe extern "C" fn(RawHandle, c_int, *mut c_void, *mut c_int) -> c_int,
    send: SendCall,
    receive: ReceiveCall,
    test: unsafe extern "C" fn(*mut RawHandle, *mut c_int, *mut RawStatus) -> c_int,
    test_some: unsafe extern "C" fn(
        c_int,
        *mut RawHandle,
        *mut c_int,
        *mut c_int,
        *mut RawStatus,
    ) -> c_int,
    cancel: unsafe extern "C" fn(*mut RawHandle) -> c_int,
    barrier: unsafe extern "C" fn(RawHandle, *mut RawHandle) -> c_int,
    gather: GatherCall,
}

/// An initialized library and a communicator of all ranks that nothing else uses.
///
/// One thread at a time calls it ([`SERIALIZED`]); who uses it has a lock.
pub struct VendorLibrary {
    functions: VendorFunctions,
    comm: RawHandle,
    rank: u32,
    size: u32,
    version: String,
}

// SAFETY: the library allows calls by any thread, one at a time, which its users see to.
unsafe impl Send for VendorLibrary {}
// SAFETY: as above; the value itself never changes.
unsafe impl Sync for VendorLibrary {}

impl std::fmt::Debug for VendorLibrary {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "VendorLibrary({})", self.version)
    }
}

impl VendorLibrary {
    /// Loads the library and initializes it, with all ranks of its launcher.
    ///
    /// # Errors
    /// A sentence: the loader's message, a function that is missing, another ABI, this library itself, or
    /// a library that cannot be called by several threads.
    pub fn start(path: &Path, is_own: impl Fn(&str) -> bool) -> Result<Self, String> {
        let functions = load(path)?;
        let (mut major, mut minor) = (-1, -1);
        // SAFETY: two places for numbers; legal before initialization.
        let status = unsafe { (functions.abi_version)(&raw mut major, &raw mut minor) };
        if status != 0 || major != 1 {
            return Err(format!(
                "its ABI has the version {major}, expected 1, that of MPI 5.0 (libmpi_abi.so.1)"
            ));
        }
        let version = library_version(&functions);
        if is_own(&version) {
            return Err(format!("it is this library itself ({version})"));
        }
        let (mut provided, mut is_initialized) = (0, 0);
        // SAFETY: places for numbers. The library takes the arguments of the program from no one.
        naming_helpers(|| unsafe {
            (functions.is_initialized)(&raw mut is_initialized);
            if is_initialized == 0 {
                let none = ptr::null_mut();
                (functions.init)(ptr::null_mut(), none, SERIALIZED, &raw mut provided);
            }
        });
        if is_initialized != 0 {
            return Err("the program uses it itself: it is initialized already".to_owned());
        }
        if provided < SERIALIZED {
            return Err(format!("it cannot be called by several threads ({version})"));
        }
        let (mut comm, mut rank, mut size) = (ptr::null_mut(), 0, 0);
        // SAFETY: MPI is initialized, and all ranks duplicate here first; places for a handle and numbers.
        unsafe {
            (functions.duplicate)(COMM_WORLD, &raw mut comm);
            (functions.rank)(comm, &raw mut rank);
            (functions.size)(comm, &raw mut size);
        }
        let (rank, size) = (rank.cast_unsigned(), size.cast_unsigned());
        Ok(Self { functions, comm, rank, size, version })
    }

    /// The rank of this process.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The first line of its description of itself.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The number of this program on the command line of the launcher, and the maximum number of
    /// processes, if they are known.
    pub fn numbers_of_job(&self) -> (Option<u32>, Option<u32>) {
        // Intel MPI 2021 has other numbers for the two attributes.
        if self.version.contains("Intel") {
            return (None, None);
        }
        (self.attribute(APP_NUMBER), self.attribute(UNIVERSE_SIZE))
    }

    fn attribute(&self, key: c_int) -> Option<u32> {
        let (mut value, mut is_set) = (ptr::null_mut::<c_int>(), 0);
        // SAFETY: the value of these attributes is the address of a number, which stays until the end.
        unsafe {
            let place = (&raw mut value).cast();
            (self.functions.attribute)(COMM_WORLD, key, place, &raw mut is_set);
            if is_set == 0 || value.is_null() { None } else { u32::try_from(*value).ok() }
        }
    }

    /// Starts to send at most 2³¹ - 1 bytes, which stay readable and unchanged until the request has
    /// completed.
    ///
    /// # Panics
    /// If there are more bytes.
    #[inline]
    pub fn send(&self, data: Span, to: u32, tag: i32) -> CarrierRequest {
        let (count, to) = (count_of(data), to.cast_signed());
        let mut request = REQUEST_NULL;
        let address = ptr::with_exposed_provenance(data.address());
        // SAFETY: the bytes of a span are readable until its operation has completed (`Span::new`).
        let status = unsafe {
            (self.functions.send)(address, count, BYTE, to, tag, self.comm, &raw mut request)
        };
        self.check(status, "MPI_Isend");
        CarrierRequest(request)
    }

    /// Starts to receive at most as many bytes as there is room; from any rank if `from` is none.
    ///
    /// # Panics
    /// If there is room for more than 2³¹ - 1 bytes.
    #[inline]
    pub fn receive(&self, into: Span, from: Option<u32>, tag: i32) -> CarrierRequest {
        let (count, from) = (count_of(into), from.map_or(ANY_SOURCE, u32::cast_signed));
        let mut request = REQUEST_NULL;
        let address = ptr::with_exposed_provenance_mut(into.address());
        // SAFETY: the bytes of the span are writable until its operation has completed (`Span::new`).
        let status = unsafe {
            (self.functions.receive)(address, count, BYTE, from, tag, self.comm, &raw mut request)
        };
        self.check(status, "MPI_Irecv");
        CarrierRequest(request)
    }

    /// Whether an operation has completed, and the rank whose message it has received: then the request is
    /// [`CarrierRequest::NULL`].
    #[inline]
    pub fn test(&self, request: &mut CarrierRequest) -> Option<u32> {
        let (mut is_complete, mut message) = (0, RawStatus::NONE);
        // SAFETY: the request of an operation in progress, or none; places for a number and a status.
        let status = unsafe {
            (self.functions.test)(&raw mut request.0, &raw mut is_complete, &raw mut message)
        };
        self.check(status, "MPI_Test");
        (is_complete != 0).then_some(message.source.cast_unsigned())
    }

    /// Makes [`CarrierRequest::NULL`] of all requests whose operations have completed. `indices` is memory
    /// for the call.
    pub fn test_some(&self, requests: &mut [CarrierRequest], indices: &mut Vec<i32>) {
        let count = c_int::try_from(requests.len()).expect("few requests");
        let mut completed = 0;
        indices.resize(requests.len(), 0);
        let first = requests.as_mut_ptr().cast::<RawHandle>();
        // SAFETY: `count` requests in progress, or none, as `CarrierRequest` is a handle; places for as many
        // numbers; a null address ignores the statuses.
        let status = unsafe {
            let (many, at) = (&raw mut completed, indices.as_mut_ptr());
            (self.functions.test_some)(count, first, many, at, ptr::null_mut())
        };
        self.check(status, "MPI_Testsome");
    }

    /// Ends a receive that no message has matched; whether it has ended is for [`VendorLibrary::test`].
    pub fn cancel(&self, request: &mut CarrierRequest) {
        // SAFETY: the request of an operation in progress.
        let status = unsafe { (self.functions.cancel)(&raw mut request.0) };
        self.check(status, "MPI_Cancel");
    }

    /// Waits until all ranks call this, without taking a processor that others need: the library's own
    /// waits poll.
    pub fn meet(&self) {
        let mut request = CarrierRequest::NULL;
        // SAFETY: all ranks call this in the same order; a place for a request.
        let status = unsafe { (self.functions.barrier)(self.comm, &raw mut request.0) };
        self.check(status, "MPI_Ibarrier");
        let mut polls = 0_u32;
        while self.test(&mut request).is_none() {
            polls += 1;
            match polls {
                0..1000 => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(200)),
            }
        }
    }

    /// The bytes of all ranks, which call this too.
    ///
    /// # Panics
    /// If they are more than 2³¹ - 1 bytes.
    pub fn gather(&self, own: &[u8]) -> Vec<Vec<u8>> {
        self.meet();
        let ranks = self.size as usize;
        let own_len = c_int::try_from(own.len()).expect("a few bytes").to_ne_bytes();
        let four = |rank: usize| c_int::try_from(4 * rank).expect("a few ranks");
        let (counts, places) = (vec![4; ranks], (0..ranks).map(four).collect::<Vec<_>>());
        let lens = self.gather_counted(&own_len, &counts, &places, 4 * ranks);
        let (lens, _) = lens.as_chunks::<4>();
        let counts: Vec<_> = lens.iter().map(|len| c_int::from_ne_bytes(*len)).collect();
        let mut end = 0_i32;
        let places: Vec<_> = counts
            .iter()
            .map(|count| {
                let begin = end;
                end = end.checked_add(*count).expect("not too many bytes");
                begin
            })
            .collect();
        let all = self.gather_counted(own, &counts, &places, end as usize);
        let part =
            |(place, count): (&c_int, &c_int)| all[*place as usize..][..*count as usize].to_vec();
        places.iter().zip(&counts).map(part).collect()
    }

    fn gather_counted(
        &self, own: &[u8], counts: &[c_int], places: &[c_int], len: usize,
    ) -> Vec<u8> {
        let mut all = vec![0; len];
        let (from, count) = (own.as_ptr().cast(), c_int::try_from(own.len()).expect("few bytes"));
        let (into, counts, places) = (all.as_mut_ptr().cast(), counts.as_ptr(), places.as_ptr());
        // SAFETY: `own` is readable; `all` has the bytes that the counts and places name, one of each for a
        // rank; all ranks call this with the same counts.
        let status = unsafe {
            (self.functions.gather)(from, count, BYTE, into, counts, places, BYTE, self.comm)
        };
        self.check(status, "MPI_Allgatherv");
        all
    }

    /// Makes the launcher end the job. It may end this process, with the functions that the program has
    /// registered with atexit(3).
    pub fn abort(&self, code: i32) {
        // SAFETY: numbers only.
        unsafe { (self.functions.abort)(COMM_WORLD, code) };
    }

    /// Ends the use of the library by this process for good, with all ranks. No request is in progress.
    pub fn finalize(&self) {
        self.meet();
        // SAFETY: no arguments; nothing is in progress.
        unsafe { (self.functions.finalize)() };
    }

    /// The library has ended the job for an error, unless the program it was loaded into has changed that.
    #[inline]
    fn check(&self, status: c_int, call: &str) {
        assert!(status == 0, "{call} of {} failed with the code {status}", self.version);
    }
}

/// The number of bytes of a message.
fn count_of(span: Span) -> c_int {
    c_int::try_from(span.len()).expect("a message of less than 2 GiB")
}

/// Loads the library into a scope of its own.
#[cfg(target_env = "gnu")]
fn load(path: &Path) -> Result<VendorFunctions, String> {
    let flags = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND;
    // SAFETY: loading runs the library's initializers. The path is the user's setting: a user able to put
    // another file there could preload it as well.
    let library = naming_helpers(|| unsafe { Library::open(Some(path), flags) });
    let library = library.map_err(|error| message_of(&error))?;
    // SAFETY: the signatures are those of the standard for these names; the ABI is checked before a call
    // with a handle.
    let functions = unsafe { VendorFunctions::of(&library) }.map_err(|error| message_of(&error))?;
    // Never closed, so that the functions stay mapped.
    std::mem::forget(library);
    Ok(functions)
}

/// Other C libraries cannot give a library a scope of its own.
#[cfg(not(target_env = "gnu"))]
fn load(_path: &Path) -> Result<VendorFunctions, String> {
    let _ = (Library::open::<&Path>, VendorFunctions::of, message_of);
    Err("loading another MPI library needs the GNU C library".to_owned())
}

/// The loader's message, which the error keeps as its source.
pub(super) fn message_of(error: &libloading::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// The first line of the description.
fn library_version(functions: &VendorFunctions) -> String {
    let (mut text, mut len) = (vec![0_u8; VERSION_BYTES], 0);
    // SAFETY: the text has the bytes that the standard requires; a place for its length.
    unsafe { (functions.library_version)(text.as_mut_ptr().cast(), &raw mut len) };
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy();
    let line = text.lines().next().unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl VendorFunctions {
    /// # Safety
    /// The functions of `library` have the signatures of the standard.
    unsafe fn of(library: &Library) -> Result<Self, libloading::Error> {
        // SAFETY: the caller's promise, for each function.
        let functions = unsafe {
            Self {
                abi_version: *library.get(b"MPI_Abi_get_version\0")?,
                library_version: *library.get(b"MPI_Get_library_version\0")?,
                init: *library.get(b"MPI_Init_thread\0")?,
                is_initialized: *library.get(b"MPI_Initialized\0")?,
                finalize: *library.get(b"MPI_Finalize\0")?,
                abort: *library.get(b"MPI_Abort\0")?,
                duplicate: *library.get(b"MPI_Comm_dup\0")?,
                rank: *library.get(b"MPI_Comm_rank\0")?,
                size: *library.get(b"MPI_Comm_size\0")?,
                attribute: *library.get(b"MPI_Comm_get_attr\0")?,
                send: *library.get(b"MPI_Isend\0")?,
                receive: *library.get(b"MPI_Irecv\0")?,
                test: *library.get(b"MPI_Test\0")?,
                test_some: *library.get(b"MPI_Testsome\0")?,
                cancel: *library.get(b"MPI_Cancel\0")?,
                barrier: *library.get(b"MPI_Ibarrier\0")?,
                gather: *library.get(b"MPI_Allgatherv\0")?,
            }
        };
        Ok(functions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_none_is_refused_in_words() {
        let start = |path| VendorLibrary::start(Path::new(path), |_| false).unwrap_err();
        let missing = start("/nonexistent/libmpi_abi.so.1");
        assert!(missing.contains("/nonexistent/libmpi_abi.so.1"), "{missing}");
        let other = start("libc.so.6");
        assert!(other.contains("MPI_Abi_get_version"), "{other}");
    }
}
