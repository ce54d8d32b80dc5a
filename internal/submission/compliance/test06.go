package compliance

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// parseTokens reads the numbers of a response, or of its first token.
func parseTokens(data []byte, size int) ([]int64, error) {
	if len(data)%size != 0 {
		return nil, fmt.Errorf("%d bytes are not tokens of %d bytes: is the log of another type?", len(data), size)
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

// The properties of an answer, as the reference's script calls them, and the usual causes of wrong ones.
const (
	firstToken = iota
	endToken
	length
)

var tokenChecks = [3]struct{ name, cause string }{
	{"First token check pass", "the first token is reported before it is final"},
	{"EOS check pass", "answers are filled up with end tokens"},
	{"Sample length check pass", "filling up is counted, or tokens are cut off"},
}

// verify06 checks the answers of a language model (compliance/TEST06/run_verification.py).
func (v *verification) verify06(context.Context) error {
	run, err := v.auditRun()
	if err != nil {
		return err
	}
	sizes := map[string]int{"int16": 2, "int32": 4, "int64": 8}
	taken := cmp.Or(v.DType, "int32")
	size := sizes[taken]
	if size == 0 {
		return userinput.Invalid("dtype", v.DType, "int16, int32 or int64")
	}
	fits := map[string]int{} // answers that have as many tokens as they count, by the type
	ends := v.endTokens()
	offline := run.settings.Scenario == loadgen.Offline // which has no first token
	var wrong [3]int
	var example [3]string
	count, unknown := 0, 0 // unknown: the first token is not reported, or longer than the answer
	if err := eachRecord(v.responses, func(r accuracy.Record) error {
		fault := func(check int, format string, args ...any) {
			if wrong[check]++; wrong[check] == 1 {
				example[check] = fmt.Sprintf("sample %d (record %d of %s): %s", r.QSLIndex, r.Number, v.responses, fmt.Sprintf(format, args...))
			}
		}
		for name, size := range sizes {
			if r.TokenCount != nil && *r.TokenCount > 0 && int64(len(r.Data)) == *r.TokenCount*int64(size) {
				fits[name]++
			}
		}
		tokens, err := parseTokens(r.Data, size)
		if err != nil {
			return err
		}
		count++
		n := 0 // end tokens; the first token is none
		for i := len(tokens) - 1; i > 0 && slices.Contains(ends, tokens[i]); i-- {
			n++
		}
		if n >= 2 {
			fault(endToken, "ends with %d end tokens (%v), expected one at most", n, ends)
		}
		if r.TokenCount == nil {
			fault(length, "has %d tokens and no token_count", len(tokens))
		} else if int64(len(tokens)) != *r.TokenCount {
			fault(length, "has %d tokens and token_count %d", len(tokens), *r.TokenCount)
		}
		if offline {
			return nil
		}
		first, err := parseTokens(r.TokenData, size)
		switch {
		case r.TokenData == nil:
			fault(firstToken, "no token_data")
			return nil
		case err != nil:
			fault(firstToken, "token_data: %v", err)
			return nil
		case len(first) == 0 || len(first) > len(tokens): // the reference's script compares as far as both go
			unknown++
		}
		for i, token := range first[:min(len(first), len(tokens))] {
			if token != tokens[i] {
				fault(firstToken, "first token %d was reported as %d, the answer has %d", i, token, tokens[i])
				break
			}
		}
		return nil
	}); err != nil {
		return err
	}
	told := v.toldWrong()
	if count == 0 && len(told) == 0 {
		return fmt.Errorf("%s has no responses", v.responses)
	}
	v.Facts = append(v.Facts, fmt.Sprintf("%d answers", count))
	end := " verification complete"
	for check, c := range tokenChecks {
		outcome := "True"
		switch {
		case check == firstToken && offline:
			outcome = "Skipped"
		case wrong[check] > 0:
			outcome, end = "False", " verification failed"
			v.fail(fmt.Sprintf("%s: %d of %d answers do not; %s", c.name, wrong[check], count, example[check]), c.cause)
		case check == length && len(told) > 0:
			outcome, end = "False", " verification failed"
			v.fail(c.name+": "+strings.Join(told, "; "), "the server counts tokens that it does not send")
		}
		v.write(accuracyFile, c.name+": "+outcome)
	}
	for _, name := range slices.Sorted(maps.Keys(fits)) {
		if fits[taken] == 0 && fits[name] == count {
			v.Findings = append(v.Findings,
				fmt.Sprintf("the log is of another type: as %s no answer has as many tokens as its token_count, as %s all have; give dtype %[2]s", taken, name))
		}
	}
	v.write(accuracyFile, v.Test+end)
	if unknown > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%d answers report no first token, or more than they have, which the reference accepts", unknown))
	}
	return nil
}

// toldWrong says which requests of the run failed, and whether servers told of other numbers of tokens than their answers have:
// logged answers have as many as their ids, whatever servers tell.
func (v *verification) toldWrong() (list []string) {
	if v.results == nil || v.results.Generation == nil {
		return nil
	}
	for _, f := range v.results.Generation.Failures {
		list = append(list, fmt.Sprintf("%d requests failed: %s: %s", f.Count, f.Kind, f.First))
	}
	if fault := v.results.Generation.TokenCheck.Fault(); fault != "" {
		list = append(list, fault)
	}
	return list
}

// endTokens returns the tokens that end answers. The reference's script has that of Llama 2 for all models.
func (v *verification) endTokens() []int64 {
	const llama2 = 2
	var ends []int64
	if v.results != nil {
		for _, token := range v.results.Input.EndTokens {
			ends = append(ends, int64(token))
		}
	}
	switch given := int64(v.EOS); {
	case given != 0:
		if len(ends) > 0 && !slices.Contains(ends, given) {
			v.limit(limitation.OtherEndToken, given, ends)
		}
		return []int64{given}
	case len(ends) == 0:
		v.Notes = append(v.Notes, fmt.Sprintf("the token that ends answers is unknown: %d was taken, as the reference does", llama2))
		return []int64{llama2}
	}
	return ends
}
