//! `informer new-operator`: writes the project of a new operator, which builds, tests and runs at once.

mod names;

use crate::{
    args::NewOperator,
    cli_error::{Class, CliError},
};
use anyhow::{Context, Result};
use names::Names;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The path of each file, and its text with placeholders.
const TEMPLATE: [(&str, &str); 16] = [
    (".dockerignore", include_str!("template/dockerignore.template")),
    (".gitignore", include_str!("template/gitignore.template")),
    ("Cargo.toml", include_str!("template/Cargo.toml.template")),
    ("Dockerfile", include_str!("template/Dockerfile.template")),
    ("README.md", include_str!("template/README.md.template")),
    ("examples/local.rs", include_str!("template/examples/local.rs.template")),
    ("manifests/crd.yaml", include_str!("template/manifests/crd.yaml.template")),
    ("manifests/deployment.yaml", include_str!("template/manifests/deployment.yaml.template")),
    ("manifests/example.yaml", include_str!("template/manifests/example.yaml.template")),
    ("manifests/rbac.yaml", include_str!("template/manifests/rbac.yaml.template")),
    ("src/lib.rs", include_str!("template/src/lib.rs.template")),
    ("src/main.rs", include_str!("template/src/main.rs.template")),
    ("src/operator.rs", include_str!("template/src/operator.rs.template")),
    ("src/resource.rs", include_str!("template/src/resource.rs.template")),
    ("tests/manifests.rs", include_str!("template/tests/manifests.rs.template")),
    ("tests/operator.rs", include_str!("template/tests/operator.rs.template")),
];

/// Writes the project, and prints what to do next.
pub(crate) fn run(options: &NewOperator) -> Result<()> {
    let names = Names::new(&options.name, options.kind.as_deref(), &options.group)
        .map_err(|error| CliError::new(Class::Usage, error.to_string()))?;
    let folder = options.dir.clone().unwrap_or_else(|| PathBuf::from(&names.name));
    let dependencies = Dependencies::new(options.source.as_deref())?;
    prepare(&folder)?;
    for (path, template) in TEMPLATE {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        }
        let text = fill(template, &names, &dependencies);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    println!("{}: an operator for {} ({}.{})", folder.display(), names.kind, names.plural, names.group);
    println!("\n  cd {}\n  cargo test\n  cargo run --example local", folder.display());
    Ok(())
}

/// The dependencies on the crates of this workspace, as text of the manifest.
struct Dependencies {
    kube_informer: String,
    kube_leases: String,
    kube_devserver: String,
}

impl Dependencies {
    fn new(source: Option<&Path>) -> Result<Self> {
        let Some(source) = source else {
            let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
            return Ok(Self {
                kube_informer: version.clone(),
                kube_leases: version.clone(),
                kube_devserver: version,
            });
        };
        let path = |name: &str| -> Result<String> {
            let path = source.join("crates").join(name);
            let path = fs::canonicalize(&path)
                .with_context(|| format!("{} is not a checkout of kube-informer", source.display()))?;
            // A JSON string of a path is a TOML string as well.
            Ok(format!("path = {}", serde_json::to_string(&path.to_string_lossy())?))
        };
        Ok(Self {
            kube_informer: path("informer")?,
            kube_leases: path("leases")?,
            kube_devserver: path("devserver")?,
        })
    }
}

/// Creates the folder, or checks that it is empty.
fn prepare(folder: &Path) -> Result<()> {
    let refuse = |problem: &str| {
        let text = format!("{} {problem}", folder.display());
        Err(CliError::new(Class::Usage, text).hint("choose another folder with --dir").into())
    };
    match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => refuse("is not empty"),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => refuse("is not a folder"),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", folder.display())),
    }
}

/// Replaces the placeholders.
fn fill(template: &str, names: &Names, dependencies: &Dependencies) -> String {
    template
        .replace("{{name}}", &names.name)
        .replace("{{crate}}", &names.crate_name())
        .replace("{{kind}}", &names.kind)
        .replace("{{singular}}", &names.kind.to_lowercase())
        .replace("{{plural}}", &names.plural)
        .replace("{{group}}", &names.group)
        .replace("{{rust_version}}", env!("CARGO_PKG_RUST_VERSION"))
        .replace("{{kube_informer}}", &dependencies.kube_informer)
        .replace("{{kube_leases}}", &dependencies.kube_leases)
        .replace("{{kube_devserver}}", &dependencies.kube_devserver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_filled() {
        let names = Names::new("website-operator", None, "example.com").unwrap();
        let dependencies = Dependencies::new(None).unwrap();
        for (path, template) in TEMPLATE {
            let text = fill(template, &names, &dependencies);
            assert!(!text.contains("{{") && !text.contains("}}\""), "{path}");
            assert!(text.ends_with('\n'), "{path}");
        }
    }
}
