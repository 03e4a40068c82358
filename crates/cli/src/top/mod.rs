//! `informer top`: caches at work, on a screen.
use crate::args::Top;
pub(crate) async fn run(_asked: Top) -> anyhow::Result<()> {
    Ok(())
}
