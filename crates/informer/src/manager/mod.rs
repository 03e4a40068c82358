//! Runs several controllers with one shutdown, probes and metrics.
//!
//! [`Manager`] is optional, and each part can be used without it: [`shutdown_signal`] with
//! [`Controller::shutdown_on`](crate::controller::Controller::shutdown_on), [`PrometheusRecorder`] with any HTTP server such as
//! [`serve_text`], and [`rbac_rules`] with any informer.

#![cfg_attr(docsrs, doc(cfg(feature = "manager")))]

mod signal;
mod prometheus;
mod rbac;
mod health;
mod http;
mod runner;

pub use http::{TextResponse, serve_text};
pub use prometheus::PrometheusRecorder;
pub use rbac::{rbac_rules, role_yaml, rule};
pub use runner::{Manager, ManagerError};
pub use signal::shutdown_signal;
