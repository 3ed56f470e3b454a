// The program's text with cycles or times, and bytes, beside its lines. open("net.pxl:12:7") shows a line.
function sourceSection(showOps) {
  const all = RUN.totals.cycles_with_host || 1, cost = RUN.measured ? fmt.seconds : fmt.whole, model = RUN.modelled;
  const beside = (name, i) => model.sources.find((s) => s.name === name)?.lines[i]?.cycles;
  const files = el("select", { "aria-label": "File", onchange() { show(RUN.sources[+this.value]); } }, RUN.sources.map((s, i) => el("option", { value: i }, s.name)));
  const node = section("source", "Source", (RUN.measured ? "Time in kernels and bytes moved, of all runs" : "Cycles of a run and bytes of results and temporaries") + "; a line includes what it calls. Click one for its ops",
    RUN.sources.length > 1 && files);
  const body = el("div", { class: "scroll" });
  const most = (listing) => listing.lines.reduce((a, l) => Math.max(a, l.cycles), RUN.measured ? 1e-12 : 1);
  function show(listing) {
    const limit = most(listing), last = listing.lines.reduce((a, l, i) => (l.ops.length ? i : a), 0);
    body.replaceChildren(el("table", { class: "listing" },
      el("thead", {}, el("tr", {}, [RUN.measured ? "Time" : "Cycles", "Share", "Bytes", ...(model ? [`Cycles on ${model.machine.name}`] : []), "Line"].map((t) => el("th", { class: "n" }, t)), el("th", {}, listing.name))),
      el("tbody", {}, listing.lines.slice(0, last + 1).map((line, i) => {
        const used = line.ops.length > 0, go = () => showOps(line.ops.map((o) => RUN.ops[o]), `${listing.name}:${i + 1}`);
        return el("tr", { class: used && "pick", tabindex: used ? 0 : undefined, onclick: used && go, title: used ? `${fmt.whole(line.ops.length)} ops` : undefined,
          onkeydown: used && ((event) => { if (event.key === "Enter") go(); }), id: `line-${listing.name}:${i + 1}` },
          el("td", { class: "n" }, used && cost(line.cycles)), el("td", { class: "n" }, used && fmt.percent(line.cycles / all)),
          el("td", { class: "n" }, used && fmt.bytes(line.bytes)), model && el("td", { class: "n" }, beside(listing.name, i) ? fmt.whole(beside(listing.name, i)) : ""), el("td", { class: "n number" }, String(i + 1)),
          el("td", { class: "mono text", style: used && `background:linear-gradient(to right, color-mix(in oklab, var(--compute) 22%, transparent) ${(100 * line.cycles / limit).toFixed(1)}%, transparent 0)` }, line.text || " "));
      }))));
  }
  if (RUN.sources.length) show(RUN.sources[0]);
  // A measured program begins at its first line with a cost.
  const costly = RUN.measured && RUN.sources[0]?.lines.findIndex((line) => line.ops.length);
  if (costly > 0) requestAnimationFrame(() => { const row = document.getElementById(`line-${RUN.sources[0].name}:${costly + 1}`); if (row) body.scrollTop = row.offsetTop - 60; });
  else body.append(el("p", { class: "hint" }, "The ops of this program have no places in a text."));
  node.append(body);
  // Marks a line, and shows it: `scrolls` brings it into view.
  function open(place, scrolls = true) {
    const [, name, line] = /^(.*?):(\d+)(?::\d+)?$/.exec(place) || [], i = RUN.sources.findIndex((s) => s.name === name);
    if (i < 0) return false;
    files.value = i;
    show(RUN.sources[i]);
    const row = document.getElementById(`line-${name}:${line}`);
    body.querySelectorAll(".on").forEach((r) => r.classList.remove("on"));
    if (!row) return false;
    row.classList.add("on");
    if (scrolls) row.scrollIntoView({ block: "center" });
    else body.scrollTop = row.offsetTop - body.clientHeight / 2;
    return true;
  }
  return { node, open, mark: (place) => open(place, false) };
}
