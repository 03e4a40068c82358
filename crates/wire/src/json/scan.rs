//! Finds the ends of what stands in JSON without reading it.

/// Where the value ends that begins here; nothing if it does not. What is inside may be malformed.
pub(crate) fn skip(text: &[u8], place: usize) -> Option<usize> {
    match *text.get(place)? {
        b'"' => string_end(text, place + 1).map(|end| end + 1),
        b'{' | b'[' => nested_end(text, place),
        _ => {
            let is_behind =
                |byte: &u8| matches!(byte, b',' | b'}' | b']' | b':' | b' ' | b'\n' | b'\r' | b'\t');
            let length = text[place..].iter().position(is_behind).unwrap_or(text.len() - place);
            (length > 0).then_some(place + length)
        }
    }
}

fn nested_end(text: &[u8], mut place: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match *text.get(place)? {
            b'"' => place = string_end(text, place + 1)?,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        place += 1;
        if depth == 0 {
            return Some(place);
        }
    }
}

/// So far is an array looked through to count its elements; the time it takes to go on is worth more than the room.
const COUNT_WITHIN: usize = 1024;

/// How many elements an array has, of which the bracket has been passed, or how many there are at least if it is a long
/// one. Of what is no array it is any number.
pub(super) fn count(text: &[u8], mut place: usize) -> usize {
    let (mut depth, mut count) = (1_usize, 1);
    let text = &text[..text.len().min(place + COUNT_WITHIN)];
    while let Some(byte) = text.get(place) {
        match *byte {
            b'"' => place = string_end(text, place + 1).unwrap_or(text.len()),
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => break,
            b'}' | b']' => depth -= 1,
            b',' if depth == 1 => count += 1,
            _ => {}
        }
        place += 1;
    }
    count
}

/// Where the quote is that ends a string, eight bytes at a time: most strings are too short for anything wider to pay.
pub(crate) fn string_end(text: &[u8], mut place: usize) -> Option<usize> {
    while let Some(chunk) = text.get(place..).and_then(|rest| rest.first_chunk::<8>()) {
        let chunk = u64::from_le_bytes(*chunk);
        let found = bytes_equal(chunk, b'"') | bytes_equal(chunk, b'\\');
        if found == 0 {
            place += 8;
            continue;
        }
        place += found.trailing_zeros() as usize / 8;
        match text[place] {
            b'"' => return Some(place),
            _ => place += 2,
        }
    }
    loop {
        match *text.get(place)? {
            b'"' => return Some(place),
            b'\\' => place += 2,
            _ => place += 1,
        }
    }
}

/// Where the first byte is that does not stand for itself in a string: a quote, a backslash or a control character.
#[inline]
pub(super) fn plain_end(text: &[u8], mut place: usize) -> Option<usize> {
    while let Some(chunk) = text.get(place..).and_then(|rest| rest.first_chunk::<8>()) {
        let chunk = u64::from_le_bytes(*chunk);
        let found = bytes_equal(chunk, b'"') | bytes_equal(chunk, b'\\') | bytes_below(chunk, b' ');
        if found != 0 {
            return Some(place + found.trailing_zeros() as usize / 8);
        }
        place += 8;
    }
    let rest = text.get(place..)?;
    Some(place + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..b' '))?)
}

const LOW: u64 = u64::from_le_bytes([0x01; 8]);
const HIGH: u64 = u64::from_le_bytes([0x80; 8]);

/// The highest bit of each byte that equals `byte`; bytes above the lowest such one may be marked wrongly.
#[inline]
fn bytes_equal(chunk: u64, byte: u8) -> u64 {
    let differs = chunk ^ (LOW * u64::from(byte));
    differs.wrapping_sub(LOW) & !differs & HIGH
}

/// The highest bit of each byte below `byte`, which is an ASCII one; bytes above the lowest such one may be marked wrongly.
#[inline]
fn bytes_below(chunk: u64, byte: u8) -> u64 {
    chunk.wrapping_sub(LOW * u64::from(byte)) & !chunk & HIGH
}
