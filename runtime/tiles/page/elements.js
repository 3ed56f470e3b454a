"use strict";
// Shared by the pages: DOM elements, the tooltip, buttons.
// el("div", {class: "a", onclick: f}, "text", child, [children])
function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") node.style.cssText = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity))
    if (child !== undefined && child !== null && child !== false) node.append(child);
  return node;
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

const tip = {
  node: null,
  show(event, ...content) {
    if (!tip.node) document.body.append(tip.node = el("div", { class: "tip", role: "status" }));
    tip.node.replaceChildren(...content.flat(Infinity).filter(Boolean));
    tip.node.hidden = false;
    const box = tip.node.getBoundingClientRect();
    const x = event.clientX + 14 + box.width > innerWidth ? event.clientX - box.width - 10 : event.clientX + 14;
    const y = Math.min(event.clientY + 14, innerHeight - box.height - 6);
    tip.node.style.left = Math.max(4, x) + "px";
    tip.node.style.top = Math.max(4, y) + "px";
  },
  hide() { if (tip.node) tip.node.hidden = true; },
};
const tipRow = (label, value, colour) =>
  el("div", { class: "row" }, el("span", {}, colour && el("i", { style: `background:${colour}` }), label), el("span", {}, value));

function toggle(label, on, change, title) {
  const button = el("button", { type: "button", "aria-pressed": String(on), title, onclick() {
    const now = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(now));
    change(now);
  } }, label);
  return button;
}

// The lines of a source around one of them, which is marked.
function excerpt(name, text, line) {
  const lines = text.split("\n"), from = Math.max(0, line - 5), to = Math.min(lines.length, line + 4);
  return [el("h3", {}, `${name}:${line}`), el("pre", { class: "source" },
    lines.slice(from, to).map((shown, i) => el("span", { class: from + i + 1 === line && "at" }, el("i", {}, String(from + i + 1)), shown)))];
}

const search = (label, change) => el("input", { type: "search", placeholder: label, "aria-label": label, oninput() { change(this.value); } });
