//! Levels of the counters of some ranks during a collective operation, with the work that each
//! threshold triggers.
//!
//! ```text
//!   63 ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ┌─┐  reset, complete
//!   48 ─ ─ ─ ─ ─ ─ ┌─────────┘ │  signal to 2
//!   32 ─ ─ ─ ┌─────┘           │  put to 1
//!    0 ──────┘                 └──
//! ```
//!
//! Thresholds are equidistant so that those of all rounds are visible; between two, levels are in
//! proportion.

use maud::{Markup, html};

use chart::rounded;

use super::ticks;
use crate::executor::event_driven::{InstanceTimes, LevelChange};
use mpi_abi::offload::{CounterId, Program, ProgramOp};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 210.0;
const HEAD: f64 = 46.0;
/// Space above a panel, for its name, and below it.
const ABOVE: f64 = 30.0;
const BELOW: f64 = 16.0;
/// Distance of thresholds.
const STEP: f64 = 20.0;
/// With more thresholds than this, the distance is smaller and some have no text.
const STEPS_MAX: usize = 24;

const STYLE: &str = "\
.chart .level{stroke-width:2;fill:none}.chart .t0{stroke:var(--s1)}\
.chart .t1{stroke:var(--s0);stroke-dasharray:6 3}.chart .small{font-size:10.5px}\
.chart .up{text-anchor:end}.chart .mid{text-anchor:middle}.chart .threshold{stroke:var(--faint)}\
.chart .over{stroke:var(--s2);stroke-width:1.5;stroke-dasharray:2 3}";

/// An SVG file of the counters of `ranks`.
pub fn file(
    title: &str, summary: &str, programs: &[Program], run: &InstanceTimes, ranks: &[u32],
) -> String {
    let end_ps = run.changes.last().map_or(1, |change| change.time_ps.max(1));
    let panels: Vec<CounterPanel> = ranks
        .iter()
        .flat_map(|&rank| {
            let program = &programs[rank as usize];
            (0..program.counters())
                .map(move |counter| CounterPanel::new(program, rank, counter, end_ps))
        })
        .collect();
    let height = |panel: &CounterPanel| ABOVE + panel.height() + BELOW;
    let total = HEAD + panels.iter().map(height).sum::<f64>() + 34.0;
    let bottom = total - 34.0;
    let has_two = programs.iter().any(|program| program.tanks > 1);
    let content = html! {
        text .title x="6" y="18" { (title) }
        (legend(has_two))
        @for tick in ticks(end_ps as f64 / 1e6, 8) {
            @let x = across(tick * 1e6, end_ps);
            path .grid d={ "M" (x) " " (HEAD) "L" (x) " " (rounded(bottom)) } {}
            text .small .mid x=(x) y=(rounded(bottom + 15.0)) { (rounded(tick)) }
        }
        text .small .mid x=((LEFT + RIGHT) / 2.0) y=(rounded(bottom + 30.0)) { "µs" }
        @for (index, panel) in panels.iter().enumerate() {
            @let top = HEAD + panels[..index].iter().map(height).sum::<f64>() + ABOVE;
            (panel.draw(run, top))
        }
    };
    chart::document((WIDTH, total), 1.2, title, summary, STYLE, &content)
}

fn legend(has_two: bool) -> Markup {
    let line = |class: &str, x: f64, name: &str| {
        html! {
            path class={ "level " (class) } d={ "M" (x) " 34h26" } {}
            text .small x=(x + 31.0) y="38" { (name) }
        }
    };
    html! {
        (line("t0", LEFT, if has_two { "tank of even instances" } else { "tank" }))
        @if has_two { (line("t1", LEFT + 180.0, "tank of odd instances")) }
        (line("over", LEFT + 360.0, "end of an instance"))
    }
}

fn across(time_ps: f64, end_ps: u64) -> f64 {
    rounded(LEFT + time_ps / end_ps as f64 * (RIGHT - LEFT))
}

/// A counter of a rank.
struct CounterPanel {
    rank: u32,
    counter: CounterId,
    end_ps: u64,
    /// The levels that work waits for, ascending, with the triggered work; the first is 0.
    thresholds: Vec<(u64, String)>,
}

impl CounterPanel {
    fn new(program: &Program, rank: u32, counter: CounterId, end_ps: u64) -> Self {
        let own = program.work().iter().filter(|work| work.counter == counter);
        let own: Vec<_> = own.collect();
        let groups = own.chunk_by(|one, two| one.level == two.level);
        let mut thresholds: Vec<(u64, String)> = groups
            .map(|works| {
                let words = works.iter().map(|work| op_text(&work.op));
                (works[0].level, shortened(&counted(words)))
            })
            .collect();
        if thresholds.first().is_none_or(|first| first.0 > 0) {
            thresholds.insert(0, (0, String::new()));
        }
        Self { rank, counter, end_ps, thresholds }
    }

    fn height(&self) -> f64 {
        STEP * (self.thresholds.len() - 1).clamp(2, STEPS_MAX) as f64
    }

    /// Height of a level above the bottom; levels above the highest threshold are slightly higher.
    fn up(&self, level: u64) -> f64 {
        let steps = self.thresholds.len() - 1;
        let step = self.height() / steps.max(1) as f64;
        let above = self.thresholds.partition_point(|threshold| threshold.0 <= level);
        let from = above - 1;
        let share = match self.thresholds.get(above) {
            Some(next) => {
                let low = self.thresholds[from].0;
                (level - low) as f64 / (next.0 - low) as f64
            }
            None if level == self.thresholds[from].0 => 0.0,
            None => 0.4,
        };
        (from as f64 + share) * step
    }

    fn draw(&self, run: &InstanceTimes, top: f64) -> Markup {
        let bottom = top + self.height();
        let steps = self.thresholds.len() - 1;
        // Texts must not overlap.
        let every = steps.div_ceil(STEPS_MAX).max(1);
        let place = |level: u64| rounded(bottom - self.up(level));
        let right = across(self.end_ps as f64, self.end_ps);
        let ends = run.ends_ps[self.rank as usize].iter();
        html! {
            text .small x="6" y=(rounded(top - 13.0)) {
                "rank " (self.rank) ", counter " (self.counter)
            }
            @for (index, (level, words)) in self.thresholds.iter().enumerate() {
                @let y = place(*level);
                path .threshold d={ "M" (LEFT) " " (y) "L" (right) " " (y) } {}
                @if index % every == 0 || index == steps {
                    text .small .up x=(LEFT - 6.0) y=(rounded(y + 3.5)) { (number(*level)) }
                    text .small x=(right + 8.0) y=(rounded(y + 3.5)) { (words) }
                }
            }
            @for end in ends {
                @let x = across(*end as f64, self.end_ps);
                path .over d={ "M" (x) " " (rounded(top - 4.0)) "L" (x) " " (rounded(bottom)) } {}
            }
            @for tank in 0..2 {
                @let path = self.path(run, tank, place);
                @if !path.is_empty() { path class={ "level t" (tank) } d=(path) {} }
            }
        }
    }

    /// The line of a tank; empty if the counter never changes.
    fn path(&self, run: &InstanceTimes, tank: usize, place: impl Fn(u64) -> f64) -> String {
        let is_here = |change: &&LevelChange| {
            (change.rank, change.counter, change.tank) == (self.rank, self.counter, tank)
        };
        let mut path = String::new();
        for change in run.changes.iter().filter(is_here) {
            if path.is_empty() {
                path = format!("M{LEFT} {}", place(0));
            }
            let x = across(change.time_ps as f64, self.end_ps);
            path += &format!("H{x}V{}", place(change.level));
        }
        if !path.is_empty() {
            path += &format!("H{}", across(self.end_ps as f64, self.end_ps));
        }
        path
    }
}

/// A short text for an operation.
fn op_text(op: &ProgramOp) -> String {
    match op {
        ProgramOp::Put { to, .. } => format!("put to {to}"),
        ProgramOp::Signal { to, .. } => format!("signal to {to}"),
        ProgramOp::Copy { .. } => "copy".to_owned(),
        ProgramOp::Host { step, .. } => format!("host step {step}"),
        ProgramOp::Combine { .. } => "combine".to_owned(),
        ProgramOp::Add(add) if (add.value as i64) < 0 => "reset".to_owned(),
        ProgramOp::Add(add) => format!("add to counter {}", add.counter),
        ProgramOp::Complete => "complete".to_owned(),
    }
}

/// The distinct texts, with their number.
fn counted(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for word in words {
        match counted.iter_mut().find(|known| known.0 == word) {
            Some(known) => known.1 += 1,
            None => counted.push((word, 1)),
        }
    }
    let text = |(word, count)| if count > 1 { format!("{word} × {count}") } else { word };
    counted.into_iter().map(text).collect()
}

/// The texts, cut to the available space.
fn shortened(words: &[String]) -> String {
    const ROOM: usize = 34;
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        if index > 0 && text.len() + word.len() > ROOM {
            return format!("{text}, … {} more", words.len() - index);
        }
        text += &format!("{separator}{word}");
    }
    text
}

/// A level; long ones are cut.
fn number(level: u64) -> String {
    if level < 1_000_000 { level.to_string() } else { format!("{:.3e}", level as f64) }
}
