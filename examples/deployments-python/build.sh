#!/bin/sh
# Builds the component: ./build.sh OUTPUT.wasm
# It installs the toolchain from PyPI, pinned by plugins/sdk/python/requirements.txt, into a folder outside the repository.
set -eu

fail() {
    echo "build.sh: $1" >&2
    exit 1
}

[ $# -eq 1 ] || fail "usage: build.sh OUTPUT.wasm"
command -v python3 >/dev/null || fail "python3 is missing: install Python 3.9 or newer"

here=$(cd "$(dirname "$0")" && pwd)
pinned=$(cksum <"$here/../../plugins/sdk/python/requirements.txt" | tr ' ' '-')
toolchain=${XDG_CACHE_HOME:-$HOME/.cache}/informer/python/$pinned
scratch=$(mktemp -d)
staging=$toolchain.$$
trap 'rm -rf "$scratch" "$staging"' EXIT

if [ ! -d "$toolchain" ]; then
    python3 -m pip --version >/dev/null 2>&1 || fail "pip is missing: install the package python3-pip"
    # Install beside the final place, then move: a broken download never becomes the toolchain.
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$staging" \
        --no-deps --only-binary :all: --require-hashes --requirement "$here/../../plugins/sdk/python/requirements.txt" >&2 ||
        fail "pip could not install the toolchain; it needs PyPI once"
    [ -d "$toolchain" ] || mv "$staging" "$toolchain"
fi

# Build from a copy: the build imports the plugin, and Python writes byte code beside the source.
cp "$here/deployments.py" "$scratch"
mkdir -p "$(dirname "$1")"
PYTHONPATH=$toolchain python3 -c 'import sys, componentize_py; sys.exit(componentize_py.script())' \
    --quiet --wit-path "$here/../../wit" --world event-handler-with-lister \
    componentize --python-path "$scratch" --output "$1" deployments
