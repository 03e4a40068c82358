//! Times: RFC 3339, the local time of day, or a duration before now.

use super::duration::duration;
use jiff::{SignedDuration, Timestamp, civil, tz};

/// Parses a time: `2026-11-16T03:14:00Z`, `2026-11-16 03:14` or `03:14` in the time zone of the system, `-10m`, or `now`.
pub(crate) fn time(text: &str) -> Result<Timestamp, String> {
    time_in(text, Timestamp::now(), &tz::TimeZone::system())
}

/// Parses the start of a range: a duration before now such as `10m`, or a [time](time()).
pub(crate) fn since(text: &str) -> Result<Timestamp, String> {
    since_in(text, Timestamp::now(), &tz::TimeZone::system())
}

/// Parses the start of a range with this current time and time zone.
pub(crate) fn since_in(text: &str, now: Timestamp, zone: &tz::TimeZone) -> Result<Timestamp, String> {
    match before(now, text) {
        Some(time) => Ok(time),
        None => time_in(text, now, zone),
    }
}

/// Parses a time with this current time and time zone.
pub(crate) fn time_in(text: &str, now: Timestamp, zone: &tz::TimeZone) -> Result<Timestamp, String> {
    if text == "now" {
        return Ok(now);
    }
    if let Some(time) = text.strip_prefix('-').and_then(|text| before(now, text)) {
        return Ok(time);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    let local = local(text, now, zone).ok_or_else(|| {
        format!(
            "invalid time {text:?}: expected 2026-11-16T03:14:00Z, \"2026-11-16 03:14\", 03:14, -10m or now"
        )
    })?;
    let candidates = zone.to_ambiguous_timestamp(local);
    match candidates.offset() {
        tz::AmbiguousOffset::Unambiguous { .. } => {
            candidates.unambiguous().map_err(|error| format!("invalid time {text:?}: {error}"))
        }
        tz::AmbiguousOffset::Fold { before, after } => Err(format!(
            "ambiguous time {text:?}: the clock was set back, use {local}{before} or {local}{after}"
        )),
        tz::AmbiguousOffset::Gap { before, after } => Err(format!(
            "time {text:?} does not exist: the clock was set forward, use {local}{after} or {local}{before}"
        )),
    }
}

/// Returns the time a duration before `now`; `None` if the text is not a duration.
fn before(now: Timestamp, text: &str) -> Option<Timestamp> {
    let has_unit = text.ends_with(|letter: char| letter.is_ascii_alphabetic());
    let ago = duration(text).ok().filter(|_| has_unit)?;
    now.checked_sub(SignedDuration::try_from(ago).ok()?).ok()
}

/// Returns a time without an offset: a date, a date with the time of day, or the time of day.
fn local(text: &str, now: Timestamp, zone: &tz::TimeZone) -> Option<civil::DateTime> {
    // The parser of times also accepts a date with a time, and hours without minutes.
    let is_time_of_day =
        text.contains(':') && !text.contains(|letter: char| letter == '-' || letter.is_whitespace());
    if is_time_of_day {
        let time = text.parse::<civil::Time>().ok()?;
        return Some(zone.to_datetime(now).date().to_datetime(time));
    }
    text.parse::<civil::DateTime>().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 27 October 2026, 10:00 in Berlin, two days after the end of daylight saving time.
    fn now() -> Timestamp {
        "2026-10-27T09:00:00Z".parse().unwrap()
    }

    fn berlin() -> tz::TimeZone {
        tz::TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    fn parsed(text: &str) -> Result<String, String> {
        time_in(text, now(), &berlin()).map(|time| time.to_string())
    }

    #[test]
    fn parses_times() {
        let table = [
            ("2026-11-16T03:14:00Z", "2026-11-16T03:14:00Z"),
            ("2026-11-16T03:14:00.25+01:00", "2026-11-16T02:14:00.25Z"),
            ("2026-10-26T03:14:00", "2026-10-26T02:14:00Z"),
            ("2026-10-26 03:14", "2026-10-26T02:14:00Z"),
            ("2026-07-01", "2026-06-30T22:00:00Z"),
            ("03:14", "2026-10-27T02:14:00Z"),
            ("03:14:15", "2026-10-27T02:14:15Z"),
            ("-10m", "2026-10-27T08:50:00Z"),
            ("-1h30m", "2026-10-27T07:30:00Z"),
            ("now", "2026-10-27T09:00:00Z"),
        ];
        for (text, expected) in table {
            assert_eq!(parsed(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn an_ambiguous_time_is_refused_with_both_candidates() {
        let error = parsed("2026-10-25 02:30").unwrap_err();
        assert_eq!(
            error,
            "ambiguous time \"2026-10-25 02:30\": the clock was set back, use 2026-10-25T02:30:00+02 or 2026-10-25T02:30:00+01"
        );
        let candidates =
            ["2026-10-25T02:30:00+02", "2026-10-25T02:30:00+01"].map(|text| parsed(text).unwrap());
        assert_eq!(candidates, ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]);
    }

    #[test]
    fn a_time_that_does_not_exist_is_refused() {
        let error = parsed("2026-03-29 02:30").unwrap_err();
        assert!(error.contains("does not exist") && error.contains("2026-03-29T02:30:00+01"), "{error}");
    }

    #[test]
    fn rejects_other_text() {
        for text in ["", "-", "10", "-10", "25:00", "2026-13-01", "yesterday", "10m"] {
            let error = parsed(text).unwrap_err();
            assert!(error.starts_with(&format!("invalid time {text:?}")), "{error}");
        }
    }

    #[test]
    fn a_range_starts_a_duration_ago_or_at_a_time() {
        let since = |text: &str| since_in(text, now(), &berlin()).map(|time| time.to_string());
        assert_eq!(since("10m").unwrap(), "2026-10-27T08:50:00Z");
        assert_eq!(since("-10m").unwrap(), "2026-10-27T08:50:00Z");
        assert_eq!(since("08:00").unwrap(), "2026-10-27T07:00:00Z");
        assert!(since("10").unwrap_err().starts_with("invalid time"));
    }
}
