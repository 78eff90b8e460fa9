// SPDX-License-Identifier: Apache-2.0
// Questions before a command. A form in the browser's own dialog: Escape leaves it, Enter sends it.
import {el} from "./elements.js";

/// `fields`: [{name, label, kind: "text" | "lines" | "choice", value, hint, required, options}]. The answers by name, or null.
export function ask(title, text, fields, button, tone) {
  return new Promise((resolve) => {
    const inputs = {};
    const rows = fields.map((f) => {
      const id = "ask-" + f.name;
      const input = f.kind === "lines" ? el("textarea", {id, rows: 3, placeholder: f.hint, maxlength: 20000})
        : el("input", {id, type: "text", placeholder: f.hint, required: f.required, maxlength: f.most ?? 1000, list: f.options ? id + "-list" : null, autocomplete: "off", spellcheck: "false"});
      input.value = f.value ?? "";
      inputs[f.name] = input;
      return [el("label", {for: id}, f.label), input, f.options ? el("datalist", {id: id + "-list"}, f.options.map((o) => el("option", {value: o}))) : null];
    });
    const form = el("form", {method: "dialog"}, el("h2", {}, title), text ? el("p", {}, text) : null, rows,
      el("div", {class: "buttons"}, el("button", {type: "submit", class: "main", "data-tone": tone, value: "yes"}, button), el("button", {type: "button", onclick: () => dialog.close("")}, "Cancel")));
    const dialog = el("dialog", {"aria-label": title}, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" ? Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value])) : null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/// "beam = off" a line -> {beam: "off"}; a line without "=" is an error.
export function parametersOf(text) {
  const parameters = {};
  for (const line of text.split("\n")) {
    if (!line.trim()) continue;
    const at = line.indexOf("=");
    if (at < 1) throw new Error(`"${line.trim()}" is not a parameter; write name = value`);
    parameters[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return parameters;
}
