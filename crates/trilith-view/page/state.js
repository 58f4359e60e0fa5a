// What is looked at, in the fragment of the address: a link shows the same.

const listeners = new Set();
let now = read();

function read() {
  const entries = location.hash.replace(/^#/, "").split("&").filter(Boolean).map((part) => {
    const [key, ...value] = part.split("=");
    try { return [decodeURIComponent(key), decodeURIComponent(value.join("="))]; } catch { return [key, value.join("=")]; }
  });
  return new Map(entries);
}

function write(replace) {
  // Slashes and commas are allowed in a fragment, and are easier to read.
  const plain = (text) => encodeURIComponent(text).replaceAll("%2F", "/").replaceAll("%2C", ",").replaceAll("%3A", ":");
  const text = [...now].map(([key, value]) => `${plain(key)}=${plain(value)}`).join("&");
  const url = text ? `#${text}` : location.pathname;
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
}

/** A part of the state; empty where it is not set. */
export const get = (key) => now.get(key) ?? "";
/** A number in the state. */
export const number = (key) => (now.get(key) ? Number(now.get(key)) : undefined);

/** Changes parts of the state, which is not a new step of the history; undefined takes one out. */
export function set(parts) {
  for (const [key, value] of Object.entries(parts)) {
    if (value === undefined || value === null || value === "") now.delete(key);
    else now.set(key, String(value));
  }
  write(true);
}

/** Goes to another item, which is a step of the history: what belonged to the old one is left behind. */
export function go(parts) {
  const kept = ["interval", "stretch", "cmap", "origin", "side"].filter((key) => now.has(key)).map((key) => [key, now.get(key)]);
  now = new Map();
  for (const [key, value] of [...Object.entries(parts), ...kept]) {
    if (value !== undefined && value !== null && value !== "") now.set(key, String(value));
  }
  write(false);
  listeners.forEach((listen) => listen());
}

/** Calls `listen` when another item is gone to. */
export const onGo = (listen) => listeners.add(listen);

window.addEventListener("popstate", () => {
  now = read();
  listeners.forEach((listen) => listen());
});
