//! What a person is told when something is wrong, and the exit code that says so.

use crate::folder::folder;
use crate::program::{Ended, end, informer, run};
use crate::server::{Cluster, deployment, pod};
use crate::terminal::Terminal;
use kube_devserver::{DevServer, Fault, Verb, corpus::Widgets};
use serde_json::Value;
use std::net::TcpListener;

fn check(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, Some(code), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    for words in words {
        assert!(ended.stderr.contains(words), "no {words:?} in:\n{}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_kind_leads_to_the_right_one() {
    let cluster = Cluster::start().await;
    let ended = run(&["watch", "deploymnets", "--kubeconfig", cluster.config()]).await;
    check(&ended, 3, &["the server has no resource \"deploymnets\"", "did you mean deployments.apps?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_right_comes_with_the_rule_that_grants_it() {
    let cluster = Cluster::start().await;
    cluster.server.faults().inject(Fault::answer(403).of("deployments"));
    let ended = run(&["watch", "deploy", "-q", "-n", "shop", "--kubeconfig", cluster.config()]).await;
    let words = [
        "you may not list and watch deployments.apps in namespace shop",
        "kind: Role\n",
        "namespace: shop",
        "apiGroups: [\"apps\"]",
        "resources: [\"deployments\"]",
        "verbs: [\"list\", \"watch\"]",
    ];
    check(&ended, 5, &words);
    let ended = run(&["watch", "deploy", "-A", "--once", "--kubeconfig", cluster.config()]).await;
    check(
        &ended,
        5,
        &["in all namespaces", "kind: ClusterRole\n", "name namespaces that you may read, with -n"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_category_what_may_not_be_read_is_left_out() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "front")).await;
    cluster.create(deployment("shop", "back")).await;
    cluster.server.faults().inject(Fault::answer(403).of("deployments"));
    let watch = async |words: &str, more: &str| {
        let line = format!("watch {words} -A {more} --kubeconfig {}", cluster.config());
        run(&line.split_whitespace().collect::<Vec<_>>()).await
    };
    let ended = watch("all", "--once -o name").await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("front") && !ended.stdout.contains("back"), "{}", ended.stdout);
    let ended = watch("all", "--once").await;
    let lines: Vec<_> =
        ended.lines().iter().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>()).collect();
    assert_eq!(lines, [["NAMESPACE", "NAME"], ["shop", "pod/front"]]);
    // In the figures, it is as if nobody had asked for it.
    let stats = folder().join("stats.json");
    watch("all", &format!("--once -q --stats {}", stats.display())).await;
    let stats: Value = serde_json::from_str(&std::fs::read_to_string(stats).unwrap()).unwrap();
    assert!(stats["sync_seconds"].is_number() && stats["objects"] == 1, "{stats}");
    let note = "you may not list and watch deployments.apps in all namespaces: ";
    assert!(ended.stderr.contains(note) && ended.stderr.contains("; it is left out\n"), "{}", ended.stderr);
    // What somebody has named is wanted.
    check(&watch("all deploy", "--once").await, 5, &["you may not list and watch deployments.apps"]);
    for verb in [Verb::List, Verb::Watch] {
        cluster.server.faults().inject(Fault::answer(403).on(verb));
    }
    for more in ["--once", ""] {
        check(&watch("all", more).await, 5, &["you may not list and watch", "kind: ClusterRole"]);
    }
    // A question that is wrong is wrong for each of them.
    cluster.server.faults().clear();
    cluster.server.faults().inject(Fault::answer(400).of("deployments"));
    check(&watch("all", "--once").await, 1, &["cannot follow deployments.apps: the server returned 400"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_out_is_not_waited_for() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "front")).await;
    cluster.server.faults().inject(Fault::answer(403).of("deployments"));
    let mut terminal = Terminal::start(&["watch", "all", "-A", "--kubeconfig", cluster.config()], &[]);
    let text = terminal.wait_for("changes follow");
    assert!(text.contains("1 pods") && !text.contains("0 deployments"), "{text}");
    cluster.delete(&pod("shop", "front")).await;
    terminal.wait_for("deleted");
    terminal.press("\x03");
    let (code, text) = terminal.end();
    assert_eq!(code, 0);
    assert!(text.contains("1 deleted") && !text.contains("had not become complete"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_credentials_are_told() {
    let cluster = Cluster::of(DevServer::builder().token("right")).await;
    let ended = run(&["watch", "pods", "--server", &cluster.url(), "--token", "wrong"]).await;
    check(&ended, 5, &["answered 401", "credentials are missing, wrong or expired"]);
    let ended = run(&["watch", "pods", "--once", "--server", &cluster.url(), "--token", "right"]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let ended = run(&["watch", "pods", "--server", &url]).await;
    check(&ended, 6, &[&format!("cannot reach {url}"), "refused", "nothing listens there"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_not_trusted_is_told() {
    let cluster = Cluster::of(DevServer::builder().tls([""; 0]).token("t")).await;
    let ended = run(&["watch", "pods", "--server", &cluster.url(), "--token", "t"]).await;
    check(&ended, 6, &["certificate is not trusted", "--insecure-skip-tls-verify"]);
    let looks_away =
        ["watch", "pods", "--once", "--server", &cluster.url(), "--token", "t", "--insecure-skip-tls-verify"];
    assert_eq!(run(&looks_away).await.code, Some(0));
    let trusts = run(&["watch", "pods", "--once", "--kubeconfig", cluster.config()]).await;
    assert_eq!(trusts.code, Some(0), "{}", trusts.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_told() {
    let cluster = Cluster::start().await;
    let url = cluster.url().replace("http:", "https:");
    let ended = run(&["watch", "pods", "--server", &url]).await;
    check(&ended, 6, &["the server does not speak TLS", "http://"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_kubeconfig_is_told_and_nothing_else_is_used() {
    let folder = folder();
    let (garbage, empty) = (folder.join("garbage"), folder.join("empty"));
    std::fs::write(&garbage, "token: sesame\nclusters: [\n").unwrap();
    std::fs::write(&empty, "apiVersion: v1\nkind: Config\n").unwrap();
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let table = [
        (text(&folder.join("missing")), "cannot be read: No such file"),
        (text(&garbage), "cannot be read: "),
        (text(&empty), "names no current context"),
    ];
    for (path, words) in table {
        check(&run(&["watch", "pods", "--kubeconfig", &path]).await, 4, &[&path, words]);
        let mut command = informer(&["watch", "pods"]);
        command.env("KUBECONFIG", &path);
        let ended = end(command).await;
        check(&ended, 4, &[&path, words]);
        assert!(!ended.stderr.contains("within this process"));
        assert!(!ended.stderr.contains("sesame"), "secrets stay in the file: {}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_context_comes_with_those_there_are() {
    let cluster = Cluster::start().await;
    let ended = run(&["watch", "pods", "--kubeconfig", cluster.config(), "--context", "prod"]).await;
    check(&ended, 4, &["has no context \"prod\"", "it has the contexts devserver"]);
    let ended = run(&["watch", "pods", "--context", "prod"]).await;
    check(&ended, 4, &["no kubeconfig in which to look for the context \"prod\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kubeconfig_at_home_and_in_the_environment_are_found() {
    let cluster = Cluster::start().await;
    let home = folder();
    std::fs::create_dir(home.join(".kube")).unwrap();
    std::fs::copy(&cluster.kubeconfig, home.join(".kube/config")).unwrap();
    let mut at_home = informer(&["watch", "namespaces", "--once", "-o", "name"]);
    at_home.env("HOME", &home);
    let mut named = informer(&["watch", "namespaces", "--once", "-o", "name"]);
    named.env("KUBECONFIG", &cluster.kubeconfig);
    for command in [at_home, named] {
        let ended = end(command).await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        assert_eq!(ended.lines()[0], "namespace/default");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_are_told() {
    let cluster = Cluster::start().await;
    let table = [
        (&["watch", "pods", "--once", "-o", "diff"][..], "--once shows one state"),
        (&["watch", "pods", "-l", "a in b"], "invalid label selector \"a in b\""),
        (&["watch", "pods", "-n", "No_Such"], "invalid namespace name \"No_Such\""),
        (&["watch"], "<RESOURCE>"),
        (&["watch", "pods", "--for", "soon"], "\"soon\" is no duration"),
        (&["top"], "`top` draws on a terminal"),
        (&["demo"], "`demo` draws on a terminal"),
    ];
    for (arguments, words) in table {
        let is_watch = arguments[0] == "watch";
        let more = if is_watch { vec!["--kubeconfig", cluster.config()] } else { Vec::new() };
        check(&run(&[arguments, &more].concat()).await, 2, &[words]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_none_is_told() {
    let ended = run(&["watch", "pods", "--server", "cluster.example:6443"]).await;
    check(&ended, 4, &["is no address of a server", "https://host:port"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encoding_that_the_server_lacks_is_told() {
    let cluster = Cluster::start().await;
    cluster.create(Widgets::definition()).await;
    let ended =
        run(&["watch", "widgets", "-q", "--encoding", "protobuf", "--kubeconfig", cluster.config()]).await;
    check(&ended, 1, &["cannot follow widgets.", "the server returned 406"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_is_not_there_in_time_is_told() {
    let cluster = Cluster::start().await;
    cluster.server.faults().inject(Fault::stall_until_withdrawn().of("pods"));
    let ended = run(&["watch", "pods", "--once", "--for", "300ms", "--kubeconfig", cluster.config()]).await;
    check(&ended, 1, &["not complete in time: pods"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_streams_is_told_of_where_only_streams_are_wanted() {
    let cluster = Cluster::start().await;
    cluster.server.faults().inject(Fault::refuse_streaming_lists());
    let arguments = ["watch", "pods", "--once", "-q", "--strategy", "stream"];
    let ended = run(&[&arguments[..], &["--kubeconfig", cluster.config()]].concat()).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("it does not stream the initial state; --strategy auto"),
        "{}",
        ended.stderr
    );
}
