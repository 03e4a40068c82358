//! Controllers: the reconcile loop, and the functions that most reconcile functions need.
//!
//! [`Controller`] calls a reconcile function for each object that changed. Its [`ControllerHandle`] observes and triggers it.
//! [`predicates`] select the events that matter, [`ErrorPolicy`] decides on retries, and [`metrics`] lists the metrics.

#![cfg_attr(docsrs, doc(cfg(feature = "controller")))]

mod action;
mod reason;
pub mod predicates;
mod owner;
mod error_policy;
mod outcome;
mod history;
pub mod metrics;
mod gate;
mod error;
mod work;
mod trigger;
mod handle;
mod reconciler;
mod worker;
mod builder;

pub use action::Action;
pub use builder::Controller;
pub use error::{ControllerEnded, ControllerError};
pub use error_policy::{ErrorPolicy, OnError, Retry};
pub use gate::Gate;
pub use handle::{ControllerHandle, RunState};
pub use history::{EventReport, KeyReport, ScheduledReconcile};
pub use outcome::{Outcome, Outcomes, ReconcileResult};
pub use owner::{
    OwnerError, controller_of, controller_owner, controller_owner_ref, is_controlled_by, set_controller_owner,
};
pub use reason::Reason;
