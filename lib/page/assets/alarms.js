// SPDX-License-Identifier: Apache-2.0
// Alarms: each stays until somebody has acknowledged it, by name.
import {card, el, setMark, setText, table} from "./elements.js";
import {alarmText, count, date} from "./text.js";

const tones = {warning: "warn", error: "bad", fatal: "bad", information: "idle"};

export const page = {
  name: "alarms",
  title: "Alarms",
  make(app) {
    const columns = [
      {title: "alarm", show: (a) => a.name},
      {title: "station", show: (a) => a.station},
      {title: "severity", update: (cell, a) => setMark(cell, a.latched ? tones[a.severity] ?? "bad" : "off", a.severity)},
      {title: "what happened", class: "long", most: 1000, show: (a) => alarmText(a)},
      {title: "last", show: (a) => a.last ? date(a.last) : "–"},
      {title: "times", number: true, show: (a) => count(a.raised)},
    ];
    const acknowledge = {title: "", update: (cell, a) => {
      if (!cell.firstChild) cell.append(el("button", {type: "button", class: "main small", onclick: () => app.control.acknowledge(a).then(app.poll)}, "Acknowledge"));
      cell.firstChild.disabled = !app.control.mine(app.live);
    }};
    const key = (a) => `${a.station} ${a.name}`;
    const latched = table([...columns, acknowledge], key, "Alarms that wait for an answer");
    const past = table([...columns, {title: "acknowledged by", show: (a) => a.acknowledged_by ?? "–"}], key, "Acknowledged alarms");
    latched.emptyText("no alarm waits for an answer");
    const hint = el("p", {class: "hint"});
    const element = el("div", {class: "grid"}, el("div", {class: "wide"}, card("Waiting for an answer", hint, latched), card("Acknowledged", past)));
    return {
      element,
      update(live) {
        latched.update(live.alarms.filter((a) => a.latched));
        past.update(live.alarms.filter((a) => !a.latched));
        setText(hint, live.kind === "station" ? "weir alarms lists and acknowledges them." : app.control.mine(live) ? `Acknowledge what you have seen and dealt with: your name, ${app.control.person}, stays with it.` : "Who is in control acknowledges alarms, by name.");
      },
    };
  },
};
