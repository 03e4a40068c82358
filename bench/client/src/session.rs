//! A session of a client: it syncs, waits until its memory has settled, and then executes commands, one per line.
//!
//! | command | response |
//! |---|---|
//! | | `synced`: seconds since the start of the process, processor seconds, memory |
//! | | `settled`: memory, some time later |
//! | `read` | `read`: the fingerprint of the cache, and the seconds to compute it |
//! | `index` | `indexed`, after an index by node was added, if the client has indexes |
//! | `events` | `events`: the number of events since the last goal was set |
//! | `any N`, `newer N V`, `timed N` | `ready` immediately, `done` when the handler has received N events; of timed ones p50 and p99 |

use crate::{
    fingerprint::Fingerprint,
    object::BenchObject,
    options::ClientOptions,
    recorder::{Goal, Recorder},
    usage::Usage,
};
use serde_json::{Value, json};
use std::{
    io::{self, BufRead, Write},
    thread,
    time::{Duration, Instant},
};

/// The cache of a client.
pub trait Cache {
    /// Returns true if the initial list is complete.
    fn has_synced(&self) -> bool;
    /// Returns the time at which a restored cache could be read, in seconds since the start of the process.
    fn first_read(&self) -> Option<f64> {
        None
    }
    /// Reads every object through the public API.
    fn for_each(&self, read: &mut dyn FnMut(&dyn BenchObject));
    /// Adds an index by node, if the client has indexes.
    fn add_index(&self);
}

/// The start of the process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessStart {
    /// The time of the start.
    pub at: Instant,
    /// The usage at the start.
    pub usage: Usage,
}

impl ProcessStart {
    /// Returns the current time and usage; call it first in `main`.
    #[must_use]
    pub fn now() -> Self {
        Self { at: Instant::now(), usage: Usage::now() }
    }
}

/// The timeout of every command.
const TIMEOUT: Duration = Duration::from_secs(900);
const POLL: Duration = Duration::from_millis(1);

/// Runs a session until standard input is closed.
///
/// # Errors
/// A text if the client does not sync, or a command is invalid or times out.
pub fn run(
    options: &ClientOptions,
    start: ProcessStart,
    recorder: &Recorder,
    cache: &dyn Cache,
) -> Result<(), String> {
    recorder.wait(TIMEOUT).ok_or_else(|| format!("no sync after {} events", recorder.events()))?;
    while !cache.has_synced() {
        thread::sleep(POLL);
    }
    let (seconds, usage) = (start.at.elapsed().as_secs_f64(), Usage::now());
    let mut report = usage_report("synced", usage);
    report["sync_seconds"] = seconds.into();
    report["base_rss"] = start.usage.rss.into();
    report["first_read_seconds"] = cache.first_read().unwrap_or(seconds).into();
    print_line(&report);
    thread::sleep(options.settle);
    print_line(&usage_report("settled", Usage::now()));
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<_> = line.split_whitespace().collect();
        print_line(&execute(&words, recorder, cache)?);
    }
    Ok(())
}

fn execute(words: &[&str], recorder: &Recorder, cache: &dyn Cache) -> Result<Value, String> {
    let number = |word: &str| word.parse::<u64>().map_err(|_| format!("`{word}` is not a number"));
    match words {
        ["read"] => Ok(read(cache)),
        ["index"] => {
            cache.add_index();
            Ok(json!({ "event": "indexed" }))
        }
        ["events"] => Ok(json!({ "event": "events", "events": recorder.events() })),
        ["any", count] => await_goal(Goal::Any(number(count)?), recorder),
        ["newer", count, version] => await_goal(Goal::Newer(number(count)?, number(version)?), recorder),
        ["timed", count] => await_goal(Goal::Timed(number(count)?), recorder),
        _ => Err(format!("unknown command `{}`", words.join(" "))),
    }
}

fn await_goal(goal: Goal, recorder: &Recorder) -> Result<Value, String> {
    let before = Usage::now().cpu_seconds;
    Usage::reset_peak();
    recorder.expect(goal);
    print_line(&json!({ "event": "ready" }));
    let record = recorder
        .wait(TIMEOUT)
        .ok_or_else(|| format!("{goal:?} was not reached after {} events", recorder.events()))?;
    let usage = Usage::now();
    let mut report = usage_report("done", Usage { cpu_seconds: usage.cpu_seconds - before, ..usage });
    if let Goal::Timed(_) = goal {
        report["p50"] = record.latencies.quantile(0.5).into();
        report["p99"] = record.latencies.quantile(0.99).into();
    }
    report["first_at"] = record.first_at.into();
    report["done_at"] = record.done_at.into();
    Ok(report)
}

fn read(cache: &dyn Cache) -> Value {
    let mut fingerprint = Fingerprint::default();
    let start = Instant::now();
    cache.for_each(&mut |object| fingerprint.add(object));
    let mut report = fingerprint_report(&fingerprint);
    report["event"] = "read".into();
    report["read_seconds"] = start.elapsed().as_secs_f64().into();
    report
}

/// Returns a fingerprint as JSON, with hashes as text because JSON numbers are not precise enough.
#[must_use]
pub fn fingerprint_report(fingerprint: &Fingerprint) -> Value {
    let Fingerprint { count, identity, nested } = fingerprint;
    json!({ "count": count, "identity": format!("{identity:016x}"), "nested": format!("{nested:016x}") })
}

fn usage_report(event: &str, usage: Usage) -> Value {
    let Usage { rss, peak_rss, cpu_seconds } = usage;
    json!({ "event": event, "rss": rss, "peak_rss": peak_rss, "cpu_seconds": cpu_seconds })
}

/// Prints a line and flushes it.
pub fn print_line(report: &Value) {
    let mut output = io::stdout().lock();
    // If the reader has exited, standard input is closed too, and the session ends.
    _ = writeln!(output, "{report}").and_then(|()| output.flush());
}
