// Puts the sections together.
(function () {
  document.title = `${RUN.name} · pxl profile`;
  document.getElementById("title").textContent = RUN.name;
  document.getElementById("subtitle").textContent = `on ${RUN.machine.name}, ${fmt.whole(RUN.machine.tiles)} tiles of ${fmt.bytes(RUN.machine.bytes_per_tile)}` +
    (OTHER ? `, against ${OTHER.name} on ${OTHER.machine.name}` : "");
  const live = livenessSection();
  const sections = [summarySection(), timelineSection((step) => { live.set(step); live.node.scrollIntoView({ behavior: "smooth" }); }), memorySection(), live.node, treeSection(), ...opsSection(), modelSection()];
  document.getElementById("main").append(...sections);
  document.getElementById("nav").append(...sections.map((s) => el("a", { href: "#" + s.id }, s.querySelector("h2").textContent)));
  document.getElementById("theme").addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    charts.forEach((c) => c.redraw());
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((c) => c.redraw()));
  addEventListener("scroll", tip.hide, { passive: true });
})();
