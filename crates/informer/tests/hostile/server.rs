//! A server that says what it is told to, once, and behaves from then on.

use crate::bait::Bait;
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

/// Which request is answered with harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    List,
    Watch,
    /// A watch that begins with all that is there.
    Stream,
}

/// A server on loopback, until it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    task: JoinHandle<()>,
}

/// What every list says that is not a bait: two objects.
const LIST: &str = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[
    {"metadata":{"name":"a","namespace":"d","uid":"1","resourceVersion":"8"}},
    {"metadata":{"name":"b","namespace":"d","uid":"2","resourceVersion":"9"}}]}"#;
/// What every watch says that is not a bait: a third one, and then nothing.
const EVENT: &str = r#"{"type":"ADDED","object":{"metadata":{"name":"c","namespace":"d","uid":"3","resourceVersion":"11"}}}
"#;
/// What every watch that begins with all that is there says of it.
pub(crate) const STREAM: &str = r#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"d","uid":"1","resourceVersion":"8"}}}
{"type":"ADDED","object":{"metadata":{"name":"b","namespace":"d","uid":"2","resourceVersion":"9"}}}
{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"10","annotations":{"k8s.io/initial-events-end":"true"}}}}
"#;
const JSON: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

impl Server {
    /// Answers the first request of this verb with the bait, and all others as one should.
    pub(crate) async fn start(verb: Verb, bait: Bait) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let bait = Arc::new(Mutex::new(Some(bait)));
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, verb, Arc::clone(&bait)));
            }
        });
        Self { url, task }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers one request. Whether the client still listens is its own affair.
async fn serve(mut stream: TcpStream, verb: Verb, bait: Arc<Mutex<Option<Bait>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head);
    let asked = match (head.contains("watch=true"), head.contains("sendInitialEvents=true")) {
        (true, true) => Verb::Stream,
        (true, false) => Verb::Watch,
        (false, _) => Verb::List,
    };
    let bait = if asked == verb { bait.lock().unwrap().take() } else { None };
    let answer = match (bait, asked) {
        (Some(bait), _) => return drop(bait.send(&mut stream).await),
        (None, Verb::List) => {
            format!("{JSON}connection: close\r\ncontent-length: {}\r\n\r\n{LIST}", LIST.len())
        }
        (None, Verb::Watch) => format!("{JSON}\r\n{EVENT}"),
        (None, Verb::Stream) => format!("{JSON}\r\n{STREAM}{EVENT}"),
    };
    let is_sent = stream.write_all(answer.as_bytes()).await.is_ok();
    if is_sent && asked != Verb::List {
        // The watch stays open until the client has had enough.
        let _ = stream.read_u8().await;
    }
}
