//go:build ort && cgo

package quantize_test

import (
	"fmt"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/quantize"
)

// BenchmarkORT compares the speed of the built-in classifiers in INT8 with that in FP32,
// and reports how many images are answered right:
//
//	go test -tags ort -run - -bench ORT -benchtime 1x ./internal/quantize
func BenchmarkORT(b *testing.B) {
	const images, observed = 768, 64
	for _, name := range []string{"mobilenet", "resnet50"} {
		b.Run(name, func(b *testing.B) {
			c := openClassifier(b, name, 0, images+observed)
			m, _, err := quantize.Recipe{}.Make(b.Context(), c.model, c.calibration(images, observed))
			if err != nil {
				b.Fatal(err)
			}
			half, _, err := quantize.ToFloat16(c.model, quantize.Float16Options{})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				for _, threads := range []int{1, 2} {
					o := backend.Options{IntraThreads: threads}
					ratio := speedRatio(c.open(b, c.model, o), c.open(b, m, o), c.images.Rows(0, 4), 7)
					b.ReportMetric(ratio, fmt.Sprintf("x-faster-%d-threads", threads))
				}
			}
			o := backend.Options{IntraThreads: 2}
			list := c.images.Rows(0, images)
			float, int8, float16 := c.open(b, c.model, o).classes(list), c.open(b, m, o).classes(list), c.open(b, half, o).classes(list)
			b.ReportMetric(100*agreement(float, c.labels), "%-right-fp32")
			b.ReportMetric(100*agreement(int8, c.labels), "%-right-int8")
			b.ReportMetric(100*agreement(float16, c.labels), "%-right-fp16")
			b.ReportMetric(100*agreement(int8, float), "%-alike-int8")
		})
	}
}
