// Totals, shortages, and the difference to a second run.
function delta(now, before, text = fmt.short, more = "worse") {
  if (before === undefined || before === null) return null;
  const change = now - before;
  if (change === 0) return el("div", { class: "delta" }, "the same");
  const share = before ? ` (${change > 0 ? "+" : "−"}${Math.abs(100 * change / before).toFixed(1)} %)` : "";
  return el("div", { class: "delta " + ((change > 0) === (more === "worse") ? "worse" : "better") }, `${change > 0 ? "+" : "−"}${text(Math.abs(change)).trim()}${share}`);
}

function summarySection() {
  const t = RUN.totals, o = OTHER && OTHER.totals, m = RUN.machine;
  const node = section("summary", "Summary");
  for (const p of RUN.problems) {
    const at = RUN.ops[p.op];
    node.append(el("div", { class: "banner", role: "alert" }, el("b", {}, "Does not fit. "), `${p.message[0].toUpperCase()}${p.message.slice(1)}.`,
      at && el("div", {}, p.point >= 0 ? "While " : "", el("a", { href: `#op-${at.id}` }, at.label), p.point >= 0 ? ` runs${at.where ? `, ${at.where}` : ""}.` : `${at.where ? `, ${at.where},` : ""} has most of any op.`),
      p.point >= 0 && el("div", {}, "Largest there: ", RUN.peak.tensors.slice(0, 6).map((x) => `${x.name}${x.count > 1 ? ` × ${fmt.whole(x.count)}` : ""} ${fmt.bytes(x.bytes)}`).join(", "), ".")));
  }
  if (RUN.remedies.length) {
    const columns = [{ name: "fits", title: "", text: (r) => (r.fits ? "fits" : "too large") },
      { name: "what", title: "What was tried", text: (r) => r.what }, { name: "cycles", title: "Cycles a run", number: true, text: (r) => (r.fits ? fmt.whole(r.cycles) : ""), sort: (r) => (r.fits ? r.cycles : Infinity) },
      { name: "bytes", title: "Fullest tile", number: true, text: (r) => fmt.bytes(r.bytes), sort: (r) => r.bytes }];
    node.append(el("div", { id: "remedies" }, table(columns, RUN.remedies).node));
  }
  const card = (label, value, note, change) => el("div", { class: "card" }, el("div", { class: "label" }, label), el("div", { class: "value" }, value),
    change, note && el("div", { class: "note" }, note));
  const fullest = (run) => run.totals.fullest_tile_bytes;
  node.append(el("div", { class: "cards" },
    RUN.fits && card("Cycles a run", fmt.whole(t.cycles), `${fmt.seconds(t.seconds)} at ${(m.clock_hz / 1e9).toFixed(2)} GHz, without the host link` + (t.host_cycles ? `; ${fmt.whole(t.cycles_with_host)} with it` : ""), o && delta(t.cycles, o.cycles)),
    RUN.fits && card("Runs a second", fmt.short(t.runs_per_second), "one chip, without the host link", o && delta(t.runs_per_second, o.runs_per_second, fmt.short, "better")),
    RUN.float16_partials_cycles > 0 && card("Float32 partial sums", fmt.percent(Math.max(0, 1 - RUN.float16_partials_cycles / t.cycles)), `of the time: ${fmt.whole(RUN.float16_partials_cycles)} cycles a run with float16 ones`),
    card("Fullest tile", fmt.bytes(fullest(RUN)), `tile ${t.fullest_tile} of ${fmt.whole(m.tiles)}, ${fmt.percent(fullest(RUN) / m.bytes_per_tile)} of its memory`, o && delta(fullest(RUN), fullest(OTHER), fmt.bytes)),
    card("Memory in all", fmt.bytes(t.total_bytes), `mean ${fmt.bytes(t.total_bytes / m.tiles)} a tile; ${fmt.bytes(t.parameter_bytes)} of variables`, o && delta(t.total_bytes, o.total_bytes, fmt.bytes)),
    card("Code", fmt.bytes(t.code_bytes), "vertices, exchange and control, all tiles", o && delta(t.code_bytes, o.code_bytes, fmt.bytes)),
    card("Exchanged", fmt.bytes(t.exchanged_bytes), "between tiles, each run", o && delta(t.exchanged_bytes, o.exchanged_bytes, fmt.bytes)),
    RUN.fits && card("Waiting", fmt.percent(t.compute_cycles ? t.waiting_cycles / t.compute_cycles : 0), `of compute, for the slowest tile; ${fmt.whole(t.tiles_used)} tiles compute`, o && delta(t.waiting_cycles, o.waiting_cycles, (n) => `${fmt.cycles(n)} cycles`)),
    RUN.fits && card("Useful work", fmt.percent(t.useful), `${fmt.short(t.flops).replace(/\d$/, "$& ")}FLOP, of the float16 peak`)));
  if (!RUN.fits) return node;
  // The phases add up to the cycles above; the host link comes besides.
  const all = t.cycles;
  const split = el("div", { class: "split" }), legend = el("div", { class: "legend" });
  for (const [key, label] of PHASES.filter(([phase]) => phase !== "host")) {
    const cycles = t[key + "_cycles"];
    split.append(el("div", { style: `background:var(--${key});flex:${Math.max(cycles, 0)} 0 0`, title: `${label}: ${fmt.whole(cycles)} cycles` }));
    legend.append(el("span", { style: `--key:var(--${key})` }, `${label} ${fmt.cycles(cycles)} (${fmt.percent(all ? cycles / all : 0)})`, o && " ", o && delta(cycles, o[key + "_cycles"], fmt.cycles)));
  }
  if (t.host_cycles) legend.append(el("span", { style: "--key:var(--host)" }, `Host link ${fmt.cycles(t.host_cycles)}, besides`, o && " ", o && delta(t.host_cycles, o.host_cycles, fmt.cycles)));
  node.append(split, legend);
  return node;
}

function modelSection() {
  const node = section("model", "Model", "What the figures rest on");
  const p = RUN.options, search = RUN.search;
  node.append(el("p", {}, `Plans may use ${fmt.percent(p.available_memory_proportion)} of a tile for temporaries; partial sums of float16 products are ${p.partials}. ` +
    `${fmt.whole(search.plans)} plans were looked at for ${fmt.whole(search.keys)} distinct ops; ${fmt.whole(search.kept)} are beaten by no other in cycles and bytes, and of those the ones with ${p.objective} are chosen` +
    (search.moves ? `; ${fmt.whole(search.moves)} gave way to fit.` : ".") + " Times of the host link are known to a factor of two."));
  const columns = [{ name: "name", title: "Constant", text: (c) => c.name, show: (c) => el("span", { title: c.doc }, c.name) }, { name: "value", title: "Value", number: true, text: (c) => fmt.whole(c.value), sort: (c) => c.value },
    { name: "unit", title: "Unit", text: (c) => c.unit }, { name: "source", title: "Source", wide: true, text: (c) => c.source }];
  node.append(table(columns, RUN.machine.constants).node);
  return node;
}
