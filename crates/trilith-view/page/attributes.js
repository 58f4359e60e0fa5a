// The attributes of an item, next to its data or as a view: cards of a FITS header, attributes of HDF5, tags of TIFF. A field
// keeps those that have a text in their name, value or comment.

import { el } from "./dom.js";
import { Rows } from "./rows.js";
import * as state from "./state.js";

export class Attributes {
  /** `isWide` leaves room for long values and comments. */
  constructor(all, name, isWide = false) {
    this.all = all;
    const field = el("input", {
      type: "search", value: state.get("attribute"), placeholder: "Filter names, values, comments",
      "aria-label": "Filter attributes",
    });
    this.field = field;
    field.addEventListener("input", () => {
      state.set({ attribute: field.value });
      this.keep(field.value);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { field.value = ""; state.set({ attribute: "" }); this.keep(""); }
    });
    const box = el("div", { class: "plotted" });
    this.element = el("aside", { class: `attributes${isWide ? " wide" : ""}`, "aria-label": name }, field, box);
    this.rows = new Rows(box, { height: 22, kind: "mono", label: name, fill: (row, index) => this.fill(row, index) });
    this.keep(field.value);
  }

  keep(text) {
    const wanted = text.trim().toLowerCase();
    const has = (part) => part?.toLowerCase().includes(wanted);
    this.kept = wanted ? this.all.filter(({ name, value, comment }) => has(name) || has(value) || has(comment)) : this.all;
    this.rows.moveTo(0);
    this.rows.setCount(this.kept.length);
  }

  fill(row, index) {
    const { name, value, unit, comment } = this.kept[index];
    const said = `${value}${unit ? ` ${unit}` : ""}`;
    row.title = `${name} = ${said}${comment ? ` / ${comment}` : ""}`;
    row.append(el("span", { class: "name" }, name), el("span", { class: "value" }, said));
    if (comment) row.append(el("span", { class: "quiet" }, comment));
  }

  end() {}
}
