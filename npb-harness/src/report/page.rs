//! The page: one self-contained file, without a network or scripts; light or dark by the reader's
//! preference, for wide and narrow screens and paper.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::charts::{Charts, Group};
use super::results::{Comparison, Results};
use super::worlds::WorldSection;
use super::{Report, tables};
use crate::model::point::Values;

/// Rules and colours in addition to `chart::COLOURS`.
const STYLE: &str = "\
:root{--raised:#f5f6f8;--soft:#59636e;--alarm:#b3261e;--alarm-paper:#fdecea;--good:#1b6e3c}
@media (prefers-color-scheme:dark){:root{--raised:#1d2125;--soft:#a2acb6;--alarm:#ff9c92;\
--alarm-paper:#3a1a17;--good:#7fd6a1}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem clamp(.75rem,3vw,2rem) 4rem;max-width:96rem;\
background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;line-height:1.2;margin:0 0 .25rem}
h2{font-size:1.25rem;margin:2.5rem 0 .25rem;padding-top:.75rem;border-top:1px solid var(--faint)}
h3{font-size:1.05rem;margin:1.75rem 0 0}
p{margin:.25rem 0 .75rem;max-width:48rem}
.soft,.chart details{color:var(--soft)}
.good{color:var(--good);font-weight:600}
nav{display:flex;flex-wrap:wrap;gap:.25rem 1rem;margin:.75rem 0}
a{color:inherit}
.alarm{border:2px solid var(--alarm);background:var(--alarm-paper);border-radius:.5rem;\
padding:.5rem 1rem;margin:1rem 0}
.alarm h2{border:0;margin:.25rem 0;padding:0;color:var(--alarm)}
.grid{display:grid;gap:1.5rem 2rem;\
grid-template-columns:repeat(auto-fill,minmax(min(100%,22rem),1fr));margin-top:.75rem}
.wide{overflow-x:auto}
.wide th,.wide td{white-space:nowrap}
.prose td{white-space:normal;max-width:28rem}
.prose td:last-child{white-space:nowrap}
table{border-collapse:collapse;font-size:.9rem;margin:.5rem 0}
th,td{text-align:left;padding:.2rem .75rem .2rem 0;border-bottom:1px solid var(--faint);\
vertical-align:top}
thead th{color:var(--soft);font-weight:600;vertical-align:bottom}
.number,.chart td{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.chart table{font-size:inherit}
code{font:.9em ui-monospace,monospace;overflow-wrap:anywhere}
summary{cursor:pointer}
@media screen and (max-width:44rem){.stack thead{display:none}\
.stack table,.stack tbody,.stack tr,.stack td{display:block}.stack td{border:0;white-space:normal}\
.stack tr{border-bottom:1px solid var(--faint);padding:.35rem 0}\
.alarm td:nth-child(3){display:none}.prose td:first-child::before{content:'Figure '}.prose td:last-child{font-weight:600}}
@media print{:root{--raised:#fff;--soft:#444}
html{font-size:12px}body{padding:0;max-width:none}nav,.chart details{display:none}\
h2,h3{break-after:avoid}.grid{grid-template-columns:1fr 1fr;gap:1rem}.wide{overflow:visible}}
";

/// The page of this report; `sources` are its files.
pub(super) fn page(report: &Report, sources: &[String]) -> Markup {
    let (results, values) = (&report.kernels, &report.values);
    let comparisons = results.comparisons();
    let charts = Charts::new(results, &comparisons);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { "NAS Parallel Benchmarks" }
                style { (PreEscaped(chart::COLOURS)) (PreEscaped(STYLE)) (PreEscaped(chart::STYLE)) }
            }
            body {
                header {
                    h1 { "NAS Parallel Benchmarks" }
                    p .soft { (super::overview(&report.all)) " From " (sources.join(", ")) "." }
                }
                (failures(&report.all))
                (contents(&charts))
                main {
                    @if !results.rates.is_empty() { (summary(&comparisons)) }
                    (messages(results, values))
                    @for (index, (source, class)) in charts.sections().into_iter().enumerate() {
                        section id={ "s" (index) } {
                            h2 { (heading(source, class.0)) }
                            @for group in charts.groups(source, class) { (group_of(&group)) }
                        }
                    }
                    (rates(results))
                    @for world in &report.worlds { (section(world)) }
                }
            }
        }
    }
}

fn heading(source: &str, class: char) -> String {
    format!("Class {class}, {source}")
}

fn failures(results: &Results) -> Markup {
    let count = results.failures.len();
    html! {
        @if count > 0 {
            section .alarm role="alert" {
                h2 { (count) (if count == 1 { " run is" } else { " runs are" }) " not verified" }
                p { "They are left out of all figures. Their output is in the logs." }
                div .stack { (tables::failures(&results.failures)) }
            }
        } @else if results.runs > 0 {
            p .good { "All runs are verified." }
        }
    }
}

fn contents(charts: &Charts<'_>) -> Markup {
    let sections = charts.sections();
    html! {
        @if sections.len() > 1 {
            nav aria-label="Contents" {
                @for (index, (source, class)) in sections.into_iter().enumerate() {
                    a href={ "#s" (index) } { (heading(source, class.0)) }
                }
                a href="#rates" { "All figures" }
            }
        }
    }
}

fn summary(comparisons: &[Comparison]) -> Markup {
    html! {
        section {
            h2 { "Suiro compared with the best peer" }
            @if comparisons.is_empty() {
                p { "There is no peer to compare with: run " code { "npb run" } " with " code { "--peer" } "." }
            } @else {
                p {
                    "Median Mop/s of Suiro divided by those of the best peer for each kernel: geometric mean \
                    over the kernels, minimum and maximum. Above 1, Suiro is faster."
                }
                (tables::comparisons(comparisons))
            }
        }
    }
}

/// The measurements of `npb model`.
fn messages(results: &Results, values: &Values) -> Markup {
    html! {
        @if let Some(group) = super::messages::group(values) {
            section {
                h2 { "Comparison with a paper" }
                p {
                    "F. Okazaki et al., \u{201c}Performance Evaluation of the GridMPI for IBM \
                     pSeries\u{201d}, has two modes: in thread mode a thread makes all progress and \
                     calls sleep (delegate), in polling mode calls make progress (polling). A claim \
                     holds if the relation of the values does."
                }
                div .prose.stack { (super::messages::claims(values, results)) }
                (group_of(&group))
            }
        }
    }
}

/// An experiment with several jobs.
fn section(world: &WorldSection) -> Markup {
    let means = world.means();
    html! {
        section {
            h2 { (world.experiment.title()) }
            p { (world.experiment.caption()) }
            @if !means.rows.is_empty() { (means) }
            @for group in world.groups() { (group_of(&group)) }
            details {
                summary { "All figures: Mop/s of all ranks" }
                (world.figures())
            }
        }
    }
}

fn group_of(group: &Group) -> Markup {
    html! {
        h3 { (group.heading) }
        p .soft { (group.caption) }
        div .grid {
            @for chart in &group.charts { (chart) }
        }
    }
}

fn rates(results: &Results) -> Markup {
    html! {
        @if !results.rates.is_empty() {
            section id="rates" {
                h2 { "All figures" }
                details {
                    summary { "Mop/s of all ranks: median (least\u{2013}greatest)" }
                    (tables::rates(results, tables::spread))
                }
            }
        }
    }
}
