//! Writes bodies in protobuf around messages that are encoded already.

use super::{envelope::MAGIC, schema::Schema, writer::Writer};
use bytes::Bytes;
use std::convert::Infallible;

impl Schema {
    /// Puts the envelope around a message of this kind, as [`Schema::encode`] writes it: the body of an answer.
    #[must_use]
    pub fn body(self, message: &[u8]) -> Bytes {
        let mut writer = Writer::with_capacity(message.len() + 64);
        self.envelope(&mut writer, message);
        writer.into_bytes().into()
    }

    /// Writes the frame of a watch about a message of this kind, of which the type is one such as `ADDED`.
    #[must_use]
    pub fn frame(self, event: &str, message: &[u8]) -> Bytes {
        let mut writer = Writer::with_capacity(message.len() + 96);
        writer.raw(&[0; 4]);
        writer.field(1, event.as_bytes());
        certain(writer.message(2, |writer| {
            writer.message(1, |writer| {
                self.envelope(writer, message);
                Ok(())
            })
        }));
        let mut frame = writer.into_bytes();
        // A message of 4 GiB has failed long before.
        let length = u32::try_from(frame.len() - 4).unwrap_or(u32::MAX);
        frame[..4].copy_from_slice(&length.to_be_bytes());
        frame.into()
    }

    fn envelope(self, writer: &mut Writer, message: &[u8]) {
        writer.raw(&MAGIC);
        certain(writer.message(1, |writer| {
            writer.field(1, self.api_version().as_bytes());
            writer.field(2, self.kind().as_bytes());
            Ok(())
        }));
        writer.field(2, message);
        // Content is not encoded in any way, and of the type that it is.
        writer.field(3, &[]);
        writer.field(4, &[]);
    }
}

/// Puts together the items of a list, each of them encoded already.
///
/// Behind what [`Schema::encode`] writes of the list without items, it is the message of the whole list.
#[must_use]
pub fn join_protobuf_list<'a>(items: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut writer = Writer::default();
    for item in items {
        writer.field(2, item);
    }
    writer.into_bytes()
}

fn certain(written: Result<(), Infallible>) {
    let Ok(()) = written;
}
