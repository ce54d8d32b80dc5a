// Package ptdtest is a small stand-in for SPEC's PTDaemon, for tests.
//
//	d := ptdtest.New()
//	address := d.Serve(t)
//	… whatever measures …
//	fmt.Println(d.Said()) // [Hello Identify …]
//
// It knows the commands that this module's client says, and answers with what is in Answers, or as
// the checker of submissions wants to read it. It measures 100 W. What it leaves out: everything
// else of the protocol.
package ptdtest
