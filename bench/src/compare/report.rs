//! The table and the JSON document of a run.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::compare::metric::{METRICS, Metric};
use crate::compare::samples::{Estimate, Rounds};
use crate::compare::workload::Workload;

/// A finished or interrupted run with one number of objects.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) objects: u64,
    pub(crate) machine: String,
    pub(crate) checksum: String,
    pub(crate) rounds: Rounds,
}

/// Returns the table of the workloads: the median of the rounds with minimum and maximum, and the ratio to the best peer.
pub(crate) fn table(workloads: &[Workload], run: &Run) -> String {
    let mut text = String::new();
    let mut last = None;
    for metric in METRICS.iter().filter(|metric| workloads.contains(&metric.workload)) {
        let lines: Vec<_> =
            metric.all_clients().filter_map(|client| line(metric, client, &run.rounds)).collect();
        if lines.is_empty() {
            continue;
        }
        if last.replace(metric.workload) != Some(metric.workload) {
            _ = writeln!(text, "\n{}: {}", metric.workload.name(), metric.workload.description());
        }
        text.extend(lines);
    }
    _ = write!(
        text,
        "\n{} objects, checksum {}; {}\nMedian of the rounds (minimum - maximum); ratio to the best peer of the same rounds.",
        run.objects, run.checksum, run.machine
    );
    text
}

fn line(metric: &Metric, client: &str, rounds: &Rounds) -> Option<String> {
    let Estimate { median, min, max } = Estimate::of(&rounds.values(client, metric))?;
    let [median, min, max] = [median, min, max].map(|value| metric.unit.format(value));
    let range = format!("({min} - {max})");
    let ratio = rounds.ratio_to_best_peer(client, metric).map_or_else(String::new, |ratio| {
        format!("{:.2}x ({:.2} - {:.2})", ratio.median, ratio.min, ratio.max)
    });
    let line = format!("  {:<24} {client:<22} {median:>12}  {range:<26} {ratio}", metric.label);
    Some(format!("{}\n", line.trim_end()))
}

/// Returns all values as JSON.
pub(crate) fn document(workloads: &[Workload], run: &Run) -> Value {
    let mut values = Vec::new();
    for metric in METRICS.iter().filter(|metric| workloads.contains(&metric.workload)) {
        for client in metric.all_clients() {
            let rounds = run.rounds.values(client, metric);
            if let Some(estimate) = Estimate::of(&rounds) {
                values.push(json!({
                    "workload": metric.workload.name(), "metric": metric.key, "client": client,
                    "rounds": rounds, "median": estimate.median,
                    "ratio": run.rounds.ratio_to_best_peer(client, metric).map(|ratio| ratio.median),
                }));
            }
        }
    }
    json!({ "objects": run.objects, "checksum": run.checksum, "machine": run.machine, "values": values })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::samples::Samples;

    fn run() -> Run {
        let mut rounds = Rounds::default();
        for (ours, peer) in [(1.0, 2.0), (1.5, 2.0)] {
            rounds.start_round();
            for (client, value) in [("decoded", ours), ("client-go", peer)] {
                let mut samples = Samples::default();
                samples.add("sync_seconds", value);
                rounds.add(client, samples);
            }
        }
        Run { objects: 10, machine: "a machine".to_owned(), checksum: "abc".to_owned(), rounds }
    }

    #[test]
    fn the_table_has_a_line_for_each_measured_client() {
        let text = table(&[Workload::ColdSync], &run());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "cold-sync: Cold sync in protobuf");
        let words: Vec<_> = lines[2].split_whitespace().collect();
        assert_eq!(words[2..].join(" "), "decoded 1.250 s (1.000 s - 1.500 s) 0.62x (0.50 - 0.75)");
        assert_eq!(lines.len(), 7, "{text}");
    }

    #[test]
    fn the_document_has_the_value_of_each_round() {
        let document = document(&[Workload::ColdSync], &run());
        assert_eq!(document["values"][0]["rounds"], json!([1.0, 1.5]));
        assert_eq!(document["values"][0]["ratio"], 0.625);
        assert_eq!(document["values"].as_array().unwrap().len(), 2);
    }
}
