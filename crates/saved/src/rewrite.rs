//! A new file of a whole state, put in the place of the old one when it is complete.

use crate::{
    batch::Object,
    error::SaveError,
    folder::Folder,
    frame::FrameWriter,
    header::{Header, Preamble},
    image::{Image, Place},
    packing::{Dictionary, Packer, Samples},
    payload::{Encoding, MAX_PAYLOAD, Stored},
    record::{self, MAX_TEXT},
};
use bytes::Bytes;
use kube_informer_wire::{ResourceVersion, chance};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    io::{self, Write},
    sync::Arc,
    time::SystemTime,
};

/// Writes new files.
#[derive(Debug)]
pub(crate) struct Rewrite<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) header: &'a Header,
    pub(crate) packer: Option<&'a mut Packer>,
}

/// What a state consists of, apart from its objects.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    pub(crate) versions: BTreeMap<Arc<str>, ResourceVersion>,
    pub(crate) attachments: BTreeMap<u32, Bytes>,
    /// Nothing if there is no state yet.
    pub(crate) saved_at: Option<SystemTime>,
}

/// A file that is in its place.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) preamble: Preamble,
    pub(crate) file: File,
    pub(crate) end: u64,
    pub(crate) image: Image,
}

/// So many objects are looked at to make a dictionary.
pub(crate) const SAMPLED: usize = 64;
/// They are taken from so many, as neighbours tend to look alike.
const LOOKED_AT: usize = 16 * SAMPLED;

impl Rewrite<'_> {
    /// Writes a file of these objects. If this fails, the old file is where it was, and as it was.
    pub(crate) fn run(
        mut self,
        objects: impl Iterator<Item = Result<Object, SaveError>>,
        rest: Rest,
    ) -> Result<Written, SaveError> {
        let written = self.write(objects, rest);
        if written.is_err() {
            self.folder.discard_next();
        }
        written
    }

    fn write(
        &mut self,
        objects: impl Iterator<Item = Result<Object, SaveError>>,
        rest: Rest,
    ) -> Result<Written, SaveError> {
        let failed = || SaveError::io("writing a new file");
        check_parts(rest.versions.keys())?;
        check_attachments(&rest.attachments)?;
        let too_long = || SaveError::TooLarge { key: "the header".to_owned(), bytes: 0 };
        let (preamble, bytes) = Preamble::write(self.header, chance::bits()).ok_or_else(too_long)?;
        let mut file = self.folder.create_next().map_err(failed())?;
        file.write_all(&bytes).map_err(failed())?;
        let mut end = preamble.length;
        let mut image = Image::default();
        if let Some(saved_at) = rest.saved_at {
            let mut frames = FrameWriter::new(&mut file, preamble.seed, end).map_err(failed())?;
            image = self.objects(&mut frames, objects)?;
            end = finish(frames, &rest, saved_at).map_err(failed())?;
        }
        self.folder.next_is_complete(&file).map_err(failed())?;
        image.versions = rest.versions;
        image.attachments = rest.attachments;
        image.saved_at = rest.saved_at;
        Ok(Written { preamble, file, end, image })
    }

    fn objects(
        &mut self,
        frames: &mut FrameWriter<'_>,
        mut objects: impl Iterator<Item = Result<Object, SaveError>>,
    ) -> Result<Image, SaveError> {
        let failed = || SaveError::io("writing a new file");
        let mut image = Image::default();
        let first: Vec<Object> = objects.by_ref().take(LOOKED_AT).collect::<Result<_, _>>()?;
        if let Some(packer) = &mut self.packer {
            relearn(packer, first.iter().step_by(1 + first.len() / SAMPLED));
            image.dictionary = packer.dictionary().cloned();
        }
        if let Some(dictionary) = &image.dictionary {
            frames.record(|out| record::write_dictionary(dictionary, out)).map_err(failed())?;
        }
        for object in first.into_iter().map(Ok).chain(objects) {
            let object = object?;
            let (offset, size) = put(frames, self.packer.as_deref_mut(), &object)?;
            image.put(object.key, Place::new(offset, size));
        }
        Ok(image)
    }
}

fn finish(mut frames: FrameWriter<'_>, rest: &Rest, saved_at: SystemTime) -> io::Result<u64> {
    for (id, bytes) in &rest.attachments {
        frames.record(|out| record::write_attach(*id, bytes, out))?;
    }
    for (part, version) in &rest.versions {
        frames.record(|out| record::write_source(part, version, out))?;
    }
    frames.record(|out| record::write_commit(saved_at, out))?;
    frames.finish()
}

/// Refuses the name of a source that could not be read back.
pub(crate) fn check_parts<'a>(parts: impl IntoIterator<Item = &'a Arc<str>>) -> Result<(), SaveError> {
    match parts.into_iter().find(|part| part.len() > MAX_TEXT) {
        Some(part) => Err(SaveError::TooLarge { key: "the name of a source".to_owned(), bytes: part.len() }),
        None => Ok(()),
    }
}

/// Refuses an attachment that could not be read back.
pub(crate) fn check_attachments<'a>(
    attachments: impl IntoIterator<Item = (&'a u32, &'a Bytes)>,
) -> Result<(), SaveError> {
    match attachments.into_iter().find(|(_, bytes)| bytes.len() > MAX_PAYLOAD) {
        Some((id, bytes)) => Err(SaveError::TooLarge { key: format!("attachment {id}"), bytes: bytes.len() }),
        None => Ok(()),
    }
}

/// Makes a dictionary of objects that stand for all, if there is none and they are enough.
pub(crate) fn learn<'a>(packer: &mut Packer, objects: impl Iterator<Item = &'a Object>) {
    if packer.dictionary().is_none() {
        packer.set_dictionary(Samples::of(&plain(objects)).dictionary());
    }
}

/// Makes a new dictionary where that packs a quarter better, as it does when the first objects were few, or look different now.
fn relearn<'a>(packer: &mut Packer, objects: impl Iterator<Item = &'a Object>) {
    let Some(in_use) = packer.dictionary().cloned() else { return learn(packer, objects) };
    let mut plain = plain(objects);
    // Half of them make it, the other half tell what it is worth.
    let others = plain.split_off(plain.len() / 2);
    let Some(made) = Samples::of(&plain).dictionary() else { return };
    let before = packer.size_of(&others);
    packer.set_dictionary(Some(made));
    if packer.size_of(&others) > before / 4 * 3 {
        packer.set_dictionary(Some(in_use));
    }
}

fn plain<'a>(objects: impl Iterator<Item = &'a Object>) -> Vec<Bytes> {
    let plain = objects.filter(|object| object.payload.encoding() == Encoding::PLAIN);
    plain.filter_map(|object| object.payload.bytes().ok()).collect()
}

/// Writes an object, packed if that is asked for, and tells where it is.
pub(crate) fn put(
    frames: &mut FrameWriter<'_>,
    packer: Option<&mut Packer>,
    object: &Object,
) -> Result<(u64, u32), SaveError> {
    let too_large = || SaveError::TooLarge { key: object.key.to_string(), bytes: object.payload.size() };
    if object.key.as_str().len() > MAX_TEXT || object.uid.len() > MAX_TEXT {
        return Err(too_large());
    }
    let stored = store(packer, object).ok_or(SaveError::Damaged { at: 0 })?;
    let (Stored::AsGiven(bytes) | Stored::Packed { bytes, .. }) = &*stored;
    if bytes.len() > MAX_PAYLOAD {
        return Err(too_large());
    }
    frames.record(|out| record::write_put(object, &stored, out)).map_err(SaveError::io("writing"))
}

/// How a payload is to be stored: packed with the dictionary in use, or as it was given. Nothing if it cannot be read.
fn store<'a>(packer: Option<&mut Packer>, object: &'a Object) -> Option<Cow<'a, Stored>> {
    let stored = object.payload.as_stored();
    let in_use = packer.as_ref().and_then(|packer| packer.dictionary());
    let plain = match stored {
        Stored::AsGiven(_) if object.payload.encoding() != Encoding::PLAIN => {
            return Some(Cow::Borrowed(stored));
        }
        Stored::AsGiven(bytes) => bytes.clone(),
        Stored::Packed { dictionary, .. } if packer.is_some() && is_same(dictionary.as_ref(), in_use) => {
            return Some(Cow::Borrowed(stored));
        }
        Stored::Packed { .. } => object.payload.bytes().ok()?,
    };
    let length = plain.len();
    let packed = packer.filter(|_| length <= MAX_PAYLOAD).and_then(|packer| {
        let bytes = Bytes::copy_from_slice(packer.pack(&plain)?);
        Some(Stored::Packed { bytes, length, dictionary: packer.dictionary().cloned() })
    });
    Some(Cow::Owned(packed.unwrap_or(Stored::AsGiven(plain))))
}

/// Whether two dictionaries are one.
pub(crate) fn is_same(one: Option<&Arc<Dictionary>>, two: Option<&Arc<Dictionary>>) -> bool {
    match (one, two) {
        (Some(one), Some(two)) => Arc::ptr_eq(one, two),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}
