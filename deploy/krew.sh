#!/usr/bin/env bash
# Writes the krew manifest of a release: krew.sh VERSION FOLDER, with the archives and checksums of the release in FOLDER.
set -euo pipefail
version=${1:?usage: krew.sh VERSION FOLDER}
folder=${2:?usage: krew.sh VERSION FOLDER}
url=https://github.com/kube-informer/kube-informer/releases/download

platform() {
  local os=$1 arch=$2 target=$3 sum
  sum=$(awk 'NR == 1 { print $1 }' "$folder/informer-$target.sha256")
  cat <<YAML
    - selector: { matchLabels: { os: $os, arch: $arch } }
      uri: $url/$version/informer-$target.tar.gz
      sha256: $sum
      bin: informer
YAML
}

cat <<YAML
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: informer
spec:
  version: $version
  homepage: https://github.com/kube-informer/kube-informer
  shortDescription: Show what changes in a cluster, and who changed it
  description: |
    Watches any resource and prints every change in words, with the previous value and the field manager. Records changes, and
    shows the state of the cluster at any moment.
  platforms:
YAML
platform linux amd64 x86_64-unknown-linux-gnu
platform linux arm64 aarch64-unknown-linux-gnu
platform darwin amd64 x86_64-apple-darwin
platform darwin arm64 aarch64-apple-darwin
