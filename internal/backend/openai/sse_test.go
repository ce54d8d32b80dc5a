package openai

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// cutAll cuts a stream into events.
func cutAll(r io.Reader) (list []string, err error) {
	var e events
	e.reset()
	for {
		err := e.fill(r)
		for data, ok := e.next(); ok; data, ok = e.next() {
			list = append(list, string(data))
		}
		if errors.Is(err, io.EOF) {
			if data, ok := e.last(); ok {
				list = append(list, string(data))
			}
			return list, nil
		}
		if err != nil {
			return list, err
		}
	}
}

func TestEventsAreCutHoweverTheyArrive(t *testing.T) {
	long := strings.Repeat("x", 3*firstEvent)
	for _, test := range []struct {
		name, stream string
		want         []string
	}{
		{"nothing", "", nil},
		{"two events", "data: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"without a space", "data:a\n\n", []string{"a"}},
		{"carriage returns", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		{"comments, names and ids", ": ping\n\nevent: x\nid: 7\ndata: a\nretry: 5\n\n", []string{"a"}},
		{"several lines of data", "data: a\ndata: b\ndata: c\n\ndata: d\n\n", []string{"a\nb\nc", "d"}},
		{"no empty line at the end", "data: a\n\ndata: b\n", []string{"a", "b"}},
		{"no line feed at the end", "data: a\n\ndata: b", []string{"a", "b"}},
		{"a byte order mark", "\ufeffdata: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"a byte order mark before a comment", "\ufeff: ping\n\ndata: b\n\n", []string{"b"}},
		{"a byte order mark where none can be", "data: a\n\n\ufeffdata: b\n\n", []string{"a"}},
		{"what only begins like data", "datas: x\ndata\n data: x\nDATA: x\n\ndata: a\n\n", []string{"a"}},
		{"two spaces, of which one is data", "data:  a \n\n", []string{" a "}},
		{"carriage returns within", "data: a\rb\n\n", []string{"a\rb"}},
		{"empty data", "data:\n\n", []string{""}},
		{"empty lines only", "\n\n\n", nil},
		{"longer than the memory", "data: " + long + "\n\ndata: b\n\n", []string{long, "b"}},
		{"many", strings.Repeat("data: abc\n\n", 5000), slices.Repeat([]string{"abc"}, 5000)},
	} {
		for how, r := range map[string]io.Reader{
			"at once": strings.NewReader(test.stream), "byte by byte": iotest.OneByteReader(strings.NewReader(test.stream)),
			"by halves": iotest.HalfReader(strings.NewReader(test.stream)), "with the end": iotest.DataErrReader(strings.NewReader(test.stream)),
		} {
			got, err := cutAll(r)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%s, %s: %v, (-want +got):\n%.300s", test.name, how, err, diff)
			}
		}
	}
}

func TestAnEventMayNotBeLongerThanItsBound(t *testing.T) {
	for name, stream := range map[string]string{
		"one line":      "data: " + strings.Repeat("x", 10<<20),
		"several lines": strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 10<<10),
	} {
		if _, err := cutAll(strings.NewReader(stream)); !errors.Is(err, errLongEvent) {
			t.Errorf("%s: %v, want %v", name, err, errLongEvent)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\ndata: b\ndata: c\r\n\r\n: x\ndata:")
	f.Fuzz(func(t *testing.T, stream string) {
		want, err := cutAll(strings.NewReader(stream))
		got, err2 := cutAll(iotest.OneByteReader(strings.NewReader(stream)))
		if diff := cmp.Diff(want, got); diff != "" || err != nil || err2 != nil {
			t.Errorf("byte by byte: %v, %v, (-at once +so):\n%s", err, err2, diff)
		}
	})
}

func TestTheEndOfAStreamMayHaveSpaceAroundIt(t *testing.T) {
	for data, want := range map[string]bool{"[DONE]": true, " [DONE]": true, "[DONE] ": true, "[DONE]\t": true, "": false, "[done]": false, "DONE": false, "[DONE][DONE]": false,
		`{"text":"[DONE]"}`: false, "[DONE]{}": false} {
		if got := isDone([]byte(data)); got != want {
			t.Errorf("isDone(%q) = %v, want %v", data, got, want)
		}
	}
}
