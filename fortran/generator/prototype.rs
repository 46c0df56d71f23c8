//! The C functions that the entry points call, from their prototypes: what type each argument has,
//! and declarations in Rust.

use std::collections::BTreeMap;

/// A C function.
#[derive(Clone, Debug)]
pub struct Prototype {
    /// Its result in Rust.
    pub result: String,
    /// Names and types in Rust of its arguments.
    pub arguments: Vec<(String, String)>,
    /// Whether more may follow.
    pub is_variadic: bool,
}

/// The functions of `mpi5_functions.tsv` by their names, but for those of the tool interface, which
/// Fortran does not have.
///
/// # Panics
/// If the text does not have that form.
pub fn prototypes(text: &str) -> BTreeMap<String, Prototype> {
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    let column = |name: &str| head.iter().position(|field| *field == name).expect("a column");
    let (names, texts) = (column("name"), column("c_prototype"));
    lines
        .filter(|fields| !fields[names].starts_with("MPI_T_") && fields.len() > texts)
        .map(|fields| (fields[names].to_owned(), prototype(fields[texts])))
        .collect()
}

/// The declaration of `P<name>`.
pub fn declare(name: &str, prototype: &Prototype) -> String {
    let mut arguments: Vec<_> =
        prototype.arguments.iter().map(|(name, of)| format!("{name}: {of}")).collect();
    if prototype.is_variadic {
        arguments.push("...".to_owned());
    }
    format!("    pub fn P{name}({}) -> {};\n", arguments.join(", "), prototype.result)
}

fn prototype(text: &str) -> Prototype {
    let (before, rest) = text.split_once('(').expect("a parenthesis");
    let list = rest.trim_end().trim_end_matches([';', ')']);
    let (result, _) = typed(before);
    let written = || list.split(',').map(str::trim).filter(|word| !matches!(*word, "" | "void"));
    let arguments = written().filter(|word| *word != "...").map(|word| {
        let (of, name) = typed(word);
        (name, of)
    });
    Prototype { result, arguments: arguments.collect(), is_variadic: written().any(|w| w == "...") }
}

/// The Rust type and the name of `const int *name[]`.
fn typed(declaration: &str) -> (String, String) {
    let (declaration, tail) = match declaration.find('[') {
        Some(at) => declaration.split_at(at),
        None => (declaration, ""),
    };
    let constant = declaration.trim_start().starts_with("const ");
    let declaration = declaration.trim_start().trim_start_matches("const ");
    let begin =
        declaration.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    let (before, name) = declaration.split_at(begin);
    let stars = before.matches('*').count() + usize::from(tail.contains("[]"));
    let base = before.replace('*', "").replace("const", "");
    let mut of = match base.trim() {
        base if base.ends_with("_function") || base.ends_with("_function_c") => {
            return ("*const c_void".to_owned(), name.to_owned());
        }
        "int" => "c_int".to_owned(),
        "double" => "f64".to_owned(),
        "char" => "c_char".to_owned(),
        "void" => "c_void".to_owned(),
        base => base.to_owned(),
    };
    if tail == "[][3]" {
        of = "[c_int; 3]".to_owned();
    }
    for level in 0..stars {
        let pointer = if constant && level == 0 { "*const" } else { "*mut" };
        of = format!("{pointer} {of}");
    }
    let name = if matches!(name, "type" | "in") { format!("{name}_") } else { name.to_owned() };
    (of, name)
}
