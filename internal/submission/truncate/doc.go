// Package truncate makes the accuracy logs of a submission short, as the rules ask: the
// first and the last 4096 bytes stay, and the SHA-256 of the whole log goes into
// accuracy.txt beside it.
//
//	done, err := truncate.Tree(ctx, truncate.Options{Tree: "submission", Backup: "originals"})
//
// The result equals that of the reference's tools/submission/truncate_accuracy_log.py byte
// by byte: 4096 characters and 4096 bytes, with \n for \r\n. That script ends with an
// exception on a log that is not UTF-8, or whose last bytes begin within a character: here
// such bytes stay as they are. Three things are safer than in the script: the original is
// copied into the backup, and the copy compared, before anything is changed; files are
// replaced atomically; and a log that was cut already, or whose accuracy.txt has the hash of
// another log, is not hashed again. A second call changes nothing.
//
// truncate.go finds the logs and cuts them (results/…/accuracy, TEST01, TEST07 and TEST09
// below a scenario, and compliance/…/TEST01 up to v5.1), shorten.go shortens one log.
package truncate
