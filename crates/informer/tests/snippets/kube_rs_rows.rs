//! The right column of the table in docs/from-kube-rs.md: one function for each row, with every name of the row.

#![allow(dead_code, unused_variables, reason = "rows are compiled, but not run")]
#![allow(clippy::needless_pass_by_value, reason = "rows are short")]
#![allow(clippy::type_complexity, reason = "types of function items")]

use super::rows::{Done, policy, reconcile};
use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{
    Client,
    api::{Api, DynamicObject, Patch, PatchParams},
    core::PartialObjectMeta,
};
use kube_informer::{
    Event, Informer, Object, Storage, Store, Subscription, bridge,
    controller::{self, Controller, ControllerHandle, ErrorPolicy},
    event::Phase,
    informer::InformerBuilder,
    manager,
    reflector::{Backoff, Strategy},
    subscription::SubscribeOptions,
    wire::{self, Key},
};
use std::{sync::Arc, time::Duration};

type K = ConfigMap;

// row: `watcher(api, config)`
fn builder(client: Client) -> Done {
    Informer::<K>::builder(client).start()?;
    Ok(())
}

// row: `watcher::Config::{labels, fields, page_size}`, `any_semantic`, `streaming_lists`
fn config(builder: InformerBuilder<K>) -> InformerBuilder<K> {
    builder.labels("a=b").fields("metadata.name=a").page_size(100).strategy(Strategy::Stream)
}

// row: `watcher::Event::{Init, InitApply, InitDone}`
async fn initial(maps: Informer<K>, event: Event<K>) -> Done {
    if let Event::Added { phase: Phase::Initial, .. } = event {}
    maps.synced().await?;
    Ok(())
}

// row: `watcher::Event::{Apply, Delete}`
fn changes(event: Event<K>) {
    match event {
        Event::Added { .. } => {}
        Event::Updated { old, new, .. } => drop((old, new)),
        Event::Deleted { .. } => {}
        _ => {}
    }
}

// row: `reflector(writer, stream)`, `reflector::store()`
fn store(maps: &Informer<K>) -> &Store<K> {
    Informer::store(maps)
}

// row: `Store::{get, state, wait_until_ready}`
async fn reads(maps: &Informer<K>) -> Done {
    drop((maps.get("default/settings"), maps.list()));
    maps.synced().await?;
    let snapshot = maps.snapshot();
    Ok(())
}

// row: `Store::{find, state_filter}`
fn find(builder: InformerBuilder<K>, maps: &Informer<K>) -> Done {
    let found = maps.list().into_iter().find(|map| map.immutable == Some(true));
    let builder: InformerBuilder<K> =
        InformerBuilder::index(builder, "name", |map: &K| map.metadata.name.clone());
    drop(maps.by_index("name", "settings")?);
    Ok(())
}

// row: `Store::state_filter_selector`
fn matching(maps: &Informer<K>) -> Done {
    let selector = "a=b".parse()?;
    drop((maps.store().matching(&selector), maps.store().matching_keys(&selector)));
    Ok(())
}

// row: `ObjectRef`
fn key() -> Done {
    let key: wire::Key = "namespace/name".parse()?;
    Ok(())
}

// row: `WatchStreamExt::{default_backoff, backoff}`, `StreamBackoff`
fn backoff(builder: InformerBuilder<K>) -> InformerBuilder<K> {
    InformerBuilder::backoff(builder, Backoff::default())
}

// row: the rest of `WatchStreamExt`
fn streams(subscription: Subscription<K>, other: Subscription<K>) {
    fn is_stream(_: impl futures_util::Stream<Item = Event<K>>) {}
    is_stream(subscription);
    drop(bridge::watcher_events(other));
}

// row: `store_shared`, `reflect_shared`, `subscribe`, `for_shared_stream` (unstable)
fn shared(informer: Informer<K>) {
    drop((informer.subscribe(), informer.subscribe()));
    drop((Controller::new(&informer), Controller::new(&informer)));
}

// row: `predicate_filter`
fn filter(controller: Controller<K>, event: Event<K>) -> Controller<K> {
    if let Event::Updated { old, new, .. } = &event {
        let _ = old.get().metadata.labels == new.get().metadata.labels;
    }
    Controller::filter(controller, |event: &Event<K>| !event.is_resync())
}

// row: a filter on one object (`labels`, a namespace)
fn subscribe_options() -> Result<SubscribeOptions<K>, Box<dyn std::error::Error>> {
    let options = SubscribeOptions::new().filter(|map: &K| map.immutable == Some(true));
    Ok(options.labels("a=b".parse()?).namespace("default"))
}

// row: `modify(\|o\| o.managed_fields_mut().clear())`
fn managed_fields(builder: InformerBuilder<K>) -> InformerBuilder<K> {
    builder.managed_fields(wire::ManagedFields::default())
}

// row: `DynamicObject`, or a smaller type, to save memory
fn lazy(client: Client) {
    drop(Informer::<K>::builder(client).storage(Storage::Encoded).lazy());
}

// row: `metadata_watcher`
fn metadata(client: Client) -> Done {
    Informer::<PartialObjectMeta<K>>::builder(client).start()?;
    Ok(())
}

// row: `watch_object(api, name)`
fn one_object(client: Client) {
    drop(Informer::<K>::builder(client).namespace("default").fields("metadata.name=front-1"));
}

// row: `Controller::new(api, config).run(reconcile, error_policy, context)`
fn run(informer: &Informer<K>, context: Arc<()>) {
    let error_policy = policy;
    let controller = controller::Controller::new(informer);
    let outcomes = controller.handle().outcomes();
    drop(controller.run(reconcile, error_policy, context));
}

// row: `Controller::owns`, `owns_with`
fn owns(controller: Controller<K>, other: Informer<DynamicObject>) -> Controller<K> {
    controller.owns(&other)
}

// row: `Controller::watches(api, config, mapper)`, `watches_with`
#[expect(clippy::redundant_closure, reason = "the row has a closure")]
fn watches(controller: Controller<K>, other: Informer<Pod>, keys: fn(&Pod) -> Vec<Key>) -> Controller<K> {
    controller.watches(&other, move |object| keys(object))
}

// row: `Action::{requeue, await_change}`
fn action() -> Option<Duration> {
    let _ = controller::Action::await_change();
    controller::Action::requeue(Duration::from_secs(1)).requeue_after()
}

// row: `error_policy(object, &error, context)`
fn error_policy(controller: Controller<K>, context: Arc<()>) {
    drop(controller.run(reconcile, ErrorPolicy::default(), context));
}

// row: `ReconcileReason`
fn reason(reconcile: controller::Outcome) -> controller::Reason {
    reconcile.reason
}

// row: `Config::concurrency`
fn concurrency(controller: Controller<K>) -> Controller<K> {
    Controller::concurrency(controller, 4)
}

// row: `Config::debounce`
fn debounce(controller: Controller<K>) -> Controller<K> {
    Controller::debounce(controller, Duration::from_secs(1))
}

// row: `graceful_shutdown_on`, `shutdown_on_signal`
fn shutdown(controller: Controller<K>, future: std::future::Ready<()>) -> Controller<K> {
    let controller = controller.shutdown_on(future).shutdown_on(manager::shutdown_signal());
    controller.shutdown_deadline(Duration::from_secs(25))
}

// row: `reconcile_on`, `reconcile_all_on`
fn streams_of_keys(controller: Controller<K>, handle: ControllerHandle, key: Key) -> Done {
    drop(controller.reconcile_on(stream::iter([key.clone()])).reconcile_all_on(stream::iter([()]).boxed()));
    ControllerHandle::trigger(&handle, key)?;
    Ok(())
}

// row: `predicates::{generation, labels, annotations, finalizers, resource_version}`, `combine`
fn predicates(controller: Controller<K>) -> Controller<K> {
    use controller::predicates::{self, Predicate, annotations, deletion_timestamp, finalizers, not};
    let any = predicates::generation::<K>.or(predicates::labels).or(annotations).or(finalizers);
    controller.filter(any.or(predicates::resource_version::<K>.and(not(deletion_timestamp))))
}

// row: a 401, 403 or 404 at the start is retried forever
fn initial_errors(controller: Controller<K>, context: Arc<()>) {
    let controller = controller.retry_initial_errors();
    drop(controller.run(reconcile, policy, context));
}

// row: `applied_objects`, `touched_objects`
fn applied(event: Event<K>) -> Option<Object<K>> {
    match event {
        Event::Added { object, .. } | Event::Updated { new: object, .. } => Some(object),
        _ => None,
    }
}

// row: `wait::await_condition`, `conditions`
fn conditions(api: Api<Pod>) {
    use kube::runtime::{conditions, wait::await_condition};
    drop(await_condition(api, "front-1", conditions::is_pod_running()));
}

// row: `finalizer(api, name, object, reconcile)`
async fn finalizer(api: Api<K>, object: Arc<K>) -> Done {
    use controller::FinalizerEvent::{Apply, Cleanup};
    controller::finalizer(&api, "example.com/cleanup", object, |event| async move {
        match event {
            Apply(_) | Cleanup(_) => Ok::<_, kube::Error>(controller::Action::await_change()),
        }
    })
    .await?;
    Ok(())
}

// row: `events::Recorder`
fn recorder(client: Client) -> controller::events::Recorder {
    controller::events::Recorder::new(client, "website-operator")
}

// row: `Api::patch` with `Patch::Apply`
async fn apply(api: Api<K>, map: K) -> Done {
    api.patch("settings", &PatchParams::apply("example"), &Patch::Apply(&map)).await?;
    controller::apply(&api, "example", &map).await?;
    controller::apply_status(&api, "example", &map).await?;
    Ok(())
}

// row: `Resource::controller_owner_ref`
fn owner(owner: &Pod, owned: &mut K) -> Done {
    drop(controller::controller_owner_ref(owner, &())?);
    controller::set_controller_owner(owned, owner, &())?;
    Ok(())
}

// row: `Store::len`, `ObjectRef::from_obj`
fn len(maps: &Informer<K>, map: &K) -> Done {
    let len = maps.len();
    drop(Key::of(map)?);
    Ok(())
}

// row: `tower-test` mocks of the API
fn devserver() -> Client {
    kube_devserver::DevServer::start().client()
}
