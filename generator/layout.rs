//! Functions and calls in the layout of rustfmt with the settings of `rustfmt.toml`: one line if it
//! fits; otherwise parameters fill lines and arguments have one line each.

use super::prototype::Prototype;

/// Maximum columns of a line.
const WIDTH: usize = 100;

/// An exported function `PMPI_x` with this documentation; each line of `body` is already indented.
pub fn function(name: &str, prototype: &Prototype, documentation: &str, body: &str) -> String {
    let head = format!("pub unsafe extern \"C\" fn P{name}(");
    let end = format!(") -> {} {{\n", prototype.result);
    let parameters: Vec<_> =
        prototype.arguments.iter().map(|(name, of)| format!("{name}: {of}")).collect();
    let mut signature = format!("{head}{}{end}", parameters.join(", "));
    if signature.len() > WIDTH + "\n".len() {
        signature = format!("{head}\n{}{end}", filled(&parameters));
    }
    format!("/// {documentation}\n#[unsafe(no_mangle)]\n{signature}{body}}}\n")
}

/// `unsafe { .. }` around an expression, indented by one level.
pub fn unsafe_block(expression: impl Fn(usize) -> String) -> String {
    let short = format!("    unsafe {{ {} }}\n", expression(1));
    if !short.trim_end().contains('\n') && short.len() <= WIDTH + "\n".len() {
        return short;
    }
    format!("    unsafe {{\n        {}\n    }}\n", expression(2))
}

/// A call that begins at this level of indentation.
pub fn call(function: &str, arguments: &[String], level: usize) -> String {
    let short = format!("{function}({})", arguments.join(", "));
    if indent(level).len() + short.len() <= WIDTH {
        return short;
    }
    let lines: String =
        arguments.iter().map(|argument| format!("{}{argument},\n", indent(level + 1))).collect();
    format!("{function}(\n{lines}{})", indent(level))
}

/// `function(argument, |parameter| value)` that begins at this level of indentation.
pub fn call_with_closure(
    function: &str, argument: &str, value: impl Fn(usize) -> String, level: usize,
) -> String {
    let short = format!("{function}({argument}, |{argument}| {})", value(0));
    if !short.contains('\n') && indent(level).len() + short.len() <= WIDTH {
        return short;
    }
    format!(
        "{function}({argument}, |{argument}| {{\n{}{}\n{}}})",
        indent(level + 1),
        value(level + 1),
        indent(level)
    )
}

fn indent(level: usize) -> String {
    " ".repeat(4 * level)
}

/// Parameters on as few lines as possible.
fn filled(parameters: &[String]) -> String {
    let mut lines = vec![indent(1)];
    for (index, parameter) in parameters.iter().enumerate() {
        let line = lines.last_mut().expect("one at least");
        let is_first = line.trim().is_empty();
        // rustfmt reserves a column for the space before the next parameter.
        let room = WIDTH - usize::from(index + 1 < parameters.len());
        if !is_first && line.len() + format!(" {parameter},").len() > room {
            lines.push(format!("{}{parameter},", indent(1)));
        } else {
            *line += &format!("{}{parameter},", if is_first { "" } else { " " });
        }
    }
    lines.join("\n") + "\n"
}
