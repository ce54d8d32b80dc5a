package compliance

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// Runs are compared only if all that they say of themselves fits, and what does not is named with
// its line.
func TestEachTestRefusesRunsThatDoNotFit(t *testing.T) {
	all := []string{Test01, Test04, Test05, Test06, Test07, Test08, Test09}
	l := Logs{Performance: t.TempDir(), Accuracy: t.TempDir(), Audit: t.TempDir()}
	of := func(names ...string) []string { return names }
	for _, c := range []struct {
		name  string
		where string // ref, acc or run
		set   map[string]any
		tests []string // that refuse it
		want  string
	}{
		{"nothing", "run", nil, nil, ""},
		{"a test of accuracy", "run", map[string]any{"effective_test_mode": "AccuracyOnly"}, all, "effective_test_mode is AccuracyOnly, want PerformanceOnly: the run was not made with the audit.config of "},
		{"a search", "run", map[string]any{"effective_test_mode": "FindPeakPerformance"}, all, "effective_test_mode is FindPeakPerformance, want PerformanceOnly"},
		{"a result of accuracy", "ref", map[string]any{"effective_test_mode": "AccuracyOnly"}, of(Test01, Test04, Test05), "effective_test_mode is AccuracyOnly, want PerformanceOnly: the result's run measures performance"},
		{"a result of both", "ref", map[string]any{"effective_test_mode": "SubmissionRun"}, nil, ""},
		{"a performance run for the accuracy", "acc", map[string]any{"effective_test_mode": "PerformanceOnly"}, of(Test01, Test08), "effective_test_mode is PerformanceOnly, want AccuracyOnly: responses are compared with those of an accuracy run"},
		{"both for the accuracy", "acc", map[string]any{"effective_test_mode": "SubmissionRun"}, nil, ""},
		{"other data in the accuracy run", "acc", map[string]any{"effective_accuracy_sample_count": 9}, of(Test01, Test08), "effective_accuracy_sample_count is 9, want 8: another model or data set than "},
		{"other data in the result", "ref", map[string]any{"effective_performance_sample_count": 9}, of(Test01, Test04, Test05), "effective_performance_sample_count is 8, want 9: another model or data set than "},
		{"another scenario", "ref", map[string]any{"effective_scenario": "Server"}, of(Test01, Test04, Test05), "effective_scenario is Offline, want Server: the scenario of "},
		{"other seeds", "run", map[string]any{"effective_qsl_rng_seed": 77}, of(Test01, Test04), "effective_qsl_rng_seed is 77, want 1: seeds of another round than "},
		{"one seed of the result", "run", map[string]any{"effective_sample_index_rng_seed": 2}, of(Test05), "effective_sample_index_rng_seed is 2, want another: the run has the seeds of the result; TEST05 needs those of its own"},
		{"no sampling", "run", map[string]any{"effective_accuracy_log_rng_seed": 0}, of(Test01, Test06, Test07, Test08, Test09), "effective_accuracy_log_rng_seed is 0, want 720381539243781796: the run was not made with the audit.config of "},
		{"unique samples", "run", map[string]any{"effective_performance_issue_unique": true}, of(Test04), "effective_performance_issue_same is true, want true"},
		{"the sample before", "run", map[string]any{"effective_performance_issue_same_index": 2}, of(Test04), "effective_performance_issue_same_index is 2, want 3"},
	} {
		for _, test := range all {
			f := fakeRun{scenario: "Offline", metric: 100, responses: []string{"0 " + responseOf(test)}}
			runs := map[string]*fakeRun{}
			for _, name := range []string{"ref", "acc", "run"} {
				one := f
				one.settings = map[string]any{}
				runs[name] = &one
			}
			runs["acc"].mode, runs["run"].settings = "AccuracyOnly", settingsOf(test, nil)
			runs["acc"].responses = []string{"0 " + response(1, 7, 0.8, 1, 1, 1)}
			runs["run"].extra = `, "token_data" : "", "token_count" : 4`
			for key, value := range c.set {
				runs[c.where].settings[key] = value
			}
			rules := ""
			if test == Test05 {
				rules = "v4.1"
			}
			runs["ref"].rewrite(t, l.Performance)
			runs["acc"].rewrite(t, l.Accuracy)
			runs["run"].rewrite(t, l.Audit)
			_, err := Verify(t.Context(), test, l, Options{Rules: rules, DType: map[string]string{Test01: "float32"}[test], Score: "echo \"'exact_match': 70\" {accuracy_log}"})
			switch refused := slices.Contains(c.tests, test); {
			case !refused && err != nil:
				t.Errorf("%s: %s: %v", c.name, test, err)
			case refused && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "mlperf_log_detail.txt:")):
				t.Errorf("%s: %s: %v, want %q with its line", c.name, test, err, c.want)
			}
		}
	}
}

// responseOf is one that a test can read.
func responseOf(test string) string {
	if test == Test08 {
		return response(1, 7, 0.8)
	}
	return response(1, 7, 0.8, 1)
}

// plainCounts does what TEST01's script does, record by record, with texts.
func plainCounts(known, run []accuracy.Record) []string {
	answers, duplicates, differing := map[uint64]string{}, 0, 0
	for _, r := range known {
		data := hex.EncodeToString(r.Data)
		if before, has := answers[r.QSLIndex]; has {
			duplicates++
			if before != data {
				differing++
			}
			continue
		}
		answers[r.QSLIndex] = data
	}
	found, wrong, missing := 0, 0, 0
	for _, r := range run {
		data := hex.EncodeToString(r.Data)
		before, has := answers[r.QSLIndex]
		answers[r.QSLIndex] = data
		if !has {
			missing++
			continue
		}
		if found++; before[:min(2, len(before))] != data[:min(2, len(data))] {
			wrong++
		}
	}
	verdict := "TEST FAIL"
	if wrong == 0 && found > 0 {
		verdict = "TEST PASS"
	}
	return []string{
		fmt.Sprint("num_acc_log_entries = ", len(known)), fmt.Sprint("num_acc_log_duplicate_keys = ", duplicates), fmt.Sprint("num_acc_log_data_mismatch = ", differing),
		fmt.Sprint("num_perf_log_entries = ", len(run)), fmt.Sprint("num_perf_log_qsl_idx_match = ", found), fmt.Sprint("num_perf_log_data_mismatch = ", wrong),
		fmt.Sprint("num_missing_qsl_idxs = ", missing), verdict, "",
	}
}

func TestResponsesAreCountedAsOneByOne(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	records := func(n int) (list []accuracy.Record) {
		for i := range n {
			data := make([]byte, rnd.IntN(3))
			for k := range data {
				data[k] = byte(rnd.IntN(2))
			}
			list = append(list, accuracy.Record{Number: i, QSLIndex: uint64(rnd.IntN(5)), Data: data})
		}
		return list
	}
	for range 500 {
		known, run := records(rnd.IntN(8)), records(rnd.IntN(8))
		c := newComparison("")
		for _, r := range known {
			if err := c.learn("known")(r); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range run {
			if err := c.compare("run")(r); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := c.lines(), plainCounts(known, run); !slices.Equal(got, want) {
			t.Fatalf("%v and %v: %q, want %q", known, run, got, want)
		}
		if len(c.examples) != min(c.wrong, mostExamples) || c.passes() != slices.Contains(c.lines(), "TEST PASS") {
			t.Errorf("%d examples of %d wrong ones", len(c.examples), c.wrong)
		}
	}
}

func TestFirstNumbersAreShownByTheirType(t *testing.T) {
	for _, c := range []struct {
		dtype, data, want string
		fails             bool
	}{
		{"byte", "ff01", "255", false}, {"int32", "ffffffff00000000", "-1", false}, {"int64", "feffffffffffffff", "-2", false}, {"float32", "0000c03f", "1.5", false},
		{"byte", "", "nothing", false}, {"float32", "0000c07f", "NaN", false}, {"int32", "ffff", "", true}, {"int64", "00000000", "", true},
	} {
		data, err := hex.DecodeString(c.data)
		if err != nil {
			t.Fatal(err)
		}
		r := newComparison(c.dtype)
		a, err := r.answer(data)
		if (err != nil) != c.fails || err == nil && r.show(a) != c.want {
			t.Errorf("%s as %s is %s, %v, want %s", c.data, c.dtype, r.show(a), err, c.want)
		}
	}
	c := newComparison("float32")
	nan, err := c.answer([]byte{0, 0, 0xc0, 0x7f})
	if err != nil || c.same(nan, nan) {
		t.Errorf("what is no number is the same as itself, %v", err)
	}
}

// A log that is restricted has the records of the test's samples, all of them and in their order.
func TestALogIsRestrictedToTheSamplesOfTheTest(t *testing.T) {
	l := pair01(t, []string{"0 00", "1 0102", "2 ", "1 ffff", "7 aa"}, []string{"1 09", "7 09", "1 08", "5 00"})
	l.responses = filepath.Join(l.Audit, "mlperf_log_accuracy.json")
	path := filepath.Join(t.TempDir(), "short.json")
	if err := restrict(path, l); err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := eachRecord(path, func(r accuracy.Record) error {
		got = append(got, fmt.Sprintf("%d %d %x", r.SeqID, r.QSLIndex, r.Data))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1 1 0102", "3 1 ffff", "4 7 aa"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	text, err := os.ReadFile(path)
	if want := "[\n{ \"seq_id\" : 1, \"qsl_idx\" : 1, \"data\" : \"0102\" },\n"; err != nil || !strings.HasPrefix(string(text), want) || !strings.HasSuffix(string(text), "\n]\n") {
		t.Errorf("%s, %v, want what LoadGen writes: %s", text, err, want)
	}
	l.Accuracy = t.TempDir()
	if err := restrict(path, l); err == nil {
		t.Error("of no log")
	}
}

func TestScoresAreAlikeWithinTheirPercent(t *testing.T) {
	for _, c := range []struct {
		p    scorePair
		want bool
	}{
		{scorePair{"m", 100, 100, 1}, true}, {scorePair{"m", 99.01, 100, 1}, true}, {scorePair{"m", 100.99, 100, 1}, true}, {scorePair{"m", 99, 100, 1}, false} /* 1.0000000000000009 in Python, too */, {scorePair{"m", 98.9, 100, 1}, false},
		{scorePair{"m", 100, 0, 1}, false}, {scorePair{"m", 0, 0, 1}, false}, {scorePair{"m", 0, 100, 1}, false}, {scorePair{"m", math.NaN(), 1, 1}, false},
		{scorePair{"m", 1, math.NaN(), 1}, false}, {scorePair{"m", math.Inf(1), math.Inf(1), 1}, false}, {scorePair{"m", -1, -1, 1}, true}, {scorePair{"m", 100.05, 100, 0.1}, true},
	} {
		if got := c.p.alike(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.p, got, c.want)
		}
	}
	for _, c := range []struct {
		lines []string
		want  float64
	}{{nil, 0}, {[]string{"accuracy=76.5%"}, 76.5}, {[]string{"accuracy=1%", "x", "accuracy=2%"}, 2}, {[]string{"accuracy=2%", "accuracy=1..5%"}, 0}, {[]string{"mAP=5"}, 0}} {
		if got := lastOf("acc", c.lines); got != c.want {
			t.Errorf("lastOf(%q) = %v, want %v", c.lines, got, c.want)
		}
	}
}

func TestRecommendationsOfOneQueryHaveAsManyPredictions(t *testing.T) {
	known := []string{"0 " + response(1, 7, 0.8, 0.3, 1, 0, 1, 2, 2)}
	for _, c := range []struct{ name, run, want string }{
		{"fewer", "0 " + response(1, 7, 0.8), "record 0: 1 predictions for time 1, query 7, the accuracy log has 2"},
		{"more", "0 " + response(1, 7, 0.8, 0.3, 0.1), "record 0: 3 predictions for time 1, query 7, the accuracy log has 2"},
		{"no query", "0 " + response(1), "record 0: 1 numbers, want a time, a query, and predictions"},
		{"part of a number", "0 0000", "record 0: 2 bytes are not numbers of 4 bytes"},
		{"a time that is none", "0 " + response(float32(math.NaN()), 7, 0.8), "the time is NaN, want a whole number"},
		{"a query too far", "0 " + response(1, 1e30, 0.8), "the query is 1e+30, want a whole number"},
	} {
		acc := fakeRun{scenario: "Offline", mode: "AccuracyOnly", responses: known}
		run := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{c.run}}
		if v, err := Verify(t.Context(), Test08, Logs{Accuracy: acc.write(t), Audit: run.write(t)}, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %q", c.name, v, err, c.want)
		}
	}
	acc := fakeRun{scenario: "Offline", mode: "AccuracyOnly", responses: []string{"0 " + response(1, 7, 0.8, 1, 1, 3)}}
	run := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{"0 " + response(1, 7, 0.8)}}
	if _, err := Verify(t.Context(), Test08, Logs{Accuracy: acc.write(t), Audit: run.write(t)}, Options{}); err == nil || !strings.Contains(err.Error(), "record 0: 6 numbers for 3 candidates, want 12") {
		t.Errorf("labels that are missing: %v", err)
	}
}

// A prediction that is surely right has no entropy, and a guess of the mean has 1, whatever the weights.
func TestEntropiesAreShares(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		n := 2 + rnd.IntN(20)
		labels, weights, guess, sure := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
		total, mean := 0.0, 0.0
		for i := range n {
			labels[i], weights[i] = float32(i%2), float32(1+rnd.IntN(5))
			total += float64(weights[i])
			mean += float64(weights[i]) * float64(labels[i])
			sure[i] = labels[i]
		}
		for i := range guess {
			guess[i] = float32(mean / total)
		}
		if e := entropy(guess, labels, weights); math.Abs(e-1) > 1e-5 {
			t.Errorf("a guess of the mean has the entropy %v", e)
		}
		if e := entropy(sure, labels, weights); e > 1e-4 || e < 0 {
			t.Errorf("what is right has the entropy %v", e)
		}
		twice := slices.Clone(weights)
		for i := range twice {
			twice[i] *= 2
		}
		if a, b := entropy(guess, labels, weights), entropy(guess, labels, twice); math.Abs(a-b) > 1e-12 {
			t.Errorf("with twice the weights %v becomes %v", a, b)
		}
	}
	if entropy(nil, nil, nil) != 0 {
		t.Error("nothing has an entropy")
	}
}

func TestV05HasTheSeedOfEachScenario(t *testing.T) {
	seen := map[uint64]bool{}
	for _, s := range loadgen.Scenarios() {
		seed := samplingSeedOf("v0.5", s)
		if seen[seed] || seed == 0 || samplingSeedOf("v0.7", s) != samplingSeed {
			t.Errorf("%v has the seed %d", s, seed)
		}
		seen[seed] = true
	}
}

func ExampleNeeds() {
	needs, err := Needs("v6.1", "resnet50", "offline")
	fmt.Println(needs, err)
	_, err = Needs("v6.1", "gnmt", "")
	fmt.Println(strings.SplitAfter(err.Error(), ";")[0])
	// Output:
	// [{resnet50 Offline [TEST01 TEST04]}] <nil>
	// model: rules v6.1 have no benchmark "gnmt";
}

func ExampleConf() {
	text, err := Conf("TEST04", "resnet50", "v6.1")
	fmt.Print(text, err)
	// Output:
	// # TEST04 of resnet50
	// *.*.mode = 2
	// *.*.performance_issue_unique = 0
	// *.*.performance_issue_same = 1
	// *.*.performance_issue_same_index = 3
	// <nil>
}
