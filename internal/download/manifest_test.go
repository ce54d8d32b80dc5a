package download

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/configs"
)

// The manifest is part of the program, so that a test checks it and not every start: fields that exist, addresses, checksums,
// paths, licences and steps, and that docs/data.md names everything.
func TestManifestIsWellFormed(t *testing.T) {
	d := json.NewDecoder(bytes.NewReader(configs.Downloads()))
	d.DisallowUnknownFields()
	m := &Manifest{} // with the items for all platforms
	must(t, d.Decode(m))
	docs, err := os.ReadFile("../../docs/data.md")
	must(t, err)
	script, err := os.ReadFile("../../scripts/install_onnxruntime.sh")
	must(t, err)

	seen := map[string]bool{}
	for _, it := range m.Items {
		id := string(it.Kind) + " " + it.Name
		check := func(ok bool, format string, args ...any) {
			t.Helper()
			if !ok {
				t.Errorf(id+": "+format, args...)
			}
		}
		inside := func(name string) { t.Helper(); check(checkPath(name) == nil, "%v", checkPath(name)) }
		address := func(u string) { t.Helper(); check(checkURL(u) == nil, "%v", checkURL(u)) }
		sum := func(text string, size int) {
			t.Helper()
			b, err := hex.DecodeString(text)
			check(text == "" || err == nil && len(b) == size && strings.ToLower(text) == text, "checksum %q", text)
		}
		patterns := func(list []string) {
			for _, p := range list {
				_, err := path.Match(p, "")
				check(err == nil, "pattern %q: %v", p, err)
			}
		}
		check(!seen[id+it.Platform], "listed twice")
		seen[id+it.Platform] = true
		if it.Kind == Runtime && it.Name == "cpu" {
			check(bytes.Contains(script, []byte("\ndefault_version="+it.Version+"\n")), "the script installs another version than %s", it.Version)
			check(strings.HasPrefix(it.Platform, "windows") || bytes.Contains(script, []byte("pypi_sum="+it.Files[0].SHA256+"\n")), "%s: the script has another sum", it.Platform)
		}
		license := m.LicenseOf(it)
		check(license.Name != "" && license.Summary != "", "unknown licence %q", it.License)
		address(license.URL)
		check(slices.Contains([]Kind{Dataset, Model, Runtime}, it.Kind) && (it.Kind == Runtime) == (it.Version != "" && it.Platform != "") && it.Title != "" && !strings.ContainsAny(it.Name, `/\ `), "kind, title or name")
		check(len(it.Files) > 0 || it.Folder != nil, "has neither files nor a folder")
		_, known := layouts()[it.Layout]
		check(known && (it.Layout == LayoutOpenImages) == (it.OpenImages != nil), "layout %q", it.Layout)
		byHand := it.Folder != nil
		names := map[string]bool{}
		for _, f := range it.Files {
			check(!names[f.Name], "file %s is listed twice", f.Name)
			names[f.Name] = true
			byHand = byHand || f.Registration
			check((f.R2 == "") == (len(f.URLs) > 0), "file %s: must be either urls or r2", f.Name)
			for _, u := range f.URLs {
				address(u)
				check(strings.HasPrefix(u, "https://") || f.MD5 != "" || f.SHA256 != "", "%s comes over http:// and has no checksum", u)
			}
			if f.R2 != "" {
				address(f.R2)
			}
			if f.Name != "." || f.R2 == "" {
				inside(f.Name)
			}
			sum(f.MD5, 16)
			sum(f.SHA256, 32)
			for name, text := range f.Inside {
				inside(name)
				sum(text, 16)
			}
			if u := f.Unpack; u != nil {
				check(u.Format == "zip" || u.Format == "tar" || u.Format == "tar.gz" || u.Format == "tar.bz2", "cannot unpack %q", u.Format)
				patterns(u.Only)
				for _, to := range u.Rename {
					inside(to)
				}
			}
		}
		if it.Folder != nil {
			patterns(it.Folder.Files)
		}
		if o := it.OpenImages; o != nil {
			inside(o.Images)
			inside(o.Labels)
			check(names[o.Boxes] && names[o.Names] && (o.List == "" || names[o.List]) && strings.Contains(o.URL, "{id}"), "%+v", o)
		}
		if byHand {
			want := "mlperf download " + id + " --from-file"
			check(len(it.Steps) > 0 && strings.Contains(it.Steps[len(it.Steps)-1], want), "the last step is not %q: %q", want, it.Steps)
		}
		check(len(it.Cases) == 0 || len(it.Cases) == it.Samples, "%d cases of %d samples", len(it.Cases), it.Samples)
		for _, benchmark := range it.For {
			check(bytes.Contains(docs, []byte(benchmark)), "docs/data.md does not name %s", benchmark)
		}
		check(bytes.Contains(docs, []byte("`"+it.Name+"`")), "docs/data.md does not name it")
	}
}

// Each benchmark that has published weights has a model.
func TestManifestHasEveryBenchmark(t *testing.T) {
	m, err := Load()
	must(t, err)
	found := map[string]bool{}
	for _, it := range m.Items {
		for _, b := range it.For {
			found[b] = found[b] || it.Kind == Model
		}
	}
	for _, benchmark := range []string{
		"resnet50", "mobilenet", "ssd-mobilenet", "ssd-resnet34", "retinanet", "3d-unet", "gnmt", "bert", "dlrm", "dlrm-v2", "rnnt",
		"gptj", "llama2-70b", "llama3.1-8b", "llama3.1-405b", "mixtral-8x7b", "deepseek-r1", "gpt-oss-120b", "stable-diffusion-xl", "whisper",
		"mobilenet-edgetpu", "ssd-mobilenet-v2", "mobiledet", "deeplab", "mosaic", "mobilebert", "rgat", "dlrm-v3",
	} {
		if !found[benchmark] {
			t.Errorf("%s has no model", benchmark)
		}
	}
}

func TestLookup(t *testing.T) {
	m, err := Load()
	must(t, err)
	if it, err := m.Lookup(Model, "SSD_ResNet34"); err != nil || it.Name != "ssd-resnet34" {
		t.Errorf("Lookup(SSD_ResNet34) = %s, %v", it.Name, err)
	}
	if _, err := m.Lookup(Dataset, "imagent"); err == nil || !strings.Contains(err.Error(), `unknown data set "imagent"; did you mean imagenet? Must be one of imagenet, `) {
		t.Errorf("Lookup = %v", err)
	}
}
