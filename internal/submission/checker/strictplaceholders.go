package checker

import (
	"path"

	"github.com/mlperf-go/mlperf/internal/submission/fields"
)

// largestText is the largest text in which placeholders are looked for. Nobody fills in more
// by hand.
const largestText = 1 << 20

// strictPlaceholders finds what was left to be filled in beside a result.
func (g *judgement) strictPlaceholders() {
	folder := g.measurementsFolder()
	files, err := g.tree.Files(folder)
	if err != nil {
		return // which the measurements' own check says
	}
	for _, name := range []string{"README.md", "user.conf", g.measurementsName(files)} {
		g.placeholder(g.loader, folder+"/"+name)
	}
}

// placeholders finds what was left to be filled in in the texts of a submitter.
func (l *loader) placeholders(home string) {
	for _, folder := range []string{home, home + "/documentation", home + "/src"} {
		files, err := l.tree.Files(folder)
		if err != nil {
			continue // there need not be one
		}
		for _, name := range files {
			if path.Ext(name) == ".md" {
				l.notebook.placeholder(l, folder+"/"+name)
			}
		}
	}
}

// placeholder finds the first placeholder in a text.
func (b *notebook) placeholder(l *loader, path string) {
	text, err := l.tree.Read(path, largestText)
	if err != nil {
		return
	}
	if line, found := fields.FirstPlaceholder(string(text)); line > 0 {
		b.fail("text-placeholder", problem{path: path, line: line, message: "something was never filled in", found: shorten(found), wanted: "a text without placeholders"})
	}
}
