// Lines and bars on a canvas: axes, ticks, and numbers that may be ranges.

import { colour, short } from "./dom.js";

export const FONT = "11px system-ui, sans-serif";

/** Round numbers from `low` to `high`, about `count` of them. */
export function ticks(low, high, count) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const made = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) made.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  return made;
}

/** The least and the greatest of some numbers; null where there is none. */
export function reach(...lists) {
  let [low, high] = [Infinity, -Infinity];
  for (const list of lists) for (const x of list ?? []) if (x !== null && x !== undefined) { low = Math.min(low, x); high = Math.max(high, x); }
  return low <= high ? [low, high] : null;
}

/** A plot's box and its scales. */
export function axes(context, width, height, [x0, x1], [y0, y1], { names = {}, left = names.y ? 84 : 64, bottom = names.x ? 42 : 24, top = 8, right = 10, grid = true, hasHeights = true } = {}) {
  if (y0 === y1) { y0 -= 0.5; y1 += 0.5; }
  if (x0 === x1) { x0 -= 0.5; x1 += 0.5; }
  const box = { left, top, width: Math.max(1, width - left - right), height: Math.max(1, height - top - bottom) };
  const x = (value) => box.left + ((value - x0) / (x1 - x0)) * box.width;
  const y = (value) => box.top + box.height - ((value - y0) / (y1 - y0)) * box.height;
  context.font = FONT;
  context.fillStyle = colour("quiet");
  context.strokeStyle = colour("line");
  context.lineWidth = 1;
  context.textBaseline = "top";
  context.textAlign = "center";
  for (const at of ticks(x0, x1, box.width / 90)) {
    if (grid) line(context, x(at), box.top, x(at), box.top + box.height);
    context.fillText(short(at), x(at), box.top + box.height + 5);
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const at of hasHeights ? ticks(y0, y1, box.height / 40) : []) {
    if (grid) line(context, box.left, y(at), box.left + box.width, y(at));
    context.fillText(short(at), box.left - 5, y(at));
  }
  context.strokeRect(box.left, box.top, box.width, box.height);
  context.fillStyle = colour("ink");
  context.textAlign = "center";
  if (names.x) context.fillText(names.x, box.left + box.width / 2, height - 10);
  if (names.y) {
    context.save();
    context.translate(12, box.top + box.height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(names.y, 0, 0);
    context.restore();
  }
  return { x, y, box, toX: (pixel) => x0 + ((pixel - box.left) / box.width) * (x1 - x0) };
}

function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

/** A line through points; where each point has a low and a high, the range between them is filled. Gaps stay gaps. */
export function curve(context, points, x, y, ink) {
  context.strokeStyle = ink;
  context.fillStyle = ink;
  context.lineWidth = 1.2;
  context.beginPath();
  let down = false;
  for (let i = 0; i < points.low.length; i += 1) {
    const low = points.low[i];
    if (low === null) { down = false; continue; }
    const at = x(points.from + (i + 0.5) * points.step - 0.5);
    if (points.high) {
      const high = points.high[i];
      if (down) context.lineTo(at, y(low)); else context.moveTo(at, y(low));
      context.lineTo(at, y(high));
    } else if (down) context.lineTo(at, y(low));
    else {
      context.moveTo(at, y(low));
      // One number between two gaps is a point.
      if (i + 1 >= points.low.length || points.low[i + 1] === null) context.rect(at - 1, y(low) - 1, 2, 2);
    }
    down = true;
  }
  context.stroke();
}

/** Bars, from the bottom of the box. */
export function bars(context, { counts, edges }, x, y, ink) {
  context.fillStyle = ink;
  for (let i = 0; i < counts.length; i += 1) {
    const [left, right] = [x(edges[i]), x(edges[i + 1])];
    context.fillRect(left, y(counts[i]), Math.max(1, right - left - 0.3), y(0) - y(counts[i]));
  }
}
