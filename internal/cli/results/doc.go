// Package results has the verbs that look at results: explain, report, compare, accuracy and schema.
//
// They read the folders of runs, ours and those of any LoadGen, and print what report, compare,
// and page make of them. Nothing is run.
package results
