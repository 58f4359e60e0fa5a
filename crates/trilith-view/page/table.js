// A table of any length: the rows in sight are asked for, in the order of the file or of a column.

import { json, isGivenUp } from "./api.js";
import { el } from "./dom.js";
import { Pages, Rows } from "./rows.js";
import * as state from "./state.js";

/** A number with its noun. */
const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

const HEAD = 40;
const NUMBER = 90;

/** Characters of a cell: a number, or a short list of numbers. */
function cellLength(type) {
  const one = /^float64|^complex/.test(type) ? 19 : 8;
  const [, length] = /^(?:u?int|float|complex)\d+ \[(\d+)\]$/.exec(type) ?? [];
  return length ? Math.min(4, Number(length)) * one : one;
}

export class TableView {
  constructor(host, wants, first) {
    this.wants = wants;
    this.sort = state.get("sort");
    this.descending = state.get("descending") === "1";
    this.status = el("span", { class: "mono", role: "status" });
    const go = el("input", { class: "number", type: "number", min: "0", placeholder: "row", "aria-label": "Go to row" });
    const tools = el("div", { class: "tools" }, el("span", { class: "quiet" }, `${counted(first.count, "row")}, ${counted(first.column_count, "column")}`),
      el("label", {}, "Go to row", go));
    go.addEventListener("keydown", (event) => { if (event.key === "Enter" && go.value) this.goTo(Number(go.value)); });
    this.first = Number(state.get("column") || 0);
    if (first.column_count > first.columns.length) {
      const column = el("input", { class: "number", type: "number", min: "0", max: String(first.column_count - 1), value: String(first.first_column), "aria-label": "First column" });
      column.addEventListener("change", () => { state.set({ column: column.value }); this.first = Number(column.value); this.again(); });
      tools.append(el("label", {}, "From column", column));
    }
    tools.append(this.status);
    const box = el("div", { class: "plotted" });
    host.append(tools, box);
    this.rows = new Rows(box, { height: 23, fill: (row, index) => this.fill(row, index), kind: "table", top: HEAD, label: "Rows" });
    this.heads = el("div", { class: "heads" });
    this.rows.host.prepend(this.heads);
    this.rows.host.addEventListener("keydown", (event) => this.key(event));
    this.take(first);
    this.pages = this.made();
    this.rows.setCount(first.count);
    const row = state.number("row");
    if (row) this.goTo(row);
  }

  made() {
    const load = async (offset, limit) => {
      const answer = await json("table", { ...this.wants, offset, limit, sort: this.sort, descending: this.descending ? 1 : undefined, column: this.first || undefined });
      return answer.rows.map((cells, at) => ({ number: answer.numbers[at], cells }));
    };
    const pages = new Pages(load, () => this.rows.refresh());
    pages.failed = (error) => { if (!isGivenUp(error)) this.status.textContent = error.message; };
    return pages;
  }

  async again() {
    try {
      this.take(await json("table", { ...this.wants, offset: 0, limit: 1, column: this.first || undefined }));
      this.pages = this.made();
      this.rows.refresh();
    } catch (error) {
      if (!isGivenUp(error)) this.status.textContent = error.message;
    }
  }

  take(answer) {
    this.columns = answer.columns.map((column) => ({
      ...column,
      right: /^(u?int|float|complex)/.test(column.type),
      width: Math.min(320, Math.max(90, 9 * Math.max(column.name.length + 3, column.type.length * 0.8, cellLength(column.type)))),
    }));
    const sorter = (column) => {
      const is = this.sort === column.name;
      const head = el("button", { type: "button", title: `${column.name}\n${column.type}${column.unit ? ` ${column.unit}` : ""}\nClick: put the rows in this order`, onclick: () => this.order(column.name) },
        `${column.name}${is ? (this.descending ? " ▾" : " ▴") : ""}`, el("small", {}, `${column.type}${column.unit ? ` ${column.unit}` : ""}`));
      head.style.width = `${column.width}px`;
      return head;
    };
    const corner = el("button", { type: "button", title: "The order of the file", onclick: () => this.order("") }, "row");
    corner.style.width = `${NUMBER}px`;
    this.heads.replaceChildren(corner, ...this.columns.map(sorter));
    this.rows.setWidth(NUMBER + this.columns.reduce((sum, column) => sum + column.width, 0));
  }

  order(name) {
    this.descending = Boolean(name) && this.sort === name && !this.descending;
    this.sort = name;
    state.set({ sort: name, descending: this.descending ? 1 : undefined });
    this.pages = this.made();
    this.take({ columns: this.columns });
    this.rows.refresh();
  }

  goTo(row) {
    const at = Math.max(0, Math.min(row, this.rows.count - 1));
    this.rows.moveTo(at * this.rows.height);
    state.set({ row: at || undefined });
  }

  key(event) {
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: this.rows.fits, PageUp: -this.rows.fits };
    if (event.key in moves) this.rows.moveTo(this.rows.at + moves[event.key] * this.rows.height);
    else if (event.key === "Home") this.rows.moveTo(0);
    else if (event.key === "End") this.rows.moveTo(Infinity);
    else return;
    event.preventDefault();
  }

  fill(row, index) {
    const known = this.pages?.get(index);
    const cell = (text, kind, width) => {
      const made = el("span", { class: `cell mono ${kind}` }, text);
      made.style.width = `${width}px`;
      return made;
    };
    row.append(cell(known ? String(known.number) : String(index), "number right", NUMBER));
    this.columns.forEach((column, at) => {
      const text = known?.cells[at];
      if (!known) row.append(cell("…", "none", column.width));
      else if (text === null || text === undefined) row.append(cell("masked", "none", column.width));
      else row.append(cell(text, column.right ? "right" : "", column.width));
    });
  }

  end() {}
}
