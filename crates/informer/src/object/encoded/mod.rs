//! Objects kept as bytes and decoded when they are read, uncompressed or compressed with zstd.
//!
//! A compressed object shares a dictionary, created from a sample of the first objects, with the other objects of its cache. A pod
//! shrinks to a quarter without a dictionary and to a twelfth with one. Each object holds a reference to the dictionary it was
//! compressed with, so a new dictionary can be introduced at any time.

mod state_id;
#[cfg(feature = "compressed")]
mod sample;
#[cfg(feature = "compressed")]
mod dictionary;
#[cfg(feature = "compressed")]
mod zstd;
mod compression;
mod content;
mod input;
mod object;
mod encoder;
#[cfg(feature = "saved")]
mod restorer;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod zstd_tests;

#[cfg(feature = "saved")]
pub(crate) use dictionary::Dictionary;
pub(crate) use encoder::Encoder;
pub(crate) use input::EncodeInput;
pub(crate) use object::EncodedObject;
#[cfg(feature = "saved")]
pub(crate) use restorer::{Restorer, SavedCompression, SavedObject};
