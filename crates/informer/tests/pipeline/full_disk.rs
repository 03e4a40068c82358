//! A full disk or a read-only folder is reported and does not affect the informer.
//!
//! Limits apply to a process, so each test runs itself again in a process with a limit.

use crate::{
    cluster::{Cluster, Versions, versions},
    restart::{Folder, abc, check_equal, maps},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    Informer,
    informer::{InformerBuilder, Save, SaveStatus},
};
use std::{
    fmt::{Debug, Write},
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// Set in the environment of the process with the limit.
const LIMITED: &str = "FULL_DISK_TEST";
/// Limits files to about a hundred kilobytes, with an error instead of a signal.
const SMALL_LIMIT: &str = "trap '' XFSZ; ulimit -S -f 200;";
/// Limits files to zero bytes.
const ZERO_LIMIT: &str = "trap '' XFSZ; ulimit -S -f 0;";

/// Runs this test in a new process, from a shell that runs `before` first. Returns whether this is that process.
fn is_in(before: &str, with: &str, name: &str) -> bool {
    if std::env::var_os(LIMITED).is_some() {
        return true;
    }
    let mut child = Command::new("sh");
    let run = format!("{before} exec {with} \"$0\" --exact full_disk::{name} --nocapture --test-threads=1");
    child.arg("-c").arg(run).arg(std::env::current_exe().unwrap()).env(LIMITED, "1").stdin(Stdio::null());
    let output = child.output().unwrap();
    let printed =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    false
}

/// Returns a command that runs a program without root's permission to write to any folder. Empty if this user does not have it.
fn without_root_permissions() -> &'static str {
    let folder = Folder::new();
    fs::create_dir(folder.path()).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
    match fs::write(folder.path().join("a"), "") {
        Ok(()) => "setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-all",
        Err(_) => "",
    }
}

/// Removes the limit of this process.
fn remove_limit() {
    let process = format!("--pid={}", std::process::id());
    let done = Command::new("prlimit").arg(process).arg("--fsize=unlimited").status().unwrap();
    assert!(done.success());
}

/// Records the log of this process.
#[derive(Clone, Default)]
struct LogRecorder(Arc<Mutex<String>>);

impl LogRecorder {
    fn take() -> Self {
        let log = Self::default();
        tracing::subscriber::set_global_default(log.clone()).unwrap();
        log
    }

    /// Returns the lines that contain `text`.
    fn lines(&self, text: &str) -> Vec<String> {
        let log = self.0.lock().unwrap();
        log.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }
}

impl Visit for LogRecorder {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0.lock().unwrap(), "{field}={value:?} ");
    }
}

impl Subscriber for LogRecorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("kube_informer") && *metadata.level() <= tracing::Level::INFO
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let line = Self::default();
        event.record(&mut line.clone());
        let _ = writeln!(self.0.lock().unwrap(), "{}", line.0.lock().unwrap());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Returns a few kilobytes that do not compress well.
fn noise(number: u64) -> String {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        format!("{state:016x}")
    };
    (0..512).map(step).collect()
}

fn saving(maps: &Informer<ConfigMap>) -> SaveStatus {
    maps.status().saving.unwrap()
}

/// Changes an object and waits until the cache has the change.
async fn change(cluster: &Cluster, maps: &Informer<ConfigMap>, value: &str) -> Versions {
    let version = cluster.change("a", value).await.metadata.resource_version.unwrap();
    maps.wait_for(&version.parse().unwrap()).await.unwrap();
    let state = cluster.versions().await;
    check_equal(maps, &state);
    state
}

/// Returns the state that would be restored if this process were killed now.
fn left(cluster: &Cluster, folder: &Folder) -> Versions {
    let copy = folder.killed();
    let next = maps(cluster).save_to(&copy).build().unwrap();
    versions(next.list().iter().map(|map| &**map))
}

/// Checks that the next process restores the state of the server.
async fn check_saved(cluster: &Cluster, folder: &Folder) {
    let next = maps(cluster).save_to(folder).build().unwrap();
    check_equal(&next, &cluster.versions().await);
    assert_eq!(next.status().restored.unwrap().objects, cluster.versions().await.len());
    next.start();
    next.synced().await.unwrap();
    assert_eq!(next.status().counts.replaces, 0, "the watch was resumed");
    next.stop();
    next.stopped().await;
}

fn saved_to(cluster: &Cluster, folder: &Folder) -> InformerBuilder<ConfigMap> {
    maps(cluster).save_to(Save::from(folder))
}

#[tokio::test(start_paused = true)]
async fn saving_fails_when_the_disk_is_full_and_recovers() {
    if !is_in(SMALL_LIMIT, "", "saving_fails_when_the_disk_is_full_and_recovers") {
        return;
    }
    let (log, cluster, folder) = (LogRecorder::take(), abc().await, Folder::new());
    let maps = saved_to(&cluster, &folder).start().unwrap();
    maps.synced().await.unwrap();
    let mut states = vec![Versions::new(), cluster.versions().await];
    while saving(&maps).error.is_none() {
        assert!(states.len() < 5_000, "the limit has no effect");
        states.push(change(&cluster, &maps, &noise(states.len() as u64)).await);
    }
    // The informer continues, and the files hold an earlier state.
    for number in 0..20 {
        states.push(change(&cluster, &maps, &noise(number)).await);
        let found = left(&cluster, &folder);
        assert!(states.contains(&found) && found.len() == states[1].len(), "{found:?}");
    }
    let failing = saving(&maps).error.unwrap();
    let path = folder.path().join("default");
    assert_eq!(
        failing,
        format!("{}: failed to write to the file: File too large (os error 27)", path.display())
    );
    assert!(saving(&maps).failures > 0);
    let received = log.lines("failed to save");
    assert!(
        received[0].contains(path.to_str().unwrap()) && received[0].contains("File too large"),
        "{received:?}"
    );
    remove_limit();
    change(&cluster, &maps, "no limit").await;
    maps.stop();
    maps.stopped().await;
    assert_eq!(saving(&maps).error, None);
    assert_eq!(log.lines("saving recovered").len(), 1);
    check_saved(&cluster, &folder).await;
}

/// Starts an informer whose cache is larger than the limit, and waits until saving has failed.
async fn too_large(folder: &Folder) -> (Cluster, Informer<ConfigMap>) {
    let cluster = abc().await;
    for number in 0..60 {
        let name = format!("n{number}");
        cluster.create(&name).await;
        cluster.change(&name, &noise(number)).await;
    }
    let maps = saved_to(&cluster, folder).start().unwrap();
    maps.synced().await.unwrap();
    check_equal(&maps, &cluster.versions().await);
    while saving(&maps).error.is_none() {
        tokio::task::yield_now().await;
    }
    (cluster, maps)
}

#[tokio::test(start_paused = true)]
async fn a_failed_first_save_is_retried_at_the_stop() {
    if !is_in(SMALL_LIMIT, "", "a_failed_first_save_is_retried_at_the_stop") {
        return;
    }
    let folder = Folder::new();
    let (cluster, maps) = too_large(&folder).await;
    let failures = saving(&maps).failures;
    maps.stop();
    maps.stopped().await;
    assert_eq!(saving(&maps).failures, failures + 1, "one retry, which fails");
    assert_eq!(left(&cluster, &folder), Versions::new(), "no partial state");
    let (cluster, maps) = too_large(&folder).await;
    remove_limit();
    // There is no change that would cause a save.
    maps.stop();
    maps.stopped().await;
    assert_eq!(saving(&maps).error, None);
    check_saved(&cluster, &folder).await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_first_save_is_retried_when_there_is_space() {
    if !is_in(SMALL_LIMIT, "", "a_failed_first_save_is_retried_when_there_is_space") {
        return;
    }
    let folder = Folder::new();
    let (cluster, maps) = too_large(&folder).await;
    for number in 0..10 {
        change(&cluster, &maps, &noise(number)).await;
        assert_eq!(left(&cluster, &folder), Versions::new(), "no partial state");
    }
    remove_limit();
    // The first change requests a full state, and the second one saves it.
    for value in ["no limit", "and more"] {
        change(&cluster, &maps, value).await;
    }
    maps.stop();
    maps.stopped().await;
    assert_eq!(saving(&maps).error, None);
    check_saved(&cluster, &folder).await;
}

/// Checks that the cache is not saved, and that nothing was restored.
async fn check_not_saved(cluster: &Cluster, folder: &Folder, why: &str) -> Informer<ConfigMap> {
    let maps = saved_to(cluster, folder).start().unwrap();
    maps.synced().await.unwrap();
    change(cluster, &maps, "unsaved").await;
    let failing = saving(&maps).error.unwrap();
    assert!(failing.starts_with(folder.path().to_str().unwrap()) && failing.contains(why), "{failing}");
    assert!(maps.status().restored.is_none());
    maps
}

#[tokio::test(start_paused = true)]
async fn without_any_space_the_cache_is_not_saved_until_the_next_start() {
    if !is_in(ZERO_LIMIT, "", "without_any_space_the_cache_is_not_saved_until_the_next_start") {
        return;
    }
    let (log, cluster, folder) = (LogRecorder::take(), abc().await, Folder::new());
    let off = check_not_saved(&cluster, &folder, "File too large").await;
    assert_eq!(log.lines("cache is not saved").len(), 1);
    remove_limit();
    change(&cluster, &off, "no limit").await;
    off.stop();
    off.stopped().await;
    assert!(saving(&off).error.is_some());
    let maps = saved_to(&cluster, &folder).build().unwrap();
    assert!(maps.is_empty() && maps.status().restored.is_none());
    maps.start();
    maps.synced().await.unwrap();
    maps.stop();
    maps.stopped().await;
    check_saved(&cluster, &folder).await;
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_read_only_folder_is_reported() {
    if !is_in("", without_root_permissions(), "a_read_only_folder_is_reported") {
        return;
    }
    let (cluster, folder) = (abc().await, Folder::new());
    fs::create_dir(folder.path()).unwrap();
    set_mode(folder.path(), 0o500);
    let off = check_not_saved(&cluster, &folder, "failed to create the folder: Permission denied").await;
    off.stop();
    off.stopped().await;
    set_mode(folder.path(), 0o700);
    fs::create_dir(folder.path().join("default")).unwrap();
    set_mode(&folder.path().join("default"), 0o500);
    let off = check_not_saved(&cluster, &folder, "failed to open the lock file: Permission denied").await;
    off.stop();
    off.stopped().await;
    set_mode(&folder.path().join("default"), 0o700);
    let maps = saved_to(&cluster, &folder).start().unwrap();
    maps.synced().await.unwrap();
    maps.stop();
    maps.stopped().await;
    check_saved(&cluster, &folder).await;
    // An existing state can be read and appended to without a new file.
    set_mode(&folder.path().join("default"), 0o500);
    let maps = saved_to(&cluster, &folder).start().unwrap();
    maps.synced().await.unwrap();
    change(&cluster, &maps, "added").await;
    maps.stop();
    maps.stopped().await;
    assert_eq!(saving(&maps).error, None);
    check_saved(&cluster, &folder).await;
    // A read-only state is not used, because it cannot be locked.
    for name in ["state", "lock"] {
        set_mode(&folder.path().join("default").join(name), 0o400);
    }
    let off = check_not_saved(&cluster, &folder, "failed to open the lock file: Permission denied").await;
    off.stop();
    off.stopped().await;
    set_mode(&folder.path().join("default"), 0o700);
}

#[tokio::test(start_paused = true)]
async fn a_removed_folder_is_reported_and_saved_to_again() {
    let (cluster, folder) = (abc().await, Folder::new());
    let maps = saved_to(&cluster, &folder).start().unwrap();
    maps.synced().await.unwrap();
    while saving(&maps).file_bytes == 0 || left(&cluster, &folder).is_empty() {
        tokio::task::yield_now().await;
    }
    fs::remove_dir_all(folder.path()).unwrap();
    while saving(&maps).error.is_none() {
        change(&cluster, &maps, "no folder").await;
    }
    let failing = saving(&maps).error.unwrap();
    assert!(failing.contains("failed to write a new file: No such file or directory"), "{failing}");
    fs::create_dir_all(folder.path().join("default")).unwrap();
    change(&cluster, &maps, "new folder").await;
    maps.stop();
    maps.stopped().await;
    assert_eq!(saving(&maps).error, None);
    tokio::time::timeout(Duration::from_secs(60), check_saved(&cluster, &folder)).await.unwrap();
}
