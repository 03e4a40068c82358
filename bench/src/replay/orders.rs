//! The orders that the server takes, one a line, each with a line of JSON for an answer.
//!
//! | order | what it does | what it says |
//! |---|---|---|
//! | `reset` | puts every object back to its first version, and ends all watches | |
//! | `truth` | | count and hashes that clients should have, and the newest version |
//! | `change SHARE` | changes a share of all objects, and tells nobody who watches | how many |
//! | `forget` | forgets history: who watches from an older version is told that it has expired | |
//! | `expire` | ends all watches with 410 | |
//! | `watched` | waits until somebody watches | |
//! | `asked` | | when somebody began to ask for everything, in nanoseconds since 1970 |
//! | `storm N [RATE]` | changes objects and tells those who watch | seconds it took |
//! | `load` | | processor seconds and seconds since this was last asked |

use super::{
    answer::Shared,
    encode,
    slots::Chunk,
    storm::{Rate, storm},
};
use kube_informer_bench_client::{session::say, usage::Usage};
use serde_json::{Value, json};
use std::{
    io::{self, BufRead},
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

/// How long a client may take to watch.
const PATIENCE: Duration = Duration::from_secs(60);

/// Takes orders until there are no more.
pub(super) fn follow(shared: &Shared) -> Result<(), String> {
    let mut since = (Instant::now(), Usage::now().cpu_seconds);
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<_> = line.split_whitespace().collect();
        let answer = match words.as_slice() {
            ["load"] => {
                let (now, used) = (Instant::now(), Usage::now().cpu_seconds);
                let (began, before) = std::mem::replace(&mut since, (now, used));
                json!({ "cpu_seconds": used - before, "seconds": (now - began).as_secs_f64() })
            }
            words => obey(shared, words)?,
        };
        say(&answer);
    }
    Ok(())
}

fn obey(shared: &Shared, words: &[&str]) -> Result<Value, String> {
    let wrong = || format!("the order `{}` is not understood", words.join(" "));
    let number = |word: &str| word.parse::<f64>().map_err(|_| wrong());
    match words {
        ["reset"] => {
            shared.world.reset();
            shared.watchers.take();
            shared.asked_at.store(0, Ordering::Relaxed);
            Ok(json!({}))
        }
        ["truth"] => {
            let (truth, newest) = (shared.world.truth(), shared.world.versions().newest);
            Ok(json!({
                "count": truth.count,
                "identity": format!("{:016x}", truth.identity),
                "address": format!("{:016x}", truth.address),
                "version": newest,
            }))
        }
        ["change", share] => Ok(json!({ "changed": shared.world.change(number(share)?) })),
        ["forget"] => {
            shared.world.forget();
            Ok(json!({}))
        }
        ["expire"] => {
            shared.asked_at.store(0, Ordering::Relaxed);
            for watcher in shared.watchers.take() {
                let mut chunk = Vec::new();
                encode::expired(watcher.encoding, &mut chunk);
                // Who has left hears nothing.
                _ = watcher.chunks.blocking_send(Chunk::Ready(chunk.into()));
            }
            Ok(json!({}))
        }
        ["watched"] => {
            let deadline = Instant::now() + PATIENCE;
            while shared.watchers.open().is_empty() {
                if Instant::now() > deadline {
                    return Err("nobody watches".to_owned());
                }
                thread::sleep(Duration::from_millis(1));
            }
            Ok(json!({}))
        }
        ["asked"] => Ok(json!({ "at": shared.asked_at.load(Ordering::Relaxed) })),
        ["storm", events] => Ok(json!({ "seconds": storm(shared, number(events)? as u64, Rate::Highest) })),
        ["storm", events, rate] => {
            let rate = Rate::PerSecond(number(rate)?);
            Ok(json!({ "seconds": storm(shared, number(events)? as u64, rate) }))
        }
        _ => Err(wrong()),
    }
}
