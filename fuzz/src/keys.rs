//! The names of objects, and their versions.

use kube_informer_wire::{Key, KeyRef, ResourceVersion};

pub(crate) fn texts(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(key) = text.parse::<Key>() {
        assert_eq!(key.as_str(), text);
        assert_eq!(Key::new(key.namespace(), key.name()).as_ref(), Ok(&key));
        assert!(KeyRef::from(&*text).is(&key) && KeyRef::from(&key).digest() == key.digest());
    }
    let half = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let (first, second) = text.split_at(half);
    if let (Ok(one), Ok(other)) = (first.parse::<ResourceVersion>(), second.parse::<ResourceVersion>()) {
        assert!(first.len() <= ResourceVersion::MAX_LENGTH);
        assert_eq!(one.to_string().parse::<ResourceVersion>().as_ref(), Ok(&one));
        assert_eq!(one.partial_cmp(&other), other.partial_cmp(&one).map(std::cmp::Ordering::reverse));
        assert_eq!(one == other, one.partial_cmp(&other) == Some(std::cmp::Ordering::Equal));
    }
}
