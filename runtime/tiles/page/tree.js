// The program as a tree: outlined graphs below their calls, ops grouped by name scopes.
function graphParts(g, times) { return grouped(RUN.graphs[g].body, 0, times); }

// Merges neighbours with a common name prefix.
function grouped(body, depth, times) {
  const key = (n) => { const path = RUN.ops[n.op].scope.split("/"); return depth < path.length - 1 ? path[depth] : null; };
  const parts = [];
  for (let i = 0; i < body.length;) {
    const name = key(body[i]);
    let end = i + 1;
    if (name !== null) while (end < body.length && key(body[end]) === name) ++end;
    parts.push(name !== null && end - i > 1 ? groupPart(name, body.slice(i, end), depth + 1, times) : opPart(body[i], times));
    i = end;
  }
  return parts;
}

const codeOf = (n) => RUN.ops[n.op].code_bytes;
function cyclesOf(n) {
  const called = n.graphs.map((g) => RUN.graphs[g].cycles);
  return RUN.ops[n.op].cycles + (called.length ? n.repeats * Math.max(...called) : 0);
}

function groupPart(name, body, depth, times) {
  const sum = (f) => body.reduce((a, n) => a + f(n), 0);
  return { name, title: `${fmt.whole(body.length)} ops`, times, cycles: times * sum(cyclesOf), code: sum(codeOf), copies: 0, count: body.length, parts: () => grouped(body, depth, times) };
}

function opPart(n, times) {
  const o = RUN.ops[n.op], called = n.graphs.map((g) => RUN.graphs[g]);
  const last = o.scope.split("/").pop();
  return {
    name: called.length ? `${o.label} ${called.map((g) => g.name).join(" or ")}` : `${o.label} ${last}`, title: `${o.scope}${o.where && ", " + o.where}`, times: times * (called.length ? n.repeats : 1),
    cycles: times * cyclesOf(n), code: called.length ? called.reduce((a, g) => a + g.code_bytes, 0) : codeOf(n), copies: called.length ? o.steps.reduce((a, s) => a + s.bytes, 0) * times : 0,
    once: called.some((g) => g.calls > 1), count: called.length, op: o,
    parts: () => n.graphs.flatMap((g) => graphParts(g, times * n.repeats)),
  };
}

function treeSection() {
  const node = section("program", "Program", "Code of outlined graphs stands once, however often they are called"), list = el("div", { class: "tree", role: "tree" });
  const total = RUN.graphs[0].cycles || 1;
  list.append(el("div", { class: "node top" }, el("span", {}, "Part"), el("span", { class: "n" }, "Runs"), el("span", { class: "n" }, "Cycles"),
    el("span", { class: "n" }, "Code"), el("span", { class: "n" }, "Copies"), el("span", {}, "Share")));
  function add(part, depth, after) {
    const open = depth < 1 && part.count > 0;
    let shown = open, rows = [];
    const twist = el("button", { class: "twist", type: "button", "aria-label": "Open or close", onclick() { shown = !shown; twist.textContent = shown ? "▾" : "▸"; refresh(); } },
      part.count ? (open ? "▾" : "▸") : "");
    const line = el("div", { class: "node", role: "treeitem", "aria-level": depth + 1 },
      el("span", { style: `padding-left:${depth * 16}px`, title: part.title || part.name }, part.count ? twist : el("span", { style: "display:inline-block;width:18px" }),
        part.op ? el("button", { class: "link", type: "button", onclick() { openOp(part.op); } }, part.name) : part.name),
      el("span", { class: "n" }, part.times > 1 ? `× ${fmt.whole(part.times)}` : ""), el("span", { class: "n" }, fmt.cycles(part.cycles)),
      el("span", { class: "n" }, part.code ? fmt.bytes(part.code) + (part.once ? " once" : "") : ""), el("span", { class: "n" }, part.copies ? fmt.bytes(part.copies) : ""),
      el("div", { class: "bar", title: fmt.percent(part.cycles / total) }, el("div", { style: `width:${100 * part.cycles / total}%` })));
    const self = { line, hide(hidden) { line.hidden = hidden; line.style.display = hidden ? "none" : ""; rows.forEach((r) => r.hide(hidden || !shown)); } };
    function refresh() {
      if (shown && !rows.length) { let last = line; rows = part.parts().map((child) => { const row = add(child, depth + 1, last); last = row.last(); return row; }); }
      rows.forEach((r) => r.hide(!shown));
    }
    self.last = () => (rows.length ? rows[rows.length - 1].last() : line);
    if (after) after.after(line); else list.append(line);
    refresh();
    return self;
  }
  const main = RUN.graphs[0];
  add({ name: main.name, times: 1, cycles: main.cycles, code: main.code_bytes, copies: 0, count: main.body.length, parts: () => graphParts(0, 1) }, 0, null);
  node.append(list);
  return node;
}
