//! Error messages and exit codes.

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
        "you are not allowed to list and watch deployments.apps in namespace shop",
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
        &[
            "in all namespaces",
            "kind: ClusterRole\n",
            "select namespaces that you are allowed to read, with -n",
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn forbidden_resources_of_a_category_are_skipped() {
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
    // It does not count in the statistics.
    let stats = folder().join("stats.json");
    watch("all", &format!("--once -q --stats {}", stats.display())).await;
    let stats: Value = serde_json::from_str(&std::fs::read_to_string(stats).unwrap()).unwrap();
    assert!(stats["sync_seconds"].is_number() && stats["objects"] == 1, "{stats}");
    let note = "you are not allowed to list and watch deployments.apps in all namespaces: ";
    assert!(ended.stderr.contains(note) && ended.stderr.contains("; skipped\n"), "{}", ended.stderr);
    // A resource that is named on the command line is an error.
    check(
        &watch("all deploy", "--once").await,
        5,
        &["you are not allowed to list and watch deployments.apps"],
    );
    for verb in [Verb::List, Verb::Watch] {
        cluster.server.faults().inject(Fault::answer(403).on(verb));
    }
    for more in ["--once", ""] {
        check(&watch("all", more).await, 5, &["you are not allowed to list and watch", "kind: ClusterRole"]);
    }
    // An invalid request is an error for every resource.
    cluster.server.faults().clear();
    cluster.server.faults().inject(Fault::answer(400).of("deployments"));
    check(&watch("all", "--once").await, 1, &["cannot watch deployments.apps: the server returned 400"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_can_never_succeed_fails_at_once_with_one_message() {
    let cluster = Cluster::start().await;
    cluster.create(Widgets::definition()).await;
    for (arguments, expected) in [
        (&["widgets", "--encoding", "protobuf"][..], "the server returned 406"),
        (&["pods", "--field-selector", "spec.foo=bar"], "cannot watch pods: the server returned 400"),
        (
            &["pods", "--field-selector", "spec.foo=bar", "--once"],
            "cannot watch pods: the server returned 400",
        ),
    ] {
        let ended = run(&[&["watch", "--kubeconfig", cluster.config()], arguments].concat()).await;
        check(&ended, 1, &[expected]);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_does_not_wait_for_skipped_resources() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "front")).await;
    cluster.server.faults().inject(Fault::answer(403).of("deployments"));
    let mut terminal = Terminal::start(&["watch", "all", "-A", "--kubeconfig", cluster.config()], &[]);
    let text = terminal.wait_for("watching (Ctrl-C to stop)");
    assert!(text.contains("1 pods") && !text.contains("0 deployments"), "{text}");
    cluster.delete(&pod("shop", "front")).await;
    terminal.wait_for("deleted");
    terminal.press("\x03");
    let (code, text) = terminal.end();
    assert_eq!(code, 0);
    assert!(text.contains("1 deleted") && !text.contains("initial list"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_credentials_are_reported() {
    let cluster = Cluster::of(DevServer::builder().token("right")).await;
    let ended = run(&["watch", "pods", "--server", &cluster.url(), "--token", "wrong"]).await;
    check(&ended, 5, &["answered 401", "credentials are missing, invalid or expired"]);
    let ended = run(&["watch", "pods", "--once", "--server", &cluster.url(), "--token", "right"]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_run_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let ended = run(&["watch", "pods", "--server", &url]).await;
    check(&ended, 6, &[&format!("cannot reach {url}"), "refused", "the connection was refused"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_not_trusted_is_reported() {
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
async fn a_server_without_tls_is_reported() {
    let cluster = Cluster::start().await;
    let url = cluster.url().replace("http:", "https:");
    let ended = run(&["watch", "pods", "--server", &url]).await;
    check(&ended, 6, &["the server does not use TLS", "http://"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_kubeconfig_is_an_error_without_a_fallback() {
    let folder = folder();
    let (garbage, empty) = (folder.join("garbage"), folder.join("empty"));
    std::fs::write(&garbage, "token: sesame\nclusters: [\n").unwrap();
    std::fs::write(&empty, "apiVersion: v1\nkind: Config\n").unwrap();
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let table = [
        (text(&folder.join("missing")), ": No such file"),
        (text(&garbage), "cannot read the kubeconfig"),
        (text(&empty), "has no current context"),
    ];
    for (path, words) in table {
        check(&run(&["watch", "pods", "--kubeconfig", &path]).await, 4, &[&path, words]);
        let mut command = informer(&["watch", "pods"]);
        command.env("KUBECONFIG", &path);
        let ended = end(command).await;
        check(&ended, 4, &[&path, words]);
        assert!(!ended.stderr.contains("DEMO DATA"));
        assert!(!ended.stderr.contains("sesame"), "secrets stay in the file: {}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_context_is_an_error_that_lists_the_known_ones() {
    let cluster = Cluster::start().await;
    let ended = run(&["watch", "pods", "--kubeconfig", cluster.config(), "--context", "prod"]).await;
    check(&ended, 4, &["has no context \"prod\"", "it has the contexts devserver"]);
    let ended = run(&["watch", "pods", "--context", "prod"]).await;
    check(&ended, 4, &["no kubeconfig found for the context \"prod\""]);
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
async fn invalid_arguments_are_reported() {
    let cluster = Cluster::start().await;
    let table = [
        (&["watch", "pods", "--once", "-o", "diff"][..], "--once prints one state"),
        (&["watch", "pods", "-l", "a in b"], "invalid label selector \"a in b\""),
        (&["watch", "pods", "-n", "No_Such"], "invalid namespace name \"No_Such\""),
        (&["watch"], "<RESOURCE>"),
        (&["watch", "pods", "--timeout", "soon"], "invalid duration \"soon\""),
        (&["top"], "`top` needs a terminal"),
        (&["demo"], "`demo` needs a terminal"),
    ];
    for (arguments, words) in table {
        let is_watch = arguments[0] == "watch";
        let more = if is_watch { vec!["--kubeconfig", cluster.config()] } else { Vec::new() };
        check(&run(&[arguments, &more].concat()).await, 2, &[words]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_address_is_reported() {
    let ended = run(&["watch", "pods", "--server", "cluster.example:6443"]).await;
    check(&ended, 4, &["is not a server URL", "https://host:port"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsupported_encoding_is_reported() {
    let cluster = Cluster::start().await;
    cluster.create(Widgets::definition()).await;
    let ended =
        run(&["watch", "widgets", "-q", "--encoding", "protobuf", "--kubeconfig", cluster.config()]).await;
    check(&ended, 1, &["cannot watch widgets.", "the server returned 406"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_not_complete_in_time_is_reported() {
    let cluster = Cluster::start().await;
    cluster.server.faults().inject(Fault::stall_until_withdrawn().of("pods"));
    let ended = run(&["watch", "pods", "--once", "--for", "300ms", "--kubeconfig", cluster.config()]).await;
    check(&ended, 1, &["timed out before the initial list was complete: pods"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_streaming_is_an_error_if_streaming_is_required() {
    let cluster = Cluster::start().await;
    cluster.server.faults().inject(Fault::refuse_streaming_lists());
    let arguments = ["watch", "pods", "--once", "-q", "--strategy", "stream"];
    let ended = run(&[&arguments[..], &["--kubeconfig", cluster.config()]].concat()).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("does not support streaming lists; use --strategy auto"),
        "{}",
        ended.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_cluster_it_fails_and_shows_no_demo_data() {
    for arguments in
        [&["watch", "pods", "--once", "-o", "name"][..], &["watch", "secrets", "-n", "prod", "--once"]]
    {
        check(
            &run(arguments).await,
            4,
            &["no cluster is configured", "--kubeconfig", "`informer demo`", "--demo"],
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_is_forbidden_ends_with_the_role_that_grants_it() {
    let cluster = Cluster::start().await;
    cluster.server.faults().inject(Fault::refuse_streaming_lists());
    cluster.server.faults().inject(Fault::answer(403).on(Verb::Watch).of("pods"));
    let ended = run(&["watch", "pods", "-q", "--kubeconfig", cluster.config()]).await;
    check(
        &ended,
        5,
        &["allowed to list pods but not to watch", "kind: Role\n", "namespace: default", "--once"],
    );
    let once = run(&["watch", "pods", "-q", "--once", "--kubeconfig", cluster.config()]).await;
    assert_eq!(once.code, Some(0), "{}", once.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_does_not_exist_is_an_error_and_an_empty_list_is_not() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "front")).await;
    let watch = async |words: &str| {
        let line = format!("watch {words} --once --kubeconfig {}", cluster.config());
        run(&line.split_whitespace().collect::<Vec<_>>()).await
    };
    check(&watch("pod/nope -n shop").await, 1, &["not found: pods \"nope\""]);
    let ended = watch("pod front nope -n shop -o name").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), "pod/front\n"), "{}", ended.stderr);
    let ended = watch("pods -n typo").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert_eq!(ended.stderr, "informer: no pods found in namespace typo\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_be_written_are_reported_at_the_start() {
    let cluster = Cluster::start().await;
    cluster.server.faults().inject(Fault::stall_until_withdrawn().of("pods"));
    for option in ["--dump", "--stats"] {
        let ended = run(&["watch", "pods", option, "/nope/x", "--kubeconfig", cluster.config()]).await;
        check(&ended, 1, &["cannot write /nope/x: "]);
    }
    cluster.server.faults().clear();
    cluster.create(pod("default", "a")).await;
    let ended =
        run(&["watch", "pods", "--once", "-o", "name", "--dump", "-", "--kubeconfig", cluster.config()])
            .await;
    assert!(ended.stdout.contains("pod/a\n{\"key\":\"default/a\""), "{}", ended.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_error_names_the_invalid_part() {
    let cluster = Cluster::start().await;
    let folder = folder();
    let write = |name: &str, user: &str, context: &str| {
        let url = cluster.url();
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: d, cluster: {{server: '{url}'}}}}]\n\
             contexts: [{{name: c, context: {{cluster: d, user: {context}}}}}]\nusers: [{{name: u, user: {user}}}]\n"
        );
        std::fs::write(folder.join(name), text).unwrap();
        folder.join(name).to_str().unwrap().to_owned()
    };
    let failing = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never, args: ['-c', 'echo no login >&2; exit 3']}}";
    let missing = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-plugin, interactiveMode: Never}}";
    let certificate = "{client-certificate: /nope/cert.pem, client-key: /nope/key.pem}";
    let table = [
        (write("user", "{token: t}", "other"), &["has no user \"other\""][..]),
        (write("certificate", certificate, "u"), &["/nope/cert.pem", "client-certificate"]),
        (write("missing", missing, "u"), &["credential plugin", "No such file"]),
        (write("failing", failing, "u"), &["credential plugin", "exit status: 3", "no login"]),
    ];
    for (path, words) in table {
        let ended = run(&["watch", "pods", "--once", "--kubeconfig", &path]).await;
        check(&ended, 4, words);
        assert!(!ended.stderr.contains("Output {"), "{}", ended.stderr);
    }
}
