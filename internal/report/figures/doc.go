// Package figures makes diagrams of runs as data: points, axes with units, marked values and
// one sentence that says what is to be seen. Pages draw them; a reader who does
// not see gets the sentence.
//
//	for _, f := range figures.Of(results, charts) {
//		fmt.Println(f.Title, f.Sentence)
//	}
//
// The colours of series are names in figure.go; their values are in page.css of package page.
//
// Everything drawn is in results.json and charts.json; nothing is measured or judged here.
package figures
