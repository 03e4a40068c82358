//! The right column of the table in docs/from-client-go.md: one function for each row, with every name of the row.

#![allow(dead_code, unused_variables, reason = "rows are compiled, but not run")]
#![allow(clippy::needless_pass_by_value, reason = "rows are short")]

use super::rows::Done;
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};
use kube::{
    Client,
    api::{Api, ApiResource, DynamicObject, PatchParams, PostParams},
    core::PartialObjectMeta,
};
use kube_informer::{
    Delta, Event, Informer, Informers, Lazy, Storage,
    cache::{self, Store},
    controller::{self, Controller},
    delta_fifo::{self, DeltaFifoBuilder},
    event::{Deletion, Phase},
    informer::{self, InformerBuilder, InformersBuilder, NotSyncedError},
    manager, reflector,
    retry_watch::{self, RetryWatch},
    source,
    subscription::{Registration, SubscribeOptions},
    wire::{self, Key},
};
use std::{
    num::{NonZeroU64, NonZeroUsize},
    sync::Arc,
    time::Duration,
};
use tokio_util::sync::CancellationToken;

type K = Pod;

// row: `SharedInformer`, `SharedIndexInformer`, `NewSharedIndexInformer`
fn shared_informer(pods: &Informer<K>) -> Informer<K> {
    pods.clone()
}

// row: `NewInformer`, `NewIndexerInformer`
fn process_loop(client: Client) {
    let fifo = delta_fifo::DeltaFifo::builder().build();
    let process = |batch: delta_fifo::Batch<K>| {
        drop(batch);
        Ok(())
    };
    let config = reflector::Config::default();
    drop(delta_fifo::ProcessLoop::new(source::ListWatch::<K>::all(client.clone()), fifo, config, process));
    drop(Informer::<K>::builder(client));
}

// row: `SharedInformerFactory`, `Start`, `WaitForCacheSync`, `Shutdown`
async fn factory(client: Client) -> Done {
    let informers = Informers::new(client);
    informers.start();
    informers.synced(Duration::from_secs(30)).await?;
    informers.stop();
    informers.stopped().await;
    Ok(())
}

// row: `WithNamespace`, `WithCustomResyncConfig`, `WithTransform`
fn factory_options(client: Client, builder: InformerBuilder<K>) {
    let informers = Informers::builder(client).namespace("web");
    let informers =
        InformersBuilder::configure(informers, |pods: InformerBuilder<K>| pods.transform(Ok)).build();
    Informers::set_resync::<K>(&informers, Duration::from_secs(600));
    drop(InformerBuilder::namespaces(builder, ["web", "batch"]).transform(Ok));
}

// row: `WithTweakListOptions`
fn tweak(builder: InformersBuilder, one: InformerBuilder<K>) {
    drop(builder.modify_list(|options| {}).modify_watch(|options| {}));
    drop(
        InformerBuilder::modify_list(one, |options| {})
            .modify_watch(|options| {})
            .labels("a=b")
            .fields("c=d"),
    );
}

// row: `factory.ForResource(gvr)`, `NewDynamicSharedInformerFactory`
fn dynamic_factory(informers: &Informers, api_resource: ApiResource) -> Done {
    Informers::with::<DynamicObject>(informers, api_resource, |builder| builder)?;
    Ok(())
}

// row: dynamic and metadata informers
fn dynamic(client: Client, resource: ApiResource) {
    drop(Informer::<DynamicObject>::dynamic(client.clone(), resource));
    drop(Informer::<PartialObjectMeta<K>>::builder(client));
}

// row: lazy unmarshalling, a transform that removes fields to save memory
fn lazy(client: Client) -> InformerBuilder<Lazy<K>> {
    Informer::<K>::builder(client).storage(Storage::Encoded).lazy()
}

// row: `AddEventHandler`, `AddEventHandlerWithResyncPeriod`, `AddEventHandlerWithOptions`
fn handlers(pods: &Informer<K>) -> Done {
    pods.add_handler(|event: &Event<K>| {})?;
    let options = SubscribeOptions::resync(SubscribeOptions::new(), Duration::from_secs(600));
    pods.add_handler_with(|event: &Event<K>| {}, options)?;
    drop(pods.subscribe());
    Ok(())
}

// row: `ResourceEventHandlerFuncs{AddFunc, UpdateFunc, DeleteFunc}`
fn handler() -> impl Fn(&Event<K>) {
    |event| match event {
        Event::Added { .. } | Event::Updated { .. } | Event::Deleted { .. } => {}
        _ => {}
    }
}

// row: `RemoveEventHandler`, `ShutDownEventHandler`
async fn remove(handler: Registration<K>) {
    Registration::remove(&handler);
    handler.removed().await;
}

// row: `registration.HasSynced`
fn handler_synced(handler: Registration<K>) -> bool {
    Registration::has_synced(&handler)
}

// row: `cache.WaitForCacheSync`, `WaitFor`, `SyncResult`
async fn wait(pods: Informer<K>) -> Result<(), NotSyncedError> {
    informer::wait_for_sync([&pods as &dyn informer::Synced], Duration::from_secs(30)).await
}

// row: `HasSynced`, `LastSyncResourceVersion`, `IsStopped`
fn state(pods: &Informer<K>) {
    drop((pods.has_synced(), pods.version(), pods.is_stopped(), pods.status()));
}

// row: `SetTransform`, `SetWatchErrorHandler`, `SetWatchErrorHandlerWithContext`
fn set_transform(builder: InformerBuilder<K>) -> InformerBuilder<K> {
    InformerBuilder::on_error(InformerBuilder::transform(builder, Ok), |report| report.log())
}

// row: `Run`, `RunWithContext`
async fn run(builder: InformerBuilder<K>) -> Done {
    let pods = builder.start()?;
    pods.stopped().await;
    Ok(())
}

// row: `MutationCache`
async fn mutation_cache(pods: Informer<K>, object: K) -> Done {
    pods.written(&object).await?;
    drop(controller::MutationCache::new(pods.store()));
    Ok(())
}

// row: stop channel, context
async fn stop(pods: Informer<K>, reflector: reflector::Reflector<K, source::ListWatch<K>, cache::Writer<K>>) {
    pods.stop();
    pods.stopped().await;
    reflector.run(CancellationToken::new()).await;
}

// row: `ListerWatcher`, `ListWatch{ListFunc, WatchFunc}`
fn lister_watcher() -> impl source::ListerWatcher<K> {
    source::FromFns::new(
        |options| async { Ok(source::Page { items: Vec::<K>::new(), version: None, continue_token: None }) },
        |options| async { Ok(source::Watch::new(futures_util::stream::empty())) },
    )
}

// row: `NewListWatchFromClient`, `NewFilteredListWatchFromClient`
fn list_watch(client: Client) -> Result<source::ListWatch<K>, Box<dyn std::error::Error>> {
    let list_watch = source::ListWatch::all(client).labels("a=b".parse()?).fields("c=d".parse()?);
    Ok(list_watch.modify_list(|options| {}).modify_watch(|options| {}))
}

// row: pager, `WatchListPageSize`
async fn pager(list_watch: source::ListWatch<K>) -> Done {
    source::Pager::new(&list_watch).list(&wire::ListOptions::default()).await?;
    let mut config = reflector::Config::default();
    config.page_size = NonZeroU64::new(100);
    let _ = config;
    Ok(())
}

// row: `Reflector`, `ReflectorOptions`, `ShouldResync`, `WatchErrorHandler`
fn reflector(list_watch: source::ListWatch<K>, writer: cache::Writer<K>) {
    let reflector = reflector::Reflector::with_config(list_watch, writer, reflector::Config::default());
    drop(reflector.should_resync(|| true).on_error(|report| report.log()));
}

// row: `ListAndWatch`, `LastSyncResourceVersion`
async fn list_and_watch(mut reflector: reflector::Reflector<K, source::ListWatch<K>, cache::Writer<K>>) {
    drop(reflector.status());
    reflector.list_and_watch(&CancellationToken::new()).await;
    let _ = reflector.last_sync_version();
}

// row: `ReflectorStore`
fn sink(writer: cache::Writer<K>) -> impl reflector::Sink<K> {
    writer
}

// row: `NewNamespaceKeyedIndexerAndReflector`
fn reflector_of_writer(list_watch: source::ListWatch<K>) -> Done {
    use kube_informer::reflector::Reflector;
    let (store, writer): (Store<K>, cache::Writer<K>) = Store::builder().build()?;
    drop(Reflector::new(list_watch, writer));
    Ok(())
}

// row: `Store`, `Indexer`, `ThreadSafeStore`
fn store() -> Result<(cache::Store<K>, cache::Writer<K>), cache::IndexConflictError> {
    cache::Store::builder().build()
}

// row: `GetStore()`, `GetIndexer()`: `GetByKey`, `List`, `ListKeys`
fn reads(pods: &Informer<K>) {
    drop((pods.get("web/front-1"), pods.list(), pods.store().keys()));
}

// row: `Indexers`, `ByIndex`, `ListIndexFuncValues`, `AddIndexers`
fn indexes(builder: InformerBuilder<K>, pods: &Informer<K>) -> Done {
    drop(InformerBuilder::index(builder, "name", |pod: &K| pod.metadata.name.clone()));
    pods.add_index("uid", |pod: &K| pod.metadata.uid.clone())?;
    drop((pods.by_index("name", "front-1")?, pods.store().index_values("name")?));
    Ok(())
}

// row: `Indexer.Index(name, obj)`
fn index_of(pods: &Informer<K>, index: &str, object: K) -> Done {
    drop(pods.store().by_index_of(index, &object)?);
    Ok(())
}

// row: `IndexKeys`
fn index_keys(pods: &Informer<K>, index: &str, value: &str) -> Done {
    drop(pods.snapshot().index_keys(index, value)?);
    Ok(())
}

// row: `NamespaceIndex`, `MetaNamespaceIndexFunc`
fn namespace_index(pods: &Informer<K>) -> Done {
    drop((pods.store().in_namespace("web"), pods.by_index(cache::NAMESPACE, "web")?));
    Ok(())
}

// row: `LastStoreSyncResourceVersion`
async fn store_version(store: Store<K>, version: wire::ResourceVersion) -> Done {
    drop(Store::version(&store));
    Store::wait_for(&store, &version).await?;
    Ok(())
}

// row: `NewTTLStore`, `ExpirationCache`
fn ttl_store() {}

// row: lister, `ListAll`, `ListAllByNamespace`
fn lister(pods: &Informer<K>) {
    let lister: cache::Lister<K> = pods.lister();
    use cache::Lister;
    drop((Lister::list(&lister, &wire::LabelSelector::default()), Lister::namespace(&lister, "web")));
}

// row: `Lister().Pods(ns).Get(name)`, `apierrors.IsNotFound`
fn lister_get(pods: &Informer<K>, ns: &str, name: &str) -> Result<Arc<K>, cache::NotFoundError> {
    let found: Option<Arc<K>> = pods.get((ns, name));
    pods.lister().namespace(ns).get(name)
}

// row: `DeepCopy` before a change
async fn deep_copy(pod: Arc<K>, api: Api<K>) -> Done {
    let mut changed = K::clone(&pod);
    changed.metadata.labels = None;
    api.replace("front-1", &PostParams::default(), &changed).await?;
    Ok(())
}

// row: `DeltaFIFO`, `RealFIFO`, `Delta`, `Deltas`
fn deltas(fifo: delta_fifo::DeltaFifo<K>, deltas: delta_fifo::Deltas<K>) -> Option<usize> {
    let newest: &Delta<K> = deltas.newest();
    Some(fifo.len())
}

// row: `TransformFunc`
fn transforms(builder: InformerBuilder<K>, fifo: DeltaFifoBuilder<K>) {
    drop((InformerBuilder::transform(builder, Ok), DeltaFifoBuilder::transform(fifo, Ok)));
}

// row: `Pop`, `PopBatch`, `HasSynced`
async fn pop(fifo: delta_fifo::DeltaFifo<K>) {
    drop((fifo.pop().await, fifo.pop_batch(NonZeroUsize::MAX).await, fifo.has_synced()));
}

// row: `processDeltas`
fn apply(batch: delta_fifo::Batch<K>, writer: &mut cache::Writer<K>) {
    delta_fifo::apply(batch, writer, &mut Vec::new()).done();
}

// row: `OnAdd(obj, isInInitialList)`, `OnUpdate`, `OnDelete`, `DeletedFinalStateUnknown`
fn on_event(event: Event<K>) {
    match event {
        Event::Added { phase, .. } => assert_eq!(phase, Phase::Initial),
        Event::Updated { .. } => {}
        Event::Deleted { deletion: Deletion::Inferred, .. } | Event::Deleted { .. } => {}
        _ => {}
    }
}

// row: `FilteringResourceEventHandler`
fn filtering(event: Event<K>) -> Option<Event<K>> {
    drop(SubscribeOptions::filter(SubscribeOptions::new(), |pod: &K| pod.spec.is_some()));
    Event::filtered(event, |pod| pod.spec.is_some())
}

// row: `MetaNamespaceKeyFunc`, `SplitMetaNamespaceKey`, `ObjectName`
fn keys(pod: &K) -> Result<(), wire::KeyError> {
    let key: wire::Key = Key::of(pod)?;
    let _ = (key.namespace(), key.name());
    Ok(())
}

// row: `DeletionHandlingMetaNamespaceKeyFunc`
fn key_of_event(event: Event<K>) -> Key {
    event.key().clone()
}

// row: `metav1.ListOptions`
fn options() {
    drop((wire::ListOptions::default(), wire::WatchOptions::default()));
}

// row: `labels.Selector`, `fields.Selector`
fn selectors() -> Done {
    let labels: wire::LabelSelector = "a=b".parse()?;
    let fields: wire::FieldSelector = "metadata.name=a".parse()?;
    Ok(())
}

// row: `apierrors.IsResourceExpired` and similar
fn expired(status: &kube::core::Status) -> bool {
    wire::StatusExt::is_expired_status(status)
}

// row: `workqueue`
fn work_queue(pods: &Informer<K>) {
    drop(kube_workqueue::Queue::<Key>::new());
    drop(controller::Controller::new(pods));
}

// row: `watch.NewRetryWatcher`, `watch.Until`
async fn retry_watch(list_watch: source::ListWatch<K>) -> Done {
    let version = wire::ResourceVersion::number(7);
    let mut watch = retry_watch::RetryWatch::new(list_watch, version)?;
    RetryWatch::until(&mut watch, |event: &wire::WatchEvent<Arc<K>>| true).await?;
    Ok(())
}

// row: `watch.UntilWithSync`
async fn until(pods: Informer<K>) -> Done {
    Informer::until(&pods, |snapshot| !snapshot.is_empty()).await?;
    pods.until_with_sync(|snapshot| false, |event| true).await?;
    pods.await_condition("web/front-1", |pod| pod.is_some()).await?;
    Ok(())
}

// row: `watch.NewIndexerInformerWatcher`
fn watch(pods: &Informer<K>) {
    drop(Informer::watch(pods));
}

// row: `workqueue.DefaultTypedControllerRateLimiter`
fn rate_limiter() -> controller::ErrorPolicy {
    controller::ErrorPolicy::default()
}

// row: `metav1.IsControlledBy`, `GetControllerOf`, `NewControllerRef`
fn owners(owned: &K, owner: &K, controller: Controller<K>, pods: &Informer<K>) -> Done {
    let _ = (controller::is_controlled_by(owned, owner), controller::controller_of(owned));
    drop(controller::controller_owner_ref(owner, &())?);
    drop(Controller::owns(controller, pods));
    Ok(())
}

// row: `retry.RetryOnConflict`
async fn conflicts(api: Api<K>) -> Done {
    controller::retry_on_conflict(|| api.get("front-1")).await?;
    Ok(())
}

// row: `UpdateStatus`
async fn update_status(api: Api<K>, pod: K) -> Done {
    controller::apply_status(&api, "example", &pod).await?;
    Api::replace_status(&api, "front-1", &PostParams::default(), &pod).await?;
    api.patch_status("front-1", &PatchParams::default(), &kube::api::Patch::Merge(&pod)).await?;
    Ok(())
}

// row: `meta.SetStatusCondition`, `IsStatusConditionTrue`
fn conditions(conditions: &mut Vec<Condition>) -> bool {
    let ready = controller::NewCondition::new("Ready", true, "AllReady");
    controller::set_condition(conditions, ready, Timestamp::now());
    controller::is_condition_true(conditions, "Ready")
}

// row: `record.EventRecorder`, `EventCorrelator`
fn recorder(client: Client) -> controller::events::Recorder {
    controller::events::Recorder::new(client, "example")
}

// row: `controllerutil.AddFinalizer`, `RemoveFinalizer` (controller-runtime)
async fn finalizer(api: Api<K>, pod: Arc<K>) -> Done {
    let reconcile = |event| async { Ok::<_, kube::Error>(controller::Action::await_change()) };
    controller::finalizer(&api, "example.com/cleanup", pod, reconcile).await?;
    Ok(())
}

// row: `predicate.GenerationChangedPredicate`, `Or`, `And`, `Not` (controller-runtime)
fn predicates(controller: Controller<K>) -> Controller<K> {
    use controller::predicates::{Predicate, generation, labels, not};
    controller.filter(generation::<K>.or(labels).and(not(controller::predicates::deletion_timestamp)))
}

// row: `manager.Manager`, `signals.SetupSignalHandler` (controller-runtime)
fn manager() -> manager::Manager {
    manager::Manager::new().shutdown_on(manager::shutdown_signal())
}

// row: `leaderelection`
fn leader_election(
    controller: Controller<K>,
    client: Client,
) -> Result<Controller<K>, Box<dyn std::error::Error>> {
    let leases = kube_leases::Leases::leader("websites").namespace("ops").start(client)?;
    Ok(Controller::leases(controller, &leases))
}

// row: `envtest`, `fake.NewClientset`
fn devserver() -> Client {
    kube_devserver::DevServer::start().client()
}
