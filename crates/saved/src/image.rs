//! What a file holds: where each object lies in it, and how far each source has come.

use crate::{
    batch::Object,
    frame::{Frame, FrameReader, Next},
    packing::Dictionary,
    record::{Malformed, Record, Records},
};
use bytes::Bytes;
use kube_informer_wire::{Key, KeyMap, ResourceVersion};
use std::{collections::BTreeMap, io, sync::Arc, time::SystemTime};

/// The state that the committed part of a file adds up to, without the objects themselves.
#[derive(Debug, Default)]
pub(crate) struct Image {
    pub(crate) places: KeyMap<Place>,
    pub(crate) versions: BTreeMap<Arc<str>, ResourceVersion>,
    pub(crate) attachments: BTreeMap<u32, Bytes>,
    /// What payloads are packed with from here on.
    pub(crate) dictionary: Option<Arc<Dictionary>>,
    /// When it was last written to; nothing if it never was.
    pub(crate) saved_at: Option<SystemTime>,
    /// How many bytes of the file are the records of objects that are there.
    objects_size: u64,
}

/// Where the record of an object lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) size: u32,
    /// Which of the objects that were read it is; without meaning once they are handed over.
    slot: u32,
}

/// What was found in a file.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) image: Image,
    pub(crate) objects: Vec<Object>,
    /// Where the committed part ends.
    pub(crate) end: u64,
}

impl Place {
    pub(crate) fn new(offset: u64, size: u32) -> Self {
        Self { offset, size, slot: 0 }
    }
}

impl Image {
    pub(crate) fn put(&mut self, key: Key, place: Place) -> Option<Place> {
        let before = self.places.insert(key, place);
        self.objects_size += u64::from(place.size);
        self.objects_size -= before.map_or(0, |before| u64::from(before.size));
        before
    }

    pub(crate) fn delete(&mut self, key: &Key) -> Option<Place> {
        let before = self.places.remove(key);
        self.objects_size -= before.map_or(0, |before| u64::from(before.size));
        before
    }

    /// How many bytes of the file would be there after writing it anew.
    pub(crate) fn live(&self) -> u64 {
        let attachments: usize = self.attachments.values().map(Bytes::len).sum();
        let dictionary = self.dictionary.as_ref().map_or(0, |dictionary| dictionary.bytes().len());
        self.objects_size + (attachments + dictionary) as u64
    }
}

/// Reads a file up to its last commit before anything that is torn.
pub(crate) fn read(mut frames: FrameReader) -> io::Result<Found> {
    let mut reading =
        Reading { image: Image::default(), objects: Vec::new(), staged: Vec::new(), dictionary: None };
    let mut end = frames.position();
    loop {
        let frame = match frames.next()? {
            Next::Frame(frame) => frame,
            Next::End | Next::Torn => break,
        };
        match reading.frame_read(frame) {
            Ok(true) => end = frames.position(),
            Ok(false) => {}
            Err(Malformed) => break,
        }
    }
    let Reading { image, objects, .. } = reading;
    Ok(Found { image, objects: objects.into_iter().flatten().collect(), end })
}

struct Reading {
    image: Image,
    objects: Vec<Option<Object>>,
    /// What was read since the last commit.
    staged: Vec<(Record, Place)>,
    dictionary: Option<Arc<Dictionary>>,
}

impl Reading {
    /// Whether the frame ended with a commit.
    fn frame_read(&mut self, frame: Frame) -> Result<bool, Malformed> {
        let start = frame.start;
        let mut records = Records::new(frame.body);
        loop {
            let before = records.position();
            let Some(record) = records.next(self.dictionary.as_ref())? else { return Ok(false) };
            match record {
                Record::Commit(at) => {
                    if records.next(None)?.is_some() {
                        return Err(Malformed);
                    }
                    self.committed(at);
                    return Ok(true);
                }
                Record::Dictionary(bytes) => {
                    self.dictionary = Some(Arc::new(Dictionary::new(bytes).ok_or(Malformed)?));
                }
                record => {
                    let size = u32::try_from(records.position() - before).map_err(|_| Malformed)?;
                    self.staged.push((record, Place::new(start + before as u64, size)));
                }
            }
        }
    }

    fn committed(&mut self, at: SystemTime) {
        self.image.saved_at = Some(at);
        self.image.dictionary.clone_from(&self.dictionary);
        let staged = std::mem::take(&mut self.staged);
        self.image.places.reserve(staged.len());
        self.objects.reserve(staged.len());
        for (record, place) in staged {
            match record {
                Record::Put(object) => self.put(object, place),
                Record::Delete(key) => {
                    let before = self.image.delete(&key);
                    self.forget(before);
                }
                Record::Version(part, version) => {
                    self.image.versions.insert(part, version);
                }
                Record::Attach(id, bytes) => {
                    self.image.attachments.insert(id, bytes);
                }
                Record::Detach(id) => {
                    self.image.attachments.remove(&id);
                }
                Record::Dictionary(_) | Record::Commit(_) => {}
            }
        }
    }

    fn put(&mut self, object: Object, place: Place) {
        // Four billion objects do not fit in memory.
        let slot = u32::try_from(self.objects.len()).unwrap_or(u32::MAX);
        let before = self.image.put(object.key.clone(), Place { slot, ..place });
        self.forget(before);
        self.objects.push(Some(object));
    }

    fn forget(&mut self, before: Option<Place>) {
        if let Some(object) = before.and_then(|place| self.objects.get_mut(place.slot as usize)) {
            *object = None;
        }
    }
}

/// The objects of a file that are there, in the order in which they lie, read again to be written anew.
#[derive(Debug)]
pub(crate) struct Live<'a> {
    image: &'a Image,
    frames: FrameReader,
    records: Option<(u64, Records)>,
    dictionary: Option<Arc<Dictionary>>,
}

/// The file is not as it was written, from this byte on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DamagedAt(pub(crate) u64);

impl<'a> Live<'a> {
    pub(crate) fn new(image: &'a Image, frames: FrameReader) -> Self {
        Self { image, frames, records: None, dictionary: None }
    }

    /// The next object that is there.
    pub(crate) fn next(&mut self) -> io::Result<Result<Option<Object>, DamagedAt>> {
        loop {
            let damaged = DamagedAt(self.frames.position());
            let Some((start, records)) = &mut self.records else {
                match self.frames.next()? {
                    Next::Frame(Frame { start, body }) => self.records = Some((start, Records::new(body))),
                    Next::End => return Ok(Ok(None)),
                    Next::Torn => return Ok(Err(damaged)),
                }
                continue;
            };
            let offset = *start + records.position() as u64;
            match records.next(self.dictionary.as_ref()) {
                Ok(Some(Record::Put(object))) => {
                    let place = self.image.places.get(&object.key);
                    if place.is_some_and(|place| place.offset == offset) {
                        return Ok(Ok(Some(object)));
                    }
                }
                Ok(Some(Record::Dictionary(bytes))) => self.dictionary = self.dictionary_of(bytes),
                Ok(Some(_)) => {}
                Ok(None) => self.records = None,
                Err(Malformed) => return Ok(Err(damaged)),
            }
        }
    }

    /// The one that is in use, if it is that, so that what was packed with it is known for it.
    fn dictionary_of(&self, bytes: Bytes) -> Option<Arc<Dictionary>> {
        let known = self.image.dictionary.as_ref().filter(|known| *known.bytes() == bytes);
        known.cloned().or_else(|| Dictionary::new(bytes).map(Arc::new))
    }
}
