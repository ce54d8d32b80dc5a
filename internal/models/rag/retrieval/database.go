package retrieval

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A Passage is a part of a page.
type Passage struct {
	URL    string `json:"original_url"` // of the page; empty: it is not known
	Title  string `json:"source"`       // the page's file
	Number int    `json:"passage_id"`   // in the page, from 0
	Text   string `json:"text"`
}

// A Page is a file of the data set.
type Page struct {
	Name, URL string
	Content   []byte
}

// MostPage is the size of the largest page, in bytes: more than any of Wikipedia has.
const MostPage = 64 << 20

// Passages are the windows of the page's text. A page without text, or that cannot be read as text, has one passage that names its file, as in
// the reference (reference_SUT_datasetup.py); missing says why.
func (p Page) Passages() (list []Passage, missing error) {
	text, err := TextOf(p.Content)
	if err == nil && text == "" {
		err = errors.New("the page has no text")
	}
	if err != nil {
		text, missing = "Document: "+p.Name, fmt.Errorf("%s: %w", p.Name, err)
	}
	for i, window := range Windows(text) {
		list = append(list, Passage{URL: p.URL, Title: p.Name, Number: i, Text: window})
	}
	return list, missing
}

// A Database has passages, and finds those that are nearest to a question. Several goroutines may use it at once.
type Database struct {
	encoder  *Encoder
	reranker *Reranker         // nil: passages cannot be reranked
	sessions []backend.Session // to be closed

	mu       sync.RWMutex
	passages []Passage
	index    *Index
}

// NewDatabase returns an empty database. The reranker may be nil.
func NewDatabase(encoder *Encoder, reranker *Reranker) *Database {
	return &Database{encoder: encoder, reranker: reranker, index: NewIndex(encoder.Width())}
}

// Len is the number of passages.
func (d *Database) Len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.passages)
}

// Width is how many numbers a vector has.
func (d *Database) Width() int { return d.index.width }

// Add encodes passages and adds them all, or, with an error, none.
func (d *Database) Add(ctx context.Context, passages []Passage) error {
	texts := make([]string, len(passages))
	for i, p := range passages {
		texts[i] = p.Text
	}
	vectors, err := d.encoder.Encode(ctx, texts)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, v := range vectors {
		d.index.Add(v)
		d.passages = append(d.passages, passages[i])
	}
	return nil
}

// Lookup returns the k passages nearest to a question, the nearest first.
func (d *Database) Lookup(ctx context.Context, question string, k int) ([]Passage, error) {
	vectors, err := d.encoder.Encode(ctx, []string{question})
	if err != nil {
		return nil, err
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	var list []Passage
	for _, id := range d.index.Search(vectors[0], k) {
		list = append(list, d.passages[id])
	}
	return list, nil
}

// Rerank returns passages by their score for a question, the best first. Passages of equal scores keep their order.
func (d *Database) Rerank(ctx context.Context, question string, passages []Passage) ([]Passage, error) {
	if d.reranker == nil {
		return nil, errors.New("the database was opened without a reranker")
	}
	texts := make([]string, len(passages))
	for i, p := range passages {
		texts[i] = p.Text
	}
	scores, err := d.reranker.Scores(ctx, question, texts)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(passages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	sorted := make([]Passage, len(passages))
	for i, k := range order {
		sorted[i] = passages[k]
	}
	return sorted, nil
}

// A head is the first line of a file of a database.
type head struct {
	Format   string      `json:"format"`
	Version  int         `json:"version"`
	Passages int         `json:"passages"`
	Params   IndexParams `json:"index_params"`
	Entry    int32       `json:"entry"`
}

const (
	fileFormat  = "mlperf-passages"
	fileVersion = 1
	mostWidth   = 1 << 14
	mostLine    = 1 << 24 // bytes
)

// WriteFile writes the database. The file replaces one of that name only when it is whole. It begins with lines of JSON, a head and each passage;
// then the vectors follow as float32, and for each vector its layers and, for each layer, the number of its links and the links, as uint32, all
// little-endian. (The reference's file is a pickle of FAISS' memory.)
func (d *Database) WriteFile(path string) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	err := fileio.WriteAtomic(path, 0o644, func(f io.Writer) error {
		w := bufio.NewWriterSize(f, 1<<20)
		return errors.Join(d.write(w), w.Flush())
	})
	if err != nil {
		return fmt.Errorf("writing the database: %w", err)
	}
	return nil
}

func (d *Database) write(w *bufio.Writer) error {
	line := func(v any) error {
		data, err := json.Marshal(v, json.Deterministic(true))
		if err == nil {
			_, err = w.Write(append(data, '\n'))
		}
		return err
	}
	err := line(head{fileFormat, fileVersion, len(d.passages), d.index.Params(), d.index.entry})
	for i := 0; err == nil && i < len(d.passages); i++ {
		err = line(d.passages[i])
	}
	if err != nil {
		return err
	}
	var number [4]byte
	put := func(v uint32) {
		binary.LittleEndian.PutUint32(number[:], v)
		w.Write(number[:]) // Flush returns its error
	}
	for _, v := range d.index.vectors {
		put(math.Float32bits(v))
	}
	for _, layers := range d.index.links {
		put(uint32(len(layers)))
		for _, links := range layers {
			put(uint32(len(links)))
			for _, id := range links {
				put(uint32(id))
			}
		}
	}
	return nil
}

// ReadFile reads a database that WriteFile wrote, for questions to this encoder and reranker, which may be nil.
func ReadFile(path string, encoder *Encoder, reranker *Reranker) (*Database, error) {
	d := &Database{encoder: encoder, reranker: reranker}
	f, err := fileio.Open(path)
	if err == nil {
		err = func() error {
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				return err
			}
			if err := d.read(f, info.Size()); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if d.Width() != encoder.Width() {
				return fmt.Errorf("%s: its vectors have %d numbers, those of the encoder %d: must be a database of the same encoder", path, d.Width(), encoder.Width())
			}
			return nil
		}()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the database: %w", err)
	}
	return d, nil
}

// errForeign is the error of a file that WriteFile did not write.
var errForeign = fmt.Errorf("not a database of this program (%s): e2e-rag-db writes one; databases of FAISS cannot be read", fileFormat)

// read reads a file of so many bytes, and allocates no more than is in it.
func (d *Database) read(f io.Reader, size int64) error {
	r := &reader{in: bufio.NewReaderSize(f, 1<<16), left: size}
	first, err := r.line()
	var h head
	if err != nil || json.Unmarshal(first, &h) != nil || h.Format != fileFormat {
		return errForeign
	}
	switch p := h.Params; {
	case h.Version != fileVersion:
		return fmt.Errorf("version %d: must be %d", h.Version, fileVersion)
	case p.Dim < 1 || p.Dim > mostWidth:
		return fmt.Errorf("vectors of %d numbers: must be 1 to %d", p.Dim, mostWidth)
	case h.Passages < 0 || int64(h.Passages)*int64(4*p.Dim) > size:
		return fmt.Errorf("%d passages do not fit into %d bytes", h.Passages, size)
	}
	d.index = NewIndex(h.Params.Dim)
	if want := d.index.Params(); h.Params != want {
		return fmt.Errorf("the index is %+v: must be %+v", h.Params, want)
	}
	for i := range h.Passages {
		text, err := r.line()
		var p Passage
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil {
			return fmt.Errorf("passage %d: %w", i, err)
		}
		d.passages = append(d.passages, p)
	}
	if err := d.index.read(r, h.Passages, h.Entry); err != nil {
		return err
	}
	if r.left != 0 {
		return fmt.Errorf("%d bytes follow the index: must be none", r.left)
	}
	return nil
}

// read reads vectors and links.
func (x *Index) read(r *reader, vectors int, entry int32) error {
	x.vectors = make([]float32, vectors*x.width)
	for i := range x.vectors {
		x.vectors[i] = math.Float32frombits(r.number())
		if v := x.vectors[i]; v-v != 0 {
			return fmt.Errorf("number %d of vector %d is %v: must be finite", i%x.width, i/x.width, v)
		}
	}
	x.links, x.seen = make([][][]int32, vectors), make([]uint32, vectors)
	for i := range x.links {
		layers := r.number()
		if r.err == nil && (layers < 1 || layers > mostLayers) {
			return fmt.Errorf("vector %d is in %d layers: must be 1 to %d", i, layers, mostLayers)
		}
		for layer := 0; layer < int(layers) && r.err == nil; layer++ {
			n := r.number()
			if int(n) > capacity(layer) {
				return fmt.Errorf("vector %d has %d links in layer %d: must be %d at most", i, n, layer, capacity(layer))
			}
			links := make([]int32, n)
			for k := range links {
				links[k] = int32(r.number())
			}
			x.links[i] = append(x.links[i], links)
		}
		if r.err != nil {
			return fmt.Errorf("the links of vector %d of %d: %w", i, vectors, r.err)
		}
	}
	if vectors > 0 && (entry < 0 || int(entry) >= vectors) {
		return fmt.Errorf("the entry is vector %d: must be 0 to %d", entry, vectors-1)
	}
	for i, layers := range x.links {
		if len(layers) > len(x.links[entry]) {
			return fmt.Errorf("vector %d is in %d layers, more than the entry, vector %d", i, len(layers), entry)
		}
		for layer, links := range layers {
			for _, id := range links {
				if id < 0 || int(id) >= vectors || len(x.links[id]) <= layer {
					return fmt.Errorf("vector %d has a link to vector %d in layer %d, which has no such vector", i, id, layer)
				}
			}
		}
	}
	x.entry = entry
	return r.err
}

// A reader reads a file and counts what is left of it.
type reader struct {
	in   *bufio.Reader
	left int64
	err  error // of number, the first
}

func (r *reader) line() ([]byte, error) {
	var text []byte
	for {
		part, err := r.in.ReadSlice('\n')
		text = append(text, part...)
		r.left -= int64(len(part))
		switch {
		case err == nil:
			return bytes.TrimSuffix(text, []byte("\n")), nil
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(text) > mostLine:
			return nil, fmt.Errorf("a line of more than %d bytes", mostLine)
		}
	}
}

// number is the next number; after an error it is 0.
func (r *reader) number() uint32 {
	var b [4]byte
	if r.err == nil {
		if _, r.err = io.ReadFull(r.in, b[:]); errors.Is(r.err, io.EOF) {
			r.err = io.ErrUnexpectedEOF
		}
		r.left -= 4
	}
	return binary.LittleEndian.Uint32(b[:])
}

// urls returns the addresses of passages, as the reference's manifest names their pages: by URL, or else by file.
func urls(passages []Passage) []string {
	list := make([]string, len(passages))
	for i, p := range passages {
		list[i] = cmp.Or(p.URL, p.Title)
	}
	return list
}

// article is the name of a page without its place, so that an address and a file's name of the same page are equal (db_manifest.py, _norm_url).
func article(url string) string {
	u := strings.ToLower(url)
	for _, scheme := range []string{"https://", "http://"} {
		u = strings.TrimPrefix(u, scheme)
	}
	u = strings.TrimSuffix(u, ".html")
	u = strings.ReplaceAll(u, "en.wikipedia.org/wiki/", "")
	u = strings.ReplaceAll(u, "en.wikipedia.org_wiki_", "")
	u, _, _ = strings.Cut(u, "#")
	return strings.Trim(strings.ReplaceAll(u, "/", "_"), "_")
}
