//! How `watch` ends.

use crate::folder::folder;
use crate::program::{Running, informer, run};
use crate::server::{Cluster, pod};
use crate::terminal::Terminal;
use kube_devserver::{Churn, Fault, Verb};
use serde_json::Value;
use std::collections::BTreeMap;

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_when_time_is_up_with_a_summary() {
    let cluster = Cluster::start().await;
    let ended = run(&["watch", "pods", "--for", "200ms", "--kubeconfig", cluster.config()]).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert!(ended.stderr.starts_with("informer: 0 objects at the end; 0 added, 0 updated, 0 deleted in 0."));
    let ended = run(&["watch", "pods", "--for", "200ms", "-q", "--kubeconfig", cluster.config()]).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_without_an_error_when_stdout_is_closed() {
    let cluster = Cluster::start().await;
    cluster.create(pod("default", "a")).await;
    let mut watch = Running::start(&["watch", "pods", "--initial", "--kubeconfig", cluster.config()]);
    assert!(watch.line().await.contains("default/a"));
    watch.close_stdout();
    for number in 0.. {
        if watch.has_ended() {
            break;
        }
        assert!(number < 10_000, "it goes on without a reader");
        cluster.create(pod("default", &format!("b-{number}"))).await;
    }
    let ended = watch.end().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_stdout_names_it() {
    let cluster = Cluster::start().await;
    cluster.create(pod("default", "a")).await;
    for format in ["table", "name", "json"] {
        let mut command =
            informer(&["watch", "pods", "--once", "-o", format, "--kubeconfig", cluster.config()]);
        command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        let output = command.spawn().unwrap().wait_with_output().await.unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{format}: {stderr}");
        assert!(stderr.starts_with("informer: cannot write to stdout: No space left on device"), "{stderr}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_progress_colours_and_the_end() {
    let cluster = Cluster::start().await;
    cluster.create(pod("default", "a")).await;
    let arguments = ["watch", "pods", "--initial", "--kubeconfig", cluster.config()];
    let mut terminal = Terminal::start(&arguments, &[]);
    terminal.wait_for("1 pods synced in");
    terminal.wait_for("default/a  Pending, 0/1 ready, on node-7");
    cluster.delete(&pod("default", "a")).await;
    terminal.wait_for("deleted");
    assert!(terminal.is_coloured());
    terminal.press("\x03");
    let (code, text) = terminal.end();
    assert_eq!(code, 0);
    assert!(text.contains("0 objects at the end; 0 added, 0 updated, 1 deleted"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_color_is_respected() {
    let cluster = Cluster::start().await;
    cluster.create(pod("default", "a")).await;
    let arguments = ["watch", "pods", "--initial", "--kubeconfig", cluster.config()];
    let mut terminal = Terminal::start(&arguments, &[("NO_COLOR", "1")]);
    terminal.wait_for("default/a");
    cluster.delete(&pod("default", "a")).await;
    terminal.wait_for("deleted");
    assert!(!terminal.is_coloured());
    terminal.press("\x03");
    assert_eq!(terminal.end().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_how_much_is_still_to_come() {
    let cluster = Cluster::start().await;
    for number in 0..25 {
        cluster.create(pod("default", &format!("p-{number:02}"))).await;
    }
    let faults = cluster.server.faults();
    // A list at any version comes in one answer; one at the newest comes in pages, of which the third does not come.
    faults.inject(Fault::answer(410).on(Verb::List).of("pods").times(1));
    let stall = faults.inject(Fault::stall_until_withdrawn().on(Verb::List).of("pods").after(3));
    let list = ["watch", "pods", "--strategy", "list", "--page-size", "10"];
    let terminal = Terminal::start(&[&list[..], &["--kubeconfig", cluster.config()]].concat(), &[]);
    let text = terminal.wait_for("20 of 25 objects, 80%");
    assert!(
        text.lines().any(|line| line.starts_with("informer: pods@default: server returned 410")),
        "{text}"
    );
    drop(stall);
    cluster.server.faults().clear();
    terminal.wait_for("25 pods synced in");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_that_was_received_is_printed_before_it_ends() {
    let cluster = Cluster::start().await;
    let churning = cluster.server.churn(Churn::pods(200).rate(30.0));
    let dump = folder().join("dump");
    let arguments = ["watch", "pods", "-A", "-o", "json", "--initial", "--timeout", "3s"];
    let more = ["--dump", dump.to_str().unwrap(), "--kubeconfig", cluster.config()];
    let ended = run(&[&arguments[..], &more].concat()).await;
    churning.stop().await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    // The printed events lead to the cache as it was at the end.
    let key =
        |line: &Value| format!("{}/{}", line["namespace"].as_str().unwrap(), line["name"].as_str().unwrap());
    let (mut printed, mut changes) = (BTreeMap::new(), 0);
    for line in ended.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        changes += usize::from(line["initial"] == false);
        if line["event"] == "deleted" {
            printed.remove(&key(&line));
        } else {
            printed.insert(key(&line), line["resourceVersion"].clone());
        }
    }
    let dump = std::fs::read_to_string(dump).unwrap();
    let cached = dump.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let cached: BTreeMap<_, _> = cached
        .map(|line| (line["key"].as_str().unwrap().to_owned(), line["resourceVersion"].clone()))
        .collect();
    assert!(changes > 20, "{changes}");
    assert_eq!(printed, cached, "{}", ended.stderr);
}
