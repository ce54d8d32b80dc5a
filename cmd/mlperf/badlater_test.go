//go:build unix

package main

// badLater are those of the verbs around runs: suites, comparisons, servers, audits, submissions.
func badLater() []badInput {
	const (
		serve  = "serve resnet50 --backend simulated --sim-latency 1ms --listen 127.0.0.1:0 --dataset-path imagenet --model-path tiny.onnx "
		text   = "run --scenario server --backend openai --endpoint http://127.0.0.1:1 --target-qps 1 "
		remote = "run --model resnet50 --scenario offline --backend oip "
		suite  = "suite run v0.5 --quick --backend simulated "
		build  = "submission build made badrun --submitter Org --system sys --division closed --system-type edge --status available "
		energy = "run --model resnet50 --scenario single-stream --backend simulated --sim-latency 1ms --quick --min-duration 50ms --output new --dataset-path imagenet --model-path tiny.onnx --power "
		verify = "audit verify TEST08 run run "
	)
	return []badInput{
		// Empty arguments, as of variables of a shell that are not set.
		{"explain _", exitUsage, "an argument is empty"}, {"report _", exitUsage, "an argument is empty"}, {"compare run _", exitUsage, "an argument is empty"},
		{"accuracy _", exitUsage, "an argument is empty"}, {"suite run _", exitUsage, "an argument is empty"}, {"submission check _", exitUsage, "an argument is empty"},
		{"audit verify TEST01 run _", exitUsage, "an argument is empty"}, {"serve _", exitUsage, "an argument is empty"}, {"cache limit _", exitUsage, "an argument is empty"},

		{"compare badrun badrun", exitError, "schema"}, {"compare pipe folder", exitError, "no runs below pipe"}, {"compare nowhere folder", exitError, "nowhere"},
		{"compare run run --fail-if p50>NaN%", exitUsage, "NaN"}, {"compare run run --fail-if p50>1e999%", exitUsage, "1e999"}, {"compare run run --fail-if p50", exitUsage, "--fail-if"},
		{"compare run run --format pdf", exitUsage, "pdf"}, {"report --price NaN", exitUsage, "--price"}, {"report --price Inf", exitUsage, "--price"},
		{"report pipe", exitError, "no runs below pipe"}, {"report /dev/zero", exitError, "no runs below /dev/zero"},

		{"suite run nowhere", exitUsage, "nowhere"}, {"suite run /dev/zero", exitError, "is a device"}, {"suite run ./pipe", exitError, "is a pipe"}, {"suite run ./folder", exitError, "is a folder"},
		{"suite run ./page.html", exitError, "page.html"}, {"suite show alexnet", exitUsage, "alexnet"}, {"suite list extra", exitUsage, "extra"}, {suite + "--cooldown -1s", exitUsage, "--cooldown"},
		{suite + "--only nothing", exitUsage, "nothing"}, {suite + "--count -4", exitUsage, "--count"}, {suite + "--output pipe", exitError, "pipe"}, {suite + "--rules v9", exitUsage, "v9"},
		{suite + "--set colour=red", exitUsage, "colour"}, {suite + "--precision int4", exitUsage, "int4"}, {suite + "--user-conf pipe", exitError, "is a pipe"},

		{serve + "--listen nowhere:99999", exitUsage, "99999"}, {serve + "--model-path pipe", exitError, "is a pipe"}, {serve + "--model-path /dev/zero", exitError, "is a device"},
		{serve + "--dataset-path pipe", exitError, "pipe"}, {serve + "--token-file pipe", exitUsage, "--token-file"}, {serve + "--token-file empty", exitUsage, "--token-file"},
		{serve + "--tls-cert page.html --tls-key page.html", exitUsage, "--tls"}, {serve + "--tls-cert page.html", exitUsage, "--tls"}, {serve + "--max-batchsize 1000000000", exitUsage, "--max-batchsize"},
		{serve + "--instances 100000", exitUsage, "--instances"}, {serve + "--sim-latency -1s", exitUsage, "--sim-latency"}, {"serve alexnet", exitUsage, "alexnet"}, {"serve", exitUsage, "MODEL"},
		{serve + "mobilenet", exitUsage, "--model-path is one file"}, {"serve resnet50 ResNet50", exitUsage, "the same model"},

		{remote + "--endpoint _", exitUsage, "--endpoint"}, {remote + "--endpoint ftp://x", exitUsage, "ftp"}, {remote + "--endpoint http://a:b:c", exitUsage, "--endpoint"}, {remote, exitUsage, "--endpoint"},
		{remote + "--endpoint http://127.0.0.1:1", exitError, "127.0.0.1:1"}, {remote + "--endpoint http://127.0.0.1:1 --tls-ca page.html", exitUsage, "--tls-ca"},
		{text + "--model-name x --dataset-path pipe", exitError, "is a pipe"}, {text + "--model-name x --dataset-path page.html", exitError, "page.html"}, {text + "--model-name x --dataset-path empty", exitError, "empty"},
		{text + "--model-name x --synthetic-prompts 1000000000", exitUsage, "--synthetic-prompts"}, {text + "--synthetic-prompts 5 --concurrency -1", exitUsage, "--concurrency"},
		{text + "--synthetic-prompts 5 --request-timeout -1s", exitUsage, "--request-timeout"}, {text + "--synthetic-prompts 5 --retry -1", exitUsage, "--retry"}, {text + "--synthetic-prompts 5 --token-file pipe", exitUsage, "--token-file"},

		{"audit TEST99 --model resnet50 --scenario offline", exitUsage, "TEST99"}, {"audit TEST01 --model resnet50 --scenario nowhere", exitUsage, "nowhere"}, {"audit TEST01", exitUsage, "--model"},
		{"audit verify TEST01 run pipe", exitError, "pipe"}, {"audit verify TEST04 run folder", exitError, "mlperf_log_detail.txt"}, {"audit verify TEST04 /dev/zero run", exitError, "/dev/zero"},
		{verify + "--tolerance NaN", exitUsage, "--tolerance"}, {verify + "--tolerance Inf", exitUsage, "--tolerance"}, {verify + "--tolerance -1", exitUsage, "--tolerance"}, {verify + "--tolerance 1", exitUsage, "--tolerance"},
		{verify + "--min-tokens NaN", exitUsage, "--min-tokens"}, {verify + "--max-tokens -2", exitUsage, "--max-tokens"}, {verify + "--accuracy-threshold NaN", exitUsage, "--accuracy-threshold"},
		{verify + "--score-pattern (", exitUsage, "--score-pattern"}, {verify + "--score-pattern x", exitUsage, "--score-pattern"}, {verify + "--rules v9", exitUsage, "v9"},
		{"audit TEST08 --model dlrm-v2 --scenario offline --tolerance NaN", exitUsage, "--tolerance"},

		{"submission check nowhere", exitError, "nowhere"}, {"submission check pipe", exitError, "not a folder"}, {"submission check /dev/zero", exitError, "not a folder"}, {"submission check folder", exitError, "no results"},
		{"submission check run --rules v9", exitUsage, "v9"}, {"submission check run --profile lax", exitUsage, "lax"}, {"submission report folder", exitError, "no results"}, {"submission pack folder", exitError, "no accuracy logs"},
		{"submission pack folder --backup folder/in", exitError, "inside"}, {build + "--division mixed", exitUsage, "mixed"}, {build + "--submitter ../x", exitUsage, "--submitter"}, {build + "--set x", exitUsage, "--set"},
		{build + "--measurement colour=red", exitUsage, "colour"}, {build + "--rules v9", exitUsage, "v9"}, {build + "--description pipe", exitError, "is a pipe"}, {build, exitError, "no runs in badrun"},
		{"system --from pipe", exitError, "is a pipe"}, {"system --from page.html", exitError, "page.html"}, {"system --set x", exitUsage, "--set"}, {"system --output folder", exitError, "folder"}, {"system --division mixed", exitUsage, "mixed"},

		{energy + "nonsense", exitUsage, "nonsense"}, {energy + "ptd:x", exitUsage, "ptd"}, {energy + "file:pipe", exitError, "is a pipe"},
		{energy + "file:/dev/zero", exitError, "is a device"}, {energy + "ptd:127.0.0.1:1", exitError, "127.0.0.1:1"},

		{"verify dataset imagenet --dir pipe", exitError, "not a directory"}, {"verify model resnet50 --dir pipe", exitError, "not a directory"}, {"verify model resnet50 --dir nowhere", exitError, "nowhere"},
		{"verify dataset imagenet --dir folder", exitError, "not as it should be"}, {"download dataset imagenet --dir pipe --accept-license --mirror http://127.0.0.1:1 --mirror-only", exitError, "not a directory"},
		{"download dataset kits19 --from-file pipe --accept-license", exitUsage, "pipe"}, {"download dataset coco --upscale 99999999x99999999 --dry-run", exitUsage, "--upscale"}, {"download dataset coco --count -1 --dry-run", exitUsage, "--count"},
		{"download dataset imagenet --mirror file:///etc --mirror-only", exitUsage, "--mirror"}, {"convert gnmt", exitUsage, "--checkpoint"}, {"convert gnmt --checkpoint pipe", exitError, "pipe"}, {"convert gnmt --checkpoint folder", exitError, "*.index"},
		{"cache limit -5GB", exitUsage, "-5GB"}, {"cache limit NaN", exitUsage, "NaN"}, {"cache limit 1e99GB", exitUsage, "1e99GB"}, {"cache clear ../..", exitUsage, "../.."}, {"man pipe", exitError, "pipe"}, {"schema nonsense", exitUsage, "nonsense"},
		{"quantize --model rnnt --precision int4", exitUsage, "int4"}, {"quantize --model gnmt --method luck", exitUsage, "--method"},

		{"plan --model resnet50 --samples-per-second 1e-300", exitUsage, "--samples-per-second"}, {"selftest --scenario server --target-qps 1e12 --duration 1h", exitUsage, "target QPS"},
		{"selftest --scenario offline --target-qps 1e300", exitUsage, "samples a test can have"}, {"selftest --scenario offline --target-qps 4e9 --duration 1s", exitUsage, "GiB"}, {"selftest --all --rounds -5", exitUsage, "--rounds"},
		{"tune --model resnet50 --backend simulated --budget 1s --dataset-path pipe --model-path tiny.onnx", exitError, "pipe"}, {"trace --scenario offline --min-query-count 18446744073709551615", exitUsage, "samples a test can have"},
	}
}
