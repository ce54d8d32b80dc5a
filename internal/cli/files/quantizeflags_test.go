package files

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/run"
)

// addresses are of what is elsewhere, in another place each time.
var addresses = regexp.MustCompile("0x[0-9a-f]{6,}")

// TestEachFlagOfAModelOrADownloadSaysSomethingOfItsOwn: it changes what is asked for, in another way than the others.
func TestEachFlagOfAModelOrADownloadSaysSomethingOfItsOwn(t *testing.T) {
	weights := fmt.Sprintf("--seven-bit-weights=%v", !run.SevenBitWeights()) // what this processor does not need
	for verb, c := range map[string]struct {
		flags string
		make  func() (*pflag.FlagSet, func() string)
	}{
		"quantize": {"--model=m --model-path=f --dataset-path=d --precision=fp16 --calibration=c --samples=3 --method=dynamic --activations=s8 --per-tensor " + weights +
			" --exclude=a --exclude-op=b --skip-first --skip-last --target=0.5 --count=4 --rank=noise --sensitivity --intra-threads=5 --output=o --json --ort-lib=l", func() (*pflag.FlagSet, func() string) {
			o, f := &quantizeFlags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
			o.define(f)
			return f, func() string { return fmt.Sprintf("%+v", *o) }
		}},
	} {
		_, state := c.make()
		by := map[string]string{addresses.ReplaceAllString(state(), "&"): "no flag"}
		for _, flag := range strings.Fields(c.flags) {
			f, state := c.make()
			if err := f.Parse([]string{flag}); err != nil {
				t.Errorf("%s %s: %v", verb, flag, err)
				continue
			}
			now := addresses.ReplaceAllString(state(), "&")
			if other, same := by[now]; same {
				t.Errorf("%s: %s asks for the same as %s", verb, flag, other)
			}
			by[now] = flag
		}
	}
}

// TestAModelThatWasMadeIsTheSameInWordsAndAsJSON, whatever is known of it.
func TestAModelThatWasMadeIsTheSameInWordsAndAsJSON(t *testing.T) {
	for _, c := range []struct {
		name  string
		made  run.Quantized
		words []string
		doc   string
	}{
		{"half the precision, of which there is no report", run.Quantized{Model: "m.onnx", Description: "m.md"}, []string{"m.onnx\nm.md\n"}, `{"description":"m.md","path":"m.onnx","target_missed":false}`},
		{"integers", run.Quantized{Model: "m.onnx", Description: "m.md", Report: &quantize.Report{Excluded: []quantize.ExcludedLayer{{Layer: "conv1", Op: "Conv", Reason: "asked for"}}, BytesBefore: 4_000_000, BytesAfter: 1_000_000}},
			[]string{"0 layers with 8-bit weights, 1 in FP32; weights 1.0 MB instead of 4.0 MB\n", "m.onnx\nm.md\n"},
			`{"bytes_after":1000000,"bytes_before":4000000,"description":"m.md","fp32_layers":[{"layer":"conv1","op":"Conv","reason":"asked for"}],"path":"m.onnx","quantized_layers":0,"target_missed":false}`},
		{"a target that is missed", run.Quantized{Model: "m.onnx", Description: "m.md", Missed: true}, []string{"the target is missed: this is the best that was found\n"},
			`{"description":"m.md","path":"m.onnx","target_missed":true}`},
	} {
		var b strings.Builder
		if err := showQuantized(&b, &c.made); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.words {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, b.String())
			}
		}
		if doc, err := json.Marshal(quantized(&c.made)); err != nil || string(doc) != c.doc {
			t.Errorf("%s: %s, %v, want %s", c.name, doc, err, c.doc)
		}
	}
}
