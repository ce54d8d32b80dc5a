package rag

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/dataset/frames"
	"github.com/mlperf-go/mlperf/internal/models/rag/retrieval"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A server answers chats until it is closed.
type server struct {
	ask   workload.Ask // nil: there is none
	close func() error
}

// openServer connects to a server of the grader or of the judge. Its requests are not in the figures of the test's
// servers. The key is that of the environment.
func openServer(ctx context.Context, url, model string) (server, error) {
	e, err := openai.New(openai.Config{URLs: []string{url}, TokenEnv: credentials.Variables(), Model: model, Route: openai.Chat, Warm: 1})
	if err != nil {
		return server{}, err
	}
	s, err := openEngine(ctx, e)
	if err != nil {
		return server{}, errors.Join(err, e.Close())
	}
	session := s.close
	s.close = func() error { return errors.Join(session(), e.Close()) }
	return s, nil
}

// openEngine opens what asks servers of chats. The engine stays the caller's.
func openEngine(ctx context.Context, e backend.Engine) (server, error) {
	s, err := e.Open(ctx, backend.Options{Texts: (*questions)(nil).Texts()})
	if err != nil {
		return server{}, err
	}
	return server{func(ctx context.Context, p *backend.Prompt) (backend.Answer, error) {
		var got lastAnswer
		err := s.(backend.Generator).Generate(ctx, p, &got)
		return got.Answer, err
	}, s.Close}, nil
}

// lastAnswer is a sink that keeps the answer.
type lastAnswer struct{ backend.Answer }

// First implements backend.Sink.
func (*lastAnswer) First([]byte, []int32) {}

// Done implements backend.Sink.
func (l *lastAnswer) Done(a backend.Answer) {
	a.Text, a.IDs = slices.Clone(a.Text), nil
	l.Answer = a
}

// openRetriever opens the networks of retrieval and the database.
func openRetriever(s workload.Setup) (*retrieval.Database, error) {
	folder := s.Options[modelOption]
	switch {
	case folder == "":
		return nil, userinput.Missing(modelOption, "retrieval runs here: a folder with encoder.onnx, reranker.onnx and vocab.txt")
	case s.Engine == nil:
		return nil, userinput.Errorf(modelOption, "retrieval needs ONNX Runtime on this machine, which was not found")
	}
	o := retrieval.Options{Encoder: filepath.Join(folder, "encoder.onnx"), Reranker: filepath.Join(folder, "reranker.onnx"),
		Vocabulary: vocabularyOf("", folder, s.DatasetDir), Database: s.Options[databaseOption]}
	if o.Database == "" {
		pages, err := frames.OpenPages(s.DatasetDir)
		if err != nil {
			return nil, err
		}
		o.Pages = pages
	}
	return retrieval.Open(context.Background(), s.Engine, o)
}
