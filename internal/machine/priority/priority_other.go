//go:build !linux

package priority

// Raise does nothing: priorities are not raised on this system.
func Raise() (restore func()) { return func() {} }

// LowerMonitor does nothing.
func LowerMonitor() (restore func()) { return func() {} }

// Computing is what a thread was before Compute.
type Computing struct{}

// Compute does nothing.
func Compute(string) Computing { return Computing{} }

// End does nothing.
func (*Computing) End() {}
