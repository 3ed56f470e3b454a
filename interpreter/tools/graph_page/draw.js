// Draws the picture as SVG, and moves it by drag, wheel, two fingers and keys.
const SVG = "http://www.w3.org/2000/svg";
function shape(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined && value !== false) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const FILLS = { op: ["--op", "--frame-line"], frame: ["--frame", "--frame-line"], call: ["--call", "--call-line"], group: ["--frame", "--frame-line"],
  stream: ["--stream", "--stream-line"], update: ["--update", "--update-line"], port: ["--port", "--line"] };
function fillsOf(box) {
  const b = inner(box), op = b.op;
  if (b.kind === "call") return FILLS.call;
  if (box.kind === "group" && !box.equal && inner(box.members[0]).kind === "call") return FILLS.call;
  if (op?.stream) return FILLS.stream;
  if (op?.modifies || (box.kind === "group" && box.ops[0].modifies)) return FILLS.update;
  return FILLS[box.kind === "group" ? (box.equal ? "frame" : "op") : b.kind];
}

// A rounded path through an edge's points.
function pathOf(points) {
  let d = `M${points[0].x},${points[0].y}`;
  for (let i = 1; i < points.length - 1; ++i) {
    const mid = { x: (points[i].x + points[i + 1].x) / 2, y: (points[i].y + points[i + 1].y) / 2 };
    d += ` Q${points[i].x},${points[i].y} ${mid.x},${mid.y}`;
  }
  const last = points[points.length - 1];
  return d + ` L${last.x},${last.y}`;
}

function textLine(text, x, y, size, colour, weight, anchor) {
  return shape("text", { x, y, "font-size": size, fill: `var(${colour})`, "font-weight": weight, "text-anchor": anchor }, text);
}

// Draws a level at a position. `nodes` receives each box's element and position by key.
function drawLevel(into, at, x, y, nodes, open) {
  const edges = shape("g", {}), labels = shape("g", {});
  into.append(edges);
  for (const part of at.parts) drawPart(into, part, x + part.x, y + part.y, nodes, open);
  for (const line of at.lines) {
    const points = line.points.map((p) => ({ x: p.x + x, y: p.y + y }));
    edges.append(shape("path", { d: pathOf(points), fill: "none", stroke: "var(--edge)", "stroke-width": 1.1, "marker-end": "url(#arrow)" }));
    if (!line.text) continue;
    const width = measure(line.text, 10.5) + 6;
    labels.append(shape("rect", { x: line.x + x - width / 2, y: line.y + y - 7, width, height: 14, rx: 3, fill: "var(--page)", opacity: .85 }),
      textLine(line.text, line.x + x, line.y + y + 3.5, 10.5, "--soft", 400, "middle"));
  }
  into.append(labels);
}

function drawPart(into, part, x, y, nodes, open) {
  const { box, label, inside, width, height } = part, [fill, stroke] = fillsOf(box), folds = opens(box);
  const node = shape("g", { class: "node", "data-key": box.key, tabindex: 0, role: folds ? "button" : "img",
    "aria-label": `${label.title} ${label.note}`, "aria-expanded": folds ? String(!!inside) : undefined });
  nodes.set(box.key, { node, part, x, y });
  if (box.count > 1 && !inside)
    for (const d of [6, 3]) node.append(shape("rect", { x: x + d, y: y + d, width, height, rx: 6, fill: `var(${fill})`, stroke: `var(${stroke})` }));
  node.append(shape("rect", { x, y, width, height, rx: box.kind === "port" ? height / 2 : 6, fill: `var(${fill})`, stroke: `var(${stroke})`, "stroke-width": inside ? 1 : 1.2 }));
  into.append(node);
  if (inside) {
    node.append(textLine("▾ " + label.title, x + PAD, y + 17, 12.5, "--ink", 650), textLine(label.note, x + PAD + measure("▾ " + label.title, 12.5, 650) + 8, y + 17, 11.5, "--soft", 400));
    return drawLevel(into, inside, x + (width - inside.width) / 2, y + HEAD, nodes, open);
  }
  let line = y + 18;
  const centre = x + width / 2;
  node.append(textLine((folds ? "▸ " : "") + label.title, centre, line, 12, "--ink", 600, "middle"));
  if (label.note) node.append(textLine(label.note, centre, line += LINE, 11, "--soft", 400, "middle"));
  for (const text of label.lines) node.append(textLine(text, centre, line += LINE, 11, "--soft", 400, "middle"));
}

function drawn(at, open) {
  const nodes = new Map(), root = shape("g", {});
  drawLevel(root, at, 0, 0, nodes, open);
  const svg = shape("svg", { xmlns: SVG, "font-family": "system-ui, 'DejaVu Sans', sans-serif" },
    shape("defs", {}, shape("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" },
      shape("path", { d: "M0,0 L8,4 L0,8 z", fill: "var(--edge)" }))), root);
  return { svg, root, nodes, width: at.width, height: at.height };
}

// Position and scale of the picture in its window.
function mover(window_) {
  const view = { x: 0, y: 0, scale: 1 }, fingers = new Map();
  let root = null, moved = 0;
  const apply = () => root?.setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.scale})`);
  const zoom = (factor, px, py) => {
    const scale = Math.min(4, Math.max(.02, view.scale * factor)), f = scale / view.scale;
    view.x = px - (px - view.x) * f;
    view.y = py - (py - view.y) * f;
    view.scale = scale;
    apply();
  };
  const middle = () => { const b = window_.getBoundingClientRect(); return [b.width / 2, b.height / 2]; };
  window_.addEventListener("wheel", (event) => {
    event.preventDefault();
    const b = window_.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? .05 : .0015)), event.clientX - b.left, event.clientY - b.top);
  }, { passive: false });
  window_.addEventListener("pointerdown", (event) => { fingers.set(event.pointerId, [event.clientX, event.clientY]); moved = 0; });
  addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const b = window_.getBoundingClientRect(), now = [event.clientX, event.clientY];
    moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1], far = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      zoom(far(now) / Math.max(1, far(before)), (now[0] + other[0]) / 2 - b.left, (now[1] + other[1]) / 2 - b.top);
    } else if (moved > 4) {
      window_.classList.add("moving");
      view.x += now[0] - before[0];
      view.y += now[1] - before[1];
      apply();
    }
    fingers.set(event.pointerId, now);
  });
  for (const name of ["pointerup", "pointercancel"]) addEventListener(name, (event) => { fingers.delete(event.pointerId); window_.classList.remove("moving"); });
  window_.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (step) { view.x += step[0]; view.y += step[1]; apply(); event.preventDefault(); }
    if (event.key === "+" || event.key === "=") zoom(1.25, ...middle());
    if (event.key === "-") zoom(.8, ...middle());
  });
  return {
    view,
    dragged: () => moved > 4,
    show(node) { root = node; apply(); },
    // Shows a part of the picture, or its beginning where the letters would be too small to read. `focus` is then in the middle.
    fit(width, height, left = 0, top = 0, focus = undefined) {
      const b = window_.getBoundingClientRect(), margin = 24;
      view.scale = Math.min(1.2, (b.width - 2 * margin) / Math.max(width, 1), (b.height - 2 * margin) / Math.max(height, 1));
      view.scale = Math.max(view.scale, Math.min(.8, (b.width - 2 * margin) / Math.max(Math.min(width, 900), 1)));
      view.x = (width * view.scale < b.width ? (b.width - width * view.scale) / 2 : margin) - left * view.scale;
      view.y = (height * view.scale < b.height ? (b.height - height * view.scale) / 2 : margin) - top * view.scale;
      if (focus !== undefined && width * view.scale > b.width)
        view.x = Math.min(margin - left * view.scale, Math.max(b.width / 2 - focus * view.scale, b.width - margin - (left + width) * view.scale));
      apply();
    },
    whole(width, height) {
      const b = window_.getBoundingClientRect(), margin = 16;
      view.scale = Math.min(1.2, (b.width - 2 * margin) / Math.max(width, 1), (b.height - 2 * margin) / Math.max(height, 1));
      view.x = (b.width - width * view.scale) / 2;
      view.y = (b.height - height * view.scale) / 2;
      apply();
    },
    centre(x, y) {
      const [mx, my] = middle();
      view.scale = Math.max(view.scale, .8);
      view.x = mx - x * view.scale;
      view.y = my - y * view.scale;
      apply();
    },
  };
}
