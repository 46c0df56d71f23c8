//! C declarations in Rust: result type, names and types of the arguments.
//!
//! MPI types keep their names; the including crate brings them into scope. The subset of C is that
//! of the standard: a type of one word, stars, `[]` and `[][3]`.

#![allow(dead_code, reason = "each includer takes what it needs")]

/// A C function.
#[derive(Clone, Debug)]
pub struct Prototype {
    /// Result type in Rust.
    pub result: String,
    /// Names and Rust types of the arguments; a function pointer has the type's name alone.
    pub arguments: Vec<(String, String)>,
    /// Whether the argument list is variadic.
    pub is_variadic: bool,
}

impl Prototype {
    /// Parses `int MPI_Finalize(void)`.
    ///
    /// # Panics
    /// If the text has no parenthesis.
    pub fn parse(text: &str) -> Self {
        let (before, rest) = text.split_once('(').expect("a parenthesis");
        let list = rest.trim_end().trim_end_matches([';', ')']);
        let (result, _) = typed(before);
        let written =
            || list.split(',').map(str::trim).filter(|word| !matches!(*word, "" | "void"));
        let arguments = written().filter(|word| *word != "...").map(|word| {
            let (of, name) = typed(word);
            (name, of)
        });
        let is_variadic = written().any(|word| word == "...");
        Self { result, arguments: arguments.collect(), is_variadic }
    }
}

/// Whether a type is a function pointer.
pub fn is_function(of: &str) -> bool {
    of.ends_with("_function") || of.ends_with("_function_c")
}

/// Rust type and name of a declaration such as `const int *name[]`.
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
    let name = if matches!(name, "type" | "in") { format!("{name}_") } else { name.to_owned() };
    let mut of = match base.trim() {
        base if is_function(base) => return (base.to_owned(), name),
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
    (of, name)
}
