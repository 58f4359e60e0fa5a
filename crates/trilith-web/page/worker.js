// Answers the requests of the page with the library as a WebAssembly module. The module reads the bytes that it needs by
// calling back: a part of a file, or a range of an address. Both are read on the spot, which only a worker may do.

const files = [];
let module = null;

async function load() {
  if (module) return module;
  if (given) return start(given);
  const response = await fetch(new URL("trilith.wasm", import.meta.url));
  if (!response.ok) throw new Error(`trilith.wasm cannot be loaded: status ${response.status}`);
  const compiled = await WebAssembly.compile(await response.arrayBuffer());
  self.postMessage({ module: compiled });
  return start(compiled);
}

async function start(compiled) {
  const instance = await WebAssembly.instantiate(compiled, { env: { host_read: read } });
  module = instance.exports;
  return module;
}

/** Reads a part of a file into the memory of the module; 0 when that is done. */
function read(handle, offset, into, length) {
  try {
    const bytes = files[handle].read(offset, length);
    if (bytes.byteLength !== length) return 1;
    new Uint8Array(module.memory.buffer, into, length).set(new Uint8Array(bytes));
    return 0;
  } catch {
    return 1;
  }
}

/** A file of this machine. */
function local(file) {
  const reader = new FileReaderSync();
  return { size: file.size, read: (offset, length) => reader.readAsArrayBuffer(file.slice(offset, offset + length)) };
}

/** A file on a server. */
function remote(address) {
  const refused = "its server must allow requests of other sites (CORS), or this page must be on the same server";
  const ask = (method, range) => {
    const request = new XMLHttpRequest();
    request.open(method, address, false);
    if (range) {
      request.responseType = "arraybuffer";
      request.setRequestHeader("Range", range);
    }
    try { request.send(); } catch { throw new Error(`${address} cannot be read: ${refused}`); }
    return request;
  };
  const head = ask("HEAD");
  if (head.status !== 200) throw new Error(`${address} cannot be read: the server says ${head.status} ${head.statusText}`);
  const size = Number(head.getResponseHeader("Content-Length"));
  if (!(size > 0)) throw new Error(`${address} cannot be read: the server does not say how long it is`);
  const first = ask("GET", "bytes=0-0");
  if (first.status !== 206) throw new Error(`${address} cannot be read in parts: the server does not support range requests`);
  return {
    size, read: (offset, length) => {
      const part = ask("GET", `bytes=${offset}-${offset + length - 1}`);
      if (part.status !== 206) throw new Error(String(part.status));
      return part.response;
    },
  };
}

function put(exports, text) {
  const bytes = new TextEncoder().encode(text);
  const at = exports.room(bytes.length);
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  return bytes.length;
}

async function answer(message) {
  const exports = await load();
  if (message.kind === "open") {
    const isAddress = typeof message.what === "string";
    if (isAddress && !/^https?:$/.test(new URL(message.what).protocol)) throw new Error("an address begins with https:// or http://");
    const file = isAddress ? remote(message.what) : local(message.what);
    const handle = files.push(file) - 1;
    const name = isAddress ? message.what : message.what.name;
    const length = put(exports, name);
    return { index: exports.add(handle, file.size, isAddress ? 1 : 0, length) };
  }
  const status = exports.ask(put(exports, message.text));
  const length = exports.length();
  const body = exports.memory.buffer.slice(exports.room(length), exports.room(length) + length);
  return { status: status % 1000, type: status >= 1000 ? "image/png" : "application/json", body };
}

let given = null; // the module of the worker before this one

self.addEventListener("message", async ({ data }) => {
  if (data.kind === "module") { given = data.module; return; }
  try {
    const said = await answer(data);
    self.postMessage(said, said.body ? [said.body] : []);
  } catch (error) {
    // What traps leaves a module that cannot be trusted: the page begins another worker.
    if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) setTimeout(() => { throw error; });
    else self.postMessage({ error: error.message });
  }
});
