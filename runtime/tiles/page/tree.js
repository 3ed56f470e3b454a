// The program as a tree: outlined bodies stand once, with how often they are called.
function treeSection() {
  const node = section("program", "Program", "Outlined graphs stand once; cycles are of all their calls"), list = el("div", { class: "tree", role: "tree" });
  const total = RUN.tree.total_cycles || 1;
  list.append(el("div", { class: "node top" }, el("span", {}, "Part"), el("span", { class: "n" }, "Calls"), el("span", { class: "n" }, "Cycles"),
    el("span", { class: "n" }, "Code"), el("span", { class: "n" }, "Copies"), el("span", {}, "Share")));
  function add(part, depth, after) {
    const open = depth < 1 && part.children.length > 0;
    let shown = open, rows = [];
    const twist = el("button", { class: "twist", type: "button", "aria-label": "Open or close", onclick() { shown = !shown; twist.textContent = shown ? "▾" : "▸"; refresh(); } },
      part.children.length ? (open ? "▾" : "▸") : "");
    const line = el("div", { class: "node", role: "treeitem", "aria-level": depth + 1 },
      el("span", { style: `padding-left:${depth * 16}px`, title: part.name }, part.children.length ? twist : el("span", { style: "display:inline-block;width:18px" }), part.name),
      el("span", { class: "n" }, part.calls > 1 ? `× ${fmt.whole(part.calls)}` : ""), el("span", { class: "n" }, fmt.cycles(part.total_cycles)),
      el("span", { class: "n" }, part.code_bytes ? fmt.bytes(part.code_bytes) : ""), el("span", { class: "n" }, part.copy_bytes ? fmt.bytes(part.copy_bytes) : ""),
      el("div", { class: "bar", title: fmt.percent(part.total_cycles / total) }, el("div", { style: `width:${100 * part.total_cycles / total}%` })));
    const self = { line, hide(hidden) { line.hidden = hidden; line.style.display = hidden ? "none" : ""; rows.forEach((r) => r.hide(hidden || !shown)); } };
    function refresh() {
      if (shown && !rows.length) { let last = line; rows = part.children.map((child) => { const row = add(child, depth + 1, last); last = row.last(); return row; }); }
      rows.forEach((r) => r.hide(!shown));
    }
    self.last = () => (rows.length ? rows[rows.length - 1].last() : line);
    if (after) after.after(line); else list.append(line);
    refresh();
    return self;
  }
  add(RUN.tree, 0, null);
  node.append(list);
  return node;
}
