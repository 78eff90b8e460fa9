// SPDX-License-Identifier: Apache-2.0
// Lines over time on a canvas. Series are told apart by their dashes too.
import {el, setText} from "./elements.js";
import {clock, short, shortClock} from "./text.js";

const dashes = [[], [7, 4], [2, 3], [10, 3, 2, 3]];
const hour = 3600, day = 86400;
const spans = [[600, "10 min"], [hour, "1 h"], [day, "24 h"]];

/// `series`: [{name, title, unit(value) -> text}], four at most. One scale for all.
export class Plot {
  #fine = null;    // {end, values: {name: [...]}} a second apart
  #coarse = null;  // ten seconds apart
  #span = 600;
  #loading = false;
  #loadedAt = 0;
  #again = 0;
  constructor(title, series) {
    this.series = series;
    this.canvas = el("canvas", {role: "img", "aria-label": title});
    this.values = series.map(() => el("b"));
    this.legend = el("ul", {class: "legend"}, series.map((s, i) => {
      const line = el("canvas", {width: 34, height: 10, "aria-hidden": "true"});
      line.dataset.index = i;
      return el("li", {}, line, s.title + " ", this.values[i]);
    }));
    this.buttons = spans.map(([span, name]) => el("button", {type: "button", class: "small", "aria-pressed": span === this.#span ? "true" : "false", onclick: () => this.#show(span)}, name));
    this.element = el("div", {class: "plot"}, el("div", {class: "plot-head"}, this.legend, el("div", {class: "buttons", role: "group", "aria-label": "time shown"}, this.buttons)), this.canvas);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  #show(span) {
    this.#span = span;
    this.buttons.forEach((b, i) => b.setAttribute("aria-pressed", spans[i][0] === span ? "true" : "false"));
    if (span === day) this.#load(day);
    this.draw();
  }

  async #load(span) {
    if (this.#loading || performance.now() < this.#again) return;
    this.#loading = true;
    try {
      const names = this.series.map((s) => encodeURIComponent(s.name)).join(",");
      const answer = await fetch(`/history?seconds=${span}&series=${names}`, {signal: AbortSignal.timeout(5000)});
      const got = await answer.json();
      const document = {end: got.end, step: got.step, values: got.series};
      if (span === day) [this.#coarse, this.#loadedAt] = [document, performance.now()];
      else this.#fine = document;
    } catch {
      this.#again = performance.now() + 3000;  // run control does not answer; the page shows that
    } finally { this.#loading = false; }
    this.draw();
  }

  /// `now`: {name: value} of this second.
  add(time, now) {
    this.series.forEach((s, i) => setText(this.values[i], s.unit(now[s.name])));
    const second = Math.floor(time);
    if (!this.#fine || second - this.#fine.end > 20 || second < this.#fine.end - 20) this.#load(hour);
    else {
      for (; this.#fine.end < second; ++this.#fine.end)
        for (const s of this.series) {
          const values = this.#fine.values[s.name] ??= [];
          values.push(this.#fine.end + 1 === second ? now[s.name] : null);
          if (values.length > hour) values.shift();
        }
    }
    if (this.#span === day && performance.now() - this.#loadedAt > 20000) this.#load(day);
    this.draw();
  }

  draw() {
    const box = this.canvas.getBoundingClientRect();
    if (box.width === 0 || document.hidden) return;
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(box.width), Math.round(box.height)];
    if (this.canvas.width !== width * scale || this.canvas.height !== height * scale) [this.canvas.width, this.canvas.height] = [width * scale, height * scale];
    const style = getComputedStyle(this.canvas);
    const color = (name) => style.getPropertyValue(name).trim();
    const colors = [color("--line-1"), color("--line-2"), color("--line-3"), color("--line-4")];
    const c = this.canvas.getContext("2d");
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, width, height);
    c.font = "12px system-ui, sans-serif";
    const data = this.#span === day ? this.#coarse : this.#fine;
    const step = data?.step ?? 1;
    const places = Math.floor(this.#span / step);
    const shown = this.series.map((s) => (data?.values[s.name] ?? []).slice(-places));
    let top = 0;
    for (const values of shown) for (const v of values) if (v > top) top = v;
    const tick = niceStep(top / 3 || 1);
    top = Math.max(Math.ceil(top / tick), 1) * tick;
    const [left, right, above, below] = [56, 8, 8, 22];
    const x = (i) => left + (width - left - right) * i / Math.max(places - 1, 1);
    const y = (v) => height - below - (height - above - below) * v / top;
    c.fillStyle = color("--quiet");
    c.strokeStyle = color("--grid");
    c.lineWidth = 1;
    c.textBaseline = "middle";
    c.textAlign = "right";
    for (let v = 0; v <= top * 1.001; v += tick) {
      c.beginPath();
      c.moveTo(left, Math.round(y(v)) + 0.5);
      c.lineTo(width - right, Math.round(y(v)) + 0.5);
      c.stroke();
      c.fillText(short(v), left - 6, y(v));
    }
    const end = data?.end ?? 0;
    c.textBaseline = "alphabetic";
    const labels = width > 500 ? 5 : 2;
    for (let i = 0; data && i <= labels; ++i) {
      c.textAlign = i === 0 ? "left" : i === labels ? "right" : "center";
      const time = end - this.#span * (1 - i / labels);
      c.fillText(this.#span > 600 ? shortClock(time) : clock(time), x((places - 1) * i / labels), height - 5);
    }
    c.lineWidth = 2;
    c.lineJoin = "round";
    shown.forEach((values, s) => {
      c.strokeStyle = colors[s];
      c.setLineDash(dashes[s]);
      c.beginPath();
      let pen = false;
      values.forEach((v, i) => {
        if (v === null || v === undefined) return void (pen = false);
        const at = [x(places - values.length + i), y(v)];
        if (pen) c.lineTo(...at);
        else c.moveTo(...at);
        pen = true;
      });
      c.stroke();
    });
    c.setLineDash([]);
    for (const line of this.legend.querySelectorAll("canvas")) {
      const k = line.getContext("2d");
      k.clearRect(0, 0, 34, 10);
      k.strokeStyle = colors[line.dataset.index];
      k.lineWidth = 3;
      k.setLineDash(dashes[line.dataset.index]);
      k.beginPath();
      k.moveTo(0, 5);
      k.lineTo(34, 5);
      k.stroke();
    }
  }
}

/// 1, 2 or 5 times a power of ten, not below `least`.
export function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= least);
}
