//! Escapes untrusted text for a terminal.

/// Returns true if a character would move the cursor, change a color, change the direction of text, or is not visible.
pub fn is_unsafe(letter: char) -> bool {
    letter.is_control() || is_invisible(letter) || (letter.is_whitespace() && letter != ' ')
}

/// Returns true for the characters that Unicode calls default ignorable, and for others that are shown as nothing or as a blank.
fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{13455}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The maximum length of a name that is shown, in characters. Kubernetes allows 253.
const MAX_NAME: usize = 512;

/// Returns a name that is safe to show, truncated after 512 characters.
pub fn clean_name(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME) {
        None => clean(name),
        Some((end, _)) => format!("{}..", clean(&name[..end])),
    }
}

/// Returns the text in one line, with escapes for unsafe characters.
pub fn clean(text: &str) -> String {
    escaped(text, is_unsafe, |letter| letter.escape_default().to_string())
}

/// Returns the text with escapes for unsafe characters other than line breaks.
pub fn clean_lines(text: &str) -> String {
    let is_unsafe = |letter| letter != '\n' && is_unsafe(letter);
    escaped(text, is_unsafe, |letter| letter.escape_default().to_string())
}

/// Returns equivalent JSON with escapes for unsafe characters, which serde_json does not escape.
pub fn clean_json(json: &str) -> String {
    // Outside of strings, JSON of serde_json has none of these.
    let escape = |letter: char| {
        let mut units = [0; 2];
        letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    escaped(json, is_unsafe, escape)
}

/// Returns a JSON string as one of YAML that is safe to show. YAML has no surrogate pairs.
pub fn clean_yaml(json: &str) -> String {
    escaped(json, is_unsafe, |letter| match u32::from(letter) {
        code @ 0..0x10000 => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    })
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
    const INVISIBLE: &str = "\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{ad}\u{e0041}\u{115f}\u{3164}\u{2800}\u{a0}\u{3000}\u{fe0f}";

    #[test]
    fn nothing_moves_the_cursor() {
        let safe = clean(EVIL);
        assert_eq!(safe, "a\\u{1b}[31m\\u{9b}2J\\u{7f}\\u{7}\\r\\n\\t\\u{202e}b");
        assert_eq!(clean(&safe), safe);
        assert_eq!(clean("für alle: ✓"), "für alle: ✓");
    }

    #[test]
    fn names_with_invisible_characters_do_not_look_alike() {
        for letter in INVISIBLE.chars() {
            assert_eq!(clean(&format!("pod{letter}-1")), format!("pod{}-1", letter.escape_unicode()));
        }
        let json = serde_json::json!([INVISIBLE]);
        let safe = clean_json(&json.to_string());
        assert!(!safe.chars().any(is_unsafe), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), json);
        let yaml = clean_yaml(&json.to_string());
        assert!(yaml.contains("\\U000e0041") && !yaml.chars().any(is_unsafe), "{yaml}");
    }

    #[test]
    fn long_names_are_truncated() {
        assert_eq!(clean_name("front-1"), "front-1");
        assert_eq!(clean_name(&"ä".repeat(512)), "ä".repeat(512));
        assert_eq!(clean_name(&"ä".repeat(70_000)), format!("{}..", "ä".repeat(512)));
        assert!(clean_name(&"\u{e0041}".repeat(70_000)).len() < 10_000);
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(clean_lines("one\n\u{1b}two\r\n"), "one\n\\u{1b}two\\r\n");
    }

    #[test]
    fn escaped_json_is_equivalent() {
        let json = serde_json::json!({ EVIL: [EVIL, 7] });
        let safe = clean_json(&json.to_string());
        assert!(!safe.chars().any(is_unsafe), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), json);
    }
}
