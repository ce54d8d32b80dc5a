package results

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
)

// labelled goes to a folder with a data set of pictures, and returns their labels.
func labelled(t *testing.T, images int) (labels []int) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(dir, "cache"))
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(dir, "data"))
	if err := synth.WriteImageNet(t.Context(), "imagenet", synth.ImageNetSpec{Seed: 1, Images: images, Classes: 5}, nil); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("imagenet/val_map.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		var name string
		var label int
		if _, err := fmt.Sscan(line, &name, &label); err != nil {
			t.Fatal(err)
		}
		labels = append(labels, label)
	}
	return labels
}

// An answer is a record of an accuracy log.
type answer struct {
	Seq   int    `json:"seq_id"`
	Index int    `json:"qsl_idx"`
	Data  string `json:"data"`
}

// classAs is a class as a system writes it into its response.
func classAs(dtype string, class int) string {
	switch dtype {
	case "float32":
		return hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(class))))
	case "int32":
		return hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, uint32(class)))
	}
	return hex.EncodeToString(binary.LittleEndian.AppendUint64(nil, uint64(class)))
}

func writeLog(t *testing.T, path string, log []answer) {
	t.Helper()
	text, err := json.Marshal(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAScoreIsWrittenBesideItsLog, and its status says whether it suffices.
func TestAScoreIsWrittenBesideItsLog(t *testing.T) {
	labels := labelled(t, 4)
	all := func(off int) (log []answer) {
		for i, label := range labels {
			log = append(log, answer{i, i, classAs("float32", label+off)})
		}
		return log
	}
	args := []string{"accuracy", "--model", "resnet50", "--log", "log.json", "--dataset-path", "imagenet", "--progress", "none"}
	writeLog(t, "log.json", all(0))
	o := clitest.Run(t, Commands(), args...)
	text, err := os.ReadFile("accuracy.txt")
	if o.Status != cli.ExitDone || err != nil || !strings.Contains(string(text), "accuracy=100.000%, good=4, total=4") {
		t.Errorf("status %d: %s\naccuracy.txt: %s, %v", o.Status, o.Err, text, err)
	}
	o = clitest.Run(t, Commands(), append(args, "--json")...)
	var score struct {
		Schema string
		Value  float64
		Met    bool
		Target float64
	}
	if err := json.Unmarshal([]byte(o.Stdout), &score); err != nil || score.Schema != "mlperf-go/accuracy/1" || score.Value != 100 || !score.Met || math.Abs(score.Target-75.6954) > 1e-9 {
		t.Errorf("as JSON: %+v, %v:\n%s", score, err, o.Stdout)
	}
	writeLog(t, "log.json", all(1))
	if o = clitest.Run(t, Commands(), args...); o.Status != cli.ExitInaccurate || !strings.Contains(o.Stdout, "accuracy=0.000%, good=0, total=4") {
		t.Errorf("nothing is right: status %d: %s%s", o.Status, o.Stdout, o.Err)
	}
	if text, err := os.ReadFile("accuracy.txt"); err != nil || strings.Contains(string(text), "accuracy=100") {
		t.Errorf("the score of the log before is still there: %s, %v", text, err)
	}
}

// TestALogThatCannotBeScoredIsNamed, and no score of it is written.
func TestALogThatCannotBeScoredIsNamed(t *testing.T) {
	labelled(t, 4)
	for name, text := range map[string]string{
		"nothing": "", "no list": "{}", "cut": `[{"seq_id": 0, "qsl_idx": 0, "data": "0000`, "no hexadecimal": `[{"seq_id": 0, "qsl_idx": 0, "data": "zz"}]`,
		"a sample that is not there": `[{"seq_id": 0, "qsl_idx": 99, "data": "00000000"}]`, "half a number": `[{"seq_id": 0, "qsl_idx": 0, "data": "0000"}]`,
		"a sample below nothing": `[{"seq_id": 0, "qsl_idx": -1, "data": "00000000"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile("log.json", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			o := clitest.Run(t, Commands(), "accuracy", "--model", "resnet50", "--log", "log.json", "--dataset-path", "imagenet", "--progress", "none")
			if o.Status != cli.ExitError || !strings.Contains(o.Err, "log.json") {
				t.Errorf("status %d: %q does not name the log", o.Status, o.Err)
			}
			if _, err := os.Stat("accuracy.txt"); err == nil {
				t.Error("a score was written")
			}
		})
	}
}
