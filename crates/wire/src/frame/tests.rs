//! Frames from any pieces.

use super::{FrameError, JsonLines};
use bytes::Bytes;
use proptest::prelude::*;

/// Returns all frames of a body that arrives in these chunks, and how the stream ends.
fn frames<'a>(
    limit: usize,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Bytes>, Result<(), FrameError>) {
    let mut lines = JsonLines::with_limit(limit);
    let mut frames = Vec::new();
    for piece in pieces {
        lines.push(Bytes::copy_from_slice(piece));
        loop {
            match lines.next() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(lines.next(), Err(error), "an error stays");
                    return (frames, Err(error));
                }
            }
        }
    }
    (frames, lines.finish())
}

#[test]
fn lines_become_frames_without_their_ends() {
    let (frames, end) = frames(9, [&b"a\n\n\r\nbb\r\nc\rc\n"[..]]);
    assert_eq!(frames, ["a", "bb", "c\rc"]);
    assert_eq!(end, Ok(()));
}

#[test]
fn a_line_within_one_piece_is_not_copied() {
    let piece = Bytes::from_static(b"one\ntwo\n");
    let mut lines = JsonLines::new();
    lines.push(piece.clone());
    for start in [0, 4] {
        let frame = lines.next().unwrap().unwrap();
        assert!(std::ptr::eq(frame.as_ptr(), &raw const piece[start]));
    }
}

// R15
#[test]
fn a_line_across_pieces_is_copied() {
    let mut lines = JsonLines::new();
    let big = Bytes::from([vec![b'x'; 1 << 20], b"\nta".to_vec()].concat());
    lines.push(big.clone());
    lines.push("il\n".into());
    drop(lines.next());
    let tail = lines.next().unwrap().unwrap();
    assert_eq!(tail, "tail");
    assert!(big.is_unique(), "the frame holds none of the piece it began in");
}

#[test]
fn a_frame_may_be_as_long_as_the_limit() {
    for pieces in [vec![&b"1234\n"[..]], vec![&b"12"[..], b"34", b"\n"]] {
        assert_eq!(frames(4, pieces.clone()), (vec!["1234".into()], Ok(())));
        assert_eq!(frames(3, pieces).1, Err(FrameError::TooLong { limit: 3 }));
    }
    assert_eq!(FrameError::TooLong { limit: 3 }.to_string(), "frame is longer than 3 bytes");
}

#[test]
fn an_incomplete_frame_is_an_error() {
    assert_eq!(frames(9, [&b"a\nbc"[..], b"d"]).1, Err(FrameError::UnexpectedEnd { bytes: 3 }));
    let mut unread = JsonLines::new();
    unread.push("a\n".into());
    assert_eq!(unread.finish(), Err(FrameError::UnexpectedEnd { bytes: 2 }));
}

proptest! {
    #[test]
    fn the_pieces_make_no_difference(
        body in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        limit in 1..40usize,
    ) {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| &body[cut[0]..cut[1]]);
        prop_assert_eq!(frames(limit, pieces), frames(limit, [&body[..]]));
        prop_assert_eq!(frames(limit, body.chunks(1)), frames(limit, [&body[..]]));
    }

    #[test]
    fn frames_are_the_lines(lines in prop::collection::vec("[a-c{}\" ]{1,9}", 0..8)) {
        let body: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let (frames, end) = frames(100, [body.as_bytes()]);
        prop_assert_eq!((frames, end), (lines.into_iter().map(Bytes::from).collect(), Ok(())));
    }
}
