//! A server that sends names, sizes and silence of its choice neither leaves its folder, nor fills memory, nor stops the command.

use crate::{
    folder::folder,
    program::{Ended, end, informer},
};
use std::{path::Path, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// The answer to a request.
enum Reply {
    Json(u16, String),
    /// A JSON string that does not end.
    Endless(u16),
    /// Nothing, while the connection stays open.
    Silence,
}

type Answer = dyn Fn(&str) -> Option<Reply> + Send + Sync;

/// A server on loopback with its own responses for some paths.
struct Server {
    url: String,
    task: JoinHandle<()>,
}

const MAPS: &str = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"11"},"items":[
    {"metadata":{"name":"a","namespace":"d","uid":"1","resourceVersion":"8"}}]}"#;

impl Server {
    async fn start(answer: impl Fn(&str) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer: Arc<Answer> = Arc::new(answer);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&answer)));
            }
        });
        Self { url, task }
    }

    /// Starts a server with this resource and `configmaps`.
    async fn of_resource(plural: &str, kind: &str, short: &str) -> Self {
        let kinds = kinds(plural, kind, short);
        Self::start(move |path| (path == "/api/v1").then(|| Reply::Json(200, kinds.clone()))).await
    }

    async fn run(&self, arguments: &[&str]) -> Ended {
        end(informer(&[arguments, &["--server", &self.url]].concat())).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn kinds(plural: &str, kind: &str, short: &str) -> String {
    serde_json::json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [
        {"name": plural, "singularName": "", "namespaced": true, "kind": kind, "shortNames": [short],
            "verbs": ["list", "watch"]},
        {"name": "configmaps", "singularName": "configmap", "namespaced": true, "kind": "ConfigMap",
            "verbs": ["list", "watch"]}]})
    .to_string()
}

/// Returns the response of `/api` with aggregated discovery.
fn aggregated(plural: &str, kind: &str, short: &str) -> String {
    serde_json::json!({"kind": "APIGroupDiscoveryList", "items": [{"metadata": {}, "versions": [{"version": "v1", "resources": [
        {"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced", "shortNames": [short],
            "verbs": ["list", "watch"]}]}]}]})
    .to_string()
}

async fn serve(mut stream: TcpStream, answer: Arc<Answer>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let usual = || match path {
        "/version" => Reply::Json(200, r#"{"minor":"30"}"#.to_owned()),
        "/api" => Reply::Json(200, r#"{"kind":"APIVersions","versions":["v1"]}"#.to_owned()),
        "/apis" => Reply::Json(200, r#"{"kind":"APIGroupList","groups":[]}"#.to_owned()),
        "/api/v1" => Reply::Json(200, kinds("pods", "Pod", "po")),
        "/api/v1/namespaces/kube-system" => Reply::Json(200, r#"{"metadata":{"uid":"c"}}"#.to_owned()),
        path if path.contains("sendInitialEvents") => {
            Reply::Json(400, r#"{"kind":"Status","code":400}"#.to_owned())
        }
        path if path.contains("watch=true") => Reply::Silence,
        _ => Reply::Json(200, MAPS.to_owned()),
    };
    match answer(path).unwrap_or_else(usual) {
        Reply::Json(code, body) => {
            let head =
                format!("HTTP/1.1 {code} x\r\ncontent-type: application/json\r\nconnection: close\r\n");
            let _ = stream
                .write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes())
                .await;
        }
        Reply::Endless(code) => {
            let head = format!("HTTP/1.1 {code} x\r\ncontent-type: application/json\r\n\r\n{{\"kind\":\"");
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(&[b'x'; 1 << 16]).await.is_ok() {}
        }
        Reply::Silence => {
            // Until the client closes the connection.
            let _ = stream.read_u8().await;
        }
    }
}

/// Returns all files and folders in a folder.
fn tree(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path.clone());
            }
            found.push(path.strip_prefix(folder).unwrap().display().to_string());
        }
    }
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_name_does_not_lead_out_of_the_saved_folder() {
    for plural in ["hostile/victim", "../victim", "../../victim", "..", "/tmp/victim"] {
        let home = folder();
        let save = home.join("deep/saved");
        let victim = home.join("deep/victim");
        std::fs::create_dir_all(&victim).unwrap();
        std::fs::write(victim.join("state.next"), "mine").unwrap();
        let document = aggregated(plural, "ConfigMap", "configmaps");
        let server =
            Server::start(move |path| (path == "/api").then(|| Reply::Json(200, document.clone()))).await;
        let ended = server
            .run(&["watch", "configmaps", "-A", "--once", "--for", "5s", "--save", save.to_str().unwrap()])
            .await;
        assert_ne!(ended.code, Some(0), "{plural}: {ended:?}");
        assert_eq!(std::fs::read_to_string(victim.join("state.next")).unwrap(), "mine", "{plural}");
        let outside: Vec<_> =
            tree(&home).into_iter().filter(|path| !path.starts_with("deep/saved/")).collect();
        let allowed = |path: &&String| {
            !["deep", "deep/saved", "deep/victim", "deep/victim/state.next"].contains(&path.as_str())
        };
        assert_eq!(outside.iter().filter(allowed).count(), 0, "{plural}: {outside:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_under_another_name_are_not_saved() {
    for (plural, kind, word) in
        [("x", "Secret", "secrets"), ("x", "X", "secrets"), ("secrets", "X", "secrets")]
    {
        let server = Server::of_resource(plural, kind, "secrets").await;
        let save = folder().join("saved");
        let ended = server.run(&["watch", word, "-A", "--once", "--save", save.to_str().unwrap()]).await;
        assert_eq!(ended.code, Some(2), "{plural} {kind}: {ended:?}");
        assert!(ended.stderr.contains("--save-secrets"), "{}", ended.stderr);
        assert!(!save.exists());
    }
}

/// Runs the program with an address space of 1 GiB, which a response without a limit exceeds.
async fn run_with_little_memory(server: &Server, arguments: &[&str]) -> Ended {
    let mut command = tokio::process::Command::new("prlimit");
    let program = informer(&[arguments, &["--server", &server.url]].concat());
    let program = program.as_std();
    command.arg("--data=1073741824").arg(program.get_program()).args(program.get_args());
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", folder())
        .kill_on_drop(true);
    end(command).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_without_an_end_does_not_fill_memory() {
    for (endless, code) in
        [("/version", 200), ("/api", 200), ("/apis", 200), ("/apis", 500), ("/api/v1", 200)]
    {
        let server = Server::start(move |path| (path == endless).then_some(Reply::Endless(code))).await;
        let ended =
            run_with_little_memory(&server, &["watch", "configmaps", "-A", "--once", "-o", "name"]).await;
        if endless == "/version" {
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "configmap/a\n"), "{ended:?}");
        } else {
            assert!(matches!(ended.code, Some(1 | 6)), "{endless}: {ended:?}");
            let reason = if code == 200 { "exceeds the limit" } else { "answered 500" };
            assert!(ended.stderr.contains(reason), "{endless}: {}", ended.stderr);
        }
    }
    let server = Server::start(|path| path.ends_with("/kube-system").then_some(Reply::Endless(200))).await;
    let save = folder().join("saved");
    let arguments = ["watch", "configmaps", "-A", "--once", "--for", "5s", "--save", save.to_str().unwrap()];
    let ended = run_with_little_memory(&server, &arguments).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("exceeds the limit"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_is_given_up() {
    for silent in ["/api", "/apis", "/api/v1"] {
        let server = Server::start(move |path| (path == silent).then_some(Reply::Silence)).await;
        let began = std::time::Instant::now();
        let ended = server.run(&["watch", "configmaps", "-A", "--for", "2s"]).await;
        assert_eq!(ended.code, Some(6), "{silent}: {ended:?}");
        assert!(ended.stderr.contains("did not send its list of resources within 2s"), "{}", ended.stderr);
        assert!(began.elapsed() < Duration::from_secs(20), "{silent}: {:?}", began.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reason_why_nothing_is_listed_is_printed() {
    let failure = r#"{"kind":"Status","status":"Failure","message":"etcd is away","code":500}"#;
    let server = Server::start(move |path| {
        path.ends_with("/kube-system").then(|| Reply::Json(500, failure.to_owned()))
    })
    .await;
    let save = folder().join("saved");
    let save = save.to_str().unwrap();
    for arguments in [
        ["watch", "configmaps", "-A", "--once", "--for", "5s", "--save", save],
        ["watch", "configmaps", "-A", "--initial", "--for", "5s", "--save", save],
    ] {
        let ended = server.run(&arguments).await;
        assert!(ended.stderr.contains("kube-system") && ended.stderr.contains("etcd is away"), "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_and_invisible_names_are_shown_short_and_visible() {
    let long = "n".repeat(80_000);
    let list = format!(
        r#"{{"kind":"List","metadata":{{"resourceVersion":"11"}},"items":[
        {{"metadata":{{"name":"{long}","namespace":"{long}","uid":"1","resourceVersion":"8"}}}},
        {{"metadata":{{"name":"map\u200b-1\u009b","namespace":"d","uid":"2","resourceVersion":"9"}}}}]}}"#
    );
    let server = Server::start(move |path| {
        let is_list = path.starts_with("/api/v1/configmaps") && !path.contains("watch=true");
        is_list.then(|| Reply::Json(200, list.clone()))
    })
    .await;
    let dump = folder().join("dump");
    for form in ["table", "name"] {
        let arguments = ["watch", "configmaps", "-A", "--once", "-o", form, "--dump", dump.to_str().unwrap()];
        let ended = server.run(&arguments).await;
        assert_eq!(ended.code, Some(0), "{form}: {}", ended.stderr);
        assert!(ended.stdout.contains("map\\u{200b}-1\\u{9b}"), "{form}: {}", ended.stdout);
        assert!(ended.stdout.contains(&format!("{}..", "n".repeat(512))), "{form}");
        assert!(!ended.stdout.contains(&"n".repeat(513)), "{form}");
        let dumped = std::fs::read_to_string(&dump).unwrap();
        assert!(dumped.contains(r"d/map\u200b-1\u009b"), "{form}");
        assert!(!dumped.contains(['\u{200b}', '\u{9b}']), "{form}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_with_a_long_name_is_ignored() {
    let server = Server::of_resource("bigs", &"K".repeat(70_000), "big").await;
    let ended = server.run(&["watch", "big", "-A", "--timeout", "2s"]).await;
    assert_eq!(ended.code, Some(3), "{}", ended.stderr.chars().take(500).collect::<String>());
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr.chars().take(500).collect::<String>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_failures_is_printed_in_part_and_counted() {
    let items = "{},".repeat(10_000);
    let list = format!(r#"{{"metadata":{{"resourceVersion":"11"}},"items":[{items}{{}}]}}"#);
    let server = Server::start(move |path| {
        let is_list = path.starts_with("/api/v1/configmaps") && !path.contains("watch=true");
        is_list.then(|| Reply::Json(200, list.clone()))
    })
    .await;
    let ended = server.run(&["watch", "configmaps", "-A", "--for", "6s"]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr.chars().take(500).collect::<String>());
    assert!(ended.stderr.lines().count() < 60, "{} lines", ended.stderr.lines().count());
    assert!(ended.stderr.contains("reports suppressed, since there were too many"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_reported() {
    let data = "x".repeat(200_000);
    let list = format!(
        r#"{{"metadata":{{"resourceVersion":"11"}},"items":[
        {{"metadata":{{"name":"a","namespace":"d","uid":"1","resourceVersion":"8"}},"data":{{"k":"{data}"}}}}]}}"#
    );
    let server = Server::start(move |path| {
        let is_list = path.starts_with("/api/v1/configmaps") && !path.contains("watch=true");
        is_list.then(|| Reply::Json(200, list.clone()))
    })
    .await;
    let save = folder().join("saved");
    let arguments = ["watch", "configmaps", "-A", "--once", "-o", "name", "--save", save.to_str().unwrap()];
    // A limit of the file size is an error of the write, as a full disk is, if its signal is ignored.
    let program = informer(&[&arguments[..], &["--server", &server.url]].concat());
    let program = program.as_std();
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec prlimit --fsize=16 \"$@\"", "sh"]);
    command.arg(program.get_program()).args(program.get_args());
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", folder())
        .kill_on_drop(true);
    let ended = end(command).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), "configmap/a\n"), "{ended:?}");
    assert!(ended.stderr.contains("configmaps: the cache was not saved: "), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_state_is_reported() {
    let server = Server::start(|_| None).await;
    let save = folder().join("saved");
    let arguments = ["watch", "configmaps", "-A", "--once", "-o", "name", "--save", save.to_str().unwrap()];
    let first = server.run(&arguments).await;
    assert_eq!(first.code, Some(0), "{first:?}");
    let state = save.join("configmaps/state");
    let mut bytes = std::fs::read(&state).unwrap();
    bytes.truncate(bytes.len() - 1);
    std::fs::write(&state, bytes).unwrap();
    let second = server.run(&arguments).await;
    assert_eq!((second.code, second.stdout.as_str()), (Some(0), "configmap/a\n"), "{second:?}");
    assert!(second.stderr.contains("configmaps: the saved state is not used: "), "{}", second.stderr);
}
