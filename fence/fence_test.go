// Goal: the reader says yes only for a page that rule C10 allows, and nothing that can happen
// to the file makes it say yes or crash. Method: the shared cases, once on the pure rule with a
// set clock and once through a real page; then faults on the file itself (F19).
package fence

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

type vector struct {
	name   string
	fields []string
	want   bool
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) != words+2 || (f[words+1] != "yes" && f[words+1] != "no") {
			t.Fatalf("vectors.txt: bad line %q", line)
		}
		all = append(all, vector{f[0], f[1 : words+1], f[words+1] == "yes"})
	}
	if len(all) < 30 {
		t.Fatalf("vectors.txt: only %d cases", len(all))
	}
	return all
}

func (v vector) words(t *testing.T, m machine, now uint64) (w [words]uint64) {
	t.Helper()
	for i, field := range v.fields {
		base, rest := uint64(0), ""
		switch {
		case strings.HasPrefix(field, "now"):
			base, rest = now, field[3:]
		case strings.HasPrefix(field, "boot"):
			base, rest = m.boot, field[4:]
		case strings.HasPrefix(field, "ns"):
			base, rest = m.timeNS, field[2:]
		default:
			n, err := strconv.ParseUint(field, 0, 64)
			if err != nil {
				t.Fatalf("%s: %v", v.name, err)
			}
			base = n
		}
		if rest != "" {
			n, err := strconv.ParseInt(rest, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", v.name, err)
			}
			base += uint64(n)
		}
		w[i] = base
	}
	return w
}

func TestRuleC10OnTheVectors(t *testing.T) {
	m, now := machine{boot: 0x1122334455667788, timeNS: 4026531834}, uint64(3600e9)
	for _, v := range readVectors(t) {
		w := v.words(t, m, now)
		if got := m.leads(&w, now) > 0; got != v.want {
			t.Errorf("%s: leads = %v, want %v", v.name, got, v.want)
		}
	}
}

// tmpfsDir is a directory on the tmpfs that every Linux has.
func tmpfsDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "fence-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func writePage(t *testing.T, path string, w [words]uint64) {
	t.Helper()
	page := make([]byte, pageSize)
	for i, word := range w {
		binary.NativeEndian.PutUint64(page[8*i:], word)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(page, 0); err != nil {
		t.Fatal(err)
	}
}

func leadingPage(t *testing.T, m machine) [words]uint64 {
	t.Helper()
	now := bootNow()
	return [words]uint64{headLeading, 2, 7, now + 60e9, now - 1e9, m.boot, m.timeNS, 1}
}

func TestVectorsThroughARealPage(t *testing.T) {
	m, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	dir := tmpfsDir(t)
	for _, v := range readVectors(t) {
		if strings.HasPrefix(v.name, "exact-") {
			continue
		}
		path := filepath.Join(dir, v.name)
		writePage(t, path, v.words(t, m, bootNow()))
		got := false
		if p, err := Open(path); err == nil {
			got = p.IsLeader()
			if _, ok := p.Term(); ok != got || (p.Remaining() > 0) != got {
				t.Errorf("%s: Term, Remaining and IsLeader disagree", v.name)
			}
			p.Close()
		}
		if got != v.want {
			t.Errorf("%s: IsLeader = %v, want %v", v.name, got, v.want)
		}
	}
}

func TestFaultsOfTheFileF19(t *testing.T) {
	m, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(tmpfsDir(t), "fence")
	writePage(t, path, leadingPage(t, m))
	p, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if term, ok := p.Term(); !ok || term != 7 || !p.IsLeader() || p.Remaining() > 60*time.Second {
		t.Fatalf("a good page: term %d, %v, remaining %v", term, ok, p.Remaining())
	}
	if p.Replaced() {
		t.Error("Replaced: yes for the same file")
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if p.IsLeader() {
		t.Error("a truncated page leads")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if !p.Replaced() {
		t.Error("Replaced: no for a removed file")
	}
}

func TestCloseEndsLeading(t *testing.T) {
	m, _ := thisMachine()
	path := filepath.Join(tmpfsDir(t), "fence")
	writePage(t, path, leadingPage(t, m))
	p, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if p.IsLeader() {
		t.Error("a closed page leads")
	}
}

func TestOpenRefusesF19(t *testing.T) {
	m, _ := thisMachine()
	dir := tmpfsDir(t)
	short := filepath.Join(dir, "short")
	if err := os.WriteFile(short, make([]byte, 64), 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("short", link); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "foreign")
	writePage(t, foreign, leadingPage(t, machine{m.boot + 1, m.timeNS}))
	if _, err := Open(foreign); !errors.Is(err, ErrForeign) {
		t.Errorf("a page of another boot: %v", err)
	}
	for _, path := range []string{filepath.Join(dir, "missing"), dir, short, link, "/proc/self/maps"} {
		if _, err := Open(path); err == nil {
			t.Errorf("Open(%s) was not refused", path)
		}
	}
}

func TestOpenRefusesAFileThatIsNotOnTmpfsF19(t *testing.T) {
	// A regular file of 4096 bytes on sysfs: there on every machine, wherever the tests run.
	if _, err := Open("/sys/kernel/uevent_seqnum"); err == nil || !strings.Contains(err.Error(), "tmpfs") {
		t.Errorf("Open: %v, want a refusal that names tmpfs", err)
	}
}

// TestNoReaderSeesHalfAPageC10 reads beside a writer that never rests, each of whose pages is one
// number in all its words. TORN_READS asks for more than a quick check.
func TestNoReaderSeesHalfAPageC10(t *testing.T) {
	reads := 300000
	if wanted, err := strconv.Atoi(os.Getenv("TORN_READS")); err == nil {
		reads = wanted
	}
	m, _ := thisMachine()
	path := filepath.Join(tmpfsDir(t), "fence")
	writePage(t, path, leadingPage(t, m))
	p, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	memory, err := syscall.Mmap(int(file.Fd()), 0, pageSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	ended := make(chan bool)
	defer func() { <-ended }()
	defer stop.Store(true)
	go func() {
		defer close(ended)
		shared := (*[words]uint64)(unsafe.Pointer(&memory[0]))
		put := func(n uint64) { // as elector/fence.c does
			seq := atomic.LoadUint64(&shared[wordSeq]) | 1
			atomic.StoreUint64(&shared[wordSeq], seq)
			for _, i := range []int{wordTerm, wordValidUntil, wordWrittenAt, wordInstance} {
				atomic.StoreUint64(&shared[i], n)
			}
			atomic.StoreUint64(&shared[wordSeq], seq+1)
		}
		for n := uint64(1); !stop.Load(); n++ {
			put(n)
		}
	}()
	whole, begin := 0, time.Now()
	// A busy machine may give the writer its turn late, or take it away in the middle of a page.
	for i := 0; i < reads || whole < reads/100 && time.Since(begin) < time.Minute; i++ {
		w, ok := p.read()
		if !ok || w[wordInstance] == 1 && w[wordTerm] == 7 { // the first page
			continue
		}
		whole++
		if w[wordTerm] != w[wordInstance] || w[wordValidUntil] != w[wordTerm] || w[wordWrittenAt] != w[wordTerm] {
			t.Fatalf("read %d: %v", i, w)
		}
	}
	t.Logf("%d of %d reads found a whole page, none half a one", whole, reads)
	if whole < reads/100 {
		t.Errorf("only %d of %d reads found a whole page", whole, reads)
	}
}

func BenchmarkIsLeader(b *testing.B) {
	m, _ := thisMachine()
	now := bootNow()
	w := [words]uint64{headLeading, 2, 7, now + 500e9, now - 1, m.boot, m.timeNS, 1}
	page := make([]byte, pageSize)
	for i, word := range w {
		binary.NativeEndian.PutUint64(page[8*i:], word)
	}
	dir, err := os.MkdirTemp("/dev/shm", "fence-bench-")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "fence")
	if err := os.WriteFile(path, page, 0o644); err != nil {
		b.Fatal(err)
	}
	p, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if !p.IsLeader() {
			b.Fatal("not leading")
		}
	}
}

// BenchmarkClock is what IsLeader cannot be cheaper than: a bare read of its clock.
func BenchmarkClock(b *testing.B) {
	for b.Loop() {
		bootNow()
	}
}
