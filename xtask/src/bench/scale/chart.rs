//! Time and memory of each object, over the number of objects: what grows in proportion is a flat line.

use std::fmt::Write;

use serde_json::Value;

use crate::bench::scale::table::{clients, of};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 60.0;
/// Where the names of the lines stand.
const RIGHT: f64 = 110.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 40.0;

/// Colours that can be told apart on white and on black, and with either kind of colour blindness; peers are grey.
const STYLE: &str = "<style>
text{font:12px system-ui,sans-serif;fill:#222}.title{font-weight:600}path{fill:none;stroke-width:2}line{stroke:#ced4da}
.a{stroke:#0b7285}.b{stroke:#d9480f}.c{stroke:#5f3dc4}.peer{stroke:#868e96;stroke-dasharray:5 3}circle{fill:#868e96}
@media(prefers-color-scheme:dark){text{fill:#e9ecef}line{stroke:#495057}.a{stroke:#3bc9db}.b{stroke:#ff922b}.c{stroke:#b197fc}}
</style>
";

/// One of the two pictures.
struct Panel {
    title: &'static str,
    key: &'static str,
    /// What a value is multiplied with, and whether that is for each object.
    factor: f64,
    is_per_object: bool,
}

const PANELS: [Panel; 2] = [
    Panel {
        title: "seconds of a cold sync, per 10,000 objects",
        key: "sync_seconds",
        factor: 1e4,
        is_per_object: true,
    },
    Panel { title: "bytes kept of an object", key: "bytes_per_object", factor: 1.0, is_per_object: false },
];

/// From the least to the most that is shown, by their logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    from: f64,
    to: f64,
}

impl Range {
    /// The powers of ten around some values.
    fn around(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (from, to) = values
            .filter(|value| *value > 0.0)
            .map(f64::log10)
            .fold((f64::MAX, f64::MIN), |(least, most), value| (value.min(least), value.max(most)));
        (from <= to).then(|| Self { from: from.floor(), to: to.ceil().max(from.floor() + 1.0) })
    }

    /// Where a value stands between the ends, from zero to one.
    fn at(self, value: f64) -> f64 {
        (value.log10() - self.from) / (self.to - self.from)
    }

    fn powers(self) -> impl Iterator<Item = f64> {
        (self.from as i32..=self.to as i32).map(|power| 10_f64.powi(power))
    }
}

/// Draws all documents.
pub(super) fn chart(documents: &[Value]) -> String {
    let mut body = String::new();
    for (number, panel) in PANELS.iter().enumerate() {
        draw(&mut body, panel, documents, number as f64 * HEIGHT);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" \
         aria-label=\"Time and memory of each object, over the number of objects\">\n{STYLE}{body}</svg>\n",
        HEIGHT * PANELS.len() as f64
    )
}

fn draw(body: &mut String, panel: &Panel, documents: &[Value], top: f64) {
    text(body, (10.0, top + 20.0), "title", panel.title);
    let lines: Vec<_> =
        clients(documents).into_iter().map(|name| (points(panel, documents, &name), name)).collect();
    let all = || lines.iter().flat_map(|(points, _)| points.iter().copied());
    let (Some(x), Some(y)) = (Range::around(all().map(|(x, _)| x)), Range::around(all().map(|(_, y)| y)))
    else {
        return;
    };
    let place = |(count, value): (f64, f64)| {
        let across = LEFT + x.at(count) * (WIDTH - LEFT - RIGHT);
        (across, top + HEIGHT - BOTTOM - y.at(value) * (HEIGHT - TOP - BOTTOM))
    };
    for power in x.powers() {
        let (at, _) = place((power, 10_f64.powf(y.from)));
        text(body, (at - 14.0, top + HEIGHT - BOTTOM + 18.0), "", &short(power));
    }
    for power in y.powers() {
        let (_, at) = place((10_f64.powf(x.from), power));
        let end = WIDTH - RIGHT;
        _ = writeln!(body, "<line x1=\"{LEFT}\" x2=\"{end}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>");
        text(body, (10.0, at + 4.0), "", &short(power));
    }
    for (points, name) in &lines {
        line(body, &points.iter().map(|point| place(*point)).collect::<Vec<_>>(), name);
    }
}

/// What one client took with each number of objects.
fn points(panel: &Panel, documents: &[Value], name: &str) -> Vec<(f64, f64)> {
    let point = |document: &Value| {
        let count = document["objects"].as_f64()?;
        let value = of(document, name)?[panel.key].as_f64()? * panel.factor;
        Some((count, if panel.is_per_object { value / count } else { value }))
    };
    documents.iter().filter_map(point).collect()
}

fn line(body: &mut String, places: &[(f64, f64)], name: &str) {
    let class = match name {
        "whole" => "a",
        "compact" => "b",
        "lazy" => "c",
        _ => "peer",
    };
    let path: Vec<_> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    _ = writeln!(body, "<path class=\"{class}\" d=\"M{}\"/>", path.join("L"));
    for (x, y) in places {
        _ = writeln!(body, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>");
    }
    if let Some((x, y)) = places.last() {
        text(body, (x + 8.0, y + 4.0), "", name);
    }
}

/// A power of ten as a person writes it.
fn short(power: f64) -> String {
    match power {
        power if power >= 1e6 => format!("{}M", power / 1e6),
        power if power >= 1e3 => format!("{}k", power / 1e3),
        power => format!("{power}"),
    }
}

fn text(body: &mut String, (x, y): (f64, f64), class: &str, words: &str) {
    _ = writeln!(body, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::contender::Contender::{Go, Ours};
    use crate::bench::scale::document::tests::of as document;

    #[test]
    fn what_grows_in_proportion_is_flat() {
        let documents = [
            document(10_000, &[(Ours, 1.0, 98.0)]),
            document(100_000, &[(Ours, 10.0, 98.0), (Go, 5.0, 33.0)]),
        ];
        let [time, bytes] = PANELS;
        assert_eq!(points(&time, &documents, "whole"), [(1e4, 1.0), (1e5, 1.0)]);
        assert_eq!(points(&bytes, &documents, "whole"), [(1e4, 98.0), (1e5, 98.0)]);
        let picture = chart(&documents);
        assert_eq!(picture.matches("<path class=\"a\"").count(), 2, "{picture}");
        assert_eq!(picture.matches("<path class=\"peer\"").count(), 2, "{picture}");
    }

    #[test]
    fn ranges_end_at_powers_of_ten() {
        let range = Range::around([12.0, 0.0, 900.0].into_iter()).unwrap();
        assert_eq!(range, Range { from: 1.0, to: 3.0 });
        assert_eq!((range.at(10.0), range.at(100.0), range.at(1000.0)), (0.0, 0.5, 1.0));
        assert_eq!(Range::around([0.0].into_iter()), None);
    }

    #[test]
    fn nothing_measured_is_an_empty_picture() {
        assert!(chart(&[]).ends_with("</svg>\n"));
    }
}
