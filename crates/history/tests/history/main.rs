//! Recording and reading through the public API.

mod fixture;
mod model;
mod damage;
mod recording;
mod reading;
mod concurrent;
