# netns.bash MPIRUN ULP MAKE_DUMPS
# Pins that two machines give the same digest as one: two network namespaces that a veth pair joins, with host names of
# their own, one process in each, talking TCP.
mpirun=$1 ulp=$2 make_dumps=$3
skip() { echo "SKIPPED: $*"; exit 0; }
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "ip (iproute2) is not installed"
version=$("$mpirun" --version 2>&1 | head -n 1)
case $version in *'Open MPI'* | *OpenRTE*) ;; *) skip "written for Open MPI, here is: $version" ;; esac

a=ulp$$a b=ulp$$b
dir=$(mktemp -d)
cleanup() {
  ip netns del $a 2>/dev/null
  ip netns del $b 2>/dev/null
  rm -rf "$dir"
}
trap cleanup EXIT
cd "$dir" || exit 1
{ ip netns add $a && ip netns add $b && ip link add v$$a netns $a type veth peer name v$$b netns $b &&
  ip -n $a addr add 10.77.0.1/24 dev v$$a && ip -n $b addr add 10.77.0.2/24 dev v$$b &&
  ip -n $a link set v$$a up && ip -n $b link set v$$b up && ip -n $a link set lo up && ip -n $b link set lo up; } 2>why ||
  skip "no network namespaces here: $(head -n 1 why)"

# What ssh would do.
cat >agent <<END
#!/bin/sh
case \$1 in 10.77.0.1) space=$a name=ulp-a ;; *) space=$b name=ulp-b ;; esac
shift
exec ip netns exec \$space unshare --uts sh -c "hostname \$name; \$*"
END
chmod +x agent

"$make_dumps" . 9
"$ulp" record whole/* --run-id r -o plain.ulp >/dev/null || exit 1
case $version in
  *' 4.'*) how=(--host 10.77.0.1:1,10.77.0.2:1 --mca plm_rsh_agent "$dir/agent" --mca oob_tcp_if_include 10.77.0.0/24) ;;
  *) how=(--host 10.77.0.1:1,10.77.0.2:1 --map-by node --prtemca plm_ssh_agent "$dir/agent") ;;
esac
code=0
ip netns exec $a unshare --uts sh -c 'hostname ulp-a; exec "$@"' sh timeout 300 "$mpirun" --allow-run-as-root -np 2 "${how[@]}" \
  --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 "$ulp" record whole/* --run-id r -o two.ulp 2>err || code=$?
[ $code = 0 ] || { echo "FAILED: exit code $code: $(cat err)"; exit 1; }
sent=$(cat <(ip -n $a -s link show v$$a) | awk '/RX:/ { getline; print $1 }')
[ "${sent:-0}" -gt 5000 ] || { echo "FAILED: only $sent bytes came over the network"; exit 1; }
[ "$("$ulp" info --digest two.ulp)" = "$("$ulp" info --digest plain.ulp)" ] || { echo "FAILED: another digest"; exit 1; }
cmp plain.ulp two.ulp || exit 1
echo "the same on two machines; $sent bytes came over the network"
