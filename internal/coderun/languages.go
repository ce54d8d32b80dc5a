package coderun

import "strconv"

// A language is how its programs are run. % stands for the name of the file without its end.
type language struct {
	end     string
	compile []string // nil: it is not compiled
	accept  int      // the status of a compiler, other than 0, that is as good
	run     []string
	virtual bool // it reserves more memory than it uses, so that only what it can write to is bounded
}

// languages are those that the reference runs (evaluate_mbxp.py).
func languages(memory int64) map[string]language {
	node := []string{"node", "--max-old-space-size=" + strconv.FormatInt(memory>>20, 10), "%.js"}
	return map[string]language{
		"python":     {end: ".py", run: []string{"python3", "%.py"}},
		"javascript": {end: ".js", run: node, virtual: true},
		// tsc complains of require(), which all tests have, writes the program nevertheless, and ends with 2.
		"typescript": {end: ".ts", compile: []string{"tsc", "%.ts", "--target", "es5", "--lib", "es2016"}, accept: 2, run: node, virtual: true},
		"ruby":       {end: ".rb", run: []string{"ruby", "%.rb"}},
		"php":        {end: ".php", run: []string{"php", "%.php"}},
		"cpp":        {end: ".cpp", compile: []string{"g++", "%.cpp", "-o", "%"}, run: []string{"./%"}},
	}
}
