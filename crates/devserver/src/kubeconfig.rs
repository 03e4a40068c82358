//! Writes a kubeconfig so that only its owner can read it, and without replacing a file with other contents.

use serde_json::Value;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// The name of the cluster, user and context in a kubeconfig of this server.
pub(crate) const NAME: &str = "devserver";

/// A kubeconfig of this server is smaller.
const MAX_SIZE: u64 = 1 << 20;

/// Writes `text` to a new file with mode 0600 that replaces `path`.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if `path` is neither empty nor a kubeconfig of this server, and any other error of the system.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    if !may_replace(path)? {
        let message =
            "the file exists and is not a kubeconfig of this server; delete it or choose another path";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    let mut next = path.as_os_str().to_owned();
    next.push(format!(".{}.next", std::process::id()));
    let next = PathBuf::from(next);
    let written = create_private(&next).and_then(|mut file| file.write_all(text.as_bytes()));
    let replaced = written.and_then(|()| fs::rename(&next, path));
    if replaced.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&next);
    }
    replaced
}

/// Returns true if there is no file, an empty one, or a kubeconfig that names this server only.
fn may_replace(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
        Ok(metadata) if !metadata.is_file() || metadata.len() > MAX_SIZE => return Ok(false),
        Ok(metadata) if metadata.len() == 0 => return Ok(true),
        Ok(_) => {}
    }
    let mut text = Vec::new();
    File::open(path)?.take(MAX_SIZE).read_to_end(&mut text)?;
    let Ok(config) = serde_json::from_slice::<Value>(&text) else { return Ok(false) };
    let names_this_server = |field: &str| {
        let entries = config[field].as_array();
        entries.is_some_and(|entries| entries.iter().all(|entry| entry["name"] == NAME))
    };
    Ok(["clusters", "users", "contexts"].into_iter().all(names_this_server))
}

fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::{
        os::unix::fs::{PermissionsExt, symlink},
        sync::atomic::{AtomicU32, Ordering},
    };

    const OURS: &str = r#"{"clusters":[{"name":"devserver"}],"users":[],"contexts":[{"name":"devserver"}]}"#;

    fn folder() -> PathBuf {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("devserver-kubeconfig-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files is writable");
        folder
    }

    #[test]
    fn a_file_that_others_could_read_is_replaced_by_a_private_one() {
        let path = folder().join("config");
        for before in [None, Some(""), Some(OURS)] {
            if let Some(text) = before {
                fs::write(&path, text).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            }
            write(&path, OURS).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), OURS);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no other file is left");
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_file_with_other_contents_is_not_replaced() {
        let folder = folder();
        let mixed = r#"{"clusters":[{"name":"devserver"},{"name":"work"}],"users":[],"contexts":[]}"#;
        for text in ["apiVersion: v1\nkind: Config\n", mixed, "{}", "[]", "nothing"] {
            let path = folder.join("config");
            fs::write(&path, text).unwrap();
            assert_eq!(write(&path, OURS).unwrap_err().kind(), io::ErrorKind::AlreadyExists, "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        let link = folder.join("link");
        symlink(folder.join("target"), &link).unwrap();
        assert_eq!(write(&link, OURS).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(!folder.join("target").exists(), "a link is not followed");
        fs::remove_dir_all(folder).unwrap();
    }
}
