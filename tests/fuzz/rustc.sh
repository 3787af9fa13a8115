#!/bin/sh
# Calls rustc with the instrumentation of libFuzzer. cargo runs it in place of rustc for the crates of this workspace only, so
# their dependencies are those of every other build.
exec "$@" \
  -Cpasses=sancov-module \
  -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
  -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares
