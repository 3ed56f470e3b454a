// Sections of a measured session: where its time went, what its threads did, and its memory.
const MEASURED = (DATA.measured || []).flatMap((m) => m.sessions.map((s) => ({ ...s, measured: true, script: m })));

// A measured session in the form that the sections read: lines with times, ops with their parents.
function preparedMeasured(run) {
  if (run.ops) return run;
  run.ops = run.kernels;
  run.ops.forEach((o, i) => { o.index = i; o.label = o.id ? `${o.name}.${o.id}` : o.name; });
  run.sources = run.sources.map((file) => ({ name: file.name, lines: file.text.split("\n").map((text) => ({ text, cycles: 0, bytes: 0, ops: [] })) }));
  const files = new Map(run.sources.map((file) => [file.name, file]));
  for (const o of run.ops)
    for (const place of o.lines) {
      const at = place.lastIndexOf(":"), line = files.get(place.slice(0, at)).lines[+place.slice(at + 1) - 1];
      line.cycles += o.seconds;
      line.bytes += o.bytes * o.runs;
      line.ops.push(o.index);
    }
  // The program's own file comes first.
  const own = run.script.source.split(" ")[0];
  run.sources.sort((a, b) => (b.name === own) - (a.name === own) || natural(a.name, b.name));
  run.totals = { cycles_with_host: run.loop_seconds };
  return run;
}

const rates = [
  { name: "flops", title: "GF/s", number: true, text: (o) => (o.flops ? (o.flops * o.runs / o.seconds / 1e9).toFixed(1) : ""), sort: (o) => o.flops * o.runs / o.seconds || 0 },
  { name: "bytes", title: "GB/s", number: true, text: (o) => (o.bytes ? (o.bytes * o.runs / o.seconds / 1e9).toFixed(1) : ""), sort: (o) => o.bytes * o.runs / o.seconds || 0 },
];

function measuredSummary(modelled) {
  const m = RUN.script, node = section("summary", "Summary");
  const card = (label, value, note) => el("div", { class: "card" }, el("div", { class: "label" }, label), el("div", { class: "value" }, value), note && el("div", { class: "note" }, note));
  const memory = RUN.memory, planned = memory.variable_bytes + memory.constant_bytes + memory.arena_bytes;
  const flops = RUN.ops.reduce((a, o) => a + o.flops * o.runs, 0);
  node.append(el("div", { class: "cards" },
    card("A run", fmt.seconds(RUN.loop_seconds / Math.max(RUN.runs, 1)), `${fmt.whole(RUN.runs)} runs in ${fmt.seconds(RUN.loop_seconds)}`),
    card("Kernels", fmt.percent(RUN.kernel_seconds / (RUN.loop_seconds || 1)), "of the time from the first run to the last one"),
    card("Rate", `${(flops / (RUN.kernel_seconds || 1) / 1e9).toFixed(1)} GF/s`, `in kernels; this machine reaches ${(m.roofline.flops / 1e9).toFixed(0)} GF/s and ${(m.roofline.bytes / 1e9).toFixed(0)} GB/s`),
    card("Memory planned", fmt.bytes(planned), `variables ${fmt.bytes(memory.variable_bytes)}, constants ${fmt.bytes(memory.constant_bytes)}, arena ${fmt.bytes(memory.arena_bytes)}`),
    card("Memory measured", fmt.bytes(memory.resident_bytes), `more than before the session; the process had ${fmt.bytes(m.resident_peak_bytes)} at most`),
    modelled && card(`On ${modelled.machine.name}`, modelled.fits ? fmt.seconds(modelled.totals.seconds) : "too large", modelled.fits ? `a run, as modelled: ${fmt.whole(modelled.totals.cycles)} cycles` : "for the modelled machine")));
  // The parts of the whole script.
  const split = el("div", { class: "split" }), legend = el("div", { class: "legend" });
  m.parts.forEach((part, i) => {
    split.append(el("div", { style: `background:${categoryColour(i)};flex:${Math.max(part.seconds, 0)} 0 0`, title: `${part.name}: ${fmt.seconds(part.seconds)}` }));
    legend.append(el("span", { style: `--key:${categoryColour(i)}` }, `${part.name} ${fmt.seconds(part.seconds)} (${fmt.percent(part.seconds / (m.seconds || 1))})`));
  });
  node.append(el("p", { class: "hint" }, `${m.source}: ${fmt.seconds(m.seconds)} in all`), split, legend);
  return node;
}

// What each thread did in the first runs. `select` gets an op.
function threadSection(select) {
  const t = RUN.timeline, n = t.kernel.length, threads = t.thread.reduce((a, x) => Math.max(a, x + 1), 1);
  const begin = t.runs.length ? t.runs[0][0] : n ? t.begin_ns[0] : 0;
  const last = Math.max(1, ...t.runs.map(([at, length]) => at + length - begin), ...(n ? [t.begin_ns[n - 1] + t.ns[n - 1] - begin] : []));
  // At first three runs, which a reader can tell apart.
  const first = t.runs.length > 3 ? t.runs[Math.min(4, t.runs.length - 1)][0] - begin : last;
  let view = [0, Math.max(first, 1)], cursor = -1, drag = null;
  const order = [...t.kernel.keys()].sort((a, b) => t.begin_ns[a] - t.begin_ns[b]);
  const height = 30 + threads * 30 + 24, left = 76;
  const details = el("div", { class: "hint", id: "chosen" }, "Click a kernel for its figures.");
  const px = (v, width) => left + (v - view[0]) / (view[1] - view[0]) * (width - left - 10);
  const at = (x, width) => view[0] + (x - left) / (width - left - 10) * (view[1] - view[0]);
  const colour = (o) => colourOf(categoryColour([...new Set(RUN.ops.map((k) => k.name))].indexOf(o.name)));
  const main = chart(height, (c, width) => {
    c.textBaseline = "middle"; c.textAlign = "right"; c.fillStyle = css("soft");
    c.fillText("run", left - 8, 16);
    for (let i = 0; i < threads; ++i) c.fillText(`thread ${i}`, left - 8, 30 + i * 30 + 13);
    c.save(); c.beginPath(); c.rect(left, 0, width - left, height); c.clip();
    t.runs.forEach(([start, length], i) => {
      const a = px(start - begin, width), b = px(start - begin + length, width);
      if (b < left || a > width) return;
      c.fillStyle = i % 2 ? css("line") : css("hover");
      c.fillRect(a, 6, Math.max(b - a, .5), 20);
      if (b - a > 40) { c.fillStyle = css("soft"); c.textAlign = "left"; c.fillText(`${i + 1}`, Math.max(a, left) + 4, 16); }
    });
    const drawn = new Array(threads).fill(-1);
    for (const i of order) {
      const a = px(t.begin_ns[i] - begin, width), b = px(t.begin_ns[i] - begin + t.ns[i], width), row = t.thread[i];
      if (b < left || a > width || b < drawn[row] + .25) continue;
      drawn[row] = b;
      const o = RUN.ops[t.kernel[i]];
      c.fillStyle = colour(o);
      c.fillRect(a, 30 + row * 30, Math.max(b - a, .5), 26);
      if (b - a > 50) { c.save(); c.beginPath(); c.rect(Math.max(a, left), 30 + row * 30, b - Math.max(a, left) - 3, 26); c.clip(); c.fillStyle = css("card"); c.textAlign = "left"; c.fillText(o.label, Math.max(a, left) + 4, 30 + row * 30 + 13); c.restore(); }
      if (i === cursor) { c.strokeStyle = css("ink"); c.lineWidth = 1.5; c.strokeRect(a, 30 + row * 30, Math.max(b - a, 1), 26); c.lineWidth = 1; }
    }
    c.restore();
    c.fillStyle = css("faint");
    for (let i = 0; i <= 4; ++i) {
      const v = view[0] + (view[1] - view[0]) * i / 4;
      c.textAlign = i === 0 ? "left" : i === 4 ? "right" : "center";
      c.fillText(v ? fmt.seconds(v * 1e-9) : "0", px(v, width), height - 10);
    }
  }, {
    pointermove(event, x, y, width) {
      if (drag) { move(at(drag.x, width) - at(x, width)); drag.x = x; drag.moved = true; return; }
      const row = Math.floor((y - 30) / 30), want = at(x, width) + begin, close = (view[1] - view[0]) / width;
      cursor = order.findLast((i) => t.thread[i] === row && t.begin_ns[i] <= want + close && want <= t.begin_ns[i] + t.ns[i] + close) ?? -1;
      main.redraw();
      if (cursor < 0) return tip.hide();
      const o = RUN.ops[t.kernel[cursor]];
      tip.show(event, el("b", {}, o.label), o.path && el("div", {}, o.path), el("div", {}, o.place || o.library), tipRow("Time", fmt.seconds(t.ns[cursor] * 1e-9)), tipRow("Mean", fmt.seconds(o.seconds / Math.max(o.runs, 1))));
    },
    pointerdown(event, x) { drag = { x, moved: false }; main.canvas.setPointerCapture(event.pointerId); },
    pointerup() { if (drag && !drag.moved && cursor >= 0) choose(RUN.ops[t.kernel[cursor]]); drag = null; },
    wheel(event, x, y, width) {
      event.preventDefault();
      const middle = at(x, width), size = Math.min(last, Math.max(100, (view[1] - view[0]) * Math.exp(event.deltaY * .0016)));
      view[0] = middle - (middle - view[0]) / (view[1] - view[0]) * size;
      view[1] = view[0] + size;
      move(0);
    },
    dblclick() { view = [0, last]; main.redraw(); },
    keydown(event) {
      const size = view[1] - view[0];
      if (event.key === "ArrowLeft") move(-size / 8);
      else if (event.key === "ArrowRight") move(size / 8);
      else if (event.key === "+" || event.key === "-") { const f = event.key === "+" ? .25 : -.5; view = [view[0] + size * f, view[1] - size * f]; move(0); }
    },
  });
  function move(shift) {
    const size = Math.min(view[1] - view[0], last);
    view[0] = Math.min(Math.max(0, view[0] + shift), last - size);
    view[1] = view[0] + size;
    main.redraw();
  }
  // The figures stand below the timeline, which stays in view.
  function choose(o) {
    details.replaceChildren(el("b", {}, o.label), ` ${o.path} ${o.result}: ${fmt.whole(o.runs)} runs, ${fmt.seconds(o.seconds)} in all, ${fmt.percent(o.roof)} of the roofline `,
      ...[o.place, o.library].filter(Boolean).map((place) => el("a", { href: "#line-" + encodeURIComponent(place) }, place + " ")), el("a", { href: `#op-${o.index}` }, "in the table"));
    select(o);
  }
  const node = section("timeline", "Timeline", `The first ${fmt.whole(t.runs.length)} timed runs. Wheel zooms, drag moves, double click shows all`);
  node.append(main.node, details);
  return { node, choose };
}

// Times by module, as a tree of paths.
function moduleSection(show) {
  const root = { name: "", seconds: 0, ops: [], parts: new Map() };
  for (const o of RUN.ops) {
    let at = root;
    at.seconds += o.seconds;
    at.ops.push(o);
    for (const name of o.path ? o.path.split(".") : ["(no module)"]) {
      if (!at.parts.has(name)) at.parts.set(name, { name, seconds: 0, ops: [], parts: new Map() });
      at = at.parts.get(name);
      at.seconds += o.seconds;
      at.ops.push(o);
    }
  }
  const node = section("modules", "Modules", "Time in kernels; click a name for its ops");
  const line = (part, path, depth) => {
    const inner = [...part.parts.values()].sort((a, b) => natural(a.name, b.name));
    const head = [el("span", { class: "n mono", style: "display:inline-block;width:7.5em;text-align:right" }, fmt.seconds(part.seconds)), " ",
      el("span", { class: "n mono", style: "display:inline-block;width:4.5em;text-align:right" }, fmt.percent(part.seconds / (RUN.kernel_seconds || 1))), "  ",
      el("a", { href: "#ops", onclick(event) { event.preventDefault(); show(part.ops, path); } }, part.name)];
    if (!inner.length) return el("div", { style: `padding-left:${depth * 1.2 + 1}em` }, head);
    return el("details", { open: depth < 1, style: `padding-left:${depth * 1.2}em` }, el("summary", {}, head), inner.map((p) => line(p, `${path}.${p.name}`, depth + 1)));
  };
  node.append(...[...root.parts.values()].sort((a, b) => natural(a.name, b.name)).map((p) => line(p, p.name, 0)));
  return node;
}

function measuredOps(pick) {
  const columns = [
    { name: "name", title: "Op", text: (o) => o.label, show: (o) => el("span", { class: "mono", title: o.fused }, o.label) },
    { name: "path", title: "Module", text: (o) => o.path },
    { name: "place", title: "Line", text: (o) => o.place, show: (o) => (o.place ? el("a", { class: "mono cut", href: "#line-" + encodeURIComponent(o.place) }, o.place.split("/").pop()) : "") },
    { name: "library", title: "Library", text: (o) => o.library, show: (o) => (o.library ? el("a", { class: "mono cut", href: "#line-" + encodeURIComponent(o.library) }, o.library) : "") },
    { name: "result", title: "Type", text: (o) => o.result },
    { name: "runs", title: "Runs", number: true, text: (o) => fmt.whole(o.runs), sort: (o) => o.runs },
    { name: "seconds", title: "Time", number: true, text: (o) => fmt.seconds(o.seconds), sort: (o) => o.seconds },
    { name: "share", title: "Share", number: true, text: (o) => fmt.percent(o.seconds / (RUN.loop_seconds || 1)), sort: (o) => o.seconds },
    ...rates,
    { name: "roof", title: "Of roofline", number: true, hint: "above 100 % where operands stay in the caches", text: (o) => fmt.percent(o.roof), sort: (o) => o.roof },
  ];
  const list = table(columns, RUN.ops, { sort: "seconds", pick: (o) => { history.replaceState(null, "", `#op-${o.index}`); pick(o); } });
  const filter = search("Filter ops", (t) => list.filter(t));
  const node = section("ops", "Ops", `${fmt.whole(RUN.ops.length)} kernels; one may compute several ops`, filter,
    el("button", { type: "button", onclick: () => download("ops.csv", csvText(columns, list.shown())) }, "CSV"));
  const chosen = el("div", { class: "hint", hidden: true });
  node.append(chosen, list.node);
  const only = (ops, why) => {
    filter.value = "";
    list.filter("");
    list.set(ops);
    chosen.hidden = false;
    chosen.replaceChildren(`${fmt.whole(ops.length)} of ${why} `, el("button", { type: "button", onclick() { list.set(RUN.ops); chosen.hidden = true; } }, "all ops"));
  };
  return { node, only, pick: (o) => { only([o], o.label); list.choose(o); } };
}

function measuredMemory() {
  const m = RUN.memory, live = m.live_bytes, fixed = m.variable_bytes + m.constant_bytes;
  const node = section("memory", "Memory", "Planned bytes over the steps of a run; below, what is in the arena at its peak");
  const area = (width) => ({ left: 76, right: width - 12, top: 10, bottom: 150 });
  const most = Math.max(1, fixed + live.reduce((a, v) => Math.max(a, v), 0)) * 1.05;
  node.append(chart(172, (c, width) => {
    const a = area(width), x = (i) => a.left + (a.right - a.left) * i / Math.max(live.length, 1), y = (v) => a.bottom - (a.bottom - a.top) * v / most;
    c.fillStyle = colourOf(categoryColour(2));
    live.forEach((v, i) => c.fillRect(x(i), y(fixed + v), Math.max(x(i + 1) - x(i), .6), y(fixed) - y(fixed + v)));
    c.fillStyle = colourOf(categoryColour(0));
    c.fillRect(a.left, y(fixed), a.right - a.left, a.bottom - y(fixed));
    axis(c, most, a, fmt.bytes);
    c.fillStyle = css("faint"); c.textAlign = "left"; c.fillText(`${fmt.whole(live.length)} steps`, a.left, a.bottom + 12);
  }).node, el("div", { class: "legend" }, el("span", { style: `--key:${categoryColour(0)}` }, `Variables and constants ${fmt.bytes(fixed)}`), el("span", { style: `--key:${categoryColour(2)}` }, `Arena ${fmt.bytes(m.arena_bytes)}`)));
  node.append(table([{ name: "name", title: "Tensor", text: (t) => t.name }, { name: "spec", title: "Type", text: (t) => t.spec },
    { name: "bytes", title: "Bytes", number: true, text: (t) => fmt.bytes(t.bytes), sort: (t) => t.bytes }], m.at_peak).node);
  return node;
}

// The sections of a measured session; what links and other sections need of them.
function measuredSections(modelled) {
  const ops = measuredOps((o) => source && source.mark(o.place || o.library));
  const threads = threadSection(() => {});
  const source = sourceSection((list, place) => { ops.only(list, place); ops.node.scrollIntoView({ behavior: "smooth" }); });
  const modules = moduleSection((list, path) => { ops.only(list, path); ops.node.scrollIntoView({ behavior: "smooth" }); });
  return { ops, source, list: [measuredSummary(modelled), threads.node, source.node, modules, ops.node, measuredMemory()] };
}
