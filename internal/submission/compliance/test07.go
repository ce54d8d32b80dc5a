package compliance

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

const (
	scorePattern = `'exact_match':\s*([\d.]+)` // in what gpt-oss-120b's script prints (compliance/TEST07/run_verification.py)
	logWord      = "{accuracy_log}"            // the accuracy log in the command of a score
	longestScore = 12 * time.Hour
)

// errNoCommand is the error about a command that does not get the log.
var errNoCommand = userinput.Errorf("accuracy_script", "TEST07 needs the command that scores a log, with %s for the log", logWord)

// leastScores are those of the audit.config files in compliance/TEST07, by the rules' names of the models.
var leastScores = map[string]float64{gptOSS: 60.698}

// verify07 fails a system whose score in performance mode is too low (compliance/TEST07/run_verification.py). The score is
// what a command of the user prints, or else that of Scorer.
func (v *verification) verify07(ctx context.Context) error {
	if _, err := v.auditRun(); err != nil {
		return err
	}
	name, err := v.rulesModel()
	if err != nil {
		return err
	}
	usual := leastScores[name]
	least := cmp.Or(v.LeastScore, usual)
	if least == 0 {
		return userinput.Errorf("accuracy_threshold", "TEST07 has no least score for this model: give one")
	}
	if least < usual {
		v.limit(limitation.LowerScore, least, usual)
	}
	responses := 0
	if err := eachRecord(v.responses, func(accuracy.Record) error { responses++; return nil }); err != nil {
		return err
	}
	v.markFewer(responses, samples07)
	var score float64
	if v.Score != "" || v.Scorer == nil {
		if score, err = v.runScore(ctx); err != nil {
			return err
		}
	} else {
		a, err := v.Scorer(ctx, v.responses)
		if err != nil {
			return fmt.Errorf("scoring the responses: %w", err)
		}
		v.write(accuracyFile, fmt.Sprintf("%s = %v %s", a.Metric, a.Value, a.Unit))
		score = a.Value
	}
	text := fmt.Sprintf("the score in performance mode is %v; %v or more passes", score, least)
	v.Facts = append(v.Facts, text)
	if score < least {
		v.fail(text, "the system answers worse in performance mode, or stops earlier", "the command of the score read another log or other ground truth")
	}
	v.write(accuracyFile, v.Test+": score in performance mode", fmt.Sprintf("score = %v", score), fmt.Sprintf("least score = %v", least),
		verdictLine(score >= least))
	return nil
}

// runScore runs the user's command and returns the score that it prints. The shell gets the log as one argument.
func (v *verification) runScore(ctx context.Context) (float64, error) {
	pattern, err := v.pattern()
	if err != nil {
		return 0, err
	}
	if v.Score == "" {
		return 0, errNoCommand
	}
	path, err := filepath.Abs(v.responses)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, longestScore)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(v.Score, logWord, `"$1"`), "sh", path)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err = command.Run()
	printed := strings.TrimRight(out.String(), "\n")
	lines := strings.Split(printed, "\n")
	end := strings.Join(lines[max(0, len(lines)-10):], "\n")
	if err != nil {
		return 0, fmt.Errorf("the command of the score: %w; it printed %q", err, end)
	}
	v.write(accuracyFile, printed)
	m := pattern.FindStringSubmatch(printed)
	if m == nil {
		return 0, fmt.Errorf("the command of the score prints no %s, but %q", pattern, end)
	}
	score, err := strconv.ParseFloat(m[1], 64)
	if err != nil || !units.Finite(score) {
		return 0, fmt.Errorf("the command of the score prints %q, expected a number", m[1])
	}
	return score, nil
}
