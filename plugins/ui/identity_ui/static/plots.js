// Draws the columns of the table of figures. The table stays for who would rather read it, and for who runs no scripts.
"use strict";
(() => {
  const table = document.querySelector("#figures");
  if (!table || table.tBodies[0].rows.length < 2) return;
  const rows = [...table.tBodies[0].rows].reverse();
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const number = (cell) => (cell.dataset.value === "" ? null : Number(cell.dataset.value));
  const times = rows.map((row) => Number(row.cells[0].dataset.value));
  const style = getComputedStyle(document.body), dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const colours = dark ? ["#6fb3ff", "#ffb86b", "#ff8a80"] : ["#1a5fb4", "#9a5b00", "#b3261e"];
  const clock = (seconds) => new Date(seconds * 1000).toISOString().slice(11, 19);
  const drawn = [];

  for (const place of document.querySelectorAll("[data-columns]")) {
    const columns = place.dataset.columns.split(" ").map(Number);
    const axis = { stroke: style.color, grid: { stroke: dark ? "#ffffff22" : "#00000018" }, ticks: { stroke: style.color } };
    const series = columns.map((column, index) => ({ label: heads[column], stroke: colours[index], width: 2, spanGaps: true }));
    const options = {
      width: place.clientWidth,
      height: 180,
      axes: [{ ...axis, values: (plot, ticks) => ticks.map(clock), space: 80 }, { ...axis, size: 60 }],
      scales: { y: { range: (plot, low, high) => [0, Math.max(high || 0, 1)] } },
      series: [{ label: heads[0], value: (plot, seconds) => (seconds === null ? "–" : clock(seconds)) }, ...series],
      cursor: { drag: { x: false, y: false } },
    };
    const data = [times, ...columns.map((column) => rows.map((row) => number(row.cells[column])))];
    drawn.push([place, new uPlot(options, data, place)]);
  }
  addEventListener("resize", () => {
    for (const [place, plot] of drawn) plot.setSize({ width: place.clientWidth, height: 180 });
  });
})();
