// SPDX-License-Identifier: Apache-2.0
// What stations and run control wrote: the newest lines, by station, severity and text.
import {card, each, el, labelled, setAttribute, setText, shapeOf} from "./elements.js";
import {clock, lineOf} from "./text.js";

const kept = 5000, shown = 500;
const severities = ["information", "warning", "error", "fatal"];
const tones = {warning: "warn", error: "bad", fatal: "bad"};

export const page = {
  name: "log",
  title: "Log",
  make(app) {
    let lines = [];
    let last = null, server = null, asking = false;
    const station = el("select", {id: "log-station"});
    const severity = el("select", {id: "log-severity"}, el("option", {value: "0"}, "all lines"), el("option", {value: "1"}, "warnings and worse"), el("option", {value: "2"}, "errors"));
    const text = el("input", {id: "log-text", type: "search", maxlength: "200", placeholder: "text", autocomplete: "off"});
    const body = el("ol");
    const lined = el("div", {class: "log", tabindex: "0", role: "region", "aria-label": "lines of the log"}, body);
    const summary = el("p", {class: "hint"});
    const filter = el("form", {class: "filter", onsubmit: (e) => e.preventDefault()}, labelled("Station", station), labelled("Severity", severity), labelled("Contains", text));
    for (const input of [station, severity, text]) input.addEventListener("input", draw);

    function draw() {
      const wanted = text.value.toLowerCase();
      const least = Number(severity.value);
      const found = lines.filter((l) => (!station.value || l.station === station.value) && severities.indexOf(l.severity) >= least && (!wanted || l.text.toLowerCase().includes(wanted)));
      each(body, found.slice(-shown).reverse(), (l) => l.number, (l) => {
        const line = el("li", {"data-tone": tones[l.severity]}, el("time", {}, clock(l.time)), el("b", {}, l.station));
        const what = el("span");
        setText(what, (tones[l.severity] ? `${shapeOf(tones[l.severity])} ${l.severity}: ` : "") + l.text, 2000);
        line.append(what);
        return line;
      });
      setText(summary, `${found.length} of the last ${lines.length} lines${found.length > shown ? `; the newest ${shown} are shown` : ""}, the newest first. All of them stand in the folder log of run control's directory.`);
    }

    async function read(live) {
      if (asking) return;
      asking = true;
      try {
        if (server !== live.server) [lines, last, server] = [[], null, live.server];
        if (live.log.last === last) return;
        const answer = await fetch(`/log?after=${last ?? Math.max(0, live.log.last - 1000)}`, {signal: AbortSignal.timeout(5000)});
        const got = await answer.json();
        for (const line of got.lines) lines.push({...line, ...lineOf(line.text)});
        last = got.lines.at(-1)?.number ?? got.last;
        lines = lines.slice(-kept);
        draw();
      } catch { /* the head of the page shows that run control does not answer */ } finally {
        asking = false;
      }
    }

    return {
      element: el("div", {class: "grid"}, el("div", {class: "wide"}, card("Log", filter, summary, lined))),
      update(live) {
        const names = ["run", ...live.stations.map((s) => s.name)];
        each(station, [{name: ""}, ...names.map((name) => ({name}))], (o) => o.name, (o) => el("option", {value: o.name}, o.name || "all stations"));
        setAttribute(station, "data-count", names.length);
        read(live);
      },
    };
  },
};
