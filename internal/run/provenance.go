package run

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/download"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/units"
)

// builtInData reports whether the data are made here, or lie in a folder that was, or that has copies of such files.
func (r *Resolved) builtInData() bool {
	q := &r.Request
	return q.DatasetPath == "" && !q.noBenchmark() || builtin.IsDataset(q.DatasetPath)
}

// builtInModel reports whether the model is made here, or is a file that was.
func (r *Resolved) builtInModel() bool {
	q := &r.Request
	if q.ModelPath == "" || q.Engine.IsRemote() {
		return !q.Engine.IsRemote()
	}
	files, err := r.model.FilesOf(q.ModelPath)
	return err == nil && slices.ContainsFunc(files, func(f workload.File) bool { return builtin.IsModel(f.Path) })
}

// sourceOfModel says where the files of the user's model come from. What is known, or stated in a file that can be forged,
// is a note; a file (with its fingerprint in prints) of unknown source is a limitation in the closed division, whose models are made of the
// official weights.
func (r *Resolved) sourceOfModel(ctx context.Context, prints []onnx.Fingerprint) (unknown report.Limitations, notes []string, err error) {
	q := &r.Request
	if q.ownModel() {
		if steps, made := madeOf(q.ModelPath); len(steps) > 0 {
			notes = append(notes, fmt.Sprintf("model file %s: says that it was %s", filepath.Base(q.ModelPath), made))
		}
		return nil, notes, nil
	}
	if q.ModelPath == "" || q.noBenchmark() || q.Engine.Name != engine.ONNXRuntime || r.builtInModel() {
		return nil, nil, nil
	}
	files, err := r.model.FilesOf(q.ModelPath)
	if err != nil {
		return nil, nil, err
	}
	known, err := download.Load()
	if err != nil {
		return nil, nil, err
	}
	for i, f := range files {
		note, not, err := r.sourceOf(ctx, known, f.Path, prints[i])
		switch {
		case err != nil:
			return nil, nil, err
		case not == nil:
			notes = append(notes, note)
		case r.division == config.Closed:
			unknown = append(unknown, *not)
		default:
			notes = append(notes, report.Sentence(*not))
		}
	}
	return unknown, notes, nil
}

// isBenchmark reports whether a name is that of the benchmark, and not of another one that has its names in other rounds.
func (r *Resolved) isBenchmark(name string) bool {
	m, err := models.LookupAny(name)
	return name == r.model.Name || err == nil && m.Dataset == r.model.Dataset && r.model.Rules.Is(name)
}

// sourceOf says where a model file comes from, or that it comes from no official file.
func (r *Resolved) sourceOf(ctx context.Context, known *download.Manifest, path string, print onnx.Fingerprint) (note string,
	unknown *limitation.Limitation, err error) {
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return "", nil, err
	}
	benchmark := r.isBenchmark
	name, md5 := filepath.Base(path), ""
	if len(print.Data) == 0 && known.HasMD5(benchmark, filepath.Ext(path)) {
		if md5, err = fileio.MD5(ctx, path); err != nil {
			return "", nil, err
		}
	}
	if official := known.Official(benchmark, print.SHA256, md5); official != "" {
		return fmt.Sprintf("model file %s: the official file %s, by its checksum", name, official), nil, nil
	}
	if fetched := r.fetched(ctx, known, benchmark, path, print); fetched != "" {
		return fmt.Sprintf("model file %s: as downloaded, %s; its publisher gives no checksum", name, fetched), nil, nil
	}
	steps, made := madeOf(path)
	if len(steps) > 0 {
		if official := known.Official(benchmark, steps[0].SHA256, steps[0].MD5); official != "" {
			return fmt.Sprintf("model file %s: says that it was %s, the official file %s: a statement, not a proof", name, made, official), nil, nil
		}
	}
	return "", &limitation.Limitation{ID: limitation.UnknownModel, Key: name, Value: print.SHA256, Origin: made}, nil
}

// madeOf returns the steps by which a model file says that it was made, and a text of them.
func madeOf(path string) (steps []convert.Origin, text string) {
	if head, err := onnx.ReadHead(path); err == nil {
		steps = convert.Origins(head.Metadata)
	}
	if len(steps) == 0 {
		return nil, ""
	}
	var by []string
	for _, s := range steps {
		by = append(by, s.By)
	}
	return steps, fmt.Sprintf("made of %s (SHA-256 %s) by %s", steps[0].File, steps[0].SHA256, strings.Join(by, ", then "))
}

// fetched names the files of a model as a download brought them, if all are; empty: not all are.
func (r *Resolved) fetched(ctx context.Context, known *download.Manifest, benchmark func(string) bool, path string, print onnx.Fingerprint) string {
	if len(print.Data) == 0 {
		return known.Fetched(benchmark, path, print.SHA256)
	}
	name := ""
	for _, file := range append(slices.Clone(print.Data), filepath.Base(path)) { // the model's own name is the last one, and stays
		file = filepath.Join(filepath.Dir(path), filepath.FromSlash(file))
		sum, _, err := fileio.SHA256(ctx, file)
		if err != nil {
			return ""
		}
		if name = known.Fetched(benchmark, file, sum); name == "" {
			return ""
		}
	}
	return name
}

// What a run reads of a data set to compare it with its checksums, in bytes. A larger one is compared by 'mlperf verify'.
const (
	mostCompared      = 32 << 30 // a minute or two from a fast disk
	mostComparedQuick = 1 << 30  // for runs that are limited anyway, about a second
)

// compareData compares the user's data set with its checksums, once after each change. How it differs is a limitation; a simulated
// engine looks at no data.
func (p *Prepared) compareData(ctx context.Context) error {
	q := &p.Request
	if q.DatasetPath == "" || q.noBenchmark() || p.config.BuiltInData || q.Engine.Name == engine.Simulated || len(p.dataFiles) == 0 {
		return nil
	}
	known, err := download.Load()
	if err != nil {
		return err
	}
	most := int64(mostCompared)
	if q.Quick || q.Count > 0 {
		most = mostComparedQuick
	}
	c, err := download.Compare(ctx, p.config.DatasetDir, download.CompareOptions{
		Items: known.For(download.Dataset, p.isBenchmark), Found: p.dataFiles, MostRead: most, Observer: toDownload{p.config.Observer},
	})
	if err != nil {
		return err
	}
	if c.Unkept != nil {
		p.config.Observer.Note("the next run compares the data set again: " + c.Unkept.Error())
	}
	files := units.Count(c.Files, "file")
	switch {
	case c.Unread > 0:
		p.known = append(p.known, limitation.Limitation{ID: limitation.UncomparedData, Key: p.model.Dataset, Value: units.Bytes(c.Unread)})
		return nil
	case len(c.Different) > 0:
		l := differentData(c)
		p.known = append(p.known, l)
		p.config.Observer.Note(report.Sentence(l))
	}
	var parts []string
	for _, part := range []struct {
		n    int
		text string
	}{
		{c.Published, "with the published checksum"}, {c.Installed, "as mlperf download installed them"},
		{c.AsSeen, "as first seen at " + c.Since.Format(time.DateTime) + ", without a published checksum"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", units.Number(float64(part.n)), part.text))
		}
	}
	p.source = append(p.source, fmt.Sprintf("data set: %s, %s: %s; read at %s, and not changed since", files, units.Bytes(c.Bytes),
		strings.Join(parts, ", "), c.Read.Format(time.DateTime)))
	return nil
}

// differentData is the limitation of a data set whose files are not as they should be.
func differentData(c *download.Comparison) limitation.Limitation {
	const most = 3 // names
	var names []string
	for _, d := range c.Different[:min(most, len(c.Different))] {
		names = append(names, d.Name)
	}
	if len(c.Different) > most {
		names = append(names, "…")
	}
	return limitation.Limitation{
		ID: limitation.ChangedData, Key: strings.Join(names, ", "), Value: strconv.Itoa(len(c.Different)), Of: strconv.Itoa(c.Files),
		Want: c.Different[0].From,
	}
}

// toDownload shows what a comparison does.
type toDownload struct{ Observer }

// Bytes implements download.Observer.
func (toDownload) Bytes(int64, int64) {}
