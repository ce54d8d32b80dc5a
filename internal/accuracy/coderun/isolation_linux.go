package coderun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// programUser is the user and group that programs have where this process is the superuser's: the overflow id of the kernel.
const programUser = 65534

// isolate gives a command a process group, which ends as a whole, and on request a host name, an empty network and an
// empty process space. Where this process is the superuser's, the command has a user who owns nothing.
func isolate(cmd *exec.Cmd, namespaces bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if !namespaces {
		return
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == superuser {
		uid, gid = programUser, programUser
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: programUser, Gid: programUser} // and no other groups
		cmd.SysProcAttr.GidMappingsEnableSetgroups = true
	}
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
}

// endGroup ends the process group of a command.
func endGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// confined calls f on a thread that, where this process is the superuser's, sees all files read-only, /proc/sys and /sys too, but
// for the folder: that is a file system of its own in memory, of limited size, which programs may fill. It goes with the thread.
func confined(folder string, disk int64, f func() error) error {
	if os.Getuid() != superuser {
		return f()
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread, with its view of the files, ends with this goroutine
		set := func(path string, flags uint, attr unix.MountAttr) error {
			return unix.MountSetattr(-1, path, flags, &attr)
		}
		err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
		for _, step := range []func() error{
			func() error { return set("/", unix.AT_RECURSIVE, unix.MountAttr{Propagation: unix.MS_PRIVATE}) },
			func() error {
				return set("/", unix.AT_RECURSIVE, unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID})
			},
			func() error { return unix.Mount("/proc/sys", "/proc/sys", "", unix.MS_BIND, "") },        // as read-only as /proc
			func() error { return set("/proc", 0, unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}) }, // Go maps users in it
			func() error {
				return unix.Mount("tmpfs", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV,
					fmt.Sprintf("size=%d,nr_inodes=100000,mode=700,uid=%d,gid=%[2]d", disk, programUser))
			},
		} {
			if err == nil {
				err = step()
			}
		}
		if err != nil {
			err = fmt.Errorf("making the files read-only for programs: %w", err)
		} else {
			err = f()
		}
		result <- err
	}()
	return <-result
}

// own gives a file to the user of the programs.
func own(path string) error {
	if os.Getuid() != superuser {
		return nil
	}
	return os.Chown(path, programUser, programUser)
}

// find looks for a program in PATH; where this process is the superuser's, for one that the user of the programs can reach.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil || os.Getuid() != superuser {
		return path, err
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if candidate := filepath.Join(dir, name); filepath.IsAbs(candidate) && reachable(candidate) {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("%s is in a folder that is closed to the user %d, who runs the programs: put it where all users reach it", path, programUser)
}

// reachable reports whether every user may execute a file.
func reachable(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	for ; err == nil; real = filepath.Dir(real) {
		about, err := os.Stat(real)
		if err != nil || about.Mode().Perm()&1 == 0 {
			return false
		}
		if real == filepath.Dir(real) {
			return true
		}
	}
	return false
}

// whereabouts returns the path of an open folder, also after it was renamed.
func whereabouts(folder *os.File) (string, error) {
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(int(folder.Fd())))
}

// probe tries whether this user may create namespaces, which some systems forbid, and whether processes are counted per
// namespace, as Linux does since 5.14: then a shell can start another process under a limit of two. Older systems count
// all processes of the user.
func probe() (isolated, counted bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // some shells keep trying
	defer cancel()
	works := func(script string) bool {
		dir, err := os.MkdirTemp("", "mlperf-program-")
		if err != nil {
			return false
		}
		err = confined(dir, 1<<20, func() error {
			cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
			isolate(cmd, true)
			return cmd.Run()
		})
		return errors.Join(err, os.Remove(dir)) == nil
	}
	isolated = works(":")
	return isolated, isolated && works(limitProcesses(2)+"(exit 0); exit $?")
}
