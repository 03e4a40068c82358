//! The ratios as a picture: a bar for each contender, in groups, readable on light and on dark.

use std::fmt::Write;

use serde_json::Value;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 320.0;
const ROW: f64 = 18.0;
const HEAD: f64 = 30.0;
/// Bars longer than so many times the best peer are cut off.
const MOST: f64 = 4.0;

/// Colours that can be told apart on white and on black, and with either kind of colour blindness.
const STYLE: &str = "<style>
text{font:12px system-ui,sans-serif;fill:#222}.title{font-weight:600}.ours{fill:#0b7285}.peer{fill:#adb5bd}
.missed{fill:#d9480f}line{stroke:#868e96}
@media(prefers-color-scheme:dark){text{fill:#e9ecef}.ours{fill:#3bc9db}.peer{fill:#868e96}.missed{fill:#ff922b}}
</style>
";

/// Draws the runs of one command, one below the other.
pub(crate) fn chart(documents: &[Value]) -> String {
    let mut body = String::new();
    let mut top = 10.0;
    for document in documents {
        let title = format!("{} objects, ratio to the best peer", document["objects"]);
        text(&mut body, (10.0, top + 14.0), "title", &title);
        top += HEAD;
        top = groups(&mut body, document, top);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"Ratios to the best peer\">\n{STYLE}{body}</svg>\n",
        height = top + 10.0
    )
}

fn groups(body: &mut String, document: &Value, mut top: f64) -> f64 {
    let mut last = String::new();
    for figure in document["figures"].as_array().into_iter().flatten() {
        let Some(ratio) = figure["ratio"]["value"].as_f64() else { continue };
        let group = format!("{} {}", word(&figure["row"]), word(&figure["figure"]));
        if group != last {
            top += ROW;
            text(body, (10.0, top + 12.0), "title", &group.replace('_', " "));
            top += ROW;
            last = group;
        }
        bar(body, figure, ratio, top);
        top += ROW;
    }
    // Where the best peer is.
    let one = LEFT + scale(1.0);
    _ = writeln!(
        body,
        "<line x1=\"{one}\" x2=\"{one}\" y1=\"{HEAD}\" y2=\"{top}\" stroke-dasharray=\"3 3\"/>"
    );
    top
}

fn bar(body: &mut String, figure: &Value, ratio: f64, top: f64) {
    let contender = word(&figure["contender"]);
    let is_peer = contender.starts_with("kube-rs") || contender.starts_with("client-go");
    let targets = figure["targets"].as_array().into_iter().flatten();
    let is_missed = targets.into_iter().any(|target| target["met"] == false);
    let class = match (is_peer, is_missed) {
        (true, _) => "peer",
        (false, true) => "missed",
        (false, false) => "ours",
    };
    text(body, (30.0, top + 12.0), "", contender);
    let width = scale(ratio.min(MOST)).max(1.0);
    _ = writeln!(
        body,
        "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"2\"/>",
        top + 2.0,
        ROW - 5.0
    );
    let cut = if ratio > MOST { " (cut)" } else { "" };
    text(body, (LEFT + width + 6.0, top + 12.0), "", &format!("{ratio:.2}x{cut}"));
}

fn scale(ratio: f64) -> f64 {
    ratio / MOST * (WIDTH - LEFT - 90.0)
}

fn text(body: &mut String, (x, y): (f64, f64), class: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    _ = writeln!(body, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>");
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ours_peers_and_what_missed_its_target_look_different() {
        let figure = |contender: &str, met: bool| {
            json!({ "row": "W1", "figure": "sync_seconds", "contender": contender, "ratio": { "value": 0.5 },
                    "targets": [{ "met": met }] })
        };
        let figures = [figure("whole", true), figure("compact", false), figure("client-go", true)];
        let picture = chart(&[json!({ "objects": 7, "figures": figures })]);
        for class in ["ours", "missed", "peer"] {
            assert_eq!(picture.matches(&format!("<rect class=\"{class}\"")).count(), 1, "{picture}");
        }
        assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
    }
}
