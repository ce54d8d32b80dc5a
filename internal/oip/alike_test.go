package oip

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

const alikeTensor = `"inputs":[{"name":"x","datatype":"UINT8","shape":[1,4],"parameters":{"binary_data_size":4}}]`

// Documents that differ in their id alone are known again, and others are not taken for them: what is read is the same in any case.
func TestDocumentsThatAreAlikeAreReadAsOthersAre(t *testing.T) {
	for _, c := range []struct {
		name, first, second string
		known               bool
	}{
		{"another id", `{"id":"1",` + alikeTensor + `}`, `{"id":"22",` + alikeTensor + `}`, true},
		{"the same id", `{"id":"1",` + alikeTensor + `}`, `{"id":"1",` + alikeTensor + `}`, true},
		{"no id", `{` + alikeTensor + `}`, `{` + alikeTensor + `}`, true},
		{"an empty id, twice", `{"id":"",` + alikeTensor + `}`, `{"id":"",` + alikeTensor + `}`, true},
		{"an id after an empty one", `{"id":"",` + alikeTensor + `}`, `{"id":"1",` + alikeTensor + `}`, false},
		{"an empty id after one", `{"id":"1",` + alikeTensor + `}`, `{"id":"",` + alikeTensor + `}`, true},
		{"spaces, and the id at the end", `{` + alikeTensor + `, "id" : "a" }`, `{` + alikeTensor + `, "id" : " b-c.d~" }`, true},
		{"another shape", `{"id":"1",` + alikeTensor + `}`, `{"id":"2",` + strings.Replace(alikeTensor, "[1,4]", "[4,1]", 1) + `}`, false},
		{"an id with an escape", `{"id":"1",` + alikeTensor + `}`, `{"id":"\u0032",` + alikeTensor + `}`, false},
		{"an id that is a number", `{"id":"1",` + alikeTensor + `}`, `{"id":2,` + alikeTensor + `}`, false},
		{"an id and another key", `{"id":"1",` + alikeTensor + `}`, `{"id":"1","model_name":"m",` + alikeTensor + `}`, false},
		{"an id with letters beyond ASCII", `{"id":"1",` + alikeTensor + `}`, `{"id":"é",` + alikeTensor + `}`, false},
		{"an id that is no text", `{"id":"1",` + alikeTensor + `}`, "{\"id\":\"\xff\"," + alikeTensor + `}`, false},
		{"an id that is also a name", `{"id":"x",` + alikeTensor + `}`, `{"id":"y",` + alikeTensor + `}`, false},
		{"an id behind another key of that value", `{"model_name":"1","id":"1",` + alikeTensor + `}`, `{"model_name":"2","id":"1",` + alikeTensor + `}`, false},
		{"an id in capitals", `{"ID":"1",` + alikeTensor + `}`, `{"ID":"2",` + alikeTensor + `}`, false},
		{"an id that is cut", `{"id":"1",` + alikeTensor + `}`, `{"id":"1"`, false},
		{"elements in the JSON", `{"id":"1","inputs":[{"name":"x","datatype":"UINT8","shape":[1],"data":[4]}]}`, `{"id":"1","inputs":[{"name":"x","datatype":"UINT8","shape":[1],"data":[4]}]}`, false},
		{"a long document", `{"id":"1",` + alikeTensor + strings.Repeat(" ", longestPattern) + `}`, `{"id":"2",` + alikeTensor + strings.Repeat(" ", longestPattern) + `}`, false},
		{"an error before", `{"id":"1","id":"1",` + alikeTensor + `}`, `{"id":"1","id":"1",` + alikeTensor + `}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a Alike
			readAlike(t, &a, c.first)
			known := false
			if p := a.last.Load(); p != nil {
				_, known = p.match([]byte(c.second))
			}
			if known != c.known {
				t.Errorf("the second is known again: %v, want %v", known, c.known)
			}
			readAlike(t, &a, c.second)
		})
	}
}

// readAlike compares what is read of a text with what is read of it alone.
func readAlike(t *testing.T, a *Alike, text string) {
	t.Helper()
	want, wantErr := ParseRequest([]byte(text), Limits{})
	got, err := a.Request([]byte(text))
	if fmt.Sprint(err) != fmt.Sprint(wantErr) || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s is read as %+v, %v; alone as %+v, %v", text, got, err, want, wantErr)
	}
	if got == nil {
		return
	}
	for _, s := range got.Tensors { // which are the reader's own
		clear(s.Shape)
	}
	clear(got.Tensors)
}

// TestAnswersInAnyOrderAreReadAsOthersAre: of two models, with changes at random.
func TestAnswersInAnyOrderAreReadAsOthersAre(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	var a Alike
	known := 0
	for range 2000 {
		text := fmt.Appendf(nil, `{"model_name":"m%d","id":"%d","outputs":[{"name":"y","datatype":"FP32","shape":[1,%d],"parameters":{"binary_data_size":%d}}]}`,
			random.IntN(2), random.IntN(1000), 1+random.IntN(2), 4+random.IntN(2))
		if random.IntN(4) == 0 {
			text[random.IntN(len(text))] = "\"\\0:x{}"[random.IntN(7)]
		}
		if p := a.last.Load(); p != nil {
			if _, ok := p.match(text); ok {
				known++
			}
		}
		want, wantErr := ParseResponse(text, Limits{})
		got, err := a.Response(text)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is read as %+v, %v; alone as %+v, %v", text, got, err, want, wantErr)
		}
	}
	if known < 50 {
		t.Errorf("%d of 2000 were known again", known)
	}
}

// Whatever was read before, a document means what it means alone.
func FuzzAlike(f *testing.F) {
	f.Add(`{"id":"1",`+alikeTensor+`}`, `{"id":"22",`+alikeTensor+`}`)
	f.Add(`{"id":"x","x":"x",`+alikeTensor+`}`, `{`+alikeTensor+`}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		var a Alike
		readAlike(t, &a, first)
		readAlike(t, &a, second)
	})
}
