package vision

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// TestNumbersAreThoseOfTheRules compares with the rules of MLPerf Mobile and with the table of bandwidths.
func TestNumbersAreThoseOfTheRules(t *testing.T) {
	want := map[string]struct {
		rules   string
		in, out uint64 // values of a sample on the network
		samples int
		bound   string // of MLPerf Mobile
	}{
		"resnet50":          {"resnet50", 150528, 0, 1024, ""},
		"mobilenet":         {"mobilenet", 0, 0, 1024, ""},
		"ssd-mobilenet":     {"ssd-mobilenet", 0, 0, 256, ""},
		"ssd-resnet34":      {"ssd-resnet34", 4320000, 0, 64, ""},
		"retinanet":         {"retinanet", 1920000, 0, 64, ""},
		"3d-unet":           {"3d-unet", 32944795, 32944795, 43, ""},
		"3d-unet-99.9":      {"3d-unet", 32944795, 32944795, 43, ""},
		"mobilenet-edgetpu": {"mobilenet-edgetpu", 0, 0, 1024, "accuracy ≥ 74.6662"},
		"ssd-mobilenet-v2":  {"ssd-mobilenet-v2", 0, 0, 256, "mAP ≥ 22.692"},
		"deeplab-v3plus":    {"deeplab-v3plus", 0, 0, 256, "mIoU ≥ 0.53156"},
	}
	for _, m := range Models() {
		w := want[m.Name]
		if m.Rules.Name != w.rules || m.PerformanceSampleCount != w.samples {
			t.Errorf("%s is %s of the rules, and keeps %d samples in memory, want %s, %d", m.Name, m.Rules.Name, m.PerformanceSampleCount, w.rules, w.samples)
		}
		var size config.SampleSize
		if m.Rules.Sample != nil {
			size = *m.Rules.Sample
		}
		if size != (config.SampleSize{InValues: w.in, OutValues: w.out}) {
			t.Errorf("%s: a sample is %+v on the network, want %d values in, %d out", m.Name, size, w.in, w.out)
		}
		q := m.QualityIn("v6.1")
		if got := (workload.Bound{Metric: q.Metric, Least: q.Reference * q.Fraction}).String(); w.bound != "" && (got != w.bound || q.Also != nil) {
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
		p, err := lookupPipeline(want.pipeline)
		if err != nil || r.Name != want.pipeline || p.Size != want.size {
			t.Errorf("%s is read by %s, %d×%d, want %s, %d×%d", name, r.Name, p.Size, p.Size, want.pipeline, want.size, want.size)
		}
	}
	for options, want := range map[string]string{"layout=HWC": `layout: unknown layout "HWC", want NCHW or NHWC`, "preprocess=none": "preprocess: ", "max-image-pixels=x": "max-image-pixels: "} {
		name, value, _ := strings.Cut(options, "=")
		if _, err := resnet50().NewReader(workload.Values{name: value}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", options, err, want)
		}
	}
}
