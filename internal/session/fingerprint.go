package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/regular"
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
	if f.Model, err = contentOf(ctx, cfg.Backend.ModelPath); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the model file: %w", err)
	}
	if f.Data, err = p.dataOf(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the data set: %w", err)
	}
	options := cfg.Backend
	options.ModelPath, options.EngineCacheDir, options.LogSeverity, options.Note = "", "", 0, nil
	f.Program = q.Program
	f.Binding = digest(q.Options)
	f.Engine = digest(q.Engine, options)
	f.Settings = digest(p.model.Name, p.rules.Version, p.withoutLoad(), cfg.AutoLatency, q.Instances, q.MaxBatch, q.MaxDelay, q.ReserveCore, q.Count)
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

// contentOf is the SHA-256 of a model file and of the files that it keeps weights in.
func contentOf(ctx context.Context, path string) (string, error) {
	h := sha256.New()
	if err := addContent(ctx, h, path); err != nil {
		return "", err
	}
	for _, file := range externalFiles(path) {
		fmt.Fprintf(h, "\x00%s\x00", filepath.Base(file))
		if err := addContent(ctx, h, file); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func addContent(ctx context.Context, h hash.Hash, path string) error {
	f, err := regular.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(h, reader(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return f.Read(p)
	}))
	return errors.Join(err, f.Close())
}

// A reader is a function that reads.
type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

// externalFiles are those that an ONNX file keeps weights in, each once, sorted. A file
// that is none has none.
func externalFiles(path string) []string {
	m, err := onnx.ReadFile(path)
	if err != nil {
		return nil // the engine says it better
	}
	var files []string
	for _, t := range m.Graph.Initializers {
		for _, p := range t.External {
			if file := filepath.Join(filepath.Dir(path), p.Value); p.Key == "location" && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	slices.Sort(files)
	return files
}

// dataOf names the content of the data set. The folder of a built-in one is named by it,
// and has scores added later.
func (p *Prepared) dataOf(ctx context.Context) (string, error) {
	if p.bench.BuiltInData {
		return filepath.Base(p.bench.DatasetDir), nil
	}
	dir, err := filepath.EvalSymlinks(p.bench.DatasetDir)
	if err != nil {
		return "", err
	}
	return listingOf(ctx, dir)
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
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a link to nowhere, or removed just now
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
