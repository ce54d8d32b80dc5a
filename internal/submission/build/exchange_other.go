//go:build !linux

package build

import "errors"

// exchange reports that there is no way to swap two paths at once.
func exchange(_, _ string) error { return errors.ErrUnsupported }
