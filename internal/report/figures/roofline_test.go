package figures

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

func TestRoofline(t *testing.T) {
	// 100 GFLOP/s and 20 GB/s meet at 5 operations a byte. A sample takes 2·10⁹ operations; its weights are 10⁹ bytes, read for four.
	r := &report.Results{
		Workers: []report.WorkerStats{{Batches: 5, Samples: 20}},
		Operations: &report.Operations{
			WeightBytes: 1e9, SampleBytes: 25e7, MACs: 1e9, GFLOPS: 40, Ceiling: &report.Ceiling{GFLOPS: 100, GBytesPerSecond: 20, Precision: "fp32"},
		},
	}
	f := run{r: r}.roofline()
	if f == nil || !f.drawable() || len(f.At) != 4 || f.At[1] != 4 || f.At[2] != 5 || f.Series[0].Values[1] != 80 || f.Series[0].Values[2] != 100 || f.Series[1].Values[1] != 40 {
		t.Fatalf("%+v", f)
	}
	if !strings.Contains(f.Sentence, "50 % of what the machine allows there, where memory is the limit") {
		t.Error(f.Sentence)
	}
	for name, change := range map[string]func(o *report.Operations){
		"no ceiling": func(o *report.Operations) { o.Ceiling = nil }, "no memory": func(o *report.Operations) { o.Ceiling = &report.Ceiling{GFLOPS: 100} },
		"nothing achieved": func(o *report.Operations) { o.GFLOPS = 0 }, "work is not known": func(o *report.Operations) { o.MACs = 0 },
	} {
		o := *r.Operations
		change(&o)
		if f := (run{r: &report.Results{Operations: &o}}).roofline(); f != nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
