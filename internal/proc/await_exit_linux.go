package proc

import "golang.org/x/sys/unix"

// awaitExit returns true once the child has ended, without reaping it. Until it
// is reaped, no other process can get its pid. False means that the system cannot
// tell.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
