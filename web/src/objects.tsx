// Time travel: the objects at a moment, and the differences between two moments.
import { useEffect, useState } from "preact/hooks";
import { stream, useResource, useStream, useTicks } from "./api";
import { clock, count, dateTime, duration } from "./format";
import { Empty, Failed, Loading, ObjectName, openObject, useGradually } from "./parts";
import { filters, setState, type State } from "./state";

interface Row {
  kind: string;
  key: string;
  status: string;
  created: string | null;
  deleted: number | null;
  changes: number;
  last_change: number | null;
}

interface Difference {
  kind: string;
  key: string;
  what: string;
  changes: number;
  fields: string[];
  managers: string[];
  last: number;
}

/** A slider over the recorded time. The right end is the current state. */
function Moment({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  const start = stream.status?.start ?? 0;
  const end = Math.max(stream.end, stream.status?.now ?? 0);
  const [moving, setMoving] = useState<number | null>(null);
  const position = moving ?? (value ? Number(value) : end);
  useEffect(() => {
    if (moving === null) return;
    const timer = window.setTimeout(() => {
      onChange(moving >= end - (end - start) / 500 ? "" : String(Math.round(moving)));
      setMoving(null);
    }, 150);
    return () => window.clearTimeout(timer);
  }, [moving]);
  return (
    <label class="moment">
      <span class="moment-label">{label}</span>
      <input
        type="range"
        min={start}
        max={end}
        step={Math.max(1, Math.round((end - start) / 2000))}
        value={position}
        aria-label={label}
        aria-valuetext={value ? dateTime(position) : "now"}
        onInput={(event) => setMoving(Number(event.currentTarget.value))}
      />
      <output>{value || moving !== null ? `${dateTime(position)} (${duration(end - position)} ago)` : "now"}</output>
    </label>
  );
}

export function Objects({ state }: { state: State }) {
  useStream(1000);
  const ticks = useTicks(1500);
  return (
    <section class="view" aria-label="Objects">
      <div class="toolbar toolbar-moments">
        <Moment label="Moment" value={state.at} onChange={(at) => setState({ at })} />
        {state.base ? (
          <>
            <Moment label="Compare with" value={state.base} onChange={(base) => setState({ base: base || String(stream.end) })} />
            <button type="button" onClick={() => setState({ base: "" })}>End comparison</button>
          </>
        ) : (
          <span class="toolbar-actions">
            <button type="button" onClick={() => setState({ base: String(Math.round(baseOf(state))) })}>Compare with an earlier moment</button>
            {state.at && <button type="button" class="primary" onClick={() => setState({ at: "" })}>Back to now</button>}
          </span>
        )}
      </div>
      {state.base ? <Differences state={state} ticks={ticks} /> : <List state={state} ticks={ticks} />}
    </section>
  );
}

/** Returns a minute before the moment, or the start. */
function baseOf(state: State): number {
  const at = state.at ? Number(state.at) : stream.end;
  return Math.max(stream.status?.start ?? 0, at - 60e6);
}

/** The number of rows, at first and at most. */
const ROWS = 200;
const MAX_ROWS = 500;

function List({ state, ticks }: { state: State; ticks: number }) {
  const [limit, setLimit] = useState(ROWS);
  const { data, error } = useResource<{ total: number; rows: Row[] }>("objects", { ...filters(state), at: state.at, limit }, state.at ? 0 : ticks);
  if (error) return <Failed message={error} />;
  if (!data) return <Loading />;
  if (data.total === 0) {
    return <Empty title="No objects">No object matched the filters at this moment.</Empty>;
  }
  return (
    <>
      <p class="table-note">
        {count(data.total)} objects, deleted ones included{data.rows.length < data.total ? `; the first ${count(data.rows.length)} are shown, use the filters` : ""}
        {data.rows.length < data.total && limit < MAX_ROWS && (
          <>
            {" or "}
            <button type="button" class="link" onClick={() => setLimit(MAX_ROWS)}>show {MAX_ROWS}</button>
          </>
        )}
      </p>
      <Table rows={data.rows} />
    </>
  );
}

function Table({ rows }: { rows: Row[] }) {
  const shown = useGradually(rows);
  return (
    <table class="table" data-list>
      <thead>
        <tr><th>Object</th><th>Status</th><th class="number">Changes</th><th>Last change</th></tr>
      </thead>
      <tbody>
        {shown.map((row) => (
          <tr key={`${row.kind} ${row.key}`} class={row.deleted ? "is-deleted" : ""}>
            <td>
              <button type="button" class="link" onClick={() => openObject(row.kind, row.key, "yaml")}>
                <ObjectName kind={row.kind} id={row.key} />
              </button>
            </td>
            <td>{row.deleted ? <span class="deleted-at">deleted {clock(row.deleted)}</span> : null} {row.status}</td>
            <td class="number">{row.changes || ""}</td>
            <td>{row.last_change ? clock(row.last_change) : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Differences({ state, ticks }: { state: State; ticks: number }) {
  const swap = state.at && Number(state.at) < Number(state.base);
  const [from, to] = swap ? [state.at, state.base] : [state.base, state.at];
  const { data, error } = useResource<{ total: number; differences: Difference[] }>("compare", { ...filters(state), from, to }, to ? 0 : ticks);
  if (error) return <Failed message={error} />;
  if (!data) return <Loading />;
  if (data.total === 0) return <Empty title="No differences">The objects are the same at both moments.</Empty>;
  return (
    <>
      <p class="table-note" data-testid="differences">
        {count(data.total)} objects differ between {dateTime(Number(from))} and {to ? dateTime(Number(to)) : "now"}
      </p>
      <table class="table" data-list>
        <thead>
          <tr><th>Object</th><th>Difference</th><th class="number">Changes</th><th>Managers</th></tr>
        </thead>
        <tbody>
          {data.differences.map((row) => (
            <tr key={`${row.kind} ${row.key}`}>
              <td>
                <button type="button" class="link" onClick={() => openObject(row.kind, row.key, "compare")}>
                  <ObjectName kind={row.kind} id={row.key} />
                </button>
                {row.fields.length > 0 && <div class="fields" title={row.fields.join("\n")}>{row.fields.join(", ")}</div>}
              </td>
              <td><span class={`verb verb-${row.what === "recreated" ? "updated" : row.what}`}>{row.what}</span></td>
              <td class="number">{row.changes}</td>
              <td>{row.managers.join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
