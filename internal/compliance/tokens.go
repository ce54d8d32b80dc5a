package compliance

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// tokenSizes are the types of tokens, of so many bytes.
var tokenSizes = map[string]int{"": 4, "int16": 2, "int32": 4, "int64": 8}

// tokensOf reads the numbers of a response or of its first token.
func tokensOf(data []byte, size int) ([]int64, error) {
	if len(data)%size != 0 {
		return nil, fmt.Errorf("%d bytes are not tokens of %d bytes", len(data), size)
	}
	tokens := make([]int64, len(data)/size)
	for i := range tokens {
		switch at := data[size*i:]; size {
		case 2:
			tokens[i] = int64(int16(binary.LittleEndian.Uint16(at)))
		case 4:
			tokens[i] = int64(int32(binary.LittleEndian.Uint32(at)))
		default:
			tokens[i] = int64(binary.LittleEndian.Uint64(at))
		}
	}
	return tokens, nil
}

// A tokenCheck looks at the answers of a language model, one after another.
type tokenCheck struct {
	path      string
	size      int // of a token, in bytes
	eos       []int32
	skipFirst bool // Offline has no first token
	count     int
	bad       [3]int
	example   [3]string
	unseen    int // answers whose first token is not reported, or with more tokens than they have
}

// The properties of an answer, as the reference's script calls them.
var tokenChecks = [3]string{"First token check pass", "EOS check pass", "Sample length check pass"}

const (
	firstToken = iota
	endToken
	length
)

func (c *tokenCheck) fault(kind int, r accuracy.Record, format string, args ...any) {
	if c.bad[kind]++; c.bad[kind] == 1 {
		c.example[kind] = fmt.Sprintf("sample %d (record %d of %s): %s", r.QSLIndex, r.Number, c.path, fmt.Sprintf(format, args...))
	}
}

// record checks an answer (compliance/TEST06/run_verification.py).
func (c *tokenCheck) record(r accuracy.Record) error {
	tokens, err := tokensOf(r.Data, c.size)
	if err != nil {
		return fmt.Errorf("%s: record %d: %w", c.path, r.Number, err)
	}
	c.count++
	if ends := c.endsWith(tokens); ends >= 2 {
		c.fault(endToken, r, "ends with %d end tokens (%v), want one at most", ends, c.eos)
	}
	if r.TokenCount == nil || int64(len(tokens)) != *r.TokenCount {
		said := "no token_count"
		if r.TokenCount != nil {
			said = fmt.Sprint("token_count ", *r.TokenCount)
		}
		c.fault(length, r, "has %d tokens and %s", len(tokens), said)
	}
	if !c.skipFirst {
		c.first(r, tokens)
	}
	return nil
}

// endsWith counts the end tokens at the end of an answer. The first token is none.
func (c *tokenCheck) endsWith(tokens []int64) int {
	ends := 0
	for i := len(tokens) - 1; i > 0 && slices.Contains(c.eos, int32(tokens[i])) && tokens[i] == int64(int32(tokens[i])); i-- {
		ends++
	}
	return ends
}

// first compares what was reported as the first token with the answer, as far as both go: the
// reference's script finds nothing wrong with none, nor with more than the answer has.
func (c *tokenCheck) first(r accuracy.Record, tokens []int64) {
	first, err := tokensOf(r.TokenData, c.size)
	switch {
	case r.TokenData == nil:
		c.fault(firstToken, r, "no token_data")
		return
	case err != nil:
		c.fault(firstToken, r, "token_data: %v", err)
		return
	case len(first) == 0 || len(first) > len(tokens):
		c.unseen++
	}
	for i, token := range first[:min(len(first), len(tokens))] {
		if token != tokens[i] {
			c.fault(firstToken, r, "first token %d was reported as %d, the answer has %d", i, token, tokens[i])
			break
		}
	}
}

func verify06(_ context.Context, v *Verdict, l Logs, o Options) error {
	run, err := single(v.Test, l, o)
	if err != nil {
		return err
	}
	size := tokenSizes[o.DType]
	if size == 0 {
		return userinput.Invalid("dtype", o.DType, "int16, int32 or int64")
	}
	eos, err := v.endTokens(l, o)
	if err != nil {
		return err
	}
	c := &tokenCheck{path: l.responses, size: size, eos: eos, skipFirst: run.settings.Scenario == loadgen.Offline}
	if err := eachRecord(c.path, c.record); err != nil {
		return err
	}
	if c.count == 0 {
		return fmt.Errorf("%s has no responses", c.path)
	}
	v.Facts = append(v.Facts, fmt.Sprintf("%d answers", c.count))
	c.judge(v)
	end := " verification complete"
	if !v.Passed {
		end = " verification failed"
	}
	v.write(accuracyFile, v.Test+end)
	return nil
}

// usualEnd is the end token of Llama 2, which the reference's script takes for all models.
const usualEnd = 2

// judge writes what came of each check.
func (c *tokenCheck) judge(v *Verdict) {
	causes := [3]string{"the first token is reported before it is final", "answers are filled up with end tokens", "filling up is counted, or tokens are cut off"}
	for kind, name := range tokenChecks {
		outcome := "True"
		if kind == firstToken && c.skipFirst {
			outcome = "Skipped"
		} else if c.bad[kind] > 0 {
			outcome = "False"
			v.fail(fmt.Sprintf("%s: %d of %d answers do not; %s", name, c.bad[kind], c.count, c.example[kind]), causes[kind])
		}
		v.write(accuracyFile, name+": "+outcome)
	}
	if c.unseen > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%d answers report no first token, or more than they have, which the reference accepts", c.unseen))
	}
}

// endTokens are those that end answers.
func (v *Verdict) endTokens(l Logs, o Options) ([]int32, error) {
	if o.EOS != 0 {
		return []int32{o.EOS}, nil
	}
	results, err := resultsIn(l.Audit)
	if err != nil {
		return nil, err
	}
	if results != nil && len(results.Input.EndTokens) > 0 {
		return results.Input.EndTokens, nil
	}
	v.Notes = append(v.Notes, fmt.Sprintf("nothing says which token ends answers: %d was taken, as the reference does", usualEnd))
	return []int32{usualEnd}, nil
}

// verify09 bounds the mean length of answers.
func verify09(_ context.Context, v *Verdict, l Logs, o Options) error {
	if _, err := single(v.Test, l, o); err != nil {
		return err
	}
	least, most, err := lengthBounds(l, o)
	if err != nil {
		return err
	}
	mean, count, err := v.meanLength(l.responses)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("answers have %.2f tokens on average; %v to %v passes", mean, least, most)
	v.Facts = append(v.Facts, text)
	passes := least <= mean && mean <= most
	if !passes {
		v.fail(text, "answers are cut short, or generated with other options than the accuracy run's")
	}
	model, err := modelOf(l, o)
	if err != nil {
		return err
	}
	v.fewer(count, samples09(model))
	v.write("verify_output_len.txt", v.Test+": length of answers", fmt.Sprintf("mean = %v of %d answers", mean, count), verdictLine(passes))
	return nil
}

// meanLength is how many tokens of 4 bytes an answer has on average.
func (v *Verdict) meanLength(path string) (mean float64, count int, err error) {
	total, odd := 0, 0
	if err := eachRecord(path, func(r accuracy.Record) error {
		if count, total = count+1, total+len(r.Data)/4; len(r.Data)%4 != 0 {
			odd++
		}
		return nil
	}); err != nil {
		return 0, 0, err
	}
	if count == 0 {
		return 0, 0, fmt.Errorf("%s has no responses", path)
	}
	if odd > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%d answers end in part of a token of 4 bytes, which the reference does not count", odd))
	}
	return float64(total) / float64(count), count, nil
}

// lengthBounds are the least and the greatest mean length of answers: those that were given, or
// else the model's.
func lengthBounds(l Logs, o Options) (least, most float64, err error) {
	of, err := boundsOf(l, o)
	if least, most = o.LeastTokens, o.MostTokens; least == 0 || most == 0 {
		if err != nil {
			return 0, 0, err
		}
		least, most = cmp.Or(least, of.leastTokens), cmp.Or(most, of.mostTokens)
	}
	switch {
	case most == 0:
		return 0, 0, userinput.Errorf("max_tokens", "TEST09 has no bounds of its own for this model: want the least and the greatest mean length of answers")
	case least > most:
		return 0, 0, userinput.Invalid("min_tokens", least, fmt.Sprintf("at most the greatest mean length, %v", most))
	}
	return least, most, nil
}
