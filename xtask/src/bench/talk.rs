//! A program that says lines of JSON and takes orders, one a line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// No answer takes longer than this; programs have a shorter limit of their own, and say what they waited for.
const DEADLINE: Duration = Duration::from_secs(1000);
/// Who has been told to end, ends.
const GRACE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(2);

/// A running program; it is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Talk {
    child: Child,
    orders: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Talk {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child =
            started.with_context(|| format!("{} did not start", command.get_program().display()))?;
        let output = child.stdout.take().expect("standard output is piped");
        let (sender, lines) = mpsc::channel();
        // It ends with the program, or when nobody listens any longer.
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.map(|line| sender.send(line)).take_while(Result::is_ok).for_each(drop);
        });
        Ok(Self { orders: child.stdin.take(), child, lines })
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Gives an order.
    pub(crate) fn tell(&mut self, order: &str) -> Result<()> {
        let orders = self.orders.as_mut().expect("it is open until the end");
        writeln!(orders, "{order}").with_context(|| format!("the order `{order}` did not get through"))
    }

    /// Waits for the next line.
    pub(crate) fn hear(&mut self) -> Result<Value> {
        match self.lines.recv_timeout(DEADLINE) {
            Ok(line) => serde_json::from_str(&line).with_context(|| format!("`{line}` is no JSON")),
            Err(mpsc::RecvTimeoutError::Timeout) => bail!("it says nothing any longer"),
            Err(mpsc::RecvTimeoutError::Disconnected) => bail!("it ended with {}", self.child.wait()?),
        }
    }

    /// Waits for the next line, which has to be about this.
    pub(crate) fn hear_of(&mut self, event: &str) -> Result<Value> {
        let line = self.hear()?;
        if line["event"] != event {
            bail!("it says {line} where `{event}` was to come");
        }
        Ok(line)
    }

    /// Gives an order and waits for the answer.
    pub(crate) fn ask(&mut self, order: &str) -> Result<Value> {
        self.tell(order)?;
        self.hear().with_context(|| format!("no answer to `{order}`"))
    }

    /// Ends it at once: to free all that a client has, one by one, takes longer than some syncs.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill().context("it could not be ended")
    }

    fn end(&mut self) -> std::io::Result<()> {
        // The end of its orders is the end of it.
        drop(self.orders.take());
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

impl Drop for Talk {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("a program did not end: {error}");
        }
    }
}

/// A number in an answer.
pub(crate) fn number(answer: &Value, name: &str) -> Result<f64> {
    answer[name].as_f64().with_context(|| format!("there is no `{name}` in {answer}"))
}

/// Several numbers in an answer, of which there is one at least.
pub(crate) fn numbers(answer: &Value, name: &str) -> Result<Vec<f64>> {
    let numbers = answer[name].as_array().and_then(|all| all.iter().map(Value::as_f64).collect());
    let numbers = numbers.filter(|numbers: &Vec<_>| !numbers.is_empty());
    numbers.with_context(|| format!("there are no `{name}` in {answer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_asked_and_ends_when_it_is_dropped() {
        let mut talk =
            Talk::start(Command::new("sh").args(["-c", r#"read x; echo "{\"event\":\"$x\"}"; cat"#]))
                .unwrap();
        assert_eq!(talk.ask("hello").unwrap()["event"], "hello");
        talk.tell("not JSON").unwrap();
        assert!(talk.hear().unwrap_err().to_string().contains("is no JSON"));
    }

    #[test]
    fn numbers_are_there_or_missed() {
        let answer = serde_json::json!({ "p99": [1.5, 2], "p50": [], "rate": 7 });
        assert_eq!(numbers(&answer, "p99").unwrap(), [1.5, 2.0]);
        assert_eq!(number(&answer, "rate").unwrap(), 7.0);
        for name in ["p50", "rate", "none"] {
            assert!(numbers(&answer, name).is_err(), "{name}");
        }
    }

    #[test]
    fn the_end_of_a_program_is_noticed() {
        let mut talk = Talk::start(Command::new("sh").args(["-c", "exit 3"])).unwrap();
        assert!(talk.hear().unwrap_err().to_string().contains("it ended with exit status: 3"));
    }
}
