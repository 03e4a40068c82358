//! A saved folder that belongs to another user.

use crate::restart::{Folder, abc, maps};
use std::{io, os::unix::fs::chown, path::Path};

/// The user `nobody`.
const NOBODY: u32 = 65534;

/// Changes the owner of a folder and of its files.
fn change_owner(folder: &Path) -> io::Result<()> {
    for file in std::fs::read_dir(folder)? {
        let path = file?.path();
        if path.is_dir() { change_owner(&path)? } else { chown(path, Some(NOBODY), None)? }
    }
    chown(folder, Some(NOBODY), None)
}

/// A documented limit: the folder is trusted, and only root can use a folder of another user.
#[tokio::test(start_paused = true)]
async fn root_restores_a_folder_of_another_user() {
    let (cluster, folder) = (abc().await, Folder::new());
    let first = maps(&cluster).save_to(&folder).start().unwrap();
    first.synced().await.unwrap();
    first.stop();
    first.stopped().await;
    drop(first);
    if let Err(error) = change_owner(folder.path()) {
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "only root can change the owner: {error}");
        return;
    }
    let second = maps(&cluster).save_to(&folder).build().unwrap();
    assert_eq!(second.status().restored.unwrap().objects, 3);
}
