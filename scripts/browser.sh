#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the path of Chromium for the tests of web pages. If it is missing, unpacks Debian's package and its dependencies into the
# cache directory, once, without installing them and without root. Fails with the reason if there is no apt-get either.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/retry.sh"
for program in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    [ -n "$program" ] && command -v "$program" && exit 0
done
browser=${STEERSMAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/steersman}/browser
if [ -x "$browser/chromium" ]; then
    echo "$browser/chromium"
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Chromium is not installed, and there is no apt-get to fetch it" >&2
    exit 1
fi

needed() {
    apt-get -s --no-install-recommends install chromium fonts-dejavu-core 2>/dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p' | grep .
}
list=$(needed) || { apt-get -q update >&2; list=$(needed); }
echo "unpacking into $browser:" $list >&2
rm -rf "$browser"
mkdir -p "$browser/new"
cd "$browser/new"
attempt apt-get -q download $list >&2
for package in *.deb; do
    dpkg-deb -x "$package" "$browser/new"
done
rm -rf ./*.deb usr/share/doc usr/share/man usr/share/locale
mv "$browser/new" "$browser/root"

# Only Chromium uses these libraries and fonts.
libraries=$(find "$browser/root" -name '*.so*' -exec dirname {} + | sort -u | tr '\n' ':')
cat >"$browser/fonts.conf" <<FONTS
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><include ignore_missing="yes">/etc/fonts/fonts.conf</include>
<dir>$browser/root/usr/share/fonts</dir><cachedir>$browser/fonts</cachedir>
<alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
<match target="pattern"><edit name="family" mode="append_last"><string>DejaVu Sans</string></edit></match>
</fontconfig>
FONTS
cat >"$browser/chromium" <<WRAPPER
#!/bin/sh
export LD_LIBRARY_PATH=$libraries FONTCONFIG_FILE=$browser/fonts.conf
exec $browser/root/usr/lib/chromium/chromium "\$@"
WRAPPER
chmod +x "$browser/chromium"
"$browser/chromium" --version >&2 || { rm "$browser/chromium"; exit 1; }
echo "$browser/chromium"
