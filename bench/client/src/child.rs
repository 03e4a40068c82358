//! A child process that reads commands and prints responses, one line of JSON each.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// The timeout of a response; the programs have shorter timeouts and report their cause.
const TIMEOUT: Duration = Duration::from_secs(1000);
/// The time that a child has to exit after its standard input was closed.
const GRACE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(2);

/// A running child process, which is stopped when this is dropped.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    commands: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl ChildProcess {
    /// Starts a process.
    ///
    /// # Errors
    /// If the program cannot be started.
    ///
    /// # Panics
    /// Never: standard output is piped.
    pub fn start(command: &mut Command) -> Result<Self> {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child =
            started.with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let output = child.stdout.take().expect("standard output is piped");
        let (sender, lines) = mpsc::channel();
        // The thread ends with the process, or when the receiver is dropped.
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.map(|line| sender.send(line)).take_while(Result::is_ok).for_each(drop);
        });
        Ok(Self { commands: child.stdin.take(), child, lines })
    }

    /// Returns the process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a command without waiting for the response.
    ///
    /// # Errors
    /// If the process has exited.
    ///
    /// # Panics
    /// Never: standard input is open until the process is dropped.
    pub fn send(&mut self, command: &str) -> Result<()> {
        let commands = self.commands.as_mut().expect("standard input is open");
        writeln!(commands, "{command}").with_context(|| format!("cannot send `{command}`"))
    }

    /// Waits for the next response.
    ///
    /// # Errors
    /// If the process exits, prints invalid JSON, or does not respond in time.
    pub fn receive(&mut self) -> Result<Value> {
        match self.lines.recv_timeout(TIMEOUT) {
            Ok(line) => serde_json::from_str(&line).with_context(|| format!("invalid JSON: `{line}`")),
            Err(mpsc::RecvTimeoutError::Timeout) => bail!("no response within {} s", TIMEOUT.as_secs()),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                bail!("the process exited with {}", self.child.wait()?)
            }
        }
    }

    /// Waits for the next response, which must have this event name.
    ///
    /// # Errors
    /// As [`receive`](Self::receive), or if the event has another name.
    pub fn receive_event(&mut self, event: &str) -> Result<Value> {
        let line = self.receive()?;
        if line["event"] != event {
            bail!("expected the event `{event}`, got {line}");
        }
        Ok(line)
    }

    /// Sends a command and waits for the response.
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`receive`](Self::receive).
    pub fn request(&mut self, command: &str) -> Result<Value> {
        self.send(command)?;
        self.receive().with_context(|| format!("command `{command}`"))
    }

    /// Kills the process, which is faster than waiting until it has freed its memory.
    ///
    /// # Errors
    /// If the process cannot be killed.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill().context("cannot kill the process")
    }

    fn stop(&mut self) -> std::io::Result<()> {
        drop(self.commands.take());
        let deadline = Instant::now() + GRACE;
        while self.child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                self.child.kill()?;
            }
            thread::sleep(POLL);
        }
        Ok(())
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            eprintln!("cannot stop a child process: {error}");
        }
    }
}

/// Returns a number of a response.
///
/// # Errors
/// Returns an error if the number is missing.
pub fn number(response: &Value, name: &str) -> Result<f64> {
    response[name].as_f64().with_context(|| format!("no number `{name}` in {response}"))
}

/// Writes a kubeconfig for a server without authentication.
///
/// # Errors
/// If the file cannot be written.
pub fn write_kubeconfig(directory: &Path, name: &str, url: &Value) -> Result<PathBuf> {
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let file = directory.join(format!("{name}.kubeconfig"));
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": name, "cluster": { "server": url } }],
        "users": [{ "name": "bench", "user": {} }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": "bench" } }],
        "current-context": name,
    });
    fs::write(&file, config.to_string()).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// Returns a line with processor, cores, memory and operating system.
#[must_use]
pub fn machine() -> String {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let processor =
        field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
    format!("{processor}, {cores} cores, {memory} of memory, {}", std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_responds_and_is_stopped_when_it_is_dropped() {
        let script = r#"read x; echo "{\"event\":\"$x\"}"; cat"#;
        let mut child = ChildProcess::start(Command::new("sh").args(["-c", script])).unwrap();
        assert_eq!(child.request("hello").unwrap()["event"], "hello");
        child.send("not JSON").unwrap();
        assert!(child.receive().unwrap_err().to_string().contains("invalid JSON"));
    }

    #[test]
    fn the_exit_status_is_reported() {
        let mut child = ChildProcess::start(Command::new("sh").args(["-c", "exit 3"])).unwrap();
        assert!(child.receive().unwrap_err().to_string().contains("exited with exit status: 3"));
    }

    #[test]
    fn missing_numbers_are_reported() {
        let response = json!({ "rate": 7 });
        assert_eq!(number(&response, "rate").unwrap(), 7.0);
        assert!(number(&response, "p99").unwrap_err().to_string().starts_with("no number `p99`"));
    }
}
