//! Impersonation and kubeconfigs.

use crate::{
    folder::folder,
    program::{end, informer, run},
};
use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};

/// Returns the head of the first request to the server of this URL, in lower case.
async fn first_words(arguments: impl FnOnce(&str) -> Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        stream
            .write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .unwrap();
        String::from_utf8(head).unwrap().to_lowercase()
    });
    let arguments = arguments(&url);
    let ended = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_ne!(ended.code, Some(0));
    heard.join().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_may_act_as_another() {
    let words = |line: String| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let line =
        |url: &str| words(format!("watch pods --server {url} --as jane --as-group dev --as-group ops"));
    let said = first_words(line).await;
    for header in ["impersonate-user: jane", "impersonate-group: dev", "impersonate-group: ops"] {
        assert!(said.contains(header), "{said}");
    }
    assert!(!first_words(|url| words(format!("watch pods --server {url}"))).await.contains("impersonate"));
    let ended = run(&["watch", "pods", "--as-group", "dev"]).await;
    assert!(ended.code == Some(2) && ended.stderr.contains("--as <USER>"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_files_of_several_kubeconfigs_are_skipped() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (there, missing) = (folder().join("there"), folder().join("missing"));
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
         clusters: [{{name: a, cluster: {{server: \"{url}\"}}}}]\nusers: [{{name: a, user: {{}}}}]\n"
    );
    std::fs::write(&there, text).unwrap();
    let with = async |paths: &[&std::path::PathBuf]| {
        let mut command = informer(&["watch", "pods", "--once"]);
        command.env("KUBECONFIG", std::env::join_paths(paths).unwrap());
        end(command).await
    };
    let found = with(&[&missing, &there]).await;
    assert!(found.code == Some(6) && found.stderr.contains(&url), "{}", found.stderr);
    let none = with(&[&missing]).await;
    assert!(none.code == Some(4) && none.stderr.contains("set another with --kubeconfig"), "{}", none.stderr);
}
