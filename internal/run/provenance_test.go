package run

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/download"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// sums are the SHA-256 and the MD5 of a text.
func sums(text string) (sha, md string) {
	s, m := sha256.Sum256([]byte(text)), md5.Sum([]byte(text))
	return hex.EncodeToString(s[:]), hex.EncodeToString(m[:])
}

// stating is a model file that says of what it was made.
func stating(t *testing.T, path string, properties ...onnx.Property) {
	t.Helper()
	b := arch.NewBuilder("tiny", 1)
	b.Output(b.Flatten("flat", b.Input("image", onnx.Float32, onnx.Batched(3, 2, 2))))
	m, _, err := b.Model()
	testenv.Must(t, err)
	m.Metadata = properties
	testenv.Must(t, m.WriteFile(t.Context(), path))
}

func step(t *testing.T, n int, o convert.Origin) onnx.Property {
	t.Helper()
	text, err := json.Marshal(o)
	testenv.Must(t, err)
	return onnx.Property{Key: fmt.Sprint("mlperf_origin_", n), Value: string(text)}
}

func TestSourceOf(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		testenv.Tree(t, dir, map[string]string{name: text})
		return filepath.Join(dir, name)
	}
	sha, _ := sums("by SHA-256")
	_, md := sums("by MD5")
	_, other := sums("of BERT")
	known := &download.Manifest{Items: []download.Item{
		{Kind: download.Model, Name: "first", For: []string{"resnet50"}, Files: []download.File{{Name: "a.onnx", SHA256: sha}, {Name: "b.onnx", MD5: md}}},
		{Kind: download.Model, Name: "second", For: []string{"bert"}, Files: []download.File{{Name: "c.onnx", MD5: other}}},
		{Kind: download.Model, Name: "unsummed", For: []string{"resnet50"}, Files: []download.File{{Name: "d.onnx"}, {Name: "e.onnx", MD5: md}}},
		{Kind: download.Dataset, Name: "data", For: []string{"resnet50"}, Files: []download.File{{Name: "x.onnx", SHA256: strings.Repeat("0", 64)}}},
	}}
	downloaded, _ := sums("downloaded")
	for _, folder := range []string{"got", "moved"} {
		testenv.Tree(t, filepath.Join(dir, folder), map[string]string{
			".mlperf-download/receipt.json": `{"format":1,"kind":"model","name":"unsummed"}`,
			".mlperf-download/SHA256SUMS":   downloaded + "  d.onnx\n" + downloaded + "  e.onnx\n" + downloaded + "  sub/d.onnx\n",
		})
	}
	testenv.Tree(t, filepath.Join(dir, "foreign"), map[string]string{
		".mlperf-download/receipt.json": `{"format":1,"kind":"model","name":"second"}`, ".mlperf-download/SHA256SUMS": downloaded + "  d.onnx\n",
	})
	said := func(name string, steps ...onnx.Property) string {
		path := filepath.Join(dir, name)
		stating(t, path, steps...)
		return path
	}
	official := convert.Origin{File: "b.onnx", SHA256: strings.Repeat("1", 64), MD5: md, By: "mlperf 0.9 quantize --precision int8"}
	mine := convert.Origin{File: "mine.onnx", SHA256: strings.Repeat("2", 64), By: "mlperf 0.9 quantize --precision fp16"}
	link := filepath.Join(dir, "link.onnx")
	if err := os.Symlink(file("a.onnx", "by SHA-256"), link); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		name, path, want string
		ok               bool
	}{
		{"an official file", file("renamed.onnx", "by SHA-256"), "model file renamed.onnx: the official file a.onnx of the item first, by its checksum", true},
		{"known by its MD5", file("b.onnx", "by MD5"), "model file b.onnx: the official file b.onnx of the item first", true},
		{"behind a link", link, "model file a.onnx: the official file a.onnx", true},
		{"of another benchmark", file("c.onnx", "of BERT"), "c.onnx ", false},
		{"the name of an official file", file("sub/a.onnx", "something"), "a.onnx ", false},
		{"as downloaded", file("got/d.onnx", "downloaded"), "model file d.onnx: as downloaded, d.onnx of the item unsummed; its publisher gives no checksum", true},
		{"of an item with folders", file("got/sub/d.onnx", "downloaded"), "model file d.onnx: as downloaded, sub/d.onnx of the item unsummed", true},
		{"downloaded and changed", file("moved/d.onnx", "downloaded, changed"), "d.onnx ", false},
		{"another in its place", file("got/e.onnx", "downloaded"), "e.onnx ", false},
		{"downloaded for another benchmark", file("foreign/d.onnx", "downloaded"), "d.onnx ", false},
		{"made of an official file", said("int8.onnx", step(t, 1, official)),
			"model file int8.onnx: says that it was made of b.onnx (SHA-256 " + official.SHA256 + ") by mlperf 0.9 quantize --precision int8, the official file b.onnx of the item first: a statement, not a proof", true},
		{"made in two steps", said("two.onnx", step(t, 1, official), step(t, 2, mine)), "model file two.onnx: says that it was made of b.onnx (SHA-256 " + official.SHA256 + ") by mlperf 0.9 quantize --precision int8, then mlperf 0.9 quantize --precision fp16, the official", true},
		{"made of an unknown file", said("mine8.onnx", step(t, 1, mine)), "mine8.onnx made of mine.onnx (SHA-256 2222", false},
		{"the official one is not the first", said("odd.onnx", step(t, 1, mine), step(t, 2, official)), "odd.onnx ", false},
		{"a step is missing", said("gap.onnx", step(t, 2, official)), "gap.onnx ", false},
		{"a statement that cannot be read", said("bad.onnx", onnx.Property{Key: "mlperf_origin_1", Value: "b.onnx"}), "bad.onnx ", false},
		{"sums that are empty", said("empty.onnx", step(t, 1, convert.Origin{File: "d.onnx"})), "empty.onnx ", false},
		{"no statement", said("plain.onnx"), "plain.onnx ", false},
	} {
		q := Request{Model: "resnet50", Scenario: "offline", ModelPath: c.path}
		r, err := Resolve(q)
		testenv.Must(t, err)
		print, err := onnx.FingerprintOf(t.Context(), c.path)
		testenv.Must(t, err)
		got, unknown, err := r.sourceOf(t.Context(), known, c.path, print)
		if unknown != nil {
			got = unknown.Key + " " + unknown.Origin
			if unknown.ID != limitation.UnknownModel || unknown.Value != print.SHA256 {
				t.Errorf("%s: %+v", c.name, unknown)
			}
		}
		if err != nil || (unknown == nil) != c.ok || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, %v, %v, want %q, %v", c.name, got, unknown, err, c.want, c.ok)
		}
	}
}

// A file of unknown source is a limitation where the rules want the official weights, and a note where any model is allowed.
func TestSourceOfModelByDivision(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.onnx")
	stating(t, path)
	print, err := onnx.FingerprintOf(t.Context(), path)
	testenv.Must(t, err)
	for _, c := range []struct {
		q              Request
		unknown, notes int
	}{
		{Request{Model: "resnet50"}, 1, 0},
		{Request{Model: "resnet50", Division: "open"}, 0, 1},
		{Request{Model: ""}, 0, 0}, // an own model has a limitation of its own
		{here(), 0, 0},             // a simulated engine does not read it
	} {
		c.q.Scenario, c.q.ModelPath = "offline", path
		unknown, notes, err := resolved(t, c.q).sourceOfModel(t.Context(), []onnx.Fingerprint{print})
		if err != nil || len(unknown) != c.unknown || len(notes) != c.notes {
			t.Errorf("%+v: limitations %v, notes %q, %v", c.q, unknown, notes, err)
		}
	}
}

// What is known of the user's data set is in the record: a change as a limitation, the rest as a note.
func TestComparedData(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(dir, "data"))
	set := filepath.Join(dir, "squad")
	testenv.Tree(t, set, map[string]string{"dev-v1.1.json": "not the published one", "more.txt": "1"})
	list, _ := sums("1")
	compare := func(q Request) *Prepared {
		q.Scenario = "offline"
		p := resolved(t, q).prepare("", nil, harness.Silent{})
		var err error
		p.Fingerprint.Data, err = p.dataFingerprint(t.Context())
		testenv.Must(t, err, p.compareData(t.Context()))
		return p
	}
	of := func(p *Prepared) (list []limitation.Limitation) {
		for _, l := range p.known {
			if l.ID == limitation.ChangedData || l.ID == limitation.UncomparedData {
				list = append(list, l)
			}
		}
		return list
	}
	changed := limitation.Limitation{ID: limitation.ChangedData, Key: "dev-v1.1.json", Value: "1", Of: "2", Want: "published"}
	p := compare(Request{Model: "bert", DatasetPath: set})
	if got := of(p); len(got) != 1 || got[0] != changed || len(p.source) != 1 || !strings.HasPrefix(p.source[0], "data set: 2 files, 22.0 B: 1 as first seen at 20") {
		t.Errorf("%+v, %q", got, p.source)
	}
	testenv.Tree(t, set, map[string]string{".mlperf-download/SHA256SUMS": list + "  more.txt\n" + list + "  gone.txt\n"})
	changed.Key, changed.Value = "dev-v1.1.json, gone.txt", "2"
	p = compare(Request{Model: "bert", DatasetPath: set})
	if got := of(p); len(got) != 1 || got[0] != changed || !strings.Contains(p.source[0], "1 as mlperf download installed them") {
		t.Errorf("%+v, %q", got, p.source)
	}
	for name, q := range map[string]Request{
		"a simulated engine": {Model: "bert", DatasetPath: set, Engine: here().Engine}, "an own model": {ModelPath: "m.onnx", DatasetPath: set},
	} {
		if p := compare(q); len(of(p)) != 0 || len(p.source) != 0 {
			t.Errorf("%s: %+v, %q", name, of(p), p.source)
		}
	}
}
