// Rows of one height, of which only those in sight exist: a million of them scroll as ten do. Beyond what a browser can
// make tall, the bar is a scale of the whole, and the wheel and the keys still move by rows.

import { el } from "./dom.js";

/** As tall as any browser draws exactly. */
const TALL = 5_000_000;

export class Rows {
  /** `fill(element, index)` writes a row; `top` is the height of what stays above the rows. */
  constructor(host, { height, fill, kind = "", top = 0, role = null, label = "" }) {
    this.height = height;
    this.fill = fill;
    this.above = top;
    this.count = 0;
    this.at = 0; // pixels above the first row in sight, were all rows drawn
    this.used = new Map();
    this.spare = [];
    this.inner = el("div", { class: "inner", role: "presentation" });
    this.host = el("div", { class: `rows ${kind}`, tabindex: "0", role, "aria-label": label }, this.inner);
    host.append(this.host);
    this.host.addEventListener("scroll", () => this.scrolled());
    this.host.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.host);
  }

  get all() { return this.count * this.height; }
  get sight() { return Math.max(0, this.host.clientHeight - this.above); }
  get tall() { return Math.min(this.all, TALL); }
  /** How far the rows and the bar can move. */
  get range() { return Math.max(0, this.all - this.sight); }
  get barRange() { return Math.max(0, this.tall - this.sight); }

  setCount(count) {
    this.count = count;
    this.inner.style.height = `${this.tall}px`;
    this.at = Math.min(this.at, this.range);
    this.refresh();
  }

  setWidth(width) { this.inner.style.width = `${width}px`; }

  scrolled() {
    const expected = this.bar();
    if (Math.abs(this.host.scrollTop - expected) > 1) {
      this.at = this.all <= TALL ? this.host.scrollTop : (this.host.scrollTop / this.barRange) * this.range;
    }
    this.draw();
  }

  bar() {
    if (this.all <= TALL) return this.at;
    return this.range ? (this.at / this.range) * this.barRange : 0;
  }

  wheel(event) {
    if (this.all <= TALL || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? this.height : event.deltaMode === 2 ? this.sight : 1;
    this.moveTo(this.at + event.deltaY * unit);
  }

  moveTo(at) {
    this.at = Math.max(0, Math.min(at, this.range));
    this.host.scrollTop = this.bar();
    this.draw();
  }

  /** Brings a row into sight; `middle` puts it there. */
  reveal(index, middle = false) {
    const y = index * this.height;
    if (middle) this.moveTo(y - this.sight / 2);
    else if (y < this.at) this.moveTo(y);
    else if (y + this.height > this.at + this.sight) this.moveTo(y + this.height - this.sight);
    else this.draw();
  }

  /** The first row in sight, and how many fit. */
  get first() { return Math.floor(this.at / this.height); }
  get fits() { return Math.max(1, Math.floor(this.sight / this.height)); }

  /** Writes all rows in sight again. */
  refresh() {
    for (const [index, row] of this.used) if (index < this.count) this.write(row, index);
    this.draw();
  }

  write(row, index) {
    row.replaceChildren();
    row.className = "row";
    this.fill(row, index);
  }

  draw() {
    const first = Math.max(0, this.first - 2);
    const last = Math.min(this.count, this.first + this.fits + 4);
    for (const [index, row] of this.used) {
      if (index < first || index >= last) {
        this.used.delete(index);
        row.hidden = true;
        row.removeAttribute("id");
        this.spare.push(row);
      }
    }
    const shift = this.bar() - this.at;
    for (let index = first; index < last; index += 1) {
      let row = this.used.get(index);
      if (!row) {
        row = this.spare.pop();
        if (!row) {
          row = el("div", { class: "row" });
          row.style.height = `${this.height}px`;
          this.inner.append(row);
        }
        row.hidden = false;
        row.dataset.index = index;
        this.used.set(index, row);
        this.write(row, index);
      }
      row.style.top = `${index * this.height + shift}px`;
    }
  }
}

/** Pages of entries that come from requests, the last few of them kept. */
export class Pages {
  /** `load(offset, limit)` gives a promise of a list; `arrived` is called when one is there. */
  constructor(load, arrived, size = 100, keep = 50) {
    Object.assign(this, { load, arrived, size, keep });
    this.pages = new Map();
  }

  /** The entry of this number, or undefined until it is there. */
  get(index) {
    const page = Math.floor(index / this.size);
    let known = this.pages.get(page);
    if (!known) {
      known = { rows: null };
      this.pages.set(page, known);
      if (this.pages.size > this.keep) this.pages.delete(this.pages.keys().next().value);
      this.load(page * this.size, this.size).then(
        (rows) => { known.rows = rows; this.arrived(); },
        (error) => { this.pages.delete(page); this.failed?.(error); },
      );
    }
    return known.rows?.[index - page * this.size];
  }
}
