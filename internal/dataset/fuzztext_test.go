package dataset

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParseSQuAD(f *testing.F) {
	f.Add([]byte(`{"version":"1.1","data":[{"title":"t","paragraphs":[{"context":"a b","qas":[{"id":"1","question":"q","answers":[{"text":"a","answer_start":0}]}]}]}]}`))
	f.Add([]byte(`{"data":[{"paragraphs":[{"context":"","qas":[]}]}]}`))
	f.Add([]byte(`{"data":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := parseSQuAD(data)
		if err != nil {
			return
		}
		ids := map[string]bool{}
		for _, q := range d.Questions {
			if q.Text < 0 || q.Text >= len(d.Texts) || ids[q.ID] || !utf8.ValidString(q.Asked) {
				t.Errorf("question %+v of %d texts", q, len(d.Texts))
			}
			ids[q.ID] = true
		}
		if len(d.Questions) == 0 {
			t.Error("no questions")
		}
	})
}

func FuzzParseLines(f *testing.F) {
	f.Add([]byte("ein Satz .\nno@@ ch einer\r\n\n"))
	f.Add([]byte("\xff\n"))
	f.Add([]byte("a\r\r\r\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := parseLines(bytes.NewReader(data))
		if err != nil {
			return
		}
		// What is accepted survives a round trip.
		again, err := parseLines(strings.NewReader(strings.Join(lines, "\n") + "\n"))
		if err != nil || len(again) != len(lines) {
			t.Fatalf("%d lines, then %d, %v", len(lines), len(again), err)
		}
		for i, line := range lines {
			if !utf8.ValidString(line) || strings.ContainsAny(line, "\n\r\v\u2028") || line != again[i] {
				t.Errorf("line %d is %q, then %q", i+1, line, again[i])
			}
		}
	})
}

func FuzzCriteoPair(f *testing.F) {
	f.Add(make([]byte, criteoBytes))
	f.Add(binary.LittleEndian.AppendUint32(make([]byte, criteoBytes-4), 1<<31))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < criteoBytes {
			return
		}
		c := Click{make([]float32, CriteoNumbers), make([]int64, CriteoCategories), make([]float32, 1)}
		if c.pair(0, 1, data[:criteoBytes]) != nil {
			return
		}
		for _, v := range c.Numbers {
			if !(v >= 0 && v < 22) { // ln(2³¹) = 21.5
				t.Errorf("number %v", v)
			}
		}
		for _, v := range c.Categories {
			if v < 0 {
				t.Errorf("category %d", v)
			}
		}
		if c.Labels[0] != 0 && c.Labels[0] != 1 {
			t.Errorf("label %v", c.Labels[0])
		}
	})
}
