// A browser, the command that serves, and a folder of static files: what the tests are made of.

import { spawn } from "node:child_process";
import { createReadStream, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join, normalize } from "node:path";
import { chromium } from "playwright-core";

const need = (name) => {
  if (!process.env[name]) throw new Error(`${name} is not set: run cargo xtask test browser`);
  return process.env[name];
};

/** Where pictures of the page are kept. */
export const pictures = need("TRILITH_PICTURES");
mkdirSync(pictures, { recursive: true });

/** A browser; it ends with `close`. */
export const launch = () => chromium.launch({ executablePath: need("TRILITH_BROWSER"), headless: true, chromiumSandbox: false, args: ["--force-device-scale-factor=1"] });

/** A page that keeps what went wrong on it. */
export async function newPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error") page.problems.push(message.text()); });
  page.on("response", async (answer) => {
    if (answer.status() >= 400) page.problems.push(`${answer.url()}: ${await answer.text().catch(() => "")}`);
  });
  page.setDefaultTimeout(60_000);
  return page;
}

/** Starts `trilith view` and gives its address; `stop` ends it. */
export async function serve(...words) {
  const child = spawn(need("TRILITH"), ["view", "--no-browser", "--json", ...words], { stdio: ["ignore", "pipe", "inherit"] });
  const said = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (part) => {
      text += part;
      try { resolve(JSON.parse(text)); } catch { /* there is more to come */ }
    });
    child.once("exit", (status) => reject(new Error(`trilith view ended with ${status}`)));
  });
  return { ...said, pid: child.pid, stop: () => child.kill() };
}

const TYPES = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml", wasm: "application/wasm" };

/** A plain server of a folder, with ranges and for other sites; counts the bytes that it gives. */
export async function folder(path, { ranges = true } = {}) {
  const given = { bytes: 0, requests: 0 };
  const server = createServer((request, response) => {
    const name = normalize(decodeURIComponent(new URL(request.url, "http://x").pathname)).replace(/^\/+/, "");
    const file = join(path, name || "index.html");
    response.setHeader("Access-Control-Allow-Origin", "*");
    response.setHeader("Access-Control-Allow-Headers", "Range");
    if (request.method === "OPTIONS") { response.end(); return; }
    if (name.startsWith("..") || !existsSync(file)) { response.writeHead(404); response.end(); return; }
    const size = statSync(file).size;
    const range = ranges && /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
    const [from, to] = range ? [Number(range[1]), Math.min(Number(range[2]), size - 1)] : [0, size - 1];
    response.writeHead(range ? 206 : 200, {
      "Content-Type": TYPES[file.split(".").pop()] ?? "application/octet-stream", "Content-Length": to - from + 1,
      ...(range ? { "Content-Range": `bytes ${from}-${to}/${size}` } : {}),
    });
    given.requests += 1;
    if (request.method === "HEAD") { response.end(); return; }
    given.bytes += to - from + 1;
    createReadStream(file, { start: from, end: to }).pipe(response);
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  return { address: `http://127.0.0.1:${server.address().port}/`, given, stop: () => server.close() };
}

/** Pixels of the copies that screenshots are compared with, and how far a copy may differ: fonts are not the same everywhere. */
const SMALL = [192, 120];
const FAR = 48;
const MOST_FAR = 0.03;

/**
 * Compares what the page shows with the picture of that name in `reference`. Both are compared at a small size. With BLESS=1
 * the picture is written.
 */
export async function looksAs(page, name) {
  const folder = need("TRILITH_REFERENCE");
  const path = join(folder, `${name}.png`);
  const shot = await page.screenshot({ path: join(pictures, `${name}.png`) });
  const other = await page.context().newPage();
  const url = (bytes) => `data:image/png;base64,${bytes.toString("base64")}`;
  const known = existsSync(path) ? url(readFileSync(path)) : null;
  const found = await other.evaluate(async ([now, before, [width, height], far]) => {
    const draw = async (source) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [width, height];
      const context = canvas.getContext("2d");
      context.imageSmoothingQuality = "high";
      context.drawImage(image, 0, 0, width, height);
      return { canvas, data: context.getImageData(0, 0, width, height).data };
    };
    const shown = await draw(now);
    const small = shown.canvas.toDataURL("image/png").split(",")[1];
    if (!before) return { small, share: 1 };
    const { data } = await draw(before);
    let count = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (Math.max(...[0, 1, 2].map((part) => Math.abs(data[at + part] - shown.data[at + part]))) > far) count += 1;
    }
    return { small, share: count / (width * height) };
  }, [url(shot), known, SMALL, FAR]);
  await other.close();
  if (process.env.BLESS) {
    // A picture that looks the same stays, so that only what changed is a change of the repository.
    if (found.share > MOST_FAR / 6) writeFileSync(path, Buffer.from(found.small, "base64"));
    return;
  }
  if (found.share > MOST_FAR) throw new Error(`${name}: ${(found.share * 100).toFixed(1)} % of the pixels differ from ${path} (BLESS=1 writes it)`);
}

/** Waits until the picture on the page is complete. */
export const drawn = (page) => page.locator(".picture[data-complete=true]").waitFor();

/** Tries again until `check` throws no more: what a page shows follows what was asked of it, by and by. */
export async function eventually(check) {
  const end = Date.now() + 60_000;
  for (;;) {
    try { return await check(); } catch (error) { if (Date.now() > end) throw error; }
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}

/** Red, green and blue of the canvas at a place, in pixels of the page. */
export const pixel = (page, x, y) => page.evaluate(([at, down]) => {
  const canvas = document.querySelector(".picture canvas");
  const scale = canvas.width / canvas.clientWidth;
  return [...canvas.getContext("2d").getImageData(Math.round(at * scale), Math.round(down * scale), 1, 1).data].slice(0, 3);
}, [x, y]);

/** The text of a file beside the tests. */
export const read = (path) => readFileSync(path, "utf8");
