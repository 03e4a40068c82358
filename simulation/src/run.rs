//! Lives through a scenario.

use crate::{
    act::{Absence, Act, Asked, Crowd, Damage, Ending, Manner, NAMESPACES, Place, Provoked, Tier, Trouble},
    birth::Birth,
    diary::Diary,
    folder::Folder,
    history::{History, Outcome, Rule},
    life::{Left, Life, Past},
    pulse::Pulse,
    scenario::{Entry, Scenario, Setup},
    server::Server,
};
use kube_informer::subscription::Replay;
use kube_informer_wire::rng;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};
use tokio::time::{Instant, sleep, timeout};

/// Lives through a scenario, on this thread and in a time of its own.
///
/// # Panics
/// If there is no memory for a runtime.
#[must_use]
pub fn run(scenario: &Scenario) -> Outcome {
    rng::seed_thread(scenario.seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime of one thread asks nothing of the system");
    let history = {
        let _within = runtime.enter();
        History::new()
    };
    let pulse = Pulse::take(&runtime, &history);
    let whole = async {
        tokio::select! {
            biased;
            () = history.standstill() => {}
            () = live(scenario, &history) => {}
        }
    };
    let lived = catch_unwind(AssertUnwindSafe(|| runtime.block_on(whole)));
    drop(pulse);
    if let Err(panic) = lived {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
        history.breach(Rule::GoesOn, format!("panicked: {said}"));
    }
    history.outcome()
}

async fn live(scenario: &Scenario, history: &History) {
    let mut world = World::begin(&scenario.setup, history).await;
    for (number, Entry { act, pause }) in scenario.script.iter().enumerate() {
        history.note(format_args!("#{number} {act:?}"));
        world.perform(act).await;
        world.look();
        sleep(*pause).await;
        world.look();
        if history.is_broken() {
            return;
        }
    }
    history.note(format_args!("# end"));
    world.settle().await;
    world.audit().await;
    world.end().await;
}

struct World<'w> {
    setup: &'w Setup,
    history: &'w History,
    server: Server,
    life: Option<Life>,
    /// Where the cache is saved.
    folder: Option<Folder>,
    diary: Diary,
}

impl<'w> World<'w> {
    async fn begin(setup: &'w Setup, history: &'w History) -> Self {
        let mut server = Server::new(setup, history.clone());
        for number in 0..setup.before {
            let (namespace, name) = (number as usize % NAMESPACES.len(), format!("o{}", number / 3));
            server.put((namespace, &name), Tier::Front).await;
        }
        let folder = setup.saving.map(|saving| Folder::new(saving.names_cluster));
        let mut world = Self { setup, history, server, life: None, folder, diary: Diary::default() };
        world.begin_life(None);
        world
    }

    fn begin_life(&mut self, left: Option<Left>) {
        let birth = Birth { setup: self.setup, truth: &self.server.truth, history: self.history };
        let past = Past { folder: self.folder.as_mut(), diary: &self.diary, left };
        self.life = Some(Life::begin(birth, &self.server, past));
    }

    async fn perform(&mut self, act: &Act) {
        match *act {
            Act::Put(place, tier) => drop(self.server.put((place.namespace, &place.name()), tier).await),
            Act::Delete(place) => drop(self.server.delete(place).await),
            Act::Recreate(place, tier) => {
                if self.server.delete(place).await {
                    self.server.put((place.namespace, &place.name()), tier).await;
                }
            }
            Act::Burst(place, times, crowd) => {
                self.history.count(&format!("bursts: {crowd:?}"));
                if crowd == Crowd::Stuck {
                    self.life.iter_mut().for_each(|life| life.join(Manner::STUCK));
                }
                for _ in 0..times {
                    self.server.put((place.namespace, &place.name()), Tier::Front).await;
                }
            }
            Act::Trouble(trouble, provoked) => {
                self.server.inject(trouble);
                match provoked {
                    Provoked::Not => {}
                    Provoked::ByCut => self.server.cut(),
                    Provoked::ByForgetting => self.forget(1).await,
                    Provoked::ByRenewal => self.renew(Ending::Dropped, Absence::NONE).await,
                }
            }
            Act::Cut => self.server.cut(),
            Act::Compact => self.server.compact(),
            Act::Restart => self.server.restart(),
            Act::Forget(writes) => self.forget(writes).await,
            Act::Settle => self.settle().await,
            Act::Renew(ending, absence) => self.renew(ending, absence).await,
            Act::Join(manner) => self.life.iter_mut().for_each(|life| life.join(manner)),
            Act::Leave(number) => {
                if let Some(life) = &mut self.life {
                    life.leave(number).await;
                }
            }
            Act::Read(number, events) => {
                if let Some(life) = &mut self.life {
                    life.read(number, events).await;
                }
            }
        }
    }

    /// Breaks watches off, and lets the server forget what happens until they are opened again.
    async fn forget(&mut self, writes: u64) {
        self.server.inject(Trouble::Answer { asked: Asked::Watch, code: 503, retry_after: None, times: 3 });
        self.server.cut();
        sleep(Duration::from_millis(1)).await;
        for number in 0..writes {
            let place = Place { namespace: number as usize, number: 0 };
            match number {
                0 => drop(self.server.put((0, "o0"), Tier::Front).await),
                _ => drop(self.server.delete(place).await),
            }
        }
        self.server.compact();
    }

    async fn renew(&mut self, ending: Ending, absence: Absence) {
        let damage = match ending {
            Ending::Stopped | Ending::Dropped => Damage::None,
            Ending::Killed(damage) => damage,
        };
        let is_killed = matches!(ending, Ending::Killed(_));
        let folder = self.folder.as_ref().filter(|_| is_killed).map(Folder::killed);
        if is_killed {
            // What it does from now on never was.
            self.diary = self.diary.copied();
            self.history.count(&format!("killed, with: {}", damage.kind()));
        }
        let mut left = None;
        if let Some(life) = self.life.take() {
            left = Some(life.end(ending).await).filter(|_| !is_killed);
        }
        if let Some(mut folder) = folder {
            folder.harm(damage);
            self.folder = Some(folder);
        }
        self.happen(absence).await;
        self.begin_life(left);
        if let Some(late) = absence.late {
            sleep(late).await;
            let manner = Manner { replay: Replay::Differences, ..Manner::EAGER };
            self.life.iter_mut().for_each(|life| life.join(manner));
        }
    }

    /// What happens while there is no informer.
    async fn happen(&mut self, absence: Absence) {
        for number in 0..absence.writes {
            let Place { namespace, number: first } = absence.from;
            let place = Place { namespace: (namespace + number as usize) % 3, number: (first + number / 2) };
            match number % 2 {
                0 => drop(self.server.delete(place).await),
                _ => drop(self.server.put((place.namespace, &place.name()), Tier::Front).await),
            }
        }
        if absence.is_forgotten {
            self.server.compact();
        }
        if absence.late.is_some() {
            self.server.inject(Trouble::CutAfterEvents { events: 1, abruptly: false });
        }
    }

    /// What must hold at any time.
    fn look(&mut self) {
        if let Some(life) = &mut self.life {
            life.check(&self.server);
        }
    }

    /// Once all is calm: bookmarks take the cache to where the server is, and from there a watch that is cut goes on without a
    /// list, though all before is forgotten.
    async fn audit(&mut self) {
        if self.history.is_broken() {
            return;
        }
        self.server.touch_another_kind().await;
        self.reach(self.server.version()).await;
        // A watch that ends within a second of its beginning is taken for one that cannot be had.
        while self.life.as_ref().is_some_and(|life| life.quiet() < Duration::from_secs(2)) {
            sleep(Duration::from_secs(2)).await;
        }
        let Some(asked) = self.life.as_ref().map(Life::asked) else { return };
        self.server.compact();
        self.server.cut();
        self.settle().await;
        let after = self.life.as_ref().map(Life::asked);
        if after != Some(asked) && !self.history.is_broken() {
            self.history.breach(
                Rule::NoNeedlessList,
                format!("{asked} states were asked for before, then {after:?}"),
            );
        }
        self.history.count("audited");
        self.come_back().await;
    }

    /// What is calm and stopped in good order is all there when the next one begins, which asks for no list.
    async fn come_back(&mut self) {
        let Some(life) = self.life.take_if(|life| !life.is_deserted && !self.history.is_broken()) else {
            return;
        };
        if self.folder.is_none() {
            self.life = Some(life);
            return;
        }
        let before = life.versions();
        let left = life.end(Ending::Stopped).await;
        self.begin_life(Some(left));
        let Some(life) = &self.life else { return };
        if life.versions() != before || life.warm.is_none() {
            let detail = format!("{before:?} was saved, and {:?} is restored", life.versions());
            self.history.breach(Rule::SavedInFull, detail);
        }
        self.settle().await;
        let asked = self.life.as_ref().map_or(0, Life::asked);
        if asked > 0 && !self.history.is_broken() {
            let detail = format!("{asked} states were asked for though all was restored");
            self.history.breach(Rule::NoNeedlessList, detail);
        }
        self.history.count("came back");
    }

    /// Waits until the cache has come to this version and everyone has been told.
    async fn reach(&mut self, version: u64) {
        let Some(life) = &mut self.life else { return };
        let began = Instant::now();
        let mut wait = Duration::from_millis(1);
        loop {
            if life.read_all().await > 0 {
                // Somebody may have waited for that.
                wait = Duration::from_millis(1);
            }
            if life.is_settled(version, &self.server.truth) {
                return;
            }
            life.check(&self.server);
            if self.history.is_broken() {
                return;
            }
            if began.elapsed() > PATIENCE {
                let (rule, detail) = life.trouble(version, &self.server.truth);
                return self.history.breach(rule, detail);
            }
            sleep(wait).await;
            wait = (wait * 2).min(Duration::from_secs(30));
        }
    }

    /// Lets everything calm down, and holds everything against everything.
    async fn settle(&mut self) {
        let Some(life) = &mut self.life else { return };
        self.server.calm();
        // A marker in each namespace that is asked for, or its version would have to wait for a bookmark.
        let namespaces = life.scope.namespaces.as_ref().map_or(1, Vec::len);
        for namespace in 0..namespaces {
            self.server.put((namespace, "marker"), Tier::Front).await;
        }
        let last = self.server.truth.writes.iter().rev().take(namespaces).map(|write| write.version).min();
        let last = last.unwrap_or_default();
        self.reach(last).await;
        let Some(life) = self.life.as_mut().filter(|_| !self.history.is_broken()) else { return };
        if timeout(PATIENCE, life.catch_up()).await.is_err() {
            return self.history.breach(Rule::AddsUp, "some do not catch up".to_owned());
        }
        life.check(&self.server);
        life.compare(&self.server.truth);
        let scope = &life.scope;
        let expected = self.server.truth.versions(|key, state| scope.passes(key, state));
        let cached = life.versions();
        if cached != expected {
            self.history.breach(Rule::CacheIsServer, format!("cached {cached:?}, written {expected:?}"));
        }
        let (listed, written) = (self.server.listed().await, self.server.truth.versions(|_, _| true));
        if listed != written {
            self.history
                .breach(Rule::CacheIsServer, format!("the server has {listed:?}, written {written:?}"));
        }
        self.history.count("settled");
    }

    async fn end(mut self) {
        self.server.tell_strikes();
        if let Some(life) = self.life.take() {
            life.end(Ending::Stopped).await;
        }
        // What was asked for by whom is over: nobody reads on.
        sleep(Duration::from_secs(1)).await;
    }
}

/// So long after all is calm everything must be well: more than a watch that nobody answers may last.
const PATIENCE: Duration = Duration::from_secs(2 * 3600);
