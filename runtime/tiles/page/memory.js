// Bytes of each tile by category: stacked over tiles, or as a map of the chip.
function memorySection() {
  const names = RUN.categories.map((c) => c.name), all = RUN.memory, tiles = RUN.machine.tiles, limit = RUN.machine.bytes_per_tile;
  const on = new Set(names);
  let sorted = true, view = "stack", order = [], totals = [], most = 1, other = null;
  const sum = (memory, tile) => names.reduce((a, c) => a + (on.has(c) && memory[c] ? memory[c][tile] : 0), 0);
  function prepare() {
    totals = Array.from({ length: tiles }, (_, i) => sum(all, i));
    order = totals.map((_, i) => i);
    if (sorted) order.sort((a, b) => totals[b] - totals[a] || a - b);
    other = OTHER && OTHER.machine.tiles === tiles ? Array.from({ length: tiles }, (_, i) => sum(OTHER.memory, i)) : null;
    if (other && sorted) other.sort((a, b) => b - a);
    most = scaleOf([...totals, ...(other || [])], limit);
  }
  const columns = () => Math.max(8, Math.round(Math.sqrt(tiles * 2.4)));
  const area = (width) => ({ left: 66, right: width - 10, top: 10, bottom: 250 });
  function tileAt(x, y, width) {
    if (view === "map") {
      const n = columns(), cell = (width - 20) / n, i = Math.floor((x - 10) / cell), j = Math.floor((y - 6) / cell);
      return i < 0 || i >= n || i + j * n >= tiles ? -1 : i + j * n;
    }
    const a = area(width), i = Math.floor((x - a.left) / (a.right - a.left) * tiles);
    return i < 0 || i >= tiles ? -1 : order[i];
  }
  function stack(c, width) {
    const a = area(width), px = (i) => a.left + (a.right - a.left) * i / tiles, py = (v) => a.bottom - (a.bottom - a.top) * v / most;
    axis(c, most, a, fmt.bytes);
    const base = new Float64Array(tiles);
    names.forEach((category, k) => {
      if (!on.has(category)) return;
      c.fillStyle = css(categoryKey(k));
      c.beginPath();
      c.moveTo(px(0), py(base[0]));
      for (let i = 0; i < tiles; ++i) { const top = py(base[i] + all[category][order[i]]); c.lineTo(px(i), top); c.lineTo(px(i + 1), top); }
      for (let i = tiles - 1; i >= 0; --i) { const bottom = py(base[i]); c.lineTo(px(i + 1), bottom); c.lineTo(px(i), bottom); }
      c.fill();
      for (let i = 0; i < tiles; ++i) base[i] += all[category][order[i]];
    });
    if (other) {
      c.strokeStyle = css("ink"); c.lineWidth = 1.5; c.beginPath();
      other.forEach((v, i) => { c.lineTo(px(i), py(v)); c.lineTo(px(i + 1), py(v)); });
      c.stroke(); c.lineWidth = 1;
    }
    limitLine(c, py(limit), a, `limit ${fmt.bytes(limit)}${limit > most ? " ↑" : ""}`);
    c.fillStyle = css("faint"); c.textBaseline = "top"; c.textAlign = "left"; c.fillText(sorted ? "fullest tile" : "tile 0", a.left, a.bottom + 6);
    c.textAlign = "right"; c.fillText(sorted ? "emptiest tile" : `tile ${tiles - 1}`, a.right, a.bottom + 6);
  }
  // The colour scale ends at the limit, or at the fullest tile if all are far below the limit.
  const deepest = () => { const fullest = Math.max(1, ...totals); return fullest < limit / 2 ? fullest : limit; };
  const shade = (share) => `color-mix(in oklab, ${css("hover")}, ${share > 1 ? css("bad") : css("compute")} ${Math.round(100 * Math.min(1, share))}%)`;
  const mapHeight = (width) => { const n = columns(); return Math.ceil(6 + Math.ceil(tiles / n) * (width - 20) / n); };
  function map(c, width) {
    const n = columns(), cell = (width - 20) / n, gap = cell > 7 ? 1 : .5, deep = deepest();
    for (let i = 0; i < tiles; ++i) {
      c.fillStyle = shade(totals[i] > limit ? 2 : totals[i] / deep);
      c.fillRect(10 + (i % n) * cell, 6 + Math.floor(i / n) * cell, cell - gap, cell - gap);
    }
    const y = mapHeight(width) + 8;
    for (let i = 0; i < 100; ++i) { c.fillStyle = shade(i / 99); c.fillRect(10 + i * 1.6, y, 1.7, 10); }
    c.fillStyle = css("faint"); c.textAlign = "left"; c.textBaseline = "middle";
    c.fillText(`0 B to ${fmt.bytes(deep)}, ${deep === limit ? "the limit; above it red" : "the fullest tile"}`, 180, y + 5);
  }
  const picture = chart(274, (c, width) => {
    if (view === "map") {
      const want = mapHeight(width) + 28;
      if (Math.abs(picture.height - want) > 1) { picture.height = want; return picture.redraw(); }
      map(c, width);
    } else stack(c, width);
  }, {
    pointermove(event, x, y, width) {
      const tile = tileAt(x, y, width);
      if (tile < 0) return tip.hide();
      tip.show(event, el("b", {}, `Tile ${tile}: ${fmt.bytes(totals[tile])}`), tipRow("of its memory", fmt.percent(totals[tile] / limit)),
        names.map((k, i) => on.has(k) && all[k][tile] > 0 ? tipRow(k, fmt.bytes(all[k][tile]), css(categoryKey(i))) : null));
    },
  });
  function redo() { prepare(); if (view === "stack") picture.height = 274; picture.redraw(); }
  prepare();
  const legend = el("div", { class: "legend" }, RUN.categories.map(({ name: k, bytes, always_live: always }, i) => {
    if (!bytes) return null;
    const button = toggle(`${k} ${fmt.bytes(bytes)}`, true, (now) => { if (now) on.add(k); else on.delete(k); redo(); }, always ? "Always live. Show or leave out" : "Live at the tile's fullest op. Show or leave out");
    button.style.setProperty("--key", categoryColour(i));
    return button;
  }), OTHER && el("span", { style: "--key:var(--ink)" }, `against: ${OTHER.name}, all shown categories`));
  const order_button = toggle("Sorted", true, (v) => { sorted = v; redo(); });
  const node = section("memory", "Memory of the tiles", "Of each tile while the op runs at which it is fullest",
    choice([["stack", "Stacked"], ["map", "Map"]], "stack", (v) => { view = v; order_button.hidden = v === "map"; redo(); }), order_button);
  node.append(picture.node, legend);
  return node;
}
