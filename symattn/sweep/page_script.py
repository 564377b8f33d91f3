"""How the page of a phase diagram moves: inside it, so that it is one file."""

SCRIPT = """
"use strict";
(() => {
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const drawing = data.drawing;
const axes = [data.x, data.y];
const counts = axes.map((axis) => axis.values.length);
const chosen = [byId("x"), byId("y")];
const maps = [...document.querySelectorAll("svg.map")];
let here = counts.map((count) => count >> 1);
let held = false;
let timer;

function pair(cell, entry) {
  const [value, note] = entry || ["\\u2013", ""];
  const small = document.createElement("small");
  small.textContent = note;
  cell.replaceChildren(value, " ", small);
}

function show() {
  const [column, row] = here;
  chosen.forEach((list, i) => { list.selectedIndex = here[i]; });
  document.querySelectorAll("td[data-branch]").forEach((cell) => {
    pair(cell, data.branches[cell.dataset.branch][cell.dataset.row][row][column]);
  });
  byId("linear").textContent = data.linear_test_error[row][column] ?? "\\u2013";
  const verdict = data.verdicts[data.verdict[row][column]];
  byId("verdict").textContent = verdict;
  const place = axes.map((axis, i) => `${axis.name} = ${axis.texts[here[i]]}`).join(", ");
  byId("heard").textContent = `${place}. ${verdict}`;
  const width = drawing.side / counts[0], height = drawing.side / counts[1], around = 1.5;
  maps.forEach((map) => {
    map.querySelectorAll(".here rect").forEach((mark) => {
      mark.setAttribute("x", drawing.left + column * width - around);
      mark.setAttribute("y", drawing.top + drawing.side - (row + 1) * height - around);
      mark.setAttribute("width", width + 2 * around);
      mark.setAttribute("height", height + 2 * around);
    });
  });
}

function move(to) {
  const next = to.map((place, i) => Math.min(Math.max(place, 0), counts[i] - 1));
  if (next[0] !== here[0] || next[1] !== here[1]) {
    here = next;
    show();
  }
}

function hold(value) {
  held = value;
  document.body.classList.toggle("held", held);
}

// Browsers refuse many changes of the address in a short time.
function remember() {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const hash = axes.map((axis, i) => `${axis.name}=${axis.texts[here[i]]}`).join("&");
    try { history.replaceState(null, "", `#${hash}`); } catch { /* the page works without */ }
  }, 300);
}

function recall() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const named = axes.map((axis) => asked.get(axis.name));
  move(axes.map((axis, i) => {
    const value = named[i] === null || named[i] === "" ? NaN : Number(named[i]);
    if (!Number.isFinite(value)) return here[i];
    const distances = axis.values.map((at) => Math.abs(at - value));
    return distances.indexOf(Math.min(...distances));
  }));
  hold(named.some((text) => text !== null));
}

// The cell below the pointer, or null beside the cells.
function below(map, event) {
  const box = map.getBoundingClientRect();
  const x = (event.clientX - box.left) / box.width * drawing.width - drawing.left;
  const y = drawing.side + drawing.top - (event.clientY - box.top) / box.height * drawing.height;
  if (x < 0 || y < 0 || x >= drawing.side || y >= drawing.side) return null;
  return [Math.floor(x / drawing.side * counts[0]), Math.floor(y / drawing.side * counts[1])];
}

const STEPS = {
  ArrowLeft: ([x, y]) => [x - 1, y], ArrowRight: ([x, y]) => [x + 1, y],
  ArrowDown: ([x, y]) => [x, y - 1], ArrowUp: ([x, y]) => [x, y + 1],
  Home: ([x, y]) => [0, y], End: ([x, y]) => [counts[0] - 1, y],
  PageDown: ([x, y]) => [x, 0], PageUp: ([x, y]) => [x, counts[1] - 1],
};

maps.forEach((map) => {
  map.addEventListener("pointermove", (event) => {
    const cell = below(map, event);
    if (cell && (!held || event.pointerType !== "mouse")) move(cell);
  });
  map.addEventListener("click", (event) => {
    const cell = below(map, event);
    if (!cell) return;
    const again = cell[0] === here[0] && cell[1] === here[1];
    hold(!(held && again));
    move(cell);
    remember();
  });
  map.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hold(false);
    const step = STEPS[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    hold(true);
    move(step(here));
    remember();
  });
});
chosen.forEach((list, i) => {
  list.addEventListener("change", () => {
    hold(true);
    move(here.map((place, k) => (k === i ? list.selectedIndex : place)));
    remember();
  });
});
window.addEventListener("hashchange", recall);
show();
recall();
})();
"""
