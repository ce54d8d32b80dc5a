package oip

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
)

// An Alike reads documents of which one says the same as the one before but for its id, as those of a client and of a model do:
// that is seen without taking them apart, which costs more than all the rest of a small request here. Its zero value is
// ready; it may be used from several goroutines at once.
type Alike struct{ last atomic.Pointer[pattern] }

// Request is ParseRequest.
func (a *Alike) Request(text []byte) (*Document, error) { return a.read(text, ParseRequest) }

// Response is ParseResponse.
func (a *Alike) Response(text []byte) (*Document, error) { return a.read(text, ParseResponse) }

func (a *Alike) read(text []byte, parse func([]byte, Limits) (*Document, error)) (*Document, error) {
	if p := a.last.Load(); p != nil {
		if id, ok := p.match(text); ok {
			return p.document(id), nil
		}
	}
	d, err := parse(text, Limits{})
	if err == nil {
		if p := newPattern(text, d); p != nil {
			a.last.Store(p)
		}
	}
	return d, err
}

// A pattern is a document around its id. Nobody changes it.
type pattern struct {
	before, after []byte // the id, with its quotes; before is all there is where it has none
	doc           Document
}

// longestPattern is how long a document may be that is kept.
const longestPattern = 4 << 10

// newPattern is that of a document; nil: it has elements in it, or an id that cannot be told from other texts.
func newPattern(text []byte, d *Document) *pattern {
	hasData := slices.ContainsFunc(d.data, func(data json.RawMessage) bool { return data != nil })
	if hasData || len(text) > longestPattern {
		return nil
	}
	p := &pattern{before: bytes.Clone(text), doc: *d}
	p.doc.Tensors = cloneSpecs(d.Tensors)
	if d.ID == "" {
		return p
	}
	id := []byte(`"` + d.ID + `"`)
	at := bytes.Index(text, id)
	if at < 0 || at != bytes.LastIndex(text, id) || !endsInKey(text[:at], `"id"`) {
		return nil
	}
	p.before, p.after = p.before[:at+1], p.before[at+len(id)-1:]
	return p
}

// endsInKey reports whether a value of a key follows a text.
func endsInKey(text []byte, key string) bool {
	text, found := bytes.CutSuffix(bytes.TrimRight(text, jsonSpace), []byte(":"))
	return found && bytes.HasSuffix(bytes.TrimRight(text, jsonSpace), []byte(key))
}

// jsonSpace is what may be around the values of JSON.
const jsonSpace = " \t\r\n"

// match finds the id of a document that differs from the pattern in nothing else.
func (p *pattern) match(text []byte) (id []byte, ok bool) {
	id, ok = bytes.CutPrefix(text, p.before)
	if ok {
		id, ok = bytes.CutSuffix(id, p.after)
	}
	return id, ok && (len(id) == 0 || p.doc.ID != "" && isPlain(id))
}

// isPlain reports whether a text stands in JSON as it is.
func isPlain(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' || strings.IndexByte(`"\`, c) >= 0 {
			return false
		}
	}
	return true
}

// document is that of the pattern with another id.
func (p *pattern) document(id []byte) *Document {
	d := p.doc
	d.ID, d.Tensors = string(id), cloneSpecs(d.Tensors)
	return &d
}

// cloneSpecs copies what is said of tensors, whose shapes belong to whoever has them.
func cloneSpecs(list []Spec) []Spec {
	list = slices.Clone(list)
	for i := range list {
		list[i].Shape = slices.Clone(list[i].Shape)
	}
	return list
}
