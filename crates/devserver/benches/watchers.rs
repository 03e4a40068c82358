//! Measures the server with a hundred watchers and a hundred thousand pods: deliveries per second and core,
//! bytes, and seconds.
//!
//! `cargo bench -p kube-devserver` prints the results. There are no assertions, because the results depend on
//! the machine.

#![expect(clippy::unwrap_used, reason = "an error makes the measurement invalid")]

use http::{Method, Request};
use http_body_util::{BodyExt, Empty, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use kube_devserver::{Churn, DevServer};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WATCHERS: usize = 100;
const WRITERS: u64 = 10;
const EVENTS: u64 = 20_000;

fn main() {
    // `cargo test --benches` also runs this program, to check that it works. It uses small numbers then.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let scale = if is_bench { 1 } else { 100 };
    deliveries(EVENTS / scale);
    idle(1000 / scale as usize);
    load(100_000 / scale);
}

/// Measures the processor time of the server, which runs on a thread of its own, while clients run on
/// another.
fn deliveries(events: u64) {
    let (address, answer) = std::sync::mpsc::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = DevServer::builder().listen("127.0.0.1:0").history(1 << 20).start().await.unwrap();
            address.send(server.address().unwrap()).unwrap();
            stopped.await.unwrap();
            let used = thread_time();
            server.stop().await;
            used
        })
    });
    let address = answer.recv().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let seen = Arc::new(AtomicU64::new(0));
    let started = Instant::now();
    runtime.block_on(async {
        for _ in 0..WATCHERS {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let head = format!("GET {MAPS}?watch=1&resourceVersion=1 HTTP/1.1\r\nhost: x\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                let mut buffer = vec![0; 256 * 1024];
                while let Ok(read @ 1..) = stream.read(&mut buffer).await {
                    let lines = buffer[..read].windows(2).filter(|pair| pair == b"}\n").count();
                    seen.fetch_add(lines as u64, Ordering::Relaxed);
                }
            });
        }
        write(address, events).await;
        while seen.load(Ordering::Relaxed) < events * WATCHERS as u64 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let wall = started.elapsed();
    stop.send(()).unwrap();
    let used = server.join().unwrap();
    let total = events * WATCHERS as u64;
    println!("watchers: {WATCHERS} watchers, {events} events of 1 KB, {total} deliveries in {wall:.2?} wall");
    println!(
        "watchers: {:.0} deliveries a second a core (server used {used:.2?})",
        total as f64 / used.as_secs_f64()
    );
}

/// Changes objects repeatedly over several concurrent connections, as controllers do.
async fn write(address: std::net::SocketAddr, events: u64) {
    let writers = (0..WRITERS).map(|writer| tokio::spawn(write_one(address, writer, events / WRITERS)));
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
}

/// Changes one object with sequential requests.
async fn write_one(address: std::net::SocketAddr, writer: u64, events: u64) {
    let body = |turn: u64| format!(r#"{{"metadata":{{"name":"m{writer}"}},"data":{{"x":"{turn:0>800}"}}}}"#);
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(TcpStream::connect(address).await.unwrap())).await.unwrap();
    tokio::spawn(connection);
    for turn in 0..events {
        let (method, path) = match turn {
            0 => (Method::POST, MAPS.to_owned()),
            _ => (Method::PUT, format!("{MAPS}/m{writer}")),
        };
        let request = Request::builder().method(method).uri(path).header("host", "x");
        let body = Full::<bytes::Bytes>::from(body(turn));
        let response = sender.send_request(request.body(body).unwrap()).await.unwrap();
        assert!(response.status().is_success());
        response.into_body().collect().await.unwrap();
    }
}

fn idle(watchers: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = DevServer::builder().listen("127.0.0.1:0").start().await.unwrap();
        let address = server.address().unwrap();
        let mut streams = Vec::with_capacity(watchers);
        let before = resident();
        for _ in 0..watchers {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let head = format!("GET {MAPS}?watch=1&resourceVersion=1 HTTP/1.1\r\nhost: x\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.read_u8().await.unwrap();
            streams.push(stream);
        }
        let bytes = (resident() - before) / watchers as u64;
        println!(
            "idle: {watchers} watchers over HTTP/1.1, {bytes} bytes each, with the client's end of the socket"
        );
    });
}

fn load(pods: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (before, used) = (resident(), process_time());
        let started = Instant::now();
        let server = DevServer::builder().listen("127.0.0.1:0").start().await.unwrap();
        let herd = server.churn(Churn::pods(pods));
        let (time, memory) = (started.elapsed(), (resident() - before) / 1_000_000);
        println!(
            "load: {pods} pods in {time:.2?} ({:.2?} of processors), {memory} MB",
            process_time() - used
        );
        println!("load: checksum {}", herd.checksum());
        let started = Instant::now();
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(TcpStream::connect(server.address().unwrap()).await.unwrap()))
                .await
                .unwrap();
        tokio::spawn(connection);
        let request =
            Request::get("/api/v1/pods").header("host", "x").body(Empty::<bytes::Bytes>::new()).unwrap();
        let mut body = sender.send_request(request).await.unwrap().into_body();
        let mut size = 0;
        while let Some(frame) = body.frame().await {
            size += frame.unwrap().into_data().map_or(0, |data| data.len());
        }
        println!("load: listed whole in {:.2?}, {} MB of JSON", started.elapsed(), size / 1_000_000);
    });
}

/// Returns the processor time of this thread.
fn thread_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(stat.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(1))
}

/// Returns the processor time of all threads of this process, in ticks of 10 ms.
fn process_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split(' ').skip(12).take(2);
    Duration::from_millis(fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10)
}

/// Returns the resident memory of this process.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
