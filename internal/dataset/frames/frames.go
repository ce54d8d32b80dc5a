package frames

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// The places of the files: of questions and pages as the reference's script leaves them, or right in the folder, as they are published.
var (
	questionFiles = []string{"data/frames_dataset.tsv", "frames_dataset.tsv"}
	pageFolders   = []string{"doc_html", "."}
)

const (
	mappingFile = "url_mapping.json"
	pageEnding  = ".html"
	mostTable   = 256 << 20 // bytes
)

// Pages are the pages of a folder.
type Pages struct {
	Folder string
	Names  []string // of files, in their order
	urls   map[string]string
}

// OpenPages lists the pages of a folder. It reads none of them.
func OpenPages(dir string) (*Pages, error) {
	for _, sub := range pageFolders {
		folder := filepath.Join(dir, sub)
		entries, err := os.ReadDir(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("opening the pages: %w", err)
		}
		p := &Pages{Folder: folder}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), pageEnding) && !e.IsDir() {
				p.Names = append(p.Names, e.Name())
			}
		}
		if len(p.Names) == 0 {
			continue
		}
		slices.Sort(p.Names)
		if err := p.readMapping(); err != nil {
			return nil, fmt.Errorf("opening the pages: %w", err)
		}
		return p, nil
	}
	return nil, fmt.Errorf("opening the pages: %s has no *%s in %s: must be the pages of docs.tar.gz, unpacked", dir, pageEnding, pageFolders[0])
}

// readMapping reads the addresses of pages, if there is a file of them.
func (p *Pages) readMapping() error {
	path := filepath.Join(p.Folder, mappingFile)
	data, err := fileio.ReadFile(path, mostTable)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, &p.urls)
	}
	if err != nil {
		return fmt.Errorf("%s: must be an object with an address for each page: %w", path, err)
	}
	return nil
}

// Path is the file of a page.
func (p *Pages) Path(i int) string { return filepath.Join(p.Folder, p.Names[i]) }

// URL is the address of a page; empty: it is not known.
func (p *Pages) URL(i int) string { return p.urls[strings.TrimSuffix(p.Names[i], pageEnding)] }

// Mapped reports whether all pages have a known address.
func (p *Pages) Mapped() bool {
	for i := range p.Names {
		if p.URL(i) == "" {
			return false
		}
	}
	return true
}

// A Question is a row of the table of questions.
type Question struct {
	Prompt, Answer string
	Links          []string // addresses of the pages that have the answer, in the order of their columns
}

// ReadQuestions reads the questions of a folder.
func ReadQuestions(dir string) ([]Question, error) {
	path := filepath.Join(dir, filepath.FromSlash(questionFiles[0]))
	if other := filepath.Join(dir, questionFiles[1]); !fileio.Exists(path) && fileio.Exists(other) {
		path = other
	}
	data, err := fileio.ReadFile(path, mostTable)
	var list []Question
	if err == nil {
		if list, err = parseQuestions(data); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the questions: %w", err)
	}
	return list, nil
}

// The columns that are read.
const (
	promptColumn = "Prompt"
	answerColumn = "Answer"
	linkColumns  = "wikipedia_link_" // with a number behind it
)

// parseQuestions reads a table with tabs between its columns, and quotes as CSV has them.
func parseQuestions(data []byte) ([]Question, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not UTF-8: must be a table of text")
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma, r.LazyQuotes = '\t', true
	head, err := r.Read()
	if err == io.EOF {
		return nil, errors.New("the file is empty: must be a table")
	}
	if err != nil {
		return nil, err
	}
	prompt, answer := slices.Index(head, promptColumn), slices.Index(head, answerColumn)
	if prompt < 0 || answer < 0 {
		return nil, fmt.Errorf("line 1: the columns are %q: must be %s, %s and %s1 …, with tabs between them", head, promptColumn, answerColumn, linkColumns)
	}
	var list []Question
	for {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		q := Question{Prompt: row[prompt], Answer: row[answer]}
		for i, name := range head {
			if strings.HasPrefix(name, linkColumns) && row[i] != "" {
				q.Links = append(q.Links, row[i])
			}
		}
		if strings.TrimSpace(q.Prompt) == "" {
			line, _ := r.FieldPos(prompt)
			return nil, fmt.Errorf("line %d: %s is empty: must be a question", line, promptColumn)
		}
		list = append(list, q)
	}
	if len(list) == 0 {
		return nil, errors.New("the table has no question")
	}
	return list, nil
}
