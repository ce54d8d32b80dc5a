package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run/runtest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// TestEditedRecords edits the record and the logs of a run: each command that reads them says so.
func TestEditedRecords(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, and of one goroutine")
	}
	runtest.Request(t)
	flags := " --model resnet50 --scenario single-stream --backend simulated --sim-latency 1ms --model-path tiny.onnx --dataset-path imagenet --quick --min-duration 20ms --no-report --progress none"
	for _, dir := range []string{"run", "other"} {
		if o := mlperf(t, strings.Fields("run --mode submission --rules v4.1 --output "+dir+flags)...); o.status != ExitInaccurate {
			t.Fatalf("status %d: %s", o.status, o.stderr)
		}
	}
	if o := mlperf(t, strings.Fields("audit TEST05 --rules v4.1 --output audit --performance-logs run"+flags)...); o.status != ExitDone && o.status != ExitInvalid {
		t.Fatalf("status %d: %s", o.status, o.stderr)
	}
	const dir = "runs/edited"
	var now *testing.T // whose edit it is
	// text replaces what a pattern finds first in a file.
	text := func(name, pattern, by string) func() {
		return func() {
			before := string(testenv.Read(t, filepath.Join(dir, name)))
			at := regexp.MustCompile(pattern).FindStringIndex(before)
			if at == nil || before[at[0]:at[1]] == by {
				now.Fatalf("%s: %s changes nothing", name, pattern)
			}
			write(t, filepath.Join(dir, name), before[:at[0]]+by+before[at[1]:])
		}
	}
	record := func(pattern, by string) func() { return text(report.FileName, pattern, by) }
	number := func(name string) func() { return record(`"`+name+`": [0-9.e+-]+`, `"`+name+`": 99999`) }
	word := func(name, by string) func() { return record(`"`+name+`": "[^"]*"`, `"`+name+`": "`+by+`"`) }
	gone := func(name string) func() { return func() { testenv.Must(t, os.Remove(filepath.Join(dir, name))) } }
	pipe := func(name string) func() {
		return func() {
			gone(name)()
			testenv.Pipe(now, filepath.Join(dir, name))
		}
	}
	from := func(folder string, names ...string) func() {
		return func() {
			for _, name := range names {
				write(t, filepath.Join(dir, name), string(testenv.Read(t, filepath.Join(folder, name))))
			}
		}
	}
	both := func(f ...func()) func() {
		return func() {
			for _, f := range f {
				f()
			}
		}
	}
	const (
		summary, detail, responses = mlperflog.SummaryFile, mlperflog.DetailFile, mlperflog.AccuracyFile
		seal                       = `,\s*"seal": "[0-9a-f]+"`
		changed, unsealed, without = ", CHANGED", ", UNSEALED", ", WITHOUT RECORD"
		missing                    = ", FILES MISSING"
	)
	apart := map[string]bool{"model": true, "scenario": true, "mode": true, "interactive": true} // compare finds no pair
	for i, c := range []struct {
		name string
		edit func()
		mark string
	}{
		{"nothing", func() {}, ""},
		{"white space", func() {
			var d json.RawMessage
			testenv.Must(t, json.Unmarshal(testenv.Read(t, dir+"/"+report.FileName), &d))
			compact, err := json.Marshal(d)
			testenv.Must(t, err)
			write(t, dir+"/"+report.FileName, string(compact))
		}, ""},
		{"lines as on Windows", func() {
			write(t, dir+"/"+report.FileName, strings.ReplaceAll(string(testenv.Read(t, dir+"/"+report.FileName)), "\n", "\r\n"))
		}, ""},
		{"the charts deleted", gone("charts.json"), ""},

		{"the responses deleted", gone(responses), missing},
		{"the summary deleted", gone(summary), missing},
		{"the detail log deleted", gone(detail), missing},
		{"a pipe for the summary", pipe(summary), missing},
		{"a pipe for the detail log", pipe(detail), missing},
		{"a pipe for the responses", pipe(responses), missing},
		{"a folder for the detail log", both(gone(detail), func() { write(t, dir+"/"+detail+"/x", "") }), missing},
		{"a link to nothing", both(gone(detail), func() { testenv.Must(t, os.Symlink("nowhere", dir+"/"+detail)) }), missing},

		{"metric", record(`"value": [0-9.e+-]+`, `"value": 0.001`), changed},
		{"name of the metric", record(`"metric": \{\s*"name": "`, `"metric": {"name": "9`), changed},
		{"unit of the metric", record(`"unit": "ms"`, `"unit": "µs"`), changed},
		{"result", word("result", "INVALID"), changed},
		{"second result", record(`"result": `, `"result": "INVALID", "result": `), changed},
		{"result in capitals", record(`"limitations"`, `"Result": "VALID", "limitations"`), changed},
		{"result after the seal", record(`\}\s*$`, `, "result": "VALID"}`), changed},
		{"no limitations", record(`(?s)"limitations": \[.*?\]`, `"limitations": []`), changed},
		{"a limitation less", record(`(?s)("limitations": \[)\s*\{.*?\},`, `"limitations": [`), changed},
		{"another limitation", record(`"id": "simulated_engine"`, `"id": "unofficial"`), changed},
		{"a softer limitation", record(`not an official`, `an official`), changed},
		{"a warning", record(`"warnings"`, `"notes": ["x"], "warnings"`), changed},
		{"program", word("program", "mlperf 9"), changed},
		{"date", word("created", "2020-01-01T00:00:00Z"), changed},
		{"command", record(`(?s)"command": \[\s*"mlperf`, `"command": ["rm`), changed},
		{"model", word("model", "bert"), changed},
		{"scenario", word("scenario", "Offline"), changed},
		{"mode", word("mode", "AccuracyOnly"), changed},
		{"rules", word("rules", "v6.1"), changed},
		{"interactive", record(`"rules"`, `"interactive": true, "rules"`), changed},
		{"fingerprint", word("fingerprint", "0"), changed},
		{"a constraint's value", record(`"met": true`, `"met": false`), changed},
		{"queries", number("queries"), changed},
		{"samples", number("samples"), changed},
		{"duration", number("duration_ns"), changed},
		{"throughput", number("samples_per_second"), changed},
		{"p99", number("p99"), changed},
		{"mean", number("mean"), changed},
		{"garbage collections", number("gc_cycles"), changed},
		{"target of the score", number("target"), changed},
		{"score reached", record(`(?s)("met": )false(.*?"lines")`, `"met": true, "lines"`), changed},
		{"lines of the score", record(`"lines": \[\s*"`, `"lines": ["9`), changed},
		{"right answers", record(`"right": "[^"]*"`, `"right": "//8="`), changed},
		{"a setting", record(`"settings": \[\s*\{\s*"key": "`, `"settings": [{"key": "x`), changed},
		{"origin of a setting", record(`"origin": "[^"]*"`, `"origin": "rules v4.1"`), changed},
		{"a seed", word("qsl_rng_seed", "1"), changed},
		{"engine", word("engine", "onnxruntime 1.22"), changed},
		{"device", record(`"cpu"`, `"cuda"`), changed},
		{"threads", number("intra_op_threads"), changed},
		{"model file", word("model_path", "official.onnx"), changed},
		{"model's sum", word("model_sha256", "0"), changed},
		{"data set", word("dataset_path", "/data/imagenet"), changed},
		{"a phase", number("seconds"), changed},
		{"system", record(`"system": \{`, `"system": {"cpu": {}, `), changed},
		{"an unknown field", record(`\{`, `{"colour": "red", `), changed},
		{"the schema, later", word("schema", "mlperf-go/results/2"), changed},
		{"the sum of a log", record(`"`+detail+`": "`, `"`+detail+`": "0`), changed},
		{"the sums of the logs removed", record(`(?s)"files_sha256": \{.*?\}`, `"files_sha256": {}`), changed},
		{"the seal removed", record(seal, ""), changed},
		{"an empty seal", record(`"seal": "[0-9a-f]+"`, `"seal": ""`), changed},
		{"another seal", record(`"seal": "`, `"seal": "0`), changed},
		{"a seal that is a number", record(`"seal": "[0-9a-f]+"`, `"seal": null`), changed},
		{"the seal of another run", func() {
			other := regexp.MustCompile(seal).Find(testenv.Read(t, "other/"+report.FileName))
			record(seal, string(other))()
		}, changed},
		{"the seal removed, INVALID made VALID", both(record(seal, ""), number("samples_per_second")), changed},
		{"the seal and the schema removed", both(record(seal, ""), word("schema", "mlperf-go/results/2")), unsealed},
		{"the schema of another program", word("schema", "results/1"), without},
		{"a record of another program", func() { write(t, dir+"/"+report.FileName, `{"qps": 5}`) }, without},
		{"a list", func() { write(t, dir+"/"+report.FileName, `[]`) }, without},
		{"no record", gone(report.FileName), without},
		{"the record of another run", from("other", report.FileName), changed},

		{"verdict of the summary", text(summary, `Result is : \w+`, "Result is : VALID!"), changed},
		{"a number of the summary", text(summary, `(?m)^Min latency \(ns\) +: \d+`, "Min latency (ns)                : 1"), changed},
		{"a line more in the summary", text(summary, `$`, "\n"), changed},
		{"an empty summary", func() { write(t, dir+"/"+summary, "") }, changed},
		{"the summary of another run", from("other", summary), changed},
		{"verdict of the detail log", text(detail, `"result_validity", "value": "VALID"`, `"result_validity", "value": "INVALID"`), changed},
		{"a number of the detail log", text(detail, `("result_90.00_percentile_latency_ns", "value": )\d+`, `"result_90.00_percentile_latency_ns", "value": 1`), changed},
		{"duration of the detail log", text(detail, `"effective_min_duration_ms", "value": \d+`, `"effective_min_duration_ms", "value": 600000`), changed},
		{"a line more in the detail log", text(detail, `$`, "\n"), changed},
		{"a line less in the detail log", text(detail, `:::MLLOG.*qsl_name.*\n`, ""), changed},
		{"a time in the detail log", text(detail, `"time_ms": \d`, `"time_ms": 9`), changed},
		{"lines as on Windows in the detail log", text(detail, `\n`, "\r\n"), changed},
		{"the detail log of another run", from("other", detail), changed},
		{"a response", text(responses, `"data" : "..`, `"data" : "FF`), changed},
		{"a response less", text(responses, `\{ "seq_id".*\},\n`, ""), changed},
		{"white space in the responses", text(responses, `\n`, "\n "), changed},
		{"empty responses", func() { write(t, dir+"/"+responses, "[\n]\n") }, changed},
		{"score", text("accuracy.txt", `accuracy=[0-9.]+`, "accuracy=99.000"), changed},
		{"charts", text("charts.json", `\{`, "{ "), changed},
		{"all logs of another run", from("other", summary, detail, responses), changed},
		{"all of another run but the record", from("other", summary, detail, responses, "accuracy.txt", "charts.json"), changed},
	} {
		t.Run(c.name, func(t *testing.T) {
			now = t
			testenv.Must(t, os.RemoveAll("runs"), os.CopyFS(dir, os.DirFS("run")))
			c.edit()
			says := func(args string, want string) {
				t.Helper()
				o := mlperf(t, strings.Fields(args)...)
				if text := o.stdout + o.stderr; !strings.Contains(text, want) || c.mark == "" && regexp.MustCompile(`CHANGED|UNSEALED|WITHOUT RECORD|changed after|MISSING|is missing`).MatchString(text) {
					t.Errorf("%s: status %d, want %q:\n%s", args, o.status, want, text)
				}
			}
			because := map[string]string{changed: "was changed after the run: ", unsealed: report.Sentence(limitation.Limitation{ID: limitation.Unsealed}), without: report.Sentence(limitation.Limitation{ID: limitation.NoRecord}), missing: " is missing or cannot be read: "}[c.mark]
			says("report runs", c.mark)
			says("explain "+dir, c.mark)
			says("explain "+dir, because)
			others := []func(){
				func() { says("report runs --format csv", c.mark) },
				func() { says("report runs --format json", c.mark) },
				func() { says("report runs --format mlmark", c.mark) },
				func() { says("explain --json "+dir, because) },
				func() { says("report --format html --output - runs", because) },
				func() {
					says("compare "+dir+" run", map[bool]string{false: c.mark, true: "left out"}[apart[c.name] || c.mark == without])
				},
				func() {
					o := mlperf(t, "audit", "verify", "TEST05", dir, "audit/runs/TEST05", "--rules", "v4.1")
					if o.status != ExitError && !strings.Contains(o.stdout, because) {
						t.Errorf("audit verify: %s", o.stdout)
					}
				},
				func() {
					if c.name == "score" {
						return // it is written anew
					}
					if o := mlperf(t, "accuracy", dir); o.status != ExitError && !strings.Contains(o.stdout+o.stderr, because) {
						t.Errorf("accuracy: status %d: %s%s", o.status, o.stdout, o.stderr)
					}
				},
			}
			if !testenv.Long() {
				others = others[i%len(others):][:1]
			}
			for _, command := range others {
				command()
			}
			o := mlperf(t, strings.Fields("submission build tree runs --submitter Org --division open --system box --rules v5.1 --model resnet50")...)
			if o.status == ExitDone || c.mark == changed && !regexp.MustCompile("CHANGED|INVALID|"+detail).MatchString(o.stderr) {
				t.Errorf("submission build: status %d: %s", o.status, o.stderr)
			}
		})
	}
}
