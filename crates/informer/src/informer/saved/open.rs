//! Opens the folder of a source, and reads back what is saved there.

use super::{
    cluster::Cluster,
    dictionaries,
    program::{Form, find_out},
    save::Save,
    saver::{Beginning, CLUSTER, FORM, GAPS, LOOSE, Part, Saver},
};
use crate::{
    compact::{Packed, Unpacker},
    cores::hands,
    informer::start_error::StartError,
    subscription::metrics::SAVE_FAILURES,
};
use kube_client::Client;
use kube_core::Resource;
use kube_informer_saved::{Encoding, Header, Layout, OpenError, Options, Restored, SavedState, WriterEvent};
use kube_informer_wire::{Format, Key, ResourceVersion, Schema};
use std::{
    error::Error,
    path::Path,
    sync::{Arc, LazyLock},
    time::{Duration, SystemTime},
};

/// Whose state it is that is saved.
#[derive(Clone)]
pub(in super::super) struct Target {
    client: Client,
    group: String,
    version: String,
    plural: String,
    /// What protobuf of its objects is read by.
    schema: Option<Schema>,
}

impl Target {
    /// All objects of a kind on a server.
    pub(in super::super) fn of<K: Resource>(client: &Client, kind: &K::DynamicType) -> Self {
        // What is asked for as metadata alone comes as a kind of its own.
        let schema = match K::metadata_api() {
            true => Schema::of("meta.k8s.io/v1", "PartialObjectMetadata"),
            false => Schema::of(&K::api_version(kind), &K::kind(kind)),
        };
        Self {
            client: client.clone(),
            group: K::group(kind).into_owned(),
            version: K::version(kind).into_owned(),
            plural: K::plural(kind).into_owned(),
            schema,
        }
    }
}

/// What is saved, and where; the same for all sources of an informer.
pub(in super::super) struct Place {
    save: Save,
    header: Header,
    schema: Option<Schema>,
    /// Found out while the first folder is read.
    form: LazyLock<Form, Box<dyn FnOnce() -> Form + Send>>,
    cluster: Arc<Cluster>,
    name: String,
}

/// What became of the folder of one source.
pub(in super::super) struct Opened<K> {
    pub(in super::super) saver: Option<Arc<Saver<K>>>,
    /// Why nothing is saved.
    pub(in super::super) failure: Option<String>,
    pub(in super::super) state: Option<State<K>>,
}

/// A state that was read back.
pub(in super::super) struct State<K> {
    pub(in super::super) objects: Vec<(Key, Packed<K>)>,
    pub(in super::super) version: ResourceVersion,
    /// Whether something of that version is missing, or as it was before.
    pub(in super::super) has_gaps: bool,
    pub(in super::super) age: Duration,
}

impl Place {
    /// Checks what can be said of a save.
    ///
    /// # Errors
    /// [`StartError`] if it is not to be.
    pub(in super::super) fn new<K>(
        save: Save,
        target: &Target,
        (name, has_transform, without_managed_fields): (String, bool, bool),
        narrowed: impl FnOnce(Header) -> Header,
    ) -> Result<Self, StartError> {
        if (target.group.as_str(), target.plural.as_str()) == ("", "secrets") && !save.secrets {
            return Err(StartError::SecretsNotSaved);
        }
        if has_transform && save.transform.is_none() {
            return Err(StartError::UnnamedTransform);
        }
        let header = Header::new(&target.group, &target.version, &target.plural);
        let header = narrowed(header.transform(save.transform.clone().unwrap_or_default()));
        let header = save.cluster.iter().fold(header, |header, cluster| header.cluster(cluster));
        find_out();
        let form = LazyLock::new(Box::new(move || Form::of::<K>(without_managed_fields)) as Box<_>);
        let cluster = Arc::new(Cluster::new(target.client.clone()));
        Ok(Self { save, header, schema: target.schema, form, cluster, name })
    }

    /// Whether what is restored of another cluster is given up.
    pub(in super::super) fn starts_over(&self) -> bool {
        self.save.starts_over
    }

    /// Whether the cluster was named, so that it need not be asked.
    pub(in super::super) fn knows_cluster(&self) -> bool {
        self.save.cluster.is_some()
    }
}

/// Opens the folder of the source of one namespace, or of all.
///
/// # Errors
/// [`StartError`] if what is saved is of something else, or somebody else has the folder. A folder that cannot be written to is no
/// error: the informer goes on without it.
pub(in super::super) fn open<K: Send + Sync + 'static>(
    place: &Place,
    namespace: Option<&str>,
    unpacker: Unpacker<K>,
) -> Result<Opened<K>, StartError> {
    let header =
        namespace.into_iter().fold(place.header.clone(), |header, namespace| header.namespaces([namespace]));
    let folder =
        namespace.map_or_else(|| place.save.folder.clone(), |namespace| place.save.folder.join(namespace));
    let mut options = place.save.interval.into_iter().fold(Options::default(), Options::flush_interval);
    if place.save.starts_over {
        options = options.start_over();
    }
    let (name, told) = (place.name.clone(), folder.clone());
    options = options.on_event(move |event| tell(&name, &told, event));
    let opened = match SavedState::open(&folder, &header, options.clone()) {
        Err(error @ OpenError::Corrupt { .. }) => {
            tracing::warn!(informer = place.name, %error, "saved state is of no use; starting without");
            SavedState::open(&folder, &header, options.start_over())
        }
        opened => opened,
    };
    let (saved, restored) = match opened {
        Ok(opened) => opened,
        Err(OpenError::Io { path, action, source }) => {
            let failure = format!("{}: failed to {action}: {source}", path.display());
            tracing::error!(informer = place.name, failure, "nothing is saved");
            count_failure(&place.name);
            return Ok(Opened { saver: None, failure: Some(failure), state: None });
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(dropped) = restored.truncated() {
        tracing::warn!(
            informer = place.name,
            bytes = dropped.bytes,
            "the end of the saved state was torn, and is dropped"
        );
    }
    if let Some(refused) = restored.discarded() {
        tracing::warn!(informer = place.name, error = %refused, "saved state is given up");
    }
    let (state, begin) = take_in(place, unpacker, saved, restored);
    let part = Part { namespace: namespace.map(str::to_owned), folder };
    let saver = Saver::new(part, place.form.clone(), Arc::clone(&place.cluster), begin);
    Ok(Opened { saver: Some(Arc::new(saver)), failure: None, state })
}

/// Makes objects of what was read back, or nothing if not all can be.
fn take_in<K: Send + Sync>(
    place: &Place,
    mut unpacker: Unpacker<K>,
    saved: SavedState,
    restored: Restored,
) -> (Option<State<K>>, Beginning) {
    let form = restored.attachment(FORM).and_then(|text| Form::read(text));
    let cluster = restored.attachment(CLUSTER).and_then(|uid| String::from_utf8(uid.to_vec()).ok());
    let is_current = form.as_ref().is_some_and(|form| place.form.is_same_program(form));
    let nothing = |saved| Beginning {
        saved,
        dictionaries: [].into_iter().collect(),
        version: None,
        cluster: None,
        has_gaps: false,
        is_current: false,
    };
    let has_gaps = restored.attachment(GAPS).is_some();
    let Some(version) = restored.version().cloned() else { return (None, nothing(saved)) };
    let age = restored.age(SystemTime::now()).unwrap_or_default();
    let objects = match form {
        Some(form) if form.is_alike(&place.form) => unpack(place.schema, &mut unpacker, restored),
        Some(_) | None => Err("it is of another type of objects"),
    };
    let is_sound = |objects: &Vec<(Key, Packed<K>)>| is_current || are_sound(objects);
    let objects = objects.and_then(|objects| {
        if is_sound(&objects) {
            Ok(objects)
        } else {
            Err("another program saved it, and this one cannot decode all of it")
        }
    });
    match objects {
        Err(why) => {
            tracing::warn!(informer = place.name, why, "saved state is of no use; starting without");
            (None, nothing(saved))
        }
        Ok(objects) => {
            let count = objects.len();
            tracing::info!(informer = place.name, objects = count, ?age, %version, has_gaps, "restored");
            let dictionaries =
                unpacker.dictionaries().map(|(number, one)| (number, Arc::clone(one))).collect();
            let begin = Beginning {
                saved,
                dictionaries,
                version: Some(version.clone()),
                cluster,
                has_gaps,
                is_current,
            };
            (Some(State { objects, version, has_gaps, age }), begin)
        }
    }
}

fn unpack<K>(
    schema: Option<Schema>,
    unpacker: &mut Unpacker<K>,
    restored: Restored,
) -> Result<Vec<(Key, Packed<K>)>, &'static str> {
    const DAMAGED: &str = "it holds what this program did not write";
    // The newest first, which is packed with from now on.
    for number in restored.attachments().filter(|number| *number >= dictionaries::FIRST).rev() {
        let is_one = restored.attachment(number).is_some_and(|content| unpacker.dictionary(number, content));
        is_one.then_some(()).ok_or(DAMAGED)?;
    }
    let one = |object: kube_informer_saved::Object| {
        let format = match (object.payload.layout(), schema) {
            (Layout::Json, _) => Format::Json,
            (Layout::Protobuf, Some(schema)) => Format::Protobuf(schema),
            (Layout::ProtobufItem, Some(schema)) => Format::ProtobufItem(schema),
            (Layout::Protobuf | Layout::ProtobufItem, None) => return None,
        };
        let Encoding(encoding) = object.payload.encoding();
        let form = (format, (encoding != LOOSE).then_some(encoding));
        let state = (&*object.uid, &object.version);
        let packed = unpacker.unpack(object.payload.bytes(), form, state)?;
        Some((object.key, packed))
    };
    restored.into_objects().into_iter().map(one).collect::<Option<_>>().ok_or(DAMAGED)
}

/// Whether all can be decoded; tried on all cores.
fn are_sound<K: Send + Sync>(objects: &[(Key, Packed<K>)]) -> bool {
    let is_sound = |part: &[(Key, Packed<K>)]| part.iter().all(|(_, packed)| packed.is_sound());
    let hands = hands();
    if hands == 1 {
        return is_sound(objects);
    }
    let part = objects.len().div_ceil(hands).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> = objects.chunks(part).map(|part| scope.spawn(move || is_sound(part))).collect();
        parts.into_iter().all(|part| part.join().unwrap_or(false))
    })
}

fn count_failure(informer: &str) {
    metrics::counter!(SAVE_FAILURES, "name" => informer.to_owned()).increment(1);
}

fn tell(informer: &str, folder: &Path, event: &WriterEvent) {
    let folder = folder.display();
    match event {
        WriterEvent::Failed { error, failures, retry_in } => {
            count_failure(informer);
            let cause = error.source().map(tracing::field::display);
            tracing::warn!(informer, %folder, %error, cause, failures, ?retry_in, "saving failed");
        }
        WriterEvent::Recovered => tracing::info!(informer, %folder, "saving goes on"),
        WriterEvent::Compacted { before, after } => {
            tracing::debug!(informer, before, after, "saved state compacted")
        }
        _ => {}
    }
}
