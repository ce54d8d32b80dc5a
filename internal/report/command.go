package report

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// CommandLine writes arguments as a shell takes them.
func CommandLine(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if userinput.PrintableLine(a) != a {
			quoted[i] = "$'" + inNumbers(a) + "'"
		} else if a == "" || strings.ContainsAny(a, " \t\n'\"\\$`;&|<>()*?[]#~!{}") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

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
