// Small parts that several views share.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Change } from "./api";
import { clock, shortKind, value } from "./format";
import { setState } from "./state";

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Loading() {
  return (
    <div class="loading" role="status" aria-label="Loading">
      <span /><span /><span />
    </div>
  );
}

export function Failed({ message }: { message: string }) {
  return <p class="failed" role="alert">{message}</p>;
}

export function Verb({ verb }: { verb: string }) {
  return <span class={`verb verb-${verb}`}>{verb}</span>;
}

/** The name of an object: kind, namespace and name. */
export function ObjectName({ kind, id }: { kind: string; id: string }) {
  const slash = id.indexOf("/");
  const namespace = slash < 0 ? "" : id.slice(0, slash + 1);
  return (
    <span class="object-name" title={`${kind} ${id}`}>
      <span class="object-kind">{shortKind(kind)}</span> <span class="object-namespace">{namespace}</span>
      <span class="object-own">{id.slice(slash + 1)}</span>
    </span>
  );
}

/** Opens an object at its state after a change, with the difference. */
export function openChange(change: Change): void {
  setState({ object: change.kind, key: change.key, change: String(change.t), tab: "diff" });
}

export function openObject(kind: string, key: string, tab = ""): void {
  setState({ object: kind, key, change: "", tab });
}

/** More than fit on a screen. */
const FIRST_ROWS = 40;

/** Returns the first rows, and all of them after a frame: a view is not shown before all of its rows are drawn. */
export function useGradually<T>(rows: T[]): T[] {
  const [isComplete, setComplete] = useState(rows.length <= FIRST_ROWS);
  useEffect(() => {
    if (isComplete) return;
    const timer = window.setTimeout(() => setComplete(true));
    return () => window.clearTimeout(timer);
  }, [isComplete]);
  return isComplete ? rows : rows.slice(0, FIRST_ROWS);
}

export function ChangeRows({ changes, selected }: { changes: Change[]; selected?: string }) {
  const shown = useGradually(changes);
  return (
    <ol class="changes" data-list>
      {shown.map((change) => {
        const isSelected = selected === `${change.kind} ${change.key} ${change.t}`;
        return (
          <li key={change.n}>
            <button
              type="button"
              class={`change${isSelected ? " is-selected" : ""}`}
              aria-current={isSelected}
              onClick={() => openChange(change)}
            >
              <time class="change-time">{clock(change.t, "ms")}</time>
              <Verb verb={change.verb} />
              <ObjectName kind={change.kind} id={change.key} />
              <span class="change-words">{change.words}</span>
              <span class="change-manager">{change.manager ?? ""}</span>
            </button>
          </li>
        );
      })}
    </ol>
  );
}

export interface FieldDiff {
  path: string;
  old: unknown;
  new: unknown;
}

export function FieldDiffs({ fields }: { fields: FieldDiff[] }) {
  return (
    <dl class="diff">
      {fields.map((field) => (
        <div class="diff-field" key={field.path}>
          <dt>{field.path}</dt>
          <dd>
            {field.old !== null && <pre class="diff-old">{value(field.old)}</pre>}
            {field.new !== null && <pre class="diff-new">{value(field.new)}</pre>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A strip whose colors show the number of changes over time: one background, because thousands of elements take long to lay out. */
export function Heat({ values, max }: { values: number[]; max: number }) {
  const level = (value: number) => (value === 0 ? 0 : Math.min(5, 1 + Math.floor((Math.log(value) / Math.log(Math.max(max, 2))) * 4.99)));
  const stops: string[] = [];
  for (let start = 0, end = 0; start < values.length; start = end) {
    while (end < values.length && level(values[end]!) === level(values[start]!)) end += 1;
    const percent = (index: number) => `${((index / values.length) * 100).toFixed(2)}%`;
    stops.push(`var(--heat-${level(values[start]!)}) ${percent(start)} ${percent(end)}`);
  }
  return <span class="heat" aria-hidden="true" style={{ backgroundImage: `linear-gradient(to right, ${stops.join(", ")})` }} />;
}
