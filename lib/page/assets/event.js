// SPDX-License-Identifier: Apache-2.0
// An event that passes through a builder or filter: its header, the tree of its fragments, words of each, what level 2 found.
import {card, each, el, labelled, mark, setMark, setText, table} from "./elements.js";
import {bytes, clean, count, date} from "./text.js";

const hex = (n, digits = 8) => Number.isInteger(n) ? "0x" + n.toString(16).padStart(digits, "0") : "–";
const list = (value) => Array.isArray(value) ? value : [];
const record = (value) => value && typeof value === "object" ? value : {};
const wordsShown = 4096;  // of a fragment at once

/// "good", or the names of the bits.
function setStatus(node, fragment) {
  const names = list(fragment.status_names).map((name) => clean(name, 40));
  setMark(node, fragment.error || names.length ? "warn" : "good", fragment.error ? "damaged" : names.length ? "marked" : "good");
  if (fragment.error || names.length) node.append(document.createTextNode(` ${clean(fragment.error ?? names.join(", "), 500)}`));
}

/// Eight words a line behind their offset in the event.
export function wordLines(view, from, size) {
  const end = Math.min(from + size, view.byteLength), lines = [];
  for (let at = from; at < end;) {
    let line = at.toString(16).padStart(8, "0") + " ";
    for (let i = 0; i < 8 && at < end; ++i)
      if (end - at >= 4) line += " " + view.getUint32(at, true).toString(16).padStart(8, "0"), at += 4;
      else for (; at < end; ++at) line += " " + view.getUint8(at).toString(16).padStart(2, "0");
    lines.push(line);
  }
  return lines.join("\n");
}

/// Any JSON value as text: {name, value} pairs and members a line each.
function valueLines(value, depth = 0) {
  const indent = "  ".repeat(depth);
  if (depth > 6) return [indent + "…"];
  if (Array.isArray(value)) {
    if (value.every((v) => v === null || typeof v !== "object")) return [indent + value.slice(0, 64).map(String).join(", ") + (value.length > 64 ? `, … ${value.length} in all` : "")];
    const lines = value.slice(0, 200).flatMap((v) => v && "name" in Object(v) && "value" in Object(v) && typeof v.value !== "object" ? [`${indent}${v.name} = ${v.value}`] : valueLines(v, depth + 1));
    return value.length > 200 ? [...lines, `${indent}… ${value.length} in all`] : lines;
  }
  if (value && typeof value === "object")
    return Object.entries(value).slice(0, 200).flatMap(([name, v]) => v && typeof v === "object" ? [`${indent}${name}:`, ...valueLines(v, depth + 1)] : [`${indent}${name}: ${v}`]);
  return [indent + String(value)];
}

/// Shows one event: {station, id, event} of GET /event. `words(id)` gives its bytes.
export function eventView(words) {
  const facts = el("dl", {class: "facts"}), trouble = el("p", {class: "big", "data-tone": "bad", hidden: true});
  const detectors = el("div"), results = el("pre", {tabindex: "0", role: "region", "aria-label": "results of level 2"});
  const resultCard = card("Results of level 2", results);
  const dump = el("pre", {tabindex: "0", role: "region", "aria-label": "words"}), dumpTitle = el("p", {class: "hint"});
  const dumpCard = card("Words", dumpTitle, dump);
  const more = el("p", {class: "hint"});
  let shown = null;

  async function showWords(title, from, size) {
    const of = shown;
    dumpCard.hidden = false;
    setText(dumpTitle, `${title}: reading…`);
    setText(dump, "");
    try {
      const view = new DataView(await words(of.id));
      if (of !== shown) return;
      const part = Math.min(size, 4 * wordsShown);
      setText(dumpTitle, `${title}, ${bytes(size)} at offset ${hex(from)}${part < size ? `; its first ${bytes(part)}` : ""}.`, 300);
      dump.textContent = wordLines(view, from, part);
      dumpCard.scrollIntoView({block: "nearest"});
    } catch (error) {
      if (of === shown) setText(dumpTitle, `${title}: ${error.message}`, 500);
    }
  }
  const columns = [
    {title: "source", class: "name", show: (r) => hex(r.source)},
    {title: "status", class: "long", update: setStatus},
    {title: "size", number: true, show: (r) => bytes(r.bytes)},
    {title: "data words", number: true, show: (r) => count(record(r.rod).data_words)},
    {title: "level-1 id", class: "name", show: (r) => hex(record(r.rod).level1_id)},
    {title: "crossing", number: true, show: (r) => count(record(r.rod).bunch_crossing_id)},
    {title: "words", update: (cell, r) => {
      if (!cell.firstChild) cell.append(el("button", {type: "button", class: "small", onclick: () => showWords(`ROB ${hex(cell.rob.source)}`, cell.rob.offset, cell.rob.bytes)}, "Show"));
      cell.rob = r;
    }},
  ];
  const element = el("div", {class: "wide"}, trouble, card("Event", facts, el("div", {class: "buttons"}, el("button", {type: "button", class: "small", onclick: () => shown && showWords("The event", 0, shown.event.bytes)}, "All its words"), el("a", {class: "download", download: ""}, "Download its bytes"))), resultCard, card("Fragments", more, detectors), dumpCard);
  const link = element.querySelector(".download");
  dumpCard.hidden = resultCard.hidden = true;

  function show(got) {
    shown = got;
    const event = record(got.event), header = record(event.header);
    const status = el("span");
    setStatus(status, header);
    const pairs = [
      ["from", got.station], ["run", count(event.run)], ["global id", count(event.global_id)], ["level-1 id", hex(event.level1_id)],
      ["lumi block", count(event.lumi_block)], ["time", date(header.time)], ["size", `${bytes(event.bytes)} in ${count(event.robs)} ROBs, ${clean(event.format, 40)}, adler32 ${clean(event.adler32, 8)}`],
      ["streams", list(event.tags).slice(0, 100).join(", ") || "none in its header"], ["status", status], ["trigger", `type ${hex(header.trigger_type, 2)}, crossing ${count(header.bunch_crossing_id)}; words: ${count(header.level1_words)} level-1, ${count(header.level2_words)} level-2, ${count(header.filter_words)} event filter`]];
    facts.replaceChildren(...pairs.flatMap(([name, value]) => {
      const cell = el("dd");
      if (value instanceof Node) cell.append(value);
      else setText(cell, value, 2000);
      return [el("dt", {}, name), cell];
    }));
    trouble.hidden = !event.error;
    setText(trouble, event.error ? `✖ Something in it is damaged: ${clean(event.error, 1000)}` : "", 1100);
    link.href = `/event/${Number(got.id) || 0}`;
    const found = list(event.results);
    resultCard.hidden = found.length === 0;
    results.textContent = found.slice(0, 16).map((r) => [`${hex(record(r).source)}  ${clean(record(r).class ?? "no object", 200)}, ${bytes(record(r).bytes)}${record(r).error ? `: ${clean(r.error, 300)}` : ""}`, ...valueLines(record(r).members ?? record(r).hex ?? "", 1)].map((line) => clean(line, 500)).join("\n")).join("\n").slice(0, 100_000);

    const groups = new Map();
    for (const rob of list(event.rob_list).filter((r) => r && typeof r === "object")) {
      const detector = (rob.source >> 16) & 0xff;
      if (!groups.has(detector)) groups.set(detector, []);
      groups.get(detector).push(rob);
    }
    const few = groups.size <= 4;
    each(detectors, [...groups].sort(([a], [b]) => a - b), ([detector]) => detector, ([detector]) => {
      const body = table(columns, (r) => r.offset, `ROBs of sub-detector ${hex(detector, 2)}`);
      const made = el("details", {open: few}, el("summary"), body);
      made.body = body;
      made.addEventListener("toggle", () => made.open && made.body.update(made.robs));
      return made;
    }, (node, [detector, robs]) => {
      const marked = robs.filter((r) => r.error || list(r.status_names).length).length;
      node.robs = robs;
      setText(node.firstChild, `sub-detector ${hex(detector, 2)}: ${robs.length === 1 ? "1 ROB" : count(robs.length) + " ROBs"}, ${bytes(robs.reduce((sum, r) => sum + (Number(r.bytes) || 0), 0))}${marked ? `, ▲ ${marked} marked` : ""}`);
      if (node.open) node.body.update(robs);
    });
    setText(more, event.left_out > 0 ? `${count(event.left_out)} more ROBs are not shown.` : groups.size ? "" : "It has no fragments that can be read.");
    dumpCard.hidden = true;
  }
  return {element, show};
}

const patience = 10000;  // ms in which an event is asked for again where none passed

export const page = {
  name: "event",
  title: "Event",
  make(app) {
    const station = el("select", {id: "event-station"});
    const stream = el("input", {id: "event-stream", type: "text", maxlength: "200", placeholder: "physics_Main", autocomplete: "off", spellcheck: "false"});
    const source = el("input", {id: "event-source", type: "text", maxlength: "12", placeholder: "0x420000", autocomplete: "off", spellcheck: "false"});
    const least = el("input", {id: "event-size", type: "number", min: "0", placeholder: "bytes"});
    const incomplete = el("input", {id: "event-incomplete", type: "checkbox"});
    const follow = el("button", {type: "button", "aria-pressed": "false", onclick: () => { follow.setAttribute("aria-pressed", String(following = !following)); if (following) next(); }}, "Keep going");
    const said = el("p", {class: "hint", role: "status"}, "No event yet.");
    const form = el("form", {class: "filter", onsubmit: (e) => { e.preventDefault(); next(); }},
      labelled("From", station), labelled("Stream", stream), labelled("With source", source), labelled("At least", least),
      el("span", {}, incomplete, " ", el("label", {for: "event-incomplete"}, "incomplete only")), el("button", {type: "submit", class: "main"}, "Next event"), follow);
    const view = eventView(async (id) => {
      const answer = await fetch(`/event/${id}`, {signal: AbortSignal.timeout(20000)});
      if (!answer.ok) throw new Error((await answer.json()).error);
      return answer.arrayBuffer();
    });
    view.element.hidden = true;
    let number = 0, underWay = null, asking = false, following = false, passed = 0, askedAt = 0;

    async function next() {
      const mine = ++number;  // who asks again waits no more for what was asked before
      underWay?.abort();
      asking = true;
      askedAt = performance.now();
      passed = following ? passed : 0;
      setText(said, "Waiting for the next event…");
      const wish = new URLSearchParams({station: station.value, stream: stream.value.trim(), source: source.value.trim(), size_min: least.value, incomplete: incomplete.checked ? "1" : ""});
      for (const [name, value] of [...wish]) if (!value) wish.delete(name);
      try {
        for (let found = false; !found && mine === number && performance.now() - askedAt < patience && form.isConnected;) {
          underWay = new AbortController();
          const late = setTimeout((one) => one.abort(), 20000, underWay);
          const answer = await fetch("/event?" + wish, {signal: underWay.signal});
          const got = await answer.json();
          clearTimeout(late);
          if (mine !== number) return;
          if (answer.status === 503) {  // others ask too
            setText(said, "Waiting: " + got.error, 300);
            await new Promise((soon) => setTimeout(soon, 500));
            continue;
          }
          if (!answer.ok) throw new Error(got.error);
          found = Boolean(got.event);
          if (found) {
            view.show(got);
            view.element.hidden = false;
            passed = 0;
            setText(said, `An event of ${got.station}. Of those that pass, some are never looked at: data do not wait.`, 300);
          } else {
            passed += got.passed;
            setText(said, app.live && !["running", "stopping"].includes(app.live.partition.state) ? app.live.partition.state === "paused" ? "No event passes: the run is paused." : "No event passes: no run goes on." : `No such event yet among ${count(passed)} that were looked at in ${got.station}${got.too_large > 0 ? `; ${count(got.too_large)} are larger than 16 MiB` : ""}${list(got.streams).length ? `; streams that pass there: ${got.streams.join(", ")}` : ""}.`, 600);
            await new Promise((soon) => setTimeout(soon, 300));
          }
        }
      } catch (error) { if (mine === number) setText(said, "No event: " + error.message, 500); }
      asking &&= mine !== number;
    }
    return {
      element: el("div", {class: "grid"}, el("div", {class: "wide"}, card("Event", form, said), view.element)),
      update(live) {
        const names = live.stations.filter((s) => s.kind === "build" || s.kind === "filter").map((s) => s.name);
        each(station, ["", ...names], (name) => name, (name) => el("option", {value: name}, name || "where they leave"));
        if (following && !asking && performance.now() - askedAt > 900) next();
      },
    };
  },
};
