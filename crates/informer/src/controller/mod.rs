//! Controllers: the reconcile loop, and the functions that most reconcile functions need.
//!
//! [`Controller`] calls a reconcile function for each object that changed. Its [`ControllerHandle`] observes and triggers it.
//! [`predicates`] select the events that matter, [`ErrorPolicy`] decides on retries, and [`metrics`] lists the metrics.
//!
//! | a reconcile function needs | use |
//! |---|---|
//! | cleanup before a deletion | [`finalizer`] |
//! | to write owned objects and the status | [`apply`], [`apply_status`], [`retry_on_conflict`] |
//! | owner references | [`set_controller_owner`], [`controller_owner_ref`] |
//! | status conditions | [`set_condition`] |
//! | events for `kubectl describe` | [`events::Recorder`] |
//! | its own writes in the cache | [`Informer::written`](crate::Informer::written), [`MutationCache`] |

#![cfg_attr(docsrs, doc(cfg(feature = "controller")))]

mod action;
mod recent;
mod conflict;
mod apply;
mod conditions;
mod finalizer;
mod mutation_cache;
pub mod events;
mod reason;
pub mod predicates;
mod owner;
mod error_policy;
mod outcome;
mod history;
pub mod metrics;
mod gate;
mod error;
mod reconciler;
mod permit;
mod work;
mod trigger;
mod handle;
#[cfg(feature = "leases")]
mod recreation;
#[cfg(feature = "leases")]
mod leases;
mod worker;
mod builder;

pub use action::Action;
pub use apply::{apply, apply_status};
pub use builder::Controller;
pub use conditions::{
    ConditionStatus, NewCondition, find_condition, is_condition_true, remove_condition, set_condition,
};
pub use conflict::{is_conflict, retry_on_conflict};
pub use error::{ControllerEnded, ControllerError};
pub use error_policy::{ErrorPolicy, OnError, Retry};
pub use finalizer::{FinalizerError, FinalizerEvent, finalizer};
pub use gate::Gate;
pub use handle::{ControllerHandle, RunState};
pub use history::{EventReport, KeyReport, ScheduledReconcile};
pub use mutation_cache::MutationCache;
pub use outcome::{Outcome, Outcomes, ReconcileResult};
pub use owner::{
    OwnerError, controller_of, controller_owner, controller_owner_ref, is_controlled_by, set_controller_owner,
};
pub use reason::{Reason, RelatedObject};
