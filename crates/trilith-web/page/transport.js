// How requests reach the files: here, a worker of this page that reads them itself. They are asked one after the other, so
// that what was given up before its turn is never begun.

/** Whether the page itself can open files. */
export const canOpen = true;

const waiting = [];
const opened = []; // what a new worker must know
let current = null;
let worker = begin();

function begin() {
  const made = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  made.addEventListener("message", ({ data }) => {
    if (data.error) finish((done) => done.reject(new Error(data.error)));
    else finish((done) => done.resolve(data));
  });
  // What a hostile file makes the module do ends that worker: another one takes its place.
  made.addEventListener("error", (event) => {
    event.preventDefault();
    made.terminate();
    worker = begin();
    for (const message of [...opened].reverse()) waiting.unshift({ message, resolve() {}, reject() {} });
    finish((done) => done.reject(new Error("this is more than the page can do: `trilith view` can do more")));
  });
  return made;
}

function finish(tell) {
  const done = current;
  current = null;
  if (done) tell(done);
  next();
}

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
export async function open(what) {
  const message = { kind: "open", what };
  await post(message);
  opened.push(message);
}
