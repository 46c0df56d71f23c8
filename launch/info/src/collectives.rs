//! The algorithms of collective operations, their costs, and their selection.
//!
//! The table evaluates the selection itself at lengths around powers of two and at the limits of rules;
//! where two neighbors differ, bisection finds the limit between them.

use super::{Fact, FactSection};
use mpi_abi::mpi::collective::algorithms::algorithm::{Algorithm, Arguments, Cost};
use mpi_abi::mpi::collective::algorithms::hierarchical::Nodes;
use mpi_abi::mpi::collective::algorithms::{RankLayout, Shape};
use mpi_abi::mpi::collective::selection::machine_model;
use mpi_abi::mpi::collective::selection::machine_model::MachineModel;
use mpi_abi::mpi::collective::selection::registry::{
    AlgorithmFamily, CollectiveOperation, Visitor,
};
use mpi_abi::mpi::collective::selection::rules::SelectionRule;
use mpi_abi::mpi::collective::selection::{AlgorithmChoice, Selection};
use mpi_abi::process::settings::Config;
use platform::base::Result;

/// Default sizes of communicators in a table.
const RANKS: [u32; 7] = [2, 3, 4, 8, 16, 64, 1024];

/// Numbers of hosts in a table, and default numbers of ranks on each.
const HOSTS: [u32; 2] = [2, 4];
const RANKS_OF_HOST: [u32; 4] = [1, 2, 8, 32];

/// The longest message in a table.
const BYTES_MAX: usize = 1 << 30;

/// The length of the message whose cost is printed.
const EXAMPLE_BYTES: usize = 64 << 10;

/// Default size of the communicator whose cost is printed.
const EXAMPLE_RANKS: u32 = 8;

/// A section for each operation, with the settings of `lookup`; for communicators of `ranks` ranks,
/// if given.
///
/// # Errors
/// `Other` for an invalid setting.
pub fn collectives(
    operations: &[CollectiveOperation], ranks: Option<u32>, lookup: impl Fn(&str) -> Option<String>,
) -> Result<Vec<FactSection>> {
    let by = Config::from_lookup(lookup)?.selection;
    Ok(operations.iter().map(|operation| section(*operation, ranks, &by)).collect())
}

fn section(operation: CollectiveOperation, ranks: Option<u32>, by: &Selection) -> FactSection {
    let key = |part: &str| format!("coll.{}.{part}", operation.name());
    let mut facts = vec![Fact::new(key("setting"), "setting", by.choice(operation))];
    facts.extend(rules(operation, by));
    let shape = Shape { ranks: ranks.unwrap_or(EXAMPLE_RANKS) };
    for AlgorithmCost { name, about, cost } in
        operation.visit(shape, EXAMPLE_BYTES, CostVisitor(shape))
    {
        let price = cost.map_or_else(|| "does not fit".to_owned(), cost_text);
        facts.push(Fact::new(key(&format!("algorithm.{name}")), name, about));
        let of = format!("  {} ranks, {EXAMPLE_BYTES} bytes", shape.ranks);
        facts.push(Fact::new(key(&format!("cost.{name}")), of, price));
    }
    // Their list is no algorithm.
    let forms: Vec<String> = operation.forms_with_extra_rounds().collect();
    if !forms.is_empty() {
        facts.push(Fact::new(key("forms"), "with parameters", forms.join(", ")));
    }
    for (machine, part, label) in [
        (machine_model::SHARED, "ranks", ""),
        (machine_model::OVERSUBSCRIBED, "crowded", ", crowded"),
    ] {
        let by = by.clone().with_machine(machine);
        for ranks in ranks.map_or(RANKS.to_vec(), |ranks| vec![ranks]) {
            let table = table(operation, Shape { ranks }.into(), &by);
            let name = format!("{ranks} ranks{label}");
            facts.push(Fact::new(key(&format!("{part}.{ranks}")), name, table));
        }
    }
    for (hosts, ranks) in HOSTS.into_iter().flat_map(|hosts| {
        let each = ranks.map_or(RANKS_OF_HOST.to_vec(), |ranks| vec![ranks.div_ceil(hosts)]);
        each.into_iter().map(move |ranks| (hosts, ranks))
    }) {
        let places = (0..hosts).flat_map(|host| (0..ranks).map(move |_| host));
        let Some(nodes) = Nodes::new(places) else { continue };
        let name = format!("{hosts} hosts of {ranks}");
        facts.push(Fact::new(
            key(&format!("hosts.{hosts}.{ranks}")),
            name,
            table(operation, (&nodes).into(), by),
        ));
    }
    FactSection { title: operation.name(), facts }
}

/// The rules of an operation, each with its place, in the order in which calls look at them.
fn rules(operation: CollectiveOperation, by: &Selection) -> Vec<Fact> {
    let Some(all) = by.rules() else { return Vec::new() };
    let (name, choice, own) = (operation.name(), by.choice(operation), all.of(operation));
    let used = match choice {
        AlgorithmChoice::Auto => String::new(),
        _ => format!(", not used: SUIRO_COLL_{name}={choice}"),
    };
    let count = format!("{} of {}{used}", own.len(), all.file());
    let rule = |rule: &SelectionRule| {
        let key = format!("coll.{name}.rule.{}", rule.line());
        Fact::new(key, "rule", format!("{rule} ({}:{})", all.file(), rule.line()))
    };
    let counted = Fact::new(format!("coll.{name}.rules"), "rules", count);
    [counted].into_iter().chain(own.iter().map(rule)).collect()
}

fn cost_text(cost: Cost) -> String {
    let Cost { rounds, messages, bytes, reduced, copied } = cost;
    let time = |machine: MachineModel| machine.time_ps(cost) as f64 / 1e6;
    format!(
        "{rounds} rounds, {messages} messages, {bytes} bytes, {reduced} reduced, {copied} copied: \
         {:.1} us, crowded {:.1} us",
        time(machine_model::SHARED),
        time(machine_model::OVERSUBSCRIBED)
    )
}

/// The selected algorithms, each with its first length in bytes.
fn table(operation: CollectiveOperation, on: RankLayout<'_>, by: &Selection) -> String {
    let chosen =
        |bytes: usize| operation.visit(on.shape(), bytes, SelectionVisitor { selection: by, on });
    // Empty messages need no algorithm.
    let mut from = vec![(1, chosen(1))];
    let mut known = 1;
    for bytes in lengths(operation, by) {
        while chosen(bytes) != from[from.len() - 1].1 {
            let before = from[from.len() - 1].1;
            let (mut same, mut other) = (known, bytes);
            while other - same > 1 {
                let middle = same + (other - same) / 2;
                if chosen(middle) == before { same = middle } else { other = middle }
            }
            from.push((other, chosen(other)));
            known = other;
        }
        known = bytes;
    }
    match from.as_slice() {
        [(_, only)] => (*only).to_owned(),
        _ => {
            let ranges = from.iter().map(|(bytes, name)| format!("from {bytes} {name}"));
            ranges.collect::<Vec<_>>().join(", ")
        }
    }
}

/// The lengths at which a table looks, ascending: around powers of two, and at the limits of rules.
fn lengths(operation: CollectiveOperation, by: &Selection) -> Vec<usize> {
    let powers = (1..).map(|bit| 1 << bit).take_while(|bytes| *bytes <= BYTES_MAX);
    let rules = by.rules().map_or(&[][..], |rules| rules.of(operation));
    let limits = rules.iter().flat_map(SelectionRule::limits);
    let mut lengths: Vec<usize> =
        powers.chain(limits).flat_map(|length| [length.saturating_sub(1), length]).collect();
    lengths.retain(|bytes| (2..=BYTES_MAX).contains(bytes));
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

struct SelectionVisitor<'a> {
    selection: &'a Selection,
    on: RankLayout<'a>,
}

impl Visitor for SelectionVisitor<'_> {
    type Output = &'static str;

    fn visit<A: Arguments>(
        self, family: &AlgorithmFamily<A>, args: A::Borrowed<'_>,
    ) -> Self::Output {
        self.selection.name_on(family, self.on, args)
    }
}

/// An algorithm and the cost of a call, if it fits.
struct AlgorithmCost {
    name: &'static str,
    about: &'static str,
    cost: Option<Cost>,
}

struct CostVisitor(Shape);

impl Visitor for CostVisitor {
    type Output = Vec<AlgorithmCost>;

    fn visit<A: Arguments>(
        self, family: &AlgorithmFamily<A>, args: A::Borrowed<'_>,
    ) -> Self::Output {
        let priced = |algorithm: &Algorithm<A>| AlgorithmCost {
            name: algorithm.name,
            about: algorithm.about,
            cost: (algorithm.fits)(self.0, args).then(|| (algorithm.cost)(self.0, args)),
        };
        family.algorithms.iter().map(priced).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_abi::mpi::collective::selection::rules::SelectionRules;

    #[test]
    fn rules_have_their_places_and_are_in_the_table() {
        let text = "[[rule]]\noperation = \"bcast\"\nranks = 4\nbytes = { from = 1500, to = 1600 }\n\
                    algorithm = \"chain\"\n";
        let mut by = Selection::default();
        by.set_rules(Some(SelectionRules::parse("r.toml", text).unwrap()));
        let bcast = |by: &Selection| section(CollectiveOperation::Bcast, Some(4), by).facts;
        let value = |facts: &[Fact], key: &str| {
            facts.iter().find(|fact| fact.key == key).unwrap().value.clone()
        };
        let facts = bcast(&by);
        assert_eq!(value(&facts, "coll.BCAST.rules"), "1 of r.toml");
        let rule = "ranks 4, bytes 1500 to 1600: chain (r.toml:1)";
        assert_eq!(value(&facts, "coll.BCAST.rule.1"), rule);
        let table = value(&facts, "coll.BCAST.ranks.4");
        assert!(table.contains("from 1500 chain, from 1601 "), "{table}");
        by.choose_for(CollectiveOperation::Bcast, AlgorithmChoice::Shared);
        let text = "1 of r.toml, not used: SUIRO_COLL_BCAST=shared";
        assert_eq!(value(&bcast(&by), "coll.BCAST.rules"), text);
    }

    #[test]
    fn a_table_has_the_limits_of_the_selection() {
        let by = Selection::default();
        for operation in CollectiveOperation::ALL {
            for ranks in [1, 2, 7, 64] {
                let shape = Shape { ranks };
                let table = table(operation, shape.into(), &by);
                let chosen = |bytes| {
                    let visitor = SelectionVisitor { selection: &by, on: shape.into() };
                    operation.visit(shape, bytes, visitor)
                };
                for range in table.split(", ").filter_map(|range| range.strip_prefix("from ")) {
                    let (bytes, name) = range.split_once(' ').unwrap();
                    let bytes: usize = bytes.parse().unwrap();
                    assert_eq!(chosen(bytes), name, "{operation:?} {ranks}: {table}");
                    assert!(bytes == 1 || chosen(bytes - 1) != name, "{operation:?}: {table}");
                }
            }
        }
    }
}
