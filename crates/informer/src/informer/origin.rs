//! The origin of the objects of an informer, and the sources that it creates.

use super::{modify_options::ModifyOptions, source_spec::NewSource, start_error::StartError};
use crate::source::{Encoding, ListCompression, ListWatch, ListerWatcher};
use kube_client::Client;
use kube_core::Resource;
use kube_informer_wire::{FieldSelector, LabelSelector, Lazy, ManagedFields};
use std::sync::Arc;

/// The origin of the objects.
pub(super) enum Origin<K: Resource> {
    Server(Server<K>),
    Source(Arc<dyn ListerWatcher<K>>),
    /// A combination of options for which `InformerBuilder::build` returns this error.
    Invalid(StartError),
}

/// A resource of an API server.
pub(super) struct Server<K: Resource> {
    pub(super) client: Client,
    pub(super) kind: Arc<K::DynamicType>,
    pub(super) list_watch: NewListWatch<K>,
    /// `None` if the objects are already lazy.
    pub(super) lazy_list_watch: Option<NewListWatch<Lazy<K>>>,
}

/// Creates the [`ListWatch`] of one namespace or all, with the decoder of its type.
pub(super) type NewListWatch<K> = fn(Client, Option<&str>, &<K as Resource>::DynamicType) -> ListWatch<K>;

/// A shard of a resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shard {
    pub(super) index: u32,
    pub(super) of: u32,
}

/// The settings of the sources of an API server.
#[derive(Clone, Copy)]
pub(super) struct SourceSettings<'s> {
    pub(super) labels: Option<&'s str>,
    pub(super) fields: Option<&'s str>,
    pub(super) encoding: Encoding,
    pub(super) list_compression: ListCompression,
    pub(super) managed_fields: ManagedFields,
    pub(super) max_object_size: usize,
    pub(super) modify: &'s ModifyOptions,
}

impl<K: Resource + Send + Sync + 'static> Origin<K> {
    /// Returns the function that creates the source of a namespace, or of all namespaces.
    pub(super) fn new_source(&self, settings: SourceSettings<'_>) -> Result<NewSource<K>, StartError> {
        let Server { client, kind, list_watch, .. } = match self {
            Self::Server(server) => server,
            Self::Source(source) => {
                let source = Arc::clone(source);
                return Ok(Box::new(move |_| Arc::clone(&source)));
            }
            Self::Invalid(_) => unreachable!("the builder has returned the error"),
        };
        let labels: LabelSelector =
            settings.labels.unwrap_or_default().parse().map_err(StartError::InvalidLabels)?;
        let fields: FieldSelector =
            settings.fields.unwrap_or_default().parse().map_err(StartError::InvalidFields)?;
        let client = client.clone();
        let kind = Arc::clone(kind);
        let list_watch = *list_watch;
        let SourceSettings { encoding, list_compression, managed_fields, max_object_size, .. } = settings;
        let modify = settings.modify.clone();
        Ok(Box::new(move |namespace| {
            let source = list_watch(client.clone(), namespace, &kind)
                .labels(labels.clone())
                .fields(fields.clone())
                .encoding(encoding)
                .list_compression(list_compression)
                .managed_fields(managed_fields)
                .max_object_size(max_object_size);
            Arc::new(modify.apply(source))
        }))
    }
}
