//! A server that sends one malicious response, and valid ones otherwise.

use crate::hostile_response::HostileResponse;
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

/// The request that receives the malicious response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    List,
    Watch,
    /// A streaming list.
    Stream,
}

/// A server on the loopback interface. It stops when it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    task: JoinHandle<()>,
}

/// The valid response to a list: two objects.
const LIST: &str = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[
    {"metadata":{"name":"a","namespace":"d","uid":"1","resourceVersion":"8"}},
    {"metadata":{"name":"b","namespace":"d","uid":"2","resourceVersion":"9"}}]}"#;
/// The valid response to a watch: a third object.
const EVENT: &str = r#"{"type":"ADDED","object":{"metadata":{"name":"c","namespace":"d","uid":"3","resourceVersion":"11"}}}
"#;
/// The valid response to a streaming list.
pub(crate) const STREAM: &str = r#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"d","uid":"1","resourceVersion":"8"}}}
{"type":"ADDED","object":{"metadata":{"name":"b","namespace":"d","uid":"2","resourceVersion":"9"}}}
{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"10","annotations":{"k8s.io/initial-events-end":"true"}}}}
"#;
const JSON: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

impl Server {
    /// Sends this response to the first request of this verb, and valid responses to all others.
    pub(crate) async fn start(verb: Verb, response: HostileResponse) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let response = Arc::new(Mutex::new(Some(response)));
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, verb, Arc::clone(&response)));
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

/// Serves one request. Errors are ignored, because the client may close the connection at any time.
async fn serve(mut stream: TcpStream, verb: Verb, response: Arc<Mutex<Option<HostileResponse>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head);
    let requested = match (head.contains("watch=true"), head.contains("sendInitialEvents=true")) {
        (true, true) => Verb::Stream,
        (true, false) => Verb::Watch,
        (false, _) => Verb::List,
    };
    let response = if requested == verb { response.lock().unwrap().take() } else { None };
    let valid = match (response, requested) {
        (Some(response), _) => return drop(response.send(&mut stream).await),
        (None, Verb::List) => {
            format!("{JSON}connection: close\r\ncontent-length: {}\r\n\r\n{LIST}", LIST.len())
        }
        (None, Verb::Watch) => format!("{JSON}\r\n{EVENT}"),
        (None, Verb::Stream) => format!("{JSON}\r\n{STREAM}{EVENT}"),
    };
    let is_sent = stream.write_all(valid.as_bytes()).await.is_ok();
    if is_sent && requested != Verb::List {
        // The watch stays open until the client closes it.
        let _ = stream.read_u8().await;
    }
}
