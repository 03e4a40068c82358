//! The cost of each of four sharded replicas against one replica without shards, and the times of a takeover.
//!
//! `cargo bench -p kube-informer --bench shards` runs controllers of 50,000 pods in separate processes: one that caches all of them, then four
//! with 16 shards by uid whose server filters, then four whose client filters. A thousand pods change per second. It prints the
//! memory, the CPU usage and the Lease writes of each replica, and the time from SIGKILL and from SIGTERM of a replica to the first
//! reconcile of each of its shards by a successor. `PODS` and `SECONDS` set the number of pods and the duration of each measurement.

mod server_process;

use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    Informer,
    controller::{Action, Controller, ErrorPolicy},
    manager::shutdown_signal,
};
use kube_leases::{Clock, Leases, ShardKey, SystemClock, shard_hash, shard_of};
use server_process::ServerProcess;
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

const PODS: usize = 50_000;
const RATE: u64 = 1_000;
const SHARDS: u32 = 16;
const REPLICAS: usize = 4;
const SECONDS: u64 = 30;

/// The part of the objects that a replica receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filter {
    None,
    Server,
    Client,
}

impl Filter {
    const ALL: [Self; 3] = [Self::None, Self::Server, Self::Client];

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

// The replica

struct Context {
    leases: Option<Leases>,
    /// The shards and terms of which a reconcile was printed.
    printed: Mutex<BTreeSet<[u64; 2]>>,
}

/// Prints the time of the first reconcile of each acquired shard.
async fn reconcile(pod: Arc<Pod>, context: Arc<Context>) -> Result<Action, std::io::Error> {
    if let Some(leases) = &context.leases {
        let shard = shard_of(shard_hash(pod.metadata.uid.as_deref().unwrap_or_default()), SHARDS);
        if let Some(held) = leases.held_shard(shard)
            && context.printed.lock().expect("no panic").insert([shard.into(), held.term()])
        {
            println!("first {shard} {}", SystemClock.now().since_start().as_nanos());
        }
    }
    Ok(Action::await_change())
}

#[tokio::main]
async fn run_replica(url: &str, filter: Filter) {
    let client = server_process::client(url);
    let mut builder = Informer::<Pod>::builder(client.clone());
    let leases = (filter != Filter::None).then(|| {
        let group = Leases::shards("pods", SHARDS).shard_by(ShardKey::Uid).namespace("default");
        group.start(client).expect("valid settings")
    });
    if let Some(leases) = &leases {
        // A replica that starts first would list everything, and retain the memory.
        let is_divided = |_: &_| leases.held().len() == SHARDS as usize / REPLICAS;
        leases.wait_for(is_divided).await.expect("the leases are not stopped");
        builder = builder.shards(leases);
    }
    if filter == Filter::Client {
        builder = builder.modify_list(|options| options.shard_selector = None);
        builder = builder.modify_watch(|options| options.shard_selector = None);
    }
    let pods = builder.start().expect("a valid configuration");
    std::thread::spawn({
        let (pods, leases) = (pods.clone(), leases.clone());
        move || answer(&pods, leases.as_ref())
    });
    let controller = Controller::new(&pods).concurrency(4).shutdown_on(shutdown_signal());
    let controller = match &leases {
        // Pods of the benchmark are new, but those of a cluster seldom are.
        Some(leases) => controller.leases(leases).recreation_delay(Duration::ZERO),
        None => controller,
    };
    let context = Context { leases: leases.clone(), printed: Mutex::default() };
    controller.run(reconcile, ErrorPolicy::default(), Arc::new(context)).await.expect("it runs");
    if let Some(leases) = leases {
        leases.stop();
        leases.stopped().await;
    }
}

/// Prints the figures of this process for each line of standard input.
fn answer(pods: &Informer<Pod>, leases: Option<&Leases>) {
    for _ in std::io::stdin().lines() {
        let shards: Vec<_> = leases
            .map(Leases::held)
            .unwrap_or_default()
            .iter()
            .map(|shard| shard.index().to_string())
            .collect();
        println!(
            "figures {} {} {} {} {} {}",
            memory("VmRSS"),
            memory("VmHWM"),
            cpu_seconds(),
            pods.len(),
            leases.map_or(0, |leases| leases.status().writes),
            shards.join(","),
        );
    }
}

/// Returns the CPU time of this process.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a name in brackets").split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().expect("a number of ticks")).sum::<f64>() / 100.0
}

/// Returns a memory statistic of this process in MiB.
fn memory(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with(name)).expect("a known statistic");
    line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok()).expect("a number") / 1024.0
}

// The parent

/// The figures of a replica at one time.
#[derive(Clone, Debug)]
struct Figures {
    resident: f64,
    peak: f64,
    cpu: f64,
    objects: usize,
    writes: u64,
    shards: BTreeSet<u32>,
}

/// The first reconcile of a shard by a replica.
struct First {
    replica: usize,
    shard: u32,
    at: Duration,
}

struct Replica {
    child: Child,
    commands: ChildStdin,
    figures: mpsc::Receiver<Figures>,
}

impl Replica {
    fn start(url: &str, filter: Filter, number: usize, firsts: &mpsc::Sender<First>) -> Self {
        let program = env::current_exe().expect("the executable has a path");
        let mut command = Command::new(program);
        command.args(["replica", url, filter.name()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the process starts");
        let lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let (sender, figures) = mpsc::channel();
        let firsts = firsts.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let fields: Vec<_> = line.split(' ').collect();
                match fields[..] {
                    ["first", shard, at] => {
                        let at = Duration::from_nanos(at.parse().expect("a time"));
                        let _ = firsts.send(First {
                            replica: number,
                            shard: shard.parse().expect("a shard"),
                            at,
                        });
                    }
                    ["figures", resident, peak, cpu, objects, writes, shards] => {
                        let number = |text: &str| text.parse::<f64>().expect("a number");
                        let _ = sender.send(Figures {
                            resident: number(resident),
                            peak: number(peak),
                            cpu: number(cpu),
                            objects: objects.parse().expect("a number"),
                            writes: writes.parse().expect("a number"),
                            shards: shards.split(',').filter_map(|shard| shard.parse().ok()).collect(),
                        });
                    }
                    _ => println!("{line}"),
                }
            }
        });
        Self { commands: child.stdin.take().expect("stdin is piped"), child, figures }
    }

    fn figures(&mut self) -> Figures {
        writeln!(self.commands).expect("the replica runs");
        self.figures.recv().expect("the replica answers")
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(status.expect("kill exists").success());
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until the replicas together have about all pods. Some are deleted and created again all the time.
fn wait_until_synced(replicas: &mut [Replica], pods: usize) {
    let start = SystemClock.now();
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let objects: usize = replicas.iter_mut().map(|replica| replica.figures().objects).sum();
        if objects * 100 >= pods * 95 && objects <= pods {
            return;
        }
        let waited = SystemClock.now().saturating_since(start);
        assert!(waited < Duration::from_secs(180), "{objects} of {pods} pods are cached");
    }
}

/// Ends a replica with a signal. Returns the times until the first and until the last of its shards was reconciled by a successor.
fn take_over(replicas: &mut Vec<Replica>, firsts: &mpsc::Receiver<First>, signal: &str) -> [Duration; 2] {
    let mut ended = replicas.pop().expect("a replica");
    let number = replicas.len();
    let mut missing = ended.figures().shards;
    while firsts.try_recv().is_ok() {}
    let start = SystemClock.now().since_start();
    ended.signal(signal);
    let mut times = Vec::new();
    while !missing.is_empty() {
        let first = firsts.recv_timeout(Duration::from_secs(120)).expect("a successor reconciles");
        // Reconciles of the replica itself, before its end, are not those of a successor.
        if first.replica != number && first.at >= start && missing.remove(&first.shard) {
            times.push(first.at - start);
        }
    }
    [times[0], times[times.len() - 1]]
}

/// The maximum of each figure over all replicas.
struct Measured {
    resident: f64,
    peak: f64,
    sync_cpu: f64,
    cpu: f64,
    writes: f64,
}

#[expect(clippy::cast_precision_loss, reason = "few writes")]
fn measure(replicas: &mut [Replica], seconds: u64) -> Measured {
    let before: Vec<_> = replicas.iter_mut().map(Replica::figures).collect();
    std::thread::sleep(Duration::from_secs(seconds));
    let after: Vec<_> = replicas.iter_mut().map(Replica::figures).collect();
    for (number, figures) in after.iter().enumerate() {
        println!("  replica {number}: {:.0} MiB, {} pods", figures.resident, figures.objects);
    }
    let pairs: Vec<_> = before.iter().zip(&after).collect();
    let most = |figure: &dyn Fn(&Figures, &Figures) -> f64| {
        pairs.iter().map(|(before, after)| figure(before, after)).fold(0.0, f64::max)
    };
    Measured {
        resident: most(&|_, after| after.resident),
        peak: most(&|_, after| after.peak),
        sync_cpu: most(&|before, _| before.cpu),
        cpu: most(&|before, after| 100.0 * (after.cpu - before.cpu) / seconds as f64),
        writes: most(&|before, after| (after.writes - before.writes) as f64 / seconds as f64),
    }
}

fn main() {
    if server_process::serve_if_requested() {
        return;
    }
    let arguments: Vec<_> = env::args().collect();
    if let Some(position) = arguments.iter().position(|argument| argument == "replica") {
        let filter = Filter::ALL.into_iter().find(|filter| filter.name() == arguments[position + 2]);
        return run_replica(&arguments[position + 1], filter.expect("a filter"));
    }
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let pods = number("PODS").map_or(PODS, |pods| usize::try_from(pods).expect("a small number"));
    let seconds = number("SECONDS").unwrap_or(SECONDS);
    let mut results = BTreeMap::new();
    for filter in Filter::ALL {
        let server = ServerProcess::churning(pods as u64, RATE);
        let (sender, firsts) = mpsc::channel();
        let count = if filter == Filter::None { 1 } else { REPLICAS };
        let mut replicas: Vec<_> =
            (0..count).map(|number| Replica::start(&server.url, filter, number, &sender)).collect();
        wait_until_synced(&mut replicas, pods);
        println!("filtered by {}, {count} replicas:", filter.name());
        let measured = measure(&mut replicas, seconds);
        let Measured { resident, peak, sync_cpu, cpu, writes } = &measured;
        println!(
            "  maximum: {resident:.0} MiB, peak {peak:.0} MiB, {sync_cpu:.2} s of CPU until synced, {cpu:.1} % of a core for {RATE} changes/s, {writes:.2} Lease writes/s"
        );
        if filter == Filter::Server {
            for signal in ["-KILL", "-TERM"] {
                let [first, last] = take_over(&mut replicas, &firsts, signal);
                println!(
                    "  {signal}: first reconcile of a shard after {first:.2?}, of the last one after {last:.2?}"
                );
            }
        }
        results.insert(filter.name(), measured);
    }
    let one = &results["none"];
    for name in ["server", "client"] {
        let replica = &results[name];
        println!(
            "filtered by {name}: {:.2} of the memory, {:.2} of the peak, {:.2} of the CPU of the initial list, {:.2} of the CPU of changes",
            replica.resident / one.resident,
            replica.peak / one.peak,
            replica.sync_cpu / one.sync_cpu,
            replica.cpu / one.cpu,
        );
    }
}
