// Goal: the pieces that must be right before any cluster runs. Method: each alone.
package cluster

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAProcessIsItsPidAndItsStart(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	p, ok := inspect(child.Process.Pid)
	if !ok || !p.alive() {
		t.Fatalf("%+v, alive %v", p, p.alive())
	}
	other := process{p.pid, p.start + 1}
	if other.alive() {
		t.Error("a pid that was given to another program counts as the old one")
	}
	other.signal(syscall.SIGKILL)
	if !p.alive() {
		t.Error("a signal to the old program met the new one")
	}
	if err := p.end(syscall.SIGTERM, 10*time.Second); err != nil || p.alive() {
		t.Errorf("end: %v, alive %v", err, p.alive())
	}
}

func TestABedFindsItsProgramsByTheirMark(t *testing.T) {
	dir := t.TempDir()
	pidFile := filepath.Join(dir, "pid")
	if err := launch(dir, filepath.Join(dir, "log"), pidFile, nil, []string{"sleep", "60"}); err != nil {
		t.Fatal(err)
	}
	p, ok := readPid(pidFile)
	if !ok || !slices.Equal(marked(dir), []process{p}) {
		t.Errorf("marked %v, want %v", marked(dir), p)
	}
	if len(marked(dir+"x")) != 0 || len(marked(filepath.Dir(dir))) != 0 {
		t.Error("the mark of another folder matches")
	}
	os.Remove(pidFile) // as if the launcher had died before it wrote it
	if err := Down(dir, false); err != nil || p.alive() {
		t.Errorf("Down: %v, alive %v", err, p.alive())
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestPortsDifferAndLieBelowTheOutgoingOnes(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Fatal(err)
	}
	lowest, err := strconv.Atoi(strings.Fields(string(text))[0])
	if err != nil {
		t.Fatal(err)
	}
	ports, release, err := freePorts(50)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	slices.Sort(ports)
	if len(slices.Compact(ports)) != 50 || ports[49] >= lowest {
		t.Errorf("%v, want 50 below %d", ports, lowest)
	}
	if l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(ports[0])); err == nil {
		l.Close()
		t.Error("a port was not held until its release")
	}
}

func TestUpRefusesWhatItCannotMake(t *testing.T) {
	for what, o := range map[string]Options{
		"no cluster":      {},
		"a path":          {Names: []string{"../x"}},
		"twice":           {Names: []string{"a", "a"}},
		"isolated nobody": {Names: []string{"a"}, Isolated: []string{"b"}},
		"no programs":     {Names: []string{"a"}, Kubebed: "/nowhere/kubebed"},
	} {
		o.Dir = filepath.Join(t.TempDir(), "bed")
		if _, err := Up(context.Background(), o); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if err := Down(filepath.Join(t.TempDir(), "nothing"), false); err != nil {
		t.Errorf("Down of nothing: %v", err)
	}
}
