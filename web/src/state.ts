// The state of the page is the part of the URL after `#`, so that every view is a permalink.
import { useEffect, useState } from "preact/hooks";

export const VIEWS = ["timeline", "objects", "managers", "churn", "cause", "health"] as const;
export type View = (typeof VIEWS)[number];

export interface State {
  view: View;
  /** Filters. */
  kind: string;
  namespace: string;
  q: string;
  manager: string;
  verb: string;
  owner: string;
  field: string;
  /** The lanes of the timeline. */
  lanes: string;
  /** The range in microseconds; empty for a window that ends now. */
  from: string;
  to: string;
  /** The window in seconds; "all" for everything. */
  window: string;
  /** The selected object. */
  object: string;
  key: string;
  tab: string;
  /** The moment, and the moment that it is compared with; empty for now and for none. */
  at: string;
  base: string;
  /** The time of the selected change. */
  change: string;
}

const EMPTY: State = {
  view: "timeline", kind: "", namespace: "", q: "", manager: "", verb: "", owner: "", field: "", lanes: "kind",
  from: "", to: "", window: "300", object: "", key: "", tab: "", at: "", base: "", change: "",
};

export function parseHash(hash: string): State {
  const [path, query] = hash.replace(/^#\/?/, "").split("?", 2);
  const state = { ...EMPTY };
  if (VIEWS.includes(path as View)) state.view = path as View;
  for (const [name, value] of new URLSearchParams(query ?? "")) {
    if (name in state && name !== "view") (state as unknown as Record<string, string>)[name] = value;
  }
  return state;
}

export function toHash(state: State): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (name !== "view" && value !== "" && value !== EMPTY[name as keyof State]) query.set(name, value);
  }
  const text = query.toString();
  return `#/${state.view}${text ? `?${text}` : ""}`;
}

let current = parseHash(location.hash);
const listeners = new Set<() => void>();

window.addEventListener("hashchange", () => {
  current = parseHash(location.hash);
  listeners.forEach((listener) => listener());
});

export function getState(): State {
  return current;
}

/** Changes the state. `replace` adds no entry to the history of the browser. */
export function setState(patch: Partial<State>, how: "push" | "replace" = "push"): void {
  const next = { ...current, ...patch };
  const hash = toHash(next);
  if (hash === toHash(current)) return;
  current = next;
  history[how === "push" ? "pushState" : "replaceState"](null, "", hash);
  listeners.forEach((listener) => listener());
}

export function useHashState(): State {
  const [, update] = useState(0);
  useEffect(() => {
    const listener = () => update((count) => count + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return current;
}

/** Returns the parameters of the filters. */
export function filters(state: State): Record<string, string> {
  const { kind, namespace, q, manager, verb, owner, field } = state;
  return { kind, namespace, q, manager, verb, owner, field };
}
