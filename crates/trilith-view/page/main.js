// The page: which file and which item are looked at, and how.

import { cancelAll, isGivenUp, json, tracked } from "./api.js";
import { Attributes } from "./attributes.js";
import { by, bytes, copy, el, titled } from "./dom.js";
import { FileViews } from "./file.js";
import { ImageView } from "./image.js";
import { LineView } from "./line.js";
import { LinesView } from "./lines.js";
import { StatisticsView } from "./statistics.js";
import * as state from "./state.js";
import { TableView } from "./table.js";
import * as transport from "./transport.js";
import { Tree } from "./tree.js";

const NAMES = { image: "Image", plot: "Plot", table: "Table", text: "Text", statistics: "Statistics", facts: "Details", source: "Source", blocks: "Blocks", verify: "Verify" };

let files = [];
let choices = null;
let about = null;
let shownFile = null;
let view = null;
let item = null;
const tree = new Tree();
tree.failed = failed;

function failed(error) {
  if (isGivenUp(error)) return;
  by("tabs").replaceChildren();
  show(el("div", { class: "padded" }, el("p", { class: "bad", role: "alert" }, error.message)));
}

/** Takes away what is shown, and shows this. */
function show(...parts) {
  view?.end?.();
  view = null;
  by("view").replaceChildren(...parts);
}

async function start() {
  await list();
  state.onGo(follow);
  if (files.length) await follow();
  else {
    by("open").hidden = !transport.canOpen;
    show(el("div", { class: "padded quiet" }, transport.canOpen ? "Drop a file here, or open one above." : "There are no files."));
  }
}

/** The name of a file without its folders. */
const base = (name) => name.split(/[\\/]/).filter(Boolean).pop() ?? name;

async function list() {
  const answer = await json("files", {});
  files = answer.files;
  choices = answer.choices;
  by("files").replaceChildren(...files.map((file) => el("option", { value: String(file.index), title: file.place }, base(file.name))));
  by("chooser").hidden = files.length === 0;
}

/** Shows what the state says. */
async function follow() {
  try {
    const index = state.get("file") || "0";
    if (shownFile !== index) {
      by("files").value = index;
      shownFile = index;
      by("about").textContent = "";
      about = await json("file", { file: index });
      document.title = `${base(about.name)} – Trilith`;
      const format = about.container ? `${about.format} in ${about.container}` : about.format;
      const facts = [format, about.standard && `standard ${about.standard}`, bytes(about.size)];
      by("about").textContent = facts.filter(Boolean).join(" · ");
      by("about").title = about.warnings.join("\n");
      if (about.warnings.length) by("about").append(" · ", el("span", { class: "bad" }, `${about.warnings.length} warnings`));
      // A file begins with its image, unless something else is asked for.
      if (about.image && !state.get("path") && !state.get("view")) state.set({ path: about.image });
      await tree.load(index);
      await tree.reveal(state.get("path"));
    }
    tree.rows.refresh();
    await showItem(index, state.get("path"));
  } catch (error) {
    failed(error);
    if (!by("head").childElementCount) by("head").replaceChildren(el("h1", {}, files[Number(shownFile)]?.name ?? ""));
  }
}

async function showItem(file, path) {
  item = await json("item", { file, path });
  head(file);
  const ways = [...item.views, ...(item.array && item.views.some((name) => name === "image" || name === "plot") ? ["statistics"] : []),
    ...(item.attributes.length ? ["header"] : []), "facts"];
  const whole = ["source", "blocks", "verify"];
  const all = path !== "" ? [...ways, "source"] : about.format === "FITS" ? [...ways, ...whole] : [...whole, ...ways];
  const wanted = state.get("view");
  tabs(all, all.includes(wanted) ? wanted : all[0]);
}

function head(file) {
  const name = files[Number(file)]?.name ?? "";
  const fact = (label, value) => (value ? el("span", { class: "fact" }, label ? `${label} ` : "", el("b", {}, value)) : null);
  const place = files[Number(file)]?.place ?? name;
  const quoted = (text) => JSON.stringify(text);
  const shell = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const copies = [
    ["Copy path", item.path || "/"],
    ["Copy Python", item.array ? `trilith.open(${quoted(place)})[${quoted(item.path.slice(1))}]` : `trilith.open(${quoted(place)})`],
    ["Copy command", item.array ? `trilith get ${shell(`${place}#${item.path}`)}` : `trilith tree ${shell(item.path ? `${place}#${item.path}` : place)}`],
  ];
  const { array } = item;
  by("head").replaceChildren(
    el("h1", { class: "mono" }, item.path || base(name)),
    ...[fact("HDU", item.hdu && titled(item.hdu)), fact("", array ? array.datatype : item.hdu ? "" : kindOf(item)), fact("shape", array && JSON.stringify(array.shape)), fact("unit", item.unit), fact("", array?.storage),
      fact("", array && bytes(array.nbytes)), fact("tag", array || !hasTags() ? "" : item.tag?.replace(/^.*asdf\//, "")), fact("", item.array?.remarks?.join(", "))].filter(Boolean),
    el("span", { class: "copies" }, ...copies.map(([label, text]) => el("button", { type: "button", title: text, onclick: () => copy(text) }, label))),
    item.comment ? el("span", { class: "fact comment" }, item.comment) : "",
  );
}

function tabs(all, chosen) {
  const made = all.map((name) => el("button", {
    type: "button", role: "tab", "aria-selected": String(name === chosen), tabindex: name === chosen ? "0" : "-1",
    onclick: () => { state.set({ view: name }); tabs(all, name); by("tabs").querySelector("[aria-selected=true]")?.focus(); },
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) made[(all.indexOf(name) + step + all.length) % all.length].click();
    },
  }, named(name)));
  const beside = item.attributes.length && chosen !== "header" ? [el("span", { class: "grow" }), el("button", {
    type: "button", class: "toggle", "aria-pressed": String(isBeside()), title: `${named("header")} next to the data (A)`, onclick: toggleBeside,
  }, named("header"))] : [];
  by("tabs").replaceChildren(...made, ...beside);
  open(chosen).catch(failed);
}

/** Whether the tags and lines of the tree are those of the file: the tree of a FITS file is made from its HDUs. */
const hasTags = () => about?.format !== "FITS";

/** What an item is called in the words of its format. */
const kindOf = ({ kind }) => (kind === "mapping" && /HDF5|netCDF/.test(about?.format) ? "group" : kind);

/** What a view is called: formats have their own names for the same thing. */
function named(name) {
  return about?.names[name] ?? NAMES[name];
}

/** Whether the attributes are next to the data: where there is room, unless somebody says otherwise. */
const isBeside = () => (state.get("side") || (innerWidth >= 1000 ? "1" : "0")) === "1";

function toggleBeside() {
  state.set({ side: isBeside() ? "0" : "1" });
  const button = by("tabs").querySelector(".toggle");
  button?.setAttribute("aria-pressed", String(isBeside()));
  const shown = by("view").querySelector("aside");
  if (shown) shown.hidden = !isBeside();
}

/** Puts the attributes of the item next to what is shown of it. */
function beside(host) {
  const data = host.lastElementChild;
  if (!item.attributes.length || !data) return;
  const row = el("div", { class: "beside" });
  data.replaceWith(row);
  const { element } = new Attributes(item.attributes, named("header"));
  element.hidden = !isBeside();
  row.append(data, element);
}

async function open(name) {
  const host = el("div", { class: "host" });
  await fill(host, name);
  if (name !== "header") beside(host);
}

async function fill(host, name) {
  const wants = { file: state.get("file") || "0", path: item.path };
  const lines = async (request, at) => {
    const first = await json(request, { ...wants, offset: 0, limit: 1 });
    show(host);
    view = new LinesView(host, request, wants, first, at);
  };
  if (name === "image") {
    show(host);
    view = new ImageView(host, item, wants, choices, files);
  } else if (name === "plot") {
    const table = await json("table", { ...wants, offset: 0, limit: 0 });
    const isNumber = (column) => /^(u?int|float|complex|bool)\w*$/.test(column.type);
    const named = item.views[0] === "table" ? table.columns.filter(isNumber) : undefined;
    if (named && !named.length) throw new Error("no column of this table holds one number in each row");
    show(host);
    view = new LineView(host, { length: table.count, columns: named, name: item.path.split("/").pop(), unit: item.unit }, wants);
  } else if (name === "table") {
    const first = await json("table", { ...wants, offset: 0, limit: 0, column: state.get("column") || undefined });
    show(host);
    view = new TableView(host, wants, first);
  } else if (name === "text") await lines("text");
  else if (name === "source") await lines("lines", item.path ? item.line : undefined);
  else if (name === "statistics") {
    show(host);
    view = new StatisticsView(host, wants, item);
  } else if (name === "header") {
    show(host);
    view = new Attributes(item.attributes, named(name), true);
    host.append(view.element);
  } else if (name === "facts") {
    show(host);
    FileViews.facts(host, { ...item, kind: item.hdu ? "HDU" : kindOf(item), ...(hasTags() ? {} : { tag: null, line: null }) });
  } else {
    show(host);
    FileViews[name](host, wants);
  }
}

// ---- the frame

by("files").addEventListener("change", () => state.go({ file: by("files").value, path: "" }));
by("cancel").addEventListener("click", cancelAll);
by("theme").addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.documentElement.dataset.theme = dark === "dark" ? "light" : "dark";
  try { localStorage.setItem("theme", document.documentElement.dataset.theme); } catch { /* it lasts as long as the page */ }
  view?.drawn?.draw?.();
  view?.levels?.bar?.draw();
});
try { const theme = localStorage.getItem("theme"); if (theme) document.documentElement.dataset.theme = theme; } catch { /* the system's */ }

const KEYS = [
  ["/", "search"], ["?", "show these keys"], ["Escape", "cancel the running task"], ["Arrows, Enter", "in the tree: move, open, select"],
  ["+ − 0 1", "in an image: zoom in, zoom out, fit, one pixel for each element"], ["Arrows", "in an image or a plot: move"],
  ["A", "header or attributes next to the data"], ["F  I", "in an image: first row at the top or the bottom, reverse the colours"],
  ["P  H  M  B", "in an image: profiles, histogram, mask, blink"], ["C", "in an image: copy the position on the sky"], ["Home, End, Page keys", "in tables and text: scroll"],
];
by("keys").append(el("h2", {}, "Keys"), el("table", { class: "facts" }, ...KEYS.map(([key, what]) => el("tr", {}, el("th", {}, key), el("td", {}, what)))),
  el("form", { method: "dialog" }, el("button", {}, "Close")));
const help = () => by("keys").showModal();
by("help").addEventListener("click", help);

document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") { by("filter").focus(); event.preventDefault(); }
  if (event.key === "?") help();
  if (event.key === "a") by("tabs").querySelector(".toggle")?.click();
  if (event.key === "Escape") cancelAll();
});

const split = by("split");
const width = (pixels) => { by("side").style.width = `${Math.max(140, Math.min(pixels, innerWidth - 300))}px`; };
split.addEventListener("pointerdown", (event) => split.setPointerCapture(event.pointerId));
split.addEventListener("pointermove", (event) => { if (event.buttons) width(event.clientX); });
split.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -20, ArrowRight: 20 }[event.key];
  if (step) width(by("side").offsetWidth + step);
});

// ---- files that the page opens itself

async function opened(what) {
  try {
    const first = files.length;
    for (const one of what) await tracked((signal) => transport.open(one, signal));
    await list();
    if (files.length > first) state.go({ file: first, path: "" });
  } catch (error) {
    failed(error);
  }
}

if (transport.canOpen) {
  by("open").hidden = false;
  by("pick").addEventListener("change", () => opened([...by("pick").files]));
  by("remote").addEventListener("submit", (event) => {
    event.preventDefault();
    if (by("address").value) opened([by("address").value]);
  });
  document.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
  document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    opened([...event.dataTransfer.files]);
  });
  const given = state.get("url");
  if (given) opened([given]).then(() => {}, failed);
}

start().catch(failed);
