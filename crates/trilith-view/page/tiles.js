// Pieces of a picture at several scales: asked for when they come into sight, the coarsest first, and kept for a while.

import { picture, isGivenUp } from "./api.js";

/** Pixels of a tile's side. */
const SIDE = 512;
/** Pixels of the overview's longer side, at most. */
const OVERVIEW = 1024;
/** Tiles that are kept, and asked for at once. */
const KEEP = 160;
const AT_ONCE = 4;
/** Elements of a piece that is read unasked where reading is slow. */
const MODEST = 1 << 20;
/** From so many elements on there is a first look: the answer to `look` says at how much. */
export const LARGE = 1 << 25;
/** No first look: all is read at once. */
export const WHOLE = { share: 1, unasked: true };
/** What the colours are, and not what is read. */
const COLOURS = ["low", "high", "stretch", "cmap"];

export class Tiles {
  /**
   * `arrived` is called when there is something new to draw, `failed` with an error, `shown` with "look", "whole" or
   * "stopped"; `look` says what a first look takes. An overlay leaves what is below it to be seen.
   */
  constructor(width, height, { arrived, failed, shown, look, overlay }) {
    Object.assign(this, { width, height, arrived, failed, shown, look, overlay });
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
    const subject = JSON.stringify(Object.entries(parameters).filter(([key]) => !COLOURS.includes(key)));
    const isRecoloured = subject === this.subject && this.asked.has("overview");
    Object.assign(this, { style, subject, parameters, wanted: [] });
    if (isRecoloured) {
      // What is being read is read for other colours as well: to begin again would only take longer.
      this.again = true;
      if (this.look().share < 1) this.first(this.asked.get("overview").signal).catch(() => {});
      return;
    }
    for (const controller of this.asked.values()) controller.abort();
    this.asked.clear();
    this.loadOverview();
  }

  /** What asks for all of it. */
  get whole() {
    const scale = Math.min(1, OVERVIEW / Math.max(this.width, this.height));
    const size = { width: Math.max(1, Math.round(this.width * scale)), height: Math.max(1, Math.round(this.height * scale)) };
    return { ...this.parameters, x: 0, y: 0, w: this.width, h: this.height, ...size };
  }

  /** A first look. */
  async first(signal) { await this.take(this.style, await picture({ ...this.whole, sample: 1 }, signal)); }

  async loadOverview() {
    const controller = new AbortController();
    this.asked.set("overview", controller);
    const style = this.style;
    this.again = false;
    const look = this.look();
    const isNow = () => this.asked.get("overview") === controller;
    try {
      if (look.share < 1) {
        await this.first(controller.signal);
        if (isNow()) this.shown("look");
      }
      if (!look.unasked) return;
      await this.take(style, await picture(this.whole, controller.signal));
      if (isNow() && !this.again) this.shown("whole");
    } catch (error) {
      if (!isGivenUp(error)) this.failed(error);
      else if (isNow()) this.shown("stopped");
      if (isNow()) this.again = false;
    } finally {
      if (isNow()) {
        this.asked.delete("overview");
        if (this.again) this.loadOverview();
        else this.arrived();
      }
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
    const place = (x, y, w, h) => [(x - view.left) * view.zoom, (y - view.top) * view.zoom, w * view.zoom, h * view.zoom];
    const below = () => this.overview && context.drawImage(this.overview, ...place(0, 0, this.width, this.height));
    const { pieces, wanted } = this.pieces(view, width, height);
    // Below an overlay, what is coarse would be seen through what is fine.
    if (!this.overlay || wanted.length || !pieces.length) below();
    for (const { tile, x, y, w, h } of pieces) context.drawImage(tile.bitmap, ...place(x, y, w, h));
    this.ask(wanted.filter((piece) => piece.isDue));
  }

  /** The pieces in sight that are there, and those that are not, or have other colours. */
  pieces(view, width, height) {
    const [pieces, wanted] = [[], []];
    const dots = view.zoom * (window.devicePixelRatio || 1);
    const scale = Math.max(0, Math.floor(Math.log2(1 / dots) + 0.01));
    if (scale >= this.coarsest && this.coarsest > 0) return { pieces, wanted };
    if (this.coarsest === 0 && this.overview) return { pieces, wanted }; // it has every element
    const side = SIDE * 2 ** scale;
    const [firstX, lastX] = this.span(view.left, width / view.zoom, this.width, side);
    const [firstY, lastY] = this.span(view.top, height / view.zoom, this.height, side);
    const isSlow = !this.look().unasked;
    for (let row = firstY; row <= lastY; row += 1) {
      for (let column = firstX; column <= lastX; column += 1) {
        const [x, y] = [column * side, row * side];
        const place = `${scale}/${column}/${row}`;
        const tile = this.known.get(place);
        const [w, h] = [Math.min(side, this.width - x), Math.min(side, this.height - y)];
        if (tile) pieces.push({ tile, x, y, w, h });
        if (tile?.style === this.style || (isSlow && w * h > MODEST)) continue;
        wanted.push({ place, x, y, w, h, scale, isDue: !this.asked.has(place) && !this.refused.has(`${this.style} ${place}`) });
      }
    }
    return { pieces, wanted };
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
