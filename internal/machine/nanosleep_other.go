//go:build !linux

package machine

import "time"

const hasNanosleep = false

func nanosleep(time.Duration) {}
