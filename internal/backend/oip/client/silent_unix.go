//go:build unix

package client

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// silent reports whether nothing has come over a connection that nobody has read: no answer, and no end.
func (c *conn) silent() bool {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	err = raw.Control(func(fd uintptr) {
		for again := error(unix.EINTR); errors.Is(again, unix.EINTR); { // by a signal of the runtime
			n, again = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		}
	})
	return err == nil && n == 0
}
