//! Quantities such as `500m` and `1Gi` in the form in which the API server writes them.

/// The smallest unit that is stored, as a power of ten.
const SMALLEST: i32 = -9;

/// The format of the suffix of a quantity.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `1k`, `1M`.
    Decimal,
    /// `1e3`, `1e6`.
    Exponent,
    /// `1Ki`, `1Mi`.
    Binary,
}

const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Returns a quantity without fractions and with the largest suffix that keeps its value; `None` if it is not a quantity.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let (style, smallest) = parse(text)?;
    let sign = if smallest < 0 { "-" } else { "" };
    Some(format!("{sign}{}", write(smallest.abs(), style)))
}

/// Returns the value of a quantity in billionths; `None` if it is not a quantity.
pub(crate) fn value(text: &str) -> Option<i128> {
    parse(text).map(|(_, smallest)| smallest)
}

fn parse(text: &str) -> Option<(Style, i128)> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && !matches!(letter, '.' | '+' | '-'));
    let (number, suffix) = text.split_at(end.unwrap_or(text.len()));
    let (is_negative, digits) = match number.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.chars().all(|letter| letter.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let mantissa = whole
        .bytes()
        .chain(fraction.bytes())
        .try_fold(0_i128, |number, digit| number.checked_mul(10)?.checked_add(i128::from(digit - b'0')))?;
    let places = i32::try_from(fraction.len()).ok()?;
    let (style, smallest) = smallest_units(mantissa, places, suffix)?;
    Some((style, if is_negative { -smallest } else { smallest }))
}

/// Returns the format of the suffix and the value in the smallest unit, rounded up.
fn smallest_units(mantissa: i128, places: i32, suffix: &str) -> Option<(Style, i128)> {
    if let Some(power) = BINARY.iter().position(|known| *known == suffix).filter(|power| *power > 0) {
        let value = mantissa.checked_mul(1 << (10 * power))?;
        return Some((Style::Binary, scaled(value, -places - SMALLEST)?));
    }
    if let Some(power) = DECIMAL.iter().position(|known| *known == suffix) {
        let exponent = i32::try_from(power).ok()? * 3 + SMALLEST;
        return Some((Style::Decimal, scaled(mantissa, exponent - places - SMALLEST)?));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((Style::Exponent, scaled(mantissa, exponent - places - SMALLEST)?))
}

/// Multiplies by a power of ten, rounding up.
fn scaled(value: i128, exponent: i32) -> Option<i128> {
    let power = 10_i128.checked_pow(exponent.unsigned_abs());
    match (power, exponent >= 0) {
        (Some(power), true) => value.checked_mul(power),
        (Some(power), false) => Some(value.checked_add(power - 1)? / power),
        (None, true) => (value == 0).then_some(0),
        (None, false) => Some(i128::from(value != 0)),
    }
}

fn write(smallest: i128, style: Style) -> String {
    let one = 10_i128.pow(SMALLEST.unsigned_abs());
    if smallest == 0 {
        return "0".to_owned();
    }
    if style == Style::Binary && smallest >= 1024 * one {
        let mut value = (smallest + one - 1) / one;
        let mut power = 0;
        while value % 1024 == 0 && power + 1 < BINARY.len() {
            value /= 1024;
            power += 1;
        }
        return format!("{value}{}", BINARY[power]);
    }
    let mut value = smallest;
    let mut power = 0;
    while value % 1000 == 0 && power + 1 < DECIMAL.len() {
        value /= 1000;
        power += 1;
    }
    let exponent = i32::try_from(power).unwrap_or_default() * 3 + SMALLEST;
    match style {
        Style::Exponent if exponent != 0 => format!("{value}e{exponent}"),
        Style::Exponent => value.to_string(),
        Style::Decimal | Style::Binary => format!("{value}{}", DECIMAL[power]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_as_by_the_api_server() {
        let table = [
            ("1", "1"),
            ("1000", "1k"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("512", "512"),
            ("0", "0"),
            ("0Mi", "0"),
            ("-1500m", "-1500m"),
            ("1e3", "1e3"),
            ("100e-3", "100e-3"),
            ("12E6", "12e6"),
            ("0.1Ki", "102400m"),
            ("1n", "1n"),
            ("0.1n", "1n"),
            ("1Ki", "1Ki"),
            ("2048", "2048"),
            ("1000000", "1M"),
        ];
        for (text, expected) in table {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
        for wrong in ["", "a", "1x", "1.2.3", "1 Gi", "--1", "e3"] {
            assert_eq!(canonical(wrong), None, "{wrong}");
        }
    }
}
