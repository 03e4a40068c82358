//! `informer wait`: waits until objects meet a condition, on a watch.

use crate::advice;
use crate::args::{Condition, Limit, Wait};
use crate::cli_error::{Class, CliError};
use crate::cluster::{Connection, DISCOVERY, connect_all};
use crate::informers::{
    BACKOFF, Delivery, Indexes, InformerSettings, Target, WatchedResource, events, follow, namespaces,
    targets,
};
use crate::jsonpath::{JsonPathError, shown};
use crate::kinds::whole;
use crate::safe::{clean, clean_name};
use crate::signal::interruption;
use futures_util::{StreamExt, future::try_join_all};
use kube_core::DynamicObject;
use kube_informer::event::Event;
use kube_informer_wire::{Key, ManagedFields};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    io::{self, Write},
    sync::Arc,
    time::Duration,
};

/// Runs `informer wait`.
///
/// # Errors
/// If the condition is not met in time, an object does not exist, or the server refuses.
pub(crate) async fn run(args: Wait) -> anyhow::Result<()> {
    let mut watched = Vec::new();
    for connection in connect_all(&args.cluster).await? {
        watched.extend(resolve(connection, &args).await?);
    }
    let mut waiting = Waiting { watched, args, pending: BTreeMap::new() };
    let limit = match waiting.args.timeout {
        // The state is requested once, without a limit.
        Limit::After(Duration::ZERO) | Limit::Never => None,
        Limit::After(limit) => Some(limit),
    };
    let is_late = tokio::select! {
        outcome = waiting.wait() => return outcome,
        () = late(limit) => true,
        () = interruption() => false,
    };
    if is_late { Err(waiting.late().into()) } else { Err(CliError::new(Class::Other, "interrupted").into()) }
}

async fn late(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// Creates the informers of one cluster.
async fn resolve(connection: Connection, args: &Wait) -> anyhow::Result<Vec<WatchedResource>> {
    let catalog = connection.catalog(DISCOVERY).await?;
    let targets = targets(&catalog, &args.resources)?;
    let is_selected =
        args.all || args.informer_args.selector.is_some() || args.informer_args.field_selector.is_some();
    if let Some(target) = targets.iter().find(|target| target.name.is_none() && !is_selected) {
        let what = format!("no objects of {} are selected", target.kind.resource());
        return Err(CliError::new(Class::Usage, what)
            .hint("name them as pod/front-1, or use -l SELECTOR, --field-selector SELECTOR or --all")
            .into());
    }
    let settings = InformerSettings {
        namespaces: namespaces(&args.informer_args, connection.namespace.as_deref()),
        indexing: Indexes::Nothing,
        backoff: BACKOFF,
        on_error: Arc::new(|_| {}),
        saving: None,
        managed_fields: ManagedFields::Drop,
    };
    let one = |target: &Target| follow(&connection, target, &args.informer_args, settings.clone());
    Ok(targets.iter().map(one).collect::<Result<_, _>>()?)
}

/// An object that does not meet the condition yet, by the position of its resource and its key. The key is `None` for an object that
/// does not exist yet.
type Pending = (usize, Option<Key>);

struct Waiting {
    args: Wait,
    watched: Vec<WatchedResource>,
    /// Each with the last known reason.
    pending: BTreeMap<Pending, String>,
}

/// Whether an object meets the condition.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Met,
    /// Not yet, with the reason.
    Unmet(String),
}

impl Waiting {
    async fn wait(&mut self) -> anyhow::Result<()> {
        let mut events = events(&self.watched, Delivery::Every);
        self.watched.iter().for_each(|watched| watched.informer.start());
        let waits = |at: usize| (at, "its list is not complete yet".to_owned());
        self.pending = (0..self.watched.len()).map(waits).map(|(at, why)| ((at, None), why)).collect();
        let strategy = self.args.informer_args.strategy;
        try_join_all(self.watched.iter().map(|watched| async move {
            match watched.informer.synced().await {
                Err(error) if !error.is_skipped() => Err(advice::of_sync(&error, &watched.kind, strategy)),
                _ => Ok(()),
            }
        }))
        .await?;
        self.pending.clear();
        for at in 0..self.watched.len() {
            self.start(at)?;
        }
        if self.args.timeout == Limit::After(Duration::ZERO) && !self.pending.is_empty() {
            return Err(self.late().into());
        }
        while !self.pending.is_empty() {
            let Some((at, event)) = events.next().await else { anyhow::bail!("all informers have stopped") };
            self.event(at, &event)?;
        }
        Ok(())
    }

    /// Checks the objects of a resource that exist at the start.
    fn start(&mut self, at: usize) -> anyhow::Result<()> {
        let watched = self.watched[at].clone();
        let keys = watched.informer.snapshot().keys();
        if !keys.is_empty() {
            return keys.into_iter().try_for_each(|key| self.check(at, &key));
        }
        match (&self.args.condition, &watched.name) {
            (Condition::Deleted, _) => {}
            (Condition::Created, _) => {
                self.pending.insert((at, None), "it does not exist".to_owned());
            }
            (_, Some(name)) => {
                let what = format!("not found: {} {name:?}", watched.kind.resource());
                return Err(CliError::new(Class::Other, what)
                    .hint("--for=create waits until it exists")
                    .into());
            }
            (_, None) => {
                let what = format!("no matching {} found", watched.kind.resource());
                return Err(CliError::new(Class::Other, what).into());
            }
        }
        Ok(())
    }

    fn event(&mut self, at: usize, event: &Event<DynamicObject>) -> anyhow::Result<()> {
        let is_awaited = self.pending.contains_key(&(at, Some(event.key().clone())));
        if !is_awaited && !self.pending.contains_key(&(at, None)) {
            return Ok(());
        }
        if !matches!(event, Event::Deleted { .. }) {
            return self.check(at, event.key());
        }
        // It may exist again.
        if self.watched[at].informer.get(event.key()).is_some() {
            return Ok(());
        }
        if self.args.condition == Condition::Deleted {
            self.met(at, event.key())?;
            return Ok(());
        }
        let name = format!("{}/{}", self.watched[at].kind.prefix(), clean_name(event.key().name()));
        Err(CliError::new(Class::Other, format!("{name} was deleted before it met the condition")).into())
    }

    /// Checks the cached state of an object.
    fn check(&mut self, at: usize, key: &Key) -> anyhow::Result<()> {
        let Some(object) = self.watched[at].informer.get(key) else { return Ok(()) };
        match verdict(&self.args.condition, &whole(&self.watched[at].kind, &object))? {
            Verdict::Met => Ok(self.met(at, key)?),
            Verdict::Unmet(reason) => {
                self.pending.insert((at, Some(key.clone())), reason);
                Ok(())
            }
        }
    }

    fn met(&mut self, at: usize, key: &Key) -> io::Result<()> {
        self.pending.remove(&(at, Some(key.clone())));
        self.pending.remove(&(at, None));
        if self.args.quiet {
            return Ok(());
        }
        let name = format!("{}/{}", self.watched[at].kind.prefix(), clean_name(key.name()));
        let mut out = io::stdout().lock();
        writeln!(out, "{name} condition met").and_then(|()| out.flush())
    }

    /// Returns the error for objects that did not meet the condition in time.
    fn late(&self) -> CliError {
        let name = |(at, key): &Pending| {
            let watched = &self.watched[*at];
            match key.as_ref().map(Key::name).or(watched.name.as_deref()) {
                Some(name) => format!("{}/{}", watched.kind.resource(), clean_name(name)),
                None => watched.kind.resource(),
            }
        };
        let names: Vec<_> = self.pending.keys().map(name).collect();
        let what = format!("timed out waiting for the condition on {}", names.join(", "));
        let mut failure = CliError::new(Class::Other, what);
        for (pending, reason) in self.pending.iter().take(MAX_REASONS) {
            failure = failure.hint(format!("{}: {reason}", name(pending)));
        }
        let errors = self.watched.iter().filter(|watched| !watched.informer.has_synced());
        errors
            .filter_map(|watched| watched.informer.status().last_error)
            .fold(failure, |failure, error| failure.hint(clean(&error)))
    }
}

/// The maximum number of objects whose state is printed after a timeout.
const MAX_REASONS: usize = 10;

/// Returns whether an object meets the condition.
fn verdict(condition: &Condition, object: &Value) -> Result<Verdict, JsonPathError> {
    Ok(match condition {
        Condition::Created => Verdict::Met,
        Condition::Deleted => Verdict::Unmet("it exists".to_owned()),
        Condition::Status { name, status } => has_status(object, name, status),
        Condition::Field { path, value, text } => {
            let found = path.find(object)?;
            match (found.as_slice(), value) {
                ([], _) => Verdict::Unmet(format!("{text} is not set")),
                (_, None) => Verdict::Met,
                ([only], Some(value)) => match shown(only) {
                    found if found == *value => Verdict::Met,
                    found => Verdict::Unmet(format!("{text} is {}", clean(&found))),
                },
                (several, Some(_)) => {
                    let what = format!("{text} has {} values; compare one", several.len());
                    return Err(JsonPathError::Evaluation(what));
                }
            }
        }
    })
}

/// Returns whether a condition has a status, and was observed at the current generation.
fn has_status(object: &Value, name: &str, status: &str) -> Verdict {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let is_named =
        |condition: &&Value| condition["type"].as_str().is_some_and(|found| found.eq_ignore_ascii_case(name));
    let Some(condition) = conditions.into_iter().flatten().find(is_named) else {
        return Verdict::Unmet(format!("the condition {name} is not set"));
    };
    let generation = object.pointer("/metadata/generation").and_then(Value::as_i64);
    let observed = condition["observedGeneration"].as_i64();
    let observed = observed.or_else(|| object.pointer("/status/observedGeneration").and_then(Value::as_i64));
    if let (Some(generation), Some(observed)) = (generation, observed)
        && observed < generation
    {
        return Verdict::Unmet(format!("{name} is of generation {observed}, not {generation}"));
    }
    let found = condition["status"].as_str().unwrap_or_default();
    if found.eq_ignore_ascii_case(status) {
        return Verdict::Met;
    }
    let reason = condition["reason"].as_str().map_or(String::new(), |reason| format!(" ({})", clean(reason)));
    Verdict::Unmet(format!("{name} is {}{reason}", clean(found)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;
    use serde_json::json;

    fn of(condition: &str, object: &Value) -> Verdict {
        let line = ["informer", "wait", "pod/a", "--for", condition];
        let Some(Command::Wait(wait)) = Cli::parse_from(line).command else { panic!("it is a wait") };
        verdict(&wait.condition, object).unwrap()
    }

    #[test]
    fn a_condition_is_compared_without_case_at_the_current_generation() {
        let object = |status: &str, observed: i64| {
            json!({"metadata": {"generation": 3}, "status": {"observedGeneration": observed,
                "conditions": [{"type": "Ready", "status": status, "reason": "Crash"}]}})
        };
        let unmet = |reason: &str| Verdict::Unmet(reason.to_owned());
        assert_eq!(of("condition=ready", &object("True", 3)), Verdict::Met);
        assert_eq!(of("condition=Ready=false", &object("False", 4)), Verdict::Met);
        assert_eq!(of("condition=Ready", &object("False", 3)), unmet("Ready is False (Crash)"));
        assert_eq!(of("condition=Ready", &object("True", 2)), unmet("Ready is of generation 2, not 3"));
        assert_eq!(of("condition=Up", &object("True", 3)), unmet("the condition Up is not set"));
    }

    #[test]
    fn a_field_is_compared_as_text() {
        let object = json!({"status": {"phase": "Running", "ready": 2, "ips": [1, 2]}});
        let unmet = |reason: &str| Verdict::Unmet(reason.to_owned());
        assert_eq!(of("jsonpath={.status.phase}=Running", &object), Verdict::Met);
        assert_eq!(of("jsonpath={.status.ready}=2", &object), Verdict::Met);
        assert_eq!(of("jsonpath={.status.phase}", &object), Verdict::Met);
        assert_eq!(of("jsonpath={.status.phase}=Failed", &object), unmet("{.status.phase} is Running"));
        assert_eq!(of("jsonpath={.status.none}", &object), unmet("{.status.none} is not set"));
        let path = crate::jsonpath::Path::parse(".status.ips[*]").unwrap();
        let several = Condition::Field { path, value: Some("1".into()), text: ".status.ips[*]".into() };
        assert!(verdict(&several, &object).unwrap_err().to_string().contains("has 2 values"));
    }
}
