//go:build !windows

package cli

import "os"

// escapes reports whether a terminal has escape sequences.
func escapes(*os.File) bool { return os.Getenv("TERM") != "dumb" }
