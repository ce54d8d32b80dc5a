package grading

import (
	_ "embed"
	"strings"
	"sync"
)

// latexTables has a line for each macro, environment and style of letters that pylatexenc knows, by Philippe Faist, under the MIT License (make_latex.py).
//
//go:embed latex.txt
var latexTables string

// A latexSpec says what a macro or an environment takes, and what becomes of it.
type latexSpec struct {
	arguments string // of each: '{' it has to be there, '[' it may be there, in brackets, ']' the same without a space before it, '*' a star may be there
	kind      string
	text      string
}

type latexNames struct{ macros, environments, styles map[string]latexSpec }

// latexKnown is read once.
var latexKnown = sync.OnceValue(func() latexNames {
	known := latexNames{make(map[string]latexSpec), make(map[string]latexSpec), make(map[string]latexSpec)}
	written := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t")
	for line := range strings.Lines(latexTables) {
		f := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), "", "", "")
		switch f[0] {
		case "macro":
			known.macros[f[1]] = latexSpec{f[2], f[3], written.Replace(f[4])}
		case "environment":
			known.environments[f[1]] = latexSpec{arguments: f[2], kind: f[3]}
		case "style":
			known.styles[f[1]] = latexSpec{text: f[2]}
		}
	}
	return known
})
