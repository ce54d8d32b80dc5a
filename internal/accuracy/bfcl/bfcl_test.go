package bfcl

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func read(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if z, notPacked := gzip.NewReader(bytes.NewReader(data)); err == nil && notPacked == nil {
		data, err = io.ReadAll(z)
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A judged answer is one with the verdict of the official checker.
type judged struct {
	Subset, ID, What, Output string
	Native                   *bool  `json:"native_tool_calls"`
	Valid                    *bool  // nil: the scorer ends with an exception
	Why                      string `json:"error_type"`
	Function                 jsontext.Value
	Truth                    jsontext.Value `json:"ground_truth"`
}

func (c *judged) question(t testing.TB) Question {
	t.Helper()
	truth := c.Truth
	if string(truth) == "null" {
		truth = nil
	}
	q, err := NewQuestion(c.ID, c.Subset, c.Function, truth)
	if err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	return q
}

// Verdicts of the official checker, and why: of answers by hand, and of right ones with seeded changes.
func TestVerdicts(t *testing.T) {
	for _, name := range []string{"cases.json", "mutated.json.gz"} {
		var list []judged
		read(t, name, &list)
		for _, c := range list {
			q := c.question(t)
			got := q.Judge(c.Output)
			wrong := !got.Right && !got.Raises && got.Why != c.Why && c.Why != "relevance" && c.Why != "hallucination"
			if got.Raises != (c.Valid == nil) || got.Right != (c.Valid != nil && *c.Valid) || wrong || c.Native != nil && Native(c.Output) != *c.Native {
				t.Errorf("%s: %s, %s: %s\n%+v, want %v %s", name, c.ID, c.What, c.Output, got, c.Valid, c.Why)
			}
		}
		if len(list) < 50 {
			t.Errorf("%s has %d cases", name, len(list))
		}
	}
}

// plainJSON is a value as JSON has it.
func plainJSON(v value) any {
	switch v := v.(type) {
	case *big.Int:
		f, _ := v.Float64()
		return f
	case list:
		out := []any{}
		for _, item := range v {
			out = append(out, plainJSON(item))
		}
		return out
	case *dict:
		out := map[string]any{}
		for key, item := range v.values {
			out[key] = plainJSON(item)
		}
		return out
	}
	return v
}

// Literals as the official converters read them.
func TestLiterals(t *testing.T) {
	var table []struct {
		Language, Input, Type, Nested string
		Value                         any
		Kind                          kind `json:"python_type"`
		Raises                        string
	}
	read(t, "literals.json", &table)
	for _, c := range table {
		read := map[string]func(text, kind, items string) (value, error){"java": readJava, "javascript": readJavaScript}[c.Language]
		v, err := read(c.Input, c.Type, c.Nested)
		if (err != nil) != (c.Raises != "") {
			t.Errorf("%s %s %q: %v, want %s", c.Language, c.Type, c.Input, err, c.Raises)
			continue
		}
		got, _ := json.Marshal(plainJSON(v))
		want, _ := json.Marshal(c.Value)
		if err == nil && (string(got) != string(want) || kindOf(v) != c.Kind) {
			t.Errorf("%s %s %q: %s (%s), want %s (%s)", c.Language, c.Type, c.Input, got, kindOf(v), want, c.Kind)
		}
	}
}

// Programs of commands, and how far turns agree, as the official scorer of recorded conversations has it.
func TestPrograms(t *testing.T) {
	var golden struct {
		Commands []struct {
			Command, Function, Key string
			Arguments              *string
			Actions                []string
		}
		Scores []struct {
			Truth, Model []string
			Score        float64
		}
	}
	read(t, "inline.json", &golden)
	for _, c := range golden.Commands {
		name, key := "bash", "command"
		if c.Function != "" {
			name = c.Function
		}
		if c.Key != "" {
			key = c.Key
		}
		arguments, _ := json.Marshal(map[string]string{key: c.Command})
		if c.Arguments != nil {
			arguments = []byte(*c.Arguments)
		}
		if got := ProgramsOfCall(name, string(arguments)); !slices.Equal(got, c.Actions) {
			t.Errorf("%q: %q, want %q", c.Command, got, c.Actions)
		}
	}
	for _, c := range golden.Scores {
		if got := Agreement(c.Truth, c.Model); got != c.Score {
			t.Errorf("%q, %q: %v, want %v", c.Truth, c.Model, got, c.Score)
		}
	}
}

// Calls in a text, as Python reads them: literals have their values, and other expressions are texts. What is not Python is one argument, _raw.
func TestCallsInTexts(t *testing.T) {
	for text, want := range map[string]string{
		`f(a='x', b=-1, c=2.50, d=True, e=None)`:           `{"a":"x","b":-1,"c":2.5,"d":true,"e":null}`,
		`f(a=[1, (2, 3)], b={'k': "v", 1: 2})`:             `{"a":[1,[2,3]],"b":{"1":2,"k":"v"}}`,
		`f(a=x.y, b=g(1, k=2), c=t[0], d=a+b*c)`:           `{"a":"x.y","b":"g(1, k=2)","c":"t[0]","d":"a + b * c"}`,
		`f(a='it' "'s", b=r'\n', c='\x41\u00e9\101')`:      `{"a":"it's","b":"\\n","c":"AéA"}`,
		`f(1, a=0x1F, b=1_000, c=.5, d=1e3)`:               `{"a":31,"b":1000,"c":0.5,"d":1000}`,
		"f(a='''x\ny''')":                                  `{"a":"x\ny"}`,
		`f(a=x is not None and y not in z, b=(1), c=(1,))`: `{"a":"x is not None and y not in z","b":1,"c":[1]}`,
		`f(a=not x, b=-x, c=(a + b) * c)`:                  `{"a":"not x","b":"-x","c":"(a + b) * c"}`,
		`f(a=1, *y, **z)`:                                  `{"a":1}`,
		`f(city=New York)`:                                 `{"_raw":"city=New York"}`,
		`f(from='a')`:                                      `{"_raw":"from='a'"}`,
		`f(date=2024-01-02)`:                               `{"_raw":"date=2024-01-02"}`,
		`f(a=1, 2)`:                                        `{"_raw":"a=1, 2"}`,
		`f(unit=m³)`:                                       `{"_raw":"unit=m³"}`,
	} {
		found, raises := calls(text)
		if len(found) != 1 || raises {
			t.Errorf("%s: %d calls, raises %v", text, len(found), raises)
			continue
		}
		got, _ := json.Marshal(plainJSON(found[0].arguments))
		if string(got) != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]int{
		"f(x, y)": 0, "f(x: int, y: str)": 0, "f()": 1, "print(f(a=1))": 1, "f(a=g(b=1)) h(c=2)": 2, "f(a=1": 0, "The (a=1)": 0, "éf(a=1)": 0, "f (a=1)": 1,
		"f(a=')') and g(b=\"(\")": 2, "[]": 0, "[1]": 0, `{"name": "f"}`: 0,
	} {
		if found, _ := calls(text); len(found) != want {
			t.Errorf("%s: %d calls, want %d", text, len(found), want)
		}
	}
	if _, raises := calls("f(a={1, 2})"); !raises {
		t.Error("a set is written as JSON")
	}
}

// Answers as the official client logs them: pieces of calls together by their index, or reasoning and text.
func TestAnswersOfTheClient(t *testing.T) {
	for data, want := range map[string]string{
		`null`:                "",
		`["TextModelOutput"]`: "",
		`["TextModelOutput",["a","b"],["r"],null]`:      "rab",
		`["TextModelOutput","a",null,[{"function":1}]]`: `[{"function":1}]`,
		`["TextModelOutput",["prose"],null,[[{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}],[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"index":1,"function":{"arguments":"}"}}]]]`: `[{"type":"function","function":{"arguments":"{}","name":"f"},"id":"a"},{"type":"function","function":{"arguments":"{}","name":"g"},"id":"b"}]`,
	} {
		if got, err := ClientAnswer(jsontext.Value(data)); err != nil || got != want {
			t.Errorf("%s: %v %s, want %s", data, err, got, want)
		}
	}
	for _, data := range []string{`1`, `["Other"]`, `["TextModelOutput",[1]]`, `["TextModelOutput","",null,[[1]]]`} {
		if got, err := ClientAnswer(jsontext.Value(data)); err == nil {
			t.Errorf("%s: %s", data, got)
		}
	}
}

// Questions that are damaged are errors that say where.
func TestDamagedQuestions(t *testing.T) {
	const function = `[{"name":"f","parameters":{"properties":{},"required":[]}}]`
	for _, c := range []struct{ functions, truth, want string }{
		{`{}`, `[]`, "function … list"}, {`[1]`, `[]`, "function 1 … object"}, {`[{"name":"f"}]`, `[]`, "function 1 … parameters"},
		{`[{"name":"f","parameters":{"properties":{}}}]`, `[]`, "f … required"}, {function, `{}`, "ground_truth … list"},
		{function, `[{"f":1}]`, "ground_truth 1 … f … object"}, {function, `[{"f":{"a":1}}]`, "ground_truth 1 … a of f … list"}, {function, `[`, "ground_truth"},
	} {
		if _, err := NewQuestion("q", "simple_python", jsontext.Value(c.functions), jsontext.Value(c.truth)); !testenv.Names(err, c.want) {
			t.Errorf("%s %s: %v, want %s", c.functions, c.truth, err, c.want)
		}
	}
}

func FuzzCalls(f *testing.F) {
	var list []judged
	read(f, "cases.json", &list)
	questions := map[string]Question{}
	for _, c := range list {
		questions[c.Subset] = c.question(f)
		f.Add(c.Output)
	}
	f.Add("f(a=b[1:2], c=lambda: 0, d=f'{x}')")
	f.Fuzz(func(t *testing.T, answer string) {
		found, raises := calls(answer)
		for _, q := range questions {
			if v := q.Judge(answer); v.Right && (v.Why != "" || v.Raises) {
				t.Errorf("%+v", v)
			}
		}
		if Native(answer) && len(found) == 0 && !raises {
			t.Error("calls of tools without a call")
		}
	})
}

func FuzzClientAnswers(f *testing.F) {
	f.Add([]byte(`["TextModelOutput",["a"],null,[[{"index":0,"function":{"name":"f","arguments":"{}"}}]]]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v := jsontext.Value(data)
		if _, err := ClientAnswer(v); v.IsValid() && err == nil && v.Kind() != 'n' && v.Kind() != '[' {
			t.Errorf("%s is an answer", data)
		}
	})
}

func FuzzLiterals(f *testing.F) {
	f.Add("new int[]{1, 2}", uint(0))
	f.Add("new HashMap<>() {{ put(\"k\", 1); }}", uint(1))
	f.Add("[[1, 2], [3]]", uint(2))
	f.Add("{'a': [1], b: 'c'}", uint(3))
	types := []struct {
		read        func(text, kind, items string) (value, error)
		kind, items string
	}{
		{readJava, "Array", "integer"}, {readJava, "HashMap", ""}, {readJavaScript, "array", ""}, {readJavaScript, "dict", ""},
		{readJava, "ArrayList", "long"}, {readJava, "float", ""}, {readJavaScript, "array", "String"}, {readJavaScript, "Bigint", ""},
	}
	f.Fuzz(func(t *testing.T, text string, n uint) {
		c := types[n%uint(len(types))]
		v, err := c.read(text, c.kind, c.items)
		if err != nil || !equal(v, v) && !strings.Contains(strings.ToLower(text), "nan") {
			t.Errorf("%s %q: %v, %v", c.kind, text, v, err)
		}
	})
}

func FuzzPrograms(f *testing.F) {
	f.Add("sudo ls | grep -n 'a|b' && A=1 python3.10 x; cat <<E\nls\nE")
	f.Fuzz(func(t *testing.T, command string) {
		list := Programs(command)
		for _, name := range list {
			if programs[name] != name && name != "sphinx" {
				t.Errorf("%q starts %q", command, name)
			}
		}
		if len(list) > 0 && Agreement(list, list) != 1 {
			t.Errorf("%q does not agree with itself", list)
		}
	})
}
