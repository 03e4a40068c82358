//! The options of `compare`.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use clap::{Args, ValueEnum};
use kube_informer_bench_client::options::seconds;

use crate::compare::client::{CLIENTS, Client, Program};
use crate::compare::workload::Workload;

/// Measures kube-informer, kube-rs and client-go, and prints medians and ratios of interleaved rounds.
///
/// After each phase every cache is compared with the server; a difference fails the run.
#[derive(Args, Debug)]
pub(crate) struct CompareOptions {
    /// The workloads to measure; all by default.
    #[arg(value_enum)]
    workloads: Vec<Workload>,
    /// The number of objects, such as 20000, 30k or 1M; a list measures each number. [default: 100k]
    #[arg(long, value_delimiter = ',', value_parser = object_count)]
    objects: Vec<u64>,
    /// The number of rounds; every client runs once per round, in rotating order. [default: 5]
    #[arg(long)]
    rounds: Option<usize>,
    /// Seconds between the sync and the measurement of the steady memory. [default: 10]
    #[arg(long, value_parser = seconds)]
    settle: Option<Duration>,
    /// The clients to measure, such as `decoded,client-go`; all by default.
    #[arg(long, value_delimiter = ',', value_parser = client_name)]
    clients: Vec<String>,
    /// 10,000 objects, 3 rounds and short waits.
    #[arg(long)]
    quick: bool,
    /// A minimal run that only checks that everything works.
    #[arg(long, conflicts_with = "quick")]
    smoke: bool,
    /// Measure against a kube-apiserver instead of the replay server, as far as possible.
    #[arg(long)]
    pub(crate) real: bool,
    /// A file for the values of all rounds, as JSON.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) paths: Paths,
}

/// Programs and directories; `cargo xtask bench` builds and sets them.
#[derive(Args, Debug)]
pub(crate) struct Paths {
    /// Another build of this program whose informer is measured, to compare two versions.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) kube_informer: Option<PathBuf>,
    /// The client of kube-rs; omitted if not given.
    #[arg(long)]
    kube_rs: Option<PathBuf>,
    /// The client of client-go; omitted if not given.
    #[arg(long)]
    client_go: Option<PathBuf>,
    /// The program that runs kube-apiserver and etcd; omitted if not given.
    #[arg(long)]
    cluster: Option<PathBuf>,
    /// A directory for temporary files.
    #[arg(long, default_value = "target/bench")]
    pub(crate) work_dir: PathBuf,
}

/// The size of a run.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) workloads: Vec<Workload>,
    /// The names of the clients to measure; all if empty.
    clients: Vec<String>,
    pub(crate) objects: Vec<u64>,
    pub(crate) rounds: usize,
    pub(crate) settle: Duration,
    /// The duration of each measurement at a fixed rate.
    pub(crate) hold: Duration,
    /// The number of events and items of measurements without a server.
    pub(crate) operations: u64,
}

const FULL: Settings = Settings {
    workloads: Vec::new(),
    clients: Vec::new(),
    objects: Vec::new(),
    rounds: 5,
    settle: Duration::from_secs(10),
    hold: Duration::from_secs(5),
    operations: 1_000_000,
};

impl CompareOptions {
    /// Applies the defaults, which depend on `--quick`, `--smoke` and `--real`.
    pub(crate) fn settings(&self) -> Settings {
        let (defaults, objects) = if self.quick {
            let (settle, hold) = (Duration::from_millis(250), Duration::from_secs(1));
            (Settings { rounds: 3, settle, hold, ..FULL }, 10_000)
        } else if self.smoke {
            let (settle, hold) = (Duration::ZERO, Duration::from_millis(200));
            (Settings { rounds: 1, settle, hold, operations: 10_000, ..FULL }, 200)
        } else {
            (FULL, 100_000)
        };
        let all = || Workload::value_variants().to_vec();
        let mut workloads = if self.workloads.is_empty() { all() } else { self.workloads.clone() };
        workloads.retain(|workload| !self.real || workload.supports_kube_apiserver());
        Settings {
            workloads,
            clients: self.clients.clone(),
            objects: if self.objects.is_empty() { vec![objects] } else { self.objects.clone() },
            rounds: self.rounds.unwrap_or(defaults.rounds),
            settle: self.settle.unwrap_or(defaults.settle),
            ..defaults
        }
    }
}

impl Settings {
    /// Returns true if the client is to be measured.
    pub(crate) fn includes(&self, client: &Client) -> bool {
        self.clients.is_empty() || self.clients.contains(&option_name(client))
    }
}

/// Returns the name of a client without spaces and commas.
fn option_name(client: &Client) -> String {
    client.name.replace(", ", "-").replace(' ', "-")
}

impl Paths {
    /// Returns a command that starts the program; `None` if it was not given.
    pub(crate) fn command(&self, program: Program) -> Option<Command> {
        match program {
            Program::KubeInformer => std::env::current_exe().ok().map(Command::new),
            Program::KubeRs => self.kube_rs.as_ref().map(Command::new),
            Program::ClientGo => self.client_go.as_ref().map(Command::new),
            Program::Cluster => self.cluster.as_ref().map(|program| {
                let mut command = Command::new(program);
                command.arg("-within").arg(self.work_dir.join("cluster"));
                command
            }),
        }
    }
}

fn client_name(text: &str) -> Result<String, String> {
    let names: Vec<_> = CLIENTS.iter().map(option_name).collect();
    if names.iter().any(|name| name == text) {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is not a client; the clients are {}", names.join(", ")))
}

fn object_count(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1_000_000)),
    };
    let number = digits.parse::<u64>().ok().filter(|number| *number > 0);
    number.map(|number| number * factor).ok_or_else(|| format!("`{text}` is not a number of objects"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        options: CompareOptions,
    }

    fn settings(line: &str) -> Result<Settings, clap::Error> {
        Cli::try_parse_from(line.split(' ')).map(|cli| cli.options.settings())
    }

    #[test]
    fn clients_are_selected_by_name() {
        let settings = settings("compare --clients decoded,client-go-tuned").unwrap();
        let selected: Vec<_> = CLIENTS.iter().filter(|client| settings.includes(client)).collect();
        assert_eq!(
            selected.iter().map(|client| client.name).collect::<Vec<_>>(),
            ["decoded", "client-go, tuned"]
        );
        assert!(super::client_name("gofer").unwrap_err().contains("client-go-tuned"));
    }

    #[test]
    fn workloads_and_numbers_are_parsed() {
        let found = settings("bench relist cold-sync --objects 30k,1M,7 --quick").unwrap();
        assert_eq!(found.workloads, [Workload::Relist, Workload::ColdSync]);
        assert_eq!((found.objects, found.rounds), (vec![30_000, 1_000_000, 7], 3));
        assert!(settings("bench --objects 0").is_err() && settings("bench W1").is_err());
    }

    #[test]
    fn a_kube_apiserver_limits_the_workloads() {
        assert_eq!(settings("bench --real").unwrap().workloads.len(), 4);
        assert!(settings("bench --real relist").unwrap().workloads.is_empty());
    }
}
