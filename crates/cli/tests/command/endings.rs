//! How `watch` ends.

use crate::program::{Running, run};
use crate::server::{Cluster, pod};
use crate::terminal::Terminal;

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
async fn it_ends_quietly_when_nobody_reads() {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_progress_colours_and_the_end() {
    let cluster = Cluster::start().await;
    cluster.create(pod("default", "a")).await;
    let arguments = ["watch", "pods", "--initial", "--kubeconfig", cluster.config()];
    let mut terminal = Terminal::start(&arguments, &[]);
    terminal.wait_for("1 pods after");
    terminal.wait_for("default/a  Pending, on node-7");
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
