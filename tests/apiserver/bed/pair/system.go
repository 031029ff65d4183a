package pair

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// System is how systemd runs a hub's understudyd, from the unit of the package: in a Debian of its
// own that tests/system.sh boots (F25).
type System struct {
	// Root is a folder with a Debian in which the package is installed.
	Root string
}

func (h *Hub) systemScript() string { return filepath.Join(h.pair.Root, "tests/system.sh") }

// startSystem boots it; the unit is enabled, and starts understudyd because it finds a configuration.
func (h *Hub) startSystem() error {
	dropIn := h.insideDir("understudyd.service.d")
	if err := os.MkdirAll(dropIn, 0o755); err != nil {
		return err
	}
	// The log is all that differs: it goes where the bed looks for it.
	const log = "/var/log/understudyd.log"
	if err := os.WriteFile(filepath.Join(dropIn, "log.conf"), []byte("[Service]\nStandardError=append:"+log+"\n"), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(h.Log(), nil, 0o644); err != nil {
		return err
	}
	var err error
	h.daemon, err = h.pair.Start(h.insideDir("boot.log"), append(h.Cluster.Enter(), h.systemScript(), "boot", h.System.Root,
		h.path("")+"="+insideEtc, h.RunDirectory()+"="+insideRun, dropIn+"=/etc/systemd/system/understudyd.service.d", h.Log()+"="+log)...)
	for end := time.Now().Add(time.Minute); err == nil && h.systemPid() == 0; time.Sleep(20 * time.Millisecond) {
		if h.daemon.Ended() || time.Now().After(end) {
			text, _ := os.ReadFile(h.insideDir("boot.log"))
			err = fmt.Errorf("%s: systemd did not start understudyd: %s", h.Name, text)
		}
	}
	return err
}

// systemPid is the MainPID of the unit as the host counts, 0 when it has none.
func (h *Hub) systemPid() int {
	init, err := only(h.daemon.Pid())
	if err != nil {
		return 0
	}
	for p := range Procs {
		if p.Number("PPid") == init && p.Field("Name") == "understudyd" {
			return p.Pid
		}
	}
	return 0
}

// only is the one child of a process.
func only(parent int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	if err != nil {
		return 0, err
	}
	var child int
	if _, err := fmt.Sscan(string(text), &child); err != nil {
		return 0, fmt.Errorf("process %d has no child", parent)
	}
	return child, nil
}

// Systemctl runs systemctl where systemd runs the hub, and returns what it printed and its exit code.
func (h *Hub) Systemctl(ctx context.Context, words ...string) (string, int, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	argv := h.systemExec(append([]string{"systemctl", "--no-pager"}, words...)...)
	return ended(exec.CommandContext(ctx, argv[0], argv[1:]...))
}

func (h *Hub) systemExec(words ...string) []string {
	return append([]string{h.systemScript(), "exec", strconv.Itoa(h.daemon.Pid())}, words...)
}
