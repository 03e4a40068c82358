//! The formats of texts: names, labels, ports, addresses, percentages and paths.

use crate::object::{broken_key, broken_value, is_label, is_subdomain};
use crate::validation::field::{Errors, Field};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
    end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
    must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must \
    consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
    '*.example.com', regex used for validation is \
    '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
    'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex \
    used for validation is '[0-9]+%')";
const HEADER: &str = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used \
    for validation is '[-A-Za-z0-9]+')";
const ENVIRONMENT: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";

/// The most bytes of a label and of a subdomain.
const LABEL_LENGTH: usize = 63;
const SUBDOMAIN_LENGTH: usize = 253;

/// Returns the reason if a text is not a DNS label.
pub(super) fn broken_label(text: &str) -> Option<String> {
    too_long(text, LABEL_LENGTH).or_else(|| (!is_label(text)).then(|| LABEL.to_owned()))
}

/// Returns the reason if a text is not a DNS subdomain.
pub(super) fn broken_subdomain(text: &str) -> Option<String> {
    too_long(text, SUBDOMAIN_LENGTH).or_else(|| (!is_subdomain(text)).then(|| SUBDOMAIN.to_owned()))
}

/// Returns the reason if a name cannot be a segment of a path.
pub(super) fn broken_path_segment(text: &str) -> Option<String> {
    if matches!(text, "." | "..") {
        return Some(format!("may not be '{text}'"));
    }
    let part = ["/", "%"].into_iter().find(|part| text.contains(part))?;
    Some(format!("may not contain '{part}'"))
}

fn too_long(text: &str, most: usize) -> Option<String> {
    (text.len() > most).then(|| format!("must be no more than {most} bytes"))
}

impl Errors {
    /// Adds an error if there is a reason.
    pub(super) fn check(&mut self, field: &Field<'_, '_>, broken: impl IntoIterator<Item = String>) {
        for detail in broken {
            self.invalid(field, &detail);
        }
    }

    pub(super) fn label(&mut self, field: &Field<'_, '_>) {
        self.check(field, broken_label(field.text()));
    }

    pub(super) fn subdomain(&mut self, field: &Field<'_, '_>) {
        self.check(field, broken_subdomain(field.text()));
    }

    /// Requires a subdomain if there is a text.
    pub(super) fn optional_subdomain(&mut self, field: &Field<'_, '_>) {
        if !field.is_empty() {
            self.subdomain(field);
        }
    }

    /// Requires a label if there is a text.
    pub(super) fn optional_label(&mut self, field: &Field<'_, '_>) {
        if !field.is_empty() {
            self.label(field);
        }
    }

    /// Requires a name that may have a prefix.
    pub(super) fn qualified_name(&mut self, field: &Field<'_, '_>) {
        self.check(field, broken_key(field.text()));
    }

    /// Requires labels: keys with values.
    pub(super) fn labels(&mut self, field: &Field<'_, '_>) {
        for (key, value) in field.entries() {
            self.check(field, broken_key(key));
            self.label_value(&value);
        }
    }

    pub(super) fn label_value(&mut self, field: &Field<'_, '_>) {
        self.check(field, broken_value(field.text()));
    }

    pub(super) fn path_segment(&mut self, field: &Field<'_, '_>) {
        self.check(field, broken_path_segment(field.text()));
    }

    /// Requires the number of a port.
    pub(super) fn port_number(&mut self, field: &Field<'_, '_>) {
        if !(1..=65535).contains(&field.number_or_zero()) {
            self.invalid(field, "must be between 1 and 65535, inclusive");
        }
    }

    /// Requires the name of a port: at most 15 characters with a letter.
    pub(super) fn port_name(&mut self, field: &Field<'_, '_>) {
        let name = field.text();
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let detail = if name.len() > 15 {
            "must be no more than 15 characters"
        } else if !name.bytes().all(is_inner) || name.is_empty() {
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
        } else if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
            "must contain at least one letter (a-z)"
        } else if name.contains("--") {
            "must not contain consecutive hyphens"
        } else if name.starts_with('-') || name.ends_with('-') {
            "must not begin or end with a hyphen"
        } else {
            return;
        };
        self.invalid(field, detail);
    }

    /// Requires a number or a name of a port.
    pub(super) fn port(&mut self, field: &Field<'_, '_>) {
        if field.value().is_string() { self.port_name(field) } else { self.port_number(field) }
    }

    /// Requires a key of a config map or a secret.
    pub(super) fn config_key(&mut self, field: &Field<'_, '_>, key: &str) {
        let is_inner = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let detail = if key.len() > SUBDOMAIN_LENGTH {
            "must be no more than 253 bytes"
        } else if key.is_empty() || !key.chars().all(is_inner) {
            CONFIG_KEY
        } else if key == "." || key == ".." {
            "must not be '.' or '..'"
        } else if key.starts_with("..") {
            "must not start with '..'"
        } else {
            return;
        };
        let value = key.into();
        self.push(crate::invalid::FieldError::invalid(&field.to_string(), &value, detail));
    }

    /// Requires the name of an environment variable.
    pub(super) fn environment(&mut self, field: &Field<'_, '_>) {
        let is_inner = |letter: char| (' '..='~').contains(&letter) && letter != '=';
        if field.is_empty() || !field.text().chars().all(is_inner) {
            self.invalid(field, ENVIRONMENT);
        }
    }

    pub(super) fn http_header(&mut self, field: &Field<'_, '_>) {
        let name = field.text();
        let is_inner = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if name.is_empty() || !name.chars().all(is_inner) {
            self.invalid(field, HEADER);
        }
    }

    /// Requires a host name that may start with `*.`.
    pub(super) fn host(&mut self, field: &Field<'_, '_>) {
        let host = field.text();
        if !host.contains('*') {
            return self.subdomain(field);
        }
        let is_wildcard = host.strip_prefix("*.").is_some_and(is_subdomain) && host.len() <= SUBDOMAIN_LENGTH;
        if !is_wildcard {
            self.invalid(field, WILDCARD);
        }
    }

    /// Requires an address in its usual form.
    pub(super) fn ip(&mut self, field: &Field<'_, '_>) {
        if parse_ip(field.text()).is_none() {
            self.invalid(field, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        }
    }

    /// Requires a range of addresses in its usual form.
    pub(super) fn cidr(&mut self, field: &Field<'_, '_>) {
        self.cidr_text(field, field.text());
    }

    /// Requires a range of addresses that is a part of the value.
    pub(super) fn cidr_text(&mut self, field: &Field<'_, '_>, text: &str) {
        let detail = match parse_cidr(text) {
            None => "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            Some(range) if !range.is_masked() => "must not have bits set beyond the prefix length",
            Some(_) => return,
        };
        self.invalid(field, detail);
    }

    /// Requires a number of at least 0 or a percentage.
    pub(super) fn number_or_percent(&mut self, field: &Field<'_, '_>) {
        if field.value().is_string() {
            if percent(field).is_none() {
                self.invalid(field, PERCENT);
            }
        } else {
            self.non_negative(field);
        }
    }

    /// Requires a percentage of at most 100 if it is one.
    pub(super) fn at_most_all(&mut self, field: &Field<'_, '_>) {
        if percent(field).is_some_and(|percent| percent > 100) {
            self.invalid(field, "must not be greater than 100%");
        }
    }

    /// Requires a path without `..`.
    pub(super) fn no_backsteps(&mut self, field: &Field<'_, '_>) {
        if field.text().split('/').any(|part| part == "..") {
            self.invalid(field, "must not contain '..'");
        }
    }

    /// Requires a relative path without `..`.
    pub(super) fn descending_path(&mut self, field: &Field<'_, '_>) {
        if field.text().starts_with('/') {
            self.invalid(field, "must be a relative path");
        }
        self.no_backsteps(field);
    }

    /// Requires a relative path that does not start with two dots.
    pub(super) fn local_path(&mut self, field: &Field<'_, '_>) {
        self.descending_path(field);
        if field.text().starts_with("..") && !field.text().starts_with("../") {
            self.invalid(field, "must not start with '..'");
        }
    }

    /// Requires the mode of a file if there is one.
    pub(super) fn file_mode(&mut self, field: &Field<'_, '_>) {
        if field.number().is_some_and(|mode| !(0..=0o777).contains(&mode)) {
            let detail = "must be a number between 0 and 0777 (octal), both inclusive";
            self.invalid(field, detail);
        }
    }
}

/// Returns the number of a percentage such as `25%`.
pub(super) fn percent(field: &Field<'_, '_>) -> Option<u64> {
    let digits = field.text().strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // A number that is too large for Go has the value of an error, which is the largest one.
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// Returns the number, or that of a percentage, or 0.
pub(super) fn number_or_percent(field: &Field<'_, '_>) -> i64 {
    let percent = percent(field).map(|percent| i64::try_from(percent).unwrap_or(i64::MAX));
    percent.or(field.number()).unwrap_or_else(|| field.text().parse().unwrap_or_default())
}

/// Parses an address that is not an IPv4 address in the form of IPv6.
pub(super) fn parse_ip(text: &str) -> Option<IpAddr> {
    let ip = text.parse().ok()?;
    match ip {
        IpAddr::V6(inner) if inner.to_ipv4_mapped().is_some() => None,
        ip => Some(ip),
    }
}

/// A range of addresses.
#[derive(Clone, Copy)]
pub(super) struct Cidr {
    ip: IpAddr,
    bits: u8,
}

/// Parses a range of addresses.
pub(super) fn parse_cidr(text: &str) -> Option<Cidr> {
    let (ip, bits) = text.split_once('/')?;
    let is_number = bits.bytes().all(|byte| byte.is_ascii_digit()) && (bits == "0" || !bits.starts_with('0'));
    let ip = parse_ip(ip)?;
    let bits = bits.parse().ok().filter(|bits| is_number && *bits <= length(ip))?;
    Some(Cidr { ip, bits })
}

impl Cidr {
    /// Returns whether the address has only bits of the prefix.
    pub(super) fn is_masked(self) -> bool {
        self.masked(self.ip) == self.ip
    }

    /// Returns whether another range is a part of this one, and smaller.
    pub(super) fn is_larger_than(self, other: Self) -> bool {
        self.ip.is_ipv4() == other.ip.is_ipv4()
            && self.masked(self.ip) == self.masked(other.masked(other.ip))
            && self.bits < other.bits
    }

    fn masked(self, ip: IpAddr) -> IpAddr {
        match ip {
            IpAddr::V4(ip) => {
                let mask = u32::MAX.checked_shl(u32::from(32_u8.saturating_sub(self.bits))).unwrap_or(0);
                Ipv4Addr::from_bits(ip.to_bits() & mask).into()
            }
            IpAddr::V6(ip) => {
                let mask = u128::MAX.checked_shl(u32::from(128_u8.saturating_sub(self.bits))).unwrap_or(0);
                Ipv6Addr::from_bits(ip.to_bits() & mask).into()
            }
        }
    }
}

fn length(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn is_valid(value: &Value, rule: impl Fn(&mut Errors, &Field<'_, '_>)) -> bool {
        let mut errors = Errors::default();
        rule(&mut errors, &Field::root(value));
        errors.into_inner().is_empty()
    }

    #[test]
    fn formats_accept_what_kube_apiserver_accepts() {
        type Rule = fn(&mut Errors, &Field<'_, '_>);
        let table: [(Rule, &[&str], &[&str]); 10] = [
            (Errors::label, &["a", "1-a"], &["", "a.b", "-a", "A", &"a".repeat(64)]),
            (Errors::subdomain, &["a.b", "a"], &["", "a..b", "a_b"]),
            (Errors::port, &["http", "a-1"], &["", "1", "a--b", "-a", "sixteen-is-too-l"]),
            (Errors::ip, &["10.0.0.1", "fd00::1"], &["", "10.0.0.01", "::ffff:10.0.0.1", "a"]),
            (
                Errors::cidr,
                &["10.0.0.0/8", "fd00::/64"],
                &["10.0.0.1/8", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/08"],
            ),
            (Errors::number_or_percent, &["0%", "150%"], &["%", "a%", "-1%", "1"]),
            (Errors::at_most_all, &["100%"], &["101%"]),
            (Errors::local_path, &["a/b", ".a"], &["/a", "a/../b", "..a"]),
            (Errors::host, &["a.b", "*.a.b"], &["*", "a.*", "A"]),
            (Errors::environment, &["A", "a.b-c"], &["", "A=B"]),
        ];
        for (rule, valid, invalid) in table {
            assert_eq!(valid.iter().find(|text| !is_valid(&json!(text), rule)), None);
            assert_eq!(invalid.iter().find(|text| is_valid(&json!(text), rule)), None);
        }
        assert!(is_valid(&json!(65535), Errors::port) && !is_valid(&json!(0), Errors::port));
    }
}
