// Shows the changes of each planner pass: the nodes before and after it, side by side.

// The lines for nodes in rows of two. Equal lines share a row; other lines have a row on their own side. Positions do not count.
function sideBySide(before, after) {
  const lines = (text) => text.split("\n").filter((line) => line).map((line) => ({ line, what: line.replace(/^\s*\d+: /, "") }));
  const left = lines(before), right = lines(after), rows = [];
  const last = new Map();
  for (let j = right.length; j-- > 0;) { last.set(right[j].what, [...(last.get(right[j].what) || []), j]); }
  let j = 0;
  for (const one of left) {
    const places = last.get(one.what) || [];
    while (places.length && places[places.length - 1] < j) places.pop();
    if (!places.length) { rows.push([one.line, null]); continue; }
    for (const to = places.pop(); j < to; ++j) rows.push([null, right[j].line]);
    rows.push([one.line, right[j++].line]);
  }
  for (; j < right.length; ++j) rows.push([null, right[j].line]);
  return rows;
}

function showPasses(dialog, stages) {
  const select = el("select", { "aria-label": "Pass" }), sides = el("div", { class: "sides" }), close = el("button", { type: "button" }, "Close");
  select.append(...stages.slice(1).map((s, i) => el("option", { value: i + 1 }, `${i + 1}. ${s.pass}`)));
  const fill = () => {
    const i = +select.value, rows = sideBySide(stages[i - 1].nodes, stages[i].nodes);
    sides.replaceChildren(...rows.flatMap(([a, b]) => [el("div", { class: a === null || b !== null ? "" : "gone" }, a ?? ""), el("div", { class: b === null || a !== null ? "" : "new" }, b ?? "")]));
    dialog.dataset.changed = rows.filter(([a, b]) => a === null || b === null).length;
  };
  select.addEventListener("change", fill);
  close.addEventListener("click", () => dialog.close());
  dialog.replaceChildren(el("header", {}, select, el("span", { class: "hint" }, "before the pass, and after it"), close), sides);
  fill();
  dialog.showModal();
}
