// Measures the page of a running `informer web`. Usage: node test/measure.mjs URL
//
// It prints the first paint, the frames while the timeline is panned, and the time from a click to the new view.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const [url] = process.argv.slice(2);
const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
const quantile = (values, part) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)].toFixed(1);

await page.goto(`${url}#/timeline?window=all`);
await page.locator(".change").first().waitFor();
const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
console.log(`changes in the window: ${await page.locator("canvas").getAttribute("data-total")}`);
console.log(`first contentful paint: ${paint.toFixed(0)} ms`);

await page.keyboard.press("+");
await page.evaluate(() => {
  window.frames_ = [];
  let last = performance.now();
  const frame = (now) => {
    window.frames_.push(now - last);
    last = now;
    if (window.frames_.length < 2000) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
});
const box = await page.locator("canvas").boundingBox();
await page.keyboard.down("Shift");
await page.mouse.move(box.x + box.width / 2, box.y + 40);
await page.mouse.down();
for (let step = 0; step < 200; step += 1) await page.mouse.move(box.x + box.width / 2 + 150 * Math.sin(step / 12), box.y + 40);
await page.mouse.up();
await page.keyboard.up("Shift");
const frames = await page.evaluate(() => window.frames_.slice(1));
console.log(`frames while panning: ${frames.length}, p50 ${quantile(frames, 0.5)} ms, p95 ${quantile(frames, 0.95)} ms, max ${quantile(frames, 1)} ms`);

for (const [key, wanted] of [["4", "[data-testid=churn-objects]"], ["2", ".table"], ["1", ".change"]]) {
  const started = performance.now();
  await page.keyboard.press(key);
  await page.locator(wanted).first().waitFor();
  console.log(`view ${key}: ${(performance.now() - started).toFixed(0)} ms`);
}
await browser.close();
