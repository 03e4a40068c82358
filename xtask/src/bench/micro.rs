//! Parts that are measured without a server: fan-out, readers beside a writer, the work queue.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::bench::contender::Contender;
use crate::bench::measured::{Measured, calm};
use crate::bench::options::{Effort, Options, Profile};
use crate::bench::row::Phase;
use crate::bench::stolen::{Ticks, calmest};
use crate::bench::talk::{Talk, number, numbers};

/// How much work a part gets.
struct Size {
    events: u64,
    items: u64,
    /// How long events come, in milliseconds.
    milliseconds: u64,
    /// How long there are readers, in milliseconds.
    reading: u64,
    /// How often a part that takes no time is measured.
    turns: usize,
    /// How often a slow handler is, and none.
    slow: usize,
}

/// A contender, its program, and how much it gets to do.
struct Parts<'a> {
    contender: Contender,
    command: &'a dyn Fn() -> Command,
    size: Size,
    measured: Measured,
}

/// Measures the parts of one contender that the phases want; `command` makes a new one of its program.
pub(crate) fn measure(
    contender: Contender,
    command: impl Fn() -> Command,
    (phases, options): (&[Phase], &Options),
) -> Result<Measured> {
    let size = size(options);
    let turns = size.turns;
    let mut parts = Parts { contender, command: &command, size, measured: Measured::default() };
    if phases.contains(&Phase::Fanout) {
        parts.fanout()?;
    }
    for _ in 0..turns {
        if phases.contains(&Phase::Readers) {
            parts.readers()?;
        }
        if phases.contains(&Phase::Queue) && contender != Contender::KubeParts {
            parts.queue()?;
        }
    }
    if phases.contains(&Phase::SlowHandler) {
        parts.slow()?;
    }
    Ok(parts.measured)
}

impl Parts<'_> {
    /// Runs a part, and says which share of the processors it wanted it had.
    fn run(&self, part: &str, numbers: &[u64]) -> Result<(Value, f64)> {
        let mut command = (self.command)();
        command.args(["micro", part]).args(numbers.iter().map(u64::to_string));
        let begin = Ticks::now();
        let answer = Talk::start(&mut command)?.hear();
        let answer = answer.with_context(|| format!("{} micro {part} {numbers:?}", self.contender.name()))?;
        Ok((answer, begin.own()))
    }

    fn fanout(&mut self) -> Result<()> {
        for (handlers, key) in [(1, "fanout_1"), (10, "fanout_10"), (100, "fanout_100")] {
            // Peers take a hundred times as long with a hundred handlers.
            let all = self.size.events;
            let events = if self.contender == Contender::OursParts { all } else { all / handlers };
            let (answer, own) = self.run("fanout", &[handlers, events.max(256)])?;
            self.measured.add(key, number(&answer, "rate")? / own);
        }
        Ok(())
    }

    fn readers(&mut self) -> Result<()> {
        for (readers, key) in [(0, "writes_0"), (1, "writes_1"), (10, "writes_10")] {
            let (answer, own) = self.run("readers", &[readers, self.size.reading])?;
            self.measured.add(key, number(&answer, "rate")? / own);
        }
        Ok(())
    }

    fn queue(&mut self) -> Result<()> {
        for (part, key) in [("queue", "queue_item"), ("fill", "queue_add")] {
            let (answer, own) = self.run(part, &[self.size.items])?;
            self.measured.add(key, number(&answer, "nanoseconds")? * own);
        }
        Ok(())
    }

    /// With and without a slow handler, in turn.
    fn slow(&mut self) -> Result<()> {
        let (mut without, mut with) = (Vec::new(), Vec::new());
        let turns =
            if self.contender == Contender::OursParts { self.size.slow } else { self.size.slow.div_ceil(6) };
        for _ in 0..turns {
            for (sleep, p99) in [(0, &mut without), (10, &mut with)] {
                let run = || self.run("slow", &[self.size.milliseconds, sleep]);
                // In a quick run there are many, of which some are calm.
                let ((told, _), _) = calmest(run, |_| false)?;
                // A latency of nothing that was told is no figure.
                p99.extend(numbers(&told, "p99")?);
                if sleep > 0 {
                    self.measured.add("slow_delivered", number(&told, "delivered")?);
                    self.measured.add("slow_growth", number(&told, "growth")?);
                }
            }
        }
        // What the machine adds is in some of them; what a slow handler would add is in all.
        if let (Some(with), Some(without)) = (calm(&with), calm(&without)) {
            self.measured.add("slow_ratio", with / without.max(0.001));
        }
        with.into_iter().for_each(|window| self.measured.add("slow_p99", window));
        Ok(())
    }
}

fn size(options: &Options) -> Size {
    let milliseconds = (options.hold.as_millis() as u64).min(5_000);
    let full =
        Size { events: 200_000, items: 1_000_000, milliseconds, reading: milliseconds, turns: 2, slow: 2 };
    match (options.profile, options.effort) {
        (Profile::Debug, _) => {
            Size { events: 2_000, items: 10_000, milliseconds: 100, reading: 100, turns: 1, slow: 1 }
        }
        (Profile::Release, Effort::Even) => full,
        (Profile::Release, Effort::ByTarget) => Size {
            events: 50_000,
            milliseconds: milliseconds / 4,
            reading: milliseconds / 4,
            slow: 12,
            ..full
        },
    }
}
