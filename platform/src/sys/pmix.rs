//! PMIx: the client library of launchers such as `prterun`, loaded at run time.
//!
//! The protocol between a PMIx client and its server is private to libpmix, so this protocol alone
//! needs a foreign library. The library is loaded on demand and never unloaded, because it has
//! threads. Only the calls of a wire-up are here.
//!
//! Source: the PMIx standard 4.1 and `pmix_common.h` of OpenPMIx 3 to 5, which lay out these
//! structures alike.
#![allow(unsafe_code)]

use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;
use std::path::Path;
use std::ptr;

use crate::sys::thread::naming_helpers;

/// Rank number that stands for the whole job.
pub(crate) const JOB: u32 = u32::MAX - 1;

/// `PMIX_ERR_UNREACH`: no server.
pub(crate) const UNREACHABLE: PmixStatus = PmixStatus(-25);
/// `PMIX_ERR_NOT_FOUND`.
pub(crate) const NOT_FOUND: PmixStatus = PmixStatus(-46);

/// `PMIX_ERR_DUPLICATE_KEY`: a published name is taken.
pub(crate) const TAKEN: PmixStatus = PmixStatus(-53);

/// Error status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PmixStatus(pub(crate) i32);

/// Value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PmixValue {
    /// A text.
    Text(String),
    /// A nonnegative number.
    Number(u64),
    /// A value of this PMIx type, which is not used here.
    Other(u16),
}

/// Identity of a process: the name of its job and its rank there.
#[derive(Clone, Copy)]
pub(crate) struct PmixIdentity(RawProcess);

/// The loaded library.
pub(crate) struct PmixLibrary {
    functions: PmixFunctions,
}

/// The functions in use, with the signatures of `pmix.h`. They may be called from any thread.
struct PmixFunctions {
    init: unsafe extern "C" fn(*mut RawProcess, *mut RawInfo, usize) -> c_int,
    finalize: unsafe extern "C" fn(*const RawInfo, usize) -> c_int,
    get: unsafe extern "C" fn(
        *const RawProcess,
        *const c_char,
        *const RawInfo,
        usize,
        *mut *mut RawValue,
    ) -> c_int,
    put: unsafe extern "C" fn(u8, *const c_char, *mut RawValue) -> c_int,
    commit: unsafe extern "C" fn() -> c_int,
    fence: unsafe extern "C" fn(*const RawProcess, usize, *const RawInfo, usize) -> c_int,
    abort: unsafe extern "C" fn(c_int, *const c_char, *mut RawProcess, usize) -> c_int,
    publish: unsafe extern "C" fn(*const RawInfo, usize) -> c_int,
    lookup: unsafe extern "C" fn(*mut RawPublished, usize, *const RawInfo, usize) -> c_int,
    unpublish: unsafe extern "C" fn(*mut *mut c_char, *const RawInfo, usize) -> c_int,
    error_text: unsafe extern "C" fn(c_int) -> *const c_char,
}

/// `pmix_proc_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawProcess {
    namespace: [u8; 256],
    rank: u32,
}

/// `pmix_value_t`.
#[repr(C)]
struct RawValue {
    kind: u16,
    data: RawData,
}

/// The members in use of the union in `pmix_value_t`, and its size.
#[repr(C)]
union RawData {
    flag: bool,
    text: *mut c_char,
    size: usize,
    signed: c_int,
    number16: u16,
    number32: u32,
    number64: u64,
    room: [u64; 3],
}

/// `pmix_info_t`.
#[repr(C)]
struct RawInfo {
    key: [u8; 512],
    directives: u32,
    value: RawValue,
}

/// `pmix_pdata_t`: a published name, its value and the process that has published it.
#[repr(C)]
struct RawPublished {
    publisher: RawProcess,
    key: [u8; 512],
    value: RawValue,
}

/// Types of values: `PMIX_BOOL` and so on.
mod kind {
    pub(crate) const UNDEFINED: u16 = 0;
    pub(crate) const BOOL: u16 = 1;
    pub(crate) const STRING: u16 = 3;
    pub(crate) const SIZE: u16 = 4;
    pub(crate) const INT: u16 = 6;
    pub(crate) const UINT: u16 = 11;
    pub(crate) const UINT16: u16 = 13;
    pub(crate) const UINT32: u16 = 14;
    pub(crate) const UINT64: u16 = 15;
    pub(crate) const PROC_RANK: u16 = 40;
}

/// The longest key, in bytes.
pub(crate) const KEY_MAX: usize = 511;

/// `PMIX_GLOBAL`: for all processes, wherever they are.
const GLOBAL: u8 = 3;
/// How long the server of another host may take to answer, in seconds.
const PUBLISHED_TIMEOUT_S: i32 = 30;
/// `PMIX_OPERATION_SUCCEEDED`: completed at once, which is success too.
const DONE_AT_ONCE: i32 = -157;
/// `PMIX_ERR_BAD_PARAM`: for text that cannot be passed on as a C string.
const BAD_PARAMETER: PmixStatus = PmixStatus(-27);

const _: () = assert!(size_of::<RawProcess>() == 260);
const _: () = assert!(size_of::<RawValue>() == 32);
const _: () = assert!(size_of::<RawPublished>() == 808);
const _: () = assert!(size_of::<RawInfo>() == 552 && std::mem::offset_of!(RawInfo, value) == 520);

impl PmixLibrary {
    /// Loads the library from `path`; a plain file name is looked up by the loader's rules.
    ///
    /// # Errors
    /// The loader's message, when there is no such library or it lacks a function.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: loading runs the library's initializers. The path is the user's setting, a file
        // that the launcher itself has mapped, or found by the loader: a user able to put another
        // file there could preload it as well.
        let library = naming_helpers(|| unsafe { libloading::Library::new(path) });
        let library = library.map_err(|error| loader_message(&error))?;
        // SAFETY: the signatures are those of the PMIx standard for these names.
        let calls =
            unsafe { PmixFunctions::of(&library) }.map_err(|error| loader_message(&error))?;
        // Never closed, so that the functions stay mapped.
        std::mem::forget(library);
        Ok(Self { functions: calls })
    }

    /// Enters the job.
    ///
    /// # Errors
    /// [`UNREACHABLE`] without a server.
    pub(crate) fn init(&self) -> Result<PmixIdentity, PmixStatus> {
        let mut me = RawProcess { namespace: [0; 256], rank: 0 };
        // SAFETY: `me` is a valid place for the answer; no attributes are passed.
        check_status(naming_helpers(|| unsafe {
            (self.functions.init)(&raw mut me, ptr::null_mut(), 0)
        }))?;
        Ok(PmixIdentity(me))
    }

    /// Leaves the job; only after every other call has returned.
    ///
    /// # Errors
    /// When the server does not answer.
    pub(crate) fn finalize(&self) -> Result<(), PmixStatus> {
        // SAFETY: no attributes are passed.
        check_status(unsafe { (self.functions.finalize)(ptr::null(), 0) })
    }

    /// The value of `key` that `rank` of the job of `me` published, or that the server provides for
    /// that rank.
    ///
    /// # Errors
    /// [`NOT_FOUND`] or another status, depending on the server, when there is no value: the server
    /// is asked, but does not wait for other ranks.
    pub(crate) fn get(
        &self, me: &PmixIdentity, rank: u32, key: &str,
    ) -> Result<PmixValue, PmixStatus> {
        self.get_by(me, rank, key, &flag("pmix.immediate"))
    }

    /// The value of `key` that `rank` has published. Waits a while for the server of its host: not all
    /// servers pass on what a fence has collected before they are asked.
    ///
    /// # Errors
    /// A status that depends on the server when there is no value.
    pub(crate) fn get_published(
        &self, me: &PmixIdentity, rank: u32, key: &str,
    ) -> Result<PmixValue, PmixStatus> {
        let mut data = RawData { room: [0; 3] };
        data.signed = PUBLISHED_TIMEOUT_S;
        let timeout = attribute("pmix.timeout", kind::INT, data);
        self.get(me, rank, key).or_else(|_| self.get_by(me, rank, key, &timeout))
    }

    fn get_by(
        &self, me: &PmixIdentity, rank: u32, key: &str, how: &RawInfo,
    ) -> Result<PmixValue, PmixStatus> {
        let key = text(key)?;
        let whose = RawProcess { rank, ..me.0 };
        let mut value = ptr::null_mut();
        // SAFETY: all pointers are valid for the call, and one attribute is passed.
        check_status(unsafe {
            (self.functions.get)(&raw const whose, key.as_ptr(), how, 1, &raw mut value)
        })?;
        if value.is_null() {
            return Err(NOT_FOUND);
        }
        // SAFETY: after success the library has allocated this value and transferred its ownership.
        Ok(unsafe { take_value(value) })
    }

    /// Publishes a text; visible to others after [`PmixLibrary::commit`] and
    /// [`PmixLibrary::fence`].
    ///
    /// # Errors
    /// When the library refuses the key.
    pub(crate) fn put(&self, key: &str, value: &str) -> Result<(), PmixStatus> {
        let (key, value) = (text(key)?, text(value)?);
        let mut value =
            RawValue { kind: kind::STRING, data: RawData { text: value.as_ptr().cast_mut() } };
        // SAFETY: both are valid for the call, which copies the value and does not change it.
        check_status(unsafe { (self.functions.put)(GLOBAL, key.as_ptr(), &raw mut value) })
    }

    /// Sends the published values to the server.
    ///
    /// # Errors
    /// When the server does not answer.
    pub(crate) fn commit(&self) -> Result<(), PmixStatus> {
        // SAFETY: no arguments.
        check_status(unsafe { (self.functions.commit)() })
    }

    /// Waits until all processes of the job are in the fence, and collects their committed values.
    ///
    /// # Errors
    /// When the server does not answer, or a process of the job has exited.
    pub(crate) fn fence(&self) -> Result<(), PmixStatus> {
        let collect = flag("pmix.collect");
        // SAFETY: an empty process list means the whole job; one attribute is passed, valid for the
        // call.
        check_status(naming_helpers(|| unsafe {
            (self.functions.fence)(ptr::null(), 0, &raw const collect, 1)
        }))
    }

    /// Asks the server to end the job with an exit code.
    ///
    /// # Errors
    /// When the server does not answer.
    pub(crate) fn abort(&self, code: i32, message: &str) -> Result<(), PmixStatus> {
        let message = text(message)?;
        // SAFETY: the text is valid for the call; an empty process list means the whole job.
        check_status(unsafe { (self.functions.abort)(code, message.as_ptr(), ptr::null_mut(), 0) })
    }

    /// Publishes a text under a name for all processes of the server's session, until the program that
    /// publishes it ends: the defaults of the standard for range and persistence.
    ///
    /// # Errors
    /// [`TAKEN`] if the name is published; a key that is too long; when the server does not answer.
    pub(crate) fn publish(&self, name: &str, value: &str) -> Result<(), PmixStatus> {
        let key = key_field(name)?;
        let value = text(value)?;
        let data = RawData { text: value.as_ptr().cast_mut() };
        let info = RawInfo { key, directives: 0, value: RawValue { kind: kind::STRING, data } };
        // SAFETY: one attribute, valid for the call, which copies it and does not change it.
        check_status(naming_helpers(|| unsafe { (self.functions.publish)(&raw const info, 1) }))
    }

    /// The text that is published under a name; the server does not wait for it.
    ///
    /// # Errors
    /// [`NOT_FOUND`] if there is none; as [`PmixLibrary::publish`].
    pub(crate) fn lookup(&self, name: &str) -> Result<PmixValue, PmixStatus> {
        let publisher = RawProcess { namespace: [0; 256], rank: 0 };
        let value = RawValue { kind: kind::UNDEFINED, data: RawData { room: [0; 3] } };
        let mut found = RawPublished { publisher, key: key_field(name)?, value };
        // SAFETY: one element, which the call fills; no attributes are passed.
        let status = naming_helpers(|| unsafe {
            (self.functions.lookup)(&raw mut found, 1, ptr::null(), 0)
        });
        check_status(status)?;
        if found.value.kind == kind::UNDEFINED {
            return Err(NOT_FOUND);
        }
        // SAFETY: after success the library has allocated what the value owns, for this process.
        Ok(unsafe { take_data(&found.value) })
    }

    /// Removes a name; the server does not tell whether it was published.
    ///
    /// # Errors
    /// As [`PmixLibrary::publish`], and some servers' [`NOT_FOUND`].
    pub(crate) fn unpublish(&self, name: &str) -> Result<(), PmixStatus> {
        let name = text(name)?;
        let mut names = [name.as_ptr().cast_mut(), ptr::null_mut()];
        // SAFETY: a list of one text with its end, which the call does not change; no attributes.
        check_status(naming_helpers(|| unsafe {
            (self.functions.unpublish)(names.as_mut_ptr(), ptr::null(), 0)
        }))
    }

    /// The library's text for a status.
    pub(crate) fn explain(&self, status: PmixStatus) -> String {
        // SAFETY: every number is a valid argument.
        let words = unsafe { (self.functions.error_text)(status.0) };
        if words.is_null() {
            return status.to_string();
        }
        // SAFETY: the library answers with a string that is never freed.
        let words = unsafe { CStr::from_ptr(words) };
        format!("{} ({})", words.to_string_lossy(), status.0)
    }
}

impl fmt::Debug for PmixLibrary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Library")
    }
}

impl PmixFunctions {
    /// # Safety
    /// `library` is a libpmix, so that its functions have the signatures above.
    unsafe fn of(library: &libloading::Library) -> Result<Self, libloading::Error> {
        // SAFETY: the caller's promise, for each function.
        let calls = unsafe {
            Self {
                init: *library.get(b"PMIx_Init\0")?,
                finalize: *library.get(b"PMIx_Finalize\0")?,
                get: *library.get(b"PMIx_Get\0")?,
                put: *library.get(b"PMIx_Put\0")?,
                commit: *library.get(b"PMIx_Commit\0")?,
                fence: *library.get(b"PMIx_Fence\0")?,
                abort: *library.get(b"PMIx_Abort\0")?,
                publish: *library.get(b"PMIx_Publish\0")?,
                lookup: *library.get(b"PMIx_Lookup\0")?,
                unpublish: *library.get(b"PMIx_Unpublish\0")?,
                error_text: *library.get(b"PMIx_Error_string\0")?,
            }
        };
        Ok(calls)
    }
}

impl PmixIdentity {
    pub(crate) fn rank(&self) -> u32 {
        self.0.rank
    }

    pub(crate) fn job_name(&self) -> String {
        let name = CStr::from_bytes_until_nul(&self.0.namespace).unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

impl fmt::Debug for PmixIdentity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.job_name(), self.rank())
    }
}

impl fmt::Display for PmixStatus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PMIx status {}", self.0)
    }
}

/// The loader's message, which the error keeps as its source.
fn loader_message(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

fn check_status(status: c_int) -> Result<(), PmixStatus> {
    match status {
        0 | DONE_AT_ONCE => Ok(()),
        status => Err(PmixStatus(status)),
    }
}

fn text(text: &str) -> Result<CString, PmixStatus> {
    CString::new(text).map_err(|_| BAD_PARAMETER)
}

/// The attribute `name`, set to true.
fn flag(name: &str) -> RawInfo {
    let mut data = RawData { room: [0; 3] };
    data.flag = true;
    attribute(name, kind::BOOL, data)
}

/// The key of a structure; the library reads it to its end.
fn key_field(name: &str) -> Result<[u8; 512], PmixStatus> {
    let mut key = [0; 512];
    let is_good = (1..=KEY_MAX).contains(&name.len()) && !name.contains('\0');
    let room = key.get_mut(..name.len()).filter(|_| is_good).ok_or(BAD_PARAMETER)?;
    room.copy_from_slice(name.as_bytes());
    Ok(key)
}

/// An attribute of the standard.
fn attribute(name: &str, kind: u16, data: RawData) -> RawInfo {
    let key = key_field(name).expect("names of the standard fit");
    RawInfo { key, directives: 0, value: RawValue { kind, data } }
}

/// Converts `value` and frees it.
///
/// # Safety
/// `value` came from `PMIx_Get` and has no other user.
unsafe fn take_value(value: *mut RawValue) -> PmixValue {
    // SAFETY: the caller's promise. The library's own macros free a value with free(3) as well.
    unsafe {
        let told = take_data(&*value);
        libc::free(value.cast());
        told
    }
}

/// Converts `value` and frees what it owns.
///
/// # Safety
/// The library has filled `value`, and nothing else uses what it owns.
unsafe fn take_data(value: &RawValue) -> PmixValue {
    // SAFETY: the caller's promise; the type selects the member read. The library's own macros free a
    // text with free(3) as well. Memory that a value of another type owns is leaked, a few bytes.
    unsafe {
        let data = &value.data;
        match value.kind {
            kind::STRING if !data.text.is_null() => {
                let text = CStr::from_ptr(data.text).to_string_lossy().into_owned();
                libc::free(data.text.cast());
                PmixValue::Text(text)
            }
            kind::SIZE => PmixValue::Number(data.size as u64),
            kind::INT if data.signed >= 0 => PmixValue::Number(data.signed as u64),
            kind::UINT16 => PmixValue::Number(data.number16.into()),
            kind::UINT | kind::UINT32 | kind::PROC_RANK => PmixValue::Number(data.number32.into()),
            kind::UINT64 => PmixValue::Number(data.number64),
            other => PmixValue::Other(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_none_is_refused_in_words() {
        let missing = PmixLibrary::open(Path::new("/nonexistent/libpmix.so.2")).unwrap_err();
        assert!(missing.contains("/nonexistent/libpmix.so.2"), "{missing}");
        let other = PmixLibrary::open(Path::new("libc.so.6")).unwrap_err();
        assert!(other.contains("PMIx_Init"), "{other}");
    }

    #[test]
    fn values_are_read_by_their_type() {
        let allocated = |kind, data| {
            // SAFETY: allocates one value, initialized before it is used, freed by `take_value`.
            unsafe {
                let value = libc::malloc(size_of::<RawValue>()).cast::<RawValue>();
                value.write(RawValue { kind, data });
                take_value(value)
            }
        };
        // SAFETY: a copy of a C string, which `take_value` frees.
        let words = unsafe { libc::strdup(c"0,1".as_ptr()) };
        let read = allocated(kind::STRING, RawData { text: words });
        assert_eq!(read, PmixValue::Text("0,1".to_owned()));
        assert_eq!(allocated(kind::UINT32, RawData { number32: 4 }), PmixValue::Number(4));
        assert_eq!(allocated(kind::INT, RawData { signed: -1 }), PmixValue::Other(kind::INT));
        assert_eq!(allocated(kind::BOOL, RawData { flag: true }), PmixValue::Other(kind::BOOL));
    }

    #[test]
    fn a_key_that_does_not_fit_is_refused() {
        assert_eq!(key_field("a").unwrap()[..2], *b"a\0");
        assert!(key_field(&"k".repeat(KEY_MAX)).is_ok());
        for bad in [String::new(), "k".repeat(KEY_MAX + 1), "k".repeat(600), "a\0b".to_owned()] {
            assert_eq!(key_field(&bad), Err(BAD_PARAMETER), "{bad:?}");
        }
    }

    #[test]
    fn success_has_two_numbers() {
        assert_eq!(
            (check_status(0), check_status(-157), check_status(-25)),
            (Ok(()), Ok(()), Err(UNREACHABLE))
        );
    }
}
