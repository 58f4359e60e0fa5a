// The tree of a file: children are asked for by pages when they come into sight, and what is open is a tree of counts.

import { json, isGivenUp } from "./api.js";
import { by, el, rested } from "./dom.js";
import { Pages, Rows } from "./rows.js";
import * as state from "./state.js";

const SIGNS = { mapping: "{ }", list: "[ ]", array: "▦", text: "“”", scalar: "#", null: "∅", reference: "→", attribute: "@" };

/** An open collection: its children, and which of them are open. */
class Open {
  constructor(path, count, arrived, load) {
    this.path = path;
    this.count = count;
    this.opened = new Map(); // number of the child: Open
    this.pages = new Pages(load, arrived, 200, 100);
  }

  /** Its rows, those of open children among them. */
  get size() {
    let sum = this.count;
    for (const child of this.opened.values()) sum += child.size;
    return sum;
  }

  /** The child at a row: its parent, its number and its depth. */
  at(row, depth = 0) {
    let before = 0;
    for (const index of [...this.opened.keys()].sort((a, b) => a - b)) {
      const here = index + before;
      if (row <= here) break;
      const child = this.opened.get(index);
      const size = child.size;
      if (row <= here + size) return child.at(row - here - 1, depth + 1);
      before += size;
    }
    return { parent: this, index: row - before, depth };
  }

  /** The row of a child. */
  rowOf(index) {
    let row = index;
    for (const [other, child] of this.opened) if (other < index) row += child.size;
    return row;
  }
}

export class Tree {
  constructor() {
    this.rows = new Rows(by("tree"), { height: 24, fill: (row, index) => this.fill(row, index), kind: "tree", role: "tree", label: "Items" });
    this.root = null;
    this.found = null; // what a search gave, instead of the tree
    this.cursor = 0;
    this.refresh = rested(() => this.rows.refresh(), 10);
    const host = this.rows.host;
    host.addEventListener("click", (event) => this.click(event));
    host.addEventListener("dblclick", (event) => this.toggle(this.rowAt(event)));
    host.addEventListener("keydown", (event) => this.key(event));
    const filter = by("filter");
    filter.addEventListener("input", rested(() => this.search(filter.value.trim()), 250));
    filter.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "Enter") { this.rows.host.focus(); event.preventDefault(); }
      if (event.key === "Escape") { filter.value = ""; this.search(""); }
    });
  }

  async load(file) {
    this.file = file;
    this.found = null;
    by("filter").value = "";
    this.root = await this.open("");
    this.rows.at = 0;
    this.cursor = 0;
    this.show();
    if (this.root.count <= 3) await this.openSmall();
  }

  /** Where there are few items, those below are shown at once. */
  async openSmall() {
    await this.root.ready;
    for (let index = this.root.count - 1; index >= 0; index -= 1) {
      const item = this.root.pages.get(index);
      if (item?.open) await this.toggle(this.root.rowOf(index), true);
    }
  }

  async open(path) {
    const file = this.file;
    const page = (offset, limit) => json("tree", { file, path, offset, limit });
    const first = await page(0, 200);
    const open = new Open(path, first.count, () => this.refresh(), (offset, limit) =>
      offset === 0 ? Promise.resolve(first.children) : page(offset, limit).then((answer) => answer.children));
    open.first = first.children;
    open.pages.get(0);
    open.ready = Promise.resolve();
    await open.ready;
    return open;
  }

  /** Opens what is above the item at a path, and moves to it. */
  async reveal(path) {
    if (!path || this.found) return;
    let [open, above] = [this.root, 0];
    for (;;) {
      const index = open.first.findIndex((child) => path === child.path || path.startsWith(`${child.path}/`));
      if (index < 0) return;
      const row = above + open.rowOf(index);
      if (path === open.first[index].path) { this.move(row); return; }
      if (!open.opened.has(index)) await this.toggle(row, true);
      if (!open.opened.has(index)) return;
      [open, above] = [open.opened.get(index), row + 1];
    }
  }

  show() { this.rows.setCount(this.found ? this.found.length : this.root?.size ?? 0); }

  async search(text) {
    if (!text) {
      this.found = null;
      this.cursor = 0;
      this.show();
      return;
    }
    this.searching?.abort();
    this.searching = new AbortController();
    try {
      const answer = await json("search", { file: this.file, q: text, limit: 500 }, this.searching.signal);
      this.found = answer.children.map((child) => ({ ...child, full: true }));
      this.cursor = 0;
      this.rows.at = 0;
      this.show();
    } catch (error) {
      if (!isGivenUp(error)) this.failed?.(error);
    }
  }

  item(row) {
    if (this.found) return { item: this.found[row], depth: 0 };
    if (!this.root || row < 0 || row >= this.root.size) return { depth: 0 };
    const place = this.root.at(row);
    return { item: place.parent.pages.get(place.index), ...place };
  }

  fill(row, index) {
    const { item, depth, parent, index: at } = this.item(index);
    row.setAttribute("role", "treeitem");
    row.id = `row${index}`;
    row.setAttribute("aria-level", depth + 1);
    row.style.paddingLeft = `${6 + depth * 14}px`;
    if (index === this.cursor) row.classList.add("cursor");
    row.setAttribute("aria-selected", item !== undefined && item.path === state.get("path"));
    if (!item) {
      row.append(el("span", { class: "quiet" }, "…"));
      return;
    }
    const isOpen = Boolean(parent?.opened.has(at));
    if (item.open && !this.found) row.setAttribute("aria-expanded", isOpen);
    else row.removeAttribute("aria-expanded");
    const twist = item.open && !this.found ? (isOpen ? "▾" : "▸") : "";
    const unit = item.unit ? ` ${item.unit}` : "";
    // The first HDU without a name is called as its kind.
    const [kind, ...facts] = item.text.split("  ");
    const text = item.label && item.label === kind ? facts.join("  ") : item.text;
    const name = this.found ? item.address ?? item.path : item.label ? `${item.index}  ${item.label}` : item.name ?? String(item.index);
    row.append(
      el("span", { class: "twist", "aria-hidden": "true" }, twist),
      el("span", { class: `sign is-${item.kind}`, title: item.tag ?? item.kind }, SIGNS[item.kind] ?? ""),
      el("span", { class: "name", title: item.comment ? `${item.path}\n${item.comment}` : item.path }, name === "" ? "\"\"" : name),
      el("span", { class: "text" }, `${text}${unit}${item.role ? `  (${item.role})` : ""}`),
    );
  }

  rowAt(event) {
    const row = event.target.closest(".row");
    return row ? Number(row.dataset.index) : -1;
  }

  click(event) {
    const row = this.rowAt(event);
    if (row < 0) return;
    this.move(row);
    if (event.target.closest(".twist")) this.toggle(row);
    else this.choose(row);
  }

  move(row) {
    const last = this.rows.count - 1;
    this.cursor = Math.max(0, Math.min(row, last));
    this.rows.reveal(this.cursor);
    this.rows.refresh();
    this.rows.host.setAttribute("aria-activedescendant", `row${this.cursor}`);
  }

  choose(row) {
    const { item } = this.item(row);
    if (item?.attribute) state.go({ file: this.file, path: item.path, view: "header", attribute: item.attribute });
    else if (item && (item.path !== state.get("path") || !state.get("file"))) state.go({ file: this.file, path: item.path });
  }

  async toggle(row, onlyOpen = false) {
    if (this.found || row < 0) return;
    const { item, parent, index } = this.item(row);
    if (!item?.open) return;
    if (parent.opened.has(index)) {
      if (!onlyOpen) parent.opened.delete(index);
    } else {
      try {
        parent.opened.set(index, await this.open(item.path));
      } catch (error) {
        if (!isGivenUp(error)) this.failed?.(error);
      }
    }
    this.show();
  }

  key(event) {
    const { item, parent, index } = this.item(this.cursor);
    const isOpen = Boolean(parent?.opened.has(index));
    const moves = {
      ArrowDown: 1, ArrowUp: -1, PageDown: this.rows.fits, PageUp: -this.rows.fits, Home: -Infinity, End: Infinity,
    };
    if (event.key in moves) this.move(Math.max(0, Math.min(this.cursor + moves[event.key], this.rows.count - 1)));
    else if (event.key === "ArrowRight" && item?.open) (isOpen ? Promise.resolve(this.move(this.cursor + 1)) : this.toggle(this.cursor));
    else if (event.key === "ArrowLeft" && isOpen) this.toggle(this.cursor);
    else if (event.key === "ArrowLeft") this.toParent();
    else if (event.key === "Enter" || event.key === " ") this.choose(this.cursor);
    else return;
    event.preventDefault();
  }

  toParent() {
    const { depth } = this.item(this.cursor);
    for (let row = this.cursor - 1; row >= 0 && !this.found; row -= 1) {
      if (this.item(row).depth < depth) { this.move(row); return; }
    }
  }
}
