package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// escapes switches the console's escape sequences on and reports whether it has them: consoles before Windows 10 print them as they are.
func escapes(console *os.File) bool {
	handle, mode := windows.Handle(console.Fd()), uint32(0)
	if windows.GetConsoleMode(handle, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
