#!/usr/bin/env bash
# readme_session.bash README PROGRAM SCRATCH
# Types the commands of the README ("    $ ...") and compares what they print with what the README shows.
# Run in the project's folder. /tmp/ in the README stands for SCRATCH.
set -euo pipefail
readme=$1 program=$2 scratch=$3
rm -rf "$scratch"
mkdir -p "$scratch"
ulp() { "$program" "$@"; }

commands=0
check() {  # COMMAND EXPECTED
  local printed code=0
  printed=$(eval "$1") || code=$?
  if ((code > 1)); then
    echo "$readme: '$1' exits with $code"
    exit 1
  fi
  if [[ $printed != "$2" ]]; then
    echo "$readme: '$1' prints now:"
    diff <(echo "$2") <(echo "$printed") || exit 1
  fi
  commands=$((commands + 1))
}

command='' expected=''
while IFS= read -r line; do
  line=${line//\/tmp\//$scratch/}
  if [[ $line == '    $ '* || ($line && $line != '    '*) ]]; then
    # The end of a session, or the next command. Blank lines at the end are not output.
    while [[ $expected == *$'\n' ]]; do expected=${expected%$'\n'}; done
    if [[ $command ]]; then check "$command" "$expected"; fi
    command='' expected=''
    if [[ $line == '    $ '* ]]; then command=${line#'    $ '}; fi
  elif [[ $command ]]; then
    expected+=${line#'    '}$'\n'
  fi
done < <(cat "$readme"; echo "end of file")
echo "$commands commands of $readme print what it shows"
((commands > 0))
