// The program's graphs in a frame; the op that is chosen there and in the table of ops is the same.
function graphSection(program, pick) {
  const text = document.getElementById("graph_page").textContent;
  if (text.length < 3) return null;  // an empty text in quotes
  const frame = el("iframe", { title: "Graph", loading: "lazy" });
  frame.src = URL.createObjectURL(new Blob([JSON.parse(text)], { type: "text/html" }));
  const node = section("graph", "Graph", "Click a box to open it, an op to find it in the table; drag to move, wheel to zoom",
    el("button", { type: "button", onclick: () => window.open(frame.src) }, "In a window of its own"));
  node.append(frame);
  let wanted;
  const tell = () => frame.contentWindow?.postMessage({ program, op: wanted }, "*");
  // Removed with the section: a second program has a frame of its own.
  function heard({ source, data }) {
    if (!node.isConnected) return removeEventListener("message", heard);
    if (source !== frame.contentWindow || !data) return;
    if (data.ready) return tell();
    const op = RUN.ops.find((o) => o.id === data.op);
    if (op && data.op !== wanted) { wanted = data.op; pick(op); }
  }
  addEventListener("message", heard);
  return { node, show(op) { if (op.id !== wanted) { wanted = op.id; tell(); } } };
}
