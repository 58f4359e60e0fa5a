// How requests reach the files: here, a worker of this page that reads them itself. They are asked one after the other, so
// that what was given up before its turn is never begun.

/** Whether the page itself can open files. */
export const canOpen = true;

const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
const waiting = [];
let current = null;

worker.addEventListener("message", ({ data }) => {
  const done = current;
  current = null;
  if (data.error) done.reject(new Error(data.error));
  else done.resolve(data);
  next();
});
worker.addEventListener("error", (event) => {
  current?.reject(new Error(event.message || "the worker of this page failed"));
  current = null;
  next();
});

function next() {
  if (current || !waiting.length) return;
  current = waiting.shift();
  worker.postMessage(current.message);
}

function post(message, signal) {
  return new Promise((resolve, reject) => {
    const one = { message, resolve, reject };
    const stop = () => {
      const at = waiting.indexOf(one);
      if (at >= 0) waiting.splice(at, 1);
      reject(new DOMException("given up", "AbortError"));
    };
    if (signal?.aborted) { stop(); return; }
    signal?.addEventListener("abort", stop, { once: true });
    waiting.push(one);
    next();
  });
}

/** Sends one request; gives its status, content type and bytes. */
export const send = (name, query, signal) => post({ kind: "ask", text: `${name}?${query}` }, signal);

/** Opens a file of the machine, or an address. */
export const open = (what) => post({ kind: "open", what });
