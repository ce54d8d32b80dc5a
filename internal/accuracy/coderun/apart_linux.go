package coderun

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// keepApart gives a command a group of processes, which ends as a whole, and if it can be a
// network and a space of processes of its own, both empty.
func keepApart(cmd *exec.Cmd, isolated bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if isolated {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
	cmd.Cancel = func() error { return endGroup(cmd) }
}

// canIsolate tries whether this user may have namespaces, which some systems forbid.
func canIsolate() bool {
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", ":")
	keepApart(cmd, true)
	return cmd.Run() == nil
}

// canCount tries whether processes are counted in the space of a program alone, as Linux does since 5.14: then a bound of two lets a shell begin
// another process. Before, all processes of the user count, of which this one has more threads.
func canCount() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // some shells try again and again
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", boundProcesses(2)+"(exit 0); exit $?")
	keepApart(cmd, true)
	return cmd.Run() == nil
}
