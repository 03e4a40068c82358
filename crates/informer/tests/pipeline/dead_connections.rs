//! Connections that stop transmitting without being closed.

use crate::cluster::Cluster;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use kube_devserver::DevServer;
use kube_informer::{
    Informer,
    reflector::{Config, Strategy},
};
use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// A proxy whose connections can stop forwarding, without a FIN or RST.
struct Proxy {
    url: String,
    /// Connections with a lower number do not forward.
    first_alive: watch::Sender<usize>,
    accepted: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Proxy {
    async fn start(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let first_alive = watch::Sender::new(0);
        let accepted = Arc::new(AtomicUsize::new(0));
        let alive = first_alive.clone();
        let counter = Arc::clone(&accepted);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = counter.fetch_add(1, Ordering::SeqCst);
                let server = TcpStream::connect(&server).await.unwrap();
                tokio::spawn(forward(number, client, server, alive.subscribe()));
            }
        });
        Self { url, first_alive, accepted, task }
    }

    /// Stops to forward on all connections that are open now.
    fn stop_forwarding(&self) {
        self.first_alive.send_replace(self.accepted.load(Ordering::SeqCst));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Copies both directions until the connection is dead. Then it stays open.
async fn forward(number: usize, client: TcpStream, server: TcpStream, alive: watch::Receiver<usize>) {
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    let requests = copy(number, client_read, server_write, alive.clone());
    let responses = copy(number, server_read, client_write, alive);
    let _ = tokio::join!(requests, responses);
}

async fn copy(
    number: usize,
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    alive: watch::Receiver<usize>,
) -> io::Result<()> {
    let mut buffer = vec![0; 4096];
    loop {
        let read = from.read(&mut buffer).await?;
        if number < *alive.borrow() {
            std::future::pending::<()>().await;
        }
        if read == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..read]).await?;
    }
}

/// Returns how long it takes until a change is received after the connection has died, and the reports.
async fn time_to_recover(strategy: Strategy, bookmarks: Duration) -> (Duration, Vec<String>) {
    let server =
        DevServer::builder().listen("127.0.0.1:0").bookmark_interval(bookmarks).start().await.unwrap();
    let url = server.url().unwrap().to_string();
    let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let maps = Api::default_namespaced(server.client());
    let cluster = Cluster { server, maps };
    cluster.create("a").await;
    let proxy = Proxy::start(address).await;
    let mut config = Config::default();
    config.strategy = strategy;
    config.idle_timeout = Duration::from_secs(10);
    let reports = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&reports);
    let client = Client::try_from(kube::Config::new(proxy.url.parse().unwrap())).unwrap();
    let maps = Informer::<ConfigMap>::builder(client)
        .config(config)
        .on_error(move |report| recorded.lock().unwrap().push(report.cause.to_string()))
        .start()
        .unwrap();
    maps.synced().await.unwrap();
    let mut status = maps.watch_status();
    status.wait_for(|status| status.counts.watches + status.counts.streams > 0).await.unwrap();
    let before = cluster.change("a", "alive").await;
    let version = |map: &ConfigMap| map.metadata.resource_version.as_ref().unwrap().parse().unwrap();
    maps.wait_for(&version(&before)).await.unwrap();
    proxy.stop_forwarding();
    let died_at = Instant::now();
    let change = cluster.change("a", "while the connection is dead").await;
    maps.wait_for_within(&version(&change), Duration::from_secs(60)).await.unwrap();
    let elapsed = died_at.elapsed();
    maps.stop();
    maps.stopped().await;
    let reports = reports.lock().unwrap().clone();
    (elapsed, reports)
}

// A2
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_stops_transmitting_is_replaced_after_the_idle_timeout() {
    let minute = Duration::from_secs(60);
    let (listed, streamed) =
        tokio::join!(time_to_recover(Strategy::List, minute), time_to_recover(Strategy::Stream, minute));
    for (elapsed, reports) in [listed, streamed] {
        assert!((9.0..20.0).contains(&elapsed.as_secs_f64()), "{elapsed:?}");
        assert_eq!(reports, ["watch received no data for the idle timeout"]);
    }
}
