//! What was measured of one number of objects, as JSON; table and picture are made of it.

use serde_json::{Map, Value, json};

use crate::bench::contender::Contender;
use crate::bench::document::Setting;
use crate::bench::measured::{Rounds, median};

/// The figures, under the names under which they are measured.
const KEYS: [&str; 7] = [
    "sync_seconds",
    "sync_cpu_seconds",
    "steady_bytes",
    "bytes_per_object",
    "peak_bytes",
    "relist_seconds",
    "relist_peak",
];

/// The document of one number of objects; a figure is the median of the rounds.
pub(super) fn document(setting: &Setting, rounds: &Rounds) -> Value {
    let clients = Contender::ALL.into_iter().filter_map(|contender| client(contender, rounds));
    json!({
        "objects": setting.count,
        "rounds": setting.rounds,
        "checksum": setting.checksum,
        "server_busy": setting.busy,
        "machine": setting.machine,
        "complete": setting.is_complete,
        "clients": clients.collect::<Vec<_>>(),
    })
}

/// The figures of one client; nothing if it did not run.
fn client(contender: Contender, rounds: &Rounds) -> Option<Value> {
    let figure = |key: &str| median(&rounds.values(contender, key));
    let figures: Map<_, _> =
        KEYS.iter().filter_map(|key| Some(((*key).to_owned(), figure(key)?.into()))).collect();
    if figures.is_empty() {
        return None;
    }
    let mut client = Value::Object(figures);
    client["client"] = contender.name().into();
    Some(client)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bench::measured::Measured;

    /// A document in which clients took so many seconds and bytes an object.
    pub(in crate::bench::scale) fn of(count: u64, clients: &[(Contender, f64, f64)]) -> Value {
        let mut rounds = Rounds::default();
        rounds.begin();
        for (contender, seconds, bytes) in clients {
            let figures = [("sync_seconds", vec![*seconds]), ("bytes_per_object", vec![*bytes])];
            rounds.add(*contender, Measured(figures.into()));
        }
        let (checksum, machine) = (String::new(), String::new());
        let setting = Setting {
            count,
            rounds: 1,
            checksum,
            server: "",
            busy: None,
            machine,
            stolen: 0.0,
            is_complete: true,
        };
        document(&setting, &rounds)
    }

    #[test]
    fn who_did_not_run_is_not_in_it() {
        let document = of(10, &[(Contender::Ours, 1.0, 2.0)]);
        let clients = document["clients"].as_array().unwrap();
        assert_eq!(clients.len(), 1);
        assert_eq!((&clients[0]["client"], &clients[0]["sync_seconds"]), (&json!("whole"), &json!(1.0)));
        assert_eq!(clients[0].get("relist_peak"), None);
    }
}
