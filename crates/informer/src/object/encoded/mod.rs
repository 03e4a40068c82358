//! Objects in the small: the bytes that came over the wire, compressed against a dictionary made of others like them.
//!
//! What makes the difference is the dictionary, which is some objects that came first: a pod alone shrinks to a quarter, and
//! to a twelfth where what pods have in common need not be said again. Each object holds on to the dictionary it needs, so
//! that one can take the place of another when objects come to look different.

mod stamp;
mod sample;
mod dictionary;
mod codec;
mod hot;
mod loose;
mod packed;
mod packer;
#[cfg(feature = "saved")]
mod unpacker;

#[cfg(test)]
mod tests;

#[cfg(feature = "saved")]
pub(crate) use dictionary::Dictionary;
pub(crate) use loose::Loose;
pub(crate) use packed::Packed;
pub(crate) use packer::Packer;
#[cfg(feature = "saved")]
pub(crate) use unpacker::Unpacker;
