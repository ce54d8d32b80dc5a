package openai

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// eventsOf are the data of the events of a stream.
func eventsOf(r io.Reader) (list []string, err error) {
	for e := newEvents(r, make([]byte, 64)); ; {
		data, err := e.next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, string(data))
	}
}

func TestEventsOfStreams(t *testing.T) {
	long := strings.Repeat("x", 3*eventBuffer)
	for name, c := range map[string]struct {
		stream string
		want   []string
	}{
		"nothing":                      {"", nil},
		"two events":                   {"data: a\n\ndata: b\n\n", []string{"a", "b"}},
		"without a space":              {"data:a\n\n", []string{"a"}},
		"carriage returns":             {"data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		"comments, names and ids":      {": ping\n\nevent: x\nid: 7\ndata: a\nretry: 5\n\n", []string{"a"}},
		"several lines of data":        {"data: a\ndata: b\ndata: c\n\ndata: d\n\n", []string{"a\nb\nc", "d"}},
		"no empty line at the end":     {"data: a\n\ndata: b\n", []string{"a", "b"}},
		"no line feed at the end":      {"data: a\n\ndata: b", []string{"a", "b"}},
		"almost data":                  {"datas: x\ndata\n data: x\nDATA: x\n\ndata: a\n\n", []string{"a"}},
		"two spaces, one of them data": {"data:  a \n\n", []string{" a "}},
		"empty data":                   {"data:\n\ndata: \n\ndata: a\n\n", []string{"a"}},
		"data that keep it open":       {"data: : keepalive\n\ndata: a\n\ndata: : ping\n\ndata: b\n\n", []string{"a", "b"}},
		"names without errors":         {"event: message\ndata: a\n\nevent: errors\ndata: b\n\n", []string{"a", "b"}},
		"longer than the buffer":       {"data: " + long + "\n\ndata: b\n\n", []string{long, "b"}},
		"many":                         {strings.Repeat("data: abc\n\n", 500), slices.Repeat([]string{"abc"}, 500)},
	} {
		for how, r := range map[string]io.Reader{
			"at once": strings.NewReader(c.stream), "byte by byte": iotest.OneByteReader(strings.NewReader(c.stream)), "with the end": iotest.DataErrReader(strings.NewReader(c.stream)),
		} {
			got, err := eventsOf(r)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%s, %s: %v, (-want +got):\n%.300s", name, how, err, diff)
			}
		}
	}
}

func TestLengthOfEventsIsBounded(t *testing.T) {
	for name, stream := range map[string]string{
		"one line":      "data: " + strings.Repeat("x", 2*maxEvent),
		"several lines": strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 2*maxEvent/1000),
	} {
		if _, err := eventsOf(strings.NewReader(stream)); !errors.Is(err, errLongEvent) {
			t.Errorf("%s: %v, want %v", name, err, errLongEvent)
		}
	}
}

const vllmEvent = `{"id":"cmpl-1","object":"text_completion","created":1730000000,"model":"m","choices":[{"index":0,"text":" token","logprobs":null,"finish_reason":null}]}`

// Events of one shape are read without parsing them, and have the text that they have when they are parsed.
func TestShapeFindsTheSameText(t *testing.T) {
	var sh shape
	fast := 0
	for _, data := range []string{
		vllmEvent, strings.Replace(vllmEvent, " token", `\"a\\b\"\n\u00e9\ud83d\ude00`, 1), strings.Replace(vllmEvent, " token", "", 1), strings.Replace(vllmEvent, " token", "m", 1),
		`{"choices":[{"text":"a"}]}`, `{"choices":[{"text":"b"}]}`, `{"choices":[{"text":"c\""}]}`, `{"choices":[{"text":"d"}],"x":1}`, `{"choices":[{"text":"e"`, `{"choices":[{"text":"g"}]}}`,
		`{"choices":[{"text":"h","delta":{"content":"i"}}]}`, `{"choices":[{"text":"j","delta":{"content":"i"}}]}`, `{"choices":[{"text":"","delta":{"content":"k"}}]}`,
		`{"choices":[{"text":"m","finish_reason":"stop"}]}`, `{"choices":[{"text":"n","finish_reason":"stop"}]}`, `{"choices":[{"text":"o","token_ids":[1]}]}`, `{"choices":[{"text":"p","token_ids":[2,33]}]}`,
		`{"choices":[{"text":"\",\"token_ids\":","token_ids":[ 4 ]}]}`, `{"choices":[{"text":"u","token_ids":[-4]}]}`, `{"choices":[{"text":"u","token_ids":[1,]}]}`, `{"choices":[{"text":"u","token_ids":null}]}`,
		`{"choices":[{"text":"text"}]}`, `{"choices":[{"text":"q"}]}`, `{"choices":[{"text":"\u0071"}]}`, `{"choices":[{"text":"\ud83d"}]}`, `{"choices":[{"text":"r","text":"s"}]}`,
	} {
		with := &answer{session: &session{servers: &servers{}}, prompt: &backend.Prompt{}}
		without := &answer{session: with.session, prompt: with.prompt}
		memory := []byte(data) // which is used again
		text, ids, ok := sh.find(memory)
		ok = ok && with.add(text, ids) == nil
		var e event
		f := without.parse(&e, memory)
		if ok {
			fast++
		} else if f == nil {
			sh.learn(memory, &e)
		}
		clear(memory)
		if ok && (f != nil || !bytes.Equal(with.text, without.text) || !slices.Equal(with.ids, without.ids)) {
			t.Errorf("%s: %q %v with a shape, %q %v without, %v", data, with.text, with.ids, without.text, without.ids, f)
		}
	}
	if fast != 10 {
		t.Errorf("%d events were read by their shape, want 10", fast)
	}
}

// FuzzEvents never panics, and how a stream arrives does not matter.
func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\ndata: b\ndata: c\r\n\r\n: x\ndata:")
	f.Fuzz(func(t *testing.T, stream string) {
		want, err := eventsOf(strings.NewReader(stream))
		got, err2 := eventsOf(iotest.OneByteReader(strings.NewReader(stream)))
		if diff := cmp.Diff(want, got); diff != "" || err != nil || err2 != nil {
			t.Errorf("byte by byte: %v, %v, (-at once +so):\n%s", err, err2, diff)
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	for name, data := range map[string]string{
		"text": vllmEvent, "token ids": strings.Replace(vllmEvent, `null}]`, `null,"token_ids":[17]}]`, 1), "usage each": strings.Replace(vllmEvent, `null}]`, `null}],"usage":{"completion_tokens":1}`, 1),
	} {
		b.Run(name, func(b *testing.B) {
			stream := bytes.Repeat([]byte("data: "+data+"\n\n"), 100)
			r, buffer := bytes.NewReader(stream), make([]byte, eventBuffer)
			a := &answer{session: &session{stats: newStats()}, prompt: &backend.Prompt{}, sink: discard{}}
			b.ReportAllocs()
			for b.Loop() {
				r.Reset(stream)
				a.text, a.ids = a.text[:0], a.ids[:0]
				for e := newEvents(r, buffer); ; {
					data, err := e.next()
					if err != nil {
						break
					}
					if f := a.take(data, 0); f != nil {
						b.Fatal(f)
					}
				}
			}
			b.ReportMetric(float64(b.N)*100/b.Elapsed().Seconds(), "events/s")
		})
	}
}
