//! The files that a run leaves, written anew after each client: one that is cut off, or fails, leaves what it had.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use crate::file;

/// Where the documents of a run go, and how they are drawn.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    json: Option<&'a Path>,
    svg: Option<&'a Path>,
    draw: fn(&[Value]) -> String,
    /// Those that are complete.
    documents: Vec<Value>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(json: Option<&'a Path>, svg: Option<&'a Path>, draw: fn(&[Value]) -> String) -> Self {
        Self { json, svg, draw, documents: Vec::new() }
    }

    /// Writes the complete documents and this one, which takes the place of the last one unless that was complete.
    pub(crate) fn put(&mut self, document: Value, is_complete: bool) -> Result<()> {
        self.documents.push(document);
        if let Some(file) = self.svg {
            file::put(file, &(self.draw)(&self.documents))?;
        }
        if let Some(file) = self.json {
            file::put(file, &format!("{:#}\n", Value::from(self.documents.as_slice())))?;
        }
        if !is_complete {
            self.documents.pop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    #[test]
    fn what_is_complete_stays_and_the_rest_is_replaced() {
        let folder = std::env::temp_dir().join(format!("xtask-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (json, svg) = (folder.join("figures.json"), folder.join("figures.svg"));
        let mut files = Files::new(Some(&json), Some(&svg), |documents| format!("{} drawn", documents.len()));
        let read = || serde_json::from_str::<Value>(&fs::read_to_string(&json).unwrap()).unwrap();
        for (document, is_complete, wanted) in
            [(1, false, json!([1])), (2, true, json!([2])), (3, false, json!([2, 3]))]
        {
            files.put(document.into(), is_complete).unwrap();
            assert_eq!(read(), wanted);
        }
        assert_eq!(fs::read_to_string(&svg).unwrap(), "2 drawn");
        fs::remove_dir_all(&folder).unwrap();
    }
}
