// Assembles the sections, for one program at a time.
(function () {
  let ops, plans, source;
  const main = document.getElementById("main"), nav = document.getElementById("nav");
  function show(i) {
    RUN = prepared(DATA.runs[i]);
    OTHER = prepared(counterpart(i));
    charts = [];
    tip.hide();
    document.title = `${RUN.name} · pxl profile`;
    document.getElementById("title").textContent = RUN.name;
    document.getElementById("subtitle").textContent = `on ${RUN.machine.name}, ${fmt.whole(RUN.machine.tiles)} tiles of ${fmt.bytes(RUN.machine.bytes_per_tile)}` +
      (RUN.source ? `; ${RUN.source}` : "") + (OTHER ? `, against ${OTHER.source || OTHER.name}` : "");
    const live = livenessSection();
    [ops, plans] = opsSection((o) => graph && graph.show(o));
    const graph = graphSection(i, (o) => ops.pick(o));
    source = sourceSection((list, place) => { ops.only(list, place); ops.node.scrollIntoView({ behavior: "smooth" }); });
    const sections = [summarySection(), ...(DATA.sweep ? [sweepSection()] : []), ...(OTHER ? [compareSection()] : []), timelineSection((point) => { live.set(point); live.node.scrollIntoView({ behavior: "smooth" }); }), memorySection(),
      live.node, source.node, treeSection(), ...(graph ? [graph.node] : []), ops.node, plans, modelSection()];
    main.replaceChildren(...sections);
    nav.replaceChildren(...sections.map((s) => el("a", { href: "#" + s.id }, s.querySelector("h2").textContent)));
  }
  // Links into the page: #op-107, #line-net.pxl:12, besides its sections.
  function follow() {
    let link = location.hash;
    try { link = decodeURIComponent(link); } catch { return; }
    const [, kind, what] = /^#(op|line)-(.*)$/.exec(link) || [];
    if (kind === "line") source.open(what);
    const op = kind === "op" && RUN.ops.find((o) => String(o.id) === what);
    if (op) { ops.pick(op); ops.node.scrollIntoView(); }
  }
  addEventListener("hashchange", follow);
  const programs = document.getElementById("program");
  programs.hidden = DATA.runs.length < 2;
  programs.append(...DATA.runs.map((r, i) => el("option", { value: i }, `${i + 1}. ${r.name}`)));
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
