//go:build linux

// Command confine runs a command in an environment that is poorer than this
// machine's; tools/environments.sh uses it.
//
//	confine [-deny ptrace,inet6] [-listen 8717,8718] COMMAND ARGUMENT...
//
// -deny ptrace fails ptrace, process_vm_readv and process_vm_writev with EPERM,
// as containers do. -deny inet6 fails sockets of IPv6 with EAFNOSUPPORT, as a
// kernel without IPv6 does. -listen keeps ports in use while the command runs.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	deny := flag.String("deny", "", "what to refuse: ptrace, inet6")
	listen := flag.String("listen", "", "ports to keep in use on every address")
	flag.Parse()
	code, err := runConfined(splitList(*deny), splitList(*listen), flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "confine:", err)
	}
	os.Exit(code)
}

// splitList splits a comma-separated list; an empty text has no elements.
func splitList(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// runConfined executes argv under the filters and returns its exit code.
func runConfined(deny, ports, argv []string) (int, error) {
	if len(argv) == 0 {
		return 2, errors.New("a command is missing")
	}
	for _, port := range ports {
		l, err := net.Listen("tcp", ":"+port)
		if err != nil {
			return 1, err
		}
		defer l.Close()
	}
	// A filter binds one thread, and the processes that come from it.
	runtime.LockOSThread()
	for _, what := range deny {
		if err := installFilter(what); err != nil {
			return 1, err
		}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// Nobody has to end the command for us if we are killed.
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// Offsets in struct seccomp_data: the number of the system call, and the lower
// half of its first argument (on the little-endian systems that we test on).
const (
	atNumber   = 0
	atArgument = 16
)

// installFilter installs the seccomp filter of one kind in this process and all that
// it starts.
func installFilter(what string) error {
	var filter []unix.SockFilter
	switch what {
	case "ptrace":
		filter = denyCalls(unix.EPERM, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV)
	case "inet6":
		filter = []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: atNumber},
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SOCKET, Jf: 3},
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: atArgument},
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.AF_INET6, Jf: 1},
			failWith(unix.EAFNOSUPPORT),
			allowCall(),
		}
	default:
		return fmt.Errorf("-deny %s: unknown; use ptrace or inet6", what)
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	set := func() error {
		_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
		if errno != 0 {
			return fmt.Errorf("install a seccomp filter: %w", errno)
		}
		return nil
	}
	// Only who gives up new privileges may install a filter, except root. Root must
	// not give them up: programs that gain some would fail for another reason.
	if set() == nil {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	return set()
}

// denyCalls fails these system calls.
func denyCalls(with syscall.Errno, calls ...uint32) []unix.SockFilter {
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: atNumber}}
	for i, call := range calls {
		toFailure := uint8(len(calls) - i) // over the other calls, and allow
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jt: toFailure})
	}
	return append(filter, allowCall(), failWith(with))
}

func allowCall() unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
}

func failWith(errno syscall.Errno) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}
