//! Saved caches are restored by the next run.

use crate::folder::folder;
use crate::program::{Ended, Running, run};
use crate::server::{Cluster, deployment, pod};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

/// Appends the kubeconfig of the cluster and a folder to arguments.
fn with<'a>(arguments: &[&'a str], cluster: &'a Cluster, save: &'a Path) -> Vec<&'a str> {
    [arguments, &["--kubeconfig", cluster.config(), "--save", save.to_str().unwrap()]].concat()
}

async fn once(cluster: &Cluster, save: &Path, more: &[&str]) -> Ended {
    let arguments = [&["watch", "pods", "-A", "--once", "-o", "name"][..], more].concat();
    run(&with(&arguments, cluster, save)).await
}

async fn shop() -> Cluster {
    let cluster = Cluster::start().await;
    for name in ["a", "b", "c"] {
        cluster.create(pod("shop", name)).await;
    }
    cluster
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_run_prints_what_changed_in_between() {
    let (cluster, save, stats) = (shop().await, folder().join("saved"), folder().join("stats"));
    let stats = stats.to_str().unwrap();
    let first = once(&cluster, &save, &["--stats", stats]).await;
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""));
    let figures =
        |path: &str| -> Value { serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap() };
    assert_eq!(figures(stats)["restored"], Value::Null);

    cluster.patch(&pod("shop", "a"), json!({"status": {"phase": "Running"}})).await;
    cluster.delete(&pod("shop", "b")).await;
    cluster.create(pod("shop", "d")).await;
    let arguments = ["watch", "pods", "-A", "-o", "json", "--stats", stats];
    let mut watch = Running::start(&with(&arguments, &cluster, &save));
    let mut told = BTreeMap::new();
    for _ in 0..3 {
        let line: Value = serde_json::from_str(&watch.line().await).unwrap();
        told.insert(line["name"].as_str().unwrap().to_owned(), line["event"].clone());
    }
    assert_eq!(json!(told), json!({"a": "updated", "b": "deleted", "d": "added"}));
    watch.signal("INT").await;
    let ended = watch.end().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "nothing else changed");
    assert!(ended.stderr.contains("pods: restored 3 objects, ") && ended.stderr.contains("s ago\n"));
    let figures = figures(stats);
    assert_eq!(
        (&figures["restored"]["objects"], &figures["lists"], &figures["streams"]),
        (&json!(3), &json!(0), &json!(0))
    );
    assert!(figures["restored"]["age_seconds"].as_f64().unwrap() < 60.0);
    assert_eq!(figures["kinds"]["pods"]["restored"], figures["restored"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_and_namespace_has_a_folder_that_is_closed_to_others() {
    let (cluster, save) = (shop().await, folder().join("saved"));
    cluster.create(deployment("shop", "front")).await;
    let arguments = ["watch", "pods,deployments", "-n", "shop,default", "--once", "-o", "name"];
    assert_eq!(run(&with(&arguments, &cluster, &save)).await.code, Some(0));
    for place in ["pods/shop", "pods/default", "deployments.apps/shop"] {
        let state = save.join(place).join("state");
        assert!(state.is_file(), "{place}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!([mode(&state), mode(state.parent().unwrap())], [0o600, 0o700]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_cannot_be_restored_is_refused_with_advice() {
    let (cluster, save) = (shop().await, folder().join("saved"));
    assert_eq!(once(&cluster, &save, &[]).await.code, Some(0));
    let other = once(&cluster, &save, &["-l", "app=a"]).await;
    assert_eq!(other.code, Some(1));
    assert!(other.stderr.contains("saved for labels \"\", but \"app=a\" is requested"), "{}", other.stderr);
    assert!(other.stderr.contains("delete the folder to start over"), "{}", other.stderr);

    let elsewhere = once(&shop().await, &save, &[]).await;
    assert_eq!((elsewhere.code, elsewhere.stdout.as_str()), (Some(1), ""));
    assert!(elsewhere.stderr.contains("saved for cluster "), "{}", elsewhere.stderr);

    let secrets = run(&with(&["watch", "secrets", "-A", "--once"], &cluster, &save)).await;
    assert_eq!(secrets.code, Some(2));
    assert!(secrets.stderr.contains("--save-secrets"), "{}", secrets.stderr);
    let asked_for =
        run(&with(&["watch", "secrets", "-A", "--once", "--save-secrets"], &cluster, &save)).await;
    assert_eq!(asked_for.code, Some(0), "{}", asked_for.stderr);

    let mut first =
        Running::start(&with(&["watch", "pods", "-A", "--initial", "-o", "name"], &cluster, &save));
    first.line().await;
    let second = once(&cluster, &save, &[]).await;
    assert_eq!(second.code, Some(1));
    assert!(second.stderr.contains("in use by another process"), "{}", second.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_cannot_be_created_is_reported_and_the_watch_continues() {
    let (cluster, save) = (shop().await, folder().join("a-file"));
    std::fs::write(&save, "").unwrap();
    let ended = once(&cluster, &save, &[]).await;
    assert_eq!((ended.code, ended.lines().len()), (Some(1), 3));
    assert!(ended.stderr.contains("pods: cannot save: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("pods: the cache was not saved: "), "{}", ended.stderr);
}

/// Returns the objects of the server in the form of a dump.
async fn dump_of(cluster: &Cluster) -> String {
    let path = folder().join("dump");
    let arguments = ["watch", "pods", "-A", "--once", "-o", "name", "--dump", path.to_str().unwrap()];
    assert_eq!(run(&[&arguments[..], &["--kubeconfig", cluster.config()]].concat()).await.code, Some(0));
    std::fs::read_to_string(path).unwrap()
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_at_any_moment_it_restores_the_state_of_the_server() {
    let (cluster, save) = (shop().await, folder().join("saved"));
    let (mut created, mut restored) = (0, 0);
    for round in 0..8 {
        let mut watch =
            Running::start(&with(&["watch", "pods", "-A", "--initial", "-o", "name"], &cluster, &save));
        watch.line().await;
        // Changes come while it dies, a different number of them each time.
        for _ in 0..round * 5 {
            cluster.create(pod("shop", &format!("n{created}"))).await;
            created += 1;
        }
        if created > 4 {
            cluster.delete(&pod("shop", &format!("n{}", created - 3))).await;
        }
        watch.signal("KILL").await;
        assert_eq!(watch.end().await.code, None);
        let dump = folder().join("dump");
        let ended = once(&cluster, &save, &["--dump", dump.to_str().unwrap()]).await;
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        restored += usize::from(ended.stderr.contains("restored"));
        assert_eq!(std::fs::read_to_string(dump).unwrap(), dump_of(&cluster).await, "round {round}");
    }
    assert!(restored >= 6, "{restored}");
}
