//! Encodes bodies and frames in protobuf around encoded messages.

use super::{envelope::MAGIC, schema::Schema, writer::Writer};
use bytes::Bytes;
use std::convert::Infallible;

impl Schema {
    /// Returns the body of a response for a message of this kind, as [`Schema::encode`] returns it.
    #[must_use]
    pub fn body(self, message: &[u8]) -> Bytes {
        let mut writer = Writer::with_capacity(message.len() + 64);
        self.envelope(&mut writer, message);
        writer.into_bytes().into()
    }

    /// Returns a watch frame with an event type such as `ADDED` for a message of this kind.
    #[must_use]
    pub fn frame(self, event: &str, message: &[u8]) -> Bytes {
        let mut writer = Writer::with_capacity(message.len() + 96);
        writer.raw(&[0; 4]);
        writer.field(1, event.as_bytes());
        infallible(writer.message(2, |writer| {
            writer.message(1, |writer| {
                self.envelope(writer, message);
                Ok(())
            })
        }));
        let mut frame = writer.into_bytes();
        // Messages are far shorter than 4 GiB.
        let length = u32::try_from(frame.len() - 4).unwrap_or(u32::MAX);
        frame[..4].copy_from_slice(&length.to_be_bytes());
        frame.into()
    }

    fn envelope(self, writer: &mut Writer, message: &[u8]) {
        writer.raw(&MAGIC);
        infallible(writer.message(1, |writer| {
            writer.field(1, self.api_version().as_bytes());
            writer.field(2, self.kind().as_bytes());
            Ok(())
        }));
        writer.field(2, message);
        // The content encoding and the content type.
        writer.field(3, &[]);
        writer.field(4, &[]);
    }
}

/// Joins encoded items.
///
/// Appended to the list without items, as [`Schema::encode`] returns it, they are the message of the list.
#[must_use]
pub fn join_protobuf_list<'a>(items: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut writer = Writer::default();
    for item in items {
        writer.field(2, item);
    }
    writer.into_bytes()
}

fn infallible(written: Result<(), Infallible>) {
    let Ok(()) = written;
}
