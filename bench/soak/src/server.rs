//! The server of a soak: a devserver that is written to and made to fail.
//!
//! | order | what it does | what it says |
//! |---|---|---|
//! | `begin PERIOD` | begins to write, and to fail each so many seconds | when that was, in nanoseconds since 1970 |
//! | `memory` | | memory alone |
//! | `status` | | memory, writes, objects, faults by kind |
//! | `stop` | ends writes and faults | the writes |
//! | `truth` | | count and hash of each namespace |

use crate::{
    faults::Trouble,
    fold::Sum,
    memory,
    options::Options,
    writer::{Writer, Written},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, api::ListParams};
use kube_devserver::DevServer;
use kube_informer_bench_client::{seen::now, session::say};
use serde_json::{Value, json};
use std::{
    io::{self, BufRead},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::Duration,
};
use tokio::{runtime, task::JoinHandle, time::interval};

/// Events that are remembered: a few seconds of them, so that a watch can be taken up again.
const HISTORY: usize = 1 << 15;

/// Serves until standard input ends.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let server = DevServer::builder().listen("127.0.0.1:0").history(HISTORY);
    let server = runtime.block_on(server.start()).map_err(|error| error.to_string())?;
    let mut soak = runtime.block_on(Soak::fill(server, options))?;
    say(&json!({ "url": soak.server.url() }));
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<_> = line.split_whitespace().collect();
        say(&runtime.block_on(soak.obey(&words))?);
    }
    runtime.shutdown_background();
    Ok(())
}

struct Soak {
    server: Arc<DevServer>,
    client: Client,
    options: Options,
    writer: Option<Writer>,
    written: Arc<Written>,
    trouble: Arc<Mutex<Trouble>>,
    tasks: Option<Tasks>,
}

/// What goes on between `begin` and `stop`.
struct Tasks {
    writing: JoinHandle<Result<(), String>>,
    failing: JoinHandle<()>,
}

impl Soak {
    /// Writes all objects for the first time.
    async fn fill(server: DevServer, options: Options) -> Result<Self, String> {
        let client = server.client();
        let writer = Writer::new(client.clone(), options.clone());
        writer.fill().await?;
        Ok(Self {
            server: Arc::new(server),
            writer: Some(writer),
            client,
            options,
            written: Arc::default(),
            trouble: Arc::default(),
            tasks: None,
        })
    }

    async fn obey(&mut self, words: &[&str]) -> Result<Value, String> {
        match words {
            ["begin", period] => {
                let period = period.parse().map_err(|_| format!("`{period}` is no number of seconds"))?;
                let writer = self.writer.take().ok_or("it has begun")?;
                Ok(self.begin(Duration::from_secs_f64(period), writer))
            }
            ["memory"] => Ok(memory::report()),
            ["status"] => Ok(self.status()),
            ["stop"] => {
                self.stop().await?;
                Ok(self.status())
            }
            ["truth"] => self.truth().await.map_err(|error| error.to_string()),
            _ => Err(format!("the order `{}` is not understood", words.join(" "))),
        }
    }

    fn begin(&mut self, period: Duration, writer: Writer) -> Value {
        let (written, trouble, server) =
            (Arc::clone(&self.written), Arc::clone(&self.trouble), Arc::clone(&self.server));
        let began = now();
        let writing = tokio::spawn(async move { writer.run(&written).await });
        let failing = tokio::spawn(async move {
            let mut turns = interval(period);
            loop {
                turns.tick().await;
                trouble.lock().unwrap_or_else(PoisonError::into_inner).strike(&server);
            }
        });
        self.tasks = Some(Tasks { writing, failing });
        json!({ "at": began })
    }

    fn status(&self) -> Value {
        json!({
            "memory": memory::report(),
            "writes": self.written.writes.load(Ordering::Relaxed),
            "version": self.server.version(),
            "faults": self.trouble.lock().unwrap_or_else(PoisonError::into_inner).report(),
        })
    }

    async fn stop(&mut self) -> Result<(), String> {
        self.written.is_stopped.store(true, Ordering::Relaxed);
        let Tasks { writing, failing } = self.tasks.take().ok_or("it has not begun")?;
        failing.abort();
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).end();
        writing.await.map_err(|error| error.to_string())?
    }

    /// What is in each namespace, by the server's own lists.
    async fn truth(&self) -> Result<Value, kube_client::Error> {
        let mut namespaces = Vec::new();
        for number in 0..self.options.informers {
            let maps = Api::<ConfigMap>::namespaced(self.client.clone(), &Options::namespace(number));
            let mut sum = Sum::default();
            for map in maps.list_metadata(&ListParams::default()).await? {
                let meta = map.metadata;
                let text = |text: Option<String>| text.unwrap_or_default();
                sum.add_object(&text(meta.name), &text(meta.uid), &text(meta.resource_version));
            }
            namespaces.push(sum.report());
        }
        Ok(json!({ "namespaces": namespaces }))
    }
}
