//! Every figure of every round, as JSON.

use serde_json::{Value, json};

use crate::bench::figure::FIGURES;
use crate::bench::measured::{Rounds, Spread};
use crate::bench::options;
use crate::bench::row::Row;
use crate::bench::server::Server;
use crate::bench::verdict::{self, Judged, Line};

/// What a run was about.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) count: u64,
    pub(crate) rounds: usize,
    pub(crate) checksum: String,
    pub(crate) server: &'static str,
    /// The highest share of one processor that the server was busy for, where that is looked at.
    pub(crate) busy: Option<f64>,
    pub(crate) machine: String,
    /// The share of the processors that the machine wanted and others had.
    pub(crate) stolen: f64,
    /// Whether all rounds have run.
    pub(crate) is_complete: bool,
}

impl Setting {
    /// A server is asked; the first one, which has the pods if there are any, is the one that is spoken of.
    pub(crate) fn asked(&mut self, server: &Server) {
        if self.checksum == "none" {
            self.checksum.clone_from(&server.checksum);
            self.server = server.about;
            self.busy = (server.kind == options::Server::Replay).then_some(0.0);
        }
    }
}

/// The document of one run.
pub(crate) fn document(setting: &Setting, rows: &[Row], rounds: &Rounds) -> Value {
    let mut figures = Vec::new();
    for figure in FIGURES.iter().filter(|figure| rows.contains(&figure.row)) {
        for line in verdict::lines(figure, rounds) {
            figures.push(json!({
                "row": figure.row.name(),
                "figure": figure.key,
                "unit": format!("{:?}", figure.unit),
                "contender": line.contender.name(),
                "values": line.values,
                "value": line.value.value,
                "told_in_time": line.behind,
                "ratio": line.ratio.map(spread),
                "targets": targets(&line),
            }));
        }
    }
    json!({
        "objects": setting.count,
        "rounds": setting.rounds,
        "checksum": setting.checksum,
        "server": setting.server,
        "server_busy": setting.busy,
        "machine": setting.machine,
        "stolen": setting.stolen,
        "complete": setting.is_complete,
        "figures": figures,
    })
}

fn spread(spread: Spread) -> Value {
    json!({ "value": spread.value, "least": spread.least, "most": spread.most })
}

fn targets(line: &Line) -> Vec<Value> {
    let target = |Judged { target, most, reached, is_met }: &Judged| json!({ "target": target, "most": most, "reached": reached, "met": is_met });
    line.targets.iter().map(target).collect()
}
