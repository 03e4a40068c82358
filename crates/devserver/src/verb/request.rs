//! A request for a resource, with its parsed path and headers.

use crate::invalid::FieldError;
use crate::rbac::User;
use crate::registry::Resource;
use crate::storage::CollectionId;
use crate::verb::error_response::ErrorResponse;
use crate::verb::form::{Encoding, Representation};
use crate::verb::protobuf::Protobuf;
use crate::verb::warnings::Warnings;
use bytes::Bytes;
use kube_informer_wire::{ManagedFields, open_protobuf};
use serde_json::Value;
use std::sync::Arc;

/// A request for a resource.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The recorded time that is served; `None` for the current state.
    pub(crate) past: Option<jiff::Timestamp>,
    /// The resource, in the version of the path.
    pub(crate) resource: Arc<Resource>,
    /// The namespace in the path.
    pub(crate) namespace: Option<String>,
    /// The name in the path, or an empty string.
    pub(crate) name: String,
    /// The query string.
    pub(crate) query: String,
    /// The requested representation.
    pub(crate) form: Representation,
    /// The requested encoding.
    pub(crate) encoding: Encoding,
    /// The media type of the body, without parameters, in lower case.
    pub(crate) content_type: String,
    /// The user.
    pub(crate) user: Arc<User>,
    /// The header `User-Agent`.
    pub(crate) user_agent: String,
    /// The body.
    pub(crate) body: Bytes,
    /// The warnings of the response.
    pub(crate) warnings: Arc<Warnings>,
}

/// The maximum length of the name of a field manager.
const LONGEST_MANAGER: usize = 128;

/// The choice between storing a change and a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// The change is stored.
    Real,
    /// A dry run: the result is returned and not stored.
    DryRun,
}

impl Intent {
    /// Parses the field `dryRun` of the options.
    pub(crate) fn of<'w>(
        options: &str,
        mut said: impl Iterator<Item = &'w str>,
    ) -> Result<Self, ErrorResponse> {
        let Some(first) = said.next() else { return Ok(Self::Real) };
        match std::iter::once(first).chain(said).find(|word| *word != "All") {
            None => Ok(Self::DryRun),
            Some(other) => {
                Err(ErrorResponse::options(options, &FieldError::not_supported("dryRun", other, &["All"])))
            }
        }
    }
}

impl Request {
    pub(crate) fn collection(&self) -> CollectionId {
        CollectionId::from(self.resource.storage())
    }

    /// Returns the encoder, if the client requests protobuf.
    pub(crate) fn protobuf(&self) -> Option<Protobuf> {
        match self.encoding {
            Encoding::Json => None,
            Encoding::Protobuf => Protobuf::new(&self.resource, self.form),
        }
    }

    /// Returns the key of the object in the path.
    pub(crate) fn key(&self) -> String {
        self.key_of(&self.name)
    }

    /// Returns the key of an object with this name in the namespace of the path.
    pub(crate) fn key_of(&self, name: &str) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        }
    }

    /// Returns a parameter of the query string; the first one if there are several.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        self.parameters(name).next()
    }

    fn parameters(&self, name: &str) -> impl Iterator<Item = String> {
        let parameters = form_urlencoded::parse(self.query.as_bytes());
        parameters.filter(move |(found, _)| found == name).map(|(_, value)| value.into_owned())
    }

    /// Reads the parameter `dryRun`; `options` is the kind of the options, for error messages.
    pub(crate) fn intent(&self, options: &str) -> Result<Intent, ErrorResponse> {
        let said: Vec<_> = self.parameters("dryRun").filter(|word| !word.is_empty()).collect();
        Intent::of(options, said.iter().map(String::as_str))
    }

    /// Returns a boolean parameter of the query string.
    ///
    /// # Errors
    /// Returns an error if the value is not a boolean.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, ErrorResponse> {
        match self.parameter(name).unwrap_or_default().to_ascii_lowercase().as_str() {
            "" | "0" | "f" | "false" => Ok(false),
            "1" | "t" | "true" => Ok(true),
            other => Err(ErrorResponse::bad_request(&format!(
                "invalid value {other:?} of {name}; expected true or false"
            ))),
        }
    }

    /// Returns the field manager in the options of this kind, or else the program in the user agent.
    ///
    /// # Errors
    /// Returns an error if the name is too long, or has characters that cannot be printed.
    pub(crate) fn field_manager(&self, options: &str) -> Result<String, ErrorResponse> {
        let said = self.parameter("fieldManager").unwrap_or_default();
        let refuse = |error| Err(ErrorResponse::options(options, &error));
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

    /// Parses the body as YAML, which includes JSON.
    ///
    /// # Errors
    /// Returns an error if the body is not YAML.
    pub(crate) fn yaml(&self) -> Result<Value, String> {
        if let Ok(json) = serde_json::from_slice(&self.body) {
            return Ok(json);
        }
        serde_saphyr::from_slice(&self.body).map_err(|error| error.to_string())
    }

    /// Parses the body as an object of this kind.
    pub(crate) fn object_of(&self, api_version: &str, kind: &str) -> Result<Value, ErrorResponse> {
        let object = self.json()?;
        let text_of = |field: &str| object.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(found) = text_of("apiVersion").filter(|found| *found != api_version) {
            return Err(ErrorResponse::bad_request(&format!(
                "the API version in the data ({found}) does not match the expected API version ({api_version})"
            )));
        }
        let is_custom = self.resource.is_custom() && kind == self.resource.kind;
        // The kind of a custom resource is a field that is validated.
        if let Some(found) = text_of("kind").filter(|found| *found != kind && !is_custom) {
            return Err(ErrorResponse::bad_request(&format!(
                "{found} in version {api_version:?} cannot be handled as a {kind}"
            )));
        }
        Ok(object)
    }

    /// Parses the body as an object of the resource, in the namespace of the path.
    pub(crate) fn object(&self) -> Result<Value, ErrorResponse> {
        let object = self.object_of(&self.resource.api_version(), &self.resource.kind)?;
        let namespace = crate::object::metadata::namespace(&object);
        if !namespace.is_empty() && self.namespace.as_deref().unwrap_or_default() != namespace {
            return Err(ErrorResponse::other_namespace());
        }
        Ok(object)
    }

    fn json(&self) -> Result<Value, ErrorResponse> {
        match self.value()? {
            object @ Value::Object(_) => Ok(object),
            _ => Err(ErrorResponse::bad_request("couldn't get version/kind; the body is no object")),
        }
    }

    /// Parses the body in any encoding.
    pub(crate) fn value(&self) -> Result<Value, ErrorResponse> {
        let refuse = |cause: &dyn std::fmt::Display| {
            ErrorResponse::bad_request(&format!("couldn't get version/kind; {cause}"))
        };
        match self.content_type.as_str() {
            "" | "application/json" => serde_json::from_slice(&self.body)
                .map_err(|error| refuse(&format!("json parse error: {error}"))),
            "application/vnd.kubernetes.protobuf" => {
                let raw = open_protobuf(&self.body).map_err(|error| refuse(&error))?;
                raw.decode(ManagedFields::Keep).map_err(|error| refuse(&error))
            }
            "application/yaml" => self.yaml().map_err(|error| refuse(&format!("yaml parse error: {error}"))),
            _ => Err(ErrorResponse::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json, application/yaml, application/vnd.kubernetes.protobuf",
            )),
        }
    }
}
