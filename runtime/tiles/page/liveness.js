// Live bytes over the program's steps, and the tensors that are live at the cursor.
function livenessSection() {
  const lv = RUN.liveness, n = RUN.steps.length, limit = RUN.machine.bytes_per_tile;
  let cursor = RUN.totals.peak_step, whole = false;
  const curve = () => (whole ? lv.total : lv.max_tile), always = () => (whole ? lv.always_total : lv.always_max_tile);
  const area = (width) => ({ left: 66, right: width - 10, top: 12, bottom: 172 });
  const picture = chart(196, (c, width) => {
    const a = area(width), values = curve(), floor = always();
    let most = 1;
    for (const v of values) if (v > most) most = v;
    if (!whole) most = Math.max(most, limit * 1.04);
    const px = (i) => a.left + (a.right - a.left) * i / Math.max(1, n), py = (v) => a.bottom - (a.bottom - a.top) * v / most;
    axis(c, most, a, fmt.bytes);
    c.fillStyle = css("c1"); c.beginPath(); c.moveTo(px(0), a.bottom);
    for (let i = 0; i < n; ++i) { c.lineTo(px(i), py(values[i])); c.lineTo(px(i + 1), py(values[i])); }
    c.lineTo(px(n), a.bottom); c.fill();
    c.fillStyle = css("c0"); c.fillRect(a.left, py(floor), a.right - a.left, a.bottom - py(floor));
    if (OTHER) {
      const o = whole ? OTHER.liveness.total : OTHER.liveness.max_tile, m = o.length;
      c.strokeStyle = css("ink"); c.lineWidth = 1.5; c.beginPath();
      for (let i = 0; i < m; ++i) c.lineTo(a.left + (a.right - a.left) * (i + .5) / m, py(Math.min(o[i], most)));
      c.stroke(); c.lineWidth = 1;
    }
    if (!whole) { c.strokeStyle = css("bad"); c.setLineDash([6, 4]); c.beginPath(); c.moveTo(a.left, py(limit)); c.lineTo(a.right, py(limit)); c.stroke(); c.setLineDash([]); }
    const x = (px(cursor) + px(cursor + 1)) / 2;
    c.strokeStyle = css("ink"); c.beginPath(); c.moveTo(x, a.top - 6); c.lineTo(x, a.bottom); c.stroke();
    c.fillStyle = css("faint"); c.textBaseline = "top"; c.textAlign = "left"; c.fillText("step 0", a.left, a.bottom + 6);
    c.textAlign = "right"; c.fillText(`step ${n - 1}`, a.right, a.bottom + 6);
  }, {
    pointermove(event, x, y, width) { if (event.buttons) pick(x, width); hover(event, x, width); },
    pointerdown(event, x, y, width) { pick(x, width); },
    keydown(event) {
      if (event.key === "ArrowLeft") set(Math.max(0, cursor - 1));
      if (event.key === "ArrowRight") set(Math.min(n - 1, cursor + 1));
    },
  });
  const stepAt = (x, width) => { const a = area(width); return Math.min(n - 1, Math.max(0, Math.floor((x - a.left) / (a.right - a.left) * n))); };
  function hover(event, x, width) {
    const i = stepAt(x, width);
    tip.show(event, el("b", {}, `Step ${i}: ${RUN.steps[i].name}`), tipRow("Live", fmt.bytes(curve()[i])), tipRow("Always live", fmt.bytes(always())));
  }
  const pick = (x, width) => set(stepAt(x, width));
  const caption = el("p", { class: "hint" });
  const columns = [
    { name: "name", title: "Tensor", text: (t) => t.name, show: (t) => el("span", { class: "mono" }, t.name) },
    { name: "spec", title: "Type", text: (t) => t.spec },
    { name: "category", title: "Category", text: (t) => t.category },
    { name: "tile", title: "Fullest tile", number: true, text: (t) => fmt.bytes(t.bytes_max_tile), sort: (t) => t.bytes_max_tile },
    { name: "bytes", title: "In all", number: true, text: (t) => fmt.bytes(t.bytes), sort: (t) => t.bytes },
    { name: "life", title: "Steps", number: true, text: (t) => (t.always ? "always" : `${t.first}–${t.last}`), sort: (t) => (t.always ? n : t.last - t.first) },
  ];
  const live = () => lv.tensors.filter((t) => t.always || (t.first <= cursor && cursor <= t.last));
  const list = table(columns, live(), { sort: "tile", limit: 200 });
  function set(step) {
    cursor = step;
    const s = RUN.steps[cursor];
    caption.textContent = `At step ${cursor}, ${s ? s.name : ""}: ${fmt.bytes(lv.max_tile[cursor] || 0)} on the fullest tile, ${fmt.bytes(lv.total[cursor] || 0)} in all.`;
    list.set(live());
    picture.redraw();
  }
  const node = section("liveness", "Liveness", "Click a step to see what is live there",
    choice([[false, "Fullest tile"], [true, "All tiles"]], false, (v) => { whole = v; picture.redraw(); }),
    el("button", { type: "button", onclick: () => set(RUN.totals.peak_step) }, "Peak"), search("Filter tensors", (t) => list.filter(t)));
  node.append(picture.node, el("div", { class: "legend" }, el("span", { style: "--key:var(--c0)" }, "Always live"), el("span", { style: "--key:var(--c1)" }, "Live at the step"),
    OTHER && el("span", { style: "--key:var(--ink)" }, OTHER.name)), caption, list.node);
  set(cursor);
  return { node, set };
}
