//! The identity of the installed recorder of the `metrics` facade.

/// Identifies a recorder, so that metric handles are registered again after another one was installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecorderId(usize);

impl RecorderId {
    /// Returns the recorder that is installed now.
    pub(crate) fn current() -> Self {
        Self(::metrics::with_recorder(|recorder| std::ptr::from_ref(recorder).cast::<()>().addr()))
    }
}
