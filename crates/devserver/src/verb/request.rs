//! A request about a resource, once its path and headers are read.

use crate::invalid::FieldError;
use crate::rbac::User;
use crate::registry::Resource;
use crate::storage::Place;
use crate::verb::form::{Encoding, Form};
use crate::verb::protobuf::Protobuf;
use crate::verb::refusal::Refusal;
use crate::verb::warnings::Warnings;
use bytes::Bytes;
use kube_informer_wire::{ManagedFields, open_protobuf};
use serde_json::Value;
use std::sync::Arc;

/// What a client wants of a resource.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The time of the past that is shown; `None` for now.
    pub(crate) past: Option<jiff::Timestamp>,
    /// The resource in the version that the path names.
    pub(crate) resource: Arc<Resource>,
    /// The namespace that the path names.
    pub(crate) namespace: Option<String>,
    /// The object that the path names; empty if it names none.
    pub(crate) name: String,
    /// The query string.
    pub(crate) query: String,
    /// How objects are wanted.
    pub(crate) form: Form,
    /// What the answer is wanted in.
    pub(crate) encoding: Encoding,
    /// The media type of the body, without parameters, in lower case.
    pub(crate) content_type: String,
    /// Who sends it.
    pub(crate) user: Arc<User>,
    /// The header `User-Agent`.
    pub(crate) user_agent: String,
    /// The body.
    pub(crate) body: Bytes,
    /// The warnings of the response.
    pub(crate) warnings: Arc<Warnings>,
}

/// How long the name of a field manager may be.
const LONGEST_MANAGER: usize = 128;

/// Whether a change is made or only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// It is made.
    Real,
    /// It is worked out and not stored.
    DryRun,
}

impl Intent {
    /// What the field `dryRun` of these options says: nothing, or that all of it is tried.
    pub(crate) fn of<'w>(options: &str, mut said: impl Iterator<Item = &'w str>) -> Result<Self, Refusal> {
        let Some(first) = said.next() else { return Ok(Self::Real) };
        match std::iter::once(first).chain(said).find(|word| *word != "All") {
            None => Ok(Self::DryRun),
            Some(other) => {
                Err(Refusal::options(options, &FieldError::not_supported("dryRun", other, &["All"])))
            }
        }
    }
}

impl Request {
    pub(crate) fn place(&self) -> Place {
        Place::new(self.resource.storage())
    }

    /// The way to answer in protobuf, if that is wanted.
    pub(crate) fn protobuf(&self) -> Option<Protobuf> {
        match self.encoding {
            Encoding::Json => None,
            Encoding::Protobuf => Protobuf::new(&self.resource, self.form),
        }
    }

    /// The key of the object that the path names.
    pub(crate) fn key(&self) -> String {
        self.key_of(&self.name)
    }

    /// The key of an object of this name where the path points.
    pub(crate) fn key_of(&self, name: &str) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        }
    }

    /// A parameter of the query string; the first of several counts.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        self.parameters(name).next()
    }

    fn parameters(&self, name: &str) -> impl Iterator<Item = String> {
        let parameters = form_urlencoded::parse(self.query.as_bytes());
        parameters.filter(move |(found, _)| found == name).map(|(_, value)| value.into_owned())
    }

    /// Whether a change is to be made, by the options of this name.
    pub(crate) fn intent(&self, options: &str) -> Result<Intent, Refusal> {
        let said: Vec<_> = self.parameters("dryRun").filter(|word| !word.is_empty()).collect();
        Intent::of(options, said.iter().map(String::as_str))
    }

    /// A parameter of the query string that is a boolean.
    ///
    /// # Errors
    /// If it is something else.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.parameter(name).unwrap_or_default().to_ascii_lowercase().as_str() {
            "" | "0" | "f" | "false" => Ok(false),
            "1" | "t" | "true" => Ok(true),
            other => Err(Refusal::bad_request(&format!(
                "invalid value {other:?} of {name}; expected true or false"
            ))),
        }
    }

    /// The field manager that the options of this name give, or else the beginning of the user agent.
    ///
    /// # Errors
    /// If the name is too long, or has characters that cannot be printed.
    pub(crate) fn field_manager(&self, options: &str) -> Result<String, Refusal> {
        let said = self.parameter("fieldManager").unwrap_or_default();
        let refuse = |error| Err(Refusal::options(options, &error));
        if said.len() > LONGEST_MANAGER {
            return refuse(FieldError::too_long("fieldManager", LONGEST_MANAGER));
        }
        if said.chars().any(char::is_control) {
            return refuse(FieldError::invalid(
                "fieldManager",
                &said.into(),
                "should only contain printable characters",
            ));
        }
        if !said.is_empty() {
            return Ok(said);
        }
        let program = self.user_agent.split('/').next().unwrap_or_default();
        let mut name: String = program.chars().filter(|letter| !letter.is_control()).collect();
        while name.len() > LONGEST_MANAGER {
            name.pop();
        }
        Ok(name)
    }

    /// The body as YAML, of which JSON is a part.
    ///
    /// # Errors
    /// Says what is not YAML.
    pub(crate) fn yaml(&self) -> Result<Value, String> {
        if let Ok(json) = serde_json::from_slice(&self.body) {
            return Ok(json);
        }
        serde_saphyr::from_slice(&self.body).map_err(|error| error.to_string())
    }

    /// The body as an object of the kind that `kind` and `api_version` say.
    pub(crate) fn object_of(&self, api_version: &str, kind: &str) -> Result<Value, Refusal> {
        let object = self.json()?;
        let says = |field: &str| object.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(found) = says("apiVersion").filter(|found| *found != api_version) {
            return Err(Refusal::bad_request(&format!(
                "the API version in the data ({found}) does not match the expected API version ({api_version})"
            )));
        }
        if let Some(found) = says("kind").filter(|found| *found != kind) {
            return Err(Refusal::bad_request(&format!(
                "{found} in version {api_version:?} cannot be handled as a {kind}"
            )));
        }
        Ok(object)
    }

    /// The body as an object of the resource, which lives where the path says.
    pub(crate) fn object(&self) -> Result<Value, Refusal> {
        let object = self.object_of(&self.resource.api_version(), &self.resource.kind)?;
        let namespace = crate::object::metadata::namespace(&object);
        if !namespace.is_empty() && self.namespace.as_deref().unwrap_or_default() != namespace {
            return Err(Refusal::other_namespace());
        }
        Ok(object)
    }

    fn json(&self) -> Result<Value, Refusal> {
        match self.value()? {
            object @ Value::Object(_) => Ok(object),
            _ => Err(Refusal::bad_request("couldn't get version/kind; the body is no object")),
        }
    }

    /// The body, whatever it is encoded in.
    pub(crate) fn value(&self) -> Result<Value, Refusal> {
        let refuse = |cause: &dyn std::fmt::Display| {
            Refusal::bad_request(&format!("couldn't get version/kind; {cause}"))
        };
        match self.content_type.as_str() {
            "" | "application/json" => serde_json::from_slice(&self.body)
                .map_err(|error| refuse(&format!("json parse error: {error}"))),
            "application/vnd.kubernetes.protobuf" => {
                let raw = open_protobuf(&self.body).map_err(|error| refuse(&error))?;
                raw.decode(ManagedFields::Keep).map_err(|error| refuse(&error))
            }
            "application/yaml" => self.yaml().map_err(|error| refuse(&format!("yaml parse error: {error}"))),
            _ => Err(Refusal::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json, application/yaml, application/vnd.kubernetes.protobuf",
            )),
        }
    }
}
