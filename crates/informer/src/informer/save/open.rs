//! Opens the folder of a source, and reads its saved state.

use super::{
    cluster::Cluster,
    dictionaries,
    format_id::FormatId,
    interface::{RestoredObjects, SaveRequest, SavedSource},
    options::Save,
    saver::{CLUSTER, FORMAT, GAPS, NO_DICTIONARY, Saver, SaverInit, SourceFolder},
};
use crate::{
    boxed::error_chain,
    informer::start_error::StartError,
    object::{
        Storage,
        encoded::{EncodedObject, Encoder, Restorer, SavedCompression, SavedObject},
    },
    parallel::thread_count,
    subscription::metrics::SAVE_FAILURES,
};
use kube_core::Resource;
use kube_informer_saved::{
    Encoding, Header, Layout, OpenError, Options, Restored, SavedState, WriterEvent, file_name,
};
use kube_informer_wire::{Format, Key, Schema};
use std::{path::Path, sync::Arc, time::SystemTime};

/// The configuration of saving, for all sources of an informer.
pub(in super::super) struct SaveConfig {
    /// The name of the informer.
    name: String,
    save: Save,
    has_transform: bool,
    header: Header,
    schema: Option<Schema>,
    format: FormatId,
    cluster: Arc<Cluster>,
}

/// The opened folder of one source.
pub(super) struct Opened<K> {
    pub(super) saver: Option<Arc<Saver<K>>>,
    /// The reason why the cache is not saved.
    pub(super) failure: Option<String>,
    /// The reason why a saved state was not restored, or only in part.
    pub(super) discarded: Option<String>,
    pub(super) state: Option<RestoredObjects<K>>,
}

impl SaveConfig {
    /// Checks a configuration.
    ///
    /// # Errors
    /// [`StartError`] if secrets or an unnamed transform would be saved.
    pub(in super::super) fn new<K: Resource>(
        save: &Save,
        request: &SaveRequest<'_, K>,
    ) -> Result<Self, StartError> {
        let kind = request.kind;
        let group = K::group(kind);
        let plural = K::plural(kind);
        // A server may serve Secrets under another plural name.
        let is_secret = group.is_empty() && (plural == "secrets" || K::kind(kind) == "Secret");
        if is_secret && !save.secrets {
            return Err(StartError::SecretsNotSaved);
        }
        if request.has_transform && save.transform.is_none() {
            return Err(StartError::UnnamedTransform);
        }
        let mut header = Header::new(&*group, &*K::version(kind), &*plural)
            .transform(save.transform.clone().unwrap_or_default());
        if let Some(labels) = request.labels {
            header = header.labels(labels);
        }
        if let Some(fields) = request.fields {
            header = header.fields(fields);
        }
        if let Some(shard) = &request.shard {
            header = header.shard(shard);
        }
        if let Some(cluster) = &save.cluster {
            header = header.cluster(cluster);
        }
        let schema = if K::metadata_api() {
            Schema::of("meta.k8s.io/v1", "PartialObjectMetadata")
        } else {
            Schema::of(&K::api_version(kind), &K::kind(kind))
        };
        let mut format = FormatId::new::<K>(request.managed_fields);
        if request.has_transform {
            format = format.transformed();
        }
        let cluster = Arc::new(Cluster::new(request.client.clone()));
        Ok(Self {
            name: request.name.to_owned(),
            save: save.clone(),
            has_transform: request.has_transform,
            header,
            schema,
            format,
            cluster,
        })
    }

    /// Returns the encoder of a cache that is saved.
    pub(in super::super) fn encoder<K>(&self, storage: Storage) -> Encoder<K> {
        Encoder::for_saving(storage)
    }

    /// Returns true if the saved state of another cluster is discarded.
    pub(super) fn starts_over(&self) -> bool {
        self.save.starts_over
    }

    /// Returns true if the configuration names the cluster, so that its uid is not requested.
    pub(super) fn names_cluster(&self) -> bool {
        self.save.cluster.is_some()
    }
}

/// Opens the folder of a source.
///
/// # Errors
/// [`StartError`] if the folder is in use, or contains the cache of another resource. A folder that cannot be written is not an
/// error: the informer runs without saving.
pub(super) fn open<K: Send + Sync + 'static>(
    config: &SaveConfig,
    source: SavedSource<'_, K>,
) -> Result<Opened<K>, StartError> {
    let SavedSource { namespace, encoder, decoder } = source;
    let informer = config.name.as_str();
    let mut header = config.header.clone();
    let mut path = config.save.folder.clone();
    if let Some(namespace) = namespace {
        header = header.namespaces([namespace]);
        path = path.join(file_name(namespace));
    }
    let mut discarded = None;
    let (saved, restored) = match open_state(config, &path, &header, &mut discarded) {
        Ok(opened) => opened,
        Err(OpenError::Io { path, action, source }) => {
            let failure = format!("{}: failed to {action}: {}", path.display(), error_chain(&source));
            tracing::error!(informer, failure, "cache is not saved");
            count_failure(informer);
            return Ok(Opened { saver: None, failure: Some(failure), discarded, state: None });
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(truncated) = restored.truncated() {
        tracing::warn!(
            informer,
            bytes = truncated.bytes,
            "saved state ends with an incomplete write, which is ignored"
        );
        discarded = Some(format!("{} bytes at the end of the saved state are incomplete", truncated.bytes));
    }
    if let Some(error) = restored.discarded() {
        let error = error_chain(error);
        tracing::warn!(informer, error, "saved state discarded");
        discarded = Some(error);
    }
    let (state, init) = match restore_state(config, Restorer::new(encoder, decoder), saved, restored) {
        (Ok(state), init) => (state, init),
        (Err(reason), init) => {
            tracing::warn!(informer, reason, "saved state cannot be used; starting without it");
            discarded = Some(reason.to_owned());
            (None, init)
        }
    };
    let folder = SourceFolder { namespace: namespace.map(str::to_owned), path };
    let saver = Saver::new(folder, config.format.clone(), Arc::clone(&config.cluster), init);
    Ok(Opened { saver: Some(Arc::new(saver)), failure: None, discarded, state })
}

/// Opens a saved state, and starts over if it is corrupt.
fn open_state(
    config: &SaveConfig,
    path: &Path,
    header: &Header,
    discarded: &mut Option<String>,
) -> Result<(SavedState, Restored), OpenError> {
    let options = options(config, path);
    match SavedState::open(path, header, options.clone()) {
        Err(error @ OpenError::Corrupt { .. }) => {
            let error = error_chain(&error);
            tracing::warn!(informer = config.name, error, "saved state cannot be used; starting without it");
            *discarded = Some(error);
            SavedState::open(path, header, options.start_over())
        }
        opened => opened,
    }
}

/// Returns the options of the saved state in a folder.
fn options(config: &SaveConfig, folder: &Path) -> Options {
    let mut options = Options::default();
    if let Some(interval) = config.save.interval {
        options = options.flush_interval(interval);
    }
    if config.save.starts_over {
        options = options.start_over();
    }
    let name = config.name.clone();
    let folder = folder.to_owned();
    options.on_event(move |event| log(&name, &folder, event))
}

/// Restores all saved objects, or returns the reason if one of them cannot be used.
fn restore_state<K: Send + Sync>(
    config: &SaveConfig,
    mut restorer: Restorer<K>,
    saved: SavedState,
    restored: Restored,
) -> (Result<Option<RestoredObjects<K>>, &'static str>, SaverInit) {
    let format = restored.attachment(FORMAT).and_then(|text| FormatId::parse(text));
    let cluster = restored.attachment(CLUSTER).and_then(|uid| String::from_utf8(uid.to_vec()).ok());
    let is_same_program = format.as_ref().is_some_and(|format| config.format.is_same_program(format));
    let has_gaps = restored.attachment(GAPS).is_some();
    let Some(version) = restored.version().cloned() else { return (Ok(None), SaverInit::empty(saved)) };
    let age = restored.age(SystemTime::now()).unwrap_or_default();
    let objects = match format {
        Some(format) if format.is_compatible(&config.format) => {
            restore_objects(config, &mut restorer, restored)
        }
        Some(_) | None => Err("saved with another type or transform"),
    };
    let objects = objects.and_then(|objects| {
        if is_same_program || are_valid(&objects) {
            Ok(objects)
        } else {
            Err("saved by another program, and not all objects can be decoded")
        }
    });
    match objects {
        Err(reason) => (Err(reason), SaverInit::empty(saved)),
        Ok(objects) => {
            let count = objects.len();
            tracing::info!(informer = config.name, objects = count, ?age, %version, has_gaps, "cache restored");
            let dictionaries =
                restorer.dictionaries().map(|(number, dictionary)| (number, Arc::clone(dictionary)));
            let init = SaverInit {
                saved,
                dictionaries: dictionaries.collect(),
                version: Some(version.clone()),
                cluster,
                has_gaps,
                is_same_program,
            };
            (Ok(Some(RestoredObjects { objects, version, has_gaps, age })), init)
        }
    }
}

fn restore_objects<K>(
    config: &SaveConfig,
    restorer: &mut Restorer<K>,
    restored: Restored,
) -> Result<Vec<(Key, EncodedObject<K>)>, &'static str> {
    const UNEXPECTED: &str = "unexpected data";
    // The hash of the object that the server sent cannot be computed from the transformed one.
    if config.has_transform && restored.objects().iter().any(|object| object.content.is_none()) {
        return Err("saved with a transform by version 0.1");
    }
    // The newest dictionary is added first, because it is used for new objects.
    for number in restored.attachments().filter(|number| *number >= dictionaries::FIRST).rev() {
        let content = restored.attachment(number).ok_or(UNEXPECTED)?;
        if !restorer.add_dictionary(number, content) {
            return Err(UNEXPECTED);
        }
    }
    let restore = |object: kube_informer_saved::Object| {
        let format = match (object.payload.layout(), config.schema) {
            (Layout::Json, _) => Format::Json,
            (Layout::Protobuf, Some(schema)) => Format::Protobuf(schema),
            (Layout::ProtobufItem, Some(schema)) => Format::ProtobufItem(schema),
            (Layout::Protobuf | Layout::ProtobufItem, None) => return None,
        };
        let Encoding(encoding) = object.payload.encoding();
        let compression = match encoding {
            NO_DICTIONARY => SavedCompression::Zstd { dictionary: None },
            _ if object.payload.encoding() == Encoding::PLAIN => SavedCompression::None,
            number => SavedCompression::Zstd { dictionary: Some(number) },
        };
        let saved = SavedObject {
            bytes: object.payload.bytes(),
            format,
            compression,
            uid: &object.uid,
            version: &object.version,
            content: object.content,
        };
        let encoded = restorer.restore(&saved)?;
        Some((object.key, encoded))
    };
    restored.into_objects().into_iter().map(restore).collect::<Option<_>>().ok_or(UNEXPECTED)
}

/// Returns true if all objects can be decoded. Uses all cores.
fn are_valid<K: Send + Sync>(objects: &[(Key, EncodedObject<K>)]) -> bool {
    let is_valid =
        |part: &[(Key, EncodedObject<K>)]| part.iter().all(|(_, encoded)| encoded.can_be_decoded());
    let threads = thread_count();
    if threads == 1 {
        return is_valid(objects);
    }
    let part = objects.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> = objects.chunks(part).map(|part| scope.spawn(move || is_valid(part))).collect();
        parts.into_iter().all(|part| part.join().unwrap_or(false))
    })
}

fn count_failure(informer: &str) {
    metrics::counter!(SAVE_FAILURES, "name" => informer.to_owned()).increment(1);
}

fn log(informer: &str, folder: &Path, event: &WriterEvent) {
    let folder = folder.display();
    match event {
        WriterEvent::Failed { error, failures, retry_in } => {
            count_failure(informer);
            let error = error_chain(error);
            tracing::warn!(informer, %folder, error, failures, ?retry_in, "failed to save");
        }
        WriterEvent::Recovered => tracing::info!(informer, %folder, "saving recovered"),
        WriterEvent::Compacted { before, after } => {
            tracing::debug!(informer, before, after, "saved state compacted")
        }
        _ => {}
    }
}
