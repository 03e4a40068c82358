//! Finds where the items of a list begin and end, one piece of JSON at a time.

/// Where the next interesting place of a list body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// An item begins at this byte.
    Begin(usize),
    /// An item ended just before this byte.
    End(usize),
    /// Something in the items is no object, at this byte.
    Stray(usize),
    /// Nesting outside the items is deeper than [`MAX_DEPTH`], at this byte.
    Deep(usize),
}

/// Follows strings and nesting, and nothing else, so that each byte is looked at once.
///
/// What is between the marks may still be malformed; whoever decodes it finds out.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    depth: usize,
    text: Text,
    /// The string last seen in the outermost object, as far as it can still be `items`.
    name: Name,
    /// Whether `items` and its colon have just been seen.
    is_announced: bool,
    /// Whether the array of items is open.
    is_inside: bool,
}

/// Whether a string is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Text {
    #[default]
    Outside,
    Inside,
    Escaped,
}

/// How much of a string has been compared with `items`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Name {
    #[default]
    Other,
    Matching(usize),
}

const ITEMS: &[u8] = b"items";

/// What is around the items is never this deep, and the JSON decoder takes no more either. An item that is, is left to whoever
/// decodes it: the others are there all the same.
pub(super) const MAX_DEPTH: usize = 128;

impl Scanner {
    /// Whether the text so far is one whole value.
    pub(super) fn is_complete(&self) -> bool {
        self.depth == 0 && self.text == Text::Outside
    }

    /// Looks through `piece` from `from` on, up to the next mark.
    pub(super) fn next(&mut self, piece: &[u8], from: usize) -> Option<Mark> {
        let mut place = from;
        while place < piece.len() {
            if self.text != Text::Outside {
                place += self.text_step(&piece[place..]);
                continue;
            }
            let mark = self.step(piece[place], place);
            place += 1;
            if mark.is_some() {
                return mark;
            }
        }
        None
    }

    fn step(&mut self, byte: u8, place: usize) -> Option<Mark> {
        let is_between_items = self.is_inside && self.depth == 2;
        match byte {
            b'{' | b'[' => {
                if is_between_items && byte == b'[' {
                    return Some(Mark::Stray(place));
                }
                self.depth += 1;
                self.is_inside |= self.depth == 2 && byte == b'[' && self.is_announced;
                if self.depth > MAX_DEPTH && !self.is_inside {
                    return Some(Mark::Deep(place));
                }
                return is_between_items.then_some(Mark::Begin(place));
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.is_inside &= self.depth >= 2;
                return (self.is_inside && self.depth == 2).then_some(Mark::End(place + 1));
            }
            b' ' | b'\n' | b'\r' | b'\t' | b',' => {}
            _ if is_between_items => return Some(Mark::Stray(place)),
            b'"' => {
                self.text = Text::Inside;
                self.name = if self.depth == 1 { Name::Matching(0) } else { Name::Other };
            }
            b':' if self.depth == 1 => {
                self.is_announced = self.name == Name::Matching(ITEMS.len());
                return None;
            }
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            self.is_announced = false;
        }
        None
    }

    /// Moves through a string, and says how far.
    fn text_step(&mut self, rest: &[u8]) -> usize {
        if self.text == Text::Escaped {
            self.text = Text::Inside;
            return 1;
        }
        let end = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        if let Name::Matching(seen) = self.name {
            let is_same = ITEMS.get(seen..seen + end).is_some_and(|part| *part == rest[..end]);
            self.name = if is_same { Name::Matching(seen + end) } else { Name::Other };
        }
        match rest.get(end) {
            Some(b'"') => self.text = Text::Outside,
            Some(_) => (self.text, self.name) = (Text::Escaped, Name::Other),
            None => return end,
        }
        end + 1
    }
}
