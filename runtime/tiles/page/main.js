// Assembles the sections, for one program at a time.
(function () {
  let ops, plans, source;
  const runs = [...MEASURED, ...DATA.runs];
  const chosen = (run) => (run.measured ? (o) => String(o.index) : (o) => String(o.id));
  const main = document.getElementById("main"), nav = document.getElementById("nav");
  function showMeasured(run) {
    RUN = preparedMeasured(run);
    OTHER = undefined;
    RUN.modelled = prepared(DATA.runs.find((r) => r.name === run.name));
    const m = run.script;
    document.getElementById("subtitle").textContent = `measured, ${fmt.whole(run.runs)} runs; ${m.source}`;
    const made = measuredSections(RUN.modelled);
    [ops, source] = [made.ops, made.source];
    return made.list;
  }
  function show(number) {
    charts = [];
    tip.hide();
    const run = runs[number], sections = run.measured ? showMeasured(run) : showModelled(number - MEASURED.length);
    document.title = `${RUN.name} · pxl profile`;
    document.getElementById("title").textContent = RUN.name;
    main.replaceChildren(...sections);
    nav.replaceChildren(...sections.map((s) => el("a", { href: "#" + s.id }, s.querySelector("h2").textContent)));
  }
  function showModelled(i) {
    RUN = prepared(DATA.runs[i]);
    OTHER = prepared(counterpart(i));
    document.getElementById("subtitle").textContent = `on ${RUN.machine.name}, ${fmt.whole(RUN.machine.tiles)} tiles of ${fmt.bytes(RUN.machine.bytes_per_tile)}` +
      (RUN.source ? `; ${RUN.source}` : "") + (OTHER ? `, against ${OTHER.source || OTHER.name}` : "");
    const live = livenessSection();
    [ops, plans] = opsSection((o) => graph && graph.show(o));
    const graph = graphSection(i, (o) => ops.pick(o));
    source = sourceSection((list, place) => { ops.only(list, place); ops.node.scrollIntoView({ behavior: "smooth" }); });
    return [summarySection(), ...(DATA.sweep ? [sweepSection()] : []), ...(OTHER ? [compareSection()] : []), timelineSection((point) => live.set(point)), live.node, memorySection(), source.node, treeSection(), ...(graph ? [graph.node] : []), ops.node, plans, modelSection()];
  }
  // Links into the page: #op-107, #line-net.pxl:12, besides its sections.
  function follow() {
    let link = location.hash;
    try { link = decodeURIComponent(link); } catch { return; }
    const [, kind, what] = /^#(op|line)-(.*)$/.exec(link) || [];
    if (kind === "line") source.open(what);
    const op = kind === "op" && RUN.ops.find((o) => chosen(RUN)(o) === what);
    if (op) { ops.pick(op); ops.node.scrollIntoView(); }
  }
  addEventListener("hashchange", follow);
  const programs = document.getElementById("program");
  programs.hidden = runs.length < 2;
  programs.append(...runs.map((r, i) => el("option", { value: i }, `${i + 1}. ${r.name}` + (r.measured ? ", measured" : MEASURED.length ? ` on ${r.machine.name}` : ""))));
  programs.addEventListener("change", () => show(+programs.value));
  show(0);
  follow();
  document.getElementById("theme").addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    charts.forEach((c) => c.redraw());
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((c) => c.redraw()));
  addEventListener("scroll", tip.hide, { passive: true });
})();
