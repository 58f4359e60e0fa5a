// What belongs to a whole file, and the facts of an item.

import { json, isGivenUp } from "./api.js";
import { bytes, el, titled } from "./dom.js";
import { Pages, Rows } from "./rows.js";

const table = (pairs) => el("table", { class: "facts" }, ...pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
  .map(([name, value]) => el("tr", {}, el("th", {}, name), el("td", {}, String(value)))));

export const FileViews = {
  /** All that is known of an item. */
  facts(host, item) {
    const { array } = item;
    const pairs = [
      ["path", item.path || "/"], ["kind", item.kind], ["tag", item.tag], ["value", item.text], ["entries", item.summary], ["unit", item.unit],
      ["HDU", item.hdu && titled(item.hdu)], ["comment", item.comment], ["role", item.role], ["reference", item.reference], ["problem", item.problem], ["line of the text", item.line],
    ];
    if (array) {
      pairs.push(["datatype", array.datatype], ["shape", JSON.stringify(array.shape)], ["byte order", array.byteorder], ["stored", array.storage],
        ["filter", array.filter], ["first byte", array.offset], ["bytes", array.nbytes === null ? null : array.nbytes < 1000 ? array.nbytes : `${array.nbytes} (${bytes(array.nbytes)})`],
        ["remarks", array.remarks.join(", ")]);
    }
    host.append(el("div", { class: "padded" }, table(pairs)));
  },

  /** The stored pieces of a file. */
  async blocks(host, wants) {
    const page = (offset, limit) => json("blocks", { file: wants.file, offset, limit });
    const first = await page(0, 100);
    host.append(el("div", { class: "tools quiet" }, `${first.count.toLocaleString("en")} ${first.count === 1 ? "entry" : "entries"}`));
    const box = el("div", { class: "plotted" });
    host.append(box);
    const widths = first.columns.map((name) => ({ item: 280, checksum: 290, datatype: 160 })[name] ?? 120);
    const cells = (row, values, kind) => values.forEach((value, at) => {
      const cell = el("span", { class: `cell mono ${kind} ${typeof value === "number" ? "right" : ""}` }, value === null ? "" : String(value));
      cell.style.width = `${widths[at]}px`;
      row.append(cell);
    });
    const pages = new Pages((offset, limit) => page(offset, limit).then((answer) => answer.rows), () => rows.refresh());
    const rows = new Rows(box, { height: 23, kind: "table", top: 30, label: "Blocks", fill: (row, index) => cells(row, pages.get(index) ?? ["…"], "") });
    const heads = el("div", { class: "heads" });
    cells(heads, first.columns, "");
    heads.style.height = "30px";
    heads.style.alignItems = "center";
    rows.host.prepend(heads);
    rows.setWidth(widths.reduce((sum, width) => sum + width, 0));
    rows.setCount(first.count);
  },

  /** Checksums and structure. */
  verify(host, wants) {
    const said = el("div", { "aria-live": "polite" });
    const run = async (deep) => {
      said.replaceChildren(el("p", { class: "quiet" }, "Reading…"));
      try {
        const answer = await json("verify", { file: wants.file, deep: deep ? 1 : undefined });
        const count = `${answer.blocks} blocks, ${answer.checked} with a checksum`;
        said.replaceChildren(
          el("p", { class: answer.valid ? "good" : "bad" }, answer.valid ? `No problem was found (${count}).` : `There are problems (${count}).`),
          el("ul", {}, ...answer.problems.map((text) => el("li", { class: "bad" }, text)), ...answer.warnings.map((text) => el("li", {}, text))),
        );
      } catch (error) {
        said.replaceChildren(el("p", { class: "bad" }, isGivenUp(error) ? "Cancelled." : error.message));
      }
    };
    host.append(el("div", { class: "padded" }, el("p", {}, "Compares every checksum with what is stored; the whole file is read."),
      el("p", {}, el("button", { type: "button", onclick: () => run(false) }, "Compare checksums"), " ",
        el("button", { type: "button", onclick: () => run(true) }, "Decode every array as well")), said));
  },
};
