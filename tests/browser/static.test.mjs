// The page without a server: a folder of static files, the library in a worker.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { drawn, folder, launch, newPage, pictures } from "./browser.mjs";
import { hostile, observation, write } from "./files.mjs";

const built = process.env.TRILITH_WEB;
const skip = built ? false : "the static page was not built";
const files = mkdtempSync(join(tmpdir(), "trilith-static-"));
let [browser, site, data, whole] = [];

before(async () => {
  if (skip) return;
  write(files, "observation.asdf", observation());
  browser = await launch();
  [site, data, whole] = [await folder(built), await folder(files), await folder(files, { ranges: false })];
});
after(async () => {
  await browser?.close();
  for (const server of [site, data, whole]) server?.stop();
});

test("the folder is small", { skip }, () => {
  const sizes = (packed) => readdirSync(built).map((name) => packed(readFileSync(join(built, name))).length).reduce((all, size) => all + size, 0);
  // Servers send one of the two. With the reader of HDF5 the page has about 120 kB more, with attributes, compressed tables and frames of the sky 60 kB, with coordinates in other HDUs and cards beside the data 55 kB.
  const [gzip, brotli, plain] = [gzipSync, brotliCompressSync, (bytes) => bytes].map(sizes);
  console.log(`the static page: ${brotli} bytes with brotli, ${gzip} with gzip, ${plain} uncompressed`);
  assert.ok(brotli < 1_400_000 && gzip < 1_960_000, `${brotli} bytes, ${gzip} bytes`);
});

test("a dropped file is looked at", { skip }, async () => {
  const page = await newPage(browser);
  await page.goto(site.address);
  const handed = await page.evaluateHandle(async (address) => {
    const bytes = await (await fetch(address)).arrayBuffer();
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "dropped.asdf"));
    return transfer;
  }, `${data.address}observation.asdf`);
  await page.dispatchEvent("#main", "drop", { dataTransfer: handed });
  await page.getByRole("tree").getByText("light_curve").waitFor();
  await page.getByRole("tree").getByText("image").first().click();
  await drawn(page);
  await page.screenshot({ path: join(pictures, "static.png") });
  await page.getByRole("tree").getByText("catalogue").click();
  await page.locator(".table").getByText("flux").waitFor();
  assert.deepEqual(page.problems, []);
});

test("a file is chosen", { skip }, async () => {
  const page = await newPage(browser);
  await page.goto(site.address);
  await page.locator("#pick").setInputFiles(join(files, "observation.asdf"));
  await page.getByRole("tree").getByText("instrument").waitFor();
  assert.deepEqual(page.problems, []);
});

test("a remote file is read by ranges", { skip }, async () => {
  const page = await newPage(browser);
  const size = statSync(join(files, "observation.asdf")).size;
  await page.goto(`${site.address}#url=${encodeURIComponent(`${data.address}observation.asdf`)}`);
  await page.getByRole("tree").getByText("cube").waitFor();
  await drawn(page); // the image, on which a file opens
  const before = data.given.bytes;
  await page.getByRole("tree").getByText("cube").click();
  await drawn(page);
  assert.ok(data.given.bytes - before < size / 4, `${data.given.bytes - before} of ${size} bytes`);
  await page.screenshot({ path: join(pictures, "remote.png") });
  assert.deepEqual(page.problems, []);
});

test("a server that gives no ranges is named", { skip }, async () => {
  const page = await newPage(browser);
  await page.goto(site.address);
  await page.locator("#address").fill(`${whole.address}observation.asdf`);
  await page.locator("#remote button").click();
  await page.getByRole("alert").getByText("does not support range requests").waitFor();
  await page.locator("#address").fill(`${data.address}nothing.asdf`);
  await page.locator("#remote button").click();
  await page.getByRole("alert").getByText("404").waitFor();
});

test("broken and hostile files leave the page whole", { skip }, async () => {
  const page = await newPage(browser);
  await page.goto(site.address);
  const bad = hostile().slice(0, 6).map(({ name, bytes }) => ({ name, mimeType: "application/octet-stream", buffer: bytes }));
  const bomb = `#ASDF 1.0.0\n%YAML 1.1\n---\na: &a [x, x, x, x, x, x, x, x, x]\n${"bcdefgh".split("").map((name, at) => `${name}: &${name} [${Array(9).fill(`*${"abcdefg"[at]}`).join(", ")}]`).join("\n")}\n...\n`;
  bad.push({ name: "bomb.asdf", mimeType: "", buffer: Buffer.from(bomb) });
  bad.push({ name: "huge.asdf", mimeType: "", buffer: Buffer.from("#ASDF 1.0.0\n%YAML 1.1\n---\na: !<tag:stsci.edu:asdf/core/ndarray-1.0.0> {source: 0, datatype: float64, byteorder: big, shape: [1000000000, 1000000], strides: [0, 0]}\n...\n") });
  bad.push({ name: "noise.bin", mimeType: "", buffer: Buffer.from("nothing that is known") });
  await page.locator("#pick").setInputFiles(bad);
  for (let index = 0; index < bad.length; index += 1) {
    await page.goto(`${site.address}#file=${index}&path=/a`).catch(() => {});
    await page.waitForTimeout(50);
  }
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  await page.locator("#pick").setInputFiles(join(files, "observation.asdf"));
  await page.getByRole("tree").getByText("instrument").waitFor();
});
