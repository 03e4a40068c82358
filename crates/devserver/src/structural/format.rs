//! The formats of texts and numbers that kube-apiserver checks in custom resources.

use base64::Engine as _;
use regex::Regex;
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

/// A format that is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// The name in the schema, such as `date-time`.
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Int32,
    Int64,
    Float,
    Double,
    /// A text, with the position of its check in [`TEXTS`].
    Text(usize),
}

/// A format of texts: its name without dashes, and its check.
type Text = (&'static str, fn(&str) -> bool);

const TEXTS: [Text; 26] = [
    ("bsonobjectid", |text| matches(&BSON, text)),
    ("uri", is_uri),
    ("email", |text| matches(&EMAIL, text)),
    ("hostname", is_hostname),
    ("ipv4", |text| text.parse::<Ipv4Addr>().is_ok()),
    ("ipv6", |text| text.parse::<Ipv6Addr>().is_ok()),
    ("cidr", is_cidr),
    ("mac", |text| matches(&MAC, text)),
    ("uuid", |text| matches(&UUID, text)),
    ("uuid3", |text| matches(&UUID, text) && digit_of_version(text) == Some('3')),
    ("uuid4", |text| matches(&UUID, text) && digit_of_version(text) == Some('4') && has_variant(text)),
    ("uuid5", |text| matches(&UUID, text) && digit_of_version(text) == Some('5') && has_variant(text)),
    ("isbn", |text| is_isbn10(text) || is_isbn13(text)),
    ("isbn10", is_isbn10),
    ("isbn13", is_isbn13),
    ("creditcard", is_credit_card),
    ("ssn", |text| matches(&SSN, text)),
    ("hexcolor", |text| matches(&HEX_COLOR, text)),
    ("rgbcolor", |text| matches(&RGB_COLOR, text)),
    ("byte", |text| !text.is_empty() && base64::engine::general_purpose::STANDARD.decode(text).is_ok()),
    ("password", |_| true),
    ("date", |text| text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()),
    ("duration", is_duration),
    ("datetime", is_date_time),
    ("k8sshortname", |text| text.len() <= 63 && matches(&LABEL, text)),
    ("k8slongname", |text| text.len() <= 253 && text.split('.').all(|part| matches(&LABEL, part))),
];

impl Format {
    /// Returns the format with a name; `None` if it is not checked for these types.
    pub(crate) fn of(types: &[String], name: &str) -> Option<Self> {
        let plain = name.replace('-', "");
        let types: Vec<_> = types.iter().map(String::as_str).collect();
        let kind = match (types.as_slice(), name) {
            (["integer"], "int32") => Kind::Int32,
            (["integer"], "int64") => Kind::Int64,
            (["number"], "float") => Kind::Float,
            (["number"], "double") => Kind::Double,
            ([] | ["string"], name) if !name.is_empty() => {
                Kind::Text(TEXTS.iter().position(|(known, _)| *known == plain)?)
            }
            _ => return None,
        };
        Some(Self { name: name.to_owned(), kind })
    }

    /// Returns the name in the schema.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if a text has this format.
    pub(crate) fn matches(&self, text: &str) -> bool {
        match self.kind {
            Kind::Text(position) => TEXTS[position].1(text),
            Kind::Int32 | Kind::Int64 | Kind::Float | Kind::Double => true,
        }
    }

    /// Returns true if a number is in the range of this format.
    pub(crate) fn holds(&self, number: &Value) -> bool {
        let float = number.as_f64().unwrap_or_default();
        match self.kind {
            Kind::Int32 => (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&float),
            Kind::Int64 => number.is_i64() || float.abs() < 9.2e18,
            Kind::Float => float.abs() <= f64::from(f32::MAX),
            Kind::Double | Kind::Text(_) => true,
        }
    }
}

fn matches(pattern: &Regex, text: &str) -> bool {
    pattern.is_match(text)
}

macro_rules! patterns {
    ($($name:ident = $pattern:literal;)*) => {
        $(static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($pattern).expect("the pattern is valid"));)*
    };
}

patterns! {
    BSON = "^[0-9a-fA-F]{24}$";
    EMAIL = r#"^(?:[^<>"]*<)?[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.-]+>?$"#;
    HOSTNAME = r"^[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\p{S}\p{L}-]{0,61}[a-zA-Z0-9\p{S}\p{L}])?$";
    MAC = "^(?:[0-9A-Fa-f]{2}[:-]){5}(?:[0-9A-Fa-f]{2}|[0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2})$|^(?:[0-9A-Fa-f]{4}[.]){2}[0-9A-Fa-f]{4}$";
    UUID = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    SSN = "^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$";
    HEX_COLOR = "^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
    RGB_COLOR = "^rgb\\(\\s*(?:(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\\s*,\\s*){2}(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\\s*\\)$";
    LABEL = "^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$";
    TIME = "^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$";
    GO_DURATION = "^[+-]?(?:(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+$";
    LONG_DURATION = "(?i)[0-9]+\\s*(?:ns\\b|nano|us\\b|µs\\b|micro|ms\\b|milli|s\\b|sec|m\\b|min|h\\b|hr\\b|hour|d\\b|day|w\\b|wk\\b|week)";
    CARD = "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$";
}

/// Returns true if a text is an absolute URI or path, as the target of a request is.
fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.chars().any(|letter| letter.is_control() || letter == ' ') {
        return false;
    }
    let scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.'))
    };
    text.starts_with('/')
        || text.split_once(':').is_some_and(|(before, after)| scheme(before) && !after.is_empty())
}

fn is_hostname(text: &str) -> bool {
    let parts: Vec<_> = text.split('.').collect();
    let last = parts.last().copied().unwrap_or_default();
    text.len() <= 255
        && parts.iter().all(|part| part.len() <= 63 && matches(&HOSTNAME, part))
        && (parts.len() == 1 || last.chars().count() >= 2 && last.chars().all(char::is_alphabetic))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    length.parse::<u8>().is_ok_and(|length| length <= most)
}

fn digit_of_version(uuid: &str) -> Option<char> {
    uuid.chars().filter(|letter| *letter != '-').nth(12)
}

fn has_variant(uuid: &str) -> bool {
    uuid.chars().filter(|letter| *letter != '-').nth(16).is_some_and(|letter| "89abAB".contains(letter))
}

fn is_duration(text: &str) -> bool {
    text == "0" || matches(&GO_DURATION, text) || matches(&LONG_DURATION, text)
}

fn is_date_time(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let Some((date, time)) = text.split_once('t') else { return false };
    let Some(parts) = TIME.captures(time) else { return false };
    date.len() == 10
        && date.parse::<jiff::civil::Date>().is_ok()
        && &parts[1] <= "23"
        && &parts[2] <= "59"
        && &parts[3] <= "59"
}

fn digits(text: &str) -> String {
    text.chars().filter(|letter| !matches!(letter, ' ' | '-')).collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits: Vec<_> = digits(text).chars().collect();
    let value = |position: usize, letter: char| match letter {
        'X' if position == 9 => Some(10),
        letter => letter.to_digit(10),
    };
    let values = digits.iter().enumerate().map(|(position, letter)| value(position, *letter));
    let values: Option<Vec<u32>> = values.collect();
    values.is_some_and(|values| {
        values.len() == 10
            && values.iter().zip(1..).map(|(value, weight)| value * weight).sum::<u32>() % 11 == 0
    })
}

fn is_isbn13(text: &str) -> bool {
    let values: Option<Vec<u32>> = digits(text).chars().map(|letter| letter.to_digit(10)).collect();
    values.is_some_and(|values| {
        let weights = [1, 3].into_iter().cycle();
        values.len() == 13
            && values.iter().zip(weights).map(|(value, weight)| value * weight).sum::<u32>() % 10 == 0
    })
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let doubled = |(position, digit): (usize, char)| {
        let digit = digit.to_digit(10).unwrap_or_default();
        match position % 2 {
            0 => digit,
            _ if digit >= 5 => digit * 2 - 9,
            _ => digit * 2,
        }
    };
    matches(&CARD, &digits) && digits.chars().rev().enumerate().map(doubled).sum::<u32>() % 10 == 0
}
