//! `history`, `changes`, `get` and `diff`: reading a recording.

use crate::program::{Ended, end, informer};
use crate::recorder::{Recorder, read};
use crate::server::{Cluster, deployment, pod};
use jiff::Timestamp;
use kube_history::{Event, History};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A recording, and a moment at which `a` was pending and `b` did not exist yet.
struct Shop {
    dir: PathBuf,
    before: Timestamp,
}

const TEXT: [&str; 2] = ["one\ntwo\nthree\n", "one\n2\nthree\n"];

fn settings(text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "settings"}, "data": {"text": text}})
}

impl Shop {
    async fn record() -> Self {
        let cluster = Cluster::start().await;
        cluster.create(pod("shop", "a")).await;
        cluster.create(pod("mail", "a")).await;
        cluster.create(settings(TEXT[0])).await;
        let recorder = Recorder::start(&cluster, "pods,configmaps,deployments", &[]).await;
        for (resource, key) in [("pods", "shop/a"), ("pods", "mail/a"), ("configmaps", "shop/settings")] {
            recorder.recorded(resource, key, Event::Added).await;
        }
        let before = Timestamp::now();
        cluster.patch(&pod("shop", "a"), json!({"status": {"phase": "Running"}})).await;
        cluster.patch(&settings(""), json!({"data": {"text": TEXT[1]}})).await;
        cluster.create(pod("shop", "b")).await;
        cluster.create(deployment("shop", "front")).await;
        cluster.delete(&pod("shop", "b")).await;
        recorder.recorded("pods", "shop/a", Event::Modified).await;
        recorder.recorded("configmaps", "shop/settings", Event::Modified).await;
        recorder.recorded("pods", "shop/b", Event::Deleted).await;
        recorder.recorded("deployments", "shop/front", Event::Added).await;
        let dir = recorder.dir.clone();
        assert_eq!(recorder.stop().await.code, Some(0));
        Self { dir, before }
    }

    async fn run(&self, arguments: &[&str]) -> Ended {
        let ended = read(self.dir.to_str().unwrap(), arguments).await;
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        ended
    }
}

/// Returns each line without the time.
fn timeless(ended: &Ended) -> Vec<String> {
    let line = |line: &&str| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ");
    ended.lines().iter().map(line).collect()
}

fn documents(ended: &Ended) -> Vec<Value> {
    ended.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_has_its_versions_also_after_its_deletion() {
    let shop = Shop::record().await;
    let ended = shop.run(&["history", "pod/a", "-n", "shop"]).await;
    let lines = timeless(&ended);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("existing shop/a Pending"), "{lines:?}");
    assert!(lines[1].starts_with("updated shop/a ") && lines[1].contains("Running"), "{lines:?}");
    let events: Vec<Value> = documents(&shop.run(&["history", "po/b", "-o", "json"]).await)
        .iter()
        .map(|one| one["event"].clone())
        .collect();
    assert_eq!(events, [json!("added"), json!("deleted")]);
    let ended = shop.run(&["history", "pod/a", "-n", "shop", "-o", "diff"]).await;
    assert!(
        ended.stdout.contains("\n    - status.phase: Pending\n    + status.phase: Running\n"),
        "{ended:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_not_unique_or_not_recorded_is_an_error() {
    let shop = Shop::record().await;
    let dir = shop.dir.to_str().unwrap();
    let several = read(dir, &["history", "pod/a"]).await;
    assert_eq!(several.code, Some(2));
    assert!(several.stderr.contains("choose one with -n: mail, shop"), "{}", several.stderr);
    let absent = read(dir, &["history", "pod/zebra"]).await;
    assert_eq!(absent.code, Some(1));
    assert!(
        absent.stderr.contains("pod/zebra is not recorded\n  the recording is from "),
        "{}",
        absent.stderr
    );
    let unknown = read(dir, &["history", "node/a"]).await;
    assert_eq!(unknown.code, Some(3));
    assert!(unknown.stderr.contains("\"node\" is not recorded\n  recorded are "), "{}", unknown.stderr);
    let no_name = read(dir, &["history", "pods"]).await;
    assert_eq!(no_name.code, Some(2), "{no_name:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_filtered() {
    let shop = Shop::record().await;
    let all = documents(&shop.run(&["changes", "--since", "1h", "-o", "json"]).await);
    let names = |documents: &[Value]| -> Vec<String> {
        documents
            .iter()
            .map(|one| format!("{} {}", one["event"].as_str().unwrap(), one["name"].as_str().unwrap()))
            .collect()
    };
    let mut found = names(&all);
    found.sort_unstable();
    assert_eq!(found, ["added b", "added front", "deleted b", "updated a", "updated settings"]);
    let phase = shop.run(&["changes", "--since", "1h", "--changed", "status.phase", "-o", "json"]).await;
    assert!(names(&documents(&phase)).contains(&"updated a".to_owned()));
    assert!(!names(&documents(&phase)).contains(&"updated settings".to_owned()));
    let without = shop.run(&["changes", "--since", "1h", "--ignore", "/status", "-o", "json"]).await;
    assert!(!names(&documents(&without)).contains(&"updated a".to_owned()));
    let elsewhere = shop.run(&["changes", "--since", "1h", "--namespace", "mail"]).await;
    assert_eq!(elsewhere.stdout, "", "the objects of the first list are not changes");
    let one = shop.run(&["changes", "deploy", "--since", "1h", "-o", "json"]).await;
    assert_eq!(names(&documents(&one)), ["added front"]);
    let manager =
        all.iter().find(|one| one["name"] == "settings").unwrap()["manager"].as_str().unwrap().to_owned();
    let by = shop.run(&["changes", "cm", "--since", "1h", "--by", &manager, "-o", "json"]).await;
    assert_eq!(names(&documents(&by)), ["updated settings"]);
    let by = shop.run(&["changes", "--since", "1h", "--by", "nobody"]).await;
    assert_eq!(by.stdout, "");
    let before = shop.before.to_string();
    let until = shop.run(&["changes", "--since", "1h", "--until", &before]).await;
    assert_eq!(until.stdout, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn get_prints_the_objects_of_a_moment() {
    let shop = Shop::record().await;
    let before = shop.before.to_string();
    let ended = shop.run(&["get", "pods", "-n", "shop", "--at", &before]).await;
    let lines = ended.lines();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["NAMESPACE", "NAME", "AGE", "STATUS"]);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].starts_with("shop       a     ") && lines[1].contains("Pending"), "{lines:?}");
    let now: Value = serde_json::from_str(
        &shop.run(&["get", "pod/a", "-n", "shop", "--at", "now", "-o", "json"]).await.stdout,
    )
    .unwrap();
    assert_eq!((&now["kind"], &now["status"]["phase"]), (&json!("Pod"), &json!("Running")));
    assert_eq!(now["metadata"]["managedFields"], Value::Null);
    let list: Value = serde_json::from_str(
        &shop.run(&["get", "pods", "--at", &before, "-l", "app=a", "-o", "json"]).await.stdout,
    )
    .unwrap();
    assert_eq!((&list["kind"], list["items"].as_array().unwrap().len()), (&json!("List"), 2));
    let yaml = shop.run(&["get", "cm/settings", "--at", &before, "-o", "yaml"]).await;
    assert!(yaml.stdout.contains("data:\n  text: |\n    one\n    two\n"), "{}", yaml.stdout);
    let absent = read(shop.dir.to_str().unwrap(), &["get", "pod/b", "--at", &before]).await;
    assert!(absent.stderr.contains("pod/b did not exist at "), "{}", absent.stderr);
    let early = read(shop.dir.to_str().unwrap(), &["get", "pods", "--at", "-1h"]).await;
    assert_eq!(early.code, Some(1));
    assert!(early.stderr.contains("is before the start of the history"), "{}", early.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_moments_are_compared_line_by_line() {
    let shop = Shop::record().await;
    let before = shop.before.to_string();
    let ended = shop.run(&["diff", "--from", &before, "--to", "now", "-o", "diff"]).await;
    assert!(ended.stdout.contains("\n    - data.text:2: two\n    + data.text:2: 2\n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("\n    - status.phase: Pending\n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("added     deployment.apps  shop/front"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("shop/b"), "it exists at neither moment: {}", ended.stdout);
    let lines = timeless(&shop.run(&["diff", "--from", &before, "pods"]).await);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let wrong = read(shop.dir.to_str().unwrap(), &["diff", "--from", "now", "--to", "-1m"]).await;
    assert_eq!(wrong.code, Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ambiguous_local_time_is_refused() {
    let mut command = informer(&["get", "pods", "--dir", "x", "--at", "2026-10-25 02:30"]);
    command.env("TZ", "CET-1CEST,M3.5.0,M10.5.0/3");
    let ended = end(command).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("2026-10-25T02:30:00+02 or 2026-10-25T02:30:00+01"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_without_a_recording_is_an_error() {
    let ended = read("absent-folder", &["changes"]).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("no history in absent-folder"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_is_read_while_it_is_written() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "a")).await;
    let recorder = Recorder::start(&cluster, "pods", &[]).await;
    recorder.recorded("pods", "shop/a", Event::Added).await;
    let ended = read(recorder.dir(), &["get", "pods", "--at", "now", "-o", "json"]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(History::open(&recorder.dir).unwrap().kind("pods").is_ok());
    assert_eq!(recorder.stop().await.code, Some(0));
}
