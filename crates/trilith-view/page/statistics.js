// The statistics of an array, and its histogram.

import { json, isGivenUp } from "./api.js";
import { canvas, colour, el, short } from "./dom.js";
import { axes, bars } from "./plot.js";
import * as state from "./state.js";

export class StatisticsView {
  constructor(host, wants, item) {
    this.wants = { ...wants, slice: state.get("slice") || undefined };
    this.unit = item.unit ?? "";
    this.list = el("div", { class: "padded" }, el("p", { class: "quiet" }, "Reading…"));
    this.box = el("div", { class: "plotted" });
    host.append(this.list, this.box);
    this.drawn = canvas(this.box, (context, width, height) => this.draw(context, width, height), "Histogram");
    this.load();
  }

  async load() {
    this.loading = new AbortController();
    try {
      this.answer = await json("stats", this.wants, this.loading.signal);
      const number = (value) => (typeof value === "number" ? `${short(value)}${this.unit ? ` ${this.unit}` : ""}` : value);
      this.list.replaceChildren(el("table", { class: "facts" }, ...this.answer.facts.map(([name, value, isCount]) =>
        el("tr", {}, el("th", {}, name), el("td", { class: "mono" }, value === null ? "–" : isCount ? String(value) : number(value))))));
      this.drawn.draw();
    } catch (error) {
      this.list.replaceChildren(el("p", { class: isGivenUp(error) ? "quiet" : "bad" }, isGivenUp(error) ? "Cancelled." : error.message));
    }
  }

  draw(context, width, height) {
    const histogram = this.answer?.histogram;
    if (!histogram?.counts?.length) return;
    const { counts, edges } = histogram;
    const { x, y } = axes(context, width, height, [edges[0], edges[edges.length - 1]], [0, Math.max(...counts, 1)]);
    bars(context, { counts, edges }, x, y, colour("data"));
  }

  end() { this.loading?.abort(); }
}
