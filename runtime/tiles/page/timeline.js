// The step over time: each program step as compute, exchange, sync and host cycles, one after the other.
function timelineSection(select) {
  const steps = RUN.steps, starts = [0];
  for (const s of steps) starts.push(starts[starts.length - 1] + s.cycles);
  const total = starts[steps.length] || 1;
  let view = [0, total], equal = false, cursor = -1, layers = [];
  for (let i = 0; i < steps.length; ++i) {
    const last = layers[layers.length - 1];
    if (last && last.name === (steps[i].layer || "")) last.to = i + 1;
    else layers.push({ name: steps[i].layer || "", from: i, to: i + 1 });
  }
  const start = (i) => (equal ? i / steps.length * total : starts[i]);
  const at = (x, width) => view[0] + (x - 60) / (width - 70) * (view[1] - view[0]);
  function find(x, width) {
    const want = at(x, width);
    let low = 0, high = steps.length;
    while (high - low > 1) { const mid = (low + high) >> 1; if (start(mid) <= want) low = mid; else high = mid; }
    return want < 0 || want > total ? -1 : low;
  }
  const rows = [["Layer", 18], ["Step", 34], ["Waiting", 26]];
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
    for (let i = 0; i < steps.length; ++i) {
      const s = steps[i], a = px(start(i)), b = px(start(i + 1));
      if (b < 60 || a > width || (b < drawn + .25)) continue;
      drawn = b;
      let from = a;
      const span = b - a, cycles = s.cycles || 1;
      for (const [key] of PHASES) {
        const w = span * (s[key] || 0) / cycles;
        if (w <= 0) continue;
        c.fillStyle = colours[key];
        c.fillRect(from, 30, Math.max(w, .4), 34);
        from += w;
      }
      if (span > 44) { c.fillStyle = card; c.textAlign = "left"; c.save(); c.beginPath(); c.rect(a, 30, span - 3, 34); c.clip(); c.fillText(s.name, a + 4, 47); c.restore(); }
      const wait = 1 - (s.balance ?? 1);
      c.fillStyle = css("other");
      c.globalAlpha = .75;
      c.fillRect(a, 96 - 26 * wait, Math.max(span, .6), 26 * wait);
      c.globalAlpha = 1;
      if (i === cursor) { c.strokeStyle = css("ink"); c.lineWidth = 1.5; c.strokeRect(a, 29, Math.max(span, 1), 36); c.lineWidth = 1; }
    }
    c.restore();
    c.strokeStyle = css("line"); c.beginPath(); c.moveTo(60, 96.5); c.lineTo(width - 10, 96.5); c.stroke();
    c.fillStyle = css("faint");
    const parts = width < 620 ? 2 : 5;
    for (let i = 0; i <= parts; ++i) {
      const v = view[0] + (view[1] - view[0]) * i / parts;
      c.textAlign = i === 0 ? "left" : i === parts ? "right" : "center";
      c.fillText(equal ? `step ${fmt.whole(v / total * steps.length)}` : `${fmt.cycles(v)} cycles`, px(v), 112);
    }
  }, {
    pointermove(event, x, y, width) {
      if (drag) { const shift = at(drag.x, width) - at(x, width); move(shift); drag.x = x; drag.moved = true; return; }
      cursor = find(x, width);
      main.redraw();
      if (cursor < 0) return tip.hide();
      const s = steps[cursor];
      tip.show(event, el("b", {}, s.name), s.layer && el("div", {}, s.layer), PHASES.map(([k, l]) => s[k] ? tipRow(l, fmt.whole(s[k]), css(k)) : null),
        tipRow("Cycles", fmt.whole(s.cycles)), s.tiles ? tipRow("Tiles at work", fmt.whole(s.tiles)) : null, s.vertex ? tipRow("Vertex", s.vertex) : null,
        s.bytes_in_max ? tipRow("Most bytes into a tile", fmt.bytes(s.bytes_in_max)) : null,
        s.balance !== undefined ? tipRow("Mean / slowest tile", fmt.percent(s.balance)) : null, tipRow("Live on the fullest tile", fmt.bytes(s.live_max_tile)));
    },
    pointerdown(event, x) { drag = { x, moved: false }; main.canvas.setPointerCapture(event.pointerId); },
    pointerup() { if (drag && !drag.moved && cursor >= 0) select(cursor); drag = null; },
    wheel(event, x, y, width) {
      event.preventDefault();
      const middle = at(x, width), factor = Math.exp(event.deltaY * .0016);
      const size = Math.min(total, Math.max(total / steps.length / 4, (view[1] - view[0]) * factor));
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
  const node = section("timeline", "Timeline", "Wheel zooms, drag moves, double click shows all, click shows what is live",
    choice([[false, "By cycles"], [true, "By steps"]], false, (v) => { equal = v; view = [0, total]; main.redraw(); }));
  node.append(main.node, el("div", { class: "legend" }, PHASES.map(([k, l]) => el("span", { style: `--key:var(--${k})` }, l)),
    el("span", { style: "--key:var(--other)" }, "Waiting for the slowest tile")));
  return node;
}
