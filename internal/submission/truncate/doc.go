// Package truncate makes the accuracy logs of a submission short, as the rules ask: the
// first and the last 4096 bytes stay, and the SHA-256 of the whole log goes into
// accuracy.txt beside it.
//
//	done, err := truncate.Tree(ctx, truncate.Options{Tree: "submission", Backup: "originals"})
//
// What is written is what the reference's tools/submission/truncate_accuracy_log.py
// writes, byte by byte: 4096 characters and 4096 bytes, with \n for \r\n. Of a log that is not UTF-8, or whose
// last bytes begin within a character, on which the script ends with an exception, bytes stay as they are. In three ways this is more careful: the original is in the
// backup, and its copy compared, before anything is changed; files are replaced as
// wholes, so that an interruption leaves the old or the new one; and a log that was cut
// already, or whose accuracy.txt has another log's hash, is never hashed again. A second
// call changes nothing.
//
// The logs of both layouts are found: results/…/accuracy, TEST01, TEST07 and TEST09 below
// a scenario, and compliance/…/TEST01 up to v5.1.
package truncate
