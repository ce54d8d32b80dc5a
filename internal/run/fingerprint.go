package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/go-json-experiment/json/v1"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
)

// A Fingerprint names everything that can change a result, part by part. Equal
// fingerprints mean the same test of the same system, on machines of the same kind.
type Fingerprint struct {
	Program  string // name and version
	Settings string // test settings, rules, workers and batches
	Engine   string // and its options
	Binding  string // how the model is fed and read
	Model    string // content, external data included
	Data     string // names, sizes and times of the files
	Machine  string // its processors, as many as this process may use, and GPUs; not its name: a pod that is started again has another
}

// String is one name for all parts.
func (f Fingerprint) String() string { return digest(f) }

// Version names the content of the model: a decimal integer, which is what Triton's clients take for a version.
func (p *Prepared) Version() string {
	n, _ := strconv.ParseUint(p.Fingerprint.Model, 16, 64) // none: 0
	return strconv.FormatUint(n>>1, 10)                    // theirs has a sign
}

// Earlier returns the results that a folder has of the test with a fingerprint, if it came to its end and is scored; else nil.
func Earlier(dir, fingerprint string) *report.Results {
	r, err := report.Read(dir)
	if err != nil || r.Result == report.Interrupted || r.Unscored() || r.Fingerprint != fingerprint || len(r.Doubts()) > 0 {
		return nil
	}
	return r
}

// fingerprint fills in the fingerprint of a request that has its files, and chooses the folder for compiled models.
func (p *Prepared) fingerprint(ctx context.Context) error {
	q, c, f := &p.Request, p.config, &p.Fingerprint
	if path := c.Backend.ModelPath; path == "" || path != q.ModelPath {
		var err error
		if f.Model, _, err = p.modelFingerprint(ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) { // opening the model gives a better error
			return err
		}
	}
	f.Program = q.Program
	m := machine.Describe("")
	var gpus []string
	for _, g := range m.GPUs {
		gpus = append(gpus, g.Name)
	}
	f.Machine = digest(m.Arch, m.CPU.Model, m.CPU.Cores, m.CPU.Threads, m.CPU.Affinity, m.CPU.Quota, cmp.Or(q.Cores, runtime.GOMAXPROCS(0)), gpus)
	f.Binding = digest(q.Options)
	if q.asksServers() {
		prompts := q.Prompts
		prompts.Artifacts = ""
		f.Binding = digest(q.Options, prompts)
	}
	if p.followed != nil {
		f.Binding = digest(f.Binding, p.followed)
	}
	options := c.Backend
	options.ModelPath, options.EngineCacheDir, options.LogSeverity, options.Note = "", "", 0, nil
	asked := q.Engine
	asked.Remote.Metrics = nil // they change nothing
	f.Engine = digest(asked, options)
	s := p.Settings
	if c.FindPeak { // wherever the search begins
		s.ServerTargetQPS, s.MultiStreamSamplesPerQuery = 0, 0
	}
	measured := []any{c.Calibrate && !c.FindPeak, c.AutoLatency, c.FitStreams, c.FewQueries, c.Runs} // settings that the run finds
	f.Settings = digest(p.model.Name, p.Rules.Version, p.division, p.interactive, s, measured, q.Instances, q.MaxBatch, q.MaxDelay, q.ReserveCore,
		q.Pin, q.Count, q.TimedPreprocessing, q.WarmUp, q.CoolDown)
	if c.Backend.EngineCacheDir == "" {
		options.IntraThreads, options.InterThreads, options.Affinity, options.AllowFallback = 0, 0, "", false // no compiled model follows from them
		c.Backend.EngineCacheDir = filepath.Join(p.maker.Dir, "engines", digest(f.Model, options))
	}
	c.Fingerprint = f.String()
	return nil
}

// modelFingerprint names the content of the files of a model, of all and of each.
func (p *Prepared) modelFingerprint(ctx context.Context, path string) (string, []onnx.Fingerprint, error) {
	files, err := p.model.FilesOf(path)
	if err != nil {
		return "", nil, fmt.Errorf("the model file: %w", err)
	}
	sum, prints, err := harness.HashFiles(ctx, files)
	if err != nil {
		return "", nil, fmt.Errorf("the model file: %w", err)
	}
	return digest(sum), prints, nil
}

// dataFingerprint names the content of the data set. The folder of a built-in one is named by its content, and gets
// scores later. Prompts that are made up follow from the request. Reading all files would take minutes where there are
// 50,000 images: their names, sizes and times are taken.
func (p *Prepared) dataFingerprint(ctx context.Context) (string, error) {
	if p.config.DatasetDir == "" {
		return "", nil
	}
	if p.Request.DatasetPath == "" {
		return filepath.Base(p.config.DatasetDir), nil
	}
	dir, err := filepath.EvalSymlinks(p.config.DatasetDir)
	if err == nil {
		p.dataFiles, err = fileio.Files(ctx, dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // opening the data says so better
	}
	h := sha256.New()
	for _, f := range p.dataFiles {
		fmt.Fprintf(h, "%s\x00%d\x00%d\x00", f.Name, f.Info.Size(), f.Info.ModTime().UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// digested is how values are written whose digest names them.
var digested = json.JoinOptions(json.OmitZeroStructFields(true), json.Deterministic(true), v1.FormatDurationAsNano(true),
	jsontext.AllowInvalidUTF8(true)) // names of files have any bytes

// digest is a short name of values that JSON can hold. Fields that are zero are left out, so that a field of a newer build changes it only
// where it has a value.
func digest(values ...any) string {
	text, err := json.Marshal(values, digested)
	if err != nil {
		text = fmt.Appendf(nil, "%+v", values)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
