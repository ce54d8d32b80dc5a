package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/convert/quantize"
	"github.com/mlperf-go/mlperf/internal/download"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestCacheClear(t *testing.T) {
	old, young := "samples/"+strings.Repeat("0a", 10), "samples/"+strings.Repeat("1b", 10)
	for _, c := range []struct {
		args   string
		status int
		want   string
		left   string
	}{
		{"", ExitDone, "removed", ""}, // without a user to ask
		{"--dry-run", ExitDone, "would remove 2 entries", "0a 1b"},
		{"samples -y", ExitDone, "removed", ""},
		{"models -y", ExitDone, "nothing to remove", "0a 1b"},
		{"0a -y", ExitDone, "removed", "1b"},
		{"--unused 720h -y", ExitDone, "removed", "1b"},
		{"--unused=-720h -y", ExitUsage, `"-720h" … negative`, "0a 1b"},
		{"0a zz -y", ExitUsage, `"zz" … kind`, "0a 1b"},
		{"-y _", ExitUsage, `"" … kind`, "0a 1b"}, // not all
	} {
		t.Run(c.args, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("MLPERF_CACHE_DIR", dir)
			for name, age := range map[string]time.Duration{old: 721 * time.Hour, young: time.Hour} {
				path := filepath.Join(dir, name, "part")
				write(t, path, "text")
				when := time.Now().Add(-age)
				for _, p := range []string{path, filepath.Dir(path)} {
					if err := os.Chtimes(p, when, when); err != nil {
						t.Fatal(err)
					}
				}
			}
			args := append([]string{"cache", "clear"}, strings.Fields(c.args)...)
			for i, a := range args {
				if a == "_" {
					args[i] = ""
				}
			}
			o := mlperf(t, args...)
			if o.status != c.status || !testenv.Tells(o.stdout+o.stderr, c.want) {
				t.Errorf("status %d, want %d and %q:\n%s%s", o.status, c.status, c.want, o.stdout, o.stderr)
			}
			list, err := home.List(dir)
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, e := range list {
				left = append(left, e.Name[:2])
			}
			if got := strings.Join(left, " "); got != c.left {
				t.Errorf("left is %q, want %q", got, c.left)
			}
		})
	}
}

func TestCacheInUseIsNotCleared(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MLPERF_CACHE_DIR", dir)
	write(t, filepath.Join(dir, "samples", strings.Repeat("0a", 10), "part"), "text")
	defer home.Hold(dir)()
	o := mlperf(t, "cache", "clear", "--yes", "--json")
	if want := "cache … in use … nothing was removed"; o.status != ExitError || !testenv.Tells(o.stderr, want) {
		t.Errorf("status %d, %q, want %q", o.status, o.stderr, want)
	}
	if list, err := home.List(dir); err != nil || len(list) != 1 {
		t.Errorf("left is %v, %v", list, err)
	}
}

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
		"d … 5 B … 3 B … --dir":                    &download.NoRoomError{Dir: "d", Need: 5, Free: 3},
		"d/x … it is not a file … --force … --dir": &download.InTheWayError{Path: "d/x", Why: "it is not a file"},
		"downloading … interrupted":                fmt.Errorf("downloading: %w", ErrInterrupted),
		"registration … --from-file":               &download.RegistrationError{},
		"host … refused":                           &download.UnreachableError{Host: "host", Err: errors.New("refused")},
	} {
		if got := explainDownload(t.Output(), download.Item{}, err); !testenv.Names(got, want) {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

func TestShowQuantized(t *testing.T) {
	q := &convert.Quantized{Model: "m.onnx", Description: "m.md", Missed: true, Report: &quantize.Report{Bits: 8,
		Layers: make([]quantize.QuantizedLayer, 3), Excluded: []quantize.ExcludedLayer{}, BytesBefore: 4_000_000, BytesAfter: 1_100_000,
		Search: &quantize.SearchRecord{Score: 75.123456, Target: 76},
	}, Conversion: &report.Conversion{Precision: "int8", Nodes: 3, Of: 4, Agreement: &report.Agreement{Samples: 8, Answers: 8, Equal: 2, LargestError: 0.125, Noise: 0.5}}}
	var b strings.Builder
	want := "3 layers with 8-bit weights, 0 in FP32; constants take 1.10 MB instead of 4.00 MB\nscore 75.1235, target 76\n" +
		"compared with FP32: 25 % of 8 answers equal, largest difference 0.125 of the output's largest value, noise 0.5 of the signal, over 8 samples\n" +
		"limitation: int8: 3 of 4 layers with weights, the others compute in FP32\n" +
		"limitation: int8: the answers are not those of the FP32 model: 25 % of 8 answers equal, largest difference 0.125 of the output's largest value, noise 0.5 of the signal, over 8 samples\n" +
		"m.onnx\nm.md\nthe target is missed: this is the best model\n"
	if err := showQuantized(&b, q, false); err != nil || b.String() != want {
		t.Errorf("%s, %v, want %s", b.String(), err, want)
	}
	b.Reset()
	want = `{"schema":"mlperf-go/quantize/1","bytes_after":1100000,"bytes_before":4000000,"conversion":{"precision":"int8","nodes":3,"of":4,"agreement":{"samples":8,"answers":8,"equal_answers":2,"largest_error":0.125,"noise":0.5}},"description":"m.md","fp32_layers":[],"path":"m.onnx","quantized_layers":3,"score":75.123456,"target":76,"target_missed":true}`
	if err := showQuantized(&b, q, true); err != nil || strings.Join(strings.Fields(b.String()), "") != want {
		t.Errorf("%s, %v, want %s", b.String(), err, want)
	}
	q = &convert.Quantized{Model: "m.onnx", Description: "m.md", Conversion: &report.Conversion{Precision: "fp16", NotCompared: "there is no engine"}}
	b.Reset()
	if err := showQuantized(&b, q, false); err != nil || b.String() != "not compared with FP32: there is no engine\nm.onnx\nm.md\n" {
		t.Errorf("%s, %v", b.String(), err)
	}
}
