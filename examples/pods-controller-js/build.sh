#!/bin/sh
# Builds the component: ./build.sh OUTPUT.wasm
set -eu
[ $# -eq 1 ] || { echo "usage: build.sh OUTPUT.wasm" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/../../plugins/sdk/javascript/build.sh" "$here/pods.js" controller "$1"
