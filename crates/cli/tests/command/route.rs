//! Errors of proxies and credential plugins name the part that failed.

use crate::folder::folder;
use crate::program::{Ended, Running, end, informer, run};
use crate::server::{Cluster, pod};
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

/// The response of a proxy to a CONNECT request.
#[derive(Clone, Copy)]
enum Answer {
    Connect,
    Text(&'static str),
}

/// Starts an HTTP proxy, and returns its address.
async fn proxy(answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(stream, answer));
        }
    });
    address
}

/// Serves one connection to a proxy.
async fn serve(stream: TcpStream, answer: Answer) {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    while !request.ends_with("\r\n\r\n") && stream.read_line(&mut request).await.is_ok_and(|read| read > 0) {}
    match answer {
        Answer::Text(text) => _ = stream.write_all(text.as_bytes()).await,
        Answer::Connect => {
            let host = request.split_whitespace().nth(1).unwrap_or_default();
            let mut server = TcpStream::connect(host).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            // The connection ends with the program.
            let _ = copy_bidirectional(&mut stream, &mut server).await;
        }
    }
}

/// Writes a kubeconfig with fields of its cluster and its user.
fn kubeconfig(url: &str, cluster: &str, user: &str) -> String {
    let path = folder().join("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: d, cluster: {{server: '{url}'{cluster}}}}}]\n\
         contexts: [{{name: c, context: {{cluster: d, user: u}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
    );
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Writes a credential plugin, a shell script, and returns its path.
fn plugin(script: &str) -> PathBuf {
    let path = folder().join("login-plugin");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn exec(command: &str, mode: &str) -> String {
    format!(
        "exec: {{apiVersion: client.authentication.k8s.io/v1, command: '{command}', interactiveMode: {mode}}}"
    )
}

async fn list(config: &str) -> Ended {
    run(&["watch", "pods", "--once", "-o", "name", "--kubeconfig", config]).await
}

fn check(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{}", ended.stderr);
    for words in words {
        assert!(ended.stderr.contains(words), "no {words:?} in:\n{}", ended.stderr);
    }
    assert!(!ended.stderr.contains("sesame"), "a secret is printed: {}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_is_used_and_a_closed_one_is_named() {
    let cluster = Cluster::start().await;
    cluster.create(pod("default", "a")).await;
    let open = proxy(Answer::Connect).await;
    let config = kubeconfig(&cluster.url(), &format!(", proxy-url: 'http://{open}'"), "");
    let ended = list(&config).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "pod/a\n"), "{}", ended.stderr);

    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = cluster.url();
    let named = format!("cannot reach the proxy http://{closed} for {url}: Connection refused");
    let config = kubeconfig(&url, &format!(", proxy-url: 'http://jane:sesame@{closed}'"), "");
    check(&list(&config).await, 6, &[&named, "configured by proxy-url in the kubeconfig"]);
    let mut command = informer(&["watch", "pods", "--kubeconfig", cluster.config()]);
    command.env("HTTPS_PROXY", format!("http://{closed}"));
    let ended = end(command).await;
    check(&ended, 6, &[&named, "configured by HTTPS_PROXY"]);
    assert!(!ended.stderr.contains("is the server running"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_opens_no_tunnel_is_named() {
    let table = [
        ("HTTP/1.1 403 Forbidden\r\n\r\n", "it answered CONNECT with an error"),
        ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "proxy authorization required"),
        ("", "unexpected end of file"),
    ];
    for (answer, reason) in table {
        let address = proxy(Answer::Text(answer)).await;
        let config =
            kubeconfig("https://cluster.invalid:6443", &format!(", proxy-url: 'http://{address}'"), "");
        let url = format!("the proxy http://{address}");
        check(&list(&config).await, 6, &[&url, "https://cluster.invalid:6443", reason]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_a_server_behind_a_proxy_names_both() {
    // TLS with a server that does not use it fails behind the open tunnel.
    let cluster = Cluster::start().await;
    let open = proxy(Answer::Connect).await;
    let url = cluster.url().replace("http:", "https:");
    let config = kubeconfig(&url, &format!(", proxy-url: 'http://{open}'"), "");
    let through = format!("{url} (through the proxy http://{open})");
    check(&list(&config).await, 6, &[&through, "the server does not use TLS"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_plugin_that_fails_is_named_with_its_exit_code_and_message() {
    let cluster = Cluster::start().await;
    let script = "echo; echo 'session expired' >&2; echo sesame; echo 'run login again' >&2; exit 3";
    let path = plugin(script);
    let name = path.to_str().unwrap();
    for (mode, reason) in [("Never", "session expired"), ("IfAvailable", "see its messages above")] {
        let config = kubeconfig(&cluster.url(), "", &exec(name, mode));
        let words = format!("the credential plugin \"{name}\" failed (exit status: 3): {reason}");
        let ended = list(&config).await;
        check(&ended, 4, &[&words, &cluster.url(), "session expired"]);
        assert!(!ended.stderr.contains("Output {"), "{}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_plugin_without_usable_output_is_named() {
    let cluster = Cluster::start().await;
    let credential = r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential""#;
    let expires = r#","status":{"token":"sesame","expirationTimestamp":"tomorrow"}}"#;
    let table = [
        ("echo 'token: [sesame'".to_owned(), "did not print an ExecCredential in JSON"),
        ("echo sesame".to_owned(), "did not print an ExecCredential in JSON"),
        ("true".to_owned(), "printed no ExecCredential with a status"),
        (format!("echo '{credential}}}'"), "printed no ExecCredential with a status"),
        (format!("echo '{credential}{expires}'"), "printed an invalid expirationTimestamp"),
        ("kill -9 $$".to_owned(), "failed (signal: 9"),
    ];
    for (script, reason) in table {
        let path = plugin(&script);
        let name = path.to_str().unwrap();
        let config = kubeconfig(&cluster.url(), "", &exec(name, "Never"));
        check(&list(&config).await, 4, &[&format!("the credential plugin \"{name}\" {reason}")]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_plugin_that_does_not_exist_is_named() {
    let cluster = Cluster::start().await;
    let unusable = folder().join("not-executable");
    fs::write(&unusable, "").unwrap();
    let table =
        [("no-such-plugin", "No such file or directory"), (unusable.to_str().unwrap(), "Permission denied")];
    for (name, reason) in table {
        let config = kubeconfig(&cluster.url(), "", &exec(name, "Never"));
        let words = format!("the credential plugin \"{name}\" cannot be run: {reason}");
        check(&list(&config).await, 4, &[&words, "exec plugin"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_plugin_that_fails_later_is_reported_without_its_output() {
    let cluster = Cluster::start().await;
    cluster.create(pod("default", "a")).await;
    let logged_out = folder().join("logged-out");
    // An expired token is replaced before each request.
    let credential = r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t","expirationTimestamp":"2020-01-01T00:00:00Z"}}"#;
    let file = logged_out.display();
    let path = plugin(&format!(
        "test -e {file} && {{ echo sesame; echo 'session expired' >&2; exit 3; }}\necho '{credential}'"
    ));
    let config = kubeconfig(&cluster.url(), "", &exec(path.to_str().unwrap(), "Never"));
    let mut running = Running::start(&["watch", "pods", "--initial", "-o", "name", "--kubeconfig", &config]);
    assert_eq!(running.line().await, "pod/a");
    fs::write(&logged_out, "").unwrap();
    cluster.server.cut_watches();
    let failed =
        format!("the credential plugin \"{}\" failed (exit status: 3): session expired; ", path.display());
    loop {
        let line = running.stderr_line().await;
        assert!(!line.contains("sesame") && !line.contains("Output {"), "{line}");
        if line.contains(&failed) {
            break;
        }
    }
    check(&list(&config).await, 4, &["session expired"]);
}
