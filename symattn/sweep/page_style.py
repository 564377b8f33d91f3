"""How the page of a phase diagram looks: inside it, so that it is one file."""

STYLE = """
:root { --ink: #1b1b1b; --faint: #5d5d5d; --line: #d5d5d5; --paper: #ffffff; --shade: #f4f5f7;
  --link: #005a9c; color-scheme: light dark; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem 1.2rem 3rem; max-width: 84rem; color: var(--ink);
  background: var(--paper); font: 16px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .2rem; }
h2 { font-size: 1rem; margin: 0 0 .2rem; }
p { max-width: 46rem; margin: .4rem 0; }
sub { line-height: 0; font-size: .75em; }
.faint { color: var(--faint); }
.heard { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
main { display: grid; grid-template-columns: 1fr 1fr 21.5rem; gap: .8rem 1.4rem; margin-top: 1rem; }
figure { margin: 0; min-width: 0; }
figcaption { font-size: .9rem; color: var(--faint); }
.map { display: block; width: 100%; height: auto; border-radius: 3px; cursor: crosshair;
  touch-action: pan-y; user-select: none; -webkit-user-select: none; }
.map:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.map text { font-size: 14px; fill: var(--ink); font-variant-numeric: tabular-nums; }
.map text.x { text-anchor: middle; }
.map text.y { text-anchor: end; }
.map > g > path { shape-rendering: crispEdges; }
.map .frame, .map .bar { stroke: var(--faint); stroke-width: 1; }
.map .frame { fill: none; }
.map .tick { stroke: var(--faint); }
.hole { fill: #e4e4e4; }
.hatch { stroke: #8b8b8b; stroke-width: 1; fill: none; }
.hatch circle { fill: #8b8b8b; stroke: none; }
path.curve, path.halo { fill: none; stroke: #000; stroke-linejoin: round;
  shape-rendering: auto !important; }
path.halo { stroke: #fff; stroke-width: 4; }
.here rect { fill: none; stroke-linejoin: round; }
.here .halo { stroke: #fff; stroke-width: 5; }
.here .edge { stroke: #000; stroke-width: 2; }
.held .here .edge { stroke-width: 3; }
.about { grid-column: 1 / 3; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; list-style: none;
  margin: .2rem 0 .6rem; padding: 0; font-size: .9rem; }
.legend li { display: flex; align-items: center; gap: .5rem; }
.sample { flex: none; width: 40px; height: 12px; background: #d9d9d9; border-radius: 2px; }
.point { grid-column: 3; grid-row: 1 / 3; align-self: start; padding: .7rem .9rem .6rem;
  background: var(--shade); border-radius: 4px; }
.places { display: flex; flex-wrap: wrap; gap: .3rem 1rem; }
label { white-space: nowrap; }
select { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--faint);
  border-radius: 3px; padding: .1rem .2rem; }
select:focus-visible { outline: 3px solid var(--link); }
.verdict { font-weight: 600; font-size: .95rem; margin: .5rem 0 .2rem; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; table-layout: fixed; }
th, td { text-align: left; vertical-align: top; padding: .22rem .4rem .22rem 0;
  border-bottom: 1px solid var(--line); }
thead th { border-bottom: 2px solid var(--line); }
tbody th { font-weight: normal; }
tr > :first-child { width: 25%; }
tbody tr:last-child > * { border-bottom: 0; }
td { font-variant-numeric: tabular-nums; white-space: nowrap; }
td small { display: block; font-size: .8rem; line-height: 1.2; min-height: 1.2em;
  color: var(--faint); }
td[data-row="status"] small { display: none; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: .6rem 0;
  font-size: .9rem; }
dt { color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }
summary { cursor: pointer; }
@media (max-width: 66rem) {
  main { grid-template-columns: 1fr 1fr; }
  .about { grid-column: 1 / 3; grid-row: 3; }
  .point { grid-column: 1 / 3; grid-row: 2; }
}
@media (max-width: 44rem) {
  body { padding: .8rem .7rem 2rem; }
  h1 { font-size: 1.3rem; }
  main { grid-template-columns: 1fr; }
  main > * { grid-column: 1 !important; grid-row: auto !important; }
}
@media (max-width: 66rem) and (min-height: 38rem) {
  .point { position: sticky; bottom: 0; padding: .5rem .7rem .3rem; box-shadow: 0 -2px 8px #0003; }
  .point .verdict { margin: .2rem 0 .1rem; }
  .point :is(th, td) { padding: .05rem .4rem .05rem 0; }
}
@media (min-width: 30.01rem) and (max-width: 66rem) {
  .point small { display: inline; }
}
@media (max-width: 30rem) {
  h2 { font-size: .95rem; }
  .words { display: none; }
  .verdict { font-size: .9rem; }
  table { font-size: .8rem; line-height: 1.2; }
  tr:last-child small { display: inline !important; }
  tr > :first-child { width: 22%; }
  .point small { font-size: .7rem; line-height: 1.1; min-height: 1.1em; }
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --faint: #a8a8a8; --line: #3c3f44; --paper: #16181b; --shade: #22252a;
    --link: #7dbcff; }
}
@media print {
  :root { --ink: #000; --faint: #444; --line: #bbb; --paper: #fff; --shade: #fff; }
  .point { position: static !important; box-shadow: none !important; }
}
"""
