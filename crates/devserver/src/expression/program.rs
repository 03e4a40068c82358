//! Compiles and evaluates CEL expressions, with the functions of Kubernetes and limits of cost.

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::common::types::{DYN_TYPE, LIST_TYPE, STRING_TYPE};
use cel::common::value::{CowVal, Val};
use cel::objects::Key;
use cel::{Context, DeclarationError, Env, ExecutionError, Program, Value as CelValue};
use regex::Regex;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

/// The maximum length of an expression in bytes.
const MAX_LENGTH: usize = 16 << 10;
/// The maximum nesting depth of an expression.
const MAX_DEPTH: usize = 200;
/// The maximum number of steps of an evaluation, as in kube-apiserver.
const MAX_STEPS: u64 = 10_000_000;
/// The stack size of the thread that parses, which must suffice for expressions that are rejected as too deep
/// afterwards.
const PARSER_STACK: usize = 256 << 20;

/// A compiled expression.
pub(crate) struct Expression {
    program: Program,
    /// True if it refers to the state before an update.
    pub(crate) uses_old_self: bool,
    /// True if it can split a text into a list as long as the text.
    splits: bool,
}

/// The environment with the functions of Kubernetes.
static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut env = Env::stdlib();
    env.add_extension(cel::extensions::strings).expect("the functions are added once");
    env.add_extension(kubernetes).expect("the functions are added once");
    Arc::new(env)
});

/// The functions and operators that expressions can use. A call of any other is an error when a definition is
/// written.
const FUNCTIONS: &[&str] = &[
    "!_",
    "-_",
    "@in",
    "@not_strictly_false",
    "_!=_",
    "_%_",
    "_&&_",
    "_*_",
    "_+_",
    "_-_",
    "_/_",
    "_<=_",
    "_<_",
    "_==_",
    "_>=_",
    "_>_",
    "_?._",
    "_?_:_",
    "_[?_]",
    "_[_]",
    "_||_",
    "bool",
    "bytes",
    "charAt",
    "contains",
    "double",
    "duration",
    "dyn",
    "endsWith",
    "find",
    "findAll",
    "format",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "hasValue",
    "indexOf",
    "int",
    "isSorted",
    "join",
    "lastIndexOf",
    "lowerAscii",
    "matches",
    "max",
    "min",
    "none",
    "of",
    "ofNonZeroValue",
    "or",
    "orValue",
    "replace",
    "size",
    "split",
    "startsWith",
    "string",
    "substring",
    "sum",
    "timestamp",
    "trim",
    "type",
    "uint",
    "upperAscii",
    "value",
    "all",
    "exists",
    "exists_one",
    "filter",
    "map",
    "has",
    "optional.of",
    "optional.none",
    "optional.ofNonZeroValue",
    "optMap",
    "optFlatMap",
];
/// The identifiers that are not variables: types, and the namespace of optional values.
const NAMES: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "duration",
    "int",
    "list",
    "map",
    "null_type",
    "optional",
    "string",
    "timestamp",
    "uint",
];

/// The functions of Kubernetes that this server does not implement.
const NOT_SUPPORTED: &[&str] = &[
    "authorizer",
    "cidr",
    "format.named",
    "ip",
    "isCIDR",
    "isIP",
    "isQuantity",
    "isSemver",
    "isURL",
    "quantity",
    "semver",
    "sets.contains",
    "sets.equivalent",
    "url",
];

impl Expression {
    /// Compiles an expression that may refer to these variables.
    ///
    /// # Errors
    /// Returns the reason if the text is not an expression, is too long or too deep, or refers to an unknown
    /// name or function.
    pub(crate) fn compile(source: &str, variables: &[&str]) -> Result<Self, String> {
        if source.len() > MAX_LENGTH {
            return Err(format!("compilation failed: the expression has more than {MAX_LENGTH} bytes"));
        }
        let on_deep_stack = std::thread::Builder::new().stack_size(PARSER_STACK);
        std::thread::scope(|scope| {
            let thread = on_deep_stack.spawn_scoped(scope, || Self::parse(source, variables));
            let thread = thread.map_err(|error| format!("compilation failed: {error}"))?;
            thread
                .join()
                .unwrap_or_else(|_| Err("compilation failed: the parser does not accept it".to_owned()))
        })
    }

    fn parse(source: &str, variables: &[&str]) -> Result<Self, String> {
        let program = ENVIRONMENT.compile(source).map_err(|error| format!("compilation failed: {error}"))?;
        let scope = variables.iter().map(|name| (*name).to_owned()).collect();
        let mut facts = Facts { scope, ..Facts::default() };
        facts.visit(program.expression(), 1);
        if facts.depth > MAX_DEPTH {
            return Err(format!("compilation failed: the expression is more than {MAX_DEPTH} levels deep"));
        }
        let is_known_elsewhere =
            |name: &&String| NOT_SUPPORTED.iter().any(|known| known.split('.').next() == Some(name.as_str()));
        if let Some(name) = facts.unknown.iter().find(is_known_elsewhere) {
            return Err(format!("compilation failed: '{name}' is not supported by this server"));
        }
        if let Some(name) = facts.unknown.first() {
            return Err(format!("compilation failed: undeclared reference to '{name}' (in container '')"));
        }
        Ok(Self { uses_old_self: facts.uses_old_self, splits: facts.splits, program })
    }

    /// Returns the syntax tree.
    pub(crate) fn syntax(&self) -> &IdedExpr {
        self.program.expression()
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// Returns an error if the evaluation fails, or would take too many steps with values of this size.
    pub(crate) fn evaluate(&self, variables: &Variables) -> Result<CelValue, EvaluationError> {
        let mut size = variables.largest_list;
        if self.splits {
            size = size.max(variables.longest_text);
        }
        if steps(self.program.expression(), size.max(16)) > MAX_STEPS {
            return Err(EvaluationError::TooExpensive);
        }
        let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
        for (name, value) in &variables.values {
            context.add_variable_from_value(*name, value.clone());
        }
        self.program.execute(&context).map_err(|error| EvaluationError::Failed(message(&error)))
    }
}

/// The reason why an evaluation has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EvaluationError {
    TooExpensive,
    Failed(String),
}

/// The values that expressions refer to.
#[derive(Clone, Default)]
pub(crate) struct Variables {
    values: Vec<(&'static str, CelValue)>,
    /// The length of the longest list or map in the values.
    largest_list: u64,
    /// The length of the longest text in the values.
    longest_text: u64,
}

impl Variables {
    /// Sets a variable. `size` is its value in JSON.
    pub(crate) fn set(&mut self, name: &'static str, value: CelValue, size: &Value) {
        self.values.retain(|(known, _)| *known != name);
        self.values.push((name, value));
        self.measure(size);
    }

    /// Sets a variable that other expressions have computed.
    pub(crate) fn set_computed(&mut self, name: &'static str, value: CelValue) {
        self.measure_computed(&value);
        self.values.retain(|(known, _)| *known != name);
        self.values.push((name, value));
    }

    fn measure(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.longest_text = self.longest_text.max(text.len() as u64),
            Value::Array(items) => {
                self.largest_list = self.largest_list.max(items.len() as u64);
                items.iter().for_each(|item| self.measure(item));
            }
            Value::Object(fields) => {
                self.largest_list = self.largest_list.max(fields.len() as u64);
                fields.values().for_each(|value| self.measure(value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn measure_computed(&mut self, value: &CelValue) {
        match value {
            CelValue::String(text) => self.longest_text = self.longest_text.max(text.len() as u64),
            CelValue::List(items) => {
                self.largest_list = self.largest_list.max(items.len() as u64);
                items.iter().for_each(|item| self.measure_computed(item));
            }
            CelValue::Map(map) => {
                self.largest_list = self.largest_list.max(map.map.len() as u64);
                map.map.values().for_each(|value| self.measure_computed(value));
            }
            _ => {}
        }
    }
}

/// Returns an error message in the format of kube-apiserver.
fn message(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        other => other.to_string(),
    }
}

/// Returns an upper bound for the steps of an expression if no list has more entries than `size`.
fn steps(expression: &IdedExpr, size: u64) -> u64 {
    let all = |expressions: &mut dyn Iterator<Item = &IdedExpr>| {
        expressions.fold(1_u64, |sum, one| sum.saturating_add(steps(one, size)))
    };
    match &expression.expr {
        Expr::Comprehension(loop_) => {
            let each = steps(&loop_.loop_cond, size).saturating_add(steps(&loop_.loop_step, size));
            // Lists can be joined before they are iterated over.
            let count = size.saturating_mul(1 + additions(&loop_.iter_range));
            let rest = all(&mut [&loop_.iter_range, &loop_.accu_init, &loop_.result].into_iter());
            rest.saturating_add(count.saturating_mul(each))
        }
        Expr::Call(call) => all(&mut call.target.as_deref().into_iter().chain(&call.args)),
        Expr::List(list) => all(&mut list.elements.iter()),
        Expr::Select(select) => steps(&select.operand, size).saturating_add(1),
        Expr::Map(map) => all(&mut map.entries.iter().flat_map(|entry| entry_parts(&entry.expr))),
        Expr::Struct(new) => all(&mut new.entries.iter().flat_map(|entry| entry_parts(&entry.expr))),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => 1,
    }
}

/// Counts the additions in an expression.
fn additions(expression: &IdedExpr) -> u64 {
    let mut facts = Facts::default();
    facts.visit(expression, 1);
    facts.additions
}

pub(crate) fn entry_parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// The properties of an expression that are determined before its evaluation.
#[derive(Default)]
struct Facts {
    depth: usize,
    uses_old_self: bool,
    splits: bool,
    additions: u64,
    /// Names that are neither variables nor functions.
    unknown: Vec<String>,
    /// The variables, with those of loops.
    scope: BTreeSet<String>,
}

impl Facts {
    fn visit(&mut self, expression: &IdedExpr, depth: usize) {
        self.depth = self.depth.max(depth);
        match &expression.expr {
            Expr::Unspecified | Expr::Literal(_) => {}
            Expr::Ident(name) => {
                self.uses_old_self |= name == "oldSelf";
                if !NAMES.contains(&name.as_str())
                    && !self.scope.contains(name)
                    && !name.starts_with('@')
                    && !name.starts_with("__")
                {
                    self.unknown.push(name.clone());
                }
            }
            Expr::Select(select) => self.visit(&select.operand, depth + 1),
            Expr::Call(call) => {
                let name = call.func_name.as_str();
                self.splits |= matches!(name, "split" | "findAll");
                self.additions += u64::from(name == "_+_");
                if !FUNCTIONS.contains(&name) {
                    self.unknown.push(name.to_owned());
                }
                call.target
                    .as_deref()
                    .into_iter()
                    .chain(&call.args)
                    .for_each(|part| self.visit(part, depth + 1));
            }
            Expr::List(list) => list.elements.iter().for_each(|part| self.visit(part, depth + 1)),
            Expr::Map(map) => {
                map.entries
                    .iter()
                    .flat_map(|entry| entry_parts(&entry.expr))
                    .for_each(|part| self.visit(part, depth + 1));
            }
            Expr::Struct(new) => self.unknown.push(new.type_name.clone()),
            Expr::Comprehension(loop_) => {
                self.visit(&loop_.iter_range, depth + 1);
                self.visit(&loop_.accu_init, depth + 1);
                let names = [Some(&loop_.iter_var), loop_.iter_var2.as_ref(), Some(&loop_.accu_var)];
                let names: Vec<_> = names.into_iter().flatten().cloned().collect();
                let added: Vec<_> =
                    names.into_iter().filter(|name| self.scope.insert(name.clone())).collect();
                for part in [&loop_.loop_cond, &loop_.loop_step, &loop_.result] {
                    self.visit(part, depth + 1);
                }
                for name in &added {
                    self.scope.remove(name);
                }
            }
        }
    }
}

/// Adds the functions of Kubernetes for lists and regular expressions.
fn kubernetes(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_member_overload("isSorted", "list_is_sorted_bool", LIST_TYPE, vec![], |args| {
        let items = list(&*args[0])?;
        let is_sorted =
            items.windows(2).all(|pair| pair[0].partial_cmp(&pair[1]).is_some_and(|order| order.is_le()));
        value(CelValue::Bool(is_sorted))
    })?;
    env.add_member_overload("sum", "list_sum", LIST_TYPE, vec![], |args| value(sum(&list(&*args[0])?)?))?;
    env.add_member_overload("min", "list_min", LIST_TYPE, vec![], |args| {
        value(extreme(list(&*args[0])?, std::cmp::Ordering::Less)?)
    })?;
    env.add_member_overload("max", "list_max", LIST_TYPE, vec![], |args| {
        value(extreme(list(&*args[0])?, std::cmp::Ordering::Greater)?)
    })?;
    env.add_member_overload("indexOf", "list_index_of", LIST_TYPE, vec![DYN_TYPE], |args| {
        let (items, wanted) = (list(&*args[0])?, CelValue::try_from(&*args[1])?);
        value(CelValue::Int(position(items.iter().position(|item| *item == wanted))))
    })?;
    env.add_member_overload("lastIndexOf", "list_last_index_of", LIST_TYPE, vec![DYN_TYPE], |args| {
        let (items, wanted) = (list(&*args[0])?, CelValue::try_from(&*args[1])?);
        value(CelValue::Int(position(items.iter().rposition(|item| *item == wanted))))
    })?;
    env.add_member_overload("find", "string_find_string", STRING_TYPE, vec![STRING_TYPE], |args| {
        let (text, pattern) = (text(&*args[0])?, pattern(&text(&*args[1])?)?);
        value(CelValue::from(pattern.find(&text).map_or("", |found| found.as_str())))
    })?;
    env.add_member_overload("findAll", "string_find_all_string", STRING_TYPE, vec![STRING_TYPE], |args| {
        let (text, pattern) = (text(&*args[0])?, pattern(&text(&*args[1])?)?);
        value(CelValue::from(pattern.find_iter(&text).map(|found| found.as_str()).collect::<Vec<_>>()))
    })
}

/// Returns a map.
pub(crate) fn map(entries: HashMap<Key, CelValue>) -> CelValue {
    CelValue::Map(cel::objects::Map { map: Arc::new(entries) })
}

/// Returns the key of an entry in a map.
pub(crate) fn text_key(name: &str) -> Key {
    Key::String(Arc::new(name.to_owned()))
}

fn value<'b, 'v>(value: CelValue) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let value: Box<dyn Val> = value.try_into()?;
    Ok(CowVal::Owned(value))
}

fn list(value: &dyn Val) -> Result<Vec<CelValue>, ExecutionError> {
    match CelValue::try_from(value)? {
        CelValue::List(items) => Ok(Arc::unwrap_or_clone(items)),
        _ => Err(ExecutionError::function_error("list", "expected a list")),
    }
}

fn text(value: &dyn Val) -> Result<String, ExecutionError> {
    match CelValue::try_from(value)? {
        CelValue::String(text) => Ok(text.to_string()),
        _ => Err(ExecutionError::function_error("find", "expected a string")),
    }
}

fn pattern(text: &str) -> Result<Regex, ExecutionError> {
    Regex::new(text).map_err(|error| ExecutionError::function_error("find", error))
}

fn position(found: Option<usize>) -> i64 {
    found.and_then(|found| i64::try_from(found).ok()).unwrap_or(-1)
}

fn sum(items: &[CelValue]) -> Result<CelValue, ExecutionError> {
    let overflow = || ExecutionError::function_error("sum", "integer overflow");
    let mut total = CelValue::Int(0);
    for item in items {
        total = match (&total, item) {
            (CelValue::Int(0), CelValue::Float(_) | CelValue::UInt(_) | CelValue::Duration(_)) => {
                item.clone()
            }
            (CelValue::Int(total), CelValue::Int(item)) => {
                CelValue::Int(total.checked_add(*item).ok_or_else(overflow)?)
            }
            (CelValue::UInt(total), CelValue::UInt(item)) => {
                CelValue::UInt(total.checked_add(*item).ok_or_else(overflow)?)
            }
            (CelValue::Float(total), CelValue::Float(item)) => CelValue::Float(total + item),
            (CelValue::Duration(total), CelValue::Duration(item)) => {
                CelValue::Duration(total.checked_add(item).ok_or_else(overflow)?)
            }
            _ => {
                return Err(ExecutionError::function_error("sum", "expected a list of numbers or durations"));
            }
        };
    }
    Ok(total)
}

/// Returns the smallest or the largest item, by `order`.
fn extreme(items: Vec<CelValue>, order: std::cmp::Ordering) -> Result<CelValue, ExecutionError> {
    let first_of =
        |best: CelValue, item: CelValue| if item.partial_cmp(&best) == Some(order) { item } else { best };
    items
        .into_iter()
        .reduce(first_of)
        .ok_or_else(|| ExecutionError::function_error("min", "list must not be empty"))
}

impl std::fmt::Debug for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Expression").field("uses_old_self", &self.uses_old_self).finish_non_exhaustive()
    }
}
