// Text by its lines: that of the file with line numbers, or a long text of the tree.

import { json } from "./api.js";
import { el } from "./dom.js";
import { Pages, Rows } from "./rows.js";

export class LinesView {
  /** `request` is `lines` or `text`; `at` the line to begin at, counted from 1. */
  constructor(host, request, wants, first, at) {
    host.append(el("div", { class: "tools quiet" }, `${first.count.toLocaleString("en")} lines: ${first.what}`));
    const box = el("div", { class: "plotted" });
    host.append(box);
    const load = (offset, limit) => json(request, { ...wants, offset, limit }).then((answer) => answer.lines);
    this.pages = new Pages(load, () => this.rows.refresh(), 200);
    this.rows = new Rows(box, {
      height: 20, kind: "lines mono", label: "Text", fill: (row, index) => {
        if (at === index + 1) row.classList.add("at");
        row.append(el("span", { class: "number" }, String(index + 1)), el("span", {}, this.pages.get(index) ?? "…"));
      },
    });
    this.rows.setCount(first.count);
    if (at) this.rows.reveal(at - 1, true);
  }

  end() {}
}
