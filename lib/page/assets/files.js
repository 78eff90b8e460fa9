// SPDX-License-Identifier: Apache-2.0
// Streams and files of a run, where they went, and how long the disks last.
import {card, el, mark, setAttribute, setMark, setText, table} from "./elements.js";
import {bytes, count, date, lasts} from "./text.js";

/// Files and disks of one machine need not say which: its column is there when there are several.
const machine = {title: "machine", class: "machine", show: (x) => x.host ?? ""};
const showMachines = (element, items, silent) => element.classList.toggle("one-machine", silent.length === 0 && new Set(items.map((x) => x.host ?? "")).size < 2);
const placeOf = (x) => JSON.stringify([x.host ?? "", x.volume, x.name ?? ""]);

/// Tables of the files of one run; on the page Files and on that of a run.
export function fileTables() {
  const streams = table([
    {title: "stream", show: (s) => s.stream},
    {title: "files", number: true, show: (s) => count(s.files)},
    {title: "open", number: true, show: (s) => count(s.open)},
    {title: "handed over", number: true, show: (s) => count(s.handed_over)},
    {title: "deleted here", number: true, show: (s) => count(s.deleted)},
    {title: "not sane", number: true, show: (s) => count(s.not_sane), tone: (s) => s.not_sane > 0 ? "bad" : null},
    {title: "events, closed files", number: true, show: (s) => s.files > s.open ? count(s.events) : "–"},
    {title: "size", number: true, show: (s) => s.files > s.open ? bytes(s.bytes) : "–"},
  ], (s) => s.stream, "Streams");
  const files = table([
    {title: "file", class: "name", show: (f) => f.name},
    machine,
    {title: "stream", show: (f) => f.stream},
    {title: "state", update: (cell, f) => f.health !== "SANE" ? setMark(cell, "bad", f.health.toLowerCase()) : setMark(cell, f.state === "OPENED" ? "wait" : f.state === "DELETED" ? "off" : "good", f.state === "OPENED" ? "being written" : f.state === "DELETED" ? "deleted here" : "closed")},
    {title: "events", number: true, show: (f) => f.state === "OPENED" ? "–" : count(f.events)},
    {title: "size", number: true, show: (f) => f.state === "OPENED" ? "–" : bytes(f.bytes)},
    {title: "sums", class: "name", show: (f) => Object.entries(f.sums).map(([k, v]) => `${k} ${v}`).join(", ") || "–"},
    {title: "hand-off", class: "long", update: (cell, f) => {
      const bad = f.copies.find((c) => c.error || c.state === "FAILED" || c.state === "UNVERIFIED");
      const text = f.copies.map((c) => `${c.destination}: ${c.state.toLowerCase()}${c.error ? ` (${c.error})` : ""}`).join(", ");
      setText(cell, text || (f.transfer === "TRANSFERRED" ? "handed over" : "not begun"), 500);
      setAttribute(cell, "data-tone", bad ? "warn" : null);
    }},
  ], placeOf, "Files");
  const more = el("p", {class: "hint"});
  const element = el("div", {}, streams, files, more);
  element.update = (got) => {
    streams.update(got.streams);
    files.update(got.files);
    showMachines(files, [...got.files, ...got.volumes], got.silent);
    streams.emptyText(got.silent.length > 0 ? `no file yet of the recorders that answer; not of ${got.silent.join(", ")}` : "no file yet");
    setText(more, [got.left_out > 0 ? `${count(got.left_out)} older files are not shown; weir ls shows all.` : "", ...got.troubles].filter(Boolean).join(" "), 1000);
    setAttribute(more, "data-tone", got.troubles.length > 0 ? "warn" : null);
  };
  return element;
}

export const page = {
  name: "files",
  title: "Files",
  make(app) {
    let asking = false, askedAt = -1e9, got = null, gotAt = 0, trouble = "";
    const disks = table([
      {title: "disk", class: "name", show: (v) => v.volume},
      machine,
      {title: "size", number: true, show: (v) => bytes(v.bytes)},
      {title: "free", number: true, show: (v) => bytes(v.free)},
      {title: "used", update: (cell, v) => {
        if (!cell.firstChild) cell.append(el("span", {class: "flow-bar"}, el("i")), el("span", {class: "percent"}));
        const used = v.bytes ? 1 - v.free / v.bytes : 0;
        cell.firstChild.firstChild.style.width = `${100 * used}%`;
        setText(cell.lastChild, v.bytes ? `${(100 * used).toFixed(0)} %` : "cannot be read");
      }},
      {title: "state", update: (cell, v) => v.full ? setMark(cell, "bad", "full") : v.soon ? setMark(cell, "warn", "full soon") : v.free === null ? setMark(cell, "bad", "not there") : v.free < 0.05 * v.bytes ? setMark(cell, "warn", "nearly full") : setMark(cell, "good", "has space")},
    ], placeOf, "Disks");
    const full = el("p", {class: "big"});
    const title = el("p", {class: "hint"});
    const files = fileTables();

    function draw(live) {
      if (!got) return;
      files.update(got);
      const ofDevice = new Map(got.volumes.map((v) => [JSON.stringify([v.host ?? "", v.device ?? v.volume]), v.free ?? 0]));  // directories of one disk share its space
      const free = [...ofDevice.values()].reduce((sum, one) => sum + one, 0);
      const rate = live.partition.rates.bytes;
      const deaf = live.stations.filter((s) => s.kind === "record" && s.counters.paused > 0);
      const shown = got.volumes.map((v) => ({...v, full: v.free !== null && v.free < 0.2 * v.bytes && deaf.some((s) => !v.host || s.host === v.host), soon: v.free !== null && rate > 0 && free / rate < 7200}));
      disks.update(shown);
      showMachines(disks, got.volumes, got.silent);
      const without = got.silent.length > 0 ? ` Without the disks of ${got.silent.join(", ")}.` : "";
      if (trouble) {  // what was read before is no answer to what is free now
        setText(full, `How much is free is not known for ${lasts((performance.now() - gotAt) / 1000)}: ${trouble}`, 500);
        setAttribute(full, "data-tone", "bad");
        return setText(title, "Disks and files as they were then.");
      }
      // A disk can also have failed: which one, its alarm says.
      const word = shown.some((v) => v.full) ? "FULL" : "NO DISK TAKES EVENTS";
      setText(full, (deaf.length > 0 ? `${word}: ${deaf.map((s) => s.name).join(", ")} ${deaf.length === 1 ? "takes" : "take"} no more events; ${bytes(free)} are free.` : rate > 0 ? `Full in ${lasts(free / rate)} at ${bytes(rate)}/s; ${bytes(free)} are free.` : `${bytes(free)} are free; nothing is being written now.`) + without, 500);
      setAttribute(full, "data-tone", deaf.length > 0 ? "bad" : rate > 0 && free / rate < 7200 ? "warn" : null);
      setText(title, got.run ? `Files of run ${got.run}, the newest first.` : "No run has files yet.");
    }
    async function read() {
      if (asking || performance.now() - askedAt < 3000) return;
      asking = true;
      askedAt = performance.now();
      try {
        const answer = await fetch("/files", {signal: AbortSignal.timeout(20000)});
        const document = await answer.json();
        if (!answer.ok) throw new Error(document.error);
        got = document;
        gotAt = performance.now();
        trouble = "";
        if (app.live) draw(app.live);
      } catch (error) {
        trouble = error.message;
        if (!got) setText(title, "The files cannot be shown: " + error.message);
      }
      asking = false;
    }
    return {
      element: el("div", {class: "grid"}, el("div", {class: "wide"}, card("Disks", full, disks), card("Files", title, files))),
      update(live) {
        read();
        draw(live);
      },
    };
  },
};
