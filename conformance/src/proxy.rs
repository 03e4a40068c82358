//! A TCP proxy that disturbs the connections to a server.

use crate::random::Random;
use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{Instant, sleep, sleep_until},
};

/// A proxy on a loopback port; dropping it closes every connection.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// The disturbance of forwarded bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// Bytes are forwarded immediately.
    None,
    /// Some chunks are split and delayed by milliseconds.
    RandomDelays,
    /// In addition, connections stall and are closed.
    RandomFailures,
    /// Each byte is forwarded after this time.
    Delay(Duration),
    /// At most this number of bytes is forwarded per second, per connection and direction.
    Bandwidth(u32),
    /// Each byte is written on its own.
    SingleBytes,
}

/// A direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the server to the client.
    ToClient,
    /// From the client to the server.
    ToServer,
}

/// Whether bytes are forwarded. One value, so that bytes that are held back when a connection is closed are never forwarded.
///
/// Connections are numbered from zero; a number in this value is that of the first connection that is not affected.
#[derive(Clone, Copy, Debug, Default)]
struct Gate {
    is_stalled: bool,
    closed: u64,
    stopped: u64,
    half_closed_to_client: u64,
    half_closed_to_server: u64,
}

/// The state of one direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passage {
    Open,
    Stalled,
    /// Bytes are dropped, and the connection stays open.
    Stopped,
    /// This direction is closed with a FIN, and the other one stays open.
    HalfClosed,
    Closed,
}

#[derive(Debug)]
struct Shared {
    target: SocketAddr,
    disturbance: Mutex<Disturbance>,
    random: Mutex<Random>,
    gate: watch::Sender<Gate>,
    connections: AtomicU64,
    /// The number of bytes to the client after which the next connection stops to forward.
    next_limit: Mutex<Option<usize>>,
    limits_reached: AtomicU64,
}

impl Proxy {
    /// Creates a proxy to `target`; random disturbances depend on the seed.
    pub async fn start(target: SocketAddr, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared = Arc::new(Shared {
            target,
            disturbance: Mutex::new(Disturbance::None),
            random: Mutex::new(Random::new(seed)),
            gate: watch::Sender::default(),
            connections: AtomicU64::new(0),
            next_limit: Mutex::new(None),
            limits_reached: AtomicU64::new(0),
        });
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(listen(listener, Arc::clone(&shared)));
        Self { address, shared, task }
    }

    /// Returns the address of the proxy.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the disturbance of all connections.
    pub fn disturb(&self, disturbance: Disturbance) {
        *self.shared.disturbance.lock().unwrap() = disturbance;
    }

    /// Closes every connection.
    pub fn cut(&self) {
        let connections = self.connections();
        self.shared.gate.send_modify(|gate| gate.closed = connections);
    }

    /// Stalls all connections, new ones included, until [`resume`](Self::resume), which forwards the delayed bytes.
    pub fn stall(&self) {
        self.shared.gate.send_modify(|gate| gate.is_stalled = true);
    }

    /// Resumes all stalled connections.
    pub fn resume(&self) {
        self.shared.gate.send_modify(|gate| gate.is_stalled = false);
    }

    /// Stops to forward on all connections that are open now, in both directions and without a FIN or RST.
    pub fn stop_forwarding(&self) {
        let connections = self.connections();
        self.shared.gate.send_modify(|gate| gate.stopped = connections);
    }

    /// Stops to forward on the next connection after this number of bytes to the client, without a FIN or RST.
    pub fn stop_next_connection_after(&self, bytes: usize) {
        *self.shared.next_limit.lock().unwrap() = Some(bytes);
    }

    /// Returns the number of connections that have reached the limit of
    /// [`stop_next_connection_after`](Self::stop_next_connection_after).
    #[must_use]
    pub fn limits_reached(&self) -> u64 {
        self.shared.limits_reached.load(Ordering::SeqCst)
    }

    /// Closes one direction of all connections that are open now.
    pub fn half_close(&self, direction: Direction) {
        let connections = self.connections();
        self.shared.gate.send_modify(|gate| match direction {
            Direction::ToClient => gate.half_closed_to_client = connections,
            Direction::ToServer => gate.half_closed_to_server = connections,
        });
    }

    /// Returns the total number of connections.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        self.task.abort();
    }
}

impl Gate {
    fn passage(&self, connection: u64, direction: Direction) -> Passage {
        let half_closed = match direction {
            Direction::ToClient => self.half_closed_to_client,
            Direction::ToServer => self.half_closed_to_server,
        };
        if connection < self.closed {
            Passage::Closed
        } else if connection < self.stopped {
            Passage::Stopped
        } else if connection < half_closed {
            Passage::HalfClosed
        } else if self.is_stalled {
            Passage::Stalled
        } else {
            Passage::Open
        }
    }
}

async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        let number = shared.connections.fetch_add(1, Ordering::SeqCst);
        let limit = shared.next_limit.lock().unwrap().take();
        tokio::spawn(forward(client, Arc::clone(&shared), number, limit));
    }
}

/// Forwards one connection until either end closes it.
async fn forward(client: TcpStream, shared: Arc<Shared>, number: u64, limit: Option<usize>) {
    let mut gate = shared.gate.subscribe();
    let Ok(server) = TcpStream::connect(shared.target).await else { return };
    // Single bytes are sent as single segments.
    if client.set_nodelay(true).is_err() || server.set_nodelay(true).is_err() {
        return;
    }
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    let half = |direction, limit| Half { shared: Arc::clone(&shared), number, direction, limit };
    tokio::select! {
        () = half(Direction::ToServer, None).forward(client_read, server_write) => {}
        () = half(Direction::ToClient, limit).forward(server_read, client_write) => {}
        _ = gate.wait_for(|gate| number < gate.closed) => {}
    }
}

/// One direction of a connection.
struct Half {
    shared: Arc<Shared>,
    number: u64,
    direction: Direction,
    /// The remaining number of bytes, if the connection is to stop.
    limit: Option<usize>,
}

/// Bytes on their way.
struct Chunk {
    received_at: Instant,
    bytes: Vec<u8>,
}

/// The number of chunks on their way per direction; a delay needs many.
const CHUNKS: usize = 256;

/// The number of bytes that are forwarded at once with a limited bandwidth.
const BANDWIDTH_PIECE: usize = 1024;

/// The effect on a chunk.
struct Effect {
    wait_until: Instant,
    piece: usize,
    pause_per_piece: Duration,
}

impl Half {
    /// Forwards bytes until the end of the sender, or until the receiver does not accept them.
    async fn forward(mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let (sender, mut chunks) = mpsc::channel(CHUNKS);
        let read = async move {
            let mut buffer = vec![0; 16 * 1024];
            while let Ok(count @ 1..) = from.read(&mut buffer).await {
                let chunk = Chunk { received_at: Instant::now(), bytes: buffer[..count].to_vec() };
                if sender.send(chunk).await.is_err() {
                    return;
                }
            }
        };
        let (number, direction) = (self.number, self.direction);
        let is_half_closed = move |gate: &Gate| gate.passage(number, direction) == Passage::HalfClosed;
        let write = async {
            let mut gate = self.shared.gate.subscribe();
            loop {
                tokio::select! {
                    () = async { drop(gate.wait_for(is_half_closed).await) } => break,
                    chunk = chunks.recv() => {
                        let Some(chunk) = chunk else { return };
                        if self.write(chunk, &mut to).await.is_ok() {
                            continue;
                        }
                        if !is_half_closed(&self.shared.gate.borrow()) {
                            return;
                        }
                    }
                }
            }
            // The end of the other direction ends the connection.
            let _ = to.shutdown().await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = write => {}
            () = async { read.await; std::future::pending().await } => {}
        }
    }

    async fn write(&mut self, mut chunk: Chunk, to: &mut OwnedWriteHalf) -> Result<(), ()> {
        let effect = self.effect(&chunk).ok_or(())?;
        sleep_until(effect.wait_until).await;
        let is_last = self.limit.is_some_and(|limit| limit <= chunk.bytes.len());
        if let Some(limit) = &mut self.limit {
            chunk.bytes.truncate(*limit);
            *limit -= chunk.bytes.len();
        }
        for piece in chunk.bytes.chunks(effect.piece) {
            self.pass().await?;
            to.write_all(piece).await.map_err(drop)?;
            if effect.pause_per_piece.is_zero() {
                tokio::task::yield_now().await;
            } else {
                sleep(effect.pause_per_piece).await;
            }
        }
        if is_last {
            self.shared.limits_reached.fetch_add(1, Ordering::SeqCst);
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    /// Waits until bytes may be forwarded; a connection that has stopped waits forever.
    async fn pass(&self) -> Result<(), ()> {
        let passage = |gate: &Gate| gate.passage(self.number, self.direction);
        let mut gate = self.shared.gate.subscribe();
        let is_decided = |gate: &Gate| !matches!(passage(gate), Passage::Stalled | Passage::Stopped);
        let decided = gate.wait_for(is_decided).await.map_err(drop)?;
        if passage(&decided) == Passage::Open { Ok(()) } else { Err(()) }
    }

    /// Returns the effect on a chunk; `None` closes the connection.
    fn effect(&self, chunk: &Chunk) -> Option<Effect> {
        let all = chunk.bytes.len();
        let effect = |wait: Duration, piece: usize| {
            let wait_until = chunk.received_at + wait;
            Some(Effect { wait_until, piece, pause_per_piece: Duration::ZERO })
        };
        match *self.shared.disturbance.lock().unwrap() {
            Disturbance::None => effect(Duration::ZERO, all),
            Disturbance::Delay(delay) => effect(delay, all),
            Disturbance::SingleBytes => effect(Duration::ZERO, 1),
            Disturbance::Bandwidth(rate) => {
                let piece = all.min(BANDWIDTH_PIECE);
                let pause_per_piece = Duration::from_secs_f64(piece as f64 / f64::from(rate));
                Some(Effect { wait_until: chunk.received_at, piece, pause_per_piece })
            }
            disturbance @ (Disturbance::RandomDelays | Disturbance::RandomFailures) => {
                let fails = disturbance == Disturbance::RandomFailures;
                let mut random = self.shared.random.lock().unwrap();
                let wait = Duration::from_millis(random.below(5));
                match random.below(40) {
                    0 if fails => None,
                    1 if fails => effect(Duration::from_millis(100 + random.below(400)), all),
                    // Large enough that a long list does not take minutes.
                    2..12 => effect(wait, (1 + random.below(200) as usize).max(all / 20)),
                    12..20 => effect(wait, all),
                    _ => effect(Duration::ZERO, all),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a proxy, and both ends of a connection through it.
    async fn connection(seed: u64) -> (Proxy, TcpStream, TcpStream) {
        let target = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy::start(target.local_addr().unwrap(), seed).await;
        let client = TcpStream::connect(proxy.address()).await.unwrap();
        let (server, _) = target.accept().await.unwrap();
        (proxy, client, server)
    }

    async fn read(from: &mut TcpStream, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        from.read_exact(&mut bytes).await.unwrap();
        bytes
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn bytes_held_back_are_lost_with_the_connection() {
        for seed in 0..100 {
            let (proxy, mut client, mut server) = connection(seed).await;
            server.write_all(b"seen").await.unwrap();
            assert_eq!(read(&mut client, 4).await, b"seen");
            proxy.stall();
            server.write_all(b"unseen").await.unwrap();
            proxy.cut();
            proxy.resume();
            let mut rest = Vec::new();
            // The connection is reset or closed.
            let _ = client.read_to_end(&mut rest).await;
            assert!(rest.is_empty(), "{seed}: {}", String::from_utf8_lossy(&rest));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_connection_that_stops_is_not_closed_and_new_connections_work() {
        let target = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy::start(target.local_addr().unwrap(), 1).await;
        let mut dead = TcpStream::connect(proxy.address()).await.unwrap();
        let (mut server, _) = target.accept().await.unwrap();
        server.write_all(b"a").await.unwrap();
        assert_eq!(read(&mut dead, 1).await, b"a");
        proxy.stop_forwarding();
        server.write_all(b"b").await.unwrap();
        drop(server);
        let mut alive = TcpStream::connect(proxy.address()).await.unwrap();
        let (mut server, _) = target.accept().await.unwrap();
        server.write_all(b"c").await.unwrap();
        assert_eq!(read(&mut alive, 1).await, b"c");
        let mut buffer = [0; 1];
        let silence = tokio::time::timeout(Duration::from_millis(200), dead.read(&mut buffer)).await;
        assert!(silence.is_err(), "neither a byte nor an end: {silence:?}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_connection_stops_after_its_limit() {
        let target = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy::start(target.local_addr().unwrap(), 1).await;
        proxy.stop_next_connection_after(3);
        let mut client = TcpStream::connect(proxy.address()).await.unwrap();
        let (mut server, _) = target.accept().await.unwrap();
        server.write_all(b"abcdef").await.unwrap();
        assert_eq!(read(&mut client, 3).await, b"abc");
        let mut buffer = [0; 1];
        let silence = tokio::time::timeout(Duration::from_millis(200), client.read(&mut buffer)).await;
        assert!(silence.is_err(), "{silence:?}");
        assert_eq!(proxy.limits_reached(), 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_half_closed_connection_forwards_the_other_direction() {
        let (proxy, mut client, mut server) = connection(1).await;
        proxy.half_close(Direction::ToClient);
        assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0, "the client reads the end");
        client.write_all(b"still").await.unwrap();
        assert_eq!(read(&mut server, 5).await, b"still");
        let (proxy, mut client, mut server) = connection(1).await;
        proxy.half_close(Direction::ToServer);
        assert_eq!(server.read(&mut [0; 1]).await.unwrap(), 0, "the server reads the end");
        server.write_all(b"still").await.unwrap();
        assert_eq!(read(&mut client, 5).await, b"still");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn delays_and_bandwidths_are_kept() {
        let (proxy, mut client, mut server) = connection(1).await;
        let started = Instant::now();
        proxy.disturb(Disturbance::Delay(Duration::from_millis(300)));
        server.write_all(b"a").await.unwrap();
        server.write_all(b"b").await.unwrap();
        assert_eq!(read(&mut client, 2).await, b"ab");
        assert!(started.elapsed() >= Duration::from_millis(300));
        let started = Instant::now();
        proxy.disturb(Disturbance::Bandwidth(100_000));
        server.write_all(&[7; 30_000]).await.unwrap();
        read(&mut client, 30_000).await;
        let seconds = started.elapsed().as_secs_f64();
        assert!((0.25..2.0).contains(&seconds), "{seconds}");
        proxy.disturb(Disturbance::SingleBytes);
        server.write_all(&[8; 1000]).await.unwrap();
        assert_eq!(read(&mut client, 1000).await, [8; 1000]);
    }
}
