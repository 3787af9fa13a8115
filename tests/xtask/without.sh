#!/bin/sh
# Runs a program, unless it is one of the test targets in the first argument, for example `e2e,runtime`. cargo can select test
# targets by name, but not leave them out, so it runs this script in place of each test program.
left_out=$1
shift
# cargo calls a program target/debug/deps/NAME-HASH.
name=${1##*/}
name=${name%-*}
case ",$left_out," in
  *",$name,"*) echo "    $name runs in a step of its own" ;;
  *) exec "$@" ;;
esac
