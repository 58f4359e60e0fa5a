// The plot of an array with one axis, or of a column: what is in sight is asked for, in as many points as there are pixels.

import { json, isGivenUp } from "./api.js";
import { canvas, colour, el, rested, short } from "./dom.js";
import { axes, curve, reach } from "./plot.js";
import * as state from "./state.js";

export class LineView {
  constructor(host, item, wants) {
    this.wants = wants;
    this.item = item;
    this.length = item.length;
    this.points = null;
    const range = (state.get("range") || "").split(":").map(Number);
    [this.from, this.to] = range.length === 2 && range[1] > range[0] ? range : [0, this.length];
    const tools = el("div", { class: "tools" });
    if (item.columns) {
      const names = item.columns.map(({ name }) => name);
      const chosen = names.includes(state.get("y")) ? state.get("y") : names[0];
      this.column = chosen;
      const select = el("select", { "aria-label": "Column", onchange: () => {
        this.column = select.value;
        state.set({ y: this.column });
        this.load();
      } }, ...names.map((name) => el("option", { value: name, selected: name === chosen }, name)));
      tools.append(el("label", {}, "Column", select));
    }
    this.status = el("span", { class: "mono", role: "status" });
    tools.append(el("button", { type: "button", onclick: () => this.zoom(0, this.length) }, "All"),
      el("button", { type: "button", onclick: () => this.save() }, "Save picture"), this.status);
    const box = el("div", { class: "plotted", tabindex: "0", "aria-label": "Plot. Plus and minus zoom, the arrows move." });
    host.append(tools, box);
    this.drawn = canvas(box, (context, width, height) => this.draw(context, width, height), "Plot of the values");
    this.load = rested(() => this.fetch(), 60);
    this.events(box);
    this.fetch();
  }

  async fetch() {
    this.loading?.abort();
    this.loading = new AbortController();
    const points = Math.max(200, Math.round(this.drawn.canvas.clientWidth) || 1000);
    const parameters = { ...this.wants, from: this.from, to: this.to, points, name: this.column };
    try {
      this.points = await json("profile", parameters, this.loading.signal);
      this.status.textContent = this.points.high ? `each point: the range of ${this.points.step} values` : "";
      this.drawn.draw();
    } catch (error) {
      if (!isGivenUp(error)) this.status.textContent = error.message;
    }
  }

  /** The name and the unit of what is plotted. */
  get label() {
    const { name, unit } = this.item.columns?.find((column) => column.name === this.column) ?? this.item;
    return unit ? `${name} (${unit})` : name;
  }

  /** The dimension scale, if its values in sight only rise or only fall: the value at an index, and the index of a value. */
  measure() {
    const { along, from, step } = this.points;
    const values = along?.values ?? [];
    const signs = values.slice(1).map((value, at) => Math.sign(value - values[at]));
    if (values.length < 2 || values.includes(null) || signs.some((sign) => sign === 0 || sign !== signs[0])) return null;
    const value = (index) => {
      const at = (index - from) / step;
      const first = Math.max(0, Math.min(values.length - 2, Math.floor(at)));
      return values[first] + (values[first + 1] - values[first]) * (at - first);
    };
    const index = (wanted) => {
      let [low, high] = [0, values.length - 1];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if ((values[middle] - wanted) * signs[0] <= 0) low = middle; else high = middle;
      }
      return from + step * (low + (wanted - values[low]) / (values[high] - values[low]));
    };
    return { value, index, range: [values[0], values[values.length - 1]].sort((a, b) => a - b) };
  }

  draw(context, width, height) {
    if (!this.points) return;
    const range = reach(this.points.low, this.points.high);
    if (!range) {
      this.status.textContent = "there is no finite number here";
      return;
    }
    const space = (range[1] - range[0]) * 0.04;
    const scale = this.measure();
    const names = { x: scale ? this.points.along.label : "index", y: this.label };
    const span = scale?.range ?? [this.from, Math.max(this.from + 1, this.to - 1)];
    const drawn = axes(context, width, height, span, [range[0] - space, range[1] + space], { names });
    this.axes = scale ? { ...drawn, x: (index) => drawn.x(scale.value(index)), toX: (pixel) => scale.index(drawn.toX(pixel)) } : drawn;
    this.scale = scale;
    this.drawn.canvas.parentElement.dataset.axes = `${names.x} | ${names.y}`;
    context.save();
    context.beginPath();
    context.rect(this.axes.box.left, this.axes.box.top, this.axes.box.width, this.axes.box.height);
    context.clip();
    curve(context, this.points, this.axes.x, this.axes.y, colour("data"));
    context.restore();
  }

  zoom(from, to) {
    const span = Math.max(4, Math.min(to - from, this.length));
    const start = Math.max(0, Math.min(Math.round(from), this.length - span));
    [this.from, this.to] = [start, Math.min(this.length, Math.round(start + span))];
    state.set({ range: this.from === 0 && this.to === this.length ? undefined : `${this.from}:${this.to}` });
    this.drawn.draw();
    this.load();
  }

  events(box) {
    const around = (at, factor) => this.zoom(at - (at - this.from) * factor, at + (this.to - at) * factor);
    box.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (this.axes) around(this.axes.toX(event.offsetX), event.deltaY > 0 ? 1.25 : 0.8);
    }, { passive: false });
    let held = null;
    box.addEventListener("pointerdown", (event) => { held = { x: event.offsetX, from: this.from, to: this.to }; box.setPointerCapture(event.pointerId); });
    box.addEventListener("pointerup", () => { held = null; });
    box.addEventListener("pointermove", (event) => {
      if (!this.axes || !this.points) return;
      if (held) {
        const moved = this.axes.toX(held.x) - this.axes.toX(event.offsetX);
        if (moved) this.zoom(held.from + moved, held.to + moved);
        return;
      }
      const index = Math.round(this.axes.toX(event.offsetX));
      const point = Math.floor((index - this.points.from) / this.points.step);
      const [low, high] = [this.points.low[point], this.points.high?.[point]];
      const along = this.scale ? `  ${this.points.along.name} ${short(this.scale.value(index))} ${this.points.along.unit}` : "";
      if (low !== undefined) this.status.textContent = `[${index}]${along}  ${short(low)}${high !== undefined && high !== low ? ` … ${short(high)}` : ""}`;
    });
    box.addEventListener("keydown", (event) => {
      const span = this.to - this.from;
      const middle = (this.from + this.to) / 2;
      if (event.key === "+") around(middle, 0.7);
      else if (event.key === "-") around(middle, 1.4);
      else if (event.key === "ArrowLeft") this.zoom(this.from - span / 8, this.to - span / 8);
      else if (event.key === "ArrowRight") this.zoom(this.from + span / 8, this.to + span / 8);
      else if (event.key === "0") this.zoom(0, this.length);
      else return;
      event.preventDefault();
    });
  }

  save() { this.drawn.canvas.toBlob((blob) => saved(blob, "plot.png")); }

  end() { this.loading?.abort(); }
}

/** Hands a picture to the browser to keep. */
export function saved(blob, name) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
