//! A folder is used by one process, and other users cannot access it.

use crate::{
    model::{Folder, State, header, open, options, reopened, save},
    subprocess,
};
use kube_informer_saved::{OpenError, SavedState};
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
fn a_folder_cannot_be_opened_twice() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    let error = SavedState::open(folder.path(), &header(), options().start_over()).unwrap_err();
    assert!(error.is_locked() && error.to_string().contains("in use by another process"), "{error}");
    drop(saved);
    open(&folder);
}

#[test]
fn a_folder_cannot_be_opened_by_another_process() {
    if let Some(folder) = subprocess::task() {
        let error = SavedState::open(folder, &header(), options()).unwrap_err();
        assert!(error.is_locked());
        return;
    }
    let folder = Folder::new();
    let (_saved, _) = open(&folder);
    let task = folder.path().to_str().unwrap();
    assert!(
        subprocess::command("", "folder::a_folder_cannot_be_opened_by_another_process", task)
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn other_users_cannot_access_the_folder_and_its_files() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    save(&saved, 0);
    assert_eq!(mode(folder.path()), 0o700);
    for name in ["state", "lock"] {
        assert_eq!(mode(&folder.path().join(name)), 0o600, "{name}");
    }
}

#[test]
fn removes_access_for_other_users() {
    let folder = Folder::new();
    save(&open(&folder).0, 0);
    set_mode(folder.path(), 0o755);
    set_mode(&folder.state(), 0o644);
    assert_eq!(reopened(&folder), State::after(1));
    assert_eq!((mode(folder.path()), mode(&folder.state())), (0o700, 0o600));
}

#[test]
fn does_not_change_the_permissions_of_a_folder_with_other_files() {
    let folder = Folder::new();
    fs::create_dir(folder.path()).unwrap();
    fs::write(folder.path().join("other"), "file").unwrap();
    set_mode(folder.path(), 0o755);
    let error = SavedState::open(folder.path(), &header(), options().start_over()).unwrap_err();
    assert!(matches!(error, OpenError::InsecurePermissions { mode: 0o755, .. }), "{error:?}");
    assert!(error.to_string().contains("use a separate subfolder"));
    assert_eq!(mode(folder.path()), 0o755);
}

#[test]
fn does_not_overwrite_files_of_other_programs() {
    let folder = Folder::new();
    drop(open(&folder));
    let check = |what: &str| {
        let error = SavedState::open(folder.path(), &header(), options().start_over()).unwrap_err();
        assert!(matches!(error, OpenError::UnknownFile { .. }) && !error.is_unusable(), "{what}: {error:?}");
        fs::remove_file(folder.state()).or_else(|_| fs::remove_dir(folder.state())).unwrap();
    };
    fs::write(folder.state(), "#!/bin/sh\n").unwrap();
    check("another file");
    fs::remove_file(folder.state()).err();
    symlink("/etc/passwd", folder.state()).unwrap();
    check("a link");
    fs::create_dir(folder.state()).unwrap();
    check("a folder");
    assert!(std::process::Command::new("mkfifo").arg(folder.state()).status().unwrap().success());
    check("a pipe");
}

#[test]
fn removes_an_incomplete_new_file() {
    let folder = Folder::new();
    save(&open(&folder).0, 0);
    let next = folder.path().join("state.next");
    fs::write(&next, "half").unwrap();
    assert_eq!(reopened(&folder), State::after(1));
    assert!(!next.exists());
}

#[test]
fn writes_a_new_file_if_it_was_deleted() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    save(&saved, 0);
    fs::remove_file(folder.state()).unwrap();
    save(&saved, 1);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(2));
}

/// Root can write anywhere, so the test runs as another user.
#[test]
fn returns_an_error_if_the_folder_is_read_only() {
    let name = "folder::returns_an_error_if_the_folder_is_read_only";
    if let Some(folder) = subprocess::task() {
        let error = SavedState::open(&folder, &header(), options().start_over()).unwrap_err();
        assert!(matches!(error, OpenError::Io { .. }) && !error.is_unusable(), "{error:?}");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("denied") || cause.contains("Read-only"), "{cause}");
        return;
    }
    let folder = Folder::new();
    drop(open(&folder));
    let is_root = fs::metadata(folder.path()).unwrap().uid() == 0;
    // The other user may not have access to the build folder.
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
fn returns_an_error_if_the_parent_is_a_file() {
    let folder = Folder::new();
    let file = folder.path();
    fs::write(file, "").unwrap();
    let error = SavedState::open(file.join("below"), &header(), options()).unwrap_err();
    assert!(error.to_string().ends_with("failed to create the folder"), "{error}");
    fs::remove_file(file).unwrap();
}
