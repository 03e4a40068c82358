//! One reconcile: calls the user's functions, and catches their panics.

use super::{
    action::Action,
    error_policy::{ErrorPolicy, OnError, Retry},
};
use crate::{
    boxed::{BoxError, error_chain},
    cache::Store,
};
use futures_util::FutureExt;
use kube_informer_wire::Key;
use std::{any::Any, marker::PhantomData, panic::AssertUnwindSafe, sync::Arc};

/// The reconcile function of a controller with its error policy and context.
pub(super) trait Reconciler: Send + Sync + 'static {
    fn reconcile(&self, key: Key) -> impl Future<Output = Attempt> + Send;
    fn backoff_policy(&self) -> ErrorPolicy;
}

/// The result of one reconcile.
pub(super) enum Attempt {
    Succeeded(Action),
    /// The object does not exist.
    Gone,
    Failed {
        error: Arc<str>,
        retry: Retry,
    },
    Panicked {
        message: Arc<str>,
    },
}

/// A reconcile function that takes the object.
pub(super) struct ByObject<K, F, P, C, E> {
    pub(super) store: Store<K>,
    pub(super) functions: Functions<F, P, C, E>,
}

/// A reconcile function that takes the key.
pub(super) struct ByKey<F, P, C, E> {
    pub(super) functions: Functions<F, P, C, E>,
}

/// The functions of a controller.
pub(super) struct Functions<F, P, C, E> {
    reconcile: F,
    error_policy: P,
    context: Arc<C>,
    error: PhantomData<fn() -> E>,
}

impl<F, P, C, E> Functions<F, P, C, E> {
    pub(super) fn new(reconcile: F, error_policy: P, context: Arc<C>) -> Self {
        Self { reconcile, error_policy, context, error: PhantomData }
    }

    async fn call<S, T>(&self, subject: S) -> Attempt
    where
        S: Clone,
        F: Fn(S, Arc<C>) -> T,
        T: Future<Output = Result<Action, E>>,
        P: OnError<S, E, C>,
        E: Into<BoxError>,
    {
        let reconcile = async { (self.reconcile)(subject.clone(), Arc::clone(&self.context)).await };
        match AssertUnwindSafe(reconcile).catch_unwind().await {
            Ok(Ok(action)) => Attempt::Succeeded(action),
            Ok(Err(error)) => self.failed(subject, error),
            Err(panic) => Attempt::Panicked { message: panic_message(&*panic) },
        }
    }

    /// Asks the error policy, and formats the error. Both are the user's code, which may panic.
    fn failed<S>(&self, subject: S, error: E) -> Attempt
    where
        P: OnError<S, E, C>,
        E: Into<BoxError>,
    {
        let ask = || self.error_policy.on_error(subject, &error, Arc::clone(&self.context));
        let retry = std::panic::catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|_| {
            tracing::error!("error policy panicked; retrying with backoff");
            Retry::Backoff
        });
        let format = || error_chain(&*error.into());
        match std::panic::catch_unwind(AssertUnwindSafe(format)) {
            Ok(error) => Attempt::Failed { error: error.into(), retry },
            Err(panic) => Attempt::Panicked { message: panic_message(&*panic) },
        }
    }
}

impl<K, F, T, E, P, C> Reconciler for ByObject<K, F, P, C, E>
where
    K: Send + Sync + 'static,
    F: Fn(Arc<K>, Arc<C>) -> T + Send + Sync + 'static,
    T: Future<Output = Result<Action, E>> + Send + 'static,
    E: Into<BoxError> + Send + 'static,
    P: OnError<Arc<K>, E, C>,
    C: Send + Sync + 'static,
{
    async fn reconcile(&self, key: Key) -> Attempt {
        match self.store.get(&key) {
            Some(object) => self.functions.call(object).await,
            None => Attempt::Gone,
        }
    }

    fn backoff_policy(&self) -> ErrorPolicy {
        self.functions.error_policy.backoff_policy()
    }
}

impl<F, T, E, P, C> Reconciler for ByKey<F, P, C, E>
where
    F: Fn(Key, Arc<C>) -> T + Send + Sync + 'static,
    T: Future<Output = Result<Action, E>> + Send + 'static,
    E: Into<BoxError> + Send + 'static,
    P: OnError<Key, E, C>,
    C: Send + Sync + 'static,
{
    async fn reconcile(&self, key: Key) -> Attempt {
        self.functions.call(key).await
    }

    fn backoff_policy(&self) -> ErrorPolicy {
        self.functions.error_policy.backoff_policy()
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> Arc<str> {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a message").into()
}
