package vision

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// TestNumbersAreThoseOfTheRules compares with the submission checkers (MODEL_CONFIG and OFFLINE_MIN_SPQ of mlcommons/inference,
// tools/submission, at v2.1, v3.1, v4.1 and b66003e1), with the rules of MLPerf Mobile, and with the table of bandwidths.
func TestNumbersAreThoseOfTheRules(t *testing.T) {
	row := func(first, last string, performance, accuracy, offline uint64, latency time.Duration) config.RoundMinima {
		return config.RoundMinima{First: first, Last: last, Minima: config.Minima{
			PerformanceSamples: performance, AccuracySamples: accuracy, OfflineSamples: offline, ServerLatency: latency * time.Millisecond,
		}}
	}
	kidneys := []config.RoundMinima{row("v0.7", "v1.1", 16, 0, 24576, 0), row("v2.0", "v2.1", 42, 0, 24576, 0), row("v3.0", "v3.1", 43, 0, 24576, 0), row("v4.0", "v4.1", 43, 0, 43, 0), row("v5.0", "v6.1", 43, 43, 43, 0)}
	all, single := loadgen.Scenarios(), []loadgen.Scenario{loadgen.SingleStream}
	few := []loadgen.Scenario{loadgen.SingleStream, loadgen.Offline}
	want := map[string]struct {
		rules     string
		scenarios []loadgen.Scenario
		minima    []config.RoundMinima
		in, out   uint64 // values of a sample on the network
		samples   int
		bound     string
	}{
		"resnet50": {"resnet50", all, []config.RoundMinima{row("v0.5", "v0.5", 1024, 0, 24576, 0), row("v0.7", "v4.1", 1024, 0, 24576, 15), row("v5.0", "v6.1", 1024, 50000, 24576, 15)},
			150528, 0, 1024, "accuracy ≥ 75.6954"},
		"mobilenet":     {"mobilenet", all, []config.RoundMinima{row("v0.5", "v0.5", 1024, 0, 24576, 0)}, 0, 0, 1024, "accuracy ≥ 70.2464"},
		"ssd-mobilenet": {"ssd-mobilenet", all, []config.RoundMinima{row("v0.5", "v2.0", 256, 0, 24576, 0)}, 0, 0, 256, "mAP ≥ 21.78"},
		"ssd-resnet34": {"ssd-resnet34", all, []config.RoundMinima{row("v0.5", "v0.5", 64, 0, 24576, 0), row("v0.7", "v2.0", 64, 0, 24576, 100)},
			4320000, 0, 64, "mAP ≥ 19.8"},
		"retinanet": {"retinanet", all, []config.RoundMinima{row("v2.1", "v4.1", 64, 0, 24576, 100), row("v5.0", "v6.0", 64, 24781, 24576, 100)},
			1920000, 0, 64, "mAP ≥ 37.1745"},
		"3d-unet":           {"3d-unet", few, kidneys, 32944795, 32944795, 43, "mean ≥ 0.853083"},
		"3d-unet-99.9":      {"3d-unet", few, kidneys, 32944795, 32944795, 43, "mean ≥ 0.860838"},
		"mobilenet-edgetpu": {"mobilenet-edgetpu", few, nil, 0, 0, 1024, "accuracy ≥ 74.6662"},
		"ssd-mobilenet-v2":  {"ssd-mobilenet-v2", single, nil, 0, 0, 256, "mAP ≥ 22.692"},
		"deeplab-v3plus":    {"deeplab-v3plus", single, nil, 0, 0, 256, "mIoU ≥ 0.53156"},
	}
	for _, m := range Models() {
		w := want[m.Name]
		if diff := cmp.Diff(w.minima, m.Rules.Minima); diff != "" || m.Rules.Name != w.rules || !slices.Equal(m.Rules.Scenarios, w.scenarios) || m.PerformanceSampleCount != w.samples {
			t.Errorf("%s is %s of the rules, with %v, keeps %d samples in memory; minima (-want +got):\n%s", m.Name, m.Rules.Name, m.Rules.Scenarios, m.PerformanceSampleCount, diff)
		}
		var size config.SampleSize
		if m.Rules.Sample != nil {
			size = *m.Rules.Sample
		}
		if size != (config.SampleSize{InValues: w.in, OutValues: w.out}) {
			t.Errorf("%s: a sample is %+v on the network, want %d values in, %d out", m.Name, size, w.in, w.out)
		}
		if got := (workload.Bound{Metric: m.Quality.Metric, Reference: m.Quality.Reference, Least: m.Quality.Fraction}).String(); got != w.bound || m.Quality.Also != nil {
			t.Errorf("%s: %s, want %s", m.Name, got, w.bound)
		}
	}
	if len(Models()) != len(want) {
		t.Errorf("%d benchmarks, want %d", len(Models()), len(want))
	}
}

// TestImagesAreReadAsTheProfilesOfTheReferenceReadThem compares with python/main.py, SUPPORTED_PROFILES and SUPPORTED_DATASETS.
func TestImagesAreReadAsTheProfilesOfTheReferenceReadThem(t *testing.T) {
	for name, want := range map[string]struct {
		pipeline string
		size     int
	}{
		"resnet50": {"resnet50_vgg_224", 224}, "mobilenet": {"mobilenet_224", 224}, "ssd-mobilenet": {"coco_mobilenet_300", 300}, "ssd-resnet34": {"coco_resnet34_1200", 1200},
		"retinanet": {"openimages_retinanet_800", 800}, "mobilenet-edgetpu": {"mobile_classification_224_float32", 224},
		"ssd-mobilenet-v2": {"mobile_detection_300_float32", 300}, "deeplab-v3plus": {"mobile_segmentation_512_float32", 512},
	} {
		r, err := find(t, name).NewReader(nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p := r.(*imageFileReader).pipeline; r.Name() != want.pipeline || p.Size != want.size {
			t.Errorf("%s is read by %s, %d×%d, want %s, %d×%d", name, r.Name(), p.Size, p.Size, want.pipeline, want.size, want.size)
		}
	}
	for options, want := range map[string]string{"layout=HWC": `layout: unknown layout "HWC", want NCHW or NHWC`, "preprocess=none": "preprocess: ", "max-image-pixels=x": "max-image-pixels: "} {
		name, value, _ := strings.Cut(options, "=")
		if _, err := resnet50().NewReader(workload.Values{name: value}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", options, err, want)
		}
	}
}
