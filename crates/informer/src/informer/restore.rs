//! Fills a cache with what an earlier process saved.

use super::{
    body::Feed,
    progress::Progress,
    saved::{Folders, Opened, Place, State, open},
    start_error::StartError,
    status::Restored,
};
use crate::{fifo, object::Object, store::Writer};
use kube_core::Resource;

/// Opens the folder of each source, and puts what is there into the cache.
///
/// # Errors
/// [`StartError`] if a folder cannot be had, or holds something else.
pub(super) fn restore<K: Resource + Send + Sync + 'static>(
    place: Option<Place>,
    feeds: &mut [Feed<K>],
    fifo: &fifo::Builder<K>,
    (writer, progress): (&mut Writer<K>, &Progress),
) -> Result<(Folders<K>, Option<Restored>), StartError> {
    let Some(place) = place else { return Ok((Folders::default(), None)) };
    let (mut folders, mut restored) = (Folders::new(&place), None);
    let mut edit = writer.edit();
    for (number, feed) in feeds.iter_mut().enumerate() {
        let decoder = feed.source.decoder().ok_or(StartError::NotForSource { option: "save_to" })?;
        let unpacker = fifo.unpacker(decoder).expect("bytes are kept where they are saved");
        let Opened { saver, failure, state } = open(&place, feed.namespace.as_deref(), unpacker)?;
        folders.add(saver, failure);
        let Some(State { objects, version, age }) = state else { continue };
        let sum = restored.get_or_insert(Restored { objects: 0, age, is_confirmed: false });
        (sum.objects, sum.age) = (sum.objects + objects.len(), sum.age.max(age));
        for (key, packed) in objects {
            edit.put(key.clone(), Object::packed(key, packed, None));
        }
        if let Some(version) = progress.moved(number, Some(version.clone())) {
            edit.set_version(version);
        }
        feed.restored = Some(version);
    }
    drop(edit);
    Ok((folders, restored))
}
