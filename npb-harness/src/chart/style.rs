//! How charts look, as a piece of a style sheet.

/// The rules for charts. The page has the colours: `--ink`, `--faint`, `--paper`, `--s0` to `--s7`.
pub const STYLE: &str = "\
.chart{margin:0;min-width:0;break-inside:avoid}
.chart figcaption{font-weight:600;margin-bottom:.25rem;overflow-wrap:anywhere}
.chart>svg{display:block;width:100%;height:auto;max-width:36rem;font-size:12px}
.chart text{fill:var(--ink)}
.chart .tick{font-variant-numeric:tabular-nums}
.chart path{fill:none;stroke:var(--ink)}
.chart .grid{stroke:var(--faint)}
.chart .guide{stroke-dasharray:2 3;stroke-width:1.5}
.chart .line{stroke:var(--own);stroke-width:1.6;stroke-linejoin:round}
.chart .s0 .line{stroke-width:2.6}
.chart .mark{fill:var(--own);stroke:var(--paper);stroke-width:1}
.chart .spread{stroke:var(--own);stroke-width:1.2}
.s0{--own:var(--s0)}.s1{--own:var(--s1)}.s2{--own:var(--s2)}.s3{--own:var(--s3)}
.s4{--own:var(--s4)}.s5{--own:var(--s5)}.s6{--own:var(--s6)}.s7{--own:var(--s7)}
.s1 .line{stroke-dasharray:7 3}.s2 .line{stroke-dasharray:2 3}.s3 .line{stroke-dasharray:9 3 2 3}
.s4 .line{stroke-dasharray:4 2}.s5 .line{stroke-dasharray:12 4}.s6 .line{stroke-dasharray:1 2}
.s7 .line{stroke-dasharray:6 2 1 2 1 2}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.15rem 1rem;margin:.25rem 0;padding:0;\
font-size:.85rem}
.legend li{display:flex;align-items:center;gap:.4rem;overflow-wrap:anywhere}
.swatch{flex:none;width:28px;height:12px}
.chart details{font-size:.85rem}
";
