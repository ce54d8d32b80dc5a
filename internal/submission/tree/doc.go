// Package tree looks at the files of a submission without trusting them: a FIFO, a
// device or a socket is never opened, what is read is bounded, and a symbolic link is
// known to leave the tree or not.
//
//	t := tree.Tree{Root: "submission"}
//	systems, err := t.Folders("closed/ExampleOrg/results")
//
// Paths are relative to the root and have forward slashes.
package tree
