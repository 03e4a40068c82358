//! Runs a program during a test, and reads its output by line.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

/// The timeout of a test that waits for a program.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A program whose output is read while it runs. It is killed on drop.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    errors: PathBuf,
}

impl Running {
    /// Starts a program, and redirects its standard error to the file `errors`.
    pub(crate) fn start(command: &mut Command, errors: PathBuf) -> Self {
        let file = File::create(&errors).unwrap();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        // The channel is unbounded, so that the program never waits for the test.
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || send_lines(output, &sender));
        Self { child, lines, errors }
    }

    /// Returns the next line; `None` if the program has closed its output.
    pub(crate) fn line(&self) -> Option<String> {
        self.raw_line().map(|line| line.trim_end_matches('\n').to_owned())
    }

    /// Returns the next line that matches, and skips the lines before it.
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

    /// Waits for the end of the program. Returns its exit status, and the output after the last line that was
    /// read.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let output = std::iter::from_fn(|| self.raw_line()).collect();
        (self.child.wait().unwrap(), output)
    }

    /// Writes a line to the program's standard input.
    pub(crate) fn send(&mut self, line: &str) {
        use std::io::Write as _;
        let input = self.child.stdin.as_mut().expect("it is closed at the end of a test");
        writeln!(input, "{line}").unwrap();
    }

    /// Closes the program's standard input.
    pub(crate) fn end_input(&mut self) {
        self.child.stdin = None;
    }

    /// Returns the program's standard error.
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

/// Sends all lines, until the input or the receiver is closed.
fn send_lines(mut from: impl BufRead, to: &Sender<String>) {
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
        // The program may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
