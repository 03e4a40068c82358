//! Parts that are measured without a server: fan-out, readers beside a writer, the work queue.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::bench::contender::Contender;
use crate::bench::measured::Measured;
use crate::bench::options::{Options, Profile};
use crate::bench::row::Phase;
use crate::bench::talk::{Talk, number};

/// How much work a part gets.
struct Size {
    events: u64,
    items: u64,
    milliseconds: u64,
}

/// Measures the parts of one contender that the phases want; `command` makes a new one of its program.
pub(crate) fn measure(
    contender: Contender,
    command: impl Fn() -> Command,
    (phases, options): (&[Phase], &Options),
) -> Result<Measured> {
    let size = size(options);
    let mut measured = Measured::default();
    let run = |arguments: &[String]| -> Result<Value> {
        let mut command = command();
        let mut talk = Talk::start(command.arg("micro").args(arguments))?;
        talk.hear().with_context(|| format!("{} micro {}", contender.name(), arguments.join(" ")))
    };
    if phases.contains(&Phase::Fanout) {
        for (handlers, key) in [(1, "fanout_1"), (10, "fanout_10"), (100, "fanout_100")] {
            // Peers take a hundred times as long with a hundred handlers.
            let events = if contender == Contender::OursParts { size.events } else { size.events / handlers };
            let answer = run(&["fanout".to_owned(), handlers.to_string(), events.max(256).to_string()])?;
            measured.add(key, number(&answer, "rate")?);
        }
    }
    if phases.contains(&Phase::SlowHandler) {
        let answer = |sleep: u64| run(&["slow".to_owned(), size.milliseconds.to_string(), sleep.to_string()]);
        let (without, with) = (answer(0)?, answer(10)?);
        // A latency of nothing that was told is no figure.
        for told in [&without, &with] {
            ensure!(
                number(told, "delivered")? > 0.0,
                "{} told its handlers nothing: {told}",
                contender.name()
            );
        }
        measured.add("slow_p99", number(&with, "p99")?);
        measured.add("slow_ratio", number(&with, "p99")? / number(&without, "p99")?.max(0.001));
        measured.add("slow_delivered", number(&with, "delivered")?);
        measured.add("slow_growth", number(&with, "growth")?);
    }
    if phases.contains(&Phase::Readers) {
        for (readers, key) in [(0, "writes_0"), (1, "writes_1"), (10, "writes_10")] {
            let answer = run(&["readers".to_owned(), readers.to_string(), size.milliseconds.to_string()])?;
            measured.add(key, number(&answer, "rate")?);
        }
    }
    if phases.contains(&Phase::Queue) && contender != Contender::KubeParts {
        let answer = run(&["queue".to_owned(), size.items.to_string()])?;
        measured.add("queue_item", number(&answer, "nanoseconds")?);
        let answer = run(&["fill".to_owned(), size.items.to_string()])?;
        measured.add("queue_add", number(&answer, "nanoseconds")?);
    }
    Ok(measured)
}

fn size(options: &Options) -> Size {
    match options.profile {
        Profile::Release => Size {
            events: 200_000,
            items: 1_000_000,
            milliseconds: (options.hold.as_millis() as u64).min(5_000),
        },
        Profile::Debug => Size { events: 2_000, items: 10_000, milliseconds: 100 },
    }
}
