#!/bin/bash
# Runs configs/kubernetes on a real Kubernetes of three nodes on this machine: the server behind its Service under a Network run, a suite
# in parts of which one dies and is resumed, and the submission after it.
#
#   scripts/kubernetes.sh [PROGRAM]   # bin/mlperf; on Linux as the superuser, with Go, a C compiler,
#                                     # libseccomp-dev, pkg-config, openssl, iproute2 and util-linux
#
# etcd, Kubernetes, CoreDNS, containerd, runc and the CNI plugins are built from their Go modules into ~/.cache/mlperf-kubernetes, once
# (fifteen minutes on two cores, 0.5 GB). ONNX Runtime is the one that scripts/install_onnxruntime.sh prints; make onnxruntime gets it.
# The cluster has processes, mounts, network and control groups of its own, and a folder that is removed at the end.
set -euo pipefail
kubernetes=1.36.3 containerd=2.3.7 runc=1.5.3 cni=1.9.1 coredns=1.14.7 kserve=0.16.0
nodes="n1 n2 n3"

self=$(realpath "$0")
cd "$(dirname "$self")/.."
repository=$PWD
cache=${XDG_CACHE_HOME:-$HOME/.cache}/mlperf-kubernetes/$kubernetes-$containerd-$runc-$cni-$coredns-$kserve
export GOFLAGS= GOEXPERIMENT= # the variables of this project's builds are not for others' modules

# build PACKAGE NAME builds in the module of the current folder.
build() {
	[ -e "$cache/$2" ] && return
	echo "building $2"
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w ${3:-}" -o "$cache/$2" "$1"
}

# binaries fills the cache.
binaries() {
	mkdir -p "$cache"/{modules/kubernetes,modules/coredns,modules/pause,cni}
	local staging=0.${kubernetes#*.} folder
	folder=$(go mod download -json k8s.io/kubernetes@v$kubernetes | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
	cd "$cache/modules/kubernetes"
	if [ ! -e go.sum ]; then # the module replaces its staging modules by folders that other modules cannot see: here by their releases
		{
			printf 'module cluster\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v%s\n\n' $kubernetes
			sed -nE "s|^\s+(k8s.io/[a-z-]+) => ./staging.*|replace \1 => \1 v$staging|p" "$folder/go.mod"
		} >go.mod
		{
			printf '//go:build tools\n\npackage tools\n\nimport (\n\t_ "go.etcd.io/etcd/server/v3"\n'
			printf '\t_ "k8s.io/kubernetes/cmd/%s"\n' kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl
			echo ')'
		} >tools.go
		go mod tidy
	fi
	build go.etcd.io/etcd/server/v3 etcd
	local of=k8s.io/component-base/version name
	for name in kubectl kube-apiserver kube-controller-manager kube-scheduler kubelet; do
		build k8s.io/kubernetes/cmd/$name $name "-X $of.gitVersion=v$kubernetes -X $of.gitMajor=1 -X $of.gitMinor=36"
	done

	cd "$cache/modules/coredns"
	cat >main.go <<-'GO'
		package main

		import (
			"github.com/coredns/coredns/coremain"

			_ "github.com/coredns/coredns/plugin/errors"
			_ "github.com/coredns/coredns/plugin/kubernetes"
		)

		func main() { coremain.Run() }
	GO
	if [ ! -e go.sum ]; then
		printf 'module coredns\n\ngo 1.26.0\n\nrequire github.com/coredns/coredns v%s\n' $coredns >go.mod
		go mod tidy
	fi
	build . coredns

	cd "$cache/modules/pause" # what holds the network of a pod
	cat >main.go <<-'GO'
		package main

		import (
			"os"
			"os/signal"
			"syscall"
		)

		func main() {
			end := make(chan os.Signal, 1)
			signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
			<-end
		}
	GO
	printf 'module pause\n\ngo 1.26.0\n' >go.mod
	build . pause

	for name in containerd containerd-shim-runc-v2 ctr; do
		[ -e "$cache/$name" ] || { echo "building $name"; CGO_ENABLED=0 GOBIN=$cache go install -trimpath -ldflags "-s -w" github.com/containerd/containerd/v2/cmd/$name@v$containerd; }
	done
	[ -e "$cache/runc" ] || { echo "building runc"; GOBIN=$cache go install -tags seccomp -trimpath -ldflags "-s -w" github.com/opencontainers/runc@v$runc; }
	for name in main/bridge main/loopback ipam/host-local; do
		[ -e "$cache/cni/${name#*/}" ] || CGO_ENABLED=0 GOBIN=$cache/cni go install -trimpath -ldflags "-s -w" github.com/containernetworking/plugins/plugins/$name@v$cni
	done
	go mod download -json github.com/kserve/kserve@v$kserve | sed -n 's/.*"Dir": "\(.*\)".*/\1/p' >"$cache/kserve"
}

# image NAME ENTRYPOINT FOLDER writes an image of the files of FOLDER, as docker save does.
image() {
	local made=$work/image-$1
	mkdir "$made"
	tar -C "$3" --numeric-owner -cf "$made/layer.tar" .
	cat >"$made/config.json" <<-JSON
		{"architecture": "$(go env GOARCH)", "os": "linux", "rootfs": {"type": "layers", "diff_ids": ["sha256:$(sha256sum "$made/layer.tar" | cut -d' ' -f1)"]},
		 "config": {"Entrypoint": ["$2"], "User": "1000:1000", "WorkingDir": "/data", "Env": ["PATH=/usr/local/bin", "HOME=/data",
		  "MLPERF_ORT_LIB=/usr/local/lib/onnxruntime/libonnxruntime.so.1", "MLPERF_CACHE_DIR=/data/cache", "MLPERF_DATA_DIR=/data/data"]}}
	JSON
	echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"docker.io/library/$1:nightly\"], \"Layers\": [\"layer.tar\"]}]" >"$made/manifest.json"
	tar -C "$made" -cf "$work/$1.tar" .
	rm -r "$made" "$3"
}

# images makes that of the program, as the Dockerfile does, without a distribution: the program, ONNX Runtime, and the libraries of both.
images() {
	local root=$work/root library=/usr/local/lib/onnxruntime
	mkdir -p "$root"/{data,tmp,etc,usr/local/bin,$library}
	chown 1000:1000 "$root/data"
	chmod 1777 "$root/tmp"
	install "$program" "$root/usr/local/bin/mlperf"
	cp -L "$onnxruntime" "$root$library/libonnxruntime.so.1"
	echo "mlperf:x:1000:1000::/data:" >"$root/etc/passwd"
	ldd "$program" "$onnxruntime" | grep -oE '/[^ :]+\.so[^ :]*' | grep -v "^$onnxruntime" | sort -u | while read -r file; do
		install -D "$(realpath "$file")" "$root$file"
	done
	image mlperf mlperf "$root"
	mkdir -p "$work/root/usr/local/bin" "$work/root/data"
	cp "$cache/pause" "$work/root/usr/local/bin/"
	image pause pause "$work/root"
}

# await SECONDS WHAT COMMAND... runs the command until it succeeds.
await() {
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { echo "FAILED: $what"; "$@" || true; exit 1; }
		sleep 0.5
	done
}

# in_background NAME COMMAND... starts a part of the cluster.
in_background() {
	"${@:2}" >"$work/log/$1" 2>&1 &
}

control_plane() {
	openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$work/accounts.key" 2>/dev/null
	echo "$token,admin,admin,system:masters" >"$work/tokens"
	cat >"$KUBECONFIG" <<-YAML
		apiVersion: v1
		kind: Config
		clusters: [{name: it, cluster: {server: "https://$address:6443", insecure-skip-tls-verify: true}}]
		users: [{name: admin, user: {token: "$token"}}]
		contexts: [{name: it, context: {cluster: it, user: admin}}]
		current-context: it
	YAML
	in_background etcd etcd --data-dir "$work/etcd" --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
		--listen-peer-urls http://127.0.0.1:2380 --unsafe-no-fsync --log-level warn
	in_background apiserver kube-apiserver --etcd-servers http://127.0.0.1:2379 --service-cluster-ip-range 10.98.0.0/16 \
		--advertise-address $address --cert-dir "$work/certificates" --authorization-mode RBAC --kubelet-preferred-address-types InternalIP --token-auth-file "$work/tokens" \
		--service-account-issuer https://mlperf --service-account-key-file "$work/accounts.key" --service-account-signing-key-file "$work/accounts.key"
	await 120 "the API server is not ready" kubectl get --raw /readyz
	in_background controllers kube-controller-manager --kubeconfig "$KUBECONFIG" --service-account-private-key-file "$work/accounts.key" \
		--root-ca-file "$work/certificates/apiserver.crt" --leader-elect=false
	in_background scheduler kube-scheduler --kubeconfig "$KUBECONFIG" --leader-elect=false
	printf '.:53 {\n\terrors\n\tkubernetes cluster.local {\n\t\tendpoint https://%s:6443\n\t\tkubeconfig %s\n\t}\n}\n' $address "$KUBECONFIG" >"$work/Corefile"
	in_background dns coredns -conf "$work/Corefile"
}

# node NAME ADDRESS starts containerd and a kubelet, which have their usual folders in mounts of their own.
node() {
	local home=$work/$1
	mkdir -p "$home"/{lib,log}
	for group in $groups; do mkdir -p "$group/$1"; done
	ip address add "$2/16" dev pods
	cat >"$home/kubelet.yaml" <<-YAML
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		address: $2
		authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
		authorization: {mode: AlwaysAllow}
		cgroupDriver: cgroupfs
		cgroupRoot: $group_name/$1
		failCgroupV1: false
		failSwapOn: false
		healthzPort: 0
		makeIPTablesUtilChains: false
		enforceNodeAllocatable: []
		evictionHard: {memory.available: 1Mi}
		imageGCHighThresholdPercent: 100
		clusterDNS: [$address]
		clusterDomain: cluster.local
		resolvConf: ""
		containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
	YAML
	in_background "$1" unshare --mount --uts bash -euc "
		hostname $1
		mount --make-rshared /
		mount --bind $home/lib /var/lib
		mount --bind $home/log /var/log
		mount -t tmpfs tmpfs /run
		containerd --config $work/containerd.toml >$work/log/$1-containerd 2>&1 &
		until ctr version >/dev/null 2>&1; do sleep 0.2; done
		for image in mlperf pause; do ctr --namespace k8s.io images import $work/\$image.tar; done
		exec kubelet --config $home/kubelet.yaml --kubeconfig $KUBECONFIG --hostname-override $1 --node-ip $2 --node-labels mlperf=node"
}

cluster() {
	work=$1 program=$2 onnxruntime=$3 group_name=$4 groups=$5
	export PATH=$cache:$PATH KUBECONFIG=$work/kubeconfig
	address=10.97.0.1 token=$(head -c 16 /dev/urandom | sha256sum | head -c 32)
	mkdir -p "$work"/{log,cni,addresses}
	images
	ip link set lo up
	ip link add pods type bridge
	ip address add $address/16 dev pods
	ip link set pods up
	cat >"$work/cni/pods.conflist" <<-JSON
		{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "pods", "ipam": {"type": "host-local", "dataDir": "$work/addresses",
		 "ranges": [[{"subnet": "10.97.0.0/16", "rangeStart": "10.97.1.1", "gateway": "$address"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
	JSON
	cat >"$work/containerd.toml" <<-TOML
		version = 3
		[plugins.'io.containerd.cri.v1.images'.pinned_images]
		sandbox = 'docker.io/library/pause:nightly'
		[plugins.'io.containerd.cri.v1.runtime']
		restrict_oom_score_adj = true
		[plugins.'io.containerd.cri.v1.runtime'.cni]
		bin_dirs = ['$cache/cni']
		conf_dir = '$work/cni'
		[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
		runtime_type = 'io.containerd.runc.v2'
		[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
		BinaryName = '$cache/runc'
	TOML
	control_plane
	local number=10 name
	for name in $nodes; do
		number=$((number + 1))
		node "$name" 10.97.0.$number
	done
	for name in $nodes; do
		await 180 "node $name is not there" kubectl get node "$name"
		kubectl wait --for=condition=Ready --timeout=180s node/"$name"
	done
	kubectl version
	kubectl get nodes -o wide
}

# explain shows what the cluster says if the script ends with a status that is not zero.
explain() {
	local status=$?
	[ $status = 0 ] && return
	kubectl get nodes,pods -o wide
	kubectl get events --field-selector type=Warning
	tail -n 5 "$work"/log/*
	return $status
}

status=0
check() { # WHAT COMMAND...
	if "${@:2}" >"$work/log/check" 2>&1; then echo "ok: $1"; else
		echo "FAILED: $1"
		cat "$work/log/check"
		status=1
	fi
}

# volume NAME CLAIM makes a volume of a folder that all nodes have, for the claim.
volume() {
	mkdir -p "$work/volumes/$1"
	kubectl apply -f - <<-YAML
		apiVersion: v1
		kind: PersistentVolume
		metadata: {name: $1}
		spec:
		  capacity: {storage: 100Gi}
		  accessModes: [ReadWriteOnce, ReadWriteMany, ReadOnlyMany]
		  claimRef: {namespace: default, name: $2}
		  local: {path: "$work/volumes/$1"}
		  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: mlperf, operator: In, values: [node]}]}]}}
	YAML
}

# apply FILE [ARGS] applies a manifest as a user of another cluster changes it: the image, the size of a pod, and for a Job what it runs.
apply() {
	local folder=$work/manifests/$1 container=/spec/template/spec/containers/0 args
	args=$(tr -d '\t\n' <<<"${2:-}")
	mkdir -p "$folder"
	cp "$repository/configs/kubernetes/$1.yaml" "$folder/"
	cat >"$folder/kustomization.yaml" <<-YAML
		resources: [$1.yaml]
		images: [{name: mlperf, newTag: nightly}]
		patches:
		- target: {kind: Job|Deployment}
		  patch: |-
		    - {op: replace, path: $container/resources, value: {requests: {cpu: "1", memory: 1Gi}, limits: {cpu: "1", memory: 1Gi}}}
		    ${args:+"- {op: replace, path: $container/args, value: [$args]}"}
	YAML
	kubectl apply -k "$folder"
}

# ended JOB waits until a Job has ended in either way, and prints what a user sees.
ended() {
	await 600 "job $1 did not end" eval "kubectl get job $1 -o jsonpath='{.status.conditions[?(@.status==\"True\")].type}' | grep -qE 'Complete|Failed'"
	kubectl get job,pods -o wide
}

checks() {
	echo "== the API server takes every manifest"
	kubectl apply -f "$(cat "$cache/kserve")/config/crd/full/serving.kserve.io_servingruntimes.yaml" --server-side
	kubectl apply -f "$(cat "$cache/kserve")/config/crd/full/serving.kserve.io_inferenceservices.yaml" --server-side
	await 60 "KServe's kinds are not established" kubectl wait --for=condition=Established crd --all --timeout=1s
	for file in "$repository"/configs/kubernetes/*.yaml; do
		check "${file##*/}" kubectl apply --dry-run=server --validate=strict -f "$file"
	done

	echo "== the Network division: two servers behind a Service, and the benchmark on the third node"
	volume results mlperf-results
	apply serve
	kubectl rollout status deployment/mlperf-serve --timeout=300s
	local benchmark='run, --model=resnet50, --scenario=server, --target-qps=2, --target-latency=10s, --quick, --division=network, --backend=oip,
		"--endpoint=dns+http://mlperf-serve:8000"'
	apply benchmark "$benchmark, --output=/results/resnet50/server"
	ended mlperf-run
	kubectl logs job/mlperf-run
	check "the benchmark is complete" complete mlperf-run
	check "its result is VALID" grep -q '"result": "VALID"' "$work/volumes/results/resnet50/server/results.json"
	check "both servers were asked" [ "$(grep -cE '"url": ".*[(]10[.]97[.]' "$work/volumes/results/resnet50/server/results.json")" = 2 ]

	echo "== a server is deleted during a run"
	kubectl delete job mlperf-run
	apply benchmark "$benchmark, --min-duration=20s, --output=/results/loss"
	await 180 "the traffic did not begin" eval "kubectl logs job/mlperf-run | grep -q traffic:"
	kubectl delete "$(kubectl get pods -l app=mlperf-serve -o name | head -1)"
	ended mlperf-run
	kubectl logs job/mlperf-run | sed -n '/^Why it is not valid/,/^Logs/p'
	check "the run is INVALID and names the server" grep -qE 'left out since they failed: .*[(]10[.]97[.]' "$work/volumes/results/loss/results.json"
	kubectl rollout status deployment/mlperf-serve --timeout=300s

	echo "== two clients of one server, each on a node"
	kubectl scale deployment mlperf-serve --replicas=1
	kubectl delete job mlperf-run
	await 120 "two servers are left" eval "[ \$(kubectl get pods -l app=mlperf-serve -o name | wc -l) = 1 ]"
	apply clients "$benchmark, --output=/results/clients/\$(CLIENT), --set=schedule_rng_seed=1\$(CLIENT),
		--set=sample_index_rng_seed=2\$(CLIENT), --set=qsl_rng_seed=3\$(CLIENT)"
	ended mlperf-clients
	check "the clients are complete" complete mlperf-clients
	"$program" report --together "$work/volumes/results/clients" | tee "$work/together"
	check "their results stand together" grep -q '^2 of 2 clients VALID; all sent to .* at once for' "$work/together"
	kubectl delete deployment mlperf-serve --wait

	echo "== a service of texts, by OpenAI's protocol"
	kubectl delete job mlperf-clients
	apply serve 'serve, llama3.1-8b-edge, --listen, "0.0.0.0:8000", --insecure, --drain, 30s'
	kubectl rollout status deployment/mlperf-serve --timeout=300s
	apply benchmark 'run, --model=llama3.1-8b-edge, --scenario=offline, --quick, --count=8, --division=network, --backend=openai,
		"--endpoint=dns+http://mlperf-serve:8000", --output=/results/texts'
	ended mlperf-run
	kubectl logs job/mlperf-run
	check "the run is VALID" grep -q '"result": "VALID"' "$work/volumes/results/texts/results.json"
	check "both servers were asked" [ "$(grep -cE '"url": ".*//10[.]97[.]' "$work/volumes/results/texts/results.json")" = 2 ]
	kubectl delete deployment mlperf-serve --wait

	echo "== a suite in four parts on three nodes: the process of part 1 is killed, the pod of part 2 is deleted"
	volume suite mlperf-suite-results
	volume data mlperf-data
	kubectl apply -f - <<-YAML
		apiVersion: v1
		kind: PersistentVolumeClaim
		metadata: {name: mlperf-data}
		spec: {accessModes: [ReadOnlyMany], resources: {requests: {storage: 1Gi}}}
	YAML
	local runs=$work/volumes/suite/runs suite='suite, run, v0.5, --quick, --no-accuracy, --backend=simulated, --sim-latency=1ms,
		"--only=resnet50/offline,mobilenet/offline,ssd-resnet34/offline,ssd-mobilenet/offline",
		--part=$(PART)/4, --output=/results/runs/$(PART), --resume'
	apply suite "$suite"
	for part in 1 2; do await 120 "part $part did not begin" ls "$runs/$part"; done
	sleep 5
	kill -KILL "$(pgrep -f -- "mlperf suite run .*--part=1/4")"
	kubectl delete pod -l job-name=mlperf-suite,batch.kubernetes.io/job-completion-index=2
	ended mlperf-suite
	kubectl describe job mlperf-suite | sed -n '/^Pods Statuses/,/^Completed/p; /^Events/,$p'
	check "the killed and the deleted part failed" [ "$(kubectl get job mlperf-suite -o jsonpath='{.status.failedIndexes}')" = 1,2 ]
	check "the other parts went on" [ "$(kubectl get job mlperf-suite -o jsonpath='{.status.completedIndexes}')" = 0,3 ]

	echo "== the suite again: it goes on where it ended"
	find "$runs"/[03] -name results.json -exec sha256sum {} + >"$work/kept"
	kubectl delete job mlperf-suite
	apply suite "$suite"
	ended mlperf-suite
	check "the suite is complete" complete mlperf-suite
	check "what was complete was kept" sha256sum -c "$work/kept"
	for part in 0 1 2 3; do
		kubectl logs -l job-name=mlperf-suite,batch.kubernetes.io/job-completion-index=$part --tail=-1 | grep VALID
		check "part $part has one VALID result" [ "$(find "$runs/$part" -name results.json -exec grep -l '"result": "VALID"' {} + | wc -l)" = 1 ]
	done

	echo "== the submission, which refuses a simulated engine"
	apply gather
	ended mlperf-gather
	kubectl logs job/mlperf-gather
	check "the submission refused the results" eval "kubectl logs job/mlperf-gather | grep -q simulated"
}

complete() { [ "$(kubectl get job "$1" -o jsonpath='{.status.conditions[?(@.type=="Complete")].status}')" = True ]; }

case ${1:-} in
--inside)
	shift
	trap explain EXIT
	cluster "$@"
	checks
	exit $status
	;;
esac
[ "$(uname -s)" = Linux ] || { echo "NOT RUN: a kubelet needs Linux"; exit 0; }
[ "$(id -u)" = 0 ] || { echo "NOT RUN: a kubelet needs the superuser"; exit 0; }
for needed in go cc openssl ip unshare pkg-config; do
	command -v $needed >/dev/null || { echo "NOT RUN: $needed is not installed"; exit 0; }
done
pkg-config --exists libseccomp || { echo "NOT RUN: libseccomp's headers are not installed (Debian: libseccomp-dev)"; exit 0; }
unshare --mount --net --pid --fork true 2>/dev/null || { echo "NOT RUN: the superuser may not make namespaces here"; exit 0; }
program=$(realpath "${1:-bin/mlperf}")
onnxruntime=$(realpath "$(scripts/install_onnxruntime.sh --print-path)")
(binaries)

# The kubelet changes these settings of the kernel.
settings=$(sysctl vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes)
work=$(mktemp -d /tmp/mlperf-kubernetes-XXXXXX)
chmod 755 "$work"
group_name=/${work##*/}
groups=$(find /sys/fs/cgroup -maxdepth 2 -name cgroup.procs -printf "%h$group_name\n")
[ ! -e /sys/fs/cgroup/cgroup.procs ] || groups=/sys/fs/cgroup$group_name # version 2
cluster=
stop() {
	[ -z "$cluster" ] || kill -KILL "$cluster" 2>/dev/null || true # and with it every process of its namespace
	for ((i = 0; i < 50; i++)); do
		for group in $groups; do find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null || true; done
		[ -n "$(find $groups -maxdepth 0 2>/dev/null)" ] || break
		sleep 0.2
	done
	sysctl -q -w $(tr -d ' ' <<<"$settings")
	rm -rf "$work"
}
trap stop EXIT
unshare --mount --net --pid --ipc --uts --fork --kill-child --mount-proc "$self" --inside "$work" "$program" "$onnxruntime" "$group_name" "$groups" &
cluster=$!
wait $cluster
