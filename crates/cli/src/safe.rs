//! Text that came from elsewhere, made safe to show on a terminal.

/// Whether a character would move the cursor, change a colour, or turn the direction of what is read.
pub fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text in one line, with what is unsafe as an escape that can be read.
pub fn clean(text: &str) -> String {
    escaped(text, is_unsafe, |letter| letter.escape_default().to_string())
}

/// The same, with its lines as they are.
pub fn clean_lines(text: &str) -> String {
    let is_unsafe = |letter| letter != '\n' && is_unsafe(letter);
    escaped(text, is_unsafe, |letter| letter.escape_default().to_string())
}

/// JSON that means the same and is safe to show: serde_json escapes only what it must.
pub fn clean_json(json: &str) -> String {
    // All of these are below 0x10000, and can stand in strings alone.
    escaped(json, is_unsafe, |letter| format!("\\u{:04x}", u32::from(letter)))
}

fn escaped(text: &str, is_unsafe: impl Fn(char) -> bool, escape: impl Fn(char) -> String) -> String {
    if !text.chars().any(&is_unsafe) {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_unsafe(letter) {
            safe.push_str(&escape(letter));
        } else {
            safe.push(letter);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "a\u{1b}[31m\u{9b}2J\u{7f}\u{7}\r\n\t\u{202e}b";

    #[test]
    fn nothing_moves_the_cursor() {
        let safe = clean(EVIL);
        assert_eq!(safe, "a\\u{1b}[31m\\u{9b}2J\\u{7f}\\u{7}\\r\\n\\t\\u{202e}b");
        assert_eq!(clean(&safe), safe);
        assert_eq!(clean("für alle: ✓"), "für alle: ✓");
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(clean_lines("one\n\u{1b}two\r\n"), "one\n\\u{1b}two\\r\n");
    }

    #[test]
    fn json_means_what_it_meant() {
        let json = serde_json::json!({ EVIL: [EVIL, 7] });
        let safe = clean_json(&json.to_string());
        assert!(!safe.chars().any(is_unsafe), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), json);
    }
}
