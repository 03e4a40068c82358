//! The output formats and columns of kubectl.

use crate::folder::folder;
use crate::program::{Ended, Running, run};
use crate::server::{Cluster, deployment, pod};
use serde_json::json;

/// A cluster with pods in two namespaces and a deployment.
async fn shop() -> Cluster {
    let cluster = Cluster::start().await;
    for name in ["front-10", "front-9", "cart-1"] {
        cluster.create(pod("shop", name)).await;
    }
    cluster.create(pod("default", "alone")).await;
    cluster.create(deployment("shop", "front")).await;
    let running = json!({"status": {"phase": "Running", "podIP": "10.0.0.7", "containerStatuses": [
        {"name": "main", "ready": true, "restartCount": 3, "state": {"running": {}}}]}});
    cluster.patch(&pod("shop", "front-9"), running).await;
    cluster
}

async fn once(cluster: &Cluster, arguments: &[&str]) -> Ended {
    run(&[&["watch", "--once", "--kubeconfig", cluster.config()], arguments].concat()).await
}

/// Returns the cells of each line; ages are replaced.
async fn cells(cluster: &Cluster, arguments: &[&str]) -> Vec<Vec<String>> {
    let ended = once(cluster, arguments).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    let is_age = |cell: &str| cell.ends_with('s') && cell.trim_end_matches('s').parse::<u64>().is_ok();
    let cell = |cell: &str| if is_age(cell) { "AGE".to_owned() } else { cell.to_owned() };
    ended
        .lines()
        .iter()
        .map(|line| line.split("   ").map(str::trim).filter(|part| !part.is_empty()).map(cell).collect())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_has_the_columns_of_kubectl() {
    let cluster = shop().await;
    let expected = [
        &["NAME", "READY", "STATUS", "RESTARTS", "AGE"][..],
        &["cart-1", "0/1", "Pending", "0", "AGE"],
        &["front-10", "0/1", "Pending", "0", "AGE"],
        &["front-9", "1/1", "Running", "3", "AGE"],
    ];
    assert_eq!(cells(&cluster, &["pods", "-n", "shop"]).await, expected);
    let wide = cells(&cluster, &["pods", "-n", "shop", "-o", "wide", "--name", "9$"]).await;
    let expected = [
        &["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "NOMINATED NODE", "READINESS GATES"][..],
        &["front-9", "1/1", "Running", "3", "AGE", "10.0.0.7", "node-7", "<none>", "<none>"],
    ];
    assert_eq!(wide, expected);
    // Small pages give the same table.
    let pages = cells(&cluster, &["pods", "-A", "--page-size", "1", "--no-headers", "-L", "app"]).await;
    assert_eq!(pages.len(), 4);
    assert_eq!(pages[3], ["shop", "front-9", "1/1", "Running", "3", "AGE", "front-9"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_kinds_are_several_tables_with_prefixed_names() {
    let cluster = shop().await;
    let tables = cells(&cluster, &["po,deploy", "-n", "shop", "--exclude", "front-"]).await;
    let expected = [
        &["NAME", "READY", "STATUS", "RESTARTS", "AGE"][..],
        &["pod/cart-1", "0/1", "Pending", "0", "AGE"],
        &[],
        &["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"],
        &["deployment.apps/front", "0/2", "0", "0", "AGE"],
    ];
    assert_eq!(tables, expected);
    // Several objects of one kind are one table.
    let named = cells(&cluster, &["pod", "front-9", "cart-1", "-n", "shop", "--show-labels"]).await;
    let names: Vec<_> = named.iter().map(|row| [row[0].as_str(), row[5].as_str()]).collect();
    assert_eq!(names, [["NAME", "LABELS"], ["front-9", "app=front-9"], ["cart-1", "app=cart-1"]]);
    let missing = once(&cluster, &["pod/front-9", "pod/nope", "-n", "shop"]).await;
    assert_eq!(missing.code, Some(1));
    assert!(missing.stdout.contains("front-9"), "{}", missing.stdout);
    assert_eq!(missing.stderr, "informer: not found: pods \"nope\"\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_list_is_a_message() {
    let cluster = shop().await;
    let ended = once(&cluster, &["pods", "-n", "typo"]).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert_eq!(ended.stderr, "informer: no pods found in namespace typo\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_sorted_by_a_field() {
    let cluster = shop().await;
    for form in [
        "name",
        "table",
        "custom-columns=N:.metadata.name",
        "jsonpath={range .items[*]}{.metadata.name}{'\\n'}{end}",
    ] {
        let rows = cells(
            &cluster,
            &["pods", "-n", "shop", "--no-headers", "-o", form, "--sort-by", ".metadata.name"],
        )
        .await;
        let names: Vec<_> = rows.iter().map(|row| row[0].trim_start_matches("pod/")).collect();
        assert_eq!(names, ["cart-1", "front-10", "front-9"], "{form}");
    }
    let restarts = cells(
        &cluster,
        &["pods", "-n", "shop", "--no-headers", "--sort-by", "{.status.containerStatuses[*].restartCount}"],
    );
    assert_eq!(restarts.await.last().unwrap()[0], "front-9");
    let ended = run(&["watch", "pods", "--sort-by", ".metadata.name"]).await;
    assert!(ended.code == Some(2) && ended.stderr.contains("--once"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_and_custom_columns_are_those_of_kubectl() {
    let cluster = shop().await;
    let of = async |arguments: &[&str]| {
        let ended = once(&cluster, &[&["-n", "shop"], arguments].concat()).await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        ended.stdout
    };
    assert_eq!(of(&["pods", "-o", "jsonpath={.items[*].metadata.name}"]).await, "cart-1 front-10 front-9");
    assert_eq!(of(&["pod/cart-1", "-o", "jsonpath={.status.phase}"]).await, "Pending");
    assert_eq!(
        of(&["pod", "cart-1", "front-9", "-o", "jsonpath={.items[*].status.phase}"]).await,
        "Pending Running"
    );
    let file = folder().join("columns");
    std::fs::write(&file, "NAME IP\nmetadata.name .status.podIP\n").unwrap();
    let expected = "NAME       IP\ncart-1     <none>\nfront-10   <none>\nfront-9    10.0.0.7\n";
    assert_eq!(of(&["pods", "-o", "custom-columns=NAME:.metadata.name,IP:.status.podIP"]).await, expected);
    assert_eq!(of(&["pods", "-o", &format!("custom-columns-file={}", file.display())]).await, expected);
    let bad = run(&["watch", "pods", "-o", "jsonpath={.items[}"]).await;
    assert_eq!(bad.code, Some(2));
    assert!(
        bad.stderr.contains("invalid JSONPath \"{.items[}\" at byte 8: expected an index"),
        "{}",
        bad.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_prints_templates_columns_labels_and_managers() {
    let cluster = shop().await;
    let watch = |arguments: &[&str]| {
        let fixed =
            ["watch", "pods", "-n", "shop", "--initial", "--name", "^cart", "--kubeconfig", cluster.config()];
        Running::start(&[&fixed[..], arguments].concat())
    };
    let mut templates = watch(&["-o", "jsonpath={.metadata.name} is {.status.phase}"]);
    let mut columns = watch(&["-o", "custom-columns=NAME:.metadata.name,PHASE:.status.phase"]);
    let mut labels = watch(&["-L", "app", "-o", "wide"]);
    assert_eq!(templates.line().await, "cart-1 is Pending");
    assert_eq!([columns.line().await, columns.line().await], ["NAME     PHASE", "cart-1   Pending"]);
    assert!(labels.line().await.ends_with("  shop/cart-1  app=cart-1  Pending, 0/1 ready, on node-7"));
    cluster.patch(&pod("shop", "cart-1"), json!({"status": {"phase": "Running"}})).await;
    assert_eq!(templates.line().await, "cart-1 is Running");
    assert_eq!(columns.line().await, "cart-1   Running");
    let line = labels.line().await;
    assert!(line.contains("  shop/cart-1  app=cart-1  phase Pending -> Running  (by "), "{line}");
}
