package compliance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// scorePattern finds what gpt-oss-120b's script prints (compliance/TEST07/run_verification.py).
const scorePattern = `'exact_match':\s*([\d.]+)`

// logWord stands for the accuracy log in the command of a score.
const logWord = "{accuracy_log}"

// verify07 fails a system whose score in performance mode is too low
// (compliance/TEST07/run_verification.py). The score is what a program of the user's prints,
// or the model's own.
func verify07(ctx context.Context, v *Verdict, l Logs, o Options) error {
	if _, err := single(v.Test, l, o); err != nil {
		return err
	}
	of, err := boundsOf(l, o)
	if err != nil {
		return err
	}
	least := cmp.Or(o.LeastScore, of.leastScore)
	if least == 0 {
		return userinput.Errorf("accuracy_threshold", "TEST07 has no least score of its own for this model: want one")
	}
	responses := 0
	if err := eachRecord(l.responses, func(accuracy.Record) error { responses++; return nil }); err != nil {
		return err
	}
	v.fewer(responses, samples07)
	score, err := v.score07(ctx, l, o)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("the score in performance mode is %v; %v or more passes", score, least)
	v.Facts = append(v.Facts, text)
	passes := score >= least
	if !passes {
		v.fail(text, "the system answers worse in performance mode, or stops earlier", "the score's program read another log or other ground truth")
	}
	v.write(accuracyFile, fmt.Sprintf("score = %v", score), fmt.Sprintf("least score = %v", least), verdictLine(passes))
	return nil
}

// score07 is the score of the responses.
func (v *Verdict) score07(ctx context.Context, l Logs, o Options) (float64, error) {
	if o.Score != "" || o.Scorer == nil {
		return v.printedScore(ctx, l, o)
	}
	a, err := o.Scorer(ctx, l.responses)
	if err != nil {
		return 0, fmt.Errorf("scoring the responses: %w", err)
	}
	v.write(accuracyFile, fmt.Sprintf("%s = %v %s", a.Metric, a.Value, a.Unit), v.Test+": score in performance mode")
	return a.Value, nil
}

// printedScore is what the command of the score prints.
func (v *Verdict) printedScore(ctx context.Context, l Logs, o Options) (float64, error) {
	pattern, err := o.pattern()
	if err != nil {
		return 0, err
	}
	printed, err := scoreBy(ctx, o.Score, l.responses)
	if err != nil {
		return 0, err
	}
	v.write(accuracyFile, strings.TrimRight(printed, "\n"), v.Test+": score in performance mode")
	m := pattern.FindStringSubmatch(printed)
	if m == nil {
		return 0, fmt.Errorf("the command of the score prints no %s:\n%s", pattern, lastLines(printed, 10))
	}
	score, err := strconv.ParseFloat(m[1], 64)
	if err != nil || math.IsInf(score, 0) || math.IsNaN(score) {
		return 0, fmt.Errorf("the command of the score prints %q, which is no number", m[1])
	}
	return score, nil
}

// longestScore is how long a program may score.
const longestScore = 12 * time.Hour

// scoreBy runs the user's command with the log in place of its word, which the shell gets
// as one argument, and returns what it prints.
func scoreBy(ctx context.Context, command, log string) (string, error) {
	if !strings.Contains(command, logWord) {
		return "", userinput.Errorf("accuracy_script", "TEST07 needs the command that scores a log, with %s for the log", logWord)
	}
	if runtime.GOOS == "windows" {
		return "", errors.New("TEST07 runs its command in a shell, which is not there on Windows")
	}
	path, err := filepath.Abs(log)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, longestScore)
	defer cancel()
	run := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(command, logWord, `"$1"`), "sh", path)
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	if err := run.Run(); err != nil {
		return "", fmt.Errorf("the command of the score: %w\n%s", err, lastLines(out.String(), 10))
	}
	return out.String(), nil
}

// lastLines are the last lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
