// The frame of the page: header, filters, banner, views and keys.
import { useEffect, useRef, useState } from "preact/hooks";
import { Cause } from "./cause";
import { Churn } from "./churn";
import { closeDetail, Detail } from "./detail";
import { clock, count, duration, shortKind } from "./format";
import { Health } from "./health";
import { Login } from "./login";
import { Managers } from "./managers";
import { Objects } from "./objects";
import { filters, getState, setState, useHashState, VIEWS, type State, type View } from "./state";
import { stream, url, useStream } from "./api";
import { moveRange, shownRange, Timeline } from "./timeline";

const TITLES: Record<View, string> = {
  timeline: "Timeline", objects: "Objects", managers: "Managers", churn: "Churn", cause: "Cause", health: "Health",
};

const KEYS: [string, string][] = [
  ["1 – 6", "views"], ["/", "search"], ["j k", "next and previous row"], ["Enter", "open the row"], ["Esc", "close"],
  ["+ −", "zoom"], ["← →", "move in time"], ["0", "reset the range"], ["d", "light or dark"], ["?", "these keys"],
];

export function App() {
  const state = useHashState();
  const live = useStream(300);
  const [help, setHelp] = useState(false);
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event, () => setHelp((shown) => !shown));
    window.addEventListener("keydown", listener);
    return () => window.removeEventListener("keydown", listener);
  }, []);
  if (live.connection === "login") return <Login />;
  const isOpen = Boolean(state.object && state.key && state.tab !== "closed");
  return (
    <div class={`app${isOpen ? " has-detail" : ""}`}>
      <Header state={state} />
      <Banner />
      <Filters state={state} />
      <div class="body">
        <main class="main">
          {live.status ? <Content state={state} /> : <p class="connecting">Connecting to the server</p>}
        </main>
        {isOpen && <Detail state={state} />}
      </div>
      {help && (
        <div class="help" role="dialog" aria-label="Keys" onClick={() => setHelp(false)}>
          <dl>{KEYS.map(([key, text]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{text}</dd></div>)}</dl>
        </div>
      )}
    </div>
  );
}

function Content({ state }: { state: State }) {
  switch (state.view) {
    case "timeline": return <Timeline state={state} />;
    case "objects": return <Objects state={state} />;
    case "managers": return <Managers state={state} />;
    case "churn": return <Churn state={state} />;
    case "cause": return <Cause state={state} />;
    case "health": return <Health />;
  }
}

function Header({ state }: { state: State }) {
  const { status, connection, rate } = stream;
  const isStale = connection !== "open" || (status?.status.stale.length ?? 0) > 0;
  const text = connection === "connecting" ? "connecting" : isStale ? "stale" : status?.status.mode === "recorded" ? "recorded" : "live";
  return (
    <header class="header">
      <a class="brand" href="#/timeline" aria-label="informer"><img src="/icon.svg" alt="" width="20" height="20" /> informer</a>
      <nav class="nav" aria-label="Views">
        {VIEWS.map((view, index) => (
          <button type="button" key={view} aria-current={state.view === view ? "page" : undefined} title={`${TITLES[view]} (${index + 1})`} onClick={() => setState(openView(view))}>
            {TITLES[view]}
          </button>
        ))}
      </nav>
      <span class="header-server" title={status?.status.server}>{status?.status.server} {status?.status.scope}</span>
      <span class={`pill pill-${text}`} data-testid="pill">
        {text}{text === "live" && <> {rate >= 10 ? count(Math.round(rate)) : rate.toFixed(1)}/s</>}
      </span>
      <button type="button" class="icon" aria-label="Light or dark (d)" title="Light or dark (d)" onClick={toggleTheme}>◐</button>
    </header>
  );
}

/** Cannot be missed: what is shown is not the current state. */
function Banner() {
  const { connection, status, received } = stream;
  if (connection === "lost") {
    return (
      <div class="banner" role="alert" data-testid="banner">
        <b>Not connected.</b> What you see is from {received ? clock(received * 1000) : "an earlier time"}
        {received ? `, ${duration((Date.now() - received) * 1000)} ago` : ""}. Reconnecting.
      </div>
    );
  }
  const stale = status?.status.stale ?? [];
  if (stale.length > 0) {
    return (
      <div class="banner" role="alert" data-testid="banner">
        <b>Stale data.</b> {stale[0]}{stale.length > 1 ? ` and ${stale.length - 1} more` : ""} <a href="#/health">Health</a>
      </div>
    );
  }
  const loaded = status?.status.loaded ?? 1;
  if (loaded < 1) return <div class="progress" role="status">Reading the history: {Math.floor(loaded * 100)} %<progress value={loaded} /></div>;
  return null;
}

function Filters({ state }: { state: State }) {
  const kinds = stream.status?.status.kinds.map((kind) => kind.resource) ?? [];
  const search = useRef<HTMLInputElement>(null);
  const chips = (["namespace", "manager", "owner", "field", "verb"] as const).filter((name) => state[name]);
  const range = shownRange(state);
  const isTimed = range.isFixed ? { from: Math.floor(range.from), to: Math.ceil(range.to) } : {};
  return (
    <div class="filters">
      <select aria-label="Kind" value={state.kind} onChange={(event) => setState({ kind: event.currentTarget.value })}>
        <option value="">all kinds</option>
        {kinds.map((kind) => <option key={kind} value={kind}>{shortKind(kind)}</option>)}
      </select>
      <input ref={search} id="search" type="search" placeholder="namespace or name  /" aria-label="Search" value={state.q} onInput={(event) => setState({ q: event.currentTarget.value }, "replace")} />
      <select aria-label="Change" value={state.verb} onChange={(event) => setState({ verb: event.currentTarget.value })}>
        <option value="">all changes</option>
        {["added", "updated", "deleted"].map((verb) => <option key={verb}>{verb}</option>)}
      </select>
      {chips.filter((name) => name !== "verb").map((name) => (
        <button type="button" class="chip" key={name} title="Remove this filter" onClick={() => setState({ [name]: "" })}>
          {name} <b>{state[name]}</b> ×
        </button>
      ))}
      {stream.status?.status.notice && <span class="notice">demo: {stream.status.status.notice}</span>}
      <a class="export" href={url("export", { ...filters(state), ...isTimed })} download="changes.jsonl">Export JSON lines</a>
      <Copy />
    </div>
  );
}

/** Copies the address of this view. */
function Copy() {
  const [copied, setCopied] = useState(false);
  return (
    <button
      type="button"
      class="copy"
      onClick={() => {
        // The clipboard needs a secure context; the address bar has the same address.
        void navigator.clipboard?.writeText(location.href).then(() => {
          setCopied(true);
          window.setTimeout(() => setCopied(false), 1500);
        }, () => undefined);
      }}
    >
      {copied ? "Copied" : "Copy link"}
    </button>
  );
}

/** Returns the state of another view. Only the view of causes has an object without a panel. */
function openView(view: View): Partial<State> {
  const isClosed = getState().tab === "closed";
  return view !== "cause" && isClosed ? { view, object: "", key: "", change: "", tab: "" } : { view };
}

export function toggleTheme(): void {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
  window.dispatchEvent(new Event("resize"));
}

/** Moves the focus to another row of the lists of the view. */
function moveRow(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-list] li > button, [data-list] tbody button.link")];
  const index = rows.indexOf(document.activeElement as HTMLElement);
  rows[Math.max(0, Math.min(rows.length - 1, index + step))]?.focus();
}

function onKey(event: KeyboardEvent, toggleHelp: () => void): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target as HTMLElement;
  const state = getState();
  if (event.key === "Escape") {
    if (target.matches("input, select")) target.blur();
    else if (state.object) closeDetail();
    return;
  }
  if (target.matches("input, select, textarea")) return;
  const view = VIEWS[Number(event.key) - 1];
  if (view) setState(openView(view));
  else if (event.key === "/") document.getElementById("search")?.focus();
  else if (event.key === "j") moveRow(1);
  else if (event.key === "k") moveRow(-1);
  else if (event.key === "?") toggleHelp();
  else if (event.key === "d") toggleTheme();
  else if (state.view === "timeline" && (event.key === "+" || event.key === "=")) moveRange(state, 0.5, 0);
  else if (state.view === "timeline" && event.key === "-") moveRange(state, 2, 0);
  else if (state.view === "timeline" && event.key === "ArrowLeft") moveRange(state, 1, -0.25);
  else if (state.view === "timeline" && event.key === "ArrowRight") moveRange(state, 1, 0.25);
  else if (event.key === "0") setState({ from: "", to: "" });
  else return;
  event.preventDefault();
}
