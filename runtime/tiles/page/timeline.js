// Timeline of a run: the steps of each op as compute, exchange, sync and host cycles.
function timelineSection(select) {
  const points = RUN.points, ops = points.op.map((o) => RUN.ops[o]), starts = RUN.start, n = ops.length;
  const total = starts[n] || 1;
  let view = [0, total], equal = false, cursor = -1, layers = [];
  ops.forEach((o, i) => {
    const last = layers[layers.length - 1];
    if (last && last.name === o.part) last.to = i + 1;
    else layers.push({ name: o.part, from: i, to: i + 1 });
  });
  const start = (i) => (equal ? i / n * total : starts[i]);
  const at = (x, width) => view[0] + (x - 60) / (width - 70) * (view[1] - view[0]);
  function find(x, width) {
    const want = at(x, width);
    let low = 0, high = n;
    while (high - low > 1) { const mid = (low + high) >> 1; if (start(mid) <= want) low = mid; else high = mid; }
    return !n || want < 0 || want > total ? -1 : low;
  }
  const rows = [["Part", 18], ["Steps", 34], ["Waiting", 26]];
  const main = chart(132, (c, width) => {
    const px = (v) => 60 + (v - view[0]) / (view[1] - view[0]) * (width - 70);
    const text = css("soft"), card = css("card"), colours = Object.fromEntries(PHASES.map(([k]) => [k, css(k)]));
    c.textBaseline = "middle";
    let y = 6;
    for (const [label, height] of rows) { c.fillStyle = text; c.textAlign = "right"; c.fillText(label, 52, y + height / 2); y += height + 6; }
    c.save();
    c.beginPath(); c.rect(60, 0, width - 70, 132); c.clip();
    layers.forEach((l, i) => {
      const a = Math.max(px(start(l.from)), 59), b = Math.min(px(start(l.to)), width);
      if (b < 60 || a > width || b - a < .3 || !l.name) return;
      c.fillStyle = i % 2 ? css("line") : css("hover");
      c.fillRect(a, 6, b - a, 18);
      if (b - a > 30) { c.save(); c.beginPath(); c.rect(a, 6, b - a - 2, 18); c.clip(); c.fillStyle = text; c.textAlign = "left"; c.fillText(l.name, a + 4, 15); c.restore(); }
    });
    let drawn = -1;
    for (let i = 0; i < n; ++i) {
      const o = ops[i], a = px(start(i)), b = px(start(i + 1));
      if (b < 60 || a > width || b < drawn + .25) continue;
      drawn = b;
      const span = b - a;
      let from = a;
      for (const s of o.steps) {
        const w = span * s.cycles / (o.cycles || 1);
        if (w <= 0) continue;
        c.fillStyle = colours[s.kind] || colours.compute;
        c.fillRect(from, 30, Math.max(w, .4), 34);
        from += w;
      }
      if (!o.steps.length && equal) { c.fillStyle = css("hover"); c.fillRect(a, 30, Math.max(span - .5, .4), 34); }
      if (span > 52) { c.fillStyle = o.steps.length ? card : text; c.textAlign = "left"; c.save(); c.beginPath(); c.rect(Math.max(a, 60), 30, b - Math.max(a, 60) - 3, 34); c.clip(); c.fillText(o.label, Math.max(a, 60) + 4, 47); c.restore(); }
      const wait = 1 - o.balance;
      c.fillStyle = css("other");
      c.globalAlpha = .75;
      c.fillRect(a, 96 - 26 * wait, Math.max(span, .6), 26 * wait);
      c.globalAlpha = 1;
      if (i === cursor) { c.strokeStyle = css("ink"); c.lineWidth = 1.5; c.strokeRect(a, 29, Math.max(span, 1), 36); c.lineWidth = 1; }
    }
    c.restore();
    c.strokeStyle = css("line"); c.beginPath(); c.moveTo(60, 96.5); c.lineTo(width - 10, 96.5); c.stroke();
    c.fillStyle = css("faint");
    const parts = Math.max(1, Math.min(5, Math.floor((width - 70) / 135)));
    for (let i = 0; i <= parts; ++i) {
      const v = view[0] + (view[1] - view[0]) * i / parts;
      c.textAlign = i === 0 ? "left" : i === parts ? "right" : "center";
      c.fillText(equal ? `op ${fmt.whole(v / total * n)}` : `${fmt.cycles(v)} cycles`, px(v), 112);
    }
  }, {
    pointermove(event, x, y, width) {
      if (drag) { const shift = at(drag.x, width) - at(x, width); move(shift); drag.x = x; drag.moved = true; return; }
      cursor = find(x, width);
      main.redraw();
      if (cursor < 0) return tip.hide();
      const o = ops[cursor], times = points.repeats[cursor];
      tip.show(event, el("b", {}, o.label), o.scope && el("div", {}, o.scope), o.plan && el("div", {}, o.plan),
        tipRow("Cycles", fmt.whole(o.cycles) + (times > 1 ? ` × ${fmt.whole(times)}` : "")),
        o.steps.slice(0, 8).map((s) => tipRow(s.what === s.kind ? s.kind : `${s.kind}: ${s.what}`, fmt.whole(s.cycles), css(s.kind) || css("compute"))),
        o.steps.length > 8 && el("div", {}, `and ${o.steps.length - 8} more steps`),
        o.tiles ? tipRow("Tiles at work", fmt.whole(o.tiles)) : null, o.exchanged_bytes ? tipRow("Exchanged", fmt.bytes(o.exchanged_bytes)) : null,
        o.balance < 1 ? tipRow("Mean / slowest tile", fmt.percent(o.balance)) : null, tipRow("Fullest tile", fmt.bytes(points.fullest_bytes[cursor])));
    },
    pointerdown(event, x) { drag = { x, moved: false }; main.canvas.setPointerCapture(event.pointerId); },
    pointerup() { if (drag && !drag.moved && cursor >= 0) select(cursor); drag = null; },
    wheel(event, x, y, width) {
      event.preventDefault();
      const middle = at(x, width), factor = Math.exp(event.deltaY * .0016);
      const size = Math.min(total, Math.max(total / n / 4, (view[1] - view[0]) * factor));
      view[0] = middle - (middle - view[0]) / (view[1] - view[0]) * size; view[1] = view[0] + size;
      move(0);
    },
    dblclick() { view = [0, total]; main.redraw(); },
    keydown(event) {
      const size = view[1] - view[0];
      if (event.key === "ArrowLeft") move(-size / 8);
      else if (event.key === "ArrowRight") move(size / 8);
      else if (event.key === "+" || event.key === "-") { const f = event.key === "+" ? .25 : -.5; view = [view[0] + size * f, view[1] - size * f]; move(0); }
    },
  });
  let drag = null;
  function move(shift) {
    const size = Math.min(view[1] - view[0], total);
    view[0] = Math.min(Math.max(0, view[0] + shift), total - size);
    view[1] = view[0] + size;
    main.redraw();
  }
  const node = section("timeline", "Timeline", (points.complete ? "" : "The beginning of a run that is longer. ") + "Loop bodies stand once. Wheel zooms, drag moves, double click shows all, click shows what is live",
    choice([[false, "By cycles"], [true, "By ops"]], false, (v) => { equal = v; view = [0, total]; main.redraw(); }));
  node.append(main.node, el("div", { class: "legend" }, PHASES.map(([k, l]) => el("span", { style: `--key:var(--${k})` }, l)),
    el("span", { style: "--key:var(--other)" }, "Waiting for the slowest tile")));
  return node;
}
