// Places boxes. Each open frame is laid out separately (dagre), and is then one box in the enclosing level.
const LINE = 15, PAD = 12, HEAD = 26;
const measure = (() => {
  const context = document.createElement("canvas").getContext("2d"), known = new Map();
  return (text, size = 12, weight = 400) => {
    const id = size + "/" + weight + text;
    if (!known.has(id)) {
      context.font = `${weight} ${size}px system-ui, "DejaVu Sans", sans-serif`;
      known.set(id, context.measureText(text).width);
    }
    return known.get(id);
  };
})();
const cutTo = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

const edgeLabel = (edge, graph) => {
  const list = [...edge.tensors];
  return list.length === 1 ? graph.tensors[list[0]].spec : `${list.length} tensors`;
};

// Width, height and content of a box. `open` has the keys of open boxes.
function sized(box, open) {
  const title = cutTo(titleOf(box), 40), note = noteOf(box), lines = linesOf(box).map((l) => cutTo(l, 36));
  const label = { title, note, lines };
  if (open.has(box.key) && opens(box)) {
    const graph = graphInside(box), children = childrenOf(box);
    const inside = box.kind === "group" && !box.equal && inner(children[0] || box).kind === "call"
      ? arranged(box, { boxes: children, edges: [] }, graph, open)
      : arranged(box, level(box, children, graph), graph, open);
    const head = measure("▾ " + title, 12.5, 650) + measure(note, 11.5) + 34;
    return { box, label, inside, width: Math.max(inside.width + 2 * PAD, head), height: inside.height + HEAD + PAD };
  }
  const mark = opens(box) ? 16 : 0;
  const width = Math.max(measure(title, 12, 600) + mark, measure(note, 11), ...lines.map((l) => measure(l, 11)), 34) + 20;
  return { box, label, width, height: 12 + LINE * (1 + (note ? 1 : 0) + lines.length) };
}

// Boxes side by side that would make the picture wider than this get rows of their own.
const WIDEST = 1400;
// Puts neighbours of such boxes into different rows, by longer edges, for a second layout; their edges lose their labels,
// which need more room than the boxes. Returns whether there are any.
function wrapped(g) {
  const ranks = new Map();
  for (const key of g.nodes()) {
    const y = Math.round(g.node(key).y);
    ranks.set(y, [...(ranks.get(y) || []), key]);
  }
  let found = false;
  for (const keys of ranks.values()) {
    const width = keys.reduce((sum, key) => sum + g.node(key).width + 18, 0), rows = Math.ceil(width / WIDEST);
    if (rows < 2 || keys.length < 2 * rows) continue;
    keys.sort((a, b) => g.node(a).x - g.node(b).x);
    keys.forEach((key, i) => {
      const ends = g.inEdges(key).length ? g.inEdges(key) : g.outEdges(key);
      // The weight keeps a box in its row: its edges on the other side may be long.
      for (const e of ends) Object.assign(g.edge(e), { minlen: 1 + (i % rows), weight: 4 });
      for (const e of g.nodeEdges(key)) Object.assign(g.edge(e), { text: "", width: 0, height: 0 });
    });
    found = true;
  }
  return found;
}

function arranged(parent, { boxes: list, edges }, graph, open) {
  const g = new dagre.graphlib.Graph({ multigraph: true });
  const parts = new Map(list.map((box) => [box.key, sized(box, open)]));
  // Boxes without edges, such as updates, are placed in rows instead of one long line.
  const tied = new Set(edges.flatMap((e) => [e.from.key, e.to.key]));
  const loose = list.filter((box) => !tied.has(box.key));
  g.setGraph({ rankdir: "TB", nodesep: 18, edgesep: 10, ranksep: 30, marginx: 0, marginy: 0 });
  g.setDefaultEdgeLabel(() => ({}));
  for (const box of list) {
    const p = parts.get(box.key);
    if (tied.has(box.key)) g.setNode(box.key, { width: p.width, height: p.height });
  }
  for (const e of edges) {
    const text = edgeLabel(e, graph);
    g.setEdge(e.from.key, e.to.key, { text, width: measure(text, 10.5) + 8, height: 13, labelpos: "c", edge: e });
  }
  let width = 0, height = 0;
  if (tied.size) {
    dagre.layout(g);
    if (wrapped(g)) dagre.layout(g);
    for (const key of g.nodes()) {
      const n = g.node(key), p = parts.get(key);
      p.x = n.x - n.width / 2;
      p.y = n.y - n.height / 2;
    }
    width = g.graph().width;
    height = g.graph().height;
  }
  const lines = g.edges().map((id) => ({ points: g.edge(id).points, text: g.edge(id).text, x: g.edge(id).x, y: g.edge(id).y, edge: g.edge(id).edge }));
  if (loose.length) {
    const area = loose.reduce((a, box) => a + (parts.get(box.key).width + 18) * (parts.get(box.key).height + 14), 0);
    const most = Math.max(width, Math.sqrt(area * 1.6), ...loose.map((box) => parts.get(box.key).width));
    let x = 0, y = height ? height + 24 : 0, row = 0;
    for (const box of loose) {
      const p = parts.get(box.key);
      if (x && x + p.width > most) { x = 0; y += row + 14; row = 0; }
      p.x = x;
      p.y = y;
      x += p.width + 18;
      row = Math.max(row, p.height);
      width = Math.max(width, x - 18);
    }
    height = y + row;
  }
  return { parts: [...parts.values()], lines, width, height };
}

// The picture of a program: its main graph's boxes.
function picture(root, open) {
  return arranged(root, level(root, root.children, root.graph), root.graph, open);
}
