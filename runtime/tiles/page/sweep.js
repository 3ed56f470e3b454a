// One program with several machines or options: a table, and time against bytes.
function sweepSection() {
  const { keys } = DATA.sweep, rows = DATA.sweep.rows.filter((r) => r.program === RUN.name);
  const fits = rows.filter((r) => r.fits), label = (r) => keys.map((k, i) => `${k} ${r.values[i]}`).join(", ");
  const node = section("sweep", "Sweep", `${fmt.whole(rows.length)} plans over ${keys.join(" and ")}, ${fmt.whole(fits.length)} fit; the line joins those that no other one beats in time and bytes`);
  const area = (width) => ({ left: 76, right: width - 16, top: 12, bottom: 260 });
  const most = { x: Math.max(1, ...fits.map((r) => r.total_bytes)) * 1.06, y: Math.max(1e-12, ...fits.map((r) => r.seconds)) * 1.08 };
  const at = (r, a) => [a.left + (a.right - a.left) * r.total_bytes / most.x, a.bottom - (a.bottom - a.top) * r.seconds / most.y];
  let near = null;
  const picture = chart(292, (c, width) => {
    const a = area(width);
    axis(c, most.y, a, fmt.seconds);
    c.fillStyle = css("faint"); c.textBaseline = "top"; c.textAlign = "center";
    for (const x of ticks(most.x, 5, true)) c.fillText(fmt.bytes(x), a.left + (a.right - a.left) * x / most.x, a.bottom + 6);
    c.textAlign = "left"; c.fillText("time of a run against bytes on all tiles", a.left, a.bottom + 20);
    c.strokeStyle = css("other"); c.lineWidth = 1.5; c.beginPath();
    fits.filter((r) => r.best).sort((r, s) => r.total_bytes - s.total_bytes).forEach((r) => c.lineTo(...at(r, a)));
    c.stroke(); c.lineWidth = 1;
    for (const r of fits) {
      c.beginPath(); c.arc(...at(r, a), r.best ? 6 : 4.5, 0, 7);
      c.fillStyle = css(r.best ? "other" : "compute"); c.fill();
      if (r === near) { c.strokeStyle = css("ink"); c.stroke(); }
    }
  }, {
    pointermove(event, x, y, width) {
      const a = area(width), distance = (r) => { const [px, py] = at(r, a); return Math.hypot(px - x, py - y); };
      near = fits.reduce((b, r) => (!b || distance(r) < distance(b) ? r : b), null);
      if (near && distance(near) > 30) near = null;
      picture.redraw();
      if (!near) return tip.hide();
      tip.show(event, el("b", {}, label(near)), tipRow("Cycles a run", fmt.whole(near.cycles)), tipRow("Time", fmt.seconds(near.seconds)), tipRow("Fullest tile", fmt.bytes(near.bytes)),
        tipRow("All tiles", fmt.bytes(near.total_bytes)));
    },
  });
  const value = (r, i) => (Number.isFinite(+r.values[i]) ? +r.values[i] : r.values[i]);
  const columns = [{ name: "best", title: "", text: (r) => (r.best ? "●" : "") },
    ...keys.map((k, i) => ({ name: "key" + i, title: k, number: true, text: (r) => r.values[i], sort: (r) => value(r, i) })),
    { name: "cycles", title: "Cycles a run", number: true, text: (r) => (r.fits ? fmt.whole(r.cycles) : "does not fit"), sort: (r) => (r.fits ? r.cycles : Infinity) },
    { name: "time", title: "Time", number: true, text: (r) => (r.fits ? fmt.seconds(r.seconds) : ""), sort: (r) => (r.fits ? r.seconds : Infinity) },
    { name: "bytes", title: "Fullest tile", number: true, text: (r) => fmt.bytes(r.bytes), sort: (r) => r.bytes },
    { name: "total", title: "All tiles", number: true, text: (r) => fmt.bytes(r.total_bytes), sort: (r) => r.total_bytes }];
  if (fits.length) node.append(picture.node);
  node.append(table(columns, rows).node);
  return node;
}
