//! `informer demo`: a look at everything, without a cluster.
use crate::args::Demo;
pub(crate) async fn run(_asked: &Demo) -> anyhow::Result<()> {
    Ok(())
}
