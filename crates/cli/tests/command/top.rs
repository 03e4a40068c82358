//! `informer top` in a terminal, compared with the objects of the server.

use crate::server::{Cluster, deployment, pod};
use crate::terminal::Terminal;
use kube_devserver::Fault;
use serde_json::json;

async fn shop() -> Cluster {
    let cluster = Cluster::start().await;
    for number in 0..50 {
        cluster
            .create(pod(if number % 2 == 0 { "shop" } else { "mail" }, &format!("worker-{number:02}")))
            .await;
    }
    cluster.create(deployment("shop", "front")).await;
    cluster
}

fn start(cluster: &Cluster, resources: &str) -> Terminal {
    Terminal::start(&["top", resources, "--kubeconfig", cluster.config()], &[])
}

/// The row of a kind.
fn row(text: &str, kind: &str) -> Vec<String> {
    let line = text.lines().find(|line| line.starts_with(kind)).unwrap_or_default();
    line.split_whitespace().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_overview_shows_the_resources_of_the_server() {
    let cluster = shop().await;
    let mut terminal = start(&cluster, "pods,deployments");
    terminal.wait("50 pods", |text| row(text, "pods").get(1..3) == Some(&["watching".into(), "50".into()]));
    let text =
        terminal.wait("a deployment", |text| row(text, "deployments.apps").get(2) == Some(&"1".into()));
    assert!(text.lines().next().unwrap().contains(&cluster.url()), "{text}");
    cluster.patch(&deployment("shop", "front"), json!({"spec": {"replicas": 5}})).await;
    let text = terminal.wait_for("replicas 2 -> 5");
    assert!(text.contains("updated  deployment.apps shop/front"), "{text}");
    cluster.delete(&pod("shop", "worker-00")).await;
    terminal.wait("49 pods", |text| row(text, "pods").get(2) == Some(&"49".into()));
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_walks_from_kinds_to_objects_to_changes() {
    let cluster = shop().await;
    let mut terminal = start(&cluster, "pods");
    terminal.wait("50 pods", |text| row(text, "pods").get(2) == Some(&"50".into()));
    terminal.press("\r");
    let text = terminal.wait_for("pods > 50 by name");
    let first: Vec<_> = text.lines().skip(3).take(3).map(|line| row(line, "mail")[1].clone()).collect();
    assert_eq!(first, ["worker-01", "worker-03", "worker-05"], "{text}");
    terminal.press("/worker-33");
    terminal.wait_for("pods > 1 by name, /worker-33_");
    terminal.press("\r\r");
    let text = terminal.wait_for("pods > mail/worker-33 > yaml");
    assert!(text.contains("kind: Pod"), "{text}");
    cluster.patch(&pod("mail", "worker-33"), json!({"status": {"phase": "Running"}})).await;
    terminal.press("\t");
    terminal.wait_for("- status.phase: Pending");
    terminal.wait_for("+ status.phase: Running");
    terminal.press("\x1b");
    terminal.wait_for("Running, 0/1 ready, on node-7");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_filtered_by_index_and_sorted() {
    let cluster = shop().await;
    let mut terminal = start(&cluster, "pods");
    terminal.wait("50 pods", |text| row(text, "pods").get(2) == Some(&"50".into()));
    terminal.press("\rn");
    terminal.wait_for("(all)");
    terminal.press("mai\r");
    let text = terminal.wait_for("pods > 25 by name, namespace mail");
    assert!(!text.contains("shop"), "{text}");
    terminal.press("m");
    terminal.wait("the nodes", |text| text.contains("node:") && text.contains("(all)"));
    terminal.press("\x1b[B\r");
    terminal.wait_for("pods > 25 by name, namespace mail, node node-7");
    terminal.press("\x1b");
    terminal.wait("no node filter", |text| !text.contains("node node-7"));
    terminal.press("\x1b");
    terminal.wait_for("pods > 50 by name");
    terminal.press("ss");
    terminal.wait_for("pods > 50 by change");
    cluster.patch(&pod("shop", "worker-20"), json!({"status": {"phase": "Running"}})).await;
    terminal.wait("the changed one first", |text| {
        text.lines().nth(3).is_some_and(|line| line.contains("worker-20") && line.contains("Running"))
    });
    terminal.press("\x03");
    assert_eq!(terminal.end().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_is_added_while_it_runs() {
    let cluster = shop().await;
    let mut terminal = start(&cluster, "pods");
    terminal.wait("50 pods", |text| row(text, "pods").get(2) == Some(&"50".into()));
    terminal.press(":deploymnets\r");
    terminal.wait_for("the server has no resource \"deploymnets\"");
    terminal.press("\x1b");
    terminal.wait("no prompt", |text| !text.contains("add a resource"));
    terminal.press(":deploy\r");
    terminal.wait_for("deployments.apps > 1 by name");
    cluster.patch(&deployment("shop", "front"), json!({"spec": {"replicas": 5}})).await;
    terminal.press("\r\t");
    let text = terminal.wait_for("+ spec.replicas: 5");
    assert!(text.contains("updated  by "), "{text}");
    terminal.press("\x1b");
    terminal.wait_for("deployments.apps > 1 by name");
    terminal.press("\x1b");
    terminal.wait("both kinds", |text| {
        row(text, "deployments.apps").get(2) == Some(&"1".into())
            && row(text, "pods").get(2) == Some(&"50".into())
    });
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_object_can_be_found_again() {
    let cluster = shop().await;
    let mut terminal = start(&cluster, "pods");
    terminal.wait("50 pods", |text| row(text, "pods").get(2) == Some(&"50".into()));
    cluster.delete(&pod("mail", "worker-33")).await;
    terminal.press("\r");
    terminal.wait_for("pods > 49 by name");
    terminal.press("d");
    let text = terminal.wait_for("pods > 1 deleted in the last hour");
    assert!(text.contains("worker-33") && text.contains("deleted at "), "{text}");
    terminal.press("\r");
    let text = terminal.wait_for("Tab shows its last changes");
    assert!(text.contains("kind: Pod"), "{text}");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_is_shown_until_it_is_resolved() {
    let cluster = shop().await;
    let fault = cluster.server.faults().inject(Fault::answer(403).of("pods"));
    let mut terminal = start(&cluster, "pods");
    let text = terminal.wait_for("server returned 403");
    assert!(text.contains("errors: forbidden"), "{text}");
    fault.withdraw();
    terminal.wait("50 pods", |text| row(text, "pods").get(1..3) == Some(&["watching".into(), "50".into()]));
    terminal.press("?");
    terminal.wait_for("any key closes the help");
    terminal.press("xq");
    assert_eq!(terminal.end().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_subcommand_a_terminal_shows_the_demo() {
    let mut terminal = Terminal::start(&[], &[]);
    terminal.wait("pods", |text| {
        let row = row(text, "pods");
        row.get(1) == Some(&"watching".into()) && row.get(2).is_some_and(|count| count.len() == "2,000".len())
    });
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_shows_a_fault_and_survives_it() {
    let mut terminal = Terminal::start(&["demo", "--pods", "200", "--fault-every", "3"], &[]);
    terminal.wait_for("fault: all watches are closed");
    terminal.wait("watching again", |text| {
        !text.contains("fault: all watches") && row(text, "pods").get(1) == Some(&"watching".into())
    });
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}
