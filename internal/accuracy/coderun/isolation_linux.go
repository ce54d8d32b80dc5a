package coderun

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// isolate gives a command a process group, which ends as a whole, and on request an empty network and an empty process
// space.
func isolate(cmd *exec.Cmd, namespaces bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if namespaces {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
}

// endGroup ends the process group of a command.
func endGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// probe tries whether this user may create namespaces, which some systems forbid, and whether processes are counted per
// namespace, as Linux does since 5.14: then a shell can start another process under a limit of two. Older systems count
// all processes of the user.
func probe() (isolated, counted bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // some shells keep trying
	defer cancel()
	works := func(script string) bool {
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
		isolate(cmd, true)
		return cmd.Run() == nil
	}
	isolated = works(":")
	return isolated, isolated && works(limitProcesses(2)+"(exit 0); exit $?")
}
