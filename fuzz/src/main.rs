//! Runs the fuzz targets, each in its own process.

use anyhow::{Context, Result, anyhow};
use clap::{Parser, Subcommand};
use kube_informer_fuzz::{Budget, Input, TARGETS, Target, attempt, named, run};
use peak_alloc::PeakAlloc;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command as Process, ExitCode, ExitStatus},
    thread,
    time::{Duration, Instant},
};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Runs every decoder with hostile input.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    options: RunOptions,
}

#[derive(clap::Args)]
struct RunOptions {
    /// The total time of all targets in seconds.
    #[arg(long, default_value = "40")]
    seconds: f64,
    /// The seed of the inputs.
    #[arg(long, default_value = "1")]
    seed: u64,
    /// The targets to run; all by default.
    #[arg(value_parser = find)]
    targets: Vec<&'static Target>,
}

#[derive(Subcommand)]
enum Command {
    /// Lists the targets
    List,
    /// Runs a target with the input of a file
    Replay {
        #[arg(value_parser = find)]
        target: &'static Target,
        file: PathBuf,
    },
    /// Runs a target in this process
    #[command(hide = true)]
    One {
        #[arg(value_parser = find)]
        target: &'static Target,
        seconds: f64,
        seed: u64,
        /// A file for each input before it is run.
        trace: Option<PathBuf>,
    },
}

/// The stack size of threads of an async runtime.
const STACK: usize = 2 << 20;
/// The time after which a target is killed, in addition to its own time.
const GRACE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);
/// The exit code of a process that has reported a failure.
const FAILURE_REPORTED: u8 = 1;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        None => run_all(&cli.options),
        Some(Command::List) => {
            TARGETS.iter().for_each(|target| println!("{}", target.name));
            Ok(true)
        }
        Some(Command::Replay { target, file }) => replay(target, &file),
        Some(Command::One { target, seconds, seed, trace }) => {
            run_here(target, Budget { time: Duration::from_secs_f64(seconds), seed }, trace)
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILURE_REPORTED),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn find(name: &str) -> std::result::Result<&'static Target, String> {
    named(name).ok_or_else(|| format!("unknown target `{name}`; `list` prints all targets"))
}

fn replay(target: &'static Target, file: &Path) -> Result<bool> {
    let input = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let thread = thread::Builder::new().stack_size(STACK).spawn(move || attempt(target, &input))?;
    match thread.join().map_err(|_| anyhow!("the thread panicked"))? {
        Ok(peak) => {
            println!("{}: passed with a peak of {peak} bytes", target.name);
            Ok(true)
        }
        Err(failure) => {
            eprintln!("{}: {failure}", target.name);
            Ok(false)
        }
    }
}

fn run_all(options: &RunOptions) -> Result<bool> {
    let all: Vec<&Target> = TARGETS.iter().collect();
    let targets = if options.targets.is_empty() { &all } else { &options.targets };
    let seconds = options.seconds / targets.len() as f64;
    println!("seed {}, {seconds:.1} s per target", options.seed);
    let mut has_passed = true;
    for target in targets {
        has_passed &= run_in_child(target, seconds, options.seed)?;
    }
    Ok(has_passed)
}

/// Runs a target in a child process, so that a crash is reported too.
fn run_in_child(target: &Target, seconds: f64, seed: u64) -> Result<bool> {
    let limit = Duration::from_secs_f64(seconds) + GRACE;
    let command = || -> Result<Process> {
        let mut command = Process::new(env::current_exe()?);
        command.args(["one", target.name, &seconds.to_string(), &seed.to_string()]);
        Ok(command)
    };
    match wait(command()?.spawn()?, limit)? {
        Some(status) if status.success() => return Ok(true),
        Some(status) if status.code() == Some(FAILURE_REPORTED.into()) => return Ok(false),
        _ => {}
    }
    // The same seed creates the same inputs. The second run writes each to a file before it is run.
    let trace = failure_file(target, "crash")?;
    let status = wait(command()?.arg(&trace).spawn()?, limit)?;
    let problem = status.map_or("did not finish".to_owned(), |status| format!("exited with {status}"));
    report(target, &problem, &trace);
    Ok(false)
}

/// Waits for a process; `None` if it was killed after the limit.
fn wait(mut child: Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(POLL);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// Runs a target on a thread with a small stack.
fn run_here(target: &'static Target, budget: Budget, trace: Option<PathBuf>) -> Result<bool> {
    let start = Instant::now();
    let before = move |input: &Input| {
        if let Some(path) = &trace {
            // A failure to write only means that there is no file to replay.
            let _ = fs::write(path, &input.bytes);
        }
    };
    let thread = thread::Builder::new().stack_size(STACK).spawn(move || run(target, budget, before))?;
    let outcome = thread.join().map_err(|_| anyhow!("the thread panicked"))??;
    let Some((input, failure)) = outcome.failure else {
        let (seconds, peak) = (start.elapsed().as_secs_f64(), outcome.peak >> 10);
        println!("{:<17} {:>7} inputs in {seconds:.1} s, peak {peak} KiB", target.name, outcome.inputs);
        return Ok(true);
    };
    let path = failure_file(target, &input.number.to_string())?;
    fs::write(&path, &input.bytes)?;
    report(target, &failure.to_string(), &path);
    Ok(false)
}

/// Returns the path for a failing input.
fn failure_file(target: &Target, name: &str) -> Result<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/fuzz");
    fs::create_dir_all(&directory)?;
    Ok(directory.canonicalize()?.join(format!("{}-{name}.bin", target.name)))
}

fn report(target: &Target, problem: &str, input: &Path) {
    let (name, path) = (target.name, input.display());
    eprintln!("{name}: {problem}; the input is in {path}");
    eprintln!("replay: cargo run -p kube-informer-fuzz -- replay {name} {path}");
    eprintln!("after the fix, add the input to fuzz/corpus/{name} with a descriptive name");
}
