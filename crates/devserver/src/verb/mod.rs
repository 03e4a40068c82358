//! The verbs of the API, each in its own file.

mod clock;

mod error_response;

mod api_response;

mod form;

mod protobuf;

mod object_part;

mod warnings;

mod request;

mod duplicate;

mod field_validation;

mod cluster;

mod conversion;

pub(crate) mod authorization;

mod escalation;

mod ownership;

mod collector;

mod side_effects;

mod service_addresses;

mod checks;

mod policy;

mod admission;

mod get;

mod list;

mod watch_state;

mod watch;

mod create;

mod update;

mod apply;

mod patch;

mod delete;

mod delete_collection;

pub(crate) mod binding;

pub(crate) mod eviction;

pub(crate) mod status;

pub(crate) mod scale;

pub(crate) mod token;

mod review;

mod discovery;

mod health;

pub(crate) use api_response::{ApiResponse, Body, Media, StreamCut};
pub(crate) use clock::{now, now_micro};
pub use cluster::Controllers;
pub(crate) use cluster::{Cluster, encode, encode_change, encode_json};
pub(crate) use create::create;
pub(crate) use delete::delete;
pub(crate) use delete_collection::delete_collection;
pub(crate) use discovery::{Depth, Document, discovery};
pub(crate) use error_response::ErrorResponse;
pub(crate) use form::{Encoding, Representation};
pub(crate) use get::get;
pub(crate) use health::{health, swagger};
pub(crate) use list::{Tokens, list};
pub(crate) use object_part::ObjectPart;
pub(crate) use patch::patch;
pub(crate) use protobuf::status as protobuf_status;
pub(crate) use request::Request;
pub(crate) use review::review;
pub(crate) use update::update;
pub(crate) use warnings::Warnings;
pub(crate) use watch::watch;
