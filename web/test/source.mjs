// A source of pods that change, for measurements of `informer web --server`: cheaper than an API server, so that a page on the same machine
// gets all changes. Usage: node test/source.mjs PORT PODS RATE
//
// It answers discovery, LIST and WATCH of pods in JSON. The pods are those of the benchmarks, about 10 KB each. A change sets the version,
// the time of a field manager, and the readiness and the restarts of a container. Every second, it prints the number of changes that were
// sent, and the bytes that wait because the reader is slower.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const [port, pods, rate] = process.argv.slice(2).map(Number);
/** Milliseconds between two writes. */
const INTERVAL = 10;
/** The fields that change. */
const MARKS = { "@version@": () => `"${version}"`, "@time@": () => `"${time}"`, "@ready@": (pod) => pod.changes % 2 === 0, "@restarts@": (pod) => pod.changes >> 1 };

let version = 10_000_000;
let time = "";
const templates = readFileSync(new URL("../../crates/wire/benches/pods.jsonl", import.meta.url), "utf8").trim().split("\n");
const objects = Array.from({ length: pods }, (_, number) => {
  const pod = JSON.parse(templates[number % templates.length]);
  const id = String(number).padStart(6, "0");
  Object.assign(pod.metadata, { name: `pod-${id}`, uid: `00000000-0000-4000-8000-000000${id}`, resourceVersion: "@version@" });
  pod.metadata.managedFields.at(-1).time = "@time@";
  Object.assign(pod.status.containerStatuses[0], { ready: "@ready@", restartCount: "@restarts@" });
  // The texts between the marks, and the marks.
  const parts = JSON.stringify(pod).split(/"(@[a-z]+@)"/);
  return { changes: 0, texts: parts.filter((_, index) => index % 2 === 0), marks: parts.filter((_, index) => index % 2 === 1).map((mark) => MARKS[mark]) };
});

/** Returns an object as JSON, with the current version and time. */
function json(object) {
  let text = object.texts[0];
  for (let index = 0; index < object.marks.length; index += 1) text += object.marks[index](object) + object.texts[index + 1];
  return text;
}

const resources = [{ name: "pods", singularName: "pod", namespaced: true, kind: "Pod", verbs: ["get", "list", "watch"], shortNames: ["po"] }];
const documents = {
  "/version": { major: "1", minor: "30" },
  "/api": { kind: "APIVersions", versions: ["v1"] },
  "/apis": { kind: "APIGroupList", groups: [] },
  "/api/v1": { kind: "APIResourceList", groupVersion: "v1", resources },
};
const watchers = new Set();

createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  const send = (code, body) => response.writeHead(code, { "content-type": "application/json" }).end(body);
  const status = (code, message) => send(code, JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, message, reason: "Invalid" }));
  if (documents[url.pathname]) return send(200, JSON.stringify(documents[url.pathname]));
  if (url.pathname !== "/api/v1/pods") return status(404, "only pods are served");
  if (url.searchParams.has("sendInitialEvents")) return status(400, "sendInitialEvents is not supported");
  if (!url.searchParams.get("watch")) {
    return send(200, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"${version}"},"items":[${objects.map(json).join(",")}]}`);
  }
  response.writeHead(200, { "content-type": "application/json" });
  response.flushHeaders();
  watchers.add(response);
  response.on("close", () => watchers.delete(response));
}).listen(port, "127.0.0.1");

let [sent, began] = [0, 0];
setInterval(() => {
  if (watchers.size === 0) return void ([sent, began] = [0, performance.now()]);
  time = `${new Date().toISOString().slice(0, 19)}Z`;
  let events = "";
  for (const due = ((performance.now() - began) / 1000) * rate; sent < due; sent += 1) {
    const object = objects[(sent * 7919) % objects.length];
    object.changes += 1;
    version += 1;
    events += `{"type":"MODIFIED","object":${json(object)}}\n`;
  }
  watchers.forEach((watcher) => watcher.write(events));
}, INTERVAL);
setInterval(() => {
  const waiting = Math.max(0, ...[...watchers].map((watcher) => watcher.writableLength));
  console.log(`sent ${sent}, waiting ${waiting} bytes`);
}, 1000);
