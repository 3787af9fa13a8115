#!/bin/sh
# Checks the documentation of a crate and writes none: writing it adds to an index that all crates share, which takes seconds for
# each crate. `--check` is unstable, so RUSTC_BOOTSTRAP gives this rustdoc the options of a nightly one.
RUSTC_BOOTSTRAP=1 exec rustdoc -Z unstable-options --check "$@"
