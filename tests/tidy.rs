//! Structure of the code: dependencies of layers, places of `unsafe` and statics, lengths of files.
//! A failure has the form `path:line: reason`.

#[path = "../generator/functions.rs"]
mod functions;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use functions::{Body, Function, functions};

/// Each layer and the layers that it may name besides itself.
const LAYERS: &[(&str, &[&str])] = &[
    // The member `platform`.
    ("base", &[]),
    ("sys", &["base"]),
    ("diagnosis", &["base", "sys", "bootstrap"]),
    ("bootstrap", &["base", "sys"]),
    ("network", &["sys::network_interfaces"]),
    ("names", &["base", "sys", "bootstrap", "network"]),
    ("impi", &["base", "sys", "network"]),
    // The library. Between members, cargo checks the dependencies.
    ("offload", &["base"]),
    // A fence for other processes is a system call.
    ("shared_memory", &["base", "sys::membarrier"]),
    // The conformance suite asks whether a descriptor is readable.
    ("device", &["base", "offload", "shared_memory", "sys::poll"]),
    (
        "devices",
        &["base", "offload", "shared_memory", "device", "diagnosis", "network", "sys", "impi"],
    ),
    ("engine", &["base", "diagnosis", "offload", "device"]),
    // Reads the packets of the engine, as no device does.
    (
        "bridge",
        &[
            "base",
            "impi",
            "device",
            "devices::impi",
            "engine::point_to_point::operation",
            "engine::point_to_point::wire",
        ],
    ),
    // The basic layer of ACP, beside MPI.
    (
        "global_memory",
        &["base", "engine", "device::Device", "device::rma", "shared_memory::primitive"],
    ),
    // MPI is generic over the device, and knows what stands in memory that a device shares. Windows have
    // memory that a device lets others map.
    (
        "mpi",
        &[
            "base",
            "offload",
            "engine",
            "global_memory",
            "device::Device",
            "device::near_memory",
            "device::reach",
            "device::rma",
            "shared_memory",
            "diagnosis",
        ],
    ),
    (
        "process",
        &[
            "base",
            "sys",
            "diagnosis",
            "shared_memory",
            "offload",
            "device",
            "devices",
            "engine",
            "global_memory",
            "mpi",
            "bootstrap",
            "names",
            "network",
            "impi",
            "bridge",
        ],
    ),
    // `MPI_Wtime` works before the process is initialized.
    ("abi", &["base", "diagnosis", "global_memory", "mpi", "process", "sys::clock"]),
];

/// The files that may contain `unsafe`; a folder stands for all its files.
const UNSAFE: &[&str] = &[
    // Entry points, as src/abi; calls of the library below; memory that other ranks write.
    "acp/src/c/",
    "acp/src/channel.rs",
    "acp/src/hooks.rs",
    "acp/src/messages.rs",
    "acp/src/segment_buffer.rs",
    "acp/src/work_space.rs",
    // Entry points, as src/abi.
    "fortran/src/",
    "fortran/tests/conversions.rs",
    "src/abi/",
    "platform/src/base/memory.rs",
    // Variables that a debugger reads and writes.
    "launch/src/bin/mpirun/debugger.rs",
    // Calls of the library by its C interface.
    "launch/tune/src/measure/library.rs",
    "src/engine/memory/mod.rs",
    "src/engine/memory/copier.rs",
    "src/engine/memory/owned.rs",
    "src/engine/memory/strided_copy.rs",
    "src/engine/memory/tests.rs",
    "src/engine/memory/typed.rs",
    // Memory of the tests.
    "src/device/conformance/rma/mod.rs",
    "src/devices/impi/packet_reader.rs",
    "src/devices/impi/tests/",
    "src/devices/tcp/frame_reader.rs",
    "src/devices/tcp/send_queue.rs",
    "src/devices/tcp/tests/",
    // Lock-free code under the model checker.
    "models/src/partitions.rs",
    "models/src/primitive.rs",
    "models/src/rings.rs",
    "models/src/segments.rs",
    "models/src/accumulates.rs",
    "models/src/window_calls.rs",
    "models/src/window_locks.rs",
    // What ranks of a node share: cells of the rings and rooms, and the rooms themselves.
    "src/shared_memory/",
    // The rooms of its ranks.
    "src/devices/loopback/mod.rs",
    "src/devices/local_interface/",
    "src/devices/rings/",
    "src/devices/shm/",
    "src/devices/tofu/",
    // Memory that another library reads and writes.
    "src/devices/carrier/port.rs",
    // Registered memory of the application, and memory that ranks share.
    "src/global_memory/directory.rs",
    "src/global_memory/front.rs",
    "src/mpi/op/kernels.rs",
    "src/mpi/op/pairs.rs",
    "src/mpi/op/x87.rs",
    // A value that stays for threads without the lock.
    "src/process/global_memory.rs",
    "src/process/lock/mod.rs",
    // The polling thread completes calls of waiting threads.
    "src/process/waiting/mod.rs",
    "platform/src/sys/",
    "platform/src/diagnosis/ended_ranks.rs",
    "platform/src/diagnosis/status_table.rs",
    "tests/datatypes.rs",
    // The memory of programs.
    "tests/offload/oracle.rs",
    "tests/offload/system.rs",
    "tests/ranks/",
];

/// The files outside `src/abi` that may have statics; each file gives the reason.
const STATICS: &[&str] =
    &["acp/src/c/basic.rs", "acp/src/library.rs", "launch/src/bin/mpirun/debugger.rs"];

/// Names forbidden in `engine` and `mpi`: time and threads are arguments.
const NOT_IN_THE_ENGINE: &[&str] = &["std::thread", "std::time::Instant", "SystemTime"];

/// Folders with code of the library and its programs.
const CODE: &[&str] =
    &["src", "generator", "platform", "launch", "models", "sim", "tests", "fortran", "acp"];

/// The table of functions.
const TABLE: &str = "generator/functions.tsv";

/// The members in which a type name is used once, all together: a name in a message, a backtrace or
/// a search leads to one definition.
const ONE_NAME: &[&str] = &[
    "src",
    "platform/src",
    "launch/src",
    "launch/info/src",
    "launch/tune/src",
    "sim/src",
    "acp/src",
];

/// Type names with several definitions, and the reasons.
const SHARED_NAMES: &[(&str, &str)] = &[];

/// Names of the standard library that a type must not hide.
const OF_THE_STANDARD_LIBRARY: &[&str] = &[
    "Clone", "Copy", "Debug", "Default", "Drop", "Eq", "From", "Into", "Iterator", "Option", "Ord",
    "Ordering", "Send", "Sized", "String", "Sync", "Vec",
];

/// Longest file, in lines.
const LINES_MAX: usize = 800;

/// A line of code without its comment; a `use` is one line however it is formatted.
struct Line {
    number: usize,
    code: String,
}

/// The lines before the unit tests of a Rust file.
fn code(text: &str) -> Vec<Line> {
    let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let mut lines: Vec<Line> = Vec::new();
    let mut inside_use = false;
    for (index, line) in text[..tests].lines().enumerate() {
        let code = &line[..line.find("//").unwrap_or(line.len())];
        match lines.last_mut() {
            Some(start) if inside_use => start.code += code.trim(),
            _ => lines.push(Line { number: index + 1, code: code.to_string() }),
        }
        let begins = code.trim_start().trim_start_matches("pub ").starts_with("use ");
        inside_use = (inside_use || begins) && !code.contains(';');
    }
    lines
}

/// The structs, enums, unions, traits and aliases defined by code, with their lines; no associated
/// types.
fn types(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for Line { number, code } in code(text) {
        let is_inside = code.starts_with(char::is_whitespace);
        let mut words = code.split_whitespace().skip_while(|word| {
            word.starts_with("pub") || *word == "unsafe" || word.starts_with("crate::")
        });
        let (kind, name) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let is_type =
            matches!(kind, "struct" | "enum" | "union" | "trait") || kind == "type" && !is_inside;
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        if is_type && end > 0 {
            found.push((number, name[..end].to_string()));
        }
    }
    found
}

/// The paths that a line names below `crate::`, `platform::` or, relative to `module`, `super::`.
fn named(line: &str, module: &[&str]) -> Vec<String> {
    let mut paths = Vec::new();
    for root in ["crate::", "platform::"] {
        for (start, _) in line.match_indices(root) {
            paths.extend(expanded(&line[start + root.len()..]));
        }
    }
    for (start, _) in line.match_indices("super::") {
        if !line[..start].ends_with("super::") {
            let mut rest = &line[start..];
            let mut inside = module;
            while let Some(further) = rest.strip_prefix("super::") {
                rest = further;
                inside = &inside[..inside.len().saturating_sub(1)];
            }
            let prefix: String = inside.iter().map(|name| format!("{name}::")).collect();
            paths.extend(expanded(rest).into_iter().map(|path| prefix.clone() + &path));
        }
    }
    paths
}

/// `a::b` of `a::b;`, and both of `{a, b::c}`; names in nested braces are ignored.
fn expanded(rest: &str) -> Vec<String> {
    let path = |text: &str| {
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
        text[..end.unwrap_or(text.len())].to_string()
    };
    let Some(list) = rest.strip_prefix('{') else { return vec![path(rest)] };
    let mut depth = 1;
    let items = list.split_inclusive([',', '{', '}']).filter_map(|item| {
        let outermost = depth == 1;
        depth += item.matches('{').count();
        depth = usize::saturating_sub(depth, item.matches('}').count());
        outermost.then(|| path(item.trim_start()))
    });
    items.filter(|item| !item.is_empty()).collect()
}

/// `engine::run_progress` of `src/engine/engine.rs`, `engine` of `src/engine/mod.rs`.
fn module(path: &str) -> Vec<&str> {
    let path = path
        .trim_start_matches("platform/")
        .trim_start_matches("src/")
        .trim_end_matches(".rs")
        .trim_end_matches("/mod");
    path.split('/').collect()
}

/// Modules shared by devices, which all devices may name.
const OF_ALL_DEVICES: &[&str] =
    &["interface", "local_interface", "put_links", "rings", "torus", "work_links", ""];

/// Whether a module of `layer` and, for devices, of the device `own`, may name `path`.
fn allowed(layer: &str, own: Option<&str>, path: &str) -> bool {
    let mut parts = path.split("::");
    let (first, second) = (parts.next().unwrap(), parts.next().unwrap_or(""));
    if layer == "devices" && first == "devices" {
        return own.is_none_or(|own| own == second || OF_ALL_DEVICES.contains(&second));
    }
    let (_, below) = LAYERS.iter().find(|(name, _)| *name == layer).unwrap();
    let is_layer = LAYERS.iter().any(|(name, _)| *name == first);
    let part = |below: &&str| path == *below || path.starts_with(&format!("{below}::"));
    !is_layer || first == layer || below.iter().any(part)
}

fn check_imports(path: &str, text: &str, wrong: &mut Vec<String>) {
    // Unit tests may name a device.
    if path.ends_with("/tests.rs") {
        return;
    }
    let module = module(path);
    let Some((layer, _)) = LAYERS.iter().find(|(name, _)| *name == module[0]) else { return };
    let own = module.get(1).copied().filter(|_| *layer == "devices");
    for Line { number, code } in code(text) {
        for name in named(&code, &module) {
            if !allowed(layer, own, &name) {
                wrong.push(format!("{path}:{number}: {} names {name}", module.join("::")));
            }
        }
        let engine = matches!(*layer, "engine" | "mpi");
        for name in NOT_IN_THE_ENGINE.iter().filter(|name| engine && code.contains(**name)) {
            wrong.push(format!("{path}:{number}: {layer} names {name}"));
        }
    }
}

/// The folders whose files must not import each other in a circle.
const WITHOUT_CIRCLES: &[&str] = &["src/engine", "src/offload"];

/// `memory::Memory` of `pub use memory::Memory;`, whatever the first word is.
fn child(line: &str) -> Option<&str> {
    let (_, path) = line.split_once("use ").filter(|(before, _)| !before.contains('"'))?;
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    Some(path[..end.unwrap_or(path.len())].trim_end_matches(':'))
}

/// For each file, the files of the same list that it names.
fn imports(files: &[(String, String)]) -> Vec<BTreeSet<usize>> {
    let names: Vec<String> = files.iter().map(|(path, _)| module(path).join("::")).collect();
    let file_of = |path: &str| {
        let mut prefix = path.trim_end_matches("::");
        loop {
            if let Some(index) = names.iter().position(|name| name == prefix) {
                return Some(index);
            }
            prefix = &prefix[..prefix.rfind("::")?];
        }
    };
    let of_file = |(index, (path, text)): (usize, &(String, String))| {
        let module = module(path);
        let lines = code(text);
        let named = lines.iter().flat_map(|line| {
            let of_child = child(&line.code).map(|path| [&module.join("::"), "::", path].concat());
            named(&line.code, &module).into_iter().chain(of_child)
        });
        named.filter_map(|path| file_of(&path)).filter(|other| *other != index).collect()
    };
    files.iter().enumerate().map(of_file).collect()
}

/// Reports circular imports: files whose imports have all been removed are removed until none is
/// left; the remaining files form a circle.
fn check_circles(files: &[(String, String)], wrong: &mut Vec<String>) {
    let imports = imports(files);
    let mut left: BTreeSet<usize> = (0..files.len()).collect();
    while let Some(&free) = left.iter().find(|file| imports[**file].is_disjoint(&left)) {
        left.remove(&free);
    }
    let in_circle = |file: &usize| {
        let others = imports[*file].intersection(&left).map(|other| files[*other].0.as_str());
        format!("{}: in a circle, with {}", files[*file].0, others.collect::<Vec<_>>().join(", "))
    };
    wrong.extend(left.iter().map(in_circle));
}

fn check_statics(path: &str, text: &str, wrong: &mut Vec<String>) {
    if path.starts_with("src/abi/") || STATICS.contains(&path) {
        return;
    }
    for Line { number, code } in code(text) {
        let words: Vec<_> =
            code.split_whitespace().filter(|word| !word.starts_with("pub")).collect();
        if words.first() == Some(&"static") || code.contains("thread_local!") {
            wrong.push(format!("{path}:{number}: a static outside the written list"));
        }
    }
}

fn check_unsafe(path: &str, text: &str, wrong: &mut Vec<String>) {
    let listed = UNSAFE.iter().any(|place| path.starts_with(place));
    for (index, line) in text.lines().enumerate() {
        if !listed && line.contains("(unsafe_code)") {
            wrong.push(format!("{path}:{}: unsafe outside the written list", index + 1));
        }
    }
}

/// All files of a folder of the package, with their paths in it.
fn files(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut pending: Vec<PathBuf> = vec![root.join(folder)];
    while let Some(path) = pending.pop() {
        if let Ok(entries) = fs::read_dir(&path) {
            pending.extend(entries.map(|entry| entry.unwrap().path()));
        } else if let Ok(text) = fs::read_to_string(&path) {
            found.push((path.strip_prefix(root).unwrap().display().to_string(), text));
        }
    }
    found.sort();
    found
}

fn report(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn layers_statics_and_unsafe_are_where_they_belong() {
    let mut wrong = Vec::new();
    for (path, text) in ["src", "platform/src"].into_iter().flat_map(files) {
        check_imports(&path, &text, &mut wrong);
        check_statics(&path, &text, &mut wrong);
    }
    for (path, text) in CODE.iter().copied().flat_map(files) {
        if path != file!() {
            check_unsafe(&path, &text, &mut wrong);
        }
    }
    report(wrong);
}

/// Type names of `files` with two definitions, or that hide a name of the standard library.
fn check_type_names(files: &[(String, String)], wrong: &mut Vec<String>) {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    for (path, text) in files {
        for (line, name) in types(text) {
            let place = format!("{path}:{line}");
            if OF_THE_STANDARD_LIBRARY.contains(&name.as_str()) {
                wrong.push(format!("{place}: {name} hides a name of the standard library"));
            }
            let is_shared = SHARED_NAMES.iter().any(|(shared, _)| *shared == name);
            if let Some(other) = first.insert(name.clone(), place.clone())
                && !is_shared
            {
                wrong.push(format!("{place}: type {name} is defined at {other} too"));
            }
        }
    }
}

#[test]
fn a_type_name_stands_for_one_type() {
    // Unit tests in separate files are not visible elsewhere.
    let is_test = |path: &str| path.ends_with("/tests.rs");
    let files: Vec<_> = ONE_NAME.iter().copied().flat_map(files).collect();
    let files: Vec<_> = files.into_iter().filter(|(path, _)| !is_test(path)).collect();
    let mut wrong = Vec::new();
    check_type_names(&files, &mut wrong);
    for (name, why) in SHARED_NAMES {
        let count = files.iter().flat_map(|(_, text)| types(text)).filter(|(_, n)| n == name);
        if count.count() < 2 {
            wrong.push(format!("SHARED_NAMES: {name} ({why}) has one definition"));
        }
    }
    report(wrong);
}

/// Documentation pages whose paths must exist.
const PAGES: &[&str] = &["README.md", "CONTRIBUTING.md", "docs"];

/// Repository paths in backticks on a line of a page.
fn paths_named(line: &str) -> impl Iterator<Item = &str> {
    let is_path = |text: &&str| {
        let folders = CODE.iter().chain(&["c-tests", "scripts", "npb-harness", "chart", "docs"]);
        let starts = |folder: &&str| text.starts_with(&format!("{folder}/"));
        folders.into_iter().any(starts) && !text.contains(['*', ' '])
    };
    line.split('`').skip(1).step_by(2).filter(is_path)
}

#[test]
fn pages_name_what_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wrong = Vec::new();
    for (page, text) in PAGES.iter().copied().flat_map(files) {
        for (index, line) in text.lines().enumerate() {
            for path in paths_named(line).filter(|path| !root.join(path).exists()) {
                wrong.push(format!("{page}:{}: {path} does not exist", index + 1));
            }
        }
    }
    report(wrong);
    assert_eq!(
        paths_named("`src/mpi` and `npb`, `scripts/x --all`").collect::<Vec<_>>(),
        ["src/mpi"]
    );
}

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    let mut wrong = Vec::new();
    for folder in WITHOUT_CIRCLES {
        check_circles(&files(folder), &mut wrong);
    }
    report(wrong);
}

#[test]
fn a_circle_of_imports_is_found() {
    let found = |texts: [&str; 3]| {
        let paths = ["src/engine/mod.rs", "src/engine/memory/mod.rs", "src/engine/memory/typed.rs"];
        let files = paths.map(String::from).into_iter().zip(texts.map(String::from));
        let mut wrong = Vec::new();
        check_circles(&files.collect::<Vec<_>>(), &mut wrong);
        wrong.len()
    };
    let engine = "use crate::engine::memory::{\n    Memory,\n};\n";
    let memory = "use crate::engine::memory::typed::Typed;\n";
    assert_eq!(found([engine, memory, "use crate::device::Device; // crate::engine\n"]), 0);
    assert_eq!(found([engine, memory, "use super::{Layout, Memory};\n"]), 3);
    assert_eq!(found([engine, memory, "fn f(engine: &crate::engine::Engine) {}\n"]), 3);
    assert_eq!(found(["", memory, "use super::{Layout, Memory};\n"]), 2);
}

#[test]
fn a_module_is_one_file_or_one_folder() {
    let all: Vec<_> =
        CODE.iter().chain(&["npb-harness", "chart"]).copied().flat_map(files).collect();
    let has_folder = |path: &str| {
        let folder = path.trim_end_matches("rs").trim_end_matches('.').to_string() + "/";
        path.ends_with(".rs") && all.iter().any(|(other, _)| other.starts_with(&folder))
    };
    // The crate of a test is a file beside the folder of its modules.
    let wrong = all.iter().filter(|(path, _)| path.contains("src/") && has_folder(path));
    report(
        wrong.map(|(path, _)| format!("{path}:1: belongs into its folder, as mod.rs")).collect(),
    );
}

#[test]
fn files_are_short_and_finished() {
    let unfinished = [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["..", "shared"].join("/")];
    let mut wrong = Vec::new();
    for folder in CODE.iter().chain(&["c-tests", "benches", "npb-harness", "scripts"]) {
        for (path, text) in files(folder) {
            let lines = text.lines().count();
            if lines > LINES_MAX && !path.starts_with("tests/data/") {
                wrong.push(format!("{path}:{lines}: more than {LINES_MAX} lines"));
            }
            for (index, line) in text.lines().enumerate() {
                for word in unfinished.iter().filter(|word| line.contains(*word)) {
                    wrong.push(format!("{path}:{}: {word}", index + 1));
                }
            }
        }
    }
    report(wrong);
}

/// Each body written by hand has a line in the table of functions, and each line has a body.
fn check_bodies(files: &[(String, String)], functions: &[Function], wrong: &mut Vec<String>) {
    let mut written = BTreeSet::new();
    for (path, text) in files {
        for (index, line) in text.lines().enumerate() {
            let Some(rest) = line.strip_prefix("pub unsafe extern \"C\" fn PMPI_") else {
                continue;
            };
            let name = format!("MPI_{}", rest.split('(').next().unwrap());
            let row = functions.iter().find(|function| function.name == name);
            if row.is_none_or(|function| function.body != Body::Hand) {
                wrong.push(format!("{path}:{}: the table has no P{name} by hand", index + 1));
            }
            written.insert(name);
        }
    }
    for function in functions.iter().filter(|function| function.body == Body::Hand) {
        if !written.contains(function.name) {
            wrong.push(format!("{TABLE}: P{} is not there by hand", function.name));
        }
    }
}

/// Unsupported functions are in the table only; no body written by hand reports one.
fn check_supported(path: &str, text: &str, wrong: &mut Vec<String>) {
    let code = if path == "src/abi/entry_point.rs" { Vec::new() } else { code(text) };
    for Line { number, code } in code {
        if code.contains("unsupported(") {
            wrong.push(format!("{path}:{number}: not supported, and {TABLE} does not say so"));
        }
    }
}

#[test]
fn the_table_says_where_each_body_is() {
    let mut wrong = Vec::new();
    let files = files("src/abi");
    check_bodies(&files, &functions(), &mut wrong);
    for (path, text) in &files {
        check_supported(path, text, &mut wrong);
    }
    report(wrong);
}

#[test]
fn a_body_and_a_line_of_the_table_miss_each_other() {
    let found = |text: &str| {
        let mut wrong = Vec::new();
        let of = |name, body| Function { name, chapter: 3, prototype: "", body };
        let table = [of("MPI_A", Body::IntForm), of("MPI_A_c", Body::Hand)];
        check_bodies(&[("src/abi/a.rs".into(), text.into())], &table, &mut wrong);
        check_supported("src/abi/a.rs", text, &mut wrong);
        wrong.len()
    };
    let body = |name: &str| format!("pub unsafe extern \"C\" fn P{name}() -> c_int {{\n}}\n");
    assert_eq!(found(&body("MPI_A_c")), 0);
    assert_eq!(found(""), 1);
    assert_eq!(found(&(body("MPI_A_c") + &body("MPI_A"))), 1);
    assert_eq!(found(&(body("MPI_A_c") + &body("MPI_B"))), 1);
    assert_eq!(found(&(body("MPI_A_c") + "    unsupported(\"MPI_A_c\", comm)\n")), 1);
}

#[test]
fn the_checks_find_what_they_are_for() {
    let found = |path: &str, text: &str| {
        let mut wrong = Vec::new();
        check_imports(path, text, &mut wrong);
        check_statics(path, text, &mut wrong);
        check_unsafe(path, text, &mut wrong);
        wrong.len()
    };
    let names = |texts: &[&str]| {
        let files: Vec<_> = texts.iter().map(|text| ("a.rs".into(), text.to_string())).collect();
        let mut wrong = Vec::new();
        check_type_names(&files, &mut wrong);
        wrong.len()
    };
    assert_eq!(names(&["pub(crate) struct Cell<T>(T);\n", "enum Cell {\n}\n"]), 1);
    assert_eq!(names(&["type Cell = u8;\n", "impl A for B {\n    type Cell = u8;\n}\n"]), 0);
    assert_eq!(names(&["pub(in crate::mpi) enum Copy {\n}\n"]), 1);
    assert_eq!(names(&["struct A;\n#[cfg(test)]\nmod tests {\nstruct A;\n}\n"]), 0);
    assert_eq!(found("src/engine/run.rs", "use crate::{base::Result, mpi::Op, sys};\n"), 2);
    assert_eq!(found("src/engine/run.rs", "use super::super::devices::{shm, tcp};\n"), 1);
    assert_eq!(found("src/engine/run.rs", "use crate::{\n    base,\n    mpi::Op,\n};\n"), 1);
    assert_eq!(found("src/engine/run.rs", "use super::wire::Header; // crate::mpi\n"), 0);
    assert_eq!(found("src/engine/run.rs", "let now = std::time::Instant::now();\n"), 1);
    assert_eq!(found("src/engine/run.rs", "#[cfg(test)]\nmod tests {\nuse crate::mpi;\n}\n"), 0);
    assert_eq!(found("src/devices/shm/lane.rs", "use super::ring;\nuse crate::devices::tcp;\n"), 1);
    assert_eq!(found("src/devices/shm/mod.rs", "use crate::devices::rings::Packets;\n"), 0);
    assert_eq!(found("src/devices/rings/mod.rs", "use crate::devices::shm::Shm;\n"), 1);
    assert_eq!(found("src/devices/mod.rs", "use self::shm::Shm;\nuse crate::engine::Run;\n"), 1);
    assert_eq!(
        found("src/abi/p2p.rs", "use platform::sys::clock;\nuse platform::sys::futex;\n"),
        1
    );
    assert_eq!(found("src/mpi/comm.rs", "pub(crate) static COUNT: u32 = 0;\n"), 1);
    assert_eq!(found("src/mpi/comm.rs", "#![allow(unsafe_code)]\nfn f(x: &'static str) {}\n"), 1);
}
