//! Writes protobuf.

use super::reader::Wire;

/// A buffer that protobuf is written to.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity) }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes bytes without a tag.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    pub(crate) fn tag(&mut self, number: u64, wire: Wire) {
        self.varint(number << 3 | wire as u64);
    }

    pub(crate) fn number(&mut self, number: u64, value: u64) {
        self.tag(number, Wire::Varint);
        self.varint(value);
    }

    pub(crate) fn double(&mut self, number: u64, value: f64) {
        self.tag(number, Wire::Fixed64);
        self.raw(&value.to_le_bytes());
    }

    /// Writes a field of bytes or text.
    pub(crate) fn field(&mut self, number: u64, bytes: &[u8]) {
        self.tag(number, Wire::Length);
        self.varint(bytes.len() as u64);
        self.raw(bytes);
    }

    /// Writes a field that is a message.
    pub(crate) fn message<E>(
        &mut self,
        number: u64,
        write: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.tag(number, Wire::Length);
        let begin = self.bytes.len();
        // One byte is reserved for the length, which is enough for most messages.
        self.bytes.push(0);
        write(self)?;
        let length = self.bytes.len() - begin - 1;
        match u8::try_from(length) {
            Ok(short @ 0..0x80) => self.bytes[begin] = short,
            _ => {
                let mut prefix = Self::default();
                prefix.varint(length as u64);
                self.bytes.splice(begin..=begin, prefix.bytes);
            }
        }
        Ok(())
    }
}
