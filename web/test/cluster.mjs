// An API server under the control of the tests: it serves pods with any names, also ones that no real server accepts.
import http from "node:http";

export class Cluster {
  #pods = new Map();
  #version = 100;
  #watches = new Set();
  #server = http.createServer((request, response) => this.#answer(request, response));

  async start(port = 0) {
    await new Promise((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.#server.address().port}`;
    return this;
  }

  /** Closes every watch and refuses new connections. */
  async stop() {
    for (const response of this.#watches) response.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  put(name, { phase = "Running", manager = "kubelet", labels = {}, replicas = 1 } = {}) {
    const old = this.#pods.get(name);
    this.#version += 1;
    const time = new Date().toISOString().replace(/\.\d+/, "");
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name, namespace: "shop", uid: old?.metadata.uid ?? `uid-${this.#version}`, resourceVersion: String(this.#version),
        creationTimestamp: old?.metadata.creationTimestamp ?? time, labels,
        managedFields: [{ manager, operation: "Update", apiVersion: "v1", time, fieldsType: "FieldsV1", fieldsV1: { "f:spec": { "f:priority": {} }, "f:status": { "f:phase": {} } } }],
      },
      spec: { containers: [{ name: "app", image: "registry.example/app:1" }], priority: replicas },
      status: { phase },
    };
    this.#pods.set(name, pod);
    this.#send(old ? "MODIFIED" : "ADDED", pod);
  }

  delete(name) {
    const pod = this.#pods.get(name);
    this.#pods.delete(name);
    this.#version += 1;
    this.#send("DELETED", { ...pod, metadata: { ...pod.metadata, resourceVersion: String(this.#version) } });
  }

  #send(type, object) {
    for (const response of this.#watches) response.write(`${JSON.stringify({ type, object })}\n`);
  }

  #answer(request, response) {
    const url = new URL(request.url, "http://localhost");
    const json = (value, code = 200) => {
      response.writeHead(code, { "Content-Type": "application/json" });
      response.end(JSON.stringify(value));
    };
    switch (url.pathname) {
      case "/version": return json({ major: "1", minor: "36", gitVersion: "v1.36.0" });
      case "/api": return json({ kind: "APIVersions", versions: ["v1"] });
      case "/apis": return json({ kind: "APIGroupList", apiVersion: "v1", groups: [] });
      case "/api/v1":
        return json({
          kind: "APIResourceList", groupVersion: "v1",
          resources: [{ name: "pods", singularName: "pod", namespaced: true, kind: "Pod", verbs: ["get", "list", "watch"], shortNames: ["po"] }],
        });
      case "/api/v1/pods": break;
      default: return json({ kind: "Status", status: "Failure", reason: "NotFound", code: 404, message: "not found" }, 404);
    }
    if (url.searchParams.get("watch") !== "true" && url.searchParams.get("watch") !== "1") {
      const items = [...this.#pods.values()];
      return json({ kind: "PodList", apiVersion: "v1", metadata: { resourceVersion: String(this.#version) }, items });
    }
    if (url.searchParams.get("sendInitialEvents") === "true") {
      return json({ kind: "Status", status: "Failure", reason: "Invalid", code: 422, message: "sendInitialEvents is forbidden" }, 422);
    }
    response.writeHead(200, { "Content-Type": "application/json" });
    response.flushHeaders();
    this.#watches.add(response);
    response.on("close", () => this.#watches.delete(response));
  }
}
