//! The outcome of a pod, by its annotation and its restart policy.

use serde_json::Value;

/// The annotation of a pod that chooses its outcome.
pub(crate) const ANNOTATION: &str = "devserver.kube-informer.dev/outcome";

/// The outcome of a pod, as the [kubelet](crate::Kubelet) of the server reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It runs and is ready.
    Run,
    /// It runs and is never ready.
    NotReady,
    /// It runs, and then all containers exit with 0.
    Succeed,
    /// It runs, and then all containers exit with 1. A pod that is restarted crashes again and again instead.
    Fail,
    /// Its containers exit with 1 again and again.
    CrashLoop,
    /// Its containers never start.
    Pending,
}

impl Outcome {
    /// Returns the value of the annotation.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::NotReady => "not-ready",
            Self::Succeed => "succeed",
            Self::Fail => "fail",
            Self::CrashLoop => "crash-loop",
            Self::Pending => "pending",
        }
    }

    /// Returns the outcome that the annotation of a pod names. Without it, pods that are restarted always run, and others succeed.
    pub(super) fn of(pod: &Value) -> Self {
        let annotations = pod.pointer("/metadata/annotations");
        let named =
            annotations.and_then(|all| all.get(ANNOTATION)).and_then(Value::as_str).unwrap_or_default();
        match named {
            "run" => Self::Run,
            "not-ready" => Self::NotReady,
            "succeed" => Self::Succeed,
            "fail" if restart_policy(pod) == "Never" => Self::Fail,
            "fail" | "crash-loop" => Self::CrashLoop,
            "pending" => Self::Pending,
            other => {
                if !other.is_empty() {
                    tracing::warn!(
                        outcome = other,
                        "unknown value of the annotation {ANNOTATION}; expected run, not-ready, succeed, fail, crash-loop or pending"
                    );
                }
                match restart_policy(pod) {
                    "Never" | "OnFailure" => Self::Succeed,
                    _ => Self::Run,
                }
            }
        }
    }
}

fn restart_policy(pod: &Value) -> &str {
    pod.pointer("/spec/restartPolicy").and_then(Value::as_str).unwrap_or("Always")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_annotation_decides_before_the_restart_policy() {
        let pod = |outcome: &str, policy: &str| json!({ "metadata": { "annotations": { ANNOTATION: outcome } }, "spec": { "restartPolicy": policy } });
        assert_eq!(Outcome::of(&json!({})), Outcome::Run);
        assert_eq!(Outcome::of(&pod("", "Always")), Outcome::Run);
        assert_eq!(Outcome::of(&pod("", "Never")), Outcome::Succeed);
        assert_eq!(Outcome::of(&pod("", "OnFailure")), Outcome::Succeed);
        assert_eq!(Outcome::of(&pod("run", "Never")), Outcome::Run);
        assert_eq!(Outcome::of(&pod("crash-loop", "Always")), Outcome::CrashLoop);
        assert_eq!(Outcome::of(&pod("fail", "Never")), Outcome::Fail);
        assert_eq!(Outcome::of(&pod("fail", "OnFailure")), Outcome::CrashLoop);
        assert_eq!(Outcome::of(&pod("misspelt", "Always")), Outcome::Run);
    }
}
