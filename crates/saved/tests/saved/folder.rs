//! A folder belongs to one process, and is closed to other users.

use crate::{
    child,
    model::{Folder, State, header, open, options, reopened, save},
};
use kube_informer_saved::{OpenError, Saved};
use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        process::CommandExt,
    },
    process::Stdio,
};

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_second_who_opens_a_folder_is_refused() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    let error = Saved::open(folder.path(), &header(), options().start_over()).unwrap_err();
    assert!(error.is_locked() && error.to_string().contains("in use by another process"), "{error}");
    drop(saved);
    open(&folder);
}

#[test]
fn another_process_is_refused() {
    if let Some(folder) = child::task() {
        let error = Saved::open(folder, &header(), options()).unwrap_err();
        assert!(error.is_locked());
        return;
    }
    let folder = Folder::new();
    let (_saved, _) = open(&folder);
    let task = folder.path().to_str().unwrap();
    assert!(child::command("", "folder::another_process_is_refused", task).status().unwrap().success());
}

#[test]
fn folder_and_files_are_closed_to_others() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    save(&saved, 0);
    assert_eq!(mode(folder.path()), 0o700);
    for name in ["state", "lock"] {
        assert_eq!(mode(&folder.path().join(name)), 0o600, "{name}");
    }
}

#[test]
fn what_was_opened_to_others_is_closed() {
    let folder = Folder::new();
    save(&open(&folder).0, 0);
    set_mode(folder.path(), 0o755);
    set_mode(&folder.state(), 0o644);
    assert_eq!(reopened(&folder), State::after(1));
    assert_eq!((mode(folder.path()), mode(&folder.state())), (0o700, 0o600));
}

#[test]
fn an_open_folder_with_other_things_in_it_is_left_alone() {
    let folder = Folder::new();
    fs::create_dir(folder.path()).unwrap();
    fs::write(folder.path().join("letter"), "dear").unwrap();
    set_mode(folder.path(), 0o755);
    let error = Saved::open(folder.path(), &header(), options().start_over()).unwrap_err();
    assert!(matches!(error, OpenError::Exposed { mode: 0o755, .. }), "{error:?}");
    assert!(error.to_string().contains("name a folder of its own below it"));
    assert_eq!(mode(folder.path()), 0o755);
}

#[test]
fn what_is_no_file_of_ours_is_left_alone() {
    let folder = Folder::new();
    drop(open(&folder));
    let foreign = |what: &str| {
        let error = Saved::open(folder.path(), &header(), options().start_over()).unwrap_err();
        assert!(matches!(error, OpenError::Foreign { .. }) && !error.is_unusable(), "{what}: {error:?}");
        fs::remove_file(folder.state()).or_else(|_| fs::remove_dir(folder.state())).unwrap();
    };
    fs::write(folder.state(), "#!/bin/sh\n").unwrap();
    foreign("another file");
    fs::remove_file(folder.state()).err();
    symlink("/etc/passwd", folder.state()).unwrap();
    foreign("a link");
    fs::create_dir(folder.state()).unwrap();
    foreign("a folder");
    assert!(std::process::Command::new("mkfifo").arg(folder.state()).status().unwrap().success());
    foreign("a pipe");
}

#[test]
fn an_unfinished_new_file_is_cleared_away() {
    let folder = Folder::new();
    save(&open(&folder).0, 0);
    let next = folder.path().join("state.next");
    fs::write(&next, "half").unwrap();
    assert_eq!(reopened(&folder), State::after(1));
    assert!(!next.exists());
}

#[test]
fn a_file_that_was_deleted_is_written_anew() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    save(&saved, 0);
    fs::remove_file(folder.state()).unwrap();
    save(&saved, 1);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(2));
}

/// Root may write anywhere, so that it takes somebody else to be refused.
#[test]
fn a_folder_that_may_not_be_written_to_is_an_error() {
    let name = "folder::a_folder_that_may_not_be_written_to_is_an_error";
    if let Some(folder) = child::task() {
        let error = Saved::open(&folder, &header(), options().start_over()).unwrap_err();
        assert!(matches!(error, OpenError::Io { .. }) && !error.is_unusable(), "{error:?}");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("denied") || cause.contains("Read-only"), "{cause}");
        return;
    }
    let folder = Folder::new();
    drop(open(&folder));
    let is_root = fs::metadata(folder.path()).unwrap().uid() == 0;
    // Where it stands, another user may not find it.
    let program = std::env::temp_dir().join(format!("saved-test-program-{}", std::process::id()));
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    set_mode(&program, 0o755);
    fs::remove_file(folder.path().join("lock")).unwrap();
    set_mode(folder.path(), 0o500);
    let mut command = std::process::Command::new(&program);
    command
        .args(["--exact", name])
        .env("SAVED_TEST_TASK", folder.path())
        .current_dir("/")
        .stderr(Stdio::piped());
    if is_root {
        std::os::unix::fs::chown(folder.path(), Some(65_534), Some(65_534)).unwrap();
        command.uid(65_534).gid(65_534);
    }
    let output = command.output().unwrap();
    fs::remove_file(&program).unwrap();
    set_mode(folder.path(), 0o700);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_folder_within_a_file_is_an_error() {
    let folder = Folder::new();
    let file = folder.path();
    fs::write(file, "").unwrap();
    let error = Saved::open(file.join("below"), &header(), options()).unwrap_err();
    assert!(error.to_string().ends_with("making the folder failed"), "{error}");
    fs::remove_file(file).unwrap();
}
