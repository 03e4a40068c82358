//! Replays a recorded incident into a controller twice, and checks that it makes the same decisions.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube_history::{History, Kind, List, Recorder, RecorderOptions};
use kube_informer::{
    Informer, ResourceVersion,
    controller::{Action, Controller, ErrorPolicy},
};
use kube_informer_wire::{EventType, Format, Raw};
use serde_json::json;
use std::{
    convert::Infallible,
    path::Path,
    sync::{Arc, Mutex},
};

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

/// The context of the controller. A real one has a client; this one has the decisions instead.
#[derive(Default)]
struct Context {
    decisions: Mutex<Vec<String>>,
}

/// The code under test: replaces pods that have failed.
async fn reconcile(pod: Arc<Pod>, context: Arc<Context>) -> Result<Action, Infallible> {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if phase == Some("Failed") {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        context.decisions.lock().expect("not poisoned").push(format!("replace {name}"));
    }
    Ok(Action::await_change())
}

/// Runs the controller on the recording, and returns its decisions.
async fn replay(folder: &Path) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let replay = History::open(folder)?.replay(time(0)?..time(400)?);
    let last = replay.last_version(replay.kind("", "v1", "pods")?)?.ok_or("pods were never listed")?;
    let pods = Informer::<Pod>::from_source(replay).start()?;
    let context = Arc::new(Context::default());
    let controller = Controller::new(&pods);
    let handle = controller.handle();
    let running = tokio::spawn(controller.run(reconcile, ErrorPolicy::default(), Arc::clone(&context)));
    pods.wait_for(&last).await?; // the cache has received all events
    handle.idle().await; // and the controller has handled them
    handle.stop();
    running.await??;
    pods.stop();
    pods.stopped().await;
    let decisions = context.decisions.lock().expect("not poisoned").clone();
    Ok(decisions)
}

// In a test: #[tokio::test(start_paused = true)]. Five minutes of the recording then take no time.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("replay-incident-{}", std::process::id()));
    record(&folder)?;
    let decisions = replay(&folder).await?;
    println!("{decisions:?}");
    assert_eq!(decisions, ["replace b", "replace a", "replace c"]);
    assert_eq!(replay(&folder).await?, decisions);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
