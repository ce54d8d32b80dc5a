package compliance

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// older gives a run the key that its scenario's result had in a round.
func older(f fakeRun, version string) fakeRun {
	key := map[string]string{
		"SingleStream": "result_90.00_percentile_latency_ns", "Server": "result_scheduled_samples_per_sec", "Offline": "result_samples_per_second", "MultiStream": "effective_samples_per_query",
	}[f.scenario]
	if f.scenario == "MultiStream" && version >= "v2.0" {
		key = "result_99.00_percentile_per_query_latency_ns"
	}
	f.settings = maps.Clone(f.settings)
	if f.settings == nil {
		f.settings = map[string]any{}
	}
	f.settings[key] = f.metric
	return f
}

func TestOneSampleIsComparedWithDifferentOnes(t *testing.T) {
	for _, c := range []struct {
		name, scenario, rules string
		unique, same          float64
		want                  bool
	}{
		{"about the same rate", "Offline", "v0.5", 100, 109.9, true},
		{"more than 10 % faster", "Offline", "v0.7", 100, 110.1, false},
		{"much slower", "Server", "v1.0", 100, 20, true},
		{"10 % lower latency", "SingleStream", "v1.1", 1e6, 0.9e6, false},
		{"a little lower latency", "SingleStream", "v1.1", 1e6, 0.91e6, true},
		{"much higher latency", "SingleStream", "v2.0", 1e6, 3e6, true},
		{"a fast stream that is 19 % faster", "SingleStream", "v0.5", 200000, 162000, true},
		{"a fast stream that is 20 % faster", "SingleStream", "v0.5", 200000, 160000, false},
		{"more samples a query", "MultiStream", "v0.5", 10, 12, false},
		{"v2.0 takes a higher latency of MultiStream for a higher rate", "MultiStream", "v2.0", 1e6, 1.2e6, false},
		{"and a lower one for a lower", "MultiStream", "v2.0", 1e6, 0.5e6, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := older(fakeRun{scenario: c.scenario, metric: c.unique, settings: map[string]any{"effective_performance_issue_unique": true}, invalid: true}, c.rules)
			b := older(fakeRun{scenario: c.scenario, metric: c.same, settings: settings04, invalid: true}, c.rules) // which the reference does not look at
			v, err := Verify(t.Context(), Test04, Logs{Performance: a.write(t), Audit: b.write(t)}, Options{Rules: c.rules})
			if err != nil {
				t.Fatal(err)
			}
			if v.Passed != c.want {
				t.Errorf("passed = %v, want %v: %v %v", v.Passed, c.want, v.Facts, v.Findings)
			}
			limit := "within 10 %, or slower, passes"
			if c.unique == 200000 {
				limit = "within 20 %, or slower, passes"
			}
			if !strings.Contains(v.Facts[0], limit) {
				t.Errorf("%q does not say that what is %s", v.Facts[0], limit)
			}
			dir := t.TempDir()
			if err := v.Write(dir, false); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, "TEST04-A", performanceFile))
			if has := strings.Contains(string(text), "TEST PASS"); err != nil || has != c.want {
				t.Errorf("TEST04-A/%s: %v, %s", performanceFile, err, text)
			}
			for _, path := range []string{"TEST04-A/performance/run_1/mlperf_log_detail.txt", "TEST04-B/performance/run_1/mlperf_log_summary.txt"} {
				if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestRunsOfTheWrongKindAreNotCompared(t *testing.T) {
	a := older(fakeRun{scenario: "Offline", metric: 100}, "v0.7")
	b := older(fakeRun{scenario: "Offline", metric: 100, settings: settings04}, "v0.7")
	_, err := Verify(t.Context(), Test04, Logs{Performance: a.write(t), Audit: b.write(t)}, Options{Rules: "v0.7"})
	if err == nil || !strings.Contains(err.Error(), "effective_performance_issue_unique is false, want true: the run was not made with the audit.config of TEST04-A") {
		t.Errorf("error %v", err)
	}
}

func TestOtherSeedsBefore31CountInBothDirections(t *testing.T) {
	for _, c := range []struct {
		rules    string
		ref, run float64
		want     bool
	}{
		{"v0.5", 100, 109, true}, {"v0.5", 100, 111, false}, {"v0.5", 100, 91, true}, {"v0.7", 100, 106, false}, {"v0.7", 100, 96, true}, {"v2.0", 100, 94, false},
	} {
		ref := older(fakeRun{scenario: "Offline", metric: c.ref}, c.rules)
		run := older(fakeRun{scenario: "Offline", metric: c.run, settings: settings05}, c.rules)
		v, err := Verify(t.Context(), Test05, Logs{Performance: ref.write(t), Audit: run.write(t)}, Options{Rules: c.rules})
		if err != nil || v.Passed != c.want {
			t.Errorf("%s, %v and %v: %v, %v, want %v", c.rules, c.ref, c.run, v, err, c.want)
		}
	}
}

// The results are those that verify_performance.py of v0.7, v1.0.1 and v2.0 reads: no estimates of early stopping,
// and of MultiStream first samples of a query, then a latency.
func TestResultsBeforeV21AreThoseOfTheirRound(t *testing.T) {
	for _, c := range []struct {
		test, rules, scenario string
		ref, run              float64
		want                  bool
	}{
		{Test01, "v1.0", "MultiStream", 100, 109, true},
		{Test01, "v1.0", "MultiStream", 100, 115, false},
		{Test05, "v1.0", "MultiStream", 100, 106, false},
		{Test01, "v1.0", "SingleStream", 200000, 238000, true},
		{Test01, "v2.0", "MultiStream", 1600000, 1900000, true},
		{Test05, "v2.0", "MultiStream", 1600000, 1900000, false},
		{Test05, "v2.0", "SingleStream", 200000, 238000, true},
		{Test01, "v2.0", "Server", 100, 90.1, true},
		{Test05, "v2.0", "Server", 100, 94, false},
	} {
		f := fakeRun{scenario: c.scenario, metric: c.ref, responses: []string{"0 00"}}
		ref := older(f, c.rules)
		f.metric, f.settings = c.run, settingsOf(c.test, nil)
		run := older(f, c.rules)
		for _, r := range []fakeRun{ref, run} { // which are of later rounds
			r.settings["early_stopping_latency_ss"], r.settings["early_stopping_latency_ms"], r.settings["result_completed_samples_per_sec"] = nil, nil, nil
		}
		acc := ref
		acc.mode = "AccuracyOnly"
		v, err := Verify(t.Context(), c.test, Logs{Performance: ref.write(t), Accuracy: acc.write(t), Audit: run.write(t)}, Options{Rules: c.rules})
		if err != nil || v.Passed != c.want {
			t.Errorf("%s of %s, %s, %v and %v: %+v, %v, want passed %v", c.test, c.rules, c.scenario, c.ref, c.run, v, err, c.want)
		}
	}
}

func TestTheSeedsOfV05AreThoseOfTheScenario(t *testing.T) {
	ref := older(fakeRun{scenario: "Offline", metric: 100, responses: []string{"0 00"}}, "v0.5")
	acc := ref
	acc.mode = "AccuracyOnly"
	run := ref
	run.settings = maps.Clone(ref.settings)
	run.settings["effective_accuracy_log_rng_seed"] = 456
	l := Logs{Performance: ref.write(t), Accuracy: acc.write(t), Audit: run.write(t)}
	if v, err := Verify(t.Context(), Test01, l, Options{Rules: "v0.5"}); err != nil || !v.Passed {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := Verify(t.Context(), Test01, l, Options{Rules: "v0.7"}); err == nil || !strings.Contains(err.Error(), "is 456, want 720381539243781796") {
		t.Errorf("with the seed of another round: %v", err)
	}
}

func TestAnswersOnOtherDataAreOthers(t *testing.T) {
	for _, c := range []struct {
		name     string
		official []string
		custom   []string
		metric   float64
		want     bool
		says     string
	}{
		{"other answers", []string{"0 00", "1 01"}, []string{"0 05", "1 01"}, 105, true, "1 of 2 responses differ"},
		{"the same answers", []string{"0 00", "1 01"}, []string{"0 00", "1 01"}, 100, false, "all 2 responses on the changed data are those"},
		{"much faster", []string{"0 00"}, []string{"0 05"}, 200, false, "+100.0 %"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ref := older(fakeRun{scenario: "Offline", metric: 100}, "v0.5")
			acc := fakeRun{scenario: "Offline", mode: "AccuracyOnly", responses: c.official}
			other := acc
			other.responses = c.custom
			run := older(fakeRun{scenario: "Offline", metric: c.metric}, "v0.5")
			dir := t.TempDir()
			for folder, made := range map[string]string{"performance/run_1": run.write(t), "accuracy": other.write(t)} {
				if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(made)); err != nil {
					t.Fatal(err)
				}
			}
			v, err := Verify(t.Context(), Test03, Logs{Performance: ref.write(t), Accuracy: acc.write(t), Audit: dir}, Options{Rules: "v0.5"})
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(append(v.Facts, v.Findings...), "\n"); v.Passed != c.want || !strings.Contains(all, c.says) {
				t.Errorf("passed = %v, want %v; %q should say %q", v.Passed, c.want, all, c.says)
			}
			if err := v.Write(t.TempDir(), false); err != nil {
				t.Error(err)
			}
		})
	}
}

// dataSet makes one with a picture and sentences.
func dataSet(t *testing.T) string {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 16, 8))
	for i := range 16 * 8 {
		picture.Set(i%16, i/16, color.RGBA{200, 100, 50, 255})
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, picture, nil); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"val/a.JPEG": b.String(), "val_map.txt": "val/a.JPEG 5\n", "newstest2014.tok.bpe.32000.en": "A dog is here .\nNo\n", "newstest2014.tok.bpe.32000.de": "Ein Hund ist da .\n"} {
		if err := writeFile(filepath.Join(dir, name), strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestEverySampleOfADataSetIsChangedAndTruthIsNot(t *testing.T) {
	to := filepath.Join(t.TempDir(), "data")
	if err := alter(t.Context(), dataSet(t), to); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(to, "val/a.JPEG"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if r, g, blue, _ := out.At(5, 5).RGBA(); blue>>8 > 8 || r>>8 < 190 || g>>8 < 90 {
		t.Errorf("the picture's colour is %d %d %d, want about 200 100 0", r>>8, g>>8, blue>>8)
	}
	for name, want := range map[string]string{"val_map.txt": "val/a.JPEG 5\n", "newstest2014.tok.bpe.32000.en": "dog A was here .\nNo\n", "newstest2014.tok.bpe.32000.de": "Ein Hund ist da .\n"} {
		if text, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v, want %q", name, text, err, want)
		}
	}
}

func TestDataThatCannotBeChangedAreNamed(t *testing.T) {
	if err := alter(t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "data")); err == nil || !strings.Contains(err.Error(), "neither JPEG pictures nor sentences") {
		t.Errorf("an empty data set: %v", err)
	}
	from := dataSet(t)
	if err := os.WriteFile(filepath.Join(from, "val/b.JPEG"), []byte("no picture"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := alter(t.Context(), from, filepath.Join(t.TempDir(), "data")); err == nil || !strings.Contains(err.Error(), "b.JPEG") {
		t.Errorf("a file that is no picture: %v", err)
	}
}

func TestChangingDataCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to := filepath.Join(t.TempDir(), "data")
	if err := alter(ctx, dataSet(t), to); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that it was cancelled", err)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("something was changed")
	}
}

func TestWhatIsASample(t *testing.T) {
	for name, want := range map[string]bool{
		"a.jpg": true, "A.JPEG": true, "b.Jpg": true, "a.png": false, "val_map.txt": false, "newstest2014.tok.bpe.32000.en": true,
		"newstest2014.tok.bpe.32000.de": false, "newstest2013.en": false, "jpg": false, "": false,
	} {
		if got := changeOf(name) != nil; got != want {
			t.Errorf("changeOf(%q): %v, want %v", name, got, want)
		}
	}
}

func TestEverySentenceOfTwoWordsIsAnother(t *testing.T) {
	for _, sentence := range []string{"It is he .", "A B", "Plain words stay", "12 34", "  leading", "Gutach : Increased safety for pedestrians", "a\tb c"} {
		var out strings.Builder
		if err := otherWords(&out, strings.NewReader(sentence+"\n")); err != nil {
			t.Fatal(err)
		}
		same := out.String() == sentence+"\n"
		if two := wordStart.MatchString(sentence); same == two {
			t.Errorf("%q became %q", sentence, out.String())
		}
	}
}
