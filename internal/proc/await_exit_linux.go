package proc

import "golang.org/x/sys/unix"

// awaitExit returns true once the child has ended, without reaping it: until
// that is done nobody else can get its number. False means that it cannot say.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
