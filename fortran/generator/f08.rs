//! The entry points of module `mpi_f08` for routines with choice buffers.
//!
//! ```text
//!  mpi_x_f08ts_ ──jmp──> pmpi_x_f08ts_ ── addresses, datatypes ──> pmpi_x_     (the body of mpif.h)
//!  mpi_x_c_f08ts_ ─jmp─> pmpi_x_c_f08ts_ ─────────────────────────> large::x   (made for it)
//! ```
//!
//! `src/f08` has descriptors, and makes datatypes of array sections.

use std::collections::BTreeMap;

use super::entry::{EntryForm, Tables, jumps};
use super::table::{Argument, Kind, Routine, RoutineRole};

/// Routines with a datatype for each peer, and those without a C function; `src/f08` has them.
const BY_HAND: &[&str] = &[
    "MPI_Alltoallw",
    "MPI_Alltoallw_init",
    "MPI_F_sync_reg",
    "MPI_Ialltoallw",
    "MPI_Ineighbor_alltoallw",
    "MPI_Neighbor_alltoallw",
    "MPI_Neighbor_alltoallw_init",
    "MPI_Sizeof",
];

/// Buffers of packed bytes, which have no datatype.
const PACKED: &[(&str, &str)] = &[
    ("MPI_Pack", "outbuf"),
    ("MPI_Pack_external", "outbuf"),
    ("MPI_Unpack", "inbuf"),
    ("MPI_Unpack_external", "inbuf"),
];

/// Routines that need only the address of a buffer.
const ADDRESS_ONLY: &[&str] = &["MPI_Free_mem", "MPI_Get_address", "MPI_Win_detach"];

/// The Rust module with these entry points.
pub(crate) fn render(
    routines: &[Routine], kinds: &BTreeMap<String, Kind>, tables: &Tables,
) -> String {
    let (mut bodies, mut large, mut twins) = (String::new(), String::new(), String::new());
    let made = |routine: &&Routine| {
        let by_hand = BY_HAND.contains(&routine.name.as_str());
        routine.role == RoutineRole::Routine
            && routine.languages.f08
            && routine.has_buffer()
            && !by_hand
    };
    for routine in routines.iter().filter(made) {
        let name = routine.name.to_lowercase();
        let plain: Vec<_> = routine.f08_arguments(false).collect();
        bodies += &body(routine, &plain, &format!("p{name}_f08ts_"), &format!("p{name}_"));
        twins += &jumps(&[format!("{name}_f08ts_")], &format!("p{name}_f08ts_"));
        if routine.has_large(kinds) {
            let all: Vec<_> = routine.f08_arguments(true).collect();
            let symbol = format!("p{name}_c_f08ts_");
            bodies += &body(routine, &all, &symbol, &format!("large::{name}"));
            twins += &jumps(&[format!("{name}_c_f08ts_")], &symbol);
            // The only caller.
            large += &tables
                .body(routine, EntryForm::Large, &name)
                .replace("#[unsafe(no_mangle)]\n", "");
        }
    }
    format!("{bodies}mod large {{\n    use super::*;\n{large}}}\njumps! {{\n{twins}}}\n")
}

/// A procedure with descriptors that calls `target`, which has addresses.
fn body(routine: &Routine, arguments: &[&Argument], symbol: &str, target: &str) -> String {
    let (mut parameters, mut lines, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut lengths = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        let name = &argument.name;
        match argument.kind.as_str() {
            "BUFFER" => {
                parameters.push(format!("{name}: *const Descriptor"));
                lines.push(format!("let {name} = &*{name};"));
                lines.extend(check(routine, arguments, index));
                values.push(format!("{name}.address()"));
            }
            "STRING" => {
                parameters.push(format!("{name}: *const Descriptor"));
                values.push(format!("(*{name}).address().cast()"));
                lengths.push(format!("(*{name}).element_bytes()"));
            }
            "DATATYPE" => {
                parameters.push(format!("{name}: *const Fint"));
                let buffers = buffers_of(routine, arguments, index);
                if buffers.is_empty() {
                    values.push(name.clone());
                } else {
                    lines.push(format!(
                        "let {name} = Elements::of({name}, [{}]);",
                        buffers.join(", ")
                    ));
                    values.push(format!("{name}.number()"));
                }
            }
            _ if name == "ierror" => {
                parameters.push("ierror: *mut Fint".to_owned());
                values.push("ierror".to_owned());
            }
            _ => {
                parameters.push(format!("{name}: *mut c_void"));
                values.push(format!("{name}.cast()"));
            }
        }
    }
    values.extend(lengths);
    format!(
        "/// `{}` with descriptors.\n#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {symbol}({}) {{\n    \
         // SAFETY: the compiler made the descriptors; all else is the caller's promise.\n    \
         unsafe {{\n        {}\n        {target}({});\n    }}\n}}\n",
        routine.name,
        parameters.join(", "),
        lines.join("\n        "),
        values.join(", "),
    )
}

/// The position of a buffer's datatype: the next one.
fn datatype_of(routine: &Routine, arguments: &[&Argument], buffer: usize) -> Option<usize> {
    let name = arguments[buffer].name.as_str();
    if PACKED.contains(&(routine.name.as_str(), name)) {
        return None;
    }
    let behind = arguments[buffer..].iter().position(|argument| argument.kind == "DATATYPE")?;
    Some(buffer + behind)
}

/// The buffers that have elements of a datatype.
fn buffers_of<'a>(routine: &Routine, arguments: &[&'a Argument], datatype: usize) -> Vec<&'a str> {
    let is_of = |index: &usize| datatype_of(routine, arguments, *index) == Some(datatype);
    let is_buffer = |index: &usize| arguments[*index].kind == "BUFFER";
    let places = (0..arguments.len()).filter(is_buffer).filter(is_of);
    places.map(|index| arguments[index].name.as_str()).collect()
}

/// A check that a buffer without a datatype is contiguous, if its bytes are used.
fn check(routine: &Routine, arguments: &[&Argument], buffer: usize) -> Option<String> {
    let only_address = ADDRESS_ONLY.contains(&routine.name.as_str());
    let is_typed = datatype_of(routine, arguments, buffer).is_some();
    let used = !is_typed && !only_address && !routine.name.ends_with("_end");
    let name = &arguments[buffer].name;
    used.then(|| format!("if !{name}.must_be_adjacent(ierror) {{\n            return;\n        }}"))
}
