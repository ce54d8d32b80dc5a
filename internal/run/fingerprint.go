package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A Fingerprint names everything that can change a result, part by part. Equal
// fingerprints mean the same test of the same system, on the same machine.
type Fingerprint struct {
	Program  string // name and version
	Settings string // test settings, rules, workers and batches
	Engine   string // and its options
	Binding  string // how the model is fed and read
	Model    string // content, external data included
	Data     string // names, sizes and times of the files
}

// String is one name for all parts.
func (f Fingerprint) String() string { return digest(f) }

// identify makes the fingerprint of a request that has its files, and gives what devices
// compile a folder of its own.
func (p *Prepared) identify(ctx context.Context) (err error) {
	q, cfg := &p.Request, p.bench
	f := &p.Fingerprint
	// What is not there is named better by those who need it.
	if f.Model, err = p.modelOf(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the model file: %w", err)
	}
	options := cfg.Backend
	options.ModelPath, options.EngineCacheDir, options.LogSeverity, options.Note = "", "", 0, nil
	f.Program = q.Program
	f.Binding = digest(q.Options)
	if q.asksServers() {
		asked := q.Prompts
		asked.Artifacts = ""
		f.Binding = digest(q.Options, asked)
	}
	f.Engine = digest(q.Engine, options)
	f.Settings = digest(p.model.Name, p.rules.Version, p.division, p.interactive, p.withoutLoad(), p.chosen(), q.Instances, q.MaxBatch, q.MaxDelay, q.ReserveCore, q.Pin, q.Count)
	if cfg.Backend.EngineCacheDir == "" {
		cfg.Backend.EngineCacheDir = filepath.Join(p.maker.Dir, "engines", digest(f.Model, compiled(options)))
	}
	cfg.Fingerprint = f.String()
	return nil
}

// withoutLoad are the settings. A search leaves out the load that it begins with.
func (p *Prepared) withoutLoad() loadgen.TestSettings {
	s := p.Settings
	if p.Request.Mode == FindPeak {
		s.ServerTargetQPS, s.MultiStreamSamplesPerQuery = 0, 0
	}
	return s
}

// chosen says which settings are left to the run, which finds others for the same settings. A search finds the load
// itself, wherever it begins.
func (p *Prepared) chosen() []any {
	c := p.bench
	return []any{c.Calibrate && !c.FindPeak, c.AutoLatency, c.FitStreams, c.FewQueries, c.Runs}
}

// compiled are the options that a compiled model follows from.
func compiled(o backend.Options) backend.Options {
	o.IntraThreads, o.InterThreads, o.Affinity, o.AllowFallback = 0, 0, "", false
	return o
}

// digest is a short name of values that JSON can hold.
func digest(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		text = fmt.Appendf(nil, "%+v", values)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// modelOf names the content of all files of the model.
func (p *Prepared) modelOf(ctx context.Context) (string, error) {
	files, err := p.model.FilesOf(p.bench.Backend.ModelPath)
	if err != nil {
		return "", err
	}
	var sums []string
	for _, f := range files {
		content, err := onnx.FingerprintOf(ctx, f.Path)
		if err != nil {
			return "", err
		}
		sums = append(sums, f.Role, content.SHA256)
	}
	return digest(sums), nil
}

// dataOf names the content of the data set. The folder of a built-in one is named by it,
// and has scores added later. Prompts that are made up have none: they follow from the request.
func (p *Prepared) dataOf(ctx context.Context) (string, error) {
	if p.bench.DatasetDir == "" {
		return "", nil
	}
	if p.Request.DatasetPath == "" {
		return filepath.Base(p.bench.DatasetDir), nil
	}
	dir, err := filepath.EvalSymlinks(p.bench.DatasetDir)
	if err == nil {
		dir, err = listingOf(ctx, dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // who needs it names it better
	}
	return dir, err
}

// listingOf is a digest of the names, sizes and times of all files in a folder. Reading
// them would take minutes where there are 50,000 images.
func listingOf(ctx context.Context, dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
			return nil // a link to nowhere or to itself, or removed just now
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		fmt.Fprintf(h, "%s\x00%d\x00%d\x00", filepath.ToSlash(name), info.Size(), info.ModTime().UnixNano())
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
