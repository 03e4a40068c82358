//! One look at both programs while the load goes on.

use anyhow::Result;
use serde_json::{Value, json};

use crate::bench::talk::number;

/// How things stand at one moment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) seconds: f64,
    pub(crate) objects: f64,
    pub(crate) writes: f64,
    /// Told to handlers since the last look, a second.
    pub(crate) events: f64,
    /// Milliseconds from write to handler, since the last look.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) clients: Memory,
    pub(crate) server: Memory,
    /// Whole states since the first ones, in all.
    pub(crate) relists: f64,
    /// How far the stuck one is behind.
    pub(crate) stuck: f64,
    /// Processors in use since the last look, of both programs together.
    pub(crate) processors: f64,
    cpu_seconds: f64,
}

/// The memory of a program, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Memory {
    /// What was allocated and not freed, at the least since the last look.
    pub(crate) in_use: f64,
    /// What the system gave, with what the allocator keeps of it.
    pub(crate) resident: f64,
}

impl Memory {
    fn of(memory: &Value) -> Result<Self> {
        Ok(Self { in_use: number(memory, "in_use")?, resident: number(memory, "rss")? })
    }

    fn document(self) -> Value {
        json!({ "in_use": self.in_use, "resident": self.resident })
    }
}

impl Sample {
    /// Takes what both programs say of themselves; `before` is the last look.
    pub(crate) fn of(client: &Value, server: &Value, seconds: f64, before: Option<&Self>) -> Result<Self> {
        let since = (seconds - before.map_or(0.0, |before| before.seconds)).max(0.001);
        let cpu_seconds =
            number(&client["memory"], "cpu_seconds")? + number(&server["memory"], "cpu_seconds")?;
        let used = before.map_or(0.0, |before| cpu_seconds - before.cpu_seconds);
        let lately = &client["lately"];
        Ok(Self {
            seconds,
            objects: number(client, "objects")?,
            writes: number(server, "writes")?,
            events: number(lately, "events")? / since,
            p50: number(lately, "p50")?,
            p99: number(lately, "p99")?,
            clients: Memory::of(&client["memory"])?,
            server: Memory::of(&server["memory"])?,
            relists: number(client, "relists")?,
            stuck: number(client, "stuck")?,
            processors: used / since,
            cpu_seconds,
        })
    }

    /// What was in use between the last look and this one, if it was less: clients, server.
    pub(crate) fn at_best(&mut self, [clients, server]: [f64; 2]) {
        self.clients.in_use = self.clients.in_use.min(clients);
        self.server.in_use = self.server.in_use.min(server);
    }

    pub(crate) fn head() -> String {
        "                                               clients, MB       server, MB\n\
         seconds  objects  events/s   p50 ms   p99 ms  in use resident  in use resident  relists  stuck behind  processors"
            .to_owned()
    }

    /// A line of the table.
    pub(crate) fn line(&self) -> String {
        format!(
            "{:>7.0}  {:>7.0}  {:>8.0}  {:>7.1}  {:>7.1}  {:>6.1} {:>8.1}  {:>6.1} {:>8.1}  {:>7.0}  {:>12.0}  {:>10.2}",
            self.seconds,
            self.objects,
            self.events,
            self.p50,
            self.p99,
            self.clients.in_use / 1e6,
            self.clients.resident / 1e6,
            self.server.in_use / 1e6,
            self.server.resident / 1e6,
            self.relists,
            self.stuck,
            self.processors,
        )
    }

    pub(crate) fn document(&self) -> Value {
        json!({
            "seconds": self.seconds, "objects": self.objects, "writes": self.writes, "events_per_second": self.events,
            "p50_ms": self.p50, "p99_ms": self.p99, "clients": self.clients.document(), "server": self.server.document(),
            "relists": self.relists, "stuck_behind": self.stuck, "processors": self.processors,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_time_since_the_last_look() {
        let memory = |cpu: f64| json!({ "in_use": 1e6, "rss": 2e6, "cpu_seconds": cpu });
        let client = |cpu: f64| {
            json!({ "memory": memory(cpu), "objects": 7, "relists": 1, "stuck": 3,
                    "lately": { "events": 100, "p50": 1.5, "p99": 2.5 } })
        };
        let server = |cpu: f64| json!({ "memory": memory(cpu), "writes": 9 });
        let first = Sample::of(&client(1.0), &server(1.0), 10.0, None).unwrap();
        assert_eq!((first.events, first.processors), (10.0, 0.0));
        let second = Sample::of(&client(4.0), &server(3.0), 15.0, Some(&first)).unwrap();
        assert_eq!((second.events, second.processors), (20.0, 1.0));
        assert_eq!(second.line().split_whitespace().count(), 12);
        assert!(Sample::of(&json!({}), &server(1.0), 1.0, None).is_err());
        let mut second = second;
        second.at_best([0.5e6, f64::INFINITY]);
        assert_eq!((second.clients.in_use, second.server.in_use), (0.5e6, 1e6));
    }
}
