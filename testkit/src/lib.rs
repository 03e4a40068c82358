//! Seeded random numbers and temporary folders for the tests of all crates.

mod random;
mod temp_folder;

pub use random::Random;
pub use temp_folder::TempFolder;
