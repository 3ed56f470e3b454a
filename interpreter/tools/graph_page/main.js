// The page: open boxes, the chosen box, search, and pictures to save.
(function () {
  const GRAPHS = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id), view = at("view"), panel = at("panel");
  const move = mover(view);
  let root, open, shown, chosen = null, hits = [], hit = -1;

  // The boxes open at first: modules, and graphs that are called once, as long as the picture stays small.
  function opened(budget) {
    const keys = new Set();
    let queue = root.children.slice(), count = queue.length;
    while (queue.length) {
      const box = queue.shift();
      const once = box.kind === "call" && box.op.calls.every((g) => PROGRAM.graphs[g].calls <= 1 && PROGRAM.graphs[g].members === 1);
      if (!(box.kind === "frame" || once)) continue;
      const children = childrenOf(box);
      if (count + children.length > budget) continue;
      count += children.length;
      keys.add(box.key);
      queue.push(...children);
    }
    return keys;
  }

  function render(keep) {
    const before = keep && shown?.nodes.get(keep), anchor = before && { x: before.x * move.view.scale + move.view.x, y: before.y * move.view.scale + move.view.y };
    shown = drawn(picture(root, open), open);
    view.replaceChildren(shown.svg);
    move.show(shown.root);
    const after = keep && shown.nodes.get(keep);
    if (anchor && after) {  // the box that was clicked stays where it was
      move.view.x = anchor.x - after.x * move.view.scale;
      move.view.y = anchor.y - after.y * move.view.scale;
      move.show(shown.root);
    }
    mark();
  }

  function mark() {
    for (const [key, { node }] of shown.nodes) {
      const rect = node.querySelector(":scope > rect:last-of-type");
      const on = chosen && key === chosen.key;
      rect.style.stroke = on ? "var(--accent)" : "";
      rect.style.strokeWidth = on ? "2.5" : "";
    }
  }

  const find = (key) => shown.nodes.get(key)?.part.box;
  // A page that shows this one in a frame receives the op chosen here. It does not receive an op that it requested itself,
  // since it may have requested another op meanwhile.
  let asked = false;
  function choose(box) {
    chosen = box;
    mark();
    details(box);
    if (parent !== window && box.op && !asked) parent.postMessage({ op: box.op.id }, "*");
  }
  function press(key) {
    const box = find(key);
    if (!box) return;
    if (opens(box)) {
      open.has(key) ? open.delete(key) : open.add(key);
      render(key);
    }
    choose(find(key) || box);
  }
  view.addEventListener("click", (event) => {
    const node = event.target.closest?.(".node");
    if (node && !move.dragged()) press(node.dataset.key);
  });
  view.addEventListener("keydown", (event) => {
    const node = document.activeElement.closest?.(".node");
    if (node && (event.key === "Enter" || event.key === " ")) { press(node.dataset.key); event.preventDefault(); shown.nodes.get(node.dataset.key)?.node.focus(); }
    if (event.key === "0") move.whole(shown.width, shown.height);
  });

  // ---- the chosen box

  function rows(list, kind) { return el("table", { class: kind }, el("tbody", {}, list.map(([name, text]) => el("tr", {}, el("td", { class: "hint" }, name), el("td", {}, text))))); }
  function sourceOf(op) {
    const file = GRAPHS.sources[op.file];
    return file ? excerpt(file.name, file.text, op.line) : [];
  }
  // Shows how the tile model runs an op, in pages with estimates.
  function planOf(op) {
    const plan = op.plan;
    if (!plan) return [];
    const number = (n) => n.toLocaleString("en-US"), phases = ["compute", "exchange", "sync", "host"].filter((phase) => plan[phase]);
    return [el("h3", {}, `Plan on ${PROGRAM.machine}`), rows([
      ["plan", plan.text || "none to choose"],
      ["cycles", number(plan.cycles) + (plan.runs === 1 ? "" : `, ${number(plan.runs)} runs`)],
      ...phases.map((phase) => [phase, number(plan[phase])]),
      ["tiles", number(plan.tiles)], ["temporary", `${number(plan.bytes)} bytes on a tile`]], "plan")];
  }
  function tensorRows(graph, list) { return list.filter((t) => t >= 0).slice(0, 40).map((t) => [graph.tensors[t].name, graph.tensors[t].spec.replaceAll(", ", ",\u00a0")]); }
  // The values of weights: their range and a histogram.
  function weights(graph, list) {
    const known = [...new Set(list)].filter((t) => graph.tensors[t]?.weight).slice(0, 12);
    if (!known.length) return [];
    return [el("h3", {}, "Values"), ...known.map((t) => {
      const { name, spec, weight } = graph.tensors[t], most = Math.max(...weight.bins), n = weight.bins.length;
      const bars = weight.bins.map((count, i) => shape("rect", { x: i * 10, y: 40 - 40 * count / most, width: 9, height: 40 * count / most, fill: "var(--accent)" }));
      return el("div", { class: "weight" }, el("div", {}, el("b", {}, name), ` ${spec}`),
        shape("svg", { viewBox: `0 0 ${10 * n} 41`, role: "img", "aria-label": `histogram of ${name}` }, ...bars), el("div", { class: "hint" }, weight.text));
    })];
  }
  function details(box) {
    const b = inner(box), op = b.op, parts = [el("h2", {}, titleOf(box)), el("div", { class: "hint" }, noteOf(box))];
    if (box.kind === "port") parts.push(rows(tensorRows(box.graph, box.tensors)));
    if (op && PROGRAM.modules) {
      if (op.in.length) parts.push(el("h3", {}, "Params"), rows(tensorRows(b.graph, op.in.filter((t) => b.graph.tensors[t].kind === "param"))));
      if (op.out.length) parts.push(el("h3", {}, "Modules"), rows(op.out.map((t) => [b.graph.tensors[t].name, b.graph.users.get(t)[0].name])));
      if (op.attributes) parts.push(el("h3", {}, "Build"), rows(op.attributes));
      parts.push(...sourceOf(op));
    } else if (op) {
      parts.push(el("div", { class: "hint" }, `${op.name}.${op.id}` + (pathOfOp(b) ? ` in ${pathOfOp(b)}` : "")));
      if (op.in.some((t) => t >= 0)) parts.push(el("h3", {}, "Inputs"), rows(tensorRows(b.graph, op.in)));
      if (op.out.length) parts.push(el("h3", {}, "Outputs"), rows(tensorRows(b.graph, op.out)));
      parts.push(...weights(b.graph, op.in));
      if (op.attributes) parts.push(el("h3", {}, "Attributes"), rows(op.attributes));
      parts.push(...planOf(op), ...sourceOf(op));
    } else if (box.ops.length) {
      const names = new Map();
      const list = b.kind === "call" ? calledOf(b).ops : b.ops;
      for (const o of list) names.set(o.name, (names.get(o.name) || 0) + 1);
      parts.push(el("h3", {}, "Ops"), rows([...names].sort((x, y) => y[1] - x[1]).map(([name, n]) => [name, String(n)])), ...sourceOf(list[0] || {}));
    }
    panel.replaceChildren(...parts);
  }

  // ---- search, over all graphs, even in folded ones

  function* everything(list, trail) {
    for (const box of list) {
      yield [box, trail];
      if (opens(box)) yield* everything(childrenOf(box), [...trail, box]);
    }
  }
  function matches(box, wanted) {
    const op = box.op;
    if (titleOf(box).toLowerCase().includes(wanted)) return true;
    return !!op && (`${op.name}.${op.id}`.toLowerCase().includes(wanted) || pathOfOp(box).toLowerCase().includes(wanted) || op.out.some((t) => box.graph.tensors[t].name.toLowerCase().includes(wanted)) ||
      op.in.some((t) => t >= 0 && box.graph.tensors[t].kind !== "result" && box.graph.tensors[t].name.toLowerCase().includes(wanted)));
  }
  function look(text) {
    const wanted = text.trim().toLowerCase();
    hits = [];
    hit = -1;
    if (wanted) for (const [box, trail] of everything(root.children, [])) if (matches(box, wanted)) hits.push([box, trail]);
    at("found").textContent = wanted ? (hits.length ? `${hits.length} found` : "nothing found") : "";
    if (hits.length) next(1);
  }
  function next(step) {
    if (!hits.length) return;
    hit = (hit + step + hits.length) % hits.length;
    if (reveal(...hits[hit])) at("found").textContent = `${hit + 1} of ${hits.length}`;
  }
  // Opens the boxes that enclose a box, and moves the box to the middle.
  function reveal(box, trail) {
    for (const outer of trail) open.add(outer.key);
    render();
    const place = shown.nodes.get(box.key);
    if (!place) return false;
    choose(box);
    move.centre(place.x + place.part.width / 2, place.y + Math.min(place.part.height, 80) / 2);
    return true;
  }
  at("find").addEventListener("input", function () { look(this.value); });
  at("find").addEventListener("keydown", (event) => { if (event.key === "Enter") next(event.shiftKey ? -1 : 1); });
  addEventListener("keydown", (event) => { if (event.key === "/" && document.activeElement !== at("find")) { at("find").focus(); event.preventDefault(); } });

  // ---- buttons

  at("fold").addEventListener("click", () => { open = new Set(); render(); move.fit(shown.width, shown.height); });
  at("unfold").addEventListener("click", () => {
    for (const [key, { part }] of [...shown.nodes]) if (opens(part.box) && !part.inside) open.add(key);
    render();
    move.fit(shown.width, shown.height);
  });
  at("fit").addEventListener("click", () => move.whole(shown.width, shown.height));

  // The shown boxes as a separate picture, in the page's colours.
  function pictureText() {
    const copy = shown.svg.cloneNode(true), margin = 12, colours = getComputedStyle(document.documentElement);
    copy.querySelector("g").setAttribute("transform", `translate(${margin},${margin})`);
    const width = Math.ceil(shown.width + 2 * margin), height = Math.ceil(shown.height + 2 * margin);
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) copy.setAttribute(name, value);
    copy.insertBefore(shape("rect", { width, height, fill: "var(--page)" }), copy.querySelector("g"));
    for (const node of copy.querySelectorAll("[tabindex]")) { node.removeAttribute("tabindex"); node.removeAttribute("role"); }
    const text = new XMLSerializer().serializeToString(copy).replace(/var\((--[\w-]+)\)/g, (_, name) => colours.getPropertyValue(name).trim());
    return { text, width, height };
  }
  function save(name, blob) {
    const link = el("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  window.pictureText = pictureText;
  at("svg").addEventListener("click", () => save(`${PROGRAM.name}.svg`, new Blob([pictureText().text], { type: "image/svg+xml" })));
  at("png").addEventListener("click", () => {
    const { text, width, height } = pictureText(), image = new Image();
    image.onload = () => {
      // Every browser supports canvases with 8192 pixels per side; larger ones may fail.
      const scale = Math.min(2, 8192 / width, 8192 / height);
      const canvas = el("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => { document.body.dataset.png = blob.size; save(`${PROGRAM.name}.png`, blob); });
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  });
  at("saved").addEventListener("click", () => {
    SHOW_SAVED = !SHOW_SAVED;
    at("saved").setAttribute("aria-pressed", String(SHOW_SAVED));
    render();
  });
  at("passes").addEventListener("click", () => showPasses(at("stages"), PROGRAM.passes));
  at("theme").addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  });

  function show(i) {
    PROGRAM = GRAPHS.programs[i];
    const graph = wired(PROGRAM.graphs[PROGRAM.main]), ops = PROGRAM.graphs.reduce((n, g) => n + g.ops.length * g.members, 0);
    root = { key: "main", kind: "root", graph, ops: graph.ops };
    root.children = boxes(graph, graph.ops, 0, "main");
    const graphs = PROGRAM.graphs.reduce((n, g) => n + g.members, 0);
    document.title = `${PROGRAM.name} · pxl graph`;
    at("title").textContent = PROGRAM.name;
    at("subtitle").textContent = PROGRAM.modules ? plural(ops, "module") : `${plural(ops, "op")} in ${plural(graphs, "graph")}` + (PROGRAM.graphs.length < graphs ? `, ${PROGRAM.graphs.length} of them different` : "");
    at("passes").hidden = PROGRAM.passes.length < 2;
    open = opened(innerWidth < 700 ? 14 : 28);
    const model = modelOf(root.children);
    if (model) open.add(model.key);
    at("saved").hidden = !PROGRAM.graphs.some((g) => gradientOf(g) || g.states.length);
    chosen = null;
    panel.replaceChildren(el("div", { class: "hint" }, "Click a box to open it, and an op for its tensors and its line of the program. Drag to move, wheel to zoom, / to search."));
    render();
    begin();
    unseen = !view.clientWidth;
  }
  // The call where the picture begins. A training program differentiates its graph, or the graph has the most ops.
  function modelOf(list) {
    const calls = list.filter((box) => box.kind === "call" && box.op.calls.length === 1), size = (box) => calledOf(box).ops.length;
    const trained = calls.filter((box) => gradientOf(calledOf(box)));
    const largest = (trained.length ? trained : calls).sort((a, b) => size(b) - size(a))[0];
    return largest && (trained.length || 2 * size(largest) > root.ops.length) ? largest : undefined;
  }
  function begin() {
    const model = modelOf(root.children), place = model && shown.nodes.get(model.key);
    if (!place) return move.fit(shown.width, shown.height);
    const { part, x, y } = place, inside = part.inside;
    const first = inside?.parts.reduce((a, b) => (b.y < a.y ? b : a));
    move.fit(part.width, part.height, x, y, first && x + (part.width - inside.width) / 2 + first.x + first.width / 2);
  }
  // A frame that is hidden at first, such as a notebook's, has no size to fit.
  let unseen = false;
  new ResizeObserver(() => { if (unseen && view.clientWidth) { unseen = false; begin(); } }).observe(view);
  const programs = at("program");
  programs.hidden = GRAPHS.programs.length < 2;
  programs.append(...GRAPHS.programs.map((p, i) => el("option", { value: i }, `${i + 1}. ${p.name}`)));
  programs.addEventListener("change", () => show(+programs.value));
  show(0);
  // A page that shows this one in a frame names the program and the op to show.
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || parent === window || !data) return;
    if (GRAPHS.programs[data.program] && GRAPHS.programs[data.program] !== PROGRAM) { programs.value = data.program; show(data.program); }
    if (chosen?.op?.id === data.op) return;
    for (const [box, trail] of everything(root.children, [])) if (box.op?.id === data.op) {
      asked = true;
      reveal(box, trail);
      asked = false;
      break;
    }
  });
  if (parent !== window) parent.postMessage({ ready: true }, "*");
})();
