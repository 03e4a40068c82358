//! Finds duplicate fields in JSON.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::{cell::RefCell, collections::HashSet, fmt};

/// Returns the paths of duplicate fields; empty if the text is not JSON.
pub(crate) fn duplicate_fields(json: &[u8]) -> Vec<String> {
    let found = RefCell::new(Vec::new());
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    // Invalid JSON is reported by another check.
    let _ = Scan { path: String::new(), found: &found }.deserialize(&mut deserializer);
    found.into_inner()
}

/// Reads a value and records duplicate fields below its path.
struct Scan<'f> {
    path: String,
    found: &'f RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Scan<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Scan<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let dot = if self.path.is_empty() { "" } else { "." };
            let path = format!("{}{dot}{name}", self.path);
            if !seen.insert(name) {
                let mut found = self.found.borrow_mut();
                if !found.contains(&path) {
                    found.push(path.clone());
                }
            }
            map.next_value_seed(Scan { path, found: self.found })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0;
        while items
            .next_element_seed(Scan { path: format!("{}[{index}]", self.path), found: self.found })?
            .is_some()
        {
            index += 1;
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::duplicate_fields;

    #[test]
    fn fields_that_occur_twice_are_found_at_any_depth() {
        let found = duplicate_fields(br#"{"a":1,"b":{"c":[{"d":1,"d":2,"d":3}],"c":null},"a":true}"#);
        assert_eq!(found, ["b.c[0].d", "b.c", "a"]);
        assert_eq!(duplicate_fields(b"{\"a\":1,\"b\":1}"), [""; 0]);
        assert_eq!(duplicate_fields(b"no JSON"), [""; 0]);
    }
}
