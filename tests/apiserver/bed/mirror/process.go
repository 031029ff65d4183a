package mirror

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"understudy.test/bed/pair"
)

// kill ends one process that the pair's understudyd started.
func kill(pid int) { syscall.Kill(pid, syscall.SIGKILL) }

// pidOf is the pid of a role's process on a hub, 0 when there is none.
func pidOf(h *pair.Hub, role string) int {
	for _, p := range h.Roles() {
		if p.Name == role {
			return p.Pid
		}
	}
	return 0
}

// mib is the proportional set size of a process, peak the most that was resident of it.
func mib(pid int) float64  { return field(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:") }
func peak(pid int) float64 { return field(fmt.Sprintf("/proc/%d/status", pid), "VmHWM:") }

// field is a figure in kB in a file of /proc, as MiB; 0 when there is none.
func field(file, name string) float64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kib) / 1024
		}
	}
	return 0
}
