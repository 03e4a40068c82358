// Requests to the server, and the stream of changes.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Change {
  n: number;
  t: number;
  kind: string;
  key: string;
  verb: "added" | "updated" | "deleted";
  manager: string | null;
  owner: string | null;
  version: string | null;
  bytes: number;
  words: string;
  fields: string[];
}

export interface KindStatus {
  resource: string;
  phase: string;
  objects: number;
  version: string;
  lag: number;
  events: number;
  lists: number;
  relists: Record<string, number>;
  errors: Record<string, number>;
  bytes: number;
  error: string | null;
  received: number | null;
  subscribers: { name: string; depth: number }[];
}

export interface ServerStatus {
  status: {
    mode: "live" | "recorded";
    server: string;
    scope: string;
    stale: string[];
    loaded: number;
    kinds: KindStatus[];
    gaps: { resource: string | null; from: number; to: number | null; reason: string }[];
    notice: string | null;
  };
  start: number;
  end: number;
  next: number;
  dropped: number;
  log_bytes: number;
  now: number;
  pages: number;
}

export type Params = Record<string, string | number | undefined>;

export class ApiError extends Error {
  constructor(readonly code: number, message: string) {
    super(message);
  }
}

export function url(resource: string, params: Params): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return `/api/v1/${resource}${text ? `?${text}` : ""}`;
}

export async function get<T>(resource: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  const response = await fetch(url(resource, params), { signal, credentials: "same-origin" });
  if (!response.ok) {
    const body = await response.json().catch(() => ({}));
    if (response.status === 401) stream.requireLogin();
    throw new ApiError(response.status, body.error ?? `HTTP ${response.status}`);
  }
  return (await response.json()) as T;
}

export interface Loaded<T> {
  data: T | undefined;
  error: string | undefined;
  loading: boolean;
}

/**
 * Loads a resource, and again when its parameters or `trigger` change, at most once in `delay` milliseconds. The previous data is kept
 * until the new data arrives.
 */
export function useResource<T>(resource: string | null, params: Params, trigger: unknown = 0, delay = 0): Loaded<T> {
  const [state, setState] = useState<Loaded<T> & { of: string }>({ data: undefined, error: undefined, loading: true, of: "" });
  const request = resource === null ? "" : url(resource, params);
  const running = useRef<AbortController | null>(null);
  const path = request.split("?")[0]!;
  // Not after the next frame, as `useEffect` would: the request takes longer than drawing.
  useLayoutEffect(() => {
    if (resource === null) return;
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    const isReload = delay > 0 && state.of === path;
    const started = isReload ? new Promise((resolve) => window.setTimeout(resolve, delay)) : Promise.resolve();
    const load = () => (controller.signal.aborted ? Promise.reject(new DOMException("", "AbortError")) : get<T>(resource, params, controller.signal));
    started.then(load).then(
      (data) => {
        if (!controller.signal.aborted) setState({ data, error: undefined, loading: false, of: path });
      },
      (error: Error) => {
        if (error.name !== "AbortError") setState((old) => ({ ...old, error: error.message, loading: false, of: path }));
      },
    );
    return () => controller.abort();
  }, [request, trigger]);
  return state.of === path ? state : { data: undefined, error: undefined, loading: true };
}

type Connection = "connecting" | "open" | "lost" | "login";

/** The stream of changes, shared by all views. */
class Stream {
  connection: Connection = "connecting";
  status: ServerStatus | undefined;
  next = 0;
  end = 0;
  /** Milliseconds at which the last event arrived. */
  received = 0;
  recent: Change[] = [];
  /** The changes per second, over the last ten seconds. */
  rate = 0;
  private counts: { at: number; next: number }[] = [];
  private source: EventSource | undefined;
  private listeners = new Set<() => void>();
  private retry = 0;

  start(): void {
    this.source?.close();
    const source = new EventSource("/api/v1/stream");
    this.source = source;
    source.addEventListener("status", (event) => {
      this.status = JSON.parse((event as MessageEvent<string>).data);
      this.arrived();
    });
    source.addEventListener("changes", (event) => {
      const data = JSON.parse((event as MessageEvent<string>).data);
      if (data.next < this.next) this.recent = [];
      this.next = data.next;
      this.end = data.end;
      this.recent = [...data.changes, ...this.recent].slice(0, 500);
      this.count();
      this.arrived();
    });
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED || this.connection !== "lost") void this.lost();
    };
    window.clearInterval(this.retry);
    this.retry = window.setInterval(() => this.check(), 1000);
  }

  requireLogin(): void {
    this.source?.close();
    this.set("login");
  }

  private arrived(): void {
    this.received = Date.now();
    this.set("open");
  }

  private count(): void {
    const now = Date.now();
    this.counts.push({ at: now, next: this.next });
    while (this.counts.length > 2 && now - this.counts[0]!.at > 10_000) this.counts.shift();
    const first = this.counts[0]!;
    this.rate = now > first.at ? ((this.next - first.next) * 1000) / (now - first.at) : 0;
  }

  /** Asks why the stream ended: without a session, the server answers 401. */
  private async lost(): Promise<void> {
    if (this.connection === "login") return;
    this.set("lost");
    try {
      await get("status");
    } catch {
      // Not reachable: the banner is shown, and `check` connects again.
    }
  }

  private check(): void {
    if (this.connection === "login") return;
    const silent = Date.now() - this.received;
    if (this.received > 0 && silent > 6_000 && this.connection === "open") this.set("lost");
    if (this.connection === "lost" && this.source?.readyState === EventSource.CLOSED) this.start();
    else if (this.connection === "lost") this.notify();
  }

  private set(connection: Connection): void {
    this.connection = connection;
    this.notify();
  }

  private notify(): void {
    this.listeners.forEach((listener) => listener());
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
}

export const stream = new Stream();

/** Renders again when the stream changes, at most every `interval` milliseconds. */
export function useStream(interval = 250): Stream {
  const [, update] = useState(0);
  useEffect(() => {
    let timer = 0;
    const unsubscribe = stream.subscribe(() => {
      if (timer === 0) {
        timer = window.setTimeout(() => {
          timer = 0;
          update((count) => count + 1);
        }, interval);
      }
    });
    return () => {
      window.clearTimeout(timer);
      unsubscribe();
    };
  }, [interval]);
  return stream;
}

/** Returns a number that increases with new changes, at most once in `interval` milliseconds. */
export function useTicks(interval: number): number {
  const [ticks, setTicks] = useState(0);
  useEffect(() => {
    let seen = stream.next;
    const timer = window.setInterval(() => {
      if (stream.next !== seen) {
        seen = stream.next;
        setTicks((count) => count + 1);
      }
    }, interval);
    return () => window.clearInterval(timer);
  }, [interval]);
  return ticks;
}
