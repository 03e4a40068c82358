//! Fills a cache with the saved state of an earlier process.

use super::{
    save::{RestoredObjects, SaveConfig, SavedSource, Savers},
    source_spec::SourceSpec,
    start_error::StartError,
    status::RestoredState,
    sync::SyncState,
};
use crate::{
    cache::Writer,
    ingest::{Ingest, KnownObjects},
    object::{IndexInput, IndexValues, Object, encoded::EncodedObject},
    parallel,
};
use kube_core::Resource;
use kube_informer_wire::Key;
use std::iter::repeat_with;

/// The restored state of an informer, and the savers of its sources.
pub(super) struct RestoredCache<K> {
    pub(super) savers: Savers<K>,
    /// `None` if there was no saved state.
    pub(super) restored: Option<RestoredState>,
}

/// The parts of an informer that are restored.
pub(super) struct RestoreTarget<'a, K> {
    pub(super) sources: &'a mut [SourceSpec<K>],
    pub(super) ingest: &'a Ingest<K>,
    pub(super) writer: &'a mut Writer<K>,
    pub(super) sync: &'a SyncState,
}

/// Opens the folder of each source, and adds the saved objects to the cache.
///
/// # Errors
/// [`StartError`] if a folder is in use, or contains the cache of another resource.
pub(super) fn restore<K: Resource + Send + Sync + 'static>(
    save: &SaveConfig,
    target: RestoreTarget<'_, K>,
) -> Result<RestoredCache<K>, StartError> {
    let RestoreTarget { sources, ingest, writer, sync } = target;
    let known = writer.known_objects();
    let mut cache = RestoredCache { savers: Savers::new(save), restored: None };
    let mut edit = writer.edit();
    for (number, source) in sources.iter_mut().enumerate() {
        let decoder = source.source.decoder().ok_or(StartError::NotForSource { option: "save_to" })?;
        let encoder = ingest.encoder().expect("objects are stored encoded if they are saved").clone();
        let namespace = source.namespace.as_deref();
        let state = cache.savers.open(save, SavedSource { namespace, encoder, decoder })?;
        let Some(RestoredObjects { objects, version, has_gaps, age }) = state else { continue };
        let restored = cache.restored.get_or_insert(RestoredState { objects: 0, age, is_confirmed: false });
        restored.objects += objects.len();
        restored.age = restored.age.max(age);
        let values = index_values(&objects, &*known).into_iter().chain(repeat_with(|| None));
        edit.fill_with(
            objects
                .into_iter()
                .zip(values)
                .map(|((key, encoded), values)| (key, Object::encoded(encoded, None, values.map(Box::new)))),
        );
        if let Some(version) = sync.version_reached(number, Some(version.clone())) {
            edit.set_version(version);
        }
        sync.restored(number);
        source.restored = Some(version);
        source.has_gaps = has_gaps;
    }
    drop(edit);
    Ok(cache)
}

/// Computes the index values of encoded objects, on all cores. Empty if there are no indexes and no cached labels.
fn index_values<K: Resource + Send + Sync>(
    objects: &[(Key, EncodedObject<K>)],
    known: &dyn KnownObjects<K>,
) -> Vec<Option<IndexValues>> {
    let has_functions = known.has_index_functions();
    let has_paths = known.has_index_paths();
    if !has_functions && !has_paths && !known.caches_labels() {
        return Vec::new();
    }
    parallel::map(objects, |(key, encoded): &(Key, EncodedObject<K>)| {
        if encoded.keeps_decoded() {
            return None;
        }
        let raw = has_paths.then(|| encoded.raw());
        let decoded = has_functions.then(|| encoded.decode());
        let mut values =
            known.index_values(key, &IndexInput { object: decoded.as_deref(), raw: raw.as_ref() });
        if !has_functions && known.caches_labels() {
            values.values.extend(encoded.with_labels(|labels| known.label_value(labels)));
        }
        Some(values)
    })
}
