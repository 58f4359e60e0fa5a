// The page as `trilith view` serves it: what is looked at, and what is refused.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { drawn, eventually, launch, looksAs, newPage, pictures, pixel, serve } from "./browser.mjs";
import { fits, flagged, hostile, observation, wide, write } from "./files.mjs";

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
  write(files, "sky.fits", fits());
  const hdf5 = fileURLToPath(new URL("run.h5", import.meta.url));
  site = await serve(...["observation.asdf", "wide.asdf", "flagged.asdf", "other.asdf"].map((name) => join(files, name)), gwcs, join(files, "sky.fits"), hdf5);
});
after(async () => { await browser?.close(); site?.stop(); });

/** The numbers of the files. */
const [FITS, HDF5] = [5, 6];
const at = (hash) => site.address + hash;
const shoot = (page, name) => page.screenshot({ path: join(pictures, `${name}.png`) });
/** Moves the pointer to the middle of the picture, which moves when controls appear above it. */
async function toCentre(page) {
  const box = await page.locator(".picture").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
}
/** Moves the pointer over an element of the picture, whose first row is at the bottom, until the page says what is there. */
async function valueAt(page, column, row, said) {
  const box = await page.locator(".picture").boundingBox();
  const zoom = Math.min(box.width / 1200, box.height / 1200);
  await page.mouse.move(box.x + box.width / 2 + (column + 0.5 - 600) * zoom, box.y + box.height / 2 + (600 - row - 0.5) * zoom);
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
  await page.getByRole("button", { name: "More" }).click();
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
  await looksAs(page, "image");
  await valueAt(page, 7, 3, /\[3, 7\]\s*12345\.5/);
  // The pixel that the header of the picture refers to, on the sky.
  await valueAt(page, 600, 600, /RA 18h03m45\.600s\s+DEC −29°07′48\.00″ ICRS/);
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
  await looksAs(page, "levels");
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
  const low = page.getByLabel("Lower display limit");
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
  await page.getByRole("button", { name: "More" }).click();
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
  await page.getByRole("button", { name: "More" }).click();
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
  await looksAs(page, "flags");
  await bits.getByRole("checkbox", { name: /DO_NOT_USE/ }).uncheck();
  await eventually(async () => assert.deepEqual(await corner(), bare));
  assert.deepEqual(page.problems, []);
});

test("a FITS file shows its HDUs, the cards next to the image, and row 0 at the bottom", async () => {
  const page = await newPage(browser);
  await page.goto(at(`#file=${FITS}`));
  await drawn(page);
  assert.match(await page.locator("#about").innerText(), /^FITS · 253 kB$/);
  const tree = page.getByRole("tree");
  for (const text of ["0  PRIMARY", "1  SCI", "IMAGE  float32 [200, 300]", "2  CAT", "BINTABLE  40 rows, 3 columns"]) await tree.getByText(text).waitFor();
  await eventually(async () => assert.match(await page.locator(".tree [aria-selected=true]").innerText(), /data/));
  const header = page.getByRole("complementary", { name: "Header" });
  await header.getByText("BUNIT").waitFor();
  await header.getByLabel("Filter attributes").fill("electron");
  await eventually(async () => assert.equal(await header.locator(".row:not([hidden])").count(), 1));
  assert.match(await header.locator(".row:not([hidden])").innerText(), /GAIN/);
  await header.getByLabel("Filter attributes").fill("");
  // The first rows are the brightest ones.
  const box = await page.locator(".picture").boundingBox();
  const zoom = Math.min(box.width / 300, box.height / 200);
  const ends = async () => Promise.all([-95, 95].map(async (row) => (await pixel(page, box.width / 2, box.height / 2 + row * zoom))[0]));
  const [top, bottom] = await ends();
  assert.ok(bottom > top + 50, `top ${top}, bottom ${bottom}`);
  assert.equal(await page.locator(".picture").getAttribute("data-origin"), "lower");
  // The header turns the image by 30 degrees.
  const { north, east } = JSON.parse(await page.locator(".picture").getAttribute("data-compass"));
  for (const [found, expected] of [[north, [0.5, 0.866]], [east, [-0.866, 0.5]]]) {
    found.forEach((part, at) => assert.ok(Math.abs(part - expected[at]) < 1e-3, `${found}`));
  }
  await toCentre(page);
  await eventually(async () => assert.match(await page.locator(".status").innerText(), /mJy\s+RA 05h35m17\.\d+s\s+DEC −05°23′2\d\.\d+″ ICRS/));
  await looksAs(page, "fits");
  await page.locator(".picture").focus();
  await page.keyboard.press("f");
  await eventually(async () => {
    const [first, last] = await ends();
    assert.ok(first > last + 50, `top ${first}, bottom ${last}`);
  });
  await page.keyboard.press("i");
  await eventually(async () => assert.match(await page.evaluate(() => location.hash), /cmap=gray_r.*origin=upper|origin=upper.*cmap=gray_r/));
  await eventually(async () => {
    const [first, last] = await ends();
    assert.ok(first < last - 50, `top ${first}, bottom ${last}`);
  });
  await page.keyboard.press("a");
  await header.waitFor({ state: "hidden" });
  assert.deepEqual(page.problems, []);
});

test("details are in the words of the format", async () => {
  const page = await newPage(browser);
  // The tree of a FITS file is made from its HDUs, and its tags are in no file.
  for (const [hash, expected] of [[`#file=${FITS}&path=&view=facts`, "mapping"], [`#file=${FITS}&path=/fits/0&view=facts`, "HDU"], [`#file=${HDF5}&path=/run&view=facts`, "group"]]) {
    await page.goto("about:blank");
    await page.goto(at(hash));
    await page.locator(".facts td").getByText(expected, { exact: true }).first().waitFor();
    assert.doesNotMatch(await page.locator("#head, .facts").allInnerTexts().then((all) => all.join(" ")), /tag|PRIMARY PRIMARY/);
  }
  assert.deepEqual(page.problems, []);
});

test("cards and attributes are searched by name and value", async () => {
  const page = await newPage(browser);
  await page.goto(at(`#file=${FITS}`));
  await page.getByRole("tree").getByText("1  SCI").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("exptime");
  await page.getByRole("tree").getByText("/fits/0@EXPTIME").waitFor();
  await page.getByRole("tree").getByText("139.8").waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#head h1")?.textContent === "/fits/0");
  await page.locator(".attributes.wide").getByText("exposure time").waitFor();
  await page.getByLabel("Filter attributes").fill("");
  await page.locator(".attributes.wide").getByText("name of the target").waitFor();
  await looksAs(page, "fits-header");
  assert.deepEqual(page.problems, []);
  const other = await newPage(browser);
  await other.goto(at(`#file=${HDF5}`));
  await other.getByRole("tree").getByText("temperature").waitFor();
  await other.keyboard.press("/");
  await other.keyboard.type("lake 2.1");
  await other.getByRole("tree").getByText("/run@code").waitFor();
  assert.deepEqual(other.problems, []);
});

test("a table of a FITS file has its units", async () => {
  const page = await newPage(browser);
  await page.goto(at(`#file=${FITS}&path=/fits/2/data`));
  await page.locator(".table .heads").getByText("float64 mag").waitFor();
  await page.locator(".table").getByText("star3", { exact: true }).waitFor();
  await looksAs(page, "fits-table");
  await page.getByRole("tab", { name: "Plot" }).click();
  await page.getByLabel("Column").selectOption("mag");
  await page.locator('[data-axes="index | mag (mag)"]').waitFor();
  assert.deepEqual(page.problems, []);
});

test("an HDF5 file shows its attributes, and its dimension scales are axes", async () => {
  const page = await newPage(browser);
  await page.goto(at(`#file=${HDF5}&path=/temperature`));
  await drawn(page);
  assert.match(await page.locator("#about").innerText(), /^HDF5 · 1\d\.\d kB$/);
  const attributes = page.getByRole("complementary", { name: "Attributes" });
  await attributes.getByText("surface temperature").waitFor();
  assert.equal(await page.locator(".picture").getAttribute("data-origin"), "upper");
  await toCentre(page);
  await eventually(async () => assert.match(await page.locator(".status").innerText(), /\[20, 30\]\s+28\d\.?\d* K\s+lat 47\.0 degrees_north\s+lon 7\.5 degrees_east/));
  await looksAs(page, "hdf5");
  await page.getByRole("tree").getByText("run", { exact: true }).click();
  await page.locator(".attributes.wide").getByText("lake 2.1").waitFor();
  await page.goto(at(`#file=${HDF5}&path=/station`));
  await page.locator('[data-axes="time (hours) | station (K)"]').waitFor();
  const box = await page.locator(".plotted canvas").first().boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await eventually(async () => assert.match(await page.locator(".tools [role=status]").innerText(), /\[\d+\]\s+time [\d.]+ hours\s+28\d/));
  await page.mouse.move(0, 0);
  await looksAs(page, "hdf5-plot");
  assert.deepEqual(page.problems, []);
});

test("the tools take one row, and a narrow page cuts nothing", async () => {
  const page = await newPage(browser);
  for (const hash of ["#file=0&path=/image", "#file=0&path=/image&more=1", `#file=${FITS}`, `#file=${FITS}&more=1`, `#file=${HDF5}&path=/temperature`]) {
    await page.goto("about:blank");
    await page.goto(at(hash));
    await drawn(page);
    for (const tools of await page.locator(".tools:visible").all()) {
      const { height } = await tools.boundingBox();
      assert.ok(height < 48, `${hash}: ${height} pixels`);
    }
  }
  const narrow = await newPage(browser, { viewport: { width: 700, height: 800 } });
  await narrow.goto(at(`#file=${FITS}`));
  await drawn(narrow);
  for (const part of await narrow.locator(".picture, .bar, .tools:visible button, .tools:visible input, .tools:visible select, #tabs button, #head button").all()) {
    const { x, width } = await part.boundingBox();
    assert.ok(x >= 0 && x + width <= 700.5, `${await part.evaluate((one) => one.outerHTML.slice(0, 80))} ends at ${x + width}`);
  }
  const { height, width } = await narrow.locator(".picture").boundingBox();
  assert.ok(height > 200 && width > 500, `${width} by ${height} pixels`);
  await looksAs(narrow, "narrow");
  assert.deepEqual([...page.problems, ...narrow.problems], []);
});

test("the keyboard alone reaches everything", async () => {
  const page = await newPage(browser);
  for (const hash of [`#file=${FITS}&more=1`, `#file=${FITS}&path=/fits/2/data`, `#file=${HDF5}&path=/station`]) {
    await page.goto("about:blank");
    await page.goto(at(hash));
    await page.locator("#tabs button").first().waitFor();
    await page.getByRole("complementary").waitFor();
    const all = await page.evaluate(() => {
      const shown = (one) => one.checkVisibility() && one.tabIndex >= 0 && !one.disabled;
      const list = [...document.querySelectorAll("button, input, select, a[href], [tabindex]")].filter(shown);
      list.forEach((one, at) => { one.dataset.order = at; });
      return list.length;
    });
    const reached = new Set();
    for (let step = 0; step < all + 3; step += 1) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement?.dataset?.order));
    }
    const missed = [];
    for (let number = 0; number < all; number += 1) {
      if (!reached.has(String(number))) missed.push(await page.evaluate((order) => document.querySelector(`[data-order="${order}"]`)?.outerHTML.slice(0, 90), number));
    }
    assert.deepEqual(missed, [], hash);
  }
  assert.deepEqual(page.problems, []);
});

test("a file that is not there is an error", () => {
  const { status, stderr } = spawnSync(process.env.TRILITH, ["view", "--no-browser", join(files, "missing.asdf")], { encoding: "utf8", timeout: 30_000 });
  assert.equal(status, 2);
  assert.match(stderr, /missing\.asdf/);
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
  await looksAs(page, "table");
  await page.goto(at("#file=0&path=/light_curve"));
  await page.locator(".plotted canvas").waitFor();
  await page.waitForFunction(() => document.querySelector(".tools .mono")?.textContent.includes("range of"));
  await looksAs(page, "plot");
  assert.deepEqual(page.problems, []);
});

test("text, blocks and checksums", async () => {
  const page = await newPage(browser);
  await page.goto(at("#file=0&path=/notes"));
  await page.getByText("line 3 of the notes").waitFor();
  await page.getByRole("tab", { name: "Source" }).click();
  await page.getByText("#ASDF_STANDARD 1.5.0").or(page.getByText("notes: |")).first().waitFor();
  await page.goto(at("#file=0&path=&view=blocks"));
  await page.getByText("5760000").first().waitFor();
  await page.getByRole("tab", { name: "Verify" }).click();
  await page.getByRole("button", { name: "Compare checksums" }).click();
  await page.getByText("No problem was found").waitFor();
  await page.goto(at("#file=0&path=/image&view=statistics"));
  await page.getByText("standard deviation").waitFor();
  await page.waitForTimeout(200);
  await looksAs(page, "statistics");
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

test("the pictures of the documentation", async () => {
  const page = await newPage(browser, { viewport: { width: 1280, height: 740 } });
  await page.goto(at("#file=0&path=/image&cmap=inferno&stretch=asinh&low=104&high=500&x=600&y=600&zoom=1&histogram=1&profiles=1"));
  await drawn(page);
  await page.locator(".histogram[data-complete=true]").waitFor();
  await toCentre(page);
  await page.locator(".status").getByText("RA 18h").waitFor();
  await page.waitForTimeout(600);
  await shoot(page, "documentation");
  await page.goto("about:blank");
  await page.goto(at(`#file=${FITS}&path=/fits/1/data&cmap=viridis&stretch=asinh&interval=percentile:99.5`));
  await drawn(page);
  await toCentre(page);
  await page.locator(".status").getByText("RA 05h").waitFor();
  await page.waitForTimeout(600);
  await shoot(page, "documentation-fits");
  await page.goto("about:blank");
  await page.goto(at(`#file=${HDF5}&path=/temperature&cmap=coolwarm&interval=minmax`));
  await drawn(page);
  await toCentre(page);
  await page.locator(".status").getByText("lat 47").waitFor();
  await page.waitForTimeout(600);
  await shoot(page, "documentation-hdf5");
  assert.deepEqual(page.problems, []);
});

test("dark mode", async () => {
  const page = await newPage(browser, { colorScheme: "dark" });
  await page.goto(at("#file=0&path=/image&cmap=magma&stretch=log&profiles=1&histogram=1"));
  await drawn(page);
  await page.waitForTimeout(400);
  await looksAs(page, "dark");
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
