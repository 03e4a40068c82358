//! Random objects, written by a program that uses the Go types.

use bytes::Bytes;
use std::process::Command;

/// One object in both encodings.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) json: Bytes,
    /// A body with its envelope.
    pub(crate) protobuf: Bytes,
}

/// Whether times are set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Times {
    Set,
    /// Some are null in JSON, even those that the API does not allow to be null.
    SomeUnset,
}

/// Runs the program that `KINDS_FILL` names, and reads its output.
pub(crate) fn random(seed: u32, times: Times) -> Vec<Object> {
    let program = std::env::var("KINDS_FILL").expect("set by `cargo xtask test tables`");
    let output = Command::new(program)
        .args(["-seed", &seed.to_string(), "-count", "10"])
        .arg(match times {
            Times::Set => "-unset=false",
            Times::SomeUnset => "-unset=true",
        })
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    read(output.stdout.into())
}

fn read(mut stream: Bytes) -> Vec<Object> {
    let mut objects = Vec::new();
    while !stream.is_empty() {
        let [api_version, kind, json, protobuf] = std::array::from_fn(|_| {
            let length = stream.split_to(4);
            stream.split_to(u32::from_be_bytes(length[..].try_into().unwrap()) as usize)
        });
        let utf8 = |text: Bytes| String::from_utf8(text.into()).unwrap();
        objects.push(Object { api_version: utf8(api_version), kind: utf8(kind), json, protobuf });
    }
    objects
}
