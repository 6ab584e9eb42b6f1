# SPDX-License-Identifier: Apache-2.0
# attempt COMMAND…: retries while a registry answers "too many requests". Sourced by the other scripts.
attempt() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        if [ "$tries" -ge 5 ]; then
            echo "giving up after $tries attempts: $*" >&2
            return 1
        fi
        echo "attempt $tries failed, next one in $((tries * 10)) s: $*" >&2
        sleep $((tries * 10))
    done
}
