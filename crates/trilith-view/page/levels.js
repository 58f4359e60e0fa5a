// Which values have which colours: interval, stretch, colour map, and a histogram whose two handles set the interval.

import { json, isGivenUp } from "./api.js";
import { canvas, colour, el, rested, short } from "./dom.js";
import { FONT, axes, bars, ticks } from "./plot.js";
import * as state from "./state.js";

const INTERVALS = [
  ["zscale", "zscale"], ["minmax", "min–max"], ["percentile:99.5", "99.5 %"], ["percentile:99", "99 %"], ["percentile:95", "95 %"],
  ["percentile:90", "90 %"],
];

export class Levels {
  /** `changed` is called with `{low, high, stretch, cmap}`. */
  constructor(tools, host, wants, choices, changed) {
    Object.assign(this, { host, wants, changed });
    this.tell = rested(() => changed(this.style()), 60);
    this.interval = state.get("interval") || "zscale";
    this.low = state.number("low");
    this.high = state.number("high");
    const choose = (key, label, list, value) => {
      const select = el("select", { "aria-label": label, onchange: () => this.choose(key, select.value) },
        ...list.map(([name, text]) => el("option", { value: name, selected: name === value }, text)));
      select.title = label;
      tools.append(select);
      return select;
    };
    this.intervals = choose("interval", "Interval", [...INTERVALS, ["", "manual"]], this.low === undefined ? this.interval : "");
    const number = (key, label) => {
      const input = el("input", { class: "number", type: "text", inputmode: "decimal", "aria-label": label });
      input.addEventListener("change", () => {
        const value = Number(input.value);
        if (input.value.trim() !== "" && Number.isFinite(value)) this.byHand(key === "low" ? value : this.low, key === "high" ? value : this.high);
      });
      tools.append(input);
      return input;
    };
    this.inputs = { low: number("low", "Lower display limit"), high: number("high", "Upper display limit") };
    choose("stretch", "Stretch", choices.stretches.map(({ name }) => [name, name]), state.get("stretch") || "linear");
    this.shares = new Map(choices.stretches.map(({ name, shares }) => [name, shares]));
    this.colours = choose("cmap", "Colours", choices.maps.map((map) => [map.name, map.name]), state.get("cmap") || "gray");
    tools.append(this.inverted = el("button", { type: "button", title: "Reverse the colours (I)", onclick: () => this.invert() }, "Invert"));
    this.maps = new Map(choices.maps.map((map) => [map.name, map.colours]));
    tools.append(this.toggle = el("button", { type: "button", "aria-pressed": "false", onclick: () => this.showHistogram() }, "Histogram"));
    if (state.get("histogram")) this.showHistogram();
  }

  /** The colour map from its other end. */
  invert() {
    const name = state.get("cmap") || "gray";
    const other = name.endsWith("_r") ? name.slice(0, -2) : `${name}_r`;
    if (!this.maps.has(other)) return;
    this.colours.value = other;
    this.choose("cmap", other);
  }

  /** The colours that are chosen, the first one first. */
  get ramp() { return this.maps.get(state.get("cmap") || "gray") ?? []; }

  /** The share of the colours that are below a value. */
  share(value) {
    const shares = this.shares.get(state.get("stretch") || "linear");
    const at = Math.max(0, Math.min(1, (value - this.low) / (this.high - this.low || 1))) * (shares.length - 1);
    const first = Math.min(shares.length - 2, Math.floor(at));
    return shares[first] + (shares[first + 1] - shares[first]) * (at - first);
  }

  style() {
    return { low: this.low, high: this.high, stretch: state.get("stretch") || "linear", cmap: state.get("cmap") || "gray" };
  }

  /** The array or its slice is another one. */
  async load(wants) {
    if (wants) this.wants = wants;
    this.counted = null;
    if (this.low === undefined || this.high === undefined) await this.fit();
    else this.said();
    if (this.drawn) this.count();
  }

  async fit() {
    this.loading?.abort();
    this.loading = new AbortController();
    const { signal } = this.loading;
    const ask = async (sample) => {
      const { low, high } = await json("levels", { ...this.wants, interval: this.interval, sample }, signal);
      if (signal.aborted || (!sample && this.isByHand)) return;
      [this.low, this.high] = [low, high];
      this.said();
      this.counting?.();
    };
    this.isByHand = false;
    try {
      const { share, unasked } = this.look();
      if (share < 1) await ask(1);
      if (unasked) await ask();
    } catch (error) {
      if (!isGivenUp(error)) this.failed?.(error);
    }
  }

  /** All of the array is there to be read: an interval that was chosen by a rule is chosen again. */
  whole() { return this.isByHand || state.get("low") !== "" ? this.said() : this.fit(); }

  /** The slice has changed: an interval that was chosen by a rule is chosen again. */
  renew(wants) {
    if (!this.isByHand && state.get("low") === "") [this.low, this.high] = [undefined, undefined];
    return this.load(wants);
  }

  choose(key, value) {
    if (key !== "interval") {
      state.set({ [key]: value });
      this.changed(this.style());
      this.drawn?.draw();
      this.bar?.draw();
      return;
    }
    if (value === "") return this.byHand(this.low, this.high);
    this.interval = value;
    state.set({ interval: value, low: undefined, high: undefined });
    return this.fit();
  }

  byHand(low, high) {
    this.loading?.abort();
    if (low > high) [low, high] = [high, low];
    [this.low, this.high] = [low, high];
    this.isByHand = true;
    this.intervals.value = "";
    state.set({ low, high });
    this.said(true);
    const [first, last] = [this.counted?.edges?.[0], this.counted?.edges?.at(-1)];
    if (low < first || high > last) this.counting?.();
  }

  said(soon = false) {
    this.inputs.low.value = short(this.low);
    this.inputs.high.value = short(this.high);
    this.inputs.low.title = String(this.low);
    this.inputs.high.title = String(this.high);
    this.drawn?.draw();
    this.bar?.draw();
    if (soon) this.tell();
    else this.changed(this.style());
  }

  showHistogram() {
    const shown = !this.drawn;
    this.toggle.setAttribute("aria-pressed", String(shown));
    state.set({ histogram: shown ? 1 : undefined });
    if (!shown) {
      this.box.remove();
      this.drawn = null;
      return;
    }
    this.box = el("div", { class: "histogram" });
    this.host.after(this.box);
    this.drawn = canvas(this.box, (context, width, height) => this.draw(context, width, height), "Histogram; drag its two marks to set the interval");
    this.handles(this.drawn.canvas);
    this.counting ??= rested(() => this.drawn && this.count(), 150);
    this.count();
  }

  async count() {
    try {
      // A few far values would leave all others in one bar: what is shown is the interval and as much again around it.
      const span = this.high - this.low;
      const part = this.interval === "minmax" || !(span > 0) ? {} : { low: this.low - span, high: this.high + 2 * span };
      this.counted = await json("histogram", { ...this.wants, ...part, bins: 256, sample: this.look().unasked ? undefined : 1 });
      this.drawn?.draw();
    } catch (error) {
      if (!isGivenUp(error)) this.failed?.(error);
    }
  }

  draw(context, width, height) {
    if (!this.counted?.counts?.length) return;
    const { counts, edges } = this.counted;
    const heights = counts.map((count) => Math.log10(count + 1));
    this.axes = axes(context, width, height, [edges[0], edges[edges.length - 1]], [0, Math.max(...heights, 1)], { left: 10, bottom: 20, top: 4, grid: false, hasHeights: false });
    bars(context, { counts: heights, edges }, this.axes.x, this.axes.y, colour("quiet"));
    this.ribbon(context);
    const { box } = this.axes;
    context.fillStyle = colour("data2");
    for (const at of [this.low, this.high]) {
      const x = Math.max(box.left, Math.min(this.axes.x(at), box.left + box.width));
      context.fillRect(x - 1, box.top, 2, box.height);
      context.fillRect(x - 4, box.top, 8, 8);
    }
    this.box.dataset.complete = "true"; // its marks can be dragged
  }

  /** The colours between the two ends, below the bars. */
  ribbon(context) {
    const colours = this.ramp;
    const { box, x } = this.axes;
    const [from, to] = [x(this.low), x(this.high)];
    colours.forEach((ink, at) => {
      const [a, b] = [from + ((to - from) * at) / colours.length, from + ((to - from) * (at + 1)) / colours.length];
      const [left, right] = [Math.max(a, box.left), Math.min(b, box.left + box.width)];
      if (right > left) { context.fillStyle = ink; context.fillRect(left, box.top + box.height, right - left + 0.5, 4); }
    });
  }

  /** The colour bar: the colours from the bottom to the top, and the values that they are of. */
  drawBar(context, width, height, unit) {
    if (this.low === undefined || this.high === undefined) return;
    const [top, bottom, thick] = [unit ? 26 : 10, height - 10, 14];
    const length = bottom - top;
    const { ramp } = this;
    ramp.forEach((ink, at) => {
      context.fillStyle = ink;
      context.fillRect(6, bottom - (length * (at + 1)) / ramp.length, thick, length / ramp.length + 0.6);
    });
    context.strokeStyle = colour("line");
    context.strokeRect(6, top, thick, length);
    context.font = FONT;
    context.fillStyle = colour("ink");
    context.textBaseline = "middle";
    context.textAlign = "left";
    let last = Infinity;
    for (const value of ticks(this.low, this.high, 12)) {
      const y = bottom - this.share(value) * length;
      if (value < this.low || value > this.high || last - y < 16) continue;
      last = y;
      context.fillRect(6 + thick, y - 0.5, 4, 1);
      context.fillText(short(value), 13 + thick, y);
    }
    if (unit) context.fillText(unit.length > 10 ? `${unit.slice(0, 9)}…` : unit, 6, 12);
  }

  handles(host) {
    let held = null;
    host.addEventListener("pointerdown", (event) => {
      if (!this.axes) return;
      const value = this.axes.toX(event.offsetX);
      held = Math.abs(value - this.low) < Math.abs(value - this.high) ? "low" : "high";
      host.setPointerCapture(event.pointerId);
      move(event);
    });
    const move = (event) => {
      if (!held) return;
      const value = this.axes.toX(Math.max(this.axes.box.left, Math.min(event.offsetX, this.axes.box.left + this.axes.box.width)));
      if (held === "low") this.byHand(Math.min(value, this.high), this.high);
      else this.byHand(this.low, Math.max(value, this.low));
    };
    host.addEventListener("pointermove", move);
    host.addEventListener("pointerup", () => { held = null; });
  }
}
