//! The program in a terminal of 24 rows and 80 columns, or of another size.

use crate::folder::folder;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::{
    io::{Read, Write},
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

const LIMIT: Duration = Duration::from_secs(60);
/// A screen on which nothing has come for so long is whole.
const STILL: Duration = Duration::from_millis(25);

/// The contents of the screen, and whether the program has ended.
struct Shown {
    parser: vt100::Parser,
    is_over: bool,
}

/// The program in a terminal.
pub(crate) struct Terminal {
    shown: Arc<(Mutex<Shown>, Condvar)>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    // Closing it would hang up on the program.
    _master: Box<dyn MasterPty + Send>,
}

impl Terminal {
    pub(crate) fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::sized((24, 80), arguments, environment)
    }

    /// Starts a terminal with this number of rows and columns.
    pub(crate) fn sized(size: (u16, u16), arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let (rows, cols) = size;
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_informer"));
        command.args(arguments);
        command.env_clear();
        command.env("TERM", "xterm-256color");
        command.env("TZ", "UTC");
        command.env("HOME", folder());
        environment.iter().for_each(|(name, value)| command.env(name, value));
        let child = pair.slave.spawn_command(command).unwrap();
        let shown = Shown { parser: vt100::Parser::new(rows, cols, 0), is_over: false };
        let shown = Arc::new((Mutex::new(shown), Condvar::new()));
        let mut output = pair.master.try_clone_reader().unwrap();
        let sink = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut piece = [0; 8192];
            loop {
                let read = output.read(&mut piece).unwrap_or(0);
                let mut shown = sink.0.lock().unwrap();
                shown.parser.process(&piece[..read]);
                shown.is_over = read == 0;
                sink.1.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        let keys = pair.master.take_writer().unwrap();
        Self { shown, keys, child, _master: pair.master }
    }

    /// Types keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits until the screen meets a condition, and returns its text.
    pub(crate) fn wait(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + LIMIT;
        let mut shown = self.shown.0.lock().unwrap();
        loop {
            let text = shown.parser.screen().contents();
            if is_so(&text) {
                return text;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !shown.is_over, "no {what} on the screen:\n{text}");
            shown = self.shown.1.wait_timeout(shown, left).unwrap().0;
        }
    }

    /// Waits until the screen shows these words.
    pub(crate) fn wait_for(&self, words: &str) -> String {
        self.wait(words, |text| text.contains(words))
    }

    /// Waits until the screen meets a condition and is not being drawn, and reads it.
    pub(crate) fn look<T>(&self, is_so: impl Fn(&str) -> bool, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        let until = Instant::now() + LIMIT;
        let mut shown = self.shown.0.lock().unwrap();
        loop {
            let (still, wait) = self.shown.1.wait_timeout(shown, STILL).unwrap();
            shown = still;
            let text = shown.parser.screen().contents();
            if wait.timed_out() && is_so(&text) {
                return look(shown.parser.screen());
            }
            assert!(Instant::now() < until && !shown.is_over, "no such screen, but:\n{text}");
        }
    }

    /// Returns whether anything on the screen has a color.
    pub(crate) fn is_coloured(&self) -> bool {
        let shown = self.shown.0.lock().unwrap();
        let screen = shown.parser.screen();
        let cells = (0..24).flat_map(|row| (0..80).map(move |column| (row, column)));
        let mut colours = cells.filter_map(|(row, column)| Some(screen.cell(row, column)?.fgcolor()));
        colours.any(|colour| colour != vt100::Color::Default)
    }

    /// Waits until the program has ended, and returns its exit code and the screen.
    pub(crate) fn end(mut self) -> (u32, String) {
        let until = Instant::now() + LIMIT;
        let mut shown = self.shown.0.lock().unwrap();
        while !shown.is_over {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "it does not end:\n{}", shown.parser.screen().contents());
            shown = self.shown.1.wait_timeout(shown, left).unwrap().0;
        }
        assert!(!shown.parser.screen().alternate_screen(), "the terminal is given back");
        let text = shown.parser.screen().contents();
        drop(shown);
        (self.child.wait().unwrap().exit_code(), text)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.child.kill();
    }
}
