package compliance

import (
	"cmp"
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// lengths are the bounds of the mean length of answers, of the audit.config files in compliance/TEST09, by the rules' names
// of the models.
var lengths = map[string][2]float64{gptOSS: {1150.38, 1406.02}, "e2e-rag-qna": {246.43, 301.19}}

// verify09 bounds the mean length of answers, in tokens of 4 bytes (compliance/TEST09/run_verification.py).
func (v *verification) verify09(context.Context) error {
	if _, err := v.auditRun(); err != nil {
		return err
	}
	least, most, err := v.lengthBounds()
	if err != nil {
		return err
	}
	count, total, odd := 0, 0, 0
	if err := eachRecord(v.responses, func(r accuracy.Record) error {
		if count, total = count+1, total+len(r.Data)/4; len(r.Data)%4 != 0 {
			odd++
		}
		return nil
	}); err != nil {
		return err
	}
	if count == 0 {
		return fmt.Errorf("%s has no responses", v.responses)
	}
	if odd > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%d answers end in part of a token of 4 bytes, which the reference does not count", odd))
	}
	mean := float64(total) / float64(count)
	text := fmt.Sprintf("answers have %.2f tokens on average; %v to %v passes", mean, least, most)
	v.Facts = append(v.Facts, text)
	passes := least <= mean && mean <= most
	if !passes {
		v.fail(text, "answers are cut short, or generated with other options than the accuracy run's")
	}
	v.markFewer(count, samples09(v.model))
	v.write(lengthFile, v.Test+": length of answers", fmt.Sprintf("mean = %v of %d answers", mean, count), verdictLine(passes))
	return nil
}

// lengthBounds returns the bounds of the mean length: the given ones, or else the model's.
func (v *verification) lengthBounds() (least, most float64, err error) {
	name, err := v.rulesModel()
	if err != nil && (v.LeastTokens == 0 || v.MostTokens == 0) {
		return 0, 0, err
	}
	usual := lengths[name]
	least, most = cmp.Or(v.LeastTokens, usual[0]), cmp.Or(v.MostTokens, usual[1])
	switch {
	case most == 0:
		return 0, 0, userinput.Errorf("max_tokens", "TEST09 has no bounds for this model: give the least and the greatest mean length of answers")
	case least > most:
		return 0, 0, userinput.Invalid("min_tokens", least, fmt.Sprintf("at most the greatest mean length, %v", most))
	case least < usual[0] || usual[1] > 0 && most > usual[1]:
		v.limit(limitation.WiderLengths, fmt.Sprintf("%v to %v", least, most), fmt.Sprintf("%v to %v", usual[0], usual[1]))
	}
	return least, most, nil
}
