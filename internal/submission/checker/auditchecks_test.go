package checker

import (
	"strings"
	"testing"
)

const (
	endOfTest = "TEST PASS\n"
	ofTest06  = "First token check pass: Skipped\nEOS check pass: True\nSample length check pass: True\nTEST06 verification complete\n"
)

// tested is the smallest result of a model whose compliance tests pass.
func tested(t *testing.T, version, model, scenario string) *bench {
	t.Helper()
	b := newBench(t, version, model, scenario)
	for _, test := range b.g.rule.Tests {
		folder := "/" + b.g.auditFolder(test)
		switch test {
		case "TEST01", "TEST04":
			for _, name := range []string{"mlperf_log_summary.txt", "mlperf_log_detail.txt"} {
				b.write(folder+"/performance/run_1/"+name, logText(linesOf(scenario)...))
			}
			b.write(folder+"/verify_performance.txt", "reference score = 1\ntest score = 1\n"+endOfTest)
		}
		switch test {
		case "TEST06":
			b.write(folder+"/verify_accuracy.txt", ofTest06)
		case "TEST01", "TEST07", "TEST08", "TEST09":
			b.write(folder+"/"+verificationOf(test), endOfTest)
		}
	}
	return b
}

func TestTheSmallestFilesOfEachTestPass(t *testing.T) {
	for _, c := range []struct {
		model string
		tests string
	}{
		{"resnet", "TEST01 TEST04"}, {"bert-99", "TEST01"}, {"llama3.1-8b", "TEST06"}, {"gpt-oss-120b", "TEST07 TEST09"},
		{"dlrm-v3", "TEST08"}, {"e2e-rag-qna", "TEST09"}, {"e2e-rag-db", ""}, {"stable-diffusion-xl", "TEST01 TEST04"},
	} {
		b := tested(t, "v6.1", c.model, "Offline")
		if got := strings.Join(b.g.rule.Tests, " "); got != c.tests {
			t.Errorf("%s has the tests %s, want %s", c.model, got, c.tests)
		}
		if c.model == "resnet" { // of which the logs are
			b.g.checkAudits()
			wantSaid(t, b.g.findings, b.g.folder)
		}
	}
}

func TestWhatIsWrongWithACompliance(t *testing.T) {
	const wantRun = "mlperf_log_summary.txt, mlperf_log_detail.txt"
	for _, c := range []struct {
		name, model string
		change      func(b *bench)
		want        []string
	}{
		{"TEST04 is missing", "resnet", func(b *bench) { b.remove("TEST04") },
			[]string{"audit-missing TEST04: TEST04 is missing; want the files of TEST04"}},
		{"no verification of TEST01", "resnet", func(b *bench) { b.remove("TEST01/verify_accuracy.txt") },
			[]string{"audit-files TEST01/verify_accuracy.txt: the verification is missing; want what the verification script of TEST01 wrote"}},
		{"TEST04 slower", "resnet", func(b *bench) { b.write("TEST04/verify_performance.txt", "TEST FAIL\n") },
			[]string{"audit-result TEST04/verify_performance.txt: the performance of TEST04 did not pass; want TEST PASS"}},
		{"TEST04 unverified", "resnet", func(b *bench) { b.remove("TEST04/verify_performance.txt") },
			[]string{"audit-files TEST04/verify_performance.txt: the verification is missing; want what the verification script of TEST04 wrote"}},
		{"TEST04's log is missing", "resnet", func(b *bench) { b.remove("TEST04/performance/run_1/mlperf_log_detail.txt") }, []string{
			"audit-files TEST04/performance/run_1/mlperf_log_detail.txt: the file is missing; want " + wantRun,
			"log-missing TEST04/performance/run_1/mlperf_log_detail.txt: the log of TEST04 is missing; want the detail log of LoadGen"}},
		{"a note among its logs", "resnet", func(b *bench) { b.write("TEST01/performance/run_1/notes.txt", "x") },
			[]string{"audit-files TEST01/performance/run_1/notes.txt: the file does not belong here; want " + wantRun}},
		{"files that may be there", "resnet", func(b *bench) {
			b.write("TEST01/performance/run_1/mlperf_log_accuracy.json", "[]")
			b.write("TEST01/performance/run_1/mlperf_log_trace.json", "[]")
			b.write("TEST01/performance/run_1/results.json", "{}")
		}, nil},
		{"TEST01 of another round", "resnet", func(b *bench) {
			b.write("TEST01/performance/run_1/mlperf_log_detail.txt", logText(changed(linesOf("Offline"), "effective_qsl_rng_seed 1780908523862526354")...))
		}, []string{"perf-seeds TEST01/performance/run_1/mlperf_log_detail.txt:1: effective_qsl_rng_seed is not the seed of v6.1, but of v5.1; found 1780908523862526354; want 2085463073848966840"}},
		{"TEST01's log is cut", "resnet", func(b *bench) {
			b.write("TEST01/performance/run_1/mlperf_log_detail.txt", ":::MLLOG {\"key\"")
		}, []string{"log-format TEST01/performance/run_1/mlperf_log_detail.txt:1: cannot be read: byte 7: want \":\""}},
		{"a verification that is not UTF-8", "resnet", func(b *bench) { b.write("TEST01/verify_performance.txt", "a\nb\xff\n") },
			[]string{"audit-files TEST01/verify_performance.txt:2: cannot be read: not UTF-8"}},
		{"nothing of TEST06", "llama3.1-8b", func(b *bench) { b.write("TEST06/verify_accuracy.txt", "") }, []string{
			"audit-result TEST06/verify_accuracy.txt: TEST06 did not pass: the first token; want First token check pass: True",
			"audit-result TEST06/verify_accuracy.txt: TEST06 did not pass: the end of the sequence; want EOS check pass: True",
			"audit-result TEST06/verify_accuracy.txt: TEST06 did not pass: the length; want Sample length check pass: True"}},
		{"a first token that was not skipped", "llama3.1-8b", func(b *bench) { b.write("TEST06/verify_accuracy.txt", strings.Replace(ofTest06, "Skipped", "True", 1)) }, nil},
		{"an EOS that was skipped", "llama3.1-8b", func(b *bench) {
			b.write("TEST06/verify_accuracy.txt", strings.Replace(ofTest06, "EOS check pass: True", "EOS check pass: Skipped", 1))
		},
			[]string{"audit-result TEST06/verify_accuracy.txt: TEST06 did not pass: the end of the sequence; want EOS check pass: True"}},
		{"TEST06 indented", "llama3.1-8b", func(b *bench) {
			b.write("TEST06/verify_accuracy.txt", "\t"+strings.ReplaceAll(ofTest06, "\n", " \r\n\u00a0"))
		}, nil},
		{"TEST07 in a sentence", "gpt-oss-120b", func(b *bench) { b.write("TEST07/verify_accuracy.txt", "it is a TEST PASSED\n") }, nil},
		{"TEST07 failed", "gpt-oss-120b", func(b *bench) { b.write("TEST07/verify_accuracy.txt", "TEST FAIL\n") },
			[]string{"audit-result TEST07/verify_accuracy.txt: TEST07 did not pass; want TEST PASS"}},
		{"TEST09 under the name of the others", "gpt-oss-120b", func(b *bench) {
			b.remove("TEST09/verify_output_len.txt")
			b.write("TEST09/verify_accuracy.txt", endOfTest)
		}, []string{"audit-files TEST09/verify_output_len.txt: the verification is missing; want what the verification script of TEST09 wrote"}},
		{"TEST08 in a sentence", "dlrm-v3", func(b *bench) { b.write("TEST08/verify_accuracy.txt", "it is a TEST PASSED\n") },
			[]string{"audit-result TEST08/verify_accuracy.txt: TEST08 did not pass; want TEST PASS"}},
		{"TEST08 with spaces around", "dlrm-v3", func(b *bench) { b.write("TEST08/verify_accuracy.txt", "NE 0.8\n \tTEST PASS \n") }, nil},
		{"a test that nobody asks for, cut", "dlrm-v3", func(b *bench) { b.write("TEST06/verify_accuracy.txt", "\xff") },
			[]string{"audit-files TEST06/verify_accuracy.txt:1: cannot be read: not UTF-8"}}, // the official checker reads it all the same
		{"a test that nobody asks for, failed", "dlrm-v3", func(b *bench) { b.write("TEST06/verify_accuracy.txt", "TEST FAIL") }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := tested(t, "v6.1", c.model, "Offline")
			c.change(b)
			b.g.checkAudits()
			wantSaid(t, b.g.findings, b.g.folder, c.want...)
		})
	}
}

func TestOpenNeedsNoComplianceButReadsIt(t *testing.T) {
	b := newBench(t, "v6.1", "resnet", "Offline")
	b.g.division = "open"
	b.g.checkAudits()
	wantSaid(t, b.g.findings, b.g.folder)
	b.write("TEST04/performance/run_1/mlperf_log_detail.txt", "no log\n")
	b.g.checkAudits()
	wantSaid(t, b.g.findings, b.g.folder,
		`log-format TEST04/performance/run_1/mlperf_log_detail.txt:1: cannot be read: starts with "no log", want :::MLLOG`)
}

func TestComplianceOfOlderRoundsLiesBesideResults(t *testing.T) {
	for _, c := range []struct{ version, test, want string }{
		{"v5.0", "TEST01", "closed/Org/compliance/box/resnet50/Offline/TEST01"},
		{"v5.1", "TEST06", "closed/Org/compliance/box/resnet50/Offline/TEST06"},
		{"v5.1", "TEST08", "closed/Org/results/box/resnet50/Offline/TEST08"}, // which those rounds had not
		{"v6.0", "TEST01", "closed/Org/results/box/resnet50/Offline/TEST01"},
		{"v6.1", "TEST04", "closed/Org/results/box/resnet50/Offline/TEST04"},
	} {
		if got := newBench(t, c.version, "resnet", "Offline").g.auditFolder(c.test); got != c.want {
			t.Errorf("%s of %s is in %s, want %s", c.test, c.version, got, c.want)
		}
	}
}

// compared is a result whose TEST01 failed and compares accuracies.
func compared(t *testing.T, model, baseline, compliance string) *bench {
	t.Helper()
	b := newBench(t, "v6.1", model, "Offline")
	for name, text := range map[string]string{
		"mlperf_log_accuracy.json": "[]", "accuracy.txt": "x", "baseline_accuracy.txt": baseline, "compliance_accuracy.txt": compliance,
	} {
		b.write("TEST01/accuracy/"+name, text)
	}
	return b
}

func TestTest01ComparesAccuraciesWhereAnswersDiffer(t *testing.T) {
	const (
		missing = " is missing in baseline_accuracy.txt or compliance_accuracy.txt; want "
		rule    = "audit-accuracy TEST01/accuracy: "
		between = " % between baseline_accuracy.txt and compliance_accuracy.txt; found "
	)
	huge := strings.Repeat("9", 400)
	for _, c := range []struct {
		name, model, baseline, compliance string
		want                              []string
	}{
		{"the same", "resnet", "accuracy=76%", "accuracy=76%", nil},
		{"within one percent", "resnet", "accuracy=76%", "accuracy=75.25%", nil},
		{"of the compliance's value, not the baseline's", "resnet", "accuracy=99.1%", "accuracy=100%", nil},
		{"more than one percent lower", "resnet", "accuracy=76%", "accuracy=75%",
			[]string{rule + "acc differs by 1.333" + between + "76 and 75; want at most 1 %"}},
		{"more than one percent higher", "resnet", "accuracy=75%", "accuracy=76%",
			[]string{rule + "acc differs by 1.316" + between + "75 and 76; want at most 1 %"}},
		{"the last line counts", "resnet", "accuracy=1%\naccuracy=76%", "accuracy=76%", nil},
		{"no baseline", "resnet", "nothing", "accuracy=76%", []string{rule + "acc" + missing + "acc in both"}},
		{"a compliance of 0", "resnet", "accuracy=76%", "accuracy=0%", []string{rule + "acc" + missing + "acc in both"}},
		{"a number with two points", "resnet", "accuracy=7.6.1%", "accuracy=76%", []string{
			rule + "acc" + missing + "acc in both",
			"audit-accuracy TEST01/accuracy/baseline_accuracy.txt:1: acc is not a number; found 7.6.1; want a number"}},
		{"numbers so large that none is left", "resnet", "accuracy=" + huge, "accuracy=" + huge,
			[]string{rule + "acc differs by NaN" + between + "+Inf and +Inf; want at most 1 %"}},
		{"99.9 is stricter", "bert-99.9", `{"exact_match": 80, "f1": 90.8}`, `{"exact_match": 80, "f1": 90.9}`,
			[]string{rule + "F1 differs by 0.11" + between + "90.8 and 90.9; want at most 0.1 %"}},
		{"99 is not", "bert-99", `{"exact_match": 80, "f1": 90.8}`, `{"exact_match": 80, "f1": 90.9}`, nil},
		{"each metric has its own bound", "stable-diffusion-xl", "{'FID_SCORE': '23.5', 'CLIP_SCORE': '31.7'}", "{'FID_SCORE': '23.9', 'CLIP_SCORE': '32.2'}",
			[]string{rule + "CLIP_SCORE differs by 1.553" + between + "31.7 and 32.2; want at most 1 %"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := compared(t, c.model, c.baseline+"\n", c.compliance+"\n")
			b.g.checkFallback(b.g.folder + "/TEST01")
			wantSaid(t, b.g.findings, b.g.folder, c.want...)
		})
	}
}

func TestTest01NeedsTheFilesOfAComparison(t *testing.T) {
	const four = "mlperf_log_accuracy.json, accuracy.txt, baseline_accuracy.txt, compliance_accuracy.txt"
	b := newBench(t, "v6.1", "resnet", "Offline")
	b.g.checkFallback(b.g.folder + "/TEST01")
	if len(b.g.findings) != 1 || !strings.HasPrefix(b.g.findings[0].Message, "TEST01 did not pass, and has no folder accuracy to compare: ") {
		t.Errorf("without a folder: %v", b.g.findings)
	}

	b = compared(t, "resnet", "accuracy=1%\n", "accuracy=99%\n")
	b.remove("TEST01/accuracy/baseline_accuracy.txt")
	b.write("TEST01/accuracy/fifth.txt", "x")
	b.g.checkFallback(b.g.folder + "/TEST01")
	wantSaid(t, b.g.findings, b.g.folder,
		"audit-accuracy TEST01/accuracy/baseline_accuracy.txt: the file is missing; want "+four,
		"audit-accuracy TEST01/accuracy/fifth.txt: the file does not belong here; want "+four,
		"audit-accuracy TEST01/verify_accuracy.txt: responses in performance mode are not those of the accuracy run, so the scores of the same samples are compared; want TEST PASS, or the files of a comparison (note)")

	b = compared(t, "resnet", "accuracy=76%\n\xff", "accuracy=76%\n")
	b.g.checkFallback(b.g.folder + "/TEST01")
	wantSaid(t, b.g.findings, b.g.folder,
		"audit-accuracy TEST01/accuracy: acc is missing in baseline_accuracy.txt or compliance_accuracy.txt; want acc in both",
		"audit-accuracy TEST01/accuracy/baseline_accuracy.txt:2: cannot be read: not UTF-8")
}

func TestTheVerdictOfPerformanceIsReadNoFurtherThanNeeded(t *testing.T) {
	b := newBench(t, "v6.1", "resnet", "Offline")
	b.write("TEST04/verify_performance.txt", endOfTest+strings.Repeat("x\n", 1<<16)+"\xff")
	b.g.checkVerifiedPerformance(b.g.folder+"/TEST04", "TEST04")
	wantSaid(t, b.g.findings, b.g.folder)

	b.g.strict = true
	b.write("TEST04/verify_performance.txt", "no TEST PASSED\n")
	b.g.checkVerifiedPerformance(b.g.folder+"/TEST04", "TEST04")
	wantSaid(t, b.g.findings, b.g.folder, "audit-line TEST04/verify_performance.txt: TEST PASS is not a line of its own; want TEST PASS")
}
