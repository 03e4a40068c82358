//! Completions, the man page, and the name under which kubectl finds the command.

use crate::folder::folder;
use crate::program::{end, run};
use tokio::process::Command;

#[tokio::test]
async fn shells_get_their_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ended = run(&["completions", shell]).await;
        assert_eq!(ended.code, Some(0));
        assert!(ended.stdout.contains("field-selector"), "{shell}");
    }
}

#[tokio::test]
async fn the_man_page_tells_everything() {
    let ended = run(&["man"]).await;
    for words in [".TH informer 1", "INFORMER WATCH", "\\-\\-field\\-selector", "Exit codes"] {
        assert!(ended.stdout.contains(words), "no {words:?}");
    }
}

#[tokio::test]
async fn help_lists_the_exit_codes() {
    let ended = run(&["--help"]).await;
    assert!(ended.stdout.contains("5  the server denied access: 401 or 403"), "{}", ended.stdout);
}

#[cfg(unix)]
#[tokio::test]
async fn as_a_plugin_it_speaks_as_kubectl() {
    let path = folder().join("kubectl-informer");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_informer"), &path).unwrap();
    let mut command = Command::new(path);
    command.args(["watch", "--help"]).env_clear();
    let ended = end(command).await;
    assert!(ended.stdout.contains("Usage: kubectl informer watch"), "{}", ended.stdout);
}
