//! The page: the bundle that is built from `web/` and part of the program.

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub(super) media: &'static str,
    pub(super) contents: &'static [u8],
}

const HTML: File = File { media: "text/html; charset=utf-8", contents: include_bytes!("dist/index.html") };
const SCRIPT: File =
    File { media: "text/javascript; charset=utf-8", contents: include_bytes!("dist/app.js") };
const STYLE: File = File { media: "text/css; charset=utf-8", contents: include_bytes!("dist/app.css") };
const ICON: File = File { media: "image/svg+xml", contents: include_bytes!("dist/icon.svg") };

/// Returns the file of a path.
pub(super) fn file(path: &str) -> Option<File> {
    match path {
        "/" | "/index.html" => Some(HTML),
        "/app.js" => Some(SCRIPT),
        "/app.css" => Some(STYLE),
        "/icon.svg" => Some(ICON),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_no_inline_script_and_needs_no_other_server() {
        let html = String::from_utf8_lossy(HTML.contents);
        assert!(html.contains("<script type=\"module\" crossorigin src=\"/app.js\"></script>"), "{html}");
        assert_eq!(html.matches("<script").count(), 1);
        assert!(!html.contains("http") && !html.contains("style=") && !html.contains(" on"), "{html}");
        assert!(file("/../Cargo.toml").is_none() && file("/missing").is_none());
    }
}
