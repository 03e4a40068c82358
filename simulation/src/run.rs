//! Runs a scenario.

use crate::{
    action::{
        Action, Backpressure, Damage, Downtime, Ending, NAMESPACES, ObjectName, RequestFault, RequestType,
        SubscriberProfile, Tier, Trigger,
    },
    folder::Folder,
    history::{History, Logging, Outcome, Rule},
    informer_run::{EarlierRuns, FinalState, InformerRun},
    informer_start::InformerStart,
    persisted_state::PersistedState,
    scenario::{Scenario, ScriptEntry, Setup},
    server::Server,
    watchdog::Watchdog,
};
use kube_informer::subscription::Replay;
use kube_informer_wire::rng;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};
use tokio::time::{Instant, sleep, timeout};

/// Runs a scenario in this thread, under virtual time.
///
/// # Panics
/// If the runtime cannot be created.
#[must_use]
pub fn run(scenario: &Scenario) -> Outcome {
    run_with(scenario, Logging::Enabled)
}

/// Runs a scenario without a log, which is faster. The log of a violation is that of [`run`].
pub(crate) fn run_without_log(scenario: &Scenario) -> Outcome {
    run_with(scenario, Logging::Disabled)
}

fn run_with(scenario: &Scenario, logging: Logging) -> Outcome {
    rng::seed_thread(scenario.seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime of one thread needs no system resources");
    let history = {
        let _within = runtime.enter();
        History::new(logging)
    };
    let watchdog = Watchdog::start(&runtime, &history);
    let scenario_run = async {
        tokio::select! {
            biased;
            () = history.stopped_time() => {}
            () = execute(scenario, &history) => {}
        }
    };
    let result = catch_unwind(AssertUnwindSafe(|| runtime.block_on(scenario_run)));
    drop(watchdog);
    if let Err(panic) = result {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
        history.violate(Rule::Progress, format!("panicked: {message}"));
    }
    history.outcome()
}

async fn execute(scenario: &Scenario, history: &History) {
    let mut world = World::start(&scenario.setup, history).await;
    for (number, ScriptEntry { action, pause }) in scenario.script.iter().enumerate() {
        history.note(format_args!("#{number} {action:?}"));
        world.execute(action).await;
        world.check_now();
        sleep(*pause).await;
        world.check_now();
        if history.is_broken() {
            return;
        }
    }
    history.note(format_args!("# end"));
    world.check_calm().await;
    world.check_bookmarks().await;
    world.end().await;
}

struct World<'w> {
    setup: &'w Setup,
    history: &'w History,
    server: Server,
    informer_run: Option<InformerRun>,
    /// The folder of the saved cache.
    folder: Option<Folder>,
    persisted: PersistedState,
}

impl<'w> World<'w> {
    async fn start(setup: &'w Setup, history: &'w History) -> Self {
        let mut server = Server::new(setup, history.clone());
        for number in 0..setup.before {
            let (namespace, name) = (number as usize % NAMESPACES.len(), format!("o{}", number / 3));
            server.write(namespace, &name, Tier::Front).await;
        }
        let folder = setup.saving.map(|saving| Folder::new(saving.names_cluster));
        let mut world =
            Self { setup, history, server, informer_run: None, folder, persisted: PersistedState::default() };
        world.start_informer(None);
        world
    }

    fn start_informer(&mut self, last: Option<FinalState>) {
        let informer_start =
            InformerStart { setup: self.setup, write_log: &self.server.write_log, history: self.history };
        let past = EarlierRuns { folder: self.folder.as_mut(), persisted: &self.persisted, last };
        self.informer_run = Some(InformerRun::start(informer_start, &self.server, past));
    }

    async fn execute(&mut self, action: &Action) {
        match *action {
            Action::Write(object, tier) => {
                self.server.write(object.namespace, &object.name(), tier).await;
            }
            Action::Delete(object) => drop(self.server.delete(object).await),
            Action::Recreate(object, tier) => {
                if self.server.delete(object).await {
                    self.server.write(object.namespace, &object.name(), tier).await;
                }
            }
            Action::Burst(object, times, backpressure) => {
                self.history.count(&format!("bursts: {backpressure:?}"));
                if backpressure == Backpressure::Blocked {
                    self.informer_run
                        .iter_mut()
                        .for_each(|informer_run| informer_run.join(SubscriberProfile::BLOCKED));
                }
                for _ in 0..times {
                    self.server.write(object.namespace, &object.name(), Tier::Front).await;
                }
            }
            Action::Fault(request_fault, trigger) => {
                self.server.inject(request_fault);
                match trigger {
                    Trigger::None => {}
                    Trigger::Cut => self.server.cut(),
                    Trigger::Expiry => self.expire(1).await,
                    Trigger::Replacement => self.replace_informer(Ending::Dropped, Downtime::NONE).await,
                }
            }
            Action::Cut => self.server.cut(),
            Action::Compact => self.server.compact(),
            Action::Restart => self.server.restart(),
            Action::Expire(writes) => self.expire(writes).await,
            Action::Upgrade => {
                let generation = self.server.upgrade();
                self.informer_run.iter_mut().for_each(|run| run.upgraded(generation));
                self.expire(1).await;
            }
            Action::CheckCalm => self.check_calm().await,
            Action::Replace(ending, downtime) => self.replace_informer(ending, downtime).await,
            Action::Subscribe(profile) => {
                self.informer_run.iter_mut().for_each(|informer_run| informer_run.join(profile))
            }
            Action::Unsubscribe(number) => {
                if let Some(informer_run) = &mut self.informer_run {
                    informer_run.leave(number).await;
                }
            }
            Action::Read(number, events) => {
                if let Some(informer_run) = &mut self.informer_run {
                    informer_run.read(number, events).await;
                }
            }
        }
    }

    /// Closes all watches, changes objects, and drops the history before the watches are opened again.
    async fn expire(&mut self, writes: u64) {
        self.server.inject(RequestFault::Answer {
            request_type: RequestType::Watch,
            code: 503,
            retry_after: None,
            times: 3,
        });
        self.server.cut();
        sleep(Duration::from_millis(1)).await;
        for number in 0..writes {
            let object = ObjectName { namespace: number as usize, number: 0 };
            match number {
                0 => drop(self.server.write(0, "o0", Tier::Front).await),
                _ => drop(self.server.delete(object).await),
            }
        }
        self.server.compact();
    }

    async fn replace_informer(&mut self, ending: Ending, downtime: Downtime) {
        let damage = match ending {
            Ending::Stopped | Ending::Dropped => Damage::None,
            Ending::Killed(damage) => damage,
        };
        let is_killed = matches!(ending, Ending::Killed(_));
        let folder = self.folder.as_ref().filter(|_| is_killed).map(Folder::killed);
        if is_killed {
            // Later changes of the killed process have no effect.
            self.persisted = self.persisted.copied();
            self.history.count(&format!("killed with {}", damage.kind()));
        }
        let mut last = None;
        if let Some(informer_run) = self.informer_run.take() {
            last = Some(informer_run.end(ending).await).filter(|_| !is_killed);
        }
        if let Some(mut folder) = folder {
            folder.damage_files(damage);
            self.folder = Some(folder);
        }
        self.change_during(downtime).await;
        self.start_informer(last);
        if let Some(late) = downtime.late {
            sleep(late).await;
            let profile = SubscriberProfile { replay: Replay::Differences, ..SubscriberProfile::UNBOUNDED };
            self.informer_run.iter_mut().for_each(|informer_run| informer_run.join(profile));
        }
    }

    /// Changes the server while there is no informer.
    async fn change_during(&mut self, downtime: Downtime) {
        for number in 0..downtime.writes {
            let ObjectName { namespace, number: first } = downtime.from;
            let object =
                ObjectName { namespace: (namespace + number as usize) % 3, number: (first + number / 2) };
            match number % 2 {
                0 => drop(self.server.delete(object).await),
                _ => drop(self.server.write(object.namespace, &object.name(), Tier::Front).await),
            }
        }
        if downtime.is_compacted {
            self.server.compact();
        }
        if downtime.late.is_some() {
            self.server.inject(RequestFault::CutAfterEvents { events: 1, abruptly: false });
        }
    }

    /// Checks the rules that hold at any time.
    fn check_now(&mut self) {
        if let Some(informer_run) = &mut self.informer_run {
            informer_run.check(&self.server);
        }
    }

    /// Checks that bookmarks move the cache to the version of the server, and that a watch which is closed then continues without
    /// a list, even if the history was dropped.
    async fn check_bookmarks(&mut self) {
        if self.history.is_broken() {
            return;
        }
        self.server.touch_another_kind().await;
        self.wait_for_version(self.server.version()).await;
        // A watch that ends within a second is a failure.
        while self
            .informer_run
            .as_ref()
            .is_some_and(|informer_run| informer_run.since_last_request() < Duration::from_secs(2))
        {
            sleep(Duration::from_secs(2)).await;
        }
        let Some(full_lists) = self.informer_run.as_ref().map(InformerRun::full_list_requests) else {
            return;
        };
        self.server.compact();
        self.server.cut();
        self.check_calm().await;
        let after = self.informer_run.as_ref().map(InformerRun::full_list_requests);
        if after != Some(full_lists) && !self.history.is_broken() {
            self.history.violate(
                Rule::NoNeedlessList,
                format!("{full_lists} lists were requested before, then {after:?}"),
            );
        }
        self.history.count("compared: bookmarks");
        self.check_restart().await;
    }

    /// Checks that an informer which is stopped without faults is saved completely, and that the next one sends no list.
    async fn check_restart(&mut self) {
        let Some(informer_run) = self
            .informer_run
            .take_if(|informer_run| !informer_run.has_lost_differences && !self.history.is_broken())
        else {
            return;
        };
        if self.folder.is_none() {
            self.informer_run = Some(informer_run);
            return;
        }
        let before = informer_run.versions();
        let last = informer_run.end(Ending::Stopped).await;
        self.start_informer(Some(last));
        let Some(informer_run) = &self.informer_run else { return };
        if informer_run.versions() != before || informer_run.restored_state.is_none() {
            let detail = format!("{before:?} was saved, and {:?} is restored", informer_run.versions());
            self.history.violate(Rule::SavedCompletely, detail);
        }
        self.check_calm().await;
        let full_lists = self.informer_run.as_ref().map_or(0, InformerRun::full_list_requests);
        if full_lists > 0 && !self.history.is_broken() {
            let detail = format!("{full_lists} lists were requested though the complete state was restored");
            self.history.violate(Rule::NoNeedlessList, detail);
        }
        self.history.count("compared: restart");
    }

    /// Waits until the cache has the version and subscribers have received all events.
    async fn wait_for_version(&mut self, version: u64) {
        let Some(informer_run) = &mut self.informer_run else { return };
        let started_at = Instant::now();
        let mut wait = Duration::from_millis(1);
        loop {
            if informer_run.read_all().await > 0 {
                // The informer may have waited for a blocking subscriber.
                wait = Duration::from_millis(1);
            }
            if informer_run.is_settled(version, &self.server.write_log) {
                return;
            }
            informer_run.check(&self.server);
            if self.history.is_broken() {
                return;
            }
            if started_at.elapsed() > SETTLE_TIMEOUT {
                let (rule, detail) = informer_run.unsettled_reason(version, &self.server.write_log);
                return self.history.violate(rule, detail);
            }
            sleep(wait).await;
            wait = (wait * 2).min(Duration::from_secs(30));
        }
    }

    /// Ends all faults, and compares cache, events and server.
    async fn check_calm(&mut self) {
        let Some(informer_run) = &mut self.informer_run else { return };
        self.server.clear_faults();
        // A write to each namespace, so that each source reaches the version without a bookmark.
        let namespaces = informer_run.scope.namespaces.as_ref().map_or(1, Vec::len);
        for namespace in 0..namespaces {
            self.server.write(namespace, "marker", Tier::Front).await;
        }
        let last =
            self.server.write_log.writes.iter().rev().take(namespaces).map(|write| write.version).min();
        let last = last.unwrap_or_default();
        self.wait_for_version(last).await;
        let Some(informer_run) = self.informer_run.as_mut().filter(|_| !self.history.is_broken()) else {
            return;
        };
        if timeout(SETTLE_TIMEOUT, informer_run.catch_up()).await.is_err() {
            return self
                .history
                .violate(Rule::EventsAddUp, "a subscriber does not receive all events".to_owned());
        }
        informer_run.check(&self.server);
        informer_run.compare(&self.server.write_log);
        informer_run.check_content();
        let scope = &informer_run.scope;
        let expected = self.server.write_log.versions(|key, state| scope.matches(key, state));
        let cached = informer_run.versions();
        if cached != expected {
            self.history.violate(Rule::CacheEqualsServer, format!("cached {cached:?}, written {expected:?}"));
        }
        let (listed, written) = (self.server.listed().await, self.server.write_log.versions(|_, _| true));
        if listed != written {
            self.history
                .violate(Rule::CacheEqualsServer, format!("the server has {listed:?}, written {written:?}"));
        }
        self.history.count("compared: cache and server");
    }

    async fn end(mut self) {
        self.server.count_fault_hits();
        if let Some(informer_run) = self.informer_run.take() {
            informer_run.end(Ending::Stopped).await;
        }
        // Connections are closed by then.
        sleep(Duration::from_secs(1)).await;
    }
}

/// The maximum time to recover after all faults have ended.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2 * 3600);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        action::{Backpressure, FilePosition},
        planted_bug::PlantedBug,
        scenario::Saving,
    };
    use kube_informer::{Storage, reflector::Strategy, source::Encoding};

    #[test]
    fn a_run_without_a_log_makes_the_same_checks() {
        for seed in 0..3 {
            let scenario = Scenario::generate(seed);
            let (logged, unlogged) = (run(&scenario), run_without_log(&scenario));
            assert_eq!(unlogged.statistics, logged.statistics, "seed {seed}");
            assert_eq!(unlogged.lines.len(), 0);
            let planted = scenario.with_planted(PlantedBug::ObjectsReordered);
            let rule = |outcome: Outcome| outcome.broken.map(|broken| broken.rule);
            assert_eq!(rule(run_without_log(&planted)), rule(run(&planted)), "seed {seed}");
        }
    }

    #[test]
    fn objects_that_a_relist_compresses_again_are_no_differences() {
        let setup = Setup {
            objects: 6,
            before: 16,
            namespaces: Some(3),
            is_selective: false,
            storage: Storage::Compressed,
            strategy: Strategy::Stream,
            encoding: Encoding::Json,
            page_size: 0,
            is_checked: false,
            is_patient: false,
            resync: 30,
            history: 16,
            bookmarks: Duration::from_secs(20),
            saving: Some(Saving { names_cluster: false, replay: Replay::Differences }),
            planted: None,
        };
        let first = ObjectName { namespace: 1, number: 1 };
        for back in [20, 27, 40, 80, 160] {
            let damage = Damage::Truncated(FilePosition { file: 2, back });
            let downtime = Downtime { late: Some(Duration::from_millis(36)), ..Downtime::NONE };
            let actions = [
                Action::Burst(first, 85, Backpressure::Blocked),
                Action::CheckCalm,
                Action::Replace(Ending::Killed(damage), downtime),
            ];
            let script = actions.map(|action| ScriptEntry { action, pause: Duration::ZERO }).into();
            let scenario = Scenario { seed: 10_005_121, setup: setup.clone(), script };
            assert_eq!(run(&scenario).broken, None, "{back}");
        }
    }
}
