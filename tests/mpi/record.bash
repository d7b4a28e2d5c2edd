# record.bash MPIRUN ULP MAKE_DUMPS
# Pins that `mpirun -np N ulp record` writes the same file for every N, and that an error of any rank is one line, leaves no
# file and hangs nothing.
mpirun=$1 ulp=$2 make_dumps=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

options=()
if "$mpirun" --version 2>&1 | grep -q 'Open MPI\|OpenRTE'; then
  options=(--oversubscribe)
  [ "$(id -u)" = 0 ] && options+=(--allow-run-as-root)
fi
mpi() { # N ARGUMENTS...: ulp on N processes
  local n=$1
  shift
  timeout 120 "$mpirun" "${options[@]}" -np "$n" "$ulp" "$@"
}
if ! timeout 120 "$mpirun" "${options[@]}" -np 2 true >why 2>&1; then
  echo "SKIPPED: $mpirun starts no two processes here: $(head -n 1 why)"
  exit 0
fi

"$make_dumps" . 7
record() { echo record --run-id r --factor 1 --kind c=activation_grad; }
"$ulp" $(record) whole/* -o plain.ulp || exit 1
digest=$("$ulp" info --digest plain.ulp)
for n in 1 2 4; do
  mpi $n $(record) whole/* -o np$n.ulp >out 2>err || fail "np $n: $(cat err)"
  [ "$("$ulp" info --digest np$n.ulp)" = "$digest" ] || fail "np $n: another digest"
  cmp plain.ulp np$n.ulp || fail "np $n: another file"
  [ "$(cat out)" = "np$n.ulp: 7 steps (0 to 6), 28 tensor rows, from safetensors dump" ] || fail "np $n: $(cat out)"
done

# Fewer steps than processes: the tensors are shared out.
"$ulp" $(record) whole/step0000[01]* -o two.ulp >/dev/null
mpi 4 $(record) whole/step0000[01]* -o shared.ulp >/dev/null || fail "two steps on four processes"
cmp two.ulp shared.ulp || fail "two steps on four processes: another file"

# What cannot be shared out rank 0 reads alone.
mpi 2 record plain.ulp -o copy.ulp >/dev/null || fail "a recording"
[ "$("$ulp" info --digest copy.ulp)" = "$digest" ] || fail "a recording: another digest"

refused() { # WHAT N FILE...: is refused with one line, and leaves no file
  local what=$1 n=$2 code=0
  shift 2
  mpi "$n" record "$@" -o bad.ulp >out 2>err || code=$?
  [ $code = 2 ] || fail "$what: exit code $code"
  [ "$(grep -c '^ulp: ' err)" = 1 ] || fail "$what: $(cat err)"
  for left in bad.ulp*; do [ -e "$left" ] && fail "$what: left $left"; done
}
cp -r whole cut
head -c 100 whole/step00003.safetensors >cut/step00003.safetensors
refused "a bad header" 4 cut/*

# An error that only counting finds, and only one rank meets: a member of a zip whose CRC is wrong.
cp -r whole late
if [ "${ULP_PYTHON:-}" ] && "$ULP_PYTHON" - <<'END'
import io, struct, zipfile
head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), }"
head += b" " * (117 - len(head)) + b"\n"
member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + b"\1" * 4000
memory = io.BytesIO()
with zipfile.ZipFile(memory, "w") as archive:
    archive.writestr("w.npy", member)
bytes_ = bytearray(memory.getvalue())
bytes_[1000] ^= 1
open("late/step00005.npz", "wb").write(bytes_)
END
then
  rm late/step00005.safetensors
  for n in 1 2 3 4; do refused "a wrong CRC on $n" $n late/*; done
  grep -q 'late/step00005.npz' err || fail "a wrong CRC: $(cat err)"
fi

# Rank 0 alone finds this out.
code=0
mpi 3 record whole/* -o plain.ulp >out 2>err || code=$?
[ $code = 2 ] && [ "$(grep -c '^ulp: ' err)" = 1 ] || fail "an existing file: $code $(cat err)"
[ "$("$ulp" info --digest plain.ulp)" = "$digest" ] || fail "an existing file was changed"

# Processes that a launcher started and MPI does not join.
code=0
SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 timeout 120 "$ulp" record whole/* -o bad.ulp >out 2>err || code=$?
[ $code = 2 ] && [ "$(grep -c "^ulp: " err)" = 1 ] && [ ! -e bad.ulp ] || fail "a launcher without MPI: $code $(cat err)"

# Ranks recorded each on its own under the launcher, then merged.
"$make_dumps" parts 7 3
timeout 120 "$mpirun" "${options[@]}" -np 3 bash -c 'r=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
  "$0" record parts/part$r/* --factor 1 --kind c=activation_grad --run-id r --rank $r --world 3 --layout shard -o part$r.ulp' \
  "$ulp" >/dev/null || fail "recording by rank"
"$ulp" merge part?.ulp -o merged.ulp >/dev/null || fail "merging ranks"
[ "$("$ulp" info --digest merged.ulp)" = "$digest" ] || fail "merged ranks: another digest"

[ $failures = 0 ] && echo "the same on 1, 2 and 4 processes"
exit $failures
