//! Measures components without a server: fan-out, concurrent reads, a slow handler, the work queue, a controller.

use std::process::Command;

use anyhow::{Context, Result};
use kube_informer_bench_client::child::{ChildProcess, number};
use serde_json::Value;

use crate::compare::samples::Samples;
use crate::compare::session::Plan;
use crate::compare::workload::Phase;

/// Runs the components of the phases; `command` starts the program.
pub(crate) fn measure(command: &dyn Fn() -> Command, plan: &Plan<'_>) -> Result<Samples> {
    let mut components = Components { command, plan, samples: Samples::default() };
    for phase in &plan.phases {
        match phase {
            Phase::Fanout => components.fanout()?,
            Phase::ConcurrentReads => components.concurrent_reads()?,
            Phase::SlowHandler => components.slow_handler()?,
            Phase::WorkQueue => components.work_queue()?,
            Phase::Controller => components.controller()?,
            Phase::Sync
            | Phase::Relist
            | Phase::Updates
            | Phase::Latency
            | Phase::Restart
            | Phase::Watchers
            | Phase::ManyKinds => {}
        }
    }
    Ok(components.samples)
}

struct Components<'a> {
    command: &'a dyn Fn() -> Command,
    plan: &'a Plan<'a>,
    samples: Samples,
}

impl Components<'_> {
    fn run(&self, component: &str, numbers: &[u64]) -> Result<Value> {
        let mut command = (self.command)();
        command.args(["component", component]).args(numbers.iter().map(u64::to_string));
        let response = ChildProcess::start(&mut command)?.receive();
        response.with_context(|| format!("component {component} {numbers:?}"))
    }

    fn milliseconds(&self) -> u64 {
        self.plan.settings.hold.as_millis() as u64
    }

    fn fanout(&mut self) -> Result<()> {
        for (handlers, key) in [(1, "fanout_1"), (10, "fanout_10"), (100, "fanout_100")] {
            let events = (self.plan.settings.operations / 10 / handlers).max(256);
            let response = self.run("fanout", &[handlers, events])?;
            self.samples.add(key, number(&response, "rate")?);
        }
        Ok(())
    }

    fn concurrent_reads(&mut self) -> Result<()> {
        for (readers, key) in [(0, "writes_0"), (1, "writes_1"), (10, "writes_10")] {
            let response = self.run("readers", &[readers, self.milliseconds()])?;
            self.samples.add(key, number(&response, "rate")?);
        }
        Ok(())
    }

    fn slow_handler(&mut self) -> Result<()> {
        let without = number(&self.run("slow", &[self.milliseconds(), 0])?, "p99")?;
        let with = self.run("slow", &[self.milliseconds(), 10])?;
        let p99 = number(&with, "p99")?;
        self.samples.add("slow_p99", p99);
        self.samples.add("slow_ratio", p99 / without.max(0.001));
        self.samples.add("slow_delivered", number(&with, "delivered")?);
        self.samples.add("slow_growth", number(&with, "growth")?);
        Ok(())
    }

    fn work_queue(&mut self) -> Result<()> {
        for (component, key) in [("queue", "queue_item"), ("fill", "queue_add")] {
            let response = self.run(component, &[self.plan.settings.operations])?;
            self.samples.add(key, number(&response, "nanoseconds")?);
        }
        Ok(())
    }

    fn controller(&mut self) -> Result<()> {
        let rounds = (self.plan.settings.operations / 10_000).clamp(1, 50);
        let response = self.run("controller", &[rounds, self.milliseconds()])?;
        self.samples.add("reconciles", number(&response, "rate")?);
        self.samples.add("controller_memory", number(&response, "memory")?);
        self.samples.add("reconcile_p50", number(&response, "p50")?);
        self.samples.add("reconcile_p99", number(&response, "p99")?);
        Ok(())
    }
}
