package synth

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// Mark is in the files of samples, where decoders pass over it, so that copies without the Manifest are known: a comment of
// JPEG, PNG, WAV and gzip files, the description of NIfTI headers, a title of SQuAD, a key or column of rows of prompts. The
// formats of sentences and clicks have no place for it: there the samples themselves are compared with those of Seed.
const Mark = "mlperf_built_in_data"

// markComment is what people read.
const markComment = Mark + ": made from a seed, not the official set"

// Seed is that of all built-in data sets.
const Seed = 1

// jpegComment is a COM segment (ITU T.81 §B.2.4.5).
func jpegComment(text string) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xFF, 0xFE}, uint16(2+len(text))), text...)
}

// withPNGComment adds a chunk of text behind IHDR, the first one (PNG §11.3.3).
func withPNGComment(file []byte, text string) []byte {
	const ihdr = 8 + 25
	chunk := append([]byte("tEXtComment\x00"), text...)
	whole := binary.BigEndian.AppendUint32(nil, uint32(len(chunk)-4))
	whole = binary.BigEndian.AppendUint32(append(whole, chunk...), crc32.ChecksumIEEE(chunk))
	return append(append(bytes.Clone(file[:ihdr]), whole...), file[ihdr:]...)
}

// wavComment is a LIST chunk with a comment (RIFF, INFO).
func wavComment() []byte {
	text := markComment + "\x00"
	text += strings.Repeat("\x00", len(text)%2)
	b := binary.LittleEndian.AppendUint32([]byte("LIST"), uint32(4+8+len(text)))
	b = binary.LittleEndian.AppendUint32(append(b, "INFOICMT"...), uint32(len(text)))
	return append(b, text...)
}

// How much is read of a data set: the ends of the first file of each kind, by extension, and of a few others.
const (
	markedPart  = 64 << 10
	filesOfKind = 8
	mostKinds   = 64
)

// HasMark reports whether a file, or some of the files of a folder, were made here, by their content. It reads the ends of
// a few files. What cannot be read is not marked: who opens it says why.
func HasMark(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if !info.IsDir() {
		return marked(path)
	}
	for _, file := range someFiles(path) {
		if marked(file) {
			return true
		}
	}
	return false
}

// someFiles chooses files below a folder, of each extension the first and others by chance, the same at each call.
func someFiles(dir string) (chosen []string) {
	type kind struct {
		files []string
		seen  int
	}
	kinds := map[string]*kind{}
	chance := rand.New(rand.NewPCG(1, 2))
	followed := map[string]bool{} // folders behind links, each once
	var walk func(dir string)
	walk = func(dir string) {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			path, mode := filepath.Join(dir, e.Name()), e.Type()
			if mode&fs.ModeSymlink != 0 {
				info, err := os.Stat(path)
				if err != nil {
					continue
				}
				if mode = info.Mode().Type(); mode.IsDir() {
					real, err := filepath.EvalSymlinks(path)
					if err != nil || followed[real] {
						continue
					}
					followed[real] = true
				}
			}
			switch {
			case mode.IsDir():
				walk(path)
			case !mode.IsRegular() || e.Name() == manifestName:
			default:
				name := strings.ToLower(filepath.Ext(e.Name()))
				k := kinds[name]
				if k == nil {
					if len(kinds) == mostKinds {
						continue
					}
					k = &kind{}
					kinds[name] = k
				}
				k.seen++
				if len(k.files) < filesOfKind {
					k.files = append(k.files, path)
				} else if i := 1 + chance.IntN(k.seen-1); i < filesOfKind { // the first one stays
					k.files[i] = path
				}
			}
		}
	}
	walk(dir)
	for _, k := range kinds {
		chosen = append(chosen, k.files...)
	}
	return chosen
}

// marked reports whether the ends of a file have the mark, or samples of Seed.
func marked(path string) bool {
	f, err := fileio.Open(path) // a pipe would block
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false
	}
	head, _ := io.ReadAll(io.LimitReader(f, markedPart))
	if hasMark(head) {
		return true
	}
	if z, err := gzip.NewReader(bytes.NewReader(head)); err == nil {
		inner, _ := io.ReadAll(io.LimitReader(z, markedPart)) // which ends where the head does
		return hasMark(inner)
	}
	if at := max(info.Size()-markedPart, int64(len(head))); at < info.Size() {
		tail, _ := io.ReadAll(io.NewSectionReader(f, at, info.Size()-at))
		if hasMark(tail) {
			return true
		}
	}
	switch filepath.Ext(path) {
	case ".en", ".de":
		return seedWords(head)
	case ".bin", ".npy":
		return seedClicks(head)
	}
	return false
}

func hasMark(part []byte) bool { return bytes.Contains(part, []byte(Mark)) }

// seedWords reports whether nearly all words of a text are those of the built-in sentences.
func seedWords(text []byte) bool {
	const fewest = 20
	known, all := 0, 0
	for word := range strings.FieldsSeq(string(text)) {
		all++
		if sentenceWords()[strings.TrimSuffix(word, "@@")] {
			known++
		}
	}
	return all >= fewest && known*10 > all*8
}

// sentenceWords are the words of the largest vocabulary of sentences.
var sentenceWords = sync.OnceValue(func() map[string]bool {
	const pieces = 32320 // of GNMT's vocabulary with padding
	words := map[string]bool{}
	r := newStream("pieces", Seed)
	for len(words) < pieces {
		words[newWord(r)] = true
	}
	return words
})

// seedClicks reports whether a file has the numbers of one of the first pairs of Seed, in either form of Criteo: labels and
// categories follow from the model, numbers from the seed only.
func seedClicks(part []byte) bool {
	const pairs = 256
	rows := make([]int64, criteoTables)
	for i := range rows {
		rows[i] = 1
	}
	s := CriteoSpec{Seed: Seed, Pairs: pairs, Rows: rows}
	data, numbers := s.pairs(), s.logs(newStream("multi-hot", Seed))
	for i := range pairs {
		var logs []byte
		for _, v := range numbers[i*criteoNumbers:][:criteoNumbers] {
			logs = binary.LittleEndian.AppendUint32(logs, math.Float32bits(v))
		}
		if bytes.Contains(part, data[4*(i*criteoFields+1):][:4*criteoNumbers]) || bytes.Contains(part, logs) {
			return true
		}
	}
	return false
}
