//! Informers for what the command line names.

use crate::args::{Approach, Encoding, Following, Keeping};
use crate::cluster::Connection;
use crate::kinds::Kind;
use crate::trouble::{Class, Trouble, chain};
use futures_util::{Stream, StreamExt, stream};
use kube_core::DynamicObject;
use kube_informer::{
    Event, Informer, Storage,
    informer::{Save, StartError},
    reflector::{Backoff, Report, Strategy},
    source,
    subscription::{Policy, SubscribeOptions},
};
use std::{path::PathBuf, sync::Arc};

/// A kind that is followed.
#[derive(Clone, Debug)]
pub(crate) struct Followed {
    pub(crate) kind: Kind,
    pub(crate) informer: Informer<DynamicObject>,
}

/// By what objects can be found, beside their keys and namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indexing {
    Nothing,
    /// Those who look around: by node and by owner.
    Browsing,
}

/// The index of pods by the node that they run on.
pub(crate) const NODE: &str = "node";
/// The index of objects by their owners.
pub(crate) const OWNER: &str = "owner";

/// Hears of failures.
pub(crate) type Hear = Arc<dyn Fn(&Report<'_>) + Send + Sync>;

/// How a kind is followed, apart from what a person can ask for.
#[derive(Clone)]
pub(crate) struct Manner {
    pub(crate) indexing: Indexing,
    pub(crate) backoff: Backoff,
    pub(crate) hear: Hear,
    pub(crate) saving: Option<Saving>,
}

/// Where caches are saved.
#[derive(Clone, Debug)]
pub(crate) struct Saving {
    /// Each kind has a folder below this.
    pub(crate) folder: PathBuf,
    /// Whether Secrets are saved too.
    pub(crate) secrets: bool,
}

/// Which namespaces are meant; nothing means all.
pub(crate) fn namespaces(asked: &Following, default: Option<&str>) -> Option<Vec<String>> {
    match asked.namespaces.as_slice() {
        _ if asked.all_namespaces => None,
        [] => default.map(|namespace| vec![namespace.to_owned()]),
        named => Some(named.to_vec()),
    }
}

/// Takes `KIND/NAME` apart, as kubectl writes one object: the name is one of the fields that are asked for.
pub(crate) fn single(resources: &mut [String], asked: &mut Following) -> Result<(), Trouble> {
    let Some(place) = resources.iter().position(|word| word.contains('/')) else { return Ok(()) };
    let [one] = resources else {
        let what = format!("{:?} is one object, and there are other resources beside it", resources[place]);
        return Err(
            Trouble::new(Class::Usage, what).advise("follow it alone, or several by their labels with -l")
        );
    };
    let (kind, name) = one.split_once('/').unwrap_or((one, ""));
    if kind.is_empty() || name.is_empty() || name.contains(['/', ',', '=', '\\']) {
        let what = format!("{one:?} is no KIND/NAME");
        return Err(
            Trouble::new(Class::Usage, what).advise("write it as pod/front-1, with -n NS for its namespace")
        );
    }
    let more = asked.field_selector.take().map(|selector| format!(",{selector}")).unwrap_or_default();
    asked.field_selector = Some(format!("metadata.name={name}{more}"));
    *one = kind.to_owned();
    Ok(())
}

/// Prepares to follow a kind, in these namespaces or in all. It has yet to be started: who wants to hear of every change follows it
/// first.
pub(crate) fn follow(
    connection: &Connection,
    kind: &Kind,
    (namespaces, asked): (Option<&[String]>, &Following),
    manner: Manner,
) -> Result<Followed, Trouble> {
    let hear = manner.hear;
    let mut informer = Informer::<DynamicObject>::dynamic(connection.client.clone(), kind.api_resource())
        .named(kind.resource())
        .backoff(manner.backoff)
        .strategy(match asked.strategy {
            Approach::Auto => Strategy::Stream,
            Approach::Stream => Strategy::StreamOnly,
            Approach::List => Strategy::List,
        })
        .encoding(match asked.encoding {
            Encoding::Auto if connection.is_known() => source::Encoding::PreferProtobuf,
            Encoding::Auto => source::Encoding::Auto,
            Encoding::Json => source::Encoding::Json,
            Encoding::Protobuf => source::Encoding::Protobuf,
        })
        .page_size(asked.page_size.unwrap_or(0))
        .resync(asked.resync.unwrap_or_default())
        .storage(match asked.keep {
            Keeping::Whole => Storage::Decoded,
            Keeping::Compact => Storage::Compressed,
        })
        .on_error(move |report| hear(report));
    if let Some(namespaces) = namespaces.filter(|_| kind.has_namespaces) {
        informer = informer.namespaces(namespaces);
    }
    if let Some(selector) = &asked.selector {
        informer = informer.labels(selector);
    }
    if let Some(selector) = &asked.field_selector {
        informer = informer.fields(selector);
    }
    if manner.indexing == Indexing::Browsing {
        informer = informer.index(NODE, node).index(OWNER, owners);
    }
    if let Some(Saving { folder, secrets }) = &manner.saving {
        if kind.is_secret() && !secrets {
            return Err(refused(&StartError::SecretsNotSaved));
        }
        let save = Save::in_subfolder(folder, &kind.resource());
        informer = informer.save_to(if *secrets { save.secrets() } else { save });
    }
    let informer = informer.build().map_err(|error| refused(&error))?;
    Ok(Followed { kind: kind.clone(), informer })
}

/// Why an informer cannot be.
fn refused(error: &StartError) -> Trouble {
    match error {
        StartError::SecretsNotSaved => {
            let trouble = Trouble::new(Class::Usage, "secrets are not saved unless that is asked for");
            trouble.advise("--save-secrets saves them, in files that only you may read")
        }
        StartError::Saved(error) if error.is_locked() => Trouble::new(Class::Other, chain(error)),
        StartError::Saved(error) => {
            Trouble::new(Class::Other, chain(error)).advise("delete that folder to start over")
        }
        error => Trouble::new(Class::Usage, chain(error)),
    }
}

fn node(object: &DynamicObject) -> Option<String> {
    object.data.pointer("/spec/nodeName")?.as_str().map(str::to_owned)
}

fn owners(object: &DynamicObject) -> Vec<String> {
    let owners = object.metadata.owner_references.iter().flatten();
    owners.map(|owner| format!("{}/{}", owner.kind, owner.name)).collect()
}

/// How far a reader of events may fall behind before the informers wait for it.
const PATIENCE: usize = 16_384;

/// How events are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// None is left out: a slow reader makes the informers wait.
    Every,
    /// A slow reader is told the last state of each object.
    Latest,
}

/// The events of all, each with the place of its kind.
pub(crate) fn events(
    followed: &[Followed],
    pace: Pace,
) -> impl Stream<Item = (usize, Event<DynamicObject>)> + Unpin + use<> {
    let streams = followed.iter().enumerate().map(|(at, followed)| {
        let asked = SubscribeOptions::new().named("informer").policy(match pace {
            Pace::Every => Policy::block(PATIENCE),
            Pace::Latest => Policy::coalesce(PATIENCE),
        });
        followed.informer.subscribe_with(asked).map(move |event| (at, event)).boxed()
    });
    stream::select_all(streams.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn asked(line: &str) -> Option<Vec<String>> {
        let words = ["informer", "watch", "pods"].into_iter().chain(line.split_whitespace());
        let Some(Command::Watch(watch)) = Cli::parse_from(words).command else { panic!("it is a watch") };
        namespaces(&watch.following, Some("mine"))
    }

    /// The resource and the fields of a line.
    fn one(line: &str) -> Result<(String, String), String> {
        let words = ["informer", "watch"].into_iter().chain(line.split_whitespace());
        let Some(Command::Watch(mut watch)) = Cli::parse_from(words).command else { panic!("it is a watch") };
        single(&mut watch.resources, &mut watch.following).map_err(|trouble| trouble.to_string())?;
        Ok((watch.resources.join(" "), watch.following.field_selector.unwrap_or_default()))
    }

    #[test]
    fn one_object_is_a_kind_and_a_field() {
        let found = |resource: &str, fields: &str| Ok((resource.to_owned(), fields.to_owned()));
        assert_eq!(one("pods nodes"), found("pods nodes", ""));
        assert_eq!(one("pod/front-1"), found("pod", "metadata.name=front-1"));
        assert_eq!(
            one("deployments.apps/a.b --field-selector spec.x=y"),
            found("deployments.apps", "metadata.name=a.b,spec.x=y")
        );
        assert_eq!(one("role/jane@a_b:c"), found("role", "metadata.name=jane@a_b:c"));
        for wrong in ["pod/", "/front", "pod/a=b", "pod/a/b"] {
            assert!(one(wrong).unwrap_err().contains("is no KIND/NAME"), "{wrong}");
        }
        assert!(one("pods node/a").unwrap_err().starts_with("\"node/a\" is one object"));
    }

    #[test]
    fn namespaces_are_those_of_kubectl() {
        let named = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(asked(""), named(&["mine"]));
        assert_eq!(asked("-A"), None);
        assert_eq!(asked("-n web -n batch,db"), named(&["web", "batch", "db"]));
    }
}
