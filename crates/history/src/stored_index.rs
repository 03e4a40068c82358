//! The file with the index of a segment.
//!
//! Its first part has everything but the objects, and a directory of the objects. The second part has the objects with the times and
//! positions of their versions. So the versions of one object are found without reading those of the others. Both parts have
//! checksums, the second one for each object.

use crate::{
    encoding::{Input, Malformed, put_bytes, put_number, put_signed, put_version},
    frame::read_exact_at,
    index::{
        ClockStep, FrameEntry, GapEntry, KindEntry, ObjectEntry, ProgressEntry, SegmentIndex, VersionList,
        is_possible_number,
    },
};
use bytes::Bytes;
use kube_informer_wire::Key;
use std::{fs::File, path::Path, sync::Arc};
use twox_hash::XxHash3_64;

/// An open file with a valid first part.
#[derive(Debug)]
pub(crate) struct StoredIndex {
    file: File,
    seed: u64,
    /// The prefix, the head and the directory.
    first: Vec<u8>,
    /// The end of the head in the first part.
    head_end: usize,
}

/// The objects that are read with an index.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'a> {
    All,
    /// Only the objects with this key.
    Object {
        kind: u32,
        key: &'a Key,
    },
    /// None of them.
    Head,
}

const MAGIC: &[u8; 8] = b"KHISTIX3";

/// The size of the magic number, the size of the head, the number of objects, and the checksum of the first part.
const PREFIX: usize = 32;

/// The size of an entry of the directory: the hash of kind and key, and the position of the object.
const ENTRY: usize = 16;

/// The size of the length and the checksum before an object.
const OBJECT_HEAD: usize = 12;

/// The maximum size of an index, so that a damaged size is rejected before memory is allocated.
const MAX_INDEX: u64 = 16 << 30;

/// Encodes the index of the segment with this seed.
pub(crate) fn encode(index: &SegmentIndex, seed: u64) -> Vec<u8> {
    let mut head = Vec::new();
    put_head(index, &mut head);
    let objects: Vec<(u32, &ObjectEntry)> =
        (0..).zip(&index.objects).filter_map(|(id, object): (u32, _)| Some((id, object.as_ref()?))).collect();
    let second = PREFIX + head.len() + objects.len() * ENTRY;
    let mut directory = Vec::with_capacity(objects.len());
    let mut stored = Vec::new();
    for (id, object) in &objects {
        let position = (second + stored.len()) as u64;
        directory.push((hash(seed, object.kind, &object.key), position));
        let start = stored.len() + OBJECT_HEAD;
        stored.resize(start, 0);
        put_object(*id, object, &mut stored);
        let length = u32::try_from(stored.len() - start).expect("an object has fewer than 4 GiB of versions");
        let checksum = checksum(seed, position, &stored[start..]);
        stored[start - OBJECT_HEAD..start - 8].copy_from_slice(&length.to_le_bytes());
        stored[start - 8..start].copy_from_slice(&checksum.to_le_bytes());
    }
    directory.sort_unstable();
    let mut out = Vec::with_capacity(second + stored.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&(head.len() as u64).to_le_bytes());
    out.extend_from_slice(&(objects.len() as u64).to_le_bytes());
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&head);
    for (hash, position) in directory {
        out.extend_from_slice(&hash.to_le_bytes());
        out.extend_from_slice(&position.to_le_bytes());
    }
    let checksum = first_checksum(seed, &out);
    out[PREFIX - 8..PREFIX].copy_from_slice(&checksum.to_le_bytes());
    out.extend_from_slice(&stored);
    out
}

fn hash(seed: u64, kind: u32, key: &Key) -> u64 {
    XxHash3_64::oneshot_with_seed(seed ^ u64::from(kind), key.as_str().as_bytes())
}

fn checksum(seed: u64, position: u64, bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(seed ^ position.rotate_left(24), bytes)
}

/// Returns the checksum of the first part, without the checksum itself.
fn first_checksum(seed: u64, first: &[u8]) -> u64 {
    checksum(checksum(seed, 0, &first[..PREFIX - 8]), PREFIX as u64, &first[PREFIX..])
}

fn number_at(bytes: &[u8], position: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(position..)?.first_chunk().copied()?))
}

impl StoredIndex {
    /// Opens the file of the segment with this seed; `None` if it is missing or damaged.
    pub(crate) fn open(path: &Path, seed: u64) -> Option<Self> {
        let file = File::open(path).ok()?;
        let size = file.metadata().ok()?.len();
        let mut prefix = [0; PREFIX];
        read_exact_at(&file, &mut prefix, 0).ok()?;
        let (head, objects) = (number_at(&prefix, 8)?, number_at(&prefix, 16)?);
        let end = objects.checked_mul(ENTRY as u64)?.checked_add(head)?.checked_add(PREFIX as u64)?;
        if !prefix.starts_with(MAGIC) || end > size.min(MAX_INDEX) {
            return None;
        }
        let mut first = vec![0; usize::try_from(end).ok()?];
        read_exact_at(&file, &mut first, 0).ok()?;
        let head_end = PREFIX + usize::try_from(head).ok()?;
        let is_valid = number_at(&first, PREFIX - 8)? == first_checksum(seed, &first);
        is_valid.then_some(Self { file, seed, first, head_end })
    }

    /// Reads the index with some of its objects.
    ///
    /// # Errors
    /// If the file is damaged.
    pub(crate) fn read(&self, part: Part<'_>) -> Result<SegmentIndex, Malformed> {
        let mut index = take_head(&mut Input::new(&self.first[PREFIX..self.head_end]))?;
        match part {
            Part::All => self.read_objects(&mut index)?,
            Part::Object { kind, key } => self.read_object(&mut index, kind, key)?,
            Part::Head => {}
        }
        Ok(index)
    }

    fn read_objects(&self, index: &mut SegmentIndex) -> Result<(), Malformed> {
        let start = self.first.len() as u64;
        let size = self.file.metadata().map_err(|_| Malformed)?.len();
        let length = size.checked_sub(start).filter(|_| size <= MAX_INDEX).ok_or(Malformed)?;
        let mut stored = vec![0; usize::try_from(length).map_err(|_| Malformed)?];
        read_exact_at(&self.file, &mut stored, start).map_err(|_| Malformed)?;
        let mut stored = Bytes::from(stored);
        let mut position = start;
        for _ in 0..self.directory().len() / ENTRY {
            let (length, checksum) = object_head(&stored)?;
            if stored.len() < OBJECT_HEAD + length {
                return Err(Malformed);
            }
            let object = stored.split_to(OBJECT_HEAD + length).slice(OBJECT_HEAD..);
            self.add(index, &StoredObject { position, checksum, object })?;
            position += (OBJECT_HEAD + length) as u64;
        }
        Ok(())
    }

    fn read_object(&self, index: &mut SegmentIndex, kind: u32, key: &Key) -> Result<(), Malformed> {
        let entries = self.directory().chunks_exact(ENTRY);
        let entries = || entries.clone().map(|entry| (number_at(entry, 0), number_at(entry, 8)));
        let wanted = hash(self.seed, kind, key);
        let (mut low, mut high) = (0, entries().len());
        while low < high {
            let middle = low.midpoint(high);
            match entries().nth(middle) {
                Some((Some(found), _)) if found < wanted => low = middle + 1,
                _ => high = middle,
            }
        }
        for (found, position) in entries().skip(low) {
            if found != Some(wanted) {
                break;
            }
            let position = position.ok_or(Malformed)?;
            let mut head = [0; OBJECT_HEAD];
            read_exact_at(&self.file, &mut head, position).map_err(|_| Malformed)?;
            let (length, checksum) = object_head(&head)?;
            let size = self.file.metadata().map_err(|_| Malformed)?.len();
            if length as u64 > size.saturating_sub(position) {
                return Err(Malformed);
            }
            let mut object = vec![0; length];
            let start = position + OBJECT_HEAD as u64;
            read_exact_at(&self.file, &mut object, start).map_err(|_| Malformed)?;
            // Other keys may have the same hash; their objects do no harm.
            self.add(index, &StoredObject { position, checksum, object: object.into() })?;
        }
        Ok(())
    }

    fn add(&self, index: &mut SegmentIndex, stored: &StoredObject) -> Result<(), Malformed> {
        let StoredObject { position, checksum: expected, object } = stored;
        if checksum(self.seed, *position, object) != *expected {
            return Err(Malformed);
        }
        let mut input = Input::new(object);
        let (id, kind) = (input.number_u32()?, input.number_u32()?);
        let (key, uid) = (input.key()?, input.text()?.into());
        let versions = VersionList::take(&mut input, object)?;
        if !is_possible_number(id, index.end) {
            return Err(Malformed);
        }
        index.add_object(id, ObjectEntry { kind, key, uid, versions });
        Ok(())
    }

    fn directory(&self) -> &[u8] {
        &self.first[self.head_end..]
    }
}

/// The bytes of an object in the second part.
struct StoredObject {
    position: u64,
    checksum: u64,
    object: Bytes,
}

/// Returns the length and the checksum of the object that follows.
fn object_head(bytes: &[u8]) -> Result<(usize, u64), Malformed> {
    let length = u32::from_le_bytes(*bytes.first_chunk().ok_or(Malformed)?);
    Ok((length as usize, number_at(bytes, 4).ok_or(Malformed)?))
}

fn put_object(id: u32, object: &ObjectEntry, out: &mut Vec<u8>) {
    put_number(id.into(), out);
    put_number(object.kind.into(), out);
    put_bytes(object.key.as_str().as_bytes(), out);
    put_bytes(object.uid.as_bytes(), out);
    object.versions.store(out);
}

/// Writes everything but the objects.
fn put_head(index: &SegmentIndex, out: &mut Vec<u8>) {
    put_number(index.end, out);
    put_signed(index.last_time, out);
    put_number(index.checkpoint_end.unwrap_or_default(), out);
    put_signed(index.damaged_since.unwrap_or(i64::MIN), out);
    put_list(&index.frames, out, |frame, out| {
        put_number(frame.offset, out);
        put_number(frame.length.into(), out);
        put_signed(frame.time, out);
    });
    put_list(&index.kinds, out, |entry, out| {
        put_number(entry.id.into(), out);
        put_signed(entry.time, out);
        put_bytes(&serde_json::to_vec(&*entry.kind).expect("a kind is valid JSON"), out);
    });
    put_list(&index.dictionaries, out, |(kind, offset), out| {
        put_number((*kind).into(), out);
        put_number(*offset, out);
    });
    put_list(&index.managers, out, |name, out| put_bytes(name.as_bytes(), out));
    put_list(&index.progress, out, |entry, out| {
        put_number(entry.kind.into(), out);
        put_signed(entry.time, out);
        put_version(Some(&entry.version), 0, out);
    });
    put_list(&index.gaps, out, |gap, out| {
        put_number(gap.kind.into(), out);
        put_bytes(gap.namespace.as_bytes(), out);
        put_signed(gap.from, out);
        put_signed(gap.to.unwrap_or(i64::MIN), out);
        put_bytes(gap.reason.as_bytes(), out);
    });
    put_list(&index.clock_steps, out, |step, out| {
        put_signed(step.time, out);
        put_signed(step.clock, out);
    });
}

fn take_head(input: &mut Input<'_>) -> Result<SegmentIndex, Malformed> {
    let optional = |time: i64| (time != i64::MIN).then_some(time);
    let mut index = SegmentIndex::new(input.number()?, input.signed()?);
    index.checkpoint_end = Some(input.number()?).filter(|end| *end > 0);
    index.damaged_since = optional(input.signed()?);
    index.frames = take_list(input, |input| {
        Ok(FrameEntry { offset: input.number()?, length: input.number_u32()?, time: input.signed()? })
    })?;
    index.kinds = take_list(input, |input| {
        let (id, time) = (input.number_u32()?, input.signed()?);
        let kind = serde_json::from_slice(input.bytes()?).map_err(|_| Malformed)?;
        Ok(KindEntry { id, time, kind: Arc::new(kind) })
    })?;
    let dictionaries = take_list(input, |input| Ok((input.number_u32()?, input.number()?)))?;
    index.dictionaries = dictionaries.into_iter().collect();
    index.managers = take_list(input, |input| Ok(input.text()?.into()))?;
    index.progress = take_list(input, |input| {
        let (kind, time) = (input.number_u32()?, input.signed()?);
        Ok(ProgressEntry { kind, time, version: input.version(0)?.ok_or(Malformed)? })
    })?;
    index.gaps = take_list(input, |input| {
        let (kind, namespace) = (input.number_u32()?, input.text()?.into());
        let (from, to) = (input.signed()?, optional(input.signed()?));
        Ok(GapEntry { kind, namespace, from, to, reason: input.text()?.into() })
    })?;
    index.clock_steps =
        take_list(input, |input| Ok(ClockStep { time: input.signed()?, clock: input.signed()? }))?;
    Ok(index)
}

fn put_list<I: IntoIterator<IntoIter: ExactSizeIterator>>(
    list: I,
    out: &mut Vec<u8>,
    put: impl Fn(I::Item, &mut Vec<u8>),
) {
    let items = list.into_iter();
    put_number(items.len() as u64, out);
    items.for_each(|item| put(item, out));
}

fn take_list<'a, T>(
    input: &mut Input<'a>,
    take: impl Fn(&mut Input<'a>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let count = input.number()?;
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(take(input)?);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{index::VersionEntry, record::Event};

    const SEED: u64 = 7;

    fn key(text: &str) -> Key {
        text.parse().unwrap()
    }

    /// An index with objects of two kinds; one of them was deleted and created again.
    fn index() -> SegmentIndex {
        let mut index = SegmentIndex::new(44, 1_000);
        index.frames.push(FrameEntry { offset: 44, length: 500, time: 1_000 });
        index.managers.push("kubelet".into());
        index.last_time = 9_000;
        let objects = [(1, "web/a"), (1, "web/b"), (2, "web/a"), (1, "web/c"), (1, "web/b")];
        for (id, (kind, text)) in (0..).zip(objects) {
            let mut versions = VersionList::default();
            for version in 0..3 + u64::from(id) {
                let time = 1_000 + i64::try_from(version).unwrap();
                let offset = 100 + u64::from(id) * 1_000 + version;
                versions.push(VersionEntry { time, offset, event: Event::Modified });
            }
            // The number 3 belongs to a damaged object.
            let id = if id < 3 { id } else { id + 1 };
            let entry = ObjectEntry { kind, key: key(text), uid: format!("uid-{id}").into(), versions };
            index.add_object(id, entry);
        }
        index
    }

    fn with_file<R>(bytes: &[u8], read: impl FnOnce(&Path) -> R) -> R {
        let name = format!("history-index-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        let result = read(&path);
        std::fs::remove_file(path).unwrap();
        result
    }

    #[test]
    fn an_object_is_read_without_the_others() {
        let (index, bytes) = (index(), encode(&index(), SEED));
        with_file(&bytes, |path| {
            let stored = StoredIndex::open(path, SEED).unwrap();
            let all = stored.read(Part::All).unwrap();
            assert_eq!(all.objects, index.objects);
            assert_eq!((&all.frames, &all.managers, all.end), (&index.frames, &index.managers, index.end));
            for (kind, text, count) in [(1, "web/a", 1), (1, "web/b", 2), (2, "web/a", 1), (1, "web/c", 1)] {
                let found = stored.read(Part::Object { kind, key: &key(text) }).unwrap();
                let (found, expected): (Vec<_>, Vec<_>) = (
                    found.with_key(kind, &key(text)).map(|(id, object)| (id, object.clone())).collect(),
                    index.with_key(kind, &key(text)).map(|(id, object)| (id, object.clone())).collect(),
                );
                assert_eq!((found.len(), &found), (count, &expected), "{kind} {text}");
            }
            for (kind, text) in [(2, "web/b"), (1, "web/d"), (3, "web/a")] {
                let found = stored.read(Part::Object { kind, key: &key(text) }).unwrap();
                assert_eq!(found.objects.len(), 0, "{kind} {text}");
            }
            let head = stored.read(Part::Head).unwrap();
            assert_eq!((head.objects.len(), head.last_time), (0, index.last_time));
        });
    }

    #[test]
    fn damage_is_detected_before_it_is_used() {
        let (index, bytes) = (index(), encode(&index(), SEED));
        let expected: Vec<_> = index.with_key(1, &key("web/b")).collect();
        let mut used = 0;
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            with_file(&damaged, |path| {
                let Some(stored) = StoredIndex::open(path, SEED) else { return };
                assert!(stored.read(Part::All).is_err(), "bit {bit}");
                // The damage may be in another object.
                if let Ok(found) = stored.read(Part::Object { kind: 1, key: &key("web/b") }) {
                    assert_eq!(found.with_key(1, &key("web/b")).collect::<Vec<_>>(), expected, "bit {bit}");
                    used += 1;
                }
            });
        }
        assert!(used > 0, "the damage is in other objects sometimes");
        for length in 0..bytes.len() {
            with_file(&bytes[..length], |path| {
                let stored = StoredIndex::open(path, SEED);
                assert!(stored.is_none_or(|stored| stored.read(Part::All).is_err()), "length {length}");
            });
        }
        with_file(&bytes, |path| assert!(StoredIndex::open(path, SEED + 1).is_none(), "another segment"));
    }
}
