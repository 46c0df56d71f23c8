//! What the links of a topology have carried, by kind of link: lines of text and a heat map.

use maud::Markup;

use crate::draw::heat::{HeatRow, heat_map};
use crate::executor::event_driven::{EventRun, LinkNetwork, LinkUse};
use crate::topology::LinkClass;

/// The links of a run.
#[derive(Clone, Debug)]
pub(super) struct LinkReport {
    /// The topology, and how ranks are on its nodes.
    pub(super) setting: String,
    classes: Vec<(LinkClass, Vec<LinkUse>)>,
    /// The time of the run.
    quiet_ps: u64,
    events: u64,
}

impl LinkReport {
    pub(super) fn new(network: &LinkNetwork, run: &EventRun) -> Self {
        let mut left = &run.links[..];
        let classes = network.topology.classes().into_iter().map(|class| {
            let (own, rest) = left.split_at(class.links as usize);
            left = rest;
            (class, own.to_vec())
        });
        let classes = classes.collect();
        let setting = format!("{}, {}", network.topology, network.placement);
        Self { setting, classes, quiet_ps: run.times.quiet_ps, events: run.events }
    }

    fn busy_percent(&self, used: &LinkUse) -> f64 {
        100.0 * used.busy_ps as f64 / self.quiet_ps.max(1) as f64
    }

    /// The number of events, and a line for each kind of links that has carried something.
    pub(super) fn lines(&self) -> impl Iterator<Item = (String, String)> {
        let events = ("events".to_owned(), self.events.to_string());
        let is_used = |uses: &[LinkUse]| uses.iter().any(|used| used.messages > 0);
        let classes = self.classes.iter().filter(move |(_, uses)| is_used(uses));
        let of_links = classes.map(|(class, uses)| {
            let count = uses.len() as f64;
            let bytes: u64 = uses.iter().map(|used| used.bytes).sum();
            let bytes_max = uses.iter().map(|used| used.bytes).max().unwrap_or(0);
            let busy = uses.iter().map(|used| self.busy_percent(used));
            let waited_ps: u64 = uses.iter().map(|used| used.waited_ps).sum();
            let text = format!(
                "{}, bytes mean {:.0}, max {bytes_max}, busy mean {:.1} %, max {:.1} %, messages waited {:.3} us",
                uses.len(),
                bytes as f64 / count,
                busy.clone().sum::<f64>() / count,
                busy.fold(0.0, f64::max),
                waited_ps as f64 / 1e6,
            );
            (format!("links, {}", class.name), text)
        });
        std::iter::once(events).chain(of_links)
    }

    /// The share of the time in which the busiest link was busy, and the time that messages waited together.
    pub(super) fn totals(&self) -> (f64, f64) {
        let uses = || self.classes.iter().flat_map(|(_, uses)| uses);
        let waited_ps: u64 = uses().map(|used| used.waited_ps).sum();
        (uses().map(|used| self.busy_percent(used)).fold(0.0, f64::max), waited_ps as f64 / 1e6)
    }

    /// All links, with a colour for the share of the time in which each was busy.
    pub(super) fn picture(&self) -> Markup {
        let row = |(class, uses): &(LinkClass, Vec<LinkUse>)| HeatRow {
            name: class.name.clone(),
            percents: uses.iter().map(|used| self.busy_percent(used)).collect(),
        };
        let rows: Vec<_> = self.classes.iter().map(row).collect();
        heat_map("Links by the share of the time in which they were busy", &rows)
    }
}
