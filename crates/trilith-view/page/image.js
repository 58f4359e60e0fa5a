// An array as a picture: tiles that are panned and zoomed, levels, the value under the pointer, profiles, sliders for the
// other axes, and another array to compare with.

import { json, isGivenUp } from "./api.js";
import { bytes, canvas, colour, copy, el, rested, short } from "./dom.js";
import { Bits } from "./flags.js";
import { Levels } from "./levels.js";
import { saved } from "./line.js";
import { axes, curve, reach } from "./plot.js";
import * as state from "./state.js";
import { LARGE, Tiles, WHOLE } from "./tiles.js";

/** Elements of a side of the windows that values are asked for in. */
const WINDOW = 16;
const ZOOMS = { least: 1 / 1024, most: 64 };

export class ImageView {
  constructor(host, item, wants, choices, files) {
    this.item = item;
    this.files = files;
    this.look = WHOLE;
    this.looking = new AbortController();
    this.wants = wants;
    this.shape = item.array.shape;
    const last = this.shape[this.shape.length - 1];
    this.isColour = this.shape.length >= 3 && (last === 3 || last === 4) && item.array.datatype === "uint8";
    const plane = this.isColour ? 3 : 2;
    this.leading = this.shape.slice(0, this.shape.length - plane);
    [this.height, this.width] = this.shape.slice(this.leading.length, this.leading.length + 2);
    const given = state.get("slice").split(",").map(Number);
    this.index = this.leading.map((length, axis) => Math.min(length - 1, Math.max(0, Math.trunc(given[axis]) || 0)));
    this.view = { left: 0, top: 0, zoom: 0 };
    this.values = new Map();
    this.isLower = (state.get("origin") || item.origin) === "lower";
    this.build(host, choices);
    this.tiles = this.newTiles();
    this.compare();
    this.start().catch((error) => { if (!isGivenUp(error)) this.note(error.message); });
  }

  newTiles(overlay = false) {
    return new Tiles(this.width, this.height, {
      overlay,
      look: () => this.look,
      arrived: () => this.drawn.draw(),
      failed: (error) => this.note(error.message),
      shown: (what) => { if (!overlay) this.shown(what); },
    });
  }

  /** Of a large array some rows come first, and what would take long to fetch comes when somebody asks for it. */
  async start() {
    if (!this.isColour && this.width * this.height >= LARGE) {
      this.look = await json("look", this.wanted(), this.looking.signal);
      if (this.look.share === 1 && !this.look.unasked) return this.shown("nothing");
    }
    if (this.isColour) this.restyle({});
    else this.levels.load(this.levelled());
    this.overlay();
    if (!this.isColour) await this.locate({ x: Math.floor(this.width / 2), y: Math.floor(this.height / 2) });
  }

  /** Says how much of the array is shown. */
  shown(what) {
    const { share, unasked, bytes: size } = this.look;
    if (what === "whole") return this.note("");
    const part = share < 1 ? `A first look at ${Number((share * 100).toPrecision(2))} % of the rows.` : "";
    if (what === "look" && unasked) return this.note(`${part} Reading the rest…`);
    const all = el("button", { type: "button", onclick: () => this.readAll() }, `Read all of it (${bytes(size ?? this.item.array.nbytes)})`);
    return this.note(part || "This is not read yet.", all);
  }

  readAll() {
    this.look = { ...this.look, unasked: true };
    this.note("Reading…");
    this.tiles.style = "";
    if (this.isColour) this.restyle({});
    else if (this.levels.low === undefined) this.levels.load(this.levelled());
    else this.levels.whole();
  }

  build(host, choices) {
    const tools = el("div", { class: "tools" });
    const sliders = el("div", { class: "tools", hidden: !this.leading.length });
    const more = el("div", { class: "tools", hidden: !["with", "flags", "more"].some((key) => state.get(key)) });
    host.append(tools, sliders, more);
    if (!this.isColour) {
      this.levels = new Levels(tools, more, this.wanted(), choices, (style) => this.restyle(style));
      this.levels.look = () => this.look;
      this.levels.failed = (error) => this.note(error.message);
    }
    this.leading.forEach((length, axis) => sliders.append(this.slider(length, axis)));
    const button = (text, title, work) => el("button", { type: "button", title, onclick: work }, text);
    this.profiling = el("button", { type: "button", "aria-pressed": "false", title: "Row and column through the pointer (P)", onclick: () => this.toggleProfiles() }, "Profiles");
    this.masking = el("button", { type: "button", "aria-pressed": String(state.get("mask") !== "0"), title: "Show what is masked in its own colour (M)", onclick: () => this.toggleMask() }, "Mask");
    const opened = () => {
      more.hidden = !more.hidden;
      this.further.setAttribute("aria-expanded", String(!more.hidden));
      state.set({ more: more.hidden ? undefined : 1 });
    };
    this.flipping = button("Flip", "First row at the top or at the bottom (F)", () => this.flip());
    this.further = button("More", "Positions, mask, comparison, flags, saving", opened);
    this.further.setAttribute("aria-expanded", String(!more.hidden));
    tools.append(this.flipping, this.profiling, button("Fit", "The whole picture (0)", () => this.fit()), button("1:1", "One pixel for each element (1)", () => this.scale(1)),
      button("+", "Zoom in (+)", () => this.scale(this.view.zoom * 2)), button("−", "Zoom out (-)", () => this.scale(this.view.zoom / 2)), this.further);
    more.append(this.going(), this.masking, this.flagging(), this.comparing(), button("Save picture", "What is in sight, as PNG", () => this.save()));
    this.bits = new Bits(more, () => this.overlay(), (error) => this.note(error.message));
    this.stage = el("div", { class: "stage" });
    const box = el("div", { class: "picture", tabindex: "0", "aria-label": "Picture. The arrows move, plus and minus zoom, 0 fits, 1 shows one pixel for each element." });
    this.box = box;
    this.notice = el("div", { class: "note", hidden: true, role: "status" });
    this.status = el("div", { class: "status mono", role: "status", "aria-live": "off" });
    this.stage.append(box, this.status);
    if (this.levels) {
      const bar = el("div", { class: "bar" });
      box.after(bar);
      this.levels.bar = canvas(bar, (context, width, height) => this.levels.drawBar(context, width, height, this.item.unit), "Colour bar");
    }
    host.append(this.stage);
    this.drawn = canvas(box, (context, width, height) => this.draw(context, width, height), "The array as a picture");
    box.append(this.notice);
    this.pointer(box);
    box.addEventListener("keydown", (event) => this.key(event));
    if (state.get("profiles")) this.toggleProfiles();
  }

  // ---- what is asked for

  wanted() { return { ...this.wants, slice: this.index.join(",") || undefined, mask: state.get("mask") || undefined }; }

  /** What the levels are of: the array, or the difference. */
  levelled() {
    const minus = this.how === "difference" ? { minus: this.other, minus_file: this.otherFile } : {};
    return { ...this.wanted(), ...minus };
  }

  /** The array to compare with. */
  compared() { return { ...this.wanted(), path: this.other, file: this.otherFile ?? this.wants.file }; }

  restyle(style) {
    this.style = style;
    this.tiles.restyle({ ...this.levelled(), ...style });
    this.twin?.restyle({ ...this.compared(), ...style });
    this.drawn.draw();
  }

  again() {
    this.values.clear();
    if (this.isColour) this.restyle({});
    else this.levels.renew(this.levelled());
    this.overlay();
    if (this.spot) this.profile();
  }

  slider(length, axis) {
    const text = el("input", { class: "number", type: "number", min: "0", max: String(length - 1), value: String(this.index[axis]), "aria-label": `Index of axis ${axis}` });
    const range = el("input", { type: "range", min: "0", max: String(length - 1), value: String(this.index[axis]), "aria-label": `Axis ${axis}` });
    const move = rested((value) => {
      this.index[axis] = Math.max(0, Math.min(length - 1, Number(value) || 0));
      state.set({ slice: this.index.join(",") });
      this.again();
    }, 60);
    range.addEventListener("input", () => { text.value = range.value; move(range.value); });
    text.addEventListener("change", () => { range.value = text.value; move(text.value); });
    return el("label", {}, this.item.axes?.[axis] ?? `axis ${axis}`, range, text);
  }

  // ---- drawing

  draw(context, width, height) {
    if (!this.view.zoom) this.begin(width, height);
    const tiles = this.twin && this.second ? this.twin : this.tiles;
    context.save();
    if (this.isLower) context.transform(1, 0, 0, -1, 0, height);
    tiles.draw(context, this.view, width, height);
    this.over?.draw(context, this.view, width, height);
    if (this.spot && this.stage.classList.contains("profiles")) {
      context.strokeStyle = colour("data2");
      context.lineWidth = 1;
      context.globalAlpha = 0.7;
      const [x, y] = [(this.spot.x + 0.5 - this.view.left) * this.view.zoom, (this.spot.y + 0.5 - this.view.top) * this.view.zoom];
      context.strokeRect(-5, y, width + 10, 0);
      context.strokeRect(x, -5, 0, height + 10);
      context.globalAlpha = 1;
    }
    context.restore();
    this.drawCompass(context, height);
    this.box.dataset.origin = this.isLower ? "lower" : "upper";
    this.box.dataset.complete = String(tiles.isComplete && (!this.over || this.over.isComplete));
    this.across?.draw();
    this.down?.draw();
  }

  /** The first row at the other end. */
  flip() {
    this.isLower = !this.isLower;
    state.set({ origin: this.isLower ? "lower" : "upper" });
    this.drawn.draw();
  }

  /** From the top of the screen to the end where the first row is. */
  fromFirst(y) { return this.isLower ? this.box.clientHeight - y : y; }

  /** Arrows to north and east, as the library says that they are in the middle of the array. */
  drawCompass(context, height) {
    if (!this.compass) return;
    const [x, y, long] = [46, height - 46, 26];
    context.font = "bold 12px system-ui, sans-serif";
    context.lineJoin = "round";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const [name, [right, along]] of [["N", this.compass.north], ["E", this.compass.east]]) {
      const down = this.isLower ? -along : along;
      const [tipX, tipY] = [x + right * long, y + down * long];
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(tipX, tipY);
      for (const turn of [2.6, -2.6]) {
        const angle = Math.atan2(down, right) + turn;
        context.moveTo(tipX, tipY);
        context.lineTo(tipX + Math.cos(angle) * 8, tipY + Math.sin(angle) * 8);
      }
      for (const [ink, wide] of [[colour("paper"), 4], [colour("mark"), 2]]) {
        context.strokeStyle = ink;
        context.lineWidth = wide;
        context.stroke();
      }
      context.lineWidth = 4;
      context.strokeStyle = colour("paper");
      context.strokeText(name, x + right * (long + 12), y + down * (long + 12));
      context.fillStyle = colour("mark");
      context.fillText(name, x + right * (long + 12), y + down * (long + 12));
    }
    this.box.dataset.compass = JSON.stringify(this.compass);
  }

  begin(width, height) {
    const [x, y, zoom] = ["x", "y", "zoom"].map((key) => state.number(key));
    if (zoom > 0) this.view = { zoom, left: x - width / zoom / 2, top: y - height / zoom / 2 };
    else this.fit(false);
  }

  fit(keep = true) {
    const [width, height] = [this.box.clientWidth, this.box.clientHeight];
    const zoom = Math.min(width / this.width, height / this.height, ZOOMS.most);
    this.view = { zoom, left: (this.width - width / zoom) / 2, top: (this.height - height / zoom) / 2 };
    if (keep) {
      state.set({ x: undefined, y: undefined, zoom: undefined });
      this.drawn.draw();
    }
  }

  /** Another scale; the place under (x, y) stays where it is, y counted from the end where the first row is. */
  scale(zoom, x = this.box.clientWidth / 2, y = this.box.clientHeight / 2) {
    const bounded = Math.max(ZOOMS.least, Math.min(ZOOMS.most, zoom));
    const [column, row] = [this.view.left + x / this.view.zoom, this.view.top + y / this.view.zoom];
    this.view = { zoom: bounded, left: column - x / bounded, top: row - y / bounded };
    this.moved();
  }

  move(dx, dy) {
    this.view = { ...this.view, left: this.view.left + dx, top: this.view.top + dy };
    this.moved();
  }

  moved() {
    const { left, top, zoom } = this.view;
    const [width, height] = [this.box.clientWidth / zoom, this.box.clientHeight / zoom];
    this.view.left = Math.max(-width + 1, Math.min(left, this.width - 1));
    this.view.top = Math.max(-height + 1, Math.min(top, this.height - 1));
    this.drawn.draw();
    this.kept ??= rested(() => state.set({
      x: Number((this.view.left + this.box.clientWidth / this.view.zoom / 2).toFixed(1)),
      y: Number((this.view.top + this.box.clientHeight / this.view.zoom / 2).toFixed(1)),
      zoom: Number(this.view.zoom.toPrecision(5)),
    }), 200);
    this.kept();
  }

  note(text, ...more) {
    this.notice.replaceChildren(text, ...more);
    this.notice.hidden = !text;
  }

  // ---- the pointer

  pointer(box) {
    let held = null;
    this.reading = rested(() => this.read(), 30);
    box.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.scale(this.view.zoom * Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0016)), event.offsetX, this.fromFirst(event.offsetY));
    }, { passive: false });
    box.addEventListener("pointerdown", (event) => {
      if (event.target.closest("button")) return; // the click is its own
      held = { x: event.offsetX, y: this.fromFirst(event.offsetY), moved: false };
      box.setPointerCapture(event.pointerId);
      box.focus({ preventScroll: true });
    });
    box.addEventListener("pointermove", (event) => {
      if (held) {
        const y = this.fromFirst(event.offsetY);
        const [dx, dy] = [event.offsetX - held.x, y - held.y];
        if (held.moved || Math.hypot(dx, dy) > 3) {
          this.move(-dx / this.view.zoom, -dy / this.view.zoom);
          held = { x: event.offsetX, y, moved: true };
        }
      }
      this.point(event.offsetX, this.fromFirst(event.offsetY));
    });
    box.addEventListener("pointerup", () => { held = null; });
    box.addEventListener("dblclick", (event) => this.scale(this.view.zoom * 2, event.offsetX, this.fromFirst(event.offsetY)));
    box.addEventListener("pointerleave", () => { if (!this.stage.classList.contains("profiles")) this.status.replaceChildren(); });
  }

  point(x, y) {
    const [column, row] = [Math.floor(this.view.left + x / this.view.zoom), Math.floor(this.view.top + y / this.view.zoom)];
    if (column < 0 || row < 0 || column >= this.width || row >= this.height) {
      this.status.replaceChildren();
      return;
    }
    this.spot = { x: column, y: row };
    this.say();
    this.reading();
    if (this.stage.classList.contains("profiles")) {
      this.drawn.draw();
      this.profiled();
    }
  }

  window(spot) { return `${Math.floor(spot.x / WINDOW)},${Math.floor(spot.y / WINDOW)}`; }

  say() {
    const { x, y } = this.spot;
    const known = this.values.get(this.window(this.spot));
    const value = known?.[y % WINDOW]?.[x % WINDOW];
    const index = [...this.index, y, x].join(", ");
    const text = known ? (value === null ? "masked" : value ?? "") : "…";
    this.status.replaceChildren(el("span", {}, `[${index}]`), el("span", { id: "value" }, text, this.item.unit && known && value !== null ? ` ${this.item.unit}` : ""));
    if (this.world?.index === index) this.status.append(el("span", { id: "world" }, this.world.text));
  }

  /** World coordinates of an element, of an array that has them. */
  async locate(at = this.spot) {
    if (this.world === null) return;
    const index = [...this.index, at.y, at.x].join(", ");
    this.locating?.abort();
    this.locating = new AbortController();
    try {
      const { coordinates, sky, compass } = await json("wcs", { ...this.wants, index }, this.locating.signal);
      this.position.hidden = !sky;
      if (compass && !this.compass) {
        this.compass = compass;
        this.drawn.draw();
      }
      this.world = coordinates && {
        index, position: coordinates.map(({ value }) => value).join(","),
        // Both axes of the sky are in one frame.
        text: coordinates.map(({ name, text, frame }, at) => `${name} ${text}${frame && coordinates[at + 1]?.frame !== frame ? ` ${frame}` : ""}`).join("  "),
      };
      if (this.spot) this.say();
    } catch (error) {
      if (!isGivenUp(error)) this.world = null;
    }
  }

  async read() {
    const spot = this.spot;
    this.locate();
    const key = this.window(spot);
    if (!this.values.has(key)) {
      const [x, y] = [Math.floor(spot.x / WINDOW) * WINDOW, Math.floor(spot.y / WINDOW) * WINDOW];
      this.readingNow?.abort();
      this.readingNow = new AbortController();
      try {
        if (this.isColour) this.values.set(key, await this.readColours(x, y));
        else this.values.set(key, (await json("values", { ...this.wanted(), x, y, w: WINDOW, h: WINDOW }, this.readingNow.signal)).values);
        if (this.values.size > 300) this.values.delete(this.values.keys().next().value);
      } catch (error) {
        if (!isGivenUp(error)) this.status.append(el("span", { class: "bad" }, error.message));
        return;
      }
    }
    if (this.spot && this.window(this.spot) === key) this.say();
  }

  /** Red, green and blue of a window. */
  async readColours(x, y) {
    const channels = await Promise.all([0, 1, 2].map((channel) =>
      json("values", { ...this.wants, slice: [...this.index, ":", ":", channel].join(","), x, y, w: WINDOW, h: WINDOW }, this.readingNow.signal)));
    return channels[0].values.map((row, j) => row.map((_, i) => channels.map((channel) => channel.values[j][i]).join(", ")));
  }

  key(event) {
    const step = 60 / this.view.zoom;
    const keys = {
      "+": () => this.scale(this.view.zoom * 2), "=": () => this.scale(this.view.zoom * 2), "-": () => this.scale(this.view.zoom / 2),
      "0": () => this.fit(), "1": () => this.scale(1), ArrowLeft: () => this.move(-step, 0), ArrowRight: () => this.move(step, 0),
      ArrowUp: () => this.move(0, this.isLower ? step : -step), ArrowDown: () => this.move(0, this.isLower ? -step : step), f: () => this.flip(),
      i: () => this.levels?.invert(), p: () => this.toggleProfiles(), m: () => this.toggleMask(),
      h: () => this.levels?.showHistogram(), b: () => this.blinkOnce(), c: () => this.world && copy(this.world.position),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  }

  toggleMask() {
    const shown = state.get("mask") === "0";
    state.set({ mask: shown ? undefined : "0" });
    this.masking.setAttribute("aria-pressed", String(shown));
    this.again();
  }

  // ---- profiles

  toggleProfiles() {
    const shown = this.stage.classList.toggle("profiles");
    this.profiling.setAttribute("aria-pressed", String(shown));
    state.set({ profiles: shown ? 1 : undefined });
    if (!shown) {
      this.strips?.forEach((strip) => strip.remove());
      [this.strips, this.across, this.down] = [null, null, null];
      return;
    }
    this.spot ??= { x: Math.floor(this.width / 2), y: Math.floor(this.height / 2) };
    this.strips = [el("div", { class: "down" }), el("div", { class: "across" })];
    this.box.after(...this.strips);
    this.across = canvas(this.strips[1], (context, width, height) => this.drawAcross(context, width, height), "The row through the pointer");
    this.down = canvas(this.strips[0], (context, width, height) => this.drawDown(context, width, height), "The column through the pointer");
    this.profiled ??= rested(() => this.profile(), 80);
    this.profile();
  }

  async profile() {
    if (this.isColour) return;
    this.profilingNow?.abort();
    this.profilingNow = new AbortController();
    const { signal } = this.profilingNow;
    const part = (from, length, most) => ({ from: Math.max(0, Math.floor(from)), to: Math.min(most, Math.ceil(from + length)), points: 600 });
    const { left, top, zoom } = this.view;
    try {
      [this.rowLine, this.columnLine] = await Promise.all([
        json("profile", { ...this.wanted(), row: this.spot.y, ...part(left, this.box.clientWidth / zoom, this.width) }, signal),
        json("profile", { ...this.wanted(), column: this.spot.x, ...part(top, this.box.clientHeight / zoom, this.height) }, signal),
      ]);
      this.across?.draw();
      this.down?.draw();
    } catch (error) {
      if (!isGivenUp(error)) this.note(error.message);
    }
  }

  drawAcross(context, width, height) {
    const range = this.rowLine && reach(this.rowLine.low, this.rowLine.high);
    if (!range) return;
    const { left, zoom } = this.view;
    const { y } = axes(context, width, height, [left, left + width / zoom], range, { left: 0, right: 0, bottom: 0, grid: false });
    curve(context, this.rowLine, (at) => (at + 0.5 - left) * zoom, y, colour("data"));
    context.fillStyle = colour("quiet");
    context.textAlign = "left";
    context.fillText(`row ${this.spot.y}   ${short(range[0])} … ${short(range[1])}`, 6, 12);
  }

  drawDown(context, width, height) {
    const range = this.columnLine && reach(this.columnLine.low, this.columnLine.high);
    if (!range) return;
    const { top, zoom } = this.view;
    const span = range[1] - range[0] || 1;
    // The same curve, turned: x and y change places.
    context.save();
    if (this.isLower) context.transform(1, 0, 0, -1, 0, height);
    context.transform(0, 1, 1, 0, 0, 0);
    curve(context, this.columnLine, (at) => (at + 0.5 - top) * zoom, (value) => 8 + ((value - range[0]) / span) * (width - 16), colour("data"));
    context.restore();
    context.fillStyle = colour("quiet");
    context.font = "11px system-ui, sans-serif";
    context.fillText(`column ${this.spot.x}`, 6, 12);
  }

  // ---- another array

  comparing() {
    const path = el("input", { type: "text", class: "mono", placeholder: "/path of array", size: "14", "aria-label": "Path of the array to compare with", value: state.get("with") });
    const how = el("select", { "aria-label": "How to compare" }, el("option", { value: "" }, "Compare"),
      el("option", { value: "blink", selected: state.get("how") === "blink" }, "blink"),
      el("option", { value: "difference", selected: state.get("how") === "difference" }, "difference"));
    const named = (file) => file.name.split(/[\\/]/).filter(Boolean).pop() ?? file.name;
    const file = el("select", { "aria-label": "File of the array to compare with" }, ...this.files.map((one) =>
      el("option", { value: String(one.index), title: one.place, selected: String(one.index) === (state.get("withfile") || this.wants.file) }, named(one))));
    file.addEventListener("change", () => {
      // The same array of the other file is what is compared most often.
      if (!path.value) path.value = this.wants.path;
      if (!how.value) how.value = "blink";
      change();
    });
    const change = () => {
      const other = how.value && file.value !== this.wants.file ? file.value : undefined;
      state.set({ with: how.value ? path.value : undefined, withfile: other, how: how.value || undefined });
      if (!how.value || path.value) this.compare(true);
    };
    how.addEventListener("change", () => { if (how.value && !path.value) path.focus(); change(); });
    path.addEventListener("change", change);
    return el("label", {}, how, this.files.length > 1 ? file : "", path);
  }

  compare(changed = false) {
    clearInterval(this.blinking);
    const before = this.how;
    [this.other, this.how] = [state.get("with"), state.get("with") ? state.get("how") : ""];
    this.otherFile = state.get("withfile") || undefined;
    this.twin?.end();
    this.twin = null;
    this.second = false;
    this.note("");
    if (this.how === "blink") {
      this.twin = this.newTiles();
      this.blinking = setInterval(() => this.blinkOnce(), 800);
    }
    if (!changed) return;
    // A difference has levels of its own.
    if ((before === "difference") !== (this.how === "difference")) {
      this.levels?.renew(this.levelled());
    } else if (this.style) this.restyle(this.style);
  }

  blinkOnce() {
    if (!this.twin) return;
    this.second = !this.second;
    const place = (file, path) => (this.otherFile ? `${this.files[Number(file)]?.name ?? ""}#${path}` : path);
    this.note(this.second ? place(this.otherFile, this.other) : place(this.wants.file, this.wants.path));
    this.drawn.draw();
  }

  // ---- positions on the sky

  /** A field for a position to go to, for an image that has coordinates. */
  going() {
    const field = el("input", { type: "text", class: "mono", placeholder: "83.6,-5.4 or 05:34:24,-05:24:00", size: "20", "aria-label": "Position to go to" });
    field.addEventListener("change", () => this.goTo(field.value).catch((error) => { if (!isGivenUp(error)) this.note(error.message); }));
    this.position = el("label", { hidden: true, title: "Longitude and latitude, in degrees or in hours and degrees. C copies the position under the pointer." }, "Go to", field);
    return this.position;
  }

  async goTo(position) {
    if (!position.trim()) return;
    const { pixel } = await json("wcs", { ...this.wants, position }, this.looking.signal);
    if (!pixel) return this.note(`${position} is not in this image`);
    this.note("");
    const [x, y] = pixel;
    this.spot = { x: Math.max(0, Math.min(this.width - 1, Math.round(x))), y: Math.max(0, Math.min(this.height - 1, Math.round(y))) };
    const zoom = Math.max(this.view.zoom, 1);
    this.view = { zoom, left: x + 0.5 - this.box.clientWidth / zoom / 2, top: y + 0.5 - this.box.clientHeight / zoom / 2 };
    this.moved();
    this.say();
    this.reading();
  }

  // ---- quality flags

  flagging() {
    const path = el("input", { type: "text", class: "mono", placeholder: "/path of flags", size: "14", "aria-label": "Path of the array of quality flags", value: state.get("flags") });
    path.addEventListener("change", () => { state.set({ flags: path.value }); this.overlay(); });
    const isWhole = /^(u?int\d+|bool8)$/.test(this.item.array.datatype);
    const own = isWhole ? el("button", { type: "button", title: "Each bit in a separate colour", onclick: () => {
      path.value = state.get("flags") === this.wants.path ? "" : this.wants.path;
      state.set({ flags: path.value });
      this.overlay();
    } }, "Bits") : "";
    return el("label", {}, "Flags", path, own);
  }

  /** Shows the flags that the state names over the picture. */
  overlay() {
    const path = state.get("flags");
    if (!path) {
      this.over?.end();
      this.over = null;
      this.bits.hide();
    } else {
      const flags = { ...this.wanted(), path, mask: undefined, field: undefined };
      this.over ??= this.newTiles(true);
      this.over.restyle({ ...flags, as: "flags", bits: this.bits.chosen });
      if (this.look.unasked) this.bits.load(flags);
    }
    this.drawn.draw();
  }

  save() {
    const name = (this.wants.path.split("/").pop() || "picture").replace(/[^\w.-]/g, "_");
    this.drawn.canvas.toBlob((blob) => saved(blob, `${name}.png`));
  }

  end() {
    clearInterval(this.blinking);
    this.tiles.end();
    this.twin?.end();
    this.over?.end();
    this.bits.hide();
    this.looking.abort();
    this.levels?.loading?.abort();
  }
}
