//! Times and pictures of the packings of a halo exchange.

use chart::{Axis, Chart, Point, Scale, Series};

use super::draw::packing::{self, Bar, PackingPanel};
use super::halo::{
    CALLS_NS, Direction, GRIDS, HaloExchange, HaloPattern, exchange_ns, published_us,
};
use mpi_abi::devices::torus::TorusShape;
use mpi_abi::offload::packing::{InterfaceModel, Packing, PackingPolicy};

/// The packings to compare.
#[derive(Clone, Debug)]
pub struct PackingComparison {
    /// The exchanges.
    pub patterns: Vec<HaloPattern>,
    /// The packings.
    pub policies: Vec<PackingPolicy>,
    /// Vertical size of the grid.
    pub grid: u64,
    /// Speed of interfaces and links.
    pub machine: InterfaceModel,
    /// The nodes, one process on each.
    pub torus: TorusShape,
}

impl PackingComparison {
    /// A table of the times of one exchange in microseconds, with published times in parentheses.
    pub fn table(&self) -> String {
        const NAME: usize = 18;
        const COLUMN: usize = 16;
        let mut text = format!("{:NAME$}", "us per exchange");
        self.patterns.iter().for_each(|pattern| text += &format!("{:>COLUMN$}", pattern.name()));
        text.push('\n');
        for &policy in &self.policies {
            text += &format!("{:NAME$}", policy.to_string());
            for &pattern in &self.patterns {
                let time = exchange_ns(pattern, self.grid, policy, &self.machine, self.torus);
                let published = self.published(pattern, policy).map(|time| format!(" ({time})"));
                let cell = format!("{:.1}{:5}", time / 1e3, published.unwrap_or_default());
                text += &format!("{cell:>COLUMN$}");
            }
            text = text.trim_end().to_owned() + "\n";
        }
        text
    }

    fn published(&self, pattern: HaloPattern, policy: PackingPolicy) -> Option<f64> {
        let is_published =
            self.grid == GRIDS[GRIDS.len() - 1] && self.machine == InterfaceModel::TOFU1;
        published_us(pattern, policy).filter(|_| is_published)
    }

    /// The packings of one exchange, as an SVG file.
    pub fn picture(&self, pattern: HaloPattern) -> String {
        let puts = pattern.puts(self.grid);
        let direction = |put: usize| Direction::ALL[usize::from(puts[put].direction)];
        let bar = |put: usize, engine, start_ns: f64, end_ns: f64| Bar {
            engine,
            start_us: start_ns / 1e3,
            end_us: end_ns / 1e3,
            colour: direction(put) as usize,
            label: direction(put).short(),
        };
        let panels: Vec<PackingPanel> = self
            .policies
            .iter()
            .map(|&policy| {
                let packing = Packing::new(policy, &puts, &self.machine);
                let run = HaloExchange::run(&puts, &packing, &self.machine, self.torus).transfers;
                let packed = packing.placements.iter().enumerate();
                let used =
                    packing.queues.iter().map(|queue| f64::from(u8::from(!queue.is_empty())));
                let ready = packing.ready_ns(&self.machine).zip(used);
                let engines = 1..=packing.queues.len();
                let load_us = if policy == PackingPolicy::Access {
                    self.machine.access_ns / 1e3
                } else {
                    0.0
                };
                PackingPanel {
                    name: policy.to_string(),
                    ready_us: ready.map(|(ready_ns, used)| used * ready_ns / 1e3).collect(),
                    loaded_us: engines.map(|engine| load_us * engine as f64).collect(),
                    packed: packed
                        .map(|(put, at)| bar(put, at.engine, at.start_ns as f64, at.end_ns as f64))
                        .collect(),
                    run: run
                        .iter()
                        .map(|it| bar(it.put, it.engine, it.span.start_ns, it.span.end_ns))
                        .collect(),
                }
            })
            .collect();
        let title = format!(
            "Halo exchange with {pattern}, {} × 16 × 16: puts on {} engines",
            self.grid, self.machine.engines
        );
        let summary = "Rectangles are puts: engines from left to right, time upwards, coloured by \
        direction. Top: as packed; bottom: as simulated with shared links. Grey: the \
        commands of the engine are being written.";
        packing::file(&title, summary, &panels)
    }

    /// The times of one exchange for the grid sizes of table 1 of "RDMA scheduling" (2013), as an SVG
    /// file.
    pub fn chart(&self, pattern: HaloPattern) -> String {
        let point = |policy, grid: u64| {
            let time_ns = exchange_ns(pattern, grid, policy, &self.machine, self.torus);
            let y = time_ns / 1e3;
            Point { x: grid as f64, y, low: y, high: y }
        };
        let of = |(style, &policy): (usize, &PackingPolicy)| Series {
            name: policy.to_string(),
            style,
            points: GRIDS.iter().map(|&grid| point(policy, grid)).collect(),
        };
        let title = format!("Halo exchange with {pattern}");
        let summary = format!(
            "Simulated time of an exchange of {} processes over the vertical size of the \
             grid, {} µs of which are barriers and calls.",
            self.torus.nodes(),
            CALLS_NS / 1e3
        );
        let chart = Chart {
            title,
            summary,
            x: Axis::new("vertical grid size", Scale::Linear),
            y: Axis::new("µs per exchange", Scale::Linear),
            series: self.policies.iter().enumerate().map(of).collect(),
            guide: None,
        };
        chart.file()
    }
}
