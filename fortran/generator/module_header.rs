//! `mpif.h`: statements of one line in columns 7 to 72, which mean the same in fixed and in free form,
//! with any line-length option of the compiler.

use super::module::{self, Language, Tables};
use super::module_constants::{self, ConstantType};
use super::table::RoutineRole;

/// `mpif.h`.
pub fn render(tables: &Tables) -> String {
    let head =
        module::head("!", &["MPI for Fortran without modules, in fixed and in free form.", ""]);
    let mut text = head + "\n" + &constants(tables);
    text += &format!("\n{}", guarantees("LOGICAL MPI_", "PARAMETER (MPI_"));
    text += &sentinels();
    text += &functions(tables);
    text
}

/// Each constant with its type.
pub fn constants(tables: &Tables) -> String {
    let mut text = String::new();
    for constant in &tables.constants {
        let of = match constant.of {
            ConstantType::Offset => "INTEGER(KIND=MPI_OFFSET_KIND)",
            ConstantType::Integer | ConstantType::Handle(_) => "INTEGER",
        };
        text += &format!("      {of} {}\n", constant.name);
        text += &format!("      PARAMETER ({}={})\n", constant.name, constant.value);
    }
    text
}

/// Array sections are copied, and buffers of pending operations are not protected.
fn guarantees(declare: &str, define: &str) -> String {
    let names = ["ASYNC_PROTECTS_NONBLOCKING", "SUBARRAYS_SUPPORTED"];
    let lines = names.map(|name| format!("      {declare}{name}\n      {define}{name}=.FALSE.)\n"));
    lines.concat()
}

fn sentinels() -> String {
    let mut text = String::new();
    let all = module_constants::sentinels(false).chain(module_constants::sentinels(true));
    for (index, sentinel) in all.enumerate() {
        let cell = module_constants::cell(sentinel, false);
        let (name, (of, count)) = (sentinel.name, cell.filler);
        text += &format!("\n      {} {name}{}\n", cell.of.to_uppercase(), cell.shape);
        text += &format!("      {} SUIROFILL{index}({count})\n", of.to_uppercase());
        text += &format!("      COMMON /{}/{name},SUIROFILL{index}\n", sentinel.block);
    }
    text
}

/// The types of functions, and the procedures that may be arguments.
fn functions(tables: &Tables) -> String {
    let mut text = String::from("\n");
    for routine in tables.procedures(Language::F90, |what| *what == RoutineRole::Routine) {
        let Some(result) = &routine.result else { continue };
        let of = tables.kinds[result].f90.as_ref().expect("a type");
        for prefix in ["", "P"] {
            let name = format!("{prefix}{}", routine.name.to_uppercase());
            text += &format!("      {of} {name}\n      EXTERNAL {name}\n");
        }
    }
    text += "\n";
    for procedure in
        tables.procedures(Language::F90, |what| matches!(what, RoutineRole::Predefined(_)))
    {
        text += &format!("      EXTERNAL {}\n", procedure.name.to_uppercase());
    }
    text
}
