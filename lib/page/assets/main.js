// SPDX-License-Identifier: Apache-2.0
// Asks for the live document every second, and shows it: the head, which is on every page, and the page that the address
// names behind '#'.
import {page as alarms} from "./alarms.js";
import {stateTones, verdict} from "./board.js";
import {Control} from "./control.js";
import {ask} from "./dialogs.js";
import {each, el, setAttribute, setText, shapeOf} from "./elements.js";
import {page as event} from "./event.js";
import {page as files} from "./files.js";
import {page as histograms} from "./histograms.js";
import {page as log} from "./log.js";
import {page as partition} from "./partition.js";
import {page as runs} from "./runs.js";
import {clean, lasts, useZone} from "./text.js";
import {page as wall} from "./wall.js";

const pages = [partition, alarms, files, event, histograms, runs, log, wall];
const period = 1000, staleAfter = 2500;  // ms
const alone = new Set([partition, alarms, files, log, wall]);  // what a station has that runs alone
const at = (id) => document.getElementById(id);

const app = {
  live: null,      // the newest document
  before: null,    // of the tick before it
  poll: () => poll(),
  redraw: () => show(draw),
  notice(text) {
    const box = at("notice");
    box.replaceChildren(document.createTextNode(clean(text, 600)), el("button", {type: "button", class: "small", onclick: () => (box.hidden = true)}, "Close"));
    box.hidden = false;
  },
};
app.control = new Control(app.notice);

let lastTick = "", tickAt = performance.now(), polling = false, timer = 0, trouble = "", current = null;
const made = new Map();
const since = {recorded: performance.now(), trigger: performance.now()};  // the last second in which there were any

const shownPages = () => app.live?.kind === "station" ? pages.filter((p) => alone.has(p)) : pages;

function where() {
  const [name, ...rest] = location.hash.slice(1).split("/");
  return [shownPages().find((p) => p.name === name) ?? partition, rest.join("/")];
}

async function poll() {
  if (polling) return;
  polling = true;
  clearTimeout(timer);
  const begun = performance.now();
  try {
    const answer = await fetch("/live", {signal: AbortSignal.timeout(2400), cache: "no-store"});
    if (!answer.ok) throw new Error(answer.status === 403 ? "this browser may not look here: it needs a certificate, or the address with the token" : `answer ${answer.status}`);
    app.looksOnly = answer.headers.get("Weir-View") === "only";
    take(await answer.json());
    trouble = "";
  } catch (error) {
    trouble = error.name === "TimeoutError" || error instanceof TypeError ? "run control does not answer" : error.message;
  }
  polling = false;
  show(draw);
  timer = setTimeout(poll, Math.max(100, period - (performance.now() - begun)));
}

/// A document that cannot be shown must not end the asking: the next one may be good.
function show(work) {
  try {
    work();
  } catch (error) {
    trouble = "what run control answers cannot be shown: " + clean(error.message, 200);
    console.warn(trouble);
  }
}

function take(live) {
  const tick = `${live.server} ${live.tick}`;
  if (tick !== lastTick) {
    lastTick = tick;
    const last = tickAt;
    tickAt = performance.now();
    if (tickAt - last > 5000) since.recorded = since.trigger = tickAt;  // nobody looked meanwhile
    app.before = app.live;
    const {state, rates} = live.partition;
    const waiting = live.stations.some((s) => s.kind === "assign" && s.ledger.in_hand > 0);
    if (state !== "running" || rates.recorded > 0 || (rates.accepted === 0 && !waiting)) since.recorded = tickAt;
    if (state !== "running" || rates.triggers > 0) since.trigger = tickAt;
  }
  app.live = live;
  useZone(live.zone);
}

function drawHead() {
  const {live} = app;
  const age = performance.now() - tickAt;
  const stale = age > staleAfter;
  document.documentElement.dataset.stale = stale ? "yes" : "no";
  const ageText = stale ? `STALE: nothing new for ${lasts(age / 1000)}` : live ? "live, each second" : "no answer yet";
  setText(at("age"), ageText);
  setAttribute(at("age"), "data-tone", stale ? "bad" : "good");
  if (!live) {
    if (stale) setText(at("verdict"), `No answer: ${trouble || "run control does not answer"}.`);
    return;
  }
  const p = live.partition;
  const said = verdict(live, {quiet: (tickAt - since.recorded) / 1000, still: (tickAt - since.trigger) / 1000});
  const tone = stale ? "stale" : said.tone;
  setAttribute(at("head"), "data-tone", tone);
  setText(at("shape"), stale ? "?" : shapeOf(stateTones[p.state] ?? "bad"));
  setText(at("partition-name"), p.name, 60);
  setText(at("state"), stale ? `was ${p.state}` : p.state);
  setText(at("run"), p.run ? `run ${p.run}` : "");
  const call = live.contact && (["bad", "warn"].includes(said.tone) || stale) ? ` Call: ${clean(live.contact, 200)}.` : "";
  setText(at("verdict"), (stale ? `This is old: ${trouble || "nothing new comes from run control"}. What is happening now is not known.` : said.text) + call);
  const title = `${stale ? "? STALE" : shapeOf(stateTones[p.state] ?? "bad") + " " + p.state}${live.latched ? ` (${live.latched})` : ""} – ${clean(p.name, 40)}`;
  if (document.title !== title) document.title = title;

  at("take").closest(".control").hidden = live.kind === "station";
  const mine = app.control.mine(live);
  setText(at("holder"), mine ? `You (${live.control.person}) are in control.` : live.control ? `${live.control.person} is in control.` : "Nobody is in control.", 120);
  at("take").hidden = mine || app.looksOnly;
  setText(at("take"), live.control ? "Take by force…" : "Take control…");
  at("release").hidden = !mine;
}

function drawNav() {
  const [now] = where();
  const links = shownPages().map((p, i) => ({key: p.name, href: "#" + p.name, text: p === partition && app.live?.kind === "station" ? "Station" : p.title, now: p === now, alarms: p === alarms ? app.live?.latched ?? 0 : 0, hint: `key ${i + 1}`}));
  for (const name of app.live?.pages ?? []) links.push({key: "/pages/" + name, href: "/pages/" + encodeURIComponent(name), text: name.replace(/\.html$/, "")});
  each(at("nav"), links, (l) => l.key, (l) => el("a", {href: l.href, title: l.hint}, el("span"), el("b")), (node, l) => {
    setText(node.firstChild, l.text, 40);
    setText(node.lastChild, l.alarms ? String(l.alarms) : "");
    setAttribute(node, "aria-label", l.alarms ? `${l.text}, ${l.alarms} waiting` : null);
    setAttribute(node, "aria-current", l.now ? "page" : null);
  });
}

function draw() {
  drawHead();
  drawNav();
  const [page, rest] = where();
  if (app.live && location.hash && location.hash.slice(1).split("/")[0] !== page.name) history.replaceState(null, "", "#" + page.name);
  document.documentElement.dataset.page = page.name;
  if (!app.live) return;
  if (!made.has(page)) made.set(page, page.make(app));
  const shown = made.get(page);
  if (current !== shown) {
    at("content").replaceChildren(shown.element);
    current = shown;
  }
  shown.update(app.live, app.before, rest);
}

at("take").addEventListener("click", async () => {
  const holder = app.live?.control?.person;
  const given = await ask(holder ? "Take control by force" : "Take control",
    holder ? `${holder} is in control now, and gives no commands any more then. Both names go into the log.` : "One person at a time gives commands. Your name goes into the log.",
    [{name: "person", label: "Your name", required: true, most: 60, value: app.control.person}], holder ? "Take by force" : "Take control", holder ? "bad" : "run");
  if (given?.person.trim()) await app.control.take(given.person.trim(), Boolean(holder)).then(poll);
});
at("release").addEventListener("click", () => app.control.release().then(poll));
document.querySelector(".skip").addEventListener("click", (e) => { e.preventDefault(); at("content").focus(); });  // its address names no page
addEventListener("hashchange", () => { show(draw); scrollTo(0, 0); });
document.addEventListener("visibilitychange", () => document.hidden || poll());
addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.altKey || e.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) || document.querySelector("dialog[open]")) return;
  const page = shownPages()[Number(e.key) - 1];
  if (page) location.hash = "#" + page.name;
});
setInterval(() => show(drawHead), 500);
drawNav();
poll();
