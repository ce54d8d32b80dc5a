#!/bin/bash
# Runs configs/slurm on a real Slurm of two nodes on this machine: a suite in parts, and the submission after it.
#
#   scripts/slurm.sh [PROGRAM]        # bin/mlperf; as the superuser, with Debian's slurm-wlm and munge installed
#
# Everything lies in a folder that is removed at the end, with ports, key and sockets of its own; a Slurm that is installed and
# running is not touched.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-bin/mlperf}")
for needed in slurmctld slurmd sbatch munged; do
	command -v $needed >/dev/null || { echo "NOT RUN: $needed is not installed (Debian: slurm-wlm, munge)"; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "NOT RUN: slurmd needs the superuser"; exit 0; }

work=$(mktemp -d /tmp/mlperf-slurm-XXXXXX)
started=()
stop() {
	for ((i = ${#started[@]} - 1; i >= 0; i--)); do kill "${started[i]}" 2>/dev/null || true; done
	for pid in "${started[@]}"; do while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done; done
	rm -rf "$work"
}
trap stop EXIT

port=$((20000 + RANDOM % 20000))
mkdir -p "$work"/{state,spool1,spool2,bin}
chmod 755 "$work" # the nodes' jobs read it
ln -s "$program" "$work/bin/mlperf"
head -c 1024 /dev/urandom >"$work/munge.key"
chmod 600 "$work/munge.key"
processors=$(nproc)
host=$(hostname -s)
cat >"$work/slurm.conf" <<CONF
ClusterName=mlperf
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=$processors State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=$processors State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=60 State=UP
CONF
mkdir -p "$work/spooln1" "$work/spooln2"
export SLURM_CONF=$work/slurm.conf

munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge.socket" --pid-file="$work/munge.pid" \
	--seed-file="$work/munge.seed" --log-file="$work/munge.log" &
started+=($!)
until [ -S "$work/munge.socket" ]; do sleep 0.1; done
slurmctld -D -f "$work/slurm.conf" >"$work/ctld.out" 2>&1 &
started+=($!)
for node in n1 n2; do
	slurmd -D -f "$work/slurm.conf" -N $node >"$work/$node.out" 2>&1 &
	started+=($!)
done
until [ "$(sinfo -h -o %t -N 2>/dev/null | sort -u)" = idle ]; do sleep 0.2; done
sinfo -N

# Two classifiers of v0.5 on a simulated engine: what is tried is Slurm, the parts and the submission.
repository=$PWD
cd "$work"
export PATH=$work/bin:$PATH RESULTS=$work/results MLPERF_CACHE_DIR=${MLPERF_CACHE_DIR:-}
[ -n "$MLPERF_CACHE_DIR" ] || unset MLPERF_CACHE_DIR
status=0
suite=$(sbatch --parsable --array=0-1 "$repository/configs/slurm/suite.sbatch" v0.5 --quick --only resnet50/offline,mobilenet/offline --backend simulated --sim-latency 1ms)
gather=$(sbatch --parsable --dependency=afterany:"$suite" "$repository/configs/slurm/gather.sbatch" \
	--submitter=ExampleOrg --system=board1 --division=closed --system-type=edge --status=available --infer)
squeue -a
while squeue -h -j "$suite,$gather" 2>/dev/null | grep -q .; do sleep 1; done
for log in mlperf-*.out; do
	echo "== $log"
	tail -25 "$log"
done
scontrol show job "$suite" | grep -E 'JobId|JobState|NodeList|Requeue' || true
nodes=$(scontrol show job "$suite" | grep -oE ' NodeList=n[12]' | sort -u | wc -l)
[ "$nodes" = 2 ] || { echo "FAILED: the parts ran on $nodes nodes, must be 2"; status=1; }
for part in 0 1; do
	find "results/runs/$part" -name results.json | grep -q . || { echo "FAILED: part $part has no result"; status=1; }
done
# The runs are of a simulated engine: no submission takes them, and the gathering job says so.
grep -q simulated mlperf-gather-"$gather".out || { echo "FAILED: the submission did not refuse a simulated engine"; status=1; }
exit $status
