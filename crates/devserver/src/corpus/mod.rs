//! Realistic objects in any number, determined by a seed.
//!
//! Benchmarks, demos and tests are comparable only if they use the same objects. Therefore each pod is a
//! function of the seed and its index, and a [`Checksum`] shows whether two corpora are equal.
//!
//! ```
//! use kube_devserver::corpus::Pods;
//!
//! let pods = Pods::new(7);
//! assert_eq!(pods.pod(3), pods.pod(3));
//! println!("1,000 pods, checksum {}", pods.checksum(1_000));
//! ```

mod random;

mod words;

mod plan;

mod managed;

mod template;

mod checksum;

mod pods;

mod widgets;

mod mutate;

#[cfg(test)]
mod tests;

pub use checksum::Checksum;
pub use mutate::mutate;
pub use pods::Pods;
pub use widgets::Widgets;
