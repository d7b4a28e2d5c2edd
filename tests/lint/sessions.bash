#!/usr/bin/env bash
# sessions.bash [--update] PROGRAM SCRATCH PAGE...
# Runs the commands that the pages show ("    $ ...") and compares their output with what follows in the page.
# Run in the project's folder. /tmp/ in a page stands for SCRATCH. With --update the pages are rewritten instead.
set -euo pipefail
update=''
if [[ $1 == --update ]]; then update=yes; shift; fi
program=$1 scratch=$2
shift 2
rm -rf "$scratch"
mkdir -p "$scratch"
ulp() { "$program" "$@"; }

commands=0
run() {  # PAGE COMMAND: sets $printed, with SCRATCH as /tmp/
  local code=0
  printed=$(eval "${2//\/tmp\//$scratch/}") || code=$?
  if ((code > 1 && code != 141)); then  # 141: head had enough
    echo "$1: '$2' exits with $code"
    exit 1
  fi
  printed=${printed//$scratch\///tmp/}
  commands=$((commands + 1))
}

check() {  # PAGE COMMAND EXPECTED
  run "$1" "$2"
  if [[ $printed != "$3" ]]; then
    echo "$1: '$2' now prints (update with $0 --update PROGRAM SCRATCH PAGE...):"
    diff <(echo "$3") <(echo "$printed") || exit 1
  fi
}

# A page's output ends at the next command or at a line that is not indented; blank lines at its end are not part of it.
check_page() {  # PAGE
  local line command='' expected=''
  while IFS= read -r line; do
    if [[ $line == '    $ '* || ($line && $line != '    '*) ]]; then
      while [[ $expected == *$'\n' ]]; do expected=${expected%$'\n'}; done
      if [[ $command ]]; then check "$1" "$command" "$expected"; fi
      command='' expected=''
      if [[ $line == '    $ '* ]]; then command=${line#'    $ '}; fi
    elif [[ $command ]]; then
      expected+=${line#'    '}$'\n'
    fi
  done < <(cat "$1"; echo "end of file")
}

update_page() {  # PAGE
  local line in_output=''
  while IFS= read -r line; do
    if [[ $line == '    $ '* ]]; then
      [[ $in_output ]] && echo  # two commands in a row
      echo "$line"
      run "$1" "${line#'    $ '}"
      sed 's/^\(.\)/    \1/' <<<"$printed"
      in_output=yes
    elif [[ $in_output && (-z $line || $line == '    '*) ]]; then
      :
    else
      [[ $in_output ]] && echo
      in_output=''
      echo "$line"
    fi
  done <"$1" >"$scratch/page"
  cat "$scratch/page" >"$1"
}

for page in "$@"; do
  if [[ $update ]]; then update_page "$page"; else check_page "$page"; fi
done
echo "$commands commands of $*"
((commands > 0))
