//! One change as bytes, and back.

use crate::{
    batch::Object,
    packing::Dictionary,
    payload::{Encoding, Layout, MAX_PAYLOAD, Payload, Stored},
};
use bytes::Bytes;
use kube_informer_wire::{Key, ResourceVersion};
use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// What a file consists of, apart from frames.
#[derive(Debug)]
pub(crate) enum Record {
    /// An object is there.
    Put(Object),
    /// An object is gone.
    Delete(Key),
    /// A source has come this far.
    Version(Arc<str>, ResourceVersion),
    /// Bytes are kept beside the objects.
    Attach(u32, Bytes),
    /// They are no longer.
    Detach(u32),
    /// Payloads that follow may be packed with this.
    Dictionary(Bytes),
    /// All of the above belongs together, and was written at this time. It ends its frame.
    Commit(SystemTime),
}

/// The record is none, though its checksum says that it was written like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

const PUT: u8 = 1;
const DELETE: u8 = 2;
const VERSION: u8 = 3;
const ATTACH: u8 = 4;
const DETACH: u8 = 5;
const DICTIONARY: u8 = 6;
const COMMIT: u8 = 7;

const AS_GIVEN: u8 = 0;
const PACKED: u8 = 1;
const PACKED_WITH_DICTIONARY: u8 = 2;

const NUMBER: u8 = 0;
const TEXT: u8 = 1;

/// The most bytes of a key, a uid or the name of a part.
pub(crate) const MAX_TEXT: usize = 4 << 10;

pub(crate) fn write_put(object: &Object, stored: &Stored, out: &mut Vec<u8>) {
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
    match stored {
        Stored::AsGiven(bytes) => {
            out.push(AS_GIVEN);
            write_bytes(bytes, out);
        }
        Stored::Packed { bytes, length, dictionary } => {
            write_packed(bytes, *length, dictionary.is_some(), out)
        }
    }
}

fn write_packed(bytes: &[u8], length: usize, with_dictionary: bool, out: &mut Vec<u8>) {
    out.push(if with_dictionary { PACKED_WITH_DICTIONARY } else { PACKED });
    write_number(length as u64, out);
    write_bytes(bytes, out);
}

pub(crate) fn write_delete(key: &Key, out: &mut Vec<u8>) {
    out.push(DELETE);
    write_bytes(key.as_str().as_bytes(), out);
}

pub(crate) fn write_source(part: &str, version: &ResourceVersion, out: &mut Vec<u8>) {
    out.push(VERSION);
    write_bytes(part.as_bytes(), out);
    write_version(version, out);
}

pub(crate) fn write_attach(id: u32, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(ATTACH);
    write_number(id.into(), out);
    write_bytes(bytes, out);
}

pub(crate) fn write_detach(id: u32, out: &mut Vec<u8>) {
    out.push(DETACH);
    write_number(id.into(), out);
}

pub(crate) fn write_dictionary(dictionary: &Dictionary, out: &mut Vec<u8>) {
    out.push(DICTIONARY);
    write_bytes(dictionary.bytes(), out);
}

pub(crate) fn write_commit(now: SystemTime, out: &mut Vec<u8>) {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    out.push(COMMIT);
    write_number(u64::try_from(since.as_millis()).unwrap_or(u64::MAX), out);
}

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

/// The records of one frame, one after the other.
#[derive(Debug)]
pub(crate) struct Records {
    body: Bytes,
    at: usize,
}

impl Records {
    pub(crate) fn new(body: Bytes) -> Self {
        Self { body, at: 0 }
    }

    /// Where in the frame the next record begins.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The next record; a packed one was packed with `dictionary`.
    pub(crate) fn next(&mut self, dictionary: Option<&Arc<Dictionary>>) -> Result<Option<Record>, Malformed> {
        if self.at == self.body.len() {
            return Ok(None);
        }
        let record = match self.byte()? {
            PUT => Record::Put(self.object(dictionary)?),
            DELETE => Record::Delete(self.key()?),
            VERSION => Record::Version(self.text()?.into(), self.version()?),
            ATTACH => Record::Attach(self.short()?, self.own_bytes()?),
            DETACH => Record::Detach(self.short()?),
            DICTIONARY => Record::Dictionary(self.own_bytes()?),
            COMMIT => {
                let since = Duration::from_millis(self.number()?);
                Record::Commit(UNIX_EPOCH.checked_add(since).ok_or(Malformed)?)
            }
            _ => return Err(Malformed),
        };
        Ok(Some(record))
    }

    fn object(&mut self, dictionary: Option<&Arc<Dictionary>>) -> Result<Object, Malformed> {
        let key = self.key()?;
        let uid = self.text()?.into();
        let version = self.version()?;
        let layout = match self.byte()? {
            0 => Layout::Json,
            1 => Layout::Protobuf,
            2 => Layout::ProtobufItem,
            _ => return Err(Malformed),
        };
        let encoding = Encoding(self.short()?);
        let stored = match self.byte()? {
            AS_GIVEN => Stored::AsGiven(self.bytes()?),
            PACKED => self.packed(None)?,
            PACKED_WITH_DICTIONARY => self.packed(Some(dictionary.ok_or(Malformed)?.clone()))?,
            _ => return Err(Malformed),
        };
        Ok(Object { key, uid, version, payload: Payload::stored(layout, encoding, stored) })
    }

    fn packed(&mut self, dictionary: Option<Arc<Dictionary>>) -> Result<Stored, Malformed> {
        let length = self.number()?;
        let length = usize::try_from(length).ok().filter(|&length| length <= MAX_PAYLOAD).ok_or(Malformed)?;
        Ok(Stored::Packed { bytes: self.bytes()?, length, dictionary })
    }

    fn key(&mut self) -> Result<Key, Malformed> {
        self.text()?.parse().map_err(|_| Malformed)
    }

    fn version(&mut self) -> Result<ResourceVersion, Malformed> {
        match self.byte()? {
            NUMBER => Ok(ResourceVersion::number(self.number()?)),
            TEXT => self.text()?.parse().map_err(|_| Malformed),
            _ => Err(Malformed),
        }
    }

    fn text(&mut self) -> Result<&str, Malformed> {
        let range = self.range(MAX_TEXT)?;
        std::str::from_utf8(&self.body[range]).map_err(|_| Malformed)
    }

    fn bytes(&mut self) -> Result<Bytes, Malformed> {
        let range = self.range(MAX_PAYLOAD)?;
        Ok(self.body.slice(range))
    }

    /// Bytes that do not keep the frame.
    fn own_bytes(&mut self) -> Result<Bytes, Malformed> {
        let range = self.range(MAX_PAYLOAD)?;
        Ok(Bytes::copy_from_slice(&self.body[range]))
    }

    fn range(&mut self, limit: usize) -> Result<std::ops::Range<usize>, Malformed> {
        let length =
            usize::try_from(self.number()?).ok().filter(|&length| length <= limit).ok_or(Malformed)?;
        let start = self.at;
        let end = start.checked_add(length).filter(|&end| end <= self.body.len()).ok_or(Malformed)?;
        self.at = end;
        Ok(start..end)
    }

    fn short(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.number()?).map_err(|_| Malformed)
    }

    fn number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Malformed);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Malformed)
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = *self.body.get(self.at).ok_or(Malformed)?;
        self.at += 1;
        Ok(byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reads_every_number_it_writes(number: u64) {
            let mut out = Vec::new();
            write_number(number, &mut out);
            let mut records = Records::new(out.into());
            prop_assert_eq!(records.number(), Ok(number));
            prop_assert_eq!(records.position(), records.body.len());
        }

        #[test]
        fn noise_is_malformed_or_a_record_and_never_a_panic(noise: Vec<u8>) {
            let mut records = Records::new(noise.into());
            while let Ok(Some(_)) = records.next(None) {}
        }

        #[test]
        fn reads_every_version_it_writes(text in "[0-9]{1,25}|\\PC{1,20}") {
            let version: ResourceVersion = text.parse().unwrap();
            let mut out = Vec::new();
            write_version(&version, &mut out);
            prop_assert_eq!(Records::new(out.into()).version(), Ok(version));
        }
    }

    #[test]
    fn lengths_and_numbers_without_end_are_malformed() {
        let endless = [[0xff; 9].as_slice(), &[2]].concat();
        assert_eq!(Records::new(endless.into()).number(), Err(Malformed));
        let bomb = [&[ATTACH, 1][..], &[0xff, 0xff, 0xff, 0xff, 0x0f], b"short"].concat();
        assert!(Records::new(bomb.into()).next(None).is_err());
    }
}
