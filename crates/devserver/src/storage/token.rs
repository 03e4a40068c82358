//! The continue token of a list.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

/// The start of the next page; opaque to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The version of all pages; `None` for the newest version at the time of the request.
    pub(crate) version: Option<u64>,
    /// The last key of the previous page.
    pub(crate) after: String,
}

/// The JSON of a token, as in kube-apiserver.
#[derive(Serialize, Deserialize)]
struct TokenFields<'a> {
    v: &'a str,
    /// A version, or -1 for the newest.
    rv: i64,
    start: String,
}

const FORM: &str = "meta.k8s.io/v1";

impl Token {
    pub(crate) fn encode(&self) -> String {
        let rv = self.version.map_or(-1, |version| i64::try_from(version).unwrap_or(i64::MAX));
        let fields = TokenFields { v: FORM, rv, start: format!("{}\0", self.after) };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&fields).expect("a token is strings and a number"))
    }

    /// Decodes a token; `None` if this server did not create it.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let json = URL_SAFE_NO_PAD.decode(text).ok()?;
        let fields: TokenFields<'_> = serde_json::from_slice(&json).ok()?;
        let after = fields.start.strip_suffix('\0')?.to_owned();
        let is_sound = fields.v == FORM && fields.rv != 0 && !after.is_empty();
        is_sound.then(|| Self { version: u64::try_from(fields.rv).ok(), after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_token_survives_the_query_string(version in prop::option::of(1..u64::MAX / 2), after in "[a-z/-]{1,20}") {
            let token = Token { version, after };
            prop_assert_eq!(Token::decode(&token.encode()), Some(token));
        }

        #[test]
        fn other_text_is_not_a_valid_token(text in "\\PC{0,40}") {
            prop_assert_eq!(Token::decode(&text), None);
        }
    }
}
