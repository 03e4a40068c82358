//! Parses templates and paths.

use super::expression::{Comparison, JsonPathError, Node, Operator, Path, Step, Template};
use serde_json::Value;

/// The maximum depth of nested ranges, filters and unions.
const MAX_DEPTH: usize = 32;

/// The characters that end the name of a field, unless a backslash precedes them.
const ENDS_FIELD: &str = " .,[]$@{}()'\"=!<>?:";

impl Template {
    /// Parses a template: text with paths in braces.
    ///
    /// # Errors
    /// If it is invalid; the error has the position.
    pub(crate) fn parse(text: &str) -> Result<Self, JsonPathError> {
        let mut parser = Parser::new(text);
        let nodes = parser.nodes(Body::Template)?;
        Ok(Self { nodes })
    }
}

impl Path {
    /// Parses a path in any of kubectl's relaxed forms: `metadata.name`, `.metadata.name` and `{.metadata.name}`.
    ///
    /// # Errors
    /// If it is invalid; the error has the position.
    pub(crate) fn parse(text: &str) -> Result<Self, JsonPathError> {
        let mut parser = Parser::new(text);
        parser.skip_spaces();
        let has_braces = parser.take("{");
        parser.skip_spaces();
        let starts_with_name = parser.peek().is_some_and(|next| !"$@.[".contains(next));
        let mut steps = Vec::new();
        if starts_with_name {
            steps.push(parser.field()?);
        }
        steps.extend(parser.steps()?);
        parser.skip_spaces();
        if has_braces && !parser.take("}") {
            return Err(parser.expected("}"));
        }
        match parser.peek() {
            None if steps.is_empty() => Err(parser.error("expected a path such as .metadata.name")),
            None => Ok(Self { steps }),
            Some(_) => Err(parser.error("unexpected text after the path")),
        }
    }
}

/// The part of a template that is parsed: all of it, or the body of a range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Template,
    Range,
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn take(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    fn skip_spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn error(&self, problem: impl Into<String>) -> JsonPathError {
        JsonPathError::Invalid { text: self.text.to_owned(), at: self.at, problem: problem.into() }
    }

    fn expected(&self, what: &str) -> JsonPathError {
        match self.peek() {
            Some(found) => self.error(format!("expected {what:?}, found {found:?}")),
            None => self.error(format!("expected {what:?}, found the end")),
        }
    }

    fn expect(&mut self, text: &str) -> Result<(), JsonPathError> {
        if self.take(text) { Ok(()) } else { Err(self.expected(text)) }
    }

    fn deeper(&mut self) -> Result<(), JsonPathError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(format!("nested more than {MAX_DEPTH} levels deep")));
        }
        Ok(())
    }

    /// Parses text and actions, up to the end of the text or up to `{end}`.
    fn nodes(&mut self, body: Body) -> Result<Vec<Node>, JsonPathError> {
        let mut nodes = Vec::new();
        loop {
            let literal = self.rest().find('{').map_or(self.rest(), |end| &self.rest()[..end]);
            if !literal.is_empty() {
                nodes.push(Node::Text(literal.to_owned()));
                self.at += literal.len();
            }
            if !self.take("{") {
                return match body {
                    Body::Template => Ok(nodes),
                    Body::Range => Err(self.expected("{end}")),
                };
            }
            self.skip_spaces();
            let start = self.at;
            match self.keyword() {
                "end" if body == Body::Range => {
                    self.at += "end".len();
                    self.close()?;
                    return Ok(nodes);
                }
                "end" => return Err(self.error("{end} without {range}")),
                "range" => {
                    self.at += "range".len();
                    self.deeper()?;
                    let path = Path { steps: self.steps()? };
                    if path.steps.is_empty() {
                        return Err(self.error("expected a path after \"range\""));
                    }
                    self.close()?;
                    let body = self.nodes(Body::Range)?;
                    self.depth -= 1;
                    nodes.push(Node::Range { path, body });
                }
                _ => {
                    let steps = self.steps()?;
                    if steps.is_empty() && self.at == start {
                        return Err(match self.peek() {
                            Some('}') => self.error("empty braces"),
                            Some(_) => self.error("expected a path, such as .metadata.name"),
                            None => self.expected("}"),
                        });
                    }
                    self.close()?;
                    nodes.push(Node::Path(Path { steps }));
                }
            }
        }
    }

    /// Returns the word at the current position without consuming it.
    fn keyword(&self) -> &'t str {
        let end = self.rest().find(|letter: char| !letter.is_ascii_alphanumeric());
        &self.rest()[..end.unwrap_or(self.rest().len())]
    }

    fn close(&mut self) -> Result<(), JsonPathError> {
        self.skip_spaces();
        self.expect("}")
    }

    /// Parses the steps of a path, up to the first character that cannot be part of it.
    fn steps(&mut self) -> Result<Vec<Step>, JsonPathError> {
        let mut steps = Vec::new();
        loop {
            self.skip_spaces();
            match self.peek() {
                Some('$' | '@') => drop(self.next()),
                Some('.') => self.dots(&mut steps)?,
                Some('[') => steps.push(self.bracket()?),
                Some('"' | '\'') => steps.push(Step::Literal(Value::String(self.quoted()?))),
                Some('-' | '+' | '0'..='9') => steps.push(Step::Literal(self.number()?)),
                Some(letter) if letter.is_alphabetic() => match self.keyword() {
                    word @ ("true" | "false") => {
                        self.at += word.len();
                        steps.push(Step::Literal(Value::Bool(word == "true")));
                    }
                    word => {
                        return Err(self.error(format!("unexpected {word:?}: a field starts with a dot")));
                    }
                },
                _ => return Ok(steps),
            }
        }
    }

    fn dots(&mut self, steps: &mut Vec<Step>) -> Result<(), JsonPathError> {
        if self.take("..") {
            steps.push(Step::Recursive);
            if self.peek().is_some_and(|next| !ENDS_FIELD.contains(next)) {
                steps.push(self.field()?);
            }
            return Ok(());
        }
        self.expect(".")?;
        // `{.}` is the object itself, and `.['a']` is `['a']`.
        if self.peek().is_none_or(|next| ENDS_FIELD.contains(next)) {
            return Ok(());
        }
        steps.push(self.field()?);
        Ok(())
    }

    /// Parses the name of a field, in which a backslash escapes the next character.
    fn field(&mut self) -> Result<Step, JsonPathError> {
        let mut name = String::new();
        while let Some(next) = self.peek().filter(|next| !ENDS_FIELD.contains(*next)) {
            self.next();
            if next != '\\' {
                name.push(next);
                continue;
            }
            match self.next() {
                Some(escaped) => name.push(escaped),
                None => return Err(self.error("a character is missing after the backslash")),
            }
        }
        match name.as_str() {
            "" => Err(self.error("expected the name of a field")),
            "*" => Ok(Step::Wildcard),
            _ => Ok(Step::Field(name)),
        }
    }

    fn quoted(&mut self) -> Result<String, JsonPathError> {
        let start = self.at;
        let quote = self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                None => {
                    self.at = start;
                    return Err(self.error("the quotation mark is not closed"));
                }
                next if next == quote => return Ok(text),
                Some('\\') => match self.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some(other) => text.push(other),
                    None => {}
                },
                Some(other) => text.push(other),
            }
        }
    }

    fn number(&mut self) -> Result<Value, JsonPathError> {
        let rest = self.rest();
        let is_part = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-' | '+' | 'e' | 'E');
        let digits = &rest[..rest.find(|letter| !is_part(letter)).unwrap_or(rest.len())];
        let plain = digits.strip_prefix('+').unwrap_or(digits);
        let number = plain.parse::<i64>().map(Value::from).ok();
        let number =
            number.or_else(|| plain.parse::<f64>().ok().filter(|value| value.is_finite()).map(Value::from));
        let number = number.ok_or_else(|| self.error(format!("{digits:?} is not a number")))?;
        self.at += digits.len();
        Ok(number)
    }

    /// Parses what is in brackets: an index, a slice, a key, a wildcard, a union of these, or a filter.
    fn bracket(&mut self) -> Result<Step, JsonPathError> {
        if self.take("[?(") {
            return self.filter();
        }
        self.expect("[")?;
        self.deeper()?;
        let mut items = vec![self.item()?];
        self.skip_spaces();
        while self.take(",") {
            items.push(self.item()?);
            self.skip_spaces();
        }
        self.expect("]")?;
        self.depth -= 1;
        Ok(match <[Step; 1]>::try_from(items) {
            Ok([only]) => only,
            Err(items) => Step::Union(items.into_iter().map(|step| Path { steps: vec![step] }).collect()),
        })
    }

    fn item(&mut self) -> Result<Step, JsonPathError> {
        self.skip_spaces();
        if self.take("*") {
            return Ok(Step::Wildcard);
        }
        if self.peek().is_some_and(|next| matches!(next, '"' | '\'')) {
            return Ok(Step::Field(self.quoted()?));
        }
        let start = self.integer()?;
        if !self.take(":") {
            return start
                .map(Step::Index)
                .ok_or_else(|| self.error("expected an index, a slice, a quoted key, * or ?(..)"));
        }
        let end = self.integer()?;
        let step = if self.take(":") { self.integer()? } else { None };
        Ok(Step::Slice { start, end, step })
    }

    fn integer(&mut self) -> Result<Option<i64>, JsonPathError> {
        let rest = self.rest();
        let is_part = |letter: char| letter.is_ascii_digit() || letter == '-';
        let digits = &rest[..rest.find(|letter| !is_part(letter)).unwrap_or(rest.len())];
        if digits.is_empty() {
            return Ok(None);
        }
        let number = digits.parse().map_err(|_| self.error(format!("{digits:?} is not an index")))?;
        self.at += digits.len();
        Ok(Some(number))
    }

    /// Parses a filter behind `[?(`.
    fn filter(&mut self) -> Result<Step, JsonPathError> {
        self.deeper()?;
        let left = Path { steps: self.steps()? };
        if left.steps.is_empty() {
            return Err(self.error("expected a path such as @.type"));
        }
        self.skip_spaces();
        let comparison = match self.operator() {
            Some(operator) => {
                let right = Path { steps: self.steps()? };
                if right.steps.is_empty() {
                    return Err(self.error("expected a value to compare with, such as \"Ready\""));
                }
                Some(Comparison { operator, right })
            }
            None => None,
        };
        self.skip_spaces();
        self.expect(")")?;
        self.skip_spaces();
        self.expect("]")?;
        self.depth -= 1;
        Ok(Step::Filter { left, comparison })
    }

    fn operator(&mut self) -> Option<Operator> {
        let operators = [
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
            ("=", Operator::Equal),
        ];
        operators.into_iter().find(|(text, _)| self.take(text)).map(|(_, operator)| operator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problem(text: &str) -> String {
        Template::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn an_error_names_the_position_and_the_expected_text() {
        let table = [
            ("{.a", 3, "expected \"}\", found the end"),
            ("{.a[}", 4, "expected an index, a slice, a quoted key, * or ?(..)"),
            ("{.a[0}", 5, "expected \"]\", found '}'"),
            ("{.a['b}", 4, "the quotation mark is not closed"),
            ("{.a[?(@.b==)]}", 11, "expected a value to compare with, such as \"Ready\""),
            ("{.a[?(.b==1]}", 11, "expected \")\", found ']'"),
            ("{a}", 1, "unexpected \"a\": a field starts with a dot"),
            ("x{}", 2, "empty braces"),
            ("{range .a[*]}{.b}", 17, "expected \"{end}\", found the end"),
            ("{.a}{end}", 5, "{end} without {range}"),
            ("{range}{end}", 6, "expected a path after \"range\""),
            ("{.a[99999999999999999999]}", 4, "\"99999999999999999999\" is not an index"),
            ("{.a}{#}", 5, "expected a path, such as .metadata.name"),
        ];
        for (text, at, expected) in table {
            assert_eq!(problem(text), format!("invalid JSONPath {text:?} at byte {at}: {expected}"));
        }
        assert!(problem(&"{range .a}".repeat(40)).contains("nested more than 32 levels deep"));
    }

    #[test]
    fn a_path_has_three_forms() {
        let expected = Path::parse("{.metadata.name}").unwrap();
        assert_eq!(expected.steps, [Step::Field("metadata".into()), Step::Field("name".into())]);
        for text in
            ["metadata.name", ".metadata.name", "{metadata.name}", "$.metadata.name", "['metadata']['name']"]
        {
            assert_eq!(Path::parse(text).unwrap(), expected, "{text}");
        }
        for (text, at) in [("", 0), ("{.a", 3), (".a}", 2), (".a b", 3)] {
            let Err(JsonPathError::Invalid { at: found, .. }) = Path::parse(text) else { panic!("{text}") };
            assert_eq!(found, at, "{text}");
        }
    }

    #[test]
    fn a_backslash_escapes_a_dot() {
        let path = Path::parse(r".metadata.labels.app\.kubernetes\.io/name").unwrap();
        assert_eq!(path.steps[2], Step::Field("app.kubernetes.io/name".into()));
    }

    proptest! {
        /// No text makes the parser panic, and the position of an error is within the text.
        #[test]
        fn any_text_is_parsed_or_refused(text in r#"[a{}\[\].,?()@$=<>'"*:0-9 \\é-]{0,24}"#) {
            for parsed in [Template::parse(&text).err(), Path::parse(&text).err()] {
                if let Some(JsonPathError::Invalid { at, .. }) = parsed {
                    prop_assert!(at <= text.len() && text.is_char_boundary(at));
                }
            }
        }
    }
}
