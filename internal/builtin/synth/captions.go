package synth

import (
	"archive/zip"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
)

// A CaptionSpec says everything about a built-in data set of captions, in the form in which the
// reference of Stable Diffusion XL has those of COCO 2014: a table, and the noise that all
// images begin with, as PyTorch saves it. The tokenizers of the built-in model lie beside them.
// Equal specs with the same truth make equal files.
type CaptionSpec struct {
	Seed     uint64 `json:"seed"`
	Captions int    `json:"captions"`
	Tokens   int    `json:"tokens"` // of the vocabulary
	Side     int    `json:"side"`   // of the latents
	// Truth names the model whose images are the truth; empty: there is none.
	Truth string `json:"truth,omitempty"`
}

const (
	leastTokens      = 600
	latentChannels   = 4
	differentWords   = 60 // in all captions together
	longCaption      = 7  // one of so many captions is longer than is read
	captionHeader    = "id\timage_id\tcaption\theight\twidth\tfile_name\tcoco_url\n"
	captionTable     = "captions/captions_source.tsv"
	captionLatents   = "latents/latents.pt"
	latentEntryStart = "latents/"
)

func (s CaptionSpec) check() error {
	switch {
	case s.Captions < 2 || s.Captions > 100_000:
		return fmt.Errorf("captions is %d: must be 2 to 100000", s.Captions)
	case s.Tokens < leastTokens || s.Tokens > 1<<17:
		return fmt.Errorf("tokens is %d: must be %d to %d", s.Tokens, leastTokens, 1<<17)
	case s.Side < 1 || s.Side > 1<<10:
		return fmt.Errorf("side is %d: must be 1 to %d", s.Side, 1<<10)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal files.
func (s CaptionSpec) Key() string {
	return "captions-" + keyOf("captions seed %d captions %d tokens %d side %d truth %q", s.Seed, s.Captions, s.Tokens, s.Side, s.Truth)
}

// WriteCaptions makes a data set. The judge, if there is one, writes what images are compared
// with.
//
// Folder, errors and ctx are as with WriteImageNet.
func WriteCaptions(ctx context.Context, dir string, spec CaptionSpec, judge Judge) error {
	return publish(ctx, dir, "captions", &spec, spec.fill, judge)
}

// fill writes the files.
func (s CaptionSpec) fill(folder string) error {
	words := newWordTokens(s.Seed, s.Tokens)
	vocabulary, merges, err := words.files()
	if err != nil {
		return err
	}
	latents, err := s.latents()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		captionTable: []byte(s.table(words.words)), captionLatents: latents,
		"tokenizer/vocab.json": vocabulary, "tokenizer/merges.txt": merges,
		"tokenizer_2/vocab.json": vocabulary, "tokenizer_2/merges.txt": merges,
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := fileio.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// table writes the captions. Some have quotes, which the table doubles.
func (s CaptionSpec) table(words []string) string {
	var b strings.Builder
	b.WriteString(captionHeader)
	for i := range s.Captions {
		r := newStream("caption", s.Seed, uint64(i))
		caption := s.caption(r, i, words[:min(len(words), differentWords)])
		if strings.Contains(caption, `"`) {
			caption = `"` + strings.ReplaceAll(caption, `"`, `""`) + `"`
		}
		fmt.Fprintf(&b, "%d\t%d\t%s\t480\t640\tCOCO_val2014_%012d.jpg\t%s\n", i, 1000+i, caption, 1000+i, Mark)
	}
	return b.String()
}

// caption draws a caption of 5 to 12 words, and now and then one that is longer than what is read.
func (s CaptionSpec) caption(r *stream, i int, words []string) string {
	n := r.between(5, 12)
	if i%longCaption == longCaption-1 {
		n = r.between(80, 100)
	}
	var parts []string
	for range n {
		parts = append(parts, words[r.below(len(words))])
	}
	parts[0] = strings.ToUpper(parts[0][:1]) + parts[0][1:]
	if r.below(4) == 0 {
		parts[1] = `"` + parts[1] + `"`
	}
	return strings.Join(parts, " ") + []string{".", "!", " 7."}[r.below(3)]
}

// latents are noise, as torch.save of PyTorch 2 writes it.
func (s CaptionSpec) latents() ([]byte, error) {
	memory := noise(newStream("latents", s.Seed), latentChannels*s.Side*s.Side)
	return saveTensor(latentEntryStart, "FloatStorage", memory, []int{1, latentChannels, s.Side, s.Side})
}

// noise is so many numbers of float32, of deviation 1 exactly.
func noise(r *stream, n int) []byte {
	values, squares := make([]float64, n), 0.0
	for i := range values {
		values[i] = r.normal()
		squares += float64(values[i] * values[i])
	}
	scale := 1 / math.Sqrt(squares/float64(n))
	memory := make([]byte, 0, 4*n)
	for _, v := range values {
		memory = binary.LittleEndian.AppendUint32(memory, math.Float32bits(float32(v*scale)))
	}
	return memory
}

// saveTensor writes a tensor: an archive with a pickle, and the memory beside it. Names of entries begin with start; storage is
// PyTorch's name of the type.
func saveTensor(start, storage string, memory []byte, shape []int) ([]byte, error) {
	var file strings.Builder
	z := zip.NewWriter(&file)
	for _, entry := range []struct {
		name    string
		content []byte
	}{{"data.pkl", tensorPickle(storage, shape)}, {"byteorder", []byte("little")}, {"data/0", memory}, {"version", []byte("3\n")}} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: start + entry.name})
		if err == nil {
			_, err = w.Write(entry.content)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return []byte(file.String()), nil
}

// tensorPickle is the pickle that makes a tensor of its memory (pickletools.py describes the
// instructions).
func tensorPickle(storage string, shape []int) []byte {
	var p []byte
	number := func(n int) { p = binary.LittleEndian.AppendUint32(append(p, 'J'), uint32(n)) }
	text := func(s string) { p = append(binary.LittleEndian.AppendUint32(append(p, 'X'), uint32(len(s))), s...) }
	p = append(p, "\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(("...)
	text("storage")
	p = append(p, "ctorch\n"+storage+"\n"...)
	text("0")
	text("cpu")
	count := 1
	for _, n := range shape {
		count *= n
	}
	number(count)
	p = append(p, "tQ"...)
	number(0)
	strides, stride := make([]int, len(shape)), 1
	for axis := len(shape) - 1; axis >= 0; axis-- {
		strides[axis] = stride
		stride *= shape[axis]
	}
	for _, list := range [][]int{shape, strides} {
		p = append(p, '(')
		for _, n := range list {
			number(n)
		}
		p = append(p, 't')
	}
	return append(p, "\x89ccollections\nOrderedDict\n)RtR."...)
}

// wordTokens are words, and a vocabulary in the form of CLIP's that joins the bytes of words to
// tokens.
type wordTokens struct {
	words  []string
	tokens []string // by number
	merges [][2]string
}

const (
	wordEnd    = "</w>"
	startToken = "<|startoftext|>"
	endToken   = "<|endoftext|>"
)

// newWordTokens makes words until a vocabulary of a size is full.
func newWordTokens(seed uint64, size int) *wordTokens {
	w := &wordTokens{tokens: slices.Clone(hf.ByteCharacters[:])}
	for _, name := range hf.ByteCharacters {
		w.tokens = append(w.tokens, name+wordEnd)
	}
	known := map[string]bool{}
	for _, token := range w.tokens {
		known[token] = true
	}
	r := newStream("caption words", seed)
	for seen := map[string]bool{}; len(w.tokens) < size-2; {
		word := newWord(r)
		if !seen[word] {
			seen[word] = true
			w.words = append(w.words, word)
			w.join(word, known, size-2)
		}
	}
	w.tokens = append(w.tokens, startToken, endToken)
	return w
}

// join adds the tokens by which a word grows from its beginning, as long as there is room.
func (w *wordTokens) join(word string, known map[string]bool, room int) {
	whole := word[:1]
	for i := 1; i < len(word) && len(w.tokens) < room; i++ {
		next := word[i : i+1]
		if i == len(word)-1 {
			next += wordEnd
		}
		if joined := whole + next; !known[joined] {
			known[joined] = true
			w.tokens, w.merges = append(w.tokens, joined), append(w.merges, [2]string{whole, next})
		}
		whole += next
	}
}

// files are vocab.json and merges.txt.
func (w *wordTokens) files() (vocabulary, merges []byte, err error) {
	ids := make(map[string]int, len(w.tokens))
	for i, token := range w.tokens {
		ids[token] = i
	}
	if vocabulary, err = json.Marshal(ids); err != nil {
		return nil, nil, err
	}
	var b strings.Builder
	b.WriteString("#version: 0.2\n")
	for _, m := range w.merges {
		b.WriteString(m[0] + " " + m[1] + "\n")
	}
	return vocabulary, []byte(b.String()), nil
}
