//! The request for the uid of the cluster, which precedes the first list of a saved cache.

use crate::case::{DecompressedBy, client, one_at_a_time};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::Informer;
use peak_alloc::PeakAlloc;
use testkit::TempFolder;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The maximum memory, as for the other requests.
const MAX_MEMORY: usize = 16 << 20;

/// Responds with a JSON string that does not end.
async fn respond(mut stream: TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"metadata\":{\"uid\":\"";
    let _ = stream.write_all(head.as_bytes()).await;
    while stream.write_all(&[b'x'; 1 << 16]).await.is_ok() {}
}

#[test]
fn an_endless_response_is_an_error_in_the_status_and_uses_little_memory() {
    let _guard = one_at_a_time();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(read_an_endless_response());
}

async fn read_an_endless_response() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(respond(stream));
        }
    });
    let folder = TempFolder::new("hostile-cluster-uid");
    let client = client(&url, DecompressedBy::Client);
    let before = PeakAlloc.current_usage();
    PeakAlloc.reset_peak_usage();
    let maps = Informer::<ConfigMap>::builder(client).save_to(folder.path()).start().unwrap();
    let status = maps.watch_status().wait_for(|status| status.last_error.is_some()).await.unwrap();
    let error = status.last_error.unwrap();
    assert!(error.contains("kube-system") && error.contains("exceeds the limit of 1048576 bytes"), "{error}");
    let peak = PeakAlloc.peak_usage() - before;
    assert!(peak < MAX_MEMORY, "{peak} bytes");
    maps.stop();
    maps.stopped().await;
    server.abort();
}
