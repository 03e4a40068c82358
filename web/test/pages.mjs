// Opens pages on a running `informer web` without a browser, one of which does not read. Usage: node test/pages.mjs URL PID [PAGES] [SECONDS]
//
// It prints the memory of the server, whose process id is PID, before and while the pages are open.
import { readFileSync } from "node:fs";
import http from "node:http";

const [url, pid, pages = "100", seconds = "60"] = process.argv.slice(2);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1000;
const open = async () => (await fetch(`${url}/api/v1/status`).then((response) => response.json())).pages;

const before = memory();
let [bytes, events, closed] = [0, 0, 0];
const agent = new http.Agent({ maxSockets: Infinity });
for (let page = 0; page < Number(pages); page += 1) {
  http.get(`${url}/api/v1/stream`, { agent }, (response) => {
    response.on("close", () => { closed += 1; });
    response.on("error", () => undefined);
    // Without a listener for data nothing is read, so that the buffers of the connection become full.
    if (page === 0) return;
    response.on("data", (chunk) => {
      bytes += chunk.length;
      events += chunk.toString("latin1").split("event: changes").length - 1;
    });
  }).on("error", () => undefined);
}
await sleep(2000);
console.log(`open pages: ${await open()}; memory ${before.toFixed(0)} MB before, ${memory().toFixed(0)} MB after 2 s`);
let most = 0;
for (let second = 0; second < Number(seconds); second += 1) {
  await sleep(1000);
  most = Math.max(most, memory());
}
console.log(`after ${seconds} s: open pages ${await open()}, memory ${memory().toFixed(0)} MB, at most ${most.toFixed(0)} MB`);
console.log(`each reading page received ${(events / (Number(pages) - 1)).toFixed(0)} events, ${(bytes / (Number(pages) - 1) / 1e6).toFixed(1)} MB; closed connections: ${closed}`);
process.exit();
