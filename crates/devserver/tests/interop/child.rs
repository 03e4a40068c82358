//! A program that runs beside the test, is read line by line, and ends with it.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

/// Far more than any program here takes; a test that waits this long has failed.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A program whose output is read while it runs; dropping this kills it.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    errors: PathBuf,
}

impl Running {
    /// Starts a program; what it prints on standard error is kept in `errors`.
    pub(crate) fn start(command: &mut Command, errors: PathBuf) -> Self {
        let file = File::create(&errors).unwrap();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        // Unbounded: the program is never made to wait for the test.
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || pass_on(output, &sender));
        Self { child, lines, errors }
    }

    /// The next line, or none when the program has closed its output.
    pub(crate) fn line(&self) -> Option<String> {
        self.raw_line().map(|line| line.trim_end_matches('\n').to_owned())
    }

    /// The next line that fits; what comes before it is passed over.
    pub(crate) fn line_with(&self, fits: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + LIMIT;
        let mut passed = Vec::new();
        while Instant::now() < deadline {
            match self.line() {
                Some(line) if fits(&line) => return line,
                Some(line) => passed.push(line),
                None => break,
            }
        }
        panic!("no such line in {passed:#?}; {}", self.errors())
    }

    /// Waits for its end, and returns how it ended with what it printed since the last line that was read.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let output = std::iter::from_fn(|| self.raw_line()).collect();
        (self.child.wait().unwrap(), output)
    }

    /// Ends its standard input.
    pub(crate) fn end_input(&mut self) {
        self.child.stdin = None;
    }

    /// What it has said on standard error.
    pub(crate) fn errors(&self) -> String {
        format!("it said: {}", fs::read_to_string(&self.errors).unwrap_or_default())
    }

    fn raw_line(&self) -> Option<String> {
        match self.lines.recv_timeout(LIMIT) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line in {LIMIT:?}; {}", self.errors()),
        }
    }
}

/// Sends each line with its end, until there is none or nobody wants it.
fn pass_on(mut from: impl BufRead, to: &Sender<String>) {
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        if to.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
            return;
        }
        line.clear();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
