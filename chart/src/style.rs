//! The style sheet of charts.

/// The colours for light, dark and paper. Those of series also differ in brightness, and are distinct
/// for red-green colour-blind readers (after Okabe and Ito, "Color Universal Design", 2008).
pub const COLOURS: &str = "\
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2126;--faint:#dde1e6;\
--s0:#c2410c;--s1:#0067a8;--s2:#007a5a;--s3:#8b5a00;--s4:#a3387a;--s5:#2c8db8;--s6:#5b6470;\
--s7:#6a51a3}
@media (prefers-color-scheme:dark){:root{--paper:#14171a;--ink:#e7eaed;--faint:#363d44;\
--s0:#ff8a50;--s1:#5eb6f2;--s2:#3fcfa4;--s3:#e0b04a;--s4:#e892c4;--s5:#9ad9f5;--s6:#b3bcc6;\
--s7:#bda9f0}}
@media print{:root{color-scheme:light;--paper:#fff;--ink:#000;--faint:#ccc;\
--s0:#c2410c;--s1:#0067a8;--s2:#007a5a;--s3:#8b5a00;--s4:#a3387a;--s5:#2c8db8;--s6:#5b6470;\
--s7:#6a51a3}}
";

/// The rules for charts; the colours are [`COLOURS`].
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
