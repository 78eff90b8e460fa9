// SPDX-License-Identifier: Apache-2.0
// What the partition's monitors fill: a list of each, and one histogram drawn, beside that of a reference run.
import {card, each, el, labelled, setAttribute, setText, table} from "./elements.js";
import {HistogramPlot, parsed} from "./histogram_plot.js";
import {clean, count, short} from "./text.js";

const number = (n) => n === null || n === undefined ? "–" : short(n);

/// Rows of the table beside a histogram: [what, now, of the reference].
function statistics(h, now, reference) {
  const rows = [["entries", count(h.entries), (r) => count(r.entries)], ["mean", number(h.mean_x), (r) => number(r.mean_x)], ["rms", number(h.rms_x), (r) => number(r.rms_x)]];
  if (now.y) rows.push(["mean, second axis", number(h.mean_y), (r) => number(r.mean_y)], ["rms, second axis", number(h.rms_y), (r) => number(r.rms_y)]);
  else rows.push(["underflow", number(now.at(0)), (r) => number(r.contents[0])], ["overflow", number(now.at(now.x.bins + 1)), (r) => number(r.contents[now.x.bins + 1])]);
  return rows.map(([what, of, ofReference]) => ({what, of, reference: reference ? ofReference(reference) : "–"}));
}

export const page = {
  name: "histograms",
  title: "Histograms",
  make(app) {
    const monitors = el("div", {class: "buttons", role: "group", "aria-label": "monitors"});
    const filter = el("input", {id: "histograms-text", type: "search", maxlength: "200", placeholder: "part of a name", autocomplete: "off"});
    const about = el("p", {class: "hint", role: "status"});
    const link = (h) => `#histograms/${encodeURIComponent(monitor)}/${encodeURIComponent(h.name)}`;
    const list = table([
      {title: "histogram", update: (cell, h) => {
        if (!cell.firstChild) cell.append(el("a"));
        setText(cell.firstChild, h.name, 200);
        setAttribute(cell.firstChild, "href", link(h));
        setAttribute(cell.firstChild, "aria-current", h.name === name ? "true" : null);
      }},
      {title: "title", class: "long", show: (h) => h.title || "–"},
      {title: "entries", number: true, show: (h) => count(h.entries)},
      {title: "mean", number: true, show: (h) => number(h.mean_x) + (h.axes === 2 ? `, ${number(h.mean_y)}` : "")},
      {title: "rms", number: true, show: (h) => number(h.rms_x) + (h.axes === 2 ? `, ${number(h.rms_y)}` : "")},
    ], (h) => h.name, "Histograms");
    const counters = table([{title: "counter", show: (c) => c.name}, {title: "value", number: true, show: (c) => count(c.value)}], (c) => c.name, "Counters");
    const plot = new HistogramPlot();
    const shownTitle = el("h3"), legend = el("p", {class: "hint"});
    const figures = table([{title: "statistics", show: (r) => r.what}, {title: "this run", number: true, show: (r) => r.of}, {title: "reference", number: true, class: "of-reference", show: (r) => r.reference}], (r) => r.what, "Statistics");
    const log = el("button", {type: "button", class: "small", "aria-pressed": "false", onclick: () => {
      plot.logarithmic = !plot.logarithmic;
      log.setAttribute("aria-pressed", String(plot.logarithmic));
      plot.draw();
    }}, "Logarithmic");
    const one = el("div", {hidden: true}, shownTitle, plot.element, el("div", {class: "buttons"}, log), legend, figures);
    const element = el("div", {class: "grid"}, el("div", {class: "wide"},
      card("Histograms", monitors, el("form", {class: "filter", role: "search", onsubmit: (e) => e.preventDefault()}, labelled("Show", filter)), about, one, list),
      card("Counters", counters)));
    list.emptyText("no histogram");
    let monitor = "", name = "", lost = "", got = null, asking = false, failed = "";
    filter.addEventListener("input", draw);

    async function get(path) {
      const answer = await fetch(path, {signal: AbortSignal.timeout(8000), cache: "no-store"});
      const document = await answer.json();
      if (!answer.ok) throw new Error(document.error);
      return document;
    }
    function draw() {
      const wanted = filter.value.toLowerCase();
      list.update((got?.histograms ?? []).filter((h) => `${h.name} ${h.title}`.toLowerCase().includes(wanted)).slice(0, 1000));
      counters.update(got?.counters ?? []);
      setText(about, failed ? `It cannot be shown: ${failed}` : !got ? "" :
        `${count(got.events)} events of run ${got.run} were seen${lost}${got.reference_run ? `; run ${got.reference_run} is the reference` : ""}${got.saved ? `; saved as ${got.saved}` : ""}.`, 600);
    }
    function drawOne(h) {
      const now = parsed(h);
      let reference = h.reference ? parsed(h.reference) : null;
      const fits = reference && JSON.stringify(reference.x.edges) === JSON.stringify(now.x.edges) && !now.y === !reference.y;
      if (!fits) reference = null;
      setText(shownTitle, h.title || h.name, 300);
      setText(legend, now.y && reference ? `Of run ${h.reference.run}, the reference, only the statistics are shown.`
        : reference ? `Dashed and filled: run ${h.reference.run}, scaled to as many events in the range.` : h.reference ? "The reference has other bins." : "");
      figures.update(statistics(h, now, reference ? h.reference : null));
      figures.classList.toggle("no-reference", !reference);
      one.hidden = false;
      plot.show(h.name, now, now.y ? null : reference);
    }
    async function read() {
      if (asking || !monitor) return;
      asking = true;
      const [ofMonitor, ofName] = [monitor, name];
      try {
        const [all, h] = await Promise.all([get(`/histograms?monitor=${encodeURIComponent(ofMonitor)}`),
          ofName ? get(`/histograms?monitor=${encodeURIComponent(ofMonitor)}&name=${encodeURIComponent(ofName)}`).catch((error) => ({error})) : null]);
        if (ofMonitor === monitor) {
          got = all;
          failed = "";
          if (ofName === name) {
            if (!h) one.hidden = true;
            else if (h.error) [one.hidden, failed] = [true, ofName + ": " + h.error.message];
            else drawOne(h);
          }
        }
      } catch (error) { failed = error.message; }
      asking = false;
      draw();
      if (ofMonitor !== monitor || ofName !== name) read();
    }
    return {
      element,
      update(live, before, rest) {
        const all = live.stations.filter((s) => s.kind === "monitor").map((s) => s.name);
        let parts = [];
        try { parts = rest.split("/").map(decodeURIComponent); } catch { /* no address of ours */ }
        const [wanted = "", wantedName = ""] = parts;
        const next = all.includes(wanted) ? wanted : all[0] ?? "";
        const rejected = Object.entries(live.stations.find((s) => s.kind === "monitor" && s.name === next)?.ledger.rejected ?? {}).filter(([, n]) => n > 0);
        lost = rejected.length ? `, and ${rejected.map(([why, n]) => `${count(n)} were not: ${why}`).join(", ")}` : "";
        if (next !== monitor) [got, one.hidden] = [null, true];
        [monitor, name] = [next, next === wanted ? wantedName : ""];
        each(monitors, all.length > 1 ? all : [], (m) => m, (m) => el("a", {href: `#histograms/${encodeURIComponent(m)}`}, m), (node, m) => setAttribute(node, "aria-current", m === monitor ? "true" : null));
        if (all.length === 0) return void setText(about, "This partition has no monitor: a section [monitor.NAME] in its file gives it one.");
        read();
      },
    };
  },
};
