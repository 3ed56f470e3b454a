// A graph's boxes. Modules are frames, equal neighbours are one box with a count, calls are boxes that open their graph.
// A box: {key, kind, title, note, ops, children, ...}; kind is op, frame, call, group or port.
const isScalar = (graph, op) => !op.calls && !op.stream && !op.modifies && op.out.length > 0 && op.out.every((t) => graph.tensors[t].scalar) &&
  op.in.every((t) => t < 0 || graph.tensors[t].scalar);

// Finds the users and the maker of each tensor in a graph.
function wired(graph) {
  if (graph.maker) return graph;
  graph.maker = new Map();
  graph.users = new Map();
  for (const op of graph.ops) {
    op.graph = graph;
    for (const t of op.out) graph.maker.set(t, op);
    for (const t of new Set(op.in)) if (t >= 0) graph.users.set(t, [...(graph.users.get(t) || []), op]);
  }
  graph.declared = new Set(graph.outputs);
  // The memory that a transfer from the host fills belongs to the transfer.
  graph.hidden = new Set(graph.ops.filter((op) => op.name === "Init" && op.out.every((t) => (graph.users.get(t) || []).every((user) => user.stream))));
  return graph;
}

// A text that is equal for equal sets of ops: names, attributes, operands by position, specs. Paths count from `depth` on.
function structure(graph, ops, depth) {
  const number = new Map(), at = (t) => {
    if (t < 0) return "-";
    const fresh = !number.has(t);
    if (fresh) number.set(t, number.size);
    const tensor = graph.tensors[t];
    return number.get(t) + (fresh ? `:${tensor.spec}:${tensor.value ?? ""}` : "");
  };
  return ops.map((op) => [op.name, op.scope.slice(depth).join("/"), (op.calls || []).join(), JSON.stringify(op.attributes || []),
    op.in.map(at).join(), op.out.map(at).join()].join(" ")).join("\n");
}

const numbered = (name) => /^(.*)\.(\d+)$/.exec(name);
const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

// "blocks.0 to 23" for names with running numbers.
function rangeTitle(names) {
  const parts = names.map(numbered);
  if (parts.some((p) => !p || p[1] !== parts[0][1])) return names[0];
  const numbers = parts.map((p) => +p[2]);
  return `${parts[0][1]}.${Math.min(...numbers)} to ${Math.max(...numbers)}`;
}

// The module of the caller whose params a call passes: "blocks.2".
function moduleOf(graph, op) {
  if (!op?.calls || op.calls.length !== 1) return "";
  const called = PROGRAM.graphs[op.calls[0]], found = new Set();
  called.inputs.forEach((t, i) => {
    const own = called.tensors[t], given = graph.tensors[op.in[i]];
    if (own.kind === "param" && given?.name.endsWith("." + own.name)) found.add(given.name.slice(0, -own.name.length - 1));
  });
  return found.size === 1 ? [...found][0] : "";
}
const dotted = (...parts) => parts.filter(Boolean).join(".");
// The module path of an op, from the program on.
const pathOfOp = (box) => dotted(box.prefix, ...box.op.scope);

// The boxes for the ops in a frame, at a depth of the module path. `prefix`: the module of the calls around it.
function boxes(graph, ops, depth, key, prefix = "") {
  const frames = new Map(), list = [];
  for (const op of ops) {
    if (graph.hidden.has(op)) continue;
    if (op.scope.length <= depth) {
      list.push({ key: `${key}/${op.id}`, kind: op.calls ? "call" : "op", graph, op, ops: [op], prefix });
      continue;
    }
    const name = op.scope[depth];
    let frame = frames.get(name);
    if (!frame) {
      frame = { key: `${key}/${name}`, kind: "frame", graph, title: name, depth: depth + 1, ops: [], prefix };
      frames.set(name, frame);
      list.push(frame);
    }
    frame.ops.push(op);
  }
  return grouped(graph, list, key);
}

// A box for boxes that belong together. When open, it shows the first of equal boxes, or all different boxes.
function group(key, graph, title, members, equal) {
  return { key, kind: "group", graph, title, equal, members, ops: members.flatMap((m) => m.ops), count: members.length };
}

function grouped(graph, list, key) {
  const out = [], by = new Map();
  const put = (name, box) => {
    if (!by.has(name)) { by.set(name, []); out.push(name); }
    by.get(name).push(box);
  };
  const scalars = scalarParts(graph, list), alike = alikeOps(graph, list, scalars);
  for (const box of list) {
    const op = box.op;
    if (box.kind === "frame") put("frame:" + (numbered(box.title)?.[1] ?? box.title) + ":" + structure(graph, box.ops, box.depth), box);
    else if (box.kind === "call") put("call:" + op.calls.join() + ":" + op.name, box);
    else if (scalars.has(box)) put("scalars:" + scalars.get(box), box);
    else if (op.modifies) put("update:" + op.name, box);
    else if (alike.has(box)) put("alike:" + alike.get(box), box);
    else put("op:" + op.id, box);
  }
  const found = out.map((name) => {
    const members = by.get(name), first = members[0];
    if (members.length === 1 || (name.startsWith("update:") && members.length < 3)) return { boxes: members };
    const id = `${key}/${name.slice(0, name.indexOf(":"))}.${first.key.slice(key.length + 1)}`;
    if (name.startsWith("frame:")) return { boxes: [group(id, graph, rangeTitle(members.map((m) => m.title)), members, true)] };
    if (name.startsWith("call:")) return { boxes: [group(id, graph, calledOf(first).title, members, true)] };
    if (name.startsWith("scalars:")) return { boxes: [group(id, graph, "scalar arithmetic", members, false)] };
    return { boxes: [group(id, graph, first.op.name, members, false)] };
  }).flatMap((f) => f.boxes);
  return optimisers(graph, found, key);
}

// Calls of several graphs with one title are one box, such as an optimiser's calls for params with different shapes.
function optimisers(graph, list, key) {
  const titles = new Map();
  for (const box of list) {
    const first = box.kind === "group" ? box.members[0] : box;
    if (first.kind === "call" && first.op.calls.length === 1 && !calledOf(first).outputs.length) {
      const title = calledOf(first).title;
      titles.set(title, [...(titles.get(title) || []), box]);
    }
  }
  const out = [];
  for (const box of list) {
    const first = box.kind === "group" ? box.members[0] : box;
    const same = first.kind === "call" ? titles.get(calledOf(first).title) : null;
    if (!same || same.length < 2 || !same.includes(box)) out.push(box);
    else if (same[0] === box) {
      const all = group(`${key}/all.${calledOf(first).title}`, graph, calledOf(first).title, same, false);
      all.count = all.ops.length;
      out.push(all);
    }
  }
  return out;
}

// Ops of one name and line, none of which needs the result of another: what clipping, averages and optimisers do to each
// variable of a tree. Box -> name of its group.
function alikeOps(graph, list, scalars) {
  const least = 3, by = new Map(), found = new Map();
  for (const box of list) {
    if (box.kind !== "op" || scalars.has(box) || box.op.stream || box.op.modifies || box.op.file === undefined) continue;
    const name = `${box.op.name}:${box.op.file}:${box.op.line}`;
    by.set(name, [...(by.get(name) || []), box]);
  }
  for (const [name, boxes] of by)
    if (boxes.length >= least && independent(graph, boxes.map((box) => box.op))) for (const box of boxes) found.set(box, name);
  return found;
}

function independent(graph, ops) {
  const members = new Set(ops), seen = new Set(), queue = [...ops];
  while (queue.length)
    for (const t of queue.pop().out)
      for (const user of graph.users.get(t) || []) {
        if (members.has(user)) return false;
        if (!seen.has(user)) { seen.add(user); queue.push(user); }
      }
  return true;
}

// Connected parts with two or more ops that compute scalars from scalars: box -> number of its part.
function scalarParts(graph, list) {
  const part = new Map(), scalar = new Map();
  for (const box of list) if (box.kind === "op" && isScalar(graph, box.op)) scalar.set(box.op, box);
  const root = (box) => { while (part.get(box) !== box) box = part.get(box); return box; };
  for (const box of scalar.values()) part.set(box, box);
  for (const [op, box] of scalar)
    for (const t of op.in) {
      const maker = scalar.get(graph.maker.get(t));
      if (maker) part.set(root(maker), root(box));
    }
  const size = new Map();
  for (const box of part.keys()) size.set(root(box), (size.get(root(box)) || 0) + 1);
  const found = new Map();
  for (const box of part.keys()) if (size.get(root(box)) > 1) found.set(box, root(box).key);
  return found;
}

let PROGRAM, SHOW_SAVED = false;
const gradientOf = (graph) => PROGRAM.graphs.find((g) => g.id === graph.id + "_bwd");
// The results of a call that only the gradient of its graph reads, saved activations, and the next values of states.
function savedBy(graph, op) {
  if (SHOW_SAVED || !op.calls || op.calls.length !== 1) return [];
  const states = PROGRAM.graphs[op.calls[0]].states.map((i) => op.out[i]);
  return [...activationsOf(graph, op), ...states];
}
function activationsOf(graph, op) {
  const gradient = gradientOf(PROGRAM.graphs[op.calls[0]]);  // called by the program, or by the gradient of a loss
  const reads = (user) => (user.calls || []).some((g) => /_bwd(_\d+)?$/.test(PROGRAM.graphs[g].id));
  return gradient ? op.out.filter((t) => (graph.users.get(t) || []).length && graph.users.get(t).every(reads)) : [];
}
const calledOf = (box, which = 0) => wired(PROGRAM.graphs[box.op.calls[which]]);

// The content of an open box.
function childrenOf(box) {
  if (box.children) return box.children;
  if (box.kind === "frame") box.children = boxes(box.graph, box.ops, box.depth, box.key, box.prefix);
  else if (box.kind === "group" && box.equal) box.children = childrenOf(box.members[0]);
  else if (box.kind === "group") box.children = box.members;
  else if (box.kind === "call") {
    const parts = box.op.calls.map((_, i) => calledOf(box, i));
    const prefix = dotted(box.prefix, moduleOf(box.graph, box.op));
    box.children = parts.length === 1 ? boxes(parts[0], parts[0].ops, 0, box.key, prefix)
      : parts.map((g, i) => ({ key: `${box.key}/${i}`, kind: "frame", graph: g, title: g.title, depth: 0, ops: g.ops, whole: true, prefix }));
  }
  return box.children || [];
}
const inner = (box) => (box.kind === "group" && box.equal ? inner(box.members[0]) : box);
const opens = (box) => box.kind !== "op" && box.kind !== "port";
// The graph to which the ops in a box's children belong.
const graphInside = (box) => { const b = inner(box); return b.kind === "call" ? calledOf(b) : b.graph; };

function titleOf(box) {
  if (box.kind === "op") return box.op.stream ? `${box.op.name} ${box.op.stream}` : box.op.name;
  if (box.kind === "call") return box.op.name === "Call" ? calledOf(box).title : `${box.op.name} ${calledOf(box).title}`;
  if (box.kind === "group" && inner(box).kind === "call" && box.equal) return titleOf(inner(box));
  return box.title;
}

function noteOf(box) {
  if (box.kind === "op") return "";
  if (box.kind === "port") return box.note;
  const n = (b) => (inner(b).kind === "call" ? calledOf(inner(b)).ops.length : inner(b).ops.length);
  if (box.kind === "group" && box.equal) {
    const modules = box.members.map((m) => moduleOf(m.graph, m.op)).filter(Boolean);
    return `${modules.length === box.count ? rangeTitle(modules) + ", " : ""}× ${box.count}, ${plural(n(box), "op")} each`;
  }
  if (box.kind === "group") {
    const calls = box.ops.some((op) => op.calls);
    return calls ? `${plural(box.ops.length, "call")}, ${plural(box.members.length, "shape")}` : plural(box.ops.length, "op");
  }
  const module = box.kind === "call" ? moduleOf(box.graph, box.op) : "";
  return (module ? module + ", " : "") + plural(n(box), "op");
}

// The lines below an op's name: its params, variables and constants.
function linesOf(box) {
  if (box.kind !== "op") return [];
  const lines = [], seen = new Set();
  for (const t of box.op.in) {
    const tensor = box.graph.tensors[t];
    if (!tensor || seen.has(t) || !["param", "variable", "constant"].includes(tensor.kind)) continue;
    seen.add(t);
    const name = tensor.name.split(/[./]/).pop();
    lines.push(tensor.kind === "constant" ? `constant ${tensor.value ?? tensor.spec}` : `${name} ${tensor.spec}`);
  }
  return lines.length > 4 ? [...lines.slice(0, 3), `${lines.length - 3} more`] : lines;
}

// The boxes at one level, the edges between them, and ports where single ops have operands or users outside.
function level(parent, list, graph) {
  const boxOf = new Map(), edges = new Map(), ports = new Map();
  for (const box of list) for (const op of box.ops) boxOf.set(op, box);
  const hidden = new Set(list.flatMap((box) => box.ops.flatMap((op) => (op.graph === graph ? savedBy(graph, op) : []))));
  const link = (from, to, t) => {
    if (from === to || hidden.has(t)) return;
    const id = from.key + "\n" + to.key;
    if (!edges.has(id)) edges.set(id, { from, to, tensors: new Set() });
    edges.get(id).tensors.add(t);
  };
  const wholeGraph = parent.kind === "root" || inner(parent).kind === "call" || inner(parent).whole;
  const port = (t, out) => {
    const id = (out ? "out" : "in") + t;
    if (!ports.has(id)) ports.set(id, { key: `${parent.key}/${id}`, kind: "port", out, tensors: [t], graph, ops: [], title: graph.tensors[t].name.split("/").pop().replace(/^Gradient___/, "gradient of "), note: graph.tensors[t].spec, links: [] });
    return ports.get(id);
  };
  // What the caller of this graph saves for the gradient.
  const caller = inner(parent).kind === "call" && inner(parent), saved = new Set(caller ? savedBy(caller.graph, caller.op).map((t) => graph.outputs[caller.op.out.indexOf(t)]) : []);
  const declared = (t) => graph.declared.has(t) && (SHOW_SAVED || !graph.states.some((i) => graph.outputs[i] === t));
  const outside = (t) => wholeGraph ? declared(t) && !saved.has(t) : declared(t) || (graph.users.get(t) || []).some((op) => !boxOf.has(op));
  for (const box of list)
    for (const op of box.ops) {
      if (op.graph !== graph) continue;
      for (const t of op.in) {
        const maker = graph.maker.get(t);
        if (t < 0 || graph.hidden.has(maker)) continue;
        const from = maker && boxOf.get(maker);
        if (from) link(from, box, t);
        else if (box.kind === "op" && (maker || graph.tensors[t].kind === "input")) port(t, false).links.push(box);
        else if (wholeGraph && graph.tensors[t].kind === "input") port(t, false).links.push(box);
      }
      for (const t of op.out) if (outside(t) && (box.kind === "op" || wholeGraph)) port(t, true).links.push(box);
    }
  const many = 8, all = [];
  for (const out of [false, true]) {
    let side = [...ports.values()].filter((p) => p.out === out);
    if (side.length > many)
      side = [{ key: `${parent.key}/${out ? "outputs" : "inputs"}`, kind: "port", out, tensors: side.flatMap((p) => p.tensors), graph, ops: [],
        title: `${side.length} ${out ? "outputs" : "inputs"}`, note: "", links: side.flatMap((p) => p.links) }];
    for (const p of side) {
      all.push(p);
      for (const box of new Set(p.links))
        for (const t of p.tensors) if (box.ops.some((op) => (out ? op.out : op.in).includes(t))) out ? link(box, p, t) : link(p, box, t);
    }
  }
  return { boxes: [...all.filter((p) => !p.out), ...list, ...all.filter((p) => p.out)], edges: [...edges.values()] };
}
