#!/bin/sh
# The least that is a child of llama-server's protocol: up at once, and gone when it is told so, or when its stdin ends.
case "$*" in
  *--help*)
    echo '-m,    --model FNAME                    model path to load (env: LLAMA_ARG_MODEL)'
    exit 0
    ;;
  *--list-devices* | *--version*) exit 0 ;;
esac
echo 'cmd_child_to_router:state:{"state":"ready","payload":{"meta":{"n_ctx":4096}}}'
read -r line
