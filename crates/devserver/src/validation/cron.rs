//! Schedules of cron jobs.

/// A field of a schedule, with its limits and the names of its values.
struct ScheduleField {
    name: &'static str,
    min: u32,
    max: u32,
    values: &'static [&'static str],
}

const FIELDS: [ScheduleField; 5] = [
    ScheduleField { name: "minute", min: 0, max: 59, values: &[] },
    ScheduleField { name: "hour", min: 0, max: 23, values: &[] },
    ScheduleField { name: "day of month", min: 1, max: 31, values: &[] },
    ScheduleField {
        name: "month",
        min: 1,
        max: 12,
        values: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    },
    ScheduleField {
        name: "day of week",
        min: 0,
        max: 6,
        values: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

/// Returns the reason if a schedule is invalid.
pub(super) fn broken(schedule: &str) -> Option<String> {
    let schedule = match schedule.strip_prefix("TZ=").or_else(|| schedule.strip_prefix("CRON_TZ=")) {
        Some(rest) => match rest.split_once(' ') {
            Some((zone, rest)) if is_time_zone(zone) => rest.trim(),
            _ => return Some("provided bad location".to_owned()),
        },
        None => schedule,
    };
    if let Some(descriptor) = schedule.strip_prefix('@') {
        let is_known = matches!(
            descriptor,
            "yearly" | "annually" | "monthly" | "weekly" | "daily" | "midnight" | "hourly"
        );
        let is_interval = descriptor.strip_prefix("every ").is_some_and(is_duration);
        return (!is_known && !is_interval).then(|| format!("unrecognized descriptor: {schedule}"));
    }
    let parts: Vec<_> = schedule.split_whitespace().collect();
    if parts.len() != FIELDS.len() {
        return Some(format!("expected exactly 5 fields, found {}: [{}]", parts.len(), parts.join(" ")));
    }
    let mut fields = parts.iter().zip(&FIELDS);
    let (part, field) = fields.find(|(part, field)| {
        !part.split(',').filter(|one| !one.is_empty()).all(|one| is_range(one, field))
    })?;
    Some(format!("failed to parse the {}: {part}", field.name))
}

/// Returns whether a part of a field is `*`, a number or a range, with a step if there is one.
fn is_range(part: &str, field: &ScheduleField) -> bool {
    let &ScheduleField { min, max, values, .. } = field;
    let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    let number = |text: &str| -> Option<u32> {
        let name = text.to_ascii_lowercase();
        let position = values.iter().position(|known| *known == name);
        match position {
            Some(position) => u32::try_from(position).ok().map(|position| position + min),
            None => Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok(),
        }
    };
    let (low, high) = range.split_once('-').map_or((range, None), |(low, high)| (low, Some(high)));
    let ends = if low == "*" || low == "?" {
        Some((min, max))
    } else {
        match high {
            Some(high) => number(low).zip(number(high)),
            None => number(low).map(|low| (low, if step.is_some() { max } else { low })),
        }
    };
    let has_step = step.is_none_or(|step| number(step).is_some_and(|step| step > 0));
    ends.is_some_and(|(low, high)| min <= low && low <= high && high <= max) && has_step
}

/// Returns whether a text is a duration of Go, such as `1h30m`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let mut parts = 0;
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let units = ["ns", "us", "ms", "µs", "h", "m", "s"];
        let Some(unit) = units.iter().find(|unit| after.starts_with(**unit)) else { return false };
        if number.parse::<f64>().is_err() {
            return false;
        }
        rest = &after[unit.len()..];
        parts += 1;
    }
    parts > 0
}

/// Returns whether a text has the form of the name of a time zone; which of them exist is not known here.
pub(super) fn is_time_zone(name: &str) -> bool {
    let is_inner = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | '+');
    let is_part = |part: &str| {
        !matches!(part, "." | "..")
            && !part.starts_with('-')
            && (1..=14).contains(&part.len())
            && part.chars().all(is_inner)
    };
    name.split('/').all(is_part) && !name.eq_ignore_ascii_case("local")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_those_of_cron() {
        let valid =
            ["* * * * *", "*/5 0-6,8 1 jan-Mar sun", "@daily", "@every 1h30m", "5/15 * ? * *", "0 0 * * 0"];
        let invalid = [
            "",
            "* * * *",
            "60 * * * *",
            "* * 0 * *",
            "*/0 * * * *",
            "@often",
            "a * * * *",
            "5-1 * * * *",
            "* * * * 7",
        ];
        assert_eq!(valid.iter().find(|schedule| broken(schedule).is_some()), None);
        assert_eq!(invalid.iter().find(|schedule| broken(schedule).is_none()), None);
        assert!(is_time_zone("Etc/UTC") && is_time_zone("Europe/Berlin"));
        assert!(!is_time_zone("Local") && !is_time_zone("../UTC") && !is_time_zone("A b"));
    }
}
