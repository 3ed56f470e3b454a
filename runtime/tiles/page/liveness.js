// Live bytes over the program's ops, and the tensors that are live at the cursor.
function livenessSection() {
  const points = RUN.points, n = points.op.length, limit = RUN.machine.bytes_per_tile;
  const op = (i) => RUN.ops[points.op[i]];
  const peak = points.fullest_bytes.reduce((best, v, i) => (v > points.fullest_bytes[best] ? i : best), 0);
  let cursor = Math.min(peak, n - 1), whole = false;
  const curveOf = (run) => (whole ? run.points.live_bytes.map((v) => v + run.totals.always_live_bytes) : run.points.fullest_bytes);
  let values = curveOf(RUN), others = OTHER && curveOf(OTHER);
  const always = (i) => (whole ? RUN.totals.always_live_bytes : RUN.always[points.fullest_tile[i]]);
  const area = (width) => ({ left: 66, right: width - 10, top: 12, bottom: 172 });
  const picture = chart(196, (c, width) => {
    const a = area(width);
    const most = scaleOf(others ? values.concat(others) : values, whole ? 0 : limit);
    const px = (i) => a.left + (a.right - a.left) * i / Math.max(1, n), py = (v) => a.bottom - (a.bottom - a.top) * v / most;
    axis(c, most, a, fmt.bytes);
    c.fillStyle = css("c1"); c.beginPath(); c.moveTo(px(0), a.bottom);
    for (let i = 0; i < n; ++i) { c.lineTo(px(i), py(values[i])); c.lineTo(px(i + 1), py(values[i])); }
    c.lineTo(px(n), a.bottom); c.fill();
    c.fillStyle = css("c0"); c.beginPath(); c.moveTo(px(0), a.bottom);
    for (let i = 0; i < n; ++i) { c.lineTo(px(i), py(always(i))); c.lineTo(px(i + 1), py(always(i))); }
    c.lineTo(px(n), a.bottom); c.fill();
    if (others) {
      const m = others.length;
      c.strokeStyle = css("ink"); c.lineWidth = 1.5; c.beginPath();
      for (let i = 0; i < m; ++i) c.lineTo(a.left + (a.right - a.left) * (i + .5) / m, py(others[i]));
      c.stroke(); c.lineWidth = 1;
    }
    if (!whole) limitLine(c, py(limit), a);
    const x = (px(cursor) + px(cursor + 1)) / 2;
    c.strokeStyle = css("ink"); c.beginPath(); c.moveTo(x, a.top - 6); c.lineTo(x, a.bottom); c.stroke();
    c.fillStyle = css("faint"); c.textBaseline = "top"; c.textAlign = "left"; c.fillText("first op", a.left, a.bottom + 6);
    c.textAlign = "right"; c.fillText(`op ${n - 1}`, a.right, a.bottom + 6);
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
    tip.show(event, el("b", {}, `${i}: ${op(i).label}`), op(i).scope && el("div", {}, op(i).scope), tipRow("Live", fmt.bytes(values[i])), tipRow("Of those always", fmt.bytes(always(i))),
      op(i).temp_bytes ? tipRow("Temporary", fmt.bytes(whole ? points.temp_bytes[i] : op(i).temp_bytes)) : null, whole ? null : tipRow("On tile", fmt.whole(points.fullest_tile[i])));
  }
  const pick = (x, width) => set(stepAt(x, width));
  const caption = el("p", { class: "hint" });
  const columns = [
    { name: "name", title: "Tensor", text: (t) => t.name, show: (t) => el("span", { class: "mono" }, t.name) },
    { name: "spec", title: "Type", text: (t) => t.spec },
    { name: "layout", title: "Layout", text: (t) => t.layout },
    { name: "category", title: "Category", text: (t) => t.category },
    { name: "tile", title: "Most on a tile", number: true, text: (t) => fmt.bytes(t.tile_bytes), sort: (t) => t.tile_bytes },
    { name: "bytes", title: "In all", number: true, text: (t) => fmt.bytes(t.bytes), sort: (t) => t.bytes },
    { name: "life", title: "Ops", number: true, text: (t) => (t.always_live ? "always" : `${t.first}–${t.last}`), sort: (t) => (t.always_live ? n : t.last - t.first) },
  ];
  // Tensors have their points in the graph's first run; later runs are offset.
  function live() {
    if (n === 0) return RUN.tensors.filter((t) => t.always_live);
    const shift = RUN.graphs.map(({ entries }) => {
      let low = -1, high = entries.length;
      while (high - low > 1) { const mid = (low + high) >> 1; if (entries[mid] <= cursor) low = mid; else high = mid; }
      return low < 0 ? NaN : entries[low] - entries[0];
    });
    const found = RUN.tensors.filter((t) => t.always_live || (t.first >= 0 && t.first + shift[t.graph] <= cursor && cursor <= t.last + shift[t.graph]));
    const o = op(cursor);
    if (o.temp_bytes) found.push({ name: `temporaries of ${o.label}`, spec: "", layout: o.plan, category: "temporaries", tile_bytes: o.temp_bytes, bytes: points.temp_bytes[cursor], first: cursor, last: cursor });
    return found;
  }
  const list = table(columns, live(), { sort: "tile" });
  function set(point) {
    if (point < 0 || point >= n) return;
    cursor = point;
    const o = op(cursor);
    caption.textContent = `While ${o.label}${o.scope ? ` (${o.scope})` : ""} runs, op ${fmt.whole(cursor)} of ${fmt.whole(n)}: ${fmt.bytes(points.fullest_bytes[cursor])} on tile ${points.fullest_tile[cursor]}, the fullest; ` +
      `${fmt.bytes(points.live_bytes[cursor] + RUN.totals.always_live_bytes)} on all. `;
    caption.append(el("button", { class: "link", type: "button", onclick() { openOp(o); } }, `Plan of ${o.label}`));
    list.set(live());
    picture.redraw();
  }
  const node = section("liveness", "Liveness", "Click an op to see what is live there",
    choice([[false, "Fullest tile"], [true, "All tiles"]], false, (v) => { whole = v; values = curveOf(RUN); others = OTHER && curveOf(OTHER); picture.redraw(); }),
    el("button", { type: "button", onclick: () => set(peak) }, "Peak"), search("Filter tensors", (t) => list.filter(t)));
  node.append(picture.node, el("div", { class: "legend" }, el("span", { style: "--key:var(--c0)" }, "Always live"), el("span", { style: "--key:var(--c1)" }, "Live at the op"),
    OTHER && el("span", { style: "--key:var(--ink)" }, `against: ${OTHER.name}`)), caption, list.node);
  set(cursor);
  return { node, set };
}
