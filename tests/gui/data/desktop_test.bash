#!/usr/bin/env bash
# desktop_test.bash DATA EXAMPLE SCRATCH
# Pins what the desktop is told: the files are valid where their validators are installed and agree with each other on
# names, and a recording is known by its name, and by its content whatever its name, where shared-mime-info and gio are
# installed.
set -euo pipefail
data=$1 example=$2 scratch=$3
id=org.ulpscope.ulpscope mime=application/x-ulpscope-recording
rm -rf "$scratch"
mkdir -p "$scratch/mime/packages"

fail() { echo "$*"; exit 1; }
have() { command -v "$1" >/dev/null || { echo "not checked: $1 is not installed"; return 1; }; }
holds() { grep --quiet --fixed-strings --line-regexp -- "$2" "$data/$id.$1" || fail "$id.$1 lacks the line '$2'"; }

holds desktop "MimeType=$mime;"
holds desktop "Icon=$id"
holds metainfo.xml "  <id>$id</id>"
holds metainfo.xml "  <project_license>GPL-3.0-only</project_license>"
holds metainfo.xml "  <launchable type=\"desktop-id\">$id.desktop</launchable>"
holds metainfo.xml "    <mediatype>$mime</mediatype>"
holds mime.xml "  <mime-type type=\"$mime\">"

if have desktop-file-validate; then
  printed=$(desktop-file-validate "$data/$id.desktop" 2>&1) || fail "$printed"
  [[ -z $printed ]] || fail "$printed"
fi
if have appstreamcli; then
  printed=$(appstreamcli validate --no-net "$data/$id.metainfo.xml" 2>&1) || fail "$printed"
fi
if have xmllint; then xmllint --noout "$data/$id.mime.xml" "$data/$id.metainfo.xml" "$data/$id.svg"; fi
if have rsvg-convert; then
  for size in 16 48 256; do rsvg-convert --width $size "$data/$id.svg" --output "$scratch/$size.png"; done
  (($(stat --format %s "$scratch/256.png") > 3000)) || fail "the icon is almost empty"
fi
if have update-mime-database && have gio; then
  packages=/usr/share/mime/packages/freedesktop.org.xml
  if [[ -f $packages ]]; then cp "$packages" "$scratch/mime/packages/"; fi
  cp "$data/$id.mime.xml" "$scratch/mime/packages/$id.xml"
  printed=$(update-mime-database "$scratch/mime" 2>&1) || fail "$printed"
  type_of() {
    env XDG_DATA_HOME="$scratch" XDG_DATA_DIRS="$scratch/none" gio info --attributes=standard::content-type "$1" |
      sed -n 's/ *standard::content-type: //p'
  }
  cp "$example" "$scratch/run.ulp"
  cp "$example" "$scratch/run.backup"
  head --bytes=68 "$example" >"$scratch/other"
  printf 'fish' >>"$scratch/other"
  tail --bytes=+73 "$example" >>"$scratch/other"
  for file in run.ulp run.backup; do
    [[ $(type_of "$scratch/$file") == "$mime" ]] || fail "$file is taken for $(type_of "$scratch/$file")"
  done
  [[ $(type_of "$scratch/other") != "$mime" ]] || fail "a database of another program is taken for a recording"
fi
echo "the desktop's files are in order"
