// SPDX-License-Identifier: Apache-2.0
// Runs that were: search, and one of them with its problems, changes, files and the partition file it was taken with.
import {fileTables} from "./files.js";
import {card, el, labelled, mark, setMark, setText, table} from "./elements.js";
import {clean, count, date} from "./text.js";

const wellOf = (r) => r.error ? ["bad", "cannot be read"] : !r.ended ? ["wait", "not ended"] : Object.keys(r.problems).length > 0 ? ["bad", "not well"] : ["good", "well"];

function facts(pairs) {
  return el("dl", {class: "facts"}, pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function oneRun(r, files) {
  const known = ["comment", "stop reason", "triggers", "accepted", "built", "incomplete", "recorded", "partition"];
  const p = r.parameters;
  const [tone, word] = wellOf(r);
  const problems = Object.entries(r.problems).flatMap(([name, text]) => name === "problems" ? text.split("\n") : [`${name}: ${text}`]);
  const changes = table([
    {title: "time", show: (c) => date(c.time)}, {title: "what", show: (c) => c.what}, {title: "subject", show: (c) => c.subject || "–"},
    {title: "by", show: (c) => c.who || "–"}, {title: "why", show: (c) => c.why || "–"}], (c) => c.time + c.what + c.subject, "Changes");
  changes.update(r.changes);
  return el("div", {class: "grid"}, el("div", {class: "wide"},
    el("p", {}, el("a", {href: "#runs"}, "← all runs")),
    card(`Run ${r.run}`, el("p", {class: "big"}, mark(tone, word)),
      facts([["begun", date(r.started)], ["comment", p.comment || "–"], ["stopped because", p["stop reason"] || "–"],
        ["events", `${count(Number(p.triggers))} triggers, ${count(Number(p.accepted))} accepted, ${count(Number(p.built))} built (${count(Number(p.incomplete))} incomplete), ${count(Number(p.recorded))} recorded`],
        ["taken with", `weir ${r.weir}`],
        ...Object.entries(p).filter(([name]) => !known.includes(name)).map(([name, value]) => [name, value])])),
    card("Problems", problems.length ? el("ul", {class: "troubles"}, problems.map((text) => el("li", {"data-tone": "bad"}, "✖ " + clean(text, 1000)))) : el("p", {}, mark("good", r.ended ? "none: every ledger balances" : "none known yet"))),
    card("Files", files),
    card("Changes while it went on", changes),
    card("Configuration", el("p", {class: "hint"}, `The partition file as it was in effect: ${r.file}, sha256 ${r.sha256}. weir run show ${r.run} prints it with how to take the run again.`), el("pre", {tabindex: "0", role: "region", "aria-label": "partition file"}, document.createTextNode(clean(r.text.replaceAll("\t", "    "), 1100000))))));
}

export const page = {
  name: "runs",
  title: "Runs",
  make(app) {
    const search = el("input", {id: "runs-text", type: "search", maxlength: "200", placeholder: "number, comment, parameter, problem", autocomplete: "off"});
    const summary = el("p", {class: "hint"});
    const list = table([
      {title: "run", update: (cell, r) => { if (!cell.firstChild) cell.append(r.run ? el("a", {href: `#runs/${r.run}`}, String(r.run)) : r.file); }},
      {title: "begun", show: (r) => date(r.started)},
      {title: "how it was", update: (cell, r) => setMark(cell, ...wellOf(r))},
      {title: "comment", class: "long", show: (r) => r.error ?? (r.parameters.comment || "–")},
      {title: "recorded", number: true, show: (r) => count(Number(r.parameters?.recorded))},
      {title: "incomplete", number: true, show: (r) => count(Number(r.parameters?.incomplete))},
      {title: "stopped because", class: "long", show: (r) => r.parameters?.["stop reason"] || "–"},
    ], (r) => r.run ?? r.file, "Runs");
    const all = el("div", {class: "grid"}, el("div", {class: "wide"}, card("Runs", el("form", {class: "filter", role: "search", onsubmit: (e) => e.preventDefault()}, labelled("Search", search)), summary, list)));
    const element = el("div", {}, all);
    let shownRun = null, asked = "", number = 0;
    list.emptyText("no run");

    async function get(path) {
      const answer = await fetch(path, {signal: AbortSignal.timeout(20000)});
      const document = await answer.json();
      if (!answer.ok) throw new Error(document.error);
      return document;
    }
    async function readAll() {
      const mine = ++number;
      try {
        const got = await get("/runs?text=" + encodeURIComponent(search.value));
        if (mine !== number) return;
        list.update(got.runs);
        setText(summary, `${count(got.matching)} of ${count(got.all)} runs${got.matching > got.runs.length ? `; the newest ${got.runs.length} are shown` : ""}.`);
      } catch (error) { setText(summary, "The runs cannot be shown: " + error.message); }
    }
    async function readOne(run) {
      try {
        const [one, got] = await Promise.all([get(`/runs/${run}`), get(`/files?run=${run}`)]);
        if (shownRun !== run) return;
        const files = fileTables();
        files.update(got);
        element.replaceChildren(oneRun(one, files));
      } catch (error) {
        if (shownRun === run) element.replaceChildren(card(`Run ${run}`, el("p", {}, "It cannot be shown: " + error.message), el("a", {href: "#runs"}, "← all runs")));
      }
    }
    search.addEventListener("input", () => readAll());
    return {
      element,
      update(live, before, rest) {
        const run = /^\d{1,10}$/.test(rest) ? rest : null;
        const about = `${live.server} ${live.partition.runs} ${live.partition.run} ${live.partition.state} ${run}`;
        if (about === asked) return;
        asked = about;
        shownRun = run;
        if (run) return void readOne(run);
        element.replaceChildren(all);
        readAll();
      },
    };
  },
};
