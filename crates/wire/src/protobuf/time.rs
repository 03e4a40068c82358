//! Times as the API server writes them in JSON.

use super::{
    error::{Cause, ProtobufError},
    reader::{Reader, Tag, Wire},
};

/// The precision of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    Seconds,
    Micros,
}

/// `2026-10-21T07:28:00.000000Z` at most.
#[derive(Debug)]
pub(crate) struct TimeText {
    text: [u8; 27],
    length: usize,
}

impl TimeText {
    /// Reads a message of seconds and nanoseconds since 1970.
    pub(super) fn read(mut reader: Reader<'_>, precision: Precision) -> Result<Self, ProtobufError> {
        let begin = reader;
        let mut seconds = 0;
        let mut nanos = 0;
        while let Some(tag) = reader.tag()? {
            match tag {
                Tag { number: 1, wire: Wire::Varint } => seconds = reader.varint()? as i64,
                Tag { number: 2, wire: Wire::Varint } => nanos = reader.varint()?,
                Tag { wire, .. } => reader.skip(wire)?,
            }
        }
        Self::new(seconds, nanos, precision).ok_or_else(|| begin.error(Cause::Time))
    }

    fn new(seconds: i64, nanos: u64, precision: Precision) -> Option<Self> {
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400) as u64);
        let (year, month, day) = civil(days)?;
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        text[0..2].copy_from_slice(&two_digits(year / 100));
        text[2..4].copy_from_slice(&two_digits(year % 100));
        text[5..7].copy_from_slice(&two_digits(month));
        text[8..10].copy_from_slice(&two_digits(day));
        text[11..13].copy_from_slice(&two_digits(second / 3600));
        text[14..16].copy_from_slice(&two_digits(second / 60 % 60));
        text[17..19].copy_from_slice(&two_digits(second % 60));
        match precision {
            Precision::Seconds => {
                text[19] = b'Z';
                Some(Self { text, length: 20 })
            }
            Precision::Micros if nanos < 1_000_000_000 => {
                let micros = nanos / 1000;
                text[20..22].copy_from_slice(&two_digits(micros / 10_000));
                text[22..24].copy_from_slice(&two_digits(micros / 100 % 100));
                text[24..26].copy_from_slice(&two_digits(micros % 100));
                Some(Self { text, length: 27 })
            }
            Precision::Micros => None,
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text[..self.length]).expect("the text is ASCII")
    }
}

fn two_digits(number: u64) -> [u8; 2] {
    [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]
}

/// Returns the date of a day since 1970; `None` unless its year has four digits.
///
/// An era of 400 years starts in March, so that a leap day is the last day of a year.
fn civil(days: i64) -> Option<(u64, u64, u64)> {
    const ERA: u64 = 146_097;
    // Since the first of March of the year 0.
    let days = u64::try_from(days.checked_add(719_468)?).ok()?;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let march = (5 * day + 2) / 153;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    (year <= 9999).then_some((year, month, day - (153 * march + 2) / 5 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(seconds: i64, nanos: u64, precision: Precision) -> Option<String> {
        TimeText::new(seconds, nanos, precision).map(|time| time.as_str().to_owned())
    }

    #[test]
    fn times_have_the_precision_of_their_type() {
        assert_eq!(text(0, 5, Precision::Seconds).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(
            text(1_709_210_096, 12_345_678, Precision::Micros).unwrap(),
            "2024-02-29T12:34:56.012345Z"
        );
        assert_eq!(text(-62_135_596_800, 0, Precision::Seconds).unwrap(), "0001-01-01T00:00:00Z");
        assert_eq!(text(253_402_300_799, 0, Precision::Seconds).unwrap(), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn times_out_of_range_are_rejected() {
        for (seconds, nanos) in [(253_402_300_800, 0), (i64::MIN, 0), (i64::MAX, 0), (0, 1_000_000_000)] {
            assert_eq!(text(seconds, nanos, Precision::Micros), None, "{seconds}");
        }
    }

    proptest! {
        #[test]
        fn any_time_survives_formatting(seconds in -62_135_596_800..253_402_300_800_i64, nanos in 0..1_000_000_000_u64) {
            let written = text(seconds, nanos, Precision::Micros).unwrap();
            let read: jiff::Timestamp = written.parse().unwrap();
            prop_assert_eq!((read.as_second(), read.subsec_microsecond()), {
                let time = jiff::Timestamp::from_microsecond(seconds * 1_000_000 + (nanos / 1000) as i64).unwrap();
                (time.as_second(), time.subsec_microsecond())
            });
        }
    }
}
