//! Loading libfabric, and choosing a provider.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr;

use libloading::os::unix::Library;

use super::FabricOffer;
use super::remote::AccessChoice;
use super::tables::*;
use crate::sys::thread::naming_helpers;
use crate::sys::vendor::message_of;

/// The name under which the loader finds the library.
const DEFAULT_NAME: &str = "libfabric.so.1";
/// The newest version of the interface whose behaviour is known: 1.18.
const VERSION_MAX: u32 = 1 << 16 | 18;

/// What a provider is to offer.
#[derive(Clone, Copy)]
struct WantedOffer {
    caps: u64,
    progress: c_int,
    memory_modes: c_int,
    /// As the end of a sentence about the provider.
    what: &'static str,
}

/// An endpoint of tagged messages.
const MESSAGES: WantedOffer = WantedOffer {
    caps: CAPS,
    progress: MANUAL,
    memory_modes: MEMORY_MODES,
    what: "carries tagged messages in their order",
};

/// The functions that the library exports.
pub(super) struct FabricFunctions {
    version: unsafe extern "C" fn() -> u32,
    get_info: unsafe extern "C" fn(
        u32,
        *const c_char,
        *const c_char,
        u64,
        *mut FabricInfo,
        *mut *mut FabricInfo,
    ) -> c_int,
    free_info: unsafe extern "C" fn(*mut FabricInfo),
    duplicate_info: unsafe extern "C" fn(*mut FabricInfo) -> *mut FabricInfo,
    pub(super) fabric: unsafe extern "C" fn(
        *mut FabricAttributes,
        *mut *mut FabricObject,
        *mut std::ffi::c_void,
    ) -> c_int,
    error_text: unsafe extern "C" fn(c_int) -> *const c_char,
}

impl FabricFunctions {
    /// Loads the library from `path`, or from where the loader finds it. It stays for ever: it may have threads.
    /// The handlers of signals are those of before: libraries that it loads install theirs.
    ///
    /// # Errors
    /// A sentence of the loader.
    pub(super) fn load(path: Option<&Path>) -> Result<Self, String> {
        let path = path.unwrap_or_else(|| Path::new(DEFAULT_NAME));
        let flags = libc::RTLD_NOW | libc::RTLD_LOCAL;
        let loaded = keeping_signal_handlers(|| {
            // SAFETY: loading runs the initializers of the library, which the user has chosen.
            naming_helpers(|| unsafe { Library::open(Some(path), flags) })
        });
        let library = loaded.map_err(|error| message_of(&error))?;
        // SAFETY: the signatures are those of libfabric for these names.
        let functions = unsafe { Self::of(&library) }.map_err(|error| message_of(&error))?;
        std::mem::forget(library);
        Ok(functions)
    }

    /// # Safety
    /// The library is libfabric.
    unsafe fn of(library: &Library) -> Result<Self, libloading::Error> {
        // SAFETY: the caller's promise.
        unsafe {
            Ok(Self {
                version: *library.get(b"fi_version")?,
                get_info: *library.get(b"fi_getinfo")?,
                free_info: *library.get(b"fi_freeinfo")?,
                duplicate_info: *library.get(b"fi_dupinfo")?,
                fabric: *library.get(b"fi_fabric")?,
                error_text: *library.get(b"fi_strerror")?,
            })
        }
    }

    /// The version of the library: `1.17`.
    pub(super) fn version(&self) -> String {
        // SAFETY: no arguments.
        let version = unsafe { (self.version)() };
        format!("{}.{}", version >> 16, version & 0xffff)
    }

    /// The library's sentence about an error, whatever its sign.
    pub(super) fn error(&self, code: isize) -> String {
        let code = c_int::try_from(code.unsigned_abs()).unwrap_or(c_int::MAX);
        // SAFETY: a number; the text is static, or null.
        let text = unsafe { (self.error_text)(code) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: a text of the library, ended by a zero.
        let text = unsafe { CStr::from_ptr(text) };
        format!("{} (error {code})", text.to_string_lossy())
    }

    /// What the best provider offers for an endpoint of tagged messages, of `provider` only if there is a name.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn choose(&self, provider: Option<&str>) -> Result<FoundInfo<'_>, String> {
        let plain = self.choose_with(provider, MESSAGES);
        if provider.is_some() && plain.is_ok() {
            return plain;
        }
        // Some providers register memory by themselves if they are not told that it is.
        let wanted = WantedOffer { memory_modes: MEMORY_MODES | REGISTERS_OWN, ..MESSAGES };
        match (self.choose_with(provider, wanted), plain) {
            (Ok(found), Ok(plain)) => {
                let is_other = found.demands_own() && !plain.all().contains(&found.first());
                Ok(if is_other { found } else { plain })
            }
            (Ok(found), Err(_)) => Ok(found),
            (Err(_), plain) => plain,
        }
    }

    /// What the best provider offers for an endpoint of deferred work, of `provider` only if there is a name.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn choose_for_work(&self, provider: Option<&str>) -> Result<FoundInfo<'_>, String> {
        let work = WantedOffer {
            caps: CAPS | REMOTE_CAPS | WORK_CAPS,
            progress: AUTOMATIC,
            // Peers derive the keys of memory, and count from its first byte.
            memory_modes: (MEMORY_MODES | ENABLES_COUNTED) & !(BY_ADDRESS | CHOOSES_KEYS),
            what: "starts work at levels of counters",
        };
        self.choose_with(provider, work)
    }

    /// The first of these offers with access to memory of peers, if its provider has that, and is to make it; else the
    /// offers as they are.
    pub(super) fn with_remote_access<'a>(
        &'a self, plain: FoundInfo<'a>, access: AccessChoice,
    ) -> FoundInfo<'a> {
        let offer = plain.first();
        if !access.admits(&offer.provider) {
            return plain;
        }
        let own = if plain.demands_own() { REGISTERS_OWN } else { 0 };
        let memory_modes = MEMORY_MODES | own;
        let wanted = WantedOffer { caps: CAPS | REMOTE_CAPS, memory_modes, ..MESSAGES };
        match self.choose_with(Some(&offer.provider), wanted) {
            Ok(found) if found.first() == offer && found.tag_bits() == plain.tag_bits() => found,
            Ok(_) | Err(_) => plain,
        }
    }

    fn choose_with(
        &self, provider: Option<&str>, wanted: WantedOffer,
    ) -> Result<FoundInfo<'_>, String> {
        let name = provider.map(CString::new).transpose();
        let name = name.map_err(|_| "the name of a provider has no zero".to_owned())?;
        // SAFETY: null asks for an empty one, which has all its parts.
        let hints = unsafe { (self.duplicate_info)(ptr::null_mut()) };
        if hints.is_null() {
            return Err("libfabric has no memory".to_owned());
        }
        let hints = FoundInfo { functions: self, info: hints };
        // SAFETY: the library has made all parts. It frees the name by free(3).
        unsafe {
            let info = hints.info;
            (*info).caps = wanted.caps;
            (*info).mode = CONTEXT_MODES;
            (*(*info).sends).message_order = ORDER_SEND_AFTER_SEND;
            (*(*info).receives).message_order = ORDER_SEND_AFTER_SEND;
            (*(*info).endpoint).kind = RELIABLE_DATAGRAMS;
            let domain = (*info).domain;
            (*domain).threading = ONE_CALL;
            (*domain).control_progress = wanted.progress;
            (*domain).data_progress = wanted.progress;
            (*domain).resource_management = GUARDED_QUEUES;
            (*domain).address_kind = ADDRESS_TABLE;
            (*domain).memory_mode = wanted.memory_modes;
            if let Some(name) = &name {
                (*(*info).fabric).provider = libc::strdup(name.as_ptr());
            }
        }
        let mut found = ptr::null_mut();
        // SAFETY: the hints are complete; a place for the answer.
        let status = keeping_signal_handlers(|| {
            naming_helpers(|| unsafe {
                let version = (self.version)().min(VERSION_MAX);
                let none = ptr::null();
                (self.get_info)(version, none, none, 0, hints.info, &raw mut found)
            })
        });
        match status {
            0 if !found.is_null() => Ok(FoundInfo { functions: self, info: found }),
            NO_DATA => Err(match provider {
                Some(name) => format!(
                    "libfabric {} has no provider {name} here that {}",
                    self.version(),
                    wanted.what
                ),
                None => {
                    format!("libfabric {} has no provider here that can be used", self.version())
                }
            }),
            other => Err(format!("fi_getinfo fails: {}", self.error(other as isize))),
        }
    }
}

/// A list of offers of the library.
pub(super) struct FoundInfo<'a> {
    functions: &'a FabricFunctions,
    pub(super) info: *mut FabricInfo,
}

impl FoundInfo<'_> {
    /// The first one.
    pub(super) fn first(&self) -> FabricOffer {
        // SAFETY: the library has made all parts; names are texts or null.
        unsafe { offer(self.info) }
    }

    /// All, each once.
    pub(super) fn all(&self) -> Vec<FabricOffer> {
        let (mut info, mut all) = (self.info, Vec::new());
        while !info.is_null() {
            // SAFETY: as above; the last one has no next.
            let (one, next) = unsafe { (offer(info), (*info).next) };
            if !all.contains(&one) {
                all.push(one);
            }
            info = next;
        }
        all
    }

    /// The longest message that the first provider copies at once, in bytes.
    pub(super) fn inject_max(&self) -> usize {
        // SAFETY: as above.
        unsafe { (*(*self.info).sends).inject_max }
    }

    /// The most parts of a message from several places.
    pub(super) fn parts_max(&self) -> usize {
        // SAFETY: as above.
        unsafe { (*(*self.info).sends).parts_max }
    }

    /// The receives that the first provider takes; none if it does not say.
    pub(super) fn receives_max(&self) -> Option<usize> {
        // SAFETY: as above.
        let size = unsafe { (*(*self.info).receives).size };
        (size > 0).then_some(size)
    }

    /// Whether the first provider demands that memory of messages is registered.
    pub(super) fn demands_own(&self) -> bool {
        // SAFETY: as above.
        unsafe { (*(*self.info).domain).memory_mode & REGISTERS_OWN != 0 }
    }

    /// The bits of a tag that the first provider matches.
    pub(super) fn tag_bits(&self) -> u32 {
        // SAFETY: as above.
        let format = unsafe { (*(*self.info).endpoint).tag_format };
        u64::BITS - format.leading_zeros()
    }
}

impl Drop for FoundInfo<'_> {
    fn drop(&mut self) {
        // SAFETY: a list of the library, freed once.
        unsafe { (self.functions.free_info)(self.info) };
    }
}

/// # Safety
/// `info` is an offer of the library.
unsafe fn offer(info: *mut FabricInfo) -> FabricOffer {
    // SAFETY: the caller's promise.
    unsafe {
        let provider = text_at((*(*info).fabric).provider);
        FabricOffer { provider, domain: text_at((*(*info).domain).name) }
    }
}

/// # Safety
/// `text` is null or ends with a zero.
unsafe fn text_at(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Calls `body`, and undoes what it changes about the handling of signals.
pub(super) fn keeping_signal_handlers<T>(body: impl FnOnce() -> T) -> T {
    let before: Vec<_> = (1..32)
        .filter_map(|signal| {
            let mut action = MaybeUninit::<libc::sigaction>::uninit();
            // SAFETY: null changes nothing; a place for the answer, which is filled on success.
            unsafe {
                let found = libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) == 0;
                found.then(|| (signal, action.assume_init()))
            }
        })
        .collect();
    let result = body();
    for (signal, action) in before {
        // SAFETY: the handling of this signal until now.
        unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
    }
    result
}
