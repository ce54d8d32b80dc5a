package cli

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run/runtest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// listed are the files and links below a folder with their contents, without what lies below links.
func listed(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	testenv.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			all[path] = "-> " + to
			return err
		case d.Type().IsRegular():
			text, err := os.ReadFile(path)
			all[path] = string(text)
			return err
		}
		return nil
	}))
	return all
}

// linkOut makes a link in a folder, by the first part of a name, to the same name in the folder outside.
func linkOut(t *testing.T, dir, name string) {
	t.Helper()
	first, _, _ := strings.Cut(name, "/")
	to, err := filepath.Abs(filepath.Join("outside", first))
	testenv.Must(t, err, os.Symlink(to, filepath.Join(dir, first)))
}

// The user's files survive every command that takes a folder: in the folder, also those that bear a name of the program's, and
// outside it, behind links that lie in it. A command may refuse such a folder.
func TestFilesOfTheUserSurvive(t *testing.T) {
	archive, err := filepath.Abs("../submission/checker/testdata/v6.1.tar.gz")
	testenv.Must(t, err)
	q := runtest.Request(t)
	model := " --model resnet50 --backend simulated --sim-latency 1ms --model-path " + q.ModelPath + " --dataset-path " + q.DatasetPath + " --quick --min-duration 20ms --progress none"
	if o := mlperf(t, strings.Fields("run --scenario offline --mode accuracy --output done"+model)...); o.status == ExitError || o.status == ExitUsage {
		t.Fatalf("status %d: %s", o.status, o.stderr)
	}
	write(t, "one.yaml", "name: one\nrules: v5.1\nbenchmarks: [{model: resnet50, scenarios: [single-stream]}]\n")
	write(t, "short.conf", "*.SingleStream.min_duration = 20\n*.SingleStream.min_query_count = 4\n")
	testenv.Extract(t, archive, "published")
	image, err := filepath.Glob("imagenet/val/*")
	if err != nil || len(image) == 0 {
		image, err = filepath.Glob("imagenet/*.JPEG")
	}
	testenv.Must(t, err)
	decoys := []string{
		"notes.txt", ".backup-opt.onnx", ".hidden", "latest/x", "latest.1", "confirmed/results.json", "higher/notes.txt", "run_1/notes.txt", "images/captions.txt",
		"results.json", "mlperf.conf", "user.conf", "audit.config", "report.html", "compare.html", "charts.json", "accuracy.txt", "spl.txt", "find-peak.json.txt",
		"mlperf_log_summary.txt", "mlperf_log_detail.txt", "mlperf_log_accuracy.json", "mlperf_log_trace.json", "requests.jsonl.gz", "suite.json", "sweep.json", "sweep.csv",
		"opt.onnx", "opt.onnx.key", "q.md", "TEST05/verify_performance.txt", "runs/TEST05/audit.config", "config.yaml", "events.jsonl", "builtin.json", "system.json", "closed/Org/notes",
	}
	commands := map[string]string{
		"run":                 "run --scenario single-stream --output DIR --trace --save-detailed" + model,
		"run --mode accuracy": "run --scenario offline --mode accuracy --output DIR" + model,
		"find-peak":           "run --scenario server --mode find-peak --target-qps 500 --min-query-count 5 --output DIR" + model,
		"--optimized-model":   "run --scenario single-stream --output DIR/out --optimized-model DIR/opt.onnx" + model,
		"audit":               "audit TEST05 --scenario single-stream --rules v4.1 --output DIR" + model,
		"suite":               "suite run one.yaml --backend simulated --user-conf short.conf --count 4 --progress none --output DIR --model-path " + q.ModelPath + " --dataset-path " + q.DatasetPath,
		"accuracy":            "accuracy DIR",
		"accuracy --log":      "accuracy --model resnet50 --log done/mlperf_log_accuracy.json --dataset-path imagenet --output DIR",
		"explain":             "explain DIR",
		"report":              "report DIR",
		"compare":             "compare DIR done",
		"selftest":            "selftest --scenario server --target-qps 100 --duration 100ms --issue-priority=false --output DIR",
		"preprocess":          "preprocess --model resnet50 --output DIR " + strings.Join(image[:min(1, len(image))], ""),
		"quantize":            "quantize --model-path tiny.onnx --precision fp16 --output DIR/q.onnx",
		"convert":             "convert gnmt --checkpoint nowhere --output DIR",
		"download":            "download dataset coco --dry-run --dir DIR",
		"download --force":    "download dataset librispeech --dir DIR --accept-license --mirror MIRROR --mirror-only --force --progress none",
		"plan":                "plan --model resnet50",
		"man":                 "man DIR",
		"system":              "system --output DIR/system.json",
		"submission build":    "submission build DIR done --submitter Org --division open --system box --rules v5.1 --model resnet50",
		"submission build -f": "submission build DIR done --submitter Org --division open --system box --rules v5.1 --model resnet50 --force",
		"submission check":    "submission check DIR",
		"submission pack":     "submission pack DIR --backup backup",
		"verify":              "verify dataset coco --dir DIR",
		"cache clear":         "cache clear -y",
		"synth":               "synth dataset squad --no-score --progress none",
		"tune":                "tune --scenario offline --backend simulated --sim-latency 1ms --model resnet50 --model-path " + q.ModelPath + " --dataset-path " + q.DatasetPath + " --budget 1s --max-batchsize 1,2 --progress none --output DIR/tuned.json",
	}
	mirror := httptest.NewServer(http.NotFoundHandler())
	defer mirror.Close()
	commands["download --force"] = strings.ReplaceAll(commands["download --force"], "MIRROR", mirror.URL)
	// replaced are the names of a run's own files, which --force replaces also where the run before wrote none of them.
	replaced := []string{
		"report.html", "charts.json", "accuracy.txt", "spl.txt", "mlperf_log_summary.txt", "mlperf_log_detail.txt", "mlperf_log_accuracy.json", "mlperf_log_trace.json",
		"requests.jsonl.gz", "results.json", "mlperf.conf", "user.conf", "audit.config",
	}
	n := 0
	survive := func(t *testing.T, name, args string, make func(dir string)) {
		t.Helper()
		n++
		dir, outside := filepath.Join("tried", strings.Repeat("x", n%7+1)+strings.NewReplacer("/", "_", " ", "_").Replace(name)), "outside"
		testenv.Must(t, os.RemoveAll(dir), os.RemoveAll(outside), os.MkdirAll(dir, 0o755), os.MkdirAll(outside, 0o755))
		for _, d := range decoys {
			write(t, filepath.Join(outside, d), "precious "+d)
		}
		make(dir)
		if strings.HasPrefix(name, "cache clear") || strings.HasPrefix(name, "synth") {
			t.Setenv("MLPERF_CACHE_DIR", dir)
		}
		before := []map[string]string{listed(t, dir), listed(t, outside), listed(t, "done")}
		o := mlperf(t, strings.Fields(strings.ReplaceAll(args, "DIR", dir))...)
		if o.status == ExitUsage && !strings.Contains(o.stderr, " already") { // the command itself is wrong
			t.Errorf("mlperf %s: %s", args, o.stderr)
		}
		for i, root := range []string{dir, outside, "done"} {
			after := listed(t, root)
			for path, text := range before[i] {
				if got, there := after[path]; got != text {
					t.Errorf("mlperf %s: %s was %q and is %q (%v); status %d: %s", args, path, text, got[:min(len(got), 40)], there, o.status, o.stderr)
				}
			}
		}
	}
	for command, args := range commands {
		t.Run(command, func(t *testing.T) {
			survive(t, command, args, func(dir string) {
				for _, d := range decoys {
					write(t, filepath.Join(dir, d), "precious "+d)
				}
			})
			list := decoys
			if !testenv.Long() { // alone each takes its turn
				list = []string{"report.html", "run_1/notes.txt"}
			}
			for _, d := range list {
				survive(t, command+" "+d, args, func(dir string) { write(t, filepath.Join(dir, d), "precious "+d) })
				survive(t, command+" link "+d, args, func(dir string) { linkOut(t, dir, d) })
			}
		})
	}

	mlperf(t, "system", "--submitter", "Org", "--division", "closed", "--system-type", "edge", "--status", "available", "--output", "board.json")

	// With --force a command replaces what it wrote before, and nothing else: not the user's files beside it, and not the targets of
	// links that took the place of its own files.
	forced := map[string]string{
		"run":                 commands["run"],
		"run --mode accuracy": commands["run --mode accuracy"],
		"find-peak":           commands["find-peak"],
		"--optimized-model":   commands["--optimized-model"],
		"audit":               commands["audit"],
		"system":              commands["system"],
		"submission build":    "submission build DIR published --description board.json --system board --model resnet50",
	}
	for command, args := range forced {
		t.Run(command+" --force", func(t *testing.T) {
			for _, linked := range []bool{false, true} {
				dir, outside := filepath.Join("forced", command, strconv.FormatBool(linked)), filepath.Join(t.TempDir(), "outside")
				dir = strings.ReplaceAll(dir, " ", "_")
				testenv.Must(t, os.MkdirAll(dir, 0o755), os.MkdirAll(outside, 0o755))
				if command == "submission build" {
					testenv.Must(t, os.Remove(dir)) // it makes the tree itself
				}
				line := strings.ReplaceAll(args, "DIR", dir)
				if o := mlperf(t, strings.Fields(line)...); o.status == ExitUsage || o.status == ExitError {
					t.Fatalf("mlperf %s: %s", line, o.stderr)
				}
				own, list := listed(t, dir), decoys
				refused := command == "find-peak" && !linked // as the user's confirmed/results.json is there
				if command == "find-peak" && linked {
					list = slices.DeleteFunc(slices.Clone(decoys), func(d string) bool { return strings.HasPrefix(d, "confirmed/") || strings.HasPrefix(d, "higher/") })
				}
				if command == "submission build" { // a folder with anything else is no tree, and refused
					list = []string{"closed/Org/notes.txt", "closed/Org/systems/other.json", "closed/Org/results/board/notes.txt", "closed/Org/results/board/resnet/Offline/notes.txt"}
				}
				for path := range own {
					if name := filepath.Base(path); linked && (filepath.Dir(path) == dir || command == "submission build") && name != report.FileName {
						to := filepath.Join(outside, strings.ReplaceAll(path, "/", "_"))
						testenv.Must(t, os.Rename(path, to), os.Symlink(to, path))
					}
				}
				beside := map[string]string{}
				for _, d := range list {
					path := filepath.Join(dir, d)
					if _, err := os.Lstat(path); err != nil && !slices.Contains(replaced, d) {
						write(t, path, "precious "+d)
						beside[path] = "precious " + d
					}
				}
				before, done := listed(t, outside), listed(t, "done")
				o := mlperf(t, strings.Fields(line+" --force")...)
				if failed := o.status == ExitError || o.status == ExitUsage; failed != refused {
					t.Errorf("mlperf %s --force: status %d: %s", line, o.status, o.stderr)
				}
				kept := listed(t, dir)
				aside, err := filepath.Glob(dir + ".old-*") // where build puts a tree that has files of others
				testenv.Must(t, err)
				for _, old := range aside {
					for path, text := range listed(t, old) {
						kept[filepath.Join(dir, strings.TrimPrefix(path, old))] = text
					}
				}
				for path, text := range beside {
					if got := kept[path]; got != text {
						t.Errorf("mlperf %s --force: %s is %q; status %d: %s", line, path, got[:min(len(got), 40)], o.status, o.stderr)
					}
				}
				if diff := cmp.Diff(before, listed(t, outside)); diff != "" {
					t.Errorf("mlperf %s --force, status %d, outside (-before +after):\n%s", line, o.status, diff)
				}
				if diff := cmp.Diff(done, listed(t, "done")); diff != "" {
					t.Errorf("mlperf %s --force changed another run:\n%s", line, diff)
				}
			}
		})
	}
}
