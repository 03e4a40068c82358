//! The life of a client: it syncs, settles, and then does what it is told, a line at a time.
//!
//! | order | what is printed |
//! |---|---|
//! | | `synced`: seconds since the process began, processor seconds, memory |
//! | | `settled`: memory, some time later |
//! | `read` | `read`: how many objects there are, and the hashes of them |
//! | `index` | `indexed`, when there is an index by node, if the client has indexes at all |
//! | `seen` | `seen`: how many events came since the last goal was set, also those behind it |
//! | `any N`, `newer N V`, `timed N` | `ready` at once, and `done` when the handler has seen them; of timed ones, p50 and p99 in each window, and the share that came in time |

use crate::{
    hash::Hash,
    latency::{in_time, windows},
    options::Options,
    seen::{Goal, Seen, Sight},
    subject::Subject,
    usage::Usage,
};
use serde_json::{Value, json};
use std::{
    io::{self, BufRead, Write},
    thread,
    time::{Duration, Instant},
};

/// What a client has to be able to tell about its cache.
pub trait Cache {
    /// Whether it is complete.
    fn has_synced(&self) -> bool;
    /// When there was something to read, in seconds since the process began, if that was before the sync.
    fn first_read(&self) -> Option<f64> {
        None
    }
    /// Shows every object, as a user would read it.
    fn each(&self, show: &mut dyn FnMut(&dyn Subject));
    /// Adds an index by node, where there are indexes.
    fn index(&self);
}

/// No order takes longer than this.
const DEADLINE: Duration = Duration::from_secs(900);
const POLL: Duration = Duration::from_millis(1);

/// Goes through the life of a client; `began` is when its process did, `base` what it used then.
///
/// # Errors
/// What did not come about, in words.
pub fn run(
    options: &Options,
    (began, base): (Instant, Usage),
    seen: &Seen,
    cache: &dyn Cache,
) -> Result<(), String> {
    seen.wait(DEADLINE).ok_or_else(|| format!("no sync: {} events were seen", seen.events()))?;
    while !cache.has_synced() {
        thread::sleep(POLL);
    }
    let (seconds, usage) = (began.elapsed().as_secs_f64(), Usage::now());
    let mut report = usage_of("synced", usage);
    report["sync_seconds"] = seconds.into();
    report["base_rss"] = base.rss.into();
    report["events"] = seen.events().into();
    report["first_read_seconds"] = cache.first_read().unwrap_or(seconds).into();
    say(&report);
    thread::sleep(options.settle);
    say(&usage_of("settled", Usage::now()));
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<_> = line.split_whitespace().collect();
        say(&obey(&words, seen, cache)?);
    }
    Ok(())
}

fn obey(words: &[&str], seen: &Seen, cache: &dyn Cache) -> Result<Value, String> {
    let number = |word: &str| word.parse::<u64>().map_err(|_| format!("`{word}` is no number"));
    match words {
        ["read"] => Ok(read(cache)),
        ["index"] => {
            cache.index();
            Ok(json!({ "event": "indexed" }))
        }
        ["seen"] => Ok(json!({ "event": "seen", "events": seen.events() })),
        ["any", count] => follow(Goal::Any(number(count)?), seen),
        ["newer", count, version] => follow(Goal::Newer(number(count)?, number(version)?), seen),
        ["timed", count] => follow(Goal::Timed(number(count)?), seen),
        _ => Err(format!("the order `{}` is not understood", words.join(" "))),
    }
}

fn follow(goal: Goal, seen: &Seen) -> Result<Value, String> {
    let before = Usage::now().cpu_seconds;
    Usage::forget_peak();
    seen.expect(goal);
    say(&json!({ "event": "ready" }));
    let sight = seen.wait(DEADLINE).ok_or_else(|| format!("{goal:?}: only {} events", seen.events()))?;
    let mut report = usage_of("done", Usage::now());
    report["cpu_seconds"] = (report["cpu_seconds"].as_f64().unwrap_or(0.0) - before).into();
    let Sight { events, first_at, done_at, timed } = sight;
    if let Goal::Timed(wanted) = goal {
        for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
            report[name] = windows(&timed, share).into();
        }
        report["in_time"] = in_time(&timed, wanted).into();
    }
    report["events"] = events.into();
    report["first_at"] = first_at.into();
    report["done_at"] = done_at.into();
    Ok(report)
}

fn read(cache: &dyn Cache) -> Value {
    let (mut hash, began) = (Hash::default(), Instant::now());
    cache.each(&mut |subject| hash.add(subject));
    json!({
        "event": "read",
        "read_seconds": began.elapsed().as_secs_f64(),
        "count": hash.count,
        "identity": format!("{:016x}", hash.identity),
        "address": format!("{:016x}", hash.address),
    })
}

fn usage_of(event: &str, usage: Usage) -> Value {
    let Usage { rss, peak_rss, cpu_seconds } = usage;
    json!({ "event": event, "rss": rss, "peak_rss": peak_rss, "cpu_seconds": cpu_seconds })
}

/// Prints a line at once.
pub fn say(report: &Value) {
    let mut output = io::stdout().lock();
    // Whoever reads has gone away when this fails, and standard input ends with it.
    _ = writeln!(output, "{report}").and_then(|()| output.flush());
}
