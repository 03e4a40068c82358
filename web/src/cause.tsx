// Cause: the owner tree of an object as a strip, with the latency of each step.
import { stream, useResource, useTicks, type Change } from "./api";
import { clock, duration } from "./format";
import { Empty, Failed, Loading, ObjectName, openObject } from "./parts";
import { aggregateRange, RangeNote } from "./managers";
import { setState, type State } from "./state";

interface Step {
  number: number;
  time: number;
  verb: Change["verb"];
  words: string;
  manager: string | null;
  latency: number | null;
}

interface CauseData {
  root: string;
  truncated: boolean;
  nodes: { kind: string; key: string; depth: number; changes: Step[] }[];
}

export function Cause({ state }: { state: State }) {
  const ticks = useTicks(2000);
  const isChosen = Boolean(state.object && state.key);
  const range = aggregateRange(state);
  const { data, error } = useResource<CauseData>(isChosen ? "cause" : null, { kind: state.object, key: state.key, ...range }, ticks);
  if (!isChosen) return <Choose />;
  if (error) return <section class="view"><Failed message={error} /></section>;
  if (!data) return <section class="view"><Loading /></section>;
  const nodes = data.nodes.filter((node) => node.changes.length > 0 || node.depth === 0);
  const times = nodes.flatMap((node) => node.changes.map((step) => step.time));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const position = (time: number) => (last > first ? ((time - first) / (last - first)) * 100 : 50);
  return (
    <section class="view" aria-label="Cause">
      <RangeNote state={state} />
      <h2 class="section-title">
        Owner tree of {data.root} {data.truncated && <span class="muted">first 200 objects</span>}
      </h2>
      {times.length === 0 ? (
        <Empty title="No changes in this tree">Neither the owner nor its objects changed in this range.</Empty>
      ) : (
        <>
          <p class="strip-axis"><span>{clock(first, "ms")}</span><span>{duration(last - first)}</span><span>{clock(last, "ms")}</span></p>
          <ol class="strip" data-testid="strip">
            {nodes.map((node) => {
              const latency = node.changes[0]?.latency;
              return (
                <li key={`${node.kind} ${node.key}`} class={node.kind === state.object && node.key === state.key ? "is-selected" : ""}>
                  <button type="button" class={`link strip-name depth-${Math.min(node.depth, 4)}`} onClick={() => openObject(node.kind, node.key, "versions")}>
                    <ObjectName kind={node.kind} id={node.key} />
                  </button>
                  <span class="strip-latency" title="Time from the last change of the owner to the first change of this object">
                    {latency !== null && latency !== undefined ? `+${duration(latency)}` : ""}
                  </span>
                  <span class="strip-marks">
                    {node.changes.map((step) => (
                      <button
                        type="button"
                        key={step.number}
                        class={`strip-mark mark-${step.verb}`}
                        style={{ left: `${position(step.time)}%` }}
                        title={`${clock(step.time, "ms")} ${step.verb}${step.manager ? ` by ${step.manager}` : ""}: ${step.words}`}
                        aria-label={`${step.verb} ${clock(step.time, "ms")}`}
                        onClick={() => setState({ object: node.kind, key: node.key, change: String(step.time), tab: "diff" })}
                      />
                    ))}
                  </span>
                </li>
              );
            })}
          </ol>
        </>
      )}
    </section>
  );
}

/** Offers the owners of recent changes. */
function Choose() {
  const owners = new Map<string, Change>();
  for (const change of stream.recent) {
    if (change.owner && !owners.has(change.owner)) owners.set(change.owner, change);
  }
  return (
    <section class="view" aria-label="Cause">
      <Empty title="Select an object">
        This view shows the owner tree of an object: Deployment, ReplicaSet, Pods and Events, in the order of their changes and with the latency of each step.
      </Empty>
      {owners.size > 0 && (
        <>
          <h2 class="section-title">Recently changed workloads</h2>
          <ul class="choices">
            {[...owners].slice(0, 12).map(([owner, change]) => (
              <li key={owner}>
                <button type="button" onClick={() => setState({ object: change.kind, key: change.key, tab: "closed" })}>
                  <span class="object-kind">{owner.split("/")[0]}</span> {owner.split("/")[1]}
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
