//! A sample of both processes during the load.

use anyhow::Result;
use kube_informer_bench_client::child::number;
use serde_json::{Value, json};

/// The state at one time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) seconds: f64,
    pub(crate) writes: f64,
    pub(crate) clients: Memory,
    pub(crate) server: Memory,
    objects: f64,
    /// Events per second since the last sample.
    events: f64,
    /// Milliseconds from write to handler, since the last sample.
    p50: f64,
    p99: f64,
    relists: f64,
    /// The pending events of the blocked handler.
    blocked_depth: f64,
    /// Processors in use by both processes since the last sample.
    processors: f64,
    cpu_seconds: f64,
}

/// The memory of a process in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Memory {
    /// The minimum of allocated bytes since the last sample.
    pub(crate) in_use: f64,
    /// Resident bytes, including memory that the allocator retains.
    pub(crate) resident: f64,
}

impl Memory {
    fn of(memory: &Value) -> Result<Self> {
        Ok(Self { in_use: number(memory, "in_use")?, resident: number(memory, "rss")? })
    }
}

impl Sample {
    /// Creates a sample from the status of both processes.
    pub(crate) fn of(client: &Value, server: &Value, seconds: f64, previous: Option<&Self>) -> Result<Self> {
        let since = (seconds - previous.map_or(0.0, |previous| previous.seconds)).max(0.001);
        let cpu_seconds =
            number(&client["memory"], "cpu_seconds")? + number(&server["memory"], "cpu_seconds")?;
        let used = previous.map_or(0.0, |previous| cpu_seconds - previous.cpu_seconds);
        let recent = &client["recent"];
        Ok(Self {
            seconds,
            writes: number(server, "writes")?,
            clients: Memory::of(&client["memory"])?,
            server: Memory::of(&server["memory"])?,
            objects: number(client, "objects")?,
            events: number(recent, "events")? / since,
            p50: number(recent, "p50")?,
            p99: number(recent, "p99")?,
            relists: number(client, "relists")?,
            blocked_depth: number(client, "blocked_depth")?,
            processors: used / since,
            cpu_seconds,
        })
    }

    /// Lowers the memory in use to the minimum of other measurements, clients first.
    pub(crate) fn lower_in_use(&mut self, minimum: [f64; 2]) {
        let [clients, server] = minimum;
        self.clients.in_use = self.clients.in_use.min(clients);
        self.server.in_use = self.server.in_use.min(server);
    }

    /// Returns the head of the table.
    pub(crate) fn head() -> &'static str {
        "                                                  clients, MB      server, MB\n\
         seconds  objects  events/s   p50 ms   p99 ms  in use resident  in use resident  relists  blocked depth  processors"
    }

    /// Returns a line of the table.
    pub(crate) fn line(&self) -> String {
        format!(
            "{:>7.0}  {:>7.0}  {:>8.0}  {:>7.1}  {:>7.1}  {:>6.1} {:>8.1}  {:>6.1} {:>8.1}  {:>7.0}  {:>13.0}  {:>10.2}",
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
            self.blocked_depth,
            self.processors,
        )
    }

    pub(crate) fn document(&self) -> Value {
        let memory = |memory: Memory| json!({ "in_use": memory.in_use, "resident": memory.resident });
        json!({
            "seconds": self.seconds, "objects": self.objects, "writes": self.writes, "events_per_second": self.events,
            "p50_ms": self.p50, "p99_ms": self.p99, "clients": memory(self.clients), "server": memory(self.server),
            "relists": self.relists, "blocked_depth": self.blocked_depth, "processors": self.processors,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_since_the_previous_sample() {
        let memory = |cpu: f64| json!({ "in_use": 1e6, "rss": 2e6, "cpu_seconds": cpu });
        let client = |cpu: f64| {
            json!({ "memory": memory(cpu), "objects": 7, "relists": 1, "blocked_depth": 3,
                    "recent": { "events": 100, "p50": 1.5, "p99": 2.5 } })
        };
        let server = |cpu: f64| json!({ "memory": memory(cpu), "writes": 9 });
        let first = Sample::of(&client(1.0), &server(1.0), 10.0, None).unwrap();
        assert_eq!((first.events, first.processors), (10.0, 0.0));
        let mut second = Sample::of(&client(4.0), &server(3.0), 15.0, Some(&first)).unwrap();
        assert_eq!((second.events, second.processors), (20.0, 1.0));
        assert_eq!(second.line().split_whitespace().count(), 12);
        assert!(Sample::of(&json!({}), &server(1.0), 1.0, None).is_err());
        second.lower_in_use([0.5e6, f64::INFINITY]);
        assert_eq!((second.clients.in_use, second.server.in_use), (0.5e6, 1e6));
    }
}
