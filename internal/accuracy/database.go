package accuracy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A DatabaseFile is the database of passages that a test of e2e-rag-db left, and what was found in it.
type DatabaseFile struct {
	Path string
	MD5  string    // of the file
	Time time.Time // when it was written
	// Checks are those of its content; nil: it was not opened.
	Checks []DatabaseCheck
	// Differences are those from the manifest of another database, which say that it is not equivalent.
	Differences []string
}

// A DatabaseCheck is a check of the content of a database.
type DatabaseCheck struct {
	Name, Description string
	Result            CheckResult
	Value             string // empty: it has none
	Error             string
}

// A CheckResult is PASS, WARN or FAIL.
type CheckResult string

// The results.
const (
	CheckPass CheckResult = "PASS"
	CheckWarn CheckResult = "WARN" // does not count
	CheckFail CheckResult = "FAIL"
)

func passOrFail(passed bool) CheckResult {
	if passed {
		return CheckPass
	}
	return CheckFail
}

// leastFiles is the share of files that have to be in the database (e2e-rag, datasetup_accuracy_eval.py).
const leastFiles = 0.99

// DatabaseScore scores a log of e2e-rag-db as the official script does (e2e-rag, datasetup_accuracy_eval.py). Its responses are one byte, 1 for
// a page that is in the database, or the MD5 of the database in 32 hexadecimal digits, of the page that was the last.
//
// The value accuracy is the percentage of pages that are in the database, or 0 if it is not the one of the log, or not in order. Lines are the
// script's report, and a line with the accuracy, which the submission checker looks for and the script does not write. The script's
// time of writing is that of the database here, so that equal logs have equal reports.
func DatabaseScore(log Input, samples int, f DatabaseFile) (*Score, error) {
	c := Coverage{Samples: samples}
	right, returned := 0, ""
	for rec, err := range FirstRecords(log, &c) {
		if err != nil {
			return nil, err
		}
		switch sum := string(rec.Data); {
		case isMD5(sum):
			returned = sum
			right++
		case len(rec.Data) == 1 && rec.Data[0] == 1:
			right++
		}
	}
	if c.Scored == 0 {
		return nil, errNoRecord(log)
	}
	if returned == "" {
		return nil, fmt.Errorf("%s: no response is the MD5 of a database: the test wrote none", log.Name())
	}
	if f.MD5 == "" {
		return nil, errors.New("the database of the test has no MD5")
	}
	s := &Score{Coverage: c}
	s.databaseReport(f, right, returned)
	return s, nil
}

// isMD5 reports whether a response is an MD5.
func isMD5(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

// databaseReport writes the script's report, values and warnings.
func (s *Score) databaseReport(f DatabaseFile, right int, returned string) {
	share := float64(right) / float64(s.Coverage.Scored)
	double, single := strings.Repeat("=", 80), strings.Repeat("-", 80)
	enough, same := share >= leastFiles, returned == f.MD5
	valid := !slices.ContainsFunc(f.Checks, func(c DatabaseCheck) bool { return c.Result == CheckFail })
	passed := enough && same && valid && len(f.Differences) == 0

	s.printf("%s", double)
	s.printf("RAG-DB Accuracy Report")
	s.printf("%s", double)
	s.printf("Timestamp: %s", f.Time.Format("2006-01-02T15:04:05.000000"))
	s.printf("Database: %s", f.Path)
	s.printf("")
	s.printf("File Processing Results:")
	s.printf("%s", single)
	s.printf("Total files: %d", s.Coverage.Scored)
	s.printf("Successful: %d", right)
	s.printf("Failed: %d", s.Coverage.Scored-right)
	s.printf("Success rate: %.2f%%", 100*share)
	s.printf("Required rate: %.2f%%", 100*leastFiles)
	s.printf("Status: %s", passOrFail(enough))
	s.printf("")
	s.printf("MD5 Verification:")
	s.printf("%s", single)
	s.printf("MD5 returned by SUT: %s", returned)
	s.printf("MD5 actual (computed): %s", f.MD5)
	s.printf("MD5 match: %s", passOrFail(same))
	s.printf("")
	if f.Checks != nil {
		s.printf("Database Validation:")
		s.printf("%s", single)
		for _, c := range f.Checks {
			s.printf("  %s: %s", c.Name, c.Result)
			s.printf("    - %s", c.Description)
			if c.Value != "" {
				s.printf("    - Value: %s", c.Value)
			}
			if c.Error != "" {
				s.printf("    - Error: %s", c.Error)
			}
		}
		s.printf("Validation status: %s", passOrFail(valid))
		s.printf("")
	}
	s.printf("%s", double)
	s.printf("Overall Result: %s", passOrFail(passed))
	s.printf("%s", double)

	value := 100 * share
	if !same || !valid || len(f.Differences) > 0 {
		value = 0
	}
	s.printf("Accuracy: %.4f", value)
	s.Values = []Value{{Name: "accuracy", Value: value, Unit: "%"}, {Name: "success_rate", Value: 100 * share, Unit: "%"}}

	if !enough {
		s.warnf("%d of %d pages are in the database: the official script asks for %g %%, the submission checker for 98 %%", right, s.Coverage.Scored, 100*leastFiles)
	}
	if !same {
		s.warnf("the MD5 of %s is %s, that of the test's answer %s: another database, or it was changed: the accuracy counts as 0", f.Path, f.MD5, returned)
	}
	for _, c := range f.Checks {
		if c.Result == CheckFail {
			s.warnf("the database fails %s (%s): the accuracy counts as 0", c.Name, strings.Join(slices.DeleteFunc([]string{c.Value, c.Error}, func(t string) bool { return t == "" }), ", "))
		}
	}
	for _, d := range f.Differences {
		s.warnf("%s: the accuracy counts as 0", d)
	}
}

// databaseWidth is how many numbers a vector of the benchmark's encoder has.
const databaseWidth = 768

// DatabaseChecks are the checks of the official script (validate_database) for a database with so many vectors of so many numbers, and
// a passage for each, in which a question found something, or failed. A database that could not be opened has only the error.
func DatabaseChecks(vectors, width int, found bool, err error) []DatabaseCheck {
	if err != nil {
		return []DatabaseCheck{{Name: "database_load", Description: "Database can be loaded", Result: CheckFail, Error: err.Error()}}
	}
	wide := CheckPass
	if width != databaseWidth {
		wide = CheckWarn
	}
	return []DatabaseCheck{
		{Name: "vector_count", Description: "Database contains vectors", Result: passOrFail(vectors > 0), Value: fmt.Sprint(vectors)},
		{Name: "docstore_consistency", Description: "Vector count matches docstore count", Result: CheckPass},
		{Name: "index_dimension", Description: fmt.Sprintf("Index dimension matches expected (%d)", databaseWidth), Result: wide, Value: fmt.Sprint(width)},
		{Name: "sample_retrieval", Description: "Database can perform retrieval", Result: passOrFail(found)},
	}
}
