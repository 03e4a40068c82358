//! Compressed lists, with clients that decompress responses themselves and clients that do not.

use flate2::{Compression, write::GzEncoder};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Client, Config};
use kube_informer::{
    Informer,
    reflector::Strategy,
    source::{Encoding, ListCompression, ListWatch, ListerWatcher},
    wire::ListOptions,
};
use std::{
    io::Write,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// The number of objects of the server.
const OBJECTS: usize = 2000;

/// A server that compresses lists if the client accepts that, and records the accepted encodings.
struct Server {
    url: String,
    /// The responses to lists: without compression, and compressed.
    list: Arc<List>,
    /// The verb and `Accept-Encoding` of each request.
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

struct List {
    plain: Vec<u8>,
    compressed: Vec<u8>,
    /// The value of `Content-Encoding` of compressed responses.
    encoding: &'static str,
    status: &'static str,
}

impl List {
    fn new(text: &str) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        let compressed = encoder.finish().unwrap();
        Self { plain: text.into(), compressed, encoding: "gzip", status: "200 OK" }
    }

    /// A list of [`OBJECTS`] objects.
    fn of_objects() -> Self {
        let item = |number| {
            format!(
                r#"{{"metadata":{{"name":"map-{number}","namespace":"d","uid":"{number}","resourceVersion":"7"}}}}"#
            )
        };
        let items = (0..OBJECTS).map(item).collect::<Vec<_>>().join(",");
        Self::new(&format!(
            r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"10"}},"items":[{items}]}}"#
        ))
    }
}

impl Server {
    async fn start(list: List) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (list, requests) = (Arc::new(list), Arc::<Mutex<Vec<String>>>::default());
        let (served, recorded) = (Arc::clone(&list), Arc::clone(&requests));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&served), Arc::clone(&recorded)));
            }
        });
        Self { url, list, requests, task }
    }

    /// Returns a client that decompresses responses, as with kube's feature `gzip`, and one that does not.
    fn clients(&self) -> [Client; 2] {
        [false, true].map(|disable_compression| {
            let mut config = Config::new(self.url.parse().unwrap());
            config.disable_compression = disable_compression;
            Client::try_from(config).unwrap()
        })
    }

    fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves one request.
async fn serve(mut stream: TcpStream, list: Arc<List>, requests: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let is_watch = head.contains("watch=true");
    let accepted = head.lines().find_map(|line| line.strip_prefix("accept-encoding: ")).unwrap_or("any");
    requests.lock().unwrap().push(format!("{} {accepted}", if is_watch { "watch" } else { "list" }));
    if is_watch {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n").await.unwrap();
        // The watch stays open until the client closes it.
        return drop(stream.read_u8().await);
    }
    let (body, encoding) = match accepted {
        "gzip" => (&list.compressed, format!("content-encoding: {}\r\n", list.encoding)),
        _ => (&list.plain, String::new()),
    };
    let head = format!(
        "HTTP/1.1 {}\r\ncontent-type: application/json\r\n{encoding}connection: close\r\ncontent-length: {}\r\n\r\n",
        list.status,
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
}

fn source(client: Client, compression: ListCompression) -> ListWatch<ConfigMap> {
    ListWatch::all(client).encoding(Encoding::Json).list_compression(compression)
}

/// Lists all objects. Returns their number.
async fn list(source: &ListWatch<ConfigMap>) -> Result<usize, kube_informer::source::Error> {
    let mut items = 0;
    source.list(&ListOptions::default(), &mut |_| items += 1).await.map(|_| items)
}

// A14
#[tokio::test]
async fn a_list_is_compressed_only_if_requested() {
    let server = Server::start(List::of_objects()).await;
    let (plain, compressed) = (server.list.plain.len() as u64, server.list.compressed.len() as u64);
    assert!(compressed * 5 < plain);
    let [decompressing, other] = server.clients();
    for (client, compression, request, bytes) in [
        (&decompressing, ListCompression::None, "list identity", plain),
        (&other, ListCompression::None, "list identity", plain),
        (&decompressing, ListCompression::Gzip, "list gzip", plain),
        (&other, ListCompression::Gzip, "list gzip", compressed),
    ] {
        let source = source(client.clone(), compression);
        assert_eq!(list(&source).await.unwrap(), OBJECTS);
        assert_eq!(server.requests(), [request]);
        assert_eq!(source.bytes_read(), Some(bytes), "{compression:?}");
    }
}

// A14
#[tokio::test]
async fn an_informer_with_compressed_lists_has_uncompressed_watches() {
    let server = Server::start(List::of_objects()).await;
    for client in server.clients() {
        let mut config = kube_informer::reflector::Config::default();
        config.strategy = Strategy::List;
        let informer = Informer::<ConfigMap>::builder(client)
            .encoding(Encoding::Json)
            .list_compression(ListCompression::Gzip)
            .config(config)
            .start()
            .unwrap();
        informer.synced().await.unwrap();
        assert_eq!(informer.len(), OBJECTS);
        let mut status = informer.watch_status();
        status.wait_for(|status| status.counts.watches == 1).await.unwrap();
        informer.stop();
        informer.stopped().await;
        let requests = server.requests();
        assert_eq!(requests[0], "list gzip");
        assert!(requests[1..].iter().all(|request| request == "watch identity"), "{requests:?}");
    }
}

#[tokio::test]
async fn a_compressed_error_is_decompressed() {
    let text =
        r#"{"kind":"Status","status":"Failure","message":"no pods for you","reason":"Forbidden","code":403}"#;
    let server = Server::start(List { status: "403 Forbidden", ..List::new(text) }).await;
    for client in server.clients() {
        let error = list(&source(client, ListCompression::Gzip)).await.unwrap_err();
        assert_eq!(error.as_status().unwrap().message, "no pods for you");
    }
}

#[tokio::test]
async fn a_truncated_or_mislabeled_response_is_an_error() {
    let mut truncated = List::of_objects();
    truncated.compressed.truncate(truncated.compressed.len() / 2);
    let mislabeled = List { encoding: "br", ..List::of_objects() };
    for (response, causes) in
        [(truncated, ["invalid gzip response", "unexpected end"]), (mislabeled, ["br", "not requested"])]
    {
        let server = Server::start(response).await;
        for client in server.clients() {
            let error = list(&source(client, ListCompression::Gzip)).await.unwrap_err();
            let cause = std::error::Error::source(&error).unwrap();
            let chain = format!("{error}: {cause}: {:?}", cause.source());
            assert!(causes.iter().any(|text| chain.contains(text)), "{chain}");
        }
    }
}
