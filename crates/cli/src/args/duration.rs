//! Durations: `30s`, `2m`, `1h30m`, `500ms`, or a number of seconds.

use std::time::Duration;

/// Parses a duration.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("invalid duration {text:?}: expected 30s, 2m, 1h30m or 500ms");
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).map_err(|_| wrong());
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let unit = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| at + digits);
        let seconds = match &rest[digits..unit] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(wrong()),
        };
        let count: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        let part = Duration::try_from_secs_f64(count * seconds).map_err(|_| wrong())?;
        total = total.checked_add(part).ok_or_else(wrong)?;
        rest = &rest[unit..];
    }
    if text.is_empty() { Err(wrong()) } else { Ok(total) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_durations() {
        let table =
            [("30s", 30_000), ("1h30m", 5_400_000), ("500ms", 500), ("2", 2_000), ("1.5s", 1_500), ("0", 0)];
        for (text, millis) in table {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn rejects_other_text() {
        for text in ["", "s", "5x", "5s5", "-1", "1e400", "99999999999999999999d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
