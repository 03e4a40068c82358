//! The merge schema of built-in kinds, read from the text that `cargo xtask tables` generates.

use crate::apply::schema::{Atom, Field, List, Map, Relation, Scalar, Schema, TypeDef, TypeId};
use std::sync::LazyLock;

/// The generated text; `tables/kubernetes/schema` documents its format.
const TEXT: &str = include_str!("merge_schema.txt");

/// Returns the schema of all built-in kinds. The text is parsed by the first call.
pub(crate) fn built_in() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Table::read(TEXT));
    &SCHEMA
}

/// The type name of the metadata of an object.
pub(super) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// The type name of values that are owned as one value, independent of their shape.
pub(super) const UNTYPED_ATOMIC: &str = "__untyped_atomic_";
/// The type name of values whose maps are owned by entry, and whose lists are owned as one value.
pub(super) const UNTYPED_DEDUCED: &str = "__untyped_deduced_";

/// Returns the built-in type with a name.
pub(super) fn named(name: &str) -> TypeId {
    let key = format!("type {name}");
    *built_in().kinds.get(&key).expect("the table has the common types")
}

struct Table {
    schema: Schema,
    /// The types that reuse another type with another relation; their position is after the named types.
    overrides: Vec<Override>,
    /// The number of named types.
    named: usize,
}

struct Override {
    at: TypeId,
    of: TypeId,
    is_atomic: bool,
}

impl Table {
    fn read(text: &str) -> Schema {
        let named = text.lines().filter(|line| line.starts_with("type ")).count();
        let mut table = Self { schema: Schema::default(), overrides: Vec::new(), named };
        // Named types come first, because lines refer to them by number.
        let vacant = TypeDef { atom: Atom::default(), name: None };
        table.schema.types.resize(named, vacant);
        let mut next = 0;
        for line in text.lines() {
            let mut words = line.splitn(4, ' ');
            let mut word = || words.next().unwrap_or_default();
            match word() {
                "kind" => {
                    let (version, kind, number) = (word(), word(), word());
                    table.schema.kinds.insert(format!("{version} {kind}"), TypeId(number_of(number)));
                }
                "type" => {
                    let (name, atom) = (word(), word());
                    let atom = table.atom(atom);
                    table.schema.types[next] = TypeDef { atom, name: Some(name.into()) };
                    table.schema.kinds.insert(format!("type {name}"), TypeId(next));
                    next += 1;
                }
                "field" => {
                    let (name, ty, default) = (word(), word(), word());
                    let (ty, default) = (table.reference(ty), serde_json::from_str(default).ok());
                    if let Some(map) = &mut table.schema.types[next - 1].atom.map {
                        map.fields.insert(name.to_owned(), Field { ty, default });
                    }
                }
                _ => {}
            }
        }
        table.finish()
    }

    fn finish(mut self) -> Schema {
        for Override { at, of, is_atomic } in self.overrides {
            let mut def = self.schema.types[of.0].clone();
            if let Some(map) = &mut def.atom.map {
                map.is_atomic = is_atomic;
            }
            self.schema.types[at.0] = def;
        }
        self.schema
    }

    /// Parses a type: a number, a relation followed by the number of the type that it overrides, or an atom
    /// in parentheses.
    fn reference(&mut self, text: &str) -> TypeId {
        if let Some(atom) = text.strip_prefix('(') {
            let atom = self.atom(atom.strip_suffix(')').unwrap_or(atom));
            return self.schema.add(TypeDef { atom, name: None });
        }
        let Some(replaced) = text.strip_prefix('!') else { return TypeId(number_of(text)) };
        let (relation, number) = replaced.split_once(':').unwrap_or_default();
        let at = self.schema.add(TypeDef { atom: Atom::default(), name: None });
        self.overrides.push(Override { at, of: TypeId(number_of(number)), is_atomic: relation == "atomic" });
        at
    }

    /// Parses an atom: scalars, `[RELATION]TYPE` and `{RELATION}TYPE`, separated by bars.
    fn atom(&mut self, text: &str) -> Atom {
        debug_assert!(self.schema.types.len() >= self.named, "named types are there from the start");
        let mut atom = Atom::default();
        for word in alternatives(text) {
            if let Some((relation, element)) = word.strip_prefix('[').and_then(|word| word.split_once(']')) {
                let relation = match relation {
                    "atomic" => Relation::Atomic,
                    "" => Relation::Set,
                    keys => Relation::Keyed(keys.split(',').map(str::to_owned).collect()),
                };
                atom.list = Some(List { element: self.reference(element), relation });
            } else if let Some((relation, element)) =
                word.strip_prefix('{').and_then(|word| word.split_once('}'))
            {
                let element = (!element.is_empty()).then(|| self.reference(element));
                atom.map = Some(Map { element, is_atomic: relation == "atomic", ..Map::default() });
            } else {
                atom.scalar = Some(scalar(word));
            }
        }
        atom
    }
}

/// Splits at the bars outside of parentheses.
fn alternatives(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    text.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == '|' && depth == 0
    })
}

fn scalar(word: &str) -> Scalar {
    match word {
        "numeric" => Scalar::Numeric,
        "string" => Scalar::String,
        "boolean" => Scalar::Boolean,
        _ => Scalar::Untyped,
    }
}

fn number_of(text: &str) -> usize {
    text.parse().expect("the generator writes numbers")
}
