//! The command that runs the targets, each in a process of its own.

use kube_informer_fuzz::{Budget, Input, TARGETS, Target, attempt, named, run};
use peak_alloc::PeakAlloc;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, ExitStatus},
    thread,
    time::{Duration, Instant},
};

#[global_allocator]
static COUNTED: PeakAlloc = PeakAlloc;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const HELP: &str = "\
Feeds every decoder with input that means harm.

Usage: kube-informer-fuzz [--seconds 40] [--seed 1] [target..]   all targets, or these, in that time together
       kube-informer-fuzz replay <target> <file>                 one target on one input
       kube-informer-fuzz list                                   the names of all targets";

/// As much stack as a thread of an async runtime has.
const STACK: usize = 2 << 20;
/// What the targets run for together unless told otherwise.
const SECONDS: f64 = 40.0;
/// How much longer than it should a target may run before it is taken for stuck.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often to look whether a target has ended.
const POLL: Duration = Duration::from_millis(10);
/// What a process says that has found something and told of it.
const FOUND: u8 = 1;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match perform(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FOUND),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing was found.
fn perform(words: &[&str]) -> Result<bool> {
    match words {
        ["-h" | "--help" | "help", ..] => println!("{HELP}"),
        ["list"] => TARGETS.iter().for_each(|target| println!("{}", target.name)),
        ["replay", target, file] => return replay(find(target)?, Path::new(file)),
        // Only the process that runs all of them asks for one in this way.
        ["one", target, seconds, seed, trace @ ..] => {
            let budget = Budget { time: Duration::from_secs_f64(seconds.parse()?), seed: seed.parse()? };
            return on_small_stack(find(target)?, budget, trace.first().map(PathBuf::from));
        }
        _ => return all(words),
    }
    Ok(true)
}

fn find(name: &str) -> Result<&'static Target> {
    named(name).ok_or_else(|| format!("there is no target `{name}`; `list` names them all").into())
}

fn replay(target: &'static Target, file: &Path) -> Result<bool> {
    let input = fs::read(file)?;
    let ended = thread::Builder::new().stack_size(STACK).spawn(move || attempt(target, &input))?.join();
    match ended.map_err(|_| "the thread panicked")? {
        Ok(peak) => println!("{}: passed, with {peak} bytes allocated at once", target.name),
        Err(failure) => {
            eprintln!("{}: {failure}", target.name);
            return Ok(false);
        }
    }
    Ok(true)
}

fn all(words: &[&str]) -> Result<bool> {
    let (mut seconds, mut seed, mut targets, mut words) = (SECONDS, 1_u64, Vec::new(), words.iter());
    while let Some(word) = words.next() {
        match *word {
            "--seconds" => seconds = words.next().ok_or("--seconds of what?")?.parse()?,
            "--seed" => seed = words.next().ok_or("--seed of what?")?.parse()?,
            name => targets.push(find(name)?),
        }
    }
    if targets.is_empty() {
        targets = TARGETS.iter().collect();
    }
    let share = seconds / targets.len() as f64;
    println!("seed {seed}, {share:.1} s each");
    let mut is_sound = true;
    for target in targets {
        is_sound &= in_child(target, share, seed)?;
    }
    Ok(is_sound)
}

/// Runs a target in a process of its own, so that whatever ends that is known, too.
fn in_child(target: &Target, seconds: f64, seed: u64) -> Result<bool> {
    let limit = Duration::from_secs_f64(seconds) + PATIENCE;
    let numbers = (format!("{seconds}"), format!("{seed}"));
    let mut arguments = vec!["one", target.name, &numbers.0, &numbers.1];
    match wait(Command::new(env::current_exe()?).args(&arguments).spawn()?, limit)? {
        Some(status) if status.success() => return Ok(true),
        Some(status) if status.code() == Some(FOUND.into()) => return Ok(false),
        _ => {}
    }
    // The same numbers make the same input: this time each is written down before it is run.
    let trace = finding(target, "crash")?;
    let path = trace.display().to_string();
    arguments.push(&path);
    let ended = wait(Command::new(env::current_exe()?).args(&arguments).spawn()?, limit)?;
    let how = ended.map_or("did not end".to_owned(), |status| format!("ended with {status}"));
    tell(target, &how, &trace);
    Ok(false)
}

/// How a process ended; nothing if it had to be killed.
fn wait(mut child: Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let began = Instant::now();
    while began.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(POLL);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

fn on_small_stack(target: &'static Target, budget: Budget, trace: Option<PathBuf>) -> Result<bool> {
    let began = Instant::now();
    let before = move |input: &Input| {
        if let Some(path) = &trace {
            // Without it there is no finding, but the run is the same.
            let _ = fs::write(path, &input.bytes);
        }
    };
    let runs = thread::Builder::new().stack_size(STACK).spawn(move || run(target, budget, before))?;
    let outcome = runs.join().map_err(|_| "the thread panicked")??;
    let Some((input, failure)) = outcome.failure else {
        let (seconds, peak) = (began.elapsed().as_secs_f64(), outcome.peak >> 10);
        println!("{:<17} {:>7} inputs in {seconds:.1} s, {peak} KiB at most", target.name, outcome.inputs);
        return Ok(true);
    };
    let path = finding(target, &input.number.to_string())?;
    fs::write(&path, &input.bytes)?;
    tell(target, &failure.to_string(), &path);
    Ok(false)
}

/// Where an input is put that does harm.
fn finding(target: &Target, name: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/fuzz");
    fs::create_dir_all(&folder)?;
    Ok(folder.canonicalize()?.join(format!("{}-{name}.bin", target.name)))
}

fn tell(target: &Target, how: &str, input: &Path) {
    let (name, path) = (target.name, input.display());
    eprintln!("{name}: {how}; the input is in {path}");
    eprintln!("replay it: cargo run -p kube-informer-fuzz -- replay {name} {path}");
    eprintln!("once it is mended, keep it in fuzz/corpus/{name} under a name that says what it is");
}
