//go:build unix

package main

import (
	"github.com/mlperf-go/mlperf/internal/cli"
)

// badLater are those of the verbs around runs: suites, comparisons, servers, audits, submissions.
func badLater() []badInput {
	const (
		serve  = "serve resnet50 --backend simulated --sim-latency 1ms --listen 127.0.0.1:0 --dataset-path imagenet --model-path tiny.onnx "
		text   = "run --scenario server --backend openai --endpoint http://127.0.0.1:1 --target-qps 1 "
		remote = "run --model resnet50 --scenario offline --backend oip "
		suite  = "suite run v0.5 --quick --backend simulated "
		build  = "submission build made badrun --submitter Org --system sys --division closed --system-type edge --status available "
		energy = "run --model resnet50 --scenario single-stream --backend simulated --sim-latency 1ms --quick --min-duration 50ms --dataset-path imagenet --model-path tiny.onnx --power "
		verify = "audit verify TEST08 run run "
	)
	return []badInput{
		// Empty arguments, as of variables of a shell that are not set.
		{"explain _", cli.ExitUsage, "an argument is empty"}, {"report _", cli.ExitUsage, "an argument is empty"}, {"compare run _", cli.ExitUsage, "an argument is empty"},
		{"accuracy _", cli.ExitUsage, "an argument is empty"}, {"suite run _", cli.ExitUsage, "an argument is empty"}, {"submission check _", cli.ExitUsage, "an argument is empty"},
		{"audit verify TEST01 run _", cli.ExitUsage, "an argument is empty"}, {"serve _", cli.ExitUsage, "an argument is empty"},

		{"compare badrun badrun", cli.ExitError, "schema"}, {"compare pipe folder", cli.ExitError, "no runs below pipe"}, {"compare nowhere folder", cli.ExitError, "nowhere"},
		{"compare run run --fail-if p50>NaN%", cli.ExitUsage, "NaN"}, {"compare run run --fail-if p50>1e999%", cli.ExitUsage, "1e999"}, {"compare run run --fail-if p50", cli.ExitUsage, "--fail-if"},
		{"compare run run --format pdf", cli.ExitUsage, "pdf"}, {"report --price NaN", cli.ExitUsage, "--price"}, {"report --price Inf", cli.ExitUsage, "--price"},
		{"report pipe", cli.ExitError, "no runs below pipe"}, {"report /dev/zero", cli.ExitError, "no runs below /dev/zero"},

		{"suite run nowhere", cli.ExitUsage, "nowhere"}, {"suite run /dev/zero", cli.ExitError, "is a device"}, {"suite run ./pipe", cli.ExitError, "is a pipe"}, {"suite run ./folder", cli.ExitError, "is a folder"},
		{"suite run ./page.html", cli.ExitError, "page.html"}, {"suite show alexnet", cli.ExitUsage, "alexnet"}, {"suite list extra", cli.ExitUsage, "extra"}, {suite + "--cooldown -1s", cli.ExitUsage, "--cooldown"},
		{suite + "--only nothing", cli.ExitUsage, "nothing"}, {suite + "--count -4", cli.ExitUsage, "--count"}, {suite + "--output pipe", cli.ExitError, "pipe"}, {suite + "--rules v9", cli.ExitUsage, "v9"},
		{suite + "--set colour=red", cli.ExitUsage, "colour"}, {suite + "--precision int4", cli.ExitUsage, "int4"}, {suite + "--user-conf pipe", cli.ExitError, "is a pipe"},

		{serve + "--listen nowhere:99999", cli.ExitUsage, "99999"}, {serve + "--model-path pipe", cli.ExitError, "is a pipe"}, {serve + "--model-path /dev/zero", cli.ExitError, "is a device"},
		{serve + "--dataset-path pipe", cli.ExitError, "pipe"}, {serve + "--token-file pipe", cli.ExitUsage, "--token-file"}, {serve + "--token-file empty", cli.ExitUsage, "--token-file"},
		{serve + "--tls-cert page.html --tls-key page.html", cli.ExitUsage, "--tls"}, {serve + "--tls-cert page.html", cli.ExitUsage, "--tls"}, {serve + "--max-batchsize 1000000000", cli.ExitUsage, "--max-batchsize"},
		{serve + "--instances 100000", cli.ExitUsage, "--instances"}, {serve + "--sim-latency -1s", cli.ExitUsage, "--sim-latency"}, {"serve alexnet", cli.ExitUsage, "alexnet"}, {"serve", cli.ExitUsage, "MODEL"},
		{serve + "mobilenet", cli.ExitUsage, "--model-path is one file"}, {"serve resnet50 ResNet50", cli.ExitUsage, "the same model"},

		{remote + "--endpoint _", cli.ExitUsage, "--endpoint"}, {remote + "--endpoint ftp://x", cli.ExitUsage, "ftp"}, {remote + "--endpoint http://a:b:c", cli.ExitUsage, "--endpoint"}, {remote, cli.ExitUsage, "--endpoint"},
		{remote + "--endpoint http://127.0.0.1:1", cli.ExitError, "127.0.0.1:1"}, {remote + "--endpoint http://127.0.0.1:1 --tls-ca page.html", cli.ExitUsage, "--tls-ca"},
		{text + "--model-name x --dataset-path pipe", cli.ExitError, "is a pipe"}, {text + "--model-name x --dataset-path page.html", cli.ExitError, "page.html"}, {text + "--model-name x --dataset-path empty", cli.ExitError, "empty"},
		{text + "--model-name x --synthetic-prompts 1000000000", cli.ExitUsage, "--synthetic-prompts"}, {text + "--synthetic-prompts 5 --concurrency -1", cli.ExitUsage, "--concurrency"},
		{text + "--synthetic-prompts 5 --request-timeout -1s", cli.ExitUsage, "--request-timeout"}, {text + "--synthetic-prompts 5 --retry -1", cli.ExitUsage, "--retry"}, {text + "--synthetic-prompts 5 --token-file pipe", cli.ExitUsage, "--token-file"},

		{"audit TEST99 --model resnet50 --scenario offline", cli.ExitUsage, "TEST99"}, {"audit TEST01 --model resnet50 --scenario nowhere", cli.ExitUsage, "nowhere"}, {"audit TEST01", cli.ExitUsage, "--model"},
		{"audit verify TEST01 run pipe", cli.ExitError, "pipe"}, {"audit verify TEST04 run folder", cli.ExitError, "mlperf_log_detail.txt"}, {"audit verify TEST04 /dev/zero run", cli.ExitError, "/dev/zero"},
		{verify + "--tolerance NaN", cli.ExitUsage, "--tolerance"}, {verify + "--tolerance Inf", cli.ExitUsage, "--tolerance"}, {verify + "--tolerance -1", cli.ExitUsage, "--tolerance"}, {verify + "--tolerance 1", cli.ExitUsage, "--tolerance"},
		{verify + "--min-tokens NaN", cli.ExitUsage, "--min-tokens"}, {verify + "--max-tokens -2", cli.ExitUsage, "--max-tokens"}, {verify + "--accuracy-threshold NaN", cli.ExitUsage, "--accuracy-threshold"},
		{verify + "--score-pattern (", cli.ExitUsage, "--score-pattern"}, {verify + "--score-pattern x", cli.ExitUsage, "--score-pattern"}, {verify + "--rules v9", cli.ExitUsage, "v9"},
		{"audit TEST08 --model dlrm-v2 --scenario offline --tolerance NaN", cli.ExitUsage, "--tolerance"},

		{"submission check nowhere", cli.ExitError, "nowhere"}, {"submission check pipe", cli.ExitError, "not a folder"}, {"submission check /dev/zero", cli.ExitError, "not a folder"}, {"submission check folder", cli.ExitError, "no results"},
		{"submission check run --rules v9", cli.ExitUsage, "v9"}, {"submission check run --profile lax", cli.ExitUsage, "lax"}, {"submission report folder", cli.ExitError, "no results"}, {"submission pack folder", cli.ExitError, "no accuracy logs"},
		{"submission pack folder --backup folder/in", cli.ExitError, "inside"}, {build + "--division mixed", cli.ExitUsage, "mixed"}, {build + "--submitter ../x", cli.ExitUsage, "--submitter"}, {build + "--set x", cli.ExitUsage, "--set"},
		{build + "--measurement colour=red", cli.ExitUsage, "colour"}, {build + "--rules v9", cli.ExitUsage, "v9"}, {build + "--description pipe", cli.ExitError, "is a pipe"}, {build, cli.ExitError, "no runs in badrun"},
		{"system --from pipe", cli.ExitError, "is a pipe"}, {"system --from page.html", cli.ExitError, "page.html"}, {"system --set x", cli.ExitUsage, "--set"}, {"system --output folder", cli.ExitError, "folder"}, {"system --division mixed", cli.ExitUsage, "mixed"},

		{energy + "nonsense", cli.ExitUsage, "nonsense"}, {energy + "ptd:x", cli.ExitUsage, "ptd"}, {energy + "file:pipe", cli.ExitError, "is a pipe"},
		{energy + "file:/dev/zero", cli.ExitError, "is a device"}, {energy + "ptd:127.0.0.1:1", cli.ExitError, "127.0.0.1:1"},

		{"verify dataset imagenet --dir pipe", cli.ExitError, "not a directory"}, {"verify model resnet50 --dir pipe", cli.ExitError, "not a directory"}, {"verify model resnet50 --dir nowhere", cli.ExitError, "nowhere"},
		{"verify dataset imagenet --dir folder", cli.ExitError, "not as it should be"}, {"download dataset imagenet --dir pipe --accept-license --mirror http://127.0.0.1:1 --mirror-only", cli.ExitError, "not a directory"},
		{"download dataset kits19 --from-file pipe --accept-license", cli.ExitUsage, "pipe"}, {"download dataset coco --count -1 --dry-run", cli.ExitUsage, "--count"},
		{"download dataset imagenet --mirror file:///etc --mirror-only", cli.ExitUsage, "--mirror"}, {"convert gnmt", cli.ExitUsage, "--checkpoint"}, {"convert gnmt --checkpoint pipe", cli.ExitError, "pipe"}, {"convert gnmt --checkpoint folder", cli.ExitError, "*.index"},
		{"cache clear ../..", cli.ExitUsage, "../.."}, {"man pipe", cli.ExitError, "pipe"}, {"schema nonsense", cli.ExitUsage, "nonsense"},
		{"quantize --model rnnt --precision int4", cli.ExitUsage, "int4"}, {"quantize --model gnmt --method luck", cli.ExitUsage, "--method"},

		{"plan --model resnet50 --samples-per-second 1e-300", cli.ExitUsage, "--samples-per-second"}, {"selftest --scenario server --target-qps 1e12 --duration 1h", cli.ExitUsage, "target QPS"},
		{"selftest --scenario offline --target-qps 1e300", cli.ExitUsage, "samples a test can have"}, {"selftest --scenario offline --target-qps 4e9 --duration 1s", cli.ExitUsage, "GiB"}, {"selftest --all --rounds -5", cli.ExitUsage, "--rounds"},
		{"tune --model resnet50 --backend simulated --budget 1s --dataset-path pipe --model-path tiny.onnx", cli.ExitError, "pipe"}, {"trace --scenario offline --min-query-count 18446744073709551615", cli.ExitUsage, "ask for 1.84e+19 samples, want at most 100000000"},
	}
}
