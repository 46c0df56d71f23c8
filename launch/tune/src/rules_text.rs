//! The file of rules, with what was measured as comments.

use std::fmt::Write;

use crate::choice::{TunedRule, Winner};

/// The text of a file with these rules; its head says how they were measured.
pub fn text(head: &[String], rules: &[TunedRule]) -> String {
    let mut text = String::from(
        "# Rules for the algorithms of collective operations, for SUIRO_COLL_RULES.\n",
    );
    // Writing to a string never fails.
    for line in head {
        let _ = writeln!(text, "# {}", line.replace(['\n', '\r'], " "));
    }
    if rules.is_empty() {
        text += "# No algorithm was faster than the default by the margin: there is no rule.\n";
    }
    for rule in rules {
        text += "\n";
        text += &rule_text(rule);
    }
    text
}

fn rule_text(rule: &TunedRule) -> String {
    let mut text = String::new();
    let Some(first) = rule.winners.first() else { return text };
    for winner in &rule.winners {
        let _ = writeln!(text, "# {}", measured(winner));
    }
    let (on, operation) = (first.on, first.call.operation.name().to_lowercase());
    let _ = writeln!(text, "[[rule]]\noperation = \"{operation}\"");
    let _ = writeln!(text, "ranks = {}\nranks_per_host = {}", on.ranks, on.ranks_per_host);
    match rule.bytes {
        None => {}
        Some((0, to)) => _ = writeln!(text, "bytes = {{ to = {to} }}"),
        Some((from, to)) => _ = writeln!(text, "bytes = {{ from = {from}, to = {to} }}"),
    }
    let _ = writeln!(text, "algorithm = \"{}\"", first.algorithm);
    text
}

/// `64 bytes: 3.12 us, default 4.56 us (-32 %)`.
pub fn measured(winner: &Winner) -> String {
    let (time, default) = (winner.time_s * 1e6, winner.default_s * 1e6);
    let less = 100.0 * (time / default - 1.0);
    let bytes = match winner.call.operation.has_agreed_bytes() {
        true => format!("{} bytes: ", winner.call.bytes),
        false => String::new(),
    };
    format!("{bytes}{time:.2} us, default {default:.2} us ({less:.0} %)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice;
    use crate::plan::{JobLayout, TunedCall};
    use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
    use mpi_abi::mpi::collective::selection::rules::SelectionRules;

    #[test]
    fn the_library_reads_what_is_written() {
        let on = JobLayout { ranks: 8, ranks_per_host: 4 };
        let winner = |operation, bytes, algorithm| Winner {
            call: TunedCall { operation, bytes },
            on,
            algorithm,
            time_s: 3e-6,
            default_s: 4e-6,
        };
        let allreduce = CollectiveOperation::Allreduce;
        let mut rules = choice::rules(
            &[8, 64, 512],
            &[winner(allreduce, 8, "doubling"), winner(allreduce, 512, "two_level")],
        );
        rules.extend(choice::rules(&[0], &[winner(CollectiveOperation::Barrier, 0, "tree")]));
        let text = text(&["made by a test\n[[rule]]".to_owned()], &rules);
        let read = SelectionRules::parse("r.toml", &text).unwrap();
        let lines: Vec<String> = CollectiveOperation::ALL
            .iter()
            .flat_map(|operation| read.of(*operation))
            .map(ToString::to_string)
            .collect();
        let expected = [
            "ranks 8, ranks per host 4: tree",
            "ranks 8, ranks per host 4, bytes up to 22: doubling",
            "ranks 8, ranks per host 4, bytes 182 to 1023: two_level",
        ];
        assert_eq!(lines, expected);
        assert!(text.contains("# made by a test [[rule]]\n"), "{text}");
        assert!(text.contains("# 8 bytes: 3.00 us, default 4.00 us (-25 %)\n[[rule]]"), "{text}");
        assert!(text.contains("\n# 3.00 us, default"), "{text}");
    }

    #[test]
    fn a_file_without_rules_says_so() {
        let text = text(&[], &[]);
        assert!(text.contains("there is no rule"));
        assert_eq!(SelectionRules::parse("r.toml", &text).unwrap().count(), 0);
    }
}
