package requests_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/report/requests"
	"github.com/mlperf-go/mlperf/internal/report/requests/requeststest"
)

var header = requests.Header{Schema: requests.Schema, Program: "mlperf test", Created: time.Unix(1, 0).UTC(), Model: "m", Scenario: "Server", Times: requests.Times}

func written(t testing.TB, list ...requests.Request) []byte {
	t.Helper()
	var b bytes.Buffer
	err := requests.Write(&b, header, func(yield func(requests.Request) error) error {
		for _, r := range list {
			if err := yield(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decoded(data []byte) (h requests.Header, list []requests.Request, err error) {
	h, err = requeststest.Decode(bytes.NewReader(data), func(r requests.Request) error { list = append(list, r); return nil })
	return h, list, err
}

func TestReadWhatWasWritten(t *testing.T) {
	list := []requests.Request{
		{ID: 1, Sample: 7, DueNS: 1000, SentNS: new(int64(1400)), Attempts: 2, FirstTokenNS: new(int64(5e7)), PieceNS: []int64{5e7, 6e7}, DoneNS: new(int64(6e7)),
			PromptTokens: 9, CachedTokens: 3, Tokens: 2, End: "length"},
		{ID: 2, DueNS: 2000, End: requests.Failed, Error: "status 500"},
	}
	data := written(t, list...)
	h, got, err := decoded(data)
	if err != nil || cmp.Diff(header, h) != "" || cmp.Diff(list, got) != "" {
		t.Errorf("%v, %s %s", err, cmp.Diff(header, h), cmp.Diff(list, got))
	}
	packed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(packed); err != nil || !strings.HasPrefix(text.String(), `{"schema":"`+requests.Schema+`",`) || strings.Count(text.String(), "\n") != 3 {
		t.Errorf("%v: the file does not say its schema first: %.60s", err, &text)
	}
}

func TestDamagedFiles(t *testing.T) {
	pack := func(text string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(text))
		_ = w.Close()
		return b.Bytes()
	}
	first := `{"schema":"` + requests.Schema + `"}` + "\n"
	whole := written(t, requests.Request{ID: 1, End: requests.Answered})
	for text, data := range map[string][]byte{
		"gzip":                 []byte("no archive at all"),
		"the file is empty":    pack(""),
		"line 1: the schema":   pack(`{"schema":"mlperf-go/requests/9"}` + "\n"),
		"line 1: invalid":      pack("x\n"),
		"line 3: json: cannot": pack(first + "{}\n" + `{"due_ns":"soon"}` + "\n"),
		"unexpected EOF":       whole[:len(whole)-9],
	} {
		if _, _, err := decoded(data); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(written(f, requests.Request{ID: 1, PieceNS: []int64{1, 2}, End: "stop"}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		_, list, err := decoded(data)
		if err != nil {
			return
		}
		if _, again, err := decoded(written(t, list...)); err != nil || cmp.Diff(list, again) != "" {
			t.Errorf("%v: %s", err, cmp.Diff(list, again))
		}
	})
}
