package catalogue

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config"
)

// Each benchmark has a README with all that the rules want in it.
func TestReadme(t *testing.T) {
	list, err := Models()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		var b strings.Builder
		if err := Readme(&b, m.Name, config.Newest); err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		text := b.String()
		for _, part := range []string{"## Problem", "### Data set", "### Pre- and post-processing", "sets\n", "### Order of the samples", "## Model", "### Layers", "## Quality and latency", "### Configure the machine", "### Download and verify", "### Run and time"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %q", m.Name, part)
			}
		}
		if strings.Contains(text, "%!") || strings.Contains(text, "\n\n\n") {
			t.Errorf("%s is not well written:\n%s", m.Name, text)
		}
	}
	var b strings.Builder
	if err := Readme(&b, "bert", "v5.1"); err != nil || !strings.Contains(b.String(), "334 M parameters, 123 GMAC\n") || !strings.Contains(b.String(), "| MatMul | ") {
		t.Errorf("BERT-large of 384 tokens has 123 G multiply-accumulates (Open Model Zoo: 246.93 GFLOPs): %v\n%s", err, b.String())
	}
	if err := Readme(&b, "nothing", "v5.1"); err == nil {
		t.Error("a README of nothing")
	}
}
