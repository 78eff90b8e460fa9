// SPDX-License-Identifier: Apache-2.0
// For a screen on the wall: read from across the room, and nothing to press.
import {el, setText} from "./elements.js";
import {byteSeries, rateSeries, troubleList} from "./partition.js";
import {Plot} from "./plot.js";
import {bytes, count, lasts, perSecond} from "./text.js";

export const page = {
  name: "wall",
  title: "Wall",
  make(app) {
    const numbers = [["recorded", ({partition: p}) => perSecond(p.rates.recorded)], ["to disk", ({partition: p}) => bytes(p.rates.bytes) + "/s"],
      ["events recorded", ({partition: p}) => count(p.events.recorded)], ["run lasts", ({partition: p}) => p.run ? lasts(p.seconds) : "–"]];
    const cells = numbers.map(() => el("b"));
    const wrong = troubleList();
    const plot = new Plot("Event rates over time", app.live?.kind === "station" ? rateSeries.slice(-1) : rateSeries);
    const element = el("div", {class: "wall"}, el("div", {class: "wall-numbers"}, numbers.map(([title], i) => el("p", {}, cells[i], el("span", {}, title)))), wrong, plot.element, el("p", {class: "wall-back"}, el("a", {href: "#partition"}, "all pages")));
    let drawn = null;
    return {
      element,
      update(live, before) {
        numbers.forEach(([, show], i) => setText(cells[i], show(live)));
        wrong.update(live, before, 6);
        if (drawn === live.tick) return;
        drawn = live.tick;
        plot.add(live.time, live.partition.rates);
      },
    };
  },
};
