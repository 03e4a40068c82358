//! A proxy that disturbs connections to a server.

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
    sync::watch,
    task::JoinHandle,
    time::sleep,
};

/// A proxy on a loopback port; dropping it cuts every connection.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    way: Arc<Way>,
    task: JoinHandle<()>,
}

/// The disturbance of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// No disturbance.
    Calm,
    /// Bytes are split and delayed.
    Rough,
    /// In addition, connections stall and fail.
    Storm,
}

/// Whether bytes pass, and the number of cuts. One value, so that bytes that are held back at a cut never pass after it.
#[derive(Clone, Copy, Debug)]
struct Gate {
    is_open: bool,
    cuts: u64,
}

#[derive(Debug)]
struct Way {
    target: SocketAddr,
    weather: Mutex<Weather>,
    random: Mutex<Random>,
    gate: watch::Sender<Gate>,
    connections: AtomicU64,
}

impl Proxy {
    /// Creates a proxy to `target`; the disturbances depend on the seed.
    pub async fn start(target: SocketAddr, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let way = Arc::new(Way {
            target,
            weather: Mutex::new(Weather::Calm),
            random: Mutex::new(Random::new(seed)),
            gate: watch::Sender::new(Gate { is_open: true, cuts: 0 }),
            connections: AtomicU64::new(0),
        });
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(listen(listener, Arc::clone(&way)));
        Self { address, way, task }
    }

    /// Returns the address of the proxy.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the disturbance.
    pub fn weather(&self, weather: Weather) {
        *self.way.weather.lock().unwrap() = weather;
    }

    /// Cuts every connection.
    pub fn cut(&self) {
        self.way.gate.send_modify(|gate| gate.cuts += 1);
    }

    /// Stalls all connections until [`flow`](Self::flow).
    pub fn stall(&self) {
        self.way.gate.send_modify(|gate| gate.is_open = false);
    }

    /// Resumes all connections.
    pub fn flow(&self) {
        self.way.gate.send_modify(|gate| gate.is_open = true);
    }

    /// Returns the total number of connections.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.way.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        self.task.abort();
    }
}

async fn listen(listener: TcpListener, way: Arc<Way>) {
    while let Ok((near, _)) = listener.accept().await {
        way.connections.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(carry(near, Arc::clone(&way)));
    }
}

/// Forwards one connection until either end closes it.
async fn carry(near: TcpStream, way: Arc<Way>) {
    let mut gate = way.gate.subscribe();
    let born = gate.borrow().cuts;
    let Ok(far) = TcpStream::connect(way.target).await else { return };
    let ((near_read, near_write), (far_read, far_write)) = (near.into_split(), far.into_split());
    tokio::select! {
        () = pump(near_read, far_write, &way, born) => {}
        () = pump(far_read, near_write, &way, born) => {}
        _ = gate.wait_for(|gate| gate.cuts != born) => {}
    }
}

/// The effect on a chunk.
enum Fate {
    Pass,
    Split { piece: usize, late: Duration },
    Late(Duration),
    Cut,
}

impl Way {
    fn fate(&self) -> Fate {
        let weather = *self.weather.lock().unwrap();
        let mut random = self.random.lock().unwrap();
        let late = Duration::from_millis(random.below(5));
        match (weather, random.below(40)) {
            (Weather::Calm, _) => Fate::Pass,
            (Weather::Storm, 0) => Fate::Cut,
            (Weather::Storm, 1) => Fate::Late(Duration::from_millis(100 + random.below(400))),
            (Weather::Rough | Weather::Storm, 2..12) => {
                Fate::Split { piece: 1 + random.below(200) as usize, late }
            }
            (Weather::Rough | Weather::Storm, 12..20) => Fate::Late(late),
            (Weather::Rough | Weather::Storm, _) => Fate::Pass,
        }
    }
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, way: &Way, born: u64) {
    let (mut buffer, mut gate) = (vec![0; 16 * 1024], way.gate.subscribe());
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let bytes = &buffer[..count];
        let is_cut = |gate: &Gate| gate.cuts != born;
        match gate.wait_for(|gate| gate.is_open || is_cut(gate)).await {
            Ok(gate) if !is_cut(&gate) => {}
            _ => return,
        }
        let piece = match way.fate() {
            Fate::Cut => return,
            Fate::Pass => count,
            Fate::Late(late) => {
                sleep(late).await;
                count
            }
            // Large enough that a long list does not take minutes.
            Fate::Split { piece, late } => {
                sleep(late).await;
                piece.max(count / 20)
            }
        };
        for piece in bytes.chunks(piece) {
            if to.write_all(piece).await.is_err() || to.flush().await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn bytes_held_back_are_lost_with_the_connection() {
        let target = TcpListener::bind("127.0.0.1:0").await.unwrap();
        for turn in 0..100 {
            let proxy = Proxy::start(target.local_addr().unwrap(), turn).await;
            let mut near = TcpStream::connect(proxy.address()).await.unwrap();
            let (mut far, _) = target.accept().await.unwrap();
            far.write_all(b"seen").await.unwrap();
            let mut seen = [0; 4];
            near.read_exact(&mut seen).await.unwrap();
            proxy.stall();
            far.write_all(b"unseen").await.unwrap();
            proxy.cut();
            proxy.flow();
            let mut rest = Vec::new();
            // The connection is reset or closed.
            let _ = near.read_to_end(&mut rest).await;
            assert!(rest.is_empty(), "{turn}: {}", String::from_utf8_lossy(&rest));
        }
    }
}
