package report

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// CommandLine writes arguments as a shell of this system takes them: on Windows cmd and PowerShell, elsewhere those of POSIX.
func CommandLine(args []string) string {
	quote := forPOSIX
	if runtime.GOOS == "windows" {
		quote = forWindows
	}
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = quote(a)
	}
	return strings.Join(quoted, " ")
}

func forPOSIX(argument string) string {
	switch {
	case userinput.PrintableLine(argument) != argument:
		return "$'" + inNumbers(argument) + "'"
	case argument == "" || strings.ContainsAny(argument, " \t\n'\"\\$`;&|<>()*?[]#~!{}"):
		return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
	}
	return argument
}

// forWindows writes what cannot be printed as a question mark: neither shell has a form for it that the other takes. Programs read \"
// as a quotation mark, and one backslash for two before it.
func forWindows(argument string) string {
	argument = strings.Map(func(r rune) rune {
		if letter := string(r); userinput.PrintableLine(letter) != letter {
			return '?'
		}
		return r
	}, argument)
	if argument != "" && !strings.ContainsAny(argument, " '\"$`;&|<>()*?[]#~!{}%^,@") {
		return argument
	}
	return `"` + quotationMark.ReplaceAllString(argument, `$1$1\"`) + strings.Repeat(`\`, len(argument)-len(strings.TrimRight(argument, `\`))) + `"`
}

var quotationMark = regexp.MustCompile(`(\\*)"`)

// inNumbers writes a text as Bash and zsh take it between $' and ': characters that cannot be printed are numbers.
func inNumbers(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch letter := string(r); {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + letter)
		case userinput.PrintableLine(letter) == letter:
			b.WriteString(letter)
		default:
			for _, c := range []byte(letter) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
	}
	return b.String()
}
