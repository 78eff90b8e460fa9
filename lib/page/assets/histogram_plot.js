// SPDX-License-Identifier: Apache-2.0
// One histogram on a canvas: of one axis as steps with errors, with a reference behind it; of two as a map of colours.
import {el} from "./elements.js";
import {niceStep} from "./plot.js";
import {clean, short, tickText} from "./text.js";

const colors = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];  // dark to light, also in grey
const binsMost = 1_000_000;

/// What is drawn of a document of GET /histograms?name=; throws when it contradicts itself.
export function parsed(h) {
  const axis = (a) => {
    const edges = a.edges ?? Array.from({length: a.bins + 1}, (_, i) => a.low + (a.high - a.low) * i / a.bins);
    if (!(a.bins >= 1 && a.bins <= binsMost && edges.length === a.bins + 1 && edges.every(Number.isFinite))) throw new Error("an axis is none");
    return {title: clean(a.title, 100), bins: a.bins, edges};
  };
  const x = axis(h.x), y = h.y ? axis(h.y) : null;
  const cells = (x.bins + 2) * (y ? y.bins + 2 : 1);
  if (h.contents.length !== cells || (h.squares && h.squares.length !== cells)) throw new Error("it has other bins than its axes");
  const at = (i, j = 0) => h.contents[i + (x.bins + 2) * j] ?? NaN;
  const error = (i) => Math.sqrt(h.squares ? h.squares[i] : Math.abs(h.contents[i]));
  let inside = 0;
  for (let j = y ? 1 : 0; j <= (y ? y.bins : 0); ++j) for (let i = 1; i <= x.bins; ++i) inside += at(i, j) || 0;
  return {x, y, at, error, inside, valueTitle: clean(h.value_title, 100)};
}

export class HistogramPlot {
  constructor() {
    this.canvas = el("canvas", {role: "img"});
    this.element = el("div", {class: "plot histogram"}, this.canvas);
    this.logarithmic = false;
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /// Both as parsed() gives them; `reference` may be null.
  show(name, now, reference) {
    this.canvas.setAttribute("aria-label", clean(`histogram ${name}`, 200));
    [this.now, this.reference] = [now, reference];
    this.draw();
  }

  draw() {
    const box = this.canvas.getBoundingClientRect();
    if (box.width === 0 || document.hidden || !this.now) return;
    const scale = window.devicePixelRatio || 1;
    [this.width, this.height] = [Math.round(box.width), Math.round(box.height)];
    if (this.canvas.width !== this.width * scale || this.canvas.height !== this.height * scale) [this.canvas.width, this.canvas.height] = [this.width * scale, this.height * scale];
    const style = getComputedStyle(this.canvas);
    this.color = (name) => style.getPropertyValue(name).trim();
    const c = this.c = this.canvas.getContext("2d");
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    c.font = "12px system-ui, sans-serif";
    this.right = this.now.y ? 84 : 28;
    if (this.now.y) this.#map();
    else this.#steps();
  }

  #place(axis, from, to) {
    const [low, high] = [axis.edges[0], axis.edges[axis.bins]];
    return (value) => from + (to - from) * (value - low) / (high - low);
  }

  /// A scale of its own: {of(value), ticks}.
  #values(low, high) {
    const [from, to] = [this.height - 40, 12];
    if (this.logarithmic) {
      const top = Math.log10(Math.max(high, 1e-300)), bottom = Math.min(Math.log10(low > 0 ? low : 0.5), top - 1);
      const of = (v) => from + (to - from) * Math.max(0, (Math.log10(Math.max(v, 1e-300)) - bottom) / (top + 0.1 - bottom));
      const step = Math.max(1, Math.ceil((top - bottom) / 6));
      return {of, ticks: ticksOf(bottom, top, step).map((power) => 10 ** power)};
    }
    const step = niceStep((high - low) / 4 || 1);
    const bottom = Math.floor(low / step) * step, top = high > 0 ? high * 1.05 : step;
    const of = (v) => from + (to - from) * (v - bottom) / (top - bottom || 1);
    return {of, ticks: ticksOf(bottom, top, step)};
  }

  #frame(x, y, yTicks, xAxis, titles) {
    const {c, width, height} = this;
    const [left, bottom] = [64, height - 40];
    c.fillStyle = this.color("--quiet");
    c.strokeStyle = this.color("--grid");
    c.lineWidth = 1;
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const tick of yTicks) {
      c.beginPath();
      c.moveTo(left, Math.round(y(tick)) + 0.5);
      c.lineTo(width - this.right, Math.round(y(tick)) + 0.5);
      c.stroke();
      c.fillText(short(tick), left - 6, y(tick));
    }
    const [low, high] = [xAxis.edges[0], xAxis.edges[xAxis.bins]];
    const step = niceStep((high - low) / Math.max(2, Math.floor(width / 110)));
    c.textAlign = "center";
    c.textBaseline = "alphabetic";
    for (const v of ticksOf(low, high, step)) {
      c.fillRect(Math.round(x(v)), bottom, 1, 5);
      c.fillText(tickText(v, step), x(v), bottom + 17);
    }
    c.fillStyle = this.color("--ink");
    c.textAlign = "right";
    c.fillText(titles[0], width - this.right, height - 6);
    c.save();
    c.translate(12, 12);
    c.rotate(-Math.PI / 2);
    c.fillText(titles[1], 0, 0);
    c.restore();
  }

  #steps() {
    const {c, now} = this;
    const factor = this.reference && this.reference.inside !== 0 && now.inside !== 0 ? now.inside / this.reference.inside : 1;
    let low = 0, high = 0, least = Infinity;
    for (let i = 1; i <= now.x.bins; ++i) {
      const [v, e] = [now.at(i), now.error(i)];
      if (v + e > high) high = v + e;
      if (v - e < low && v < 0) low = v - e;
      if (v > 0 && v < least) least = v;
      const r = this.reference ? this.reference.at(i) * factor : 0;
      if (r > high) high = r;
    }
    const x = this.#place(now.x, 64, this.width - this.right);
    const {of: y, ticks} = this.#values(this.logarithmic ? least / 2 : low, high);
    this.#frame(x, y, ticks, now.x, [now.x.title, now.valueTitle]);
    const outline = (of, times) => {
      c.beginPath();
      const base = y(0);
      c.moveTo(x(of.x.edges[0]), base);
      for (let i = 1; i <= of.x.bins; ++i) {
        const v = y((of.at(i) || 0) * times);
        c.lineTo(x(of.x.edges[i - 1]), v);
        c.lineTo(x(of.x.edges[i]), v);
      }
      c.lineTo(x(of.x.edges[of.x.bins]), base);
    };
    if (this.reference) {
      outline(this.reference, factor);
      c.globalAlpha = 0.25;
      c.fillStyle = this.color("--line-2");
      c.fill();
      c.globalAlpha = 1;
      c.strokeStyle = this.color("--line-2");
      c.setLineDash([5, 3]);
      c.stroke();
      c.setLineDash([]);
    }
    outline(now, 1);
    c.strokeStyle = this.color("--line-1");
    c.lineWidth = 2;
    c.stroke();
    if ((this.width - 76) / now.x.bins < 3) return;  // errors would be one block
    c.lineWidth = 1;
    c.beginPath();
    for (let i = 1; i <= now.x.bins; ++i) {
      const [v, e] = [now.at(i), now.error(i)];
      if (!(e > 0)) continue;
      const middle = x((now.x.edges[i - 1] + now.x.edges[i]) / 2);
      c.moveTo(middle, y(v - e));
      c.lineTo(middle, y(v + e));
    }
    c.stroke();
  }

  #map() {
    const {c, now} = this;
    let high = 0, low = 0, least = Infinity;
    for (let j = 1; j <= now.y.bins; ++j)
      for (let i = 1; i <= now.x.bins; ++i) {
        const v = now.at(i, j);
        if (v > high) high = v;
        if (v < low) low = v;
        if (v > 0 && v < least) least = v;
      }
    const [left, top, bottom] = [64, 12, this.height - 40];
    const x = this.#place(now.x, left, this.width - this.right), y = this.#place(now.y, bottom, top);
    const step = niceStep((now.y.edges[now.y.bins] - now.y.edges[0]) / 5);
    this.#frame(x, y, ticksOf(now.y.edges[0], now.y.edges[now.y.bins], step), now.x, [now.x.title, now.y.title]);
    const share = this.logarithmic ? (v) => v > 0 ? (Math.log(v / least) + 0.1) / (Math.log(high / least) + 0.1) : 0
      : (v) => (v - low) / (high - low || 1);
    // A point of the screen shows the largest of its bins: none is hidden where there are more bins than points.
    const points = new Map();
    for (let j = 1; j <= now.y.bins; ++j)
      for (let i = 1; i <= now.x.bins; ++i) {
        const v = now.at(i, j);
        if (!v) continue;
        const [x0, x1, y0, y1] = [x(now.x.edges[i - 1]), x(now.x.edges[i]), y(now.y.edges[j]), y(now.y.edges[j - 1])];
        if (x1 - x0 < 1 || y1 - y0 < 1) {
          const key = Math.floor(x0) * 65536 + Math.floor(y0);
          if ((points.get(key) ?? -Infinity) < v) points.set(key, v);
          continue;
        }
        c.fillStyle = colorOf(share(v));
        c.fillRect(Math.floor(x0), Math.floor(y0), Math.ceil(x1) - Math.floor(x0), Math.ceil(y1) - Math.floor(y0));
      }
    for (const [key, v] of points) {
      c.fillStyle = colorOf(share(v));
      c.fillRect(Math.floor(key / 65536), key % 65536, 2, 2);
    }
    for (let i = 0; i < 64; ++i) {
      c.fillStyle = colorOf(i / 63);
      c.fillRect(this.width - 72, bottom - (bottom - top) * (i + 1) / 64, 14, (bottom - top) / 64 + 1);
    }
    c.fillStyle = this.color("--quiet");
    c.textAlign = "left";
    c.fillText(short(high), this.width - 54, top + 8);
    c.fillText(short(this.logarithmic && least < Infinity ? least : low), this.width - 54, bottom);
  }
}

/// Forty at most, whatever the numbers are.
function ticksOf(low, high, step) {
  const all = [];
  for (let i = Math.ceil(low / step); all.length < 40 && i * step <= high + step * 1e-6; ++i) all.push(i * step);
  return all;
}

function colorOf(share) {
  const place = Math.min(Math.max(share || 0, 0), 1) * (colors.length - 1);
  const first = Math.min(Math.floor(place), colors.length - 2);
  return `rgb(${colors[first].map((v, i) => Math.round(v + (colors[first + 1][i] - v) * (place - first))).join(" ")})`;
}
