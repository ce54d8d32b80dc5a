package oip

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestWhatPackageJSONPassesOverIsRefused(t *testing.T) {
	one := func(rest string) string { return `{"inputs":[{"name":"a","datatype":"INT8",` + rest + `}]}` }
	for _, c := range []struct{ name, text, want string }{
		{"two lists of inputs, of which it mixes the tensors", `{"inputs":[{"name":"a","datatype":"INT8","shape":[1],"data":[1]}],"inputs":[{"name":"b"}]}`, `an object has two keys "inputs"`},
		{"two names", one(`"shape":[1],"data":[1],"name":"b"`), `an object has two keys "name"`},
		{"two shapes, one in capitals", one(`"shape":[1],"data":[1],"SHAPE":[1]`), `an object has two keys "shape"`},
		{"two shapes, one in escapes", one(`"shape":[1],"data":[1],"\u0073hape":[1]`), `an object has two keys "shape"`},
		{"two shapes, one with a letter that folds", one(`"shape":[1],"data":[1],"ſhape":[1]`), `an object has two keys "shape"`},
		{"two sizes in parameters", one(`"shape":[0],"parameters":{"binary_data_size":0 , "x":{}, "binary_data_size" : null}`), `an object has two keys "binary_data_size"`},
		{"bytes that are no text in a name", one(`"shape":[1],"data":[1],"x":"` + "\xff" + `"`), "it is not UTF-8"},
		{"no shape", one(`"data":[1]`), `tensor "a" has no shape`},
		{"nothing for a shape", one(`"shape":null,"data":[1]`), `a shape has null in it, want numbers`},
		{"nothing for an extent", one(`"shape":[1,null],"data":[]`), `a shape has null in it, want numbers`},
		{"a fraction for an extent", one(`"shape":[1.5],"data":[1]`), `inputs.shape: 1.5 where a whole number of 64 bits should be`},
		{"an extent beyond 64 bits", one(`"shape":[9223372036854775808],"data":[1]`), `inputs.shape: 9223372036854775808 where a whole number`},
		{"more extents than are read", one(`"shape":[` + strings.Repeat("1,", 1024) + `1],"data":[1]`), "a shape has more than 1024 extents"},
		{"as many extents as are read", one(`"shape":[` + strings.Repeat("1,", 1023) + `1],"data":[1]`), "tensor a has 1024 axes, want at most 32"},
		{"half a letter", `{"inputs":[{"name":"a","datatype":"BYTES","shape":[1],"data":["a\ud83d"]}]}`, `element 0: \ud83d is half a letter`},
		{"the other half", `{"inputs":[{"name":"a","datatype":"BYTES","shape":[2],"data":["","\ude00\ud83d"]}]}`, `element 1: \ude00 is half a letter`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := readRequest(c.text, ""); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the request is %v, want %q", err, c.want)
			}
			answer := strings.Replace(c.text, "inputs", "outputs", 2)
			d, err := ParseResponse([]byte(answer), Limits{})
			if err == nil {
				_, err = d.Read(nil, fresh)
			}
			if want := strings.Replace(c.want, "inputs", "outputs", 1); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the answer is %v, want %q", err, want)
			}
		})
	}
}

func TestWhatOnlyLooksLikeAKeyIsTaken(t *testing.T) {
	for name, c := range map[string]struct{ rest, want string }{
		"other keys that are there twice":    {`"datatype":"BYTES","shape":[1],"data":["x"],"x":1,"x":2`, "x"},
		"the same key in an object in it":    {`"datatype":"BYTES","shape":[1],"data":["x"],"parameters":{"name":"b","shape":[2],"x":{"name":""}}`, "x"},
		"a string that is no key":            {`"datatype":"BYTES","shape":[1],"data":["name\":"],"x":["shape","shape"]`, `name":`},
		"keys in a string":                   {`"datatype":"BYTES","shape":[1],"data":["{\"name\":1,\"name\":2}"]`, `{"name":1,"name":2}`},
		"a letter of two halves":             {`"datatype":"BYTES","shape":[1],"data":["\ud83d\ude00\\ud83d"]`, "😀\\ud83d"},
		"what stands for what cannot be":     {`"datatype":"BYTES","shape":[1],"data":["\ufffd\u00e9\n"]`, "\ufffdé\n"},
		"a backslash at the end of a string": {`"datatype":"BYTES","shape":[1],"data":["\\"]`, `\`},
	} {
		t.Run(name, func(t *testing.T) {
			_, list, err := readRequest(`{"inputs":[{"name":"a",`+c.rest+`}],"parameters":{"name":1}}`, "")
			if err != nil || list[0].Strings()[0] != c.want {
				t.Errorf("read as %v, %v, want %q", list, err, c.want)
			}
		})
	}
}

// A second reading, token by token, finds the same keys in JSON of any nesting.
func TestKeysAreFoundAsPackageJSONFindsThem(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	twice := 0
	for range 2000 {
		var b strings.Builder
		writeRandom(&b, random, 0)
		text := b.String()
		want := keysTwice(t, json.NewDecoder(strings.NewReader(text)))
		err := checkText([]byte(text), 1000)
		if (err != nil) != want {
			t.Fatalf("%s: %v, want an error: %v", text, err, want)
		}
		if want {
			twice++
		}
	}
	if twice < 100 || twice > 1900 {
		t.Errorf("%d of 2000 have a key twice: want some of both kinds", twice)
	}
}

// writeRandom writes a value of JSON.
func writeRandom(b *strings.Builder, random *rand.Rand, depth int) {
	keys := []string{`"name"`, `"id"`, `"other"`, `"DATA"`, `"in\u0070uts"`, `"a\"b"`}
	begin, end := "[", "]"
	switch kind := random.IntN(5); {
	case depth > 3 || kind == 0:
		b.WriteString([]string{"1", "true", `"name"`, `"{\"id\""`, "null", `"\\"`}[random.IntN(6)])
		return
	case kind < 4:
		begin, end = "{", "}"
	}
	b.WriteString(begin)
	for i := range random.IntN(4) {
		if i > 0 {
			b.WriteString([]string{",", " , "}[random.IntN(2)])
		}
		if begin == "{" {
			b.WriteString(keys[random.IntN(len(keys))] + []string{":", " :\n"}[random.IntN(2)])
		}
		writeRandom(b, random, depth+1)
	}
	b.WriteString(end)
}

// keysTwice reads a value, and reports whether an object in it has a known key twice.
func keysTwice(t *testing.T, d *json.Decoder) (twice bool) {
	t.Helper()
	token := next(t, d)
	begin, _ := token.(json.Delim)
	if begin != '{' && begin != '[' {
		return false
	}
	seen := map[string]bool{}
	for d.More() {
		if begin == '{' {
			key := strings.ToLower(fmt.Sprint(next(t, d)))
			meant := key == "name" || key == "id" || key == "data" || key == "inputs"
			twice = twice || seen[key] && meant
			seen[key] = true
		}
		twice = keysTwice(t, d) || twice
	}
	next(t, d) // its end
	return twice
}

func next(t *testing.T, d *json.Decoder) json.Token {
	t.Helper()
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
