package audit

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// tokensOf reads the numbers of a response or of its first token.
func tokensOf(data []byte) ([]int32, error) {
	if len(data)%4 != 0 {
		return nil, fmt.Errorf("%d bytes are not tokens of 4 bytes", len(data))
	}
	tokens := make([]int32, len(data)/4)
	for i := range tokens {
		tokens[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return tokens, nil
}

// A tokenCheck looks at the answers of a language model, one after another.
type tokenCheck struct {
	path         string
	eos          []int32
	skipFirst    bool // Offline has no first token
	count, total int
	bad          [3]int
	example      [3]string
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

func (c *tokenCheck) read(r accuracy.Record) ([]int32, error) {
	tokens, err := tokensOf(r.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: record %d: %w", c.path, r.Number, err)
	}
	c.count++
	c.total += len(tokens)
	return tokens, nil
}

// record checks an answer (compliance/TEST06/run_verification.py).
func (c *tokenCheck) record(r accuracy.Record) error {
	tokens, err := c.read(r)
	if err != nil {
		return err
	}
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
	return c.first(r, tokens)
}

// endsWith counts the end tokens at the end of an answer. The first token is none.
func (c *tokenCheck) endsWith(tokens []int32) int {
	ends := 0
	for i := len(tokens) - 1; i > 0 && slices.Contains(c.eos, tokens[i]); i-- {
		ends++
	}
	return ends
}

// first compares what was reported as the first token with the answer.
func (c *tokenCheck) first(r accuracy.Record, tokens []int32) error {
	if c.skipFirst {
		return nil
	}
	first, err := tokensOf(r.TokenData)
	if err != nil {
		return fmt.Errorf("%s: record %d: token_data: %w", c.path, r.Number, err)
	}
	if len(first) == 0 || len(first) > len(tokens) {
		c.fault(firstToken, r, "%d first tokens of %d", len(first), len(tokens))
		return nil
	}
	for i, token := range first {
		if token != tokens[i] {
			c.fault(firstToken, r, "first token %d was reported as %d, the answer has %d", i, token, tokens[i])
			break
		}
	}
	return nil
}

func verify06(_ context.Context, v *Verdict, l Logs, o Options) error {
	run, err := single(v.Test, l, o)
	if err != nil {
		return err
	}
	eos, err := v.endTokens(l, o)
	if err != nil {
		return err
	}
	c := &tokenCheck{path: l.responses, eos: eos, skipFirst: run.settings.Scenario == loadgen.Offline}
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
	c := &tokenCheck{path: l.responses}
	if err := eachRecord(c.path, func(r accuracy.Record) error { _, err := c.read(r); return err }); err != nil {
		return err
	}
	if c.count == 0 {
		return fmt.Errorf("%s has no responses", c.path)
	}
	mean := float64(c.total) / float64(c.count)
	text := fmt.Sprintf("answers have %.2f tokens on average; %v to %v passes", mean, least, most)
	v.Facts = append(v.Facts, text)
	passes := least <= mean && mean <= most
	if !passes {
		v.fail(text, "answers are cut short, or generated with other options than the accuracy run's")
	}
	v.write("verify_output_len.txt", v.Test+": length of answers", fmt.Sprintf("mean = %v of %d answers", mean, c.count), verdictLine(passes))
	return nil
}

// lengthBounds are the least and the greatest mean length of answers.
func lengthBounds(l Logs, o Options) (least, most float64, err error) {
	least, most = o.LeastTokens, o.MostTokens
	if least == 0 && most == 0 {
		of, err := boundsOf(l, o)
		if err != nil {
			return 0, 0, err
		}
		least, most = of.leastTokens, of.mostTokens
	}
	if most == 0 {
		err = field.Errorf("max_tokens", "TEST09 has no bounds of its own for this model: want the least and the greatest mean length of answers")
	}
	return least, most, err
}
