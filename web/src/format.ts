// Text for times, numbers and values.

const pad = (number: number, digits = 2) => String(number).padStart(digits, "0");

/** Formats microseconds as the local time of day. */
export function clock(micros: number, precision: "s" | "ms" = "s"): string {
  const date = new Date(micros / 1000);
  const text = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  return precision === "ms" ? `${text}.${pad(date.getMilliseconds(), 3)}` : text;
}

/** Formats microseconds as local date and time. */
export function dateTime(micros: number): string {
  const date = new Date(micros / 1000);
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${clock(micros)}`;
}

/** Formats a duration in microseconds. */
export function duration(micros: number): string {
  const ms = micros / 1000;
  if (ms < 1) return `${Math.round(micros)} µs`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 60) return `${minutes} min${Math.round(s % 60) ? ` ${Math.round(s % 60)} s` : ""}`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function count(number: number): string {
  return number.toLocaleString("en-US");
}

export function bytes(number: number): string {
  if (number < 1024) return `${number} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = number;
  let unit = -1;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Returns a short name of a resource: `deployments` for `deployments.apps`. */
export function shortKind(resource: string): string {
  return resource.split(".")[0]!;
}

/** Formats a JSON value: strings as they are, the rest as JSON. */
export function value(json: unknown): string {
  return typeof json === "string" ? json : JSON.stringify(json, null, 2);
}
