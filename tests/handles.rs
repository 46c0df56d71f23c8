//! An invalid handle gives the error class of its kind, in every function that takes a handle; so
//! does an invalid null pointer.
//!
//! Two C programs are generated from the prototypes of all supported functions. For each argument
//! that is a handle or an attribute key, there are calls with a null handle, a freed one, one of
//! another kind, a small integer and garbage; for each pointer, a call with a null pointer. All
//! other arguments are valid for one rank. So every supported function is tested.

#[path = "../generator/functions.rs"]
mod functions;
#[allow(dead_code)]
#[path = "harness/mod.rs"]
mod harness;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use functions::{Function, functions};

/// A kind of handle.
struct Kind {
    /// Its type in C.
    c_type: &'static str,
    /// Its null handle.
    null: &'static str,
    /// The error class of an invalid handle.
    class: &'static str,
    /// A valid handle.
    good: &'static str,
    /// C code that creates a handle in `x`, which can be freed.
    make: &'static str,
    /// C code that frees the handle in `x`.
    free: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        c_type: "MPI_Comm",
        null: "MPI_COMM_NULL",
        class: "MPI_ERR_COMM",
        good: "MPI_COMM_SELF",
        make: "MPI_Comm_dup(MPI_COMM_SELF, &x)",
        free: "MPI_Comm_free(&x)",
    },
    Kind {
        c_type: "MPI_Datatype",
        null: "MPI_DATATYPE_NULL",
        class: "MPI_ERR_TYPE",
        good: "MPI_INT",
        make: "MPI_Type_contiguous(2, MPI_INT, &x)",
        free: "MPI_Type_free(&x)",
    },
    Kind {
        c_type: "MPI_Op",
        null: "MPI_OP_NULL",
        class: "MPI_ERR_OP",
        good: "MPI_SUM",
        make: "MPI_Op_create(combine, 1, &x)",
        free: "MPI_Op_free(&x)",
    },
    Kind {
        c_type: "MPI_Group",
        null: "MPI_GROUP_NULL",
        class: "MPI_ERR_GROUP",
        good: "group",
        make: "MPI_Comm_group(MPI_COMM_SELF, &x)",
        free: "MPI_Group_free(&x)",
    },
    Kind {
        c_type: "MPI_Request",
        null: "MPI_REQUEST_NULL",
        class: "MPI_ERR_REQUEST",
        good: "MPI_REQUEST_NULL",
        make: "MPI_Recv_init(NULL, 0, MPI_INT, 0, 9, MPI_COMM_SELF, &x)",
        free: "MPI_Request_free(&x)",
    },
    Kind {
        c_type: "MPI_Message",
        null: "MPI_MESSAGE_NULL",
        class: "MPI_ERR_REQUEST",
        good: "MPI_MESSAGE_NO_PROC",
        make: "probed(&x)",
        free: "MPI_Mrecv(NULL, 0, MPI_INT, &x, MPI_STATUS_IGNORE)",
    },
    Kind {
        c_type: "MPI_Info",
        null: "MPI_INFO_NULL",
        class: "MPI_ERR_INFO",
        good: "info",
        make: "MPI_Info_create(&x)",
        free: "MPI_Info_free(&x)",
    },
    Kind {
        c_type: "MPI_Errhandler",
        null: "MPI_ERRHANDLER_NULL",
        class: "MPI_ERR_ERRHANDLER",
        good: "MPI_ERRORS_RETURN",
        make: "MPI_Comm_create_errhandler(on_error, &x)",
        free: "MPI_Errhandler_free(&x)",
    },
    Kind {
        c_type: "MPI_Win",
        null: "MPI_WIN_NULL",
        class: "MPI_ERR_WIN",
        good: "win",
        make: "MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &x)",
        free: "MPI_Win_free(&x)",
    },
    Kind {
        c_type: "MPI_Session",
        null: "MPI_SESSION_NULL",
        class: "MPI_ERR_SESSION",
        good: "session",
        make: "MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &x)",
        free: "MPI_Session_finalize(&x)",
    },
    Kind {
        c_type: "MPI_File",
        null: "MPI_FILE_NULL",
        class: "MPI_ERR_FILE",
        good: "file",
        make: "MPI_File_open(MPI_COMM_SELF, FILE_NAME, FILE_MODE, MPI_INFO_NULL, &x)",
        free: "MPI_File_close(&x)",
    },
];

/// Functions that are not called: they end the program, or accept any integer as a handle.
fn is_left_out(name: &str) -> bool {
    name.starts_with("MPI_T_") || name.ends_with("_toint") || name == "MPI_Abort"
}

/// Whether the null handle is valid for the argument.
fn takes_null(function: &str, c_type: &str) -> bool {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| function.starts_with(prefix));
    match c_type {
        // No hints; only the functions of info objects require one.
        "MPI_Info" => {
            let wanted =
                ["MPI_Info_", "MPI_Comm_set_info", "MPI_Win_set_info", "MPI_Abi_set_fortran_info"];
            !starts(&wanted)
        }
        // It is complete.
        "MPI_Request" => {
            starts(&["MPI_Wait", "MPI_Test", "MPI_Request_get_status", "MPI_Parrived"])
        }
        "MPI_File" => function.ends_with("_errhandler"),
        "MPI_Comm" | "MPI_Datatype" | "MPI_Win" => function.ends_with("_get_name"),
        _ => false,
    }
}

/// Whether a handle behind a pointer is read by the function.
fn is_read(function: &str, c_type: &str) -> bool {
    let name = function.trim_start_matches("MPI_").trim_end_matches("_c");
    let ends = ["free", "commit", "disconnect", "close", "finalize", "free_keyval"];
    let ends = ends.iter().any(|end| name.to_lowercase().ends_with(end));
    let starts = ["Wait", "Test", "Start", "Cancel", "Pready", "Parrived"];
    ends || match c_type {
        "MPI_Request" => starts.iter().any(|start| name.starts_with(start)),
        "MPI_Message" => name == "Mrecv" || name == "Imrecv",
        _ => false,
    }
}

/// One argument of a prototype.
#[derive(Debug)]
struct Argument<'a> {
    is_const: bool,
    /// Type without `const` and pointer declarators.
    c_type: &'a str,
    /// `*`, `[]` and the like.
    pointer: String,
    name: &'a str,
}

fn arguments(prototype: &str) -> Vec<Argument<'_>> {
    let list = prototype.split_once('(').unwrap().1.strip_suffix(')').unwrap();
    let words = list.split(", ").filter(|text| *text != "void" && *text != "...");
    words
        .map(|text| {
            let (declared, array) = text.split_at(text.find('[').unwrap_or(text.len()));
            let start = declared.rfind([' ', '*']).unwrap() + 1;
            let (before, name) = declared.split_at(start);
            let is_const = before.starts_with("const ");
            let before = before.trim_start_matches("const ").trim_end();
            let c_type = before.trim_end_matches(['*', ' ']);
            let pointer = format!("{}{array}", &before[c_type.len()..].trim());
            Argument { is_const, c_type, pointer, name }
        })
        .collect()
}

/// A communicator with the topology that the function requires.
fn comm_for(function: &str) -> &'static str {
    match function.trim_start_matches("MPI_") {
        name if name.starts_with("Cart") => "topology",
        name if name.starts_with("Graph") => "graph",
        name if name.starts_with("Dist_graph_neighbors") => "dist_graph",
        name if name.to_lowercase().contains("neighbor") => "topology",
        _ => "MPI_COMM_SELF",
    }
}

/// A valid argument of one rank's call of `function`. `index` makes buffers distinct.
fn good(function: &str, argument: &Argument<'_>, index: usize) -> String {
    let Argument { c_type, name, .. } = argument;
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let kind = KINDS.iter().find(|kind| kind.c_type == *c_type);
    match (*c_type, argument.pointer.as_str()) {
        ("MPI_Comm", "") => comm_for(function).into(),
        (_, "") if let Some(kind) = kind => kind.good.into(),
        (_, "*" | "[]") if let Some(kind) = kind => {
            let value =
                if argument.is_const || is_read(function, c_type) { kind.good } else { "0" };
            // Of a list two are read: the topology has two neighbors.
            format!("({c_type}[4]){{{value}, {value}}}")
        }
        ("void", "*") => format!("buffers[{index}]"),
        ("int", "") if name.ends_with("keyval") => format!("{name}s.good"),
        ("int" | "MPI_Count" | "MPI_Aint" | "MPI_Offset", "") => {
            let ones = [
                "count",
                "size",
                "ndims",
                "n",
                "max",
                "blocklength",
                "length",
                "partitions",
                "stride",
            ];
            match *name {
                "order" => "MPI_ORDER_C".into(),
                "amode" => "MPI_MODE_RDONLY".into(),
                "split_type" => "MPI_COMM_TYPE_SHARED".into(),
                name if ones.iter().any(|one| name.starts_with(one)) => "1".into(),
                name if name.ends_with("count") || name.ends_with("extent") => "1".into(),
                "insize" | "outsize" => "64".into(),
                name if name.ends_with("size") || name.ends_with("unit") => "1".into(),
                name if name.ends_with("degree") => "1".into(),
                _ => "0".into(),
            }
        }
        ("int", "[]") if has(&["distribs"]) => "(int[4]){MPI_DISTRIBUTE_BLOCK}".into(),
        ("int", "[]") if has(&["dargs"]) => "(int[4]){MPI_DISTRIBUTE_DFLT_DARG}".into(),
        ("int", "[][3]") => "(int[1][3]){{0, 0, 1}}".into(),
        ("int" | "MPI_Count" | "MPI_Aint" | "MPI_Offset", "*" | "[]") => {
            let ones = has(&[
                "count", "length", "size", "dims", "weights", "degrees", "indx", "buflen",
                "pset_len",
            ]);
            format!("({c_type}[4]){{{}}}", if ones { "1, 1" } else { "0" })
        }
        ("char", _) if *name == "datarep" => "\"external32\"".into(),
        ("char", "*") if argument.is_const => "\"a\"".into(),
        ("char", "[]") if argument.is_const => "\"a\"".into(),
        ("char", "*") => format!("(char *)buffers[{index}]"),
        ("MPI_Status", "*" | "[]") => "(MPI_Status[4]){{0}}".into(),
        ("char", _) => "NULL".into(),
        (c_type, "*") if c_type.contains("_errhandler_function") => "(void *)on_error".into(),
        (c_type, "*") if c_type.contains("_User_function") => "(void *)combine".into(),
        (c_type, "*") if c_type.contains("_function") => "NULL".into(),
        _ => panic!("what may {argument:?} of {function} be?"),
    }
}

/// A C function with the calls for one argument of a function, and its name.
fn trial(
    function: &Function, arguments: &[Argument<'_>], which: usize,
) -> Option<(String, String)> {
    let tried = &arguments[which];
    let kind = KINDS.iter().find(|kind| kind.c_type == tried.c_type);
    let is_key = tried.c_type == "int" && tried.name.ends_with("keyval");
    let is_pointer = !tried.pointer.is_empty();
    if is_pointer && !tried.is_const && !is_read(function.name, tried.c_type) {
        return None;
    }
    let (c_type, list, class, null) = match kind {
        Some(kind) => {
            (kind.c_type, kind.c_type, kind.class, takes_null(function.name, kind.c_type))
        }
        None if is_key => ("int", tried.name, "MPI_ERR_KEYVAL", false),
        None => return None,
    };
    let call: Vec<_> = (0..)
        .zip(arguments)
        .map(|(index, argument)| match (index == which, is_pointer) {
            (false, _) => good(function.name, argument, index),
            (true, false) => "bad".into(),
            (true, true) => format!("({c_type}[4]){{bad, bad}}"),
        })
        .collect();
    let (name, call) = (function.name, call.join(", "));
    let values = if is_key { format!("{list}s") } else { format!("bad_{list}") };
    let trial = format!("try_{name}_{}", tried.name);
    let text = format!(
        "static void {trial}(void)\n{{\n    for (int i = {}; i < {values}.count; i++) {{\n        \
         {c_type} bad = ({c_type}){values}.value[i];\n        \
         trying(\"{name}\", \"{}\", {values}.what[i]);\n        \
         expect({name}({call}), {class});\n    }}\n}}\n\n",
        u8::from(null),
        tried.name,
    );
    Some((trial, text))
}

/// The error class of a null pointer; `None` if it is valid, or not an argument of the call.
fn class_of_null(function: &str, argument: &Argument<'_>) -> Option<&'static str> {
    let Argument { c_type, name, .. } = argument;
    let pointer = argument.pointer.as_str();
    let starts = |prefix: &str| function.starts_with(prefix);
    match (*c_type, *name) {
        _ if pointer.is_empty() => None,
        (c_type, _) if c_type.contains("_function") => None,
        // Sentinels that are null: MPI_STATUS_IGNORE, MPI_ERRCODES_IGNORE, MPI_ARGV_NULL.
        ("MPI_Status", _) if !starts("MPI_Status_") && !argument.is_const => None,
        (_, "array_of_errcodes" | "argc" | "argv" | "array_of_argv") => None,
        (_, name) if name.contains("weights") => None,
        // Any value is a valid attribute, any address a valid location; invalid memory has its own
        // class.
        ("void", "extra_state" | "location") => None,
        ("void", "base") if !starts("MPI_Win_create") => None,
        // The begin of a split access had the buffer.
        ("void", "buf") if function.ends_with("_end") => None,
        ("void", "attribute_val") if !function.contains("_get") => None,
        // Not significant on the first rank; not to be stored for a predefined datatype.
        ("void", "recvbuf") if function.to_lowercase().contains("exscan") => None,
        _ if starts("MPI_Type_get_contents") => None,
        ("char", "key") if argument.is_const => Some("MPI_ERR_INFO_KEY"),
        ("char", "value") if argument.is_const => Some("MPI_ERR_INFO_VALUE"),
        // Results of type `void *` are addresses of pointers.
        ("void", "baseptr" | "buffer_addr" | "attribute_val") => Some("MPI_ERR_ARG"),
        ("void", "logical_true" | "logical_false") => Some("MPI_ERR_ARG"),
        ("void", _) => Some("MPI_ERR_BUFFER"),
        _ => Some("MPI_ERR_ARG"),
    }
}

/// A C function with the call with a null pointer for an argument, and its name.
fn null_trial(
    function: &Function, arguments: &[Argument<'_>], which: usize,
) -> Option<(String, String)> {
    let tried = &arguments[which];
    let class = class_of_null(function.name, tried)?;
    let call: Vec<_> = (0..)
        .zip(arguments)
        .map(|(index, argument)| match index == which {
            false => good(function.name, argument, index),
            true => "NULL".into(),
        })
        .collect();
    let (name, call) = (function.name, call.join(", "));
    let trial = format!("try_{name}_{}", tried.name);
    let text = format!(
        "static void {trial}(void)\n{{\n    trying(\"{name}\", \"{}\", \"NULL\");\n    \
         expect({name}({call}), {class});\n}}\n\n",
        tried.name,
    );
    Some((trial, text))
}

/// Declarations before the calls: buffers, and the lists of invalid handles.
fn prologue() -> String {
    let mut text = String::from(PROLOGUE);
    for kind in KINDS {
        writeln!(text, "__attribute__((unused)) static struct bad bad_{};", kind.c_type).unwrap();
    }
    text += "\nstatic void set_up(void)\n{\n";
    for kind in KINDS {
        let c_type = kind.c_type;
        writeln!(text, "    add(&bad_{c_type}, (uintptr_t){}, \"the null handle\");", kind.null)
            .unwrap();
        if !kind.make.is_empty() {
            let (make, free) = (kind.make, kind.free);
            writeln!(text, "    {{\n        {c_type} x, old;\n        MUST({make});").unwrap();
            writeln!(text, "        old = x;\n        MUST({free});").unwrap();
            writeln!(text, "        add(&bad_{c_type}, (uintptr_t)old, \"a freed one\");\n    }}")
                .unwrap();
        }
        let other = if c_type == "MPI_Comm" { "MPI_INT" } else { "MPI_COMM_WORLD" };
        writeln!(text, "    add(&bad_{c_type}, (uintptr_t){other}, \"{other}\");").unwrap();
        let other = if c_type == "MPI_Group" { "info" } else { "group" };
        writeln!(text, "    add(&bad_{c_type}, (uintptr_t){other}, \"another kind's\");").unwrap();
        writeln!(text, "    add_garbage(&bad_{c_type});").unwrap();
    }
    text += "    MUST(MPI_Cart_create(MPI_COMM_SELF, 1, (int[1]){1}, (int[1]){1}, 0, \
             &topology));\n";
    text += "    MUST(MPI_Graph_create(MPI_COMM_SELF, 1, (int[1]){1}, (int[1]){0}, 0, \
             &graph));\n";
    text += "    MUST(MPI_Dist_graph_create(MPI_COMM_SELF, 1, (int[1]){0}, (int[1]){1}, \
             (int[1]){0}, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &dist_graph));\n";
    text += "    MUST(MPI_File_open(MPI_COMM_SELF, FILE_NAME, FILE_MODE, MPI_INFO_NULL, &file));\n";
    text += "    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));\n";
    text + "}\n\n"
}

const PROLOGUE: &str = include_str!("data/handles_prologue.c");

/// Generator of the calls for one argument of a function.
type Trial = fn(&Function, &[Argument<'_>], usize) -> Option<(String, String)>;

/// The program, and the number of arguments that it tests.
fn program(trial: Trial) -> (String, usize) {
    let functions = functions();
    let mut text = prologue();
    let mut trials = Vec::new();
    let tried = |function: &&Function| function.is_exported() && !is_left_out(function.name);
    for function in functions.iter().filter(tried) {
        let arguments = arguments(function.prototype);
        for which in 0..arguments.len() {
            if let Some((trial, body)) = trial(function, &arguments, which) {
                text += &body;
                trials.push(trial);
            }
        }
    }
    text += "int main(int argc, char **argv)\n{\n    begin(&argc, &argv);\n    set_up();\n";
    for trial in &trials {
        writeln!(text, "    {trial}();").unwrap();
    }
    text += "    MUST(MPI_File_close(&file));\n";
    text += "    MUST(MPI_Session_finalize(&session));\n";
    text += "    return check_end();\n}\n";
    (text, trials.len())
}

#[test]
fn what_is_no_handle_has_the_class_of_its_kind_everywhere() {
    try_all("handles", trial);
}

#[test]
fn a_null_pointer_is_an_error_everywhere() {
    try_all("nulls", null_trial);
}

/// Generates, compiles and runs the program `name`.
fn try_all(name: &str, trial: Trial) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = harness::folder(name);
    let (source, binary) = (folder.join(format!("{name}.c")), folder.join(name));
    let (text, trials) = program(trial);
    assert!(trials > 300, "only {trials} arguments are tried");
    fs::write(&source, text).unwrap();
    let compiled = Command::new(harness::built("mpicc"))
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations", "-O0"])
        .arg("-I")
        .arg(root.join("c-tests"))
        .arg("-o")
        .args([&binary, &source])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{} does not compile:\n{said}", source.display());
    let mut command = harness::mpirun(&["-n", "1", binary.to_str().unwrap()]);
    command.env("CHECK_STRICT", "1");
    let outcome = harness::start(command).wait();
    let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
    assert!(good, "{:?}\n{}{}", outcome.code, outcome.text(), outcome.stderr);
}

#[test]
fn every_kind_of_handle_of_the_standard_is_tried() {
    let known: BTreeSet<_> = KINDS.iter().map(|kind| kind.c_type).collect();
    let functions = functions();
    let prototypes = functions.iter().filter(|f| f.is_exported() && !is_left_out(f.name));
    let all = prototypes.flat_map(|function| arguments(function.prototype));
    let others = ["MPI_Aint", "MPI_Count", "MPI_Offset", "MPI_Status"];
    for argument in all.filter(|argument| argument.c_type.starts_with("MPI_")) {
        let c_type = argument.c_type;
        let is_known = known.contains(c_type) || others.contains(&c_type);
        assert!(is_known || c_type.contains("_function"), "{c_type} is not tried");
    }
}

#[test]
fn prototypes_fall_apart_into_arguments() {
    let of = |text| arguments(text).into_iter().map(|a| (a.c_type, a.pointer, a.name)).collect();
    let found: Vec<_> = of("int MPI_X(const void *buf, const int counts[], MPI_Comm *comm, int r)");
    let expected = [
        ("void", "*", "buf"),
        ("int", "[]", "counts"),
        ("MPI_Comm", "*", "comm"),
        ("int", "", "r"),
    ];
    assert_eq!(found, expected.map(|(c_type, pointer, name)| (c_type, pointer.into(), name)));
    let none: Vec<(&str, String, &str)> = of("int MPI_Finalize(void)");
    assert!(none.is_empty());
}
