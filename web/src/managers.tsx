// Who did it: the field managers, and the fields over which they fight.
import { useResource, useTicks } from "./api";
import { clock, count, duration } from "./format";
import { Empty, Failed, Heat, Loading, ObjectName, openObject } from "./parts";
import { filters, setState, type State } from "./state";
import { shownRange } from "./timeline";
import type { ChurnData } from "./churn";

interface Fight {
  kind: string;
  key: string;
  field: string;
  managers: string[];
  switches: number;
  per_minute: number;
  first: number;
  last: number;
}

/** Returns the range of the views that aggregate: the selected one, or everything. */
export function aggregateRange(state: State): { from?: number; to?: number } {
  const range = shownRange(state);
  return range.isFixed ? { from: Math.floor(range.from), to: Math.ceil(range.to) } : {};
}

export function RangeNote({ state }: { state: State }) {
  const range = shownRange(state);
  return (
    <p class="table-note">
      {range.isFixed ? (
        <>
          {clock(range.from)} – {clock(range.to)}, {duration(range.to - range.from)}, as selected on the timeline.{" "}
          <button type="button" class="link" onClick={() => setState({ from: "", to: "" })}>Show everything</button>
        </>
      ) : (
        "All recorded changes. Select a range on the timeline to restrict this."
      )}
    </p>
  );
}

export function Managers({ state }: { state: State }) {
  const ticks = useTicks(2000);
  const params = { ...filters(state), ...aggregateRange(state) };
  const fights = useResource<Fight[]>("fights", params, ticks);
  const churn = useResource<ChurnData>("churn", params, ticks);
  const max = Math.max(1, ...(churn.data?.managers.flatMap((row) => row.heat) ?? []));
  return (
    <section class="view" aria-label="Managers">
      <RangeNote state={state} />
      <h2 class="section-title">Fights <span class="muted">fields that several managers write alternately</span></h2>
      {fights.error && <Failed message={fights.error} />}
      {!fights.data && !fights.error && <Loading />}
      {fights.data?.length === 0 && <Empty title="No fights">No field was written alternately by several managers.</Empty>}
      {fights.data && fights.data.length > 0 && (
        <table class="table" data-list data-testid="fights">
          <thead>
            <tr><th>Object</th><th>Field</th><th>Managers</th><th class="number">Alternations</th><th class="number">Per minute</th><th>Last</th></tr>
          </thead>
          <tbody>
            {fights.data.map((fight) => (
              <tr key={`${fight.kind} ${fight.key} ${fight.field}`}>
                <td>
                  <button type="button" class="link" onClick={() => openObject(fight.kind, fight.key, "versions")}>
                    <ObjectName kind={fight.kind} id={fight.key} />
                  </button>
                </td>
                <td class="path">{fight.field}</td>
                <td>{fight.managers.map((manager) => <span class="tag" key={manager}>{manager}</span>)}</td>
                <td class="number">{count(fight.switches)}</td>
                <td class="number">{fight.per_minute.toFixed(1)}</td>
                <td>{clock(fight.last)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <h2 class="section-title">Managers <span class="muted">by number of changes</span></h2>
      {!churn.data && !churn.error && <Loading />}
      {churn.data?.managers.length === 0 && <Empty title="No changes">Nothing changed in this range.</Empty>}
      {churn.data && churn.data.managers.length > 0 && (
        <table class="table table-heat" data-list>
          <thead><tr><th>Manager</th><th>Changes over time</th><th class="number">Changes</th></tr></thead>
          <tbody>
            {churn.data.managers.map((row) => (
              <tr key={row.name}>
                <td>
                  <button type="button" class="link" onClick={() => setState({ view: "timeline", manager: row.name === "(unknown)" ? "" : row.name })}>{row.name}</button>
                </td>
                <td><Heat values={row.heat} max={max} /></td>
                <td class="number">{count(row.count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="table-note">
        The manager of a change is the one with the newest entry in managedFields. Open an object and select Managers for the manager of each field.
      </p>
    </section>
  );
}
