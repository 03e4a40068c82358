//! Says that the server is well.

use crate::verb::answer::{Answer, Media};

/// Answers what probes want to hear.
pub(crate) fn health() -> Answer {
    Answer::text("ok")
}

/// Answers old clients that ask how objects are made up: nothing is said, and so nothing is checked.
pub(crate) fn swagger() -> Answer {
    Answer { media: Media::Swagger, ..Answer::text("") }
}
