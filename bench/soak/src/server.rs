//! The server: a devserver with a writer and injected faults.
//!
//! | command | effect | response |
//! |---|---|---|
//! | `start PERIOD` | starts to write, and to inject a fault each PERIOD seconds | the start time, in nanoseconds since 1970 |
//! | `memory` | | memory |
//! | `status` | | memory, writes, faults by kind |
//! | `stop` | ends writes and faults | the status |
//! | `expected` | | count and hash of each namespace |

use crate::{
    event_state::Summary,
    faults::FaultInjector,
    memory,
    options::Load,
    writer::{Progress, Writer},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, api::ListParams};
use kube_devserver::DevServer;
use kube_informer_bench_client::{recorder::now, session::print_line};
use serde_json::{Value, json};
use std::{
    io::{self, BufRead},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::Duration,
};
use tokio::{runtime, task::JoinHandle, time::interval};

/// The number of events in the history: some seconds, so that watches can be resumed.
const HISTORY: usize = 1 << 15;

/// Serves until standard input is closed.
pub(crate) fn run(load: Load) -> Result<(), String> {
    let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let server = DevServer::builder().listen("127.0.0.1:0").history(HISTORY);
    let server = runtime.block_on(server.start()).map_err(|error| error.to_string())?;
    let mut server = runtime.block_on(LoadedServer::fill(server, load))?;
    print_line(&json!({ "url": server.server.url() }));
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<_> = line.split_whitespace().collect();
        print_line(&runtime.block_on(server.execute(&words))?);
    }
    runtime.shutdown_background();
    Ok(())
}

struct LoadedServer {
    server: Arc<DevServer>,
    client: Client,
    load: Load,
    writer: Option<Writer>,
    progress: Arc<Progress>,
    faults: Arc<Mutex<FaultInjector>>,
    tasks: Option<Tasks>,
}

/// The tasks between `start` and `stop`.
struct Tasks {
    writing: JoinHandle<Result<(), String>>,
    injecting: JoinHandle<()>,
}

impl LoadedServer {
    /// Creates all objects.
    async fn fill(server: DevServer, load: Load) -> Result<Self, String> {
        let client = server.client();
        let writer = Writer::new(client.clone(), load.clone());
        writer.create_all().await?;
        Ok(Self {
            server: Arc::new(server),
            writer: Some(writer),
            client,
            load,
            progress: Arc::default(),
            faults: Arc::default(),
            tasks: None,
        })
    }

    async fn execute(&mut self, words: &[&str]) -> Result<Value, String> {
        match words {
            ["start", period] => {
                let period = period.parse().map_err(|_| format!("`{period}` is not a number of seconds"))?;
                let writer = self.writer.take().ok_or("the load was started already")?;
                Ok(self.start(Duration::from_secs_f64(period), writer))
            }
            ["memory"] => Ok(memory::report()),
            ["status"] => Ok(self.status()),
            ["stop"] => {
                self.stop().await?;
                Ok(self.status())
            }
            ["expected"] => self.expected().await.map_err(|error| error.to_string()),
            _ => Err(format!("unknown command `{}`", words.join(" "))),
        }
    }

    fn start(&mut self, period: Duration, writer: Writer) -> Value {
        let start = now();
        let progress = Arc::clone(&self.progress);
        let writing = tokio::spawn(async move { writer.run(&progress).await });
        let (faults, server) = (Arc::clone(&self.faults), Arc::clone(&self.server));
        let injecting = tokio::spawn(async move {
            let mut ticks = interval(period);
            loop {
                ticks.tick().await;
                faults.lock().unwrap_or_else(PoisonError::into_inner).inject_next(&server);
            }
        });
        self.tasks = Some(Tasks { writing, injecting });
        json!({ "at": start })
    }

    fn status(&self) -> Value {
        json!({
            "memory": memory::report(),
            "writes": self.progress.writes.load(Ordering::Relaxed),
            "faults": self.faults.lock().unwrap_or_else(PoisonError::into_inner).report(),
        })
    }

    async fn stop(&mut self) -> Result<(), String> {
        self.progress.is_stopped.store(true, Ordering::Relaxed);
        let Tasks { writing, injecting } = self.tasks.take().ok_or("the load was not started")?;
        injecting.abort();
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).withdraw();
        writing.await.map_err(|error| error.to_string())?
    }

    /// Returns the contents of each namespace, from lists.
    async fn expected(&self) -> Result<Value, kube_client::Error> {
        let mut namespaces = Vec::new();
        for number in 0..self.load.informers {
            let maps = Api::<ConfigMap>::namespaced(self.client.clone(), &Load::namespace(number));
            let mut summary = Summary::default();
            let list = maps.list_metadata(&ListParams::default()).await?;
            list.iter().for_each(|map| summary.add(&map.metadata));
            namespaces.push(summary.report());
        }
        Ok(json!({ "namespaces": namespaces }))
    }
}
