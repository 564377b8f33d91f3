"""How the page looks: inside it, so that it is one file."""

STYLE = """
:root { --ink: #1b1b1b; --faint: #5d5d5d; --line: #d5d5d5; --paper: #ffffff; --shade: #f4f5f7;
  --good: #00613f; --bad: #a3320b; --link: #005a9c; color-scheme: light dark; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1.2rem 4rem; max-width: 68rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; padding-top: .6rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
p { max-width: 44rem; margin: .5rem 0; }
a { color: var(--link); }
.faint, .note { color: var(--faint); }
.note { display: block; font-size: .85rem; font-weight: normal; }
.summary { margin: 1rem 0; padding: .8rem 1rem; background: var(--shade);
  border-left: .35rem solid var(--faint); }
.summary.holds { border-color: var(--good); }
.summary.fails { border-color: var(--bad); }
.summary p:first-child { font-size: 1.15rem; font-weight: 600; margin-top: 0; }
.summary p:last-child { margin-bottom: 0; }
.verdict { font-weight: 600; }
td .verdict { white-space: nowrap; }
.verdict.holds { color: var(--good); }
.verdict.fails { color: var(--bad); }
.verdict.shown { color: var(--faint); font-weight: normal; }
table { border-collapse: collapse; width: 100%; margin: .8rem 0 1.4rem; font-size: .9rem; }
caption { text-align: left; color: var(--faint); padding-bottom: .4rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0;
  border-bottom: 1px solid var(--line); }
thead th { font-weight: 600; border-bottom: 2px solid var(--line); }
tbody th { font-weight: normal; min-width: 15rem; }
td { font-variant-numeric: tabular-nums; }
.error { white-space: nowrap; color: var(--faint); }
figure { margin: 1.2rem 0 1.6rem; max-width: 52rem; }
figure svg { display: block; width: 100%; height: auto; background: #ffffff; border-radius: 3px; }
figcaption { font-size: .9rem; color: var(--faint); margin-top: .4rem; max-width: 44rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: .6rem 0; }
dt { color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 46rem) {
  body { padding: 1rem .9rem 3rem; }
  table, caption, tbody, tr, th, td { display: block; width: 100%; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody tr { border-bottom: 1px solid var(--line); padding: .6rem 0; }
  tbody th, tbody td { border: 0; padding: .1rem 0; min-width: 0; }
  tbody td { display: grid; grid-template-columns: 8.5rem 1fr; }
  tbody td::before { content: attr(data-label); color: var(--faint); }
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --faint: #a8a8a8; --line: #3c3f44; --paper: #16181b; --shade: #22252a;
    --good: #63cfa0; --bad: #ff9b73; --link: #7dbcff; }
}
@media print {
  :root { --ink: #000; --faint: #444; --line: #bbb; --paper: #fff; --shade: #fff;
    --good: #00613f; --bad: #a3320b; --link: #000; }
  body { max-width: none; font-size: 10pt; padding: 0; }
  figure, tr, .summary { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
"""
