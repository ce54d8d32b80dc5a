package checker

import (
	"slices"
	"strings"
	"testing"
)

const goodHash = "hash=" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"

func TestAccuracyTextsAreJudgedLineByLine(t *testing.T) {
	const (
		noHash = "acc-hash accuracy/accuracy.txt: no line has the hash of the accuracy log; want hash= and 64 hex digits"
		low    = "acc-target accuracy/accuracy.txt:1: acc is below its target; found 75.69; want ≥ 75.6954"
	)
	for _, c := range []struct {
		name, model, scenario, text string
		want                        []string
	}{
		{"at the target", "resnet", "Offline", "accuracy=75.6954%\n" + goodHash, nil},
		{"a digit below it", "resnet", "Offline", "accuracy=75.69%\n" + goodHash, []string{low}},
		{"below it, and well above later", "resnet", "Offline", "accuracy=75.69%\naccuracy=76%\n" + goodHash, []string{low}},
		{"above it, and below when all was seen", "resnet", "Offline", "accuracy=76%\n" + goodHash + "accuracy=1%\n", nil},
		{"above it, and below before the hash", "resnet", "Offline", "accuracy=76%\naccuracy=1%\n" + goodHash,
			[]string{"acc-target accuracy/accuracy.txt:2: acc is below its target; found 1; want ≥ 75.6954"}},
		{"the hash first", "resnet", "Offline", goodHash + "accuracy=76%\n", nil},
		{"no hash", "resnet", "Offline", "accuracy=76%\n", []string{noHash}},
		{"a hash with a space behind", "resnet", "Offline", "accuracy=76%\nhash=ab \n", []string{noHash}},
		{"nothing", "resnet", "Offline", "", []string{noHash, "acc-metric accuracy/accuracy.txt: no line has acc; want acc ≥ 75.69539999999999"}},
		{"two points in a number", "resnet", "Offline", "accuracy=7.6.5%\n" + goodHash, []string{
			"acc-metric accuracy/accuracy.txt: no line has acc; want acc ≥ 75.69539999999999",
			"acc-number accuracy/accuracy.txt:1: acc is not a number; found 7.6.5; want a number"}},
		{"carriage returns", "resnet", "Offline", "accuracy=76%\r\n" + strings.TrimSpace(goodHash) + "\r\n", nil},
		{"another metric", "resnet", "Offline", "mAP=76%\n" + goodHash,
			[]string{"acc-metric accuracy/accuracy.txt: no line has acc; want acc ≥ 75.69539999999999"}},
		{"WER below its target by the accuracy", "whisper", "Offline", "Word Error Rate: 3.1%, accuracy=96.9%\n" + goodHash,
			[]string{"acc-target accuracy/accuracy.txt:1: ACCURACY is below its target; found 96.9; want ≥ 96.953571"}},
		{"all of the five metrics", "llama3.1-8b", "Offline", llama8b + "\n" + goodHash, nil},
		{"one of the five is missing", "llama3.1-8b", "Offline", strings.Replace(llama8b, "rougeLsum", "rougeLSum", 1) + "\n" + goodHash,
			[]string{"acc-metric accuracy/accuracy.txt: no line has ROUGELSUM; want ROUGELSUM ≥ 35.435069999999996"}},
		{"longer than the limit", "llama3.1-8b", "Offline", strings.Replace(llama8b, "8167644", "8984409", 1) + "\n" + goodHash,
			[]string{"acc-limit accuracy/accuracy.txt:1: GEN_LEN is above its limit; found 8984409; want ≤ 8.9844084e+06"}},
		{"images too much like the prompt", "stable-diffusion-xl", "Offline", "{'FID_SCORE': '23.5', 'CLIP_SCORE': '31.9'}\n" + goodHash,
			[]string{"acc-limit accuracy/accuracy.txt:1: CLIP_SCORE is above its limit; found 31.9; want ≤ 31.81331801"}},
		{"a target of its own in Interactive", "qwen3-vl-235b-a22b", "Interactive", `{"f1": 0.78}` + "\n" + goodHash, nil},
		{"which Server does not accept", "qwen3-vl-235b-a22b", "Server", `{"f1": 0.78}` + "\n" + goodHash,
			[]string{"acc-target accuracy/accuracy.txt:1: F1_HIERARCHICAL is below its target; found 0.78; want ≥ 0.782397"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "v6.1", c.model, c.scenario)
			b.write("accuracy/accuracy.txt", c.text)
			b.g.checkAccuracyText()
			wantSaid(t, b.g.findings, b.g.folder, c.want...)
		})
	}
}

func TestOpenRecordsAccuraciesAndJudgesNone(t *testing.T) {
	for text, want := range map[string][]string{
		"accuracy=1%\n":     {"acc-target accuracy/accuracy.txt:1: acc is below its target; found 1; want ≥ 75.6954 (note)"},
		"":                  nil,
		"nothing\n":         nil,
		"accuracy=1.2.3%\n": {"acc-number accuracy/accuracy.txt:1: acc is not a number; found 1.2.3; want a number"}, // the official checker ends
	} {
		b := newBench(t, "v6.1", "resnet", "Offline")
		b.g.division = "open"
		b.write("accuracy/accuracy.txt", text)
		b.g.checkAccuracyText()
		wantSaid(t, b.g.findings, b.g.folder, want...)
	}
}

func TestTheLastValueOfAMetricIsReported(t *testing.T) {
	b := newBench(t, "v6.1", "resnet", "Offline")
	b.write("accuracy/accuracy.txt", "accuracy=76.1%\naccuracy=077.00%\n"+goodHash+"accuracy=99%\n")
	b.g.checkAccuracyText()
	if got, want := b.g.accuracyText(), "acc: 077.00"; got != want {
		t.Errorf("the summary has %q, want %q: as it was written, up to the line at which all was seen", got, want)
	}
}

func TestAccuracyTextsThatCannotBeRead(t *testing.T) {
	b := newBench(t, "v6.1", "resnet", "Offline")
	b.g.checkAccuracyText()
	wantSaid(t, b.g.findings, b.g.folder, "acc-missing accuracy/accuracy.txt: the accuracy is missing; want what the official accuracy script prints")

	b = newBench(t, "v6.1", "resnet", "Offline")
	b.write("accuracy/accuracy.txt", "accuracy=76%\n"+goodHash+"fine\n\xff\n")
	b.g.checkAccuracyText()
	wantSaid(t, b.g.findings, b.g.folder, "acc-format accuracy/accuracy.txt:4: cannot be read: not UTF-8")

	b = newBench(t, "v6.1", "resnet", "Offline")
	b.mkdir("accuracy/accuracy.txt")
	b.g.checkAccuracyText()
	if len(b.g.findings) != 1 || b.g.findings[0].Rule != "acc-format" {
		t.Errorf("of a folder in its place: %v", b.g.findings)
	}
}

func TestTheAccuracyLogIsThereAndShort(t *testing.T) {
	for size, want := range map[int]string{
		-1:    "acc-log accuracy/mlperf_log_accuracy.json: the accuracy log is missing; want the log, cut to 10 KiB or less",
		0:     "",
		10240: "",
		10241: "acc-log accuracy/mlperf_log_accuracy.json: the accuracy log is not cut; found 10241 bytes; want ≤ 10240 bytes",
	} {
		b := newBench(t, "v6.1", "resnet", "Offline")
		if size >= 0 {
			b.write("accuracy/mlperf_log_accuracy.json", strings.Repeat("x", size))
		}
		if b.g.checkAccuracyLog(); want == "" {
			wantSaid(t, b.g.findings, b.g.folder)
		} else {
			wantSaid(t, b.g.findings, b.g.folder, want)
		}
	}
}

func TestAnAccuracyRunSawTheWholeDataSet(t *testing.T) {
	const rule = "acc-samples log:1: the accuracy run did not see the whole data set; "
	for _, c := range []struct {
		name, model, scenario string
		lines                 []string
		want                  string
	}{
		{"all", "resnet", "Offline", []string{"effective_accuracy_sample_count 50000"}, ""},
		{"a float", "resnet", "Offline", []string{"effective_accuracy_sample_count 50000.0"}, ""},
		{"one less", "resnet", "Offline", []string{"effective_accuracy_sample_count 49999"}, rule + "found 49999; want 50000"},
		{"one more", "resnet", "Offline", []string{"effective_accuracy_sample_count 50001"}, rule + "found 50001; want 50000"},
		{"as a text", "resnet", "Offline", []string{`effective_accuracy_sample_count "50000"`}, rule + "found 50000; want 50000"},
		{"by the QSL, of old logs", "resnet", "Offline", []string{"qsl_reported_total_count 50000"}, ""},
		{"by the QSL, where the other says less", "resnet", "Offline", []string{"effective_accuracy_sample_count 1", "qsl_reported_total_count 50000"}, rule + "found 1; want 50000"},
		{"nowhere", "resnet", "Offline", nil, "acc-samples log: the accuracy run did not see the whole data set; found no such key; want 50000"},
		{"of its own in Interactive", "qwen3-vl-235b-a22b", "Interactive", []string{"effective_accuracy_sample_count 8000"}, ""},
		{"which is not that of Server", "qwen3-vl-235b-a22b", "Server", []string{"effective_accuracy_sample_count 8000"}, rule + "found 8000; want 48289"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "v6.1", c.model, c.scenario)
			b.g.accuracy = logOf(t, "log", append(c.lines, "other 1")...)
			if b.g.checkAccuracySamples(); c.want == "" {
				wantSaid(t, b.g.findings, "")
			} else {
				wantSaid(t, b.g.findings, "", c.want)
			}
		})
	}
}

func TestErrorsOfAnAccuracyRunFailIt(t *testing.T) {
	const all = "effective_accuracy_sample_count 50000"
	message := func(metadata string) string {
		return `:::MLLOG {"key": "error_runtime", "value": "too late", "metadata": ` + metadata + "}\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"none":             {message(`{"is_error": false, "is_warning": true}`), ""},
		"one":              {message(`{"is_error": true}`), "acc-errors log:2: the accuracy run has 1 errors; found too late; want none"},
		"three":            {strings.Repeat(message(`{"is_error": 1}`), 3), "acc-errors log:2: the accuracy run has 3 errors; found too late; want none"},
		"one by a text":    {message(`{"is_error": "false"}`), "acc-errors log:2: the accuracy run has 1 errors; found too late; want none"},
		"nobody says":      {message(`{"is_warning": true}`), "log-format log:2: a message does not say whether it is an error; want metadata with is_error"},
		"no metadata":      {`:::MLLOG {"key": "a", "value": 1}` + "\n", "log-format log:2: a message does not say whether it is an error; want metadata with is_error"},
		"metadata in line": {message(`{"x": {"is_error": true}, "is_error": false}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "v6.1", "resnet", "Offline")
			b.write("accuracy/accuracy.txt", "accuracy=76%\n"+goodHash)
			b.write("accuracy/mlperf_log_accuracy.json", "[]")
			b.write("log", logText(all)+c.text)
			log, err := b.g.readDetail(b.g.folder + "/log")
			if err != nil {
				t.Fatal(err)
			}
			b.g.accuracy = log
			if b.g.checkAccuracy(); c.want == "" {
				wantSaid(t, b.g.findings, b.g.folder)
			} else {
				wantSaid(t, b.g.findings, b.g.folder, c.want)
			}
		})
	}
}

func TestMadeImagesAreThereByName(t *testing.T) {
	b := newBench(t, "v5.1", "stable-diffusion-xl", "Offline")
	want := b.g.rule.Files["images"]
	if len(want) == 0 {
		t.Fatal("the round wants no images")
	}
	b.g.checkMadeFiles()
	wantSaid(t, b.g.findings, b.g.folder, "acc-images accuracy/images: the folder is missing; want "+strings.Join(want, ", "))

	b.g.findings = nil
	for _, name := range want[1:] {
		b.write("accuracy/images/"+name+".png", "x")
	}
	b.write("accuracy/images/"+want[0]+"0.png", "x") // of another number
	b.g.checkMadeFiles()
	wantSaid(t, b.g.findings, b.g.folder, "acc-images accuracy/images: files are missing: "+want[0]+"; want "+strings.Join(want, ", "))

	b.g.findings = nil
	b.write("accuracy/images/"+want[0]+".tar.gz", "x") // the name up to the first point counts
	b.g.checkMadeFiles()
	wantSaid(t, b.g.findings, b.g.folder)
	if slices.Contains(want, "") {
		t.Error("a file without a name is wanted")
	}
}
