//! Sizes: `20GB`, `512MiB`, or a number of bytes.

/// Parses a size in bytes.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let invalid = || format!("invalid size {text:?}: expected 20GB, 512MiB or a number of bytes");
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "ki" | "kib" => 1 << 10,
        "mi" | "mib" => 1 << 20,
        "gi" | "gib" => 1 << 30,
        "ti" | "tib" => 1 << 40,
        _ => return Err(invalid()),
    };
    let bytes = number.parse::<f64>().map_err(|_| invalid())? * factor as f64;
    if bytes.is_finite() && bytes <= u64::MAX as f64 { Ok(bytes as u64) } else { Err(invalid()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_sizes() {
        let table = [
            ("20GB", 20_000_000_000),
            ("1.5k", 1_500),
            ("512MiB", 512 << 20),
            ("100", 100),
            ("2 gi", 2 << 30),
        ];
        for (text, bytes) in table {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn rejects_other_text() {
        for text in ["", "GB", "-1", "1.2.3", "5 eggs", "1e9"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
