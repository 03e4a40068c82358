//! Draws a screen as an SVG for light and dark pages.

use std::fmt::Write;
use vt100::{Cell, Color, Screen};

/// The size of a letter, and the room around all of them.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 18.0;
const MARGIN: f64 = 16.0;
/// The bar above, with the command in it.
const BAR: f64 = 34.0;

const PAPER: &str = "#12161c";
const EDGE: &str = "#39424e";
const INK: &str = "#d5dbe3";
const QUIET: &str = "#7d8896";
const STRONG: &str = "#ffffff";
/// The colours that terminals number from 0; the bright ones follow.
const COLOURS: [&str; 16] = [
    "#39424e", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#d5dbe3", "#7d8896",
    "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
];
const FONTS: &str = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/// The style of adjacent letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    ink: &'static str,
    paper: Option<&'static str>,
    is_bold: bool,
}

impl Look {
    fn of(cell: &Cell) -> Self {
        let plain = match (cell.dim(), cell.bold()) {
            (true, _) => QUIET,
            (false, true) => STRONG,
            (false, false) => INK,
        };
        let (ink, paper) = (colour(cell.fgcolor()).unwrap_or(plain), colour(cell.bgcolor()));
        let is_bold = cell.bold();
        if cell.inverse() {
            Self { ink: paper.unwrap_or(PAPER), paper: Some(ink), is_bold }
        } else {
            Self { ink, paper, is_bold }
        }
    }
}

fn colour(colour: Color) -> Option<&'static str> {
    match colour {
        Color::Idx(index) => COLOURS.get(usize::from(index)).copied(),
        Color::Default | Color::Rgb(..) => None,
    }
}

/// Draws a screen, under the command that was typed.
pub(crate) fn svg(screen: &Screen, command: &str) -> String {
    let (rows, columns) = screen.size();
    let (width, height) =
        (f64::from(columns) * WIDTH + 2.0 * MARGIN, f64::from(rows) * HEIGHT + BAR + MARGIN);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"{FONTS}\" font-size=\"14\" role=\"img\">\n<title>{}</title>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"8\" fill=\"{PAPER}\" stroke=\"{EDGE}\"/>\n\
         <path d=\"M1 {BAR:.0}H{:.0}\" stroke=\"{EDGE}\"/>\n<text x=\"{MARGIN}\" y=\"22\" fill=\"{QUIET}\">$ \
         <tspan fill=\"{INK}\">{}</tspan></text>\n",
        escaped(command),
        width - 1.0,
        height - 1.0,
        width - 1.0,
        escaped(command),
    );
    for row in 0..rows {
        for (column, look, letters) in runs(screen, row) {
            draw(&mut text, (row, column), look, &letters);
        }
    }
    text + "</svg>\n"
}

/// Returns the adjacent letters of a row with the same style, without invisible blanks.
fn runs(screen: &Screen, row: u16) -> Vec<(u16, Look, String)> {
    let mut runs: Vec<(u16, Look, String)> = Vec::new();
    for (column, cell) in (0..screen.size().1).filter_map(|column| Some((column, screen.cell(row, column)?)))
    {
        let look = Look::of(cell);
        let letter = if cell.has_contents() { cell.contents() } else { " " };
        match runs.last_mut() {
            Some((_, last, letters)) if *last == look => letters.push_str(letter),
            _ => runs.push((column, look, letter.to_owned())),
        }
    }
    runs.retain(|(_, look, letters)| look.paper.is_some() || !letters.trim().is_empty());
    runs
}

fn draw(text: &mut String, (row, column): (u16, u16), look: Look, letters: &str) {
    let top = BAR + MARGIN / 2.0 + f64::from(row) * HEIGHT;
    let left = |column: usize| MARGIN + column as f64 * WIDTH;
    let (column, count) = (usize::from(column), letters.chars().count());
    if let Some(paper) = look.paper {
        let (x, width) = (left(column), count as f64 * WIDTH);
        let _ = writeln!(
            text,
            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\" fill=\"{paper}\"/>"
        );
    }
    let blank = letters.chars().take_while(|letter| *letter == ' ').count();
    let seen = letters.trim();
    if seen.is_empty() {
        return;
    }
    // Letters are aligned with every font.
    let (x, y, width) = (left(column + blank), top + 13.5, seen.chars().count() as f64 * WIDTH);
    let bold = if look.is_bold { " font-weight=\"bold\"" } else { "" };
    let _ = writeln!(
        text,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\"{bold} \
         xml:space=\"preserve\">{}</text>",
        look.ink,
        escaped(seen)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
