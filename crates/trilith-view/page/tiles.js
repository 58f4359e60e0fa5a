// Pieces of a picture at several scales: asked for when they come into sight, the coarsest first, and kept for a while.

import { picture, isGivenUp } from "./api.js";

/** Pixels of a tile's side. */
const SIDE = 512;
/** Pixels of the overview's longer side, at most. */
const OVERVIEW = 1024;
/** Tiles that are kept, and asked for at once. */
const KEEP = 160;
const AT_ONCE = 4;
/** From so many elements on, the first overview takes only some of them. */
export const LARGE = 1 << 25;

export class Tiles {
  /** `arrived` is called when there is something new to draw, `failed` with an error. */
  constructor(width, height, { arrived, failed, noted }) {
    Object.assign(this, { width, height, arrived, failed, noted });
    this.known = new Map(); // key: bitmap
    this.asked = new Map(); // key: what stops it
    this.wanted = [];
    this.refused = new Set();
    this.overview = null;
    this.style = "";
    // The overview itself is the coarsest scale.
    this.coarsest = Math.max(0, Math.ceil(Math.log2(Math.max(width, height) / OVERVIEW)));
  }

  /** Other colours, another slice: what is there stays until the new one comes. */
  restyle(parameters) {
    const style = JSON.stringify(parameters);
    if (style === this.style) return;
    this.style = style;
    this.parameters = parameters;
    for (const controller of this.asked.values()) controller.abort();
    this.asked.clear();
    this.wanted = [];
    this.loadOverview();
  }

  async loadOverview() {
    const controller = new AbortController();
    this.asked.set("overview", controller);
    const style = this.style;
    const longer = Math.max(this.width, this.height);
    const scale = Math.min(1, OVERVIEW / longer);
    const size = { width: Math.max(1, Math.round(this.width * scale)), height: Math.max(1, Math.round(this.height * scale)) };
    const whole = { ...this.parameters, x: 0, y: 0, w: this.width, h: this.height, ...size };
    try {
      if (this.width * this.height > LARGE) {
        await this.take(style, await picture({ ...whole, sample: 1 }, controller.signal));
        this.noted("a first look at some of the rows");
      }
      await this.take(style, await picture(whole, controller.signal));
      this.noted("");
    } catch (error) {
      if (!isGivenUp(error)) this.failed(error);
    } finally {
      if (this.asked.get("overview") === controller) this.asked.delete("overview");
    }
  }

  async take(style, blob) {
    const bitmap = await createImageBitmap(blob);
    if (style !== this.style) return;
    this.overview = bitmap;
    this.arrived();
  }

  /** Draws the part of the picture that `view` shows: `left` and `top` in elements, `zoom` in pixels for each. */
  draw(context, view, width, height) {
    if (!this.parameters) return;
    context.imageSmoothingEnabled = view.zoom < 1;
    if (this.overview) {
      const [x, y] = [-view.left * view.zoom, -view.top * view.zoom];
      context.drawImage(this.overview, x, y, this.width * view.zoom, this.height * view.zoom);
    }
    const dots = view.zoom * (window.devicePixelRatio || 1);
    const scale = Math.max(0, Math.floor(Math.log2(1 / dots) + 0.01));
    if (scale >= this.coarsest && this.coarsest > 0) return;
    if (this.coarsest === 0 && this.overview) return; // it has every element
    const side = SIDE * 2 ** scale;
    const [firstX, lastX] = this.span(view.left, width / view.zoom, this.width, side);
    const [firstY, lastY] = this.span(view.top, height / view.zoom, this.height, side);
    const wanted = [];
    for (let row = firstY; row <= lastY; row += 1) {
      for (let column = firstX; column <= lastX; column += 1) {
        const [x, y] = [column * side, row * side];
        const place = `${scale}/${column}/${row}`;
        const tile = this.known.get(place);
        const [w, h] = [Math.min(side, this.width - x), Math.min(side, this.height - y)];
        if (tile) context.drawImage(tile.bitmap, (x - view.left) * view.zoom, (y - view.top) * view.zoom, w * view.zoom, h * view.zoom);
        const isDue = tile?.style !== this.style && !this.asked.has(place) && !this.refused.has(`${this.style} ${place}`);
        if (isDue) wanted.push({ place, x, y, w, h, scale });
      }
    }
    this.ask(wanted);
  }

  span(from, length, most, side) {
    return [Math.max(0, Math.floor(from / side)), Math.min(Math.ceil(most / side) - 1, Math.floor((from + length) / side))];
  }

  ask(wanted) {
    this.wanted = wanted;
    while (this.asked.size < AT_ONCE && this.wanted.length) this.fetch(this.wanted.shift());
  }

  async fetch({ place, x, y, w, h, scale }) {
    const controller = new AbortController();
    this.asked.set(place, controller);
    const style = this.style;
    const size = { width: Math.ceil(w / 2 ** scale), height: Math.ceil(h / 2 ** scale) };
    try {
      const bitmap = await createImageBitmap(await picture({ ...this.parameters, x, y, w, h, ...size }, controller.signal));
      if (style === this.style) {
        this.known.delete(place);
        this.known.set(place, { bitmap, style });
        if (this.known.size > KEEP) this.known.delete(this.known.keys().next().value);
      }
    } catch (error) {
      if (isGivenUp(error)) return;
      // It would fail again: the overview stays in its place.
      this.refused.add(`${style} ${place}`);
      this.failed(error);
    } finally {
      if (this.asked.get(place) === controller) this.asked.delete(place);
      this.arrived();
    }
  }

  /** Whether all that was asked for is there. */
  get isComplete() { return this.asked.size === 0 && Boolean(this.overview); }

  end() { for (const controller of this.asked.values()) controller.abort(); }
}
