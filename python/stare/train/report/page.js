"use strict";
// Data comes in one JSON block: {runs: [{name, arm, grids: [xs], data: {key: [grid, ys]}}], panels, band, steps}.
// Everything drawn is canvas text or textContent: nothing from a file is ever parsed as HTML.
const DATA = JSON.parse(document.getElementById("data").textContent);
for (const r of DATA.runs) for (const k in r.data) r.data[k][0] = r.grids[r.data[k][0]];
const LIGHT = ["#0b6bb8", "#d1490c", "#0a8a62", "#a63d8f", "#b07d00", "#5a6472", "#8a4b2a", "#6a5acd"];
const DARK = ["#62b0f4", "#ff8a55", "#3fcf9b", "#e58bd0", "#e8bb4a", "#aeb7c4", "#cf9a78", "#a99cff"];
const dark = matchMedia("(prefers-color-scheme: dark)");
const arms = [...new Set(DATA.runs.map((r) => r.arm))];
const grouped = arms.length < DATA.runs.length;
const state = { mode: grouped ? "arms" : "runs", smooth: 0, hidden: new Set() };
const tip = document.getElementById("tip");
const color = (arm) => (dark.matches ? DARK : LIGHT)[arms.indexOf(arm) % LIGHT.length];
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Exponential smoothing with start-up correction, as TensorBoard does it; 0 leaves values alone.
function smooth(ys, a) {
  if (!a) return ys;
  let m = 0, w = 0;
  return ys.map((y) => ((m = a * m + (1 - a) * y), (w = a * w + 1 - a), m / w));
}

// One line per run, or the mean over the runs of an arm at the steps that all of them have.
function lines(key) {
  const shown = DATA.runs.filter((r) => !state.hidden.has(r.arm) && !state.hidden.has(r.name) && r.data[key]);
  if (state.mode === "runs")
    return shown.map((r) => ({ label: r.name, color: color(r.arm), xs: r.data[key][0], ys: smooth(r.data[key][1], state.smooth) }));
  return arms.flatMap((arm) => {
    const runs = shown.filter((r) => r.arm === arm);
    if (!runs.length) return [];
    const at = new Map();
    for (const r of runs) {
      const ys = smooth(r.data[key][1], state.smooth);
      r.data[key][0].forEach((x, i) => at.has(x) ? at.get(x).push(ys[i]) : at.set(x, [ys[i]]));
    }
    const xs = [...at.keys()].filter((x) => at.get(x).length === runs.length).sort((a, b) => a - b);
    const all = xs.map((x) => at.get(x));
    const line = { label: arm, color: color(arm), xs, ys: all.map((v) => v.reduce((a, b) => a + b, 0) / v.length) };
    if (runs.length > 1) {
      line.low = all.map((v) => Math.min(...v));
      line.high = all.map((v) => Math.max(...v));
    }
    return [line];
  });
}

// Counted, not accumulated: `v += step` never ends where step is below the rounding of v.
function ticks(low, high, n) {
  const raw = (high - low) / n, p = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5].map((m) => m * p).find((s) => s >= raw) || 10 * p;
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, Math.min(30, last - first + 1)) }, (_, i) => (first + i) * step);
}
const format = (v) => v === 0 ? "0" : Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toExponential(1) : String(+v.toPrecision(4));

class Panel {
  constructor(spec) {
    this.spec = spec;
    this.choice = spec.views[0];
    const box = document.createElement("section");
    box.className = "panel";
    const head = box.appendChild(document.createElement("header"));
    this.title = head.appendChild(document.createElement("h3"));
    if (spec.views.length > 1) {
      const select = head.appendChild(document.createElement("select"));
      select.setAttribute("aria-label", "curve of " + spec.title);
      spec.views.forEach((v, i) => select.add(new Option(v.label, i)));
      select.onchange = () => { this.choice = spec.views[select.value]; this.draw(); };
    }
    this.canvas = box.appendChild(document.createElement("canvas"));
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", spec.title + " over training steps; final values are in the table below");
    this.canvas.onpointermove = (e) => this.hover(e);
    this.canvas.onpointerleave = () => { tip.style.display = "none"; this.draw(); };
    document.getElementById("panels").appendChild(box);
  }

  draw(cursor) {
    const { canvas, choice } = this;
    this.title.textContent = this.spec.title;
    const unit = this.title.appendChild(document.createElement("small"));
    unit.textContent = "  " + choice.unit;
    const width = canvas.clientWidth, height = canvas.clientHeight, ratio = devicePixelRatio || 1;
    canvas.width = width * ratio; canvas.height = height * ratio;
    const g = canvas.getContext("2d");
    g.scale(ratio, ratio);
    const sets = choice.keys.map((key, i) => lines(key).map((l) => ({ ...l, thin: i > 0, key })));
    this.all = sets.flat().filter((l) => l.xs.length);
    // The controller moves per step; its target needs no smoothing, only one line per arm or run.
    const targets = choice.target ? lines(choice.target).filter((l) => l.xs.length) : [];
    g.font = "11.5px system-ui, sans-serif"; g.fillStyle = css("--soft");
    if (!this.all.length) { g.textAlign = "center"; g.fillText("no data", width / 2, height / 2); this.map = null; return; }
    let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
    for (const l of [...this.all, ...targets]) {
      x0 = Math.min(x0, l.xs[0]); x1 = Math.max(x1, l.xs[l.xs.length - 1]);
      for (const ys of [l.ys, l.low, l.high]) if (ys) for (const y of ys) { if (y < y0) y0 = y; if (y > y1) y1 = y; }
    }
    if (choice.zero) y0 = Math.min(0, y0);
    const flat = y1 - y0 <= 1e-9 * Math.max(Math.abs(y0), Math.abs(y1)); // equal but for rounding
    const pad = flat ? Math.abs(y1) * 0.1 || 0.5 : (y1 - y0) * 0.05;
    y1 += pad; if (!(choice.zero && y0 === 0)) y0 -= pad;
    if (x0 > 0 && x0 < x1 / 50) x0 = 0;
    if (x1 > DATA.steps * 0.98) x1 = DATA.steps; // the last bucket's centre is not the last step
    if (x1 === x0) { x0 -= 1; x1 += 1; }
    const left = 46, right = width - 16, top = 12, bottom = height - 24;
    const X = (x) => left + (x - x0) / (x1 - x0) * (right - left);
    const Y = (y) => bottom - (y - y0) / (y1 - y0) * (bottom - top);
    this.map = { X, x0, x1, left, right };
    g.lineWidth = 1; g.strokeStyle = css("--grid"); g.textAlign = "right"; g.textBaseline = "middle";
    for (const t of ticks(y0, y1, 5)) {
      g.beginPath(); g.moveTo(left, Y(t)); g.lineTo(right, Y(t)); g.stroke(); g.fillText(format(t), left - 6, Y(t));
    }
    g.textAlign = "center"; g.textBaseline = "top";
    for (const t of ticks(x0, x1, Math.max(3, Math.min(7, width / 90)))) g.fillText(format(t), X(t), bottom + 6);
    g.save(); g.beginPath(); g.rect(left, top - 4, right - left, bottom - top + 8); g.clip();
    const area = (l, low, high, alpha) => {
      g.beginPath();
      l.xs.forEach((x, i) => g.lineTo(X(x), Y(high(i))));
      for (let i = l.xs.length - 1; i >= 0; i--) g.lineTo(X(l.xs[i]), Y(low(i)));
      g.closePath(); g.globalAlpha = alpha; g.fillStyle = l.color; g.fill(); g.globalAlpha = 1;
    };
    const stroke = (l, w, dash, alpha) => {
      g.beginPath(); l.xs.forEach((x, i) => g.lineTo(X(x), Y(l.ys[i])));
      g.lineWidth = w; g.setLineDash(dash); g.globalAlpha = alpha; g.strokeStyle = l.color; g.lineJoin = "round"; g.stroke();
      if (l.xs.length <= 30) for (let i = 0; i < l.xs.length && !dash.length; i++) { g.beginPath(); g.arc(X(l.xs[i]), Y(l.ys[i]), 2.3, 0, 7); g.fillStyle = l.color; g.fill(); }
      g.setLineDash([]); g.globalAlpha = 1;
    };
    const grey = css("--soft");
    for (const t of targets) area({ ...t, color: grey }, (i) => t.ys[i] * (1 - DATA.band), (i) => t.ys[i] * (1 + DATA.band), 0.13 / Math.sqrt(targets.length));
    for (const t of targets) stroke({ ...t, color: targets.length > 1 ? t.color : grey }, 1.2, [5, 4], 0.9);
    for (const l of this.all) if (l.low && !l.thin) area(l, (i) => l.low[i], (i) => l.high[i], 0.16);
    const many = this.all.length > 8;
    for (const l of this.all) stroke(l, l.thin ? 0.9 : many ? 1.2 : 1.7, l.thin ? [2, 3] : [], l.thin ? 0.65 : many ? 0.8 : 1);
    if (cursor !== undefined) { g.beginPath(); g.moveTo(X(cursor), top); g.lineTo(X(cursor), bottom); g.strokeStyle = grey; g.lineWidth = 1; g.globalAlpha = 0.6; g.stroke(); }
    g.restore();
  }

  hover(e) {
    if (!this.map) return;
    const { x0, x1, left, right } = this.map;
    const want = x0 + (e.offsetX - left) / (right - left) * (x1 - x0);
    const near = (l) => { let a = 0, b = l.xs.length - 1; while (b - a > 1) { const m = (a + b) >> 1; l.xs[m] < want ? (a = m) : (b = m); } return Math.abs(l.xs[a] - want) <= Math.abs(l.xs[b] - want) ? a : b; };
    const rows = this.all.map((l) => { const i = near(l); return { l, i, x: l.xs[i], y: l.ys[i] }; });
    const at = rows.reduce((p, q) => Math.abs(q.x - want) < Math.abs(p.x - want) ? q : p).x;
    // Runs that ended long before the cursor have no value there.
    const live = rows.filter((r) => Math.abs(r.x - want) <= (x1 - x0) / 12).sort((p, q) => q.y - p.y);
    this.draw(at);
    tip.replaceChildren();
    const head = tip.appendChild(document.createElement("div"));
    head.className = "soft"; head.textContent = "step " + Math.round(at);
    for (const r of live.slice(0, 20)) {
      const row = tip.appendChild(document.createElement("div"));
      row.appendChild(document.createElement("i")).style.background = r.l.color;
      const several = this.choice.keys.length > 1 ? (r.l.thin ? " (dotted: " : " (") + r.l.key.split("/").pop() + ")" : "";
      row.appendChild(document.createElement("span")).textContent = r.l.label + several;
      const range = r.l.low ? ` [${format(+r.l.low[r.i].toPrecision(3))}, ${format(+r.l.high[r.i].toPrecision(3))}]` : "";
      row.appendChild(document.createElement("b")).textContent = format(+r.y.toPrecision(3)) + range;
    }
    if (live.length > 20) tip.appendChild(document.createElement("div")).textContent = `and ${live.length - 20} more`;
    tip.style.display = "block";
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, e.clientX + 16 + box.width > innerWidth ? e.clientX - 16 - box.width : e.clientX + 16) + "px";
    tip.style.top = Math.max(4, Math.min(e.clientY + 14, innerHeight - box.height - 6)) + "px";
  }
}

const panels = DATA.panels.map((p) => new Panel(p));
const redraw = () => panels.forEach((p) => p.draw());

function legend() {
  const host = document.getElementById("legend");
  host.replaceChildren();
  const items = state.mode === "arms" ? arms.map((a) => [a, a]) : DATA.runs.map((r) => [r.name, r.arm]);
  for (const [name, arm] of items) {
    const b = host.appendChild(document.createElement("button"));
    b.appendChild(document.createElement("i")).style.background = color(arm);
    b.appendChild(document.createElement("span")).textContent = name;
    const n = DATA.runs.filter((r) => r.arm === arm).length;
    if (state.mode === "arms" && n > 1) b.appendChild(document.createElement("small")).textContent = ` ×${n}`;
    b.setAttribute("aria-pressed", String(!state.hidden.has(name)));
    b.title = "click: show or hide; double click: only this one";
    b.onclick = () => { state.hidden.has(name) ? state.hidden.delete(name) : state.hidden.add(name); legend(); redraw(); };
    b.ondblclick = () => { state.hidden = new Set(items.map((i) => i[0]).filter((i) => i !== name)); legend(); redraw(); };
  }
}

const modes = document.getElementById("modes");
if (grouped) for (const mode of ["arms", "runs"]) {
  const b = modes.appendChild(document.createElement("button"));
  b.textContent = mode === "arms" ? "mean of seeds" : "every run";
  const mark = () => b.setAttribute("aria-pressed", String(state.mode === mode));
  b.onclick = () => { state.mode = mode; state.hidden.clear(); for (const x of modes.children) x.dispatchEvent(new Event("mark")); legend(); redraw(); };
  b.addEventListener("mark", mark); mark();
}
const slider = document.getElementById("smooth"), shown = document.getElementById("smooth-value");
slider.oninput = () => {
  state.smooth = slider.value / 100;
  shown.textContent = state.smooth ? state.smooth.toFixed(2) : "off";
  redraw();
};
dark.addEventListener("change", () => { legend(); redraw(); });
addEventListener("resize", redraw);
legend();
redraw();
