//! The table on the terminal.

use std::fmt::Write;

use crate::bench::figure::{FIGURES, Unit};
use crate::bench::measured::Rounds;
use crate::bench::row::Row;
use crate::bench::verdict::{self, Judged, Line};
use crate::paint::Paint;

impl Unit {
    /// A value as a person reads it.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Seconds => format!("{value:.3} s"),
            Self::Milliseconds => format!("{value:.2} ms"),
            Self::Nanoseconds => format!("{value:.0} ns"),
            Self::Bytes if value >= 1e6 => format!("{:.1} MB", value / 1e6),
            Self::Bytes if value >= 1e4 => format!("{:.1} KB", value / 1e3),
            Self::Bytes => format!("{value:.0} B"),
            Self::PerSecond if value >= 1e6 => format!("{:.2}M/s", value / 1e6),
            Self::PerSecond if value >= 1e4 => format!("{:.1}k/s", value / 1e3),
            Self::PerSecond => format!("{value:.0}/s"),
            Self::Events => format!("{value:.0}"),
            Self::Times => format!("{value:.2}x"),
            Self::Share => format!("{:.0} %", value * 100.0),
        }
    }
}

/// The table of these rows.
pub(crate) fn table(rows: &[Row], rounds: &Rounds, paint: Paint) -> String {
    let mut text = String::new();
    for row in rows {
        let title = format!("{}  {}", row.name(), row.about());
        _ = writeln!(text, "\n{}", paint.bold(&title));
        let mut is_empty = true;
        for figure in FIGURES.iter().filter(|figure| figure.row == *row) {
            for line in verdict::lines(figure, rounds) {
                is_empty = false;
                write_line(&mut text, (figure.about, figure.unit), &line, paint);
            }
        }
        if is_empty {
            _ = writeln!(text, "  not measured");
        }
    }
    text
}

fn write_line(text: &mut String, (about, unit): (&str, Unit), line: &Line, paint: Paint) {
    let range = |least: f64, most: f64| format!("{} - {}", unit.show(least), unit.show(most));
    let ratio = match (line.behind, line.ratio) {
        (Some(share), _) => format!("{} in time", Unit::Share.show(share)),
        (None, Some(ratio)) => format!("{:.2}x ({:.2} - {:.2})", ratio.value, ratio.least, ratio.most),
        (None, None) => String::new(),
    };
    let value = match line.behind {
        Some(_) => "falls behind".to_owned(),
        None => unit.show(line.value.value),
    };
    _ = write!(
        text,
        "  {about:<20} {:<25} {value:>12}  {:<26} {ratio:<22}",
        line.contender.name(),
        range(line.value.least, line.value.most),
    );
    for Judged { target, is_met, .. } in &line.targets {
        let mark = if *is_met {
            paint.green(&format!("met {target}"))
        } else {
            paint.red(&format!("MISSED {target}"))
        };
        _ = write!(text, " {mark};");
    }
    let end = text.trim_end_matches([' ', ';']).len();
    text.truncate(end);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short() {
        for (unit, value, shown) in [
            (Unit::Seconds, 1.2345, "1.234 s"),
            (Unit::Bytes, 812.4, "812 B"),
            (Unit::Bytes, 75_000.0, "75.0 KB"),
            (Unit::PerSecond, 35_120.0, "35.1k/s"),
            (Unit::PerSecond, 6_500_000.0, "6.50M/s"),
            (Unit::Times, 1.149, "1.15x"),
        ] {
            assert_eq!(unit.show(value), shown);
        }
    }

    #[test]
    fn a_row_without_figures_says_so() {
        let text = table(&[Row::W12], &Rounds::default(), Paint::Plain);
        assert!(text.contains("W12  restart") && text.contains("not measured"), "{text}");
    }
}
