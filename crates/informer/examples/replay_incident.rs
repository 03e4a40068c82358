//! Replays a recorded incident into a controller twice, and checks that it makes the same decisions.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube_history::{History, Kind, List, Recorder, RecorderOptions};
use kube_informer::{Event, Informer, ResourceVersion};
use kube_informer_wire::{EventType, Format, Raw};
use serde_json::json;
use std::path::Path;

fn time(second: i64) -> Result<Timestamp, jiff::Error> {
    Timestamp::from_second(1_800_000_000 + second)
}

fn pod(name: &str, version: u64, phase: &str) -> Raw {
    let metadata =
        json!({"name": name, "namespace": "web", "uid": name, "resourceVersion": version.to_string()});
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": {"phase": phase}});
    Raw::new(Format::Json, object.to_string().into())
}

/// Records an incident: three pods fail one after the other, over several minutes.
fn record(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut recorder = Recorder::open(folder, RecorderOptions::default(), time(0)?)?;
    let kind = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), time(0)?)?;
    let objects = ["a", "b", "c"].map(|name| pod(name, 1, "Running"));
    let version = Some(ResourceVersion::number(1));
    recorder.list(List { kind, namespace: None, version, objects }, time(0)?)?;
    for (number, name) in (1..).zip(["b", "a", "c"]) {
        let failed = pod(name, 1 + number, "Failed");
        recorder.change(kind, EventType::Modified, &failed, time(100 * i64::try_from(number)?)?)?;
    }
    recorder.close(time(400)?)?;
    Ok(())
}

/// Runs the code under test on the recording, and returns its decisions.
async fn replay(folder: &Path) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let history = History::open(folder)?;
    let pods = Informer::<Pod>::from_source(history.replay(time(0)?..time(400)?)).start()?;
    let mut events = pods.subscribe();
    let mut decisions = Vec::new();
    while decisions.len() < 3 {
        let Some(event) = events.next().await else { break };
        if let Event::Updated { key, new, .. } = &event
            && new.get().status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Failed")
        {
            decisions.push(format!("replace {key}"));
        }
    }
    pods.stop();
    pods.stopped().await;
    Ok(decisions)
}

// In a test: #[tokio::test(start_paused = true)]. Five minutes of the recording then take no time.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("replay-incident-{}", std::process::id()));
    record(&folder)?;
    let decisions = replay(&folder).await?;
    println!("{decisions:?}");
    assert_eq!(decisions, ["replace web/b", "replace web/a", "replace web/c"]);
    assert_eq!(replay(&folder).await?, decisions);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
