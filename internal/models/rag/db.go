package rag

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset/frames"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/rag/retrieval"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// e2eRAGDB is E2E-RAG, the making of the database (rules since v6.1): a sample is a page, which becomes passages, vectors and a part of the index.
func e2eRAGDB() workload.Model {
	return workload.Model{
		Name:    "e2e-rag-db",
		Title:   "E2E-RAG, database: e5-base-v2 on Wikipedia's pages of FRAMES",
		Task:    "pages to texts, passages of 768 characters, vectors of 768 numbers, and an index of them",
		Dataset: "frames",
		BuiltIn: builtIn(encoderPart()),
		Source:  "https://huggingface.co/intfloat/e5-base-v2",
		Papers: []string{
			"Wang et al., Text Embeddings by Weakly-Supervised Contrastive Pre-training, 2022, arXiv:2212.03533",
			"Malkov and Yashunin, Efficient and robust approximate nearest neighbor search using Hierarchical Navigable Small World graphs, 2016, arXiv:1603.09320",
		},
		Notes: []string{
			"the database is a file of this program; the reference's is a pickle of FAISS, whose settings of the index it has",
		},

		Rules:                  config.Model{Name: "e2e-rag-db", Sample: &config.SampleSize{}, Once: true},
		PerformanceSampleCount: 2515,
		Quality:                workload.Quality{Metric: "accuracy", Fraction: 0.99},
		Attends:                true,
		Roles:                  []string{encoderRole},
		Files:                  encoderFile,
		Open:                   openDatabase,
		Score:                  scoreDatabase,
		ScoresWithEngine:       true,

		Options:      []workload.Option{vocabularyChoice(), databaseChoice(), manifestChoice()},
		ScoreOptions: []workload.Option{vocabularyChoice(), databaseChoice(), manifestChoice(), encoderChoice()},
	}
}

// The files of the networks, by role.
const (
	encoderRole  = "encoder"
	rerankerRole = "reranker"
)

// builtIn is the built-in form of a benchmark with these networks, each with one of its twelve layers.
func builtIn(networks ...workload.Part) workload.Recipe {
	return workload.Recipe{Parts: networks, Samples: 120}
}

func encoderPart() workload.Part {
	return workload.Part{Role: encoderRole, Network: arch.E5(), Layers: 1, Usual: usualPieces}
}

func rerankerPart() workload.Part {
	return workload.Part{Role: rerankerRole, Network: arch.ColBERT(), Layers: 1, Usual: usualPieces}
}

const usualPieces = 200 // of a passage

// The options of the benchmark.
const (
	vocabularyOption = "vocabulary"
	databaseOption   = "database"
	manifestOption   = "manifest"
	encoderOption    = "encoder-path"
)

func vocabularyChoice() workload.Option {
	return workload.Option{Name: vocabularyOption, Kind: workload.Path, Help: "vocab.txt of the networks (default: beside the model's file, or else in the data set's folder)"}
}

func databaseChoice() workload.Option {
	return workload.Option{Name: databaseOption, Kind: workload.Path, Help: "file of the database of passages (default: " + databaseFile + " in the run's folder)"}
}

func manifestChoice() workload.Option {
	return workload.Option{Name: manifestOption, Kind: workload.Path, Scoring: true,
		Help: "manifest of the reference's database, .json or .json.gz: the database has to find the same pages (default: it is not compared)"}
}

func encoderChoice() workload.Option {
	return workload.Option{Name: encoderOption, Aliases: []string{"retriever_model"}, Kind: workload.Path,
		Help: "the encoder's ONNX file, to search in the database (default: that of the run)"}
}

// The files that a run leaves.
const (
	databaseFile = "vector_html_hnsw_len768_ov32_word.db" // the reference's name
	resultsFile  = "datasetup_results.json"               // of what became of each page, as the reference names it
	manifestFile = "db_manifest.json.gz"                  // of the database, for comparisons with others
)

// encoderFile finds the encoder: the file itself, or encoder.onnx in a folder.
func encoderFile(path string) ([]workload.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return workload.Roles(encoderRole)(path)
	}
	return []workload.File{{Role: encoderRole, Path: path}}, nil
}

// vocabularyOf finds the vocabulary of the networks.
func vocabularyOf(option, modelPath, datasetDir string) string {
	if option != "" {
		return option
	}
	beside := modelPath
	if info, err := os.Stat(modelPath); err != nil || !info.IsDir() {
		beside = filepath.Dir(modelPath)
	}
	if path := filepath.Join(beside, retrieval.VocabularyFile); modelPath != "" && fileio.Exists(path) {
		return path
	}
	return filepath.Join(datasetDir, retrieval.VocabularyFile)
}

// openDatabase opens the pages and checks the encoder's ports.
func openDatabase(s workload.Setup) (*workload.Workload, error) {
	pages, err := frames.OpenPages(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	if s.Count > len(pages.Names) {
		return nil, fmt.Errorf("opening the pages: expected %d, %s has %d", s.Count, pages.Folder, len(pages.Names))
	}
	if s.Count > 0 {
		pages.Names = pages.Names[:s.Count]
	}
	files, err := encoderFile(s.ModelPath)
	if err != nil {
		return nil, err
	}
	output, width, err := retrieval.States(s.Ports[encoderRole])
	if err != nil {
		return nil, fmt.Errorf("the encoder: %w", err)
	}
	from := vocabularyOf(s.Options[vocabularyOption], s.ModelPath, s.DatasetDir)
	vocabulary, err := retrieval.ReadVocabulary(from)
	if err != nil {
		return nil, userinput.Wrap(vocabularyOption, err)
	}
	m := &maker{pages: pages, path: s.Options[databaseOption], encoder: files[0].Path, vocabulary: from}
	if m.path == "" && s.OutputDir != "" {
		m.path = filepath.Join(s.OutputDir, databaseFile)
	}
	notes := []string{
		fmt.Sprintf("passages of 768 characters, 32 of them shared; vectors of %d numbers, the mean of %s", width, output),
		"vocabulary: " + from,
	}
	if !pages.Mapped() {
		notes = append(notes, "the addresses of some pages are not known (url_mapping.json): they go by their file names")
	}
	return &workload.Workload{
		Samples: len(pages.Names), Path: pages.Path, Batch: 1,
		NewPredictor: func(sessions workload.Sessions, _ int) (workload.Predictor, error) {
			e, err := retrieval.NewEncoder(sessions[encoderRole], vocabulary)
			if err != nil {
				return nil, err
			}
			return &pageReader{maker: m, encoder: e}, nil
		},
		Outputs: func(string) []string { return []string{output} },
		Notes:   notes,
		ScoreOptions: workload.Values{
			databaseOption: m.path, encoderOption: files[0].Path, vocabularyOption: from,
		},
	}, nil
}

// A maker makes a database of the pages that predictors read. A page that a test has again goes into the next database, as each has all pages once;
// the first page that finds its database without others missing writes the file.
type maker struct {
	pages               *frames.Pages
	path                string // of the file; empty: it is not kept
	encoder, vocabulary string // files

	mu    sync.Mutex
	store *workload.Store // that of the test; another one: a new test
	times []int           // how many databases have a page, or are to get it
	made  map[int]*making // databases that are not whole, by number
}

// A making is a database that is not whole.
type making struct {
	database *retrieval.Database
	results  []pageResult
	done     int
}

// Results are the file of what became of the pages, with the keys of the reference's (reference_SUT_datasetup.py, save_results).
type (
	results struct {
		Configuration configuration  `json:"configuration"`
		Database      databaseResult `json:"database"`
		Pages         []pageResult   `json:"per_document_results"`
	}
	configuration struct {
		Documents  string `json:"documents_dir"`
		Encoder    string `json:"retriever_model"`
		Vocabulary string `json:"vocabulary"`
		Chunk      int    `json:"chunk_size"`
		Overlap    int    `json:"chunk_overlap"`
		Boundary   string `json:"text_boundary"`
		Index      string `json:"vector_index_method"`
	}
	databaseResult struct {
		Path    string `json:"path"`
		MD5     string `json:"md5"`
		Vectors int    `json:"vector_count"`
		Width   int    `json:"dimension"`
	}
)

// A pageResult is what became of a page.
type pageResult struct {
	File     string `json:"file_name"`
	Success  int    `json:"success"`
	Passages int    `json:"passages_count"`
	Why      string `json:"error,omitempty"` // why it failed, or has no text
}

// use begins a test.
func (m *maker) use(store *workload.Store) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if store != m.store {
		m.store, m.times, m.made = store, make([]int, len(m.pages.Names)), map[int]*making{}
	}
}

// of returns the database that a page goes into, and its number.
func (m *maker) of(page int, encoder *retrieval.Encoder) (*making, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	number := m.times[page]
	m.times[page]++
	if m.made[number] == nil {
		m.made[number] = &making{database: retrieval.NewDatabase(encoder, nil), results: make([]pageResult, len(m.pages.Names))}
	}
	return m.made[number], number
}

// finish notes what became of a page, and writes the database if it was the last one: then it returns the MD5.
func (m *maker) finish(ctx context.Context, b *making, number, page int, r pageResult) (md5 string, err error) {
	m.mu.Lock()
	b.results[page] = r
	b.done++
	last := b.done == len(b.results)
	if last {
		delete(m.made, number)
	}
	m.mu.Unlock()
	if !last || m.path == "" {
		return "", nil
	}
	if err := b.database.WriteFile(m.path); err != nil {
		return "", err
	}
	if md5, err = fileio.MD5(ctx, m.path); err != nil {
		return "", err
	}
	text, err := json.Marshal(results{
		Configuration: configuration{Documents: m.pages.Folder, Encoder: m.encoder, Vocabulary: m.vocabulary, Chunk: 768, Overlap: 32, Boundary: "word", Index: "hnsw"},
		Database:      databaseResult{Path: m.path, MD5: md5, Vectors: b.database.Len(), Width: b.database.Width()},
		Pages:         b.results,
	}, jsontext.WithIndent("  "))
	if err == nil {
		err = fileio.WriteFile(filepath.Join(filepath.Dir(m.path), resultsFile), append(text, '\n'), 0o644)
	}
	return md5, err
}

// A pageReader adds pages to the database on behalf of one worker.
type pageReader struct {
	maker   *maker
	encoder *retrieval.Encoder
}

// Use implements workload.Predictor.
func (r *pageReader) Use(store *workload.Store) error {
	if store != nil {
		r.maker.use(store)
	}
	return nil
}

// Close implements workload.Predictor. The session is the harness's.
func (*pageReader) Close() error { return nil }

// Predict implements workload.Predictor. The response is that of the reference (reference_SUT_datasetup.py): a byte, 1 if the page is in the database,
// and 0 if not; of the page that was the last, the MD5 of the database. In the reference a page that fails leaves the test without an MD5.
func (r *pageReader) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	for _, item := range items {
		response, err := r.read(ctx, item.Index)
		if err != nil {
			return fmt.Errorf("page %s: %w", r.maker.pages.Names[item.Index], err)
		}
		reply.Done(item.Ticket, response, 0)
	}
	return nil
}

// read adds a page to its database. Errors are those of the engine and of the database's file: a page that cannot be read is a response.
func (r *pageReader) read(ctx context.Context, page int) ([]byte, error) {
	m := r.maker
	b, number := m.of(page, r.encoder)
	result := pageResult{File: m.pages.Names[page], Success: 1}
	content, err := fileio.ReadFile(m.pages.Path(page), retrieval.MostPage)
	if err != nil {
		result.Success, result.Why = 0, err.Error()
	} else {
		passages, missing := retrieval.Page{Name: m.pages.Names[page], URL: m.pages.URL(page), Content: content}.Passages()
		if missing != nil {
			result.Why = missing.Error()
		}
		if err := b.database.Add(ctx, passages); err != nil {
			return nil, err
		}
		result.Passages = len(passages)
	}
	md5, err := m.finish(ctx, b, number, page, result)
	if err != nil {
		return nil, err
	}
	if md5 != "" {
		return []byte(md5), nil
	}
	return []byte{byte(result.Success)}, nil
}

// scoreDatabase scores a log as the official script does, and looks into the database.
func scoreDatabase(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	pages, err := frames.OpenPages(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	f := accuracy.DatabaseFile{Path: s.Options[databaseOption]}
	if f.Path == "" {
		f.Path = filepath.Join(filepath.Dir(log.Name()), databaseFile)
	}
	info, err := os.Stat(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, userinput.Errorf(databaseOption, "%s does not exist: give the database that the test wrote", f.Path)
	}
	if err == nil {
		f.Time = info.ModTime()
		f.MD5, err = fileio.MD5(ctx, f.Path)
	}
	if err != nil {
		return nil, userinput.Wrap(databaseOption, err)
	}
	warnings := []string{"the content of the database is not checked: that needs the encoder's file, " + encoderOption}
	if s.Engine != nil && fileio.Exists(encoderOf(s, f)) {
		if warnings, err = inspect(ctx, s, &f); err != nil {
			return nil, err
		}
	}
	samples := len(pages.Names)
	if s.Samples > 0 {
		samples = s.Samples
	}
	score, err := accuracy.DatabaseScore(log, samples, f)
	if err == nil {
		score.Warnings = append(score.Warnings, warnings...)
	}
	return score, err
}

// encoderOf is the file of the encoder: that of the option, or that which the results beside the database name; empty: it is not known.
func encoderOf(s workload.Scoring, f accuracy.DatabaseFile) string {
	if path := s.Options[encoderOption]; path != "" {
		return path
	}
	var r results
	data, err := fileio.ReadFile(filepath.Join(filepath.Dir(f.Path), resultsFile), mostResults)
	if err != nil || json.Unmarshal(data, &r) != nil || r.Database.MD5 != f.MD5 {
		return "" // of another database, or none
	}
	return r.Configuration.Encoder
}

const mostResults = 64 << 20 // bytes

// inspect opens the database and searches in it.
func inspect(ctx context.Context, s workload.Scoring, f *accuracy.DatabaseFile) (warnings []string, err error) {
	encoder := encoderOf(s, *f)
	d, err := retrieval.Open(ctx, s.Engine, retrieval.Options{
		Encoder: encoder, Vocabulary: vocabularyOf(s.Options[vocabularyOption], encoder, s.DatasetDir), Database: f.Path,
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		f.Checks = accuracy.DatabaseChecks(0, 0, false, err)
		return nil, nil
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	found, err := d.Lookup(ctx, "test query", 1)
	if err != nil {
		return nil, err
	}
	f.Checks = accuracy.DatabaseChecks(d.Len(), d.Width(), len(found) > 0, nil)
	if path := s.Options[manifestOption]; path != "" {
		m, err := retrieval.ReadManifest(path)
		if err != nil {
			return nil, userinput.Wrap(manifestOption, err)
		}
		c, err := d.Verify(ctx, m)
		if err != nil {
			return nil, err
		}
		f.Differences = c.Failures
		warnings = append(warnings, fmt.Sprintf("%s: %d questions find %.4f of its pages (0.95 are asked for), the first one of %.1f %%; texts are equal: %t",
			path, c.Questions, c.Overlap, 100*c.First, c.SameCorpus))
	}
	if s.Keep == "" {
		return warnings, nil
	}
	return warnings, writeManifest(ctx, s, d, encoder)
}

// writeManifest writes the manifest of the database, if the data set has questions.
func writeManifest(ctx context.Context, s workload.Scoring, d *retrieval.Database, encoder string) error {
	questions, err := frames.ReadQuestions(s.DatasetDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	prompts := make([]string, len(questions))
	for i, q := range questions {
		prompts[i] = q.Prompt
	}
	m, err := d.Manifest(ctx, encoder, retrieval.ProbesOf(prompts))
	if err != nil {
		return err
	}
	return m.WriteFile(filepath.Join(s.Keep, manifestFile))
}
