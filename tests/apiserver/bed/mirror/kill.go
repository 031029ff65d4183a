package mirror

import "syscall"

// kill ends one process that the pair's understudyd started.
func kill(pid int) { syscall.Kill(pid, syscall.SIGKILL) }
