//! Why a stream of frames cannot be read.

/// A stream of frames that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A frame is too long.
    #[error("frame is longer than {limit} bytes")]
    TooLong {
        /// The maximum number of bytes.
        limit: usize,
    },
    /// The stream ended before the frame did.
    #[error("stream ended unexpectedly, {bytes} bytes into a frame")]
    UnexpectedEnd {
        /// The number of bytes of the frame that were received.
        bytes: usize,
    },
}
