//! The encoding of changes and commits as records.

use crate::{
    batch::{Change, Object},
    error::SaveError,
    payload::{Encoding, Layout, MAX_PAYLOAD, Payload},
};
use bytes::Bytes;
use kube_informer_wire::{ContentHash, Key, ResourceVersion};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A decoded record.
#[derive(Debug)]
pub(crate) enum Record {
    Change(Change),
    /// Completes the batch of all changes before it, and was written at this time. It is the last record of its frame.
    Commit(SystemTime),
}

/// A record is invalid or not supported, although the checksum of its frame is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid record")]
pub(crate) struct RecordError;

// Format 1 also defines record 6, a compression dictionary, and the storage kinds 1 and 2, a payload compressed with and without
// it. No informer ever wrote them. They are not supported, so reading stops before them as it does before damage. Version 0.1
// stops in the same way before the storage kind 3, and lists the objects again.
const PUT: u8 = 1;
const DELETE: u8 = 2;
const VERSION: u8 = 3;
const ATTACH: u8 = 4;
const DETACH: u8 = 5;
const COMMIT: u8 = 7;

const STORED_AS_GIVEN: u8 = 0;
/// The content hash precedes the payload.
const STORED_WITH_CONTENT_HASH: u8 = 3;

const NUMBER: u8 = 0;
const TEXT: u8 = 1;

/// The maximum size of a key, a uid or the name of a source.
const MAX_TEXT: usize = 4 << 10;

/// Returns an error if a change exceeds the limits of [`Records`].
pub(crate) fn check(change: &Change) -> Result<(), SaveError> {
    match change {
        Change::Put(Object { key, uid, payload, .. }) => {
            let name = || key.to_string();
            check_size(key.as_str().len(), MAX_TEXT, name)?;
            check_size(uid.len(), MAX_TEXT, name)?;
            check_size(payload.size(), MAX_PAYLOAD, name)
        }
        Change::Version { source, .. } => {
            check_size(source.len(), MAX_TEXT, || "the name of a source".to_owned())
        }
        Change::Attach { id, bytes } => check_size(bytes.len(), MAX_PAYLOAD, || format!("attachment {id}")),
        Change::Delete(_) | Change::Detach { .. } => Ok(()),
    }
}

fn check_size(bytes: usize, limit: usize, name: impl Fn() -> String) -> Result<(), SaveError> {
    if bytes <= limit { Ok(()) } else { Err(SaveError::TooLarge { name: name(), bytes, limit }) }
}

pub(crate) fn write_change(change: &Change, out: &mut Vec<u8>) {
    match change {
        Change::Put(object) => write_object(object, out),
        Change::Delete(key) => {
            out.push(DELETE);
            write_bytes(key.as_str().as_bytes(), out);
        }
        Change::Version { source, version } => {
            out.push(VERSION);
            write_bytes(source.as_bytes(), out);
            write_version(version, out);
        }
        Change::Attach { id, bytes } => {
            out.push(ATTACH);
            write_number((*id).into(), out);
            write_bytes(bytes, out);
        }
        Change::Detach { id } => {
            out.push(DETACH);
            write_number((*id).into(), out);
        }
    }
}

fn write_object(object: &Object, out: &mut Vec<u8>) {
    out.push(PUT);
    write_bytes(object.key.as_str().as_bytes(), out);
    write_bytes(object.uid.as_bytes(), out);
    write_version(&object.version, out);
    out.push(match object.payload.layout() {
        Layout::Json => 0,
        Layout::Protobuf => 1,
        Layout::ProtobufItem => 2,
    });
    write_number(object.payload.encoding().0.into(), out);
    match object.content {
        None => out.push(STORED_AS_GIVEN),
        Some(content) => {
            out.push(STORED_WITH_CONTENT_HASH);
            out.extend_from_slice(&content.to_number().to_le_bytes());
        }
    }
    write_bytes(object.payload.bytes(), out);
}

pub(crate) fn write_commit(now: SystemTime, out: &mut Vec<u8>) {
    let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    out.push(COMMIT);
    write_number(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX), out);
}

/// Writes a number as LEB128.
fn write_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn write_version(version: &ResourceVersion, out: &mut Vec<u8>) {
    match version.to_number() {
        Some(number) => {
            out.push(NUMBER);
            write_number(number, out);
        }
        None => {
            out.push(TEXT);
            write_bytes(version.to_string().as_bytes(), out);
        }
    }
}

/// Decodes the records of a frame.
#[derive(Debug)]
pub(crate) struct Records {
    body: Bytes,
    position: usize,
}

impl Records {
    pub(crate) fn new(body: Bytes) -> Self {
        Self { body, position: 0 }
    }

    /// Returns the position of the next record in the frame.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Decodes the next record; `None` at the end of the frame.
    pub(crate) fn next(&mut self) -> Result<Option<Record>, RecordError> {
        if self.position == self.body.len() {
            return Ok(None);
        }
        let change = match self.byte()? {
            PUT => Change::Put(self.object()?),
            DELETE => Change::Delete(self.key()?),
            VERSION => Change::Version { source: self.text()?.into(), version: self.version()? },
            ATTACH => Change::Attach { id: self.number_u32()?, bytes: self.copied_bytes()? },
            DETACH => Change::Detach { id: self.number_u32()? },
            COMMIT => {
                let since_epoch = Duration::from_millis(self.number()?);
                let at = UNIX_EPOCH.checked_add(since_epoch).ok_or(RecordError)?;
                return Ok(Some(Record::Commit(at)));
            }
            _ => return Err(RecordError),
        };
        Ok(Some(Record::Change(change)))
    }

    fn object(&mut self) -> Result<Object, RecordError> {
        let key = self.key()?;
        let uid = self.text()?.into();
        let version = self.version()?;
        let layout = match self.byte()? {
            0 => Layout::Json,
            1 => Layout::Protobuf,
            2 => Layout::ProtobufItem,
            _ => return Err(RecordError),
        };
        let encoding = Encoding(self.number_u32()?);
        let content = match self.byte()? {
            STORED_AS_GIVEN => None,
            STORED_WITH_CONTENT_HASH => Some(self.content_hash()?),
            _ => return Err(RecordError),
        };
        let range = self.range(MAX_PAYLOAD)?;
        let payload = Payload::new(layout, encoding, self.body.slice(range));
        Ok(Object { key, uid, version, content, payload })
    }

    fn content_hash(&mut self) -> Result<ContentHash, RecordError> {
        let bytes = self.body[self.position..].first_chunk().ok_or(RecordError)?;
        self.position += bytes.len();
        ContentHash::from_number(u64::from_le_bytes(*bytes)).ok_or(RecordError)
    }

    fn key(&mut self) -> Result<Key, RecordError> {
        self.text()?.parse().map_err(|_| RecordError)
    }

    fn version(&mut self) -> Result<ResourceVersion, RecordError> {
        match self.byte()? {
            NUMBER => Ok(ResourceVersion::number(self.number()?)),
            TEXT => self.text()?.parse().map_err(|_| RecordError),
            _ => Err(RecordError),
        }
    }

    fn text(&mut self) -> Result<&str, RecordError> {
        let range = self.range(MAX_TEXT)?;
        std::str::from_utf8(&self.body[range]).map_err(|_| RecordError)
    }

    /// Decodes bytes that do not keep the frame in memory.
    fn copied_bytes(&mut self) -> Result<Bytes, RecordError> {
        let range = self.range(MAX_PAYLOAD)?;
        Ok(Bytes::copy_from_slice(&self.body[range]))
    }

    fn range(&mut self, limit: usize) -> Result<std::ops::Range<usize>, RecordError> {
        let length = usize::try_from(self.number()?).map_err(|_| RecordError)?;
        if length > limit || length > self.body.len() - self.position {
            return Err(RecordError);
        }
        let start = self.position;
        self.position += length;
        Ok(start..self.position)
    }

    fn number_u32(&mut self) -> Result<u32, RecordError> {
        u32::try_from(self.number()?).map_err(|_| RecordError)
    }

    fn number(&mut self) -> Result<u64, RecordError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(RecordError);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(RecordError)
    }

    fn byte(&mut self) -> Result<u8, RecordError> {
        let byte = *self.body.get(self.position).ok_or(RecordError)?;
        self.position += 1;
        Ok(byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reads_every_number_that_it_writes(number: u64) {
            let mut out = Vec::new();
            write_number(number, &mut out);
            let mut records = Records::new(out.into());
            prop_assert_eq!(records.number(), Ok(number));
            prop_assert_eq!(records.position(), records.body.len());
        }

        #[test]
        fn random_bytes_never_cause_a_panic(bytes: Vec<u8>) {
            let mut records = Records::new(bytes.into());
            while let Ok(Some(_)) = records.next() {}
        }

        #[test]
        fn reads_every_version_that_it_writes(text in "[0-9]{1,25}|\\PC{1,20}") {
            let version: ResourceVersion = text.parse().unwrap();
            let mut out = Vec::new();
            write_version(&version, &mut out);
            prop_assert_eq!(Records::new(out.into()).version(), Ok(version));
        }
    }

    #[test]
    fn rejects_overlong_lengths_and_numbers() {
        let overlong = [[0xff; 9].as_slice(), &[2]].concat();
        assert_eq!(Records::new(overlong.into()).number(), Err(RecordError));
        let too_long = [&[ATTACH, 1][..], &[0xff, 0xff, 0xff, 0xff, 0x0f], b"short"].concat();
        assert!(Records::new(too_long.into()).next().is_err());
    }
}
