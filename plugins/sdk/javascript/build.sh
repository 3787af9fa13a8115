#!/bin/sh
# Builds a component from a module, for a world of wit/: ./build.sh MODULE.js WORLD OUTPUT.wasm
# It installs the toolchain from npm, pinned by package-lock.json, into a folder outside the repository.
set -eu

fail() {
    echo "build.sh: $1" >&2
    exit 1
}

[ $# -eq 3 ] || fail "usage: build.sh MODULE.js WORLD OUTPUT.wasm"
command -v node >/dev/null || fail "node is missing: install Node.js 18 or newer"
command -v npm >/dev/null || fail "npm is missing: it comes with Node.js, or as a package of its own"

here=$(cd "$(dirname "$0")" && pwd)
pinned=$(cat "$here/package.json" "$here/package-lock.json" | cksum | tr ' ' '-')
toolchain=${XDG_CACHE_HOME:-$HOME/.cache}/informer/npm/$pinned

if [ ! -d "$toolchain" ]; then
    # Install beside the final place, then move: a broken download never becomes the toolchain.
    staging=$toolchain.$$
    trap 'rm -rf "$staging"' EXIT
    mkdir -p "$staging"
    cp "$here/package.json" "$here/package-lock.json" "$staging"
    (cd "$staging" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2) ||
        fail "npm could not install the toolchain; it needs the npm registry once"
    [ -d "$toolchain" ] || mv "$staging" "$toolchain"
fi

mkdir -p "$(dirname "$3")"
# --sync: the host supports the synchronous ABI only.
"$toolchain/node_modules/.bin/componentize-qjs" --wit "$here/../../../wit" --world "$2" \
    --js "$1" --module-root "$(dirname "$1")" --sync --output "$3" >&2
