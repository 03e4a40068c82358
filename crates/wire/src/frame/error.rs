//! Why a stream of frames cannot be read.

/// Why a stream of frames cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A frame that does not end.
    #[error("frame is longer than {limit} bytes")]
    TooLong {
        /// The most bytes that a frame may have.
        limit: usize,
    },
    /// The stream ended before the frame did.
    #[error("stream ended within a frame, {bytes} bytes into it")]
    Unfinished {
        /// How many bytes of it had come.
        bytes: usize,
    },
}
