#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that read shipped files: promtool (alerts), zsh and fish (completions), groff (man page). Missing ones are unpacked from
# their Debian packages into the cache directory, once, without installing them and without root. Prints the directory to put
# first into PATH. Fails with their names if there is no apt-get either.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/retry.sh"
tools=${STEERSMAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/steersman}/test-tools
mkdir -p "$tools/bin"
PATH=$tools/bin:$PATH

packages=
for tool in promtool:prometheus zsh:zsh fish:fish groff:groff-base; do
    command -v "${tool%:*}" >/dev/null 2>&1 || packages="$packages ${tool#*:}"
done
if [ -z "$packages" ]; then
    echo "$tools/bin"
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "not installed, and there is no apt-get to fetch them:$packages" >&2
    exit 1
fi

# The packages and their missing dependencies, without the pages and fonts of Prometheus' web interface.
needed() {
    apt-get -s --no-install-recommends install $packages 2>/dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p' | grep -v '^libjs-\|^fonts-'
}
list=$(needed) || { apt-get -q update >&2; list=$(needed); }
echo "unpacking into $tools:" $list >&2
rm -rf "$tools/new"
mkdir -p "$tools/new"
cd "$tools/new"
attempt apt-get -q download $list >&2
for package in *.deb; do
    dpkg-deb -x "$package" "$tools/new"
done
rm -rf "$tools/root" ./*.deb usr/bin/prometheus usr/share/doc usr/share/man
mv "$tools/new" "$tools/root"

# Only these tools use the libraries and macros in these folders.
libraries=$(find "$tools/root" -type d -name '*-linux-gnu' | tr '\n' ':')
macros=$(echo "$tools"/root/usr/share/groff/[0-9]*)
for found in "$tools"/root/usr/bin/promtool "$tools"/root/usr/bin/groff "$tools"/root/usr/bin/fish "$tools"/root/bin/zsh; do
    [ -x "$found" ] || continue
    program=$tools/bin/$(basename "$found")
    cat >"$program" <<WRAPPER
#!/bin/sh
export LD_LIBRARY_PATH=$libraries
export GROFF_BIN_PATH=$tools/root/usr/bin GROFF_FONT_PATH=$macros/font GROFF_TMAC_PATH=$macros/tmac
exec $found "\$@"
WRAPPER
    chmod +x "$program"
done
echo "$tools/bin"
