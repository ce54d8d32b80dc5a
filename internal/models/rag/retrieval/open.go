package retrieval

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset/frames"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tokenizer"
)

// VocabularyFile is the name of the vocabulary in folders of models.
const VocabularyFile = "vocab.txt"

// ReadVocabulary reads the vocabulary of the networks, one piece a line, as BERT's.
func ReadVocabulary(path string) (*tokenizer.WordPiece, error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the vocabulary: %w", err)
	}
	defer f.Close()
	v, err := tokenizer.ReadVocabulary(f, path)
	if err != nil {
		return nil, err
	}
	return tokenizer.NewWordPiece(v)
}

// Options say what to open.
type Options struct {
	Encoder    string // ONNX files
	Reranker   string // empty: passages cannot be reranked
	Vocabulary string // of both

	Database string        // file that WriteFile wrote; empty: Pages are read and encoded now
	Pages    *frames.Pages // to read without a Database
	Progress func(done, of int)
}

// Open opens the networks and a database. It must be closed.
//
// The networks run on one thread, as many texts at once as there are processors: questions come from several goroutines, and each run takes memory.
func Open(ctx context.Context, engine backend.Engine, o Options) (d *Database, err error) {
	pieces, err := ReadVocabulary(o.Vocabulary)
	if err != nil {
		return nil, err
	}
	var sessions []backend.Session
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(sessions))
		}
	}()
	open := func(role, path string) (backend.Session, error) {
		inputs, outputs, err := engine.Ports(ctx, backend.Options{ModelPath: path})
		if err != nil {
			return nil, err
		}
		output, _, err := States(workload.Ports{Inputs: inputs, Outputs: outputs})
		if err != nil {
			return nil, fmt.Errorf("the %s, %s: %w", role, path, err)
		}
		s, err := engine.Open(ctx, backend.Options{ModelPath: path, Outputs: []string{output}, IntraThreads: 1})
		if err == nil {
			sessions = append(sessions, s)
		}
		return s, err
	}
	session, err := open("encoder", o.Encoder)
	if err != nil {
		return nil, err
	}
	encoder, err := NewEncoder(session, pieces)
	if err != nil {
		return nil, err
	}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	encoder.slots = slots
	var reranker *Reranker
	if o.Reranker != "" {
		if session, err = open("reranker", o.Reranker); err != nil {
			return nil, err
		}
		if reranker, err = NewReranker(session, pieces); err != nil {
			return nil, err
		}
		reranker.slots = slots
	}
	if o.Database != "" {
		d, err = ReadFile(o.Database, encoder, reranker)
	} else {
		d = NewDatabase(encoder, reranker)
		err = d.addPages(ctx, o.Pages, o.Progress)
	}
	if err != nil {
		return nil, err
	}
	d.sessions = sessions
	return d, nil
}

// addPages reads and adds pages.
func (d *Database) addPages(ctx context.Context, pages *frames.Pages, progress func(done, of int)) error {
	done := workerpool.Counter(len(pages.Names), progress)
	return workerpool.Each(ctx, 0, len(pages.Names), func(ctx context.Context, i int) error {
		content, err := fileio.ReadFile(pages.Path(i), MostPage)
		if err != nil {
			return err
		}
		passages, _ := Page{Name: pages.Names[i], URL: pages.URL(i), Content: content}.Passages()
		if err := d.Add(ctx, passages); err != nil {
			return fmt.Errorf("page %s: %w", pages.Names[i], err)
		}
		done(1)
		return nil
	})
}

// Close closes the networks that Open opened.
func (d *Database) Close() error { return closeAll(d.sessions) }

func closeAll(sessions []backend.Session) (err error) {
	for _, s := range sessions {
		err = errors.Join(err, s.Close())
	}
	return err
}
