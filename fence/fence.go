// Package fence answers "does this hub lead right now" from understudy's fence page.
//
// A controller beside a hub asks before each write. The answer costs a few loads and one
// clock read; no file is opened, nothing is sent, and it stays right when every understudy
// process is dead or stopped, because the page carries its own end (rules C10, F19).
// It must never say yes for a page of another boot or another time namespace.
// fence.h is the same reader in C; vectors.txt holds the cases that both are tested with.
package fence

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// The page: eight 64-bit words in the machine's byte order, at the start of a 4096-byte file.
const (
	wordHead       = iota // magic, version<<16, role<<32
	wordSeq               // odd while a writer is at work
	wordTerm              // the term that was won
	wordValidUntil        // CLOCK_BOOTTIME, ns
	wordWrittenAt         // CLOCK_BOOTTIME, ns
	wordBoot              // first 8 bytes of the boot id
	wordTimeNS            // inode of the writer's time namespace
	wordInstance          // random for each start of the writer
	words
)

const (
	pageSize    = 4096
	headLeading = 0x5546 | 1<<16 | 2<<32
	headMask    = 1<<32 - 1
	maxSpan     = uint64(600 * time.Second)
	seqTries    = 64
	tmpfsMagic  = 0x01021994
	boottime    = 7 // CLOCK_BOOTTIME
)

// ErrForeign is wrapped by Open's error for a page that was not written for this boot, this
// time namespace or this version of the layout. Trying again later may help: the page is
// filled in after the file is made.
var ErrForeign = errors.New("not a fence page of this boot")

// Page is an open fence page. Its methods may be called from any goroutine.
type Page struct {
	path   string
	inode  uint64
	memory []byte
	closed atomic.Bool
	here   machine
}

// machine is what a page must carry to be about the clock that we read.
type machine struct{ boot, timeNS uint64 }

// Open maps the page at path read-only and checks all that cannot change while it is mapped:
// a regular file on a tmpfs, the layout, the boot and the time namespace (C10, F19).
func Open(path string) (*Page, error) {
	here, err := thisMachine()
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	inode, err := checkFile(file)
	if err != nil {
		return nil, err
	}
	memory, err := syscall.Mmap(int(file.Fd()), 0, pageSize, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	p := &Page{path: path, inode: inode, memory: memory, here: here}
	// Unmapped when nobody can be reading any more, so Close never pulls it from under a reader.
	runtime.SetFinalizer(p, func(p *Page) { syscall.Munmap(p.memory) })
	w, ok := p.read()
	if !ok || !here.wrote(&w) {
		return nil, fmt.Errorf("%s: %w", path, ErrForeign)
	}
	return p, nil
}

func checkFile(file *os.File) (inode uint64, err error) {
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &stat); err != nil {
		return 0, fmt.Errorf("stat %s: %w", file.Name(), err)
	}
	if stat.Mode&syscall.S_IFMT != syscall.S_IFREG || stat.Size < pageSize {
		return 0, fmt.Errorf("%s: want a regular file of %d bytes", file.Name(), pageSize)
	}
	var fs syscall.Statfs_t
	if err := syscall.Fstatfs(int(file.Fd()), &fs); err != nil {
		return 0, fmt.Errorf("statfs %s: %w", file.Name(), err)
	}
	if uint32(fs.Type) != tmpfsMagic {
		return 0, fmt.Errorf("%s: not on a tmpfs, so it would outlive a reboot", file.Name())
	}
	return stat.Ino, nil
}

// IsLeader says whether this hub leads at this instant.
func (p *Page) IsLeader() bool { return p.Remaining() > 0 }

// Remaining is how long the page allows this hub to lead from now on; 0 when it does not lead.
// A write that cannot end within it must not be started.
func (p *Page) Remaining() time.Duration {
	_, left := p.now()
	return left
}

// Term is the term of this hub's leadership; ok is false when it does not lead.
func (p *Page) Term() (term uint64, ok bool) {
	term, left := p.now()
	return term, left > 0
}

// Replaced says whether another file lies at the path by now. This one does I/O: ask when not
// leading, and open anew if it says yes.
func (p *Page) Replaced() bool {
	var stat syscall.Stat_t
	return syscall.Stat(p.path, &stat) != nil || stat.Ino != p.inode
}

// Close ends the use of the page: every answer is "not leading" from now on.
func (p *Page) Close() { p.closed.Store(true) }

func (p *Page) now() (term uint64, left time.Duration) {
	w, ok := p.read()
	if !ok || p.closed.Load() {
		return 0, 0
	}
	left = p.here.leads(&w, bootNow())
	if left == 0 {
		return 0, 0
	}
	return w[wordTerm], left
}

// read takes a whole copy of the words. A writer that was killed in its work leaves seq odd for
// ever, hence the bound (F19). A truncated file faults: that is "no", never a crash.
func (p *Page) read() (w [words]uint64, ok bool) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if recover() != nil {
			ok = false
		}
		runtime.KeepAlive(p)
	}()
	shared := (*[words]uint64)(unsafe.Pointer(&p.memory[0]))
	for range seqTries {
		seq := atomic.LoadUint64(&shared[wordSeq])
		if seq&1 != 0 {
			continue
		}
		for i := range w {
			w[i] = atomic.LoadUint64(&shared[i])
		}
		if atomic.LoadUint64(&shared[wordSeq]) == seq && w[wordSeq] == seq {
			return w, true
		}
	}
	return w, false
}

// wrote says whether the layout, the boot and the time namespace are ours.
func (m machine) wrote(w *[words]uint64) bool {
	return w[wordHead]&headMask == headLeading&headMask &&
		w[wordBoot] == m.boot && w[wordTimeNS] == m.timeNS
}

// leads is the whole rule C10: how long the words allow to lead, seen at now; 0 is no.
func (m machine) leads(w *[words]uint64, now uint64) time.Duration {
	until, written := w[wordValidUntil], w[wordWrittenAt]
	if w[wordHead] != headLeading || !m.wrote(w) || w[wordSeq]&1 != 0 {
		return 0
	}
	if now < written || now >= until || until-written > maxSpan {
		return 0
	}
	return time.Duration(until - now)
}

func thisMachine() (machine, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return machine{}, err
	}
	digits := strings.ReplaceAll(strings.TrimSpace(string(text)), "-", "")
	if len(digits) != 32 {
		return machine{}, fmt.Errorf("boot id %q: want 32 hex digits", digits)
	}
	boot, err := strconv.ParseUint(digits[:16], 16, 64)
	if err != nil {
		return machine{}, fmt.Errorf("boot id: %w", err)
	}
	var stat syscall.Stat_t
	if err := syscall.Stat("/proc/self/ns/time", &stat); err != nil && err != syscall.ENOENT {
		return machine{}, fmt.Errorf("/proc/self/ns/time: %w", err)
	}
	return machine{boot: boot, timeNS: stat.Ino}, nil
}

// bootNow reads CLOCK_BOOTTIME in ns. The clock exists on every Linux that runs Go; should the
// call fail all the same, the largest time ends every page.
func bootNow() uint64 {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, boottime, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		return ^uint64(0)
	}
	return uint64(ts.Nano())
}
