package pair

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Container is how a hub's understudyd is process 1 of a container that crun runs from the bundle of
// make oci: its own configuration, plus what a user's image would add, a workload.
type Container struct {
	// User gives it a user namespace: its root is nobody on the host.
	User bool
	pid  int // of its process 1, as the host counts
}

// Where its files are, inside.
const (
	insideEtc    = "/etc/understudy"
	insideRun    = "/run/understudy"
	containerUID = 20000 // run.uid-base in a user namespace; 65536 ids are mapped
	mapped       = 65536
)

// root is the uid of the container's root on the host.
func (h *Hub) root() int {
	if h.Container == nil || !h.Container.User {
		return 0
	}
	return mapped * (h.pair.uids/UIDRange + h.index)
}

// inside says whether understudyd sees other files than the bed does.
func (h *Hub) inside() bool { return h.Container != nil || h.System != nil }

// insideDir is a folder of what is around understudyd.
func (h *Hub) insideDir(name string) string {
	return filepath.Join(h.pair.bed.Data, "inside-"+h.Name, name)
}

// crun refuses a machine that has cgroups of both versions; it is shown one, and told to leave them
// alone.
func (h *Hub) crun(words ...string) []string {
	return append([]string{"unshare", "--mount", "--", "sh", "-c", `umount /sys/fs/cgroup/unified 2>/dev/null; exec "$0" "$@"`, "crun", "--root", h.insideDir("state"), "--cgroup-manager=disabled"}, words...)
}

// id of the container: several beds may run at once.
func (h *Hub) id() string { return fmt.Sprintf("understudy-%d-%s", h.pair.uids, h.Name) }

// makeBundle copies the bundle, adds a shell and a workload, and mounts the hub's files.
func (h *Hub) makeBundle() error {
	bundle := h.insideDir("bundle")
	if err := os.RemoveAll(bundle); err != nil {
		return err
	}
	for _, d := range []string{h.insideDir("state"), bundle} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	from := filepath.Join(h.pair.Root, "build/oci/bundle")
	root := filepath.Join(bundle, "rootfs")
	for _, words := range [][]string{
		{"cp", "-a", filepath.Join(from, "rootfs"), root},
		{"cp", "-L", "/bin/sh", "/bin/sleep", filepath.Join(root, "usr/bin/")},
		{"chown", "-R", fmt.Sprintf("%d:%d", h.root(), h.root()), root, h.path(""), h.RunDirectory()},
	} {
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, out)
		}
	}
	text, err := os.ReadFile(filepath.Join(from, "config.json"))
	if err != nil {
		return fmt.Errorf("%w; make oci builds it", err)
	}
	var config map[string]any
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	process := config["process"].(map[string]any)
	process["env"] = append(process["env"].([]any), h.pair.bed.Mark())
	bind := func(source, destination string, more ...string) {
		config["mounts"] = append(config["mounts"].([]any), map[string]any{
			"destination": destination, "source": source, "type": "bind",
			"options": append([]string{"bind", "nosuid", "nodev", "noexec"}, more...),
		})
	}
	bind(h.path(""), insideEtc, "ro")
	bind(h.RunDirectory(), insideRun)
	if h.Container.User {
		linux := config["linux"].(map[string]any)
		linux["namespaces"] = append(linux["namespaces"].([]any), map[string]any{"type": "user"})
		ids := []any{map[string]any{"containerID": 0, "hostID": h.root(), "size": mapped}}
		linux["uidMappings"], linux["gidMappings"] = ids, ids
	}
	if text, err = json.MarshalIndent(config, "", " "); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(bundle, "config.json"), text, 0o644)
}

// startContainer runs it and waits until it has a process 1.
func (h *Hub) startContainer() (err error) {
	if err := h.makeBundle(); err != nil {
		return err
	}
	pidFile := h.insideDir("pid")
	os.Remove(pidFile)
	h.Container.pid = 0
	h.daemon, err = h.pair.Start(h.Log(), h.crun("run", "--bundle", h.insideDir("bundle"), "--pid-file", pidFile, h.id())...)
	if err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && !h.daemon.Ended(); time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(pidFile)
		if err != nil || len(text) == 0 {
			continue
		}
		h.Container.pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err
	}
	if fault := h.Fault(); fault != nil {
		return fault
	}
	return fmt.Errorf("%s: crun started nothing within a minute", h.Name)
}

// Pid of the hub's understudyd on the host.
func (h *Hub) Pid() int {
	switch {
	case h.Container != nil:
		return h.Container.pid
	case h.System != nil:
		return h.systemPid()
	default:
		return h.daemon.Pid()
	}
}

// Signal sends to understudyd; in a container through crun, as whoever runs containers does.
func (h *Hub) Signal(signal syscall.Signal) error {
	if h.Container == nil {
		return syscall.Kill(h.daemon.Pid(), signal)
	}
	words := h.crun("kill", h.id(), strconv.Itoa(int(signal)))
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("crun kill: %w: %s", err, out)
	}
	return nil
}

// Exec runs a command in the hub's container and returns what it printed.
func (h *Hub) Exec(words ...string) (string, error) {
	argv := h.crun(append([]string{"exec", h.id()}, words...)...)
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("crun exec %s: %w: %s", strings.Join(words, " "), err, out)
	}
	return string(out), err
}

// Await waits until understudyd has ended by itself and returns its exit code.
func (h *Hub) Await(patience time.Duration) (int, error) {
	select {
	case <-h.daemon.done:
		return h.daemon.command.ProcessState.ExitCode(), nil
	case <-time.After(patience):
		return 0, fmt.Errorf("understudyd of %s has not ended within %v", h.Name, patience)
	}
}
