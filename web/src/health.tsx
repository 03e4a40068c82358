// Health: lag, relists with reasons, bytes, subscribers and gaps.
import { useStream } from "./api";
import { bytes, count, dateTime, duration } from "./format";
import { Empty, Loading } from "./parts";

const reasons = (counts: Record<string, number>) =>
  Object.entries(counts).map(([name, number]) => `${name} ${number}`).join(", ");

export function Health() {
  const { status, rate, connection } = useStream(500);
  if (!status) return <section class="view"><Loading /></section>;
  const { kinds, gaps, mode, server, scope } = status.status;
  return (
    <section class="view" aria-label="Health">
      <p class="figures">
        <span><b>{rate.toFixed(1)}</b> changes per second</span>
        <span><b>{count(status.next)}</b> changes seen</span>
        <span><b>{count(status.next - status.dropped)}</b> kept, {bytes(status.log_bytes)}</span>
        <span><b>{duration(status.end - status.start)}</b> of history</span>
        <span><b>{status.pages}</b> open pages</span>
      </p>
      <p class="table-note">
        {mode === "live" ? "Live caches of" : "Recorded history in"} {[server, scope].filter(Boolean).join(" ")}. {connection === "open" ? "" : "Not connected."}
      </p>
      {mode === "live" ? (
        <table class="table" data-testid="health">
          <thead>
            <tr>
              <th>Resource</th><th>State</th><th class="number">Objects</th><th class="number">Events</th><th class="number">Lag</th>
              <th class="number">Lists</th><th>Relists</th><th>Errors</th><th class="number">Received</th><th class="number">Waiting</th><th>Last response</th>
            </tr>
          </thead>
          <tbody>
            {kinds.map((kind) => (
              <tr key={kind.resource} class={kind.phase === "waiting" || kind.phase === "stopped" ? "is-stale" : ""}>
                <td><b>{kind.resource}</b> <span class="muted">{kind.version}</span></td>
                <td><span class={`phase phase-${kind.phase}`}>{kind.phase}</span>{kind.error && <div class="failed">{kind.error}</div>}</td>
                <td class="number">{count(kind.objects)}</td>
                <td class="number">{count(kind.events)}</td>
                <td class="number">{kind.lag ? duration(kind.lag * 1e6) : "0"}</td>
                <td class="number">{count(kind.lists)}</td>
                <td>{reasons(kind.relists)}</td>
                <td>{reasons(kind.errors)}</td>
                <td class="number">{bytes(kind.bytes)}</td>
                <td class="number">{count(kind.subscribers.reduce((sum, one) => sum + one.depth, 0))}</td>
                <td>{kind.received === null ? "" : `${duration(kind.received * 1e6)} ago`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <>
          <h2 class="section-title">Gaps <span class="muted">times in which changes may be missing</span></h2>
          {gaps.length === 0 && <Empty title="No gaps">Every change in the recorded time was received.</Empty>}
          {gaps.length > 0 && (
            <table class="table">
              <thead><tr><th>Resource</th><th>From</th><th>To</th><th>Reason</th></tr></thead>
              <tbody>
                {gaps.map((gap, index) => (
                  <tr key={index}>
                    <td>{gap.resource ?? "all"}</td><td>{dateTime(gap.from)}</td><td>{gap.to ? dateTime(gap.to) : "not ended"}</td><td>{gap.reason}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </>
      )}
      <p class="table-note">
        Everyone who can open this page sees what the identity of the server may read. There is no access control per user. Values of Secrets are masked.
      </p>
    </section>
  );
}
