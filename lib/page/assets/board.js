// SPDX-License-Identifier: Apache-2.0
// What the numbers mean: whether data are taken and kept, what is wrong, and what holds back whom. No elements here.
import {alarmText, bytes, clean, count, lasts, perSecond, short} from "./text.js";

/// Of a partition: how its state looks.
export const stateTones = {
  running: "run", paused: "warn", ready: "idle", "coming up": "wait", starting: "wait", stopping: "wait", ending: "wait", down: "bad",
};
/// A station that was asked for its status for so long without an answer.
export const silent = (station) => station.silent_seconds > 2;
/// Of a station, beside the partition's state.
export function stationTone(station, partition) {
  if (station.error || station.state === "gone" || silent(station)) return "bad";
  if (station.alarms > 0) return "warn";
  if (station.state === "launching") return "wait";
  if (station.state === "running") return "good";
  if (station.state === "paused") return "warn";
  return partition === "running" ? "warn" : "idle";
}

/// Of a station that runs alone.
function verdictAlone(live, says) {
  const {partition: p, stations: [s]} = live;
  if (!s) return says("wait", "The station starts.");
  const {stored, in_hand: hand} = s.ledger;
  if (s.kind === "handoff") return hand > 0 ? says("run", `Files are handed over: ${count(hand)} to go, ${count(stored)} verified where they went.`) : says("idle", `Whatever is closed is handed over: ${count(stored)} files, verified where they went.`);
  if (p.state === "ready") return says("idle", `The run has ended: ${count(p.events.recorded)} recorded.`);
  if (s.counters.paused > 0) return says("bad", "NOTHING IS RECORDED: no disk takes events.");
  if (p.rates.recorded > 0) return says(live.latched > 0 ? "warn" : "run", `Data come and are kept: ${perSecond(p.rates.recorded)} recorded, ${bytes(p.rates.bytes)}/s to disk.`);
  return says("idle", "No data come now. What came is kept.");
}

/// Recorders that take nothing, and why: [{name, why}].
export function deafRecorders(stations, recorded) {
  return stations.filter((s) => s.kind === "record").flatMap((s) => {
    const why = s.error && !(recorded > 0) ? "has an error" : s.state === "gone" ? "is gone" : s.silent_seconds > 2 ? "does not answer" : s.counters.paused > 0 ? "has no disk that takes events" : "";
    return why ? [{name: s.name, why}] : [];
  });
}

/// A run that goes on.
function verdictRunning(live, {quiet, still}, says) {
  const {partition: {rates}, stations} = live;
  const deaf = deafRecorders(stations, rates.recorded);
  const who = deaf.slice(0, 3).map((r) => `${clean(r.name, 60)} ${r.why}`).join(", ") + (deaf.length > 3 ? `, and ${count(deaf.length - 3)} more` : "");
  const waiting = stations.filter((s) => s.kind === "assign").reduce((sum, s) => sum + s.ledger.in_hand, 0);
  const all = deaf.length > 0 && deaf.length === stations.filter((s) => s.kind === "record").length;
  if (all && deaf.some((r) => r.why === "does not answer") && quiet <= 5) return says("bad", `It is not known whether data are recorded: ${who}.`);
  if (all) return says("bad", `NOTHING IS RECORDED: ${who}. ${waiting > 0 ? `${count(waiting)} events wait.` : ""}`);
  if (quiet > 5 && (waiting > 0 && rates.built === 0 || !stations.some((s) => s.kind === "filter")))
    return says("bad", `NOTHING IS RECORDED for ${lasts(quiet)}${waiting > 0 ? `: ${count(waiting)} events wait` : ""}.`);
  if (deaf.length > 0) return says("warn", `${who}; the other recorders take ${perSecond(rates.recorded)}, ${bytes(rates.bytes)}/s to disk.`);
  if (quiet > 60) return says("warn", "Events are accepted, and none has passed the filters or was recorded for " + lasts(quiet) + ".");
  if (still > 10) return says("warn", "The run goes on, but no triggers come for " + lasts(still) + ".");
  const tone = live.latched > 0 ? "warn" : "run";
  if (rates.recorded > 0) return says(tone, `Data are taken and kept: ${perSecond(rates.recorded)} recorded, ${bytes(rates.bytes)}/s to disk.`);
  return says(tone, "The run goes on; data are about to come.");
}

/// {tone, text}: one sentence for who has never seen weir. `quiet`: for how many seconds nothing was recorded though
/// events were accepted or waited, `still`: for how many there was no trigger.
export function verdict(live, times) {
  const p = live.partition;
  const alarms = live.latched > 0 ? ` ${count(live.latched)} ${live.latched === 1 ? "alarm waits" : "alarms wait"} for an answer.` : "";
  const says = (tone, text) => ({tone, text: text + alarms});
  if (live.kind === "station") return verdictAlone(live, says);
  switch (p.state) {
    case "running": return verdictRunning(live, times, says);
    case "paused": return says("warn", "Paused: no data are taken until somebody resumes the run.");
    case "ready": return says(live.latched > 0 ? "warn" : "idle", "No run: nothing is recorded. All stations are ready.");
    case "starting": return says("wait", "The run is starting.");
    case "stopping": {
      const deaf = deafRecorders(live.stations, p.rates.recorded);
      const first = deaf.length > 0 ? `${clean(deaf[0].name, 60)} ${deaf[0].why}` : "";
      if (first && deaf.length < live.stations.filter((s) => s.kind === "record").length) return says("wait", `The run is stopping: what is in hand is being written; ${first}.`);
      return first ? says("bad", `The run cannot stop: what is in hand cannot be written, ${first}.`) : says("wait", "The run is stopping: what is in hand is being written.");
    }
    case "coming up": return says("wait", "The stations are being started.");
    case "ending": return says("wait", "The stations are being ended.");
    default: return says("bad", p.failure ? "The partition is down: " + clean(p.failure, 300) : "The partition is down.");
  }
}

const grows = (name, now, before) => (now.counters[name] ?? 0) > (before?.counters[name] ?? now.counters[name] ?? 0);

/// Who waits for whom, from what counters did since the last look: [{key, text, wrong}]. To wait a little
/// is how full stations hold back others; `wrong` is what should not be.
export function waits(live, before) {
  const earlier = new Map((before?.stations ?? []).map((s) => [s.name, s]));
  const found = [];
  for (const s of live.stations) {
    const was = earlier.get(s.name);
    const say = (text, wrong = false) => found.push({key: `${s.name} ${text.replace(/\d/g, "")}`, text: `${s.name} ${text}`, wrong});
    if (s.kind === "record" && s.counters.paused > 0) say("takes no more events: no disk of it does", true);
    if (s.kind === "supervise" && grows("waits_for_units", s, was)) say("waits for processing units");
    if (s.kind === "supervise" && grows("waits_for_assigner", s, was)) say("waits for the DFM: no builder has credit");
    if (s.kind === "assign" && s.counters.waiting > 0) say(`has ${count(s.counters.waiting)} events that wait for a builder with credit`);
    if (s.kind === "build" && s.counters.output_held > 0 && s.ledger.in_hand > 0)
      say(`has ${count(s.counters.output_held)} built events that wait for a filter or recorder`);
    if (s.kind === "filter" && grows("waits_for_recorder", s, was)) say("waits for a recorder");
    if (s.kind === "filter" && grows("waits_for_workers", s, was)) say("has as many events as its selection can take");
    if (s.kind === "filter" && s.counters.recorders_connected === undefined && live.partition.state === "running")
      say("is connected to no recorder", true);
    for (const [name, value] of Object.entries(s.counters))
      if (name.startsWith("busy_seconds ") && value - (was?.counters[name] ?? value) > 0.2)
        say(`has dead time: ${clean(name.slice(13), 60)} is busy`, true);
  }
  return found;
}

/// What is wrong, the worst first: [{key, tone, text, page}].
export function troubles(live, held) {
  const found = [];
  const p = live.partition;
  if (p.failure) found.push({key: "failure", tone: "bad", text: p.failure, page: "#log"});
  for (const host of live.hosts)
    if (host.state !== "up") found.push({key: "host " + host.name, tone: host.state === "lost" ? "bad" : "warn", text: `machine ${host.name} is ${host.state}: ${host.trouble}`, page: "#partition"});
  for (const a of live.alarms)
    if (a.latched) found.push({key: `alarm ${a.station} ${a.name}`, tone: a.severity === "warning" ? "warn" : "bad", text: `${a.station === "run" ? "" : a.station + ": "}${a.name}: ${alarmText(a)}`, page: "#alarms"});
  const up = ["running", "paused", "starting", "stopping"].includes(p.state);
  for (const s of live.stations) {
    if (s.error) found.push({key: "error " + s.name, tone: "bad", text: `${s.name}: ${s.error}`, page: "#partition"});
    else if (silent(s)) found.push({key: "silent " + s.name, tone: "bad", text: `${s.name} does not answer for ${lasts(s.silent_seconds)}`, page: "#partition"});
    else if (up && s.state === "gone") found.push({key: "gone " + s.name, tone: "bad", text: `${s.name} is gone; run control starts it again`, page: "#log"});
  }
  if (p.sources.silent > 0) found.push({key: "silent", tone: "warn", text: `${count(p.sources.silent)} of ${count(p.sources.all)} sources are silent`, page: "#partition"});
  if (up && p.events.incomplete > 0)
    found.push({key: "incomplete", tone: "warn", text: `${short(100 * p.events.incomplete / Math.max(p.events.built, 1))} % of the events are incomplete (${count(p.events.incomplete)})`, page: "#partition"});
  if (p.sources.masked > 0) found.push({key: "masked", tone: "off", text: `${count(p.sources.masked)} of ${count(p.sources.all)} sources are masked`, page: "#partition"});
  if (p.state === "running")
    for (const [i, wait] of held.filter((w) => w.wrong).slice(0, 4).entries()) found.push({key: `wait ${i}`, tone: "warn", text: wait.text, page: "#partition"});
  if (p.last?.problems_all > 0 && !up)
    found.push({key: "last", tone: "warn", text: `run ${p.last.run} was not well: ${p.last.problems[0]}`, page: `#runs/${p.last.run}`});
  const order = {bad: 0, warn: 1, wait: 2, off: 3};
  return found.sort((a, b) => order[a.tone] - order[b.tone]);
}
