// Tests the page in Chromium. Usage: node test/browser.mjs PROGRAM [PICTURES]
//
// PROGRAM is the command `informer`; with a folder PICTURES, the pictures of the documentation are written to it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { Cluster } from "./cluster.mjs";

const [program, pictures] = process.argv.slice(2);
const browserPath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
if (!program || !browserPath) {
  console.error(program ? "no browser found: install chromium (apt-get install chromium) or set CHROMIUM" : "usage: node test/browser.mjs PROGRAM [PICTURES]");
  process.exit(2);
}

const HOSTILE = "<img src=x onerror=window.hacked=1>";
const TOKEN = "correct horse battery staple";

const children = new Set();
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")));

/** Starts `informer web`, and returns its address. */
async function start(args, env = {}) {
  const child = spawn(program, ["web", "--listen", "127.0.0.1:0", ...args], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } });
  children.add(child);
  child.on("exit", () => children.delete(child));
  const url = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += chunk;
      const found = /listening on (\S+)/.exec(text);
      if (found) resolve(found[1]);
    });
    child.on("exit", (code) => reject(new Error(`informer web ended with ${code}`)));
  });
  const stop = () => new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.on("exit", resolve);
    child.kill("SIGTERM");
  });
  return { url, stop };
}

/** Opens a page that records errors and requests to other servers. */
async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => {
    const target = new URL(request.url());
    if (target.protocol !== "data:" && target.protocol !== "blob:" && target.origin !== new URL(url).origin) problems.push(`request to ${request.url()}`);
  });
  await page.goto(url);
  return { page, problems, context };
}

let failures = 0;
let passed = 0;
async function test(name, run) {
  try {
    await run();
    passed += 1;
    console.log(`test ${name} ... ok`);
  } catch (error) {
    failures += 1;
    console.log(`test ${name} ... FAILED\n${error.stack}`);
  }
}

const spanOf = async (page) => {
  const canvas = page.locator("canvas");
  return Number(await canvas.getAttribute("data-to")) - Number(await canvas.getAttribute("data-from"));
};

async function functionTests(browser) {
  const cluster = await new Cluster().start();
  cluster.put("web-0", { phase: "Pending" });
  cluster.put("web-1");
  const server = await start(["pods", "--server", cluster.url]);
  const { page, problems, context } = await open(browser, server.url);
  await page.getByTestId("pill").filter({ hasText: "live" }).waitFor();

  await test("live_changes_appear_without_reloading", async () => {
    await page.waitForFunction(() => document.querySelector("canvas")?.dataset.total === "0");
    cluster.put("web-0", { phase: "Running" });
    await page.locator(".change", { hasText: "web-0" }).waitFor();
    assert.match(await page.locator(".change").first().innerText(), /updated[\s\S]*Pending -> Running[\s\S]*kubelet/);
    cluster.put("web-2");
    await page.locator(".change", { hasText: "web-2" }).waitFor();
  });

  await test("a_click_on_a_change_shows_its_difference", async () => {
    await page.locator(".change", { hasText: "web-0" }).click();
    const field = page.locator(".diff-field", { hasText: "status.phase" });
    await field.waitFor();
    assert.equal(await field.locator(".diff-old").innerText(), "Pending");
    assert.equal(await field.locator(".diff-new").innerText(), "Running");
  });

  let moment;
  await test("the_timeline_zooms_to_a_brushed_range_and_back", async () => {
    const before = await spanOf(page);
    const box = await page.locator("canvas").boundingBox();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.98, box.y + 40, { steps: 5 });
    await page.mouse.up();
    await page.getByRole("button", { name: "Follow live" }).waitFor();
    const after = await spanOf(page);
    assert.ok(after < before * 0.6, `${before} -> ${after}`);
    await page.keyboard.press("+");
    await page.waitForFunction((span) => {
      const canvas = document.querySelector("canvas");
      return Number(canvas.dataset.to) - Number(canvas.dataset.from) < span * 0.6;
    }, after);
    await page.keyboard.press("0");
    await page.getByRole("button", { name: "Follow live" }).waitFor({ state: "detached" });
    await page.waitForFunction(() => Number(document.querySelector("canvas").dataset.total) >= 2);
  });

  await test("time_travel_shows_a_deleted_pod", async () => {
    moment = await page.evaluate(() => fetch("/api/v1/status").then((response) => response.json()).then((status) => status.now));
    cluster.delete("web-1");
    await page.locator(".change", { hasText: "deleted" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("2");
    const row = page.locator("tr", { hasText: "web-1" });
    await row.filter({ hasText: "deleted" }).waitFor();
    await page.goto(`${server.url}#/objects?at=${moment}`);
    await row.waitFor();
    await page.waitForFunction(() => !document.querySelector("tr.is-deleted"));
    await row.getByRole("button").click();
    await page.locator(".yaml", { hasText: "name: web-1" }).waitFor();
  });

  await test("two_moments_are_compared", async () => {
    cluster.put("web-2", { phase: "Failed", manager: "eviction" });
    await page.goto(`${server.url}#/objects?base=${moment}`);
    await page.getByTestId("differences").waitFor();
    await page.locator("tr", { hasText: "web-1" }).filter({ hasText: "deleted" }).waitFor();
    await page.locator("tr", { hasText: "web-2" }).filter({ hasText: "status.phase" }).getByRole("button").click();
    await page.locator(".diff-field", { hasText: "status.phase" }).filter({ hasText: "Failed" }).waitFor();
  });

  await test("a_permalink_restores_the_view", async () => {
    const link = page.url();
    const other = await context.newPage();
    await other.goto(link);
    await other.locator(".diff-field", { hasText: "status.phase" }).filter({ hasText: "Failed" }).waitFor();
    await other.getByTestId("differences").waitFor();
    await other.close();
  });

  await test("alternating_managers_are_shown_as_a_fight", async () => {
    for (let round = 0; round < 6; round += 1) {
      cluster.put("web-2", { phase: "Failed", manager: round % 2 ? "autoscaler" : "deployer", replicas: round + 2 });
    }
    await page.goto(`${server.url}#/managers`);
    const fight = page.getByTestId("fights").locator("tr", { hasText: "spec.priority" });
    await fight.waitFor();
    assert.match(await fight.innerText(), /autoscaler[\s\S]*deployer/);
  });

  await test("hostile_names_are_text", async () => {
    cluster.put(HOSTILE, { phase: HOSTILE, manager: HOSTILE, labels: { [HOSTILE]: HOSTILE } });
    cluster.put(HOSTILE, { phase: "Running", manager: HOSTILE, labels: { a: HOSTILE } });
    for (const view of ["timeline", "timeline?lanes=object", "objects", "managers", "churn", "health"]) {
      await page.goto(`${server.url}#/${view}`);
      if (view !== "health") await page.getByText(HOSTILE).first().waitFor();
    }
    await page.goto(`${server.url}#/timeline`);
    await page.locator(".change", { hasText: HOSTILE }).first().click();
    await page.locator(".detail .object-own", { hasText: HOSTILE }).waitFor();
    for (const tab of ["State", "Versions", "Managers", "Cause"]) await page.locator(".detail").getByRole("button", { name: tab, exact: true }).click();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator("img[src=x]").count(), 0);
  });

  await test("the_keyboard_reaches_every_row_and_view", async () => {
    await page.goto(`${server.url}#/timeline`);
    await page.locator(".change").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.locator(".detail").waitFor();
    await page.locator("h2").first().click();
    await page.keyboard.press("Escape");
    await page.locator(".detail").waitFor({ state: "detached" });
    for (const [key, view] of [["2", "objects"], ["3", "managers"], ["4", "churn"], ["5", "cause"], ["6", "health"], ["1", "timeline"]]) {
      await page.keyboard.press(key);
      await page.waitForFunction((view) => location.hash.startsWith(`#/${view}`), view);
    }
    await page.keyboard.press("/");
    await page.keyboard.type("web-2");
    await page.waitForFunction(() => location.hash.includes("q=web-2"));
    await page.waitForFunction(() => [...document.querySelectorAll(".change .object-own")].every((name) => name.textContent === "web-2"));
  });

  await test("the_export_has_the_filtered_changes_as_json_lines", async () => {
    const waiting = page.waitForEvent("download");
    await page.getByRole("link", { name: "Export JSON lines" }).click();
    const stream = await (await waiting).createReadStream();
    let text = "";
    for await (const chunk of stream) text += chunk;
    const lines = text.trim().split("\n").map((line) => JSON.parse(line));
    assert.ok(lines.length >= 7 && lines.every((line) => line.key === "shop/web-2"), text);
  });

  await test("a_small_screen_has_no_horizontal_scrolling", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    for (const view of ["timeline", "objects", "managers", "churn", "cause", "health"]) {
      await page.goto(`${server.url}#/${view}`);
      await page.locator(".view").waitFor();
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 390, `${view}: ${width}`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await test("there_are_no_console_errors_and_no_requests_to_other_servers", async () => {
    assert.deepEqual(problems, []);
  });

  await test("a_banner_reports_stale_data_when_the_api_server_is_gone", async () => {
    await page.goto(`${server.url}#/timeline`);
    await cluster.stop();
    await page.getByTestId("banner").filter({ hasText: "Stale data" }).waitFor();
    await page.getByTestId("pill").filter({ hasText: "stale" }).waitFor();
    const again = await new Cluster().start(Number(new URL(cluster.url).port));
    await page.getByTestId("banner").waitFor({ state: "detached", timeout: 60_000 });
    await again.stop();
  });

  await test("a_banner_reports_that_the_page_is_not_connected", async () => {
    await server.stop();
    await page.getByTestId("banner").filter({ hasText: "Not connected" }).waitFor();
  });
  await context.close();
}

async function loginTests(browser) {
  const cluster = await new Cluster().start();
  const server = await start(["pods", "--server", cluster.url], { INFORMER_WEB_TOKEN: TOKEN });
  const { page, context } = await open(browser, server.url);
  await test("a_token_is_entered_once_and_kept_in_a_cookie_that_scripts_cannot_read", async () => {
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").filter({ hasText: "not correct" }).waitFor();
    await page.getByLabel("Token").fill(TOKEN);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByTestId("pill").filter({ hasText: "live" }).waitFor();
    const [cookie] = await context.cookies();
    assert.equal(cookie.httpOnly, true);
    assert.equal(cookie.sameSite, "Strict");
    assert.equal(await page.evaluate(() => document.cookie), "");
    assert.ok(!page.url().includes("correct") && !cookie.value.includes("correct"));
    await page.reload();
    await page.getByTestId("pill").filter({ hasText: "live" }).waitFor();
  });
  await context.close();
  await server.stop();
  await cluster.stop();
}

/** A history that is recorded while the page shows it. */
async function recordedTests(browser) {
  const cluster = await new Cluster().start();
  cluster.put("web-0", { phase: "Pending" });
  cluster.put("web-1");
  const folder = mkdtempSync(join(tmpdir(), "informer-web-"));
  const recorder = spawn(program, ["record", "pods", "--dir", folder, "--server", cluster.url, "-q"], { stdio: ["ignore", "ignore", "inherit"] });
  children.add(recorder);
  // The folder has a history after the first list.
  let server;
  for (let attempt = 0; !server && attempt < 100; attempt += 1) {
    server = await start(["--dir", folder]).catch(() => undefined);
    if (!server) await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await test("a_history_is_shown_while_it_is_recorded", async () => {
    const { page, problems, context } = await open(browser, server.url);
    await page.getByTestId("pill").filter({ hasText: "recorded" }).waitFor();
    cluster.put("web-0", { phase: "Running" });
    await page.locator(".change", { hasText: "Pending -> Running" }).waitFor();
    const moment = await page.evaluate(() => fetch("/api/v1/status").then((response) => response.json()).then((status) => status.end));
    cluster.delete("web-1");
    await page.locator(".change", { hasText: "deleted" }).waitFor();
    await page.goto(`${server.url}#/objects`);
    await page.locator("tr.is-deleted", { hasText: "web-1" }).waitFor();
    await page.goto(`${server.url}#/objects?at=${moment}`);
    await page.waitForFunction(() => document.querySelector("tbody tr") && !document.querySelector("tr.is-deleted"));
    await page.goto(`${server.url}#/health`);
    await page.getByText("Recorded history in").waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });
  await server?.stop();
  recorder.kill("SIGTERM");
  await new Promise((resolve) => recorder.on("exit", resolve));
  await cluster.stop();
  rmSync(folder, { recursive: true });
}

/** The demo, and the pictures of the documentation. */
async function demoTests(browser) {
  const server = await start(["--demo"]);
  const { page, problems, context } = await open(browser, server.url, { colorScheme: "light" });
  const shot = async (name, target = page) => {
    if (pictures) await target.screenshot({ path: join(pictures, `web-${name}.png`) });
  };
  await test("the_demo_shows_a_rollout_with_its_causes", async () => {
    await page.goto(`${server.url}#/timeline?q=checkout`);
    await page.locator(".change", { hasText: "pods shop/checkout" }).filter({ hasText: "deleted" }).first().waitFor({ timeout: 60_000 });
    const pod = page.locator(".change", { hasText: "added" }).filter({ hasText: "pods" }).first();
    await pod.click();
    await page.locator(".detail").getByRole("button", { name: "Cause", exact: true }).click();
    const strip = page.getByTestId("strip");
    await strip.locator("li", { hasText: "replicasets" }).first().waitFor();
    await strip.locator("li", { hasText: "events" }).first().waitFor();
    assert.match(await strip.locator("li", { hasText: "pods" }).first().innerText(), /\+\d/);
    await page.keyboard.press("Escape");
  });
  await test("the_demo_shows_who_fights_over_a_field", async () => {
    await page.goto(`${server.url}#/managers`);
    const fight = page.getByTestId("fights").locator("tr", { hasText: "spec.replicas" });
    await fight.filter({ hasText: "argocd-controller" }).filter({ hasText: "horizontal-pod-autoscaler" }).waitFor({ timeout: 30_000 });
  });
  if (pictures) {
    await page.goto(`${server.url}#/timeline?window=60`);
    await page.locator(".change", { hasText: "deployments" }).filter({ hasText: "replicas" }).first().click();
    await page.locator(".diff-field").first().waitFor();
    await page.locator(".main").evaluate((main) => main.scrollTo(0, 0));
    await page.waitForTimeout(1500);
    await shot("timeline");
    await page.keyboard.press("Escape");
    await page.goto(`${server.url}#/objects?q=shop%2Fcheckout`);
    await page.locator("tr.is-deleted").first().waitFor();
    await shot("objects");
    const moment = await page.evaluate(() => fetch("/api/v1/status").then((response) => response.json()).then((status) => Math.max(status.start, status.end - 20e6)));
    await page.goto(`${server.url}#/objects?q=shop%2Fcheckout&base=${moment}&object=deployments.apps&key=shop%2Fcheckout&tab=compare`);
    await page.locator(".diff-field").first().waitFor();
    await shot("compare");
    await page.goto(`${server.url}#/managers`);
    await page.getByTestId("fights").waitFor();
    await shot("managers");
    await page.goto(`${server.url}#/churn`);
    await page.getByTestId("churn-objects").waitFor();
    await shot("churn");
    await page.goto(`${server.url}#/cause?object=deployments.apps&key=shop%2Fcheckout&tab=closed`);
    await page.getByTestId("strip").waitFor();
    await shot("cause");
    await page.goto(`${server.url}#/health`);
    await page.getByTestId("health").waitFor();
    await shot("health");
    const dark = await open(browser, server.url, { colorScheme: "dark" });
    await dark.page.goto(`${server.url}#/timeline?lanes=owner&window=60`);
    await dark.page.locator(".change").first().waitFor();
    await dark.page.waitForTimeout(1500);
    await shot("dark", dark.page);
    const small = await open(browser, server.url, { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 });
    await small.page.locator(".change").first().waitFor();
    await small.page.waitForTimeout(1500);
    await shot("small", small.page);
  }
  await test("the_demo_has_no_console_errors_and_no_requests_to_other_servers", async () => {
    assert.deepEqual(problems, []);
  });
  await context.close();
  await server.stop();
}

const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
try {
  const only = process.env.ONLY ?? "function login recorded demo";
  if (only.includes("function")) await functionTests(browser);
  if (only.includes("login")) await loginTests(browser);
  if (only.includes("recorded")) await recordedTests(browser);
  if (only.includes("demo")) await demoTests(browser);
} catch (error) {
  failures += 1;
  console.log(error.stack);
} finally {
  await browser.close();
}
console.log(`\ntest result: ${failures ? "FAILED" : "ok"}. ${passed} passed; ${failures} failed; 0 ignored`);
process.exit(failures ? 1 : 0);
