package workload

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestAValueSuitsTheKindOfItsOption(t *testing.T) {
	for _, c := range []struct {
		name   string
		option Option
		value  string
		want   string // of the error; empty: none
	}{
		{"any text", Option{}, "any text\n", ""},
		{"no text", Option{}, "", ""},
		{"a path that is not there", Option{Kind: Path}, "/nowhere/at all", ""},
		{"a number", Option{Kind: Whole}, "42", ""},
		{"a negative one", Option{Kind: Whole}, "-42", ""},
		{"one with a sign", Option{Kind: Whole}, "+42", ""},
		{"no number", Option{Kind: Whole}, "", `"" is not a whole number`},
		{"a fraction", Option{Kind: Whole}, "1.5", `"1.5" is not a whole number`},
		{"a number with space", Option{Kind: Whole}, " 1", `" 1" is not a whole number`},
		{"a number beyond 64 bits", Option{Kind: Whole}, "9223372036854775808", `"9223372036854775808" is not a whole number`},
		{"in words", Option{Kind: Switch}, "TRUE", ""},
		{"in letters", Option{Kind: Switch}, "f", ""},
		{"in numbers", Option{Kind: Switch}, "0", ""},
		{"neither", Option{Kind: Switch}, "2", `"2" is neither true nor false`},
		{"nothing", Option{Kind: Switch}, "", `"" is neither true nor false`},
		{"on", Option{Kind: Switch}, "on", `"on" is neither true nor false`},
		{"a choice", Option{Choices: []string{"fp32", "int8"}}, "int8", ""},
		{"a choice in capitals", Option{Choices: []string{"fp32", "int8"}}, "INT8", ""},
		{"no choice", Option{Choices: []string{"fp32", "int8"}}, "int", `"int" is not known, want one of fp32, int8`},
		{"nothing of some choices", Option{Choices: []string{"fp32"}}, "", `"" is not known, want one of fp32`},
		{"a number among few", Option{Kind: Whole, Choices: []string{"4", "8"}}, "8", ""},
		{"a number of others", Option{Kind: Whole, Choices: []string{"4", "8"}}, "5", `"5" is not known, want one of 4, 8`},
	} {
		if got := text(c.option.check(c.value)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		m := Model{Name: "m", Options: []Option{c.option}, ScoreOptions: []Option{c.option}, ReaderOptions: []Option{c.option}}
		for _, check := range []func(Values) error{m.CheckOptions, m.CheckScoreOptions, m.CheckReaderOptions} {
			err := check(Values{c.option.Name: c.value})
			var of *userinput.Error
			if (err == nil) != (c.want == "") || err != nil && !errors.As(err, &of) {
				t.Errorf("%s, asked of a model: %v", c.name, err)
			}
		}
	}
}

// What a check accepts can be read, and what it refuses cannot.
func TestWhatIsAcceptedCanBeRead(t *testing.T) {
	for _, value := range []string{"", "0", "1", "2", "-1", "+7", "t", "F", "true", "False", "yes", "0x10", "1e3", "9223372036854775807", "9223372036854775808", " 1", "1 "} {
		v := Values{"o": value}
		if _, err := v.Whole("o"); (err == nil) != (Option{Kind: Whole}.check(value) == nil) {
			t.Errorf("%q is read as a number: %v", value, err)
		}
		on, err := v.Switch("o")
		if (err == nil) != (Option{Kind: Switch}.check(value) == nil) {
			t.Errorf("%q is read as a switch: %v", value, err)
		}
		if both, err2 := v.On("o"); (err == nil) != (err2 == nil) || err == nil && both != *on {
			t.Errorf("%q is on: %t, %v", value, both, err2)
		}
	}
	if on, err := (Values)(nil).Switch("o"); on != nil || err != nil {
		t.Errorf("of nothing: %v, %v", on, err)
	}
}

func TestEveryMistakeIsSaidInOneOrder(t *testing.T) {
	m := Model{Name: "m", Options: []Option{{Name: "b", Kind: Whole}, {Name: "d", Kind: Switch}}}
	v := Values{"d": "x", "c": "x", "b": "x", "a": "x"}
	const want = `a: m has no such option` + "\n" + `b: "x" is not a whole number` + "\n" + `c: m has no such option` + "\n" + `d: "x" is neither true nor false`
	for range 20 { // maps have no order
		if got := text(m.CheckOptions(v)); got != want {
			t.Fatalf("CheckOptions = %q, want %q", got, want)
		}
	}
}

// A reply that several goroutines use hears of one thing at a time, and of all of them.
func TestRepliesOfManyComeOneByOne(t *testing.T) {
	got := &replies{map[int]string{}, map[int]string{}} // whose maps would be torn, and -race would see it
	inTurn := &serial{reply: got}
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			inTurn.FirstToken(i, fmt.Appendf(nil, "first %d", i))
			inTurn.Done(i, fmt.Appendf(nil, "all of %d", i), i)
		})
	}
	group.Wait()
	for i := range 200 {
		if got.first[i] != fmt.Sprintf("first %d", i) || got.done[i] != fmt.Sprintf("all of %d+%d", i, i) {
			t.Errorf("answer %d is %q, %q", i, got.first[i], got.done[i])
		}
	}
}

func ExampleModel_CheckOptions() {
	m := Model{Name: "resnet50", Options: []Option{{Name: "layout", Choices: []string{"NCHW", "NHWC"}}, {Name: "label-offset", Kind: Whole}}}
	fmt.Println(m.CheckOptions(Values{"layout": "nhwc", "label-offset": "-1"}))
	fmt.Println(m.CheckOptions(Values{"layout": "CHWN", "label-offset": "one"}))
	// Output:
	// <nil>
	// label-offset: "one" is not a whole number
	// layout: "CHWN" is not known, want one of NCHW, NHWC
}

func ExampleBound() {
	b := Bound{Metric: "rouge2", Reference: 15.9, Least: 0.99}
	fmt.Println(b, b.Keeps(15.8), b.Keeps(15.7))
	// Output: rouge2 ≥ 15.741 true false
}
