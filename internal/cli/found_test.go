package cli

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/run/runtest"
)

// fromAnyFile are the flags that an mlperf.yaml may set wherever it is: they say what is run and shown, and how. They load no
// code, name nothing that is written, send no keys, and agree to nothing. A file that they name is only read.
const fromAnyFile = `
accuracy accuracy-logs accuracy-threshold activations aggregation aggregation-trace-file all allow-fallback allow-unknown-keys annotations
answer-tokens anyway arena arrivals audit-conf backend bandwidth box-order box-pixels budget cache calibration checkpoint clip-image-model
clip-text-model clip-tokenizer concurrency confidence connections context conversation-delay conversation-num conversation-turns cooldown count dataset-path dataset-percentage dataset-size day-23-file description deviations cool-down
device device-memory division drain drop-empty-images dry-run dtype duration endpoint eos exclude exclude-op execution extra-body fail-if fixed-latent flow-shift format
free-dimension from full-size graph-optimization help help-all ids-path implementation inception-model infer input inputs-per-request instances inter-threads
intra-threads issue-priority issue-same issue-same-index issue-unique json keep-archives label-data-dir label-map label-offset latent-path layout livecodebench log logs
margin markdown max-batch-delay max-batchsize max-duration max-examples max-image-pixels max-problems max-query-count max-queue max-tokens
measurement memory-pattern method min-duration min-query-count min-tokens min-score mlperf-conf mode model model-name model-output model-path
model-source name neighbor-seed network network-end newest no-accuracy no-memmap no-report no-score only ort-log output-transposed pad pairs part peak peer per-tensor
percentile performance-logs performance-sample-count permutation pin pipeline-ports port-names power power-fields power-ranging precision
predictions-only prefill-chunk prefix-words prefixes preprocess preprocessed-dir price profile progress prompt-words published qsl-seed quick rank readme recorded-answers remote-model remote-version remove-48-empty-images repeat reproduces request-timeout reserve-core response-dtype response-format responses result retry request-cancellation-delay request-cancellation-rate
root rounds route rows rules sacrebleu sacrebleu-lowercase sacrebleu-smooth sample-seed samples samples-per-query samples-per-second
sampling save-detailed scenario schedule-seed score-pattern seed sensitivity server-metrics set seven-bit-weights shape shared-threads sim-jitter sim-latency skip-first
skip-last slo source speculative-acceptance speculative-algorithm speculative-draft-model speculative-eagle-topk speculative-num-steps spin spinning statistics-path status stream submitter sweep sweep-concurrency sweep-qps synthetic-prompts system system-name
system-type target target-accuracy target-latency target-qps thread-affinity timed-preprocessing together token-fault token-fault-every token-interval token-prefill
token-right token-server-guided token-slots tokenizer tokenizers tokens-per-write tolerance total-sample-count tpot trace ttft use-inv-map
user-conf value-bytes grader-endpoint grader-model judge-endpoint judge-model llm-log recorded-replies retrieval-model vbench-results verbose verify vocabulary encoder-path manifest warm-up whisper-ports with yaml
`

// A new flag has to be in one of the two lists.
func TestEveryFlagIsClassified(t *testing.T) {
	flags := map[string]bool{configFlag: false}
	for _, cmd := range commandsBelow(New(io.Discard, io.Discard)) {
		add := func(f *pflag.Flag) { flags[f.Name] = true }
		cmd.Flags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
	}
	delete(flags, configFlag) // the file itself
	harmless := strings.Fields(fromAnyFile)
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if (onlyNamed[name] == "") != slices.Contains(harmless, name) {
			t.Errorf("--%s: a file that is only found may set it: %v, and may not: %q", name, slices.Contains(harmless, name), onlyNamed[name])
		}
	}
	for name := range onlyNamed {
		if !flags[name] {
			t.Errorf("no command has --%s", name)
		}
	}
}

// A folder may be somebody else's, and an mlperf.yaml with it.
func TestFileThatIsOnlyFound(t *testing.T) {
	for _, c := range []struct{ file, args, refused string }{
		{"custom-ops: [./e.so]", "run", "custom-ops: it loads code"},
		{"custom_ops: [./e.so]", "tune", "custom-ops: it loads code"},
		{"ort-lib: ./e.so", "doctor", "ort-lib: it loads code"},
		{"ort-config: [a=b]", "serve m.onnx", "ort-config: it loads code"},
		{"provider-option: [a=b]", "run", "provider-option: it loads code"},
		{"execute-code: true", "accuracy", "execute-code: it loads code"},
		{"fix: true", "doctor", "fix: it loads code"},
		{"mirror: [http://elsewhere]", "download model resnet50", "mirror: it loads code"},
		{"output: precious", "run", "output: it says what is written"},
		{"force: true", "run", "force: it says what is written"},
		{"output: precious", "report", "output: it says what is written"},
		{"optimized-model: model.onnx", "run", "optimized-model: it says"},
		{"write-user-conf: true", "run --mode find-peak", "write-user-conf: it says"},
		{"dir: /", "download model resnet50", "dir: it says"},
		{"backup: x", "submission pack x", "backup: it says"},
		{"token-file: /etc/passwd", "run", "token-file: it decides which credentials"},
		{"tls-ca: own.pem", "run", "tls-ca: it decides which credentials"},
		{"backend: openai\nendpoint: ['http://127.0.0.1:1']", "run", "endpoint: it would send OPENAI_API_KEY there"},
		{"judge-endpoint: http://127.0.0.1:1", "accuracy x", "judge-endpoint: it would send OPENAI_API_KEY there"},
		{"endpoint: ['http://127.0.0.1:1']\nbackend: oip", "run --model resnet50 --token-file key", "endpoint: it would send"},
		{"yes: true", "cache clear", "yes: it answers a question"},
		{"accept-license: true", "download model resnet50", "accept-license: it answers a question"},
		{"live: 0.0.0.0:80", "run", "live: it opens this machine"},
		{"listen: 0.0.0.0:80", "serve m.onnx", "listen: it opens this machine"},
	} {
		t.Run(c.file, func(t *testing.T) {
			inFolder(t)
			t.Setenv("OPENAI_API_KEY", "sk-secret")
			t.Setenv("MLPERF_ORT_LIB", "")
			write(t, optionFile, c.file)
			o := mlperf(t, strings.Fields(c.args)...)
			if o.status != ExitUsage || !strings.Contains(o.stderr, "mlperf.yaml: "+c.refused) || !strings.Contains(o.stderr, "--config mlperf.yaml") {
				t.Errorf("status %d: %s", o.status, o.stderr)
			}
			if !strings.HasPrefix(o.stderr, "mlperf.yaml of this folder sets ") {
				t.Errorf("the first line is %q", o.stderr)
			}
		})
	}
	inFolder(t)
	write(t, optionFile, "target-qps: 5\nmodel: \"a\\nresnet50 Server: VALID\"\noutput: x\n")
	for _, args := range []string{"trace", "run --output y", "run --config mlperf.yaml"} { // without output, with another, named
		if o := mlperf(t, strings.Fields(args)...); strings.Contains(o.stderr, "only found") || strings.Contains(o.stderr, "\nresnet50 Server: VALID") {
			t.Errorf("%s: %s", args, o.stderr)
		}
	}
}

// The command line goes before the environment, and that before the file, whichever of the two flags of a model they use.
func TestModelOfTheArgumentWins(t *testing.T) {
	q := runtest.Request(t)
	runtest.WriteModel(t, "other.onnx", 2)
	for i, c := range []struct{ variable, file, args, want string }{
		{"MLPERF_MODEL_PATH=other.onnx", "", "tiny.onnx", "tiny.onnx"},
		{"", "model-path: other.onnx", "tiny.onnx", "tiny.onnx"},
		{"", "model: bert", "tiny.onnx", "tiny.onnx"},
		{"MLPERF_MODEL=bert", "model-path: other.onnx", "tiny.onnx", "tiny.onnx"},
		{"MLPERF_MODEL_PATH=other.onnx", "model-path: tiny.onnx", "--model resnet50", "other.onnx"},
		{"MLPERF_MODEL_PATH=other.onnx", "", "--model resnet50 --model-path tiny.onnx", "tiny.onnx"},
	} {
		t.Run(c.variable+c.file+c.args, func(t *testing.T) {
			write(t, optionFile, c.file)
			if name, value, ok := strings.Cut(c.variable, "="); ok {
				t.Setenv(name, value)
			}
			out := filepath.Join("out", string(rune('a'+i)))
			o := mlperf(t, strings.Fields("run "+c.args+" --backend simulated --sim-latency 1ms --scenario singlestream --quick --min-duration 20ms --progress none --no-report --json --dataset-path "+
				q.DatasetPath+" --output "+out)...)
			if !strings.Contains(o.stdout, `"model_path": "`+c.want+`"`) {
				t.Errorf("status %d, want the model %s: %s%s", o.status, c.want, o.stderr, o.stdout[:min(len(o.stdout), 300)])
			}
		})
	}
	write(t, optionFile, "")
	if o := mlperf(t, "run", "tiny.onnx", "--model-path", "other.onnx"); o.status != ExitUsage || !strings.Contains(o.stderr, "names the model already") {
		t.Errorf("two on the command line: %s", o.stderr)
	}
	if err := os.WriteFile("user.conf", []byte("*.Server.frobnicate = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if o := mlperf(t, "run", "tiny.onnx", "--scenario", "server"); !strings.Contains(o.stderr, "--allow-unknown-keys leaves it out, as LoadGen does") {
		t.Errorf("an unknown key: %s", o.stderr)
	}
}
