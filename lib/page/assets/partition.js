// SPDX-License-Identifier: Apache-2.0
// The first page: the run and its commands, what is wrong, rates, who waits for whom, stations and sources.
import {silent, stationTone, troubles, waits} from "./board.js";
import {ask, parametersOf} from "./dialogs.js";
import {card, each, el, mark, setAttribute, setMark, setText, shapeOf, table} from "./elements.js";
import {Plot} from "./plot.js";
import {bytes, clock, count, date, lasts, perSecond, short} from "./text.js";

const order = ["supervise", "select", "readout", "assign", "build", "filter", "record", "handoff", "monitor"];
const titles = {
  supervise: "supervisor", select: "processing units", readout: "readouts", assign: "data flow manager",
  build: "builders", filter: "event filters", record: "recorders", handoff: "hand-off",
};

export const rateSeries = [
  {name: "triggers", title: "triggers", unit: perSecond},
  {name: "built", title: "built", unit: perSecond},
  {name: "recorded", title: "recorded", unit: perSecond},
];
export const byteSeries = [{name: "bytes", title: "to disk", unit: (n) => bytes(n) + "/s"}];

/// What is wrong, as a list; shown on the wall too.
export function troubleList() {
  const list = el("ul", {class: "troubles"});
  const well = el("p", {class: "well"}, mark("good", "nothing is wrong that is known here"));
  const element = el("div", {}, list, well);
  element.update = (live, before, most = 12) => {
    const found = troubles(live, waits(live, before));
    each(list, found.slice(0, most), (t) => t.key,
      () => el("li", {}, el("span", {class: "shape-small", "aria-hidden": "true"}), el("a", {})),
      (node, t) => {
        setAttribute(node, "data-tone", t.tone);
        setText(node.firstChild, shapeOf(t.tone));
        setText(node.lastChild, t.text, 400);
        setAttribute(node.lastChild, "href", t.page);
      });
    well.hidden = found.length > 0;
  };
  return element;
}

function runCard(app) {
  const facts = el("dl", {class: "facts"});
  const names = ["run", "since", "comment", "stopped because"];
  const values = Object.fromEntries(names.map((name) => [name, el("dd")]));
  facts.append(...names.flatMap((name) => [el("dt", {}, name), values[name]]));
  const commands = el("div", {class: "buttons", role: "group", "aria-label": "commands"});
  const why = el("p", {class: "hint"});
  const buttons = {};
  const button = (name, title, tone, work) => {
    buttons[name] = el("button", {type: "button", class: "command", "data-tone": tone, onclick: work}, title);
    commands.append(buttons[name]);
  };
  button("start", "▶ Start a run", "run", async () => {
    const given = await ask("Start a run", null, [
      {name: "comment", label: "Comment", hint: "what is this run for?", most: 4000},
      {name: "parameters", label: "Parameters, one a line", kind: "lines", hint: "beam = off"}], "Start", "run");
    if (!given) return;
    try {
      await app.control.command({command: "start", comment: given.comment, parameters: parametersOf(given.parameters)});
    } catch (error) { app.notice(error.message); }
    app.poll();
  });
  button("pause", "‖ Pause", "warn", () => app.control.command({command: "pause"}).then(app.poll));
  button("resume", "▶ Resume", "run", () => app.control.command({command: "resume"}).then(app.poll));
  button("stop", "■ Stop", "bad", async () => {
    const given = await ask("Stop the run", "What is in hand is still written.", [{name: "reason", label: "Reason", hint: "shift ends", most: 4000}], "Stop", "bad");
    if (given) await app.control.command({command: "stop", ...(given.reason ? {reason: given.reason} : {})}).then(app.poll);
  });
  button("mask", "Mask a source…", "off", async () => {
    const sources = app.live.partition.sources.worst;
    const given = await ask("Mask a source", "Nothing waits for its fragments any more, and none counts as missing. It counts from now on, and in the runs to come.",
      [{name: "source", label: "Source", hint: "0x420000", required: true, options: sources.filter((s) => !s.masked).map((s) => s.source)}], "Mask", "warn");
    if (given) await app.control.command({command: "mask", source: given.source.trim()}).then(app.poll);
  });
  const element = card("Run", facts, commands, why);
  element.update = (live) => {
    const p = live.partition;
    setText(values.run, p.run ? `${p.run}, ${lasts(p.seconds)}` : "none yet");
    setText(values.since, p.run ? date(p.started) : "–");
    setText(values.comment, p.comment || "–", 500);
    setText(values["stopped because"], p.stop_reason || "–", 300);
    const may = {start: p.state === "ready", pause: p.state === "running", resume: p.state === "paused", stop: ["running", "paused", "stopping", "starting"].includes(p.state), mask: p.state !== "down"};
    const mine = app.control.mine(live);
    for (const [name, node] of Object.entries(buttons)) {
      node.disabled = !mine || !may[name];
      if (name === "pause") node.hidden = p.state === "paused";
      if (name === "resume") node.hidden = p.state !== "paused";
    }
    commands.hidden = live.kind === "station" || app.looksOnly;
    setText(why, app.looksOnly ? "At this address the page is only looked at." : live.kind === "station" ? "A station that runs alone takes no commands from here." : mine ? `You are in control, ${app.control.person}.` : live.control ? `${live.control.person} is in control: who is not can look, and change nothing.` : "Take control (above) to give commands.");
  };
  return element;
}

function eventsCard() {
  const rows = [["triggers", "triggers taken"], ["accepted", "accepted by level 2"], ["built", "built, and final"], ["incomplete", "of them incomplete"], ["recorded", "recorded"]];
  const cells = {};
  const body = el("tbody", {}, rows.map(([name, title]) => {
    cells[name] = [el("td", {class: "number"}), el("td", {class: "number"})];
    return el("tr", {}, el("th", {scope: "row"}, title), cells[name]);
  }));
  const element = card("Events of the run", el("table", {class: "narrow"}, el("thead", {}, el("tr", {}, el("th", {scope: "col"}, el("span", {class: "unseen"}, "what")), el("th", {scope: "col", class: "number"}, "events"), el("th", {scope: "col", class: "number"}, "rate"))), body));
  element.update = ({partition: p, kind, stations}) => {
    element.hidden = kind === "station" && stations[0]?.kind !== "record";
    for (const [name, [all, rate]] of Object.entries(cells)) {
      all.parentNode.hidden = kind === "station" && name !== "recorded";
      setText(all, count(p.events[name]));
      setText(rate, perSecond(p.rates[name]));
      if (name === "incomplete") setAttribute(all, "data-tone", p.events.incomplete > 0 ? "warn" : null);
    }
  };
  return element;
}

/// Events in hand by kind of station, in the order of the data flow, and who waits.
function flowCard() {
  const flow = el("ol", {class: "flow"});
  const held = el("ul", {class: "troubles"});
  const nobody = el("p", {class: "hint"}, "Nobody waits for another one.");
  const element = card("In hand, and who holds back whom", flow, held, nobody);
  element.update = (live, before) => {
    element.hidden = live.kind === "station";
    const kinds = order.filter((kind) => live.stations.some((s) => s.kind === kind)).map((kind) => {
      const of = live.stations.filter((s) => s.kind === kind);
      return {kind, what: of[0].ledger.what, hand: of.reduce((sum, s) => sum + s.ledger.in_hand, 0), rate: of.reduce((sum, s) => sum + s.rate, 0), stations: of.length};
    });
    // Readouts hold what is not yet cleared, and what a generator makes ahead: nobody is held back by that.
    const most = Math.max(1, ...kinds.filter((k) => k.kind !== "readout").map((k) => Math.log10(1 + k.hand)));
    each(flow, kinds, (k) => k.kind,
      () => el("li", {}, el("span", {class: "flow-name"}), el("span", {class: "flow-bar"}, el("i")), el("b"), el("small")),
      (node, k) => {
        const [name, bar, hand, rate] = node.children;
        setText(name, titles[k.kind] ?? k.kind);
        bar.firstChild.style.width = k.kind === "readout" ? "0" : `${100 * Math.log10(1 + k.hand) / most}%`;
        setText(hand, short(k.hand));
        setText(rate, k.kind === "readout" ? `kept, ${perSecond(k.rate)} in` : `${k.what}, ${perSecond(k.rate)} in`);
      });
    const found = live.partition.state === "running" || live.partition.state === "paused" ? waits(live, before) : [];
    each(held, found, (w) => w.key, () => el("li"), (node, w) => {
      setAttribute(node, "data-tone", w.wrong ? "warn" : "wait");
      setText(node, `${shapeOf(w.wrong ? "warn" : "wait")} ${w.text}`, 300);
    });
    nobody.hidden = found.length > 0;
  };
  return element;
}

function stationsCard(app) {
  const rejected = (s) => Object.values(s.ledger.rejected).reduce((a, b) => a + b, 0);
  const opened = new Set();
  const list = table([
    {title: "station", show: (s) => s.name},
    {title: "kind", show: (s) => titles[s.kind]?.replace(/s( |$)/, "$1") ?? s.kind},
    {title: "host", show: (s) => s.host || "here"},
    {title: "state", update: (cell, s) => setMark(cell, stationTone(s, app.live.partition.state), s.error ? "error" : silent(s) ? `does not answer for ${lasts(s.silent_seconds)}` : s.state)},
    {title: "rate in", number: true, show: (s) => silent(s) ? "–" : perSecond(s.rate)},
    {title: "in hand", number: true, show: (s) => count(s.ledger.in_hand)},
    {title: "rejected", number: true, show: (s) => count(rejected(s)), tone: (s) => rejected(s) > 0 ? "warn" : null},
    {title: "restarts", number: true, show: (s) => count(s.restarts), tone: (s) => s.restarts > 0 ? "warn" : null},
    {title: "alarms", number: true, show: (s) => count(s.alarms), tone: (s) => s.alarms > 0 ? "bad" : null},
  ], (s) => s.name, "Stations");
  const counters = el("div");
  const element = card("Stations", list, el("details", {ontoggle: (e) => { e.target.open ? opened.add(1) : opened.clear(); app.redraw(); }}, el("summary", {}, "Counters of each station"), counters));
  element.update = (live) => {
    const sorted = [...live.stations].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
    list.update(sorted);
    if (!opened.size) return;
    each(counters, sorted, (s) => s.name, (s) => el("section", {}, el("h3", {}, s.name), el("p", {class: "counters"})), (node, s) => {
      const all = {...Object.fromEntries(Object.entries(s.ledger.rejected).map(([k, v]) => [`rejected: ${k}`, v])), ...s.counters};
      setText(node.lastChild, Object.entries(all).map(([k, v]) => `${k.replaceAll("_", " ")} ${Number.isInteger(v) ? count(v) : short(v)}`).join(" · ") || "all zero", 4000);
    });
  };
  return element;
}

function sourcesCard(app) {
  const list = table([
    {title: "source", show: (s) => s.source},
    {title: "readout", show: (s) => s.readout || "–"},
    {title: "state", update: (cell, s) => s.masked ? setMark(cell, "off", "masked") : s.silent ? setMark(cell, "bad", "silent") : s.missing > 0 ? setMark(cell, "warn", "fragments missing") : setMark(cell, "good", "good")},
    {title: "arrived", number: true, show: (s) => count(s.arrived)},
    {title: "missing", number: true, show: (s) => count(s.missing), tone: (s) => s.missing > 0 ? "warn" : null},
    {title: "", update: (cell, s) => {
      if (!cell.firstChild) cell.append(el("button", {type: "button", class: "small", onclick: () => app.control.command({command: cell.masked ? "unmask" : "mask", source: s.source}).then(app.poll)}));
      cell.masked = s.masked;
      setText(cell.firstChild, s.masked ? "Unmask" : "Mask");
      setAttribute(cell.firstChild, "aria-label", `${s.masked ? "Unmask" : "Mask"} ${s.source}`);
      cell.firstChild.disabled = !app.control.mine(app.live);
    }},
  ], (s) => s.source, "Sources");
  const summary = el("p", {class: "hint"});
  const all = el("details", {}, el("summary", {}, "Show good sources too"));
  all.addEventListener("toggle", () => app.redraw());
  const element = card("Sources", summary, list, all);
  element.update = (live) => {
    const s = live.partition.sources;
    setText(summary, `${count(s.all)} sources: ${count(s.masked)} masked, ${count(s.silent)} silent, ${count(s.missing)} with missing fragments.`);
    list.update(s.worst.filter((one) => all.open || one.masked || one.silent || one.missing > 0));
    element.hidden = s.all === 0;
  };
  list.emptyText("no source is masked, silent or misses fragments");
  return element;
}

function changesCard() {
  const list = table([
    {title: "time", show: (c) => clock(c.time)}, {title: "what", show: (c) => c.what}, {title: "subject", show: (c) => c.subject || "–"},
    {title: "by", show: (c) => c.who || "–"}, {title: "why", show: (c) => c.why || "–"},
  ], (c) => c.time + c.what + c.subject, "Changes in this run");
  const element = card("Changes in this run", list);
  element.update = (live) => {
    list.update([...live.partition.changes].reverse());
    element.hidden = live.partition.changes.length === 0;
  };
  return element;
}

function hostsCard() {
  const tones = {up: "good", suspected: "warn", lost: "bad", unknown: "wait"};
  const list = table([
    {title: "machine", show: (h) => h.name}, {title: "state", update: (cell, h) => setMark(cell, tones[h.state] ?? "wait", h.state)},
    {title: "address", show: (h) => h.address || "–"}, {title: "stations", number: true, show: (h) => count(h.stations)}, {title: "trouble", show: (h) => h.trouble || "–"},
  ], (h) => h.name, "Machines");
  const element = card("Machines", list);
  element.update = (live) => {
    list.update(live.hosts);
    element.hidden = live.hosts.length === 0;
  };
  return element;
}

export const page = {
  name: "partition",
  title: "Partition",
  make(app) {
    const wrong = troubleList();
    const alone = app.live?.kind === "station";
    const rates = new Plot("Event rates over time", alone ? rateSeries.slice(-1) : rateSeries);
    const disk = new Plot("Bytes to disk over time", byteSeries);
    const wrongCard = card("What is wrong", wrong);
    const parts = [runCard(app), eventsCard(), flowCard(), hostsCard(), stationsCard(app), sourcesCard(app), changesCard()];
    const [run, events, flow, ...rest] = parts;
    const element = el("div", {class: "grid"}, el("div", {class: "column"}, wrongCard, run), el("div", {class: "column"}, events, flow),
      el("div", {class: "wide pair"}, card("Events a second", rates.element), card("Bytes a second", disk.element)), rest.map((part) => (part.classList.add("wide"), part)));
    let drawn = null;
    return {
      element,
      update(live, before) {
        wrong.update(live, before);
        for (const part of parts) part.update(live, before);
        if (drawn === live.tick) return;
        drawn = live.tick;
        rates.add(live.time, live.partition.rates);
        disk.add(live.time, live.partition.rates);
      },
    };
  },
};
