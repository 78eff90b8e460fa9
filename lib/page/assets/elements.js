// SPDX-License-Identifier: Apache-2.0
// Elements of the page. A text becomes a text node, and never markup. What has not changed is not touched, so that focus,
// selection and the browser's time are kept.
import {clean} from "./text.js";

/// el("td", {class: "number", onclick: f}, "text", element, ...)
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null) continue;
    made.append(child instanceof Node ? child : document.createTextNode(clean(child)));
  }
  return made;
}

/// A field with its label, which stay on one line.
export const labelled = (label, field) => el("span", {class: "labelled"}, el("label", {for: field.id}, label), field);

export function setText(node, text, most) {
  const shown = clean(text, most);
  if (node.textContent !== shown) node.textContent = shown;
}

export function setAttribute(node, name, value) {
  if (value === null || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/// Makes the children of `parent` one for each item: `make(item)` for a key that is new, `update(node, item)` for all.
export function each(parent, items, key, make, update) {
  const known = parent.known ??= new Map();
  const wanted = new Set();
  let at = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    if (wanted.has(name)) continue;
    wanted.add(name);
    let node = known.get(name);
    if (!node) known.set(name, node = make(item));
    update?.(node, item);
    if (node === at) at = at.nextElementSibling;
    else parent.insertBefore(node, at);
  }
  for (const [name, node] of known)
    if (!wanted.has(name)) {
      node.remove();
      known.delete(name);
    }
}

const classOf = (column) => [column.number && "number", column.class].filter(Boolean).join(" ") || null;

/// A table with a head. A column: {title, number, show(item) -> text or element, tone(item)}. Its tbody is `.body`.
export function table(columns, key, caption) {
  const body = el("tbody");
  const whole = el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
    el("table", {}, el("caption", {class: "unseen"}, caption),
      el("thead", {}, el("tr", {}, columns.map((c) => el("th", {scope: "col", class: classOf(c)}, c.title)))), body));
  const empty = el("p", {class: "empty"}, "none");
  whole.append(empty);
  whole.update = (items, row) => {
    each(body, items, key, (item) => {
      const made = el("tr");
      made.cells_ = columns.map((c, i) => el(i === 0 ? "th" : "td", {scope: i === 0 ? "row" : null, class: classOf(c), "data-title": c.title}));
      made.append(...made.cells_);
      return made;
    }, (made, item) => {
      columns.forEach((c, i) => {
        const cell = made.cells_[i];
        if (c.update) return c.update(cell, item);
        const shown = c.show(item);
        if (shown instanceof Node) cell.replaceChildren(shown);
        else setText(cell, shown, c.most ?? 300);
        if (c.tone) setAttribute(cell, "data-tone", c.tone(item));
      });
      row?.(made, item);
    });
    empty.hidden = items.length > 0;
  };
  whole.emptyText = (text) => setText(empty, text);
  return whole;
}

/// A word with its shape, in a colour: a state is never told by colour alone.
const shapes = {good: "●", run: "▶", wait: "◐", warn: "▲", bad: "✖", idle: "■", off: "○"};
export function setMark(node, tone, word) {
  setAttribute(node, "data-tone", tone);
  setText(node, `${shapes[tone] ?? "●"} ${word}`, 60);
}
export const mark = (tone, word) => {
  const made = el("span", {class: "mark"});
  setMark(made, tone, word);
  return made;
};
export const shapeOf = (tone) => shapes[tone] ?? "●";

export const card = (title, ...children) => el("section", {class: "card"}, el("h2", {}, title), ...children);
