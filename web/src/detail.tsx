// The panel of the selected object: difference, state, versions and managers.
import { useEffect, useRef } from "preact/hooks";
import { useResource, useTicks, type Change } from "./api";
import { clock, count, dateTime } from "./format";
import { Empty, Failed, FieldDiffs, Loading, ObjectName, Verb, openChange, type FieldDiff } from "./parts";
import { getState, setState, type State } from "./state";

interface ObjectData {
  kind: string;
  key: string;
  yaml: string[];
  exists: boolean;
  deleted: number | null;
  changes: number;
  versions: Change[];
  managers: ManagedField[];
}

export interface ManagedField {
  path: string;
  manager: string;
  operation: string;
  subresource: string;
  time: string;
}

interface ObjectDiff {
  existed: boolean;
  exists: boolean;
  fields: FieldDiff[];
}

const TABS: [string, string][] = [["diff", "Change"], ["compare", "Compare"], ["yaml", "State"], ["versions", "Versions"], ["managers", "Managers"]];

/** Closes the panel. The view of causes keeps its object. */
export function closeDetail(): void {
  setState(getState().view === "cause" ? { tab: "closed" } : { object: "", key: "", change: "", tab: "" });
}

export function Detail({ state }: { state: State }) {
  const ticks = useTicks(1500);
  const panel = useRef<HTMLElement>(null);
  const at = state.change || state.at;
  const object = useResource<ObjectData>("object", { kind: state.object, key: state.key, at }, at ? 0 : ticks);
  const tab = state.tab || (state.change ? "diff" : "yaml");
  useEffect(() => panel.current?.scrollTo(0, 0), [state.object, state.key, tab]);
  const data = object.data;
  return (
    <aside class="detail" ref={panel} aria-label="Object">
      <header class="detail-head">
        <div class="detail-title">
          <ObjectName kind={state.object} id={state.key} />
          <p class="muted">
            {data?.deleted ? `deleted ${dateTime(data.deleted)}` : data && !data.exists ? "did not exist" : at ? `as of ${dateTime(Number(at))}` : "current state"}
            {data && `, ${count(data.changes)} changes`}
          </p>
        </div>
        <button type="button" class="icon" aria-label="Close (Esc)" title="Close (Esc)" onClick={closeDetail}>×</button>
      </header>
      <nav class="tabs" aria-label="Object views">
        {TABS.filter(([name]) => (name !== "compare" || state.base) && (name !== "diff" || data?.versions.length || state.change)).map(([name, text]) => (
          <button type="button" key={name} aria-pressed={tab === name} onClick={() => setState({ tab: name })}>{text}</button>
        ))}
        <button type="button" onClick={() => setState({ view: "cause", tab: "closed" })}>Cause</button>
      </nav>
      {object.error && <Failed message={object.error} />}
      {!data && !object.error && <Loading />}
      {data && tab === "diff" && <ChangeDiff state={state} versions={data.versions} />}
      {data && tab === "compare" && <Compare state={state} />}
      {data && tab === "yaml" && <Yaml lines={data.yaml} />}
      {data && tab === "versions" && <Versions versions={data.versions} selected={state.change} />}
      {data && tab === "managers" && <Managers fields={data.managers} />}
    </aside>
  );
}

/** The difference of one change: the state at its time against the state just before. */
function ChangeDiff({ state, versions }: { state: State; versions: Change[] }) {
  const change = versions.find((version) => String(version.t) === state.change) ?? versions[0];
  const time = Number(state.change || change?.t);
  const { data, error } = useResource<ObjectDiff>(time ? "diff" : null, { kind: state.object, key: state.key, from: time - 1, to: time });
  const index = change ? versions.indexOf(change) : -1;
  const older = versions[index + 1];
  const newer = index > 0 ? versions[index - 1] : undefined;
  return (
    <div class="detail-body">
      {change && (
        <p class="change-head">
          <Verb verb={change.verb} /> <time>{clock(change.t, "ms")}</time>
          {change.manager && <> by <strong class="manager-name">{change.manager}</strong></>}
          <span class="change-steps">
            <button type="button" disabled={!older} onClick={() => older && openChange(older)}>← older</button>
            <button type="button" disabled={!newer} onClick={() => newer && openChange(newer)}>newer →</button>
          </span>
        </p>
      )}
      {change?.words && <p class="change-summary">{change.words}</p>}
      {error && <Failed message={error} />}
      {!data && !error && <Loading />}
      {data && data.fields.length === 0 && <Empty title="No visible difference">Only managedFields, resourceVersion or generation changed.</Empty>}
      {data && <FieldDiffs fields={data.fields} />}
    </div>
  );
}

function Compare({ state }: { state: State }) {
  const swap = state.at && Number(state.at) < Number(state.base);
  const [from, to] = swap ? [state.at, state.base] : [state.base, state.at];
  const { data, error } = useResource<ObjectDiff>("diff", { kind: state.object, key: state.key, from, to });
  return (
    <div class="detail-body">
      <p class="muted">{dateTime(Number(from))} → {to ? dateTime(Number(to)) : "now"}</p>
      {error && <Failed message={error} />}
      {!data && !error && <Loading />}
      {data && data.fields.length === 0 && <Empty title="No difference">The object is the same at both moments.</Empty>}
      {data && !data.existed && <p class="muted">did not exist at the first moment</p>}
      {data && !data.exists && <p class="muted">did not exist at the second moment</p>}
      {data && <FieldDiffs fields={data.fields} />}
    </div>
  );
}

function Yaml({ lines }: { lines: string[] }) {
  if (lines.length === 0) return <Empty title="No state">The object did not exist at this moment.</Empty>;
  return <pre class="yaml">{lines.join("\n")}</pre>;
}

function Versions({ versions, selected }: { versions: Change[]; selected: string }) {
  if (versions.length === 0) return <Empty title="No changes">The object has not changed in the recorded time.</Empty>;
  return (
    <ol class="versions">
      {versions.map((version) => (
        <li key={version.n}>
          <button type="button" class={String(version.t) === selected ? "is-selected" : ""} onClick={() => openChange(version)}>
            <time>{clock(version.t, "ms")}</time> <Verb verb={version.verb} /> <span class="change-manager">{version.manager}</span>
            <span class="version-words">{version.words}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}

function Managers({ fields }: { fields: ManagedField[] }) {
  if (fields.length === 0) return <Empty title="No field managers">The object has no managedFields.</Empty>;
  return (
    <table class="table table-small">
      <thead><tr><th>Field</th><th>Manager</th><th>Time</th></tr></thead>
      <tbody>
        {fields.map((field, index) => (
          <tr key={index}>
            <td class="path">{field.path}</td>
            <td title={`${field.operation} ${field.subresource}`}>
              <button type="button" class="link" onClick={() => setState({ manager: field.manager })}>{field.manager}</button>
            </td>
            <td>{field.time ? dateTime(Date.parse(field.time) * 1000).slice(5) : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
