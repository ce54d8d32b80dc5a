package prompts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	burst = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n" +
		"5,,,ChatGPT,472,18,490,Conversation log\n45.5,,,ChatGPT,1087,0,1087,API log\n118,,,GPT-4,417,276,693,Conversation log\n"
	azure    = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n"
	mooncake = `{"timestamp": 27482, "input_length": 1200, "output_length": 52, "hash_ids": [46, 47, 2353]}` + "\n" +
		`{"timestamp": 30535, "input_length": 472, "output_length": 26, "hash_ids": [46]}`
)

func TestTraces(t *testing.T) {
	ms := time.Millisecond
	for name, c := range map[string]struct {
		text     string
		requests []Request
		schedule []time.Duration
		failed   int
	}{
		"BurstGPT": {burst, []Request{{472, 18, nil}, {417, 276, nil}}, []time.Duration{0, 113 * time.Second}, 1},
		"Azure":    {azure, []Request{{374, 44, nil}, {396, 109, nil}}, []time.Duration{0, 4314579 * time.Microsecond}, 0},
		"Azure of 2024": {strings.NewReplacer("2023-11-16 18:15:46.6805900", "2024-05-10 00:00:00.009930+00:00", "2023-11-16 18:15:50.9951690", "2024-05-10 00:00:00.109930+00:00").Replace(azure),
			[]Request{{374, 44, nil}, {396, 109, nil}}, []time.Duration{0, 100 * ms}, 0},
		"Mooncake": {mooncake, []Request{{1200, 52, []int32{46, 47, 2353}}, {472, 26, []int32{46}}}, []time.Duration{0, 3053 * ms}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			table := parse(t, text(c.text))
			var got []Request
			for i := range table.Len() {
				r, err := table.Request(i)
				if err != nil || r == nil {
					t.Fatal(r, err)
				}
				got = append(got, *r)
			}
			schedule, err := table.Schedule()
			if err != nil || !cmp.Equal(got, c.requests) || !cmp.Equal(schedule, c.schedule) || table.Failed() != c.failed {
				t.Errorf("requests %v at %v, %d failed, %v", got, schedule, table.Failed(), err)
			}
		})
	}
}

// text has a byte order mark and the ends of lines that spreadsheets write.
func text(s string) string { return "\ufeff" + strings.ReplaceAll(s, "\n", "\r\n") }

func TestWrongTracesNameTheLine(t *testing.T) {
	for _, c := range []struct{ name, from, old, new, want string }{
		{"a length of letters", burst, ",472,", ",many,", `line 2, column Request tokens: is many: must be a whole number from 1`},
		{"a length that is not whole", burst, ",417,", ",41.7,", "line 4, column Request tokens: is 41.7"},
		{"a length of 0", azure, ",374,", ",0,", "line 2, column ContextTokens: is 0: must be"},
		{"no length", azure, ",109", ",", "line 3, column GeneratedTokens: no value"},
		{"too few fields", azure, ",109", "", "line 3: wrong number of fields"},
		{"a quote inside", azure, "374", `3"7"4`, `line 2: bare "`},
		{"a head with one name twice", azure, "GeneratedTokens", "ContextTokens", "line 1: the head must have a different name for each column"},
		{"a date of letters", azure, "2023-11-16 18:15:50.9951690", "yesterday", `line 3, column TIMESTAMP: is "yesterday": must be a date`},
		{"an earlier date", azure, "18:15:50", "18:15:40", "line 3, column TIMESTAMP: is earlier than that of the row before"},
		{"an earlier time", burst, "118,", "4,", "line 4, column Timestamp: is earlier"},
		{"a time below 0", burst, "\n5,", "\n-5,", `line 2, column Timestamp: is "-5": must be a number of units of 1s from 0`},
		{"a time of letters", mooncake, "30535", `"x"`, `line 2, column timestamp: is "x": must be a number of units of 1ms`},
		{"a time that is infinite", burst, "118,", "Inf,", `line 4, column Timestamp: is "Inf"`},
		{"a year later", burst, "118,", "118e6,", "line 4, column Timestamp: is more than"},
		{"no time", mooncake, `"timestamp": 30535, `, "", "line 2: the row has no time stamp"},
		{"blocks of letters", mooncake, "[46]", `["a"]`, "line 2, column hash_ids: expected a list of tokens"},
		{"too many blocks", mooncake, "[46]", `[46,47]`, "line 2, column hash_ids: has 2 blocks of 512 tokens: 472 tokens have at most 1"},
	} {
		changed := strings.Replace(c.from, c.old, c.new, 1)
		table, err := Parse([]byte(changed), "trace", Options{})
		for i := 0; err == nil && i < table.Len(); i++ {
			_, err = table.Request(i)
		}
		if err == nil {
			_, err = table.Schedule()
		}
		if got := fmt.Sprint(err); c.want != "" && !strings.HasPrefix(got, "trace: "+c.want) || c.want == "" && err != nil {
			t.Errorf("%s: %s, want %q", c.name, got, c.want)
		}
	}
}

func TestLinesOfLists(t *testing.T) {
	for text, line := range map[string]int{
		"[\n{\"a\":1},\n\n{\"a\":\n2}\n]":                      4,
		"\n\n{\n \"n\": 1, \"rows\": [{\"a\":1},\n{\"a\":2}]}": 5,
		"{\"a\":1}\n\n\n{\"a\":2}":                             4,
		"{\"a\":1}{\"a\":2}":                                   1,
		"a,b\n\"1\n2\",3\n4,5":                                 4,
	} {
		if table := parse(t, text); table.lines[1] != line {
			t.Errorf("the second row of %q is in line %d, want %d", text, table.lines[1], line)
		}
	}
}
