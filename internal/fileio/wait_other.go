//go:build !unix

package fileio

const noWait = 0
