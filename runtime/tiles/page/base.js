// Shared by all sections: the data, number formatting, charts, tables.
const DATA = JSON.parse(document.getElementById("data").textContent);
let RUN, OTHER;  // the displayed program, and the one to compare with
const SOURCES = JSON.parse(document.getElementById("sources").textContent);  // texts by the names that `where` has
let openOp = () => {};  // selects an op in the table of ops and shows its plans
// The line of the program that an op comes from.
function sourceOf(o) {
  const [, name, line] = /^(.*):(\d+):\d+$/.exec(o.where) || [];
  return SOURCES[name] === undefined ? [] : excerpt(name, SOURCES[name], +line);
}

// Values that several sections derive from a run: op names and their parts, cycles and start of the schedule's points.
function prepared(run) {
  if (!run || run.start) return run;
  run.part = (o) => {
    const path = o.scope.split("/").slice(0, -1).join("/");
    return o.graph > 0 ? run.graphs[o.graph].name + (path && "/" + path) : path;
  };
  const seen = new Map();
  for (const o of run.ops) {
    o.label = `${o.name}.${o.id}`;
    o.part = run.part(o);
    o.code_bytes = o.state_bytes + o.exchange_code_bytes + o.control_code_bytes;
    // Key of an op across runs: ids differ, names and their order do not.
    const key = `${o.name} ${o.scope}`, again = seen.get(key) || 0;
    seen.set(key, again + 1);
    o.key = `${key} ${again}`;
    const compute = o.steps.filter((s) => s.kind === "compute");
    const slowest = compute.reduce((a, s) => a + s.cycles, 0);
    o.balance = slowest ? compute.reduce((a, s) => a + s.mean_cycles, 0) / slowest : 1;
  }
  const points = run.points, n = points.op.length;
  run.start = new Float64Array(n + 1);
  for (let i = 0; i < n; ++i) run.start[i + 1] = run.start[i] + run.ops[points.op[i]].cycles * points.repeats[i];
  run.always = new Float64Array(run.machine.tiles);
  for (const c of run.categories)
    if (c.always_live) run.memory[c.name].forEach((bytes, tile) => { run.always[tile] += bytes; });
  return run;
}
const counterpart = (i) => DATA.against.find((r) => r.name === DATA.runs[i].name) || DATA.against[i];

const digits = new Intl.NumberFormat("en-US");
const fmt = {
  whole: (n) => digits.format(Math.round(n)),
  short(n) {
    const a = Math.abs(n);
    for (const [size, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
      if (a >= size) return (n / size).toFixed(a >= 100 * size ? 0 : a >= 10 * size ? 1 : 2) + " " + unit;
    return a >= 10 || Number.isInteger(n) ? n.toFixed(0) : n.toFixed(2);
  },
  cycles: (n) => fmt.short(n).trim(),
  bytes(n) {
    const a = Math.abs(n);
    for (const [size, unit] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]])
      if (a >= size) return (n / size).toFixed(a >= 100 * size ? 0 : 1) + " " + unit;
    return Math.round(n) + " B";
  },
  seconds(s) {
    for (const [size, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]])
      if (s >= size) return (s / size).toPrecision(3) + " " + unit;
    return (s * 1e9).toPrecision(3) + " ns";
  },
  percent: (x) => (100 * x).toFixed(x < 0.0995 ? 1 : 0) + " %",
};

const PHASES = [["compute", "Compute"], ["exchange", "Exchange"], ["sync", "Sync"], ["host", "Host"]];
// One colour for each category of memory, in page.css.
const categoryKey = (i) => `c${i % 11}`;
const categoryColour = (i) => `var(--${categoryKey(i)})`;

function section(id, title, hint, ...tools) {
  const node = el("section", { id },
    el("div", { class: "head" }, el("h2", {}, title), hint && el("span", { class: "hint" }, hint), el("span", { class: "tools" }, tools)));
  return node;
}

// "blocks.2" before "blocks.10".
const natural = (a, b) => a.localeCompare(b, "en", { numeric: true });

// Radio buttons.
function choice(options, chosen, change) {
  const buttons = options.map(([value, label]) => el("button", { type: "button", "aria-pressed": String(value === chosen), onclick() {
    buttons.forEach((b) => b.setAttribute("aria-pressed", String(b === this)));
    change(value);
  } }, label));
  return buttons;
}

// A canvas that redraws when its width or the theme changes: draw(context, width, height).
let charts = [];
function chart(height, draw, handlers = {}) {
  const canvas = el("canvas", { height, tabindex: 0 });
  const node = el("div", { class: "chart" }, canvas);
  const self = {
    node, canvas, height,
    redraw() {
      const width = node.clientWidth, scale = devicePixelRatio || 1;
      if (!width || !charts.includes(self)) return;
      canvas.width = width * scale;
      canvas.height = self.height * scale;
      canvas.style.height = self.height + "px";
      const context = canvas.getContext("2d");
      context.scale(scale, scale);
      context.clearRect(0, 0, width, self.height);
      context.font = "11.5px system-ui, 'DejaVu Sans', sans-serif";
      draw(context, width, self.height);
    },
  };
  for (const [name, handler] of Object.entries(handlers))
    canvas.addEventListener(name, (event) => {
      const box = canvas.getBoundingClientRect();
      handler(event, event.clientX - box.left, event.clientY - box.top, box.width);
    }, { passive: name !== "wheel" });
  canvas.addEventListener("pointerleave", tip.hide);
  new ResizeObserver(() => requestAnimationFrame(() => self.redraw())).observe(node);
  charts.push(self);
  return self;
}

// Round tick steps for an axis up to `most`; powers of two for bytes.
function ticks(most, count = 4, bytes = false) {
  if (!(most > 0)) return [0];
  const found = [];
  if (bytes) {
    for (let at = 0, step = 2 ** Math.max(0, Math.ceil(Math.log2(most / count))); at <= most; at += step) found.push(at);
    return found;
  }
  const raw = most / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((m) => m * power >= raw) * power;
  for (let at = 0; at <= most * 1.0001; at += step) found.push(at);
  return found;
}

// End of an axis of bytes: above the memory limit, unless the values would be too small to see.
function scaleOf(values, limit) {
  const most = values.reduce((a, v) => Math.max(a, v), 1);
  return most < limit / 8 ? most * 1.25 : Math.max(most * 1.02, limit * 1.04);
}

function axis(context, most, area, text) {
  context.strokeStyle = css("line");
  context.fillStyle = css("faint");
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const at of ticks(most, 4, text === fmt.bytes)) {
    const y = area.bottom - (area.bottom - area.top) * at / most;
    context.beginPath();
    context.moveTo(area.left, Math.round(y) + .5);
    context.lineTo(area.right, Math.round(y) + .5);
    context.stroke();
    context.fillText(text(at), area.left - 6, y);
  }
}

// Line across a chart at the tile's memory limit, readable on all colours.
function limitLine(context, y, area, text) {
  const line = (colour, width) => {
    context.strokeStyle = css(colour); context.lineWidth = width; context.beginPath();
    context.moveTo(area.left, y); context.lineTo(area.right, y); context.stroke();
  };
  line("card", 3);
  context.setLineDash([6, 4]);
  line("bad", 1);
  context.setLineDash([]);
  if (!text) return;
  const at = Math.max(y - 4, area.top + 4);
  context.textAlign = "right"; context.textBaseline = "bottom";
  context.strokeStyle = css("card"); context.lineWidth = 4; context.lineJoin = "round"; context.strokeText(text, area.right, at); context.lineWidth = 1;
  context.fillStyle = css("bad"); context.fillText(text, area.right, at);
}

const colourOf = (variable) => css(variable.slice(6, -1));  // of "var(--name)"

// A table, sortable by its headers and filterable by text. columns: {name, title, number, text(row), sort(row)}
function table(columns, rows, { pick, picked, sort, filter = "", limit = 200 } = {}) {
  let by = sort ? columns.find((c) => c.name === sort) : null, down = true, chosen = picked, wanted = filter;
  const head = el("tr"), body = el("tbody");
  const node = el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), body));
  const value = (c, row) => (c.sort ? c.sort(row) : c.text(row));
  const shown = () => {
    let list = rows.filter((row) => !wanted || columns.some((c) => String(c.text(row)).toLowerCase().includes(wanted)));
    if (by) list = list.slice().sort((a, b) => {
      const x = value(by, a), y = value(by, b);
      return (typeof x === "string" ? natural(x, y) : x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    return list;
  };
  function heads() {
    head.replaceChildren(...columns.map((c) => el("th", {
      class: c.number && "n", "aria-sort": by === c ? (down ? "descending" : "ascending") : undefined, title: c.hint },
      el("button", { type: "button", onclick() { down = by === c ? !down : !!c.number; by = c; heads(); fill(); } }, c.title))));
  }
  function fill() {
    const list = shown();
    body.replaceChildren(...list.slice(0, limit).map((row) => {
      const line = el("tr", { class: [pick && "pick", row === chosen && "on"].filter(Boolean).join(" "), tabindex: pick ? 0 : undefined },
        columns.map((c) => el("td", { class: c.number ? "n" : c.wide && "wide" }, c.show ? c.show(row) : c.text(row))));
      if (pick) {
        const go = () => { chosen = row; pick(row); body.querySelectorAll(".on").forEach((l) => l.classList.remove("on")); line.classList.add("on"); };
        line.addEventListener("click", go);
        line.addEventListener("keydown", (event) => { if (event.key === "Enter") go(); });
      }
      return line;
    }));
    if (!list.length) body.append(el("tr", {}, el("td", { colspan: columns.length, class: "empty" }, "Nothing matches.")));
    else if (list.length > limit) body.append(el("tr", {}, el("td", { colspan: columns.length, class: "empty" }, `${fmt.whole(list.length - limit)} more: filter, or `,
      el("button", { type: "button", onclick() { limit = Infinity; fill(); } }, "show all"))));
  }
  heads();
  fill();
  return { node, shown, columns, filter(text) { wanted = text.trim().toLowerCase(); fill(); }, choose(row) { chosen = row; fill(); pick(row); }, set(list) { rows = list; fill(); } };
}


function download(name, text) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}
const csvText = (columns, rows) => [columns.map((c) => c.title), ...rows.map((row) => columns.map((c) => (c.sort ? c.sort(row) : c.text(row))))]
  .map((line) => line.map((cell) => (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : cell)).join(",")).join("\n") + "\n";
