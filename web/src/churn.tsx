// Churn: the objects and fields with most changes and bytes.
import { useResource, useTicks } from "./api";
import { bytes, count } from "./format";
import { aggregateRange, RangeNote } from "./managers";
import { Empty, Failed, Heat, Loading, ObjectName, openObject } from "./parts";
import { filters, setState, type State } from "./state";

interface ChurnRow {
  kind: string;
  name: string;
  count: number;
  bytes: number;
  heat: number[];
}

export interface ChurnData {
  from: number;
  to: number;
  total: number;
  bytes: number;
  objects: ChurnRow[];
  fields: ChurnRow[];
  managers: ChurnRow[];
}

export function Churn({ state }: { state: State }) {
  const ticks = useTicks(2000);
  const { data, error } = useResource<ChurnData>("churn", { ...filters(state), ...aggregateRange(state) }, ticks);
  if (error) return <section class="view"><Failed message={error} /></section>;
  if (!data) return <section class="view"><Loading /></section>;
  const max = Math.max(1, ...data.objects.flatMap((row) => row.heat), ...data.fields.flatMap((row) => row.heat));
  return (
    <section class="view" aria-label="Churn">
      <RangeNote state={state} />
      {data.total === 0 && <Empty title="No changes">Nothing changed in this range.</Empty>}
      {data.total > 0 && (
        <>
          <p class="figures">
            <span><b>{count(data.total)}</b> changes</span> <span><b>{bytes(data.bytes)}</b> of objects sent</span>
          </p>
          <h2 class="section-title">Objects</h2>
          <Rows rows={data.objects} max={max} what="objects" />
          <h2 class="section-title">Fields</h2>
          <Rows rows={data.fields} max={max} what="fields" />
        </>
      )}
    </section>
  );
}

function Rows({ rows, max, what }: { rows: ChurnRow[]; max: number; what: "objects" | "fields" }) {
  return (
    <table class="table table-heat" data-list data-testid={`churn-${what}`}>
      <thead>
        <tr><th>{what === "objects" ? "Object" : "Field"}</th><th>Changes over time</th><th class="number">Changes</th><th class="number">Bytes</th></tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={`${row.kind} ${row.name}`}>
            <td class={what === "fields" ? "path" : ""}>
              {what === "objects" ? (
                <button type="button" class="link" onClick={() => openObject(row.kind, row.name, "versions")}>
                  <ObjectName kind={row.kind} id={row.name} />
                </button>
              ) : (
                <button type="button" class="link" onClick={() => setState({ view: "timeline", kind: row.kind, field: row.name })}>
                  <span class="object-kind">{row.kind.split(".")[0]}</span> {row.name}
                </button>
              )}
            </td>
            <td><Heat values={row.heat} max={max} /></td>
            <td class="number">{count(row.count)}</td>
            <td class="number">{bytes(row.bytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
