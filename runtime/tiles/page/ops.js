// The table of ops, and of the chosen one the plans that the search had to choose from.
function opsSection() {
  const columns = [
    { name: "name", title: "Op", text: (o) => o.name, show: (o) => el("span", { class: "mono", title: o.source }, o.name) },
    { name: "kind", title: "Kind", text: (o) => o.op },
    { name: "layer", title: "Part", text: (o) => o.layer || "" },
    { name: "calls", title: "Calls", number: true, text: (o) => fmt.whole(o.calls), sort: (o) => o.calls },
    { name: "cycles", title: "Cycles", number: true, hint: "of all calls", text: (o) => fmt.whole(o.cycles), sort: (o) => o.cycles },
    { name: "compute", title: "Compute", number: true, text: (o) => fmt.whole(o.compute), sort: (o) => o.compute },
    { name: "exchange", title: "Exchange", number: true, text: (o) => fmt.whole(o.exchange), sort: (o) => o.exchange },
    { name: "tiles", title: "Tiles", number: true, text: (o) => fmt.whole(o.tiles), sort: (o) => o.tiles },
    { name: "temp", title: "Temporary", number: true, hint: "bytes on the fullest tile", text: (o) => fmt.bytes(o.temp_bytes), sort: (o) => o.temp_bytes },
    { name: "code", title: "Code", number: true, hint: "bytes on the fullest tile", text: (o) => fmt.bytes(o.code_bytes), sort: (o) => o.code_bytes },
    { name: "useful", title: "Useful", number: true, text: (o) => fmt.percent(o.utilisation), sort: (o) => o.utilisation },
    { name: "plan", title: "Plan", text: (o) => o.plan, show: (o) => el("span", { class: "mono" }, o.plan) },
  ];
  if (OTHER) {
    const before = new Map(OTHER.ops.map((o) => [o.name, o]));
    columns.splice(5, 0, { name: "change", title: "Change", number: true, hint: `against ${OTHER.name}`, sort: (o) => (before.has(o.name) ? o.cycles - before.get(o.name).cycles : 0),
      text: (o) => { const b = before.get(o.name); return b ? `${o.cycles >= b.cycles ? "+" : "−"}${fmt.whole(Math.abs(o.cycles - b.cycles))}` : "new"; } });
  }
  const first = RUN.ops.reduce((a, o) => (!a || o.cycles > a.cycles ? o : a), null);
  const plans = planChart();
  const list = table(columns, RUN.ops, { sort: "cycles", pick: plans.show, picked: first });
  const node = section("ops", "Ops", `${fmt.whole(RUN.ops.length)} ops; choose one to see its plans`, search("Filter ops", (t) => list.filter(t)),
    el("button", { type: "button", onclick: () => download("ops.csv", csvText(columns, list.shown())) }, "CSV"));
  node.append(list.node);
  if (first) plans.show(first);
  return [node, plans.node];
}

function planChart() {
  let op = null, near = -1;
  const area = (width) => ({ left: 76, right: width - 16, top: 12, bottom: 200 });
  const bounds = () => {
    const xs = op.plans.map((p) => p.temp_bytes + p.resident_bytes + p.code_bytes), ys = op.plans.map((p) => p.cycles);
    return { x: Math.max(1, ...xs) * 1.06, y: Math.max(1, ...ys) * 1.08, xs, ys };
  };
  const picture = chart(232, (c, width) => {
    if (!op || !op.plans.length) return;
    const a = area(width), b = bounds();
    axis(c, b.y, a, fmt.cycles);
    c.fillStyle = css("faint"); c.textBaseline = "top";
    for (const at of ticks(b.x, 5, true)) { c.textAlign = "center"; c.fillText(fmt.bytes(at), a.left + (a.right - a.left) * at / b.x, a.bottom + 6); }
    c.textAlign = "left"; c.fillText("cycles against bytes on a tile", a.left, a.bottom + 20);
    op.plans.forEach((p, i) => {
      const x = a.left + (a.right - a.left) * b.xs[i] / b.x, y = a.bottom - (a.bottom - a.top) * b.ys[i] / b.y;
      c.beginPath(); c.arc(x, y, p.chosen ? 7 : i === near ? 6 : 4.5, 0, 7);
      c.fillStyle = p.chosen ? css("other") : css("compute"); c.fill();
      if (i === near) { c.strokeStyle = css("ink"); c.stroke(); }
    });
  }, {
    pointermove(event, x, y, width) {
      if (!op || !op.plans.length) return;
      const a = area(width), b = bounds();
      let best = 30;
      near = -1;
      op.plans.forEach((p, i) => {
        const d = Math.hypot(a.left + (a.right - a.left) * b.xs[i] / b.x - x, a.bottom - (a.bottom - a.top) * b.ys[i] / b.y - y);
        if (d < best) { best = d; near = i; }
      });
      picture.redraw();
      if (near < 0) return tip.hide();
      const p = op.plans[near];
      tip.show(event, el("b", {}, p.name), tipRow("Cycles", fmt.whole(p.cycles)), tipRow("Temporary", fmt.bytes(p.temp_bytes)), tipRow("Resident", fmt.bytes(p.resident_bytes)),
        tipRow("Code", fmt.bytes(p.code_bytes)), p.chosen && el("div", {}, "chosen"));
    },
  });
  const columns = [
    { name: "chosen", title: "", text: (p) => (p.chosen ? "●" : "") }, { name: "name", title: "Plan", text: (p) => p.name, show: (p) => el("span", { class: "mono" }, p.name) },
    { name: "cycles", title: "Cycles", number: true, text: (p) => fmt.whole(p.cycles), sort: (p) => p.cycles },
    { name: "temp", title: "Temporary", number: true, text: (p) => fmt.bytes(p.temp_bytes), sort: (p) => p.temp_bytes },
    { name: "resident", title: "Resident", number: true, text: (p) => fmt.bytes(p.resident_bytes), sort: (p) => p.resident_bytes },
    { name: "code", title: "Code", number: true, text: (p) => fmt.bytes(p.code_bytes), sort: (p) => p.code_bytes },
  ];
  const list = table(columns, [], {}), title = el("span", { class: "hint" });
  const node = section("plans", "Plans", null);
  node.querySelector(".head").append(title);
  node.append(el("div", { class: "two" }, picture.node, list.node));
  return { node, show(next) {
    op = next;
    near = -1;
    title.textContent = `${op.name}, ${op.spec || op.op}: ${op.plans.length} that no other plan beats`;
    list.set(op.plans.slice().sort((a, b) => a.cycles - b.cycles));
    picture.redraw();
  } };
}
