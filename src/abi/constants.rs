//! The integer constants of the standard ABI that are not error classes (`base::ErrorClass`).
//!
//! Values: MPI 5.0, chapter 20; checked against `tests/data/abi_constants.tsv`.

use std::ffi::c_int;

macro_rules! constants {
    ($($name:ident = $value:literal;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of `mpi.h`.")]
            pub const $name: c_int = $value;
        )*

        /// Every constant of this module with its value.
        pub const ALL: &[(&str, i64)] = &[$((stringify!($name), $value),)*];
    };
}

constants! {
    MPI_VERSION = 5;
    MPI_SUBVERSION = 0;
    MPI_ABI_VERSION = 1;
    MPI_ABI_SUBVERSION = 0;
    MPI_F_STATUS_SIZE = 8;
    MPI_F_SOURCE = 0;
    MPI_F_TAG = 1;
    MPI_F_ERROR = 2;
    MPI_SUCCESS = 0;
    MPI_T_ERR_CANNOT_INIT = 1001;
    MPI_T_ERR_NOT_ACCESSIBLE = 1002;
    MPI_T_ERR_NOT_INITIALIZED = 1003;
    MPI_T_ERR_NOT_SUPPORTED = 1004;
    MPI_T_ERR_MEMORY = 1005;
    MPI_T_ERR_INVALID = 1006;
    MPI_T_ERR_INVALID_INDEX = 1007;
    MPI_T_ERR_INVALID_ITEM = 1008;
    MPI_T_ERR_INVALID_SESSION = 1009;
    MPI_T_ERR_INVALID_HANDLE = 1010;
    MPI_T_ERR_INVALID_NAME = 1011;
    MPI_T_ERR_OUT_OF_HANDLES = 1012;
    MPI_T_ERR_OUT_OF_SESSIONS = 1013;
    MPI_T_ERR_CVAR_SET_NOT_NOW = 1014;
    MPI_T_ERR_CVAR_SET_NEVER = 1015;
    MPI_T_ERR_PVAR_NO_WRITE = 1016;
    MPI_T_ERR_PVAR_NO_STARTSTOP = 1017;
    MPI_T_ERR_PVAR_NO_ATOMIC = 1018;
    MPI_ERR_LASTCODE = 16383;
    MPI_MAX_DATAREP_STRING = 128;
    MPI_MAX_ERROR_STRING = 512;
    MPI_MAX_INFO_KEY = 256;
    MPI_MAX_INFO_VAL = 1024;
    MPI_MAX_LIBRARY_VERSION_STRING = 8192;
    MPI_MAX_OBJECT_NAME = 128;
    MPI_MAX_PORT_NAME = 1024;
    MPI_MAX_PROCESSOR_NAME = 256;
    MPI_MAX_STRINGTAG_LEN = 1024;
    MPI_MAX_PSET_NAME_LEN = 1024;
    MPI_BSEND_OVERHEAD = 512;
    MPI_MODE_APPEND = 1;
    MPI_MODE_CREATE = 2;
    MPI_MODE_DELETE_ON_CLOSE = 4;
    MPI_MODE_EXCL = 8;
    MPI_MODE_RDONLY = 16;
    MPI_MODE_RDWR = 32;
    MPI_MODE_SEQUENTIAL = 64;
    MPI_MODE_UNIQUE_OPEN = 128;
    MPI_MODE_WRONLY = 256;
    MPI_MODE_NOCHECK = 1024;
    MPI_MODE_NOPRECEDE = 2048;
    MPI_MODE_NOPUT = 4096;
    MPI_MODE_NOSTORE = 8192;
    MPI_MODE_NOSUCCEED = 16384;
    MPI_ANY_SOURCE = -1;
    MPI_ANY_TAG = -2;
    MPI_PROC_NULL = -3;
    MPI_ROOT = -4;
    MPI_UNDEFINED = -32766;
    MPI_THREAD_SINGLE = 0;
    MPI_THREAD_FUNNELED = 1024;
    MPI_THREAD_SERIALIZED = 2048;
    MPI_THREAD_MULTIPLE = 4096;
    MPI_ORDER_C = 12;
    MPI_ORDER_FORTRAN = 15;
    MPI_DISTRIBUTE_NONE = 16;
    MPI_DISTRIBUTE_BLOCK = 17;
    MPI_DISTRIBUTE_CYCLIC = 18;
    MPI_DISTRIBUTE_DFLT_DARG = 19;
    MPI_COMBINER_NAMED = 101;
    MPI_COMBINER_DUP = 102;
    MPI_COMBINER_CONTIGUOUS = 103;
    MPI_COMBINER_VECTOR = 104;
    MPI_COMBINER_HVECTOR = 105;
    MPI_COMBINER_INDEXED = 106;
    MPI_COMBINER_HINDEXED = 107;
    MPI_COMBINER_INDEXED_BLOCK = 108;
    MPI_COMBINER_HINDEXED_BLOCK = 109;
    MPI_COMBINER_STRUCT = 110;
    MPI_COMBINER_SUBARRAY = 111;
    MPI_COMBINER_DARRAY = 112;
    MPI_COMBINER_F90_REAL = 113;
    MPI_COMBINER_F90_COMPLEX = 114;
    MPI_COMBINER_F90_INTEGER = 115;
    MPI_COMBINER_RESIZED = 116;
    MPI_COMBINER_VALUE_INDEX = 117;
    MPIX_TYPECLASS_LOGICAL = 191;
    MPI_TYPECLASS_INTEGER = 192;
    MPI_TYPECLASS_REAL = 193;
    MPI_TYPECLASS_COMPLEX = 194;
    MPI_IDENT = 201;
    MPI_CONGRUENT = 202;
    MPI_SIMILAR = 203;
    MPI_UNEQUAL = 204;
    MPI_CART = 211;
    MPI_GRAPH = 212;
    MPI_DIST_GRAPH = 213;
    MPI_COMM_TYPE_SHARED = 221;
    MPI_COMM_TYPE_HW_UNGUIDED = 222;
    MPI_COMM_TYPE_HW_GUIDED = 223;
    MPI_COMM_TYPE_RESOURCE_GUIDED = 224;
    MPI_LOCK_EXCLUSIVE = 301;
    MPI_LOCK_SHARED = 302;
    MPI_WIN_FLAVOR_CREATE = 311;
    MPI_WIN_FLAVOR_ALLOCATE = 312;
    MPI_WIN_FLAVOR_DYNAMIC = 313;
    MPI_WIN_FLAVOR_SHARED = 314;
    MPI_WIN_UNIFIED = 321;
    MPI_WIN_SEPARATE = 322;
    MPI_SEEK_CUR = 401;
    MPI_SEEK_END = 402;
    MPI_SEEK_SET = 403;
    MPI_DISPLACEMENT_CURRENT = -1;
    MPI_KEYVAL_INVALID = 0;
    MPI_TAG_UB = 501;
    MPI_IO = 502;
    MPI_HOST = 503;
    MPI_WTIME_IS_GLOBAL = 504;
    MPI_APPNUM = 505;
    MPI_LASTUSEDCODE = 506;
    MPI_UNIVERSE_SIZE = 507;
    MPI_WIN_BASE = 601;
    MPI_WIN_DISP_UNIT = 602;
    MPI_WIN_SIZE = 603;
    MPI_WIN_CREATE_FLAVOR = 604;
    MPI_WIN_MODEL = 605;
    MPI_T_CB_REQUIRE_NONE = 0;
    MPI_T_CB_REQUIRE_MPI_RESTRICTED = 3;
    MPI_T_CB_REQUIRE_THREAD_SAFE = 15;
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE = 63;
    MPI_T_SOURCE_ORDERED = 1;
    MPI_T_SOURCE_UNORDERED = 2;
    MPI_T_VERBOSITY_USER_BASIC = 9;
    MPI_T_VERBOSITY_USER_DETAIL = 10;
    MPI_T_VERBOSITY_USER_ALL = 12;
    MPI_T_VERBOSITY_TUNER_BASIC = 17;
    MPI_T_VERBOSITY_TUNER_DETAIL = 18;
    MPI_T_VERBOSITY_TUNER_ALL = 20;
    MPI_T_VERBOSITY_MPIDEV_BASIC = 33;
    MPI_T_VERBOSITY_MPIDEV_DETAIL = 34;
    MPI_T_VERBOSITY_MPIDEV_ALL = 36;
    MPI_T_BIND_NO_OBJECT = 1;
    MPI_T_BIND_MPI_COMM = 2;
    MPI_T_BIND_MPI_DATATYPE = 3;
    MPI_T_BIND_MPI_ERRHANDLER = 4;
    MPI_T_BIND_MPI_FILE = 5;
    MPI_T_BIND_MPI_GROUP = 6;
    MPI_T_BIND_MPI_OP = 7;
    MPI_T_BIND_MPI_REQUEST = 8;
    MPI_T_BIND_MPI_WIN = 9;
    MPI_T_BIND_MPI_MESSAGE = 10;
    MPI_T_BIND_MPI_INFO = 11;
    MPI_T_BIND_MPI_SESSION = 12;
    MPI_T_SCOPE_CONSTANT = 1;
    MPI_T_SCOPE_READONLY = 2;
    MPI_T_SCOPE_LOCAL = 3;
    MPI_T_SCOPE_GROUP = 4;
    MPI_T_SCOPE_GROUP_EQ = 5;
    MPI_T_SCOPE_ALL = 6;
    MPI_T_SCOPE_ALL_EQ = 7;
    MPI_T_PVAR_CLASS_STATE = 1;
    MPI_T_PVAR_CLASS_LEVEL = 2;
    MPI_T_PVAR_CLASS_SIZE = 3;
    MPI_T_PVAR_CLASS_PERCENTAGE = 4;
    MPI_T_PVAR_CLASS_HIGHWATERMARK = 5;
    MPI_T_PVAR_CLASS_LOWWATERMARK = 6;
    MPI_T_PVAR_CLASS_COUNTER = 7;
    MPI_T_PVAR_CLASS_AGGREGATE = 8;
    MPI_T_PVAR_CLASS_TIMER = 9;
    MPI_T_PVAR_CLASS_GENERIC = 10;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::handles;
    use super::*;
    use platform::base::ErrorClass;

    /// Constants of the table that only C has: null callbacks and null argument lists.
    const C_ONLY: &[&str] = &["_FN", "_FN_NULL", "_FN_NULL_C", "MPI_ARGV_NULL", "MPI_ARGVS_NULL"];

    /// Name and value of each constant of the ABI.
    fn table() -> BTreeMap<&'static str, i64> {
        let lines = include_str!("../../tests/data/abi_constants.tsv").lines().skip(1);
        lines
            .map(|line| {
                let mut fields = line.split('\t');
                let (name, value) = (fields.next().unwrap(), fields.nth(1).unwrap());
                let parsed = match value.strip_prefix("0x") {
                    Some(digits) => i64::from_str_radix(digits, 16),
                    None => value.parse(),
                };
                (name, parsed.unwrap())
            })
            .collect()
    }

    #[test]
    fn classes_of_extensions_are_those_of_their_header() {
        let header = include_str!("../../include/mpi-ext.h");
        for class in ErrorClass::ALL.iter().filter(|class| class.name().starts_with("MPIX_")) {
            let line = format!("#define {} {}\n", class.name(), *class as i32);
            assert!(header.contains(&line), "{line}");
        }
    }

    #[test]
    fn every_constant_has_the_value_of_the_abi() {
        let all = ErrorClass::ALL.iter().map(|class| (class.name(), *class as i64));
        let classes = all.filter(|(name, _)| !name.starts_with("MPIX_"));
        let ours: BTreeMap<_, _> = ALL.iter().chain(handles::ALL).copied().chain(classes).collect();
        let table = table();
        for (name, value) in &ours {
            assert_eq!(table.get(name), Some(value), "{name}");
        }
        for name in table.keys().filter(|name| !C_ONLY.iter().any(|end| name.ends_with(end))) {
            assert!(ours.contains_key(name), "{name} is missing");
        }
    }
}
