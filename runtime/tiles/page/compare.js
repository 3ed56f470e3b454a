// Comparison of two runs: a summary, bars on a common scale, the kinds of ops with the largest difference.
function compareSection() {
  const node = section("compare", "Comparison", `${RUN.source || RUN.name}, beside ${OTHER.source || OTHER.name}`);
  const t = RUN.totals, o = OTHER.totals;
  const change = (now, before, fewer, more) => {
    if (now === before) return null;
    const share = before ? `${Math.abs(100 * (now - before) / before).toFixed(Math.abs(now - before) < before / 10 ? 1 : 0)} %` : fmt.short(now);
    return el("b", { class: now < before ? "better" : "worse" }, `${share} ${now < before ? fewer : more}`);
  };
  const said = [[change(t.cycles, o.cycles, "fewer cycles", "more cycles"), "a run"],
    [change(t.fullest_tile_bytes, o.fullest_tile_bytes, "less memory", "more memory"), "on the fullest tile"],
    [change(t.code_bytes, o.code_bytes, "less code", "more code"), ""], [change(t.exchanged_bytes, o.exchanged_bytes, "fewer bytes", "more bytes"), "exchanged"]].filter(([what]) => what);
  const sentence = el("p", { class: "verdict" }, "Against the other run: ");
  said.forEach(([what, where], i) => sentence.append(i ? ", " : "", what, where ? " " + where : ""));
  sentence.append(said.length ? "." : "the same.", RUN.fits === OTHER.fits ? "" : RUN.fits ? " This one fits, the other does not." : " This one does not fit, the other does.");
  node.append(sentence);
  // One stacked bar per run, on a common scale; parts: [label, colour, now, before].
  const bars = (title, text, parts) => {
    const sums = [2, 3].map((side) => parts.reduce((a, p) => a + p[side], 0)), most = Math.max(1, ...sums);
    const bar = (label, side) => el("div", { class: "pair" }, el("span", { class: "label" }, label),
      el("div", { class: "track" }, parts.map((p) => p[side] > 0 && el("div", { style: `background:${p[1]};width:${100 * p[side] / most}%`, title: `${p[0]}: ${text(p[side])}` }))),
      el("span", { class: "n" }, text(sums[side - 2])));
    const legend = parts.filter((p) => p[2] || p[3]).map((p) => el("span", { style: `--key:${p[1]}` }, `${p[0]} `, delta(p[2], p[3], text)));
    return el("div", { class: "bars" }, el("h3", {}, title), bar("this", 2), bar("against", 3), el("div", { class: "legend" }, legend));
  };
  const category = (run, name) => { const at = run.totals.fullest_tile; return run.memory[name] ? run.memory[name][at] : 0; };
  node.append(el("div", { class: "two" },
    bars("Cycles of a run", fmt.cycles, PHASES.map(([key, label]) => [label, `var(--${key})`, t[key + "_cycles"], o[key + "_cycles"]])),
    bars("Bytes on the fullest tile", fmt.bytes, RUN.categories.map((c, i) => [c.name, categoryColour(i), category(RUN, c.name), category(OTHER, c.name)]))));
  const kinds = new Map();
  for (const [run, side] of [[RUN, "now"], [OTHER, "before"]])
    for (const op of run.ops) {
      const k = kinds.get(op.name) || { name: op.name, now: 0, before: 0, ops: 0 };
      k[side] += op.total_cycles;
      if (side === "now") ++k.ops;
      kinds.set(op.name, k);
    }
  const by = (k) => k.now - k.before;
  const rows = [...kinds.values()].filter(by);
  if (!rows.length) return node;
  const most = Math.max(...rows.map((k) => Math.abs(by(k))));
  node.append(table([
    { name: "name", title: "Kind of op", text: (k) => k.name, show: (k) => el("span", { class: "mono" }, k.name) },
    { name: "now", title: "Cycles", number: true, text: (k) => fmt.whole(k.now), sort: (k) => k.now },
    { name: "before", title: "Against", number: true, text: (k) => fmt.whole(k.before), sort: (k) => k.before },
    { name: "by", title: "Change", number: true, text: (k) => `${by(k) > 0 ? "+" : "−"}${fmt.whole(Math.abs(by(k)))}`, sort: (k) => Math.abs(by(k)) },
    { name: "bar", title: "", wide: true, text: () => "", show: (k) => el("div", { class: "swing" }, el("i", { class: by(k) > 0 ? "worse" : "better", style: `width:${50 * Math.abs(by(k)) / most}%` })) },
  ], rows, { sort: "by" }).node);
  return node;
}
