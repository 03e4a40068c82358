//! Compressed lists that expand to much more than the limit of an object.

use crate::{
    case::{Case, DecompressedBy, one_at_a_time},
    hostile_response::HostileResponse,
    server::Verb,
};
use flate2::{Compression, write::GzEncoder};
use kube_informer::source::ListCompression;
use std::io::Write;

/// The decompressed size of each bomb.
const SIZE: usize = 256 << 20;

const OPEN: &str = r#"{"metadata":{"resourceVersion":"5"},"items":["#;

/// Returns a response with `start` and 256 MiB of `repeated`, compressed.
fn bomb(start: &str, repeated: u8) -> HostileResponse {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(start.as_bytes()).unwrap();
    let part = vec![repeated; 1 << 20];
    (0..SIZE / part.len()).for_each(|_| encoder.write_all(&part).unwrap());
    let body = encoder.finish().unwrap();
    assert!(body.len() < SIZE / 500, "{} bytes compressed", body.len());
    HostileResponse::raw(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n\r\n",
        body,
    )
}

/// Checks a compressed response, decompressed by the informer and by kube's client.
fn check(name: &str, response: &HostileResponse, reported: &str) {
    for decompressed_by in [DecompressedBy::Source, DecompressedBy::Client] {
        let (verb, response, compression) = (Verb::List, response.clone(), ListCompression::Gzip);
        Case { verb, name, response, compression, decompressed_by }.check_recovers(reported);
    }
}

// A14
#[test]
fn compression_bombs_are_aborted_at_the_limit_of_decompressed_bytes() {
    let _guard = one_at_a_time();
    let name = format!(r#"{OPEN}{{"metadata":{{"name":""#);
    check("a name", &bomb(&name, b'x'), "longer than 1048576 bytes");
    check("spaces", &bomb(OPEN, b' '), "longer than 1048576 bytes");
    check("a field of the list", &bomb("{\"kind\":\"", b'x'), "longer than 1048576 bytes");
    check("brackets", &bomb(OPEN, b'['), "list item is not an object");
}

#[test]
fn compressed_errors_are_limited() {
    let _guard = one_at_a_time();
    let status = bomb(r#"{"kind":"Status","message":""#, b'x').with_status("500 Internal Server Error");
    check("an error status", &status, "server returned 500");
}
