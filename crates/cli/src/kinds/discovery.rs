//! Requests the kinds of a server.

use super::{
    catalog::Catalog,
    documents::{Aggregated, GroupList, ResourceList},
    kind::Kind,
};
use futures_util::future::try_join_all;
use kube_client::{Client, Error};
use kube_informer::document;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Aggregated discovery, which servers have since 1.27.
const ALL_AT_ONCE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                           application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// Requests the kinds of the server.
pub(crate) async fn discover(client: &Client) -> Result<Catalog, Error> {
    let (core, groups) = tokio::try_join!(
        ask::<Value>(client, "/api", ALL_AT_ONCE),
        ask::<Value>(client, "/apis", ALL_AT_ONCE)
    )?;
    let mut kinds = match aggregated(&core) {
        Some(kinds) => kinds,
        None => listed(client, "/api/v1").await?,
    };
    match aggregated(&groups) {
        Some(more) => kinds.extend(more),
        None => kinds.extend(one_by_one(client, groups).await?),
    }
    Ok(Catalog::of(kinds))
}

/// Returns the kinds in one discovery document.
pub(crate) fn read(document: &Value) -> Option<Catalog> {
    let listed =
        || serde_json::from_value::<ResourceList>(document.clone()).ok().map(ResourceList::into_kinds);
    aggregated(document).or_else(listed).map(Catalog::of)
}

fn aggregated(document: &Value) -> Option<Vec<Kind>> {
    let document = serde_json::from_value::<Aggregated>(document.clone()).ok()?;
    (document.kind == "APIGroupDiscoveryList").then(|| document.into_kinds())
}

async fn one_by_one(client: &Client, groups: Value) -> Result<Vec<Kind>, Error> {
    let groups: GroupList = serde_json::from_value(groups).map_err(Error::SerdeError)?;
    let paths: Vec<_> = groups.groups.into_iter().flat_map(|group| group.into_paths()).collect();
    let lists = try_join_all(paths.iter().map(|path| async move {
        match listed(client, path).await {
            // An API whose server is down does not keep the others from being found.
            Err(Error::Api(status)) if status.code == 404 || status.code >= 500 => Ok(Vec::new()),
            answer => answer,
        }
    }));
    Ok(lists.await?.into_iter().flatten().collect())
}

async fn listed(client: &Client, path: &str) -> Result<Vec<Kind>, Error> {
    Ok(ask::<ResourceList>(client, path, "application/json").await?.into_kinds())
}

async fn ask<T: DeserializeOwned>(client: &Client, path: &str, accept: &str) -> Result<T, Error> {
    document::Request::new(path).accept(accept).get(client).await
}
