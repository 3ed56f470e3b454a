// The table of ops, and the candidates of the selected op.
function opsSection(picked) {
  const columns = [
    { name: "name", title: "Op", text: (o) => o.label, show: (o) => el("span", { class: "mono", title: o.where }, o.label) },
    { name: "result", title: "Result", text: (o) => o.scope.split("/").pop(), show: (o) => el("span", { class: "mono cut", title: o.scope }, o.scope.split("/").pop()) },
    { name: "part", title: "Part", text: (o) => o.part, show: (o) => el("span", { class: "cut", title: o.part }, o.part) },
    { name: "place", title: "Place", text: (o) => o.where, show: (o) => (o.where ? el("a", { class: "mono cut", title: o.where, href: "#line-" + encodeURIComponent(o.where) }, o.where.split("/").pop()) : "") },
    { name: "spec", title: "Type", text: (o) => o.results.join(", "), show: (o) => el("span", { class: "cut", title: o.results.join(", ") }, o.results.join(", ")) },
    { name: "runs", title: "Runs", number: true, text: (o) => fmt.whole(o.runs), sort: (o) => o.runs },
    { name: "cycles", title: "Cycles", number: true, hint: "of all runs", text: (o) => fmt.whole(o.total_cycles), sort: (o) => o.total_cycles },
    { name: "compute", title: "Compute", number: true, hint: "of one run", text: (o) => fmt.whole(o.compute_cycles), sort: (o) => o.compute_cycles },
    { name: "exchange", title: "Exchange", number: true, hint: "of one run", text: (o) => fmt.whole(o.exchange_cycles), sort: (o) => o.exchange_cycles },
    { name: "relayout", title: "Rearrangement", number: true, hint: "of one run: operands brought to another tile mapping", text: (o) => fmt.whole(o.relayout_cycles), sort: (o) => o.relayout_cycles },
    { name: "tiles", title: "Tiles", number: true, text: (o) => fmt.whole(o.tiles), sort: (o) => o.tiles },
    { name: "temp", title: "Temporary", number: true, hint: "bytes on the fullest tile", text: (o) => fmt.bytes(o.temp_bytes), sort: (o) => o.temp_bytes },
    { name: "code", title: "Code", number: true, hint: "exchange code and vertex state, bytes on the fullest tile", text: (o) => fmt.bytes(o.code_bytes), sort: (o) => o.code_bytes },
    { name: "useful", title: "Useful", number: true, text: (o) => fmt.percent(o.useful), sort: (o) => o.useful },
    { name: "plan", title: "Plan", text: (o) => o.plan, show: (o) => el("span", { class: "mono" }, o.plan) },
  ];
  if (OTHER) {
    const before = new Map(OTHER.ops.map((o) => [o.key, o]));
    columns.splice(7, 0, { name: "change", title: "Change", number: true, hint: `against ${OTHER.name}`, sort: (o) => (before.has(o.key) ? o.total_cycles - before.get(o.key).total_cycles : 0),
      text: (o) => { const b = before.get(o.key), by = b && o.total_cycles - b.total_cycles; return !b ? "new" : by === 0 ? "0" : (by > 0 ? "+" : "−") + fmt.whole(Math.abs(by)); } });
  }
  const plansOf = (o) => RUN.plans[o.plans];
  const first = RUN.ops.reduce((a, o) => (!a || (plansOf(o).length > 0) > (plansOf(a).length > 0) || ((plansOf(o).length > 0) === (plansOf(a).length > 0) && o.total_cycles > a.total_cycles) ? o : a), null);
  const plans = planChart();
  const pick = (o) => { plans.show(o); picked(o); history.replaceState(null, "", `#op-${o.id}`); };
  const list = table(columns, RUN.ops, { sort: "cycles", pick, picked: first });
  const filter = search("Filter ops", (t) => list.filter(t));
  const node = section("ops", "Ops", `${fmt.whole(RUN.ops.length)} ops; choose one to see its plans`, filter,
    el("button", { type: "button", onclick: () => download("ops.csv", csvText(columns, list.shown())) }, "CSV"));
  const chosen = el("div", { class: "hint", hidden: true });
  node.append(chosen, list.node);
  if (first) plans.show(first);
  openOp = (o) => { list.choose(o); plans.node.scrollIntoView({ behavior: "smooth" }); };
  // Only these ops, until the button is pressed.
  const only = (ops, why) => {
    filter.value = "";
    list.filter("");
    list.set(ops);
    chosen.hidden = false;
    chosen.replaceChildren(`${fmt.whole(ops.length)} ${ops.length === 1 ? "op" : "ops"} of ${why} `, el("button", { type: "button", onclick() { list.set(RUN.ops); chosen.hidden = true; } }, "all ops"));
  };
  return [{ node, only, pick: (o) => { only([o], o.label); pick(o); } }, plans.node];
}

function planChart() {
  let op = null, near = -1, all = [];
  const area = (width) => ({ left: 76, right: width - 16, top: 12, bottom: 200 });
  const bounds = () => {
    const xs = all.map((p) => p.temp_bytes + p.resident_bytes + p.code_bytes), ys = all.map((p) => p.cycles);
    return { x: Math.max(1, ...xs) * 1.06, y: Math.max(1, ...ys) * 1.08, xs, ys };
  };
  const picture = chart(232, (c, width) => {
    if (!op || !all.length) return;
    const a = area(width), b = bounds();
    axis(c, b.y, a, fmt.cycles);
    c.fillStyle = css("faint"); c.textBaseline = "top";
    for (const at of ticks(b.x, 5, true)) { c.textAlign = "center"; c.fillText(fmt.bytes(at), a.left + (a.right - a.left) * at / b.x, a.bottom + 6); }
    c.textAlign = "left"; c.fillText("cycles against bytes on a tile", a.left, a.bottom + 20);
    all.forEach((p, i) => {
      const x = a.left + (a.right - a.left) * b.xs[i] / b.x, y = a.bottom - (a.bottom - a.top) * b.ys[i] / b.y;
      c.beginPath(); c.arc(x, y, p.chosen ? 7 : i === near ? 6 : 4.5, 0, 7);
      c.fillStyle = p.chosen ? css("other") : css("compute"); c.fill();
      if (i === near) { c.strokeStyle = css("ink"); c.stroke(); }
    });
  }, {
    pointermove(event, x, y, width) {
      if (!op || !all.length) return;
      const a = area(width), b = bounds();
      let best = 30;
      near = -1;
      all.forEach((p, i) => {
        const d = Math.hypot(a.left + (a.right - a.left) * b.xs[i] / b.x - x, a.bottom - (a.bottom - a.top) * b.ys[i] / b.y - y);
        if (d < best) { best = d; near = i; }
      });
      picture.redraw();
      if (near < 0) return tip.hide();
      const p = all[near];
      tip.show(event, el("b", {}, p.text), el("div", {}, p.family), tipRow("Cycles", fmt.whole(p.cycles)), tipRow("Temporary", fmt.bytes(p.temp_bytes)), tipRow("Resident", fmt.bytes(p.resident_bytes)),
        tipRow("Code", fmt.bytes(p.code_bytes)), p.chosen && el("div", {}, "chosen"));
    },
  });
  const columns = [
    { name: "chosen", title: "", text: (p) => (p.chosen ? "●" : "") },
    { name: "tiles", title: "Tiles", number: true, text: (p) => fmt.whole(p.tiles), sort: (p) => p.tiles },
    { name: "cycles", title: "Cycles", number: true, text: (p) => fmt.whole(p.cycles), sort: (p) => p.cycles },
    { name: "temp", title: "Temporary", number: true, text: (p) => fmt.bytes(p.temp_bytes), sort: (p) => p.temp_bytes },
    { name: "resident", title: "Resident", number: true, text: (p) => fmt.bytes(p.resident_bytes), sort: (p) => p.resident_bytes },
    { name: "code", title: "Code", number: true, text: (p) => fmt.bytes(p.code_bytes), sort: (p) => p.code_bytes },
    { name: "name", title: "Plan", wide: true, text: (p) => p.text, show: (p) => el("span", { title: p.family }, p.text) },
  ];
  const list = table(columns, [], {}), title = el("span", { class: "hint" });
  const node = section("plans", "Plans", null);
  node.querySelector(".head").append(title);
  const body = el("div", { class: "two plans" }, picture.node, list.node), source = el("div");
  node.append(body, source);
  return { node, show(next) {
    op = next;
    all = RUN.plans[op.plans];
    near = -1;
    title.textContent = `${op.label}${op.scope ? `, ${op.scope}` : ""}: ${op.operands.join(", ")} → ${op.results.join(", ")}; ` +
      (all.length ? `${all.length} ${all.length === 1 ? "plan" : "plans"} that no other beats` : "no plans to choose from");
    body.hidden = !all.length;
    source.replaceChildren(...sourceOf(op));
    list.set(all.slice().sort((a, b) => a.cycles - b.cycles));
    picture.redraw();
  } };
}
