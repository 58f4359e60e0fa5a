// How requests reach the files: here, a worker of this page that reads them itself. They are asked one after the other, so
// that what was given up before its turn is never begun.

/** Whether the page itself can open files. */
export const canOpen = true;

/** How long a worker may go on with what was given up: a new one must load the module and open the files again. */
const PATIENCE = 300;

const waiting = [];
const opened = []; // what a new worker must know
let current = null;
let compiled = null; // the module, which a new worker need not compile again
let worker = begin();

function begin() {
  const made = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  made.addEventListener("message", ({ data }) => {
    if (data.module) { compiled = data.module; return; }
    if (data.error) finish((done) => done.reject(new Error(data.error)));
    else finish((done) => done.resolve(data));
  });
  // What a hostile file makes the module do ends that worker.
  made.addEventListener("error", (event) => {
    event.preventDefault();
    replace((done) => done.reject(new Error("this is more than the page can do: `trilith view` can do more")));
  });
  if (compiled) made.postMessage({ kind: "module", module: compiled });
  return made;
}

/** Ends the worker in the middle of its work; another one takes its place, and opens the same files. */
function replace(tell) {
  worker.terminate();
  worker = begin();
  for (const message of [...opened].reverse()) waiting.unshift({ message, resolve() {}, reject() {} });
  finish(tell);
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
      // What runs cannot be told to stop: what does not end soon is ended with its worker.
      else if (current === one) setTimeout(() => { if (current === one) replace(() => {}); }, PATIENCE);
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
export async function open(what, signal) {
  const message = { kind: "open", what };
  await post(message, signal);
  opened.push(message);
}
