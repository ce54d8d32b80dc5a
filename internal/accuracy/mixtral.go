package accuracy

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// A MixedText is the wanted answer of mixtral-8x7b to one sample.
type MixedText struct {
	Dataset string // OpenOrca, GSM8K or MBXP
	ID      string // of MBXP: the language, an underscore, and the function
	Wanted  string // the text, the number, or the tests
}

// programLanguages are those that the script runs; others are left out.
var programLanguages = []string{"cpp", "python", "php", "javascript", "ruby", "typescript"}

// ScoreMixtral scores a log as evaluate-accuracy.py of mixtral-8x7b does. As there gen_num,
// by which tokens_per_sample is divided, also counts records of a sample that was there
// before. The values are those of ROUGE over OpenOrca,
// "gsm8k" and "mbxp" in percent of the samples of each, and "gen_len", "gen_num",
// "gen_tok_len" and "tokens_per_sample".
func ScoreMixtral(ctx context.Context, log Input, wanted []MixedText, decode Decoder, o ProgramOptions) (*Score, error) {
	score := &Score{Coverage: Coverage{Samples: len(wanted)}}
	var texts []scoredText
	var programs []Program
	solved, problems, tokens := 0, 0, 0
	for rec, err := range tokenRecords(ctx, log, o.DType, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		tokens += len(rec.ids)
		want := wanted[rec.QSLIndex]
		if want.Dataset == "OpenOrca" {
			texts = append(texts, scoredText{tokenRecord: rec, wanted: want.Wanted})
			continue
		}
		text, err := decode(rec.ids)
		if err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
		if want.Dataset == "GSM8K" {
			got, ok := pytext.ParseFloat(finalNumber(text))
			number, ok2 := pytext.ParseFloat(want.Wanted)
			if problems++; ok && ok2 && got == number {
				solved++
			}
			continue
		}
		p, err := newProgram(want, text)
		if err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
		programs = append(programs, p)
	}
	if problems == 0 {
		return nil, fmt.Errorf("%s: none of the samples is from GSM8K, and without them the score is undefined", log.Name())
	}
	if err := scoreTexts(ctx, log, texts, decode); err != nil {
		return nil, err
	}
	var parts []string
	add := func(name string, v float64, text string) {
		score.Values = append(score.Values, Value{Name: name, Value: v, Unit: "%"})
		parts = append(parts, fmt.Sprintf("'%s': %s", name, text))
	}
	means, characters := meanROUGE(texts)
	for i, mean := range means {
		if len(texts) > 0 {
			add(rougeNames[i], mean*100, pytext.Float(roundTo4(mean*100)))
		}
	}
	gsm8k := 100 * float64(solved) / float64(problems)
	add("gsm8k", gsm8k, pytext.Float(gsm8k))
	switch {
	case len(programs) == 0:
		add("mbxp", 0, "0")
	case o.Execute == nil:
		score.warnf("mbxp is not scored: the %d programs that the model wrote were not executed", len(programs))
	default:
		programs = slices.DeleteFunc(programs, func(p Program) bool { return !slices.Contains(programLanguages, p.Language) })
		if len(programs) == 0 {
			return nil, errors.New("none of the programs of MBXP is in a language that the script runs: " + strings.Join(programLanguages, ", "))
		}
		passes, err := o.execute(ctx, programs)
		if err != nil {
			return nil, err
		}
		passed := len(slices.DeleteFunc(passes, func(ok bool) bool { return !ok }))
		mbxp := 100 * float64(passed) / float64(len(programs))
		add("mbxp", mbxp, pytext.Float(mbxp))
	}
	score.results(append(parts, score.counts(characters, score.Coverage.records(), tokens)...))
	return score, nil
}

// number is that of the script, find_numbers: it may have commas and a fraction. \d is any decimal digit in Python.
var number = regexp.MustCompile(`-?[\p{Nd},]*\.?\p{Nd}+`)

// finalNumber is the number that answers a question of GSM8K: the first after the last "The
// answer is", or else the last one, before a further question begins. Commas are dropped.
func finalNumber(text string) string {
	text, _, _ = strings.Cut(text, "\nQ:")
	const cue = "The answer is"
	found := ""
	if i := strings.LastIndex(text, cue); i >= 0 {
		found = number.FindString(text[i+len(cue):])
	}
	if all := number.FindAllString(text, -1); found == "" && all != nil {
		found = all[len(all)-1]
	}
	return strings.ReplaceAll(found, ",", "")
}

// newProgram returns the program in a response: the text before the end of the block of code,
// without the backslashes that Mixtral puts before underscores (evaluate_mbxp.py), and then
// the tests, which in Python have to be called (mxeval, execution.py).
func newProgram(want MixedText, response string) (Program, error) {
	language, entry, ok := strings.Cut(want.ID, "_")
	if !ok {
		return Program{}, fmt.Errorf("the id of the sample is %q: must be a language, an underscore and a name", want.ID)
	}
	code, _, _ := strings.Cut(response, "```")
	if language == "python" {
		code = strings.TrimLeftFunc(code, pytext.IsSpace)
	}
	code = strings.ReplaceAll(code, `\_`, "_") + want.Wanted
	if language == "python" {
		code += "\ncheck(" + entry + ")"
	}
	return Program{Language: language, ID: want.ID, Code: code}, nil
}
