package files

import (
	"fmt"
	"testing"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/download"
)

func TestRepairCommand(t *testing.T) {
	coco := download.Item{Kind: download.Dataset, Name: "coco"}
	byHand := download.Item{Kind: download.Dataset, Name: "imagenet", Steps: []string{"Register."}}
	for _, c := range []struct {
		it    download.Item
		found download.Report
		want  string
	}{
		{coco, download.Report{Dir: "usual", Ours: true}, "mlperf download dataset coco"},
		{coco, download.Report{Dir: "my data", Ours: true, Count: 5, Seed: 1 << 63}, "mlperf download dataset coco --dir 'my data' --count 5 --seed 9223372036854775808"},
		{byHand, download.Report{Dir: "usual"}, "mlperf download dataset imagenet --from-file PATH --force"},
	} {
		if got := repairCommand(c.it, &c.found, "usual"); got != c.want {
			t.Errorf("%+v: %s, want %s", c.found, got, c.want)
		}
	}
}

func TestExplainDownload(t *testing.T) {
	for want, err := range map[string]error{
		"d needs 5 B more, 3 B are free there: choose another disk with --dir":                  &download.NoRoomError{Dir: "d", Need: 5, Free: 3},
		"d/x is in the way: it is not a file; replace it with --force, or choose another --dir": &download.InTheWayError{Path: "d/x", Why: "it is not a file"},
		"downloading: interrupted": fmt.Errorf("downloading: %w", cli.ErrInterrupted),
		"registration is needed: get a folder by hand, then name it with --from-file": &download.RegistrationError{},
		"host cannot be reached (is there a network?): refused":                       &download.UnreachableError{Host: "host", Err: fmt.Errorf("refused")},
	} {
		if got := explainDownload(t.Output(), download.Item{}, err); got.Error() != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
