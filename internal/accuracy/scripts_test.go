package accuracy

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A scriptRun is one run of an official script on a small log.
type scriptRun struct {
	Variant, Log, Error, Printed string
	Arguments                    []string
	Lines                        []string `json:"printed_lines"` // with --verbose, without "no results:"

	// The printed numbers in full precision.
	Percent float64 `json:"accuracy_percent"`
	Stats   []float64
	BLEU    float64 `json:"bleu_percent"`
	AUC     float64
	PerCase map[string]struct{ Kidney, Tumor, Composite float64 } `json:"per_case"`
}

// option returns the value after --name, "given" where it has none, and "" where it is not there.
func option(arguments []string, name string) string {
	i := slices.Index(arguments, "--"+name)
	switch {
	case i < 0:
		return ""
	case i+1 < len(arguments) && !strings.HasPrefix(arguments[i+1], "--"):
		return arguments[i+1]
	}
	return "given"
}

// LoadGen wrote the logs.
func TestOfficialScripts(t *testing.T) {
	valMap := must(ReadValMap(goldenLog(t, "resnet50/val_map.txt")))
	cases := must(ReadKiTSCases(goldenLog(t, "kits19/cases.json")))
	var references [][]string
	for line := range strings.Lines(string(testenv.Read(t, "testdata/logs/gnmt/newstest.tok.bpe.de.gz"))) {
		references = append(references, CleanReference(line))
	}
	var transcripts []string
	for _, entry := range golden[[]struct {
		Duration   float64 `json:"original_duration"`
		Transcript string
	}](t, "logs/whisper/manifest.json.gz") {
		if entry.Duration <= 30 {
			transcripts = append(transcripts, entry.Transcript)
		}
	}
	detections := func(annotations string) func(scriptRun, Input) (*Score, error) {
		gt := must(ReadCOCO(goldenLog(t, annotations)))
		return func(run scriptRun, log Input) (*Score, error) {
			return ScoreDetections(log, gt, DetectionOptions{
				InverseMap: option(run.Arguments, "use-inv-map") != "", RemoveEmptyImages: option(run.Arguments, "remove-48-empty-images") != "", Verbose: true,
			})
		}
	}
	for dir, score := range map[string]func(run scriptRun, log Input) (*Score, error){
		"resnet50": func(run scriptRun, log Input) (*Score, error) {
			return ScoreImageNet(log, valMap, ImageNetOptions{DType: DType(option(run.Arguments, "dtype"))})
		},
		"ssd":              detections("ssd/annotations/instances_val2017.json"),
		"ssd_remove_empty": detections("ssd_remove_empty/annotations/instances_val2017.json"),
		"retinanet":        detections("retinanet/annotations/openimages-mlperf.json"),
		"kits19": func(run scriptRun, log Input) (*Score, error) {
			return ScoreKiTS(log, cases, DType(option(run.Arguments, "output_dtype")))
		},
		"dlrm": func(run scriptRun, log Input) (*Score, error) {
			o := ClickOptions{}
			if option(run.Arguments, "day-23-file") != "" {
				o.Truth = readDay(t)
			}
			return ScoreClicks(log, 1000, o)
		},
		"gnmt": func(_ scriptRun, log Input) (*Score, error) { return ScoreTranslations(log, references, nil) },
		"whisper": func(run scriptRun, log Input) (*Score, error) {
			return ScoreWhisper(log, transcripts, DType(option(run.Arguments, "output_dtype")))
		},
	} {
		for _, run := range golden[struct{ Runs []scriptRun }](t, "logs/"+dir+"/expected.json.gz").Runs {
			t.Run(dir+" "+run.Variant, func(t *testing.T) {
				got, err := score(run, goldenLog(t, dir+"/"+run.Log))
				if run.Error != "" || run.Variant == "truncated_log" { // which the script of GNMT scores
					wantError(t, err, "mlperf_log_accuracy.json")
					if run.Error == "" && !errors.Is(err, errTruncated) {
						t.Errorf("a log that was cut off: %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				want, lines := run.Lines, got.Lines
				if want == nil {
					want = []string{run.Printed}
				}
				lines = slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.HasPrefix(line, "no results:") })
				if d := cmp.Diff(want, lines); d != "" {
					t.Errorf("lines (-want +got):\n%s", d)
				}
				var values []float64
				switch {
				case run.Stats != nil:
					values = append([]float64{100 * run.Stats[0]}, run.Stats...)
				case dir == "kits19":
					mean := run.PerCase["mean"]
					values = []float64{mean.Composite, mean.Kidney, mean.Tumor}
				case dir == "dlrm":
					values = []float64{100 * run.AUC}
				case dir == "gnmt":
					values = []float64{run.BLEU}
				case dir == "resnet50":
					values = []float64{run.Percent}
				}
				var have []float64
				for _, v := range got.Values[:len(values)] {
					have = append(have, v.Value)
				}
				same := exact
				if dir == "kits19" || dir == "dlrm" || dir == "gnmt" {
					same = near
				}
				if d := cmp.Diff(values, have, same...); d != "" {
					t.Errorf("values (-want +got):\n%s", d)
				}
			})
		}
	}
}

// labelTable has the labels of clicks by sample.
type labelTable [][]bool

func (l labelTable) Labels(i int) ([]bool, error) {
	if i >= len(l) {
		return nil, errors.New("no such sample")
	}
	return l[i], nil
}

// readDay reads the labels of day_23, in runs as a trace has them.
func readDay(t *testing.T) labelTable {
	t.Helper()
	var labels []bool
	for line := range strings.Lines(string(testenv.Read(t, "testdata/logs/dlrm/day_23.gz"))) {
		labels = append(labels, line[0] == '1')
	}
	var day labelTable
	for line := range strings.Lines(string(testenv.Read(t, "testdata/logs/dlrm/dlrm_trace_of_aggregated_samples.txt.gz"))) {
		n := must(strconv.Atoi(strings.TrimSpace(strings.Split(line, ", ")[2])))
		day, labels = append(day, labels[:n]), labels[n:]
	}
	return day
}

// A randomLog is a random log with the output of an official script.
type randomLog struct {
	Truth     json.RawMessage // of detections
	Table     string          // of ImageNet
	Labels    [][]int         // of clicks; nil: they are in the log
	Texts     []string        // of speech and translations
	DType     DType           // of speech
	Log       json.RawMessage
	Arguments []string
	Lines     []string
	Error     string
}

// TestOfficialScriptsOnRandomLogs has logs with wrong labels, indices and lengths, NaN and infinity. If the script ends with an
// error, so does the score; else all lines are equal.
func TestOfficialScriptsOnRandomLogs(t *testing.T) {
	detections := func(c randomLog, log Input) (*Score, error) {
		truth, err := ReadCOCO(Named("truth", strings.NewReader(string(c.Truth))))
		if err != nil {
			return nil, err
		}
		return ScoreDetections(log, truth, DetectionOptions{InverseMap: option(c.Arguments, "use-inv-map") != "", Verbose: true})
	}
	for kind, score := range map[string]func(c randomLog, log Input) (*Score, error){
		"coco": detections, "openimages": detections,
		"imagenet": func(c randomLog, log Input) (*Score, error) {
			truth, err := ReadValMap(Named("val_map.txt", strings.NewReader(c.Table)))
			if err != nil {
				return nil, err
			}
			return ScoreImageNet(log, truth, ImageNetOptions{DType: DType(option(c.Arguments, "dtype")), Verbose: option(c.Arguments, "verbose") != ""})
		},
		"clicks": func(c randomLog, log Input) (*Score, error) {
			o := ClickOptions{DType: DType(option(c.Arguments, "dtype")), Verbose: option(c.Arguments, "verbose") != ""}
			if c.Labels != nil {
				table := labelTable{}
				for _, labels := range c.Labels {
					var bools []bool
					for _, v := range labels {
						bools = append(bools, v == 1)
					}
					table = append(table, bools)
				}
				o.Truth = table
			}
			return ScoreClicks(log, 1000, o)
		},
		"rnnt": func(c randomLog, log Input) (*Score, error) {
			for i, text := range c.Texts { // the reader of the data set drops other characters
				c.Texts[i] = strings.Map(func(r rune) rune {
					if strings.ContainsRune(rnntLabels, r) {
						return r
					}
					return -1
				}, text)
			}
			return ScoreSpeech(log, c.Texts, c.DType)
		},
		"whisper": func(c randomLog, log Input) (*Score, error) { return ScoreWhisper(log, c.Texts, c.DType) },
		"gnmt": func(c randomLog, log Input) (*Score, error) {
			var references [][]string
			for _, text := range c.Texts {
				references = append(references, CleanReference(text))
			}
			return ScoreTranslations(log, references, nil)
		},
	} {
		name, scored := "testdata/random_logs.json.gz", 0
		if slices.Contains([]string{"rnnt", "whisper", "gnmt"}, kind) {
			name = "testdata/random_speech.json.gz"
		}
		if other := os.Getenv("ACCURACY_RANDOM_LOGS"); other != "" {
			name = other // another seed of its script, by hand
		}
		for i, c := range testenv.JSON[map[string][]randomLog](t, name)[kind] {
			got, err := score(c, text(string(c.Log)))
			switch {
			case (c.Error != "") != (err != nil):
				t.Errorf("%s %d: error %v, the script's %q; log %s", kind, i, err, c.Error, c.Log)
			case err == nil:
				scored++
				// accuracy-dlrm.py also prints single pairs, which Verbose leaves out.
				want := slices.DeleteFunc(c.Lines, func(line string) bool { return kind == "clicks" && strings.Contains(line, ", expected: ") })
				if d := cmp.Diff(want, got.Lines); d != "" {
					t.Errorf("%s %d: lines (-want +got):\n%s\nof %s\n%s\n%v", kind, i, d, c.Truth, c.Log, c.Arguments)
				}
			}
		}
		if scored < 10 && os.Getenv("ACCURACY_RANDOM_LOGS") == "" {
			t.Errorf("%s: only %d logs have a score", kind, scored)
		}
	}
}
