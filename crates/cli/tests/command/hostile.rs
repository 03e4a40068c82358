//! Names from the server are escaped on the terminal.

use crate::{
    folder::folder,
    program::{Ended, informer, run},
};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// A window title, a cleared screen, a carriage return, and text that is read backwards.
const EVIL: &str = "\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m\\u007f\\r\\u202e";

const KINDS: &str = r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[
    {"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["list","watch"]},
    {"name":"EVIL","singularName":"EVIL","namespaced":true,"kind":"EVIL","verbs":["list","watch"]}]}"#;

fn pod(version: u32, phase: &str) -> String {
    let text = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"nEVIL","namespace":"dEVIL","uid":"1",
        "resourceVersion":"VERSION","labels":{"PHASEEVIL":"EVIL"},"annotations":{"EVIL":"PHASEEVIL"}},
        "spec":{"nodeName":"EVIL","containers":[{"name":"cEVIL","image":"PHASE"}]},
        "status":{"phase":"PHASEEVIL","EVIL":{"EVIL":"PHASE"},"conditions":[{"type":"EVIL","status":"PHASE"}],
        "containerStatuses":[{"name":"cEVIL","restartCount":VERSION,"state":{"PHASEEVIL":{"reason":"EVIL"}}}]}}"#;
    text.replace("VERSION", &version.to_string()).replace("PHASE", phase).replace(['\n', '\r'], "")
}

/// A server on loopback that names everything after harm, until it is dropped.
struct Evil {
    url: String,
    task: JoinHandle<()>,
}

impl Evil {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        Self { url, task }
    }

    /// Runs the program against it.
    async fn run(&self, arguments: &[&str]) -> Ended {
        let config = folder().join("evil");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
             clusters: [{{name: a, cluster: {{server: \"{}\"}}}}]\nusers: [{{name: a, user: {{}}}}]\n",
            self.url
        );
        std::fs::write(&config, text).unwrap();
        run(&[arguments, &["--kubeconfig", config.to_str().unwrap()]].concat()).await
    }
}

impl Drop for Evil {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let refusal = r#"{"kind":"Status","status":"Failure","message":"no EVIL","reason":"EVIL","code":400}"#;
    let expired =
        r#"{"kind":"Status","status":"Failure","message":"old EVIL","reason":"Expired","code":410}"#;
    let (code, body) = match head.split(' ').nth(1).unwrap_or_default() {
        "/api" => (200, r#"{"kind":"APIVersions","versions":["v1"]}"#.to_owned()),
        "/apis" => (200, r#"{"kind":"APIGroupList","groups":[]}"#.to_owned()),
        "/api/v1" => (200, KINDS.to_owned()),
        path if path.contains("sendInitialEvents") => (400, refusal.to_owned()),
        path if path.contains("watch=true") => {
            let event = |kind: &str, object: String| format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
            let events = [
                event("MODIFIED", pod(12, "b")),
                event("EVIL", pod(13, "b")),
                event("ERROR", expired.to_owned()),
            ];
            (200, events.concat())
        }
        _ => (200, format!(r#"{{"metadata":{{"resourceVersion":"11"}},"items":[{}]}}"#, pod(10, "a"))),
    };
    let body = body.replace("EVIL", EVIL);
    let answer = format!(
        "HTTP/1.1 {code} x\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
}

/// Both outputs hold nothing that a terminal would act on.
fn check(ended: &Ended, name: &str) {
    let is_evil = |letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}');
    for text in [&ended.stdout, &ended.stderr] {
        let evil = text.lines().find(|line| line.chars().any(is_evil));
        assert_eq!(evil, None, "{name}");
    }
}

#[tokio::test]
async fn names_from_a_server_are_shown_as_text() {
    let server = Evil::start().await;
    for form in ["table", "diff", "json", "yaml", "name"] {
        let ended = server.run(&["watch", "pods", "-A", "--initial", "-o", form, "--for", "2s"]).await;
        assert!(ended.stdout.contains("owned"), "{form}: {ended:?}");
        check(&ended, form);
        if form != "diff" {
            let ended = server.run(&["watch", "pods", "-A", "-o", form, "--once"]).await;
            assert!(ended.stdout.contains("owned"), "{form}: {ended:?}");
            check(&ended, form);
        }
    }
    let ended = server.run(&["watch", "nothing"]).await;
    assert_eq!(ended.code, Some(3), "{ended:?}");
    check(&ended, "an unknown kind");
}

#[tokio::test]
async fn arguments_that_mean_harm_are_refused() {
    let (long, deep) = ("x".repeat(100_000), "(".repeat(10_000));
    for arguments in [
        vec!["watch", "pods", "-l", &deep],
        vec!["watch", "pods", "-l", &long],
        vec!["watch", &long],
        vec!["watch", "pods", "--for", "99999999999999999999h"],
        vec!["watch", "pods", "--for", "-1s"],
        vec![long.as_str()],
        vec!["watch", "pods", "--kubeconfig", &long],
        vec!["watch", "pods", "--server", "http://[::"],
    ] {
        let ended = run(&arguments).await;
        let shown: Vec<String> = arguments.iter().map(|word| word.chars().take(20).collect()).collect();
        assert!(matches!(ended.code, Some(1..=6)), "{shown:?}: {:?}", ended.code);
        assert!(!ended.stderr.contains("panicked"), "{shown:?}: {}", ended.stderr);
    }
    let mut command = informer(&["watch"]);
    command.arg(OsStr::from_bytes(b"\xff\xfe"));
    let output = command.output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
}
