// Measures the page of a running `informer web`. Usage: node test/measure.mjs URL [SECONDS]
//
// It prints the first paint, the frames while the timeline is panned, and the time from a key to the new view. With SECONDS, it measures
// how the page follows live changes for this time instead.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const [url, seconds] = process.argv.slice(2);
const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
const quantile = (values, part) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)].toFixed(1);

const recordFrames = () => {
  window.frames_ = [];
  let last = performance.now();
  const frame = (now) => {
    window.frames_.push(now - last);
    last = now;
    if (window.frames_.length < 5000) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
};

if (seconds) {
  await page.goto(`${url}#/timeline`);
  await page.locator(".change").first().waitFor();
  await page.evaluate(recordFrames);
  // A second stream, to see what the server sends and when.
  const { events: received, statuses } = await page.evaluate(
    (seconds) =>
      new Promise((resolve) => {
        const events = [];
        const statuses = [];
        const source = new EventSource("/api/v1/stream");
        source.addEventListener("status", (event) => {
          const { status } = JSON.parse(event.data);
          const sum = (of) => status.kinds.reduce((total, kind) => total + of(kind), 0);
          const depth = sum((kind) => kind.subscribers.reduce((total, subscriber) => total + subscriber.depth, 0));
          statuses.push({ at: Date.now(), received: sum((kind) => kind.events), lag: Math.max(...status.kinds.map((kind) => kind.lag)), depth });
        });
        source.addEventListener("changes", (event) => {
          const { next, end, changes, skipped } = JSON.parse(event.data);
          events.push({ at: Date.now(), next, lag: Date.now() - end / 1000, shown: changes.length, skipped });
        });
        window.setTimeout(() => { source.close(); resolve({ events, statuses }); }, seconds * 1000);
      }),
    Number(seconds),
  );
  const [first, last] = [received[0], received.at(-1)];
  const rate = (last.next - first.next) / ((last.at - first.at) / 1000);
  const lags = received.slice(1).map((event) => event.lag);
  const frames = await page.evaluate(() => window.frames_.slice(1));
  const heap = await page.evaluate(() => performance.memory.usedJSHeapSize / 1e6);
  console.log(`changes per second: ${rate.toFixed(0)}, in ${received.length} events`);
  const rateOfServer = (statuses.at(-1).received - statuses[0].received) / ((statuses.at(-1).at - statuses[0].at) / 1000);
  const waited = statuses.map((status) => status.lag * 1000);
  console.log(`events received from the API server per second: ${rateOfServer.toFixed(0)}`);
  console.log(`wait of the oldest event before it is shown: p50 ${quantile(waited, 0.5)} ms, p95 ${quantile(waited, 0.95)} ms, last ${waited.at(-1).toFixed(0)} ms; waiting events: last ${statuses.at(-1).depth}, at most ${Math.max(...statuses.map((status) => status.depth))}`);
  console.log(`age of the newest change: p50 ${quantile(lags, 0.5)} ms, p95 ${quantile(lags, 0.95)} ms, last ${lags.at(-1).toFixed(0)} ms`);
  console.log(`frames: ${frames.length}, p50 ${quantile(frames, 0.5)} ms, p95 ${quantile(frames, 0.95)} ms; heap ${heap.toFixed(0)} MB`);
  await browser.close();
  process.exit();
}

await page.goto(`${url}#/timeline?window=all`);
await page.locator(".change").first().waitFor();
const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
console.log(`changes in the window: ${await page.locator("canvas[data-total]").getAttribute("data-total")}`);
console.log(`first contentful paint: ${paint.toFixed(0)} ms`);

await page.keyboard.press("+");
await page.evaluate(recordFrames);
const box = await page.locator("canvas").boundingBox();
await page.keyboard.down("Shift");
await page.mouse.move(box.x + box.width / 2, box.y + 40);
await page.mouse.down();
for (let step = 0; step < 200; step += 1) await page.mouse.move(box.x + box.width / 2 + 150 * Math.sin(step / 12), box.y + 40);
await page.mouse.up();
await page.keyboard.up("Shift");
const frames = await page.evaluate(() => window.frames_.slice(1));
console.log(`frames while panning: ${frames.length}, p50 ${quantile(frames, 0.5)} ms, p95 ${quantile(frames, 0.95)} ms, max ${quantile(frames, 1)} ms`);

// The time from a key to the first frame with the new view, measured in the page.
const shown = ([key, wanted]) =>
  new Promise((resolve) => {
    const started = performance.now();
    const observer = new MutationObserver(() => {
      if (!document.querySelector(wanted)) return;
      observer.disconnect();
      requestAnimationFrame(() => resolve(performance.now() - started));
    });
    observer.observe(document.body, { childList: true, subtree: true });
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  });
const views = [["churn", "4", "[data-testid=churn-objects]"], ["objects", "2", ".table"], ["timeline", "1", ".change"]];
const times = Object.fromEntries(views.map(([name]) => [name, []]));
for (let round = 0; round < 10; round += 1) {
  for (const [name, key, wanted] of views) times[name].push(await page.evaluate(shown, [key, wanted]));
}
for (const [name, values] of Object.entries(times)) console.log(`${name}: p50 ${quantile(values, 0.5)} ms, p90 ${quantile(values, 0.9)} ms`);
await browser.close();
