//! The random objects that a program writes which knows the Go types.

use bytes::Bytes;
use std::process::Command;

/// One object in both encodings.
#[derive(Debug)]
pub struct Object {
    pub api_version: String,
    pub kind: String,
    pub json: Bytes,
    /// A whole body, with its envelope.
    pub protobuf: Bytes,
}

/// Runs the program that `KINDS_FILL` names, and reads what it writes.
pub fn random(seed: u32, count: u32) -> Vec<Object> {
    let program = std::env::var("KINDS_FILL").expect("`cargo xtask test tables` says where the program is");
    let output = Command::new(program)
        .args(["-seed", &seed.to_string(), "-count", &count.to_string()])
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
