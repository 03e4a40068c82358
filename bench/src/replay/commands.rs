//! The commands of the server, one per line, each with a line of JSON as the response.
//!
//! | command | effect | response |
//! |---|---|---|
//! | `reset` | resets every object to its first version, and closes all watches | |
//! | `expected` | | the fingerprint that caches must have, and the newest version |
//! | `change SHARE` | changes a share of all objects without sending events | the number of changed objects |
//! | `compact` | drops the history: a watch from an older version expires | |
//! | `expire` | ends all watches with 410 | |
//! | `wait-for-watch` | waits until there is a watch | |
//! | `list-time` | | the time of the last full list, in nanoseconds since 1970 |
//! | `update N [RATE]` | updates N objects and sends the events | the duration in seconds |

use super::{
    encoder,
    placeholders::Chunk,
    response::Shared,
    updates::{Rate, send_updates},
};
use kube_informer_bench_client::session::{fingerprint_report, print_line};
use serde_json::{Value, json};
use std::{
    io::{self, BufRead},
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

/// The timeout of `wait-for-watch`.
const WATCH_TIMEOUT: Duration = Duration::from_secs(60);

/// Executes commands until standard input is closed.
pub(super) fn execute_all(shared: &Shared) -> Result<(), String> {
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<_> = line.split_whitespace().collect();
        print_line(&execute(shared, &words)?);
    }
    Ok(())
}

fn execute(shared: &Shared, words: &[&str]) -> Result<Value, String> {
    let unknown = || format!("unknown command `{}`", words.join(" "));
    let number = |word: &str| word.parse::<f64>().map_err(|_| unknown());
    match words {
        ["reset"] => {
            shared.store.reset();
            shared.watchers.take();
            shared.list_time.store(0, Ordering::Relaxed);
        }
        ["expected"] => {
            let mut report = fingerprint_report(&shared.store.fingerprint());
            report["version"] = shared.store.versions().newest.into();
            return Ok(report);
        }
        ["change", share] => return Ok(json!({ "changed": shared.store.change(number(share)?) })),
        ["compact"] => shared.store.compact(),
        ["expire"] => expire(shared),
        ["wait-for-watch"] => wait_for_watch(shared)?,
        ["list-time"] => return Ok(json!({ "at": shared.list_time.load(Ordering::Relaxed) })),
        ["update", events] => {
            return Ok(json!({ "seconds": send_updates(shared, number(events)? as u64, Rate::Unlimited) }));
        }
        ["update", events, rate] => {
            let rate = Rate::PerSecond(number(rate)?);
            return Ok(json!({ "seconds": send_updates(shared, number(events)? as u64, rate) }));
        }
        _ => return Err(unknown()),
    }
    Ok(json!({}))
}

fn expire(shared: &Shared) {
    shared.list_time.store(0, Ordering::Relaxed);
    for watcher in shared.watchers.take() {
        let mut chunk = Vec::new();
        encoder::expired_event(watcher.encoding, &mut chunk);
        // An error means that the client has closed the watch.
        _ = watcher.chunks.blocking_send(Chunk::Complete(chunk.into()));
    }
}

fn wait_for_watch(shared: &Shared) -> Result<(), String> {
    let deadline = Instant::now() + WATCH_TIMEOUT;
    while shared.watchers.open().is_empty() {
        if Instant::now() > deadline {
            return Err(format!("no watch within {} s", WATCH_TIMEOUT.as_secs()));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
