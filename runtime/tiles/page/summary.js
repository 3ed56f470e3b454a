// Totals, what does not fit, and the difference to a second run.
function delta(now, before, text = fmt.short) {
  if (before === undefined || before === null) return null;
  const change = now - before;
  if (change === 0) return el("div", { class: "delta" }, "the same");
  const share = before ? ` (${change > 0 ? "+" : "−"}${Math.abs(100 * change / before).toFixed(1)} %)` : "";
  return el("div", { class: "delta " + (change > 0 ? "worse" : "better") }, `${change > 0 ? "+" : "−"}${text(Math.abs(change)).trim()}${share}`);
}

function summarySection() {
  const t = RUN.totals, o = OTHER && OTHER.totals, m = RUN.machine;
  const node = section("summary", "Summary");
  for (const p of RUN.problems)
    node.append(el("div", { class: "banner", role: "alert" }, el("b", {}, "Does not fit. "), p.message,
      p.tensors && p.tensors.length > 0 && el("div", {}, "Largest there: ", p.tensors.slice(0, 6).map((x) => `${x.name} ${fmt.bytes(x.bytes)}`).join(", "), ".")));
  const card = (label, value, note, change) => el("div", { class: "card" }, el("div", { class: "label" }, label), el("div", { class: "value" }, value),
    change, note && el("div", { class: "note" }, note));
  node.append(el("div", { class: "cards" },
    card("Cycles a step", fmt.whole(t.cycles), `${fmt.seconds(t.seconds)} at ${(m.clock_hz / 1e9).toFixed(3)} GHz`, o && delta(t.cycles, o.cycles)),
    card("Steps a second", fmt.short(t.steps_per_second), "one IPU, steady state"),
    card("Fullest tile", fmt.bytes(t.peak_tile_bytes), `tile ${t.peak_tile} of ${fmt.whole(m.tiles)}, ${fmt.percent(t.peak_tile_bytes / m.bytes_per_tile)} of its memory`, o && delta(t.peak_tile_bytes, o.peak_tile_bytes, fmt.bytes)),
    card("Memory in all", fmt.bytes(t.total_bytes), `mean ${fmt.bytes(t.total_bytes / m.tiles)} a tile`, o && delta(t.total_bytes, o.total_bytes, fmt.bytes)),
    card("Code", fmt.bytes(t.code_bytes), "vertices, exchange and control", o && delta(t.code_bytes, o.code_bytes, fmt.bytes)),
    card("Exchanged", fmt.bytes(t.exchange_bytes), "between tiles, each step", o && delta(t.exchange_bytes, o.exchange_bytes, fmt.bytes)),
    card("Useful work", fmt.percent(t.utilisation), `${fmt.short(t.flops).trim()}FLOP of what the tiles could do`)));
  const split = el("div", { class: "split" }), legend = el("div", { class: "legend" });
  for (const [key, label] of PHASES) {
    const cycles = t[key + "_cycles"];
    split.append(el("div", { style: `background:var(--${key});flex:${Math.max(cycles, 0)} 0 0`, title: `${label}: ${fmt.whole(cycles)} cycles` }));
    legend.append(el("span", { style: `--key:var(--${key})` }, `${label} ${fmt.cycles(cycles)} (${fmt.percent(t.cycles ? cycles / t.cycles : 0)})`, o && " ", o && delta(cycles, o[key + "_cycles"], fmt.cycles)));
  }
  node.append(split, legend);
  return node;
}

function modelSection() {
  const node = section("model", "Model", "What the figures rest on");
  node.append(el("p", {}, RUN.notes.join(" ")));
  const columns = [{ name: "name", title: "Constant", text: (c) => c.name }, { name: "value", title: "Value", number: true, text: (c) => String(c.value), sort: (c) => c.value },
    { name: "unit", title: "Unit", text: (c) => c.unit }, { name: "source", title: "Source", wide: true, text: (c) => c.source }];
  node.append(table(columns, RUN.machine.constants).node);
  return node;
}
