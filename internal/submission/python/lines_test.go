package python

import (
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// splitLines is the slow way: all at once.
func splitLines(text string) []string {
	plain := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	lines := strings.Split(plain, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// someText is a text whose ends of lines and characters fall on both sides of what is
// read at once.
func someText(r *rand.Rand) string {
	tokens := []string{"a", "é", "日", "😀", "\n", "\r", "\r\n", "\r\r\n", "\n\n", strings.Repeat("x", chunkSize-3), strings.Repeat("y", 3*chunkSize+1)}
	var b strings.Builder
	for range r.IntN(40) {
		b.WriteString(tokens[r.IntN(len(tokens))])
	}
	return b.String()
}

func TestLinesAreTheSameHoweverTheyAreRead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	readers := []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.HalfReader, iotest.DataErrReader}
	lines := NewLines(nil)
	for i := range 300 {
		text := someText(r)
		lines.Reset(readers[i%len(readers)](strings.NewReader(text)))
		got := []string{}
		for {
			line, err := lines.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, string(line)); lines.Line != len(got) {
				t.Fatalf("line %d is called %d", len(got), lines.Line)
			}
		}
		if diff := cmp.Diff(splitLines(text), got); diff != "" {
			t.Fatalf("lines of text %d (-want +got):\n%.600s", i, diff)
		}
		if line, err := lines.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the end: %q, %v", line, err)
		}
	}
}

func TestWhatIsNotUTF8IsNamedByItsLine(t *testing.T) {
	long := strings.Repeat("é", chunkSize/2)
	for text, want := range map[string]string{
		"\xff":                           "line 1: not UTF-8",
		"a\nb\n\xff\n":                   "line 3: not UTF-8",
		"a\r\nb\xc3\nc":                  "line 2: not UTF-8",
		"a\nb\nend \xe6\x97":             "line 3: not UTF-8",
		long + "\n" + long + "\n\xa0":    "line 3: not UTF-8",
		"x" + long + "\n\xed\xa0\x80":    "line 2: not UTF-8",
		long[:chunkSize-2] + "\xf0\x9f":  "line 1: not UTF-8",
		long[:chunkSize-2] + "\n\xc3\na": "line 2: not UTF-8",
	} {
		_, err := readAll(text)
		if err == nil || err.Error() != want {
			t.Errorf("%d bytes, the last %q: %v, want %s", len(text), text[max(0, len(text)-4):], err, want)
		}
	}
}

func TestLinesEndWithTheErrorOfTheirReader(t *testing.T) {
	broken := errors.New("the disk is gone")
	lines := NewLines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if line, err := lines.Next(); string(line) != "a" || err != nil {
		t.Errorf("first line: %q, %v", line, err)
	}
	for range 2 {
		if line, err := lines.Next(); !errors.Is(err, broken) {
			t.Errorf("%q, %v, want %v", line, err, broken)
		}
	}
}

// zeros never ends, and has no lines.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestALineThatNeverEndsIsAnError(t *testing.T) {
	lines := NewLines(io.MultiReader(strings.NewReader("a\n"), zeros{}))
	if _, err := lines.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := lines.Next(); !errors.Is(err, errLineTooLong) || err.Error() != "line is longer than 64 MiB" {
		t.Errorf("error %v, want %v", err, errLineTooLong)
	}
}

// The lengths are of the lines that Python returned before its exception.
func TestLinesBeforeBadBytesAreThoseOfPython(t *testing.T) {
	for data, want := range readGolden(t).Broken {
		text, err := hex.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := readAll(string(text))
		got := []int{}
		for _, line := range lines {
			got = append(got, utf8.RuneCountInString(line))
		}
		var encoding *EncodingError
		if !errors.As(err, &encoding) || !slices.Equal(got, want) {
			t.Errorf("%.20q…%q: lines of %v characters, %v, want %v and an EncodingError", text, text[max(0, len(text)-5):], got, err, want)
		}
	}
}
