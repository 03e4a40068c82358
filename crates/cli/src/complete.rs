//! Completes resources, names, namespaces and contexts from the cluster, for the scripts of shells.

use crate::args::{Cli, Cluster, Complete};
use crate::cluster::{connect, contexts};
use crate::kinds::{Catalog, Kind};
use clap::{Arg, ArgAction, Command, CommandFactory};
use kube_client::Client;
use kube_informer::document::Request;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    io::{self, Write},
    time::Duration,
};

/// The maximum time: someone waits at a prompt.
const LIMIT: Duration = Duration::from_secs(2);
/// The maximum number of names.
const MAX_NAMES: usize = 500;
/// Only the metadata of objects is needed.
const ACCEPT: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

/// The subcommands that take resources, and those that also take names after the resource.
const WITH_RESOURCES: [&str; 5] = ["watch", "wait", "top", "web", "record"];
const WITH_NAMES: [&str; 2] = ["watch", "wait"];

/// Prints one candidate per line. Prints no line if the script should use its own candidates, or if the cluster is not available.
pub(crate) async fn run(args: &Complete) -> anyhow::Result<()> {
    let line = Line::parse(&Cli::command(), &args.words, args.position);
    // A shell has no place for errors.
    let found = tokio::time::timeout(LIMIT, line.candidates()).await;
    let text: String =
        found.ok().flatten().unwrap_or_default().into_iter().map(|candidate| candidate + "\n").collect();
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// What the word to complete is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CompletionTarget {
    /// Something that is not in the cluster.
    Other,
    Contexts,
    Namespaces,
    /// A resource, behind others with commas.
    Resource {
        before: String,
    },
    /// A name of an object, behind `pod/` or as an argument of its own.
    Name {
        resource: String,
        before: String,
    },
}

/// A command line that is being typed.
#[derive(Debug)]
struct Line {
    wanted: CompletionTarget,
    cluster: Cluster,
    namespace: Option<String>,
}

impl Line {
    fn parse(command: &Command, words: &[String], position: usize) -> Self {
        let none = Self { wanted: CompletionTarget::Other, cluster: Cluster::default(), namespace: None };
        let Some(name) = words.get(1).filter(|_| position > 1) else { return none };
        let Some(subcommand) = command.find_subcommand(name) else { return none };
        let mut line = none;
        let (mut positionals, mut pending): (Vec<&str>, Option<&Arg>) = (Vec::new(), None);
        for word in words.iter().take(position).skip(2).filter(|word| *word != "=") {
            if let Some(option) = pending.take() {
                line.set(option, word);
            } else if word.starts_with('-') {
                let (name, value) =
                    word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
                let option = find(subcommand, name).filter(|option| takes_value(option));
                match (option, value) {
                    (Some(option), Some(value)) => line.set(option, value),
                    (option, _) => pending = option,
                }
            } else {
                positionals.push(word);
            }
        }
        let current = words.get(position).map(String::as_str).filter(|word| *word != "=").unwrap_or_default();
        line.wanted = match pending {
            Some(option) => of_option(option),
            None if current.starts_with('-') => CompletionTarget::Other,
            None => of_argument(subcommand.get_name(), &positionals, current),
        };
        line
    }

    /// Takes the value of an option that selects the cluster.
    fn set(&mut self, option: &Arg, value: &str) {
        let value = value.to_owned();
        match option.get_long() {
            Some("kubeconfig") => self.cluster.kubeconfig = Some(value.into()),
            Some("context") => self.cluster.contexts = vec![value],
            Some("server") => self.cluster.server = Some(value),
            Some("token") => self.cluster.token = Some(value),
            Some("namespace") => self.namespace = Some(value),
            _ => {}
        }
    }

    async fn candidates(&self) -> Option<Vec<String>> {
        if self.wanted == CompletionTarget::Other {
            return None;
        }
        if self.wanted == CompletionTarget::Contexts {
            return Some(contexts(&self.cluster));
        }
        let connection = connect(&self.cluster).await.ok()?;
        if self.wanted == CompletionTarget::Namespaces {
            return names(&connection.client, "/api/v1/namespaces").await;
        }
        let catalog = connection.catalog(LIMIT).await.ok()?;
        match &self.wanted {
            CompletionTarget::Other | CompletionTarget::Contexts | CompletionTarget::Namespaces => None,
            CompletionTarget::Resource { before } => {
                Some(resources(&catalog).into_iter().map(|name| format!("{before}{name}")).collect())
            }
            CompletionTarget::Name { resource, before } => {
                let kinds = catalog.resolve(std::slice::from_ref(resource)).ok()?;
                let [kind] = kinds.as_slice() else { return None };
                let namespace = self.namespace.clone().or(connection.namespace.clone());
                let path = kind.path(namespace.as_deref().filter(|_| kind.has_namespaces));
                let names = names(&connection.client, &path).await?;
                Some(names.into_iter().map(|name| format!("{before}{name}")).collect())
            }
        }
    }
}

fn find<'c>(command: &'c Command, option: &str) -> Option<&'c Arg> {
    let long = option.strip_prefix("--");
    let short = option.strip_prefix('-').and_then(|rest| rest.chars().next());
    command.get_arguments().find(|argument| match long {
        Some(long) => argument.get_long() == Some(long),
        None => short.is_some() && argument.get_short() == short,
    })
}

fn takes_value(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::Set | ArgAction::Append)
}

fn of_option(option: &Arg) -> CompletionTarget {
    match option.get_long() {
        Some("context") => CompletionTarget::Contexts,
        Some("namespace") => CompletionTarget::Namespaces,
        _ => CompletionTarget::Other,
    }
}

fn of_argument(subcommand: &str, before: &[&str], current: &str) -> CompletionTarget {
    if !WITH_RESOURCES.contains(&subcommand) {
        return CompletionTarget::Other;
    }
    let has_names = WITH_NAMES.contains(&subcommand);
    if let Some((resource, _)) = current.split_once('/').filter(|_| has_names) {
        let before = format!("{resource}/");
        return CompletionTarget::Name { resource: resource.to_owned(), before };
    }
    match before.first() {
        Some(first) if has_names && !first.contains(['/', ',']) => {
            CompletionTarget::Name { resource: (*first).to_owned(), before: String::new() }
        }
        _ => {
            let end = current.rfind(',').map_or(0, |comma| comma + 1);
            CompletionTarget::Resource { before: current[..end].to_owned() }
        }
    }
}

/// Returns the resources that can be watched. Resources of the same name have their group.
fn resources(catalog: &Catalog) -> Vec<String> {
    let mut known = BTreeSet::new();
    let name =
        |kind: &Kind| if known.insert(kind.plural.clone()) { kind.plural.clone() } else { kind.resource() };
    let mut names: Vec<_> = catalog.kinds().iter().filter(|kind| kind.can_be_watched()).map(name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

async fn names(client: &Client, path: &str) -> Option<Vec<String>> {
    let request = Request::new(format!("{path}?limit={MAX_NAMES}")).accept(ACCEPT);
    let list: Value = request.get(client).await.ok()?;
    let name = |item: &Value| item.pointer("/metadata/name")?.as_str().map(str::to_owned);
    let is_plain = |name: &String| {
        name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | ':'))
    };
    // A shell would interpret other characters.
    Some(list["items"].as_array()?.iter().filter_map(name).filter(is_plain).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what the last word of a line is.
    fn wanted(line: &str) -> CompletionTarget {
        let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
        Line::parse(&Cli::command(), &words, words.len() - 1).wanted
    }

    #[test]
    fn the_word_to_complete_is_found_among_options() {
        let resource = |before: &str| CompletionTarget::Resource { before: before.to_owned() };
        let name = |resource: &str, before: &str| CompletionTarget::Name {
            resource: resource.to_owned(),
            before: before.to_owned(),
        };
        for (line, expected) in [
            ("informer wa", CompletionTarget::Other),
            ("informer watch ", resource("")),
            ("informer watch po", resource("")),
            ("informer watch pods,no", resource("pods,")),
            ("informer watch -n shop po", resource("")),
            ("informer watch --once po", resource("")),
            ("informer watch pods -n ", CompletionTarget::Namespaces),
            ("informer watch pods --namespace sh", CompletionTarget::Namespaces),
            ("informer watch pods --namespace = sh", CompletionTarget::Namespaces),
            ("informer top --context ", CompletionTarget::Contexts),
            ("informer watch pods fr", name("pods", "")),
            ("informer wait pod/fr", name("pod", "pod/")),
            ("informer wait pod/a pod/b", name("pod", "pod/")),
            ("informer top pods no", resource("")),
            ("informer watch --ti", CompletionTarget::Other),
            ("informer watch -o ", CompletionTarget::Other),
            ("informer devserver --seed ", CompletionTarget::Other),
            ("informer unknown ", CompletionTarget::Other),
        ] {
            assert_eq!(wanted(line), expected, "{line}");
        }
        let words = ["informer", "watch", "--context=prod", "--kubeconfig", "f", "-n", "shop", "pods", ""];
        let line = Line::parse(&Cli::command(), &words.map(str::to_owned), 8);
        assert_eq!((line.cluster.context(), line.namespace.as_deref()), (Some("prod"), Some("shop")));
        assert_eq!(line.cluster.kubeconfig, Some("f".into()));
    }
}
