package accuracy

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A randomLog is a log at random, and what an official script prints of it.
type randomLog struct {
	Truth     json.RawMessage // of detections
	Table     string          // of ImageNet
	Labels    [][]int         // of clicks; nil: they are in the log
	Texts     []string        // of speech and translations
	DType     string          // of speech
	Log       json.RawMessage
	Arguments []string
	Lines     []string
	Error     string
}

// eachRandomLog scores the logs of a kind in a file of testdata. A log at which the script ends with an
// error is one here too, and of others all lines are equal.
func eachRandomLog(t *testing.T, name, kind string, score func(c randomLog, log Input, option func(string) string) (*Score, error)) {
	t.Helper()
	if other := os.Getenv("ACCURACY_RANDOM_LOGS"); other != "" {
		name = other // another seed of its script, by hand
	}
	scored := 0
	for i, c := range decodeTestdata[map[string][]randomLog](t, name)[kind] {
		got, err := score(c, Named("log", strings.NewReader(string(c.Log))), func(name string) string {
			value, ok := goldenRun{Arguments: c.Arguments}.option(name)
			if ok && value == "" {
				return "given"
			}
			return value
		})
		switch {
		case c.Error != "" && err == nil:
			t.Errorf("%s %d: the script ends with %s, here is\n%s\nof %s\n%s %v", kind, i, c.Error, got.Text(), c.Log, c.Truth, c.Arguments)
		case c.Error == "" && err != nil:
			t.Errorf("%s %d: %v, where the script prints\n%s\nof %s", kind, i, err, strings.Join(c.Lines, "\n"), c.Log)
		case err == nil:
			scored++
			if d := cmp.Diff(withoutPairs(kind, c.Lines), got.Lines); d != "" {
				t.Errorf("%s %d: lines (-want +got):\n%s\nof %s\n%s\n%v", kind, i, d, c.Truth, c.Log, c.Arguments)
			}
		}
	}
	if scored < 10 {
		t.Errorf("only %d logs have a score", scored)
	}
}

// withoutPairs drops the lines that accuracy-dlrm.py prints of single pairs, which nobody asks for here.
func withoutPairs(kind string, lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return kind == "clicks" && strings.Contains(line, ", expected: ") })
}

func TestDetectionsAtRandomAreScoredAsByTheOfficialScripts(t *testing.T) {
	for _, kind := range []string{"coco", "openimages"} {
		eachRandomLog(t, "random_logs.json", kind, func(c randomLog, log Input, option func(string) string) (*Score, error) {
			truth, err := ReadCOCO(Named("truth", strings.NewReader(string(c.Truth))))
			if err != nil {
				return nil, err
			}
			score, err := ScoreDetections(log, truth, DetectionOptions{InverseMap: option("use-inv-map") != "", Verbose: true})
			if err != nil {
				return nil, err
			}
			return &score.Score, nil
		})
	}
}

func TestLabelsAtRandomAreScoredAsByTheOfficialScript(t *testing.T) {
	eachRandomLog(t, "random_logs.json", "imagenet", func(c randomLog, log Input, option func(string) string) (*Score, error) {
		truth, err := ReadValMap(Named("val_map.txt", strings.NewReader(c.Table)))
		if err != nil {
			return nil, err
		}
		score, err := ScoreImageNet(log, truth, ImageNetOptions{DType: DType(option("dtype")), Verbose: option("verbose") != ""})
		if err != nil {
			return nil, err
		}
		return &score.Score, nil
	})
}

// toldLabels are labels that are not in the log.
type toldLabels [][]int

func (l toldLabels) Len() int { return len(l) }

func (l toldLabels) Labels(sample int) ([]bool, error) {
	if sample >= len(l) {
		return nil, errors.New("no such sample")
	}
	labels := make([]bool, len(l[sample]))
	for i, v := range l[sample] {
		labels[i] = v == 1
	}
	return labels, nil
}

func TestClicksAtRandomAreScoredAsByTheOfficialScript(t *testing.T) {
	eachRandomLog(t, "random_logs.json", "clicks", func(c randomLog, log Input, option func(string) string) (*Score, error) {
		o := ClickOptions{DType: DType(option("dtype")), Verbose: option("verbose") != ""}
		if c.Labels != nil {
			o.Truth = toldLabels(c.Labels)
		}
		score, err := ScoreClicks(log, o)
		if err != nil {
			return nil, err
		}
		return &score.Score, nil
	})
}

func TestTranscriptsAtRandomAreScoredAsByTheOfficialScripts(t *testing.T) {
	known := func(r rune) rune { // the reader of the data set drops other characters
		if strings.ContainsRune(speechLabels, r) {
			return r
		}
		return -1
	}
	eachRandomLog(t, "random_speech.json", "rnnt", func(c randomLog, log Input, _ func(string) string) (*Score, error) {
		for i, text := range c.Texts {
			c.Texts[i] = strings.Map(known, text)
		}
		score, err := ScoreSpeech(log, c.Texts, SpeechOptions{DType: DType(c.DType)})
		if err != nil {
			return nil, err
		}
		return &score.Score, nil
	})
	eachRandomLog(t, "random_speech.json", "whisper", func(c randomLog, log Input, _ func(string) string) (*Score, error) {
		score, err := ScoreWhisper(log, c.Texts, SpeechOptions{DType: DType(c.DType)})
		if err != nil {
			return nil, err
		}
		return &score.Score, nil
	})
}

func TestTranslationsAtRandomAreScoredAsByTheOfficialScript(t *testing.T) {
	eachRandomLog(t, "random_speech.json", "gnmt", func(c randomLog, log Input, _ func(string) string) (*Score, error) {
		var references [][]string
		for _, text := range c.Texts {
			references = append(references, CleanReference(text))
		}
		score, err := ScoreTranslations(log, references, TranslationOptions{})
		if err != nil {
			return nil, err
		}
		return &score.Score, nil
	})
}
