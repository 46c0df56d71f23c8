//! One collective operation on all ranks: distribution of its times, critical path, messages, as text,
//! CSV and pictures.

mod links;

use std::fmt::Write;

use chart::{Axis, COLOURS, Chart, Point, STYLE, Scale, Series};
use maud::{DOCTYPE, PreEscaped, html};
use mpi_abi::mpi::collective::algorithms::hierarchical;
use mpi_abi::offload::Scheme;
use mpi_abi::offload::resources::Resources;

use crate::collective::CollectiveCall;
use crate::executor::event_driven::{self, InstanceTimes, InterfaceSetting, LinkNetwork};
use crate::executor::levelled::{self, ReportProgress};
use crate::executor::{RunTimes, StepCosts};
use crate::offload::OffloadedCall;
use crate::offload::resources::{largest, of_all, rounds};
use links::LinkReport;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct CollectiveReport {
    call: CollectiveCall,
    /// As in a setting of the library.
    algorithm: String,
    costs: StepCosts,
    run: RunTimes,
    /// Times of all ranks, ascending.
    sorted_ps: Vec<u64>,
    /// Counters and slots of the operation as a program of an interface, or why there are none.
    resources: Result<Resources, String>,
    /// The links, if there are any.
    links: Option<LinkReport>,
    offload: Option<OffloadReport>,
}

/// The operation as programs of interfaces.
#[derive(Clone, Debug)]
struct OffloadReport {
    scheme: Scheme,
    times: InstanceTimes,
}

impl OffloadReport {
    fn instances(&self) -> usize {
        self.times.ends_ps.first().map_or(0, Vec::len)
    }

    /// The longest time of a rank between the ends of the last two instances, in microseconds.
    fn last_us(&self) -> f64 {
        let of_rank = |ends_ps: &Vec<u64>| match ends_ps[..] {
            [.., before_ps, last_ps] => last_ps - before_ps,
            [last_ps] => last_ps,
            [] => 0,
        };
        self.times.ends_ps.iter().map(of_rank).max().unwrap_or(0) as f64 / 1e6
    }
}

/// The shares of ranks whose times are printed.
const SHARES: [(&str, f64); 7] = [
    ("min", 0.0),
    ("p01", 0.01),
    ("p10", 0.1),
    ("median", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("max", 1.0),
];

/// Points of the chart over the ranks.
const BUCKETS: usize = 64;

impl CollectiveReport {
    /// Runs a call on a network without links.
    ///
    /// # Errors
    /// The algorithm does not exist, does not fit, or has too many steps.
    pub fn run(
        call: CollectiveCall, costs: StepCosts, threads: usize, progress: ReportProgress<'_>,
    ) -> Result<Self, String> {
        let (algorithm, run) = call.with_schedules(|name, schedule| {
            Ok((name, levelled::run(call.ranks, schedule, &costs, threads, progress)?))
        })?;
        Ok(Self::new(call, costs, algorithm, run, None))
    }

    /// Runs a call on a network of links.
    ///
    /// # Errors
    /// As [`CollectiveReport::run`].
    pub fn run_on_links(
        call: CollectiveCall, costs: StepCosts, network: &LinkNetwork, progress: ReportProgress<'_>,
    ) -> Result<Self, String> {
        let (algorithm, run) = call.with_schedules(|name, schedule| {
            let (ranks, network) = (call.ranks, Some(network));
            Ok((name, event_driven::run_on_links(ranks, schedule, &costs, network, progress)?))
        })?;
        let links = LinkReport::new(network, &run);
        Ok(Self::new(call, costs, algorithm, run.times, Some(links)))
    }

    /// Runs a persistent call by interfaces.
    ///
    /// # Errors
    /// As [`CollectiveReport::run`], or an interface cannot hold its program.
    pub fn run_offloaded(
        offloaded: OffloadedCall, costs: StepCosts, network: Option<&LinkNetwork>,
        setting: &InterfaceSetting, progress: ReportProgress<'_>,
    ) -> Result<Self, String> {
        let programs = offloaded.all_programs()?;
        let (run, times) =
            event_driven::run_programs(&programs, &costs, network, setting, progress)?;
        let OffloadedCall { call, rules } = offloaded;
        let (algorithm, rounds) = call.with_schedules(|name, _| Ok((name, rounds(&call)?)))?;
        let links = network.map(|network| LinkReport::new(network, &run));
        let run = RunTimes { rounds, ..run.times };
        let resources = Ok(of_all(&programs));
        let offload = Some(OffloadReport { scheme: rules.scheme, times });
        Ok(Self { resources, offload, ..Self::new(call, costs, algorithm, run, links) })
    }

    fn new(
        call: CollectiveCall, costs: StepCosts, algorithm: &str, run: RunTimes,
        links: Option<LinkReport>,
    ) -> Self {
        let mut sorted_ps = run.ends_ps.clone();
        sorted_ps.sort_unstable();
        let resources = resources(&call, algorithm);
        let algorithm = call.algorithm.clone().unwrap_or_else(|| algorithm.to_owned());
        Self { call, algorithm, costs, run, sorted_ps, resources, links, offload: None }
    }

    fn share_us(&self, share: f64) -> f64 {
        let last = self.sorted_ps.len().saturating_sub(1);
        self.sorted_ps[(share * last as f64) as usize] as f64 / 1e6
    }

    fn mean_us(&self) -> f64 {
        let sum_ps: u128 = self.sorted_ps.iter().map(|end_ps| u128::from(*end_ps)).sum();
        sum_ps as f64 / 1e6 / self.sorted_ps.len() as f64
    }

    fn title(&self) -> String {
        let CollectiveCall { operation, ranks, bytes, .. } = &self.call;
        let operation = operation.name().to_lowercase();
        format!("{operation} by {}, {ranks} ranks, {bytes} B", self.algorithm)
    }

    fn setting(&self) -> String {
        let links = self.links.as_ref().map(|links| format!(", {}", links.setting));
        let links = links.unwrap_or_default();
        let offload =
            self.offload.as_ref().map(|offload| format!(", offload {}", offload.scheme.name()));
        let offload = offload.unwrap_or_default();
        format!("network {}{links}, noise {}{offload}", self.costs.network.name, self.costs.noise)
    }

    /// The names and the values of the lines of the text.
    fn lines(&self) -> Vec<(String, String)> {
        let RunTimes { path, totals, rounds, .. } = &self.run;
        let mut times = String::new();
        for (name, share) in SHARES {
            // Writing to a string never fails.
            let _ = write!(times, "{name} {:.3}, ", self.share_us(share));
        }
        let parts = path.parts().map(|(name, ps)| format!("{name} {:.3}", ps as f64 / 1e6));
        let lines = [
            ("time over ranks, us", format!("{times}mean {:.3}", self.mean_us())),
            ("last step of any rank, us", format!("{:.3}", self.run.quiet_ps as f64 / 1e6)),
            (
                "critical path, us",
                format!(
                    "{} (rank {}, {} messages)",
                    parts.join(", "),
                    self.run.last,
                    path.messages
                ),
            ),
            ("rounds", rounds.to_string()),
            ("steps", totals.steps.to_string()),
            ("messages", format!("{}, a rank at most {}", totals.messages, totals.messages_max)),
            ("bytes sent", format!("{}, a rank at most {}", totals.bytes, totals.bytes_max)),
            (
                self.offload.as_ref().map_or("deferred work (tank)", |_| "deferred work"),
                match &self.resources {
                    Ok(Resources { counters, tanks, slots, .. }) => {
                        format!("{counters} counters, {tanks} tanks, {slots} slots a rank")
                    }
                    Err(why) => format!("none: {why}"),
                },
            ),
        ];
        let lines = lines.into_iter().map(|(name, value)| (name.to_owned(), value));
        let instances = self.offload.iter().map(|offload| {
            let text =
                format!("{}, the last at most {:.3} us", offload.instances(), offload.last_us());
            ("instances".to_owned(), text)
        });
        lines.chain(instances).chain(self.links.iter().flat_map(LinkReport::lines)).collect()
    }

    /// The result as text.
    pub fn text(&self) -> String {
        let mut text = format!("{}; {}\n", self.title(), self.setting());
        for (name, value) in self.lines() {
            text += &format!("{name:26}{value}\n");
        }
        text
    }

    /// A heading and a line.
    pub fn csv(&self) -> String {
        let CollectiveCall { operation, ranks, bytes, .. } = &self.call;
        let RunTimes { path, totals, rounds, .. } = &self.run;
        let mut cells: Vec<(String, String)> = vec![
            ("operation".to_owned(), operation.name().to_lowercase()),
            ("algorithm".to_owned(), self.algorithm.replace(',', ";")),
            ("ranks".to_owned(), ranks.to_string()),
            ("bytes".to_owned(), bytes.to_string()),
            ("network".to_owned(), self.costs.network.name.to_owned()),
            ("noise".to_owned(), self.costs.noise.to_string().replace(',', ";")),
            (
                "topology".to_owned(),
                self.links.as_ref().map_or_else(String::new, |it| it.setting.replace(',', ";")),
            ),
        ];
        let mut add = |name: String, value: String| cells.push((name, value));
        for (name, share) in SHARES {
            add(format!("{name}_us"), format!("{:.6}", self.share_us(share)));
        }
        add("mean_us".to_owned(), format!("{:.6}", self.mean_us()));
        add("path_messages".to_owned(), path.messages.to_string());
        for (name, ps) in path.parts() {
            add(format!("path_{name}_us"), format!("{:.6}", ps as f64 / 1e6));
        }
        add("rounds".to_owned(), rounds.to_string());
        add("messages".to_owned(), totals.messages.to_string());
        add("sent_bytes".to_owned(), totals.bytes.to_string());
        let known = self.resources.as_ref().ok();
        let number =
            |number: Option<u32>| number.map_or(String::new(), |number| number.to_string());
        add("counters".to_owned(), number(known.map(|known| known.counters)));
        add("slots".to_owned(), number(known.map(|known| known.slots)));
        let links = self.links.as_ref().map(LinkReport::totals);
        let cell = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.6}"));
        add("link_busy_max_percent".to_owned(), cell(links.map(|(busy, _)| busy)));
        add("links_waited_us".to_owned(), cell(links.map(|(_, waited)| waited)));
        let offload = self.offload.as_ref();
        add(
            "offload".to_owned(),
            offload.map_or_else(String::new, |it| it.scheme.name().to_owned()),
        );
        add("instances".to_owned(), number(offload.map(|it| it.instances() as u32)));
        add("last_instance_us".to_owned(), cell(offload.map(OffloadReport::last_us)));
        let (heads, values): (Vec<String>, Vec<String>) = cells.into_iter().unzip();
        format!("{}\n{}\n", heads.join(","), values.join(","))
    }

    /// The share of ranks that have completed, over the time.
    pub fn distribution(&self) -> Chart {
        let point = |percent: u32| {
            let y = f64::from(percent);
            Point { x: self.share_us(y / 100.0), y, low: y, high: y }
        };
        Chart {
            title: self.title(),
            summary: format!(
                "Share of ranks that have completed, over the time; {}.",
                self.setting()
            ),
            x: Axis::new("µs", Scale::Near),
            y: Axis::new("% of ranks", Scale::Linear),
            series: vec![Series {
                name: "ranks that have completed".to_owned(),
                style: 0,
                points: (0..=100).step_by(2).map(point).collect(),
            }],
            guide: None,
        }
    }

    /// The times over the ranks, in groups of adjacent ranks.
    fn over_ranks(&self) -> Chart {
        let ends_ps = &self.run.ends_ps;
        let size = ends_ps.len().div_ceil(BUCKETS);
        let us = |ps: u64| ps as f64 / 1e6;
        let point = |(number, group): (usize, &[u64])| Point {
            x: (number * size) as f64,
            y: group.iter().map(|ps| us(*ps)).sum::<f64>() / group.len() as f64,
            low: group.iter().min().map_or(0.0, |ps| us(*ps)),
            high: group.iter().max().map_or(0.0, |ps| us(*ps)),
        };
        Chart {
            title: "Time by rank".to_owned(),
            summary: format!("Mean, least and greatest time of each {size} adjacent ranks."),
            x: Axis::new("rank", Scale::Linear),
            y: Axis::new("µs", Scale::Linear),
            series: vec![Series {
                name: format!("mean of {size} ranks"),
                style: 0,
                points: ends_ps.chunks(size).enumerate().map(point).collect(),
            }],
            guide: None,
        }
    }

    /// Everything as an HTML page without other files.
    pub fn page(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    title { (self.title()) }
                    style {
                        (PreEscaped(COLOURS)) (PreEscaped(STYLE))
                        "body{font:15px system-ui,sans-serif;max-width:60rem;margin:1rem auto;"
                        "padding:0 1rem;background:var(--paper);color:var(--ink)}"
                        "th{text-align:left;padding-right:1.5rem;font-weight:600}"
                    }
                }
                body {
                    h1 { (self.title()) }
                    p { (self.setting()) }
                    table {
                        @for (name, value) in self.lines() {
                            tr { th { (name) } td { (value) } }
                        }
                    }
                    (self.distribution())
                    (self.over_ranks())
                    @if let Some(links) = &self.links {
                        (links.picture())
                    }
                }
            }
        };
        page.into_string() + "\n"
    }
}

/// What the operation needs of an interface, as a program of the scheme `tank`.
fn resources(call: &CollectiveCall, algorithm: &str) -> Result<Resources, String> {
    if algorithm == hierarchical::costs::NAME {
        return Err("an operation in two levels".to_owned());
    }
    let algorithm = Some(algorithm.to_owned());
    let call = CollectiveCall { algorithm, nodes: None, ..call.clone() };
    let offloaded = OffloadedCall::new(call, Scheme::Tank, true);
    match offloaded.is_short()? {
        true => largest(&offloaded).map(|(resources, _)| resources),
        false => Err("a program of many steps: suiro-sim offload resources has laws".to_owned()),
    }
}
