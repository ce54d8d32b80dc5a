package wire

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"testing"
)

// unframe finds the body in what comes, of which so many bytes are there at a time.
func unframe(f *framing, text string, atOnce int) (body, behind string, err error) {
	for len(text) > 0 {
		p := []byte(text[:min(atOnce, len(text))])
		text = text[len(p):]
		for {
			piece, rest, err := f.next(p)
			if err != nil {
				return body, "", err
			}
			if p = rest; len(piece) == 0 {
				break
			}
			body += string(piece)
		}
		behind += string(p)
	}
	return body, behind, nil
}

func TestABodyIsFoundHoweverItIsFramed(t *testing.T) {
	for _, test := range []struct {
		name, head, text   string
		body, behind, fail string
		over               bool
	}{
		{"a length", "Content-Length: 5\r\n", "abcdeX", "abcde", "X", "", true},
		{"no length", "Content-Length: 0\r\n", "X", "", "X", "", true},
		{"until the end", "Connection: close\r\n", "abc", "abc", "", "", false},
		{"too short", "Content-Length: 5\r\n", "abc", "abc", "", "", false},
		{"chunks", chunks, "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nX", "abcde", "X", "", true},
		{"chunks with zeros, capitals and extensions", chunks, "0003;a=b\r\nabc\r\nA \r\n0123456789\r\n0;x\r\nDate: y\r\n\r\n", "abc0123456789", "", "", true},
		{"a size before a line feed alone", chunks, "3\nabc\r\n0\r\n\r\n", "", "", `the line "3" around`, false},
		{"a chunk before a line feed alone", chunks, "3\r\nabc\n0\r\n\r\n", "abc", "", `the line "" around`, false},
		{"trailers before a line feed alone", chunks, "3\r\nabc\r\n0\r\nA: b\n\r\n", "abc", "", `the line "A: b" around`, false},
		{"an end before a line feed alone", chunks, "3\r\nabc\r\n0\r\n\n", "abc", "", `the line "" around`, false},
		{"a carriage return within a line", chunks, "3;a\rb\r\nabc\r\n0\r\n\r\n", "", "", "one carriage return", false},
		{"two carriage returns", chunks, "3\r\r\nabc\r\n0\r\n\r\n", "", "", "one carriage return", false},
		{"chunks without an end", chunks, "3\r\nabc\r\n", "abc", "", "", false},
		{"a chunk that is longer than it says", chunks, "3\r\nabcd\r\n0\r\n\r\n", "abc", "", "longer than it says", false},
		{"a chunk without a size", chunks, "\r\nabc\r\n", "", "", "no size", false},
		{"a negative size", chunks, "-3\r\nabc\r\n", "", "", "no size", false},
		{"a size of words", chunks, "3 bytes\r\nabc", "abc", "", "", false},
		{"a huge size", chunks, "fffffffffffffffff\r\nabc\r\n", "", "", "no size", false},
		{"a line without an end", chunks, strings.Repeat("0", maxLine+2), "", "", "lines without an end", false},
		{"trailers without an end", chunks, "0\r\n" + strings.Repeat("A: b\r\n", maxTrailer), "", "", "lines without an end", false},
	} {
		for _, atOnce := range []int{1, 2, 7, 1 << 20} {
			r, err := http.ReadResponse(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\n"+test.head+"\r\n")), nil)
			if err != nil {
				t.Fatal(err)
			}
			var f framing
			f.frame(r)
			body, behind, err := unframe(&f, test.text, atOnce)
			if body != test.body || behind != test.behind || (f.part == nothing) != test.over || (err == nil) != (test.fail == "") || err != nil && !strings.Contains(err.Error(), test.fail) {
				t.Errorf("%s, %d bytes at once: %q, behind it %q, over %v, %v", test.name, atOnce, body, behind, f.part == nothing, err)
			}
		}
	}
}

func TestSizesOfChunksAreHexadecimal(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "7": 7, "a": 10, "F": 15, "00ff": 255, "1000": 4096, "3;x=y": 3, "3 ": 3, "3\t;x": 3, "4000000000000": 1 << 50,
		"": -1, "g": -1, ";": -1, " 3": -1, "-1": -1, "+1": -1, "0x3": -1, "3x": -1, "4000000000001": -1, "fffffffffffffffffffff": -1} {
		if n, ok := sizeOf([]byte(text)); ok != (want >= 0) || ok && n != want {
			t.Errorf("sizeOf(%q) = %d, %v, want %d", text, n, ok, want)
		}
	}
}

func TestEveryHexadecimalDigitIsOneAndNoOtherByte(t *testing.T) {
	for c := range 256 {
		want, err := strconv.ParseUint(string([]byte{byte(c)}), 16, 8)
		n, ok := sizeOf([]byte{byte(c)})
		if ok != (err == nil) || ok && n != int64(want) {
			t.Errorf("sizeOf of the byte %#x = %d, %v, want %d, %v", c, n, ok, want, err)
		}
	}
}

// TestWhatIsWrittenInChunksIsReadAgain has net/http's writer cut random bodies, and the connection cut them elsewhere.
func TestWhatIsWrittenInChunksIsReadAgain(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for range 200 {
		var sent bytes.Buffer
		var want []byte
		w := httputil.NewChunkedWriter(&sent)
		for range rng.IntN(6) {
			piece := make([]byte, 1+rng.IntN(1<<rng.IntN(12)))
			for i := range piece {
				piece[i] = "\r\n0;a "[rng.IntN(6)]
			}
			want = append(want, piece...)
			if _, err := w.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		sent.WriteString("\r\nbehind")
		f := framing{part: size, chunked: true}
		body, behind, err := unframe(&f, sent.String(), 1+rng.IntN(300))
		if err != nil || body != string(want) || behind != "behind" || f.part != nothing {
			t.Fatalf("%q is read as %q, %q behind it, %v, of %q", want, body, behind, err, sent.String())
		}
	}
}

func TestTheLongestLinesAroundChunksAreTaken(t *testing.T) {
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"an extension", "3;" + strings.Repeat("x", maxLine-4) + "\r\nabc\r\n0\r\n\r\n", true},
		{"an extension that is longer", "3;" + strings.Repeat("x", maxLine-1) + "\r\nabc\r\n0\r\n\r\n", false},
		{"many chunks", strings.Repeat("1\r\na\r\n", maxLine) + "0\r\n\r\n", true},
		{"trailers", "0\r\n" + strings.Repeat("A: b\r\n", maxTrailer/6-1) + "\r\n", true},
		{"trailers that are longer", "0\r\n" + strings.Repeat("A: b\r\n", maxTrailer/5+2) + "\r\n", false},
	} {
		for _, atOnce := range []int{100, 1 << 20} {
			f := framing{part: size, chunked: true}
			if _, _, err := unframe(&f, c.text, atOnce); (err == nil) != c.ok || c.ok && f.part != nothing {
				t.Errorf("%s, %d bytes at once: %v, over %v", c.name, atOnce, err, f.part == nothing)
			}
		}
	}
}

const chunks = "Transfer-Encoding: chunked\r\n"

// What net/http's own reader takes is the same here, and what is cut elsewhere is no other body.
func FuzzChunks(f *testing.F) {
	f.Add("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nX", 2)
	f.Add("a;b\r\n0123456789\r\n0\r\nT: u\r\n\r\n", 5)
	f.Fuzz(func(t *testing.T, text string, atOnce int) {
		atOnce = max(1, atOnce)
		whole, parts := framing{part: size, chunked: true}, framing{part: size, chunked: true}
		body, behind, err := unframe(&whole, text, 1<<20)
		again, behind2, err2 := unframe(&parts, text, atOnce)
		if body != again || behind != behind2 || (err == nil) != (err2 == nil) {
			t.Fatalf("at once %q, %q, %v; by %d %q, %q, %v", body, behind, err, atOnce, again, behind2, err2)
		}
		theirs, theirErr := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader([]byte(text))))
		if err == nil && whole.part == nothing && theirErr == nil && string(theirs) != body {
			t.Errorf("%q, net/http has %q", body, theirs)
		}
	})
}
