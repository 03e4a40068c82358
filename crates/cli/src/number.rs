//! Formats numbers for people.

use std::time::Duration;

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number in four or five characters: `987`, `9,999`, `12.3k`, `4.5M`.
pub(crate) fn short(number: f64) -> String {
    match number {
        n if n >= 1e9 => format!("{:.1}G", n / 1e9),
        n if n >= 1e6 => format!("{:.1}M", n / 1e6),
        n if n >= 1e4 => format!("{:.1}k", n / 1e3),
        n if n >= 10.0 || n == 0.0 => grouped(n.round() as u64),
        n => format!("{n:.1}"),
    }
}

/// Returns a number of bytes: `512 B`, `3.4 MB`.
pub(crate) fn bytes(number: u64) -> String {
    match number {
        0..10_000 => format!("{number} B"),
        10_000..10_000_000 => format!("{:.1} kB", number as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} MB", number as f64 / 1e6),
        _ => format!("{:.1} GB", number as f64 / 1e9),
    }
}

/// Returns a number with a noun: `1 object`, `2,000 objects`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(number)) }
}

/// An age as kubectl prints it: `45s`, `12m`, `5h`, `3d`.
pub(crate) fn age(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds}s"),
        seconds @ 120..7200 => format!("{}m", seconds / 60),
        seconds @ 7200..172_800 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        let table = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in table {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn numbers_keep_to_their_space() {
        let table = [
            (0.0, "0"),
            (0.4, "0.4"),
            (42.4, "42"),
            (9_999.0, "9,999"),
            (12_345.0, "12.3k"),
            (4.5e6, "4.5M"),
        ];
        for (number, text) in table {
            assert_eq!(short(number), text);
        }
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!((count(1, "pod"), count(0, "pod")), ("1 pod".to_owned(), "0 pods".to_owned()));
    }
}
