//! The functions of MPI 5.0 by the table of the standard, and which of them are supported.
//!
//! A function is supported if neither its body in `src/abi` nor a `PMPI_` function that it calls
//! is `unsupported(..)`.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A function of the standard that the ABI has.
pub struct Function {
    pub name: &'static str,
    pub chapter: u32,
    /// As in C, without a semicolon.
    pub prototype: &'static str,
}

/// All of them, in the order of the table.
pub fn functions() -> impl Iterator<Item = Function> {
    let lines = include_str!("../data/mpi5_functions.tsv").lines().skip(1);
    lines.filter_map(|line| {
        let fields: Vec<_> = line.split('\t').collect();
        let (name, chapter, prototype) = (fields[0], fields[2].parse().unwrap(), fields[12]);
        (fields[7] == "present").then_some(Function { name, chapter, prototype })
    })
}

/// The bodies of all `PMPI_` functions by name.
pub fn bodies() -> BTreeMap<String, String> {
    let mut bodies = BTreeMap::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/abi");
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        // A function ends at the brace that stands at the beginning of a line.
        for function in text.split("pub unsafe extern \"C\" fn ").skip(1) {
            let (name, rest) = function.split_once('(').unwrap();
            let (body, _) = rest.split_once("\n}").unwrap();
            bodies.insert(name.to_string(), body.to_string());
        }
    }
    bodies
}

/// The `PMPI_` functions that a body calls.
fn callees(body: &str) -> impl Iterator<Item = &str> {
    body.match_indices("PMPI_").filter_map(|(start, _)| {
        let rest = &body[start..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        rest[end..].starts_with('(').then_some(&rest[..end])
    })
}

/// Whether a `PMPI_` function is supported.
pub fn supported(name: &str, bodies: &BTreeMap<String, String>) -> bool {
    let body = bodies.get(name).unwrap_or_else(|| panic!("{name} has no body"));
    !body.contains("unsupported(") && callees(body).all(|callee| supported(callee, bodies))
}
