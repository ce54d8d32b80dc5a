package bfcl

import (
	"regexp"
	"strings"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// programs are the names under which the scorer counts programs (scoring.py, AgenticInferenceInlineScorer). Others do not count.
var programs = func() map[string]string {
	m := map[string]string{}
	for _, name := range strings.Fields("python pip pytest pylint cython make conda cat head tail wc diff grep sed awk tr sort uniq cut find ls " +
		"xargs cp mv rm mkdir touch tee source which alias unset export git curl true false timeout date apt yum") {
		m[name] = name
	}
	for name, others := range map[string]string{
		"python": "python2 python3 py", "pip": "pip3", "sphinx": "sphinx-build sphinx-quickstart", "cat": "less more", "grep": "egrep fgrep rg ag",
		"awk": "gawk", "find": "locate", "source": ".", "curl": "wget", "apt": "apt-get",
	} {
		for _, other := range strings.Fields(others) {
			m[other] = name
		}
	}
	return m
}()

var (
	shellQuoted     = regexp.MustCompile("'[^']*'|\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`")
	shellSeparators = regexp.MustCompile(`\|\||\||&&|;|\n`)
	shellVariable   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	shellWrapper    = regexp.MustCompile(`^(?:env|time|nice|sudo|exec|command)$`)
	shellVersion    = regexp.MustCompile(`\.[0-9]+(?:\.[0-9]+)?$`)
)

// Programs are the programs that a command of a shell starts, in order. Lines of a document that it contains count like commands.
func Programs(command string) (list []string) {
	for stage := range strings.SplitSeq(shellSeparators.ReplaceAllLiteralString(shellQuoted.ReplaceAllLiteralString(command, " "), "\n"), "\n") {
		words := pytext.Fields(stage)
		for len(words) > 0 && (shellVariable.MatchString(words[0]) || shellWrapper.MatchString(words[0])) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		name := pytext.Lower(words[0][strings.LastIndexByte(words[0], '/')+1:])
		if program := programs[shellVersion.ReplaceAllLiteralString(name, "")]; program != "" {
			list = append(list, program)
		}
	}
	return list
}

// ProgramsOfCall are the programs that the call of a tool starts: those of the command of bash. Arguments are as the model wrote them.
func ProgramsOfCall(name, arguments string) []string {
	v, err := parseJSON([]byte(arguments))
	object, _ := v.(*dict)
	if name != "bash" || err != nil || object == nil {
		return nil
	}
	for _, key := range []string{"command", "cmd"} {
		switch v := object.values[key].(type) {
		case string:
			if v != "" {
				return Programs(v)
			}
		case nil:
		default:
			if n := number(v); n != nil && n.Sign() == 0 {
				continue // as an empty text
			}
			return nil
		}
	}
	return nil
}

// Agreement is how far two lists of programs agree, whatever their order: what both have by what either has. Wanted is not empty.
func Agreement(wanted, found []string) float64 {
	counts := map[string][2]int{}
	for i, list := range [][]string{wanted, found} {
		for _, name := range list {
			c := counts[name]
			c[i]++
			counts[name] = c
		}
	}
	both, either := 0, 0
	for _, c := range counts {
		both, either = both+min(c[0], c[1]), either+max(c[0], c[1])
	}
	return float64(both) / float64(either)
}
