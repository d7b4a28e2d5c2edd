# man_pages.bash PROGRAM DIR [PROGRAM DIR]...: a page of each program, and of each command that its --help lists, is in DIR; groff and
# mandoc have no complaint; and what is read of it has each option and each line of examples that --help has.
set -euo pipefail
if ! command -v groff >/dev/null; then
  echo "SKIPPED: groff is not installed (package groff-base)"
  exit 77
fi
command -v mandoc >/dev/null || echo "mandoc is not installed: groff alone reads the pages"
failed=0
complain() {
  echo "$1" >&2
  failed=1
}

# check PROGRAM DIR COMMAND...
check() {
  local program=$1 pages=$2 help name page rendered complaints word text
  shift 2
  help=$("$program" "$@" --help)
  name=$(basename "$program")
  for word in "$@"; do name+=-$word; done
  page=$pages/$name.1
  if [[ ! -s $page ]]; then
    complain "$page: there is no such page"
    return
  fi
  checked=$((checked + 1))
  complaints=$(groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null)
  if command -v mandoc >/dev/null; then complaints+=$(mandoc -Tlint -W style "$page" 2>&1 | grep -v 'line longer than 80' || true); fi
  if [[ -n $complaints ]]; then complain "$complaints"; fi
  # Lines so long that none is broken; without bold letters.
  rendered=$(groff -man -Tascii -P-c -P-b -P-u -P-o -rLL=4000n "$page" | tr --squeeze-repeats ' ')
  while read -r text; do
    if [[ -n $text && $rendered != *"$text"* ]]; then complain "$page: does not have: $text"; fi
  done < <(sed --quiet --regexp-extended 's/^  (-[^ ]*,)?(--[a-z0-9-]+).*/\2/p; s/^  (ulp .*|echo .*)/\1/p' <<<"$help" | tr --squeeze-repeats ' ')
  for word in $(sed --quiet '/^Subcommands:$/,/^$/s/^  \([a-z][^ ]*\).*/\1/p' <<<"$help"); do
    if [[ $rendered != *"$name-$word(1)"* ]]; then complain "$page: does not lead to $name-$word(1)"; fi
    check "$program" "$pages" "$@" "$word"
  done
}

while (($# >= 2)); do
  checked=0
  check "$1" "$2"
  echo "$checked pages of $(basename "$1")"
  if [[ $(find "$2" -name '*.1' | wc -l) != "$checked" ]]; then complain "$2: has pages of commands that --help does not list"; fi
  shift 2
done
exit $failed
