// The pages of the documentation.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { folder, launch, looksAs, newPage } from "./browser.mjs";

const built = process.env.TRILITH_SITE;
const skip = built ? false : "the site was not built";
let [browser, site] = [];

before(async () => {
  if (skip) return;
  browser = await launch();
  site = await folder(built);
});
after(async () => { await browser?.close(); site?.stop(); });

const pages = [
  { name: "site-index", at: "docs/index.html" },
  { name: "site-how-to", at: "docs/how-to.html" },
  { name: "site-page", at: "docs/how-to/fits-headers.html" },
  { name: "site-command", at: "docs/reference/diff.html" },
  { name: "site-dark", at: "docs/index.html", how: { colorScheme: "dark" } },
  { name: "site-narrow", at: "docs/index.html", how: { viewport: { width: 480, height: 800 } } },
];
for (const { name, at, how } of pages) {
  test(`${name} looks as before`, { skip }, async () => {
    const page = await newPage(browser, how);
    await page.goto(site.address + at);
    await page.locator("article h1").first().waitFor();
    await looksAs(page, name);
    assert.deepEqual(page.problems, []);
  });
}

test("the search finds a page by the word of another tool", { skip }, async () => {
  const page = await newPage(browser);
  await page.goto(`${site.address}docs/index.html`);
  await page.keyboard.press("/");
  await page.keyboard.type("fitsheader");
  await page.keyboard.press("Enter");
  await page.locator("#search-results a").getByText(/header/i).first().waitFor();
  assert.deepEqual(page.problems, []);
});
