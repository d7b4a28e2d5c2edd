#!/usr/bin/env bash
# smoke_test.bash ULPSCOPE EXAMPLE SCRATCH
# Pins the program in a real window: under Xvfb with openbox and xdotool it opens the example run, shows every view by
# Ctrl+1 to 9, exports one by the menu's keys, and ends cleanly when its window is closed.
set -euo pipefail
ulpscope=$1 example=$2 scratch=$3
for program in Xvfb openbox xdotool; do
  command -v $program >/dev/null || { echo "SKIPPED: $program is not installed"; exit 0; }
done
rm -rf "$scratch"
mkdir -p --mode=700 "$scratch/home"
export HOME=$scratch/home XDG_CONFIG_HOME=$scratch/home XDG_RUNTIME_DIR=$scratch/home LC_ALL=C.UTF-8 LANGUAGE= QT_SCALE_FACTOR=1
export QT_QPA_PLATFORM=xcb
unset WAYLAND_DISPLAY

fail() {
  echo "$*"
  cat "$scratch"/*.log
  exit 1
}
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait' EXIT
until_true() { # SECONDS COMMAND...
  local tries=$(($1 * 20))
  shift
  until "$@" >/dev/null 2>&1; do
    ((tries-- > 0)) || return 1
    sleep 0.05
  done
}

# Xvfb chooses a display that is free, and says which.
Xvfb -displayfd 3 -screen 0 1280x900x24 -nolisten tcp 3>"$scratch/display" >"$scratch/xvfb.log" 2>&1 &
pids+=($!)
until_true 10 test -s "$scratch/display" || fail "Xvfb does not start"
DISPLAY=:$(<"$scratch/display")
export DISPLAY
openbox >"$scratch/openbox.log" 2>&1 &
pids+=($!)
until_true 10 xdotool get_num_desktops || fail "openbox does not start"

"$ulpscope" "$example" --set init_scale=16777216 >"$scratch/ulpscope.log" 2>&1 &
viewer=$!
pids+=("$viewer")
title="$(basename "$example") - ulpscope"
until_true 20 xdotool search --name "^$title\$" || fail "no window is titled '$title'"
window=$(xdotool search --name "^$title\$" | head -1)
xdotool windowactivate --sync "$window"

for number in 1 2 3 4 5 6 7 8 9 2; do
  xdotool key "ctrl+$number"
  sleep 0.1
  kill -0 "$viewer" || fail "ulpscope ended at Ctrl+$number"
done
xdotool key alt+Right ctrl+n Escape

# Ctrl+E asks for a name; what is typed is where the picture goes, and tells which view it is of.
xdotool key ctrl+e
until_true 10 xdotool search --name '^Export the view$' || fail "Ctrl+E asks nothing"
xdotool windowactivate --sync "$(xdotool search --name '^Export the view$' | head -1)"
xdotool key ctrl+a
xdotool type --delay 2 "$scratch/window.svg"
xdotool key Return
until_true 10 test -s "$scratch/window.svg" || fail "no picture was exported"
grep --quiet '<title>Window</title>' "$scratch/window.svg" || fail "the picture is not of the view that is shown"

# As by the cross in its frame.
xdotool windowactivate --sync "$window" key alt+F4
until_true 10 bash -c "! kill -0 $viewer" || fail "ulpscope does not end"
code=0
wait "$viewer" || code=$?
((code == 0)) || fail "ulpscope ended with $code"
if grep --quiet --ignore-case 'warning\|assert\|QObject' "$scratch/ulpscope.log"; then fail "ulpscope complained"; fi
echo "opened, shown, exported and closed"
