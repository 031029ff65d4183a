package pair

import (
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"
)

// Protections that may be missing, as allow-missing names them (F27).
const (
	UIDSeparation = "uid-separation"
	LandlockFS    = "landlock-fs"
	BoundingSet   = "bounding-set"
	Mlock         = "mlock"
)

// lacking are the words before a command that take the hub's protections away.
func (h *Hub) lacking() (words []string) {
	for _, name := range h.Lacks {
		words = append(words, map[string][]string{
			// As a container without capabilities has it: no CAP_KILL, either.
			UIDSeparation: {"setpriv", "--bounding-set=-setuid,-setgid,-kill"},
			BoundingSet:   {"setpriv", "--bounding-set=-setpcap"},
			Mlock:         {"prlimit", "--memlock=0:0"},
			LandlockFS:    {filepath.Join(h.pair.Root, "build/bed"), "nolandlock"},
		}[name]...)
	}
	return words
}

// Call 444 answers as a kernel without Landlock does, ENOSYS, to this program and what it becomes.
var withoutLandlock = []struct {
	code     uint16
	yes, no  uint8
	constant uint32
}{
	{0x20, 0, 0, 0},          // load the number
	{0x15, 0, 1, 444},        // landlock_create_ruleset?
	{0x06, 0, 0, 0x00050026}, // errno ENOSYS
	{0x06, 0, 0, 0x7fff0000}, // allowed
}

// ExecWithoutLandlock becomes another program, which finds no Landlock in its kernel.
func ExecWithoutLandlock(path string, argv, environment []string) error {
	const setSeccomp, modeFilter = 22, 2
	program := struct {
		count  uint16
		filter unsafe.Pointer
	}{uint16(len(withoutLandlock)), unsafe.Pointer(&withoutLandlock[0])}
	runtime.LockOSThread() // the filter is this thread's
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setSeccomp, modeFilter, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return syscall.Exec(path, argv, environment)
}
