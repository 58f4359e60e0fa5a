// Runs the module in Node: `node run.mjs MODULE.wasm`. Files that it writes are read again; one is written here.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]), {});
const { memory, room, length, sum, write, opens } = instance.exports;
const text = () => Buffer.from(memory.buffer, room(length()), length()).toString();
const put = (bytes) => new Uint8Array(memory.buffer, room(bytes.length), bytes.length).set(bytes);

// Rows 0, 2, 4 … of 0, 1, 2, …, 4095 in 64 columns.
const expected = 32 * (64 * 31 * 64 + (63 * 64) / 2);
for (const codec of ["", "lz4", "zlib", "bzp2"]) {
  assert.ok(write(Buffer.alloc(4, 0).fill(codec, 0, codec.length).readUInt32LE()), text());
  assert.equal(sum(), expected, text());
}
// What was left out of a build says so.
assert.ok(!write(Buffer.from("zstd").readUInt32LE()) && text().includes("feature zstd"), text());
put(Buffer.from("#ASDF 1.0.0\n%YAML 1.1\n--- {data: !<tag:stsci.edu:asdf/core/ndarray-1.0.0> [1, 2, 4]}\n...\n"));
assert.equal(sum(), 5, text());
put(Buffer.from("no file of this kind"));
assert.ok(Number.isNaN(sum()) && text().includes("is a text file"), text());
assert.ok(!opens() && text().includes("image.asdf"), text());
console.log("written and read in WebAssembly: 4 forms of a file; files of the machine are refused");
