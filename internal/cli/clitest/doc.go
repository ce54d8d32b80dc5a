// Package clitest runs verbs in tests of their packages as the program runs them: with the flags that all verbs
// have, and values from the environment and mlperf.yaml.
//
//	o := clitest.Run(t, Commands(), "cache", "list", "--json")
//	if o.Status != cli.ExitDone { … }
//
// What it leaves out is what cmd/mlperf adds: other spellings of flags, the order of help, completion of values.
package clitest
