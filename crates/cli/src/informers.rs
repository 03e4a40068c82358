//! Informers for the resources of the command line.

use crate::args::{Encoding, InformerArgs, ListStrategy, StorageArg};
use crate::cli_error::{Class, CliError, chain};
use crate::cluster::Connection;
use crate::kinds::{Catalog, Kind};
use futures_util::{Stream, StreamExt, stream};
use kube_core::DynamicObject;
use kube_informer::{
    Event, Informer, Storage,
    informer::{InformerBuilder, Save, StartError},
    reflector::{Backoff, Report, Strategy},
    source,
    subscription::{Policy, SubscribeOptions},
};
use kube_informer_wire::ManagedFields;
use std::{path::PathBuf, sync::Arc, time::Duration};

/// A watched resource.
#[derive(Clone, Debug)]
pub(crate) struct WatchedResource {
    pub(crate) kind: Kind,
    /// The name of the object if there is only one.
    pub(crate) name: Option<String>,
    /// The name of the context, if there are several.
    pub(crate) context: Option<String>,
    pub(crate) informer: Informer<DynamicObject>,
}

impl WatchedResource {
    /// Returns the resource, with the context if there are several: `pods`, `staging/pods`.
    pub(crate) fn resource(&self) -> String {
        let resource = self.kind.resource();
        self.context.as_ref().map_or(resource.clone(), |context| format!("{context}/{resource}"))
    }
}

/// The indexes of a cache, in addition to namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indexes {
    Nothing,
    /// Indexes by node and by owner.
    Browsing,
}

/// The index of pods by the node that they run on.
pub(crate) const NODE: &str = "node";
/// The index of objects by their owners.
pub(crate) const OWNER: &str = "owner";

/// The delays between attempts: at most five seconds, because a user waits for them.
pub(crate) const BACKOFF: Backoff = Backoff {
    initial: Duration::from_millis(800),
    cap: Duration::from_secs(4),
    factor: 2.0,
    jitter: 0.25,
    reset: Duration::from_secs(60),
};

/// Receives errors.
pub(crate) type ErrorHandler = Arc<dyn Fn(&Report<'_>) + Send + Sync>;

/// The settings of informers that are not options of the command line.
#[derive(Clone)]
pub(crate) struct InformerSettings {
    /// The namespaces; `None` for all.
    pub(crate) namespaces: Option<Vec<String>>,
    pub(crate) indexing: Indexes,
    pub(crate) backoff: Backoff,
    pub(crate) on_error: ErrorHandler,
    pub(crate) saving: Option<SaveSettings>,
    /// Whether to keep `managedFields`, from which the field manager of a change is read.
    pub(crate) managed_fields: ManagedFields,
}

/// Where caches are saved.
#[derive(Clone, Debug)]
pub(crate) struct SaveSettings {
    /// Each resource has a subfolder.
    pub(crate) folder: PathBuf,
    /// Whether Secrets are saved too.
    pub(crate) secrets: bool,
}

/// Returns the namespaces to watch; `None` for all.
pub(crate) fn namespaces(args: &InformerArgs, default: Option<&str>) -> Option<Vec<String>> {
    match args.namespaces.as_slice() {
        _ if args.all_namespaces => None,
        [] => default.map(|namespace| vec![namespace.to_owned()]),
        named => Some(named.to_vec()),
    }
}

/// A resource to watch, or one object of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) name: Option<String>,
}

impl Target {
    /// Returns a resource, all of it.
    pub(crate) fn all(kind: Kind) -> Self {
        Self { kind, name: None }
    }

    /// Returns the name for messages: `pods` or `pods/front-1`.
    pub(crate) fn label(&self) -> String {
        let resource = self.kind.resource();
        self.name.as_ref().map_or(resource.clone(), |name| format!("{resource}/{name}"))
    }
}

/// Resolves the arguments of the command line: `pods nodes`, `pod/front-1`, or `pod front-1 front-2` as in kubectl.
pub(crate) fn targets(catalog: &Catalog, words: &[String]) -> Result<Vec<Target>, CliError> {
    let mut found = Vec::new();
    if let [first, second, ..] = words
        && words.iter().all(|word| !word.contains('/'))
        && catalog.resolve(std::slice::from_ref(second)).is_err()
        && let Ok([kind]) = <[Kind; 1]>::try_from(catalog.resolve(std::slice::from_ref(first))?)
        && is_name(second)
    {
        let one = |name: &String| Target { kind: kind.clone(), name: Some(name.clone()) };
        found.extend(words[1..].iter().map(one));
    } else {
        for word in words {
            match word.split_once('/') {
                Some((kind, name)) => found.push(object(catalog, kind, name)?),
                None => {
                    found.extend(catalog.resolve(std::slice::from_ref(word))?.into_iter().map(Target::all))
                }
            }
        }
    }
    let mut targets: Vec<Target> = Vec::new();
    for target in found {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Ok(targets)
}

fn object(catalog: &Catalog, kind: &str, name: &str) -> Result<Target, CliError> {
    let invalid = || {
        CliError::new(Class::Usage, format!("invalid object \"{kind}/{name}\": expected KIND/NAME"))
            .hint("for example pod/front-1, with -n NS for its namespace")
    };
    if kind.is_empty() || !is_name(name) {
        return Err(invalid());
    }
    let [kind] = <[Kind; 1]>::try_from(catalog.resolve(&[kind.to_owned()])?).map_err(|_| invalid())?;
    Ok(Target { kind, name: Some(name.to_owned()) })
}

/// Returns whether a name can be part of a field selector without being escaped.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', ',', '=', '\\'])
}

/// Returns the builder of an informer for a target, in these namespaces or in all, with the options of the command line.
pub(crate) fn builder(
    connection: &Connection,
    target: &Target,
    args: &InformerArgs,
    namespaces: Option<&[String]>,
) -> InformerBuilder<DynamicObject> {
    let kind = &target.kind;
    let mut informer = Informer::<DynamicObject>::dynamic(connection.client.clone(), kind.api_resource())
        .named(target.label())
        .backoff(BACKOFF)
        .strategy(match args.strategy {
            ListStrategy::Auto => Strategy::Stream,
            ListStrategy::Stream => Strategy::StreamOnly,
            ListStrategy::List => Strategy::List,
        })
        .encoding(match args.encoding {
            Encoding::Auto if connection.is_known() => source::Encoding::PreferProtobuf,
            Encoding::Auto => source::Encoding::Auto,
            Encoding::Json => source::Encoding::Json,
            Encoding::Protobuf => source::Encoding::Protobuf,
        })
        .page_size(args.page_size.unwrap_or(0))
        .resync(args.resync.unwrap_or_default())
        .storage(match args.storage {
            StorageArg::Decoded => Storage::Decoded,
            StorageArg::Compressed => Storage::Compressed,
        });
    if let Some(namespaces) = namespaces.filter(|_| kind.has_namespaces) {
        informer = informer.namespaces(namespaces.iter().cloned());
    }
    if let Some(selector) = &args.selector {
        informer = informer.labels(selector);
    }
    let name = target.name.iter().map(|name| format!("metadata.name={name}"));
    let fields: Vec<_> = name.chain(args.field_selector.clone()).collect();
    if !fields.is_empty() {
        informer = informer.fields(fields.join(","));
    }
    informer
}

/// Creates an informer for a target. It is not started, so that every change can be received.
pub(crate) fn follow(
    connection: &Connection,
    target: &Target,
    args: &InformerArgs,
    settings: InformerSettings,
) -> Result<WatchedResource, CliError> {
    let (kind, on_error) = (&target.kind, settings.on_error);
    let mut informer = builder(connection, target, args, settings.namespaces.as_deref())
        .backoff(settings.backoff)
        .managed_fields(settings.managed_fields)
        .on_error(move |report| on_error(report));
    if settings.indexing == Indexes::Browsing {
        informer = informer.index(NODE, node).index(OWNER, owners);
    }
    if let Some(SaveSettings { folder, secrets }) = &settings.saving {
        if kind.is_secret() && !secrets {
            return Err(refused(&StartError::SecretsNotSaved));
        }
        let save = Save::in_subfolder(folder, &kind.resource());
        informer = informer.save_to(if *secrets { save.secrets() } else { save });
    }
    let informer = informer.build().map_err(|error| refused(&error))?;
    Ok(WatchedResource { kind: kind.clone(), name: target.name.clone(), context: None, informer })
}

/// Explains why an informer cannot be created.
fn refused(error: &StartError) -> CliError {
    match error {
        StartError::SecretsNotSaved => {
            let failure = CliError::new(Class::Usage, "Secrets are not saved by default");
            failure.hint("add --save-secrets to save them, in files that only you can read")
        }
        StartError::Saved(error) if error.is_locked() => CliError::new(Class::Other, chain(error)),
        StartError::Saved(error) => {
            CliError::new(Class::Other, chain(error)).hint("delete the folder to start over")
        }
        error => CliError::new(Class::Usage, chain(error)),
    }
}

fn node(object: &DynamicObject) -> Option<String> {
    object.data.pointer("/spec/nodeName")?.as_str().map(str::to_owned)
}

fn owners(object: &DynamicObject) -> Vec<String> {
    let owners = object.metadata.owner_references.iter().flatten();
    owners.map(|owner| format!("{}/{}", owner.kind, owner.name)).collect()
}

/// The number of events that are buffered for a subscriber before the informers wait for it.
const MAX_BUFFERED: usize = 16_384;
/// The number of waiting events from which on several changes of an object are delivered as one. Each holds two states.
const MAX_WAITING: usize = 2_048;

/// The delivery of events to a slow subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Every event is delivered; the informers wait for a slow subscriber.
    Every,
    /// A slow subscriber receives the last state of each object.
    Latest,
}

/// An event with the position of its resource.
pub(crate) type EventAt = (usize, Event<DynamicObject>);

/// Returns the events of all resources, each with the position of its resource.
pub(crate) fn events(
    watched: &[WatchedResource],
    delivery: Delivery,
) -> impl Stream<Item = EventAt> + Unpin + use<> {
    let streams = watched.iter().enumerate().map(|(at, watched)| {
        let options = SubscribeOptions::new().named("informer").policy(match delivery {
            Delivery::Every => Policy::block(MAX_BUFFERED),
            Delivery::Latest => Policy::coalesce(MAX_WAITING),
        });
        watched.informer.subscribe_with(options).map(move |event| (at, event)).boxed()
    });
    stream::select_all(streams.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;
    use k8s_openapi::api::core::v1::Pod;
    use tokio::{sync::mpsc, time::Instant};

    fn args(line: &str) -> Option<Vec<String>> {
        let words = ["informer", "watch", "pods"].into_iter().chain(line.split_whitespace());
        let Some(Command::Watch(watch)) = Cli::parse_from(words).command else { panic!("it is a watch") };
        namespaces(&watch.informer_args, Some("mine"))
    }

    fn catalog() -> Catalog {
        let kind = |plural: &str, singular: &str| {
            let verbs = ["list", "watch"].map(str::to_owned).to_vec();
            let version = "v1".to_owned();
            Kind {
                plural: plural.to_owned(),
                singular: singular.to_owned(),
                kind: singular.to_owned(),
                version,
                verbs,
                ..Kind::default()
            }
        };
        let in_all = |kind| Kind { categories: vec!["all".into()], ..kind };
        Catalog::of(vec![
            in_all(kind("pods", "pod")),
            in_all(kind("services", "service")),
            kind("nodes", "node"),
        ])
    }

    /// Returns the labels of the targets of a command line.
    fn selected(line: &str) -> Result<String, String> {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let found = targets(&catalog(), &words).map_err(|failure| failure.to_string())?;
        Ok(found.iter().map(Target::label).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn resources_and_objects_are_written_as_in_kubectl() {
        let table = [
            ("pods nodes", "pods nodes"),
            ("pod/front-1", "pods/front-1"),
            ("pod/a pod/b pod/a", "pods/a pods/b"),
            ("pod/a nodes", "pods/a nodes"),
            ("pod front-1 front-2", "pods/front-1 pods/front-2"),
            ("pods all", "pods services"),
            ("node/jane@a_b:c", "nodes/jane@a_b:c"),
        ];
        for (line, expected) in table {
            assert_eq!(selected(line).unwrap(), expected, "{line}");
        }
        for invalid in ["pod/", "/front", "pod/a=b", "pod/a/b", "all/front"] {
            assert!(selected(invalid).unwrap_err().contains("expected KIND/NAME"), "{invalid}");
        }
        assert!(selected("cow daisy").unwrap_err().contains("\"cow\""));
    }

    #[test]
    fn namespaces_are_those_of_kubectl() {
        let named = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(args(""), named(&["mine"]));
        assert_eq!(args("-A"), None);
        assert_eq!(args("-n web -n batch,db"), named(&["web", "batch", "db"]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_request_is_retried_within_five_seconds() {
        let (attempts, mut attempted) = mpsc::unbounded_channel();
        let source = source::FromFns::new(
            move |_| {
                attempts.send(Instant::now()).unwrap();
                async { Err(source::Error::Transport("connection refused".into())) }
            },
            |_| async { Err(source::Error::Transport("connection refused".into())) },
        );
        let informer = Informer::<Pod>::from_source(source).backoff(BACKOFF).build().unwrap();
        informer.start();
        let mut last = attempted.recv().await.unwrap();
        let mut longest = Duration::ZERO;
        for _ in 0..100 {
            let next = attempted.recv().await.unwrap();
            longest = longest.max(next - last);
            last = next;
        }
        let seconds = Duration::from_secs;
        assert!(seconds(4) <= longest && longest <= seconds(5), "{longest:?}");
    }
}
