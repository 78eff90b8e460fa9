// SPDX-License-Identifier: Apache-2.0
// Texts from outside made fit to be shown, and numbers made fit to be read.

// Control characters, and those that change the direction or place of others, are written as codes: a name can neither hide
// nor reorder what stands beside it.
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export function clean(text, most = 2000) {
  let shown = String(text ?? "");
  const whole = shown.length;
  if (whole > most) shown = shown.slice(0, most);
  shown = shown.replace(unseen, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
  return whole > most ? `${shown}… (${whole} characters)` : shown;
}

const grouped = new Intl.NumberFormat("en-US", {maximumFractionDigits: 0});
export const count = (n) => Number.isFinite(n) ? grouped.format(n) : "–";

/// Three digits that matter, with k, M, G.
export function short(n) {
  if (!Number.isFinite(n)) return "–";
  const size = Math.abs(n);
  for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]])
    if (size >= unit) return digits(n / (letter === "k" ? 1e3 : unit)) + " " + letter;
  return size >= 1000 || Number.isInteger(n) ? count(n) : digits(n);
}
/// A number at an axis, with as many digits as those a step away from it need.
export function tickText(n, step) {
  if (Math.abs(n) < 1000 * step) return short(n);
  return n.toLocaleString("en-US", {maximumFractionDigits: Math.min(Math.max(0, -Math.floor(Math.log10(step))), 20)});
}
function digits(n) {
  const size = Math.abs(n);
  return size === 0 ? "0" : size >= 100 ? n.toFixed(0) : size >= 10 ? n.toFixed(1) : size >= 0.01 ? n.toFixed(2) : n.toExponential(0);
}

/// A line of a log without what stands beside it anyway: {severity, text}.
export function lineOf(text) {
  const found = /^(?:\d{4}-\d\d-\d\dT\S{1,20}Z )?(information|warning|error|fatal) [\w-]{1,64}: /.exec(text.slice(0, 200));
  return found ? {severity: found[1], text: text.slice(found[0].length)} : {severity: "information", text};
}
/// Of an alarm, the same without its name, also where that begins it in words ("monitor threw: " of monitor_threw).
export function alarmText(alarm) {
  const {text} = lineOf(alarm.text);
  const spoken = (words) => words.replace(/[_-]/g, " ");
  for (const begin of [`ALARM ${alarm.name}: `, `${alarm.name}: `])
    if (spoken(text.slice(0, begin.length)) === spoken(begin)) return text.slice(begin.length);
  return text;
}

export const perSecond = (n) => short(n) + " /s";

export function bytes(n) {
  if (!Number.isFinite(n)) return "–";
  for (const [unit, name] of [[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]])
    if (n >= unit) return digits(n / unit) + " " + name;
  return n.toFixed(0) + " B";
}

/// "3 h 12 min"
export function lasts(seconds) {
  if (!Number.isFinite(seconds) || seconds < 0) return "–";
  if (seconds < 10) return seconds.toFixed(1) + " s";
  if (seconds < 120) return seconds.toFixed(0) + " s";
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

let zone;
let formats = {};
/// The laboratory's zone, as run control names it; an unknown one is the browser's.
export function useZone(name) {
  if (!name || name === zone) return;
  zone = name;
  try {
    new Intl.DateTimeFormat("en-GB", {timeZone: name});
    formats = {zone: name};
  } catch { formats = {}; }
}
function formatted(seconds, key, options) {
  if (!(seconds > 0 && seconds < 8.64e12)) return "–";  // JavaScript has no later time
  formats[key] ??= new Intl.DateTimeFormat("sv-SE", {...options, timeZone: formats.zone});
  return formats[key].format(seconds * 1000);
}
export const clock = (seconds) => formatted(seconds, "clock", {hour: "2-digit", minute: "2-digit", second: "2-digit"});
export const shortClock = (seconds) => formatted(seconds, "short", {hour: "2-digit", minute: "2-digit"});
export const date = (seconds) => formatted(seconds, "date", {year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit"});
