//! Fills a cache with what an earlier process saved.

use super::{
    inner::Feed,
    save::{Folders, Opened, Place, State, open},
    start_error::StartError,
    status::Restored,
    sync::Progress,
};
use crate::{
    cache::Writer,
    delta_fifo,
    object::{Object, encoded::EncodedObject},
    parallel::map,
    tags::{Tagger, Tags},
};
use kube_core::Resource;
use kube_informer_wire::Key;
use std::iter::repeat_with;

/// Opens the folder of each source, and puts what is there into the cache.
///
/// # Errors
/// [`StartError`] if a folder cannot be had, or holds something else.
pub(super) fn restore<K: Resource + Send + Sync + 'static>(
    place: Option<Place>,
    feeds: &mut [Feed<K>],
    (fifo, tagger): (&delta_fifo::Builder<K>, &Tagger<K>),
    (writer, progress): (&mut Writer<K>, &Progress),
) -> Result<(Folders<K>, Option<Restored>), StartError> {
    let Some(place) = place else { return Ok((Folders::default(), None)) };
    let (mut folders, mut restored) = (Folders::new(&place), None);
    let mut edit = writer.edit();
    for (number, feed) in feeds.iter_mut().enumerate() {
        let decoder = feed.source.decoder().ok_or(StartError::NotForSource { option: "save_to" })?;
        let restorer = fifo.restorer(decoder).expect("bytes are kept where they are saved");
        let Opened { saver, failure, state } = open(&place, feed.namespace.as_deref(), restorer)?;
        folders.add(saver, failure);
        let Some(State { objects, version, has_gaps, age }) = state else { continue };
        let sum = restored.get_or_insert(Restored { objects: 0, age, is_confirmed: false });
        (sum.objects, sum.age) = (sum.objects + objects.len(), sum.age.max(age));
        let tags = tags_of(&objects, tagger).into_iter().chain(repeat_with(|| None));
        edit.fill_with(objects.into_iter().zip(tags).map(|((key, packed), tags)| {
            (key.clone(), Object::packed(key, packed, None, tags.map(Box::new)))
        }));
        if let Some(version) = progress.moved(number, Some(version.clone())) {
            edit.set_version(version);
        }
        (feed.restored, feed.has_gaps) = (Some(version), has_gaps);
    }
    drop(edit);
    Ok((folders, restored))
}

/// The tags of objects that are not kept decoded, found on all cores; nothing where none are to be known.
fn tags_of<K: Resource + Send + Sync>(
    objects: &[(Key, EncodedObject<K>)],
    tagger: &Tagger<K>,
) -> Vec<Option<Tags>> {
    if tagger.labels.is_none() && !(tagger.looks)() {
        return Vec::new();
    }
    let one = |(key, packed): &(Key, EncodedObject<K>)| match &tagger.labels {
        _ if packed.keeps_decoded() => None,
        _ if (tagger.looks)() => Some((tagger.tags)(key, &packed.decode())),
        Some(labels) => Some(packed.with_labels(labels)),
        None => None,
    };
    map(objects, one)
}
