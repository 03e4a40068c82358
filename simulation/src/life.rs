//! One informer, from its start to its end, with those who follow it.

use crate::{
    act::{Ending, Manner, NAMESPACES, Way},
    birth::{Birth, TIER, Warm},
    diary::Diary,
    ear::{Change, Seen},
    folder::Folder,
    follower::{Door, Follower},
    history::{History, Rule},
    server::Server,
    tap::Tap,
    truth::{Scope, Truth, Versions},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    Informer,
    cache::{Snapshot, Store},
    subscription::{Policy, Replay},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// An informer that runs, and what was seen of it so far.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) informer: Informer<ConfigMap>,
    pub(crate) scope: Scope,
    tap: Tap,
    /// The first of them has been there from the start, and is told everything at once.
    followers: Vec<Follower>,
    joined: usize,
    history: History,
    /// How many events may be published at once.
    at_once: u64,
    /// After how many seconds a follower is told everything again that asks for no time of its own.
    resync: u64,
    /// How many states had come when everything was calm for the last time.
    replaces: u64,
    /// What the server's version was when it was first seen to have synced.
    pub(crate) synced_at: Option<u64>,
    last: Option<Arc<Snapshot<ConfigMap>>>,
    newest: BTreeMap<String, u64>,
    /// What it began with, if it was something.
    pub(crate) warm: Option<Warm>,
    diary: Diary,
    /// Whether one left who may be expected back, so that nothing more is saved.
    pub(crate) is_deserted: bool,
}

/// How many events of a watch are published at once.
const BATCH: u64 = 64;

/// What is left of earlier lives.
#[derive(Debug)]
pub(crate) struct Past<'p> {
    pub(crate) folder: Option<&'p mut Folder>,
    pub(crate) diary: &'p Diary,
    /// What the last one had when it ended; nothing if it was killed.
    pub(crate) left: Option<Left>,
}

/// What a cache held in the end.
#[derive(Debug)]
pub(crate) struct Left {
    version: Option<u64>,
    versions: Versions,
}

impl Left {
    fn of(store: &Store<ConfigMap>) -> Self {
        let snapshot = store.snapshot();
        let seen = snapshot.list();
        let versions = seen.iter().map(|map| Seen::of(map)).map(|seen| (seen.key, seen.version)).collect();
        Self { version: number(&snapshot), versions }
    }

    fn is(&self, warm: &Warm) -> bool {
        let restored = warm.seen.iter().map(|seen| (&seen.key, &seen.version));
        self.version == warm.version && self.versions.iter().eq(restored.collect::<BTreeMap<_, _>>())
    }
}

/// The version of a state.
fn number(snapshot: &Snapshot<ConfigMap>) -> Option<u64> {
    snapshot.version().and_then(|version| version.to_string().parse().ok())
}

impl Life {
    /// Begins with what there is in the folder, if there is one. The first follower writes in the diary.
    pub(crate) fn begin(birth: Birth<'_>, server: &Server, past: Past<'_>) -> Self {
        let Birth { setup, history, .. } = birth;
        let tap = Tap::new(history.clone(), Arc::clone(&server.tears));
        let (informer, warm) = birth.informer((&tap, &server.client()), past.folder);
        let replay = setup.saving.map_or(Replay::All, |saving| saving.replay);
        let is_as_left = |warm: &Warm| past.left.as_ref().is_some_and(|left| left.is(warm));
        match &warm {
            Some(warm) if is_as_left(warm) => history.count("restarts: as it was left"),
            Some(_) => past.diary.is_ahead(),
            None => {}
        }
        if warm.is_none() || replay == Replay::All {
            // It is told everything.
            past.diary.begin();
        }
        let restored = warm.as_ref().map(|warm| &*warm.seen);
        let door = Door { informer: &informer, history, restored, diary: Some(past.diary.clone()) };
        let first = Follower::join(door, Manner { replay, ..Manner::EAGER }, 0).expect("it is not stopped");
        let keys = (setup.objects + 1) * NAMESPACES.len() as u64;
        let scope = setup.scope();
        let sources = scope.sources().len() as u64;
        let mut life = Self {
            informer,
            scope,
            tap,
            followers: vec![first],
            joined: 0,
            history: history.clone(),
            at_once: BATCH * sources + 4 * keys,
            resync: setup.resync,
            replaces: if warm.is_none() { sources } else { 0 },
            synced_at: None,
            last: None,
            newest: BTreeMap::new(),
            warm,
            diary: past.diary.clone(),
            is_deserted: false,
        };
        life.check(server);
        life.informer.start();
        life
    }

    pub(crate) fn join(&mut self, manner: Manner) {
        self.joined += 1;
        self.history.count(&format!("joined: {}", kind(manner)));
        let warm = self.warm.as_ref().filter(|_| !self.informer.has_synced());
        let restored = warm.map(|warm| &*warm.seen);
        if restored.is_some() && manner.replay == Replay::Differences {
            self.history.count("joined: late, for differences");
        }
        let door = Door { informer: &self.informer, history: &self.history, restored, diary: None };
        match Follower::join(door, manner, self.joined) {
            Some(follower) => self.followers.push(follower),
            None => self.history.breach(Rule::GoesOn, "a running informer takes nobody".to_owned()),
        }
    }

    /// Lets a follower go, if there is one of that number beside the first.
    pub(crate) async fn leave(&mut self, number: usize) {
        if number + 1 < self.followers.len() {
            self.history.count("left");
            let follower = self.followers.remove(number + 1);
            self.is_deserted |= follower.manner.replay == Replay::Differences;
            follower.leave().await;
        }
    }

    pub(crate) async fn read(&mut self, number: usize, events: usize) {
        if let Some(follower) = self.followers.get_mut(number + 1) {
            follower.read(events).await;
        }
    }

    /// Lets everyone read all there is, and says how many events that were.
    pub(crate) async fn read_all(&mut self) -> usize {
        let mut count = 0;
        for follower in &mut self.followers {
            count += follower.read(usize::MAX).await;
        }
        count
    }

    pub(crate) async fn catch_up(&mut self) {
        for follower in &mut self.followers {
            follower.catch_up().await;
        }
    }

    /// What must hold at any time.
    pub(crate) fn check(&mut self, server: &Server) {
        if self.informer.is_stopped() {
            self.history.breach(Rule::GoesOn, "the informer broke down".to_owned());
        }
        if self.synced_at.is_none() && self.informer.has_synced() {
            self.synced_at = Some(server.version());
        }
        if self.informer.status().counts.replaces > 0 {
            self.diary.listed();
        }
        for follower in &self.followers {
            follower.ear().verify(&server.truth);
            follower.check_bounds(self.at_once, &self.history);
        }
        self.check_snapshot(&server.truth);
    }

    fn check_snapshot(&mut self, truth: &Truth) {
        let snapshot = self.informer.snapshot();
        if self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &snapshot)) {
            return;
        }
        if let Some(last) = &self.last
            && number(last) > number(&snapshot)
        {
            self.history.breach(
                Rule::NeverBack,
                format!("the cache was at {:?}, and is at {:?}", last.version(), snapshot.version()),
            );
        }
        let mut fronts = Vec::new();
        for object in snapshot.list() {
            let seen = Seen::of(&object);
            let newest = self.newest.entry(seen.key.clone()).or_default();
            if seen.version < *newest {
                self.history.breach(
                    Rule::NeverBack,
                    format!("{} was at {newest}, and is at {}", seen.key, seen.version),
                );
            }
            *newest = seen.version;
            if !seen.was_so(truth) {
                self.history.breach(Rule::WasSo, format!("{seen:?} is cached"));
            }
            if seen.is_front {
                fronts.push(seen.key);
            }
        }
        let mut indexed: Vec<_> = snapshot
            .by_index(TIER, "front")
            .unwrap_or_default()
            .iter()
            .map(|map| Seen::of(map).key)
            .collect();
        fronts.sort_unstable();
        indexed.sort_unstable();
        if fronts != indexed {
            self.history
                .breach(Rule::IndexAgrees, format!("{indexed:?} stand under front, {fronts:?} should"));
        }
        self.last = Some(snapshot);
    }

    /// For how long it has asked for nothing.
    pub(crate) fn quiet(&self) -> Duration {
        self.tap.quiet()
    }

    /// How often the whole state was asked for.
    pub(crate) fn asked(&self) -> u64 {
        let counts = self.informer.status().counts;
        counts.lists + counts.streams
    }

    /// What the cache holds.
    pub(crate) fn versions(&self) -> Versions {
        let seen = self.informer.list();
        seen.iter().map(|map| Seen::of(map)).map(|seen| (seen.key, seen.version)).collect()
    }

    /// Whether the cache has come to this version, and everyone has been told.
    pub(crate) fn is_settled(&self, version: u64, truth: &Truth) -> bool {
        let reached = self.informer.version().and_then(|version| version.to_string().parse::<u64>().ok());
        reached.is_some_and(|reached| reached >= version)
            && self.followers.iter().all(|follower| follower.knows(&self.expected(follower, truth)))
    }

    fn expected(&self, follower: &Follower, truth: &Truth) -> Versions {
        truth.versions(|key, state| self.scope.passes(key, state) && follower.sees(key, state))
    }

    /// What keeps it from being settled.
    pub(crate) fn trouble(&self, version: u64, truth: &Truth) -> (Rule, String) {
        let status = self.informer.status();
        let at = self.informer.version();
        if at.as_ref().is_none_or(|at| at.to_string().parse::<u64>().is_ok_and(|at| at < version)) {
            let sources: Vec<_> = status
                .sources
                .iter()
                .map(|source| (&source.namespace, &source.status.phase, &source.status.last_error))
                .collect();
            return (Rule::GoesOn, format!("the cache is at {at:?} and should be at {version}: {sources:?}"));
        }
        let slow = self.followers.iter().find(|follower| !follower.knows(&self.expected(follower, truth)));
        let detail = slow.map(|follower| {
            format!(
                "{}; it was told {:?}, of {:?}",
                follower.describe(),
                follower.ear().versions(),
                self.expected(follower, truth)
            )
        });
        (Rule::AddsUp, detail.unwrap_or_default())
    }

    /// Holds what was told to some against what was told to others, and against what was written.
    pub(crate) fn compare(&mut self, truth: &Truth) {
        self.compare_order();
        let reference = self.followers[0].ear().changes.clone();
        for follower in self.followers.iter().skip(1).filter(|follower| follower.is_told_everything()) {
            let ear = follower.ear();
            let told = &ear.changes;
            let same =
                reference.len().checked_sub(told.len()).is_some_and(|skip| reference[skip..] == told[..]);
            if !same {
                self.history.breach(
                    Rule::AllAlike,
                    format!("{} was told {told:?}, the first {reference:?}", follower.describe()),
                );
            }
        }
        self.compare_diary(truth);
        let replaces = self.informer.status().counts.replaces;
        let sources = self.scope.sources().len() as u64;
        let since = match &self.warm {
            None => self.synced_at.filter(|_| replaces == sources),
            // What was written while nobody looked is told as well.
            Some(warm) => warm.version.filter(|_| replaces == 0 && sources == 1),
        };
        if let (Some(since), false) = (since, self.scope.only_front) {
            self.history.count(if self.warm.is_some() {
                "compared: every write since it was saved"
            } else {
                "compared: every write"
            });
            self.compare_writes(since, &reference, truth);
        }
    }

    /// What came from one watch since everything was calm was told in the order of its versions, unless a list came between.
    fn compare_order(&mut self) {
        let replaces = self.informer.status().counts.replaces;
        let had_no_list = std::mem::replace(&mut self.replaces, replaces) == replaces;
        let is_one_watch = self.scope.sources().len() == 1;
        let published = self.followers[0].changes_since_compared();
        for follower in &mut self.followers {
            let is_in_order = follower.is_told_in_order(published, self.resync);
            let breach = follower.out_of_order();
            if !(had_no_list && is_one_watch && is_in_order) {
                continue;
            }
            self.history.count("compared: order");
            if let Some(detail) = breach {
                self.history.breach(Rule::WatchOrder, detail);
            }
        }
    }

    /// What the first follower keeps itself, in one life after the other, is what there is.
    fn compare_diary(&self, truth: &Truth) {
        let expected = truth.versions(|key, state| self.scope.passes(key, state));
        let kept = self.diary.settled(&expected);
        if kept != expected {
            let detail = format!("it keeps {kept:?}, of {expected:?}");
            self.history.breach(Rule::Remembered, detail);
        }
    }

    fn compare_writes(&self, since: u64, told: &[Change], truth: &Truth) {
        let mut by_key: BTreeMap<&str, [Vec<(u64, bool)>; 2]> = BTreeMap::new();
        for write in truth.writes.iter().filter(|write| write.version > since && self.scope.has(&write.key)) {
            by_key.entry(&write.key).or_default()[0].push((write.version, write.state.is_none()));
        }
        for change in told.iter().filter(|change| change.version > since) {
            by_key.entry(&change.key).or_default()[1].push((change.version, change.is_gone));
        }
        for (key, [written, told]) in by_key {
            if written != told {
                self.history.breach(Rule::EveryWrite, format!("{key}: written {written:?}, told {told:?}"));
            }
        }
    }

    /// Ends it, and sees that nothing of it runs. Says what was in the cache then.
    pub(crate) async fn end(self, ending: Ending) -> Left {
        let Self { informer, tap, followers, history, warm, .. } = self;
        let counts = informer.status().counts;
        if warm.is_some() && informer.has_synced() {
            history.count(if counts.replaces == 0 { "restarts: resumed" } else { "restarts: listed again" });
        }
        for (what, count) in [
            ("lists", counts.lists),
            ("streams", counts.streams),
            ("watches", counts.watches),
            ("states", counts.replaces),
            ("states streamed", counts.streamed),
            ("changes", counts.events),
        ] {
            history.add(&format!("reflected: {what}"), count);
        }
        let store = informer.store().clone();
        match ending {
            Ending::Stopped => {
                informer.stop();
                informer.stopped().await;
                if informer.tasks() > 0 {
                    history.breach(Rule::OverIsOver, format!("{} tasks run after stop", informer.tasks()));
                }
                history.count("ended: stopped");
            }
            Ending::Dropped | Ending::Killed(_) => {
                drop(informer);
                // Who is at an event finishes it.
                tokio::time::sleep(Duration::from_secs(2)).await;
                history.count(if ending == Ending::Dropped { "ended: dropped" } else { "ended: killed" });
            }
        }
        tap.close();
        followers.iter().for_each(|follower| follower.ear().close());
        // Whatever were to come would come by then.
        tokio::time::sleep(Duration::from_secs(100)).await;
        Left::of(&store)
    }
}

fn kind(manner: Manner) -> &'static str {
    match (manner.policy, manner.way) {
        (Policy::Unbounded, _) => "unbounded",
        (Policy::Block(_), Way::Read) => "blocking, and reads at times",
        (Policy::Block(_), _) => "blocking",
        (Policy::Coalesce(_), Way::Read) => "coalescing, and reads at times",
        (Policy::Coalesce(_), _) => "coalescing",
    }
}
