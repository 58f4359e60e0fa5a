// Quality flags: which bits an array has, each with its name, its colour and a box to leave it out.

import { json, isGivenUp } from "./api.js";
import { el } from "./dom.js";

export class Bits {
  /** `changed` is called when other bits are chosen, `failed` with an error. */
  constructor(host, changed, failed) {
    Object.assign(this, { changed, failed });
    this.box = el("div", { class: "bits", role: "group", "aria-label": "Flags", hidden: true });
    host.after(this.box);
    this.left = 0n; // the bits that are left out
  }

  /** The bits of another array. */
  async load(wants) {
    this.loading?.abort();
    this.loading = new AbortController();
    const key = JSON.stringify(wants);
    if (key === this.key) return;
    this.key = key;
    this.box.hidden = false;
    this.box.replaceChildren(el("span", { class: "quiet" }, "Counting flags…"));
    try {
      const { bits } = await json("bits", wants, this.loading.signal);
      this.box.replaceChildren(...(bits.length ? bits.map((bit) => this.line(bit)) : [el("span", { class: "quiet" }, "No flag is set.")]));
    } catch (error) {
      this.key = "";
      this.box.replaceChildren();
      if (!isGivenUp(error)) this.failed(error);
    }
  }

  line({ bit, name, count, colour }) {
    const mask = 1n << BigInt(bit);
    const choose = el("input", { type: "checkbox", checked: (this.left & mask) === 0n });
    choose.addEventListener("change", () => {
      this.left = choose.checked ? this.left & ~mask : this.left | mask;
      this.changed();
    });
    const ink = el("span", { class: "ink" });
    ink.style.background = colour;
    return el("label", { title: `bit ${bit}: ${count} elements` }, choose, ink, name ?? `bit ${bit}`, el("span", { class: "quiet" }, count.toLocaleString("en")));
  }

  /** The bits that are shown, as a number in decimal digits. */
  get chosen() { return String(((1n << 64n) - 1n) & ~this.left); }

  hide() {
    this.loading?.abort();
    this.key = "";
    this.box.hidden = true;
  }
}
