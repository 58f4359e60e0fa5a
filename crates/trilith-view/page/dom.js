// Elements from data. Whatever comes out of a file becomes text, never markup: nothing here parses HTML.

/** An element with attributes, listeners (`onclick`) and children, which are elements or texts. */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** The element of this id. */
export const by = (id) => document.getElementById(id);

/** A number of bytes for people. */
export function bytes(n) {
  if (n === null || n === undefined) return "";
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  let at = 0;
  while (n >= 1000 && at < units.length - 1) { n /= 1000; at += 1; }
  return `${at === 0 ? n : n.toPrecision(3)} ${n === 1 && at === 0 ? "byte" : units[at]}`;
}

/** Name and kind of an HDU; the first one without a name has its kind alone. */
export const titled = ({ label, kind }) => [label === kind ? "" : label, kind].filter(Boolean).join(" ");

/** A number with few digits. */
export function short(x) {
  if (x === null || x === undefined) return "–";
  if (!Number.isFinite(x)) return String(x);
  const size = Math.abs(x);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? x.toExponential(3) : String(Number(x.toPrecision(6)));
}

/** Runs `work` when it was not asked for again for so long. */
export function rested(work, wait) {
  let timer = 0;
  return (...words) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...words), wait);
  };
}

/** Puts text on the clipboard; where there is none, it is selected in a prompt. */
export async function copy(text) {
  try { await navigator.clipboard.writeText(text); } catch { window.prompt("Copy", text); }
}

/** A canvas that keeps the size of its parent, in pixels of the screen, and is drawn again when that changes. */
export function canvas(parent, draw, label) {
  const made = el("canvas", { role: "img", "aria-label": label });
  parent.append(made);
  const context = made.getContext("2d");
  const again = () => {
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [parent.clientWidth, parent.clientHeight];
    if (!width || !height) return;
    if (made.width !== Math.round(width * scale) || made.height !== Math.round(height * scale)) {
      made.width = Math.round(width * scale);
      made.height = Math.round(height * scale);
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height);
  };
  let asked = false;
  const soon = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; again(); });
  };
  new ResizeObserver(soon).observe(parent);
  soon();
  return { canvas: made, draw: soon };
}

/** A colour of the style sheet. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
