//! A disk without room, or a folder that may not be written to, harms no informer, and is told of.
//!
//! Limits hold for a whole process, so that each test runs itself again as one that has them.

use crate::{
    cluster::{Cluster, Versions, versions},
    restarts::{Folder, abc, check_equal, maps},
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

/// Where the process that has the limits is told that it is that one.
const LIMITED: &str = "FULL_DISK_TEST";
/// About a hundred kilobytes for a file, and an error rather than a signal for who writes more.
const LITTLE_ROOM: &str = "trap '' XFSZ; ulimit -S -f 200;";
/// Not a byte.
const NO_ROOM: &str = "trap '' XFSZ; ulimit -S -f 0;";

/// Runs this test in a process of its own, by way of a shell that says `before` first; says whether this is that process.
fn is_in(before: &str, with: &str, name: &str) -> bool {
    if std::env::var_os(LIMITED).is_some() {
        return true;
    }
    let mut child = Command::new("sh");
    let run = format!("{before} exec {with} \"$0\" --exact full_disk::{name} --nocapture --test-threads=1");
    child.arg("-c").arg(run).arg(std::env::current_exe().unwrap()).env(LIMITED, "1").stdin(Stdio::null());
    let output = child.output().unwrap();
    let said =
        [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// What takes the right from root to write where it is not allowed to; nothing for others, who never have it.
fn like_anybody() -> &'static str {
    let folder = Folder::new();
    fs::create_dir(&folder.0).unwrap();
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o500)).unwrap();
    match fs::write(folder.0.join("a"), "") {
        Ok(()) => "setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-all",
        Err(_) => "",
    }
}

/// Lets this process write as much as it likes again.
fn make_room() {
    let process = format!("--pid={}", std::process::id());
    let done = Command::new("prlimit").arg(process).arg("--fsize=unlimited").status().unwrap();
    assert!(done.success());
}

/// Writes down what is logged by any thread of this process.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<String>>);

impl Notes {
    fn take() -> Self {
        let notes = Self::default();
        tracing::subscriber::set_global_default(notes.clone()).unwrap();
        notes
    }

    /// The lines that say this.
    fn lines(&self, said: &str) -> Vec<String> {
        let notes = self.0.lock().unwrap();
        notes.lines().filter(|line| line.contains(said)).map(str::to_owned).collect()
    }
}

impl Visit for Notes {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0.lock().unwrap(), "{field}={value:?} ");
    }
}

impl Subscriber for Notes {
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

/// Some kilobytes that do not shrink by much.
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

/// Changes an object, and waits until the cache has it.
async fn change(cluster: &Cluster, maps: &Informer<ConfigMap>, value: &str) -> Versions {
    let version = cluster.change("a", value).await.metadata.resource_version.unwrap();
    maps.wait_for(&version.parse().unwrap()).await.unwrap();
    let state = cluster.versions().await;
    check_equal(maps, &state);
    state
}

/// What the next process would begin with if this one were killed now.
fn left(cluster: &Cluster, folder: &Folder) -> Versions {
    let copy = folder.killed();
    let next = maps(cluster).save_to(&copy).build().unwrap();
    versions(next.list().iter().map(|map| &**map))
}

/// The next process has all that the server had when the last one ended.
async fn check_saved(cluster: &Cluster, folder: &Folder) {
    let next = maps(cluster).save_to(folder).build().unwrap();
    check_equal(&next, &cluster.versions().await);
    assert_eq!(next.status().restored.unwrap().objects, cluster.versions().await.len());
    next.start();
    next.synced().await.unwrap();
    assert_eq!(next.status().counts.replaces, 0, "the watch went on");
    next.stop();
    next.stopped().await;
}

fn saved_to(cluster: &Cluster, folder: &Folder) -> InformerBuilder<ConfigMap> {
    maps(cluster).save_to(Save::from(folder))
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_fills_up_is_told_of_and_made_up_for() {
    if !is_in(LITTLE_ROOM, "", "a_disk_that_fills_up_is_told_of_and_made_up_for") {
        return;
    }
    let (notes, cluster, folder) = (Notes::take(), abc().await, Folder::new());
    let maps = saved_to(&cluster, &folder).start().unwrap();
    maps.synced().await.unwrap();
    let mut states = vec![Versions::new(), cluster.versions().await];
    while saving(&maps).error.is_none() {
        assert!(states.len() < 5_000, "there is no end to the room");
        states.push(change(&cluster, &maps, &noise(states.len() as u64)).await);
    }
    // It goes on, and is right, and what is on the disk is what once was.
    for number in 0..20 {
        states.push(change(&cluster, &maps, &noise(number)).await);
        let found = left(&cluster, &folder);
        assert!(states.contains(&found) && found.len() == states[1].len(), "{found:?}");
    }
    let failing = saving(&maps).error.unwrap();
    let place = folder.0.join("default");
    assert_eq!(
        failing,
        format!("{}: failed to write to the file: File too large (os error 27)", place.display())
    );
    assert!(saving(&maps).failures > 0);
    let told = notes.lines("saving failed");
    assert!(told[0].contains(place.to_str().unwrap()) && told[0].contains("File too large"), "{told:?}");
    make_room();
    change(&cluster, &maps, "there is room").await;
    maps.stop();
    maps.stopped().await;
    assert_eq!(saving(&maps).error, None);
    assert_eq!(notes.lines("saving continues").len(), 1);
    check_saved(&cluster, &folder).await;
}

/// A cache that there is no room for, and which has failed to be saved.
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
async fn a_first_state_without_room_is_tried_once_more_at_the_end() {
    if !is_in(LITTLE_ROOM, "", "a_first_state_without_room_is_tried_once_more_at_the_end") {
        return;
    }
    let folder = Folder::new();
    let (cluster, maps) = too_large(&folder).await;
    let failures = saving(&maps).failures;
    maps.stop();
    maps.stopped().await;
    assert_eq!(saving(&maps).failures, failures + 1, "once, and there is still no room");
    assert_eq!(left(&cluster, &folder), Versions::new(), "nothing, rather than a part");
    let (cluster, maps) = too_large(&folder).await;
    make_room();
    // Nothing happens that would be cause to save.
    maps.stop();
    maps.stopped().await;
    assert_eq!(saving(&maps).error, None);
    check_saved(&cluster, &folder).await;
}

#[tokio::test(start_paused = true)]
async fn a_first_state_without_room_is_saved_when_there_is_some() {
    if !is_in(LITTLE_ROOM, "", "a_first_state_without_room_is_saved_when_there_is_some") {
        return;
    }
    let folder = Folder::new();
    let (cluster, maps) = too_large(&folder).await;
    for number in 0..10 {
        change(&cluster, &maps, &noise(number)).await;
        assert_eq!(left(&cluster, &folder), Versions::new(), "nothing, rather than a part");
    }
    make_room();
    // The first change finds out that the whole is missing, the second that it is there to be saved.
    for value in ["there is room", "and more"] {
        change(&cluster, &maps, value).await;
    }
    maps.stop();
    maps.stopped().await;
    assert_eq!(saving(&maps).error, None);
    check_saved(&cluster, &folder).await;
}

/// Nothing is saved in this process, and the next one begins anew.
async fn check_off(cluster: &Cluster, folder: &Folder, why: &str) -> Informer<ConfigMap> {
    let maps = saved_to(cluster, folder).start().unwrap();
    maps.synced().await.unwrap();
    change(cluster, &maps, "unsaved").await;
    let failing = saving(&maps).error.unwrap();
    assert!(failing.starts_with(folder.0.to_str().unwrap()) && failing.contains(why), "{failing}");
    assert!(maps.status().restored.is_none());
    maps
}

#[tokio::test(start_paused = true)]
async fn where_there_is_no_room_at_all_nothing_is_saved_until_the_next_start() {
    if !is_in(NO_ROOM, "", "where_there_is_no_room_at_all_nothing_is_saved_until_the_next_start") {
        return;
    }
    let (notes, cluster, folder) = (Notes::take(), abc().await, Folder::new());
    let off = check_off(&cluster, &folder, "File too large").await;
    assert_eq!(notes.lines("the cache is not saved").len(), 1);
    make_room();
    change(&cluster, &off, "there is room").await;
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
async fn a_folder_that_may_not_be_written_to_is_told_of() {
    if !is_in("", like_anybody(), "a_folder_that_may_not_be_written_to_is_told_of") {
        return;
    }
    let (cluster, folder) = (abc().await, Folder::new());
    fs::create_dir(&folder.0).unwrap();
    set_mode(&folder.0, 0o500);
    let off = check_off(&cluster, &folder, "failed to create the folder: Permission denied").await;
    off.stop();
    off.stopped().await;
    set_mode(&folder.0, 0o700);
    fs::create_dir(folder.0.join("default")).unwrap();
    set_mode(&folder.0.join("default"), 0o500);
    let off = check_off(&cluster, &folder, "failed to open the lock file: Permission denied").await;
    off.stop();
    off.stopped().await;
    set_mode(&folder.0.join("default"), 0o700);
    let maps = saved_to(&cluster, &folder).start().unwrap();
    maps.synced().await.unwrap();
    maps.stop();
    maps.stopped().await;
    check_saved(&cluster, &folder).await;
    // A state that is there may be read and added to, which takes no new file.
    set_mode(&folder.0.join("default"), 0o500);
    let maps = saved_to(&cluster, &folder).start().unwrap();
    maps.synced().await.unwrap();
    change(&cluster, &maps, "added").await;
    maps.stop();
    maps.stopped().await;
    assert_eq!(saving(&maps).error, None);
    check_saved(&cluster, &folder).await;
    // One that may only be read is not: nobody could tell whether another process has it.
    for name in ["state", "lock"] {
        set_mode(&folder.0.join("default").join(name), 0o400);
    }
    let off = check_off(&cluster, &folder, "failed to open the lock file: Permission denied").await;
    off.stop();
    off.stopped().await;
    set_mode(&folder.0.join("default"), 0o700);
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_is_taken_away_is_told_of_and_made_up_for() {
    let (cluster, folder) = (abc().await, Folder::new());
    let maps = saved_to(&cluster, &folder).start().unwrap();
    maps.synced().await.unwrap();
    while saving(&maps).file_bytes == 0 || left(&cluster, &folder).is_empty() {
        tokio::task::yield_now().await;
    }
    fs::remove_dir_all(&folder.0).unwrap();
    while saving(&maps).error.is_none() {
        change(&cluster, &maps, "where to?").await;
    }
    let failing = saving(&maps).error.unwrap();
    assert!(failing.contains("failed to write a new file: No such file or directory"), "{failing}");
    fs::create_dir_all(folder.0.join("default")).unwrap();
    change(&cluster, &maps, "here").await;
    maps.stop();
    maps.stopped().await;
    assert_eq!(saving(&maps).error, None);
    tokio::time::timeout(Duration::from_secs(60), check_saved(&cluster, &folder)).await.unwrap();
}
