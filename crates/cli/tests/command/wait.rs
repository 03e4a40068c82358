//! `informer wait`, with the conditions and exit codes of `kubectl wait`.

use crate::program::{Ended, Running, run};
use crate::server::{Cluster, pod};
use kube_devserver::Fault;
use serde_json::json;

async fn wait(cluster: &Cluster, arguments: &[&str]) -> Ended {
    run(&[&["wait", "--kubeconfig", cluster.config()], arguments].concat()).await
}

fn start(cluster: &Cluster, arguments: &[&str]) -> Running {
    Running::start(&[&["wait", "--timeout", "50s", "--kubeconfig", cluster.config()], arguments].concat())
}

fn check(ended: &Ended, code: i32, stdout: &str, words: &[&str]) {
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), stdout), "{}", ended.stderr);
    for words in words {
        assert!(ended.stderr.contains(words), "no {words:?} in:\n{}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_when_all_objects_meet_the_condition() {
    let cluster = Cluster::start().await;
    let ready = |status: &str| json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status, "reason": "Probe"}]}});
    for name in ["a", "b"] {
        cluster.create(pod("default", name)).await;
    }
    cluster.patch(&pod("default", "a"), ready("True")).await;
    cluster.patch(&pod("default", "b"), ready("False")).await;
    check(&wait(&cluster, &["pod/a", "--for=condition=Ready"]).await, 0, "pod/a condition met\n", &[]);
    check(&wait(&cluster, &["pod", "b", "--for=condition=ready=false", "-q"]).await, 0, "", &[]);
    let late = wait(&cluster, &["pods", "--all", "--for=condition=Ready", "--timeout", "5s"]).await;
    let words = ["timed out waiting for the condition on pods/b", "pods/b: Ready is False (Probe)"];
    check(&late, 1, "pod/a condition met\n", &words);
    check(&wait(&cluster, &["pod/b", "--for=condition=Ready", "--timeout=0"]).await, 1, "", &words);
    let mut running = start(&cluster, &["pods", "-l", "app in (a, b)", "--for=condition=Ready"]);
    assert_eq!(running.line().await, "pod/a condition met");
    assert!(!running.has_ended());
    cluster.patch(&pod("default", "b"), ready("True")).await;
    check(&running.end().await, 0, "pod/b condition met\n", &[]);
    let value = ["pod/a", "pod/b", "--for", "jsonpath={.status.phase}=Running"];
    assert_eq!(wait(&cluster, &value).await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_waits_for_creation_and_deletion() {
    let cluster = Cluster::start().await;
    let mut created = start(&cluster, &["pod/a", "--for=create"]);
    // The first list was empty once a second command has seen that.
    check(&wait(&cluster, &["pod/a", "--for=delete"]).await, 0, "", &[]);
    assert!(!created.has_ended());
    cluster.create(pod("default", "a")).await;
    check(&created.end().await, 0, "pod/a condition met\n", &[]);
    let deleted = start(&cluster, &["pod/a", "--for=delete"]);
    let lost = start(&cluster, &["pod/a", "--for=condition=Ready"]);
    let exists = wait(&cluster, &["pod/a", "--for=delete", "--timeout=5s"]).await;
    check(&exists, 1, "", &["timed out waiting for the condition on pods/a", "pods/a: it exists"]);
    cluster.delete(&pod("default", "a")).await;
    check(&deleted.end().await, 0, "pod/a condition met\n", &[]);
    let lost = lost.end().await;
    assert_eq!(lost.code, Some(1));
    let expected = ["pod/a was deleted before it met the condition", "not found: pods \"a\""];
    assert!(expected.iter().any(|words| lost.stderr.contains(words)), "{}", lost.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_met_is_an_error_at_once() {
    let cluster = Cluster::start().await;
    let ready = "--for=condition=Ready";
    check(&wait(&cluster, &["pod/nope", ready]).await, 1, "", &["not found: pods \"nope\"", "--for=create"]);
    check(&wait(&cluster, &["pods", "-l", "a=b", ready]).await, 1, "", &["no matching pods found"]);
    check(&wait(&cluster, &["pods", ready]).await, 2, "", &["no objects of pods are selected", "--all"]);
    check(&wait(&cluster, &["pod/a", "--for=Ready"]).await, 2, "", &["invalid condition \"Ready\""]);
    cluster.server.faults().inject(Fault::answer(403).of("pods"));
    check(&wait(&cluster, &["pod/a", ready]).await, 5, "", &["you are not allowed to list and watch pods"]);
}
