package prompts

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Request is what a trace tells of a request instead of its text.
type Request struct {
	Tokens, Answer int     // of prompt and answer
	Blocks         []int32 // of BlockTokens tokens, from the begin of the prompt: requests share those with the same number; nil: none
}

// BlockTokens is the size of the blocks of Mooncake's traces.
const BlockTokens = 512

// The columns of traces of requests. BurstGPT and Azure publish CSV, Mooncake JSON lines.
const (
	burstPrompt, burstAnswer       = "Request tokens", "Response tokens"
	azurePrompt, azureAnswer       = "ContextTokens", "GeneratedTokens"
	mooncakePrompt, mooncakeAnswer = "input_length", "output_length"
	mooncakeBlocks                 = "hash_ids"
)

// mostTokens is far beyond all models: it finds damaged files.
const mostTokens = 1 << 24

// traceColumns are the columns of the numbers of tokens, if the rows are requests of a trace.
func (t *Table) traceColumns(i int) (prompt, answer string, ok bool) {
	for _, c := range [][2]string{{burstPrompt, burstAnswer}, {azurePrompt, azureAnswer}, {mooncakePrompt, mooncakeAnswer}} {
		if _, ok := t.Value(i, c[0]); ok {
			return c[0], c[1], true
		}
	}
	return "", "", false
}

// The columns by which BurstGPT tells the requests of a conversation, and how many seconds each took.
const burstSession, burstElapsed = "Session ID", "Elapsed time"

// Sessions are the rows of each conversation of BurstGPT, in the order of their first rows. A row without a session is alone.
func (t *Table) Sessions() [][]int {
	var list [][]int
	at := map[string]int{}
	for i := range t.Len() {
		v, _ := t.Value(i, burstSession)
		name := ""
		if v != nil {
			name = strings.TrimSpace(fmt.Sprint(v))
		}
		k, there := at[name]
		if there = there && name != ""; !there {
			at[name], k = len(list), len(list)
			list = append(list, nil)
		}
		list[k] = append(list[k], i)
	}
	return list
}

// Elapsed is how long a request of BurstGPT took; 0: the trace does not tell.
func (t *Table) Elapsed(i int) time.Duration {
	v, _ := t.Value(i, burstElapsed)
	if n, ok := number(v); ok && n > 0 && n < longest.Seconds() {
		return time.Duration(n * float64(time.Second))
	}
	return 0
}

// Failed is how many requests of a trace were left out, because they had no answer when they were recorded.
func (t *Table) Failed() int { return t.failed }

// Request is a row as a request of a trace of BurstGPT, Azure or Mooncake; nil: it is none.
func (t *Table) Request(i int) (*Request, error) {
	prompt, answer, ok := t.traceColumns(i)
	if !ok {
		return nil, nil
	}
	r := &Request{}
	for _, c := range []struct {
		column string
		n      *int
	}{{prompt, &r.Tokens}, {answer, &r.Answer}} {
		v, err := t.value(i, c.column)
		if err != nil {
			return nil, err
		}
		n, ok := number(v)
		if !ok || n != math.Trunc(n) || n < 1 || n > mostTokens {
			return nil, t.errorf(i, c.column, "is %.40s: must be a whole number from 1 to %d", fmt.Sprint(v), mostTokens)
		}
		*c.n = int(n)
	}
	if _, ok := t.Value(i, mooncakeBlocks); ok {
		var err error
		if r.Blocks, err = t.Tokens(i, mooncakeBlocks); err != nil {
			return nil, err
		}
		if most := (r.Tokens + BlockTokens - 1) / BlockTokens; len(r.Blocks) > most {
			return nil, t.errorf(i, mooncakeBlocks, "has %d blocks of %d tokens: %d tokens have at most %d", len(r.Blocks), BlockTokens, r.Tokens, most)
		}
	}
	return r, nil
}

// timeColumns are the columns of time stamps: those of BurstGPT in seconds, of JSON in milliseconds, and of Azure as dates.
var timeColumns = []struct {
	name string
	unit time.Duration // 0: a date
}{{"Timestamp", time.Second}, {"timestamp", time.Millisecond}, {"TIMESTAMP", 0}}

// dates are the ways in which Azure's traces write dates.
var dates = []string{"2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", time.RFC3339Nano}

// Schedule is when each row came, since the first.
func (t *Table) Schedule() ([]time.Duration, error) {
	list := make([]time.Duration, t.Len())
	var first time.Time
	for i := range list {
		at, column, err := t.timeOf(i)
		switch {
		case err != nil:
			return nil, err
		case i == 0:
			first = at
		case at.Before(first) || at.Sub(first) < list[i-1]:
			return nil, t.errorf(i, column, "is earlier than that of the row before: must be in order")
		}
		if list[i] = at.Sub(first); list[i] > longest {
			return nil, t.errorf(i, column, "is more than %v after the first", longest)
		}
	}
	return list, nil
}

const longest = 366 * 24 * time.Hour

// timeOf is the time stamp of a row. Without a date it counts from 1970.
func (t *Table) timeOf(i int) (time.Time, string, error) {
	for _, c := range timeColumns {
		v, ok := t.Value(i, c.name)
		if !ok {
			continue
		}
		if text, isText := v.(string); isText && c.unit == 0 {
			for _, layout := range dates {
				if at, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
					return at, c.name, nil
				}
			}
		}
		n, isNumber := number(v)
		if n *= float64(c.unit); c.unit > 0 && isNumber && n >= 0 && n <= float64(math.MaxInt64/2) {
			return time.Unix(0, int64(math.Round(n))), c.name, nil
		}
		expected := "a date, as 2023-11-16 18:17:03.9799600"
		if c.unit > 0 {
			expected = fmt.Sprintf("a number of units of %v from 0", c.unit)
		}
		return time.Time{}, "", t.errorf(i, c.name, "is %.40q: must be %s", fmt.Sprint(v), expected)
	}
	return time.Time{}, "", t.errorf(i, "", "%w", errNoTime)
}

var errNoTime = errors.New("the row has no time stamp: must be timestamp (ms), Timestamp (s, BurstGPT) or TIMESTAMP (a date, Azure)")

// number is a number of JSON, or of the text of CSV.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case string:
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return n, err == nil && !math.IsNaN(n)
	}
	return 0, false
}
