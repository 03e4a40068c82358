//! The pictures of the README: the program itself on the server within it, as a terminal shows it.
//!
//! `UPDATE_PICTURES=1 cargo test -p kube-informer-cli --test command pictures` updates them.

use crate::picture::svg;
use crate::terminal::Terminal;
use std::path::PathBuf;

/// Takes a picture when the screen meets a condition, and updates the file if that is requested.
fn picture(name: &str, terminal: &Terminal, is_so: impl Fn(&str) -> bool, command: &str) {
    let drawn = terminal.look(is_so, |screen| svg(screen, command));
    assert!(drawn.matches("<text").count() > 10 && drawn.contains("#56d364"), "{drawn}");
    if is_kept() {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
        std::fs::write(folder.join(name), drawn).unwrap();
    }
}

fn is_kept() -> bool {
    std::env::var_os("UPDATE_PICTURES").is_some()
}

/// Returns whether the screen has this number of lines that begin with a time.
fn told(text: &str) -> usize {
    text.lines().filter(|line| line.as_bytes().get(2) == Some(&b':')).count()
}

#[test]
fn top_on_the_server_within() {
    let mut terminal = Terminal::sized((28, 100), &["demo", "--churn", "8"], &[]);
    terminal.wait_for("watching");
    terminal.press("j");
    // Something of each kind, which one waits for only if the picture is kept.
    let words = ["deployments.apps: ", "replicas ", "restarts ", "added", "deleted"];
    let words = if is_kept() { &words[..] } else { &words[..1] };
    let is_so = |text: &str| told(text) >= 14 && words.iter().all(|words| text.contains(words));
    picture("top.svg", &terminal, is_so, "informer demo --churn 8");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn top_on_small_and_large_terminals() {
    for (name, size, lines) in
        [("top-40x12.svg", (12, 40), 4), ("top-80x24.svg", (24, 80), 10), ("top-160x45.svg", (45, 160), 14)]
    {
        let mut terminal = Terminal::sized(size, &["demo", "--churn", "8"], &[]);
        let is_so = |text: &str| {
            let is_synced = !text.contains("listing") && (size.1 < 80 || text.contains("watching"));
            is_synced && text.lines().filter(|line| !line.trim().is_empty()).count() >= lines
        };
        picture(name, &terminal, is_so, &format!("informer demo at {} by {}", size.1, size.0));
        terminal.press("q");
        assert_eq!(terminal.end().0, 0);
    }
}

#[test]
fn differences_on_the_server_within() {
    let mut terminal = Terminal::sized((24, 120), &["watch", "pods", "-A", "-o", "diff", "--demo"], &[]);
    // Waits for a full screen; if the picture is updated, for one without long lines.
    let is_so = |text: &str| {
        let is_full = text.lines().count() >= 22 && told(text) >= 1 && text.contains("\n    + ");
        let is_fine = || {
            let is_tidy = text.lines().all(|line| line.len() < 120);
            is_tidy && told(text) >= 4 && text.contains("[Ready].status: ")
        };
        is_full && (!is_kept() || is_fine())
    };
    picture("diff.svg", &terminal, is_so, "informer watch pods -A -o diff --demo");
    terminal.press("\x03");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_known_screen_is_drawn_so() {
    let mut parser = vt100::Parser::new(2, 20, 0);
    parser.process(b"\x1b[1mname\x1b[0m  a <b> & c\r\n \x1b[32mcame\x1b[0m \x1b[7m\x1b[2mchosen\x1b[0m");
    let expected = include_str!("picture.svg");
    assert_eq!(svg(parser.screen(), "informer <top>"), expected);
}
