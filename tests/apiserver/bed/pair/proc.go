package pair

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Proc is a process of this machine, as its /proc/PID/status had it.
type Proc struct {
	Pid    int
	status string
}

// Procs are all processes; the dead that wait to be reaped, state Z, are among them.
func Procs(yield func(Proc) bool) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile(filepath.Join("/proc", e.Name(), "status"))
		if err == nil && !yield(Proc{pid, string(status)}) {
			return
		}
	}
}

// Field is the first word behind a name in it, like Uid.
func (p Proc) Field(name string) string {
	for line := range strings.Lines(p.status) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Fields(rest + " -")[0]
		}
	}
	return ""
}

// Number is a field that is one, -1 when it is not there.
func (p Proc) Number(name string) int {
	n, err := strconv.Atoi(p.Field(name))
	if err != nil {
		return -1
	}
	return n
}

// Lives says that it is not dead.
func (p Proc) Lives() bool { return p.Field("State") != "Z" }

// Program is the path of what it runs, "" when it is gone meanwhile.
func (p Proc) Program() string {
	path, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(p.Pid), "exe"))
	return path
}
