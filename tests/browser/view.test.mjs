// The page as `trilith view` serves it: what is looked at, and what is refused.

import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { drawn, eventually, launch, newPage, pictures, pixel, serve } from "./browser.mjs";
import { flagged, hostile, observation, wide, write } from "./files.mjs";

let browser;
let site;
const files = mkdtempSync(join(tmpdir(), "trilith-view-"));

before(async () => {
  write(files, "observation.asdf", observation());
  write(files, "wide.asdf", wide(50_000));
  write(files, "flagged.asdf", flagged());
  write(files, "other.asdf", flagged());
  browser = await launch();
  const gwcs = fileURLToPath(new URL("../../crates/trilith-c/tests/programs/roman.asdf", import.meta.url));
  site = await serve(join(files, "observation.asdf"), join(files, "wide.asdf"), join(files, "flagged.asdf"), join(files, "other.asdf"), gwcs);
});
after(async () => { await browser?.close(); site?.stop(); });

const at = (hash) => site.address + hash;
const shoot = (page, name) => page.screenshot({ path: join(pictures, `${name}.png`) });
/** Moves the pointer to the middle of the picture, which moves when controls appear above it. */
async function toCentre(page) {
  const box = await page.locator(".picture").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
}
/** Moves the pointer over an element of the picture, until the page says what is there. */
async function valueAt(page, column, row, said) {
  const box = await page.locator(".picture").boundingBox();
  const zoom = Math.min(box.width / 1200, box.height / 1200);
  await page.mouse.move(box.x + box.width / 2 + (column + 0.5 - 600) * zoom, box.y + box.height / 2 + (row + 0.5 - 600) * zoom);
  await eventually(async () => assert.match(await page.locator(".status").innerText(), said));
}

test("the tree is walked by mouse and keys, and searched", async () => {
  const page = await newPage(browser);
  await page.goto(at(""));
  const tree = page.getByRole("tree");
  await tree.getByText("instrument").waitFor();
  await tree.getByRole("treeitem").filter({ hasText: "exposure" }).locator(".twist").click();
  await tree.getByText("139.8").click();
  await page.waitForFunction(() => document.querySelector("#head h1")?.textContent === "/exposure/time");
  await tree.press("ArrowDown");
  await tree.press("ArrowRight");
  await tree.getByText("F106").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("F129");
  await page.waitForFunction(() => document.querySelectorAll(".tree .row:not([hidden])").length === 1);
  assert.match(await tree.innerText(), /\/exposure\/filters\/2/);
  await shoot(page, "search");
  assert.deepEqual(page.problems, []);
});

test("a file opens on its image, which goes to a position on the sky", async () => {
  const page = await newPage(browser);
  await page.goto(at(""));
  await drawn(page);
  assert.equal(await page.locator("#head h1").textContent(), "/image");
  await page.getByLabel("Position to go to").fill("270.94,-29.13");
  await page.keyboard.press("Enter");
  await eventually(async () => assert.match(await page.locator(".status").innerText(), /\[600, 600\].*RA 18h03m45\.600s/s));
  await page.waitForFunction(() => location.hash.includes("x=600.5&y=600.5"));
  await page.getByLabel("Position to go to").fill("18:03:45.6,-29:07:48.108");
  await page.keyboard.press("Enter");
  await eventually(async () => assert.match(await page.locator(".status").innerText(), /\[599, 600\]/));
  await page.getByLabel("Position to go to").fill("90,45");
  await page.keyboard.press("Enter");
  await page.getByText("90,45 is not in this image").waitFor();
  await page.getByRole("treeitem").first().click();
  assert.deepEqual(page.problems, []);
});

test("the pointer shows the coordinates of a GWCS", async () => {
  const page = await newPage(browser);
  await page.goto(at("#file=4&path=/roman/data&view=image"));
  await drawn(page);
  assert.equal(await page.locator("#head h1").textContent(), "/roman/data");
  await eventually(async () => {
    await toCentre(page);
    assert.match(await page.locator("#world").innerText(), /ICRS/);
  });
  await shoot(page, "gwcs");
  assert.deepEqual(page.problems, []);
});

test("an image is drawn, zoomed, stretched, and its values are read", async () => {
  const page = await newPage(browser);
  await page.goto(at("#file=0&path=/image"));
  await drawn(page);
  await shoot(page, "image");
  await valueAt(page, 7, 3, /\[3, 7\]\s*12345\.5/);
  // The pixel that the header of the picture refers to, on the sky.
  await valueAt(page, 600, 600, /RA 18h03m45\.600s ICRS\s+DEC −29°07′48\.00″ ICRS/);
  await valueAt(page, 10, 10, /\[10, 10\]\s*NaN/);
  const before = await pixel(page, 300, 200);
  await page.getByLabel("Colours", { exact: true }).selectOption("viridis");
  await drawn(page);
  await page.waitForFunction(async (old) => {
    const canvas = document.querySelector(".picture canvas");
    const now = [...canvas.getContext("2d").getImageData(300, 200, 1, 1).data].slice(0, 3);
    return now.join() !== old.join();
  }, before);
  await page.getByLabel("Stretch", { exact: true }).selectOption("asinh");
  await page.getByRole("button", { name: "Histogram" }).click();
  await page.locator(".histogram canvas").waitFor();
  await page.locator(".picture").focus();
  await page.keyboard.press("p");
  await page.keyboard.press("+");
  await page.locator(".histogram[data-complete=true]").waitFor();
  const parts = ["cmap=viridis", "stretch=asinh", "histogram=1", "profiles=1", "zoom="];
  const state = await eventually(async () => {
    const now = await page.evaluate(() => location.hash);
    for (const part of parts) assert.ok(now.includes(part), `${part} in ${now}`);
    return now;
  });
  await drawn(page);
  await shoot(page, "levels");
  // A link shows the same.
  const other = await newPage(browser);
  await other.goto(at(state));
  await drawn(other);
  assert.equal(await other.getByLabel("Stretch", { exact: true }).inputValue(), "asinh");
  assert.equal(await other.evaluate(() => location.hash.match(/zoom=([^&]*)/)[1]), state.match(/zoom=([^&]*)/)[1]);
  assert.deepEqual([...page.problems, ...other.problems], []);
});

test("the handles of the histogram set the interval", async () => {
  const page = await newPage(browser);
  await page.goto(at("#file=0&path=/image&histogram=1&interval=minmax"));
  await drawn(page);
  const low = page.getByLabel("First colour from");
  await page.locator(".histogram[data-complete=true]").waitFor();
  const old = await low.inputValue();
  const box = await page.locator(".histogram").boundingBox();
  await page.mouse.move(box.x + 12, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + 200, box.y + 30, { steps: 4 });
  await page.mouse.up();
  await eventually(async () => assert.notEqual(await low.inputValue(), old));
  await eventually(async () => assert.match(await page.evaluate(() => location.hash), /low=/));
  assert.deepEqual(page.problems, []);
});

test("a cube has sliders, and colours are shown as colours", async () => {
  const page = await newPage(browser);
  await page.goto(at("#file=0&path=/cube"));
  await drawn(page);
  await page.getByLabel("Index of axis 0").fill("3");
  await page.getByLabel("Index of axis 0").press("Enter");
  await page.waitForFunction(() => location.hash.includes("slice=3"));
  await drawn(page);
  await eventually(async () => {
    await toCentre(page);
    assert.match(await page.locator(".status").innerText(), /\[3, \d+, \d+\]\s*33\d/);
  });
  await page.goto(at("#file=0&path=/colours"));
  await drawn(page);
  await shoot(page, "colours");
  await eventually(async () => {
    const box = await page.locator(".picture").boundingBox();
    const [red, , blue] = await pixel(page, box.width / 2, box.height / 2);
    assert.ok(Math.abs(red - 95) < 4 && Math.abs(blue - 90) < 3, `red ${red}, blue ${blue}`);
  });
  assert.deepEqual(page.problems, []);
});

test("two arrays are compared", async () => {
  const page = await newPage(browser);
  await page.goto(at("#file=0&path=/second&with=/image&how=difference&interval=minmax"));
  await drawn(page);
  const box = await page.locator(".picture").boundingBox();
  await eventually(async () => {
    const [left] = await pixel(page, box.width / 2 - 100, box.height / 2);
    const [right] = await pixel(page, box.width / 2 + 100, box.height / 2);
    assert.ok(left < 10 && right > 245, `left ${left}, right ${right}`);
  });
  await drawn(page);
  await shoot(page, "difference");
  await page.goto(at("#file=0&path=/second&with=/image&how=blink"));
  await drawn(page);
  await page.locator(".note").getByText("/image").waitFor();
  await page.locator(".note").getByText("/second").waitFor();
  assert.deepEqual(page.problems, []);
});

test("arrays of two files are compared", async () => {
  const page = await newPage(browser);
  await page.goto(at("#file=2&path=/roman/data"));
  await drawn(page);
  await page.getByLabel("File of the array to compare with").selectOption("3");
  await page.locator(".note").getByText("other.asdf#/roman/data").waitFor();
  await page.locator(".note").getByText("flagged.asdf#/roman/data").waitFor();
  await page.getByLabel("How to compare").selectOption("difference");
  await drawn(page);
  await eventually(() => assert.match(page.url(), /withfile=3/));
  assert.deepEqual(page.problems, []);
});

test("quality flags lie over the picture, bit by bit", async () => {
  const page = await newPage(browser);
  await page.goto(at("#file=2&path=/roman/data"));
  await drawn(page);
  const box = await page.locator(".picture").boundingBox();
  const quarter = Math.min(box.width, box.height) / 4;
  const corner = () => pixel(page, box.width / 2 - quarter, box.height / 2 - quarter);
  const bare = await corner();
  await page.getByLabel("Path of the array of quality flags").fill("/roman/dq");
  await page.getByLabel("Path of the array of quality flags").press("Enter");
  const bits = page.getByRole("group", { name: "Flags" });
  await bits.getByText("DO_NOT_USE").waitFor();
  await bits.getByText("REFERENCE_PIXEL").waitFor();
  await eventually(async () => assert.equal(await bits.locator("label").count(), 3));
  await eventually(async () => assert.match(await bits.innerText(), /10,000/));
  await eventually(async () => assert.notDeepEqual(await corner(), bare));
  await drawn(page);
  await shoot(page, "flags");
  await bits.getByRole("checkbox", { name: /DO_NOT_USE/ }).uncheck();
  await eventually(async () => assert.deepEqual(await corner(), bare));
  assert.deepEqual(page.problems, []);
});

test("a table is paged, put in order, and its columns are plotted", async () => {
  const page = await newPage(browser);
  await page.goto(at("#file=0&path=/catalogue"));
  const table = page.locator(".table");
  await table.getByText("flux").waitFor();
  await page.getByLabel("Go to row").fill("12345");
  await page.getByLabel("Go to row").press("Enter");
  await table.locator(".row").filter({ hasText: "12345" }).filter({ hasText: "1234.5" }).first().waitFor();
  await table.getByRole("button", { name: "flux" }).click();
  await table.getByRole("button", { name: "flux" }).click();
  await page.waitForFunction(() => location.hash.includes("descending=1"));
  await page.locator(".table").press("Home");
  await page.waitForFunction(() => /^12345/.test([...document.querySelectorAll(".table .row:not([hidden])")]
    .sort((a, b) => a.dataset.index - b.dataset.index)[0]?.textContent ?? ""));
  await shoot(page, "table");
  await page.goto(at("#file=0&path=/light_curve"));
  await page.locator(".plotted canvas").waitFor();
  await page.waitForFunction(() => document.querySelector(".tools .mono")?.textContent.includes("range of"));
  await shoot(page, "plot");
  assert.deepEqual(page.problems, []);
});

test("text, blocks and checksums", async () => {
  const page = await newPage(browser);
  await page.goto(at("#file=0&path=/notes"));
  await page.getByText("line 3 of the notes").waitFor();
  await page.getByRole("tab", { name: "Text of the file" }).click();
  await page.getByText("#ASDF_STANDARD 1.5.0").or(page.getByText("notes: |")).first().waitFor();
  await page.goto(at("#file=0&path=&view=blocks"));
  await page.getByText("5760000").first().waitFor();
  await page.getByRole("tab", { name: "Verify" }).click();
  await page.getByRole("button", { name: "Compare checksums" }).click();
  await page.getByText("No problem was found").waitFor();
  await page.goto(at("#file=0&path=/image&view=statistics"));
  await page.getByText("standard deviation").waitFor();
  await page.waitForTimeout(200);
  await shoot(page, "statistics");
  assert.deepEqual(page.problems, []);
});

test("a tree of many nodes stays fluid", async () => {
  const page = await newPage(browser);
  await page.goto(at("#file=1"));
  await page.getByRole("tree").getByText("key3").first().waitFor();
  const rows = await page.locator(".tree .row").count();
  assert.ok(rows < 100, `${rows} rows exist`);
  await page.getByRole("tree").press("End");
  await page.getByRole("tree").getByText("key49999").waitFor();
  assert.deepEqual(page.problems, []);
});

test("the picture of the documentation", async () => {
  const page = await newPage(browser, { viewport: { width: 1180, height: 740 } });
  await page.goto(at("#file=0&path=/image&cmap=inferno&stretch=asinh&low=104&high=500&x=600&y=600&zoom=1&histogram=1&profiles=1"));
  await drawn(page);
  await page.locator(".histogram[data-complete=true]").waitFor();
  const box = await page.locator(".picture").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.locator(".status").getByText("RA 18h").waitFor();
  await page.waitForTimeout(600);
  await shoot(page, "documentation");
  assert.deepEqual(page.problems, []);
});

test("dark mode", async () => {
  const page = await newPage(browser, { colorScheme: "dark" });
  await page.goto(at("#file=0&path=/image&cmap=magma&stretch=log&profiles=1&histogram=1"));
  await drawn(page);
  await page.waitForTimeout(400);
  await shoot(page, "dark");
  const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.ok(paper.match(/\d+/g).slice(0, 3).every((part) => Number(part) < 60), paper);
});

test("markup in names, keys and values stays text", async () => {
  const folder = mkdtempSync(join(tmpdir(), "trilith-hostile-"));
  const made = hostile();
  for (const { name, bytes } of made) write(folder, name, bytes);
  const site = await serve(folder);
  try {
    const page = await newPage(browser);
    const asked = [];
    page.on("request", (sent) => asked.push(sent.url()));
    for (let index = 0; index < made.length; index += 1) {
      await page.goto("about:blank");
      for (const part of ["", "&path=/value", "&path=/records", "&path=/columns", "&path=/text", "&path=/tagged", "&view=source"]) {
        await page.goto(`${site.address}#file=${index}${part}`);
        await page.locator("#tabs button").first().waitFor();
        await page.getByRole("treeitem").first().waitFor();
        await page.waitForTimeout(30);
      }
      const harm = await page.evaluate(() => [window.harmed, document.getElementById("harmed"), document.querySelectorAll("#main script, #main img, #main iframe, #main svg, #main style").length, getComputedStyle(document.body).display]);
      assert.deepEqual(harm, [undefined, null, 0, "flex"], made[index].name);
      if (index === 1) await shoot(page, "hostile");
    }
    assert.deepEqual(asked.filter((url) => !url.startsWith(site.address) && url !== "about:blank"), []);
    assert.deepEqual(page.problems, []);
  } finally {
    site.stop();
  }
});

test("the server refuses other names, other sites, other methods and guesses", async () => {
  const { port, address } = site;
  const secret = new URL(address).pathname;
  const status = (path, { method = "GET", ...headers } = {}) => new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, method, headers }, (answer) => {
      answer.resume();
      answer.on("end", () => resolve([answer.statusCode, answer.headers]));
    });
    sent.on("error", reject);
    sent.end();
  });
  const [good, headers] = await status(`${secret}api/files`);
  assert.equal(good, 200);
  assert.match(headers["content-security-policy"], /default-src 'none'/);
  assert.equal(headers["x-content-type-options"], "nosniff");
  for (const [path, options, expected] of [
    ["/", {}, 404], ["/api/files", {}, 404], [`${secret}../../etc/passwd`, {}, 404], [`${secret}api/files`, { Host: "evil.example" }, 403],
    [`${secret}api/files`, { Origin: "http://evil.example" }, 403], [`${secret}api/files`, { "Sec-Fetch-Site": "cross-site" }, 403],
    [`${secret}api/files`, { method: "POST" }, 405], [`${secret}api/nothing`, {}, 404], [`${secret}api/item?file=0&path=/no`, {}, 404],
    [`${secret}api/image?file=0&path=/image&width=99999&height=1`, {}, 400],
  ]) {
    assert.equal((await status(path, options))[0], expected, `${path} ${JSON.stringify(options)}`);
  }
});
