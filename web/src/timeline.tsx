// The timeline: lanes of changes on a canvas, with zoom, pan and selection.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, stream, useResource, useStream, useTicks, type Change } from "./api";
import { clock, count, dateTime, duration } from "./format";
import { ChangeRows, Empty, Failed, Loading, openChange } from "./parts";
import { filters, setState, type State } from "./state";

interface Lane {
  label: string;
  count: number;
  buckets: [number, number, number, number][];
  marks: [number, number, number][];
}

interface TimelineData {
  from: number;
  to: number;
  bucket: number;
  total: number;
  lanes: Lane[];
}

const LANE = 24;
const AXIS = 26;
const MIN_SPAN = 2_000;

export interface Range {
  from: number;
  to: number;
}

/** Returns the shown range; `isFixed` if it does not move with the time. */
export function shownRange(state: State): Range & { isFixed: boolean } {
  const end = Math.max(stream.end, stream.status?.status.mode === "live" ? (stream.status?.now ?? 0) : 0);
  const start = stream.status?.start ?? end - 300e6;
  if (state.from && state.to) return { from: Number(state.from), to: Number(state.to), isFixed: true };
  if (state.window === "all") return { from: start - 1, to: end, isFixed: false };
  return { from: Math.max(end - Number(state.window) * 1e6, Math.min(start - 1, end - 10e6)), to: end, isFixed: false };
}

/** Returns the times of the labels of the axis. */
function axisTimes(range: Range, width: number): { times: number[]; precision: "s" | "ms" } {
  const steps = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 15e6, 3e7, 6e7, 12e7, 3e8, 6e8, 9e8, 18e8, 36e8, 72e8, 216e8, 864e8];
  const wanted = (range.to - range.from) / Math.max(2, width / 110);
  const step = steps.find((step) => step >= wanted) ?? 864e8;
  const times = [];
  for (let time = Math.ceil(range.from / step) * step; time <= range.to; time += step) times.push(time);
  return { times, precision: step < 1e6 ? "ms" : "s" };
}

/** The density of a timeline, drawn once: a column for each bucket. Panning and zooming only scale it. */
const drawn = new WeakMap<TimelineData, { theme: string; picture: HTMLCanvasElement }>();
const COLUMN = 2;

function density(data: TimelineData, colors: string[]): HTMLCanvasElement {
  const theme = colors.join();
  const known = drawn.get(data);
  if (known?.theme === theme) return known.picture;
  const picture = document.createElement("canvas");
  picture.width = Math.max(1, Math.ceil((data.to - data.from) / data.bucket) * COLUMN);
  picture.height = Math.max(1, data.lanes.length * LANE);
  const context = picture.getContext("2d")!;
  data.lanes.forEach((lane, index) => {
    if (lane.marks.length > 0) return;
    let most = 1;
    for (const bucket of lane.buckets) most = Math.max(most, bucket[1] + bucket[2] + bucket[3]);
    for (const verb of [1, 0, 2]) {
      context.fillStyle = colors[verb]!;
      for (const [position, ...numbers] of lane.buckets) {
        const total = numbers[0] + numbers[1] + numbers[2];
        const full = Math.max(2, (Math.log2(1 + total) / Math.log2(1 + most)) * (LANE - 5));
        const below = verb === 1 ? 0 : verb === 0 ? numbers[1] : numbers[1] + numbers[0];
        const part = (numbers[verb]! / total) * full;
        if (part > 0) context.fillRect(position * COLUMN, (index + 1) * LANE - 2 - (below / total) * full - part, COLUMN, part);
      }
    }
  });
  drawn.set(data, { theme, picture });
  return picture;
}

function draw(canvas: HTMLCanvasElement, data: TimelineData | undefined, range: Range, brush: Range | null, selected: number): void {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const lanes = data?.lanes ?? [];
  const height = AXIS + Math.max(1, lanes.length) * LANE;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d")!;
  const style = getComputedStyle(canvas);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const verbs = [color("--added"), color("--updated"), color("--deleted")];
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const x = (time: number) => ((time - range.from) / (range.to - range.from)) * width;

  context.font = "11px ui-sans-serif, system-ui, sans-serif";
  context.textBaseline = "middle";
  const { times, precision } = axisTimes(range, width);
  for (const time of times) {
    const at = Math.round(x(time)) + 0.5;
    context.strokeStyle = color("--grid");
    context.beginPath();
    context.moveTo(at, AXIS - 5);
    context.lineTo(at, height);
    context.stroke();
    context.fillStyle = color("--quiet");
    const text = clock(time, precision);
    const half = context.measureText(text).width / 2;
    if (at - half > 0 && at + half < width) context.fillText(text, at - half, AXIS / 2 - 2);
  }
  if (data && lanes.some((lane) => lane.marks.length === 0)) {
    const picture = density(data, verbs);
    const end = data.from + (picture.width / COLUMN) * data.bucket;
    context.imageSmoothingEnabled = false;
    context.drawImage(picture, x(data.from), AXIS, x(end) - x(data.from), picture.height);
  }
  const grid = color("--grid");
  lanes.forEach((lane, index) => {
    const top = AXIS + index * LANE;
    context.fillStyle = grid;
    context.fillRect(0, top + LANE - 1, width, 1);
    for (const [, time, verb] of lane.marks) {
      const at = x(time);
      if (at < -2 || at > width + 2) continue;
      context.fillStyle = verbs[verb]!;
      context.fillRect(Math.round(at) - 1, top + 4, 2.5, LANE - 9);
    }
  });
  if (selected) {
    context.fillStyle = color("--accent");
    context.fillRect(Math.round(x(selected)), AXIS - 6, 1.5, height);
  }
  for (const gap of stream.status?.status.gaps ?? []) {
    context.fillStyle = color("--gap");
    context.fillRect(x(gap.from), AXIS, Math.max(1, x(gap.to ?? range.to) - x(gap.from)), height);
  }
  if (brush) {
    context.fillStyle = color("--brush");
    context.fillRect(x(brush.from), 0, x(brush.to) - x(brush.from), height);
  }
}

function Canvas({ data, range, selected }: { data: TimelineData | undefined; range: Range; selected: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [brush, setBrush] = useState<Range | null>(null);
  const [hover, setHover] = useState<{ x: number; y: number; text: string } | null>(null);
  const drag = useRef<{ x: number; from: number; to: number; pan: boolean } | null>(null);
  const [, resized] = useState(0);

  useLayoutEffect(() => {
    draw(canvas.current!, data, range, brush, selected);
  });
  useEffect(() => {
    const observer = new ResizeObserver(() => resized((count) => count + 1));
    observer.observe(canvas.current!);
    const scheme = window.matchMedia("(prefers-color-scheme: dark)");
    const changed = () => resized((count) => count + 1);
    scheme.addEventListener("change", changed);
    return () => {
      observer.disconnect();
      scheme.removeEventListener("change", changed);
    };
  }, []);

  const timeAt = (clientX: number, of: Range = range) => {
    const box = canvas.current!.getBoundingClientRect();
    return of.from + ((clientX - box.left) / box.width) * (of.to - of.from);
  };
  const setRange = useCallback((from: number, to: number, how: "push" | "replace") => {
    setState({ from: String(Math.round(from)), to: String(Math.round(Math.max(to, from + MIN_SPAN))) }, how);
  }, []);
  const markAt = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const lane = data?.lanes[Math.floor((event.clientY - box.top - AXIS) / LANE)];
    if (!lane) return null;
    const [time, reach] = [timeAt(event.clientX), ((range.to - range.from) / box.width) * 6];
    let best: [number, number, number] | null = null;
    for (const mark of lane.marks) {
      if (Math.abs(mark[1] - time) <= reach && (!best || Math.abs(mark[1] - time) < Math.abs(best[1] - time))) best = mark;
    }
    return { lane, mark: best, time };
  };
  const onWheel = (event: WheelEvent) => {
    if (event.ctrlKey || event.metaKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      const shift = (event.deltaX / canvas.current!.clientWidth) * (range.to - range.from);
      if (!event.ctrlKey && !event.metaKey) return setRange(range.from + shift, range.to + shift, "replace");
      const [center, factor] = [timeAt(event.clientX), Math.exp(event.deltaY / 300)];
      setRange(center - (center - range.from) * factor, center + (range.to - center) * factor, "replace");
    }
  };
  useEffect(() => {
    const element = canvas.current!;
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  });

  return (
    <div class="timeline-canvas">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`Timeline of ${count(data?.total ?? 0)} changes`}
        data-total={data?.total}
        data-from={Math.round(range.from)}
        data-to={Math.round(range.to)}
        height={AXIS + Math.max(1, data?.lanes.length ?? 1) * LANE}
        style={{ height: `${AXIS + Math.max(1, data?.lanes.length ?? 1) * LANE}px` }}
        onPointerDown={(event) => {
          canvas.current!.setPointerCapture(event.pointerId);
          drag.current = { x: event.clientX, ...range, pan: event.shiftKey || event.button === 1 };
        }}
        onPointerMove={(event) => {
          const started = drag.current;
          if (!started) {
            const found = markAt(event);
            const box = canvas.current!.getBoundingClientRect();
            const text = found ? `${clock(found.time, "ms")}  ${found.lane.label}` : "";
            setHover(text ? { x: event.clientX - box.left, y: event.clientY - box.top, text } : null);
            return;
          }
          if (started.pan) {
            const shift = ((event.clientX - started.x) / canvas.current!.clientWidth) * (started.to - started.from);
            setRange(started.from - shift, started.to - shift, "replace");
          } else if (Math.abs(event.clientX - started.x) > 4) {
            const [a, b] = [timeAt(started.x, started), timeAt(event.clientX, started)];
            setBrush({ from: Math.min(a, b), to: Math.max(a, b) });
          }
        }}
        onPointerUp={(event) => {
          const started = drag.current;
          drag.current = null;
          if (brush) {
            setRange(brush.from, brush.to, "push");
            setBrush(null);
          } else if (started && !started.pan) {
            const found = markAt(event);
            if (found?.mark) get<Change>("change", { n: found.mark[0] }).then(openChange, () => undefined);
            else if (found && data && data.total > 0 && found.lane.marks.length === 0) {
              const half = (range.to - range.from) / 12;
              setRange(found.time - half, found.time + half, "push");
            }
          }
        }}
        onPointerLeave={() => setHover(null)}
        onDblClick={() => setState({ from: "", to: "" })}
      />
      {hover && (
        <div class="tooltip" style={{ left: `${hover.x}px`, top: `${hover.y + 14}px` }}>{hover.text}</div>
      )}
    </div>
  );
}

/** Zooms around the middle, or moves, by a part of the range. */
export function moveRange(state: State, zoom: number, shift: number): void {
  const range = shownRange(state);
  const [middle, half] = [(range.from + range.to) / 2, ((range.to - range.from) / 2) * zoom];
  const offset = (range.to - range.from) * shift;
  const from = Math.round(middle - Math.max(half, MIN_SPAN / 2) + offset);
  setState({ from: String(from), to: String(Math.round(middle + Math.max(half, MIN_SPAN / 2) + offset)) }, "replace");
}

function LaneLabels({ lanes }: { lanes: Lane[] }) {
  return (
    <ol class="lanes" style={{ paddingTop: `${AXIS}px` }}>
      {lanes.map((lane) => (
        <li key={lane.label} title={lane.label}>
          <span class="lane-label">{lane.label}</span>
          <span class="lane-count">{count(lane.count)}</span>
        </li>
      ))}
    </ol>
  );
}

export function Timeline({ state }: { state: State }) {
  useStream(400);
  const ticks = useTicks(700);
  const range = shownRange(state);
  const key = Math.round((range.to - range.from) / 1e3);
  // A window that moves is loaded with new changes, not with each second.
  const params = { ...filters(state), lanes: state.lanes, buckets: 400 };
  const fixed = range.isFixed ? { from: Math.floor(range.from), to: Math.ceil(range.to) } : {};
  const moving = range.isFixed ? {} : { from: Math.max(0, Math.floor(stream.end - key * 1e3)) };
  const trigger = range.isFixed ? 0 : ticks;
  // While the range is dragged, only its last position is loaded.
  const delay = range.isFixed ? 60 : 0;
  const timeline = useResource<TimelineData>("timeline", { ...params, ...moving, ...fixed }, trigger, delay);
  const list = useResource<{ changes: Change[]; more: boolean }>("changes", { ...filters(state), ...moving, ...fixed, limit: 200 }, trigger, delay);
  const changes = list.data?.changes;
  const data = timeline.data;
  const selected = `${state.object} ${state.key} ${state.change}`;
  // These do not depend on the range, so that panning draws only the canvas.
  const rows = useMemo(() => changes && <ChangeRows changes={changes} selected={selected} />, [changes, selected]);
  const lanes = useMemo(() => <LaneLabels lanes={data?.lanes ?? []} />, [data]);
  return (
    <section class="view" aria-label="Timeline">
      <div class="toolbar">
        <label>
          Lanes{" "}
          <select value={state.lanes} onChange={(event) => setState({ lanes: event.currentTarget.value })}>
            {["kind", "namespace", "owner", "manager", "object"].map((name) => <option key={name}>{name}</option>)}
          </select>
        </label>
        <span class="segmented" role="group" aria-label="Window">
          {[["60", "1 min"], ["300", "5 min"], ["1800", "30 min"], ["all", "all"]].map(([seconds, text]) => (
            <button
              type="button"
              key={seconds}
              aria-pressed={!range.isFixed && state.window === seconds}
              onClick={() => setState({ window: seconds, from: "", to: "" })}
            >
              {text}
            </button>
          ))}
        </span>
        <span class="segmented" role="group" aria-label="Zoom">
          <button type="button" title="Zoom out (-)" onClick={() => moveRange(state, 2, 0)}>−</button>
          <button type="button" title="Zoom in (+)" onClick={() => moveRange(state, 0.5, 0)}>+</button>
        </span>
        {range.isFixed && (
          <button type="button" class="primary" onClick={() => setState({ from: "", to: "" })}>
            {stream.status?.status.mode === "recorded" ? "Show all" : "Follow live"}
          </button>
        )}
        <span class="toolbar-text" data-testid="range">
          {dateTime(range.from)} – {clock(range.to, range.to - range.from < 5e6 ? "ms" : "s")}, {duration(range.to - range.from)}
        </span>
        <span class="legend" aria-hidden="true">
          <i class="dot dot-added" /> added <i class="dot dot-updated" /> updated <i class="dot dot-deleted" /> deleted
        </span>
      </div>
      {timeline.error && <Failed message={timeline.error} />}
      <div class="timeline">
        {lanes}
        <Canvas data={data} range={range} selected={Number(state.change)} />
      </div>
      {data?.total === 0 && (
        <Empty title="No changes in this range">
          Zoom out, or clear the filters. Changes appear here as they happen.
        </Empty>
      )}
      <h2 class="section-title">
        Changes <span class="muted">{data ? count(data.total) : ""}{list.data?.more ? ", newest 200 shown" : ""}</span>
      </h2>
      {list.error && <Failed message={list.error} />}
      {!changes && !list.error && <Loading />}
      {rows}
    </section>
  );
}
