//! Formats durations like kubectl: the two largest units, or only the largest if the second one is
//! insignificant.

use jiff::Timestamp;

/// Returns the time since a time in RFC 3339; `<unknown>` if the text is not a valid time.
pub(super) fn age(time: &str, now: Timestamp) -> String {
    match time.parse::<Timestamp>() {
        Ok(then) => duration(now.as_second().saturating_sub(then.as_second())),
        Err(_) => "<unknown>".to_owned(),
    }
}

/// Formats a number of seconds like kubectl.
pub(super) fn duration(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let one = |unit: i64, name: &str| format!("{}{name}", seconds / unit);
    let two = |large: i64, name: &str, small: i64, rest: &str| match seconds % large / small {
        0 => one(large, name),
        more => format!("{}{more}{rest}", one(large, name)),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => one(1, "s"),
        120..600 => two(MINUTE, "m", 1, "s"),
        600..10_800 => one(MINUTE, "m"),
        10_800..28_800 => two(HOUR, "h", MINUTE, "m"),
        28_800..172_800 => one(HOUR, "h"),
        172_800..691_200 => two(DAY, "d", HOUR, "h"),
        691_200..63_072_000 => one(DAY, "d"),
        63_072_000..252_288_000 => two(YEAR, "y", DAY, "d"),
        252_288_000.. => one(YEAR, "y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_kubectl_does() {
        let table = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (599, "9m59s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (3 * 3600 + 60, "3h1m"),
            (8 * 3600, "8h"),
            (47 * 3600, "47h"),
            (48 * 3600, "2d"),
            (49 * 3600, "2d1h"),
            (8 * 86_400, "8d"),
            (729 * 86_400, "729d"),
            (730 * 86_400, "2y"),
            (731 * 86_400, "2y1d"),
            (9 * 365 * 86_400, "9y"),
        ];
        for (seconds, text) in table {
            assert_eq!(duration(seconds), text, "{seconds}");
        }
        duration(i64::MAX);
        duration(i64::MIN);
    }

    #[test]
    fn an_invalid_time_has_an_unknown_age() {
        let now = Timestamp::from_second(1_000_000_060).unwrap();
        assert_eq!(age("2001-09-09T01:46:40Z", now), "60s");
        for text in ["", "yesterday"] {
            assert_eq!(age(text, now), "<unknown>");
        }
    }
}
