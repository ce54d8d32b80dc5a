package files

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/download"
)

func TestTheCommandThatRepairs(t *testing.T) {
	coco := download.Item{Kind: download.Dataset, Name: "coco"}
	byHand := download.Item{Kind: download.Dataset, Name: "imagenet", Steps: []string{"Register."}}
	for _, c := range []struct {
		name  string
		it    download.Item
		found download.Report
		want  string
	}{
		{"of the usual folder", coco, download.Report{Dir: "usual", Ours: true}, "mlperf download dataset coco"},
		{"of another", coco, download.Report{Dir: "my data", Ours: true}, "mlperf download dataset coco --dir 'my data'"},
		{"of a part", coco, download.Report{Dir: "usual", Ours: true, Count: 5, Seed: 1 << 63}, "mlperf download dataset coco --count 5 --seed 9223372036854775808"},
		{"of what somebody else made", coco, download.Report{Dir: "usual"}, "mlperf download dataset coco --force"},
		{"of what a person has to get", byHand, download.Report{Dir: "usual", Ours: true}, "mlperf download dataset imagenet --from-file PATH"},
		{"all at once", byHand, download.Report{Dir: "x", Count: 1}, "mlperf download dataset imagenet --dir x --count 1 --seed 0 --from-file PATH --force"},
	} {
		if got := repairCommand(c.it, &c.found, "usual"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestAShellReadsTheCommandThatRepairs: a folder may be called anything.
func TestAShellReadsTheCommandThatRepairs(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell: ", err)
	}
	for _, dir := range []string{"a b", "it's", `a"b`, "$HOME", "`id`", "a;b", "a\nb", "*", "~", "!x", "#c", "{a,b}", `back\slash`, "a&b"} {
		command := repairCommand(download.Item{Kind: download.Model, Name: "m"}, &download.Report{Dir: dir, Ours: true}, "usual")
		out, err := exec.Command(sh, "-c", "mlperf() { printf '%s\\0' \"$@\"; }\n"+command).Output()
		if got, want := strings.Split(string(out), "\x00"), []string{"download", "model", "m", "--dir", dir, ""}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is read as %q, %v", command, got, err)
		}
	}
}

func TestAReportOfAFolderCountsWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		found  download.Report
		repair string
		want   string
	}{
		{download.Report{Dir: "d", Fine: []string{"all"}, Unknown: []string{"the rest"}}, "", "model m in d\n  fine     all\n  unknown  the rest\nnothing is wrong\n"},
		{download.Report{Dir: "d", Problems: []string{"a"}}, "mlperf x", "model m in d\n  wrong    a\n  repair   mlperf x\n1 problem\n"},
		{download.Report{Dir: "d", Problems: []string{"a", "b"}, More: 3}, "", "model m in d\n  wrong    a\n  wrong    b\n  wrong    … and 3 more\n5 problems\n"},
	} {
		var b strings.Builder
		if err := printReport(&b, download.Item{Kind: download.Model, Name: "m"}, &c.found, c.repair); err != nil || b.String() != c.want {
			t.Errorf("%s, %v, want\n%s", b.String(), err, c.want)
		}
	}
}

func TestWhatIsVerifiedIsNamedWithWhatGetsIt(t *testing.T) {
	inData(t)
	write(t, "old/resnet50_v1.onnx", "no model")
	write(t, "file", "")
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "nothing is there", Args: []string{"verify", "model", "resnet50", "--dir", "nowhere"}, Status: cli.ExitError,
			Want: []string{"model resnet50 is not in nowhere: there is no such folder: mlperf download model resnet50 --dir nowhere gets it"}},
		{Name: "nothing is where it usually is", Args: []string{"verify", "dataset", "coco"}, Status: cli.ExitError, Want: []string{": mlperf download dataset coco gets it"}, Not: []string{"--dir"}},
		{Name: "another file", Args: []string{"verify", "model", "resnet50", "--dir", "old"}, Status: cli.ExitError,
			Want: []string{"wrong    resnet50_v1.onnx", "repair   mlperf download model resnet50 --dir old --force\n1 problem\n", "model resnet50 in old is not as it should be"}},
		{Name: "another file, as JSON", Args: []string{"verify", "model", "resnet50", "--dir", "old", "--json"}, Status: cli.ExitError,
			Want: []string{`"schema": "mlperf-go/verify/1"`, `"repair": "mlperf download model resnet50 --dir old --force"`}},
		{Name: "a file for a folder", Args: []string{"verify", "model", "resnet50", "--dir", "file"}, Status: cli.ExitError, Want: []string{"file"}},
		{Name: "a part of what has none", Args: []string{"verify", "dataset", "kits19", "--dir", "old", "--count", "5"}, Status: cli.ExitUsage, Want: []string{"--count: dataset kits19 cannot be had in part"}},
		{Name: "a part below nothing", Args: []string{"verify", "dataset", "coco", "--count", "-1"}, Status: cli.ExitUsage, Want: []string{"--count: -1 samples"}},
		{Name: "a name that is none", Args: []string{"verify", "dataset", "imagenot"}, Status: cli.ExitUsage, Want: []string{`unknown data set "imagenot"`}},
		{Name: "no name", Args: []string{"verify", "model"}, Status: cli.ExitUsage, Want: []string{"model: want NAME"}},
	})
	if _, err := os.Stat("data"); err == nil {
		t.Error("verifying made a folder")
	}
}
