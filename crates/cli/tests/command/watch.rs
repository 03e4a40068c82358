//! What `watch` prints, in each form.

use crate::program::{Running, end, informer, run};
use crate::server::{Cluster, deployment, pod};
use kube_client::{Api, api::ListParams};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind};
use kube_devserver::Churn;
use serde_json::{Value, json};

/// A cluster with pods in three namespaces and a deployment.
async fn shop() -> Cluster {
    let cluster = Cluster::start().await;
    for (namespace, name) in
        [("shop", "front-2"), ("shop", "front-1"), ("shop-old", "front-0"), ("default", "alone")]
    {
        cluster.create(pod(namespace, name)).await;
    }
    cluster.create(deployment("shop", "front")).await;
    cluster
}

async fn names(cluster: &Cluster, arguments: &[&str]) -> Vec<String> {
    let rest = ["--once", "-o", "name", "--kubeconfig", cluster.config()];
    let ended = run(&[&["watch"], arguments, &rest].concat()).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    ended.lines().into_iter().map(str::to_owned).collect()
}

/// Returns a line without the time at its start and the field manager at its end.
fn untimed(line: &str) -> &str {
    let (time, rest) = line.split_once("  ").unwrap();
    assert_eq!(time.len(), "12:00:00.000".len(), "{line}");
    rest.split_once("  (by ").map_or(rest, |(rest, _)| rest)
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_those_of_kubectl_in_the_order_of_the_server() {
    let cluster = shop().await;
    let all = ["pod/alone", "pod/front-0", "pod/front-1", "pod/front-2"];
    assert_eq!(names(&cluster, &["pods", "-A"]).await, all);
    assert_eq!(names(&cluster, &["deploy", "-A"]).await, ["deployment.apps/front"]);
    assert_eq!(
        names(&cluster, &["po,deployments.v1.apps", "-n", "shop"]).await,
        ["pod/front-1", "pod/front-2", "deployment.apps/front"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_and_selectors_narrow() {
    let cluster = shop().await;
    assert_eq!(names(&cluster, &["pods"]).await, ["pod/alone"]);
    assert_eq!(
        names(&cluster, &["pods", "-n", "shop", "-n", "default"]).await,
        ["pod/alone", "pod/front-1", "pod/front-2"]
    );
    assert_eq!(
        names(&cluster, &["pods", "-A", "-l", "app in (front-0, alone)"]).await,
        ["pod/alone", "pod/front-0"]
    );
    let fields = ["pods", "-A", "--field-selector", "metadata.name=front-1"];
    assert_eq!(names(&cluster, &fields).await, ["pod/front-1"]);
    assert_eq!(names(&cluster, &["nodes", "-n", "shop"]).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_is_a_line_with_a_summary() {
    let cluster = shop().await;
    let mut watch = Running::start(&[
        "watch",
        "pods,deployments",
        "-n",
        "shop",
        "--initial",
        "--kubeconfig",
        cluster.config(),
    ]);
    let mut there: Vec<String> = Vec::new();
    for _ in 0..3 {
        there.push(untimed(&watch.line().await).to_owned());
    }
    there.sort();
    assert_eq!(
        there,
        [
            "existing  deployment.apps  shop/front  0/2 ready",
            "existing  pod              shop/front-1  Pending, 0/1 ready, on node-7",
            "existing  pod              shop/front-2  Pending, 0/1 ready, on node-7",
        ]
    );
    cluster.patch(&pod("shop", "front-1"), json!({"status": {"phase": "Running"}})).await;
    let line = watch.line().await;
    assert_eq!(untimed(&line), "updated   pod              shop/front-1  phase Pending -> Running");
    cluster.patch(&deployment("shop", "front"), json!({"spec": {"replicas": 3}})).await;
    let line = watch.line().await;
    assert_eq!(untimed(&line), "updated   deployment.apps  shop/front  replicas 2 -> 3");
    cluster.create(pod("shop", "front-3")).await;
    let line = watch.line().await;
    assert_eq!(untimed(&line), "added     pod              shop/front-3  Pending, 0/1 ready, on node-7");
    cluster.delete(&pod("shop", "front-3")).await;
    let line = watch.line().await;
    assert!(untimed(&line).starts_with("deleted   pod              shop/front-3"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn json_lines_keep_the_documented_schema() {
    let cluster = shop().await;
    let arguments = ["watch", "pods", "-n", "shop", "-o", "json", "--initial", "-l", "app=front-1"];
    let mut watch = Running::start(&[&arguments[..], &["--kubeconfig", cluster.config()]].concat());
    let first: Value = serde_json::from_str(&watch.line().await).unwrap();
    assert_eq!((&first["event"], &first["initial"]), (&json!("added"), &json!(true)));
    assert_eq!(first["object"]["kind"], "Pod");
    cluster.patch(&pod("shop", "front-1"), json!({"status": {"phase": "Running"}})).await;
    let second: Value = serde_json::from_str(&watch.line().await).unwrap();
    let mut fields: Vec<_> = second.as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    let expected = [
        "changes",
        "event",
        "initial",
        "manager",
        "name",
        "namespace",
        "object",
        "resource",
        "resourceVersion",
        "time",
        "uid",
    ];
    assert_eq!(fields, expected);
    assert_eq!(second["changes"], json!([{"path": "status.phase", "old": "Pending", "new": "Running"}]));
    assert_eq!(
        (&second["event"], &second["resource"], &second["name"]),
        (&json!("updated"), &json!("pods"), &json!("front-1"))
    );
    cluster.delete(&pod("shop", "front-1")).await;
    let third: Value = serde_json::from_str(&watch.line().await).unwrap();
    assert_eq!((&third["event"], &third["observed"]), (&json!("deleted"), &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_shows_each_field_old_above_new() {
    let cluster = shop().await;
    let mut watch = Running::start(&[
        "watch",
        "pods",
        "-n",
        "shop",
        "-o",
        "diff",
        "--initial",
        "--kubeconfig",
        cluster.config(),
    ]);
    for _ in 0..2 {
        watch.line().await;
    }
    cluster.patch(&pod("shop", "front-1"), json!({"metadata": {"labels": {"tier": "web"}}})).await;
    assert_eq!(untimed(&watch.line().await), "updated   shop/front-1");
    assert_eq!(watch.line().await, "    + metadata.labels.tier: web");
    cluster.patch(&pod("shop", "front-1"), json!({"status": {"phase": "Running"}})).await;
    assert_eq!(untimed(&watch.line().await), "updated   shop/front-1");
    assert_eq!(watch.line().await, "    - status.phase: Pending");
    assert_eq!(watch.line().await, "    + status.phase: Running");
}

#[tokio::test(flavor = "multi_thread")]
async fn colours_come_only_when_wanted() {
    let cluster = shop().await;
    let arguments =
        ["watch", "pods", "-n", "shop", "--initial", "--for", "1s", "--kubeconfig", cluster.config()];
    assert!(!run(&arguments).await.stdout.contains('\x1b'));
    let coloured = run(&[&arguments[..], &["--color", "always"]].concat()).await;
    assert!(coloured.stdout.contains("\x1b[1mshop/front-1\x1b[0m"), "{}", coloured.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_and_small_pages_lead_to_the_same_state() {
    let cluster = shop().await;
    let all = names(&cluster, &["pods", "-A"]).await;
    for arguments in [
        &["pods", "-A", "--strategy", "list", "--page-size", "1"][..],
        &["pods", "-A", "--strategy", "stream", "--storage", "compressed"],
        &["pods", "-A", "--encoding", "json"],
        &["pods", "-A", "--encoding", "protobuf"],
    ] {
        assert_eq!(names(&cluster, arguments).await, all);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn managed_fields_are_never_kept() {
    let cluster = Cluster::start().await;
    cluster.server.churn(Churn::pods(3));
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Pod"));
    let pods: Api<DynamicObject> = Api::all_with(cluster.server.client(), &kind);
    let pods = pods.list(&ListParams::default()).await.unwrap();
    assert!(pods.items.len() == 3 && pods.iter().all(|pod| pod.metadata.managed_fields.is_some()));
    for encoding in ["json", "protobuf"] {
        let arguments = ["watch", "pods", "-A", "--once", "-o", "json", "--encoding", encoding];
        let ended = run(&[&arguments[..], &["--kubeconfig", cluster.config()]].concat()).await;
        assert_eq!(ended.stdout.lines().count(), 3, "{}", ended.stderr);
        for line in ended.stdout.lines() {
            let metadata = &serde_json::from_str::<Value>(line).unwrap()["object"]["metadata"];
            assert!(metadata["uid"].is_string() && metadata.get("managedFields").is_none(), "{line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resync_emits_every_object_again() {
    let cluster = shop().await;
    let arguments = ["watch", "pods", "-n", "default", "--resync", "1s", "--kubeconfig", cluster.config()];
    let mut watch = Running::start(&arguments);
    assert_eq!(untimed(&watch.line().await), "resynced  default/alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_option_uses_a_built_in_server() {
    let ended = run(&["watch", "pods", "--demo", "--once", "-o", "name"]).await;
    assert_eq!(ended.code, Some(0));
    // Some of them are deleted now and then.
    assert!((900..=1_000).contains(&ended.lines().len()), "{}", ended.lines().len());
    let notice = "informer: DEMO DATA: a built-in server with 1,000 generated pods, not a cluster\n";
    assert_eq!(ended.stderr, notice);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_subcommand_it_shows_demo_data_and_ends() {
    // A kubeconfig that leads nowhere does not matter to it.
    let mut command = informer(&[]);
    command.env("KUBECONFIG", "/nowhere");
    let ended = end(command).await;
    assert_eq!(ended.code, Some(0));
    assert!(!ended.stdout.is_empty() && ended.stderr.contains("DEMO DATA"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn yaml_and_json_documents_are_equal() {
    let cluster = shop().await;
    let documents = async |form: &str| {
        let arguments =
            ["watch", "pods,deploy", "-A", "--once", "-o", form, "--kubeconfig", cluster.config()];
        let ended = run(&arguments).await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{form}");
        ended.stdout
    };
    let timeless = |mut document: Value| {
        document["time"] = Value::Null;
        document
    };
    let json = documents("json").await;
    let json: Vec<Value> = json.lines().map(|line| timeless(serde_json::from_str(line).unwrap())).collect();
    let yaml = documents("yaml").await;
    let yaml = yaml.strip_prefix("---\n").unwrap().split("\n---\n");
    let yaml: Vec<Value> = yaml.map(|text| timeless(serde_saphyr::from_str(text).unwrap())).collect();
    assert_eq!(json.len(), 5);
    assert_eq!(yaml, json);
}
